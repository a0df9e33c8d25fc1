/* Opens libnccl.so.2 once per process.  Called when GPU ranks of several hosts form a group. */
#include "ranks/nccl/nccl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "os/text.h"
#include "runtime/status.h"

/* The result of opening it.  Every call returns the same status and the same reason. */
static struct {
    pthread_once_t once;
    struct quern_nccl functions;
    int version;
    quern_status status;
    char reason[512];
} library = {.once = PTHREAD_ONCE_INIT, .status = QUERN_NOT_SUPPORTED};

static const struct {
    size_t offset;
    const char *symbol;
} symbols[] = {
#define QUERN_NCCL_SYMBOL(result, field, symbol, parameters) {offsetof(struct quern_nccl, field), #symbol},
    QUERN_NCCL_FUNCTIONS(QUERN_NCCL_SYMBOL)
#undef QUERN_NCCL_SYMBOL
};

static void refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void refuse(const char *format, ...) {
    struct quern_text text = quern_text_begin(library.reason, sizeof library.reason);
    va_list list;
    va_start(list, format);
    quern_text_add_list(&text, format, list);
    va_end(list);
}

/* NCCL 2.9 and later: two digits each for the minor number and the patch. */
static int major_of(int version) { return version / 10000; }
static int minor_of(int version) { return version / 100 % 100; }
static int patch_of(int version) { return version % 100; }

/* The name of the first symbol that the file lacks, or NULL. */
static const char *find_symbols(void *file) {
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *address = dlsym(file, symbols[i].symbol);
        if (!address) return symbols[i].symbol;
        memcpy((char *)&library.functions + symbols[i].offset, &address, sizeof address);
    }
    return NULL;
}

/* The version is asked first: an old library also lacks symbols, but its age is the better reason. */
static bool ask_version(void *file, const char *name) {
    ncclResult_t (*version)(int *) = NULL;
    void *address = dlsym(file, "ncclGetVersion");
    memcpy(&version, &address, sizeof address);
    if (!version || version(&library.version) != ncclSuccess) {
        refuse("%s does not tell its version: it is no NCCL", name);
        return false;
    }
    if (library.version >= QUERN_NCCL_MIN) return true;
    refuse("%s is NCCL %d.%d.%d: expected at least %d.%d", name, major_of(library.version), minor_of(library.version),
           patch_of(library.version), major_of(QUERN_NCCL_MIN), minor_of(QUERN_NCCL_MIN));
    return false;
}

static void open_library(void) {
    const char *named = getenv("QUERN_NCCL"), *name = named && *named ? named : "libnccl.so.2";
    void *file = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!file) {
        const char *why = dlerror();
        refuse("no NCCL at %s: install libnccl2 or nvidia-nccl-cu13, or name its file in QUERN_NCCL (%s)", name, why ? why : "");
        return;
    }
    if (!ask_version(file, name)) return;
    const char *missing = find_symbols(file);
    if (missing) refuse("%s has no function %s", name, missing);
    else library.status = QUERN_OK;
}

quern_status quern_nccl_open(const struct quern_nccl **nccl) {
    pthread_once(&library.once, open_library);
    *nccl = library.status == QUERN_OK ? &library.functions : NULL;
    if (library.status == QUERN_OK) return QUERN_OK;
    quern_note("%s", library.reason);
    return library.status;
}

int quern_nccl_version(void) { return library.version; }

/* Those that are missing here are of NCCL itself or of how it is called. */
quern_status quern_nccl_status(ncclResult_t result) {
    static const quern_status statuses[] = {
        [ncclSuccess] = QUERN_OK, [ncclSystemError] = QUERN_SYSTEM_ERROR, [ncclRemoteError] = QUERN_PEER_LOST,
    };
    const size_t known = sizeof statuses / sizeof *statuses;
    if (result == ncclSuccess) return QUERN_OK;
    return (size_t)result < known && statuses[result] ? statuses[result] : QUERN_CUDA_ERROR;
}

quern_status quern_nccl_fail(const quern_device *device, ncclResult_t result, const char *what, ncclComm_t comm) {
    const char *text = library.functions.error_string(result), *last = library.functions.last_error(comm);
    return quern_fail(device, quern_nccl_status(result), "%s: %s%s%s%s", what, text ? text : "unknown error",
                      last && *last ? " (" : "", last && *last ? last : "", last && *last ? ")" : "");
}
