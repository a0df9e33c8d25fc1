/*
 * Loads a kernel pack, the kernels of a GPU generation that the library was built without, and shows which kernel a device then
 * uses for bf16 logits, and why not an earlier one.  `./quern gen pack sm_121` writes such a pack.
 *
 *   cc kernel_pack.c $(pkg-config --cflags --libs quern) -o kernel_pack
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quern.h>

static void check(quern_status status) {
    char detail[256];
    if (status == QUERN_OK) return;
    quern_error_detail(detail, sizeof detail);
    fprintf(stderr, "%s: %s\n", quern_status_string(status), detail);
    exit(EXIT_FAILURE);
}

int main(int count, char **arguments) {
    if (count != 3 || (strcmp(arguments[2], "cpu") != 0 && strcmp(arguments[2], "cuda") != 0)) {
        fprintf(stderr, "Usage: kernel_pack FILE.qpack cpu|cuda\n");
        return 2;
    }
    static char explanation[65536];
    quern_device *device;
    check(quern_load_pack(arguments[1]));                /* before quern_prepare, which loads its kernels */
    check(quern_device_open(strcmp(arguments[2], "cuda") == 0 ? QUERN_CUDA : QUERN_CPU, 0, &device));
    check(quern_prepare(device, QUERN_CROSS_ENTROPY));

    quern_cross_entropy_args args = QUERN_CROSS_ENTROPY_ARGS_INIT;
    args.logits_dtype = QUERN_BF16;
    args.labels_dtype = QUERN_INT32;
    args.rows = 4096;
    args.vocab = 32000;
    quern_cross_entropy_explain(device, &args, explanation, sizeof explanation);
    printf("%s", explanation);
    quern_device_close(device);
}
