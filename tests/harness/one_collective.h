/*
 * One collective of three ranks, which a test changes by hand: a mistake, other memory, or none.  Its numbers are small integers,
 * whose sums follow from a formula.
 */
#ifndef HARNESS_ONE_COLLECTIVE_H
#define HARNESS_ONE_COLLECTIVE_H

#include "harness/collective_case.h"
#include "harness/one_call.h"

enum { ONE_BYTES = 200 * 1024 };

/* Between ranks of one host they go beside the signals, in the records, straight, or through windows; of all ranks, or of some. */
struct one_form {
    enum collective_operation operation;
    int64_t count;
    bool is_private, is_of_some;
};

enum { ONE_FORMS = 12 };
extern const struct one_form one_forms[ONE_FORMS];
extern const int one_members[ONE_RANKS];  /* all */

struct one_collective {
    const struct rank_bench *bench;
    quern_collective_args args;
    void *workspace, *stream;
    size_t workspace_bytes;
    const struct one_form *form;
    const void *output;          /* without a mistake */
};
extern const struct one_kind one_collective_kind;

/* The input lies at the beginning of a pool, the output ONE_BYTES behind it. */
void one_make(struct one_collective *one, const struct rank_bench *bench, const struct one_form *form);
quern_status one_call(const struct one_collective *one);  /* alone */
quern_status one_run(const struct one_collective *one);

/* Runs it, and checks the result. */
void one_run_rightly(const struct one_collective *one);

/* Of GPUs that reach each other it is more than goes beside the signals, and symmetric memory then. */
bool one_is_large(const struct one_form *form);

/* The result after it, and that nothing of the output has been written. */
void one_check(const struct one_collective *one);
void one_check_unwritten(const struct one_collective *one, const char *when);

#endif
