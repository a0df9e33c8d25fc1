/*
 * Illegal values.  The details say what is legal: "0 or more", "at least vocab, 10", "one of f32, f16, bf16".  What follows from
 * such a text is tested: the next value beyond a limit is refused with that detail, and the limit itself is not.
 */
#include <float.h>
#include <limits.h>

#include "fields/change.h"
#include "fields/walks.h"

enum { TEXT_BYTES = 256 };

/* ---- limits in a text ---- */

static bool begins(const char *text, const char *with) { return !strncmp(text, with, strlen(with)); }

static bool ends(const char *text, const char *end, const char *with) {
    const size_t length = strlen(with);
    return (size_t)(end - text) >= length && !strncmp(end - length, with, length);
}

/* What is legal, by a text. */
struct limits {
    bool has_least, has_most;
    double least, most;            /* of reals */
    int64_t first, last;           /* of integers */
};

static void set_least(struct limits *limits, double least, int64_t first) {
    limits->has_least = true, limits->least = least, limits->first = first;
}

static void set_most(struct limits *limits, double most, int64_t last) {
    limits->has_most = true, limits->most = most, limits->last = last;
}

/* A number in the text: a limit if the words beside it say so. */
static void read_limit(struct limits *limits, const char *text, const char *at, const char *end, int64_t number, double real) {
    const char *least = strstr(text, "at least "), *most = strstr(text, "at most ");
    if (begins(end, " to ") || begins(end, " or more")) set_least(limits, real, number);
    else if (ends(text, at, " to ")) set_most(limits, real, number);
    else if (least && least < at && !limits->has_least) set_least(limits, real, number);
    else if (most && most < at && !limits->has_most) set_most(limits, real, number);
    else if (at == text && *end == ',') set_least(limits, real, number), set_most(limits, real, number);
}

/* Texts round the largest fp32 to two digits. */
static double exact(double real) { return fabs(real) == 3.4e38 ? copysign(FLT_MAX, real) : real; }

static struct limits limits_of(const char *text) {
    struct limits limits = {.has_least = false};
    const char *expected = strstr(text, "expected ");
    if (expected) text = expected + strlen("expected ");
    for (const char *at = text; (at = strpbrk(at, "-0123456789"));) {
        char *end, *whole;
        const double real = strtod(at, &end);
        const int64_t number = strtoll(at, &whole, 10);
        if (end > at && (at == text || at[-1] == ' ') && *end != '^') read_limit(&limits, text, at, end, number, exact(real));
        at = end > at ? end : at + 1;
    }
    return limits;
}

/* ---- one value ---- */

/* The text of a refusal for the base case and this value, with what stands between the name and it. */
static void write_text(const struct slot *slot, const struct refusal *refusal, const char *value, int64_t base, char *text) {
    const char *words = refusal->text;
    int length = 0;
    if (*words == '*') words++;
    else if (*words == '@') words++, length = sprintf(text, "is %s", quern_dtype_name((quern_dtype)fields_number_at(slot)));
    else length = sprintf(text, "is %s%s", value, *words == ' ' ? "" : ": expected ");
    for (; *words; words++)
        length += *words == '#' ? sprintf(text + length, "%lld", (long long)base) : sprintf(text + length, "%c", *words);
}

/* It may be refused for another reason, unless that ends the group. */
static void take(const struct call *call, const struct slot *slot, const struct refusal *refusal, const char *value, int64_t base) {
    char text[TEXT_BYTES] = " ";
    write_text(slot, refusal, value, base, text + 1);
    const bool ends_group = call->contents_end_group && fields_device.kind == QUERN_CUDA;
    const quern_status status = fields_is_safe() && !ends_group ? fields_run(call) : QUERN_OK;
    check(status == QUERN_OK || !fields_says(slot, text), "%s: the limit itself is refused: %s", call->name, error_detail());
    fields_restore(call);
}

/* ---- integers ---- */

static void refuse_number(const struct call *call, const struct slot *slot, const struct refusal *refusal, int64_t base,
                          int64_t number) {
    char value[32], text[TEXT_BYTES];
    snprintf(value, sizeof value, "%lld", (long long)number);
    fields_put_number(slot, number);
    write_text(slot, refusal, value, base, text);
    fields_expect_refusal(call, slot, refusal->status, "%s", text);
}

/* The detail may be that of another limit on the same side. */
static void refuse_far_number(const struct call *call, const struct slot *slot, const struct refusal *refusal, int64_t number) {
    fields_put_number(slot, number);
    fields_expect_naming(call, slot, refusal->status, "is far beyond a limit");
}

static void take_number(const struct call *call, const struct slot *slot, const struct refusal *refusal, int64_t base,
                        int64_t number) {
    char value[32];
    snprintf(value, sizeof value, "%lld", (long long)number);
    fields_put_number(slot, number);
    take(call, slot, refusal, value, base);
}

/* Where the text has the number of the base case, it is one of bytes, which has no sign. */
static void walk_numbers(const struct call *call, const struct slot *slot, const struct refusal *refusal, int64_t base) {
    char text[TEXT_BYTES];
    const bool is_short = slot->field->bytes == sizeof(int32_t), is_signed = !strchr(refusal->text, '#');
    const int64_t smallest = is_short ? INT32_MIN : INT64_MIN, largest = is_short ? INT32_MAX : INT64_MAX;
    write_text(slot, refusal, "", base, text);
    const struct limits limits = refusal->value_count ? (struct limits){.has_least = false} : limits_of(text);
    for (size_t i = 0; i < refusal->value_count; i++) refuse_number(call, slot, refusal, base, refusal->values[i]);
    if (limits.has_least) {
        refuse_number(call, slot, refusal, base, limits.first - 1);
        if (is_signed) refuse_far_number(call, slot, refusal, smallest);
        take_number(call, slot, refusal, base, limits.first);
    }
    if (limits.has_most && limits.last < largest) {
        refuse_number(call, slot, refusal, base, limits.last + 1);
        if (is_signed) refuse_far_number(call, slot, refusal, largest);
        take_number(call, slot, refusal, base, limits.last);
    }
    check(limits.has_least || limits.has_most || refusal->value_count, "%s: %s: no limit is in \"%s\"", call->name,
          fields_path(slot), text);
}

/* ---- reals ---- */

static void put_real(const struct slot *slot, double real, char *value) {
    const bool is_float = slot->field->bytes == sizeof(float);
    sprintf(value, "%.9g", is_float ? (double)(float)real : real);
    fields_put_real(slot, real);
}

static void refuse_real(const struct call *call, const struct slot *slot, const struct refusal *refusal, double real) {
    char value[32], text[TEXT_BYTES];
    put_real(slot, real, value);
    write_text(slot, refusal, value, 0, text);
    fields_expect_refusal(call, slot, refusal->status, "%s", text);
}

static void take_real(const struct call *call, const struct slot *slot, const struct refusal *refusal, double real) {
    char value[32];
    put_real(slot, real, value);
    take(call, slot, refusal, value, 0);
}

enum { PERCENT = 100, BEYOND = 3 };

static double beyond(double limit, int sign) {
    const double step = limit == 0 ? 1e-6 : fabs(limit) * BEYOND / PERCENT;
    return limit + sign * step;
}

static void walk_reals(const struct call *call, const struct slot *slot, const struct refusal *refusal) {
    struct limits limits = limits_of(refusal->text);
    if (strstr(refusal->text, "above 0")) limits = limits_of("0 or more");
    refuse_real(call, slot, refusal, NAN);
    refuse_real(call, slot, refusal, -INFINITY);
    if (!strstr(refusal->text, "seconds")) refuse_real(call, slot, refusal, INFINITY);
    else take_real(call, slot, refusal, INFINITY);
    if (strstr(refusal->text, "finite number")) take_real(call, slot, refusal, FLT_MAX);
    if (strstr(refusal->text, "< 1")) {
        limits = limits_of("0 or more");
        refuse_real(call, slot, refusal, 1);
        take_real(call, slot, refusal, 1 - DBL_EPSILON);
    }
    if (limits.has_least) {
        refuse_real(call, slot, refusal, beyond(limits.least, -1));
        refuse_real(call, slot, refusal, -5e38);
        take_real(call, slot, refusal, limits.least);
    }
    if (limits.has_most) {
        refuse_real(call, slot, refusal, beyond(limits.most, 1));
        take_real(call, slot, refusal, limits.most);
    }
}

/* ---- choices ---- */

static bool is_legal(const struct rule *rule, int value) {
    for (size_t i = 0; i < rule->legal_count; i++)
        if (rule->legal[i] == value) return true;
    return false;
}

static void write_dtypes(const struct rule *rule, char *text) {
    const bool is_optional = rule->legal[0] == QUERN_NO_DTYPE;
    int length = sprintf(text, is_optional ? "none or " : "one of ");
    for (size_t i = is_optional; i < rule->legal_count; i++)
        length += sprintf(text + length, "%s%s", i > is_optional ? ", " : "", quern_dtype_name((quern_dtype)rule->legal[i]));
    if (rule->legal_text) strcpy(text, rule->legal_text);
}

static const char *dtype_or_none(int value) { return value ? quern_dtype_name((quern_dtype)value) : "none"; }

static void refuse_choice(const struct call *call, const struct slot *slot, quern_status status, int value, const char *expected) {
    const bool is_dtype = slot->rule->legal_count;
    char name[64] = "";
    if (is_dtype) snprintf(name, sizeof name, " (%s)", quern_dtype_name((quern_dtype)value));
    fields_put_number(slot, value);
    fields_expect_refusal(call, slot, status, "is %d%s: expected %s", value, name, expected);
}

static void walk_dtypes(const struct call *call, const struct slot *slot) {
    char expected[TEXT_BYTES];
    const int base = (int)fields_number_at(slot);
    write_dtypes(slot->rule, expected);
    refuse_choice(call, slot, QUERN_INVALID_DTYPE, INT_MIN, expected);
    for (int value = -1; value < 20; value++) {
        if (!is_legal(slot->rule, value)) refuse_choice(call, slot, QUERN_INVALID_DTYPE, value, expected);
        else if (slot->letter == 'C' && value != base) {
            fields_put_number(slot, value);
            fields_expect_refusal(call, slot, QUERN_INVALID_ARGUMENT, "is %s, and args.plan was made with %s", dtype_or_none(value),
                                  dtype_or_none(base));
        }
    }
}

static void walk_flags(const struct call *call, const struct slot *slot) {
    const struct field *field = slot->field;
    char expected[TEXT_BYTES];
    const int base = (int)fields_number_at(slot), first = field->kind == ENUM ? field->values[0] : 0;
    const int last = field->kind == ENUM ? field->values[field->value_count - 1] : 1;
    snprintf(expected, sizeof expected, "0 to %d", last);
    if (slot->rule->legal_text) strcpy(expected, slot->rule->legal_text);
    const int illegal[] = {first - 1, last + 1, INT_MIN, INT_MAX};
    for (size_t i = 0; i < sizeof illegal / sizeof *illegal; i++)
        refuse_choice(call, slot, QUERN_INVALID_ARGUMENT, illegal[i], expected);
    if (slot->letter != 'C') return;
    fields_put_number(slot, !base);
    fields_expect_refusal(call, slot, QUERN_INVALID_ARGUMENT, "is %d, and args.plan was made with %d", !base, base);
}

/* ---- a field ---- */

static bool applies(const struct refusal *refusal, const struct slot *slot) {
    return !refusal->calls || refusal->calls[slot->part->column] == 'x';
}

void fields_walk_values(const struct call *call, const struct slot *slot) {
    const int64_t base = fields_number_at(slot);
    if (slot->rule->legal_count) walk_dtypes(call, slot);
    else if (slot->field->kind == ENUM || slot->field->kind == FLAG) walk_flags(call, slot);
    for (size_t i = 0; i < slot->rule->refusal_count; i++) {
        const struct refusal *refusal = &slot->rule->refusals[i];
        if (!applies(refusal, slot) || (strchr(refusal->text, '#') && !base)) continue;
        if (slot->field->kind == REAL) walk_reals(call, slot, refusal);
        else walk_numbers(call, slot, refusal, base);
    }
}

static bool tells_unused(const struct slot *slot, const char *text) {
    char tail[TEXT_BYTES];
    snprintf(tail, sizeof tail, " %s", text ? text : "");
    return text && fields_says(slot, tail);
}

void fields_walk_unused(const struct call *call, const struct slot *slot) {
    const char *const *texts = slot->rule->unused;
    fields_put_number(slot, fields_is_pointer(slot) ? 64 : 1);
    fields_expect_naming(call, slot, QUERN_INVALID_ARGUMENT, "is not 0");
    check(tells_unused(slot, texts[0]) || tells_unused(slot, texts[1]), "%s: %s", call->name, error_detail());
}
