/*
 * The same bits everywhere: a trainer and a rollout engine on different machines compute the log-probabilities and gradients of the
 * same logits.  Here each set of kernels that this CPU can run plays a machine.  The hash is also that of any other machine.
 *
 *   cc portable_bits.c $(pkg-config --cflags --libs quern) -o portable_bits
 */
#define _POSIX_C_SOURCE 200112L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quern.h>

enum { ROWS = 8, VOCAB = 50257 };

static const uint64_t everywhere = 0x7D65992AE4C86394;

static void check(quern_status status) {
    char detail[256];
    if (status == QUERN_OK) return;
    quern_error_detail(detail, sizeof detail);
    fprintf(stderr, "%s: %s\n", quern_status_string(status), detail);
    exit(EXIT_FAILURE);
}

static uint64_t hash_more(uint64_t hash, const void *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) hash = (hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    return hash;
}

/* bf16 logits from -8 to 8, by integers. */
static void fill(uint16_t *logits, int32_t *labels) {
    uint32_t state = 1;
    for (int i = 0; i < ROWS * VOCAB; i++) {
        state = state * 1664525u + 1013904223u;
        logits[i] = (uint16_t)((state >> 31 << 15) | (0x3E00 + (state >> 8) % 0x301));
    }
    for (int r = 0; r < ROWS; r++) labels[r] = r * 6007;
}

static uint64_t hash_of(quern_device *device) {
    static uint16_t logits[ROWS * VOCAB];
    static int32_t labels[ROWS];
    float loss[ROWS], lse[ROWS], log_prob[ROWS];
    size_t bytes;
    fill(logits, labels);

    quern_cross_entropy_args args = QUERN_CROSS_ENTROPY_ARGS_INIT;
    args.bits = QUERN_BITS_PORTABLE;
    args.logits_dtype = QUERN_BF16, args.labels_dtype = QUERN_INT32, args.rows = ROWS, args.vocab = VOCAB;
    args.logits = args.grad = logits, args.labels = labels;
    args.loss = loss, args.lse = lse, args.log_prob = log_prob;
    args.inverse_temperature = 0.8f;
    check(quern_cross_entropy_workspace(device, &args, &bytes));
    void *workspace = aligned_alloc(16, (bytes + 15) / 16 * 16);
    check(quern_cross_entropy(device, &args, workspace, bytes, NULL));
    free(workspace);

    uint64_t hash = hash_more(14695981039346656037u, loss, sizeof loss);
    hash = hash_more(hash_more(hash, lse, sizeof lse), log_prob, sizeof log_prob);
    return hash_more(hash, logits, sizeof logits);
}

int main(void) {
    static const char *const targets[] = {"avx512", "avx2", "neon", "portable"};
    int differ = 0;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        char kernels[32];
        quern_device *device = NULL;
        snprintf(kernels, sizeof kernels, "*__%s", targets[i]);
        setenv("QUERN_KERNEL", kernels, 1);  /* of devices that are opened from now on */
        if (quern_device_open(QUERN_CPU, 0, &device) == QUERN_OK && quern_prepare(device, QUERN_CROSS_ENTROPY) == QUERN_OK) {
            const uint64_t hash = hash_of(device);
            printf("%-8s 0x%016llX%s\n", targets[i], (unsigned long long)hash, hash == everywhere ? "" : ", which is wrong");
            differ |= hash != everywhere;
        } else {
            printf("%-8s not here\n", targets[i]);
        }
        quern_device_close(device);
    }
    return differ ? EXIT_FAILURE : EXIT_SUCCESS;
}
