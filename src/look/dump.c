/* quern_dump_at: which calls on a device are written. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "look/look.h"
#include "os/descriptor.h"
#include "os/whole_file.h"
#include "runtime/arguments.h"
#include "runtime/status.h"

static const int64_t DEFAULT_BYTES = (int64_t)1 << 34;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  /* of the lists of dumps */

/* ---- steps ---- */

static struct quern_dump *dumps_of(const quern_device *device) { return __atomic_load_n(&device->dumps, __ATOMIC_ACQUIRE); }

/* With the lock. */
static void set_active(struct quern_dump *dump, bool active) {
    if (active == __atomic_load_n(&dump->is_active, __ATOMIC_RELAXED)) return;
    __atomic_store_n(&dump->is_active, active, __ATOMIC_RELEASE);
    if (active) __atomic_add_fetch(&quern_lookers_now, 1, __ATOMIC_RELAXED);
    else __atomic_sub_fetch(&quern_lookers_now, 1, __ATOMIC_RELAXED);
}

static quern_status step(quern_device *device, int64_t number) {
    char reason[sizeof((struct quern_dump *)0)->reason];
    pthread_mutex_lock(&lock);
    struct quern_dump *dumps = dumps_of(device);
    const bool failed = quern_dump_take_failure(dumps, reason);
    if (dumps) set_active(dumps, !dumps->is_ended && dumps->step == number);
    pthread_mutex_unlock(&lock);
    return failed ? quern_fail(device, QUERN_SYSTEM_ERROR, "dump: %s", reason) : QUERN_OK;
}

/* ---- calls ---- */

static void choose(struct quern_look *look) {
    struct quern_dump *dump = look->device && !look->view->is_undumped ? dumps_of(look->device) : NULL;
    if (!dump || !__atomic_load_n(&dump->is_active, __ATOMIC_ACQUIRE) || dump->process != getpid()) return;
    if (!dump->filter || fnmatch(dump->filter, look->view->name, 0) == 0) look->dump = dump;
}

static void show(struct quern_look *look) {
    choose(look);
    if (look->dump) quern_dump_begin_call(look);
}

/* A call that has failed before it was shown has a line, too. */
static void end(struct quern_look *look, quern_status status) {
    if (!look->call) {
        choose(look);
        if (look->dump) quern_dump_begin_call(look);
    }
    if (look->dump) quern_dump_end_call(look, status);
}

static void free_dump(struct quern_dump *dump) {
    free(dump->folder);
    free(dump->filter);
    free(dump);
}

static void close_device(quern_device *device) {
    struct quern_dump *dump = dumps_of(device);
    if (!dump) return;
    pthread_mutex_lock(&lock);
    set_active(dump, false);
    pthread_mutex_unlock(&lock);
    for (struct quern_dump *older; dump; dump = older) {
        older = dump->older;
        free_dump(dump);
    }
    device->dumps = NULL;
}

static const struct quern_looker dumper = {.show = show, .end = end, .step = step, .close = close_device,
                                           .cuda = quern_noted_cuda};

/* ---- fork ---- */

static void hold(void) {
    pthread_mutex_lock(&lock);
    quern_hold_dump_errors();
}

static void release(void) {
    quern_release_dump_errors();
    pthread_mutex_unlock(&lock);
}

static void watch_forks(void) { pthread_atfork(hold, release, release); }

/* ---- the public function ---- */

static void end_last(const quern_device *device) {
    struct quern_dump *last = dumps_of(device);
    if (!last) return;
    last->is_ended = true;
    set_active(last, false);
}

static quern_status no_memory(const quern_device *device) {
    return quern_fail(device, QUERN_OUT_OF_MEMORY, "no memory for a dump");
}

/* Creates the folder and its empty index. */
static quern_status create_index(const quern_device *device, const struct quern_dump *dump) {
    if (mkdir(dump->folder, 0777) != 0 && errno != EEXIST)
        return quern_fail(device, QUERN_SYSTEM_ERROR, "args.folder %s cannot be created: %s", dump->folder, strerror(errno));
    char *path = quern_dump_path(dump, "index.jsonl");
    if (!path) return no_memory(device);
    const int index = quern_above_two(open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)), error = errno;
    free(path);
    if (index >= 0) {
        close(index);
        return QUERN_OK;
    }
    if (error == EEXIST)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.folder %s has an index.jsonl: expected a folder without a dump",
                          dump->folder);
    return quern_fail(device, QUERN_SYSTEM_ERROR, "args.folder %s cannot be written: %s", dump->folder, strerror(error));
}

static quern_status check(const quern_device *device, const quern_dump_args *args) {
    quern_status status = quern_check_struct(device, "quern_dump_args", args, sizeof *args);
    if (status != QUERN_OK) return status;
    if (!args->folder) return quern_fail(device, QUERN_NULL_POINTER, "args.folder is NULL");
    if (!*args->folder) return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.folder is empty: expected the name of a folder");
    if (args->filter && !*args->filter)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "args.filter is empty: expected a glob, or NULL for all operations");
    return quern_check_not_negative(device, "args.most_bytes", args->most_bytes);
}

static quern_status create(const quern_device *device, const quern_dump_args *args, struct quern_dump **out) {
    struct quern_dump *dump = calloc(1, sizeof *dump);
    if (!dump) return no_memory(device);
    dump->device = device;
    dump->process = getpid();
    dump->step = args->step;
    dump->bytes_left = args->most_bytes ? args->most_bytes : DEFAULT_BYTES;
    dump->folder = quern_absolute_path(args->folder);
    if (args->filter) dump->filter = strdup(args->filter);
    const bool has_memory = dump->folder && (dump->filter || !args->filter);
    quern_status status = has_memory ? create_index(device, dump) : no_memory(device);
    if (status == QUERN_OK) *out = dump;
    else free_dump(dump);
    return status;
}

/* The device's step, while another thread may tell it the next one. */
static bool is_at(const quern_device *device, int64_t step) {
    return __atomic_load_n(&device->has_step, __ATOMIC_ACQUIRE) && __atomic_load_n(&device->step, __ATOMIC_RELAXED) == step;
}

quern_status quern_dump_at(quern_device *device, const quern_dump_args *args) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct quern_dump *dump = NULL;
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    quern_status status = args ? check(device, args) : QUERN_OK;
    if (status == QUERN_OK && args) status = create(device, args, &dump);
    if (status != QUERN_OK) return status;
    pthread_once(&once, watch_forks);
    quern_enter_looker(QUERN_DUMPER, &dumper);
    pthread_mutex_lock(&lock);
    end_last(device);
    if (dump) {
        dump->older = dumps_of(device);
        __atomic_store_n(&device->dumps, dump, __ATOMIC_RELEASE);
        set_active(dump, is_at(device, dump->step));
    }
    pthread_mutex_unlock(&lock);
    return QUERN_OK;
}
