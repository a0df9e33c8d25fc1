/*
 * Errors of the file in which ranks meet: remains of dead runs, names that belong to other programs, a /dev/shm that is full or
 * closed.  Remains are replaced; everything else is an error with a reason and stays unchanged.
 */
#include "faults/crossing.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "faults/runs.h"
#include "ranks/handles.h"
#include "ranks/poison.h"

/* The failure, or NULL. */
static char reason[4096];

static const char *because(const char *format, ...) __attribute__((format(printf, 1, 2)));
static const char *because(const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(reason, sizeof reason, format, list);
    va_end(list);
    return reason;
}

static const char *path_of(const char *name) {
    static char path[128];
    rank_meeting_place(path, sizeof path, name);
    return path;
}

static const char *a_name(void) {
    static char name[64];
    static int count;
    snprintf(name, sizeof name, "place.%d.%d", (int)getpid(), ++count);
    return name;
}

/* ---- groups that form despite the remains ---- */

struct meeting {
    const char *name;
    double timeout;
    int ranks;               /* of the group; 0: the number started */
    enum crossing_deed deed; /* that each rank does to itself before a call of ... */
    const char *function;    /* ... this */
};

static quern_status meet(struct rank *rank) {
    const struct meeting *meeting = rank->user;
    quern_group *group = NULL;
    quern_group_args args = rank_group_args(rank, meeting->timeout);
    args.name = meeting->name;
    if (meeting->ranks) args.ranks = meeting->ranks;
    if (meeting->deed) crossing_arm_at(meeting->deed, meeting->function, 1);
    quern_status status = quern_group_create(&args, 1, &group);
    if (status == QUERN_OK) status = quern_barrier(group, NULL, NULL);
    rank_ok(rank, quern_group_destroy(group));
    return status;
}

/* Ranks that end as they must; then the status and detail of one of them. */
static const char *check_run(const struct ranks *ranks, const bool *may_die, int rank, quern_status status, const char *detail) {
    struct rank_run *run = ranks_start(ranks);
    const char *wrong = ranks_wait(run, may_die);
    const struct rank_result *result = ranks_result(run, rank);
    if (wrong) wrong = because("%s", wrong);
    else if (result->status == QUERN_NOT_SUPPORTED) wrong = RUN_SKIPPED;
    else if (result->status != status || !strstr(result->detail, detail))
        wrong = because("%s: %s", quern_status_string(result->status), result->detail);
    ranks_close(run);
    return wrong;
}

/* A process that is alone. */
static const char *check_alone(rank_function *function, const void *user, quern_status status, const char *detail) {
    const struct ranks alone = {.kind = RANK_PROCESSES, .count = 1, .function = function, .user = user};
    return check_run(&alone, NULL, 0, status, detail);
}

static bool is_there(const char *name) {
    struct stat file;
    return lstat(path_of(name), &file) == 0;
}

/* A pair meets under this name soon and leaves no name behind. */
static const char *check_pair(const char *name) {
    const char *wrong = ranks_run(&(struct ranks){.kind = RANK_PROCESSES, .count = 2, .function = meet,
                                                  .user = &(struct meeting){.name = name, .timeout = RANK_LIMIT}});
    if (wrong) return because("%s", wrong);
    return is_there(name) ? "the name is still there" : NULL;
}

/* A file that is empty, has a few bytes, zeros or garbage. */
static const char *replace_remains(void) {
    static const struct {
        const char *begin;
        int fill;
        size_t bytes;
    } remains[] = {{"", 0, 0}, {"qnrgroup", 0, 8}, {"", 0, 20000}, {"", 0xa5, 20000}};
    const char *wrong = NULL;
    for (size_t i = 0; i < sizeof remains / sizeof *remains && !wrong; i++) {
        char contents[20000];
        const char *name = a_name();
        memset(contents, remains[i].fill, sizeof contents);
        memcpy(contents, remains[i].begin, strlen(remains[i].begin));
        wrong = write_file(O_CREAT | O_EXCL, path_of(name), contents, remains[i].bytes) ? check_pair(name) : "no file";
    }
    return wrong;
}

static bool has_stopped(pid_t process) {
    siginfo_t now = {.si_pid = 0};
    return waitid(P_PID, (id_t)process, &now, WSTOPPED | WNOHANG | WNOWAIT) == 0 && now.si_pid;
}

/* Starts ranks that stop themselves before a call of this function, and waits until one has. */
static struct rank_run *start_stopping(const char *name, const char *function, int count, int ranks, int *stopped) {
    const struct meeting meeting = {name, RANK_LIMIT, ranks, CROSSING_STOP, function};
    struct rank_run *run = ranks_start(&(struct ranks){.kind = RANK_PROCESSES, .count = count, .function = meet, .user = &meeting});
    const double end = rank_now() + RANK_SOON;
    for (*stopped = -1; *stopped < 0 && rank_now() < end; rank_sleep(1e-3))
        for (int rank = 0; rank < count; rank++)
            if (has_stopped(ranks_process(run, rank))) *stopped = rank;
    return run;
}

/* All ranks die when the first of them reaches a call of this function; then a pair meets under their name. */
static const char *replace_those_who_died_at(const char *function, int count, int ranks) {
    const char *name = a_name();
    int stopped;
    ranks_close(start_stopping(name, function, count, ranks, &stopped));
    if (stopped < 0) return because("nobody came to %s", function);
    return is_there(name) ? check_pair(name) : "they left no name";
}

/* A file without a lock, without memory, not filled; a claimed place; a group that waited, and one that was complete. */
static const char *replace_those_who_died(void) {
    static const char *const functions[] = {"flock", "posix_fallocate", "mmap", "quern_enter_roster", "quern_futex_wait"};
    const char *wrong = NULL;
    for (size_t i = 0; i < sizeof functions / sizeof *functions && !wrong; i++)
        wrong = replace_those_who_died_at(functions[i], 1, 2);
    return wrong ? wrong : replace_those_who_died_at("shm_unlink", 3, 3);
}

/* A rank claims a place and is stopped before it records its identity: another rank that wants the place does not wait for ever. */
static const char *outlast_a_claim(void) {
    int stopped;
    const char *name = a_name();
    struct rank_run *run = start_stopping(name, "quern_enter_roster", 1, 2, &stopped);
    const char *wrong = check_alone(meet, &(struct meeting){.name = name, .timeout = 0.3, .ranks = 2}, QUERN_PEER_TIMEOUT,
                                    "is being claimed by a process that makes no progress");
    ranks_close(run);
    if (stopped < 0) wrong = "nobody claimed the place";
    return wrong ? wrong : check_pair(name);
}

/*
 * Ranks 1, 2 and 3 wait for rank 0 in vain and retry at once, together with it: no rank may remove the name of the new attempt.
 * Rank 1 is slow to remove the name of the first.
 */
static void try_twice(struct rank *rank) {
    unsigned *failures = rank->shared;
    quern_group *group = NULL;
    for (unsigned round = 1; round <= 10; round++) {
        quern_group_args args = rank_group_args(rank, 0.1);
        rank_line_up(rank);
        if (rank->rank == 1) crossing_arm_at(CROSSING_DELAY, "shm_unlink", 1);
        if (rank->rank != 0) {
            rank_status(rank, quern_group_create(&args, 1, &group), QUERN_PEER_TIMEOUT);
            __atomic_add_fetch(failures, 1, __ATOMIC_ACQ_REL);
        }
        while (__atomic_load_n(failures, __ATOMIC_ACQUIRE) < 3 * round - 2) continue;
        args.timeout = RANK_LIMIT;
        rank_ok(rank, quern_group_create(&args, 1, &group));
        rank_ok(rank, quern_group_destroy(group));
    }
}

static const char *keep_the_next_name(void) {
    return ranks_run(&(struct ranks){.kind = RANK_PROCESSES, .count = 4, .body = try_twice, .shared_bytes = 4096});
}

/*
 * Rank 0 sees that the group is incomplete and delays before it checks whether rank 1 is alive; meanwhile rank 2 completes the
 * group and both leave and end: rank 0 must not report an error.
 */
static quern_status join_while_others_leave(struct rank *rank) {
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    rank_line_up(rank);
    if (rank->rank == 0) crossing_arm_at(CROSSING_DELAY, "quern_rank_lives", 1);
    if (rank->rank != 1) rank_sleep(rank->rank == 0 ? 0.01 : 0.03);
    quern_group *group = rank_create(rank, &args);
    return quern_group_destroy(group);
}

static const char *outlast_those_who_leave(void) {
    return ranks_run(&(struct ranks){.kind = RANK_PROCESSES, .count = 3, .function = join_while_others_leave});
}

/* ---- unfinished error texts ---- */

/* Rank 0 dies just after it has started to write why the group has ended.  Another rank writes the reason then. */
static void die_while_saying_why(struct rank *rank, quern_group *group) {
    struct quern_membership *member = rank_member_of(rank, group);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    if (rank->rank == 0) {
        memcpy(quern_place(member->roster, 0)->reason.text, "half a", 7);
        kill(getpid(), SIGKILL);
    }
    rank_refused(rank, quern_barrier(group, NULL, NULL), QUERN_PEER_LOST, "quern_barrier: rank 0 (process ");
    rank_check_detail(rank, "has ended; rank ");
}

static const char *finish_the_words(void) {
    return check_run(&(struct ranks){.kind = RANK_PROCESSES, .count = 3, .in_group = die_while_saying_why},
                     (bool[]){true, false, false}, 1, QUERN_OK, "");
}

/* ---- names of other programs ---- */

static bool make_link_to(const char *target, const char *path) { return symlink(target, path) == 0; }
static bool make_dangling_link(const char *path) { return make_link_to("/dev/shm/quern.nowhere", path); }
static bool make_folder(const char *path) { return mkdir(path, 0700) == 0; }
static bool make_open_file(const char *path) { return write_file(O_CREAT | O_EXCL, path, "mine", 4) && chmod(path, 0660) == 0; }

static bool is_same(const char *path, const struct stat *before) {
    struct stat after;
    return lstat(path, &after) == 0 && before->st_ino == after.st_ino && before->st_mode == after.st_mode &&
           before->st_size == after.st_size && before->st_mtim.tv_nsec == after.st_mtim.tv_nsec;
}

/* The call is refused with this detail, and leaves the file as it was. */
static const char *check_untouched(const char *name, const char *detail) {
    struct stat before;
    if (lstat(path_of(name), &before) != 0) return "no file";
    const char *wrong = check_alone(meet, &(struct meeting){.name = name, .timeout = 5, .ranks = 2}, QUERN_SYSTEM_ERROR, detail);
    const bool same = is_same(path_of(name), &before);
    if (remove(path_of(name))) return "the file is gone";
    return wrong || same ? wrong : "the file has changed";
}

static const char *refuse_names_of_others(void) {
    static const struct {
        bool (*make)(const char *path);
        const char *detail;   /* NULL: that of a link */
    } rows[] = {
        {make_dangling_link, NULL},
        {make_folder, "opening the file of /dev/shm/quern."},
        {make_open_file, "may be used by others than its owner: expected permissions 0600"},
    };
    const char *wrong = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !wrong; i++) {
        const char *name = a_name();
        wrong = rows[i].make(path_of(name)) ? check_untouched(name, rows[i].detail ? rows[i].detail : strerror(ELOOP)) : "no file";
    }
    return wrong;
}

static const char *refuse_a_link_to_a_file(void) {
    struct stat file;
    char target[] = "/tmp/quern_target_XXXXXX";
    const char *name = a_name();
    int descriptor = mkstemp(target);
    if (descriptor < 0 || !make_link_to(target, path_of(name))) return "no link";
    const char *wrong = check_untouched(name, strerror(ELOOP));
    if (fstat(descriptor, &file) != 0 || file.st_size != 0 || file.st_nlink != 1) wrong = "the file behind the link has changed";
    close(descriptor);
    unlink(target);
    return wrong;
}

static const char *refuse_a_file_of_another_user(void) {
    char expected[64];
    const char *name = a_name();
    snprintf(expected, sizeof expected, "belongs to user 12345: expected %u", (unsigned)geteuid());
    if (!write_file(O_CREAT | O_EXCL, path_of(name), "theirs", 6)) return "no file";
    if (chown(path_of(name), 12345, (gid_t)-1) == 0) return check_untouched(name, expected);
    unlink(path_of(name));
    return RUN_SKIPPED;
}

/* ---- a /dev/shm that is full or closed ---- */

/* Without root's rights a process is bound by permissions. */
static void drop_rights(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
    syscall(SYS_capset, &header, none);
}

static struct rlimit limit_descriptors(int spare) {
    struct rlimit before;
    getrlimit(RLIMIT_NOFILE, &before);
    int next = dup(0);
    close(next);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){(rlim_t)(next + spare), before.rlim_max});
    return before;
}

/* The missing resource and the expected error. */
struct shortage {
    enum { ROOM, FILE_SIZE, PERMISSION, DESCRIPTORS } of;
    int error;
    int spare;  /* descriptors that there are */
};

/* Rank 0 cannot create the meeting file; its other calls still work. */
static quern_status suffer(struct rank *rank) {
    const struct shortage *shortage = rank->user;
    struct rlimit descriptors = {0};
    quern_group *group = NULL;
    quern_group_args args = rank_group_args(rank, 5);
    args.ranks = 128;
    bool mounted = shortage->of == ROOM         ? private_shm_enter("size=64k")
                   : shortage->of == PERMISSION ? private_shm_enter("mode=0555")
                                                : true;
    if (!mounted) return QUERN_NOT_SUPPORTED;
    if (shortage->of == PERMISSION) drop_rights();
    if (shortage->of == FILE_SIZE) setrlimit(RLIMIT_FSIZE, &(struct rlimit){65536, 65536});
    if (shortage->of == DESCRIPTORS) descriptors = limit_descriptors(shortage->spare);
    rank_refused(rank, quern_group_create(&args, 1, &group), QUERN_SYSTEM_ERROR, strerror(shortage->error));
    rank_check_detail(rank, path_of(rank->name));
    rank_check(rank, !group, "a failed call wrote");
    if (shortage->of == DESCRIPTORS) setrlimit(RLIMIT_NOFILE, &descriptors);
    rank_check(rank, !is_there(rank->name), "the name is still there");
    if (shortage->of == PERMISSION) return QUERN_OK;
    args.ranks = 1;
    rank_ok(rank, quern_group_create(&args, 1, &group));
    return quern_group_destroy(group);
}

static const char *report_shortages(void) {
    static const struct shortage shortages[] = {{ROOM, ENOSPC, 0}, {FILE_SIZE, EFBIG, 0}, {PERMISSION, EACCES, 0},
                                                {DESCRIPTORS, EMFILE, 0},
                                                {DESCRIPTORS, EMFILE, 1}};  /* for the file, and not for its lock */
    const char *wrong = NULL, *skipped = NULL;
    for (size_t i = 0; i < sizeof shortages / sizeof *shortages && !wrong; i++) {
        wrong = check_alone(suffer, &shortages[i], QUERN_OK, "");
        if (wrong == RUN_SKIPPED) skipped = wrong, wrong = NULL;
    }
    return wrong ? wrong : skipped;
}

/* ---- two file systems at /dev/shm ---- */

/* The inode number of the mappings of a meeting file with this name; 0: there are none, or of several files. */
static unsigned long inode_of(const char *name) {
    unsigned long inode = 0, found;
    char line[512];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, name) && sscanf(line, "%*s %*s %*s %*s %lu", &found) == 1) count += found != inode, inode = found;
    if (maps) fclose(maps);
    return count == 1 ? inode : 0;
}

/* Another file system is mounted over the first one while a group exists.  The new group's file has the same inode number. */
static quern_status stand_on_two(struct rank *rank) {
    quern_group *groups[2];
    char names[2][40];
    for (int i = 0; i < 2; i++) {
        quern_group_args args = rank_group_args(rank, 5);
        snprintf(names[i], sizeof names[i], "two.%d.%d", (int)getpid(), i);
        args.name = names[i];
        if (!private_shm_enter(NULL)) return QUERN_NOT_SUPPORTED;
        rank_ok(rank, quern_group_create(&args, 1, &groups[i]));
    }
    rank_ok(rank, quern_group_abort(groups[0], NULL));
    rank_ok(rank, quern_barrier(groups[1], NULL, NULL));
    rank_status(rank, quern_barrier(groups[0], NULL, NULL), QUERN_GROUP_ABORTED);
    const unsigned long first = inode_of(names[0]), second = inode_of(names[1]);
    rank_check(rank, first && second, "inodes %lu and %lu are mapped", first, second);
    for (int i = 0; i < 2; i++) rank_ok(rank, quern_group_destroy(groups[i]));
    return first == second ? QUERN_OK : QUERN_NOT_SUPPORTED;
}

static const char *tell_file_systems_apart(void) { return check_alone(stand_on_two, NULL, QUERN_OK, ""); }

/* ---- all of them ---- */

static const struct {
    const char *name;
    const char *(*check)(void);
} checks[] = {
#define CHECK(name) {#name, name}
    CHECK(replace_remains),
    CHECK(replace_those_who_died),
    CHECK(outlast_a_claim),
    CHECK(keep_the_next_name),
    CHECK(outlast_those_who_leave),
    CHECK(finish_the_words),
    CHECK(refuse_names_of_others),
    CHECK(refuse_a_link_to_a_file),
    CHECK(refuse_a_file_of_another_user),
    CHECK(report_shortages),
    CHECK(tell_file_systems_apart),
#undef CHECK
};

void run_meeting_place(UNUSED const char *word, UNUSED int count, UNUSED char **words) {
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) runs_count(checks[i].name, checks[i].check());
}
