/*
 * The columns of a row that one block takes, or some lanes of a warp, in shared memory.  Included by row_powers.cuh.
 *
 * The image has the bytes of global memory at the same distance from a multiple of 16, so that bulk copies can move all but the
 * first and the last few columns.  A vector is 16 bytes of columns; it begins at any element of the image.  Reading it takes one
 * load if the image begins at a multiple of 16, else two and a shift.  Vectors of global memory are read in the same way.
 */
#ifndef QUERN_DEVICE_ROW_IMAGE_CUH
#define QUERN_DEVICE_ROW_IMAGE_CUH

#include "kernels/cuda/dtype.cuh"
#include "kernels/cuda/vector.cuh"

typedef QUERN_LOGITS element;

enum {
    THREADS = QUERN_THREADS,       /* that share the columns: those of a block, or fewer than a warp has */
    WARPS = THREADS / 32,
    LANES = THREADS < 32 ? THREADS : 32, /* of a warp that share the columns */
    VECTOR = 16 / element::bytes,  /* elements */
    STEP = THREADS * 16,           /* bytes between two vectors of a thread */
    BATCH = 4,                     /* vectors that a thread has in flight */
};

extern __shared__ __align__(16) unsigned char block_memory[];

/* The number of a thread among those that share its columns. */
static __device__ __forceinline__ uint32_t own_number() { return THREADS < 32 ? threadIdx.x % THREADS : threadIdx.x; }

/* Makes the compiler compute what depends on a number for each row, and not once for all, which would take registers. */
static __device__ __forceinline__ uint32_t computed_anew(uint32_t number) {
    asm volatile("" : "+r"(number));
    return number;
}
static __device__ __forceinline__ int64_t computed_anew(int64_t number) {
    asm volatile("" : "+l"(number));
    return number;
}

/*
 * From a thread's first vector of a batch to the last vector that must exist for it to take the batch: its own last one.  Lanes
 * that share the columns take a batch all or none, lest the warp go through the loop of single vectors for those that it has taken.
 */
static __device__ __forceinline__ uint32_t batch_reach() {
    return THREADS < 32 ? BATCH * STEP - 16 - own_number() * 16 : (BATCH - 1) * STEP;
}

/*
 * Addresses in shared memory are 32-bit numbers: half the instructions of generic pointers.  Those in global memory are pointers.
 */

static __device__ __forceinline__ void load_words(uint32_t at, uint32_t *word) {
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3]) : "r"(at) : "memory");
}

static __device__ __forceinline__ void load_words(const char *at, uint32_t *word) { load_vector<16>(at, word); }

static __device__ __forceinline__ void store_words(uint32_t at, const uint32_t *word) {
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};"
                 :: "r"(at), "r"(word[0]), "r"(word[1]), "r"(word[2]), "r"(word[3]) : "memory");
}

static __device__ __forceinline__ element::bits load_shared_element(uint32_t at) {
    uint32_t x;
    if constexpr (element::bytes == 4) {
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(at) : "memory");
    } else {
        asm volatile("ld.shared.u16 %0, [%1];" : "=r"(x) : "r"(at) : "memory");
    }
    return (element::bits)x;
}

static __device__ __forceinline__ element::bits element_at(uint32_t at) { return load_shared_element(at); }
static __device__ __forceinline__ element::bits element_at(const char *at) { return load_element<element>(at, 0); }

static __device__ __forceinline__ void store_shared_element(uint32_t at, element::bits x) {
    if constexpr (element::bytes == 4) {
        asm volatile("st.shared.u32 [%0], %1;" :: "r"(at), "r"((uint32_t)x) : "memory");
    } else {
        asm volatile("st.shared.u16 [%0], %1;" :: "r"(at), "r"((uint32_t)x) : "memory");
    }
}

/* Reads vectors that begin WORDS words and `bits` bits after a multiple of 16. */
template <int WORDS> struct shifted_reader {
    uint32_t bits;

    template <class ADDRESS> __device__ __forceinline__ void operator()(ADDRESS at, uint32_t (&word)[4]) const {
        uint32_t both[8];
        load_words(at, both);
        load_words(at + 16, both + 4);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            word[i] = element::bytes == 4 ? both[WORDS + i] : __funnelshift_r(both[WORDS + i], both[WORDS + i + 1], bits);
        }
    }
};

struct aligned_reader {
    template <class ADDRESS> __device__ __forceinline__ void operator()(ADDRESS at, uint32_t (&word)[4]) const {
        load_words(at, word);
    }
};

/* Reads vectors that begin so many bytes after a multiple of 16: slowly and in little code, for what is rare. */
struct any_reader {
    uint32_t offset;

    template <class ADDRESS> __device__ __forceinline__ void operator()(ADDRESS at, uint32_t (&word)[4]) const {
#pragma unroll
        for (int i = 0; i < VECTOR; i++) {
            const uint32_t x = element_at(at + offset + i * element::bytes);
            word[i * element::bytes / 4] = element::bytes == 4 || i % 2 == 0 ? x : word[i / 2] | x << 16;
        }
    }
};

/* Calls WORK with the multiple of 16 below an address, and a reader of vectors that begin at that address. */
template <class ADDRESS, class WORK> static __device__ __forceinline__ auto read_from(ADDRESS first, WORK work) {
    const uint32_t offset = (uint32_t)(uintptr_t)first & 15, bits = element::bytes == 4 ? 0 : (offset & 2) * 8;
    const ADDRESS base = first - offset;
    switch (offset / 4) {
    case 0: return bits ? work(base, shifted_reader<0>{bits}) : work(base, aligned_reader());
    case 1: return work(base, shifted_reader<1>{bits});
    case 2: return work(base, shifted_reader<2>{bits});
    default: return work(base, shifted_reader<3>{bits});
    }
}

#endif
