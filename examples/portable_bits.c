/*
 * The same bits everywhere: a trainer and a rollout engine on different machines compute the log-probabilities and gradients of the
 * same logits (args.bits = QUERN_BITS_PORTABLE).  Prints the hash of a fixed case for each set of kernels that this CPU can run and
 * for each GPU, beside the one of all machines.  `./quern bits` builds and runs it.
 *
 *   cc portable_bits.c $(pkg-config --cflags --libs quern) -o portable_bits
 */
#define _POSIX_C_SOURCE 200112L
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <quern.h>

/* Opens a device whose kernels are those of a pattern; NULL: it cannot be had here. */
static quern_device *open_prepared(quern_device_kind kind, int ordinal, const char *kernels) {
    quern_device *device = NULL;
    setenv("QUERN_KERNEL", kernels, 1);
    if (quern_device_open(kind, ordinal, &device) != QUERN_OK) return NULL;
    if (quern_prepare(device, QUERN_CROSS_ENTROPY) == QUERN_OK) return device;
    quern_device_close(device);
    return NULL;
}

/* Whether a device has the hash; closes it. */
static bool has_hash(quern_device *device, const char *name) {
    char detail[256];
    uint64_t hash = 0;
    const quern_status status = quern_portable_hash(device, &hash);
    if (status != QUERN_OK) {
        quern_error_detail(detail, sizeof detail);
        printf("%-9s %s: %s\n", name, quern_status_string(status), detail);
    } else {
        printf("%-9s 0x%016llX%s\n", name, (unsigned long long)hash, hash == QUERN_PORTABLE_HASH ? "" : ", which is wrong");
    }
    quern_device_close(device);
    return hash == QUERN_PORTABLE_HASH;
}

int main(void) {
    static const char *const targets[] = {"avx512", "avx2", "neon", "portable"};
    bool is_right = true;
    printf("expected  0x%016llX\n", (unsigned long long)QUERN_PORTABLE_HASH);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        char kernels[32];
        snprintf(kernels, sizeof kernels, "*__%s", targets[i]);
        quern_device *device = open_prepared(QUERN_CPU, 0, kernels);
        if (device) is_right &= has_hash(device, targets[i]);
        else printf("%-9s not here\n", targets[i]);
    }
    quern_device *device;
    for (int ordinal = 0; (device = open_prepared(QUERN_CUDA, ordinal, "*")); ordinal++) {
        char name[16];
        snprintf(name, sizeof name, "cuda:%d", ordinal);
        is_right &= has_hash(device, name);
    }
    return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
