/*
 * The last layer of a language model and its loss, without the logits of all rows: the library calls back for matrix products,
 * here plain loops, and holds the logits of two rows at a time.  An engine passes its own BLAS, or quern_blas_gemm.
 *
 *   cc linear_cross_entropy.c $(pkg-config --cflags --libs quern) -o linear_cross_entropy
 */
#include <stdio.h>
#include <stdlib.h>

#include <quern.h>

static void check(quern_status status) {
    char detail[256];
    if (status == QUERN_OK) return;
    quern_error_detail(detail, sizeof detail);
    fprintf(stderr, "%s: %s\n", quern_status_string(status), detail);
    exit(EXIT_FAILURE);
}

static int products;

/* An element of a matrix that is stored by rows, or transposed. */
static float element(const void *matrix, int transposed, int64_t stride, int64_t row, int64_t column) {
    return ((const float *)matrix)[transposed ? column * stride + row : row * stride + column];
}

/* C = A * B, or C += A * B, in fp32. */
static quern_status multiply(void *user, const quern_gemm_args *args, void *stream) {
    (void)user, (void)stream;
    products++;
    for (int64_t i = 0; i < args->m; i++) {
        for (int64_t j = 0; j < args->n; j++) {
            float *c = (float *)args->c + i * args->c_stride + j, sum = args->accumulate ? *c : 0;
            for (int64_t k = 0; k < args->k; k++)
                sum += element(args->a, args->a_transposed, args->a_stride, i, k) *
                       element(args->b, args->b_transposed, args->b_stride, k, j);
            *c = sum;
        }
    }
    return QUERN_OK;
}

int main(void) {
    enum { ROWS = 4, VOCAB = 1000, WIDTH = 16 };
    static float hidden[ROWS][WIDTH], weight[VOCAB][WIDTH], d_hidden[ROWS][WIDTH], d_weight[VOCAB][WIDTH];
    int32_t labels[ROWS] = {1, 17, -100, 999};           /* -100: an ignored row */
    float loss;
    size_t bytes;
    quern_device *device;
    check(quern_device_open(QUERN_CPU, 0, &device));
    check(quern_prepare(device, QUERN_CROSS_ENTROPY));
    for (int i = 0; i < ROWS; i++) hidden[i][i] = 1;     /* the weights are 0: every token is equally likely */

    quern_linear_cross_entropy_args args = QUERN_LINEAR_CROSS_ENTROPY_ARGS_INIT;
    args.hidden_dtype = args.weight_dtype = args.loss.logits_dtype = QUERN_F32;
    args.loss.labels_dtype = QUERN_INT32;
    args.loss.reduction = QUERN_REDUCTION_MEAN;
    args.loss.rows = ROWS;
    args.loss.vocab = VOCAB;
    args.loss.labels = labels;
    args.loss.loss = &loss;
    args.width = WIDTH;
    args.hidden = hidden;
    args.weight = weight;
    args.d_hidden = d_hidden;
    args.d_weight = d_weight[0];
    args.chunk_rows = 2;
    args.gemm = multiply;

    check(quern_linear_cross_entropy_workspace(device, &args, &bytes));
    void *workspace = aligned_alloc(64, (bytes + 63) / 64 * 64);
    check(quern_linear_cross_entropy(device, &args, workspace, bytes, NULL));
    printf("loss %.4f (the logarithm of %d) with %d products; gradient of the first label's weight %.3f\n", (double)loss, VOCAB,
           products, (double)d_weight[1][0]);

    free(workspace);
    quern_device_close(device);
}
