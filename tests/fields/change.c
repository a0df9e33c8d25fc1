/* Changes a field of the call at hand and checks the answer: the base case again, or a refusal that writes nothing. */
#include "fields/change.h"

#include <stdarg.h>

/* ---- values ---- */

bool fields_is_pointer(const struct slot *slot) {
    const enum kind kind = slot->field->kind;
    return kind == STRUCTS || kind == MEMORY || kind == HANDLE || kind == HANDLES || kind == TEXT || kind == CALLBACK;
}

void fields_put(const struct slot *slot, const void *value) { memcpy(slot->place, value, slot->field->bytes); }

void fields_put_pointer(const struct slot *slot, uintptr_t address) { memcpy(slot->place, &address, sizeof address); }

uintptr_t fields_pointer_at(const struct slot *slot) {
    uintptr_t address;
    memcpy(&address, slot->place, sizeof address);
    return address;
}

void fields_put_number(const struct slot *slot, int64_t number) { memcpy(slot->place, &number, slot->field->bytes); }

int64_t fields_number_at(const struct slot *slot) {
    int64_t number = 0;
    memcpy(&number, slot->place, slot->field->bytes);
    return number;
}

void fields_put_real(const struct slot *slot, double real) {
    const float narrow = (float)real;
    fields_put(slot, slot->field->bytes == sizeof narrow ? (const void *)&narrow : &real);
}

bool fields_is_safe(void) {
    for (int i = 0; i < fields_slot_count; i++) {
        const struct slot *slot = &fields_slots[i];
        if (!slot->field->extent || slot->letter == 'a' || !fields_pointer_at(slot)) continue;
        const int64_t bytes = slot->field->extent(slot->part->self, slot->part->parent).bytes;
        if (bytes > (slot->home ? FIELDS_ROOM : slot->bytes)) return false;
    }
    return true;
}

/* ---- answers ---- */

static bool is_text(const struct call *call) { return strstr(call->function, "_explain") != NULL; }

void fields_expect_success(const struct call *call, const struct slot *slot, const char *what) {
    const quern_status status = fields_run(call);
    check(status == QUERN_OK, "%s: %s %s: %s: %s", call->name, fields_path(slot), what, quern_status_string(status),
          error_detail());
    fields_restore(call);
}

void fields_expect_base_case(const struct call *call, const struct slot *slot, const char *what) {
    fields_expect_success(call, slot, what);
    check(fields_are_as_in_base_case(), "%s: %s %s changes the outputs", call->name, fields_path(slot), what);
}

static void expect_status(const struct call *call, const struct slot *slot, quern_status expected, const char *what) {
    const quern_status status = fields_run(call);
    const bool is_told = is_text(call) && (int)status == FIELDS_TOLD;
    const char *blame = expected < 2000 ? "the caller's argument" : "not supported here";
    check(status == expected || is_told, "%s: %s %s: %s instead of %s: %s", call->name, fields_path(slot), what,
          quern_status_string(status), quern_status_string(expected), status ? error_detail() : "");
    check(!strcmp(quern_status_blame(expected), blame), "%s is the matter of %s", what, quern_status_blame(expected));
    check(is_told || fields_are_unchanged(), "%s: %s %s: the refused call wrote", call->name, fields_path(slot), what);
    fields_restore(call);
}

void fields_expect_naming(const struct call *call, const struct slot *slot, quern_status expected, const char *what) {
    expect_status(call, slot, expected, what);
    check(fields_names(error_detail(), slot), "%s: %s %s: the detail names another field: %s", call->name, fields_path(slot), what,
          error_detail());
}

/* What every rank is told begins with the group and a rank. */
static bool is_told(const char *path, const char *text) {
    char whole[512];
    const char *detail = error_detail();
    snprintf(whole, sizeof whole, "%s%s", path, text);
    const size_t length = strlen(detail), expected = strlen(whole);
    if (length < expected || strcmp(detail + length - expected, whole)) return false;
    return length == expected || (!strncmp(detail, "group ", 6) && !strncmp(detail + length - expected - 2, ": ", 2));
}

bool fields_says(const struct slot *slot, const char *text) {
    return is_told(fields_path(slot), text) || is_told(fields_other_path(slot), text);
}

void fields_expect_refusal(const struct call *call, const struct slot *slot, quern_status expected, const char *format, ...) {
    char what[512] = " ";
    va_list values;
    va_start(values, format);
    vsnprintf(what + 1, sizeof what - 1, format, values);
    va_end(values);
    expect_status(call, slot, expected, what + 1);
    check(fields_says(slot, what), "%s: \"%s\" instead of \"%s%s\"", call->name, error_detail(),
          fields_path(slot), what);
}

/* ---- changes of several fields ---- */

static const struct call *current;

void fields_choose(const struct call *call) { current = call; }

void fields_refuse(int line, quern_status expected, const char *detail) {
    const quern_status status = fields_run(current);
    check(status == expected && !strcmp(error_detail(), detail), "line %d, %s: %s: \"%s\" instead of %s: \"%s\"", line,
          current->name, quern_status_string(status), status ? error_detail() : "", quern_status_string(expected), detail);
    check(fields_are_unchanged(), "line %d: the refused call wrote", line);
    fields_restore(current);
}

void fields_accept(int line) {
    const quern_status status = fields_run(current);
    check(status == QUERN_OK, "line %d: %s: %s", line, quern_status_string(status), error_detail());
    fields_restore(current);
}
