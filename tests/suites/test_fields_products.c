/*
 * Each field of a matrix product, by the table of tests/fields/products.h: illegal values are refused with a detail that names the
 * field, matrices are aligned and apart.
 *
 * Runs on: one cpu, one emulated, gpu.
 */
#include "fields/products.h"

Test(fields_products, each_call) {
    fields_open(QUERN_CROSS_ENTROPY);
    const quern_status opened = quern_blas_open(fields_device.quern, NULL, &product_blas);
    if (opened == QUERN_OK) WALK_EACH(product_calls, NULL);
    quern_blas_close(product_blas);
    fields_close();
    if (opened != QUERN_OK) cr_skip_test("there is no BLAS: %s", error_detail());
}
