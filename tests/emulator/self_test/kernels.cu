// Kernels for the emulator's self-test: one for each group of instructions.
// Built for several generations; results are compared with plain C++ by self_test.cpp.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

#define KERNEL extern "C" __global__ void

struct Large { float value[1000]; int n; };

KERNEL add_one(float *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += 1.0f;
}

KERNEL scale(float *p, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] *= factor;
}

KERNEL float_arithmetic(const float *a, const float *b, const float *c, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = a[i], y = b[i], z = c[i], *o = out + i * 16;
  o[0] = x + y, o[1] = x - y, o[2] = x * y, o[3] = x / y, o[4] = __fmaf_rn(x, y, z), o[5] = sqrtf(fabsf(x));
  o[6] = fminf(x, y), o[7] = fmaxf(x, y), o[8] = __frcp_rn(x), o[9] = -x, o[10] = floorf(x), o[11] = rintf(x);
  o[12] = truncf(x), o[13] = __fadd_rz(x, y), o[14] = __fmul_ru(x, y), o[15] = copysignf(x, y);
}

KERNEL transcendental(const float *a, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = a[i], *o = out + i * 4;
  o[0] = expf(x), o[1] = logf(fabsf(x) + 1), o[2] = tanhf(x), o[3] = rsqrtf(fabsf(x) + 1);
}

// One row for each approximation of PTX; the last two are those of f64.
KERNEL approximations(const float *a, double *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = a[i], y;
  double *o = out + i * 11, z;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); o[0] = y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); o[1] = y;
  asm("div.approx.ftz.f32 %0, %1, %2;" : "=f"(y) : "f"(3.0f), "f"(x)); o[2] = y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); o[3] = y;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); o[4] = y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); o[5] = y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x)); o[6] = y;
  asm("sin.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); o[7] = y;
  asm("cos.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); o[8] = y;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(z) : "d"((double)x)); o[9] = z;
  asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(z) : "d"((double)x)); o[10] = z;
}

KERNEL conversions(const float *a, uint32_t *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = a[i];
  uint32_t *o = out + i * 12;
  o[0] = __bfloat16_as_ushort(__float2bfloat16_rn(x)), o[1] = __half_as_ushort(__float2half_rn(x));
  o[2] = __half_as_ushort(__float2half_rz(x)), o[3] = __bfloat16_as_ushort(__float2bfloat16_rz(x));
  o[4] = (uint32_t)__float2int_rz(x), o[5] = __float2uint_rn(x), o[6] = (uint32_t)__float2int_rd(x);
  o[7] = __float_as_uint(__bfloat162float(__ushort_as_bfloat16((unsigned short)o[0])));
  o[8] = __float_as_uint(__half2float(__ushort_as_half((unsigned short)o[1])));
  o[9] = __float_as_uint(__int2float_rn((int)o[4])), o[10] = __float_as_uint((float)(double)x);
  __nv_bfloat162 pair = __floats2bfloat162_rn(x, -x);
  o[11] = *reinterpret_cast<uint32_t *>(&pair);
}

KERNEL half_pairs(const __half2 *a, const __half2 *b, __half2 *out, const __nv_bfloat162 *c, const __nv_bfloat162 *d,
                  __nv_bfloat162 *bout) {
  int i = threadIdx.x;
  out[i * 4] = __hadd2(a[i], b[i]), out[i * 4 + 1] = __hmul2(a[i], b[i]), out[i * 4 + 2] = __hfma2(a[i], b[i], a[i]);
  out[i * 4 + 3] = __hmax2(a[i], b[i]);
#if __CUDA_ARCH__ >= 800
  bout[i * 4] = __hadd2(c[i], d[i]), bout[i * 4 + 1] = __hmul2(c[i], d[i]), bout[i * 4 + 2] = __hfma2(c[i], d[i], c[i]);
  bout[i * 4 + 3] = __hmin2(c[i], d[i]);
#endif
}

KERNEL integers(const int *a, const int *b, uint32_t *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int x = a[i], y = b[i];
  uint32_t u = (uint32_t)x, v = (uint32_t)y, *o = out + i * 20;
  o[0] = u * v, o[1] = __umulhi(u, v), o[2] = (uint32_t)__mulhi(x, y), o[3] = v ? u / v : 0, o[4] = v ? u % v : 0;
  o[5] = (uint32_t)(y && y != -1 ? x / y : 0), o[6] = (uint32_t)(y && y != -1 ? x % y : 0), o[7] = __clz(x), o[8] = __popc(u);
  o[9] = __brev(u), o[10] = __byte_perm(u, v, 0x3715), o[11] = __funnelshift_l(u, v, 7), o[12] = __funnelshift_rc(u, v, 33);
  o[13] = (u & v) ^ (~u | v), o[14] = (uint32_t)min(x, y), o[15] = max(u, v), o[16] = (uint32_t)abs(x);
  unsigned long long w = (unsigned long long)u * v + u;
  o[17] = (uint32_t)(w >> 32), o[18] = (uint32_t)(x >> (v & 31)), o[19] = (uint32_t)(w % 1000003u);
}

KERNEL large_parameter(const __grid_constant__ Large p, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  const Large *generic = &p;
  if (i < p.n) out[i] = generic->value[(i * 7) % p.n] + p.value[3];
}

__device__ __noinline__ float helper(float x, int n) { return n > 0 ? x * n : -x; }

KERNEL local_and_calls(float *out, const int *index, int n) {
  int i = threadIdx.x;
  float table[16];
  for (int k = 0; k < 16; k++) table[(k * n) & 15] = helper(float(k), k - 3);
  out[i] = table[index[i] & 15];
}

KERNEL block_sum(const float *in, float *out, int n) {
  extern __shared__ float part[];
  float s = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) s += in[i];
  part[threadIdx.x] = s;
  __syncthreads();
  for (int step = blockDim.x / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

// The same without the barrier between writing and reading.
KERNEL block_sum_racy(const float *in, float *out, int n) {
  extern __shared__ float part[];
  float s = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) s += in[i];
  part[threadIdx.x] = s;
  if (threadIdx.x == 0) {
    for (int i = 1; i < blockDim.x; i++) s += part[i];
    out[blockIdx.x] = s;
  }
}

KERNEL warp_operations(const int *in, uint32_t *out) {
  int i = threadIdx.x, x = in[i];
  uint32_t *o = out + i * 12;
  o[0] = __shfl_xor_sync(~0u, x, 5), o[1] = __shfl_up_sync(~0u, x, 3), o[2] = __shfl_down_sync(~0u, x, 3);
  o[3] = __shfl_sync(~0u, x, 9), o[4] = __shfl_xor_sync(~0u, x, 4, 8), o[5] = __ballot_sync(~0u, x > 0);
  o[6] = __any_sync(~0u, x == 7), o[7] = __all_sync(~0u, x > -1000), o[8] = __match_any_sync(~0u, x & 3);
  o[9] = __shfl_down_sync(~0u, x, 2, 4);
#if __CUDA_ARCH__ >= 800
  o[10] = __reduce_add_sync(~0u, x), o[11] = (uint32_t)__reduce_max_sync(~0u, x);
#endif
}

KERNEL half_warps(const int *in, int *out) {
  int i = threadIdx.x, x = in[i];
  uint32_t mask = i & 16 ? 0xffff0000u : 0xffffu;
  for (int d = 8; d; d /= 2) x += __shfl_xor_sync(mask, x, d);
  out[i] = x;
}

KERNEL vectors(const float4 *in, float4 *out, const int2 *in2, int2 *out2) {
  float4 v = in[threadIdx.x];
  out[threadIdx.x] = make_float4(v.w, v.z, v.y, v.x);
  int2 w = __ldcs(in2 + threadIdx.x);
  __stcs(out2 + threadIdx.x, make_int2(w.y, w.x));
}

KERNEL atomics(uint32_t *u, int *s, float *f, unsigned long long *w) {
  atomicAdd(u, 1u), atomicMax(u + 1, threadIdx.x), atomicMin(s, -(int)threadIdx.x), atomicAdd(f, 0.5f);
  atomicOr(u + 2, 1u << (threadIdx.x & 31)), atomicInc(u + 3, 9), atomicAdd(w, 1ull << 33), atomicXor(u + 4, threadIdx.x);
  uint32_t old, seen = atomicAdd(u + 5, 0u);
  do old = seen, seen = atomicCAS(u + 5, old, old + 2);
  while (seen != old);
}

// Every block waits for all others: needs co-residency.
KERNEL grid_barrier(uint32_t *count, uint32_t *out) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(count, 1);
    while (*(volatile uint32_t *)count < gridDim.x) {}
    __threadfence();
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = *(volatile uint32_t *)count;
}

// The order in which blocks begin: here they may be many more than have room.
KERNEL take_tickets(uint32_t *next, uint32_t *out) {
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = atomicAdd(next, 1);
}

KERNEL cross_device(uint32_t *mine, volatile uint32_t *theirs) {
  atomicExch_system(mine, 1u);
  while (*theirs == 0) {}
}

KERNEL divergent(int *out) {
  if (threadIdx.x < 40) { __syncthreads(); out[threadIdx.x] = 1; }
  else { out[threadIdx.x] = 3; __syncthreads(); out[threadIdx.x] = 2; }
}

KERNEL deadlock(int *out) {
  if (threadIdx.x == 5) { while (*(volatile int *)out == 0) {} }
  __syncthreads();
}

// Never comes; each poll empties the cache.
KERNEL acquires_in_a_loop(const uint32_t *word) {
  uint32_t seen = 0;
  while (!seen) asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(word) : "memory");
}

// Waits in two places by turns, for ever.
KERNEL circling(int *out) {
  while (*(volatile int *)out == 0)
    if (*(volatile int *)(out + 1) == 1) break;
}

KERNEL early_exit(int *out) {
  if (threadIdx.x == 7) return;
  __syncthreads();
  out[threadIdx.x] = 1;
}

KERNEL misaligned(char *p) { *(float4 *)(p + 4) = make_float4(1, 2, 3, 4); }
KERNEL trapping(int *p) { if (*p == 12345) __trap(); }
KERNEL large_shared(int *out) {
  extern __shared__ char big[];
  big[threadIdx.x] = 1;
  out[threadIdx.x] = big[threadIdx.x];
}
KERNEL shared_overrun(int n, int *out) {
  extern __shared__ int s[];
  s[threadIdx.x + n] = 1;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}
KERNEL uninitialised_shared(float *out) {
  extern __shared__ float u[];
  out[threadIdx.x] = u[threadIdx.x];
}

KERNEL switch_table(const int *in, int *out) {
  int r;
  switch (in[threadIdx.x]) {
    case 0: r = out[0] + 11; break;
    case 1: r = out[1] * 3; break;
    case 2: r = out[2] - 7; break;
    case 3: r = out[3] ^ 5; break;
    case 4: r = out[4] << 2; break;
    case 5: r = out[5] | 64; break;
    case 6: r = out[6] & 12; break;
    default: r = -1;
  }
  __syncwarp();
  out[threadIdx.x] = r;
}

#if __CUDA_ARCH__ >= 800
// cp.async; `wait` 0 forgets to wait and must see the poison.
KERNEL async_copy(const float *in, float *out, int wait) {
  __shared__ alignas(16) float tile[256];
  unsigned to = (unsigned)__cvta_generic_to_shared(tile + threadIdx.x * 4);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(in + threadIdx.x * 4),
               "r"(threadIdx.x == 3 ? 8 : 16));
  asm volatile("cp.async.commit_group;");
  if (wait) asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  for (int i = 0; i < 4; i++) out[threadIdx.x * 4 + i] = tile[threadIdx.x * 4 + i];
}
#endif

#if __CUDA_ARCH__ >= 900
KERNEL bulk_copy(const float *in, float *out) {
  __shared__ alignas(128) float tile[256];
  __shared__ alignas(8) uint64_t bar;
  unsigned b = (unsigned)__cvta_generic_to_shared(&bar), t = (unsigned)__cvta_generic_to_shared(tile);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(b));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" ::"r"(b) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];" ::"r"(t),
                 "l"(in), "r"(b) : "memory");
  }
  uint32_t done = 0;
  while (!done)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(b) : "memory");
  tile[threadIdx.x] *= 2;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;" ::"l"(out), "r"(t) : "memory");
    asm volatile("cp.async.bulk.commit_group;");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}

// Signals after .read: what it stored is not there yet. The other block looks when it sees the signal.
KERNEL bulk_store_signalled(const float *in, float *out, uint32_t *flag, float *seen, int whole) {
  __shared__ alignas(128) float tile[256];
  if (blockIdx.x == 0) {
    tile[threadIdx.x] = in[threadIdx.x];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
      unsigned t = (unsigned)__cvta_generic_to_shared(tile);
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;" ::"l"(out), "r"(t) : "memory");
      asm volatile("cp.async.bulk.commit_group;");
      if (whole) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
      else asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
      tile[5] = -1;
      asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
    }
  } else if (threadIdx.x == 0) {
    uint32_t f = 0;
    while (!f) asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(f) : "l"(flag) : "memory");
    seen[0] = out[5];
  }
}
#endif

#if __CUDA_ARCH__ >= 1000
KERNEL wide_vectors(const uint32_t *in, uint32_t *out) {
  uint32_t v[8];
  asm volatile("ld.global.v8.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]), "=r"(v[4]), "=r"(v[5]), "=r"(v[6]), "=r"(v[7])
               : "l"(in + threadIdx.x * 8));
  asm volatile("st.global.L1::no_allocate.v8.b32 [%0], {%1,%2,%3,%4,%5,%6,%7,%8};" ::"l"(out + threadIdx.x * 8), "r"(v[7]),
               "r"(v[6]),
               "r"(v[5]), "r"(v[4]), "r"(v[3]), "r"(v[2]), "r"(v[1]), "r"(v[0]) : "memory");
}
#endif

__device__ unsigned long long nanoseconds() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}

// The time between two reads of the clock, and until `wait` has passed.
KERNEL read_clock(unsigned long long wait, unsigned long long *out) {
  unsigned long long first = nanoseconds(), now = nanoseconds();
  out[0] = now - first;
  while (now - first < wait) now = nanoseconds();
  out[1] = now - first;
}
