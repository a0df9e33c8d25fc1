/*
 * What the host and the kernels of the collective operations share: signals, pads, and the error record of a kernel that gave up.
 * Included by the host code of src/ranks/ and, through collective_problem.h, by the CUDA kernels.
 *
 * A barrier is put-to-all, then wait-for-all.  Each rank has a pad with one signal per rank, which only that rank writes.  Each
 * pair of ranks counts the barriers in which both took part.  A rank writes its count into its peers' pads and waits until their
 * counts are at least as high.  So any subset of the ranks can meet without a group of its own, a rank may be one phase ahead, and
 * a pad is never reset.
 */
#ifndef QUERN_COLLECTIVE_H
#define QUERN_COLLECTIVE_H

#include <stdint.h>

#ifdef __CUDACC__
#define QUERN_SHARED_INLINE static __host__ __device__ __forceinline__
#else
#define QUERN_SHARED_INLINE static inline
#endif

enum { QUERN_RANK_LIMIT = 128, QUERN_RANK_WORDS = QUERN_RANK_LIMIT / 32 };

/* The most chunks of a tensor that is quantised in chunks. */
enum { QUERN_MOST_CHUNKS = 1024 };

/*
 * A signal holds the epoch in the low half and the tag of the meeting in the high half.  Two ranks that reach the same epoch with
 * different tags have made different calls.
 */
typedef uint64_t quern_signal;

QUERN_SHARED_INLINE quern_signal quern_make_signal(uint32_t epoch, uint32_t tag) { return (uint64_t)tag << 32 | epoch; }
QUERN_SHARED_INLINE uint32_t quern_signal_epoch(quern_signal signal) { return (uint32_t)signal; }
QUERN_SHARED_INLINE uint32_t quern_signal_tag(quern_signal signal) { return (uint32_t)(signal >> 32); }

/* Whether an epoch has been reached.  The counters may wrap around. */
QUERN_SHARED_INLINE int quern_epoch_reached(uint32_t seen, uint32_t expected) { return (int32_t)(seen - expected) >= 0; }

/*
 * Identifies the call of a rank: the operation in the tag's upper byte, the phase in the next byte, a digest of the members in the
 * rest.
 */
enum quern_collective {
    QUERN_IDLE = 0,
    QUERN_IN_CREATE,
    QUERN_IN_SPLIT,
    QUERN_IN_BARRIER,
    QUERN_IN_SYMMETRIC_ALLOC,
    QUERN_IN_SYMMETRIC_REGISTER,
    QUERN_IN_RAGGED_ALL_TO_ALL,
    QUERN_IN_PLAN_CREATE,
    QUERN_IN_PLAN_RUN,
    QUERN_IN_ALL_GATHER,
    QUERN_IN_REDUCE_SCATTER,
    QUERN_IN_ALL_REDUCE,
    QUERN_IN_BROADCAST,
    QUERN_IN_RAGGED_SIZES,
    QUERN_IN_QUANTIZE_CHUNKS,
    QUERN_IN_CHUNK_WAIT,
    QUERN_IN_TRANSFER,
    QUERN_COLLECTIVES
};

enum quern_phase {
    QUERN_PHASE_NONE = 0,
    QUERN_PHASE_MEETING,    /* the only wait of a barrier */
    QUERN_PHASE_EXCHANGE,   /* the host exchanges arguments */
    QUERN_PHASE_ENTRY,      /* of an all-to-all: outputs may be overwritten, metadata is ready */
    QUERN_PHASE_VOTE,       /* all ranks have checked the metadata */
    QUERN_PHASE_COPY,
    QUERN_PHASE_EXIT,       /* outputs are complete */
    QUERN_PHASES
};

QUERN_SHARED_INLINE uint32_t quern_members_digest(const uint32_t members[QUERN_RANK_WORDS]) {
    uint32_t digest = 0;
    for (int word = 0; word < QUERN_RANK_WORDS; word++) {
        digest = (digest ^ members[word]) * 0x9e3779b1u;
        digest ^= digest >> 15;  /* the product moves bits only upwards: of a word's upper ranks few would be left */
    }
    return digest >> 16;
}

QUERN_SHARED_INLINE uint32_t quern_make_tag(enum quern_collective operation, enum quern_phase phase, uint32_t members_digest) {
    return (uint32_t)operation << 24 | (uint32_t)phase << 16 | members_digest;
}

/* A bit of the tag: this rank dissents.  All ranks of the meeting see it. */
enum { QUERN_TAG_DISSENTS = 1 << 23 };

/*
 * The pad of a GPU rank, in symmetric device memory that was zeroed before its address was shared.  `stride` is
 * quern_pad_stride(ranks):
 *
 *   quern_signal pair[stride]       slot s is written by rank s: meetings of the two ranks
 *   quern_signal everyone[stride]   slot s is written by rank s, by multicast: meetings of the whole group
 *   uint32_t     count[stride]      local: meetings with each rank so far (on the device, so that graphs can be replayed)
 *   uint32_t     everyone_count     local: meetings of the whole group so far
 *   uint32_t     grid[15]           local: which launches have ended
 *
 * Behind it, from quern_slots_offset(ranks) on, are the slots of the collectives: src/kernels/collective_problem.h.
 */
QUERN_SHARED_INLINE uint32_t quern_pad_stride(uint32_t ranks) { return (ranks + 7) / 8 * 8; }
QUERN_SHARED_INLINE uint64_t quern_device_pad_bytes(uint32_t ranks) { return 20 * (uint64_t)quern_pad_stride(ranks) + 64; }

/* The faults of a slice of a ragged all-to-all, of the terms of a collective, and of chunks.  The host turns them into text. */
enum quern_slice_fault {
    QUERN_SLICE_FINE = 0,
    QUERN_SLICE_INPUT_OFFSET,    /* negative: value */
    QUERN_SLICE_SEND_SIZE,       /* negative: value */
    QUERN_SLICE_OUTPUT_OFFSET,   /* negative: value */
    QUERN_SLICE_RECV_SIZE,       /* negative: value */
    QUERN_SLICE_BEYOND_INPUT,    /* input_offset + send_size is value, input_rows is limit */
    QUERN_SLICE_BEYOND_OUTPUT,   /* output_offset + size is value, the receiver's output_rows is limit */
    QUERN_SLICE_DISAGREEMENT,    /* the receiver expects limit rows, the sender sends value */
    QUERN_SLICE_OVERLAP,         /* row value of the output is also written by (other_peer, other_update) */
    QUERN_SLICE_UPDATES,         /* `rank` has value updates, `peer` limit */
    QUERN_SLICE_ROW_BYTES,       /* `rank` has value bytes in a row, `peer` limit */
    QUERN_SLICE_OUTPUT_PLACE,    /* the outputs are not at the same place of the same symmetric allocation */
    QUERN_SLICE_WORKSPACE_PLACE, /* the same for the workspaces of GPUs */
    QUERN_SLICE_ARGUMENTS,       /* `rank` refused its own arguments: its own detail gives the reason */
    /* The terms of a collective: `rank` has value, `peer` limit. */
    QUERN_TERMS_DTYPE,
    QUERN_TERMS_COMBINATION,
    QUERN_TERMS_COUNT,
    QUERN_TERMS_INPUT_STRIDE,
    QUERN_TERMS_ROOT,
    QUERN_TERMS_MEMBERS,         /* no numbers */
    QUERN_TERMS_INPUT_PLACE,     /* the inputs are not at the same place of the same symmetric allocation */
    QUERN_TERMS_OUTPUT_PLACE,    /* the same for the outputs */
    /* Those of quantised chunks that collectives do not have. */
    QUERN_TERMS_OUTPUT_DTYPE,
    QUERN_TERMS_ROWS,
    QUERN_TERMS_COLUMNS,
    QUERN_TERMS_CHUNK_ROWS,
    QUERN_TERMS_READY_VALUE,
    QUERN_TERMS_EPS,             /* the bits of fp32 values */
    QUERN_TERMS_POWER_OF_TWO,
    QUERN_TERMS_ROUNDING,
    QUERN_TERMS_READY_PLACE,     /* the words are not at the same place of the same symmetric allocation */
    QUERN_CHUNK_TOLD,            /* ready[value] of `rank` was limit, ready_value or its complement, before the call */
    QUERN_CHUNK_FAILED,          /* ready[value] of `rank` is the complement of what it awaits: the call has failed */
    QUERN_CHUNK_LATE,            /* `rank` has waited limit nanoseconds for ready[value] */
    QUERN_TERMS_CAPTURED,        /* over NCCL: whether the stream is being captured */
    QUERN_TERMS_INPUT_DTYPE,     /* of quantised chunks, like the terms above from OUTPUT_DTYPE on, and the next ones */
    QUERN_TERMS_SCALING,
    QUERN_TERMS_SCALES_PLACE,    /* the scales of blocks are not at the same place of the same symmetric allocation */
    QUERN_TERMS_ORDER,           /* of a collective */
    QUERN_FAULTS
};

/* The first fault that a rank found: slice (peer, update) of those that `rank` sends or, for a receive fault, receives. */
struct quern_slice_report {
    int32_t fault;        /* enum quern_slice_fault */
    int32_t rank;
    int32_t peer;
    int32_t update;
    int32_t other_peer;
    int32_t other_update;
    int64_t value;
    int64_t limit;
};

/* The error record that a kernel writes to host memory when it gives up.  Each rank has one, which only that rank writes. */
enum quern_kernel_error_kind {
    QUERN_NO_KERNEL_ERROR = 0,
    QUERN_KERNEL_ERROR_TIMEOUT,
    QUERN_KERNEL_ERROR_MISMATCH,
    QUERN_KERNEL_ERROR_SLICE,
    QUERN_KERNEL_ERROR_LOST
};

struct quern_kernel_error {
    uint32_t kind;                          /* enum quern_kernel_error_kind; written last */
    uint32_t tag;                           /* of the meeting that failed */
    uint32_t missing[QUERN_RANK_WORDS];     /* bit mask.  TIMEOUT: ranks that did not come; MISMATCH: ranks in another
                                               call; LOST: ranks that have ended or left */
    uint32_t expected[QUERN_RANK_LIMIT];    /* epochs, of the ranks in `missing` */
    quern_signal seen[QUERN_RANK_LIMIT];    /* their last signals */
    uint64_t waited;                        /* nanoseconds */
    struct quern_slice_report slice;        /* SLICE */
};

#endif
