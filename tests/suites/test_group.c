/*
 * The life of a group: ranks join, split, destroy their handles, abort and report their state; and the errors that mistakes
 * cause.
 *
 * Runs on: ranks.
 */
#include <limits.h>
#include <stdarg.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "harness/check.h"
#include "harness/random.h"
#include "harness/ranks.h"
#include "ranks/describe.h"
#include "ranks/handles.h"
#include "ranks/segment.h"

enum { SHARED_BYTES = 8192 };

/* A value that no call returns as a pointer. */
#define UNTOUCHED ((quern_group *)16)

static quern_group *single_group(quern_device *device) {
    quern_group *group;
    quern_group_args args = GROUP_ARGS(.ranks = 1, .device = device);
    check_ok(quern_group_create(&args, 1, &group));
    return group;
}

static bool name_exists(const char *name) {
    char path[256];
    rank_meeting_place(path, sizeof path, name);
    struct stat file;
    return lstat(path, &file) == 0;
}

/* ---- invalid arguments ---- */

static void ignore_line(void *user, quern_log_level level, const char *line) { (void)user, (void)level, (void)line; }

Test(group, refuses_bad_arguments) {
    OPEN_CPU(device);
    quern_set_log(ignore_line, NULL, QUERN_LOG_DEBUG);  /* at this level the call looks for devices too */
    char long_name[202];
    memset(long_name, 'n', sizeof long_name - 1);
    long_name[201] = 0;
    const struct {
        quern_group_args args;
        quern_status status;
        const char *detail;
    } mistakes[] = {
#define ARGS(...) {.args = {.size = QUERN_STRUCT_SIZE(quern_group_args), .device = device, __VA_ARGS__}, \
                   .status = QUERN_INVALID_ARGUMENT
        ARGS(.ranks = 2, .rank = 2, .name = "n"), .detail = "rank is 2: expected 0 to 1"},
        ARGS(.ranks = 1, .name = ""), .detail = "name is not 1 to 200 letters"},
        ARGS(.ranks = 2, .name = "a/b"), .detail = "name is not 1 to 200 letters"},
        ARGS(.ranks = 2, .name = "a b"), .detail = "name is not 1 to 200 letters"},
        ARGS(.ranks = 2, .name = "gr\xc3\xbcn"), .detail = "name is not 1 to 200 letters"},
        ARGS(.ranks = 2, .name = long_name), .detail = "name is not 1 to 200 letters"},
#undef ARGS
    };
    quern_group *group = UNTOUCHED;
    for (size_t i = 0; i < COUNT(mistakes); i++)
        check_refused(quern_group_create(&mistakes[i].args, 1, &group), mistakes[i].status, mistakes[i].detail);

    quern_group_args args[2] = {QUERN_GROUP_ARGS_INIT, QUERN_GROUP_ARGS_INIT};
    args[0].device = args[1].device = device;
    args[0].ranks = args[1].ranks = 2;
    check_refused(quern_group_create(args, 1, &group), QUERN_NULL_POINTER, "name is NULL: 2 ranks need one to meet under");
    args[0].name = args[1].name = "together";
    args[1].rank = 1;
    check_refused(quern_group_create(args, 2, &group), QUERN_INVALID_ARGUMENT, "count is 2: a thread is one CPU rank");
    check(group == UNTOUCHED, "a failed call wrote a handle");
    check(!name_exists("n") && !name_exists("together"), "a refused call left a name");
}

Test(group, allows_names_of_all_letters_and_lengths) {
    OPEN_CPU(device);
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    char name[201] = "", *end = name + 200;
    while (strlen(name) + strlen(letters) <= 200) strcat(name, letters);
    memset(name + strlen(name), 'z', (size_t)(end - name) - strlen(name));
    name[200] = 0;
    const char *const names[] = {name, "a", ".", "..", "-", "%d%s"};
    for (size_t i = 0; i < COUNT(names); i++) {
        quern_group *group;
        quern_group_args args = GROUP_ARGS(.ranks = 1, .device = device, .name = names[i]);
        if (strchr(names[i], '%')) {
            check_refused(quern_group_create(&args, 1, &group), QUERN_INVALID_ARGUMENT, "name is not 1 to 200 letters");
            continue;
        }
        check_ok(quern_group_create(&args, 1, &group));
        check(!name_exists(names[i]), "the file of %s is still there", names[i]);
        check_ok(quern_group_abort(group, NULL));
        check(quern_group_status(group) == QUERN_GROUP_ABORTED, "not aborted");
        char expected[96];
        snprintf(expected, sizeof expected, "group %.34s, rank 0: rank 0 has aborted the group", names[i]);
        check(!strcmp(error_detail(), expected), "\"%s\" instead of \"%s\"", error_detail(), expected);
        check_ok(quern_group_destroy(group));
    }
}

/* Every call on a handle, with its arguments. */
static void check_every_call(quern_group *group, quern_status expected, const char *detail) {
    quern_group *made = UNTOUCHED;
    char text[256];
    check_refused(quern_barrier(group, NULL, NULL), expected, detail);
    check_refused(quern_group_split(&group, 1, (int[]){0}, (int[]){0}, &made), expected, detail);
    check_refused(quern_group_abort(group, NULL), expected, detail);
    check_refused(quern_group_status(group), expected, detail);
    check(made == UNTOUCHED, "a failed split wrote a handle");
    size_t length = quern_group_report(group, text, sizeof text);
    check(strstr(text, detail) && length == strlen(text), "the report says \"%s\"", text);
    check(quern_group_rank(group) == -1 && quern_group_size(group) == -1, "a rank or size of no group");
}

Test(group, refuses_what_is_no_group) {
    check_every_call(NULL, QUERN_NULL_POINTER, "group is NULL");
    check_ok(quern_group_destroy(NULL));
}

Test(group, refuses_handles_that_were_destroyed) {
    OPEN_CPU(device);
    quern_group *groups[20];
    for (size_t i = 0; i < COUNT(groups); i++) groups[i] = single_group(device);
    for (size_t i = 0; i < COUNT(groups); i++) {
        check_ok(quern_group_destroy(groups[i]));
        check_every_call(groups[i], QUERN_INVALID_ARGUMENT, "was destroyed before");
        check_refused(quern_group_destroy(groups[i]), QUERN_INVALID_ARGUMENT, "was destroyed before");
    }
    quern_group *next = single_group(device);
    for (size_t i = 0; i < COUNT(groups); i++) check_every_call(groups[i], QUERN_INVALID_ARGUMENT, "was destroyed before");
    check_ok(quern_barrier(next, NULL, NULL));
    check_ok(quern_group_destroy(next));
}

Test(group, refuses_bad_arguments_of_split) {
    OPEN_CPU(device);
    quern_group *group = single_group(device), *other = single_group(device), *made[2] = {UNTOUCHED, UNTOUCHED};
    const int zeros[2] = {0, 0};
    const struct {
        quern_group *const *groups;
        int count;
        const int *colours, *keys;
        quern_group **made;
        quern_status status;
        const char *detail;
    } mistakes[] = {
        {NULL, 1, zeros, zeros, made, QUERN_NULL_POINTER, "groups is NULL"},
        {&group, 0, zeros, zeros, made, QUERN_INVALID_ARGUMENT, "count is 0: expected 1 to 128 handles"},
        {&group, -1, zeros, zeros, made, QUERN_INVALID_ARGUMENT, "count is -1: expected 1 to 128 handles"},
        {&group, 129, zeros, zeros, made, QUERN_INVALID_ARGUMENT, "count is 129: expected 1 to 128 handles"},
        {(quern_group *[]){NULL}, 1, zeros, zeros, made, QUERN_NULL_POINTER, "group is NULL"},
        {(quern_group *[]){group, group}, 2, zeros, zeros, made, QUERN_INVALID_ARGUMENT,
            "groups[1] is the same handle as groups[0]"},
        {(quern_group *[]){group, other}, 2, zeros, zeros, made, QUERN_INVALID_ARGUMENT, "groups[1] is of another group"},
        {&group, 1, NULL, zeros, made, QUERN_NULL_POINTER, "colours is NULL"},
        {&group, 1, zeros, NULL, made, QUERN_NULL_POINTER, "keys is NULL"},
        {&group, 1, zeros, zeros, NULL, QUERN_NULL_POINTER, "new_groups is NULL"},
    };
    for (size_t i = 0; i < COUNT(mistakes); i++)
        check_refused(quern_group_split(mistakes[i].groups, mistakes[i].count, mistakes[i].colours, mistakes[i].keys,
                                        mistakes[i].made), mistakes[i].status, mistakes[i].detail);
    check(made[0] == UNTOUCHED && made[1] == UNTOUCHED, "a failed split wrote");
    check_ok(quern_group_split(&group, 1, zeros, zeros, made));
    check(quern_group_size(made[0]) == 1, "%d ranks", quern_group_size(made[0]));
    check_ok(quern_group_destroy(made[0]));
    check_ok(quern_group_destroy(group));
    check_ok(quern_group_destroy(other));
}

/* Rank 0 has the handles of all ranks of its process, but the others are other threads. */
TEST_GROUP(group, takes_one_handle_of_a_thread, .kind = RANK_THREADS, .count = 2) {
    quern_group **all = rank->shared, *made[2] = {UNTOUCHED, UNTOUCHED};
    all[rank->rank] = group;
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    if (rank->rank == 0) {
        static const char words[] = "count is 2: a thread is one CPU rank, so pass its one handle";
        static char memory[2][64];
        const quern_ragged_all_to_all_args args[2] = {QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT, QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT};
        void *pointers[2] = {memory[0], memory[1]};
        quern_ragged_plan *plans[2] = {NULL, NULL};
        const size_t bytes[2] = {64, 64};
        rank_refused(rank, quern_group_split(all, 2, (int[]){0, 0}, (int[]){0, 1}, made), QUERN_INVALID_ARGUMENT, words);
        rank_refused(rank, quern_symmetric_register(all, 2, pointers, bytes), QUERN_INVALID_ARGUMENT, words);
        rank_refused(rank, quern_ragged_plan_create(all, 2, args, pointers, bytes, plans), QUERN_INVALID_ARGUMENT, words);
        rank_refused(rank, quern_symmetric_alloc(all, 2, bytes, pointers), QUERN_INVALID_ARGUMENT, words);
        rank_check(rank, made[0] == UNTOUCHED && made[1] == UNTOUCHED && !plans[0] && !plans[1] && pointers[0] == memory[0] &&
                   pointers[1] == memory[1], "a refused call wrote");
    }
    rank_ok(rank, quern_barrier(group, NULL, NULL));  /* the refusal was of rank 0 alone */
}

/* ---- joining ---- */

TEST_BODY_FOR(group, may_have_the_same_name_again_at_once, for (int ranks = 3; ranks <= 33; ranks += 30), .kind = RANK_BOTH,
              .count = ranks) {
    for (int round = 0; round < (rank->ranks == 3 ? 300 : 5); round++) {
        quern_group *group = rank_group(rank, RANK_LIMIT);
        rank_check(rank, quern_group_rank(group) == rank->rank && quern_group_size(group) == rank->ranks, "rank %d of %d",
                   quern_group_rank(group), quern_group_size(group));
        rank_ok(rank, quern_barrier(group, NULL, NULL));
        rank_ok(rank, quern_group_status(group));
        rank_ok(rank, quern_group_destroy(group));
    }
}

/* Rank 0 reads the file that the others create. */
TEST_RANKS(group, meets_in_a_file_of_its_own, .kind = RANK_BOTH, .count = 3) {
    char path[128];
    struct stat file;
    umask(0);
    rank_meeting_place(path, sizeof path, rank->name);
    while (rank->rank == 0 && lstat(path, &file) != 0) rank_sleep(1e-3);
    if (rank->rank == 0)
        rank_check(rank, S_ISREG(file.st_mode) && (file.st_mode & 07777) == 0600, "permissions are %o", file.st_mode & 07777);
    quern_group *group = rank_group(rank, RANK_LIMIT);
    rank_check(rank, lstat(path, &file) != 0, "%s is still there", path);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    return quern_group_destroy(group);
}

/*
 * Ranks 0 and 1 both ask for rank 0: one of them gets it.  A process that has not got it waits, since the other one might end.  It
 * gives up first, unless it was the first to come: then its group cannot become complete, and it tries again.
 */
TEST_BODY(group, gives_a_rank_once, .kind = RANK_BOTH, .count = 3) {
    unsigned *refused = rank->shared;
    quern_group *group = UNTOUCHED;
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    args.rank = rank->rank == 2;
    args.ranks = 2;
    if (rank->rank == 1) args.timeout = 0.4;
    while (rank->rank == 2 && !__atomic_load_n(refused, __ATOMIC_ACQUIRE)) rank_sleep(1e-3);
    quern_status status;
    do status = quern_group_create(&args, 1, &group);
    while (rank->rank == 1 && status == QUERN_PEER_TIMEOUT);
    if (status == QUERN_OK) {
        rank_ok(rank, quern_barrier(group, NULL, NULL));
        rank_ok(rank, quern_group_destroy(group));
    } else {
        char expected[160];
        rank_check(rank, status == QUERN_INVALID_ARGUMENT && group == UNTOUCHED, "%s", quern_status_string(status));
        snprintf(expected, sizeof expected, "rank 0 of group %s has been taken by process ", rank->name);
        rank_check_detail(rank, expected);
        __atomic_add_fetch(refused, 1, __ATOMIC_RELEASE);
    }
    rank_line_up(rank);
    rank_check(rank, *refused == 1, "%u ranks refused", *refused);
}

static quern_status disagree(struct rank *rank, quern_group_args *args, const char *detail) {
    quern_group *group = UNTOUCHED;
    rank_status(rank, quern_group_create(args, 1, &group), QUERN_PEER_MISMATCH);
    rank_check(rank, group == UNTOUCHED, "a failed call wrote a handle");
    rank_check_detail(rank, detail);
    rank_check_detail(rank, "rank ");
    rank_line_up(rank);
    rank_check(rank, !name_exists(rank->name), "the name is still there");
    rank_line_up(rank);
    return quern_group_destroy(rank_group(rank, RANK_LIMIT));
}

TEST_RANKS(group, refuses_ranks_that_disagree_on_their_number, .kind = RANK_BOTH, .count = 2) {
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    args.ranks += rank->rank;
    return disagree(rank, &args, "ranks, and rank ");
}

/* Rank 0 forms a group of `ranks`, and the other comes as `other` of `expected`: both learn what was wrong. */
static void come_as(struct rank *rank, int ranks, int other, int expected) {
    char detail[96];
    quern_group *group = UNTOUCHED;
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    args.ranks = rank->rank == 0 ? ranks : expected;
    args.rank = rank->rank == 0 ? 0 : other;
    while (rank->rank == 1 && !name_exists(rank->name)) rank_sleep(1e-5);
    rank_status(rank, quern_group_create(&args, 1, &group), QUERN_PEER_MISMATCH);
    rank_check(rank, group == UNTOUCHED, "a failed call wrote a handle");
    snprintf(detail, sizeof detail, "the group is being formed with %d ranks, and rank %d expects %d", ranks, other, expected);
    rank_check_detail(rank, detail);
    rank_line_up(rank);
}

/* With a rank that has no place: each of them in threads, some in processes.  Then with a rank that has one. */
TEST_BODY(group, refuses_ranks_without_a_place, .kind = RANK_BOTH, .count = 2) {
    for (int ranks = 2; ranks < QUERN_MAX_RANKS; ranks++) {
        const int most = QUERN_MAX_RANKS - 1, step = rank->kind == RANK_THREADS ? 1 : (most - ranks) / 2 + 1;
        for (int other = ranks; other < most; other += step) come_as(rank, ranks, other, QUERN_MAX_RANKS);
        come_as(rank, ranks, most, QUERN_MAX_RANKS);
        come_as(rank, ranks, 1, ranks + 1);
        come_as(rank, ranks + 1, 1, ranks);
    }
}

TEST_RANKS(group, refuses_ranks_that_disagree_on_the_first_epoch, .kind = RANK_BOTH, .count = 2) {
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    args.first_epoch = (uint32_t)rank->rank;
    return disagree(rank, &args, "the group's first_epoch is #, and ");
}

/* The file of a group that another version of the library is forming, as its maker holds it. */
static struct quern_segment *make_foreign_file(const char *path, int *descriptor) {
    const off_t bytes = (off_t)quern_segment_bytes(2, 2);
    *descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    check(*descriptor >= 0 && ftruncate(*descriptor, bytes) == 0 && flock(*descriptor, LOCK_SH) == 0, "no file %s", path);
    struct quern_segment *segment = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *descriptor, 0);
    check(segment != MAP_FAILED, "no memory");
    segment->ranks = 2, segment->layout = 1 << 20, segment->state = QUERN_SEGMENT_FORMING;
    memcpy(&segment->magic, "qnrgroup", sizeof segment->magic);
    return segment;
}

Test(group, refuses_one_of_another_version) {
    char path[96], name[32];
    int descriptor;
    snprintf(name, sizeof name, "version.%d", (int)getpid());
    rank_meeting_place(path, sizeof path, name);
    struct quern_segment *segment = make_foreign_file(path, &descriptor), before = *segment;
    quern_group *group = UNTOUCHED;
    OPEN_CPU(device);
    quern_group_args args = GROUP_ARGS(.name = name, .ranks = 2, .device = device, .timeout = 5);
    char expected[128];
    snprintf(expected, sizeof expected, "group %s is being formed by another version of Quern", args.name);
    check_refused(quern_group_create(&args, 1, &group), QUERN_PEER_MISMATCH, expected);
    check(group == UNTOUCHED && name_exists(args.name), "the file was removed");
    check(!memcmp(segment, &before, sizeof before) && segment->rank[0].state == QUERN_RANK_ABSENT, "the file was written");
    munmap(segment, quern_segment_bytes(2, 2));
    close(descriptor);
    unlink(path);
}

/*
 * A stranger gives rank 1 the slot of rank 0 when both are there, before the last rank comes.  Rank 1 itself knows better, and has
 * the poison of the others.
 */
TEST_RANKS(group, refuses_a_slot_that_two_ranks_have, .kind = RANK_PROCESSES, .count = 3) {
    char path[96];
    quern_group *group = NULL;
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    rank_meeting_place(path, sizeof path, rank->name);
    if (rank->rank == 2) {
        int descriptor;
        while ((descriptor = open(path, O_RDWR | O_CLOEXEC)) < 0) rank_sleep(1e-3);
        struct stat file = {.st_size = 0};
        while (fstat(descriptor, &file) == 0 && file.st_size == 0) rank_sleep(1e-3);
        struct quern_segment *segment = mmap(NULL, (size_t)file.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        rank_check(rank, segment != MAP_FAILED, "no memory");
        while (__atomic_load_n(&segment->joined, __ATOMIC_ACQUIRE) < 2) rank_sleep(1e-3);
        __atomic_store_n(&segment->rank[1].seat, 1, __ATOMIC_RELEASE);
        munmap(segment, (size_t)file.st_size);
        close(descriptor);
    }
    quern_status status = quern_group_create(&args, 1, &group);
    rank_check(rank, status != QUERN_OK || rank->rank == 1, "rank %d has a group", rank->rank);
    if (status == QUERN_OK) status = quern_barrier(group, NULL, NULL);
    rank_refused(rank, status, QUERN_PEER_MISMATCH, "the place of rank 1 is damaged");
    return quern_group_destroy(group);
}

/* The number of seconds behind these words of the detail or report. */
static double seconds_after(struct rank *rank, const char *text, const char *words) {
    double seconds = -1;
    const char *place = strstr(text, words);
    rank_check(rank, place && sscanf(place + strlen(words), "%lf s", &seconds) == 1, "no \"%s\" and seconds in:\n%s", words, text);
    return seconds;
}

/* Rank 0 comes when the others have come.  Its limit is the first to end. */
static void await_the_others(struct rank *rank, unsigned others) {
    char path[128];
    if (rank->rank) return;
    rank_meeting_place(path, sizeof path, rank->name);
    struct quern_segment *segment = ranks_find_forming(path, others);
    rank_check(rank, segment, "%u others do not come to %s", others, path);
    munmap(segment, sizeof *segment);
}

/* Ranks 2 and 5 are missing. */
TEST_RANKS(group, says_who_did_not_come, .kind = RANK_BOTH, .count = 6) {
    quern_group *group = UNTOUCHED;
    quern_group_args args = rank_group_args(rank, rank->rank ? RANK_LIMIT : 0.4);
    char detail[RANK_TEXT_BYTES];
    bool absent = rank->rank == 2 || rank->rank == 5;
    await_the_others(rank, 3);
    double began = rank_now();
    if (!absent) {
        rank_status(rank, quern_group_create(&args, 1, &group), QUERN_PEER_TIMEOUT);
        quern_error_detail(detail, sizeof detail);
        rank_check(rank, seconds_after(rank, detail, "quern_group_create waited ") >= 0.39, "%s", detail);
        rank_check_detail(rank, " s for rank 2, rank 5");
        rank_check(rank, group == UNTOUCHED, "a failed call wrote a handle");
        rank_check(rank, rank->rank || rank_now() - began >= 0.39, "waited %g s", rank_now() - began);
    }
    rank_line_up(rank);
    rank_check(rank, !name_exists(rank->name), "the name is still there");
    rank_line_up(rank);
    return quern_group_destroy(rank_group(rank, RANK_LIMIT));
}

/* The ranks arrive about as late as the limit: either all have the group or none. */
TEST_BODY(group, is_for_all_ranks_or_for_none, .kind = RANK_BOTH, .count = 3) {
    quern_status *statuses = rank->shared;
    quern_group_args args = rank_group_args(rank, 0.002);
    for (uint64_t round = 0; round < 600; round++) {
        quern_group *group = UNTOUCHED;
        rank_line_up(rank);
        if (rank->rank == 0) rank_sleep(0.0015 + 1e-6 * random_below(3, round, 1000));
        quern_status status = statuses[rank->rank] = quern_group_create(&args, 1, &group);
        rank_check(rank, status == QUERN_OK || status == QUERN_PEER_TIMEOUT, "%s", quern_status_string(status));
        rank_line_up(rank);
        for (int other = 0; other < rank->ranks; other++)
            rank_check(rank, statuses[other] == status, "round %d: rank %d has %s and rank %d %s", (int)round, rank->rank,
                       quern_status_string(status), other, quern_status_string(statuses[other]));
        if (status == QUERN_OK) rank_ok(rank, quern_group_destroy(group));
    }
}

/* All ranks fail and retry at once until the late one arrives: no rank may remove the name of another attempt. */
TEST_RANKS(group, comes_about_at_a_later_attempt, .kind = RANK_BOTH, .count = 2) {
    quern_group *group;
    quern_group_args args = rank_group_args(rank, 0.02);
    if (rank->rank == 0) rank_sleep(0.3);
    double began = rank_now();
    quern_status status;
    do status = quern_group_create(&args, 1, &group);
    while (status == QUERN_PEER_TIMEOUT && rank_now() - began < RANK_SOON);
    if (status != QUERN_OK) return status;
    return quern_group_destroy(group);
}

/* The ranks of a process share one mapping, which goes with the last of them.  Each has its lock by one more. */
TEST_BODY(group, leaves_no_memory_behind, .kind = RANK_BOTH, .count = 3) {
    for (int round = 0; round < 3; round++) {
        quern_group *group = rank_group(rank, RANK_LIMIT);
        const int mappings = count_mappings("/dev/shm/quern.");
        rank_check(rank, mappings == 1 + (rank->kind == RANK_THREADS ? rank->ranks : 1), "%d mappings of the group's memory",
                   mappings);
        rank_ok(rank, quern_barrier(group, NULL, NULL));
        rank_line_up(rank);
        rank_ok(rank, quern_group_destroy(group));
        rank_line_up(rank);
        rank_check(rank, count_mappings("/dev/shm/quern.") == 0, "%d mappings are left", count_mappings("/dev/shm/quern."));
        rank_line_up(rank);
    }
}

/* ---- splitting ---- */

/* The data that each rank publishes for the others to compare. */
struct wish {
    int colour, key;
};

/* The expected rank among the ranks of the same colour, and their number. */
static int expected_place(const struct wish *wishes, int ranks, int rank, int *size) {
    int place = *size = 0;
    for (int other = 0; other < ranks; other++) {
        if (wishes[other].colour != wishes[rank].colour) continue;
        bool before = wishes[other].key < wishes[rank].key || (wishes[other].key == wishes[rank].key && other < rank);
        place += before;
        ++*size;
    }
    return place;
}

static const int odd_keys[] = {INT_MIN, -1, 0, 0, 1, INT_MAX};
static const int odd_colours[] = {0, 1, 1, INT_MAX, -1, INT_MIN, 77};

TEST_GROUP(group, splits_by_colour_and_key, .kind = RANK_BOTH, .count = 7) {
    struct wish wishes[QUERN_MAX_RANKS];
    int *told = rank->shared;
    for (uint64_t round = 0; round < 30; round++) {
        int size;
        quern_group *part = UNTOUCHED;
        for (int other = 0; other < rank->ranks; other++) {
            uint64_t place = round * QUERN_MAX_RANKS + (uint64_t)other;
            wishes[other].colour = odd_colours[random_below(1, place, COUNT(odd_colours))];
            wishes[other].key = odd_keys[random_below(2, place, COUNT(odd_keys))];
        }
        const struct wish *mine = &wishes[rank->rank];
        rank_ok(rank, quern_group_split(&group, 1, &mine->colour, &mine->key, &part));
        rank_check(rank, !part == (mine->colour < 0), "colour %d gave %p", mine->colour, (void *)part);
        if (!part) continue;
        int place = expected_place(wishes, rank->ranks, rank->rank, &size);
        rank_check(rank, quern_group_rank(part) == place && quern_group_size(part) == size, "round %d: rank %d of %d, not %d of %d",
                   (int)round, quern_group_rank(part), quern_group_size(part), place, size);
        told[rank->rank] = (int)round;
        rank_ok(rank, quern_barrier(part, NULL, NULL));
        for (int other = 0; other < rank->ranks; other++)
            if (wishes[other].colour == mine->colour) rank_check(rank, told[other] == (int)round, "rank %d is not there", other);
        rank_ok(rank, quern_barrier(part, NULL, NULL));
        rank_ok(rank, quern_group_destroy(part));
    }
    rank_ok(rank, quern_barrier(group, NULL, NULL));
}

/* Halves of halves; all of them exist at the same time and end in any order. */
TEST_BODY(group, splits_what_was_split, .kind = RANK_BOTH, .count = 8) {
    quern_group *groups[4] = {rank_group(rank, RANK_LIMIT)};
    for (int level = 1; level < 4; level++) {
        int colour = quern_group_rank(groups[level - 1]) % 2, key = -quern_group_rank(groups[level - 1]);
        rank_ok(rank, quern_group_split(&groups[level - 1], 1, &colour, &key, &groups[level]));
        rank_check(rank, quern_group_size(groups[level]) == 8 >> level, "%d ranks", quern_group_size(groups[level]));
    }
    for (int round = 0; round < 20; round++)
        for (int level = 0; level < 4; level++) rank_ok(rank, quern_barrier(groups[level], NULL, NULL));
    int first = rank->rank % 2 ? 0 : 3;
    for (int i = 0; i < 4; i++) rank_ok(rank, quern_group_destroy(groups[(first + i) % 4]));
}

/* The parts inherit the time limit; their errors do not affect the parent. */
TEST_RANKS_FOR(group, parts_have_the_limit_and_a_fate_of_their_own, for (int hosts = 0; hosts <= 2; hosts += 2),
               .kind = hosts ? RANK_PROCESSES : RANK_BOTH, .count = 4, .hosts = hosts) {
    quern_group_args join = rank_group_args(rank, RANK_LIMIT + 1);
    quern_group *group, *part;
    join.first_timeout = RANK_LIMIT + 2;
    rank_ok(rank, quern_group_create(&join, 1, &group));
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    rank_ok(rank, quern_group_split(&group, 1, (int[]){rank->rank / 2}, (int[]){0}, &part));
    struct quern_membership *member = rank_member_of(rank, part);
    rank_check(rank, member->timeout == RANK_LIMIT + 2 && member->steady_timeout == RANK_LIMIT + 1,
               "the part has limits of %g s and %g s", member->timeout, member->steady_timeout);
    quern_barrier_args args = BARRIER_ARGS(.timeout = 0.3);
    if (rank->rank == 0) rank_status(rank, quern_barrier(part, &args, NULL), QUERN_PEER_TIMEOUT);
    rank_line_up(rank);
    rank_status(rank, quern_group_status(part), rank->rank < 2 ? QUERN_PEER_TIMEOUT : QUERN_OK);
    rank_ok(rank, quern_group_status(group));
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    rank_ok(rank, quern_group_destroy(part));
    return quern_group_destroy(group);
}

/* ---- several groups of the same ranks ---- */

TEST_BODY(group, may_share_its_ranks_with_others, .kind = RANK_BOTH, .count = 4) {
    enum { GROUPS = 3 };
    quern_group *groups[GROUPS];
    int *round_of = rank->shared;
    char name[96];
    for (int i = 0; i < GROUPS; i++) {
        quern_group_args args = rank_group_args(rank, RANK_LIMIT);
        snprintf(name, sizeof name, "%s.%d", rank->name, i);
        args.name = name;
        args.rank = (rank->rank + i) % rank->ranks;
        rank_ok(rank, quern_group_create(&args, 1, &groups[i]));
    }
    for (int round = 1; round <= 500; round++) {
        quern_group *group = groups[random_below(3, (uint64_t)round, GROUPS)];
        round_of[rank->rank] = round;
        rank_ok(rank, quern_barrier(group, NULL, NULL));
        for (int other = 0; other < rank->ranks; other++) rank_check(rank, round_of[other] == round, "rank %d is not there", other);
        rank_ok(rank, quern_barrier(groups[round % GROUPS], NULL, NULL));
    }
    if (rank->rank == 0) rank_ok(rank, quern_group_abort(groups[1], NULL));
    rank_line_up(rank);
    rank_status(rank, quern_barrier(groups[1], NULL, NULL), QUERN_GROUP_ABORTED);
    rank_ok(rank, quern_barrier(groups[0], NULL, NULL));
    rank_ok(rank, quern_barrier(groups[2], NULL, NULL));
    for (int i = 0; i < GROUPS; i++) rank_ok(rank, quern_group_destroy(groups[i]));
}

/* ---- aborting: test_host_barrier.c has the waits that it ends ---- */

/* The group that the other thread checks (NULL: it may end), and the group that it has checked. */
static quern_group *_Atomic looked_at, *_Atomic seen;

static void *look_and_abort(void *user) {
    char report[512];
    for (quern_group *group; (group = looked_at);) {
        bool known = quern_group_rank(group) == 0 && quern_group_size(group) == 1;
        quern_group_report(group, report, sizeof report);
        if (known && !strstr(report, "rank 0: ") && !strstr(report, "destroyed before")) return user;
        if (known) quern_group_abort(group, NULL);
        seen = group;
    }
    return NULL;
}

Test(group, may_be_looked_at_and_aborted_while_it_is_destroyed) {
    OPEN_CPU(device);
    pthread_t thread;
    void *failed;
    looked_at = single_group(device);
    check_ok(quern_group_destroy(looked_at));
    pthread_create(&thread, NULL, look_and_abort, &looked_at);
    for (int round = 0; round < 300; round++) {
        looked_at = single_group(device);
        while (round % 2 && seen != looked_at) rank_sleep(1e-5);
        check_ok(quern_group_destroy(looked_at));
    }
    looked_at = NULL;
    pthread_join(thread, &failed);
    check(!failed, "a report without its rank");
}

/* ---- reporting ---- */

static int count_lines(const char *text) {
    int lines = 0;
    for (; *text; text++) lines += *text == '\n';
    return lines;
}

static void check_line(struct rank *rank, const char *report, const char *format, ...) {
    char line[200];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    rank_check(rank, strstr(report, line), "no \"%s\" in the report:\n%s", line, report);
}

/* A report in which so many ranks sleep in a barrier.  Returns its length. */
static size_t report_of_sleepers(struct rank *rank, const quern_group *group, int sleepers, char *report, size_t bytes) {
    for (const double end = rank_now() + RANK_SOON;; rank_sleep(1e-3)) {
        const size_t length = quern_group_report(group, report, bytes);
        int waiting = 0;
        for (const char *place = report; (place = strstr(place, "waits in quern_barrier")); place++) waiting++;
        if (waiting == sleepers) return length;
        rank_check(rank, rank_now() < end, "%d ranks sleep: expected %d:\n%s", waiting, sleepers, report);
    }
}

/* Ranks 1 and 2 wait in a barrier for rank 0, which asks for a report; rank 3 has left. */
TEST_RANKS(group, reports_what_each_rank_is_doing, .kind = RANK_BOTH, .count = 4) {
    pid_t *processes = rank->shared;
    char report[2048], part[96];
    quern_group *group = rank_group(rank, RANK_LIMIT);
    processes[rank->rank] = getpid();
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    if (rank->rank == 3) rank_ok(rank, quern_group_destroy(group));
    rank_line_up(rank);
    if (rank->rank == 3) return QUERN_OK;
    quern_barrier_args args = BARRIER_ARGS(.members = (int[]){0, 1, 2}, .member_count = 3);
    if (rank->rank == 0) {
        size_t length = report_of_sleepers(rank, group, 2, report, sizeof report);
        rank_check(rank, length == strlen(report) && count_lines(report) == 4, "%zu of %zu:\n%s", length, strlen(report), report);
        check_line(rank, report, "rank 0: process %d, cpu:0, last in quern_barrier, epoch 2\n", (int)processes[0]);
        for (int other = 1; other < 3; other++) {
            snprintf(part, sizeof part, "rank %d: process %d, cpu:0, waits in quern_barrier, epoch 3, for ", other,
                     (int)processes[other]);
            rank_check(rank, seconds_after(rank, report, part) >= 0, "%s", report);
        }
        check_line(rank, report, "rank 3: left\n");
        memset(part, 'x', sizeof part);
        rank_check(rank, quern_group_report(group, part, 10) >= length - 20 && !memcmp(part, "rank 0: p", 10) && part[10] == 'x',
                   "cut off to \"%.20s\"", part);
        rank_check(rank, quern_group_report(group, NULL, 0) >= length - 20, "another length without a buffer");
    }
    rank_ok(rank, quern_barrier(group, &args, NULL));
    rank_ok(rank, quern_barrier(group, &args, NULL));
    return quern_group_destroy(group);
}

/* Memory that the ranks share may hold anything: a report reads nothing beyond its tables. */
Test(group, reports_tags_of_no_known_call) {
    static const struct {
        uint32_t tag;
        const char *text;
    } tags[] = {{0, "no call"}, {(uint32_t)QUERN_IN_BARRIER << 24 | QUERN_PHASE_EXIT << 16, "quern_barrier (exit)"},
                {(uint32_t)QUERN_COLLECTIVES << 24, "a call of another version"}, {0xFFFFFFFF, "a call of another version"},
                {(uint32_t)QUERN_IN_SPLIT << 24 | QUERN_PHASES << 16, "quern_group_split"}};
    for (size_t i = 0; i < COUNT(tags); i++) {
        char words[64];
        struct quern_text text = quern_text_begin(words, sizeof words);
        quern_describe_tag(&text, tags[i].tag);
        check(!strcmp(words, tags[i].text), "tag %x is \"%s\"", (unsigned)tags[i].tag, words);
    }
}

/* Epochs count from first_epoch, and wrap around. */
TEST_RANKS(group, reports_epochs_from_the_first_one, .kind = RANK_THREADS, .count = 2) {
    char report[1024];
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    args.first_epoch = UINT32_MAX;
    quern_group *group = rank_create(rank, &args);
    rank_line_up(rank);
    quern_group_report(group, report, sizeof report);
    check_line(rank, report, "rank 0: process %d, cpu:0, last in quern_group_create, epoch 4294967295\n", (int)getpid());
    rank_line_up(rank);
    for (int i = 0; i < 3; i++) rank_ok(rank, quern_barrier(group, NULL, NULL));
    rank_line_up(rank);
    quern_group_report(group, report, sizeof report);
    check_line(rank, report, "rank 1: process %d, cpu:0, last in quern_barrier, epoch 2\n", (int)getpid());
    rank_line_up(rank);
    return quern_group_destroy(group);
}

static void report_the_end(struct rank *rank, quern_group *group) {
    char report[2048];
    quern_barrier_args args = BARRIER_ARGS(.timeout = 0.2);
    if (rank->rank == 0) rank_status(rank, quern_barrier(group, &args, NULL), QUERN_PEER_TIMEOUT);
    rank_line_up(rank);
    quern_group_report(group, report, sizeof report);
    rank_check(rank, count_lines(report) == 3, "%s", report);
    check_line(rank, report, "rank 1: process %d, cpu:0, last in quern_group_create, epoch 0\n", (int)getpid());
    const double waited = seconds_after(rank, report, "poisoned with QUERN_PEER_TIMEOUT: quern_barrier: rank 0 waited ");
    rank_check(rank, waited >= 0.19, "%s", report);
    rank_line_up(rank);
}

/* Each rank's process reads the environment. */
Test(group, reports_and_logs_what_it_is_poisoned_with) {
    char path[] = "/tmp/quern_log_XXXXXX", value[64], text[8192] = "";
    int file = mkstemp(path);
    check(file >= 0, "no file for the log");
    snprintf(value, sizeof value, "1:%s", path);
    setenv("QUERN_LOG", value, 1);
    check_ranks(.kind = RANK_THREADS, .count = 2, .in_group = report_the_end);
    check(read(file, text, sizeof text - 1) > 0, "nothing was logged");
    close(file);
    unlink(path);
    static const char *const lines[] = {
        ", rank 0: poisoned with QUERN_PEER_TIMEOUT: quern_barrier: rank 0 waited ", ", rank 0: rank 0: process ",
        ", rank 0: rank 1: process ", " last in quern_group_create, epoch 0\n"};
    for (size_t i = 0; i < COUNT(lines); i++) check(strstr(text, lines[i]), "no \"%s\" in the log:\n%s", lines[i], text);
}
