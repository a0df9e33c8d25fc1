/*
 * The registry of operations: one row each, defined beside the code that calls the operation's kernels.
 *
 * generated/operations.h lists them by their bits.  References from the runtime are weak, so that a program which calls one operation
 * links only that operation's row, and through it only its table and its kernels.
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

/* How QUERN_KERNEL treats a row. */
enum quern_row_role {
    QUERN_ROW_SELECTED_BY_NAME,  /* answers requests: left out unless its name matches */
    QUERN_ROW_FOLLOWS_TARGET,    /* serves the rows above: left out unless its target matches */
    QUERN_ROW_INDISPENSABLE      /* the one kernel for all of these: never left out */
};

struct quern_pack_row;

/* Callbacks that may be NULL say what holds for an operation with one row for each target. */
struct quern_operation {
    const struct quern_kernel *table;
    bool only_gpus;           /* a CPU needs no kernels: there is nothing to prepare */
    bool fills_device;        /* launched with as many blocks as the device holds at once, which preparing counts */

    /* NULL: all rows are selected by name. */
    enum quern_row_role (*role)(const struct quern_kernel *kernel);

    /* Whether a row serves every request that another one of the operation would.  NULL: it does. */
    bool (*covers)(const struct quern_kernel *kernel, const struct quern_kernel *other);

    /* What is wrong with a pack's row beside what all rows have, or NULL.  NULL: nothing. */
    const char *(*pack_fault)(const struct quern_pack_row *row);

    /* Whether a row cannot serve a request; the reason is appended to *why unless that is NULL.  NULL: it can. */
    bool (*refused)(const struct quern_kernel *kernel, const void *request, struct quern_text *why);

    /* How to come by a row where no target has one for the request.  NULL: there is no way. */
    void (*advise)(const void *request, struct quern_text *text);
};

#define QUERN_DECLARE_OPERATION(bit, constant, name, prefix) extern const struct quern_operation quern_##name##_operation;
QUERN_FOR_EACH_OPERATION(QUERN_DECLARE_OPERATION)

/* The place of an operation's bit in arrays. */
static inline int quern_operation_index(unsigned bit) {
    return __builtin_ctz(bit);
}

/* The row of an operation; NULL when the program does not call it. */
const struct quern_operation *quern_linked_operation(unsigned bit);

const char *quern_operation_name(unsigned bit);

/* What the names of an operation's kernels begin with, and those of no other. */
const char *quern_operation_prefix(unsigned bit);

enum quern_row_role quern_row_role(const struct quern_kernel *kernel);

/* Whether a row cannot serve a request. */
bool quern_row_refused(const struct quern_operation *operation, const struct quern_kernel *kernel, const void *request,
                       struct quern_text *why);

#endif
