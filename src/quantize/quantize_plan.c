/* The public functions on plans of quantisations: check a list, compare its arrays and, on a GPU, write it to device memory. */
#include <stdlib.h>
#include <string.h>

#include "quantize/quantize.h"
#include "runtime/arguments.h"
#include "runtime/dtype.h"
#include "runtime/status.h"

/* ---- the tables on a GPU ---- */

/* The offsets of the tables in one piece of memory. */
struct layout {
    size_t slices, states, tiles, matrices, matrix_tiles, bytes;
};

static struct layout lay_out(const quern_quantize_plan *plan) {
    const struct quern_quantize_tables *tables = &plan->tables;
    const size_t tensors = plan->form.in_blocks ? 0 : (size_t)plan->count;
    const size_t matrices = plan->form.has_matrices ? (size_t)plan->count : 0;
    struct layout layout = {0};
    layout.slices = quern_plan_reserve(&layout.bytes, tensors * sizeof *tables->slices);
    layout.states = quern_plan_reserve(&layout.bytes, tensors * sizeof *tables->states);
    layout.tiles = quern_plan_reserve(&layout.bytes, (size_t)tables->tile_count * sizeof *tables->tiles);
    layout.matrices = quern_plan_reserve(&layout.bytes, matrices * sizeof *tables->matrices);
    layout.matrix_tiles = quern_plan_reserve(&layout.bytes, (size_t)tables->matrix_tile_count * sizeof *tables->matrix_tiles);
    return layout;
}

static struct quern_adam_tile *fill_tiles(struct quern_adam_tile *tile, int64_t place, int64_t tiles) {
    for (int64_t number = 0; number < tiles; number++) *tile++ = (struct quern_adam_tile){(uint32_t)place, (uint32_t)number};
    return tile;
}

/* The states begin as zeros, and so does the memory. */
static void fill_tensors(const quern_quantize_plan *plan, const struct layout *layout, char *tables) {
    struct quern_quantize_slice *slices = (void *)(tables + layout->slices);
    struct quern_adam_tile *tile = (void *)(tables + layout->tiles);
    for (int64_t place = 0; place < plan->count; place++) {
        const quern_quantize_tensor *tensor = &plan->tensors[place];
        slices[place] = (struct quern_quantize_slice){tensor->input, tensor->output, tensor->count};
        tile = fill_tiles(tile, place, quern_quantize_tiles(tensor->count));
    }
}

static void fill_matrices(const quern_quantize_plan *plan, const struct layout *layout, char *tables) {
    struct quern_quantize_matrix *matrices = (void *)(tables + layout->matrices);
    struct quern_adam_tile *tile = (void *)(tables + layout->matrix_tiles);
    for (int64_t place = 0; place < plan->count; place++) {
        matrices[place] = quern_quantize_matrix_of(&plan->tensors[place], plan->form.in_blocks);
        tile = fill_tiles(tile, place, quern_quantize_matrix_tiles(&matrices[place]));
    }
}

static void count_tiles(quern_quantize_plan *plan) {
    for (int64_t place = 0; place < plan->count; place++) {
        const struct quern_quantize_matrix matrix = quern_quantize_matrix_of(&plan->tensors[place], plan->form.in_blocks);
        if (!plan->form.in_blocks) plan->tables.tile_count += quern_quantize_tiles(plan->tensors[place].count);
        if (plan->form.has_matrices) plan->tables.matrix_tile_count += quern_quantize_matrix_tiles(&matrix);
    }
}

static quern_status make_tables(quern_quantize_plan *plan) {
    if (!plan->count) return QUERN_OK;
    count_tiles(plan);
    const struct layout layout = lay_out(plan);
    char *tables = calloc(1, layout.bytes);
    if (!tables)
        return quern_fail(plan->device, QUERN_OUT_OF_MEMORY, "no memory for the %zu bytes of a plan's tables", layout.bytes);
    if (!plan->form.in_blocks) fill_tensors(plan, &layout, tables);
    if (plan->form.has_matrices) fill_matrices(plan, &layout, tables);
    quern_status status = quern_plan_upload(plan->device, &plan->memory, tables, layout.bytes);
    free(tables);
    if (status != QUERN_OK) return status;
    char *memory = (char *)(uintptr_t)plan->memory.address;
    plan->tables.slices = (const void *)(memory + layout.slices);
    plan->tables.states = (void *)(memory + layout.states);
    plan->tables.tiles = (const void *)(memory + layout.tiles);
    plan->tables.matrices = (const void *)(memory + layout.matrices);
    plan->tables.matrix_tiles = (const void *)(memory + layout.matrix_tiles);
    return QUERN_OK;
}

/* ---- the plan ---- */

static quern_status keep_pieces(quern_quantize_plan *plan) {
    const int64_t element = (int64_t)quern_dtype_bytes(plan->input_dtype);
    const struct quern_quantize_use use = {element, QUERN_QUANTIZE_CASTS, plan->form.in_blocks};
    const struct quern_quantize_list list = quern_quantize_list_of(plan->tensors, sizeof *plan->tensors);
    const int64_t arrays = quern_quantize_most_arrays(plan->count, plan->form);
    struct quern_range *ranges;
    quern_status status = quern_allocate_ranges(plan->device, arrays, &ranges);
    if (status != QUERN_OK) return status;
    const int64_t count = quern_quantize_ranges(&list, plan->count, &use, ranges);
    status = quern_check_apart(plan->device, QUERN_QUANTIZE_LIST, ranges, ranges + arrays + QUERN_OTHER_RANGES, count);
    if (status == QUERN_OK) status = quern_join_ranges(plan->device, ranges, count, &plan->pieces);
    free(ranges);
    return status;
}

static quern_status create(quern_device *device, const quern_quantize_args *args, struct quern_quantize_form form,
                           quern_quantize_plan **out) {
    const struct quern_quantize_list list = quern_quantize_list_of(args->tensors, args->tensor_size);
    quern_quantize_plan *plan = calloc(1, sizeof *plan + (size_t)args->tensor_count * sizeof *plan->tensors);
    if (!plan)
        return quern_fail(device, QUERN_OUT_OF_MEMORY, "no memory for a plan of %lld tensors", (long long)args->tensor_count);
    plan->device = device, plan->form = form;
    plan->input_dtype = args->input_dtype, plan->output_dtype = args->output_dtype;
    plan->count = args->tensor_count;
    for (int64_t place = 0; place < plan->count; place++) plan->tensors[place] = quern_quantize_tensor_at(&list, place);
    quern_status status = keep_pieces(plan);
    if (status == QUERN_OK && device->kind == QUERN_CUDA) status = make_tables(plan);
    if (status == QUERN_OK) *out = plan;
    else quern_quantize_plan_destroy(plan);
    return status;
}

quern_status quern_quantize_plan_create(quern_device *device, const quern_quantize_args *args, quern_quantize_plan **plan) {
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    if (!plan) return quern_fail(device, QUERN_NULL_POINTER, "plan is NULL");
    struct quern_quantize_form form;
    quern_quantize_args taken;
    quern_status status = quern_quantize_take(device, args, &taken);
    if (status == QUERN_OK) status = quern_quantize_check_list(device, &taken, QUERN_QUANTIZE_CASTS, &form);
    return status == QUERN_OK ? create(device, &taken, form, plan) : status;
}

void quern_quantize_plan_destroy(quern_quantize_plan *plan) {
    if (!plan) return;
    quern_plan_free(&plan->memory);
    free(plan->pieces.list);
    free(plan);
}
