// Kernels in which several devices, driven by one or several threads or processes, wait for each other.
#include <stdint.h>

#define KERNEL extern "C" __global__ void

constexpr int most_ranks = 16;
struct Ranks { uint32_t *flags[most_ranks]; uint32_t *data[most_ranks]; int rank, count; };

__device__ __forceinline__ void store_release(uint32_t *p, uint32_t v) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
__device__ __forceinline__ uint32_t load_acquire(const uint32_t *p) {
  uint32_t v;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
__device__ __forceinline__ uint32_t load_relaxed(const uint32_t *p) {
  uint32_t v;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
__device__ __forceinline__ uint64_t nanoseconds() {
  uint64_t t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}

// Puts the epoch to all, waits for all: true if they came within the limit.
__device__ bool barrier(const Ranks &r, uint32_t epoch, uint64_t limit) {
  __syncthreads();
  bool came = true;
  if (threadIdx.x < r.count) {
    store_release(r.flags[threadIdx.x] + r.rank, epoch);
    const uint64_t end = nanoseconds() + limit;
    while (came && (int32_t)(load_relaxed(r.flags[r.rank] + threadIdx.x) - epoch) < 0) came = nanoseconds() < end;
    load_acquire(r.flags[r.rank] + threadIdx.x);
  }
  return __syncthreads_and(came);
}

// Every round each rank stores a number, and reads all the others' after a barrier. `wrong` counts wrong values.
KERNEL barrier_rounds(const Ranks r, uint32_t first, uint32_t rounds, uint64_t limit, uint32_t *wrong) {
  uint32_t epoch = first, bad = 0;
  for (uint32_t n = 1; n <= rounds; n++) {
    if (threadIdx.x == 0) r.data[r.rank][0] = n * 100 + r.rank;
    if (!barrier(r, ++epoch, limit)) { bad = 1000000; break; }
    if (threadIdx.x < r.count) bad += r.data[threadIdx.x][0] != n * 100 + threadIdx.x;
    if (!barrier(r, ++epoch, limit)) { bad = 1000000; break; }
  }
  atomicAdd(wrong, bad);
}

// The same without the second barrier: a rank may overwrite its number before the others have read it.
KERNEL barrier_rounds_racy(const Ranks r, uint32_t rounds, uint64_t limit, uint32_t *wrong) {
  for (uint32_t n = 1; n <= rounds; n++) {
    if (threadIdx.x == 0) r.data[r.rank][0] = n * 100 + r.rank;
    if (!barrier(r, n, limit)) break;
    if (threadIdx.x < r.count && r.data[threadIdx.x][0] == 0) atomicAdd(wrong, 1);
  }
}

// The oldest way: volatile accesses, a fence, sleep.
KERNEL fenced_exchange(volatile uint32_t *mine, volatile uint32_t *theirs, uint32_t *out) {
  mine[1] = 41;
  __threadfence_system();
  mine[0] = 1;
  while (theirs[0] == 0) asm volatile("nanosleep.u32 100;");
  __threadfence_system();
  *out = theirs[1] + 1;
}

KERNEL touch(uint32_t *p, uint32_t value) { *p = value; }
KERNEL copy_word(const uint32_t *from, uint32_t *to) { *to = *from; }

// Waits for host memory to change; between two reads it reads the clock alone.
KERNEL wait_for_host(volatile uint32_t *flag, uint32_t *out) {
  while (*flag == 0) {
    const uint64_t end = nanoseconds() + 10000;
    while (nanoseconds() < end) {}
  }
  if (threadIdx.x == 0) *out = *flag;
}

// One thread works through this list of accesses; self_test compares the bytes.
KERNEL ordered_accesses(uint8_t *in, uint8_t *out) {
  uint32_t a, b, c, d;
  uint64_t w, x;
  asm volatile("ld.acquire.sys.global.u8 %0, [%1];" : "=r"(a) : "l"(in) : "memory");
  asm volatile("st.release.sys.global.u8 [%0], %1;" ::"l"(out), "r"(a) : "memory");
  uint16_t h;
  asm volatile("ld.relaxed.gpu.global.u16 %0, [%1];" : "=h"(h) : "l"(in + 2) : "memory");
  asm volatile("st.relaxed.cta.global.u16 [%0], %1;" ::"l"(out + 2), "h"(h) : "memory");
  asm volatile("ld.volatile.global.b32 %0, [%1];" : "=r"(a) : "l"(in + 4) : "memory");
  asm volatile("st.volatile.global.b32 [%0], %1;" ::"l"(out + 4), "r"(a) : "memory");
  asm volatile("ld.acquire.cta.global.b64 %0, [%1];" : "=l"(w) : "l"(in + 8) : "memory");
  asm volatile("st.release.gpu.global.b64 [%0], %1;" ::"l"(out + 8), "l"(w) : "memory");
  asm volatile("ld.global.v4.u8 {%0,%1,%2,%3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(in + 16) : "memory");
  asm volatile("st.global.v4.u8 [%0], {%1,%2,%3,%4};" ::"l"(out + 16), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
  uint16_t h2, h3, h4;
  asm volatile("ld.global.v4.b16 {%0,%1,%2,%3}, [%4];" : "=h"(h), "=h"(h2), "=h"(h3), "=h"(h4) : "l"(in + 24) : "memory");
  asm volatile("st.global.v4.b16 [%0], {%1,%2,%3,%4};" ::"l"(out + 24), "h"(h), "h"(h2), "h"(h3), "h"(h4) : "memory");
  asm volatile("ld.global.v2.b64 {%0,%1}, [%2];" : "=l"(w), "=l"(x) : "l"(in + 32) : "memory");
  asm volatile("st.global.v2.b64 [%0], {%1,%2};" ::"l"(out + 32), "l"(w), "l"(x) : "memory");
  asm volatile("{ .reg .b128 q; ld.global.b128 q, [%0]; st.global.b128 [%1], q; }" ::"l"(in + 48), "l"(out + 48) : "memory");
  asm volatile("{ .reg .b128 q; ld.global.b128 q, [%2]; mov.b128 {%0, %1}, q; }" : "=l"(w), "=l"(x) : "l"(in + 64) : "memory");
  asm volatile("{ .reg .b128 q; mov.b128 q, {%0, %1}; st.global.b128 [%2], q; }" ::"l"(w), "l"(x), "l"(out + 64) : "memory");
  asm volatile("red.release.sys.global.add.u32 [%0], %1;" ::"l"(out + 80), "r"(5) : "memory");
  asm volatile("atom.acq_rel.sys.global.cas.b32 %0, [%1], 5, 77;" : "=r"(a) : "l"(out + 80) : "memory");
  asm volatile("atom.acquire.gpu.global.exch.b64 %0, [%1], %2;" : "=l"(w) : "l"(out + 88), "l"(0x1122334455667788ull) : "memory");
  asm volatile("red.relaxed.sys.global.or.b64 [%0], %1;" ::"l"(out + 96), "l"(0xff00ull) : "memory");
  asm volatile("fence.acq_rel.sys; fence.sc.sys; membar.sys; membar.gl;" ::: "memory");
  asm volatile("st.global.u32 [%0], %1;" ::"l"(out + 104), "r"(a) : "memory");
#if __CUDA_ARCH__ >= 1000
  uint64_t y, z;
  asm volatile("ld.global.v4.b64 {%0,%1,%2,%3}, [%4];" : "=l"(w), "=l"(x), "=l"(y), "=l"(z) : "l"(in + 128) : "memory");
  asm volatile("st.global.v4.b64 [%0], {%1,%2,%3,%4};" ::"l"(out + 128), "l"(w), "l"(x), "l"(y), "l"(z) : "memory");
#endif
}

#if __CUDA_ARCH__ >= 900
KERNEL multicast_store(uint32_t *word, uint64_t *wide) {
  asm volatile("multimem.st.release.sys.global.u32 [%0], %1;" ::"l"(word + threadIdx.x), "r"(threadIdx.x + 7) : "memory");
  asm volatile("multimem.st.relaxed.gpu.global.b64 [%0], %1;" ::"l"(wide + threadIdx.x), "l"(1ull << threadIdx.x) : "memory");
}

// 16 bytes of each thread; a store keeps the bits of a NaN.
KERNEL multicast_vector(float *at) {
  const float x = __uint_as_float(0x7f800001u + threadIdx.x);
  asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %1, %1, %2};" ::"l"(at + 4 * threadIdx.x), "f"(x), "f"(1.0f)
               : "memory");
}

KERNEL multicast_add(uint32_t *word, uint64_t *wide) {
  asm volatile("multimem.red.release.sys.global.add.u32 [%0], %1;" ::"l"(word + threadIdx.x), "r"(100) : "memory");
  asm volatile("multimem.red.relaxed.sys.global.or.b64 [%0], %1;" ::"l"(wide + threadIdx.x), "l"(1ull << 40) : "memory");
}

KERNEL multicast_reduce(uint32_t *word, uint64_t *wide, uint32_t *sum, int32_t *least, uint64_t *all) {
  uint32_t s;
  int32_t l;
  uint64_t a;
  asm volatile("fence.proxy.alias;" ::: "memory");
  asm volatile("multimem.ld_reduce.acquire.sys.global.add.u32 %0, [%1];" : "=r"(s) : "l"(word + threadIdx.x) : "memory");
  asm volatile("multimem.ld_reduce.relaxed.sys.global.min.s32 %0, [%1];" : "=r"(l) : "l"(word + threadIdx.x) : "memory");
  asm volatile("multimem.ld_reduce.weak.global.or.b64 %0, [%1];" : "=l"(a) : "l"(wide + threadIdx.x) : "memory");
  sum[threadIdx.x] = s, least[threadIdx.x] = l, all[threadIdx.x] = a;
}

// The sums of 16 bytes of each thread, then of 8 and of 4: 7 words.
KERNEL multicast_sums(const uint32_t *word, uint32_t *sum) {
  const uint32_t *at = word + 4 * threadIdx.x;
  uint32_t s[7];
  asm volatile("fence.proxy.alias;" ::: "memory");
  asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=r"(s[0]), "=r"(s[1]), "=r"(s[2]), "=r"(s[3]) : "l"(at) : "memory");
  asm volatile("multimem.ld_reduce.weak.global.add.v2.f32 {%0, %1}, [%2];" : "=r"(s[4]), "=r"(s[5]) : "l"(at) : "memory");
  asm volatile("multimem.ld_reduce.acquire.sys.global.add.f32 %0, [%1];" : "=r"(s[6]) : "l"(at) : "memory");
  for (int i = 0; i < 7; i++) sum[7 * threadIdx.x + i] = s[i];
}

// Of halves: four words of f16, then four of bf16.
KERNEL multicast_half_sums(const uint32_t *word, uint32_t *sum) {
  uint32_t s[8];
  asm volatile("fence.proxy.alias;" ::: "memory");
  asm volatile("multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.f16x2 {%0, %1, %2, %3}, [%4];"
               : "=r"(s[0]), "=r"(s[1]), "=r"(s[2]), "=r"(s[3]) : "l"(word) : "memory");
  asm volatile("multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.bf16x2 {%0, %1, %2, %3}, [%4];"
               : "=r"(s[4]), "=r"(s[5]), "=r"(s[6]), "=r"(s[7]) : "l"(word + 4) : "memory");
  for (int i = 0; i < 8; i++) sum[i] = s[i];
}

KERNEL multicast_unfenced_sum(const uint32_t *word, uint32_t *sum, bool too_soon) {
  uint32_t s;
  if (too_soon) asm volatile("fence.proxy.alias;" ::: "memory");
  __syncthreads();
  asm volatile("multimem.ld_reduce.relaxed.sys.global.add.f32 %0, [%1];" : "=r"(s) : "l"(word) : "memory");
  *sum = s;
}

// Arrives everywhere with one instruction, then waits at home.
KERNEL multicast_barrier(uint32_t *everywhere, uint32_t *here, uint32_t count, uint32_t rounds, uint32_t *out) {
  for (uint32_t n = 1; n <= rounds; n++) {
    asm volatile("multimem.red.release.sys.global.add.u32 [%0], 1;" ::"l"(everywhere) : "memory");
    asm volatile("fence.proxy.alias;" ::: "memory");
    while (load_relaxed(here) < n * count) {}
  }
  *out = load_acquire(here);
}

// The same memory at two addresses without the fence.
KERNEL multicast_unfenced(uint32_t *everywhere, uint32_t *here) {
  asm volatile("multimem.red.release.sys.global.add.u32 [%0], 1;" ::"l"(everywhere) : "memory");
  while (load_acquire(here) < 1) {}
}

// The fence behind what was acquired is missing.
KERNEL multicast_acquired(uint32_t *everywhere, uint32_t *here) {
  asm volatile("multimem.red.release.sys.global.add.u32 [%0], 1;" ::"l"(everywhere) : "memory");
  asm volatile("fence.proxy.alias;" ::: "memory");
  while (load_acquire(here) < 1) {}
  __syncthreads();
}

KERNEL multicast_fenced_too_soon(uint32_t *everywhere, uint32_t *here) {
  asm volatile("fence.proxy.alias;" ::: "memory");
  if (threadIdx.x == 0) asm volatile("multimem.red.release.sys.global.add.u32 [%0], 1;" ::"l"(everywhere) : "memory");
  __syncthreads();
  while (load_acquire(here) < 1) {}
}
#endif
