/* The public functions on plans: check a list of tensors, divide it and, on a GPU, write it to device memory. */
#include <stdlib.h>
#include <string.h>

#include "adam/adam.h"
#include "runtime/device.h"
#include "runtime/status.h"

/* ---- the tables on a GPU ---- */

/* The offsets of the tables in one piece of memory. */
struct layout {
    size_t ticket, slices, extras, tiles, tensor_steps, bytes;
};

static struct layout lay_out(const struct quern_adam_plan *plan) {
    const size_t tensors = (size_t)plan->marks.places;
    struct layout layout = {0};
    layout.ticket = quern_plan_reserve(&layout.bytes, sizeof(uint32_t));
    layout.slices = quern_plan_reserve(&layout.bytes, tensors * sizeof(struct quern_adam_slice));
    layout.extras = quern_plan_reserve(&layout.bytes, tensors * sizeof(struct quern_adam_extras));
    layout.tiles = quern_plan_reserve(&layout.bytes, (size_t)plan->tile_count * sizeof(struct quern_adam_tile));
    layout.tensor_steps = quern_plan_reserve(&layout.bytes, tensors * sizeof(struct quern_adam_tensor_step));
    return layout;
}

static void fill_tables(const struct quern_adam_plan *plan, const struct layout *layout, char *tables) {
    struct quern_adam_slice *slices = (void *)(tables + layout->slices);
    struct quern_adam_extras *extras = (void *)(tables + layout->extras);
    struct quern_adam_tile *tile = (void *)(tables + layout->tiles);
    for (int64_t place = 0; place < plan->marks.places; place++) {
        const quern_adam_tensor *tensor = &plan->tensors[place];
        slices[place] = quern_adam_slice_of(&plan->args, tensor);
        extras[place] = quern_adam_extras_of(&plan->args, tensor);
        const uint32_t tiles = (uint32_t)quern_adam_tiles(tensor->count);
        for (uint32_t number = 0; number < tiles; number++) *tile++ = (struct quern_adam_tile){(uint32_t)place, number};
    }
}

static void point_into(struct quern_adam_plan *plan, const struct layout *layout) {
    char *memory = (char *)(uintptr_t)plan->memory.address;
    plan->ticket = (void *)(memory + layout->ticket);
    plan->slices = (void *)(memory + layout->slices);
    plan->extras = (void *)(memory + layout->extras);
    plan->tiles = (void *)(memory + layout->tiles);
    plan->tensor_steps = (void *)(memory + layout->tensor_steps);
}

static quern_status make_tables(struct quern_adam_plan *plan) {
    const struct layout layout = lay_out(plan);
    char *tables = calloc(1, layout.bytes);
    if (!tables)
        return quern_fail(plan->device, QUERN_OUT_OF_MEMORY, "no memory for the %zu bytes of a plan's tables", layout.bytes);
    fill_tables(plan, &layout, tables);
    quern_status status = quern_plan_upload(plan->device, &plan->memory, tables, layout.bytes);
    if (status == QUERN_OK) point_into(plan, &layout);
    free(tables);
    return status;
}

/* ---- the plan ---- */

static quern_status fill(struct quern_adam_plan *plan, const struct quern_adam_list *list) {
    quern_adam_tensor room;
    quern_status status = quern_adam_mark(plan->device, list, &plan->marks);
    if (status != QUERN_OK) return status;
    for (int64_t place = 0; place < list->count; place++) {
        plan->tensors[place] = *quern_adam_tensor_at(list, place, &room);
        plan->tile_count += quern_adam_tiles(plan->tensors[place].count);
    }
    status = quern_adam_keep_pieces(plan);
    if (status == QUERN_OK && plan->device->kind == QUERN_CUDA) status = make_tables(plan);
    if (status != QUERN_OK) free(plan->pieces.list);
    return status;
}

static quern_status create(quern_device *device, const quern_adam_args *args, quern_adam_plan **out) {
    const struct quern_adam_list list = quern_adam_list_of(args);
    quern_status status = quern_adam_check_tensors(device, args, &list);
    if (status == QUERN_OK && device->kind == QUERN_CUDA) status = quern_adam_check_tiles(device, &list);
    if (status != QUERN_OK) return status;
    struct quern_adam_plan *plan = calloc(1, sizeof *plan + (size_t)list.count * sizeof *plan->tensors);
    if (!plan)
        return quern_fail(device, QUERN_OUT_OF_MEMORY, "no memory for a plan of %lld tensors", (long long)list.count);
    plan->device = device;
    plan->args = *args;
    status = fill(plan, &list);
    if (status == QUERN_OK) *out = plan;
    else free(plan);
    return status;
}

quern_status quern_adam_plan_create(quern_device *device, const quern_adam_args *given, quern_adam_plan **plan) {
    quern_adam_args args;
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    if (!plan) return quern_fail(device, QUERN_NULL_POINTER, "plan is NULL");
    quern_status status = quern_adam_take(device, given, &args);
    args.plan = NULL;
    if (status == QUERN_OK) status = quern_adam_check_form(device, &args);
    return status == QUERN_OK ? create(device, &args, plan) : status;
}

void quern_adam_plan_destroy(quern_adam_plan *plan) {
    if (!plan) return;
    quern_plan_free(&plan->memory);
    free(plan->pieces.list);
    free(plan);
}
