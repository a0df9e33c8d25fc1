/*
 * Finds arrays that share memory, by sorting all arrays of a list by address.  Called for steps, plans, norms and saved states; the
 * sorting is runtime/ranges.c.
 */
#include "adam/adam.h"

#include <stdlib.h>
#include <string.h>

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

quern_status quern_adam_check_long_apart(const quern_device *device, const quern_adam_args *args,
                                         const struct quern_adam_list *list, const struct quern_range *others, int count) {
    const struct quern_adam_parts parts = quern_adam_list_parts(args);
    const int64_t arrays = arrays_of(&parts, args, list);
    struct quern_range *ranges;
    quern_status status = quern_allocate_ranges(device, arrays, &ranges);
    if (status != QUERN_OK) return status;
    int64_t total = list_ranges(&parts, args, list, ranges);
    total += add_others(ranges + total, others, count);
    status = quern_check_apart(device, LIST, ranges, ranges + arrays + QUERN_OTHER_RANGES, total);
    free(ranges);
    return status;
}

/* ---- a plan ---- */

quern_status quern_adam_keep_pieces(struct quern_adam_plan *plan) {
    const struct quern_adam_list list = {
        .tensors = (const char *)plan->tensors, .stride = sizeof *plan->tensors, .count = plan->marks.places};
    const struct quern_adam_parts parts = quern_adam_list_parts(&plan->args);
    const int64_t arrays = arrays_of(&parts, &plan->args, &list);
    struct quern_range *ranges;
    quern_status status = quern_allocate_ranges(plan->device, arrays, &ranges);
    if (status != QUERN_OK) return status;
    const int64_t count = list_ranges(&parts, &plan->args, &list, ranges);
    status = quern_check_apart(plan->device, LIST, ranges, ranges + arrays + QUERN_OTHER_RANGES, count);
    if (status == QUERN_OK) status = quern_join_ranges(plan->device, ranges, count, &plan->pieces);
    free(ranges);
    return status;
}

quern_status quern_adam_check_against_plan(const quern_device *device, const struct quern_adam_plan *plan,
                                           const struct quern_range *others, int count) {
    return quern_check_against_pieces(device, &plan->pieces, others, count);
}
