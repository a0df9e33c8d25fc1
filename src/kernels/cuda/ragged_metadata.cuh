/*
 * The metadata of a ragged all-to-all on the device: a rank's offers to the others and its list of slices to copy, and the check of
 * received offers against this rank's expectation.  One block does all of it.  Included by ragged_overlap.cuh.
 */
#ifndef QUERN_DEVICE_RAGGED_METADATA_CUH
#define QUERN_DEVICE_RAGGED_METADATA_CUH

#include "kernels/cuda/barrier.cuh"
#include "kernels/cuda/block_scan.cuh"

/* The first fault of each kind, by its place or its index in the metadata.  In shared memory. */
struct ragged_faults {
    enum : uint32_t { NONE = ~0u };
    uint32_t own, header, receipt, overlap;
    uint32_t giving[QUERN_RANK_WORDS];      /* a bit for each place that sends rows to this rank */
    uint32_t epoch[QUERN_RANK_LIMIT];       /* of the entry, by rank */

    __device__ __forceinline__ void clear() {
        if (threadIdx.x < QUERN_RANK_WORDS) {
            giving[threadIdx.x] = 0;
        }
        if (threadIdx.x == 0) {
            own = header = receipt = overlap = NONE;
        }
        __syncthreads();
    }

    __device__ __forceinline__ bool any() const { return (own & header & receipt & overlap) != NONE; }
};

/* Two numbers that are not negative. */
static __device__ __forceinline__ int64_t saturated_sum(int64_t a, int64_t b) {
    const uint64_t sum = (uint64_t)a + (uint64_t)b;
    return sum > INT64_MAX ? INT64_MAX : (int64_t)sum;
}

static __device__ __forceinline__ quern_slice_report blank_report(const quern_ragged_problem &problem, quern_slice_fault fault,
                                                                  uint32_t index) {
    const uint32_t updates = problem.updates;
    return {(int32_t)fault, (int32_t)problem.links.rank, problem.rank_at[index / updates], (int32_t)(index % updates), 0, 0, 0, 0};
}

/* ---- this rank's own metadata ---- */

static __device__ __forceinline__ int64_t number(const quern_ragged_problem &problem, const void *array, uint32_t index) {
    return problem.metadata_is_int64 ? ((const int64_t *)array)[index] : ((const int32_t *)array)[index];
}

struct ragged_entry {
    int64_t input_offset, size, output_offset, expected;

    __device__ __forceinline__ ragged_entry(const quern_ragged_problem &problem, uint32_t index)
        : input_offset(number(problem, problem.input_offsets, index)), size(number(problem, problem.send_sizes, index)),
          output_offset(number(problem, problem.output_offsets, index)), expected(number(problem, problem.recv_sizes, index)) {}

    __device__ __forceinline__ quern_slice_fault fault(const quern_ragged_problem &problem) const {
        return input_offset < 0                                          ? QUERN_SLICE_INPUT_OFFSET
               : size < 0                                                ? QUERN_SLICE_SEND_SIZE
               : output_offset < 0                                       ? QUERN_SLICE_OUTPUT_OFFSET
               : expected < 0                                            ? QUERN_SLICE_RECV_SIZE
               : saturated_sum(input_offset, size) > problem.input_rows  ? QUERN_SLICE_BEYOND_INPUT
                                                                         : QUERN_SLICE_FINE;
    }

    __device__ __forceinline__ quern_slice_report report(const quern_ragged_problem &problem, uint32_t index) const {
        quern_slice_report report = blank_report(problem, fault(problem), index);
        report.value = report.fault == QUERN_SLICE_INPUT_OFFSET    ? input_offset
                       : report.fault == QUERN_SLICE_SEND_SIZE     ? size
                       : report.fault == QUERN_SLICE_OUTPUT_OFFSET ? output_offset
                       : report.fault == QUERN_SLICE_RECV_SIZE     ? expected
                                                                   : saturated_sum(input_offset, size);
        report.limit = report.fault == QUERN_SLICE_BEYOND_INPUT ? problem.input_rows : 0;
        return report;
    }
};

/*
 * Writes the header and the offers, and lists the slices to copy.  The list goes peer by peer, from the next place to this one, so
 * that not all ranks begin with the same peer.
 */
template <int THREADS>
static __device__ __forceinline__ void make_offers(const quern_ragged_problem &problem, ragged_faults &faults) {
    quern_ragged_header *header = problem.header[problem.place];
    const uint32_t updates = problem.updates, places = problem.places, count = places * updates;
    running_total before = {0, 0};
    for (uint32_t base = 0; base < count; base += THREADS) {
        const uint32_t turn = base + threadIdx.x;
        quern_ragged_slice slice = {0, 0, nullptr, nullptr};
        if (turn < count) {
            const uint32_t place = (problem.place + 1 + turn / updates) % places, index = place * updates + turn % updates;
            const ragged_entry entry(problem, index);
            header->offer[index] = {entry.output_offset, entry.size};
            if (entry.fault(problem) != QUERN_SLICE_FINE) {
                atomicMin(&faults.own, index);
            } else {
                slice.bytes = (uint64_t)entry.size * (uint64_t)problem.row_bytes;
                slice.from = problem.input + entry.input_offset * problem.row_bytes;
                /* Unsigned, because the offset has not been checked yet; its receiver checks it. */
                slice.to = (char *)((uint64_t)problem.output[place] + (uint64_t)entry.output_offset * (uint64_t)problem.row_bytes);
            }
        }
        running_total all;
        const running_total place = block_scan<THREADS>({slice.bytes, slice.bytes != 0}, &all);
        if (slice.bytes) {
            slice.begin = before.bytes + place.bytes;
            problem.work->slice[before.count + place.count] = slice;
        }
        before.add(all);
    }
    if (threadIdx.x < problem.links.ranks) {
        header->epoch[threadIdx.x] = faults.epoch[threadIdx.x] = meeting::next_epoch(problem.links, threadIdx.x);
    }
    if (threadIdx.x == 0) { /* all threads have these values */
        problem.work->bytes = before.bytes;
        problem.work->count = before.count;
        header->workspace_id = problem.workspace_id, header->workspace_offset = problem.workspace_offset;
        header->output_id = problem.output_id, header->output_offset = problem.output_offset;
        header->row_bytes = problem.row_bytes, header->updates = problem.updates;
    }
}

/* ---- the received slices ---- */

struct ragged_receipt {
    quern_ragged_offer offer;
    int64_t expected;

    __device__ __forceinline__ ragged_receipt(const quern_ragged_problem &problem, uint32_t index)
        : offer(problem.header[index / (uint32_t)problem.updates]
                    ->offer[(uint32_t)(problem.place * problem.updates) + index % (uint32_t)problem.updates]),
          expected(number(problem, problem.recv_sizes, index)) {}

    /* Skips faults that either side can see in its own numbers: that side reports them. */
    __device__ __forceinline__ quern_slice_fault fault(const quern_ragged_problem &problem) const {
        return offer.size < 0 || offer.output_offset < 0 || expected < 0              ? QUERN_SLICE_FINE
               : offer.size != expected                                               ? QUERN_SLICE_DISAGREEMENT
               : saturated_sum(offer.output_offset, offer.size) > problem.output_rows ? QUERN_SLICE_BEYOND_OUTPUT
                                                                                      : QUERN_SLICE_FINE;
    }

    __device__ __forceinline__ quern_slice_report report(const quern_ragged_problem &problem, uint32_t index) const {
        quern_slice_report report = blank_report(problem, fault(problem), index);
        const bool disagree = report.fault == QUERN_SLICE_DISAGREEMENT;
        report.value = disagree ? offer.size : saturated_sum(offer.output_offset, offer.size);
        report.limit = disagree ? expected : problem.output_rows;
        return report;
    }
};

/* A peer's header, without its offers. */
struct ragged_counterpart {
    uint64_t workspace_id, output_id;
    int64_t workspace_offset, output_offset, row_bytes, updates;
    uint32_t epoch;

    __device__ __forceinline__ ragged_counterpart(const quern_ragged_problem &problem, const quern_ragged_header *header)
        : workspace_id(header->workspace_id), output_id(header->output_id), workspace_offset(header->workspace_offset),
          output_offset(header->output_offset), row_bytes(header->row_bytes), updates(header->updates),
          epoch(header->epoch[problem.links.rank]) {}

    /* If a rank's workspace is elsewhere, its header is missing or was not written for this call. */
    __device__ __forceinline__ quern_slice_fault fault(const quern_ragged_problem &problem, uint32_t expected, bool gives) const {
        return epoch != expected || workspace_id != problem.workspace_id || workspace_offset != problem.workspace_offset
                   ? QUERN_SLICE_WORKSPACE_PLACE
               : row_bytes != problem.row_bytes ? QUERN_SLICE_ROW_BYTES
               : updates != problem.updates     ? QUERN_SLICE_UPDATES
               : gives && (output_id != problem.output_id || output_offset != problem.output_offset) ? QUERN_SLICE_OUTPUT_PLACE
                                                                                                     : QUERN_SLICE_FINE;
    }
};

static __device__ __forceinline__ quern_slice_report header_report(const quern_ragged_problem &problem,
                                                                  const ragged_faults &faults) {
    const ragged_counterpart peer(problem, problem.header[faults.header]);
    const uint32_t rank = problem.rank_at[faults.header];
    const bool gives = faults.giving[faults.header / 32] >> faults.header % 32 & 1;
    const quern_slice_fault fault = peer.fault(problem, faults.epoch[rank], gives);
    const bool updates = fault == QUERN_SLICE_UPDATES;
    return {fault, (int32_t)problem.links.rank, (int32_t)rank, 0, 0, 0, updates ? problem.updates : problem.row_bytes,
            updates ? peer.updates : peer.row_bytes};
}

/* After the entry: reads all headers and offers at once, because each access to a peer takes a microsecond. */
static __device__ __forceinline__ void check_receipts(const quern_ragged_problem &problem, ragged_faults &faults) {
    const uint32_t updates = problem.updates, places = problem.places, count = places * updates;
    const ragged_counterpart peer(problem, problem.header[threadIdx.x < places ? threadIdx.x : problem.place]);
    for (uint32_t index = threadIdx.x; index < count; index += blockDim.x) {
        const ragged_receipt receipt(problem, index);
        if (receipt.fault(problem) != QUERN_SLICE_FINE) {
            atomicMin(&faults.receipt, index);
        }
        if (receipt.offer.size > 0 && problem.row_bytes > 0) {
            atomicOr(&faults.giving[index / updates / 32], 1u << index / updates % 32);
        }
    }
    __syncthreads();
    if (threadIdx.x < places && threadIdx.x != problem.place) {
        const bool gives = faults.giving[threadIdx.x / 32] >> threadIdx.x % 32 & 1;
        if (peer.fault(problem, faults.epoch[problem.rank_at[threadIdx.x]], gives) != QUERN_SLICE_FINE) {
            atomicMin(&faults.header, threadIdx.x);
        }
    }
    __syncthreads();
}

#endif
