/*
 * The entry and the exit of quantised chunks, and the wait for chunks: one block each.  Included by the source in
 * generated/collective/.
 *
 *   entry   exchanges amaxes and terms through the slots of collectives, and writes the amax and the scale of all inputs, if they
 *           have one scale.  No member stores before it into memory of another one
 *   exit    waits for all words of this rank.  If it gives up, it stores the complement of ready_value into those that have not
 *           come.  One that comes in this moment may be reported as failed: the group is poisoned anyway
 *   wait    the same for some words, at any time, beside other launches of this rank, and without these stores
 *   begin   over NCCL: the results of an entry without its meeting
 *   signal  over NCCL: writes the words of chunks that have come, or if the group has ended the complement into all others
 *
 * A wait for words has the limits of a meeting (barrier.cuh): the time, the group's poison, and ranks that have gone.
 */
#ifndef QUERN_DEVICE_CHUNKS_MEETING_CUH
#define QUERN_DEVICE_CHUNKS_MEETING_CUH

#include "kernels/chunks_problem.h"
#include "kernels/cuda/collective_slots.cuh"
#include "kernels/quantize_scale.h"

static_assert(sizeof(quern_chunks_problem) <= 4096, "the parameters of a kernel have 4 KiB");

/* ---- the terms ---- */

static __device__ __forceinline__ quern_slice_fault difference(const quern_chunks_terms &a, const quern_chunks_terms &b) {
    uint32_t members = 0;
#pragma unroll
    for (int word = 0; word < QUERN_RANK_WORDS; word++) {
        members |= a.members[word] ^ b.members[word];
    }
    return members                                                            ? QUERN_TERMS_MEMBERS
           : a.input_dtype != b.input_dtype                                   ? QUERN_TERMS_INPUT_DTYPE
           : a.output_dtype != b.output_dtype                                 ? QUERN_TERMS_OUTPUT_DTYPE
           : a.rows != b.rows                                                 ? QUERN_TERMS_ROWS
           : a.columns != b.columns                                           ? QUERN_TERMS_COLUMNS
           : a.chunk_rows != b.chunk_rows                                     ? QUERN_TERMS_CHUNK_ROWS
           : a.ready_value != b.ready_value                                   ? QUERN_TERMS_READY_VALUE
           : __float_as_uint(a.eps) != __float_as_uint(b.eps)                 ? QUERN_TERMS_EPS
           : a.power_of_two != b.power_of_two                                 ? QUERN_TERMS_POWER_OF_TWO
           : a.rounding != b.rounding                                         ? QUERN_TERMS_ROUNDING
           : a.scaling != b.scaling                                           ? QUERN_TERMS_SCALING
           : a.output_id != b.output_id || a.output_offset != b.output_offset ? QUERN_TERMS_OUTPUT_PLACE
           : a.ready_id != b.ready_id || a.ready_offset != b.ready_offset     ? QUERN_TERMS_READY_PLACE
           : a.scales_id != b.scales_id || a.scales_offset != b.scales_offset ? QUERN_TERMS_SCALES_PLACE
                                                                              : QUERN_SLICE_FINE;
}

static __device__ __forceinline__ int64_t number(const quern_chunks_terms &terms, quern_slice_fault fault) {
    return fault == QUERN_TERMS_INPUT_DTYPE    ? terms.input_dtype
           : fault == QUERN_TERMS_OUTPUT_DTYPE ? terms.output_dtype
           : fault == QUERN_TERMS_ROWS         ? terms.rows
           : fault == QUERN_TERMS_COLUMNS      ? terms.columns
           : fault == QUERN_TERMS_CHUNK_ROWS   ? terms.chunk_rows
           : fault == QUERN_TERMS_READY_VALUE  ? terms.ready_value
           : fault == QUERN_TERMS_EPS          ? __float_as_uint(terms.eps)
           : fault == QUERN_TERMS_POWER_OF_TWO ? terms.power_of_two
           : fault == QUERN_TERMS_ROUNDING     ? terms.rounding
           : fault == QUERN_TERMS_SCALING      ? terms.scaling
                                               : 0;
}

/* ---- the entry ---- */

/* In shared memory. */
struct chunks_entry {
    collective_slots slots;
    uint32_t told;       /* as in the terms */
    uint32_t amax;       /* bits, which have the order of magnitudes */
    uint32_t differs;    /* the first place whose terms are not those of place 0, or whose words are told already */

    /* A word that is told before the call would end a wait for it: no rank may begin. */
    __device__ __forceinline__ void look_at_words(const quern_chunks_problem &problem) {
        if (threadIdx.x == 0) {
            told = ~0u, amax = 0, differs = ~0u;
        }
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < problem.words; i += THREADS) {
            const uint32_t word = load_relaxed_system(problem.ready + i);
            if (word == problem.ready_value || word == ~problem.ready_value) {
                atomicMin(&told, i);
            }
        }
        __syncthreads();
    }

    __device__ __forceinline__ const quern_chunks_terms &terms_of(const quern_chunks_problem &problem, uint32_t place) const {
        return *(const quern_chunks_terms *)slots.received(problem.links, problem.rank_at[place]);
    }

    /* After the meeting: whether all members make the same call.  If not, every rank reports the same fault. */
    __device__ __forceinline__ bool agree(const quern_chunks_problem &problem) {
        const quern_chunks_terms &first = terms_of(problem, 0);
        if (threadIdx.x < problem.places) {
            const quern_chunks_terms &theirs = terms_of(problem, threadIdx.x);
            if (difference(first, theirs) != QUERN_SLICE_FINE || theirs.told) {
                atomicMin(&differs, threadIdx.x);
            }
            atomicMax(&amax, __float_as_uint(theirs.amax));
        }
        __syncthreads();
        if (differs != ~0u && threadIdx.x == 0) {
            report(problem, first, terms_of(problem, differs));
        }
        return differs == ~0u;
    }

    __device__ __forceinline__ void report(const quern_chunks_problem &problem, const quern_chunks_terms &first,
                                           const quern_chunks_terms &theirs) const {
        const quern_slice_fault fault = difference(first, theirs);
        const int32_t rank = problem.rank_at[0], peer = problem.rank_at[differs];
        if (fault != QUERN_SLICE_FINE) {
            end_with(problem.links, QUERN_PHASE_ENTRY, {fault, rank, peer, 0, 0, 0, number(first, fault), number(theirs, fault)});
        } else {
            end_with(problem.links, QUERN_PHASE_ENTRY,
                     {QUERN_CHUNK_TOLD, peer, 0, 0, 0, 0, (int64_t)theirs.told - 1, theirs.ready_value});
        }
    }

    /* By one thread. */
    __device__ __forceinline__ void write_results(const quern_chunks_problem &problem) const {
        const quern_chunks_terms &terms = problem.terms;
        const float largest = quern_quantize_largest((quern_dtype)terms.output_dtype);
        const float scale = quern_quantize_scale(__uint_as_float(amax), largest, terms.eps, terms.power_of_two);
        *problem.amax = __uint_as_float(amax);
        if (problem.scale) {
            *problem.scale = scale;
        }
        if (problem.scale_inv) {
            *problem.scale_inv = 1.0f / scale;
        }
        problem.state->scale = scale;
    }

    __device__ __forceinline__ void run(const quern_chunks_problem &problem) {
        quern_chunks_terms terms = problem.terms;
        look_at_words(problem);
        terms.amax = problem.state->amax;
        terms.told = told + 1;
        slots.begin(problem.links, terms);
        meeting entry(problem.links, QUERN_PHASE_ENTRY, false);
        entry.put();
        const meeting_result result = entry.await();
        if (nobody_refused(problem.links, QUERN_PHASE_ENTRY, result) && agree(problem) && threadIdx.x == 0) {
            if (problem.amax) {
                write_results(problem);
            }
            problem.state->entered = 1;
        }
    }
};

/* ---- the beginning over NCCL ---- */

/*
 * By all threads.  It does its work even if the group has ended, since what is enqueued behind it must send nothing but results.  A
 * word that is told already ends the group, though the chunks of all come.
 */
static __device__ __forceinline__ void begin_alone(const quern_chunks_problem &problem, chunks_entry &entry) {
    entry.look_at_words(problem);
    for (uint32_t i = threadIdx.x; problem.amaxes && i < problem.places; i += THREADS) {
        atomicMax(&entry.amax, problem.amaxes[i]);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        if (problem.amax) {
            entry.amax = max(entry.amax, __float_as_uint(problem.state->amax));
            entry.write_results(problem);
        }
        problem.state->entered = 1;
        if (entry.told != ~0u) {
            end_with(problem.links, QUERN_PHASE_ENTRY,
                     {QUERN_CHUNK_TOLD, problem.rank, 0, 0, 0, 0, entry.told, problem.ready_value});
        }
    }
}

/* ---- waits for words ---- */

/* In shared memory: what the threads of a wait have found. */
struct words_wait {
    uint32_t gone[QUERN_RANK_WORDS], expired[QUERN_RANK_WORDS];  /* bits of the ranks that owe words */
    uint32_t failed, late;                                       /* the first word that is the complement; that is late */
    uint32_t ended;                                              /* not 0: there is no use in waiting on */
    uint64_t waited;

    enum outcome { CAME, FAILED, GONE, EXPIRED, TOLD };
    enum { LOOK_FIRST = 256, LOOK_AGAIN = 32, PAUSE = 100 /* nanoseconds */ };  /* as in a meeting */

    __device__ __forceinline__ void begin() {
        if (threadIdx.x < QUERN_RANK_WORDS) {
            gone[threadIdx.x] = expired[threadIdx.x] = 0;
        }
        if (threadIdx.x == 0) {
            failed = late = ~0u, ended = 0, waited = 0;
        }
        __syncthreads();
    }

    /* The rank that stores a word; of a wait nobody knows. */
    static __device__ __forceinline__ int32_t sender(const quern_chunks_problem &problem, uint32_t word) {
        return problem.stage == QUERN_CHUNKS_EXIT ? problem.rank_at[word / problem.chunks] : -1;
    }

    static __device__ __forceinline__ bool has_gone(const quern_links &links, int32_t rank) {
        return rank >= 0 && (load_acquire_system(links.gone + rank / 32) >> rank % 32 & 1);
    }

    /* `began` is the moment at which the thread has first looked around; 0: it has not. */
    __device__ __forceinline__ outcome watch(const quern_chunks_problem &problem, uint32_t word, uint64_t *began) {
        const quern_links &links = problem.links;
        for (uint32_t polls = 1;; polls++) {
            const bool looks = polls % (*began ? LOOK_AGAIN : LOOK_FIRST) == 0;
            /* Before the word is looked at for the last time, so that one that has come is not reported as missing. */
            const bool sender_has_gone = looks && has_gone(links, sender(problem, word));
            const uint32_t seen = load_relaxed_system(problem.ready + word);
            if (seen == problem.ready_value) {
                load_acquire_system(problem.ready + word);
                return CAME;
            }
            if (seen == ~problem.ready_value && problem.stage == QUERN_CHUNKS_WAIT) {
                load_acquire_system(problem.ready + word);
                return has_ended(links) || load_relaxed_system(links.poison) ? TOLD : FAILED; /* the poison says why */
            }
            if (looks) {
                const uint64_t now = global_time();
                *began = *began ? *began : now;
                if (has_ended(links) || load_relaxed_system(links.poison) || *(volatile uint32_t *)&ended) {
                    return TOLD;
                }
                if (sender_has_gone) {
                    return GONE;
                }
                if (now - *began >= links.timeout) {
                    atomicMax((unsigned long long *)&waited, (unsigned long long)(now - *began));
                    return EXPIRED;
                }
            }
            if (*began) {
                sleep_nanoseconds(PAUSE);
            }
        }
    }

    __device__ __forceinline__ void note(const quern_chunks_problem &problem, uint32_t word, outcome what) {
        const int32_t rank = sender(problem, word);
        if (what == FAILED) {
            atomicMin(&failed, word);
        }
        if (what == EXPIRED) {
            atomicMin(&late, word);
        }
        if (rank >= 0 && (what == GONE || what == EXPIRED)) {
            atomicOr(what == GONE ? gone + rank / 32 : expired + rank / 32, 1u << rank % 32);
        }
        atomicOr(&ended, 1u);
    }

    /* Whether all words have come. */
    __device__ __forceinline__ bool run(const quern_chunks_problem &problem) {
        uint64_t began = 0;
        begin();
        for (uint32_t word = threadIdx.x; word < problem.words; word += THREADS) {
            const outcome what = watch(problem, word, &began);
            if (what != CAME) {
                note(problem, word, what);
                break;
            }
        }
#if QUERN_MULTIMEM
        fence_aliases();  /* the kernels behind this one read what multicast has stored */
#endif
        __syncthreads();
        return !ended;
    }

    static __device__ __forceinline__ bool any(const uint32_t (&words)[QUERN_RANK_WORDS]) {
        return (words[0] | words[1] | words[2] | words[3]) != 0;
    }

    /* By thread j: the last signal of rank j, if the words of these ranks are missing. */
    __device__ __forceinline__ void record_rank(const quern_links &links, const uint32_t (&missing)[QUERN_RANK_WORDS]) const {
        const uint32_t rank = threadIdx.x;
        if (rank < links.ranks && (missing[rank / 32] >> rank % 32 & 1)) {
            const device_pad own = own_pad(links);
            links.error->expected[rank] = meeting::next_epoch(links, rank) - 1;
            links.error->seen[rank] = load_relaxed_system(by_multicast(links) ? own.everyone(rank) : own.pair(rank));
        }
    }

    /* An exit that has given up names the ranks, if it is the first of the group to know.  By all threads. */
    __device__ __forceinline__ void record_exit(const quern_links &links) const {
        const bool are_gone = any(gone);
        if (!are_gone && !any(expired)) {
            return;
        }
        record_rank(links, are_gone ? gone : expired);
        __syncthreads();
        if (threadIdx.x == 0) {
#pragma unroll
            for (int word = 0; word < QUERN_RANK_WORDS; word++) {
                links.error->missing[word] = are_gone ? gone[word] : expired[word];
            }
            links.error->waited = waited;
            store_relaxed_device(own_pad(links).grid(QUERN_GRID_ENDED), 1);
            poison(links, links.tag | QUERN_PHASE_EXIT << 16, are_gone ? QUERN_KERNEL_ERROR_LOST : QUERN_KERNEL_ERROR_TIMEOUT,
                   are_gone ? QUERN_PEER_LOST : QUERN_PEER_TIMEOUT);
        }
    }

    /* A wait for chunks names the word.  By one thread. */
    __device__ __forceinline__ void record_wait(const quern_links &links, int32_t rank) const {
        if (failed != ~0u) {
            end_with(links, QUERN_PHASE_NONE, {QUERN_CHUNK_FAILED, rank, 0, 0, 0, 0, failed, 0});
        } else if (late != ~0u) {
            end_with(links, QUERN_PHASE_NONE, {QUERN_CHUNK_LATE, rank, 0, 0, 0, 0, late, (int64_t)waited});
        }
    }
};

/* Those who look at the words of a call that has failed see it. */
static __device__ __forceinline__ void tell_failure(const quern_chunks_problem &problem) {
    for (uint32_t word = threadIdx.x; word < problem.words; word += THREADS) {
        if (load_relaxed_system(problem.ready + word) != problem.ready_value) {
            store_release_system(problem.ready + word, ~problem.ready_value);
        }
    }
}

/* ---- the signal over NCCL ---- */

/* Behind messages whose chunks are complete, unless the group has ended: then its watcher may have ended them. */
static __device__ __forceinline__ void signal_chunks(const quern_chunks_problem &problem) {
    if (has_ended(problem.links) || load_relaxed_system(problem.links.poison)) {
        tell_failure(problem);
        return;
    }
    for (uint32_t place = threadIdx.x; place < problem.places; place += THREADS) {
        const uint32_t chunk = problem.chunk_of[place];
        if (chunk < problem.chunks) {
            store_release_system(problem.ready + place * problem.chunks + chunk, problem.ready_value);
        }
    }
}

/* ---- the kernel ---- */

static __device__ __forceinline__ void run_meeting(const quern_chunks_problem &problem) {
    __shared__ chunks_entry entry;
    __shared__ words_wait wait;
    if (problem.stage == QUERN_CHUNKS_EXIT) {
        if (problem.state->entered && !wait.run(problem)) {
            wait.record_exit(problem.links);
            __syncthreads(); /* the poison is there before the words */
            tell_failure(problem);
        }
        return;
    }
    if (problem.stage == QUERN_CHUNKS_BEGIN) {
        begin_alone(problem, entry);
        return;
    }
    if (problem.stage == QUERN_CHUNKS_SIGNAL) {
        signal_chunks(problem);
        return;
    }
    if (has_ended(problem.links)) {
        return;
    }
    if (problem.stage == QUERN_CHUNKS_ENTRY) {
        entry.run(problem);
    } else if (!wait.run(problem) && threadIdx.x == 0) {
        wait.record_wait(problem.links, problem.rank);
    }
}

#endif
