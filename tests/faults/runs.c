/* The command lines of the programs of this folder, their runs and what they count.  runs.h documents the functions. */
#include "faults/runs.h"

#include <dirent.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

enum { AT_ONCE = 12, MOST_FAILURES = 5 };

static const double TICK = 2e-4;

const char RUN_SKIPPED[] = "skipped, this user may not do what it needs";
struct runs runs = {.part = 1, .parts = 1};

/* ---- the counts ---- */

void runs_count(const char *name, const char *wrong) {
    if (wrong) printf("%s: %s\n", name, wrong);
    *(!wrong ? &runs.passed : wrong == RUN_SKIPPED ? &runs.skipped : &runs.failed) += 1;
    fflush(stdout);
}

bool runs_are_enough(void) { return runs.failed >= MOST_FAILURES; }

void runs_narrow(long *first, long *end) {
    const long from = *first, numbers = *end - from;
    *first = from + numbers * runs.part / runs.parts;
    *end = from + numbers * (runs.part + 1) / runs.parts;
}

/* ---- runs ---- */

static struct trial running[AT_ONCE];

static void start(struct trial *one, const struct trial *trial) {
    *one = *trial;
    one->plan = malloc(trial->ranks.user_bytes);
    if (!one->plan) exit(EXIT_FAILURE);
    one->ranks.user = memcpy(one->plan, trial->ranks.user, trial->ranks.user_bytes);
    one->began = rank_now();
    one->run = ranks_start(&one->ranks);
}

static bool is_over(struct trial *one) {
    bool has_failed = rank_now() - one->began > (one->ranks.limit > 0 ? one->ranks.limit : RANK_LIMIT);
    if (one->watch) one->watch(one);
    for (int rank = 0; rank < one->ranks.count; rank++)
        has_failed |= __atomic_load_n(&ranks_result(one->run, rank)->end, __ATOMIC_ACQUIRE) == RANK_FAILED;
    return ranks_have_ended(one->run) || has_failed;
}

static void finish(struct trial *one, void *shared, size_t bytes) {
    const char *wrong = one->judge(one);
    if (bytes) memcpy(shared, ranks_shared(one->run), bytes);
    runs_count(one->name, wrong);
    for (int rank = 0; rank < one->ranks.count && wrong; rank++) {
        const struct rank_result *result = ranks_result(one->run, rank);
        printf("    rank %d: %s after %g s: %s\n", rank, result->end == RANK_RUNS ? "no end" : quern_status_string(result->status),
               result->seconds, result->detail);
    }
    fflush(stdout);
    ranks_close(one->run);
    free(one->plan);
    one->run = NULL;
}

/* A place without a run; NULL: none now. */
static struct trial *advance_all(void) {
    struct trial *empty = NULL;
    for (struct trial *one = running; one < running + AT_ONCE; one++) {
        if (one->run && is_over(one)) finish(one, NULL, 0);
        if (!one->run) empty = one;
    }
    return empty;
}

void trial_begin(const struct trial *trial) {
    struct trial *empty;
    while (!(empty = advance_all())) rank_sleep(TICK);
    if (!runs_are_enough()) start(empty, trial);
}

void trials_await(void) {
    for (struct trial *one = running; one < running + AT_ONCE; one++)
        for (; one->run; rank_sleep(TICK)) advance_all();
}

void trial_run(const struct trial *trial, void *shared, size_t bytes) {
    struct trial one;
    start(&one, trial);
    for (; !is_over(&one); rank_sleep(TICK)) advance_all();
    finish(&one, shared, bytes);
}

/* ---- a private /dev/shm ---- */

/* A user other than root needs a name space in which it is root. */
static bool become_root(void) {
    char users[64], groups[64];
    snprintf(users, sizeof users, "0 %u 1", (unsigned)geteuid());
    snprintf(groups, sizeof groups, "0 %u 1", (unsigned)getegid());
    return unshare(CLONE_NEWUSER) == 0 && write_file(0, "/proc/self/setgroups", "deny", 4) &&
           write_file(0, "/proc/self/uid_map", users, strlen(users)) && write_file(0, "/proc/self/gid_map", groups, strlen(groups));
}

bool private_shm_enter(const char *options) {
    if (geteuid() != 0 && !become_root()) return false;
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("quern-test", "/dev/shm", "tmpfs", 0, options) == 0;
}

/* ---- the command line ---- */

static void give_up(const char *word) {
    fprintf(stderr, "%s is not known here: expected --part K/N, with K from 1 to N, --deep, or first one of", word);
    for (const struct program *program = programs; program->word; program++) fprintf(stderr, " %s", program->word);
    fprintf(stderr, "\n");
    exit(2);
}

/* Takes the options off the words, wherever they stand. */
static void take_options(int *count, char **words) {
    int kept = 0;
    char end;
    for (int i = 0; i < *count; i++) {
        if (strncmp(words[i], "--", 2) != 0) words[kept++] = words[i];
        else if (!strcmp(words[i], "--deep")) runs.is_deep = true;
        else if (strcmp(words[i], "--part") != 0 || i + 1 == *count ||
                 sscanf(words[++i], "%d/%d%c", &runs.part, &runs.parts, &end) != 2 || runs.part < 1 || runs.part > runs.parts)
            give_up(words[i]);
    }
    words[*count = kept] = NULL;
    runs.part--;
}

/*
 * Nothing may be left in a /dev/shm of our own but the empty file of a rank that was killed at form.made in a split.  For a second
 * others take it for one that is being made, which is longer than these limits, and nobody uses the name of a split again.
 */
static void check_names(void) {
    DIR *directory = opendir("/dev/shm");
    for (const struct dirent *entry; directory && (entry = readdir(directory));) {
        char path[300];
        struct stat file;
        snprintf(path, sizeof path, "/dev/shm/%s", entry->d_name);
        const bool is_unmade = strstr(entry->d_name, ".split.") && lstat(path, &file) == 0 && file.st_size == 0;
        if (entry->d_name[0] != '.' && !is_unmade) runs_count(path, "the file is left");
    }
    if (directory) closedir(directory);
}

int main(int count, char **words) {
    const struct program *program = programs;
    take_options(&count, words);
    while (program->word && (count < 2 || strcmp(program->word, words[1]) != 0)) program++;
    if (!program->word) give_up(count < 2 ? "nothing" : words[1]);
    setenv("QUERN_THREADS", "1", 1);
    const bool has_own_shm = private_shm_enter(NULL);
    program->run(program->word, count - 2, words + 2);
    trials_await();
    if (has_own_shm && !program->leaves_names) check_names();
    if (waitpid(-1, NULL, WNOHANG) >= 0) runs_count(program->word, "processes are left");
    if (runs_are_enough()) printf("further runs were not begun\n");
    printf("%d passed, %d failed", runs.passed, runs.failed);
    if (runs.skipped) printf(", %d skipped", runs.skipped);
    printf("\n");
    return runs.failed || !runs.passed ? EXIT_FAILURE : EXIT_SUCCESS;
}
