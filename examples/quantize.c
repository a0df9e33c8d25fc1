/*
 * Two tensors in FP8, whose scales two ranks share: the amaxes are reduced between the two steps of the quantisation.
 *
 *   cc quantize.c $(pkg-config --cflags --libs quern) -o quantize
 */
#include <stdio.h>
#include <stdlib.h>

#include <quern.h>

enum { TENSORS = 2, COUNT = 4 };

static void check(quern_status status) {
    char detail[256];
    if (status == QUERN_OK) return;
    quern_error_detail(detail, sizeof detail);
    fprintf(stderr, "%s: %s\n", quern_status_string(status), detail);
    exit(EXIT_FAILURE);
}

/* The maximum over the ranks: an exchange of TENSORS numbers for all tensors. */
static void reduce(float *amax) {
    static const float of_the_other[TENSORS] = {2, 8};
    for (int i = 0; i < TENSORS; i++)
        if (of_the_other[i] > amax[i]) amax[i] = of_the_other[i];
}

int main(void) {
    static const float input[TENSORS][COUNT] = {{0.5f, -1, 3.5f, 0}, {1, -2, 4, 0.01f}};
    static uint8_t output[TENSORS][COUNT];
    float amax[TENSORS], scale[TENSORS], inverse[TENSORS];
    quern_quantize_tensor tensors[TENSORS];
    quern_device *device;
    size_t bytes;
    for (int i = 0; i < TENSORS; i++) tensors[i] = (quern_quantize_tensor){.input = input[i], .output = output[i], .count = COUNT};
    check(quern_device_open(QUERN_CPU, 0, &device));
    check(quern_prepare(device, QUERN_QUANTIZE));

    quern_quantize_args args = QUERN_QUANTIZE_ARGS_INIT;
    args.input_dtype = QUERN_F32;
    args.output_dtype = QUERN_E4M3;
    args.tensors = tensors;
    args.tensor_count = TENSORS;
    args.amax = amax;
    args.scale = scale;
    args.scale_inv = inverse;
    check(quern_quantize_workspace(device, &args, &bytes));    /* 0 on a CPU */
    check(quern_quantize_amax(device, &args, NULL, bytes, NULL));
    reduce(amax);
    check(quern_quantize_cast(device, &args, NULL));
    for (int i = 0; i < TENSORS; i++) {
        printf("amax %g, scale %g:", (double)amax[i], (double)scale[i]);
        for (int k = 0; k < COUNT; k++) printf(" 0x%02X", output[i][k]);
        printf("\n");
    }
    quern_device_close(device);
}
