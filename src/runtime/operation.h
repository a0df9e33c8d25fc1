/*
 * The registry of operations, for the runtime.  Each operation has one row, defined beside the code that calls its kernels.
 *
 * generated/operations.h lists the operations by their bits.  The runtime refers only to weak, empty rows of its own.  So a program
 * that calls one operation links only the row of that operation, and through it only its table and kernels.
 */
#ifndef QUERN_OPERATION_H
#define QUERN_OPERATION_H

#include <stdbool.h>

#include "kernels/kernel.h"
#include "os/text.h"

#define QUERN_COUNT_OPERATION(bit, constant, name, prefix) +1
#define QUERN_JOIN_BIT(bit, constant, name, prefix) | (bit)
enum {
    QUERN_OPERATION_COUNT = QUERN_FOR_EACH_OPERATION(QUERN_COUNT_OPERATION),
    QUERN_ALL_OPERATIONS = 0 QUERN_FOR_EACH_OPERATION(QUERN_JOIN_BIT)
};

enum { QUERN_ANOTHER_TASK = 1 };

/* How QUERN_KERNEL treats a row. */
enum quern_row_role {
    QUERN_ROW_SELECTED_BY_NAME,  /* a main kernel: left out unless its name matches */
    QUERN_ROW_FOLLOWS_TARGET,    /* an auxiliary kernel: left out unless its target matches */
    QUERN_ROW_INDISPENSABLE      /* an auxiliary kernel that main kernels of all types share: never left out */
};

struct quern_pack_row;
struct quern_known_answers;

/* The row of an operation.  Each callback may be NULL; the default suits an operation with one kernel for each target. */
struct quern_operation {
    const struct quern_kernel *table;
    bool only_gpus;           /* on a CPU it uses no kernels, so nothing is prepared */
    bool counts_resident;     /* quern_prepare counts how many blocks run at once */

    /* The role of a row.  NULL: all rows are selected by name. */
    enum quern_row_role (*role)(const struct quern_kernel *kernel);

    /* Whether a row serves every request that the other row serves.  NULL: yes. */
    bool (*covers)(const struct quern_kernel *kernel, const struct quern_kernel *other);

    /*
     * Names the bits that a row computes.  Rows with the same task, types and name give any request that both serve the same bits,
     * so a measured choice may put one before the other: quern_same_bits.  NULL, also as the callback: bits of its own.
     */
    const char *(*bits)(const struct quern_kernel *kernel);

    /* Checks the operation's own fields in a row of a pack.  Returns the fault, or NULL.  NULL: no such fields. */
    const char *(*pack_fault)(const struct quern_pack_row *row);

    /*
     * 0 if a row serves a request; else which check it fails, from 1 on: QUERN_ANOTHER_TASK, or the later, the nearer the row is.
     * Appends the reason to *why unless why is NULL.  NULL: every row serves it.  cluster: the most blocks of a cluster that have
     * room on the device.
     */
    int (*refused)(const struct quern_kernel *kernel, int cluster, const void *request, struct quern_text *why);

    /* Suggests how to generate a kernel for a request that no target serves, or returns false.  NULL: the whole library has it. */
    bool (*advise)(const void *request, struct quern_text *text);

    /* What the kernels compute of a known problem.  NULL: they are not asked. */
    const struct quern_known_answers *answers;
};

#define QUERN_DECLARE_OPERATION(bit, constant, name, prefix) extern const struct quern_operation quern_##name##_operation;
QUERN_FOR_EACH_OPERATION(QUERN_DECLARE_OPERATION)

/* The index of an operation in arrays. */
static inline int quern_operation_index(unsigned bit) {
    return __builtin_ctz(bit);
}

/* The row of an operation; NULL: not linked, since the program does not call it. */
const struct quern_operation *quern_linked_operation(unsigned bit);

const char *quern_operation_name(unsigned bit);

/* The prefix of the names of an operation's kernels, which kernels of no other operation have. */
const char *quern_operation_prefix(unsigned bit);

enum quern_row_role quern_row_role(const struct quern_kernel *kernel);

/* The name of a row's bits, or NULL; and whether two rows of an operation promise the same. */
const char *quern_row_bits(const struct quern_kernel *kernel);
bool quern_same_bits(const struct quern_kernel *one, const struct quern_kernel *other);

/* For the member `bits`: documented to be the same on every target. */
#define QUERN_EXACT_BITS "exact"

/* Calls the `refused` of the operation; 0 if it has none. */
int quern_row_refused(const struct quern_operation *operation, const struct quern_kernel *kernel, int cluster,
                       const void *request, struct quern_text *why);

#endif
