/* Makes one call out of the bytes of the input, and checks what holds for every function of the header.  Called by fuzz.c. */
#include "calls.h"

#include <stdarg.h>

#include "cases.h"
#include "input.h"

int fuzz_output = 2;

enum { LARGEST = 1 << 16, MOST_BLOCKS = 160 };

_Noreturn void fuzz_fail(const char *format, ...) {
    char text[600];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(text, sizeof text - 1, format, list);
    va_end(list);
    text[length] = '\n';
    if (write(fuzz_output, text, (size_t)length + 1) < 0) {}
    abort();
}

/* ---- memory ---- */

void *call_memory(struct call *call, int64_t bytes, bool is_output) {
    if (bytes > LARGEST || call->block_count == MOST_BLOCKS) return NULL;
    struct block *block = calloc(1, sizeof *block);
    block->bytes = (size_t)bytes;
    block->start = malloc(block->bytes);
    block->is_output = is_output;
    block->next = call->blocks;
    call->blocks = block;
    call->block_count++;
    return block->start;
}

static struct block *block_at(const struct call *call, const void *pointer) {
    const uintptr_t place = (uintptr_t)pointer;
    for (struct block *block = call->blocks; block; block = block->next)
        if (place - (uintptr_t)block->start < block->bytes) return block;
    return NULL;
}

bool call_has(const struct call *call, const void *pointer, int64_t bytes) {
    const struct block *block = block_at(call, pointer);
    return block && bytes >= 0 && (size_t)bytes <= block->bytes - (size_t)((const char *)pointer - block->start);
}

static uint64_t hash_of(const struct block *block) {
    uint64_t hash = block->bytes;
    size_t i = 0;
    for (uint64_t word; i + sizeof word <= block->bytes; i += sizeof word) {
        memcpy(&word, block->start + i, sizeof word);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    for (; i < block->bytes; i++) hash = (hash ^ (unsigned char)block->start[i]) * 0x100000001b3u;
    return hash;
}

static const unsigned char *any_bytes(void) {
    static unsigned char patterns[4][256];
    if (!patterns[1][0])
        for (int i = 0; i < 256; i++) {
            patterns[1][i] = (unsigned char)(0x30 + (i * 7) % 16);  /* small positive numbers of every float type */
            patterns[2][i] = (unsigned char)(i % 2 ? 0x3f : i);     /* numbers around 1 in 16 bits */
            patterns[3][i] = (unsigned char)(i * 151 + (i >> 3));   /* noise: NaN, infinities, all magnitudes, negative numbers */
        }
    return patterns[input_byte() % 4];
}

static void fill_handles(void **handles, int64_t count) {
    struct live *live = state_choose(HANDLE_OF_quern_group);
    for (int64_t i = 0; i < count; i++) handles[i] = live ? live->handle : NULL;
}

/* Nothing between 64 KiB and 2^62, so that an allocation is either small or impossible. */
static void fill_sizes(size_t *sizes, int64_t count) {
    static const size_t some[] = {64, 0, 1, 4096, 65536, SIZE_MAX, SIZE_MAX / 2, (size_t)INT64_MAX, (size_t)1 << 63, 100};
    for (int64_t i = 0; i < count; i++) sizes[i] = some[input_one_in(4) ? input_below(10) : 0];
}

void call_fill(void *memory, int64_t bytes, enum fill fill, int64_t limit) {
    const unsigned char *pattern = any_bytes();
    for (int64_t i = 0; i < bytes; i++) ((unsigned char *)memory)[i] = pattern[i & 255];
    const int64_t range = limit < 2 ? 1 : limit < 200 ? limit : 200;
    if (fill == HANDLES_IN) fill_handles(memory, bytes / (int64_t)sizeof(void *));
    if (fill == SIZES) fill_sizes(memory, bytes / (int64_t)sizeof(size_t));
    if (fill == INT32S)
        for (int64_t i = 0; i < bytes / 4; i++) ((int32_t *)memory)[i] = (int32_t)(input_noise() % (uint64_t)(range - (range > 1)));
    if (fill == INT64S)
        for (int64_t i = 0; i < bytes / 8; i++) ((int64_t *)memory)[i] = (int64_t)(input_noise() % (uint64_t)(range - (range > 1)));
    if ((fill == INT32S || fill == INT64S) && bytes >= 8 && input_one_in(8)) {
        const uint64_t word = input_word();
        memcpy((char *)memory + (size_t)input_below(bytes / 8) * 8, &word, sizeof word);
    }
}

/* ---- faults ---- */

/* The input chooses the place of the next fault among those that most functions have. */
static void place_fault(struct call *call) {
    static const int places[] = {[NUMBERS] = 24, [POINTERS] = 16, [CONTENTS] = 2};
    call->places_left = (int)input_below(places[call->fault]);
}

bool call_fault(struct call *call, enum fault fault) {
    if (fault != call->fault || !call->faults || call->places_left-- > 0) return false;
    call->faults--;
    call->faults_placed++;
    place_fault(call);
    return true;
}

static const int64_t boundaries[] = {0, 1, -1, 2, 3, 31, 33, 1024, 1025, INT32_MAX, INT32_MIN, (int64_t)1 << 31, (int64_t)1 << 32,
    (int64_t)1 << 40, ((int64_t)1 << 51) + 1, (int64_t)1 << 60, ((int64_t)1 << 60) + 1, ((int64_t)1 << 61) - 1, (int64_t)1 << 62,
    INT64_MAX, INT64_MAX - 1, INT64_MIN, INT64_MIN + 1, INT64_MAX / 4, -2, -100};
static const double reals[] = {0, -0.0, 1, -1, 0.5, 1e-8, 1e-45, 1e-310, 3.4028234e38, 3.5e38, 1e300,
    INFINITY, -INFINITY, NAN, 0.9999999};

static void spoil(const struct field *field, char *place) {
    int64_t number = input_one_in(3) ? (int64_t)input_word() : boundaries[input_below(sizeof boundaries / sizeof *boundaries)];
    if (field->kind == REAL) {
        const double real = reals[input_below(sizeof reals / sizeof *reals)];
        const float narrow = (float)real;
        memcpy(place, field->bytes == 4 ? (const void *)&narrow : &real, field->bytes);
        return;
    }
    if (field->kind == ENUM && !input_one_in(4)) number = field->values[input_below(field->value_count)];
    if (field->kind == SIZE) {
        uint32_t size;
        memcpy(&size, place, sizeof size);
        const uint32_t sizes[] = {size - 8, size - 4, size + 8, size - 16, 0, size & 0xffff, UINT32_MAX, 4, 8, size + 1, 1u << 31};
        number = input_one_in(4) ? (int64_t)((size & 0xffff0000) | (uint32_t)input_below((size & 0xffff) + 32))
                                 : sizes[input_below(sizeof sizes / sizeof *sizes)];
    }
    memcpy(place, &number, field->bytes);
}

static void spoil_numbers(struct call *call, const struct record *record, char *self) {
    for (int i = 0; i < record->count; i++) {
        const struct field *field = &record->fields[i];
        if (field->kind == STRUCT) spoil_numbers(call, field->record, self + field->offset);
        if (field->kind <= ENUM && call_fault(call, NUMBERS)) spoil(field, self + field->offset);
    }
}

/* ---- pointers ---- */

static void make_record(struct call *call, const struct record *record, char *self, const void *parent);

/* What a struct's size makes of it: the library must not read behind it, and takes the rest as 0. */
static int64_t bytes_by_size(const struct record *record, char *self) {
    if (record->fields[0].kind != SIZE) return record->bytes;
    uint32_t size;
    memcpy(&size, self, sizeof size);
    size &= 0xffff;
    if (size < sizeof size) size = sizeof size;
    if (size >= record->bytes) return record->bytes;
    memset(self + size, 0, record->bytes - size);
    return size;
}

/* No other pointer may lead into it: the caller must not let a call write its arguments. */
static void *call_struct(struct call *call, int64_t bytes, const struct field *field) {
    void *memory = call_memory(call, bytes, !field->is_const);
    if (memory) call->blocks->is_struct = true;
    return memory;
}

/* Structs one after the other, `stride` bytes apart.  A single one has only the bytes that its size states. */
static void *make_structs(struct call *call, const struct field *field, int64_t bytes, int64_t stride, const void *parent) {
    const struct record *record = field->record;
    _Alignas(16) char whole[2048];
    const int64_t count = stride > 0 ? bytes / stride : 0;
    if (record->bytes > sizeof whole) fuzz_fail("%s has more bytes than the fuzzer expects", record->name);
    if (bytes > LARGEST || count > 8) return NULL;
    char *list = count == 1 && record->fields[0].kind == SIZE ? NULL : call_struct(call, bytes, field);
    for (int64_t i = 0; i < count; i++) {
        memset(whole, 0, sizeof whole);
        make_record(call, record, whole, parent);
        int64_t given = bytes_by_size(record, whole);
        if (!list && count == 1) list = call_struct(call, given, field);
        if (!list) return NULL;
        memcpy(list + i * stride, whole, (size_t)(given < stride ? given : stride));
    }
    return list;
}

/*
 * A pointer that the header forbids, or that coincides with another one: NULL, one byte too far, or into other memory.  Only
 * tensors may be one byte too far: a misaligned int of the host is undefined behaviour of the caller.  An input into which an
 * output leads at an offset must stay as it is, since the call must be refused; at the same address some functions work in place.
 */
static void *bad_memory(struct call *call, int64_t bytes, bool is_host, bool may_overlap) {
    const int choice = (int)input_below(6);
    if (choice == 0 || (choice == 1 && is_host)) return NULL;
    if (choice == 1) {
        char *start = call_memory(call, bytes + 1, true);
        if (start) memset(start, 0, (size_t)bytes + 1);
        return start ? start + 1 : NULL;
    }
    int skipped = (int)input_below(call->block_count + 1);
    for (struct block *block = call->blocks; block; block = block->next)
        if (!block->is_struct && skipped-- <= 0 && (int64_t)block->bytes >= bytes) {
            const int64_t offset = choice == 2 ? 0 : input_below((int64_t)block->bytes - bytes + 1) & ~(int64_t)7;
            block->is_output |= may_overlap || !offset;
            return block->start + offset;
        }
    return NULL;
}

static void *make_memory(struct call *call, const struct record *record, const struct field *field, struct extent extent,
                         const void *parent) {
    int64_t bytes = extent.bytes;
    if (bytes == NOT_MEMORY) return call_fault(call, POINTERS) ? (void *)(uintptr_t)(16 * (1 + input_below(4))) : NULL;
    if (bytes == REFUSED) bytes = 16;
    if (bytes > LARGEST) return NULL;
    const bool is_list = field->kind == STRUCTS || extent.fill == HANDLES_IN;
    const bool is_parameter = record == call->function->record;
    const bool may_overlap = is_parameter || case_may_overlap(call->function, record);
    if (call_fault(call, POINTERS)) return is_list ? NULL : bad_memory(call, bytes, is_parameter || field->is_host, may_overlap);
    if (field->kind == STRUCTS) return make_structs(call, field, bytes, extent.limit ? extent.limit : field->record->bytes, parent);
    void *memory = call_memory(call, bytes, !field->is_const && field->kind == MEMORY);
    if (!memory) return NULL;
    call->blocks->is_struct = is_list || extent.fill == SIZES;
    call_fill(memory, bytes, extent.fill, extent.limit);
    return memory;
}

static void *make_handle(struct call *call, const struct field *field) {
    if (call_fault(call, POINTERS)) return NULL;
    struct live *live = state_choose(field->handle);
    return live ? live->handle : NULL;
}

static const char *make_text(void) {
    static char text[64];
    static const char *const texts[] = {"fuzz", "", "libm.so.6", "/", "/nonexistent/fuzz", "fuzz-2", "a/b", "\xff", "/dev/null"};
    if (input_one_in(4)) {
        for (size_t i = 0; i + 1 < sizeof text; i++) text[i] = (char)input_byte();
        return text;
    }
    return texts[input_below(sizeof texts / sizeof *texts)];
}

static bool is_pointer(enum kind kind) {
    return kind == STRUCTS || kind == MEMORY || kind == HANDLE || kind == HANDLES || kind == TEXT;
}

static void make_pointers(struct call *call, const struct record *record, char *self, const void *whole, const void *parent) {
    for (int i = 0; i < record->count; i++) {
        const struct field *field = &record->fields[i];
        void *pointer;
        if (field->kind == STRUCT) make_pointers(call, field->record, self + field->offset, self + field->offset, whole);
        if (!is_pointer(field->kind)) continue;
        memcpy(&pointer, self + field->offset, sizeof pointer);
        if (pointer == OMIT) pointer = NULL;
        else if (pointer) continue;
        else if (field->kind == HANDLE) pointer = make_handle(call, field);
        else if (field->kind == TEXT) pointer = call_fault(call, POINTERS) ? NULL : (void *)(uintptr_t)make_text();
        else pointer = make_memory(call, record, field, field->extent(whole, parent), whole);
        memcpy(self + field->offset, &pointer, sizeof pointer);
    }
}

static void make_record(struct call *call, const struct record *record, char *self, const void *parent) {
    case_numbers(record, self, parent);
    spoil_numbers(call, record, self);
    bytes_by_size(record, self);
    case_tame(record, self);
    make_pointers(call, record, self, self, parent);
    case_pointers(call, record, self, parent);
}

void call_prepare(struct call *call, const struct function *function) {
    static const int faults[] = {0, 0, 0, 1, 1, 1, 1, 2};
    *call = (struct call){.function = function, .faults = faults[input_below(8)], .fault = (enum fault)(input_byte() % 5 * 3 / 5)};
    if (!function->record) return;
    place_fault(call);
    if (function->record->bytes > sizeof call->parameters)
        fuzz_fail("%s has more parameters than the fuzzer expects", function->name);
    make_record(call, function->record, call->parameters, NULL);
}

/* ---- the call and its checks ---- */

enum { MOST_DETAIL = 255 };

static void check_unchanged(const struct call *call, bool outputs, uint64_t result) {
    for (const struct block *block = call->blocks; block; block = block->next)
        if ((outputs || !block->is_output) && hash_of(block) != block->hash)
            fuzz_fail("%s returned %llu and changed %s of %zu bytes", call->function->name, (unsigned long long)result,
                      block->is_output ? "an output" : "an input", block->bytes);
}

static void check_status(const struct call *call, int status) {
    const char *name = call->function->name;
    if (!header_is_status(status)) fuzz_fail("%s returned %d, which is no status", name, status);
    if (status == QUERN_OK) return;
    char detail[2048];
    const size_t length = quern_error_detail(detail, sizeof detail);
    if (!length || length > MOST_DETAIL) fuzz_fail("%s returned %d with a detail of %zu characters", name, status, length);
    if (strlen(detail) != length) fuzz_fail("the detail of %s has %zu characters: %zu were returned", name, strlen(detail), length);
}

/* A function that writes text to a buffer. */
static void check_text(const struct call *call, size_t length) {
    const struct record *record = call->function->record;
    char *buffer;
    size_t bytes;
    if (record->count < 2 || !same_text(record->fields[record->count - 2].name, "buffer")) return;
    memcpy(&buffer, call->parameters + record->fields[record->count - 2].offset, sizeof buffer);
    memcpy(&bytes, call->parameters + record->fields[record->count - 1].offset, sizeof bytes);
    if (!buffer || !bytes) return;
    const size_t expected = length < bytes - 1 ? length : bytes - 1;
    if (!memchr(buffer, 0, bytes) || strlen(buffer) != expected)
        fuzz_fail("%s returned %zu for a buffer of %zu bytes, in which the text has not %zu characters", call->function->name,
                  length, bytes, expected);
}

uint64_t call_make(struct call *call) {
    for (struct block *block = call->blocks; block; block = block->next) block->hash = hash_of(block);
    const uint64_t result = call->function->call(call->parameters);
    const int status = (int)result;
    bool refused = false;
    if (call->function->result == STATUS) {
        check_status(call, status);
        refused = status >= 1000 && status < 3000 && !case_may_write(call->function->name, status);
    }
    if (call->function->result == LENGTH && call->function->record) check_text(call, result);
    if (call->function->result == STATIC_TEXT && !*(const char *)(uintptr_t)result) fuzz_fail("%s is empty", call->function->name);
    check_unchanged(call, refused, result);
    return result;
}

void call_end(struct call *call) {
    if (!call->keeps_blocks) state_free_blocks(call->blocks);
    call->blocks = NULL;
}
