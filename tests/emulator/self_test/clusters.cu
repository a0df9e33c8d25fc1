// Kernels whose blocks work together in clusters: their barrier, shared memory of one another, mbarriers and bulk copies. Each
// takes a fault: 0 is correct, any other number makes one mistake.
#include <cooperative_groups.h>
#include <stdint.h>

#define KERNEL extern "C" __global__ void
#define SPECIAL(name) ({ uint32_t v; asm volatile("mov.u32 %0, %%" name ";" : "=r"(v)); v; })

__device__ __forceinline__ uint32_t shared_address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ __forceinline__ uint32_t rank() { return SPECIAL("cluster_ctarank"); }
__device__ __forceinline__ uint32_t ranks() { return SPECIAL("cluster_nctarank"); }
__device__ __forceinline__ uint32_t map(uint32_t address, uint32_t r) {
  uint32_t there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(r));
  return there;
}
template <class T> __device__ __forceinline__ T *map(T *p, uint32_t r) {
  T *there;
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(p), "r"(r));
  return there;
}
__device__ __forceinline__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
__device__ __forceinline__ void cluster_sync() { cluster_arrive(), cluster_wait(); }

// ---- registers and addresses ----

KERNEL registers(uint32_t *out) {
  uint32_t *o = out + 20 * (blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z));
  if (threadIdx.x) return;
  o[0] = SPECIAL("cluster_ctaid.x"), o[1] = SPECIAL("cluster_ctaid.y"), o[2] = SPECIAL("cluster_ctaid.z");
  o[3] = SPECIAL("cluster_nctaid.x"), o[4] = SPECIAL("cluster_nctaid.y"), o[5] = SPECIAL("cluster_nctaid.z");
  o[6] = SPECIAL("clusterid.x"), o[7] = SPECIAL("clusterid.y"), o[8] = SPECIAL("clusterid.z");
  o[9] = SPECIAL("nclusterid.x"), o[10] = SPECIAL("nclusterid.y"), o[11] = SPECIAL("nclusterid.z");
  o[12] = rank(), o[13] = ranks();
  asm volatile("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }" : "=r"(o[14]));
}

KERNEL addresses(uint32_t *out) {
  __shared__ uint32_t here[4];
  const uint32_t next = (rank() + 1) % ranks(), own = shared_address(here + 1), remote = map(own, next);
  uint32_t *generic = map(here + 1, next), got = 0;
  uint64_t converted, back;
  if (threadIdx.x == 0) here[1] = 100 + rank();
  cluster_sync();
  asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(got) : "r"(remote));
  bool ok = got == next;
  asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(got) : "r"(own));
  ok &= got == rank();
  asm volatile("getctarank.u64 %0, %1;" : "=r"(got) : "l"(generic));
  ok &= got == next;
  asm volatile("cvta.shared::cluster.u64 %0, %1;" : "=l"(converted) : "l"((uint64_t)remote));
  ok &= converted == (uint64_t)generic;
  asm volatile("cvta.to.shared::cluster.u64 %0, %1;" : "=l"(back) : "l"(generic));
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(got) : "r"((uint32_t)back) : "memory");
  ok &= got == 100 + next && map(map(own, next), rank()) == map(own, rank());
  asm volatile("{ .reg .pred p, q; isspacep.shared::cta p, %1; isspacep.shared::cluster q, %1; not.pred p, p; and.pred p, p, q; "
               "selp.u32 %0, 1, 0, p; }" : "=r"(got) : "l"(generic));
  ok &= got == (ranks() > 1);
  asm volatile("{ .reg .pred p; isspacep.shared::cluster p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(got) : "l"(out));
  ok &= got == 0;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(got) : "r"(own) : "memory");
  ok &= got == 100 + rank();
  cluster_sync();
  out[blockIdx.x * blockDim.x + threadIdx.x] = ok;
}

// ---- shared memory of another block ----

enum ExchangeFault { exchange_right, no_first_barrier, no_last_barrier, no_last_barrier_generic, past_the_end, rank_too_large,
                     mapped_as_own, misaligned_remote, mapa_of_global, no_barrier_at_first };

KERNEL exchange(int *out, int fault) {
  __shared__ alignas(16) int box[64];
  __shared__ int sum, most;
  const uint32_t next = (rank() + 1) % ranks(), after = (rank() + 2) % ranks(), i = threadIdx.x;
  box[i] = -1;
  if (i == 0) sum = 0, most = -1;
  if (fault != no_barrier_at_first) cluster_sync();
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(map(shared_address(box + i), next)), "r"(1000 * rank() + i) : "memory");
  asm volatile("red.shared::cluster.add.u32 [%0], %1;" ::"r"(map(shared_address(&sum), 0)), "r"(i) : "memory");
  atomicMax(map(&most, 0), int(rank() * 100 + i));
  if (fault != no_first_barrier) cluster_sync();
  uint32_t address = map(shared_address(box + i), after);
  if (fault == past_the_end) address += 4096;
  if (fault == rank_too_large) address = map(shared_address(box + i), ranks());
  if (fault == misaligned_remote) address += 2;
  int *pointer = fault == mapa_of_global ? map(out, after) : map(box + i, after), got = 0;
  if (fault == mapped_as_own) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(got) : "r"(address) : "memory");
  else if (fault == no_last_barrier_generic || (i & 1)) got = *(volatile int *)pointer;
  else asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(got) : "r"(address) : "memory");
  int *o = out + 3 * (blockIdx.x * blockDim.x + i);
  o[0] = got, o[1] = map(&sum, 0)[0], o[2] = *map(&most, 0);
  if (fault != no_last_barrier && fault != no_last_barrier_generic) cluster_sync();
}

KERNEL vectors_of_peers(float4 *out) {
  __shared__ float4 box[32];
  const uint32_t next = (rank() + 1) % ranks(), i = threadIdx.x;
  cluster_sync();
  const float base = 100.f * rank() + i;
  asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(map(shared_address(box + i), next)), "f"(base),
               "f"(base + .25f), "f"(base + .5f), "f"(base + .75f) : "memory");
  cluster_sync();
  out[blockIdx.x * 32 + i] = box[i];
}

// Every block stores a number with rank 0, which must have started.
KERNEL gathered(int *out, int unsynchronised) {
  __shared__ int box[16];
  if (!unsynchronised) cluster_sync();
  if (threadIdx.x == 0 && rank()) *map(box + rank(), 0) = 10 * rank();
  cluster_sync();
  if (threadIdx.x < ranks() && rank() == 0) out[threadIdx.x] = threadIdx.x ? box[threadIdx.x] : 0;
}

// A flag and a value in another block's memory, by release and acquire.
KERNEL flags_of_peers(int *out) {
  __shared__ int flag, value;
  if (threadIdx.x == 0) flag = value = 0;
  cluster_sync();
  if (threadIdx.x == 0) {
    const uint32_t next = (rank() + 1) % ranks(), there = map(shared_address(&flag), next);
    *map(&value, next) = 7 + rank();
    asm volatile("st.release.cluster.shared::cluster.u32 [%0], 1;" ::"r"(there) : "memory");
    int f = 0;
    while (!f) asm volatile("ld.acquire.cluster.shared::cta.u32 %0, [%1];" : "=r"(f) : "r"(shared_address(&flag)) : "memory");
    out[blockIdx.x] = value;
  }
  cluster_sync();
}

// ---- the barrier of the cluster ----

enum BarrierFault { barrier_right, arrives_twice, waits_unarrived, diverges, block_missing, relaxed_arrival };

KERNEL cluster_barriers(int *out, int fault) {
  __shared__ int box;
  const uint32_t next = (rank() + 1) % ranks();
  int got = 0;
  if (threadIdx.x == 5) return;  // is not waited for
  for (int round = 0; round < 3; round++) {
    if (threadIdx.x == 0) box = 10 * round + rank();
    if (fault == diverges && threadIdx.x == 3) cluster_arrive();
    else if (fault == block_missing && rank() == 1) return;
    else if (fault == relaxed_arrival) asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
    else if (fault != waits_unarrived) cluster_arrive();
    if (fault == arrives_twice) cluster_arrive();
    got += threadIdx.x;  // work between the two
    cluster_wait();
    got += *map(&box, next);
    asm volatile("barrier.cluster.arrive;" ::: "memory");
    asm volatile("barrier.cluster.wait;" ::: "memory");
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = got;
}

// Its last arrival is one that no thread of its block waits for.
KERNEL arrives_and_leaves(int *out) {
  __shared__ int box;
  if (threadIdx.x == 0) box = 5 + rank();
  cluster_sync();
  cluster_arrive();
  if (rank()) return;
  cluster_wait();
  out[threadIdx.x] = box;
}

namespace cg = cooperative_groups;

KERNEL __cluster_dims__(4, 1, 1) cooperative(float *out) {
  extern __shared__ float dynamic[];
  __shared__ float sum;
  cg::cluster_group cluster = cg::this_cluster();
  dynamic[threadIdx.x] = float(threadIdx.x + 1000 * cluster.block_rank());
  if (threadIdx.x == 0) sum = 0;
  cluster.sync();
  float *peer = cluster.map_shared_rank(dynamic, (cluster.block_rank() + 1) % cluster.num_blocks());
  const float v = peer[threadIdx.x];
  atomicAdd(cluster.map_shared_rank(&sum, 0), float(cluster.query_shared_rank(peer)));
  auto token = cluster.barrier_arrive();
  cluster.barrier_wait(static_cast<decltype(token) &&>(token));
  out[cluster.num_threads() * (blockIdx.x / 4) + cluster.thread_rank()] =
      v + *cluster.map_shared_rank(&sum, 0) + cluster.dim_blocks().x;
  cluster.sync();
}

KERNEL __cluster_dims__() any_cluster(uint32_t *out) { if (threadIdx.x == 0) out[blockIdx.x] = ranks(); }
KERNEL __launch_bounds__(64, 1, 4) bounded_cluster(uint32_t *out) { if (threadIdx.x == 0) out[blockIdx.x] = ranks(); }

// ---- mbarriers ----

__device__ __forceinline__ void init(uint32_t bar, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}
__device__ __forceinline__ uint64_t arrive(uint32_t bar, uint32_t count = 1) {
  uint64_t state;
  asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], %2;" : "=l"(state) : "r"(bar), "r"(count) : "memory");
  return state;
}
__device__ __forceinline__ bool test(uint32_t bar, uint64_t state) {
  uint32_t done;
  asm volatile("{ .reg .pred p; mbarrier.test_wait.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
               : "=r"(done) : "r"(bar), "l"(state) : "memory");
  return done;
}
__device__ __forceinline__ bool try_parity(uint32_t bar, uint32_t parity) {
  uint32_t done;
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2, 1000; selp.u32 %0, 1, 0, p; }"
               : "=r"(done) : "r"(bar), "r"(parity) : "memory");
  return done;
}
__device__ __forceinline__ void wait_in_block(uint32_t bar, uint32_t parity) {
  uint32_t done;
  do asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                  : "=r"(done) : "r"(bar), "r"(parity) : "memory");
  while (!done);
}
__device__ __forceinline__ void wait_parity(uint32_t bar, uint32_t parity) { while (!try_parity(bar, parity)) {} }

enum MbarrierFault { mbarrier_right, not_initialised, too_many_arrivals, no_complete_completes, initialised_twice, written_over,
                     misaligned_mbarrier, waits_remotely, stale_state, parity_of_two, count_of_zero, used_after_inval,
                     never_completed, too_many_bytes, mbarrier_in_global };

KERNEL mbarriers(uint32_t *out, int fault) {
  __shared__ uint64_t bars[3];
  __shared__ int box;
  const uint32_t b = shared_address(bars), i = threadIdx.x, n = blockDim.x;
  uint32_t count = 0, *o = out + 4 * (blockIdx.x * n + i);
  if (i == 0 && fault != not_initialised) init(b, fault == count_of_zero ? 0 : n), init(b + 8, n * ranks());
  if (i == 0 && fault == initialised_twice) init(b, n);
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  cluster_sync();
  if (i == 0) {  // one thread through the counts, phase by phase
    init(b + 16, 3);
    const uint64_t first = arrive(b + 16, 2);
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(count) : "l"(first));
    uint32_t ok = count == 3 && !test(b + 16, first);
    uint64_t second;
    asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1];" : "=l"(second) : "r"(b + 16) : "memory");
    ok += test(b + 16, first) && test(b + 16, second);
    asm volatile("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], %2;" : "=l"(second)
                 : "r"(b + 16), "r"(fault == no_complete_completes ? 2 : 1) : "memory");
    const uint32_t bytes = fault == too_many_bytes ? 1 << 20 : 40;
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(b + 16), "r"(bytes) : "memory");
    arrive(b + 16);
    ok += !test(b + 16, second);
    asm volatile("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0], 40;" ::"r"(b + 16) : "memory");
    ok += test(b + 16, second) && try_parity(b + 16, 1);
    if (fault == stale_state) ok += test(b + 16, first);
    if (fault == written_over) bars[2] = 17;
    if (fault == mbarrier_in_global) asm volatile("mbarrier.arrive.b64 _, [%0];" ::"l"(out) : "memory");
    if (fault == parity_of_two) try_parity(b + 16, 2);
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(b + 16) : "memory");
    if (fault == used_after_inval) arrive(b + 16);
    o[3] = ok;
  }
  if (i == 0) box = 40 + rank();
  uint64_t state = arrive(fault == misaligned_mbarrier ? b + 4 : b);
  if (fault == too_many_arrivals) arrive(b, n);
  while (!test(b, state)) {}
  o[0] = box;
  // Every thread arrives everywhere; after the wait all have arrived.
  if (fault != never_completed || i)
    for (uint32_t r = 0; r < ranks(); r++)
      asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(map(b + 8, r)) : "memory");
  if (fault == waits_remotely) wait_parity(map(b + 8, (rank() + 1) % ranks()), 0);
  wait_parity(b + 8, 0);
  o[1] = *map(&box, (rank() + 1) % ranks());
  cluster_sync();
}

// Each block stores a number with the next and arrives at its mbarrier: 1 with too narrow a scope, 2 without an order.
KERNEL signalled(int *out, int fault) {
  __shared__ uint64_t bar;
  __shared__ int box;
  const uint32_t b = shared_address(&bar), next = (rank() + 1) % ranks(), there = map(b, next);
  if (threadIdx.x == 0) {
    init(b, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  cluster_sync();
  if (threadIdx.x == 0) {
    *map(&box, next) = 60 + rank();
    if (fault == 1) asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(there) : "memory");
    else if (fault == 2) asm volatile("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];" ::"r"(there) : "memory");
    else asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(there) : "memory");
  }
  wait_parity(b, 0);
  out[blockIdx.x * blockDim.x + threadIdx.x] = box;
  cluster_sync();
}

// cp.async that an mbarrier counts.
KERNEL counted_copies(const float *in, float *out, int from) {
  __shared__ alignas(16) float tile[256];
  __shared__ uint64_t bar;
  const uint32_t b = shared_address(&bar), i = threadIdx.x;
  if (i == 0) init(b, 64);
  __syncthreads();
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(tile + 4 * i)), "l"(in + 4 * i + from) : "memory");
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(b) : "memory");
  wait_parity(b, 0);
  for (int k = 0; k < 4; k++) out[4 * i + k] = tile[(4 * i + k + 17) % 256];
}

// ---- bulk copies ----

__device__ __forceinline__ void bulk_load(uint32_t to, const float *from, uint32_t bytes, uint32_t bar) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               ::"r"(to), "l"(from), "r"(bytes), "r"(bar) : "memory");
}
__device__ __forceinline__ void bulk_multicast(uint32_t to, const float *from, uint32_t bytes, uint32_t bar, uint16_t ctas) {
#if __CUDA_ARCH__ < 1200  // where ptxas advises against it
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;"
               ::"r"(to), "l"(from), "r"(bytes), "r"(bar), "h"(ctas) : "memory");
#endif
}
__device__ __forceinline__ void bulk_store(float *to, uint32_t from, uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void async_store(uint32_t to, uint32_t value, uint32_t bar) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];"
               ::"r"(to), "r"(value), "r"(bar) : "memory");
}

enum RowFault { row_right, no_wait, one_try, no_async_fence, no_store_wait, overwrites_early, misaligned_bulk, size_of_8,
                no_mbarrier_fence, mbarrier_elsewhere, bulk_past_the_end, exits_loading, exits_stored_to, loads_too_far,
                stores_too_far, no_store_fence, misaligned_store, narrow_wait };

// A row of ranks() * 1024 numbers, divided by its sum, in place: each block has its part in shared memory.
KERNEL row(float *rows, int fault) {
  __shared__ alignas(128) float part[1024 + 4];
  __shared__ alignas(16) float sums[16][4];
  __shared__ uint64_t full, summed;
  const uint32_t i = threadIdx.x, f = shared_address(&full), s = shared_address(&summed), p = shared_address(part);
  float *mine = rows + (size_t)blockIdx.x * 1024 + (fault == loads_too_far ? 4 : 0);
  if (i == 0) {
    init(f, 1), init(s, 1);
    if (fault != no_mbarrier_fence) asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(s), "r"(16 * ranks()) : "memory");
  }
  if (fault == no_async_fence) part[i] = 1;
  cluster_sync();
  if (i == 0) {
    const uint32_t bytes = fault == size_of_8 ? 8 : 4096;
    const uint32_t to = p + (fault == bulk_past_the_end ? 1 << 16 : fault == misaligned_bulk ? 8 : 0);
    const uint32_t bar = fault == mbarrier_elsewhere ? map(f, (rank() + 1) % ranks()) : f;
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(f), "r"(bytes) : "memory");
    asm volatile("{ .reg .b64 policy; createpolicy.fractional.L2::evict_first.b64 policy, 1.0;\n"
                 "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], policy; }"
                 ::"r"(to), "l"(mine), "r"(bytes), "r"(bar) : "memory");
  }
  if (fault == exits_loading) return;
  if (fault == one_try) try_parity(f, 0);
  else if (fault != no_wait) wait_in_block(f, 0);
  float sum = 0;
  if (i == 0) {
    for (int k = 0; k < 1024; k++) sum += part[k];
    for (uint32_t r = 0; r < ranks(); r++)
      asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %1, %1, %1}, [%2];"
                   ::"r"(map(shared_address(sums[rank()]), r)), "f"(sum), "r"(map(s, r)) : "memory");
  }
  if (fault == exits_stored_to && rank()) return;
  if (fault == narrow_wait) wait_in_block(s, 0);
  else wait_parity(s, 0);
  sum = 0;
  for (uint32_t r = 0; r < ranks(); r++) sum += sums[r][i & 3];
  __syncthreads();
  for (int k = i; k < 1024; k += blockDim.x) part[k] /= sum;
  if (fault != no_store_fence) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (i == 0) {
    bulk_store(mine + (fault == stores_too_far ? 1020 : fault == misaligned_store ? 2 : 0), p, 4096);
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    if (fault == overwrites_early) part[3] = -1;
    if (fault != no_store_wait) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    part[2] = -2;
  }
  cluster_sync();
}

// The other ways of a bulk copy: to shared::cta, to several blocks at once, from shared memory to another block's.
KERNEL bulk_ways(const float *in, float *out, int fault) {
  __shared__ alignas(128) float first[64], all[64], sent[64];
  __shared__ uint64_t bars[3];
  const uint32_t i = threadIdx.x, b = shared_address(bars);
  if (i == 0) {
    for (int k = 0; k < 3; k++) {
      init(b + 8 * k, 1);
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(b + 8 * k) : "memory");
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], 256;" ::"l"(in) : "memory");
  }
  cluster_sync();
  if (i == 0) {
    asm volatile("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
                 ::"r"(shared_address(first)), "l"(in + 64 * rank()), "r"(b) : "memory");
#if __CUDA_ARCH__ < 1200
    if (rank() == 0) bulk_multicast(shared_address(all), in + 1024, 256, b + 8, (fault == 1 ? 2 : 1) * (1 << ranks()) - 1);
#else
    bulk_load(shared_address(all), in + 1024, 256, b + 8);
#endif
  }
  wait_parity(b, 0);
  const uint32_t next = (rank() + 1) % ranks();
  if (fault == 3 && i == 0) first[7] = -first[7] - 1;  // without a fence before the copy
  if (i == 0)
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
                 ::"r"(map(shared_address(sent), next)), "r"(shared_address(first)), "r"(map(b + 16, next)) : "memory");
  if (fault == 2 && rank() == 0) return;  // while the next block's copy still reads
  for (bool here = false, sent_here = false; !here || !sent_here;) {  // by turns
    here |= try_parity(b + 8, 0);
    sent_here |= try_parity(b + 16, 0);
  }
  float *o = out + 64 * 3 * rank();
  o[i] = first[i], o[64 + i] = all[i], o[128 + i] = sent[i];
  cluster_sync();
}

// Asynchronous reductions into the shared memory of rank 0.
#define RED(operation, to, value)                                                                                   \
  asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." operation " [%0], %1, [%2];" \
               ::"r"(to), value, "r"(bar) : "memory")

KERNEL async_reductions(uint32_t *out, int fault) {
  __shared__ uint32_t word[4];
  __shared__ uint64_t own, wide;
  const uint32_t b = shared_address(&own), w = map(shared_address(word), 0) + (fault == 1 ? 2 : 0), bar = map(b, 0);
  if (threadIdx.x == 0) {
    word[0] = word[1] = word[3] = 0, word[2] = ~0u, wide = 0;
    init(b, 1);
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(b), "r"(rank() ? 0 : 24 * ranks()) : "memory");
  }
  cluster_sync();
  if (threadIdx.x == 0) {
    RED("add.u32", w, "r"(rank() + 1));
    RED("or.b32", w + 4, "r"(1u << rank()));
    RED("min.u32", w + 8, "r"(100 - rank()));
    RED("inc.u32", w + 12, "r"(2u));
    RED("add.u64", map(shared_address(&wide), 0), "l"(1ull << 40));
  }
  if (fault == 2 && rank() == 0) return;  // without having waited for them
  wait_parity(b, 0);
  if (rank() == 0 && threadIdx.x == 0) {
    for (int k = 0; k < 4; k++) out[k] = word[k];
    out[4] = uint32_t(wide >> 40);
  }
  cluster_sync();
}

// ---- further mistakes ----

enum Mistake { none, invalidates_in_use, initialises_remotely, loads_from_peer, stores_to_shared, stores_from_peer,
               arrives_without_count, arrives_too_late, ranks_global_memory, prefetches_misaligned, stores_too_late, waits_for_ever,
               waits_by_generic_address, maps_too_far, completes_elsewhere, multicasts_too_late };

KERNEL mistakes(float *memory, int mistake) {
  __shared__ alignas(128) float tile[64];
  __shared__ uint64_t bar;
  const uint32_t b = shared_address(&bar), t = shared_address(tile), next = (rank() + 1) % ranks();
  uint32_t unused = 0;
  if (threadIdx.x == 0) {
    init(b, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  cluster_sync();
  if (mistake == waits_for_ever && rank()) asm volatile("barrier.sync 1, 64;" ::: "memory");
  if ((mistake == arrives_too_late || mistake == stores_too_late || mistake == multicasts_too_late) && rank()) return;
  if (threadIdx.x == 0 && rank() == 0) {
    for (int i = 0; i < 20; i++) __nanosleep(100);  // the other blocks may end meanwhile
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(b) : "memory");
    const float *from = mistake == loads_from_peer ? map(tile, next) : memory;
    bulk_load(t, from, 256, b);
    if (mistake == invalidates_in_use) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(b) : "memory");
    wait_parity(b, 0);
    if (mistake == initialises_remotely) asm volatile("mbarrier.init.b64 [%0], 1;" ::"l"(map(&bar, next)) : "memory");
    if (mistake == stores_to_shared) bulk_store(tile, t, 256);
    if (mistake == stores_from_peer) bulk_store(memory, map(t, next), 256);
    if (mistake == arrives_without_count) arrive(b, 0);
    if (mistake == arrives_too_late)
      asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(map(b, next)) : "memory");
    if (mistake == ranks_global_memory) asm volatile("getctarank.u64 %0, %1;" : "=r"(unused) : "l"(memory));
    if (mistake == prefetches_misaligned) asm volatile("cp.async.bulk.prefetch.L2.global [%0], 256;" ::"l"(memory + 1) : "memory");
    if (mistake == stores_too_late) async_store(map(t, next), 1, map(b, next));
    if (mistake == waits_by_generic_address)
      asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                   : "=r"(unused) : "l"(map(&bar, next)));
    if (mistake == maps_too_far) memory[65] = *map(tile, ranks());
    if (mistake == completes_elsewhere) async_store(map(t, next), 1, b);
    if (mistake == multicasts_too_late) bulk_multicast(t, memory, 256, b, 3);
    memory[64] = tile[5] + unused;
  }
  cluster_sync();
}
