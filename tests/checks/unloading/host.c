/*
 * Loads and unloads an engine that contains Quern: build/tests/unloading/engine.so, beside this program.
 *
 * Each scene runs in a process of its own, since a worker that outlives its code ends the process with SIGSEGV.  Prints each scene;
 * the last line is `N passed, N failed`.  `host NAME` runs one scene.  With QUERN_TEST_SCALE=small there are a tenth of the rounds,
 * and 20 at least.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <sys/syscall.h>
#include <time.h>

#include "checks/unloading/engine.h"
#include "harness/standard.h"

enum { MANY = 1000, LEAST = 20, SETTLED = 100, LIMIT = 600 /* seconds for a scene: on a busy machine, too */ };

static const char PRELOADED[] = "--preloaded";

static char engine_path[4096];
static void *library;
static const struct engine *engine;

/* Ends the process of the scene. */
static void demand(bool holds, const char *what) {
    if (holds) return;
    printf("    %s\n", what);
    fflush(stdout);
    _exit(EXIT_FAILURE);
}

/* For a call of the engine. */
static void works(const char *reason) { demand(!reason, reason); }

static void load(void) {
    library = dlopen(engine_path, RTLD_NOW | RTLD_LOCAL);
    demand(library, dlerror());
    engine = dlsym(library, "engine");
    demand(engine, "engine.so has no symbol engine");
}

static void unload(void) {
    demand(dlclose(library) == 0, "dlclose failed");
    demand(!dlopen(engine_path, RTLD_NOW | RTLD_NOLOAD), "engine.so is still loaded");
}

/* ---- the state of the process ---- */

static void pause_briefly(void) { nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL); }

/* The entries of a folder of /proc/self. */
static int count_entries(const char *path) {
    int count = 0;
    DIR *folder = opendir(path);
    demand(folder, path);
    while (readdir(folder)) count++;
    closedir(folder);
    return count - 2;
}

static int count_threads(void) { return count_entries("/proc/self/task"); }

static int count_files(void) { return count_entries("/proc/self/fd"); }

static int count_mappings(void) {
    int count = 0, letter;
    FILE *file = fopen("/proc/self/maps", "r");
    demand(file, "/proc/self/maps");
    while ((letter = fgetc(file)) != EOF) count += letter == '\n';
    fclose(file);
    return count;
}

/* A thread that has been joined may be listed for a moment. */
static void expect_threads(int expected) {
    for (int attempt = 0; count_threads() != expected && attempt < 1000000; attempt++) pause_briefly();
    demand(count_threads() == expected, "the number of threads has changed");
}

/* What must not grow from one round to the next. */
struct house {
    int threads, files, mappings;
    size_t memory;
};

static struct house look_around(void) {
    return (struct house){count_threads(), count_files(), count_mappings(), mallinfo2().uordblks};
}

/* Mappings come and go with the stacks that the C library keeps for later threads. */
static void expect_as_before(const struct house *before) {
    expect_threads(before->threads);
    const struct house now = look_around();
    demand(now.files == before->files, "files are left open");
    demand(now.mappings <= before->mappings + 8, "mappings are left behind");
    demand(now.memory <= before->memory + 4096, "memory is left behind");
}

static bool is_small(void) {
    const char *scale = getenv("QUERN_TEST_SCALE");
    return scale && !strcmp(scale, "small");
}

static void repeat(int all, void (*round)(void)) {
    const int fewer = all / 10 < LEAST ? LEAST : all / 10, rounds = is_small() ? fewer : all;
    const int settled = rounds / 2 < SETTLED ? rounds / 2 : SETTLED;
    struct house house = {0};
    for (int i = 0; i < rounds; i++) {
        if (i == settled) house = look_around();
        round();
    }
    expect_as_before(&house);
}

/* ---- threads beside ---- */

static int stop;  /* atomic */

static void *be_busy(void *unused) {
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) getppid();
    return unused;
}

static int begun;  /* atomic */

static void *use_until_the_end(void *unused) {
    for (;;) {
        works(engine->use());
        __atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
    }
    return unused;
}

static void *reopen_until_the_end(void *unused) {
    for (;;) {
        works(engine->close());
        works(engine->open(1));
        works(engine->use());
        __atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
    }
    return unused;
}

static pthread_t start(void *(*function)(void *), void *argument) {
    pthread_t thread;
    demand(pthread_create(&thread, NULL, function, argument) == 0, "no thread");
    return thread;
}

/* ---- rounds ---- */

static char group_name[64];

static void *join_as(void *rank) {
    works(engine->join(group_name, *(int *)rank, 2));
    works(engine->meet(*(int *)rank));
    return NULL;
}

static void in_two_threads(void *(*function)(void *)) {
    static int ranks[] = {0, 1};
    pthread_t thread[2];
    for (int i = 0; i < 2; i++) thread[i] = start(function, &ranks[i]);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
}

static void join_in_two_threads(void) {
    static int number;
    snprintf(group_name, sizeof group_name, "unloading.%d.%d", (int)getpid(), number++);
    in_two_threads(join_as);
}

/* Of a round between load and unload: threads to open with, use, whether there are more threads, log, join, close, at exit. */
static const char *steps;

static void take_step(char step) {
    if (step == '1' || step == '2') works(engine->open(step - '0'));
    if (step == 'u') works(engine->use());
    if (step == 't') demand(count_threads() > 2, "the engine uses one thread only");  /* else the scene would show nothing */
    if (step == 'l') works(engine->log());
    if (step == 'j') join_in_two_threads();
    if (step == 'c') works(engine->close());
    if (step == 'x') works(engine->close_at_unload());
}

static void take_steps(void) {
    load();
    for (const char *step = steps; *step; step++) take_step(*step);
    unload();
}

static void repeat_steps(int all, const char *of_round) {
    steps = of_round;
    repeat(all, take_steps);
}

/* ---- the scenes: devices ---- */

static void unloads_beside_a_busy_thread(void) {
    pthread_t thread = start(be_busy, NULL);
    repeat_steps(MANY, "2utc");
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
}

static void open_use_close(void) {
    const int before = count_threads();
    works(engine->open(3));
    works(engine->use());
    demand(count_threads() > before, "no workers");
    works(engine->close());
    expect_threads(before);
}

static void closes_without_unloading(void) {
    load();
    repeat(MANY, open_use_close);
    unload();
}

static void forgets_devices(void) { repeat_steps(MANY, "2u"); }

static void static_objects_close_devices(void) { repeat_steps(MANY / 5, "2ux"); }

static void forgets_the_log(void) {
    setenv("QUERN_LOG", "2:/dev/null", 1);  /* a file, which the library opens */
    repeat_steps(MANY / 5, "1lu");
}

/* How much the library logs to descriptor 2, which is the same file before it is loaded, or only afterwards. */
static long logged_bytes(bool is_open) {
    char path[] = "/tmp/quern_error_XXXXXX";
    const int kept = dup(STDERR_FILENO), file = mkstemp(path);
    demand(kept >= 0 && file >= 0 && unlink(path) == 0, "no file");
    if (is_open) dup2(file, STDERR_FILENO);
    else close(STDERR_FILENO);
    load();
    dup2(file, STDERR_FILENO);
    works(engine->open(1));
    works(engine->close());
    unload();
    dup2(kept, STDERR_FILENO);
    const long bytes = (long)lseek(file, 0, SEEK_END);
    close(kept);
    close(file);
    return bytes;
}

static void logs_to_the_standard_error_of_its_start(void) {
    setenv("QUERN_LOG", "2", 1);
    demand(logged_bytes(true) > 0, "no lines in standard error");
    demand(logged_bytes(false) == 0, "lines in the file that got the number of standard error");
}

static void forgets_groups(void) {
    repeat_steps(MANY / 5, "1j");
    repeat_steps(MANY / 5, "1jc");  /* the groups' device is gone */
}

static void static_objects_destroy_groups(void) { repeat_steps(MANY / 5, "1jx"); }

/* ---- the scenes: threads and processes ---- */

static pthread_barrier_t unloaded;

static void *use_and_outlive(void *unused) {
    works(engine->use());
    demand(engine->join("two words", 0, 1), "a name with a space");  /* a detail for this thread */
    pthread_barrier_wait(&unloaded);
    pthread_barrier_wait(&unloaded);
    return unused;
}

static void use_in_a_thread_that_outlives(void) {
    load();
    works(engine->open(1));
    pthread_barrier_init(&unloaded, NULL, 2);
    pthread_t thread = start(use_and_outlive, NULL);
    pthread_barrier_wait(&unloaded);
    unload();
    pthread_barrier_wait(&unloaded);
    pthread_join(thread, NULL);
}

static void threads_outlive_the_engine(void) { repeat(MANY / 5, use_in_a_thread_that_outlives); }

static void await_child(pid_t child) {
    int status;
    demand(child > 0 && waitpid(child, &status, 0) == child, "no child");
    demand(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS, "the child failed");
}

static void in_child(void (*run)(void)) {
    pid_t child = fork();
    if (child == 0) {
        alarm(LIMIT);
        run();
        _exit(EXIT_SUCCESS);
    }
    await_child(child);
}

static void use_and_unload(void) {
    works(engine->use());
    demand(count_threads() > 1, "the child has no workers of its own");
    works(engine->close());
    expect_threads(1);
    unload();
}

/* The child has no workers, and the ranks of its groups are its parent's. */
static void fork_and_unload(void) {
    load();
    works(engine->open(2));
    join_in_two_threads();
    works(engine->use());
    in_child(use_and_unload);
    in_two_threads(join_as);  /* a new group under the same name: it is free */
    unload();
}

/* Rank 1 comes late, so that rank 0 waits and looks whether it has left. */
static void *meet_as(void *rank) {
    if (*(int *)rank == 1) nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    works(engine->meet(*(int *)rank));
    return NULL;
}

static void close_and_unload(void) {
    works(engine->close_at_unload());
    unload();
}

static void child_leaves_the_groups_of_its_parent(void) {
    load();
    works(engine->open(1));
    join_in_two_threads();
    in_child(unload);
    in_two_threads(meet_as);
    in_child(close_and_unload);
    in_two_threads(meet_as);
    unload();
}

static void forks(void) { repeat(20, fork_and_unload); }

/* A child of the system call has no workers either, and no handler of pthread_atfork has told the library so. */
static void exits_after_the_system_call_fork(void) {
    load();
    works(engine->open(1));
    works(engine->use());
    pid_t child = (pid_t)syscall(SYS_fork);
    if (child == 0) {
        alarm(LIMIT);
        exit(EXIT_SUCCESS);
    }
    await_child(child);
    unload();
}

/* The process lingers after the library's cleanup, so that a call would meet memory that was freed there. */
static void exit_beside(void *(*thread)(void *), int microseconds) {
    mallopt(M_PERTURB, 0xa5);  /* freed memory is overwritten */
    works(engine->use());
    works(engine->linger(10));
    start(thread, NULL);
    while (!__atomic_load_n(&begun, __ATOMIC_ACQUIRE)) pause_briefly();
    nanosleep(&(struct timespec){.tv_nsec = 1000 * microseconds}, NULL);
    exit(EXIT_SUCCESS);
}

static int attempt;

static void exit_beside_a_call(void) {
    load();
    works(engine->open(2));
    exit_beside(attempt % 2 ? use_until_the_end : reopen_until_the_end, 37 * attempt);
}

static void exits_beside_a_call(void) {
    for (attempt = 0; attempt < 100; attempt += is_small() ? 9 : 1) in_child(exit_beside_a_call);  /* odd and even ones */
}

static void run_with_a_preloaded_engine(void) {
    setenv("LD_PRELOAD", engine_path, 1);
    setenv("ENGINE_OPENS_BEFORE_MAIN", "1", 1);
    execl("/proc/self/exe", "host", PRELOADED, (char *)NULL);
    _exit(EXIT_FAILURE);
}

/* The engine is loaded before main, and its constructor opens the devices. */
static void exits_beside_a_call_of_a_preloaded_engine(void) {
    for (int i = 0; i < 20; i++) in_child(run_with_a_preloaded_engine);
}

static void run_preloaded(void) {
    engine = dlsym(RTLD_DEFAULT, "engine");
    demand(engine, "engine.so is not preloaded");
    exit_beside(use_until_the_end, 1000);
}

static void reload_at_exit(void) {
    unload();
    expect_threads(1);
    load();
    works(engine->open(2));
    works(engine->use());
}

static void unload_at_exit(void) {
    atexit(reload_at_exit);
    load();
    works(engine->open(2));
    works(engine->use());
    exit(EXIT_SUCCESS);
}

/* A host that unloads its engines in an exit handler, as a static list of plug-ins does. */
static void unloads_at_exit(void) { for (int i = 0; i < 20; i++) in_child(unload_at_exit); }

static const struct {
    const char *name;
    void (*run)(void);
} scenes[] = {
#define SCENE(function) {#function, function}
    SCENE(unloads_beside_a_busy_thread), SCENE(forgets_devices), SCENE(closes_without_unloading),
    SCENE(static_objects_close_devices), SCENE(forgets_the_log), SCENE(logs_to_the_standard_error_of_its_start),
    SCENE(forgets_groups), SCENE(static_objects_destroy_groups), SCENE(threads_outlive_the_engine), SCENE(forks),
    SCENE(child_leaves_the_groups_of_its_parent), SCENE(exits_after_the_system_call_fork), SCENE(exits_beside_a_call),
    SCENE(exits_beside_a_call_of_a_preloaded_engine), SCENE(unloads_at_exit),
};

static void find_engine(void) {
    ssize_t length = readlink("/proc/self/exe", engine_path, sizeof engine_path - sizeof "engine.so");
    demand(length > 0, "/proc/self/exe");
    engine_path[length] = 0;
    memcpy(strrchr(engine_path, '/') + 1, "engine.so", sizeof "engine.so");
}

static bool run_scene(size_t scene) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(LIMIT);
        scenes[scene].run();
        fflush(stdout);
        _exit(EXIT_SUCCESS);
    }
    int status = 0;
    waitpid(child, &status, 0);
    bool passed = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    printf("%s %s", passed ? "ok    " : "FAILED", scenes[scene].name);
    if (WIFSIGNALED(status)) printf(": signal %d, %s", WTERMSIG(status), strsignal(WTERMSIG(status)));
    printf("\n");
    return passed;
}

int main(int count, char **words) {
    int passed = 0, failed = 0;
    if (count > 1 && !strcmp(words[1], PRELOADED)) run_preloaded();
    unsetenv("QUERN_LOG");
    find_engine();
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        if (count > 1 && strcmp(words[1], scenes[i].name) != 0) continue;
        if (run_scene(i)) passed++;
        else failed++;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed || !passed;
}
