/*
 * The device under test, chosen by the environment, so that one test binary serves every CPU target, every emulated GPU
 * generation and every real GPU:
 *
 *   QUERN_TEST_DEVICE=cpu|cuda   which kind (default cpu)
 *   QUERN_TEST_TARGET=sm_90a     the target whose rows are walked and must serve (default: what the device says)
 *   QUERN_TEST_DEVICES=2         how many devices of the kind there must be (default: not checked)
 *   QUERN_TEST_CPU=avx2          the best target of the CPU that the library sees (default: that of this CPU)
 *   QUERN_TEST_SCALE=small       smaller shapes, for the emulator
 *   QUERN_TEST_ONCE=1            also what one of the emulated generations is enough for, in suites that others need
 */
#ifndef HARNESS_DEVICE_H
#define HARNESS_DEVICE_H

#include "harness/check.h"
#include "kernels/kernel.h"

struct test_device {
    quern_device *quern;
    quern_device_kind kind;
    int ordinal;
    void *context;  /* CUDA: the primary context, current on the thread that opened the device */
    void *stream;   /* CUDA: a stream that does not synchronise with the default one; CPU: NULL */
};

quern_device_kind test_kind(void);
const char *test_target(void);
bool test_is_small(void);
bool test_is_once(void);

/* small on the emulator, else full. */
int64_t test_size(int64_t full, int64_t small);

/* Opens a device whose rows are restricted to QUERN_KERNEL=kernels (NULL: all rows of the target under test). */
void device_open(struct test_device *device, int ordinal, const char *kernels);
void device_open_row(struct test_device *device, int ordinal, const struct quern_kernel *row);
void device_close(struct test_device *device);

/* Declares a device that is open until the end of the scope. */
#define OPEN_DEVICE(device, kernels) struct test_device device CLOSED_BY(device_close); device_open(&device, 0, kernels)
#define OPEN_PREPARED(device, operations) OPEN_DEVICE(device, NULL); check_ok(quern_prepare(device.quern, operations))
#define OPEN_ROW(device, row) struct test_device device CLOSED_BY(device_close); device_open_row(&device, 0, row)

/* Waits for everything on the device's stream. */
void device_synchronize(const struct test_device *device);

/* Launches until now, when all work is done; -1 where none are counted. */
long long device_launches(const struct test_device *device);

/* Makes the device's context current on the calling thread; does nothing for a CPU. */
void device_use(const struct test_device *device);

/* Iterates over the rows of a table that belong to the target under test: NULL to start, NULL at the end. */
const struct quern_kernel *next_row(const struct quern_kernel *table, const struct quern_kernel *row);
const struct quern_kernel *next_cross_entropy_row(const struct quern_kernel *row);  /* only those of the rows stage */
const struct quern_kernel *next_adam_row(const struct quern_kernel *row);  /* only steps */

#endif
