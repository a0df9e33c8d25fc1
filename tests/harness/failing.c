/* Calls that fail.  failing.h documents the functions; the linker sends the library's calls to those named __wrap_ below. */
#include "harness/failing.h"

#include <dirent.h>
#include <dlfcn.h>
#include <time.h>

#include "harness/device.h"

/* Of the calling thread. */
static _Thread_local struct {
    bool is_armed;
    enum failing_calls calls;
    long number, seen;
    const char *failed;
} failing;

static bool fails(enum failing_calls calls, const char *function) {
    if (!failing.is_armed || failing.calls != calls || ++failing.seen != failing.number) return false;
    failing.failed = function;
    errno = calls == FAILING_MEMORY ? ENOMEM : errno;
    return true;
}

/* ---- memory ---- */

enum { MOST_BLOCKS = 4096, KEPT_BACK = 256, FENCE_BYTES = 64, FRESH = 0xcc, FENCE = 0xee, FREED = 0xdd };

struct block {
    unsigned char *memory;
    size_t bytes;                 /* a fence follows */
};

/* The blocks that were allocated between failing_begin and failing_end, and not freed since; and those that were freed last. */
static struct {
    pthread_mutex_t lock;
    struct block block[MOST_BLOCKS];
    void *kept_back[KEPT_BACK];
    int count, freed;
} blocks = {.lock = PTHREAD_MUTEX_INITIALIZER};

int __real_pthread_mutex_lock(pthread_mutex_t *lock);
int __real_pthread_mutex_unlock(pthread_mutex_t *lock);
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
char *__real_strdup(const char *text);
void __real_free(void *block);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *user);

static void *add_block(void *memory, size_t bytes, int fill) {
    if (!memory) return NULL;
    memset(memory, fill, bytes);
    memset((char *)memory + bytes, FENCE, FENCE_BYTES);
    __real_pthread_mutex_lock(&blocks.lock);
    if (blocks.count < MOST_BLOCKS) blocks.block[blocks.count++] = (struct block){memory, bytes};
    __real_pthread_mutex_unlock(&blocks.lock);
    return memory;
}

/* Takes it out of the list; no memory: it was not one of them. */
static struct block drop_block(const void *memory) {
    struct block dropped = {NULL, 0};
    __real_pthread_mutex_lock(&blocks.lock);
    int place = memory ? blocks.count - 1 : -1;
    while (place >= 0 && blocks.block[place].memory != memory) place--;
    if (place >= 0) {
        dropped = blocks.block[place];
        blocks.block[place] = blocks.block[--blocks.count];
    }
    __real_pthread_mutex_unlock(&blocks.lock);
    return dropped;
}

void failing_forget(const void *block) { drop_block(block); }

/* A use after the free finds addresses that are none, and no other data. */
static void retire(struct block block) {
    for (size_t i = 0; i < FENCE_BYTES; i++)
        if (block.memory[block.bytes + i] != FENCE) {
            fprintf(stderr, "a block of %zu bytes was written %zu bytes behind its end\n", block.bytes, i);
            abort();
        }
    memset(block.memory, FREED, block.bytes);
    __real_pthread_mutex_lock(&blocks.lock);
    void **place = &blocks.kept_back[blocks.freed++ % KEPT_BACK], *oldest = *place;
    *place = block.memory;
    __real_pthread_mutex_unlock(&blocks.lock);
    __real_free(oldest);
}

void *__wrap_malloc(size_t bytes) {
    if (fails(FAILING_MEMORY, "malloc")) return NULL;
    return failing.is_armed ? add_block(__real_malloc(bytes + FENCE_BYTES), bytes, FRESH) : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes) {
    if (fails(FAILING_MEMORY, "calloc")) return NULL;
    if (!failing.is_armed) return __real_calloc(count, bytes);
    return add_block(__real_malloc(count * bytes + FENCE_BYTES), count * bytes, 0);
}

void *__wrap_realloc(void *block, size_t bytes) {
    if (fails(FAILING_MEMORY, "realloc")) return NULL;
    if (!failing.is_armed) return __real_realloc(block, bytes);
    const struct block old = drop_block(block);
    if (block && !old.memory) return __real_realloc(block, bytes);
    void *made = add_block(__real_malloc(bytes + FENCE_BYTES), bytes, FRESH);
    if (!made || !old.memory) return made;
    memcpy(made, old.memory, bytes < old.bytes ? bytes : old.bytes);
    retire(old);
    return made;
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
    if (fails(FAILING_MEMORY, "aligned_alloc")) return NULL;
    if (!failing.is_armed) return __real_aligned_alloc(alignment, bytes);
    return add_block(__real_aligned_alloc(alignment, (bytes + FENCE_BYTES + alignment - 1) / alignment * alignment), bytes, FRESH);
}

char *__wrap_strdup(const char *text) {
    if (fails(FAILING_MEMORY, "strdup")) return NULL;
    if (!failing.is_armed) return __real_strdup(text);
    char *copy = add_block(__real_malloc(strlen(text) + 1 + FENCE_BYTES), strlen(text) + 1, FRESH);
    return copy ? strcpy(copy, text) : NULL;
}

void __wrap_free(void *block) {
    const struct block known = drop_block(block);
    if (known.memory) retire(known);
    else __real_free(block);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *user) {
    return fails(FAILING_THREADS, "pthread_create") ? EAGAIN : __real_pthread_create(thread, attributes, run, user);
}

/* ---- libraries ---- */

void *__real_dlopen(const char *name, int flags);

/* Another name in place of one that must fail, so that dlerror has a reason. */
void *__wrap_dlopen(const char *name, int flags) {
    if (!failing.is_armed || failing.calls != FAILING_LIBRARIES) return __real_dlopen(name, flags);
    failing.seen++;
    failing.failed = "dlopen";
    return __real_dlopen("a library that does not exist", flags);
}

/* ---- locks: whoever gives one back has it ---- */

enum { MOST_LOCKS = 16 };

static _Thread_local struct {
    pthread_mutex_t *lock[MOST_LOCKS];
    int count;
} held;

int __real_pthread_mutex_trylock(pthread_mutex_t *lock);

static int hold(pthread_mutex_t *lock, int error) {
    if (held.count == MOST_LOCKS) abort();
    if (!error) held.lock[held.count++] = lock;
    return error;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *lock) { return hold(lock, __real_pthread_mutex_lock(lock)); }

int __wrap_pthread_mutex_trylock(pthread_mutex_t *lock) { return hold(lock, __real_pthread_mutex_trylock(lock)); }

int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock) {
    int place = held.count - 1;
    while (place >= 0 && held.lock[place] != lock) place--;
    if (place < 0) {
        fprintf(stderr, "a lock is given back by a thread that does not have it\n");
        abort();
    }
    held.lock[place] = held.lock[--held.count];
    return __real_pthread_mutex_unlock(lock);
}

/* ---- the driver: tests/emulator/libcuda.cpp ---- */

struct emulator {
    void (*fail_call)(long number, int error);
    long (*calls)(const char **failed);
    void (*objects)(long *counts);
};

static void find(void *library, const char *name, void *function) {
    void *address = library ? dlsym(library, name) : NULL;
    check(address, "the emulator has no %s", name);
    memcpy(function, &address, sizeof address);
}

static const struct emulator *emulator(void) {
    static struct emulator found;
    if (found.objects) return &found;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    find(library, "quern_emulator_fail_call", &found.fail_call);
    find(library, "quern_emulator_calls", &found.calls);
    find(library, "quern_emulator_objects", &found.objects);
    return &found;
}

void failing_begin(enum failing_calls calls, long number, int error) {
    if (calls == FAILING_DRIVER) emulator()->fail_call(number, error);
    failing.calls = calls, failing.number = number, failing.seen = 0, failing.failed = NULL;
    failing.is_armed = true;
}

long failing_end(const char **failed) {
    failing.is_armed = false;
    *failed = failing.failed;
    if (failing.calls != FAILING_DRIVER) return failing.seen;
    static char name[64];
    const long calls = emulator()->calls(failed);
    if (*failed) {
        snprintf(name, sizeof name, "%s", *failed);
        *failed = name;
    }
    emulator()->fail_call(0, 0);
    return calls;
}

/* ---- what exists ---- */

const char *const alive_names[ALIVE_COUNT] = {
    "allocations", "descriptors", "threads", "handles of cuBLAS", "allocations on the device", "handles of memory", "reservations",
    "mappings", "imports", "streams", "events", "modules", "references to contexts", "pushed contexts", "the capture mode"};

static long count_entries(const char *path) {
    long count = 0;
    DIR *folder = opendir(path);
    check(folder, "%s cannot be read", path);
    while (readdir(folder)) count++;
    closedir(folder);
    return count;
}

static long count_cublas(void) {
    long (*handles)(void);
    void *library = dlopen("libcublas.so.13", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (!library) return 0;
    find(library, "quern_emulator_cublas_handles", &handles);
    const long count = handles();
    dlclose(library);
    return count;
}

struct alive failing_count(void) {
    struct alive alive = {{0}};
    alive.count[ALIVE_ALLOCATIONS] = blocks.count;
    alive.count[ALIVE_DESCRIPTORS] = count_entries("/proc/self/fd");
    alive.count[ALIVE_THREADS] = count_entries("/proc/self/task");
    if (test_kind() == QUERN_CPU) return alive;
    alive.count[ALIVE_CUBLAS] = count_cublas();
    emulator()->objects(&alive.count[ALIVE_DEVICE_ALLOCATIONS]);
    return alive;
}

struct alive failing_count_again(const struct alive *before) {
    for (int i = 0; i < 300000 && count_entries("/proc/self/task") > before->count[ALIVE_THREADS]; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return failing_count();
}

void failing_restore(int what) {
    int (*pop)(void **context), (*exchange)(int *mode), mode = 0;
    void *context, *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (what == ALIVE_PUSHED_CONTEXTS) {
        find(library, "cuCtxPopCurrent_v2", &pop);
        check(pop(&context) == 0, "no context was left");
    } else if (what == ALIVE_CAPTURE_MODE) {
        find(library, "cuThreadExchangeStreamCaptureMode", &exchange);
        check(exchange(&mode) == 0, "the capture mode cannot be set");
    }
}

/* ---- silence ---- */

static int kept_back = -1, before[3];

void quiet_begin(void) {
    kept_back = memfd_create("kept_back", 0);
    check(kept_back >= 0, "no file for the output");
    fflush(NULL);
    for (int descriptor = 1; descriptor <= 2; descriptor++) {
        before[descriptor] = dup(descriptor);
        dup2(kept_back, descriptor);
    }
}

long quiet_end(void) {
    fflush(NULL);
    const long bytes = (long)lseek(kept_back, 0, SEEK_END);
    for (int descriptor = 1; descriptor <= 2; descriptor++) {
        dup2(before[descriptor], descriptor);
        close(before[descriptor]);
    }
    close(kept_back);
    return bytes;
}
