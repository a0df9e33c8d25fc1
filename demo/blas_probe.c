/*
 * Opens a BLAS as the demo does, tests it with one product and prints the library's name.  `./quern` runs this to check that a
 * BLAS works.
 */
#include <stdio.h>

#include "blas.h"

int main(void) {
    const float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8};
    float c[4] = {0};
    if (!blas_open()) return 1;
    blas_sgemm(BLAS_AS_IS, BLAS_TRANSPOSED, 2, 2, 2, 1, a, 2, b, 2, 0, c, 2);
    if (c[0] != 17 || c[1] != 23 || c[2] != 39 || c[3] != 53) return 1;
    puts(blas_name());
    return 0;
}
