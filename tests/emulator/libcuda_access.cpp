// Access rights of devices. The devices of a process share its page tables, so while a kernel of one device runs, pages that only
// other devices may access are made inaccessible.
#include "libcuda.h"

#include <sys/mman.h>

namespace emulator {

namespace {

struct Range {
  void *start;
  size_t bytes;
  int device_protection, full_protection;
  int file;      // where writes are lost: of the pages, which are private meanwhile; else -1
  off_t offset;
};

constexpr size_t most_ranges = 1024;  // with more of them, protecting pages would cost more than it finds

unsigned long long version = 1;       // of all rights
std::map<int, std::pair<unsigned long long, std::vector<Range>>> cache;  // by device
const std::vector<Range> *taken;

int protection_of(unsigned access) {
  return access == access_read_write ? PROT_READ | PROT_WRITE : access == access_read ? PROT_READ : PROT_NONE;
}

bool is_peer(const Device &d, const Device &owner) {
  return &d == &owner || (d.context && owner.context && d.context->peers.count(owner.context.get()));
}

// Peer access does not open pools: each has rights of its own.
bool may_access(const Device &d, const Allocation &a) {
  if (!a.is_pooled || &d == a.device) return is_peer(d, *a.device);
  auto at = a.device->pool_access.find(d.ordinal);
  return at != a.device->pool_access.end() && at->second == access_read_write;
}

// The pages of an allocation that ends at a guard page start in the middle of one.
Range pages_of(const Allocation &a) {
  if (a.kind == Memory::mapped) return {reinterpret_cast<void *>(a.address), a.bytes, PROT_NONE, PROT_NONE, -1, 0};
  return {a.mapping + guard_bytes, a.mapping_bytes - 2 * guard_bytes, PROT_NONE, PROT_READ | PROT_WRITE, -1, 0};
}

std::vector<Range> forbidden_to(const Device &d) {
  std::vector<Range> ranges;
  for_each_allocation([&](const Allocation &a) {
    Range r = pages_of(a);
    if (a.kind == Memory::mapped) {
      const Mapping &m = *find_mapping(a.address);
      if (m.memory->multicast) return;
      r.full_protection = full_protection_of(m), r.device_protection = protection_of(access_of(m, d));
      if (loses_writes(d, a.address)) r.file = m.memory->file, r.offset = off_t(m.offset);
    } else if (a.kind != Memory::device || may_access(d, a)) {
      return;
    }
    if (r.device_protection != r.full_protection || r.file >= 0) ranges.push_back(r);
  });
  if (ranges.size() > most_ranges) ranges.clear();
  return ranges;
}

void map_pages(const Range &r, int protection, int sharing) {
  if (r.file >= 0) mmap(r.start, r.bytes, protection, sharing | MAP_FIXED, r.file, r.offset);
  else mprotect(r.start, r.bytes, protection);
}

}  // namespace

void rights_changed() { version++; }

bool loses_writes(const Device &d, DevicePointer p) {
  Allocation *a = driver().peers_lie ? find_allocation(p) : nullptr;
  return a && a->device && a->device != &d;
}

bool must_confine() { return driver().peers_lie; }

int full_protection_of(const Mapping &m) {
  unsigned all = 0;
  for (auto &[device, access] : m.access) all |= access;
  return protection_of(all);
}

size_t take_away_from(int device) {
  auto &[seen, ranges] = cache[device];
  if (seen != version) seen = version, ranges = forbidden_to(*device_of(device));
  for (const Range &r : ranges) map_pages(r, r.device_protection, MAP_PRIVATE);
  taken = &ranges;
  return ranges.size();
}

void give_back() {
  for (const Range &r : *taken) map_pages(r, r.full_protection, MAP_SHARED);
  taken = nullptr;
}

bool leaves_allocation(u64 p, u64 bytes) {
  if (!bytes) return false;
  return find_allocation(p) ? !find_allocation(p + bytes - 1) : find_allocation_around(p) != nullptr;
}

std::string describe_address(u64 p, int device) {
  const Device &d = *device_of(device);
  if (Allocation *a = find_allocation(p)) {
    const std::string owner = a->device ? "device " + std::to_string(a->device->ordinal) : "the host";
    if (a->is_pooled) return "memory of " + owner + "'s pool, which only cuMemPoolSetAccess opens to another device";
    if (a->kind != Memory::mapped) return "memory of " + owner + ", without peer access";
    const Mapping &m = *find_mapping(p);
    if (m.memory->multicast) return "a multicast address, which only multimem may access";
    return access_of(m, d) == access_read ? "mapped for reading only" : "mapped without access for this device";
  }
  if (Allocation *a = find_allocation_around(p)) {
    const bool before = p < a->address;
    const std::string distance = std::to_string(before ? a->address - p : p - a->address - a->bytes);
    return distance + (before ? " bytes before" : " bytes after the end of") + " an allocation of " + std::to_string(a->bytes) +
           " bytes";
  }
  return is_reserved(p) ? "reserved, but nothing is mapped there" : "in no allocation";
}

}  // namespace emulator
