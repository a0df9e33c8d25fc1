/*
 * What a rank keeps from one collective to the next: the last one, checked, since the next one is mostly the same and is not
 * checked again; and which other processes it can read.  For all of src/ranks/collective and for form.c.
 */
#ifndef QUERN_COLLECTIVE_AGAIN_H
#define QUERN_COLLECTIVE_AGAIN_H

#include "ranks/collective/collective_record.h"

struct quern_collective_again {
    struct quern_collective_call call;
    const struct quern_collective_form *form;    /* NULL: nothing is remembered */
    quern_collective_args args;
    const void *workspace;
    size_t workspace_bytes;
    const struct quern_ready_kernel *kernels;    /* of the device: the first; another one after a further quern_prepare */
    uint64_t live, frees;                        /* quern_symmetric_live and _frees: the same memory is symmetric */
    struct quern_sight sight[QUERN_RANK_LIMIT];  /* of each rank of a group of one host */
    bool all_read;                               /* the members of the last call could read each other */
};

/* Whether a call without a stream is the last one again, so that its checks would end as they did; sets its limit. */
bool quern_collective_is_again(struct quern_membership *member, const struct quern_collective_form *form,
                               const quern_collective_args *args, const void *workspace, size_t workspace_bytes);

/* The call in member->again has these arguments and is correct. */
void quern_collective_remember(struct quern_membership *member, const struct quern_collective_form *form,
                               const quern_collective_args *args, const void *workspace, size_t workspace_bytes);

static inline void quern_collective_forget(struct quern_membership *member) { member->again->form = NULL; }

#endif
