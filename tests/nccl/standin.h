// A stand-in for libnccl.so.2 on the emulator's devices: what its files share.  It moves bytes between the ranks of threads and
// processes of this machine, through a file of shared memory that the unique id names, and is stricter than NCCL: see README.md.
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "../../src/ranks/nccl/nccl_types.h"

#define API extern "C" __attribute__((visibility("default")))

namespace standin {

// ---- rules and faults (standin_rules.cpp) ----

// A rule of NCCL is broken: says so on stderr and ends the program, unless the test forgives (quern_standin_forgive).
ncclResult_t complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

// What the settings ask for at a point: QUERN_NCCL_STANDIN or quern_standin_set.
struct Fault {
  enum Kind { none, fail, delay, asks, hang } kind = none;
  int value = 0;  // fail: ncclResult_t; delay: milliseconds; asks: questions
};
struct Place {
  int ranks, rank;   // of the communicator
  long number;       // of the communicator, in this process
};
Fault fault_at(const char *point, const Place &place, long call);
int setting(const char *name, int otherwise);

// The text of the thread's last error, for ncclGetLastError.
ncclResult_t refuse(ncclResult_t result, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *last_text();

// ---- the driver, as NCCL uses it (standin_driver.cpp) ----

typedef unsigned long long DevicePointer;

struct Driver {
  int (*current)(void **context);
  int (*device)(int *device);
  int (*push)(void *context);
  int (*pop)(void **context);
  int (*make_stream)(void **stream, unsigned flags);
  int (*end_stream)(void *stream);
  int (*synchronize)(void *stream);
  int (*to_host)(void *to, DevicePointer from, size_t bytes, void *stream);
  int (*to_device)(DevicePointer to, const void *from, size_t bytes, void *stream);
  int (*call)(void *stream, void (*function)(void *), void *data);
  int (*capture)(void *stream, int *status, unsigned long long *id, void **graph, void *const **dependencies, size_t *count);
  int (*make_object)(void **object, void *data, void (*end)(void *), unsigned references, unsigned flags);
  int (*keep_object)(void *graph, void *object, unsigned references, unsigned flags);
};
const Driver *driver();  // null: there is none

// ---- the wire (standin_wire.cpp) ----

constexpr int most_ranks = 144;
constexpr int most_channels = 32;
constexpr size_t ring_bytes = 1 << 16;

// From one rank to another.  What was written and not yet read is [out, in).
struct Ring {
  std::atomic<uint64_t> in, out;
  unsigned char data[ring_bytes];
};

struct Seat {
  std::atomic<uint32_t> arrived, ready, finalized, aborted;
  int pid, device, ranks;
  char host[64];
};

struct Wire {
  Seat seat[most_ranks];
  std::atomic<uint64_t> sent[most_ranks][most_ranks], received[most_ranks][most_ranks];  // operations issued: [by][peer]
  std::atomic<uint64_t> collectives[most_ranks];
  Ring ring[most_ranks][most_ranks];  // [from][to]: most of it is never touched
};

bool make_id(ncclUniqueId *id);
Wire *open_wire(const ncclUniqueId &id);
void close_wire(Wire *wire);
void forget_id(const ncclUniqueId &id);  // all have opened it

enum class Kind : uint32_t { send = 1, receive, sum, maximum };

inline bool is_reduction(Kind kind) { return kind == Kind::sum || kind == Kind::maximum; }

struct Operation {
  Kind kind;
  const unsigned char *from;
  unsigned char *to;
  size_t bytes;
  int peer;
  void *stream;
};

struct Comm;

// The operations of one group in one communicator, which run on a stream, or with each launch of a graph.
struct Batch {
  Comm *comm;
  std::vector<Operation> operations;
  long number;
  long turn = 0;                        // among those outside of graphs
  bool is_captured = false;
};

// Moves a batch on a thread of its own; returns when it has ended or the communicator was aborted.
void run_batch(Batch &batch);

// ---- communicators (libnccl.cpp) ----

enum class State { starting, ready, busy, finalizing, finalized, destroyed, aborted };

// Never freed, so that a use after the end is found.
enum class Moving { none, plain, captured };  // which batch of a communicator runs

struct Comm {
  int rank, ranks, channels;
  long number;
  State state = State::starting;
  ncclUniqueId id;
  Wire *wire;
  void *context;
  std::atomic<bool> is_aborted{false};
  std::atomic<int> error{ncclSuccess};  // of work that runs
  std::atomic<long> enqueued{0}, ended{0};  // without those of graphs
  std::atomic<long> captured{0};            // batches that graphs have
  std::atomic<Moving> moving{Moving::none};
  long groups = 0;
  std::vector<Batch *> waiting;         // that the next polls enqueue
  std::chrono::steady_clock::time_point since;  // of the state
  long asked = 0;                       // since then
  std::atomic<uint64_t> owner{0};       // the thread inside
  int depth = 0;
  const char *call = "";
};

}  // namespace standin
