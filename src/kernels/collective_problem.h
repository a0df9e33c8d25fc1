/*
 * The parameters of the collective kernels.  Included by the host code of src/ranks/ and by the CUDA kernels, so that both agree on
 * the layout; a kernel takes one of these structs by value.
 */
#ifndef QUERN_COLLECTIVE_PROBLEM_H
#define QUERN_COLLECTIVE_PROBLEM_H

#include "kernels/collective.h"

/* How a kernel reaches the other ranks of its group, which ranks take part in this launch, and how long it waits for them. */
struct quern_links {
    char *pad[QUERN_RANK_LIMIT];          /* every rank's pad, at the addresses of this rank */
    char *multicast_pad;                  /* reaches all pads at once; NULL: not mapped, or not all ranks take part */
    uint32_t *poison;                     /* the group's, in host memory */
    const uint32_t *gone;                 /* in host memory: a bit for each rank that has ended or left */
    struct quern_kernel_error *error;     /* this rank's, in host memory */
    uint32_t *reported_tag, *reported_wait;  /* in host memory, for quern_group_report: where this rank waits; whether it waits */
    uint64_t timeout;                     /* nanoseconds, of each wait */
    uint32_t members[QUERN_RANK_WORDS];   /* bit mask */
    uint32_t rank, ranks;
    uint32_t tag;                         /* of the operation and its members, without a phase */
};

/* The words of a pad's `grid`. */
enum quern_grid_word {
    QUERN_GRID_ENDED,       /* not 0: a launch of this rank has given up, and every later one ends at once */
    QUERN_GRID_FINISHED     /* blocks of this launch that have finished */
};

/* ---- barrier ---- */

struct quern_barrier_problem {
    struct quern_links links;
    uint32_t phase;                       /* enum quern_phase */
    uint32_t dissents;                    /* not 0: this rank has refused its arguments and only reports that */
    uint32_t *count;                      /* not NULL: adds 1 to it and does nothing else.  Memory that the host reads */
};

/* ---- ragged all-to-all ---- */

/* One slice to copy; it is not empty. */
struct quern_ragged_slice {
    uint64_t begin;       /* total bytes of the slices before it */
    uint64_t bytes;
    const char *from;
    char *to;
};

/* The slices that a rank has to copy.  A plan keeps the list; without a plan the launch computes it. */
struct quern_ragged_work {
    uint64_t bytes;       /* total of all slices */
    uint64_t count;
    uint64_t unused[2];
    struct quern_ragged_slice slice[];
};

/* One slice as its sender describes it to the receiver, in rows. */
struct quern_ragged_offer {
    int64_t output_offset;
    int64_t size;
};

/*
 * The beginning of a rank's workspace.  The members read it between entry and exit.  Only its owner writes it, and never while
 * another rank may still read it.  This holds for any sequence of meetings of subsets.
 */
struct quern_ragged_header {
    uint64_t workspace_id;                /* place of this workspace and the output: struct quern_symmetric_place */
    int64_t workspace_offset;
    uint64_t output_id;
    int64_t output_offset;
    int64_t row_bytes;
    int64_t updates;
    uint32_t epoch[QUERN_RANK_LIMIT];     /* of this entry, with each rank: distinguishes this header from one of an earlier call */
    struct quern_slice_report report;     /* the fault that this rank found, if it dissents from the vote */
    struct quern_ragged_offer offer[];    /* [members, updates] */
};

/* A received slice, as the search for overlaps sorts it. */
struct quern_ragged_receipt {
    int64_t begin, end;                   /* rows; INT64_MAX: no slice */
    uint64_t index;                       /* in the metadata */
};

/* An exchange is two launches, one after the other in the stream. */
enum quern_ragged_stage {
    QUERN_RAGGED_ENTRY,                   /* one block: offers, entry, checks and vote */
    QUERN_RAGGED_COPY                     /* any number of blocks; the last to finish passes the exit */
};

struct quern_ragged_problem {
    struct quern_links links;
    uint32_t stage;                       /* enum quern_ragged_stage */
    struct quern_ragged_work *work;       /* this rank's own */
    int32_t planned;                      /* the work is listed and the metadata has been checked: the members below are unused */

    /* A place is an index of the metadata's members. */
    int32_t place, places;                /* this rank's place, and the number of places */
    unsigned char rank_at[QUERN_RANK_LIMIT];                /* place -> rank */
    struct quern_ragged_header *header[QUERN_RANK_LIMIT];   /* of each place */
    char *output[QUERN_RANK_LIMIT];       /* of each place */
    const char *input;
    int64_t input_rows, output_rows, row_bytes;
    int32_t updates;
    int32_t metadata_is_int64;
    const void *input_offsets, *send_sizes, *output_offsets, *recv_sizes;  /* [places, updates] */
    uint64_t workspace_id, output_id;
    int64_t workspace_offset, output_offset;
    struct quern_ragged_receipt *receipts;  /* power of two >= places * updates, for sorting; NULL: overlaps allowed */
};

/* ---- collectives ---- */

/* What all members of a collective must agree on, beside the operation, which is in the tag. */
struct quern_collective_terms {
    int64_t count;
    int32_t dtype, combination;           /* combination: 0 where there is none */
    int32_t root;                         /* -1: none */
    uint32_t members[QUERN_RANK_WORDS];
    int32_t order;                        /* quern_order: in which sums take the members' values */
    int64_t input_stride;                 /* of a reduce-scatter; else 0 */
    uint64_t input_id, output_id;         /* places of memory that others reach: struct quern_symmetric_place; 0: they do not */
    int64_t input_offset, output_offset;
};

/*
 * The slots of a rank, behind its pad.  Each rank has two in every pad, which only that rank writes:
 *
 *   uint32_t sent[stride]       local: collectives with each rank so far; their parity selects one of the two slots
 *   two halves of a slot for each rank: struct quern_collective_terms, then quern_slot_bytes(ranks) of data
 *
 * A rank writes into a slot before it signals, and its owner reads the slot between this meeting and the end of its call.  No slot
 * is overwritten while its owner may read it: a rank that writes the third time has passed its second meeting with the owner, which
 * has come to that one after the end of its first call.  Only calls in which both take part count, so this holds for any sequence
 * of calls by subsets.  Checked by tests/model/exchange.pml.
 */
enum { QUERN_TERMS_BYTES = 128, QUERN_HALF_SLOTS_BYTES = 131072 /* of data, of all ranks */ };

QUERN_SHARED_INLINE uint64_t quern_slots_offset(uint32_t ranks) { return (quern_device_pad_bytes(ranks) + 255) / 256 * 256; }
QUERN_SHARED_INLINE uint64_t quern_slot_bytes(uint32_t ranks) { return QUERN_HALF_SLOTS_BYTES / ranks / 128 * 128; }
QUERN_SHARED_INLINE uint64_t quern_sent_bytes(uint32_t ranks) { return ((uint64_t)ranks * 4 + 255) / 256 * 256; }

/* From the beginning of the pad: the slot of a rank. */
QUERN_SHARED_INLINE uint64_t quern_slot_offset(uint32_t ranks, uint32_t half, uint32_t rank) {
    return quern_slots_offset(ranks) + quern_sent_bytes(ranks) +
           ((uint64_t)(half & 1) * ranks + rank) * (QUERN_TERMS_BYTES + quern_slot_bytes(ranks));
}

/* A pad with its slots. */
QUERN_SHARED_INLINE uint64_t quern_pad_and_slots_bytes(uint32_t ranks) { return quern_slot_offset(ranks, 1, ranks); }

/* A small collective is one launch, a large one two, one after the other in the stream. */
enum quern_collective_stage {
    QUERN_COLLECTIVE_ONE_SHOT,            /* one block: data to the slots of all members, entry, check, results from the slots */
    QUERN_COLLECTIVE_ENTRY,               /* one block: terms to the slots of all members, entry, check */
    QUERN_COLLECTIVE_PASS                 /* any number of blocks; the last to finish passes the exit */
};

/* A place is an index of the members.  Every pointer is an address of this rank. */
struct quern_collective_problem {
    struct quern_links links;
    struct quern_collective_terms terms;
    uint32_t stage;                       /* enum quern_collective_stage */
    uint32_t is_max;                      /* of a combination; 0: the sum */
    uint32_t place, places;               /* this rank's place, and the number of places */
    unsigned char rank_at[QUERN_RANK_LIMIT];  /* place -> rank */

    /* One shot: sent_bytes from sent + p * sent_step go to place p. */
    const char *sent;
    uint64_t sent_bytes, sent_step;

    /*
     * The result: `bytes`, which a combination takes from all sources, in this order, and writes to all destinations.
     * A movement: the same of one source.  One shot: the sources are the slots of places [first, first + sources), and a movement
     * writes that of place first + i to i * bytes behind the one destination.
     */
    uint64_t bytes;
    uint32_t first, sources, destinations;
    uint32_t relays;                      /* a movement: the links carry less from the first destination, which is this rank's own,
                                             than from the source */
    uint32_t is_congruent;                /* the sources and destinations differ by multiples of 16 bytes */
    const char *source[QUERN_RANK_LIMIT];
    char *destination[QUERN_RANK_LIMIT];
    char *multicast;                      /* reaches all destinations at once; NULL: not mapped, or not all ranks take part */
    const char *multicast_source;         /* reaches all sources at once, and the switch adds them; NULL: the blocks do, in order */
};

#endif
