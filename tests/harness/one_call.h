/*
 * One call of each of three ranks, which a test changes by hand, whatever the operation and the way between the ranks: mistakes of
 * one rank, ranks that do not come, and ranks that do something else.  For suites.
 */
#ifndef HARNESS_ONE_CALL_H
#define HARNESS_ONE_CALL_H

#include "harness/ways.h"

enum { ONE_RANKS = 3 };

/* `form` is what the suite chooses of the call. */
struct one_kind {
    size_t bytes;
    void (*make)(void *one, struct rank_bench *bench, const void *form);
    void (*finish)(void *one);              /* after the changes; NULL: nothing */
    quern_status (*call)(const void *one);
    void (*check_result)(const void *one);
    void (*check_unwritten)(const void *one, const char *when);
    size_t timeout, members, member_count;  /* offsets of these arguments */
    const char *function;                   /* in texts: that of form 0 */
};

/* The kind of a struct whose args are those of a function. */
#define ONE_KIND(kind, type, make_, finish_, call_, check_, check_unwritten_, function_) \
    static quern_status kind##_call(const void *one) { return call_(one); } \
    static void kind##_check(const void *one) { check_(one); } \
    static void kind##_check_unwritten(const void *one, const char *when) { check_unwritten_(one, when); } \
    const struct one_kind kind = { \
        sizeof(type), make_, finish_, kind##_call, kind##_check, kind##_check_unwritten, offsetof(type, args.timeout), \
        offsetof(type, args.members), offsetof(type, args.member_count), function_}

/* The calls of the ranks that a thread drives. */
struct one_calls {
    const struct one_kind *kind;
    struct rank_bench *bench;
    void *of[ONE_RANKS];
};
void one_calls_make(struct one_calls *calls, const struct one_kind *kind, struct rank_bench *bench, const void *form);
void one_calls_free(struct one_calls *calls);

/* All of them with the right result. */
void one_calls_run(const struct one_kind *kind, struct rank_bench *bench, const void *form);

/* Who makes a mistake: a rank; all, of which each refuses its own arguments; or all, each another one. */
enum { EACH_FOR_ITSELF = -2, ALL_RANKS = -1 };

struct mistake {
    int rank;
    void (*make)(void *one);
    quern_status status;     /* of all; of that rank, if it refuses its arguments */
    const char *words;       /* in all details */
    int where;               /* as the suite has it */
};

#define MISTAKE(type, name, ...) \
    static void name(void *given) { \
        type *one = given; \
        __VA_ARGS__; \
    }

/* Another group, which is not poisoned, and memory in it, for GPUs that reach each other. */
void one_renew(struct rank_bench *bench);

bool one_makes(const struct rank *rank, const struct mistake *mistake);

/*
 * Makes the calls with a mistake, unless it is none there.  If all are not told of it, the rank refuses its own arguments, and the
 * others hear of that.  Nothing is written.  Where kernels may have found it, the ranks have
 * another group then.
 */
typedef bool one_applies(const void *one, const struct mistake *mistake);
bool one_calls_err(const struct one_kind *kind, struct rank_bench *bench, const void *form, const struct mistake *mistake,
                   bool all_are_told, one_applies *applies);

/* What a rank gets of it. */
void one_expect(const struct rank *rank, const struct mistake *mistake, bool all_are_told, quern_status status);

/* Of members that are not this rank, or not in order, each rank hears alone. */
void one_calls_with_other_members(const struct one_kind *kind, struct rank_bench *bench, const void *form);

/* Rank 1 does not come, aborts the group, or is in a barrier; nothing over NCCL, whose suites have that. */
void one_calls_without_a_rank(const struct one_kind *kind, struct rank_bench *bench, const void *form);
void one_calls_that_are_aborted(const struct one_kind *kind, struct rank_bench *bench, const void *form);
void one_calls_beside_a_barrier(const struct one_kind *kind, struct rank_bench *bench, const void *form);

#endif
