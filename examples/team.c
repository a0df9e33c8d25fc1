/*
 * An engine whose threads all run each operation, thread ith of nth, as those of ggml or of an OpenMP region: thread 0 calls Quern,
 * and the others serve its tasks until the call has returned.  Ten steps of Adam have the same bits as on the library's own threads.
 *
 *   cc team.c $(pkg-config --cflags --libs quern) -pthread -o team
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quern.h>

enum { NTH = 4, STEPS = 10, COUNT = 1 << 20 };

/* ---- the team, for any operation ---- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t change;
    void (*task)(void *context, int64_t index);
    void *context;
    int64_t tasks, next, left;   /* of the present job: all, the first that nobody has taken, those that have not ended */
    int64_t done;                /* operations that have returned */
} team = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};

/* With the lock. */
static void take_tasks(void) {
    while (team.next < team.tasks) {
        const int64_t index = team.next++;
        pthread_mutex_unlock(&team.lock);
        team.task(team.context, index);
        pthread_mutex_lock(&team.lock);
        if (--team.left == 0) pthread_cond_broadcast(&team.change);
    }
}

/* The hook: runs on thread 0, inside of its call. */
static void share(void *user, int64_t tasks, void (*task)(void *context, int64_t index), void *context) {
    (void)user;
    pthread_mutex_lock(&team.lock);
    team.task = task, team.context = context, team.next = 0, team.tasks = team.left = tasks;
    pthread_cond_broadcast(&team.change);
    take_tasks();
    while (team.left) pthread_cond_wait(&team.change, &team.lock);
    pthread_mutex_unlock(&team.lock);
}

/* What the other threads do in the operation with this number, and how thread 0 releases them. */
static void serve(int64_t operation) {
    pthread_mutex_lock(&team.lock);
    for (; team.done <= operation; take_tasks())
        if (team.next == team.tasks) pthread_cond_wait(&team.change, &team.lock);
    pthread_mutex_unlock(&team.lock);
}
static void release(void) {
    pthread_mutex_lock(&team.lock);
    team.done++;
    pthread_cond_broadcast(&team.change);
    pthread_mutex_unlock(&team.lock);
}

/* ---- the engine ---- */

static float param[2][COUNT], grad[COUNT], m[2][COUNT], v[2][COUNT];
static quern_device *device;

static void check(quern_status status) {
    char detail[256];
    if (status == QUERN_OK) return;
    quern_error_detail(detail, sizeof detail);
    fprintf(stderr, "%s: %s\n", quern_status_string(status), detail);
    exit(EXIT_FAILURE);
}

static void adam(int run, int step) {
    const quern_adam_tensor tensor = {.param = param[run], .grad = grad, .m = m[run], .v = v[run], .count = COUNT};
    quern_adam_args args = QUERN_ADAM_ARGS_INIT;
    args.param_dtype = args.grad_dtype = args.m_dtype = args.v_dtype = QUERN_F32;
    args.tensors = &tensor, args.tensor_count = 1, args.lr = 0.1, args.step = step;
    check(quern_adam(device, &args, NULL, 0, NULL));
}

static void *run_graph(void *ith) {
    for (int step = 1; step <= STEPS; step++) {  /* each is an operation, which all threads reach */
        if (ith) serve(step - 1);
        else adam(0, step), release();
    }
    return NULL;
}

int main(void) {
    pthread_t threads[NTH];
    check(quern_device_open(QUERN_CPU, 0, &device));
    check(quern_prepare(device, QUERN_ADAM));
    for (int i = 0; i < COUNT; i++) grad[i] = (float)(i % 7 - 3);
    check(quern_set_threads(device, NTH, share, NULL));
    for (intptr_t ith = 1; ith < NTH; ith++)
        if (pthread_create(&threads[ith], NULL, run_graph, (void *)ith)) return EXIT_FAILURE;
    run_graph(NULL);
    for (int ith = 1; ith < NTH; ith++) pthread_join(threads[ith], NULL);
    check(quern_set_threads(device, 0, NULL, NULL));
    for (int step = 1; step <= STEPS; step++) adam(1, step);
    const int same = memcmp(param[0], param[1], sizeof param[0]) == 0;
    printf("%d steps on a team of %d threads: %s bits as on the library's own threads\n", STEPS, NTH, same ? "the same" : "other");
    quern_device_close(device);
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}
