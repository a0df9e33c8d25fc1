/* Finds a BLAS at run time.  main.c opens it; matmul.c, attention.c and classifier.c multiply with it. */
#include "blas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef void sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float *a, int a_stride,
                   const float *b, int b_stride, float beta, float *c, int c_stride);
typedef void set_threads(int threads);

/* In order of preference: the reference BLAS is common but slow, so it comes last. */
static const char *const libraries[] = {"libopenblas.so.0", "libblis.so.4", "libmkl_rt.so.2", "libcblas.so.3", "libblas.so.3"};

enum { LIBRARIES = sizeof libraries / sizeof *libraries };

static sgemm *multiply;
static const char *found;

/* Loads a function of a library; false if the library does not have it. */
static bool find_function(void *library, const char *name, void *function, size_t size) {
    void *address = dlsym(library, name);
    if (address != NULL) memcpy(function, &address, size);
    return address != NULL;
}

bool blas_open(void) {
    for (int i = 0; i < LIBRARIES; i++) {
        void *library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) continue;
        if (!find_function(library, "cblas_sgemm", &multiply, sizeof multiply)) {
            dlclose(library);
            continue;
        }
        found = libraries[i];
        /* The engine's own threads divide the products. */
        set_threads *set;
        if (find_function(library, "openblas_set_num_threads", &set, sizeof set) ||
            find_function(library, "MKL_Set_Num_Threads", &set, sizeof set))
            set(1);
        return true;
    }
    fprintf(stderr, "language_model: no BLAS with cblas_sgemm among");
    for (int i = 0; i < LIBRARIES; i++) fprintf(stderr, " %s", libraries[i]);
    fprintf(stderr, "; install one: apt-get install libopenblas0\n");
    return false;
}

const char *blas_name(void) { return found; }

void blas_sgemm(enum blas_transpose transpose_a, enum blas_transpose transpose_b, int m, int n, int k, float alpha, const float *a,
                int a_stride, const float *b, int b_stride, float beta, float *c, int c_stride) {
    multiply(BLAS_ROW_MAJOR, transpose_a, transpose_b, m, n, k, alpha, a, a_stride, b, b_stride, beta, c, c_stride);
}
