/*
 * Kernels on the emulator, under ThreadSanitizer.  Results are checked elsewhere.
 *
 *   race_kernels cross_entropy | adam | gpu_ranks
 *
 * QUERN_TEST_PACK names a pack whose kernels are used instead of the library's.
 */
#include <string.h>

#include "race/race.h"
#include "runtime/cuda_driver.h"

const struct quern_cuda *driver;

void *device_memory(size_t bytes, const void *contents) {
    CUdeviceptr memory;
    CHECK(!driver->memory_allocate(&memory, bytes));
    CHECK(!(contents ? driver->copy_to_device_async(memory, contents, bytes, NULL)
                     : driver->memory_set_async(memory, 0, bytes, NULL)));
    CHECK(!driver->context_synchronize());
    return (void *)(uintptr_t)memory;
}

void free_device_memory(const void *memory) { driver->memory_free((uintptr_t)memory); }

int main(int count, char **words) {
    static const struct scene kernels[] = {{"cross_entropy", run_cross_entropy}, {"adam", run_adam}, {"gpu_ranks", run_gpu_ranks}};
    const char *pack = getenv("QUERN_TEST_PACK");
    CUcontext context;
    int passed = 0;
    if (pack) OK(quern_load_pack(pack));
    OK(quern_cuda_open(&driver));
    CHECK(!driver->context_retain(&context, 0) && !driver->context_push(context));
    for (int i = 0; i < 3 && count == 2; i++)
        if (strcmp(words[1], kernels[i].name) == 0) kernels[i].run(), passed++;
    printf("%d passed, 0 failed\n", passed);
    return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}
