/*
 * Plain loops over a GPU's memory: the baseline of the kernels.  Each thread has several 16-byte vectors in flight, and a warp's
 * accesses are contiguous.  With mask 0 the loops leave the data unchanged.
 *
 * machine_cuda.c repeats the number of vectors per block.
 */
enum { THREADS = 256, VECTORS = 4, TILE_VECTORS = 2 };

typedef unsigned long long size;

__device__ static uint4 exclusive_or(uint4 a, uint4 b) {
    return make_uint4(a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w);
}

/* A value that the data practically never give: the compiler must not remove the reads. */
__device__ static bool is_never(uint4 a) {
    return a.x == 0x9e3779b9 && a.y == 0x7f4a7c15 && a.z == 0xbf58476d && a.w == 0x94d049bb;
}

/* The i-th vector of this thread when each of its block's threads has n of them. */
__device__ static size place(int n, int i) {
    return (size)blockIdx.x * (THREADS * n) + (unsigned)(i * THREADS) + threadIdx.x;
}

extern "C" __global__ void __launch_bounds__(THREADS) stream_update(uint4 *data, size count, unsigned mask) {
    uint4 values[VECTORS];
    const uint4 change = make_uint4(mask, mask, mask, mask);
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
        if (place(VECTORS, i) < count) values[i] = data[place(VECTORS, i)];
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
        if (place(VECTORS, i) < count) data[place(VECTORS, i)] = exclusive_or(values[i], change);
}

extern "C" __global__ void __launch_bounds__(THREADS) stream_copy(uint4 *to, const uint4 *from, size count) {
    uint4 values[VECTORS];
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
        if (place(VECTORS, i) < count) values[i] = from[place(VECTORS, i)];
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
        if (place(VECTORS, i) < count) to[place(VECTORS, i)] = values[i];
}

/* An empty kernel: the part of a barrier's time that any kernel would take. */
extern "C" __global__ void stream_nothing() {}

/* Writes only if the values read add up to one that they practically never have. */
extern "C" __global__ void __launch_bounds__(THREADS) stream_read(const uint4 *data, size count, uint4 *never) {
    uint4 total = make_uint4(1, 2, 3, 4);
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
        if (place(VECTORS, i) < count) total = exclusive_or(total, data[place(VECTORS, i)]);
    if (is_never(total)) *never = total;
}

/* Like struct optimizer_arrays of stream.h: the access to an array, and the bytes of 32 of its elements. */
enum { READ, UPDATE, WRITE };
enum { MAX_ARRAYS = 8, UNIT_ELEMENTS = 32, TILE_ELEMENTS = 2048 };

struct array {
    uint4 *data;
    int unit_bytes;
    int access;
};

struct arrays {
    long long count;
    int arrays;
    array array[MAX_ARRAYS];
};

/* A block takes a tile of every array: two vectors per thread of fp32, one of 16 bits, one for every other thread of 8 bits. */
extern "C" __global__ void __launch_bounds__(THREADS)
stream_optimize(const __grid_constant__ arrays arrays, unsigned mask, uint4 *never) {
    uint4 values[MAX_ARRAYS][TILE_VECTORS], total = make_uint4(1, 2, 3, 4);
    const uint4 change = make_uint4(mask, mask, mask, mask);
#pragma unroll
    for (int a = 0; a < MAX_ARRAYS; a++) {
        const size vectors = TILE_ELEMENTS / UNIT_ELEMENTS * (size)arrays.array[a].unit_bytes / 16;
        const size all = arrays.count / UNIT_ELEMENTS * arrays.array[a].unit_bytes / 16;
#pragma unroll
        for (int i = 0; i < TILE_VECTORS; i++) {
            const size within = (unsigned)(i * THREADS) + threadIdx.x, at = blockIdx.x * vectors + within;
            values[a][i] = change;
            if (a < arrays.arrays && arrays.array[a].access != WRITE && within < vectors && at < all)
                values[a][i] = arrays.array[a].data[at];
        }
    }
#pragma unroll
    for (int a = 0; a < MAX_ARRAYS; a++) {
        const size vectors = TILE_ELEMENTS / UNIT_ELEMENTS * (size)arrays.array[a].unit_bytes / 16;
        const size all = arrays.count / UNIT_ELEMENTS * arrays.array[a].unit_bytes / 16;
#pragma unroll
        for (int i = 0; i < TILE_VECTORS; i++) {
            const size within = (unsigned)(i * THREADS) + threadIdx.x, at = blockIdx.x * vectors + within;
            if (a >= arrays.arrays || within >= vectors || at >= all) continue;
            if (arrays.array[a].access == READ)
                total = exclusive_or(total, values[a][i]);
            else if (arrays.array[a].access == UPDATE)
                arrays.array[a].data[at] = exclusive_or(values[a][i], change);
            else
                arrays.array[a].data[at] = change;
        }
    }
    if (is_never(total)) *never = total;
}
