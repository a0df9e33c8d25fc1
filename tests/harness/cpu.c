/*
 * A lesser processor: with QUERN_TEST_CPU=avx2 the library sees no instruction set beyond those that this target requires.
 *
 * The linker sends the library's calls of quern_cpu_features here: $harness_calls in tests/tests.ninja.
 */

#include "harness/standard.h"
#include "kernels/kernel.h"

uint32_t __real_quern_cpu_features(void);

uint32_t __wrap_quern_cpu_features(void) {
    const char *target = getenv("QUERN_TEST_CPU");
    if (!target) return __real_quern_cpu_features();
    for (const struct quern_kernel *row = quern_cross_entropy_kernels; *row->name; row++)
        if (row->target.kind == QUERN_CPU && !strcmp(row->target.name, target))
            return __real_quern_cpu_features() & row->target.cpu_features;
    fprintf(stderr, "QUERN_TEST_CPU=%s: expected a CPU target\n", target);
    abort();
}
