/* A checked call of a collective, and the functions by which a transport runs it.  For all of src/ranks/collective. */
#ifndef QUERN_COLLECTIVE_CALL_H
#define QUERN_COLLECTIVE_CALL_H

#include "ranks/membership.h"
#include "ranks/symmetric/symmetric_lookup.h"

struct quern_view;

/* The differences between the four operations. */
struct quern_collective_form {
    enum quern_collective operation;     /* by which meetings and reports know the call */
    bool reduces;                        /* combines the inputs; else moves bytes */
    bool scatters;                       /* the input has [members, count] elements */
    bool gathers;                        /* the output has */
    bool has_root;                       /* only the root has an input */
    const struct quern_view *view;
};

/* The terms that a rank sends to the others on CPUs: see collective_record.h. */
struct quern_collective_head {
    uint64_t digest;                      /* of all below: ranks act on it, so it must be what the rank has written */
    uint64_t members[2];                  /* quern_set_describe */
    int64_t count;
    uint64_t live;                        /* quern_symmetric_live: ranks with the same can reach the same memory */
    int32_t root;
    uint8_t dtype, combination;
    uint16_t refused;                     /* quern_status */
    uint32_t traits;                      /* bits of enum quern_collective_trait */
    uint32_t unused[3];
};

/* One rank's call, checked, with defaults filled in. */
struct quern_collective_call {
    struct quern_membership *member;
    int threads;                        /* of its device when the call began, on which its workspace depends */
    const struct quern_collective_form *form;
    const struct quern_ready_kernel *combine, *move;  /* the kernels; combine is NULL unless the call reduces */
    int places;                          /* the number of members */
    int place;                           /* this rank's */
    int root_place;                      /* of the root, if there is one */

    const char *input;                   /* NULL: this rank has none */
    char *output;
    int64_t count;
    int64_t element_bytes, piece_bytes;  /* of an element; of `count` of them */
    int64_t input_bytes, output_bytes;
    quern_dtype dtype;
    quern_combination combination;       /* 0 unless the call reduces */
    int root;                            /* a rank; 0 without one */
    int multiprocessors;                 /* as in the arguments: 0 is the default */
    double timeout;
    struct quern_collective_head head;   /* of CPU ranks; digest 0: it is not made yet */

    void *workspace;
    size_t workspace_bytes;              /* as many as the transport wants */

    enum quern_symmetric_state input_state, output_state, workspace_state;
    bool in_place;                       /* input and output share memory, as the header allows it */

    /*
     * Not QUERN_OK: this rank refuses its own arguments, and its detail is set.  The transport still meets the other members, so
     * that they get that error at once instead of a timeout.  Then only member, form, timeout, set, places, rank_at and place are
     * valid.
     */
    quern_status refused;

    struct quern_symmetric_location input_place, output_place, workspace_place;  /* of the buffers that are symmetric */
    struct quern_rank_set set;           /* the members */
    uint16_t rank_at[QUERN_GROUP_LIMIT]; /* place -> rank, ascending; behind the places nothing */
};

struct quern_collective_transport {
    /*
     * The bytes of workspace with these members, dtype and count: of the call no more is valid but the form.  That is NULL where
     * the engine asks for a workspace that suffices for each operation.
     */
    size_t (*workspace_bytes)(const struct quern_collective_call *call);

    bool any_workspace;                  /* it may be any memory of the device; else symmetric memory of the group */

    /* Before a call is checked: fetches what it will probably write.  NULL: nothing. */
    void (*expect)(const struct quern_membership *member);

    /* What the transport wants beyond the checks that all share: the last of a rank's own checks.  NULL: nothing. */
    quern_status (*check)(const struct quern_collective_call *call);

    /* The call is in member->again. */
    quern_status (*run)(struct quern_collective_call *call, void *stream);
    bool repeats;                        /* a call that is checked can run again */
};

#endif
