// Reads an image as the real driver does - a fatbin, a cubin or PTX - and chooses the entry that the real driver would choose for
// a device.
#include "libcuda.h"

#include <dlfcn.h>
#include <elf.h>
#include <zstd.h>
#include <algorithm>
#include <climits>
#include <cstring>

namespace emulator {

namespace {

constexpr u32 fatbin_magic = 0xba55ed50, wrapper_magic = 0x466243b1;
constexpr u16 kind_ptx = 1, kind_elf = 2;
constexpr u64 flag_architecture_specific = 1 << 20, flag_family_specific = 1 << 21;
constexpr u64 flag_lz4 = 0x2000, flag_zstandard = 0x8000;

struct FatbinHeader { u32 magic; u16 version, header_bytes; u64 bytes; };
struct FatbinEntry {
  u16 kind, version;
  u32 header_bytes;
  u64 bytes;
  u32 compressed_bytes, options_offset;
  u16 minor, major;
  u32 architecture;
  u32 name_offset, name_bytes;
  u64 flags, reserved;
  u64 expanded_bytes;  // of a compressed entry
};

std::string architecture_name(bool is_ptx, u32 number, u64 flags) {
  const char *suffix = flags & flag_family_specific ? "f" : flags & flag_architecture_specific ? "a" : "";
  return (is_ptx ? "compute_" : "sm_") + std::to_string(number) + suffix;
}

// Kernels of a cubin have sections .text.NAME.
bool cubin_kernels(const char *elf, size_t bytes, std::vector<std::string> &names) {
  auto *header = reinterpret_cast<const Elf64_Ehdr *>(elf);
  if (bytes < sizeof *header || memcmp(elf, ELFMAG, SELFMAG) || header->e_shentsize != sizeof(Elf64_Shdr)) return false;
  if (header->e_shoff + u64(header->e_shnum) * sizeof(Elf64_Shdr) > bytes || header->e_shstrndx >= header->e_shnum) return false;
  auto *section = reinterpret_cast<const Elf64_Shdr *>(elf + header->e_shoff);
  const Elf64_Shdr &strings = section[header->e_shstrndx];
  if (strings.sh_offset + strings.sh_size > bytes) return false;
  for (int i = 0; i < header->e_shnum; i++) {
    if (section[i].sh_name >= strings.sh_size) return false;
    const char *name = elf + strings.sh_offset + section[i].sh_name;
    if (!strncmp(name, ".text.", 6)) names.push_back(name + 6);
  }
  return true;
}

// ---- what a driver knows ----

// A driver of CUDA 12 loads ABI 7.  ABI 8 came with Blackwell, in CUDA 12.8 and for its families in 12.9; for older architectures,
// and for those after CUDA 12.9, with CUDA 13.
int driver_for_cubin(const char *elf, const std::string &architecture) {
  constexpr unsigned char abi_7 = 0x33, abi_8 = 0x41;
  auto *ident = reinterpret_cast<const unsigned char *>(elf);
  if (ident[EI_OSABI] == abi_7 && ident[EI_ABIVERSION] <= 7) return 12000;
  if (ident[EI_OSABI] != abi_8 || ident[EI_ABIVERSION] > 8) return INT_MAX;
  if (architecture == "sm_100" || architecture == "sm_120") return 12080;
  static const std::set<std::string> of_12_9 = {"sm_100f", "sm_103", "sm_103f", "sm_120f", "sm_121", "sm_121f"};
  return of_12_9.count(architecture) ? 12090 : 13000;
}

// PTX ISA 8.N belongs to CUDA 12.N up to 8.5, and to 12.(N + 1) from 8.6 on, since CUDA 12.6 had 8.5 too; 9.N to CUDA 13.N.
int driver_for_ptx(const std::string &text) {
  size_t place = text.find(".version");
  int major = 0, minor = 0;
  if (place == std::string::npos || sscanf(text.c_str() + place, ".version %d.%d", &major, &minor) != 2) return INT_MAX;
  return 1000 * (major + 4) + 10 * (major == 8 && minor > 5 ? minor + 1 : minor);
}

constexpr int driver_with_zstandard = 12040;

Result refuse_unknown(const Image &image) {
  for (const Image::Entry &e : image.entries)
    if (e.driver <= driver_version()) return success;
  if (image.entries.empty()) return invalid_image;
  return image.entries[0].is_ptx ? unsupported_ptx : invalid_image;
}

// The word after a directive, searched from `place` on, which moves behind it; empty if not found.  (A regular expression takes
// longer than most tests.)
std::string word_after(const std::string &text, const std::string &directive, size_t &place) {
  size_t found = text.find(directive, place);
  if (found == std::string::npos) return {};
  size_t first = text.find_first_not_of(" \t\n", found + directive.size());
  place = text.find_first_of(" \t\n,(", first);
  return first < place ? text.substr(first, place - first) : std::string();
}

std::vector<std::string> ptx_kernels(const std::string &text) {
  std::vector<std::string> names;
  size_t place = 0;
  for (std::string name; !(name = word_after(text, ".entry", place)).empty();) names.push_back(name);
  return names;
}

// In a bare cubin only ptxas's command line, kept in a note, tells sm_90 from sm_90a.
std::string cubin_architecture(const char *elf, size_t bytes) {
  static const char option[] = "-arch sm_";
  for (size_t i = 0; i + sizeof option < bytes; i++)
    if (!memcmp(elf + i, option, sizeof option - 1)) {
      const char *start = elf + i + 6;
      return std::string(start, strcspn(start, " \n"));
    }
  return "sm_" + std::to_string(reinterpret_cast<const Elf64_Ehdr *>(elf)->e_flags >> 8 & 0xff);
}

size_t elf_bytes(const char *elf) {
  auto *h = reinterpret_cast<const Elf64_Ehdr *>(elf);
  return h->e_shoff + u64(h->e_shnum) * h->e_shentsize;
}

Result parse_cubin(const char *elf, Image &image) {
  Image::Entry e{"", false, {}};
  auto *h = reinterpret_cast<const Elf64_Ehdr *>(elf);
  if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_machine != 190 || elf_bytes(elf) > (1u << 30)) return invalid_image;
  if (!cubin_kernels(elf, elf_bytes(elf), e.kernels)) return invalid_image;
  e.architecture = cubin_architecture(elf, elf_bytes(elf));
  e.driver = driver_for_cubin(elf, e.architecture);
  image.entries.push_back(e);
  return success;
}

Result parse_ptx(const char *text, Image &image) {
  std::string all(text);
  size_t place = 0;
  std::string target = word_after(all, ".target", place);
  if (target.compare(0, 3, "sm_")) return invalid_ptx;
  image.entries.push_back({"compute_" + target.substr(3), true, ptx_kernels(all), driver_for_ptx(all)});
  return success;
}

// The contents of an entry, decompressed with Zstandard if necessary; empty on failure.
std::string entry_payload(const char *at, const FatbinEntry &e) {
  const char *payload = at + e.header_bytes;
  if (e.flags & flag_lz4) {
    fprintf(stderr, "emulator: fatbin entry is compressed with LZ4; make it with fatbinary --compress-mode=size\n");
    return {};
  }
  if (!(e.flags & flag_zstandard)) return std::string(payload, e.bytes);
  if (e.header_bytes < sizeof e || e.expanded_bytes > (1u << 30)) return {};
  std::string expanded(e.expanded_bytes, 0);
  size_t frame = ZSTD_findFrameCompressedSize(payload, e.bytes);
  if (ZSTD_isError(frame)) return {};
  size_t done = ZSTD_decompress(&expanded[0], expanded.size(), payload, frame);
  return ZSTD_isError(done) || done != expanded.size() ? std::string() : expanded;
}

Result parse_fatbin_entry(const char *at, const FatbinEntry &e, Image &image) {
  if (e.kind != kind_ptx && e.kind != kind_elf) return success;
  std::string expanded = entry_payload(at, e);
  if (expanded.empty()) return invalid_image;
  const char *payload = expanded.data();
  u64 bytes = expanded.size();
  Image::Entry entry{architecture_name(e.kind == kind_ptx, e.architecture, e.flags), e.kind == kind_ptx, {}};
  // A cubin may follow a header of its own ("merc" entries): find the ELF magic.
  u64 skip = 0;
  if (e.kind == kind_ptx) {
    const std::string text(payload, strnlen(payload, bytes));
    entry.kernels = ptx_kernels(text);
    entry.driver = driver_for_ptx(text);
  } else {
    while (skip + 4 < bytes && memcmp(payload + skip, ELFMAG, SELFMAG)) skip += 4;
    if (!cubin_kernels(payload + skip, bytes - skip, entry.kernels)) return invalid_image;
    entry.driver = driver_for_cubin(payload + skip, entry.architecture);
  }
  if (e.flags & flag_zstandard) entry.driver = std::max(entry.driver, driver_with_zstandard);
  image.entries.push_back(entry);
  return success;
}

Result parse_fatbin(const char *data, Image &image) {
  FatbinHeader header;
  memcpy(&header, data, sizeof header);
  if (header.version != 1 || header.header_bytes < sizeof header || header.bytes > (1ull << 32)) return invalid_image;
  const char *at = data + header.header_bytes, *end = at + header.bytes;
  while (at + sizeof(FatbinEntry) <= end) {
    FatbinEntry e;
    memcpy(&e, at, sizeof e);
    if (e.header_bytes < sizeof e || e.header_bytes > u64(end - at) || e.bytes > u64(end - at) - e.header_bytes)
      return invalid_image;
    if (Result r = parse_fatbin_entry(at, e, image)) return r;
    at += e.header_bytes + e.bytes;
  }
  return image.entries.empty() ? invalid_image : success;
}

struct Target { int major, minor; char suffix; };
Target target_of(const std::string &architecture) {
  const char *digits = strchr(architecture.c_str(), '_') + 1;
  int number = atoi(digits);
  char last = architecture.back();
  return {number / 10, number % 10, last == 'a' || last == 'f' ? last : '\0'};
}

bool runs_on(const Image::Entry &e, Capability c) {
  Target t = target_of(e.architecture);
  if (t.suffix == 'a') return t.major == c.major && t.minor == c.minor;
  if (t.suffix == 'f' || !e.is_ptx) return t.major == c.major && t.minor <= c.minor;
  return t.major < c.major || (t.major == c.major && t.minor <= c.minor);
}

// Binaries before PTX, then the closest architecture, then the most specific.
int preference(const Image::Entry &e) {
  Target t = target_of(e.architecture);
  return !e.is_ptx * 100000 + (t.major * 10 + t.minor) * 10 + (t.suffix == 'a' ? 2 : t.suffix == 'f');
}

// ---- shared objects of translated kernels ----

typedef std::map<std::string, const Kernel *> KernelTable;

std::vector<std::string> kernel_directories() {
  std::vector<std::string> result;
  const char *list = getenv("QUERN_EMULATOR_KERNELS");
  Dl_info self;
  if (!list && dladdr(reinterpret_cast<void *>(&parse_image), &self) && strrchr(self.dli_fname, '/'))
    return {std::string(self.dli_fname, size_t(strrchr(self.dli_fname, '/') - self.dli_fname))};
  for (const char *p = list ? list : "."; *p;) {
    size_t n = strcspn(p, ":");
    if (n) result.emplace_back(p, n);
    p += n + (p[n] == ':');
  }
  return result;
}

void add_kernels(const std::string &path, KernelTable &table) {
  void *object = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!object) return (void)fprintf(stderr, "emulator: %s\n", dlerror());
  auto list = reinterpret_cast<const Kernel *(*)(size_t *)>(dlsym(object, "quern_emulated_kernels"));
  if (!list) return (void)fprintf(stderr, "emulator: %s has no quern_emulated_kernels\n", path.c_str());
  size_t count;
  const Kernel *kernels = list(&count);
  for (size_t i = 0; i < count; i++) table.emplace(kernels[i].name, &kernels[i]);
}

const KernelTable &kernels_of(const std::string &architecture) {
  static std::map<std::string, KernelTable> tables;
  auto [at, fresh] = tables.try_emplace(architecture);
  if (fresh) {
    for (const std::string &directory : kernel_directories()) {
      std::string path = directory + "/" + architecture + ".so";
      if (FILE *f = fopen(path.c_str(), "r")) {
        fclose(f);
        add_kernels(path, at->second);
      }
    }
  }
  return at->second;
}

}  // namespace

namespace {

Result parse_any(const void *data, Image &image) {
  u32 magic;
  memcpy(&magic, data, sizeof magic);
  const char *bytes = static_cast<const char *>(data);
  if (magic == wrapper_magic) {  // what nvcc emits around a fatbin: magic, version, pointer
    memcpy(&bytes, bytes + 8, sizeof bytes);
    memcpy(&magic, bytes, sizeof magic);
  }
  if (magic == fatbin_magic) return parse_fatbin(bytes, image);
  if (!memcmp(bytes, ELFMAG, SELFMAG)) return parse_cubin(bytes, image);
  bool is_text = bytes[0] == '.' || bytes[0] == '/' || bytes[0] == '\n';
  return is_text ? parse_ptx(bytes, image) : int(invalid_image);
}

}  // namespace

Result parse_image(const void *data, Image &image) {
  if (!data) return invalid_value;
  if (Result r = parse_any(data, image)) return r;
  return refuse_unknown(image);
}

const Image::Entry *choose_entry(const Image &image, Capability capability) {
  const Image::Entry *best = nullptr;
  for (const Image::Entry &e : image.entries)
    if (e.driver <= driver_version() && runs_on(e, capability) && (!best || preference(e) > preference(*best))) best = &e;
  return best;
}

const Kernel *translated_kernel(const std::string &architecture, const std::string &name, Result &error) {
  const KernelTable &table = kernels_of(architecture);
  auto at = table.find(name);
  if (at != table.end()) return at->second;
  fprintf(stderr, "emulator: no translation of kernel %s for %s in QUERN_EMULATOR_KERNELS\n", name.c_str(), architecture.c_str());
  error = shared_object_init_failed;
  return nullptr;
}

}  // namespace emulator
