/*
 * Kernels of an engine that use symmetric memory by themselves: one multiplies chunks of quern_quantize_chunks as they come, the
 * other one gathers a word of each rank.
 *
 *     nvcc -cubin -arch=sm_90 -I "$QUERN/include" device_functions.cu
 *
 * The host fills each view by quern_symmetric_view.  The first kernel is launched on another stream than the call, best behind it:
 * in front of it the kernel holds back those of its hardware queue.
 */
#include "quern_device.cuh"

/* ---- an fp8 matrix times an fp8 vector, row by row ---- */

struct chunk_product {
    quern_device_view ready;       /* of args.ready */
    unsigned int ready_value;
    int place;                     /* this rank's */
    long long members, rows, columns, chunk_rows;
    const unsigned char *output;   /* args.output: [members, rows, columns], E4M3 */
    const float *scale_inv;        /* args.scale_inv: complete when a chunk of this rank's place is ready */
    const unsigned char *block_scales;  /* args.block_scales: [members, rows, ceil(columns / 32)], ready with their chunk; NULL: none */
    const unsigned char *vector;   /* [columns], E4M3 */
    float *product;                /* [members, rows] */
    int *status;                   /* [1]: that of a wait which has ended with an error; else it stays as it was */
};

static __device__ float value_of(unsigned char code) {
    const int exponent = code >> 3 & 15, fraction = code & 7;
    const float magnitude = exponent ? ldexpf(1.0f + fraction / 8.0f, exponent - 7) : ldexpf(fraction / 8.0f, -6);
    return (code & 127) == 127 ? __int_as_float(0x7fc00000) : code & 128 ? -magnitude : magnitude;
}

/* One warp.  A block of 32 elements has a scale in E8M0, unless scales is NULL. */
static __device__ float multiply_row(const unsigned char *row, const unsigned char *scales, const unsigned char *vector,
                                     long long columns) {
    float sum = 0;
    for (long long i = threadIdx.x; i < columns; i += 32) {
        const float scale = scales ? ldexpf(1.0f, scales[i / 32] - 127) : 1.0f;
        sum += value_of(row[i]) * scale * value_of(vector[i]);
    }
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
    return sum;
}

extern "C" __global__ void multiply_chunks(const chunk_product job) {
    __shared__ quern_status status;
    const long long chunks = (job.rows + job.chunk_rows - 1) / job.chunk_rows, across = (job.columns + 31) / 32;
    if (threadIdx.x == 0) status = quern_wait_for_chunk(job.ready, chunks, job.place, 0, job.ready_value);
    for (long long row = blockIdx.x; row < job.members * job.rows; row += gridDim.x) {
        if (threadIdx.x == 0 && status == QUERN_OK)
            status = quern_wait_for_chunk(job.ready, chunks, row / job.rows, row % job.rows / job.chunk_rows, job.ready_value);
        __syncthreads();
        if (status != QUERN_OK) break;
        const unsigned char *scales = job.block_scales ? job.block_scales + row * across : NULL;
        const float sum = multiply_row(job.output + row * job.columns, scales, job.vector, job.columns);
        if (threadIdx.x == 0) job.product[row] = scales ? sum : sum * *(const volatile float *)job.scale_inv;
        __syncthreads();
    }
    if (threadIdx.x == 0 && status != QUERN_OK) *job.status = status;
}

/* ---- a word of each rank ---- */

/* What a rank writes into the memory of all ranks. */
struct gathered_word {
    unsigned int word, signal;     /* the signal says that the word is there */
};

/* The view is of [ranks] gathered words, of which none has this signal before; a block has at least as many threads as ranks. */
extern "C" __global__ void gather_words(const quern_device_view view, unsigned int word, unsigned int signal, unsigned int *words,
                                        int *status) {
    const int rank = threadIdx.x;
    if (rank >= view.ranks) return;
    gathered_word *to = (gathered_word *)quern_peer(view, rank, view.rank * sizeof(gathered_word));
    to->word = word;
    quern_signal(&to->signal, signal);
    const gathered_word *from = (const gathered_word *)view.peer[view.rank] + rank;
    const quern_status result = quern_wait(view, &from->signal, signal);
    if (result == QUERN_OK) words[rank] = *(const volatile unsigned int *)&from->word;
    else *status = result;
}
