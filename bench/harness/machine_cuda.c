/*
 * A GPU: memory and time from the CUDA driver, loops from stream.cu.  Everything happens on the default stream.  Called through
 * machine.c; the ranks on a GPU call the driver through cuda.h.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cuda.h"
#include "harness/machine.h"

/* ---- the driver ---- */

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

/* ---- the machine ---- */

static void *events[MAX_MARKS];
static void *module;          /* of the loops; NULL: not loaded */
static cuda_pointer scratch;  /* where the reading loop would write its sum, if it ever had to */

/* The loops by their names in stream.cu, and the amount that one thread block processes. */
enum loop { UPDATE, READ, OPTIMIZE, LOOPS };

enum { THREADS = 256, VECTOR = 16, VECTORS = 4, TILE_ELEMENTS = 2048 };

static struct {
    const char *name;
    unsigned part;  /* vectors of 16 bytes, or elements of an optimizer */
    void *function;
} loops[LOOPS] = {
    [UPDATE] = {"stream_update", THREADS * VECTORS, NULL},
    [READ] = {"stream_read", THREADS * VECTORS, NULL},
    [OPTIMIZE] = {"stream_optimize", TILE_ELEMENTS, NULL},
};

static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    char *text = NULL;
    if (fseek(file, 0, SEEK_END) == 0) {
        long length = ftell(file);
        rewind(file);
        text = length > 0 ? calloc(1, (size_t)length + 1) : NULL;
        if (text && fread(text, 1, (size_t)length, file) != (size_t)length) {
            free(text);
            text = NULL;
        }
    }
    fclose(file);
    return text;
}

/* The driver compiles the loops' PTX for the GPU; without them only the copy is measured next to the kernels. */
static bool load_loops(const char *path) {
    char *ptx = path ? read_file(path) : NULL;
    bool loaded = ptx && cuda.cuModuleLoadData(&module, ptx) == 0;
    for (int i = 0; i < LOOPS && loaded; i++)
        loaded = cuda.cuModuleGetFunction(&loops[i].function, module, loops[i].name) == 0;
    free(ptx);
    return loaded;
}

void *cuda_loop(const char *name) {
    void *function;
    return module && cuda.cuModuleGetFunction(&function, module, name) == 0 ? function : NULL;
}

static bool open_cuda(struct machine *machine, int ordinal, const char *loops_path) {
    if (!cuda_open()) return false;
    int device, l2_bytes = 0;
    void *context;
    size_t total;
    CUDA(cuInit(0));
    CUDA(cuDeviceGet(&device, ordinal));
    CUDA(cuDevicePrimaryCtxRetain(&context, device));
    CUDA(cuCtxSetCurrent(context));
    CUDA(cuMemGetInfo_v2(&machine->memory_bytes, &total));
    if (cuda.cuDeviceGetAttribute(&l2_bytes, CUDA_L2_CACHE_SIZE, device) != 0) l2_bytes = 0;
    machine->cache_bytes = l2_bytes > 0 ? (size_t)l2_bytes : (size_t)64 << 20;
    for (int i = 0; i < MAX_MARKS; i++) CUDA(cuEventCreate(&events[i], 0));
    CUDA(cuMemAlloc_v2(&scratch, 64));
    machine->has_loops = load_loops(loops_path);
    if (!machine->has_loops) fprintf(stderr, "only the copy is measured: the GPU's loops cannot be loaded (no nvcc?)\n");
    return true;
}

static void *allocate(size_t bytes) {
    cuda_pointer pointer = 0;
    return cuda.cuMemAlloc_v2(&pointer, bytes ? bytes : 1) == 0 ? (void *)(uintptr_t)pointer : NULL;
}

static void release(void *memory) {
    CUDA(cuMemFree_v2((uintptr_t)memory));
}

static void upload(void *to, const void *from, size_t bytes) {
    CUDA(cuMemcpyHtoDAsync_v2((uintptr_t)to, from, bytes, NULL));
    CUDA(cuStreamSynchronize(NULL));
}

static void copy(const struct machine *machine, void *to, const void *from, size_t bytes) {
    (void)machine;
    CUDA(cuMemcpyDtoDAsync_v2((uintptr_t)to, (uintptr_t)from, bytes, NULL));
}

static void launch(enum loop loop, unsigned long long count, void **parameters) {
    unsigned long long blocks = (count + loops[loop].part - 1) / loops[loop].part;
    CUDA(cuLaunchKernel(loops[loop].function, (unsigned)blocks, 1, 1, THREADS, 1, 1, 0, NULL, parameters, NULL));
}

static void update(const struct machine *machine, void *data, size_t bytes) {
    unsigned long long vectors = bytes / VECTOR;
    unsigned mask = 0;
    if (machine->has_loops) launch(UPDATE, vectors, (void *[]){&data, &vectors, &mask});
}

static void read_all(const struct machine *machine, const void *data, size_t bytes) {
    unsigned long long vectors = bytes / VECTOR;
    if (machine->has_loops) launch(READ, vectors, (void *[]){&data, &vectors, &scratch});
}

static void optimize(const struct machine *machine, const struct optimizer_arrays *arrays) {
    struct optimizer_arrays copy = *arrays;
    unsigned mask = 0;
    if (machine->has_loops) launch(OPTIMIZE, (unsigned long long)arrays->count, (void *[]){&copy, &mask, &scratch});
}

static void mark(int index) {
    CUDA(cuEventRecord(events[index], NULL));
}

static double seconds(int from, int to) {
    float milliseconds;
    CUDA(cuEventSynchronize(events[to]));
    CUDA(cuEventElapsedTime(&milliseconds, events[from], events[to]));
    return 1e-3 * (double)milliseconds;
}

const struct machine_functions cuda_machine = {open_cuda, allocate, release, upload, copy,
                                               update, read_all, optimize, mark, seconds};
