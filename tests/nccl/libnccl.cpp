// The functions of NCCL that the library calls, and the rules that they check.
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>

#include "standin.h"

using namespace standin;

namespace {

typedef std::chrono::steady_clock Clock;

constexpr size_t most_operations = 2048;

// ---- communicators, and who is inside ----

std::mutex list_lock;
std::vector<Comm *> all;

Comm *known(ncclComm_t handle) {
  std::lock_guard<std::mutex> hold(list_lock);
  for (Comm *c : all)
    if (static_cast<void *>(c) == handle) return c;
  return nullptr;
}

uint64_t this_thread() {
  static std::atomic<uint64_t> count{0};
  static thread_local const uint64_t number = ++count;
  return number;
}

bool enter(Comm &c, const char *call) {
  uint64_t nobody = 0;
  if (c.owner == this_thread()) return ++c.depth, true;
  if (!c.owner.compare_exchange_strong(nobody, this_thread())) {
    complain("two threads in one communicator: %s of rank %d while %s runs", call, c.rank, c.call);
    return false;
  }
  c.depth = 1, c.call = call;
  std::this_thread::sleep_for(std::chrono::microseconds(setting("linger", 0)));
  return true;
}

void leave(Comm &c) { if (--c.depth == 0) c.owner = 0; }

// A call in a communicator.  Its error is that of a broken rule.
class Call {
 public:
  Call(ncclComm_t handle, const char *name) : c(known(handle)) {
    if (!c) error = complain("%s: the communicator was never made", name);
    else if (c->state == State::aborted) error = complain("%s on an aborted communicator, rank %d", name, c->rank);
    else if (c->state == State::destroyed) error = complain("%s on a destroyed communicator, rank %d", name, c->rank);
    else if (!enter(*c, name)) error = ncclInvalidUsage;
    else is_inside = true;
  }
  ~Call() { if (is_inside) leave(*c); }
  Comm *c;
  ncclResult_t error = ncclSuccess;

 private:
  bool is_inside = false;
};

void change(Comm &c, State state) { c.state = state, c.since = Clock::now(), c.asked = 0; }

// ---- groups ----

struct Group {
  int depth = 0;
  std::vector<std::pair<Comm *, Operation>> operations;
};
thread_local Group group;

bool overlap(const Operation &one, const Operation &other) {
  return one.kind != Kind::send && other.kind != Kind::receive && one.to < other.from + other.bytes &&
         other.from < one.to + one.bytes;
}

// What a group writes must not be read or written by another of its operations.
ncclResult_t check_batch(const Comm &c, const std::vector<Operation> &operations) {
  if (operations.size() > most_operations)
    return complain("a group of %zu operations, rank %d: at most %zu", operations.size(), c.rank, most_operations);
  for (auto &one : operations) {
    if (one.stream != operations[0].stream) return complain("a group on two streams, rank %d", c.rank);
    for (auto &other : operations) {
      const bool both_write = &one != &other && one.kind != Kind::send && other.kind != Kind::send && one.bytes && other.bytes &&
                              one.to < other.to + other.bytes && other.to < one.to + one.bytes;
      if (both_write || (&one != &other && overlap(one, other)))
        return complain("operations of one group overlap in memory, rank %d", c.rank);
    }
  }
  return ncclSuccess;
}

// Counts for the end, when all ranks must have issued what belongs together.
void count(Comm &c, const Operation &o) {
  if (o.kind == Kind::send) c.wire->sent[c.rank][o.peer]++;
  else if (o.kind == Kind::receive) c.wire->received[c.rank][o.peer]++;
  else c.wire->collectives[c.rank]++;
}

// A first launch while the other rank still makes its communicator can keep that one from ending: its set-up needs the GPU.
ncclResult_t check_ready(const Comm &c, const Operation &o) {
  for (int peer = 0; peer < c.ranks; peer++)
    if ((o.peer < 0 || o.peer == peer) && !c.wire->seat[peer].ready)
      return complain("rank %d enqueues for rank %d, whose communicator is not ready", c.rank, peer);
  return ncclSuccess;
}

std::atomic<long> issued{0}, groups{0};
std::map<int, long> bytes_to;  // by rank, under list_lock

ncclResult_t issue(Comm &c, const std::vector<Operation> &operations) {
  issued += long(operations.size()), groups++;
  {
    std::lock_guard<std::mutex> hold(list_lock);
    for (const Operation &o : operations) bytes_to[o.peer] += o.kind == Kind::send ? long(o.bytes) : 0;
  }
  if (ncclResult_t error = check_batch(c, operations)) return error;
  for (const Operation &o : operations)
    if (ncclResult_t error = check_ready(c, o)) return error;
  for (const Operation &o : operations) count(c, o);
  c.waiting.push_back(new Batch{&c, operations, ++c.groups});
  change(c, State::busy);
  return ncclInProgress;
}

ncclResult_t end_group() {
  std::vector<std::pair<Comm *, Operation>> operations;
  operations.swap(group.operations);
  ncclResult_t result = ncclSuccess;
  while (!operations.empty()) {
    Comm *c = operations[0].first;
    std::vector<Operation> own;
    std::vector<std::pair<Comm *, Operation>> others;
    for (auto &entry : operations)
      if (entry.first == c) own.push_back(entry.second);
      else others.push_back(entry);
    const ncclResult_t one = issue(*c, own);
    if (one != ncclSuccess && (result == ncclSuccess || result == ncclInProgress)) result = one;
    for (size_t i = 0; i < own.size(); i++) leave(*c);
    operations.swap(others);
  }
  return result;
}

ncclResult_t add(ncclComm_t handle, const char *name, Operation o, size_t element) {
  Call call(handle, name);
  if (call.error) return call.error;
  Comm &c = *call.c;
  if (c.state == State::starting) return complain("%s before the communicator is ready, rank %d", name, c.rank);
  if (c.state == State::busy) return complain("%s while a call of the communicator is in progress, rank %d", name, c.rank);
  if (c.state != State::ready) return complain("%s on a finalized communicator, rank %d", name, c.rank);
  if (c.error) return complain("%s after an error of the communicator, rank %d", name, c.rank);
  if (!element) return refuse(ncclInvalidArgument, "%s: the stand-in does not know the data type", name);
  if (!is_reduction(o.kind) && (o.peer < 0 || o.peer >= c.ranks))
    return refuse(ncclInvalidArgument, "%s: peer %d of %d ranks", name, o.peer, c.ranks);
  o.bytes *= element;
  enter(c, name);  // until the group ends
  group.operations.push_back({&c, o});
  return group.depth ? ncclSuccess : end_group();
}

size_t size_of(ncclDataType_t type) { return type == ncclUint8 ? 1 : type == ncclUint32 ? 4 : 0; }

// ---- what goes on between calls ----

bool is_late(const Comm &c, const Fault &fault) { return Clock::now() - c.since >= std::chrono::milliseconds(fault.value); }

// True: the point is not passed yet, or has failed.
bool is_held(Comm &c, const char *point, long call) {
  const Fault fault = fault_at(point, {c.ranks, c.rank, c.number}, call);
  if (fault.kind == Fault::fail) c.error = fault.value;
  if (fault.kind == Fault::asks) return c.asked++ < fault.value;
  return fault.kind == Fault::fail || fault.kind == Fault::hang || (fault.kind == Fault::delay && !is_late(c, fault));
}

// NCCL wants a GPU for each rank of a host.
void check_gpus(Comm &c) {
  const Seat &mine = c.wire->seat[c.rank];
  for (int rank = 0; rank < c.ranks; rank++) {
    const Seat &other = c.wire->seat[rank];
    if (rank == c.rank || strcmp(mine.host, other.host) || mine.device != other.device) continue;
    refuse(ncclInvalidUsage, "Duplicate GPU detected : rank %d and rank %d both on CUDA device %d", c.rank, rank, mine.device);
    c.error = ncclInvalidUsage;
  }
}

void start(Comm &c) {
  if (is_held(c, "init", 1)) return;
  int arrived = 0;
  for (int rank = 0; rank < c.ranks; rank++) {
    const Seat &seat = c.wire->seat[rank];
    arrived += seat.arrived != 0;
    if (seat.arrived && seat.ranks != c.ranks)
      complain("rank %d has %d ranks, and rank %d has %d", rank, seat.ranks, c.rank, c.ranks);
  }
  if (arrived < c.ranks) return;
  check_gpus(c);
  forget_id(c.id);
  if (c.error) return;
  c.wire->seat[c.rank].ready = 1;
  change(c, State::ready);
}

void run(void *data) {
  Batch *batch = static_cast<Batch *>(data);
  run_batch(*batch);
  if (batch->is_captured) return;
  batch->comm->ended++;
  delete batch;
}

void forget(void *data) {
  Batch *batch = static_cast<Batch *>(data);
  batch->comm->captured--;
  delete batch;
}

// The graph of a stream that is being captured keeps the batch.
int keep_captured(Batch &batch) {
  constexpr int is_active = 1;
  int status = 0;
  unsigned long long id;
  void *graph = nullptr, *object = nullptr;
  if (int error = driver()->capture(batch.operations[0].stream, &status, &id, &graph, nullptr, nullptr)) return error;
  if (status != is_active) return 0;
  if (int error = driver()->make_object(&object, &batch, forget, 1, 1)) return error;
  batch.is_captured = true, batch.comm->captured++;
  return driver()->keep_object(graph, object, 1, 1);
}

void enqueue(Comm &c) {
  if (is_held(c, "group", c.groups)) return;
  bool has_failed = driver()->push(c.context) != 0;
  const bool is_pushed = !has_failed;
  for (Batch *batch : c.waiting) {
    has_failed = has_failed || keep_captured(*batch);
    if (!batch->is_captured) batch->turn = ++c.enqueued;
    has_failed = has_failed || driver()->call(batch->operations[0].stream, run, batch);
  }
  void *popped;
  if (is_pushed && driver()->pop(&popped)) has_failed = true;
  if (has_failed) c.error = ncclUnhandledCudaError;
  c.waiting.clear();
  change(c, State::ready);
}

// Each message that one rank has sent must have been received by the other, and all have made the same collective calls.
void check_matches(const Comm &c) {
  const Wire &w = *c.wire;
  for (int peer = 0; peer < c.ranks; peer++) {
    if (w.sent[c.rank][peer] != w.received[peer][c.rank])
      complain("rank %d has sent %llu messages to rank %d, which has received %llu: unmatched", c.rank,
               static_cast<unsigned long long>(w.sent[c.rank][peer]), peer,
               static_cast<unsigned long long>(w.received[peer][c.rank]));
    if (w.collectives[c.rank] != w.collectives[peer])
      complain("rank %d has made %llu collective calls, and rank %d %llu: unmatched", c.rank,
               static_cast<unsigned long long>(w.collectives[c.rank]), peer, static_cast<unsigned long long>(w.collectives[peer]));
  }
}

void finalize(Comm &c) {
  if (is_held(c, "finalize", 1)) return;
  for (int rank = 0; rank < c.ranks; rank++)
    if (!c.wire->seat[rank].finalized) return;
  if (c.captured) return;
  check_matches(c);
  if (c.ended == c.enqueued) change(c, State::finalized);
}

void go_on(Comm &c) {
  if (c.error) return;
  if (c.state == State::starting) start(c);
  else if (c.state == State::busy) enqueue(c);
  else if (c.state == State::finalizing) finalize(c);
  else if (c.state == State::ready) is_held(c, "idle", c.groups);
}

bool is_in_progress(const Comm &c) {
  return c.state == State::starting || c.state == State::busy || c.state == State::finalizing;
}

void take_seat(Comm &c) {
  Seat &seat = c.wire->seat[c.rank];
  const char *host = getenv("NCCL_HOSTID");
  snprintf(seat.host, sizeof seat.host, "%s", host ? host : "");
  driver()->device(&seat.device);
  seat.pid = getpid(), seat.ranks = c.ranks;
  if (seat.arrived.exchange(1)) complain("rank %d of a communicator is there twice", c.rank);
}

ncclResult_t check_config(const ncclConfig_t *config) {
  if (!config || config->magic != 0xcafebeef) return complain("the configuration is not made by NCCL_CONFIG_INITIALIZER");
  if (config->size < offsetof(ncclConfig_t, trafficClass)) return complain("the configuration has %zu bytes", config->size);
  const int channels = config->maxCTAs;
  if (channels != NCCL_CONFIG_UNDEF_INT && (channels < 1 || channels > most_channels))
    return complain("maxCTAs is %d: NCCL takes 1 to %d", channels, most_channels);
  return config->blocking == 0 ? ncclSuccess : complain("the communicator would block: a hang could not be ended");
}

}  // namespace

// ---- the API ----

API ncclResult_t ncclGetVersion(int *version) {
  *version = setting("version", 22809);
  return ncclSuccess;
}

API const char *ncclGetErrorString(ncclResult_t result) {
  static const char *const texts[] = {"no error", "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
                                      "unhandled system error (run with NCCL_DEBUG=INFO for details)",
                                      "internal error - please report this issue to the NCCL developers",
                                      "invalid argument (run with NCCL_DEBUG=WARN for details)",
                                      "invalid usage (run with NCCL_DEBUG=WARN for details)",
                                      "remote process exited or there was a network error", "NCCL operation in progress"};
  return size_t(result) < sizeof texts / sizeof *texts ? texts[result] : "unknown result code";
}

API const char *ncclGetLastError(ncclComm_t) { return last_text(); }

API ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  static std::atomic<long> ids{0};
  const Fault fault = fault_at("id", {0, 0, 0}, ++ids);
  if (fault.kind == Fault::fail) return refuse(ncclResult_t(fault.value), "an injected fault of the unique id");
  return make_id(id) ? ncclSuccess : refuse(ncclSystemError, "no shared memory");
}

API ncclResult_t ncclCommInitRankConfig(ncclComm_t *handle, int ranks, ncclUniqueId id, int rank, ncclConfig_t *config) {
  void *context = nullptr;
  *handle = nullptr;
  if (ncclResult_t error = check_config(config)) return error;
  if (ranks < 1 || ranks > most_ranks || rank < 0 || rank >= ranks)
    return refuse(ncclInvalidArgument, "rank %d of %d: the stand-in has room for %d", rank, ranks, most_ranks);
  if (!driver() || driver()->current(&context) || !context) return complain("no context is current: NCCL takes its device");
  Comm *c = new Comm{};
  c->channels = config->maxCTAs == NCCL_CONFIG_UNDEF_INT ? most_channels : config->maxCTAs;
  c->rank = rank, c->ranks = ranks, c->id = id, c->context = context, c->wire = open_wire(id);
  if (!c->wire) return delete c, refuse(ncclSystemError, "the unique id is of nobody");
  change(*c, State::starting);
  take_seat(*c);
  std::lock_guard<std::mutex> hold(list_lock);
  all.push_back(c);
  c->number = long(all.size());
  *handle = reinterpret_cast<ncclComm_t>(c);
  return ncclInProgress;
}

API ncclResult_t ncclCommGetAsyncError(ncclComm_t handle, ncclResult_t *error) {
  Call call(handle, "ncclCommGetAsyncError");
  if (call.error) return call.error;
  go_on(*call.c);
  *error = call.c->error ? ncclResult_t(call.c->error.load()) : is_in_progress(*call.c) ? ncclInProgress : ncclSuccess;
  return ncclSuccess;
}

API ncclResult_t ncclGroupStart() {
  group.depth++;
  return ncclSuccess;
}

API ncclResult_t ncclGroupEnd() {
  if (!group.depth) return complain("ncclGroupEnd without ncclGroupStart");
  return --group.depth ? ncclSuccess : end_group();
}

API ncclResult_t ncclSend(const void *buffer, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, void *stream) {
  return add(comm, "ncclSend", {Kind::send, static_cast<const unsigned char *>(buffer), nullptr, count, peer, stream},
             size_of(type));
}

API ncclResult_t ncclRecv(void *buffer, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, void *stream) {
  return add(comm, "ncclRecv", {Kind::receive, nullptr, static_cast<unsigned char *>(buffer), count, peer, stream}, size_of(type));
}

API ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t operation,
                               ncclComm_t comm, void *stream) {
  if (type != ncclUint32 || (operation != ncclSum && operation != ncclMax))
    return refuse(ncclInvalidArgument, "ncclAllReduce: the stand-in has sums and maxima of 32-bit words only");
  const Kind kind = operation == ncclSum ? Kind::sum : Kind::maximum;
  return add(comm, "ncclAllReduce",
             {kind, static_cast<const unsigned char *>(from), static_cast<unsigned char *>(to), count, -1, stream}, 4);
}

API ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  Call call(comm, "ncclCommFinalize");
  if (call.error) return call.error;
  if (call.c->state != State::ready)
    return complain("ncclCommFinalize of a communicator that is not ready or in progress, rank %d", call.c->rank);
  call.c->wire->seat[call.c->rank].finalized = 1;
  change(*call.c, State::finalizing);
  return ncclInProgress;
}

API ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  Call call(comm, "ncclCommDestroy");
  if (call.error) return call.error;
  if (call.c->state != State::finalized)
    return complain("ncclCommDestroy before ncclCommFinalize has ended, rank %d", call.c->rank);
  close_wire(call.c->wire);
  change(*call.c, State::destroyed);
  return ncclSuccess;
}

API ncclResult_t ncclCommAbort(ncclComm_t comm) {
  Call call(comm, "ncclCommAbort");
  if (call.error) return call.error;
  call.c->is_aborted = true;  // ends what runs; it may still read the wire, which therefore stays
  call.c->wire->seat[call.c->rank].aborted = 1;
  for (Batch *batch : call.c->waiting) delete batch;
  call.c->waiting.clear();
  int arrived = 0;
  for (int rank = 0; rank < call.c->ranks; rank++) arrived += call.c->wire->seat[rank].arrived != 0;
  if (arrived == call.c->ranks) forget_id(call.c->id);
  change(*call.c, State::aborted);
  while (call.c->captured) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return ncclSuccess;
}

// For tests: the sends, receives and sums of this process so far.
API long quern_standin_operations(void) { return issued; }

// For tests: the groups with operations, a call alone being one.
API long quern_standin_groups(void) { return groups; }

// For tests: the bytes that this process has sent to a rank so far.
API long quern_standin_bytes_to(int rank) {
  std::lock_guard<std::mutex> hold(list_lock);
  return bytes_to[rank];
}

// For tests: the communicators that this process has made so far.
API int quern_standin_made(void) {
  std::lock_guard<std::mutex> hold(list_lock);
  return int(all.size());
}

// For tests: the communicators of this process, not ended, in which a message was sent that the other rank has not received, or
// back.  Those that are used again are not finalized, which would find it.
API int quern_standin_unmatched(void) {
  std::lock_guard<std::mutex> hold(list_lock);
  int count = 0;
  for (Comm *c : all)
    for (int peer = 0; peer < c->ranks && c->state != State::destroyed && c->state != State::aborted; peer++) {
      const Wire &w = *c->wire;
      count += w.sent[c->rank][peer] != w.received[peer][c->rank] || w.sent[peer][c->rank] != w.received[c->rank][peer];
    }
  return count;
}

// For tests: the communicators of this process that were neither destroyed nor aborted.
// For tests: the channels that the communicators of this process may have, without those that end; without a bound one may have 32.
API int quern_standin_channels(void) {
  std::lock_guard<std::mutex> hold(list_lock);
  int count = 0;
  for (Comm *c : all)
    if (c->state != State::destroyed && c->state != State::aborted) count += c->channels;
  return count;
}

API int quern_standin_communicators(void) {
  std::lock_guard<std::mutex> hold(list_lock);
  int count = 0;
  for (Comm *c : all) count += c->state != State::destroyed && c->state != State::aborted;
  return count;
}
