/* Opens NVTX if the machine has it, and calls it.  Called by the trace. */
#include "look/look.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

static struct {
    pthread_once_t once;
    int (*push)(const char *name);
    int (*pop)(void);
} nvtx = {.once = PTHREAD_ONCE_INIT};

/* Both functions or none. */
static void open_library(void) {
    static const char *const names[] = {"libnvToolsExt.so.1", "libnvtx3interop.so.1", "libnvtx3interop.so"};
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++) library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    void *push = dlsym(library, "nvtxRangePushA"), *pop = dlsym(library, "nvtxRangePop");
    if (!push || !pop) return;
    memcpy(&nvtx.push, &push, sizeof push);
    memcpy(&nvtx.pop, &pop, sizeof pop);
}

void quern_nvtx_open(void) { pthread_once(&nvtx.once, open_library); }

bool quern_nvtx_push(const char *name) {
    if (nvtx.push) nvtx.push(name);
    return nvtx.push != NULL;
}

void quern_nvtx_pop(void) { nvtx.pop(); }
