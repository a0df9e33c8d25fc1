// The wire between ranks: a ring of bytes for each pair, in shared memory, and the movement of a batch through them.
#include "standin.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <thread>

namespace standin {

// ---- the shared memory ----

// The id is the name of the file.
bool make_id(ncclUniqueId *id) {
  unsigned char random[12];
  if (getrandom(random, sizeof random, 0) != sizeof random) return false;
  memset(id, 0, sizeof *id);
  int length = snprintf(id->internal, sizeof id->internal, "/quern-standin-nccl-");
  for (unsigned char byte : random) length += snprintf(id->internal + length, sizeof id->internal - size_t(length), "%02x", byte);
  int file = shm_open(id->internal, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) return false;
  const bool has_room = ftruncate(file, sizeof(Wire)) == 0;
  close(file);
  return has_room;
}

Wire *open_wire(const ncclUniqueId &id) {
  int file = memchr(id.internal, 0, sizeof id.internal) ? shm_open(id.internal, O_RDWR | O_CLOEXEC, 0) : -1;
  if (file < 0) return nullptr;
  void *memory = mmap(nullptr, sizeof(Wire), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return memory == MAP_FAILED ? nullptr : static_cast<Wire *>(memory);
}

void close_wire(Wire *wire) { munmap(wire, sizeof *wire); }

void forget_id(const ncclUniqueId &id) { shm_unlink(id.internal); }

// ---- messages ----

namespace {

struct Head {
  Kind kind;
  uint32_t unused;
  uint64_t bytes;
};

size_t write_some(Ring &ring, const unsigned char *from, size_t bytes) {
  const uint64_t in = ring.in.load(), free = ring_bytes - (in - ring.out.load());
  const size_t at = in % ring_bytes, now = std::min({bytes, size_t(free), ring_bytes - at});
  memcpy(ring.data + at, from, now);
  ring.in.store(in + now);
  return now;
}

size_t read_some(Ring &ring, unsigned char *to, size_t bytes) {
  const uint64_t out = ring.out.load(), there = ring.in.load() - out;
  const size_t at = out % ring_bytes, now = std::min({bytes, size_t(there), ring_bytes - at});
  memcpy(to, ring.data + at, now);
  ring.out.store(out + now);
  return now;
}

// A message to or from one rank.  It has ended when the receiver has read it, as if nothing lay between both.
struct Message {
  bool is_out;
  Kind kind;
  int peer;
  std::vector<unsigned char> bytes;
  DevicePointer to = 0;
  size_t done = 0;       // of the head and the bytes
  uint64_t end = 0;      // of the ring, when all is written
};

const char *name_of(Kind kind) { return kind == Kind::send ? "a message" : kind == Kind::sum ? "a sum" : "a maximum"; }

// True: it has moved.
bool step(Message &m, Ring &ring, const Comm &comm, bool &has_ended, bool &is_broken) {
  Head head{m.kind, 0, m.bytes.size()};
  const size_t whole = sizeof head + m.bytes.size(), before = m.done;
  if (m.is_out) {
    if (m.done < sizeof head) m.done += write_some(ring, reinterpret_cast<unsigned char *>(&head) + m.done, sizeof head - m.done);
    if (m.done >= sizeof head) m.done += write_some(ring, m.bytes.data() + (m.done - sizeof head), whole - m.done);
    if (m.done == whole && !m.end) m.end = ring.in.load();
    has_ended = m.done == whole && ring.out.load() >= m.end;
    return m.done != before || has_ended;
  }
  if (m.done == 0) {
    if (ring.in.load() - ring.out.load() < sizeof head) return false;
    for (size_t got = 0; got < sizeof head;)
        got += read_some(ring, reinterpret_cast<unsigned char *>(&head) + got, sizeof head - got);
    m.done = sizeof head;
    if (head.kind != m.kind || head.bytes != m.bytes.size()) {
      complain("rank %d expects %s of %zu bytes from rank %d, which has sent %s of %llu bytes: the orders differ", comm.rank,
               name_of(m.kind), m.bytes.size(), m.peer, name_of(head.kind), static_cast<unsigned long long>(head.bytes));
      return is_broken = true;
    }
  }
  m.done += read_some(ring, m.bytes.data() + (m.done - sizeof head), whole - m.done);
  has_ended = m.done == whole;
  return m.done != before || has_ended;
}

// The messages of each direction of each pair follow each other.
typedef std::map<std::pair<int, bool>, std::deque<Message>> Queues;

Message outgoing(Kind kind, int peer, const Operation &o, void *stream) {
  Message m{true, kind, peer, std::vector<unsigned char>(o.bytes)};
  if (o.bytes) driver()->to_host(m.bytes.data(), reinterpret_cast<uintptr_t>(o.from), o.bytes, stream);
  return m;
}

Queues list_messages(const Batch &batch, void *stream) {
  Queues queues;
  const Comm &c = *batch.comm;
  for (const Operation &o : batch.operations)
    for (int peer = 0; peer < c.ranks; peer++) {
      const bool reduces = is_reduction(o.kind);
      if (reduces ? peer == c.rank : peer != o.peer) continue;
      if (o.kind != Kind::receive) queues[{peer, true}].push_back(outgoing(reduces ? o.kind : Kind::send, peer, o, stream));
      if (o.kind != Kind::send) {
        Message m{false, reduces ? o.kind : Kind::send, peer, std::vector<unsigned char>(o.bytes)};
        m.to = reinterpret_cast<uintptr_t>(o.to);
        queues[{peer, false}].push_back(std::move(m));
      }
    }
  driver()->synchronize(stream);
  return queues;
}

// The sums and maxima of 32-bit words, by the address of the result.
typedef std::map<DevicePointer, std::vector<uint32_t>> Sums;

Sums begin_sums(const Batch &batch, void *stream) {
  Sums sums;
  for (const Operation &o : batch.operations)
    if (is_reduction(o.kind)) {
      std::vector<uint32_t> &words = sums[reinterpret_cast<uintptr_t>(o.to)];
      words.resize(o.bytes / 4);
      driver()->to_host(words.data(), reinterpret_cast<uintptr_t>(o.from), o.bytes, stream);
    }
  driver()->synchronize(stream);
  return sums;
}

void store(const Message &m, Sums &sums, void *stream) {
  if (m.kind == Kind::send) {
    if (!m.bytes.empty()) driver()->to_device(m.to, m.bytes.data(), m.bytes.size(), stream);
    return;
  }
  std::vector<uint32_t> &words = sums[m.to];
  for (size_t i = 0; i < words.size(); i++) {
    uint32_t word;
    memcpy(&word, &m.bytes[4 * i], 4);
    words[i] = m.kind == Kind::sum ? words[i] + word : std::max(words[i], word);
  }
}

Ring &ring_of(const Comm &c, const Message &m) { return m.is_out ? c.wire->ring[c.rank][m.peer] : c.wire->ring[m.peer][c.rank]; }

// One step of the first message of each queue.
bool step_all(Comm &c, Queues &queues, Sums &sums, void *stream) {
  bool any = false;
  for (auto &entry : queues) {
    std::deque<Message> &queue = entry.second;
    bool has_ended = false, is_broken = false;
    if (queue.empty()) continue;
    any |= step(queue.front(), ring_of(c, queue.front()), c, has_ended, is_broken);
    if (is_broken) c.error = ncclInternalError, queue.clear();
    if (!has_ended) continue;
    if (!queue.front().is_out) store(queue.front(), sums, stream);
    queue.pop_front();
  }
  return any;
}

bool all_ended(const Queues &queues) {
  return std::all_of(queues.begin(), queues.end(), [](auto &entry) { return entry.second.empty(); });
}

// With `remote=1` the death or abort of another rank is seen, as on networks that tell it.  Else the work hangs.
void look_for_dead(Comm &c) {
  for (int rank = 0; rank < c.ranks; rank++)
    if (c.wire->seat[rank].aborted || (kill(c.wire->seat[rank].pid, 0) && errno == ESRCH)) c.error = ncclRemoteError;
}

// Injected: true if the batch shall not move.
bool is_stopped(Comm &c, const Batch &batch, std::chrono::steady_clock::time_point begun) {
  const Fault fault = fault_at("run", {c.ranks, c.rank, c.number}, batch.number);
  if (fault.kind == Fault::fail) c.error = fault.value;
  const auto waited = std::chrono::steady_clock::now() - begun;
  return fault.kind == Fault::fail || fault.kind == Fault::hang ||
         (fault.kind == Fault::delay && waited < std::chrono::milliseconds(fault.value));
}

// NCCL itself orders the launches of graphs, also beside groups outside of graphs, which streams must order among each other.
void take_turn(const Batch &batch) {
  Comm &c = *batch.comm;
  const Moving own = batch.is_captured ? Moving::captured : Moving::plain;
  Moving other = Moving::none;
  while (!c.moving.compare_exchange_strong(other, own) && !c.is_aborted) {
    if (other == Moving::plain && own == Moving::plain) break;
    other = Moving::none;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  const bool is_alone = other == Moving::none, is_in_turn = batch.is_captured || c.ended + 1 == batch.turn;
  if (!c.is_aborted && !(is_alone && is_in_turn))
    complain("group %ld of rank %d runs beside another one: nothing orders their streams", batch.number, c.rank);
}

void move(Batch &batch) {
  Comm &c = *batch.comm;
  take_turn(batch);
  void *stream = nullptr;
  const auto begun = std::chrono::steady_clock::now();
  driver()->push(c.context);
  driver()->make_stream(&stream, 1);
  while (!c.is_aborted && is_stopped(c, batch, begun)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  Sums sums = begin_sums(batch, stream);
  Queues queues = list_messages(batch, stream);
  while (!c.is_aborted && !all_ended(queues)) {
    if (step_all(c, queues, sums, stream)) continue;
    if (setting("remote", 0)) look_for_dead(c);
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  if (!c.is_aborted)
    for (auto &sum : sums) driver()->to_device(sum.first, sum.second.data(), sum.second.size() * 4, stream);
  driver()->synchronize(stream);
  driver()->end_stream(stream);
  void *popped;
  driver()->pop(&popped);
  c.moving = Moving::none;
}

}  // namespace

// A host function may not call the driver, so a thread beside it does.
void run_batch(Batch &batch) { std::thread([&] { move(batch); }).join(); }

}  // namespace standin
