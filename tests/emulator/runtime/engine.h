// The structures of a running grid and the interface between the scheduler,
// the services that kernels call, and the driver API above.
//
// One host thread at a time executes kernels; the driver API holds its lock
// while it calls in here, so nothing below needs a lock of its own.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../emulator.h"
#include "annotations.h"
#include "fiber.h"

namespace emulator {

constexpr u32 warp_size = 32, max_warps = 32, named_barriers = 16;

struct Block;
struct Cluster;

enum class State : u8 {
  fresh, runnable, at_barrier, in_collective, at_cluster_barrier, at_launch, at_grid, spinning, exited
};

// One CUDA thread with its fiber.
struct FiberThread : Thread {
  Fiber fiber;
  Block *block;
  u32 linear;
  State state;
  u32 line;              // where it waits
  u32 mask;              // of the collective it waits in
  u32 result;            // of a barrier reduction
  u32 last_spin_line, spins, atomics, effects_seen;
  const u8 *last_polled;
  bool cluster_arrived;  // at the cluster barrier, and has not waited
  u32 cluster_phase;     // phase it arrived in
  u32 cluster_arrive, cluster_wait;  // lines of the last ones, 0 unless .aligned
  const u64 *asked;      // mbarrier whose phase it last found open
  u64 asked_phase;
  u32 found_open;        // executed so far
  u32 copy_groups, bulk_groups;  // asynchronous copy groups committed so far
  bool fenced_aliases;   // by a fence.proxy.alias since its last multimem instruction and its last barrier
  bool fenced_reductions;  // by a fence.proxy.alias since its last barrier and its wait for the grid before
  bool acquired_alias;   // what it has acquired may be stale at this address: no fence.proxy.alias since
  u64 acquired;          // the address of its last acquire,
  u32 acquires;          // which it has acquired so often in a row, without another look or a barrier between
  u32 looks;             // ordered loads since then, the next acquire itself included
};

struct Barrier {
  u32 arrived, expected, line;
  u32 sum, all, any;
  u32 waiting[max_warps];
};

// Lanes that meet in one collective.
struct Group {
  u32 mask, arrived, operation, line;
};

struct Warp {
  u32 present, exited;
  std::vector<Group> groups;
  u64 value[warp_size], out[warp_size];
  u32 argument[warp_size], clamp[warp_size];
  bool predicate[warp_size];
  char sync_tag;  // ThreadSanitizer: bar.warp.sync
};

// An asynchronous operation that has been issued and is delayed as long as PTX allows.
struct Delivery {
  enum Kind : u8 { copy, bulk_load, bulk_store, store, arrive } kind;
  u32 thread, group;
  u8 *to;
  const u8 *from;
  u32 bytes, source_bytes;
  u64 *mbarrier;
  AsyncUpdate update = nullptr;  // of a store
  u8 value[16] = {};             // likewise
  bool is_due = false;           // chosen to arrive now
  size_t staged_bytes = 0;       // of the pages that `from` was moved to, if it was
};

// The state behind an mbarrier object in shared memory.
struct Mbarrier {
  u64 *word;
  u64 written;     // the expected contents of the word
  u64 phase;
  u32 count, pending;
  s32 bytes;       // may be negative for a while
  bool is_fenced;  // the asynchronous proxy may use it
  u64 remote;      // the phase behind the last one in which bytes of other blocks came; 0: none have
};

// A copy of shared memory as last seen by the asynchronous proxy; where the two differ, ordinary stores have happened since. Made
// at the first bulk copy.
struct AsyncView {
  u8 *bytes;
  u32 *fences;     // by granule: how many fences there had been
  size_t mapped_bytes;
};

struct Grid;

struct Block {
  BlockView view;
  Grid *grid;
  Cluster *cluster;
  u32 threads, warp_count, live;
  u32 ready[max_warps], ready_warps;
  u32 spinning[max_warps], spinning_warps;
  u32 current_warp, current_lane;
  std::vector<FiberThread> thread;
  std::vector<Warp> warp;
  Barrier barrier[named_barriers];
  std::vector<Delivery> deliveries;
  std::vector<Mbarrier> mbarriers;
  AsyncView async_view;
  char sync_tag[named_barriers];
  char begin_tag, exit_tag;
  char *mapping;
  size_t mapping_bytes, guard_bytes;
  bool lets_next_start;       // by griddepcontrol.launch_dependents
  bool has_begun, is_closed;  // among the others of its cluster: a thread of it has run; all have exited
};

struct Cluster {
  std::vector<std::unique_ptr<Block>> blocks;
  Grid *grid;
  u32 arrived, phase;
  u32 suspended;              // its threads in griddepcontrol
  u64 live_threads;
  u32 proxy_fences;           // executed by its threads so far
  bool lingers, may_end;  // its threads have exited, stores of theirs are still under way
  char sync_tag;
};

struct DeviceLimits {
  int ordinal;
  u32 multiprocessors, threads_per_sm, blocks_per_sm, shared_per_sm, reserved_shared;
};

// One kernel launch.
struct Grid {
  const Kernel *kernel;
  Dim grid, block, cluster;
  bool is_explicit_cluster;
  u32 dynamic_shared;
  std::vector<u8> params;
  DeviceLimits limits;
  u64 id;
  int priority;         // its blocks get room before those of a grid with a higher number
  u64 next_cluster, total_clusters, finished_clusters;
  u32 error;
  u64 confining_calls;  // see Confinement
  bool uses_multicast;  // a multimem instruction has been executed
  u64 holding_blocks; // that have neither let the next grid start nor ended
  bool has_dependent; // a grid that may start as soon as there are none
  char *awaited;      // sync_tag of the grid that this one has not waited for by its start; null: there is none
  bool may_go_on;     // that grid has ended
  bool has_waited;    // a thread has executed griddepcontrol.wait
  History *history;   // in which its threads are created
  char *sync_tag;     // what they did is released here
  bool done() const { return error != 0 || finished_clusters == total_clusters; }
};

enum class Step { progressed, stuck, idle };

// early: grids that have started before the one before had ended; reductions: multimem.ld_reduce; looks: ordered loads;
// waits: looks of a thread at the word that it has looked at just before, without a store of its own between
struct Statistics { u64 launches, blocks, switches, early, reductions, looks, waits; };
extern Statistics statistics;

void start_grid(Grid *);
// Runs every resident block until it waits. Finished grids are taken off the active list.
Step step();
// Ends a grid: by its error, or because the context goes away.
void abandon_grid(Grid *, u32 error);
void abandon_all_stuck();
// Runs `f` after all work released at `tag`; used to free resources of threads.
void after_all(char *tag, const std::function<void()> &f);
void end_of_grid_before(Grid &);  // its threads that wait for it go on
std::string describe(const Grid &);
u32 shared_of_block(const Kernel &, const DeviceLimits &, u32 dynamic_shared);  // with what the system reserves
u32 blocks_per_multiprocessor(const Kernel &, const DeviceLimits &, u32 threads, u32 dynamic_shared);

// ---- the multiprocessors of each device, which all grids of the process share (residency.cpp) ----
// Chooses a multiprocessor for each block of the grid's next cluster.  Empty: they have no room now.
std::vector<u32> take_room(const Grid &);
void leave_room(const Grid &, u32 multiprocessor);  // of one block

// ---- for the services ----
extern const Runtime runtime_services;
inline FiberThread &fiber_thread(Thread &t) { return static_cast<FiberThread &>(t); }
void wait(FiberThread &, State, u32 line, const u8 *polled = nullptr);  // yields the processor until made ready
void make_ready(Block &, u32 warp, u32 lanes);
void stay_running(FiberThread &);  // undoes make_ready for the thread that runs
void note_progress();
bool resume(const Grid *, State);      // makes ready the threads in this state, of all grids if null; whether there are any
[[noreturn]] void fail_thread(Thread &, u32 error, const char *what, u32 line);
void report_block(const Block &, const std::string &what);
void thread_exits_collectives(FiberThread &);
void thread_exits_barriers(FiberThread &);
void thread_exits_cluster(FiberThread &);
void let_next_start(Block &);          // also by its end
Block *block_with(Cluster &, const void *address);  // in its shared memory, or null
std::string describe_shared(const Block &own, const void *address);
void begin_shared(Block &);            // by each of its threads
void close_shared(Block &);
void open_shared(Block &);
void check_ended_block(Block &);       // once its threads have exited
// Counts an arrival at an mbarrier that stands for all earlier copies of the thread, or bytes that have come.
void mbarrier_settle(Block &from, u64 *word, u32 arrivals, u32 bytes);
void mbarrier_add_pending(Mbarrier &);  // for one more arrival in this phase
Mbarrier &find_mbarrier(FiberThread &, u64 *word, u32 line);
void deliver_bound_to(FiberThread &, const u64 *mbarrier);
bool is_bound(const Cluster &, const u64 *mbarrier);  // whether an operation in progress will complete on it
bool has_stores_under_way(const Block &);
void check_deliveries(Block &);        // that an ended block has waited for what uses its memory
void finish_stores(Block &);
void read_sources(Block &);            // the copies to shared memory that are under way have been read, and not been written yet
void drop_deliveries(Block &);
void drop_async_view(Block &);
// Fails if ordinary accesses to shared memory lack a fence before those of the asynchronous proxy.
void check_async_view(FiberThread &, Block &, const u8 *at, u32 bytes, u32 line);
void note_async_write(Block &, const u8 *at, u32 bytes);
void check_alias_proxy(FiberThread &, const u8 *polled, u32 line);
void note_acquire(FiberThread &, u64 address, u32 line);
void check_acquired_alias(FiberThread &, u32 line);

// ---- called by the driver ----
const char *multicast_replica(u64 address, u32 bytes, u32 index, int device, u8 **out);
void synchronise_alias(u64 address, bool release);
// Between these two calls only memory that the device may access is mapped. The first returns the number of system calls it took.
size_t take_away_from(int device);
void give_back();
bool must_confine();                   // at any cost: what a device writes elsewhere depends on it
std::string describe_address(u64 address, int device);
bool is_reached_by_multicast(u64 address);
bool leaves_allocation(u64 address, u64 bytes);  // also false if the driver does not know the device

// services, by source file
void service_barrier(Thread &, u32 id, u32 threads, u32 line);
void service_barrier_arrive(Thread &, u32 id, u32 threads, u32 line);
u32 service_barrier_reduce(Thread &, u32 id, u32 threads, u32 operation, u32 predicate, u32 line);
u64 service_collective(Thread &, u32 operation, u32 mask, u64 value, u32 argument, u32 clamp, bool *predicate, u32 line);
u32 service_active_mask(Thread &);
void service_copy_async(Thread &, u8 *to, const u8 *from, u32 bytes, u32 source_bytes, u32 line);
void service_copy_commit(Thread &);
void service_copy_wait(Thread &, u32 groups_left, bool uncommitted_too);
void service_copy_arrive(Thread &, u64 *mbarrier, bool counted, u32 line);
void service_bulk_load(Thread &, u8 *to, const u8 *from, u32 bytes, u64 *mbarrier, u32 ctas, u32 line);
void service_bulk_store(Thread &, u8 *to, const u8 *from, u32 bytes, u32 line);
void service_bulk_commit(Thread &);
void service_bulk_wait(Thread &, u32 groups_left, bool only_read);
void service_store_async(Thread &, u8 *to, const u8 *value, u32 bytes, AsyncUpdate, u64 *mbarrier, u32 line);
void service_proxy_fence(Thread &, u32 what);
void service_mbarrier_init(Thread &, u64 *, u32 count, u32 line);
void service_mbarrier_invalidate(Thread &, u64 *, u32 line);
u64 service_mbarrier_arrive(Thread &, u64 *, u32 count, u32 expected_bytes, u32 options, u32 line);
void service_mbarrier_expect(Thread &, u64 *, u32 bytes, u32 line);
void service_mbarrier_complete(Thread &, u64 *, u32 bytes, u32 line);
bool service_mbarrier_test(Thread &, u64 *, u64 phase, u32 options, u32 line);
void service_launch_dependents(Thread &, u32 line);
void service_wait_for_grid(Thread &, u32 line);
void service_cluster_arrive(Thread &, u32 options, u32 line);
void service_cluster_wait(Thread &, u32 options, u32 line);
u8 *service_cluster_address(Thread &, u32 address, u32 bytes, u32 access, u32 line);
u8 *service_cluster_generic(Thread &, u8 *address, u32 bytes, u32 access, u32 line);
u32 service_cluster_window(Thread &, u64 generic, u32 line);
u32 service_cluster_map(Thread &, u32 address, u32 rank, u32 line);
u64 service_cluster_map_generic(Thread &, u64 address, u32 rank, u32 line);
u32 service_cluster_rank(Thread &, u32 address, u32 line);

}  // namespace emulator
