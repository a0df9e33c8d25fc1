/*
 * The barrier between ranks, for use inside a kernel: one block of each rank meets one block of every other rank.  Included by
 * ragged_metadata.cuh, slice_error.cuh and grid_gate.cuh.  Thread j of the block handles rank j, so the block needs at least as
 * many threads as the group has ranks, in whole warps.
 *
 * A rank writes its signal into the pads of all members, then waits until their signals have arrived in its own pad: see
 * src/kernels/collective.h.  Between the two it may do work that needs no peer.
 *
 * Memory order.  Writes of any thread of the block before put() precede the __syncthreads inside, and so precede thread j's
 * release. The release covers everything that thread j has observed, not only its own writes.  Writes of the grid are included if
 * its blocks reported their end to this one by release and acquire; writes of earlier kernels of the stream are visible anyway.
 * The peer reads the signal with an acquire in one thread and passes another __syncthreads.  So all writes before put() on any rank
 * are visible to all threads of every member's block after await().  The counts are local to the rank, and only one block of a
 * launch at a time uses them.
 *
 * A wait never hangs.  A waiting thread regularly checks the time and, in host memory, the group's poison and whether its rank
 * has gone.  The thread that detects a timeout, a rank that has gone, or a peer in another call, records an error, poisons the
 * group and lets the block exit normally; nothing traps.  The pad then says that this rank has ended, so launches that are
 * already in the stream end at once, without a signal that a peer could mistake for the failed meeting.
 */
#ifndef QUERN_DEVICE_BARRIER_CUH
#define QUERN_DEVICE_BARRIER_CUH

#include "kernels/collective_problem.h"
#include "kernels/cuda/system_memory.cuh"
#include "kernels/public.h"

/* The parts of a rank's pad. */
struct device_pad {
    char *base;
    uint32_t stride;

    __device__ __forceinline__ device_pad(char *base, uint32_t ranks) : base(base), stride(quern_pad_stride(ranks)) {}
    __device__ __forceinline__ quern_signal *pair(uint32_t rank) const { return (quern_signal *)base + rank; }
    __device__ __forceinline__ quern_signal *everyone(uint32_t rank) const { return (quern_signal *)base + stride + rank; }
    __device__ __forceinline__ uint32_t *count(uint32_t rank) const { return (uint32_t *)(base + 16 * stride) + rank; }
    __device__ __forceinline__ uint32_t *everyone_count() const { return (uint32_t *)(base + 20 * stride); }
    __device__ __forceinline__ uint32_t *grid(quern_grid_word word) const { return everyone_count() + 1 + word; }
};

static __device__ __forceinline__ device_pad own_pad(const quern_links &links) {
    return device_pad(links.pad[links.rank], links.ranks);
}

/* Whether an earlier launch of this rank has given up. */
static __device__ __forceinline__ bool has_ended(const quern_links &links) {
    return load_relaxed_device(own_pad(links).grid(QUERN_GRID_ENDED)) != 0;
}

static __device__ __forceinline__ bool is_member(const quern_links &links, uint32_t rank) {
    return rank < links.ranks && (links.members[rank / 32] >> rank % 32 & 1);
}

static __device__ __forceinline__ bool is_awaited(const quern_links &links, uint32_t rank) {
    return rank != links.rank && is_member(links, rank);
}

static __device__ __forceinline__ bool by_multicast(const quern_links &links) {
#if QUERN_MULTIMEM
    return links.multicast_pad != nullptr;
#else
    return false;
#endif
}

/* Poisons the group after the rest of the error record has been written.  Called by one thread of the block. */
static __device__ __forceinline__ void poison(const quern_links &links, uint32_t tag, quern_kernel_error_kind kind,
                                              quern_status status) {
    links.error->tag = tag;
    store_release_system(&links.error->kind, (uint32_t)kind);
    if (load_relaxed_system(links.poison) == 0) {
        store_release_system(links.poison, (uint32_t)status);
    }
}

/* The result of a meeting, the same in all threads of the block. */
struct meeting_result {
    bool ended;      /* there is no more work: this rank has given up, or knows that another one has */
    int dissenter;   /* the lowest rank, this one included, that dissents; -1: none */
    bool unanimous;  /* all members dissent */
};

/* One meeting: put, then await, each called by all threads of the block. */
struct meeting {
    const quern_links &links;
    const uint32_t tag;        /* of this meeting */
    const bool dissents;       /* this rank dissents */
    uint32_t expected;         /* for thread j: the epoch that rank j must reach */

    __device__ __forceinline__ meeting(const quern_links &links, quern_phase phase, bool dissents)
        : links(links), tag(links.tag | (uint32_t)phase << 16), dissents(dissents), expected(0) {}

    /* The epoch of the next meeting with a rank. */
    static __device__ __forceinline__ uint32_t next_epoch(const quern_links &links, uint32_t rank) {
        return (by_multicast(links) ? *own_pad(links).everyone_count() : *own_pad(links).count(rank)) + 1;
    }

    __device__ __forceinline__ void put() {
        const device_pad own = own_pad(links);
        const uint32_t signalled = tag | (dissents ? QUERN_TAG_DISSENTS : 0);
        expected = threadIdx.x < links.ranks ? next_epoch(links, threadIdx.x) : 0;
        __syncthreads();
#if QUERN_MULTIMEM
        if (by_multicast(links)) {
            if (threadIdx.x == 0) {
                *own.everyone_count() = expected;
                multicast_release_system(device_pad(links.multicast_pad, links.ranks).everyone(links.rank),
                                         quern_make_signal(expected, signalled));
            }
            return;
        }
#endif
        if (is_awaited(links, threadIdx.x)) {
            *own.count(threadIdx.x) = expected;
            store_release_system(device_pad(links.pad[threadIdx.x], links.ranks).pair(links.rank),
                                 quern_make_signal(expected, signalled));
        }
    }

    __device__ __forceinline__ meeting_result await() {
        __shared__ masks mask;
        quern_signal seen = 0;
        uint64_t waited = 0;
#if QUERN_MULTIMEM
        if (by_multicast(links)) {
            fence_aliases();  /* signals are stored at the multicast address and looked at in the rank's own pad */
        }
#endif
        const outcome mine = is_awaited(links, threadIdx.x) ? watch(&seen, &waited)
                             : threadIdx.x == links.rank && dissents ? DISSENTS : CAME;
#if QUERN_MULTIMEM
        if (by_multicast(links)) {
            fence_aliases();  /* and so may be what was stored before them */
        }
#endif
        mask.gather(mine);
        __syncthreads();
        const quern_kernel_error_kind kind = any(mask.of_other_call) ? QUERN_KERNEL_ERROR_MISMATCH
                                             : any(mask.gone)        ? QUERN_KERNEL_ERROR_LOST
                                             : any(mask.expired)     ? QUERN_KERNEL_ERROR_TIMEOUT
                                                                     : QUERN_NO_KERNEL_ERROR;
        if (kind != QUERN_NO_KERNEL_ERROR) {
            record_error(mask, kind, seen, waited);
        }
        return result(mask, kind != QUERN_NO_KERNEL_ERROR);
    }

private:
    enum outcome { CAME, DISSENTS, OTHER_CALL, GONE, EXPIRED, TOLD };
    /*
     * After so many polls a thread looks around, at first and then again.  A poll takes about a microsecond, and so does a look
     * at a word in host memory: a wait that is soon over has none, and a long one ends within a fraction of a millisecond.
     */
    enum { LOOK_FIRST = 256, LOOK_AGAIN = 32, PAUSE = 100 /* nanoseconds */ };

    /* A bit for each rank. */
    struct masks {
        uint32_t dissenting[QUERN_RANK_WORDS], of_other_call[QUERN_RANK_WORDS], gone[QUERN_RANK_WORDS], expired[QUERN_RANK_WORDS],
            told[QUERN_RANK_WORDS];

        __device__ __forceinline__ void gather(outcome mine) {
            for (uint32_t word = threadIdx.x / 32; word < QUERN_RANK_WORDS; word += blockDim.x / 32) {
                const bool here = word == threadIdx.x / 32;  /* the block has no threads for further words */
                const uint32_t bits[5] = {
                    __ballot_sync(~0u, here && mine == DISSENTS), __ballot_sync(~0u, here && mine == OTHER_CALL),
                    __ballot_sync(~0u, here && mine == GONE), __ballot_sync(~0u, here && mine == EXPIRED),
                    __ballot_sync(~0u, here && mine == TOLD)};
                if (threadIdx.x % 32 == 0) {
                    dissenting[word] = bits[0], of_other_call[word] = bits[1], gone[word] = bits[2], expired[word] = bits[3];
                    told[word] = bits[4];
                }
            }
        }
    };

    static __device__ __forceinline__ bool any(const uint32_t (&words)[QUERN_RANK_WORDS]) {
        return (words[0] | words[1] | words[2] | words[3]) != 0;
    }

    static __device__ __forceinline__ uint32_t lowest(const uint32_t (&words)[QUERN_RANK_WORDS]) {
        uint32_t rank = 0;
#pragma unroll
        for (int word = QUERN_RANK_WORDS - 1; word >= 0; word--) {
            rank = words[word] ? 32 * word + __ffs(words[word]) - 1 : rank;
        }
        return rank;
    }

    /* Waits for one rank. */
    __device__ __forceinline__ outcome watch(quern_signal *seen, uint64_t *waited) {
        const device_pad own = own_pad(links);
        const quern_signal *slot = by_multicast(links) ? own.everyone(threadIdx.x) : own.pair(threadIdx.x);
        uint64_t began = 0;
        for (uint32_t polls = 1;; polls++) {
            *seen = load_relaxed_system(slot);
            if (quern_epoch_reached(quern_signal_epoch(*seen), expected)) {
                *seen = load_acquire_system(slot);
                if (began) {
                    store_relaxed_system(links.reported_wait, 0);
                }
                return judge(*seen);
            }
            if (polls % (began ? LOOK_AGAIN : LOOK_FIRST) == 0) {
                const uint64_t now = global_time();
                if (!began) {
                    began = now;
                    store_relaxed_system(links.reported_tag, tag);
                    store_relaxed_system(links.reported_wait, 1);
                }
                *waited = now - began;
                if (has_ended(links) || load_relaxed_system(links.poison)) {
                    return TOLD;
                }
                if (came_elsewhere(slot, seen)) {
                    return give_up(OTHER_CALL);
                }
                if (has_gone(slot, seen)) {
                    return give_up(GONE);
                }
                if (*waited >= links.timeout) {
                    return give_up(EXPIRED);
                }
            }
            if (began) {
                sleep_nanoseconds(PAUSE);
            }
        }
    }

    /*
     * A rank at the epoch of this meeting must be in the same call.  A rank at a later epoch has already passed this meeting: if
     * this rank dissents, that is possible only if all ranks do.
     */
    __device__ __forceinline__ outcome judge(quern_signal seen) {
        if (quern_signal_epoch(seen) != expected) {
            return dissents ? DISSENTS : CAME;
        }
        if ((quern_signal_tag(seen) & ~QUERN_TAG_DISSENTS) != tag) {
            return give_up(OTHER_CALL);
        }
        return quern_signal_tag(seen) & QUERN_TAG_DISSENTS ? DISSENTS : CAME;
    }

    /*
     * With multicast, meetings of all ranks and meetings of some ranks have separate signals.  A rank that has advanced in the
     * other kind beyond this rank, and has not come to this meeting, has made another call.
     */
    __device__ __forceinline__ bool came_elsewhere(const quern_signal *slot, quern_signal *seen) const {
#if QUERN_MULTIMEM
        const device_pad own = own_pad(links);
        const bool all = by_multicast(links);
        const quern_signal other = load_acquire_system(all ? own.pair(threadIdx.x) : own.everyone(threadIdx.x));
        const uint32_t next = (all ? *own.count(threadIdx.x) : *own.everyone_count()) + 1;
        if (quern_epoch_reached(quern_signal_epoch(other), next) &&
            !quern_epoch_reached(quern_signal_epoch(load_relaxed_system(slot)), expected)) {
            *seen = other;
            return true;
        }
#endif
        return false;
    }

    /* A rank that has gone may have come before: its signal is looked at once more. */
    __device__ __forceinline__ bool has_gone(const quern_signal *slot, quern_signal *seen) const {
        if (!(load_acquire_system(links.gone + threadIdx.x / 32) >> threadIdx.x % 32 & 1)) {
            return false;
        }
        *seen = load_acquire_system(slot);
        return !quern_epoch_reached(quern_signal_epoch(*seen), expected);
    }

    /* The other threads of the block see this flag at their next check. */
    __device__ __forceinline__ outcome give_up(outcome why) {
        store_relaxed_device(own_pad(links).grid(QUERN_GRID_ENDED), 1);
        return why;
    }

    static __device__ __forceinline__ quern_status status_of_kind(quern_kernel_error_kind kind) {
        return kind == QUERN_KERNEL_ERROR_MISMATCH ? QUERN_PEER_MISMATCH
               : kind == QUERN_KERNEL_ERROR_LOST   ? QUERN_PEER_LOST
                                                   : QUERN_PEER_TIMEOUT;
    }

    __device__ __forceinline__ void record_error(const masks &mask, quern_kernel_error_kind kind, quern_signal seen,
                                                 uint64_t waited) const {
        quern_kernel_error *error = links.error;
        uint32_t listed[QUERN_RANK_WORDS];
        bool is_listed = false;
#pragma unroll
        for (uint32_t word = 0; word < QUERN_RANK_WORDS; word++) {
            listed[word] = kind == QUERN_KERNEL_ERROR_MISMATCH ? mask.of_other_call[word]
                           : kind == QUERN_KERNEL_ERROR_LOST   ? mask.gone[word]
                                                               : mask.expired[word] | mask.told[word];
            is_listed |= word == threadIdx.x / 32 && (listed[word] >> threadIdx.x % 32 & 1);
        }
        if (is_listed) {
            error->expected[threadIdx.x] = expected;
            error->seen[threadIdx.x] = seen;
            if (threadIdx.x == lowest(listed)) {
                error->waited = waited;
            }
        }
        __syncthreads();
        if (threadIdx.x == 0) {
#pragma unroll
            for (int word = 0; word < QUERN_RANK_WORDS; word++) {
                error->missing[word] = listed[word];
            }
            poison(links, tag, kind, status_of_kind(kind));
        }
    }

    __device__ __forceinline__ meeting_result result(const masks &mask, bool failed) const {
        const bool ended = failed || any(mask.told);
        if (ended && threadIdx.x == 0) {
            store_relaxed_device(own_pad(links).grid(QUERN_GRID_ENDED), 1);
        }
        uint32_t assenting = 0;
#pragma unroll
        for (int word = 0; word < QUERN_RANK_WORDS; word++) {
            assenting |= mask.dissenting[word] ^ links.members[word];
        }
        return {ended, any(mask.dissenting) ? (int)lowest(mask.dissenting) : -1, assenting == 0};
    }
};

#endif
