/* Traces and dumps that begin and end, and threads that are set, while other threads call operations. */
#include <stdatomic.h>

#include "harness/standard.h"
#include "look/look.h"
#include "race/race.h"

enum { THREADS = 3, ROUNDS = 20, COUNT = 64 };

static quern_device *device;         /* of all threads */
static atomic_bool is_over;
static char folder[32];

static void take_step(void) {
    float param[COUNT] = {1}, grad[COUNT] = {1}, m[COUNT] = {0}, v[COUNT] = {0};
    const quern_adam_tensor tensor = {.param = param, .grad = grad, .m = m, .v = v, .count = COUNT};
    quern_adam_args args = ADAM_ARGS(ADAM_DTYPES(QUERN_F32), .tensors = &tensor, .tensor_count = 1, .lr = 0.1, .step = 1);
    OK(quern_adam(device, &args, NULL, 0, NULL));
}

/* With a device of its own, whose steps it may tell. */
static void *call(void *unused) {
    quern_device *own;
    OK(quern_device_open(QUERN_CPU, 0, &own));
    for (int64_t step = 0; !atomic_load(&is_over); step++) {
        take_step();
        OK(quern_step(own, step));
    }
    quern_device_close(own);
    return unused;
}

static void run_beside(void (*act)(int round)) {
    pthread_t threads[THREADS];
    char command[64];
    quern_trace_most_events = 2000;  /* a trace is then full within a round, and its memory small */
    strcpy(folder, "/tmp/quern-race-XXXXXX");
    CHECK(mkdtemp(folder));
    OK(quern_device_open(QUERN_CPU, 0, &device));
    OK(quern_set_threads(device, 1, NULL, NULL));
    OK(quern_prepare(device, QUERN_ADAM));
    OK(quern_step(device, 0));
    atomic_store(&is_over, false);
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_create(&threads[i], NULL, call, NULL));
    for (int round = 0; round < ROUNDS; round++) act(round);
    atomic_store(&is_over, true);
    for (int i = 0; i < THREADS; i++) CHECK(!pthread_join(threads[i], NULL));
    quern_device_close(device);
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
}

static void trace(int round) {
    char path[64];
    snprintf(path, sizeof path, "%s/%d.json", folder, round % 2);
    OK(quern_trace_begin(path));
    take_step();
    OK(quern_trace_end());
}

/* Dumps of the step that has begun, each of which ends the one before. */
static void dump(int round) {
    char path[64];
    snprintf(path, sizeof path, "%s/dump%d", folder, round);
    quern_dump_args args = DUMP_ARGS(.folder = path, .most_bytes = 1 << 16);
    OK(quern_dump_at(device, round % 3 == 2 ? NULL : &args));
    take_step();
}

static void traces_and_dumps(int round) {
    trace(round);
    dump(ROUNDS + round);
}

/* Each hook has a user of its own. */
static char users[2];

static void run_all(int64_t tasks, void (*task)(void *context, int64_t index), void *context) {
    for (int64_t i = 0; i < tasks; i++) task(context, i);
}
static void first_hook(void *user, int64_t tasks, void (*task)(void *context, int64_t index), void *context) {
    CHECK(user == &users[0]);
    run_all(tasks, task, context);
}
static void second_hook(void *user, int64_t tasks, void (*task)(void *context, int64_t index), void *context) {
    CHECK(user == &users[1]);
    run_all(tasks, task, context);
}

static void set_threads(int round) {
    for (int i = 0; i < 5000; i++) {  /* so many that a call reads within one */
        const quern_parallel_for hooks[] = {first_hook, second_hook, NULL};
        const int hook = (round + i) % 3;
        OK(quern_set_threads(device, 1 + i % 3, hooks[hook], hook < 2 ? &users[hook] : NULL));
        OK(quern_set_threads(NULL, 1 + i % 3, NULL, NULL));
    }
    take_step();
}

static void traces(void) { run_beside(trace); }
static void dumps(void) { run_beside(dump); }
static void both(void) { run_beside(traces_and_dumps); }
static void threads(void) { run_beside(set_threads); }

const struct scene look_scenes[] = {{"traces", traces}, {"dumps", dumps}, {"traces_and_dumps", both}, {"threads", threads},
                                    {NULL, NULL}};
