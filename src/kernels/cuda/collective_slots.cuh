/*
 * The slots of a collective: what a rank sends to the members before they meet, and the check that all have made the same call.
 * Included by collective.cuh and chunks_meeting.cuh.  All functions are called by all threads of one block.
 */
#ifndef QUERN_DEVICE_COLLECTIVE_SLOTS_CUH
#define QUERN_DEVICE_COLLECTIVE_SLOTS_CUH

#include "kernels/cuda/slice_error.cuh"
#include "kernels/cuda/warp_copy.cuh"

enum { THREADS = QUERN_THREADS, WARPS = THREADS / WARP };

/* In shared memory. */
struct collective_slots {
    uint32_t half[QUERN_RANK_LIMIT];   /* by rank: which of two slots this call has */
    uint32_t differs;                  /* the first place whose terms are not those of place 0 */

    /* The slot of rank `of` in the pad of rank `at`; one of them is this rank. */
    __device__ __forceinline__ char *slot(const quern_links &links, uint32_t at, uint32_t of) const {
        return links.pad[at] + quern_slot_offset(links.ranks, half[at == links.rank ? of : at], of);
    }

    __device__ __forceinline__ char *received(const quern_links &links, uint32_t from) const {
        return slot(links, links.rank, from);
    }

    /* What a place has sent to this rank. */
    __device__ __forceinline__ const char *data(const quern_collective_problem &problem, uint32_t place) const {
        return received(problem.links, problem.rank_at[place]) + QUERN_TERMS_BYTES;
    }

    /* Counts this call with each member, and writes the terms to all of them, this rank included. */
    template <class TERMS> __device__ __forceinline__ void begin(const quern_links &links, const TERMS &terms) {
        static_assert(sizeof(TERMS) <= QUERN_TERMS_BYTES, "terms must fit a slot");
        const uint32_t rank = threadIdx.x;
        if (is_member(links, rank)) {
            uint32_t *sent = (uint32_t *)(links.pad[links.rank] + quern_slots_offset(links.ranks)) + rank;
            half[rank] = *sent;
            *sent = half[rank] + 1;
            *(TERMS *)slot(links, rank, links.rank) = terms;
        }
        if (rank == 0) {
            differs = ~0u;
        }
        __syncthreads();
    }

    /* A piece of the data goes to each member, then the next piece; each rank begins with another member. */
    __device__ __forceinline__ void send(const quern_collective_problem &problem) const {
        const uint64_t PIECE = WARP * BYTES_UNDER_WAY;
        const uint32_t places = problem.places;
        const uint64_t pieces = (problem.sent_bytes + PIECE - 1) / PIECE * places;
        for (uint32_t piece = threadIdx.x / WARP; piece < pieces; piece += WARPS) {
            const uint32_t to = (problem.place + 1 + piece % places) % places;
            const uint64_t at = piece / places * PIECE;
            char *data = slot(problem.links, problem.rank_at[to], problem.links.rank) + QUERN_TERMS_BYTES;
            warp_copy(data + at, problem.sent + to * problem.sent_step + at, min(PIECE, problem.sent_bytes - at));
        }
    }

    /* After the entry: whether the terms of all are the same.  If not, every rank reports the same two. */
    __device__ __forceinline__ bool agree(const quern_collective_problem &problem) {
        const quern_links &links = problem.links;
        const auto *all = (const quern_collective_terms *)received(links, problem.rank_at[0]);
        if (threadIdx.x < problem.places) {
            const auto *theirs = (const quern_collective_terms *)received(links, problem.rank_at[threadIdx.x]);
            if (difference(*all, *theirs) != QUERN_SLICE_FINE) {
                atomicMin(&differs, threadIdx.x);
            }
        }
        __syncthreads();
        if (differs != ~0u && threadIdx.x == 0) {
            const uint32_t rank = problem.rank_at[differs];
            end_with(links, QUERN_PHASE_ENTRY, report(*all, *(const quern_collective_terms *)received(links, rank),
                                                      problem.rank_at[0], rank));
        }
        return differs == ~0u;
    }

private:
    static __device__ __forceinline__ quern_slice_fault difference(const quern_collective_terms &a,
                                                                   const quern_collective_terms &b) {
        uint32_t members = 0;
#pragma unroll
        for (int word = 0; word < QUERN_RANK_WORDS; word++) {
            members |= a.members[word] ^ b.members[word];
        }
        return members                                                               ? QUERN_TERMS_MEMBERS
               : a.dtype != b.dtype                                                  ? QUERN_TERMS_DTYPE
               : a.combination != b.combination                                      ? QUERN_TERMS_COMBINATION
               : a.order != b.order                                                  ? QUERN_TERMS_ORDER
               : a.count != b.count                                                  ? QUERN_TERMS_COUNT
               : a.input_stride != b.input_stride                                    ? QUERN_TERMS_INPUT_STRIDE
               : a.root != b.root                                                    ? QUERN_TERMS_ROOT
               : a.input_id != b.input_id || a.input_offset != b.input_offset        ? QUERN_TERMS_INPUT_PLACE
               : a.output_id != b.output_id || a.output_offset != b.output_offset    ? QUERN_TERMS_OUTPUT_PLACE
                                                                                     : QUERN_SLICE_FINE;
    }

    static __device__ __forceinline__ int64_t number(const quern_collective_terms &terms, quern_slice_fault fault) {
        return fault == QUERN_TERMS_DTYPE          ? terms.dtype
               : fault == QUERN_TERMS_COMBINATION  ? terms.combination
               : fault == QUERN_TERMS_ORDER        ? terms.order
               : fault == QUERN_TERMS_COUNT        ? terms.count
               : fault == QUERN_TERMS_INPUT_STRIDE ? terms.input_stride
               : fault == QUERN_TERMS_ROOT         ? terms.root
                                                   : 0;
    }

    static __device__ __forceinline__ quern_slice_report report(const quern_collective_terms &a, const quern_collective_terms &b,
                                                                uint32_t rank, uint32_t peer) {
        const quern_slice_fault fault = difference(a, b);
        return {fault, (int32_t)rank, (int32_t)peer, 0, 0, 0, number(a, fault), number(b, fault)};
    }
};

#endif
