/*
 * Which ranks live: whose process has ended, is ending, has called exec, is a zombie's or another name space's; what a forked child
 * may do with its copies of handles; and where ranks poll.
 *
 * Runs on: ranks.
 */
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "harness/check.h"
#include "harness/ranks.h"
#include "os/process_end.h"
#include "ranks/handles.h"

/* The test is rank 1, and another process is rank 0. */

static const char *fresh_name(void) {
    static char name[64];
    static int names;
    snprintf(name, sizeof name, "liveness.%d.%d", (int)getpid(), ++names);
    return name;
}

static quern_group *join(const char *name, int rank, int ranks) {
    quern_device *device;
    quern_group *group = NULL;
    if (quern_device_open(QUERN_CPU, 0, &device) != QUERN_OK) return NULL;
    if (quern_prepare(device, QUERN_RAGGED_ALL_TO_ALL) != QUERN_OK) return NULL;
    quern_group_args args = GROUP_ARGS(.rank = rank, .ranks = ranks, .name = name, .device = device, .timeout = RANK_LIMIT);
    return quern_group_create(&args, 1, &group) == QUERN_OK ? group : NULL;
}

/* A process that lives as rank 0 and does not outlast the test. */
static pid_t start(void (*life)(const char *name), const char *name) {
    pid_t process = fork();
    if (process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        life(name);
        rank_end_process(EXIT_SUCCESS);
    }
    check(process > 0, "no process");
    return process;
}

static void end(pid_t process) {
    kill(process, SIGKILL);
    while (waitpid(process, NULL, 0) < 0) continue;
}

static void expect(quern_status status, quern_status expected, const char *detail) {
    check(status == expected && (!detail || strstr(error_detail(), detail)), "%s: %s", quern_status_string(status), error_detail());
}

static void expect_lost(quern_group *group, double since) {
    expect(quern_barrier(group, NULL, NULL), QUERN_PEER_LOST, "has ended");
    check(rank_now() - since < RANK_SOON, "noticed after %g s", rank_now() - since);
    check_ok(quern_group_destroy(group));
}

/* ---- the end of a process ---- */

static void *meet_late_and_stop(void *name) {
    quern_group *group = join(name, 0, 2);
    rank_sleep(0.3);
    if (!group || quern_barrier(group, NULL, NULL) != QUERN_OK) _exit(EXIT_FAILURE);
    pause();
    return NULL;
}

/* The process is a zombie as far as /proc says, and its thread goes on. */
static void end_main_thread(const char *name) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, meet_late_and_stop, (void *)(uintptr_t)name)) _exit(EXIT_FAILURE);
    pthread_exit(NULL);
}

Test(liveness, a_rank_outlives_the_main_thread) {
    const char *name = fresh_name();
    pid_t process = start(end_main_thread, name);
    quern_group *group = join(name, 1, 2);
    expect(quern_barrier(group, NULL, NULL), QUERN_OK, NULL);
    const double killed = rank_now();
    kill(process, SIGKILL);
    expect_lost(group, killed);
    end(process);
}

static void call_exec(const char *name) {
    if (join(name, 0, 2)) execl("/bin/sleep", "sleep", "300", (char *)NULL);
    _exit(EXIT_FAILURE);
}

Test(liveness, exec_ends_a_rank) {
    const char *name = fresh_name();
    pid_t process = start(call_exec, name);
    quern_group *group = join(name, 1, 2);
    expect_lost(group, rank_now());
    end(process);
}

/* ---- name spaces ---- */

static void meet_and_share(const char *name, int rank) {
    const size_t bytes = 4096;
    void *pointer, *peer;
    quern_group *group = join(name, rank, 2);
    if (!group || getpid() != 1) _exit(2);
    if (quern_barrier(group, NULL, NULL) != QUERN_OK || quern_symmetric_alloc(&group, 1, &bytes, &pointer) != QUERN_OK ||
        quern_symmetric_peer(group, pointer, 1 - rank, &peer) != QUERN_OK)
        _exit(3);
    memset(peer, rank + 1, bytes);
    if (quern_barrier(group, NULL, NULL) != QUERN_OK || *(char *)pointer != 2 - rank) _exit(4);
    if (rank == 0) _exit(EXIT_SUCCESS);
    const double began = rank_now();
    _exit(quern_barrier(group, NULL, NULL) == QUERN_PEER_LOST && rank_now() - began < RANK_SOON ? EXIT_SUCCESS : 5);
}

enum { NO_NAME_SPACE = 77 };

/* The first process of a name space of its own, without /proc. Under a root that is no mount point, /proc stays: unmounting it
   would take it from all processes. */
static void live_in_name_space(const char *name, int rank) {
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) _exit(NO_NAME_SPACE);
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0) umount2("/proc", MNT_DETACH);
    int status = 0;
    pid_t first = fork();
    if (first == 0) meet_and_share(name, rank);
    while (waitpid(first, &status, 0) < 0) continue;
    rank_end_process(WIFEXITED(status) ? WEXITSTATUS(status) : 6);
}

static void live_as_first(const char *name) { live_in_name_space(name, 0); }
static void live_as_second(const char *name) { live_in_name_space(name, 1); }

Test(liveness, processes_of_one_number_in_two_name_spaces) {
    if (geteuid() != 0) cr_skip_test("only root can make name spaces of processes");
    const char *name = fresh_name();
    pid_t processes[] = {start(live_as_first, name), start(live_as_second, name)};
    int statuses[2];
    for (int rank = 0; rank < 2; rank++)
        while (waitpid(processes[rank], &statuses[rank], 0) < 0) continue;
    if (WIFEXITED(statuses[0]) && WEXITSTATUS(statuses[0]) == NO_NAME_SPACE) cr_skip_test("this process may not make name spaces");
    for (int rank = 0; rank < 2; rank++)
        check(WIFEXITED(statuses[rank]) && WEXITSTATUS(statuses[rank]) == 0, "rank %d ended with %d", rank, statuses[rank]);
}

/* ---- fork ---- */

/* Every call with a copy of a handle. */
static void use_copies(quern_group *group, void *memory, quern_ragged_plan *plan) {
    char detail[64], report[256];
    size_t bytes = 64;
    int colour = 0;
    void *pointer = memory;
    quern_group *part;
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    snprintf(detail, sizeof detail, "created in process %d", (int)getppid());
    const struct {
        const char *call;
        quern_status status;
    } calls[] = {
#define TRY(call) {#call, call}
        TRY(quern_barrier(group, NULL, NULL)), TRY(quern_group_status(group)), TRY(quern_group_abort(group, NULL)),
        TRY(quern_group_split(&group, 1, &colour, &colour, &part)), TRY(quern_symmetric_alloc(&group, 1, &bytes, &pointer)),
        TRY(quern_symmetric_free(group, memory, NULL)), TRY(quern_symmetric_peer(group, memory, 0, &pointer)),
        TRY(quern_ragged_all_to_all(group, &args, NULL, 0, NULL)), TRY(quern_ragged_plan_run(plan, NULL)),
        TRY(quern_ragged_plan_destroy(plan)), TRY(quern_group_destroy(group)), TRY(quern_group_destroy(group)),
#undef TRY
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i].status != QUERN_INVALID_ARGUMENT) _exit(10 + (int)i);
    if (!strstr(error_detail(), detail)) _exit(2);
    quern_group_report(group, report, sizeof report);
    if (!strstr(report, detail) || quern_group_rank(group) != -1 || quern_group_size(group) != -1) _exit(3);
    quern_group *own = join(fresh_name(), 0, 1);
    if (!own || quern_barrier(own, NULL, NULL) != QUERN_OK || quern_group_destroy(own) != QUERN_OK) _exit(4);
}

/* Symmetric memory, and a plan of an exchange of nothing; NULL: a call has failed. */
static quern_ragged_plan *make_plan(quern_group *group, void **memory) {
    static const int32_t none[2];
    const size_t bytes = 4096;
    size_t workspace_bytes = 0;
    void *workspace;
    quern_ragged_plan *plan;
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    args.input_offsets = args.send_sizes = args.output_offsets = args.recv_sizes = none;
    if (!group || quern_symmetric_alloc(&group, 1, &bytes, memory) != QUERN_OK ||
        quern_ragged_all_to_all_workspace(group, &args, &workspace_bytes) != QUERN_OK ||
        quern_symmetric_alloc(&group, 1, &workspace_bytes, &workspace) != QUERN_OK ||
        quern_ragged_plan_create(&group, 1, &args, &workspace, &workspace_bytes, &plan) != QUERN_OK)
        return NULL;
    return plan;
}

static void let_child_use_copies(const char *name) {
    void *memory;
    int status;
    quern_group *group = join(name, 0, 2);
    quern_ragged_plan *plan = make_plan(group, &memory);
    if (!plan) _exit(EXIT_FAILURE);
    pid_t child = fork();
    if (child == 0) {
        use_copies(group, memory, plan);
        rank_end_process(EXIT_SUCCESS);
    }
    while (waitpid(child, &status, 0) < 0) continue;
    if (!WIFEXITED(status) || WEXITSTATUS(status)) _exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE);
    if (quern_barrier(group, NULL, NULL) != QUERN_OK || quern_ragged_plan_run(plan, NULL) != QUERN_OK ||
        quern_group_destroy(group) != QUERN_OK)
        _exit(EXIT_FAILURE);
}

Test(liveness, a_forked_child_cannot_touch_its_parents_group) {
    const char *name = fresh_name();
    void *memory;
    int status;
    pid_t process = start(let_child_use_copies, name);
    quern_group *group = join(name, 1, 2);
    quern_ragged_plan *plan = make_plan(group, &memory);
    check(plan, "no plan: %s", error_detail());
    check_ok(quern_barrier(group, NULL, NULL));
    check_ok(quern_ragged_plan_run(plan, NULL));
    check_ok(quern_ragged_plan_destroy(plan));
    check_ok(quern_group_destroy(group));
    while (waitpid(process, &status, 0) < 0) continue;
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "rank 0 ended with %d", status);
}

/* What rank 0 and the test share. */
static struct orphan {
    pid_t child;                     /* of rank 0; 0: it is not forked yet */
    int kept;                        /* files of the library that the child has open or mapped */
    struct quern_process_mark mark;  /* of rank 0 */
} *orphan;

static void share_orphan(void) {
    orphan = mmap(NULL, sizeof *orphan, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check(orphan != MAP_FAILED, "no memory");
}

/* After it both ranks have mapped the memory through which it went. */
static bool transfer_once(quern_group *group, int peer) {
    char in[64], out[64] = "";
    quern_transfer_item items[] = {{0, peer, 1, out, sizeof out}, {1, peer, 1, in, sizeof in}};
    quern_transfer *transfer;
    quern_transfer_args args = TRANSFER_ARGS(.items = items, .item_count = 2, .key = 1);
    return quern_transfer_prepare(group, &args, &transfer) == QUERN_OK && quern_transfer_start(transfer, NULL) == QUERN_OK &&
           quern_transfer_wait(transfer, 0) == QUERN_OK && quern_barrier(group, NULL, NULL) == QUERN_OK &&
           quern_transfer_destroy(transfer) == QUERN_OK;
}

static int count_open(const char *text) {
    char path[300], file[300];
    int count = 0;
    for (int descriptor = 0; descriptor < 1024; descriptor++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
        const ssize_t bytes = readlink(path, file, sizeof file - 1);
        file[bytes > 0 ? bytes : 0] = 0;
        count += strstr(file, text) != NULL;
    }
    return count;
}

static void await_orphan(void) {
    const double end_of_wait = rank_now() + RANK_SOON;
    while (!__atomic_load_n(&orphan->child, __ATOMIC_ACQUIRE) && rank_now() < end_of_wait) rank_sleep(1e-3);
    check(orphan->child, "rank 0 has not said that it is there");
}

static void leave_a_child(const char *name, bool bare) {
    quern_group *group = join(name, 0, 2);
    if (!group || !transfer_once(group, 1)) _exit(EXIT_FAILURE);
    const pid_t child = bare ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
    if (child == 0) {
        if (!bare) orphan->kept = count_mappings("/quern.") + count_open("/quern.");
        __atomic_store_n(&orphan->child, (pid_t)syscall(SYS_getpid), __ATOMIC_RELEASE);
        alarm(300);
        for (;;) pause();
    }
    pause();
}

static void leave_a_forked_child(const char *name) { leave_a_child(name, false); }
static void leave_a_bare_child(const char *name) { leave_a_child(name, true); }

/* The parent's process is gone from /proc before the others look, so that its locks alone tell. */
static void outlive_a_parent(void (*life)(const char *name)) {
    const char *name = fresh_name();
    share_orphan();
    pid_t process = start(life, name);
    quern_group *group = join(name, 1, 2);
    check(group && transfer_once(group, 0), "no transfer: %s", error_detail());
    await_orphan();
    end(process);
    expect_lost(group, rank_now());
    check(orphan->kept == 0, "the child has %d files of the library", orphan->kept);
    kill(orphan->child, SIGKILL);
    munmap(orphan, sizeof *orphan);
}

Test(liveness, a_child_does_not_keep_its_parent_alive) { outlive_a_parent(leave_a_forked_child); }

/* Without the handlers of pthread_atfork it has all descriptors and most mappings of its parent. */
Test(liveness, a_child_of_the_system_call_does_not_either) { outlive_a_parent(leave_a_bare_child); }

/* ---- processes that are about to end ---- */

static void live_on(const char *name) {
    if (!join(name, 0, 2)) _exit(EXIT_FAILURE);
    orphan->mark = quern_own_process_mark();
    __atomic_store_n(&orphan->child, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
    for (;;) pause();
}

static void *live_on_thread(void *name) {
    live_on(name);
    return NULL;
}

static void live_on_without_main_thread(const char *name) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, live_on_thread, (void *)(uintptr_t)name)) _exit(EXIT_FAILURE);
    pthread_exit(NULL);
}

static bool is_ending(const struct quern_process_mark *mark) {
    const struct quern_process_mark own = quern_own_process_mark();
    return quern_process_is_ending(&own, mark);
}

/* Rank 0 is held where a large process frees its memory for seconds: a signal has ended it, and it has all that it had. */
static void hold_an_end(void (*life)(const char *name)) {
    const char *name = fresh_name();
    int status;
    share_orphan();
    pid_t process = start(life, name);
    quern_group *group = join(name, 1, 2);
    await_orphan();
    if (ptrace(PTRACE_SEIZE, orphan->child, NULL, PTRACE_O_TRACEEXIT) != 0) cr_skip_test("this process may not trace others");
    struct quern_process_mark mark = orphan->mark;
    check(mark.mount && !is_ending(&mark), "process %d is taken for one that ends", mark.number);
    kill(process, SIGKILL);
    while (waitpid(orphan->child, &status, __WALL) < 0) continue;
    check(WIFSTOPPED(status) && status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8), "rank 0 has the status %x", status);
    expect_lost(group, rank_now());
    check(is_ending(&mark), "the end of process %d is not seen", mark.number);
    mark.started++;
    check(!is_ending(&mark), "another process of its number is taken for it");
    mark.started--, mark.mount++;
    check(!is_ending(&mark), "a process of another /proc is taken for it");
    ptrace(PTRACE_DETACH, orphan->child, NULL, NULL);
    end(process);
    munmap(orphan, sizeof *orphan);
}

Test(liveness, a_process_that_is_ending_is_missed) { hold_an_end(live_on); }
Test(liveness, one_whose_main_thread_had_ended_too) { hold_an_end(live_on_without_main_thread); }

/* ---- polling ---- */

static void pin(struct rank *rank, int core) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    rank_check(rank, sched_setaffinity(0, sizeof cores, &cores) == 0, "the rank cannot be pinned");
    rank_line_up(rank);
}

/* Both ranks on one core, or on a core of their own each: they poll only in the second case. */
static quern_status poll_where_pinned(struct rank *rank) {
    struct quern_membership *member;
    for (int apart = 0; apart < 2; apart++) {
        pin(rank, apart * rank->rank);
        quern_group *group = rank_group(rank, RANK_LIMIT);
        rank_ok(rank, quern_member_of(group, &member));
        rank_check(rank, (member->polls.spins > 100) == apart, "apart %d: %d looks", apart, member->polls.spins);
        rank_ok(rank, quern_barrier(group, NULL, NULL));
        rank_line_up(rank);
        rank_ok(rank, quern_group_destroy(group));
        rank_line_up(rank);
    }
    return QUERN_OK;
}

static void check_pinned(quern_status (*function)(struct rank *rank)) {
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) != 0 || !CPU_ISSET(0, &cores) || !CPU_ISSET(1, &cores))
        cr_skip_test("the test may not run on cores 0 and 1");
    check_ranks(.kind = RANK_BOTH, .count = 2, .function = function, .shared_bytes = sizeof(int));
}

Test(liveness, ranks_on_one_core_do_not_poll) { check_pinned(poll_where_pinned); }

/*
 * Meets until rank 0 has learnt enough from its waits.  Both ranks leave in the same round, which it chooses.  Rank 1 comes late.
 */
static void meet_until(struct rank *rank, quern_group *group, bool (*has_learnt)(const struct quern_spin *), double late) {
    int *enough = rank->shared;
    struct quern_membership *member = rank_member_of(rank, group);
    for (const double began = rank_now(); !*enough;) {  /* on a busy machine it takes many rounds */
        rank_check(rank, rank_now() - began < RANK_SOON, "still %d looks", member->polls.spins);
        if (rank->rank && late > 0) rank_sleep(late);
        rank_ok(rank, quern_barrier(group, NULL, NULL));
        if (rank->rank == 0) *enough = has_learnt(&member->polls);
        rank_ok(rank, quern_barrier(group, NULL, NULL));
    }
    rank_line_up(rank);
    *enough = 0;
    rank_line_up(rank);
}

enum { SOME = 20, LONG = 1000000000 };

static bool has_lost_patience(const struct quern_spin *spin) { return spin->spins <= SOME; }
static bool was_paid(const struct quern_spin *spin) { return spin->spins > LONG; }

/*
 * Waits in vain end the polls of ranks that are moved to one core.  A poll that lasts until the other rank comes pays.  How long a
 * rank polls that is moved to a core of its own depends on what else runs there, so rank 0 polls long here.
 */
static quern_status poll_where_moved(struct rank *rank) {
    pin(rank, rank->rank);
    quern_group *group = rank_group(rank, RANK_LIMIT);
    struct quern_membership *member = rank_member_of(rank, group);
    pin(rank, 0);
    meet_until(rank, group, has_lost_patience, 0);
    pin(rank, rank->rank);
    if (rank->rank == 0) member->polls = (struct quern_spin){.spins = LONG, .most = 2 * LONG, .least = 1};
    meet_until(rank, group, was_paid, 0.01);
    return quern_group_destroy(group);
}

Test(liveness, ranks_that_are_moved_learn_whether_to_poll) { check_pinned(poll_where_moved); }

Test(liveness, patience_needs_three_failures_in_a_row) {
    struct quern_spin spin = {.spins = 100, .most = 120, .least = 10};
    for (int i = 0; i < 50; i++) {
        quern_spin_failed(&spin);
        quern_spin_failed(&spin);
        check(spin.spins >= 100, "%d looks after two failures", spin.spins);
        quern_spin_succeeded(&spin);
    }
    check(spin.spins == 120, "%d looks at the most", spin.spins);
    for (int i = 0; i < 3; i++) quern_spin_failed(&spin);
    check(spin.spins == 60, "%d looks after three failures", spin.spins);
    for (int i = 0; i < 9; i++) quern_spin_failed(&spin);
    check(spin.spins == 10, "%d looks at the least", spin.spins);
    quern_spin_succeeded(&spin);
    check(spin.spins == 13, "%d looks after a success", spin.spins);
}

Test(liveness, patience_rests) {
    struct quern_spin spin = {.spins = 64, .most = 64, .least = 1};
    int waits = 0;
    check(quern_spin_count(&spin) == 64, "%d looks", spin.spins);
    quern_spin_pause(&spin);
    while (waits < 1000 && !quern_spin_count(&spin)) waits++;
    check(waits > 100 && waits < 1000, "rested for %d waits", waits);
    check(quern_spin_count(&spin) == 1, "%d looks after the rest", spin.spins);
    quern_spin_succeeded(&spin);
    check(quern_spin_count(&spin) == 2, "%d looks after a success", spin.spins);
}
