// The interface for translated kernels: one CUDA thread, the runtime's services, and the registry that makes the kernels of one
// shared object known to libcuda.so.1. Only <stddef.h> and <stdint.h> are included: hundreds of translated files include this one,
// and their compile time is part of every test run.
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

namespace emulator {

struct Dim { u32 x, y, z; };

struct Thread;

enum BarrierReduction : u32 { reduce_popc, reduce_and, reduce_or };

// Operations in which the lanes of a warp meet. The order is that of the table in runtime/collective.cpp.
enum Collective : u32 {
  shuffle_up, shuffle_down, shuffle_xor, shuffle_index,
  vote_all, vote_any, vote_uniform, vote_ballot,
  match_any, match_all,
  redux_add, redux_min_s32, redux_max_s32, redux_min_u32, redux_max_u32, redux_and, redux_or, redux_xor,
  redux_min_f32, redux_max_f32, redux_min_f32_nan, redux_max_f32_nan, redux_min_f32_abs, redux_max_f32_abs,
  redux_min_f32_abs_nan, redux_max_f32_abs_nan,
  warp_barrier, elect_one,
};

enum ProxyFence : u32 { fence_mbarrier_init = 1, fence_async_shared = 2, fence_alias = 4 };
enum MbarrierOption : u32 {
  mbarrier_relaxed = 1, mbarrier_cluster_scope = 2, mbarrier_no_complete = 4, mbarrier_drop = 8, mbarrier_parity = 16,
};
enum ClusterBarrierOption : u32 { cluster_relaxed = 1, cluster_aligned = 2 };
// The kinds of access to shared memory that may belong to another block. Ordered accesses may conflict, weak ones must not.
enum ClusterAccess : u32 { peer_read, peer_write, peer_ordered };
typedef void (*AsyncUpdate)(u8 *to, const u8 *value);  // of st.async and red.async

// Services of the runtime, reached through a table so that a shared object of
// kernels has no undefined symbols and works under an RTLD_LOCAL libcuda.so.1.
// `line` is always the line of the PTX file, for reports.
struct Runtime {
  void (*barrier)(Thread &, u32 id, u32 threads, u32 line);
  void (*barrier_arrive)(Thread &, u32 id, u32 threads, u32 line);
  u32 (*barrier_reduce)(Thread &, u32 id, u32 threads, u32 operation, u32 predicate, u32 line);
  u64 (*collective)(Thread &, u32 operation, u32 mask, u64 value, u32 argument, u32 clamp, bool *predicate, u32 line);
  u32 (*active_mask)(Thread &);
  void (*yield)(Thread &, const u8 *polled, u32 line);  // a spin loop may be here: let others run
  void (*fence)(Thread &);
  void (*fail)(Thread &, u32 error, const char *what, u64 detail, u32 line);  // does not return

  void (*copy_async)(Thread &, u8 *to, const u8 *from, u32 bytes, u32 source_bytes, u32 line);
  void (*copy_commit)(Thread &);
  void (*copy_wait)(Thread &, u32 groups_left, bool uncommitted_too);
  void (*copy_arrive)(Thread &, u64 *mbarrier, bool counted, u32 line);

  // `ctas`: ranks that a multicast goes to, 0 without one.
  void (*bulk_load)(Thread &, u8 *to, const u8 *from, u32 bytes, u64 *mbarrier, u32 ctas, u32 line);
  void (*bulk_store)(Thread &, u8 *to, const u8 *from, u32 bytes, u32 line);
  void (*bulk_commit)(Thread &);
  void (*bulk_wait)(Thread &, u32 groups_left, bool only_read);
  void (*store_async)(Thread &, u8 *to, const u8 *value, u32 bytes, AsyncUpdate, u64 *mbarrier, u32 line);
  void (*proxy_fence)(Thread &, u32 what);  // bits of ProxyFence

  void (*mbarrier_init)(Thread &, u64 *, u32 count, u32 line);
  void (*mbarrier_invalidate)(Thread &, u64 *, u32 line);
  u64 (*mbarrier_arrive)(Thread &, u64 *, u32 count, u32 expected_bytes, u32 options, u32 line);  // bits of MbarrierOption
  void (*mbarrier_expect)(Thread &, u64 *, u32 bytes, u32 line);
  void (*mbarrier_complete)(Thread &, u64 *, u32 bytes, u32 line);
  bool (*mbarrier_test)(Thread &, u64 *, u64 phase, u32 options, u32 line);

  void (*cluster_arrive)(Thread &, u32 options, u32 line);  // bits of ClusterBarrierOption
  void (*cluster_wait)(Thread &, u32 options, u32 line);
  // From shared::cluster to host addresses and back, and between the blocks of a cluster.
  u8 *(*cluster_address)(Thread &, u32 address, u32 bytes, u32 access, u32 line);  // a ClusterAccess
  u8 *(*cluster_generic)(Thread &, u8 *address, u32 bytes, u32 access, u32 line);  // likewise, of any generic address
  u32 (*cluster_window)(Thread &, u64 generic, u32 line);
  u32 (*cluster_map)(Thread &, u32 address, u32 rank, u32 line);
  u64 (*cluster_map_generic)(Thread &, u64 address, u32 rank, u32 line);
  u32 (*cluster_rank)(Thread &, u32 address, u32 line);
  u32 (*address_space)(Thread &, u64 address);  // one of AddressSpace
  u64 (*clock)(Thread &, u32 line);
  void (*preempt)(Thread &, u32 line);          // like yield, but taken now and then: for atomics
  u8 *(*multicast)(Thread &, u64 address, u32 bytes, u32 index, u32 line);  // one device's memory behind it; null past the last
  void (*released)(Thread &, u64 address);            // by a store, for ThreadSanitizer
  void (*acquired)(Thread &, u64 address, u32 line);  // by a load

  u32 approximation_seed;  // 0: approximations are rounded once

  // griddepcontrol
  void (*launch_dependents)(Thread &, u32 line);
  void (*wait_for_grid)(Thread &, u32 line);
};

enum AddressSpace : u32 { space_global, space_shared, space_shared_cluster, space_local, space_param };

// The state that all threads of one block share.
struct BlockView {
  Dim ntid, ctaid, nctaid, clusterid, nclusterid, cluster_ctaid, cluster_nctaid;
  u32 cluster_ctarank, cluster_nctarank, smid, nsmid, nwarpid;
  bool is_explicit_cluster;
  u32 dynamic_shared_offset, dynamic_shared_bytes, shared_bytes;
  u64 gridid;
  const u8 *param;
  u8 *shared;
  const Runtime *runtime;
};

struct Thread {
  Dim tid;
  u32 lane, warp;
  u32 effects;  // ordered stores and atomics so far: other threads may wait for them, so they count as progress
  BlockView *view;
};

// The position of one kernel parameter in the parameter buffer.
struct Param { u32 offset, bytes; };

enum KernelFlags : u32 {
  kernel_may_block = 1,  // has a barrier, a warp collective, a griddepcontrol or a possible spin loop: needs fibers
  kernel_explicit_cluster = 2,  // .explicitcluster
};

struct Kernel {
  const char *name;
  void (*run)(Thread &);
  const Param *params;
  u32 param_count, param_bytes;
  u32 static_shared_bytes, shared_alignment, local_bytes;
  u32 max_threads;         // .maxntid / .reqntid, 0 if absent
  Dim required_cluster;    // .reqnctapercluster, x = 0 if absent
  u32 max_cluster;         // .maxclusterrank, 0 if absent
  u32 flags;
};

struct KernelSet {
  const Kernel *kernels;
  size_t count;
  KernelSet *next;
};

// Hidden, so that two shared objects in one process keep two lists.
#define HIDDEN __attribute__((visibility("hidden")))
inline HIDDEN KernelSet *kernel_sets;
constexpr size_t max_kernels = 1024;

struct RegisterKernels {
  KernelSet set;
  HIDDEN RegisterKernels(const Kernel *kernels, size_t count) : set{kernels, count, kernel_sets} { kernel_sets = &set; }
};

inline HIDDEN Kernel kernel_table[max_kernels];

}  // namespace emulator

// The one symbol a shared object of kernels exports: its table, gathered at the first call.
extern "C" __attribute__((used, visibility("default"))) inline const emulator::Kernel *quern_emulated_kernels(size_t *n) {
  size_t count = 0;
  for (const emulator::KernelSet *set = emulator::kernel_sets; set; set = set->next)
    for (size_t i = 0; i < set->count && count < emulator::max_kernels; i++)
      emulator::kernel_table[count++] = set->kernels[i];
  *n = count;
  return emulator::kernel_table;
}
