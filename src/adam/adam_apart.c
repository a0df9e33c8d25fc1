/*
 * Finds arrays that share memory, by sorting all arrays of a list by address.  Called for steps, plans, norms and saved states; the
 * sorting is runtime/ranges.c.
 */
#include "adam/adam_apart.h"

#include <stdlib.h>
#include <string.h>

#include "adam/adam_tensors.h"
#include "runtime/status.h"

/* ---- the ranges of a list ---- */

static int64_t arrays_of(const struct quern_adam_parts *parts, const quern_adam_args *args, const struct quern_adam_list *list) {
    return list->count * (parts->count + (args->copy_dtype ? 2 : 0));
}

static const char LIST[] = "args.tensors";

/* Lists one kind of array after the other: each kind is likely to ascend, which makes the sorting fast. */
static int64_t list_part(const struct quern_adam_part *part, const struct quern_adam_list *list, struct quern_range *to) {
    quern_adam_tensor room;
    int64_t count = 0;
    for (int64_t place = 0; place < list->count; place++) {
        const quern_adam_tensor *tensor = quern_adam_tensor_at(list, place, &room);
        if (!tensor->count) continue;
        to[count] = quern_range_of(part->name, quern_adam_part_pointer(tensor, part), quern_adam_part_bytes(part, tensor->count),
                                   part->access);
        to[count++].place = (uint32_t)place;
    }
    return count;
}

/* The numbers of the copies: one for each tensor, or one that several share. */
static int64_t list_numbers(const struct quern_adam_list *list, struct quern_range *to) {
    static const struct quern_adam_part numbers[] = {
        {.name = "copy_scale", .offset = offsetof(quern_adam_tensor, copy_scale), .element = sizeof(float), .access = QUERN_READ,
         .is_number = true},
        {.name = "copy_max", .offset = offsetof(quern_adam_tensor, copy_max), .element = sizeof(float), .access = QUERN_RAISED,
         .is_number = true}};
    const int64_t count = list_part(&numbers[0], list, to);
    return count + list_part(&numbers[1], list, to + count);
}

static int64_t list_ranges(const struct quern_adam_parts *parts, const quern_adam_args *args, const struct quern_adam_list *list,
                           struct quern_range *to) {
    int64_t count = 0;
    for (int i = 0; i < parts->count; i++) count += list_part(&parts->list[i], list, to + count);
    return args->copy_dtype ? count + list_numbers(list, to + count) : count;
}

static int64_t add_others(struct quern_range *to, const struct quern_range *others, int count) {
    memcpy(to, others, (size_t)count * sizeof *others);
    return count;
}

/* ---- a call ---- */

quern_status quern_adam_check_apart(const quern_device *device, const quern_adam_args *args, const struct quern_adam_list *list,
                                    const struct quern_range *others, int count) {
    struct quern_range ranges[QUERN_CHECKED_ARRAYS + QUERN_OTHER_RANGES], scratch[QUERN_CHECKED_ARRAYS + QUERN_OTHER_RANGES];
    const struct quern_adam_parts parts = quern_adam_list_parts(args);
    const bool is_short = list->count <= QUERN_CHECKED_ARRAYS && arrays_of(&parts, args, list) <= QUERN_CHECKED_ARRAYS;
    int64_t total = is_short ? list_ranges(&parts, args, list, ranges) : 0;
    total += add_others(ranges + total, others, count);
    return quern_check_apart(device, LIST, ranges, scratch, total);
}

quern_status quern_adam_allocate_ranges(const quern_device *device, int64_t arrays, struct quern_range **ranges) {
    *ranges = malloc(2 * (size_t)(arrays + QUERN_OTHER_RANGES) * sizeof **ranges);
    if (*ranges) return QUERN_OK;
    return quern_fail(device, QUERN_OUT_OF_MEMORY, "no memory to compare the %lld arrays of a list", (long long)arrays);
}

quern_status quern_adam_check_long_apart(const quern_device *device, const quern_adam_args *args,
                                         const struct quern_adam_list *list, const struct quern_range *others, int count) {
    const struct quern_adam_parts parts = quern_adam_list_parts(args);
    const int64_t arrays = arrays_of(&parts, args, list);
    struct quern_range *ranges;
    quern_status status = quern_adam_allocate_ranges(device, arrays, &ranges);
    if (status != QUERN_OK) return status;
    int64_t total = list_ranges(&parts, args, list, ranges);
    total += add_others(ranges + total, others, count);
    status = quern_check_apart(device, LIST, ranges, ranges + arrays + QUERN_OTHER_RANGES, total);
    free(ranges);
    return status;
}

/* ---- a plan ---- */

/* Joins sorted ranges that touch.  Returns the number of pieces. */
static int64_t join(const struct quern_range *ranges, int64_t count, struct quern_adam_piece *pieces) {
    int64_t made = 0;
    for (int64_t i = 0; i < count; i++) {
        const bool written = ranges[i].access != QUERN_READ;
        struct quern_adam_piece *last = made ? &pieces[made - 1] : NULL;
        if (ranges[i].begin == ranges[i].end) continue;
        if (!last || last->written != written || last->end < ranges[i].begin)
            pieces[made++] = (struct quern_adam_piece){ranges[i].begin, ranges[i].end, written};
        else if (last->end < ranges[i].end)
            last->end = ranges[i].end;
    }
    return made;
}

quern_status quern_adam_join(const quern_device *device, const struct quern_range *ranges, int64_t count,
                             struct quern_adam_pieces *pieces) {
    struct quern_adam_piece *list = malloc(((size_t)count + 1) * sizeof *list);
    if (!list) return quern_fail(device, QUERN_OUT_OF_MEMORY, "no memory for the arrays of a plan");
    pieces->count = join(ranges, count, list);
    struct quern_adam_piece *smaller = realloc(list, ((size_t)pieces->count + 1) * sizeof *list);
    pieces->list = smaller ? smaller : list;
    return QUERN_OK;
}

quern_status quern_adam_keep_pieces(struct quern_adam_plan *plan) {
    const struct quern_adam_list list = {(const char *)plan->tensors, sizeof *plan->tensors, plan->marks.places};
    const struct quern_adam_parts parts = quern_adam_list_parts(&plan->args);
    const int64_t arrays = arrays_of(&parts, &plan->args, &list);
    struct quern_range *ranges;
    quern_status status = quern_adam_allocate_ranges(plan->device, arrays, &ranges);
    if (status != QUERN_OK) return status;
    const int64_t count = list_ranges(&parts, &plan->args, &list, ranges);
    status = quern_check_apart(plan->device, LIST, ranges, ranges + arrays + QUERN_OTHER_RANGES, count);
    if (status == QUERN_OK) status = quern_adam_join(plan->device, ranges, count, &plan->pieces);
    free(ranges);
    return status;
}

/* The first piece that ends behind an address. */
static int64_t first_piece(const struct quern_adam_pieces *pieces, uintptr_t address) {
    int64_t low = 0, high = pieces->count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (pieces->list[middle].end <= address) low = middle + 1;
        else high = middle;
    }
    return low;
}

static bool meets_plan(const struct quern_adam_pieces *pieces, const struct quern_range *range) {
    const bool written = range->access != QUERN_READ;
    if (range->begin == range->end) return false;
    for (int64_t i = first_piece(pieces, range->begin); i < pieces->count && pieces->list[i].begin < range->end; i++)
        if (written || pieces->list[i].written) return true;
    return false;
}

quern_status quern_adam_check_against_pieces(const quern_device *device, const struct quern_adam_pieces *pieces,
                                             const struct quern_range *others, int count) {
    struct quern_range ranges[QUERN_OTHER_RANGES];
    for (int i = 0; i < count; i++)
        if (meets_plan(pieces, &others[i]))
            return quern_fail(device, QUERN_INVALID_ARGUMENT, "%s overlaps an array of args.plan: expected separate memory",
                              others[i].name);
    return quern_check_apart(device, LIST, ranges, NULL, add_others(ranges, others, count));
}

quern_status quern_adam_check_against_plan(const quern_device *device, const struct quern_adam_plan *plan,
                                           const struct quern_range *others, int count) {
    return quern_adam_check_against_pieces(device, &plan->pieces, others, count);
}
