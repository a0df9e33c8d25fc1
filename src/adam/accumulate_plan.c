/*
 * The public functions on plans of accumulations: check a list of gradients, compare its arrays and, on a GPU, write it to device
 * memory.
 */
#include <stdlib.h>
#include <string.h>

#include "adam/adam.h"
#include "runtime/status.h"

/* ---- the tables on a GPU ---- */

/* The offsets of the tables in one piece of memory. */
struct layout {
    size_t slices, tiles, bytes;
};

static struct layout lay_out(const quern_accumulate_plan *plan) {
    struct layout layout = {0};
    layout.slices = quern_plan_reserve(&layout.bytes, (size_t)plan->list.count * sizeof *plan->tables.slices);
    layout.tiles = quern_plan_reserve(&layout.bytes, (size_t)plan->tables.tile_count * sizeof *plan->tables.tiles);
    return layout;
}

static void fill_tables(const quern_accumulate_plan *plan, const struct layout *layout, char *tables) {
    struct quern_gradient_slice *slices = (void *)(tables + layout->slices);
    struct quern_adam_tile *tile = (void *)(tables + layout->tiles);
    for (int64_t place = 0; place < plan->list.count; place++) {
        slices[place] = quern_gradient_at(&plan->list, place);
        const uint32_t tiles = (uint32_t)quern_adam_tiles(slices[place].count);
        for (uint32_t number = 0; number < tiles; number++) *tile++ = (struct quern_adam_tile){(uint32_t)place, number};
    }
}

static quern_status make_tables(quern_accumulate_plan *plan) {
    plan->tables.tile_count = quern_gradient_pieces(&plan->list, QUERN_LIST_TILE);
    if (!plan->tables.tile_count) return QUERN_OK;
    const struct layout layout = lay_out(plan);
    char *tables = calloc(1, layout.bytes);
    if (!tables)
        return quern_fail(plan->device, QUERN_OUT_OF_MEMORY, "no memory for the %zu bytes of a plan's tables", layout.bytes);
    fill_tables(plan, &layout, tables);
    quern_status status = quern_plan_upload(plan->device, &plan->memory, tables, layout.bytes);
    free(tables);
    if (status != QUERN_OK) return status;
    const char *memory = (const char *)(uintptr_t)plan->memory.address;
    plan->tables.slices = (const void *)(memory + layout.slices);
    plan->tables.tiles = (const void *)(memory + layout.tiles);
    return QUERN_OK;
}

/* ---- the plan ---- */

static quern_status keep_pieces(quern_accumulate_plan *plan) {
    const struct quern_gradient_access access = quern_accumulate_access(&plan->args);
    const int64_t arrays = 2 * plan->list.count;
    struct quern_range *ranges;
    quern_status status = quern_allocate_ranges(plan->device, arrays, &ranges);
    if (status != QUERN_OK) return status;
    const int64_t count = quern_gradient_ranges(&plan->list, &access, ranges);
    status = quern_check_apart(plan->device, "args.gradients", ranges, ranges + arrays + QUERN_OTHER_RANGES, count);
    if (status == QUERN_OK) status = quern_join_ranges(plan->device, ranges, count, &plan->pieces);
    free(ranges);
    return status;
}

/* The list's own copy lies behind the plan: the gradients, then the places of their token counts. */
static void copy_list(quern_accumulate_plan *plan, const struct quern_gradient_list *list) {
    int32_t *places = (void *)&plan->gradients[list->count];
    for (int64_t i = 0; i < list->count; i++) {
        plan->gradients[i] = list->gradients[i];
        if (list->token_places) places[i] = list->token_places[i];
    }
    plan->list = (struct quern_gradient_list){
        .gradients = plan->gradients, .token_places = list->token_places ? places : NULL, .count = list->count};
}

static quern_status create(quern_device *device, const quern_accumulate_args *args, const struct quern_gradient_list *list,
                           quern_accumulate_plan **out) {
    const size_t item = sizeof(quern_gradient) + sizeof(int32_t);
    quern_accumulate_plan *plan = calloc(1, sizeof *plan + (size_t)list->count * item);
    if (!plan)
        return quern_fail(device, QUERN_OUT_OF_MEMORY, "no memory for a plan of %lld gradients", (long long)list->count);
    plan->device = device;
    plan->args = *args;
    copy_list(plan, list);
    quern_status status = keep_pieces(plan);
    if (status == QUERN_OK && device->kind == QUERN_CUDA) status = make_tables(plan);
    if (status == QUERN_OK) *out = plan;
    else quern_accumulate_plan_destroy(plan);
    return status;
}

quern_status quern_accumulate_plan_create(quern_device *device, const quern_accumulate_args *given, quern_accumulate_plan **plan) {
    quern_accumulate_args args;
    struct quern_gradient_list list;
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    if (!plan) return quern_fail(device, QUERN_NULL_POINTER, "plan is NULL");
    quern_status status = quern_accumulate_take(device, given, &args);
    if (status == QUERN_OK) status = quern_accumulate_check_list(device, &args, args.group_count != 0, &list);
    return status == QUERN_OK ? create(device, &args, &list, plan) : status;
}

void quern_accumulate_plan_destroy(quern_accumulate_plan *plan) {
    if (!plan) return;
    quern_plan_free(&plan->memory);
    free(plan->pieces.list);
    free(plan);
}
