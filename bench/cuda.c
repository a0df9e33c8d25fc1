#include "cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "machine.h"

struct cuda_driver cuda;

static void *library;

static const struct {
    const char *symbol;
    size_t offset;
} symbols[] = {
#define CUDA_SYMBOL(symbol, parameters) {#symbol, offsetof(struct cuda_driver, symbol)},
    CUDA_FUNCTIONS(CUDA_SYMBOL)
#undef CUDA_SYMBOL
};

bool cuda_open(void) {
    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "the CUDA driver cannot be opened: %s\n", dlerror());
        return false;
    }
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *address = dlsym(library, symbols[i].symbol);
        if (!address) {
            fprintf(stderr, "the CUDA driver has no function %s\n", symbols[i].symbol);
            return false;
        }
        memcpy((char *)&cuda + symbols[i].offset, &address, sizeof address);
    }
    return true;
}

bool cuda_is_emulated(void) {
    return dlsym(library, "quern_emulator_statistics") != NULL;
}

void cuda_check(int error, const char *call) {
    const char *name = NULL;
    if (error == 0) return;
    if (cuda.cuGetErrorName(error, &name) != 0 || !name) name = "unknown error";
    machine_fail("%s: %s (%d)", call, name, error);
}
