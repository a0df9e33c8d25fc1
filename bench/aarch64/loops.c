/*
 * One call of a kernel over so many elements, for the counts of predict.py: loops CASE ELEMENTS.
 *
 * QUERN_KERNEL chooses the target, QUERN_THREADS is 1.  What the call does besides its loops does not depend on the number.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quern.h"

static void require(quern_status status) {
    char why[256];
    if (status == QUERN_OK) return;
    quern_error_detail(why, sizeof why);
    fprintf(stderr, "%s: %s\n", quern_status_string(status), why);
    exit(1);
}

/* Small positive values of any type.  Always as many, so that counts do not depend on them. */
enum { MOST = 1 << 14, WORKSPACE = 1 << 20 };

static _Alignas(64) char workspace[WORKSPACE];

static void *values(void) {
    void *bytes = malloc(MOST * sizeof(float));
    return bytes ? memset(bytes, 0x3D, MOST * sizeof(float)) : (exit(1), NULL);
}

static void adam(quern_device *device, int64_t count, quern_dtype dtype, quern_dtype master, quern_rounding rounding) {
    quern_adam_tensor tensor = {.param = values(), .grad = values(), .m = values(), .v = values(),
                                .master = master ? values() : NULL, .count = count};
    quern_adam_args args = QUERN_ADAM_ARGS_INIT;
    args.param_dtype = args.grad_dtype = args.m_dtype = args.v_dtype = dtype;
    args.master_dtype = master, args.param_rounding = args.m_rounding = args.v_rounding = rounding;
    args.tensors = &tensor, args.tensor_count = 1;
    args.lr = 0.001, args.weight_decay = 0.1, args.step = 1;
    require(quern_adam(device, &args, workspace, WORKSPACE, NULL));
}

static void adam_f32(quern_device *device, int64_t count) { adam(device, count, QUERN_F32, QUERN_NO_DTYPE, QUERN_ROUND_DEFAULT); }
static void adam_nearest(quern_device *device, int64_t count) { adam(device, count, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ROUND_NEAREST); }
static void adam_bf16(quern_device *device, int64_t count) { adam(device, count, QUERN_BF16, QUERN_NO_DTYPE, QUERN_ROUND_DEFAULT); }
static void adam_master(quern_device *device, int64_t count) { adam(device, count, QUERN_BF16, QUERN_F32, QUERN_ROUND_DEFAULT); }

static void cross_entropy(quern_device *device, int64_t count, quern_dtype dtype) {
    int64_t label = 5;
    float loss;
    quern_cross_entropy_args args = QUERN_CROSS_ENTROPY_ARGS_INIT;
    args.logits_dtype = dtype, args.labels_dtype = QUERN_INT64, args.rows = 1, args.vocab = count;
    args.logits = args.grad = values(), args.labels = &label, args.loss = &loss;
    require(quern_cross_entropy(device, &args, workspace, WORKSPACE, NULL));
}

static void cross_entropy_f32(quern_device *device, int64_t count) { cross_entropy(device, count, QUERN_F32); }
static void cross_entropy_bf16(quern_device *device, int64_t count) { cross_entropy(device, count, QUERN_BF16); }

static void quantize_e4m3(quern_device *device, int64_t count) {
    float amax = 0, scale = 0, scale_inv = 0;
    quern_quantize_tensor tensor = {.input = values(), .output = values(), .count = count};
    quern_quantize_args args = QUERN_QUANTIZE_ARGS_INIT;
    args.input_dtype = QUERN_BF16, args.output_dtype = QUERN_E4M3;
    args.tensors = &tensor, args.tensor_count = 1, args.amax = &amax, args.scale = &scale, args.scale_inv = &scale_inv;
    require(quern_quantize(device, &args, workspace, WORKSPACE, NULL));
}

static const struct {
    const char *name;
    void (*run)(quern_device *device, int64_t count);
} cases[] = {{"adam_f32", adam_f32},
             {"adam_nearest", adam_nearest},
             {"adam_bf16", adam_bf16},
             {"adam_master", adam_master},
             {"cross_entropy_f32", cross_entropy_f32},
             {"cross_entropy_bf16", cross_entropy_bf16},
             {"quantize_e4m3", quantize_e4m3}};

int main(int count, char **words) {
    quern_device *device;
    const int64_t elements = count == 3 ? atoll(words[2]) : 0;
    for (size_t i = 0; elements > 0 && elements <= MOST && i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(words[1], cases[i].name)) continue;
        require(quern_device_open(QUERN_CPU, 0, &device));
        require(quern_prepare(device, QUERN_CROSS_ENTROPY | QUERN_ADAM | QUERN_QUANTIZE));
        cases[i].run(device, elements);
        quern_device_close(device);
        return 0;
    }
    fprintf(stderr, "usage: loops CASE ELEMENTS, at most %d\n", MOST);
    return 2;
}
