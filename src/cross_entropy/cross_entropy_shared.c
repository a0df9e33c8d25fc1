/*
 * How much shared memory a block needs for a row or its share, and what it does.  Called when a kernel is selected, launched or
 * asked.
 */
#include "cross_entropy/cross_entropy.h"

#include "os/integers.h"

int64_t quern_cross_entropy_shared_bytes(const struct quern_kernel *kernel, int64_t columns, int64_t parts) {
    return kernel->cuda.shared_per_column * columns + kernel->cuda.shared_per_part * parts + kernel->cuda.shared_fixed;
}

int64_t quern_cross_entropy_share_bytes(const struct quern_kernel *kernel, int64_t columns, int64_t blocks) {
    const int64_t vector = kernel->cuda.elements, each = quern_divide_up(quern_divide_up(columns, vector), blocks) * vector;
    return quern_cross_entropy_shared_bytes(kernel, each, 0);
}

bool quern_cross_entropy_keeps_rows(const struct quern_kernel *kernel) {
    return kernel->key.cross_entropy.vocab_max < INT64_MAX;
}

bool quern_cross_entropy_serves_call(const struct quern_kernel *kernel) {
    return kernel->key.cross_entropy.stage == QUERN_STAGE_ROWS && kernel->cuda.elements && !kernel->key.cross_entropy.full;
}

size_t quern_cross_entropy_progress_bytes(int64_t rows) {
    const size_t slices = (size_t)quern_divide_up(rows, QUERN_ROWS_OF_SLICE);
    return sizeof(struct quern_rows_progress) + sizeof(uint32_t) * slices;
}
