// PTX arithmetic that C++ operators do not give: narrow floats, directed
// rounding, saturation, carries, and integer operations with PTX's corner cases.
#pragma once
#include "emulator.h"

extern "C" {
float exp2f(float) noexcept;
double log2(double) noexcept;
double sin(double) noexcept;
double cos(double) noexcept;
double tanh(double) noexcept;
}

#pragma GCC visibility push(hidden)

// Registers are unsigned integers; these views change the type, never the bits.
#define F32(x) __builtin_bit_cast(float, (u32)(x))
#define F64(x) __builtin_bit_cast(double, (u64)(x))
#define BITS32(x) __builtin_bit_cast(u32, (float)(x))
#define BITS64(x) __builtin_bit_cast(u64, (double)(x))

// Where the bits of an fp32 register are looked at, a NaN has those that the hardware gives every NaN it computes.  One that was
// only loaded would keep its own there.
inline u32 canonical_bits(u32 x) { return (x & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : x; }

// PTX memory is untyped: these types may alias any other.
typedef u8 __attribute__((may_alias)) mem_u8;
typedef u16 __attribute__((may_alias)) mem_u16;
typedef u32 __attribute__((may_alias)) mem_u32;
typedef u64 __attribute__((may_alias)) mem_u64;
typedef s8 __attribute__((may_alias)) mem_s8;
typedef s16 __attribute__((may_alias)) mem_s16;
typedef s32 __attribute__((may_alias)) mem_s32;
typedef s64 __attribute__((may_alias)) mem_s64;
typedef unsigned __int128 u128;
typedef u128 __attribute__((may_alias)) mem_u128;
#define MEMORY(type, address) (*(mem_##type *)(address))

#define CHECK_ALIGNED(address, bytes, line)                                                  \
  if (__builtin_expect(((u64)(address) & ((bytes) - 1)) != 0, 0))                            \
    t.view->runtime->fail(t, 716, "misaligned address", (u64)(address), line)

// See Thread::effects. Left out of functions that cannot spin.
#define EFFECT(condition) t.effects += (condition)

// ThreadSanitizer identifies memory by its address: if the same memory is mapped twice, release and acquire need an edge at the
// memory behind the addresses.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RELEASED(address) t.view->runtime->released(t, (u64)(address))
#endif
#endif
#ifndef RELEASED
#define RELEASED(address)
#endif

namespace emulator {

// ---- bf16 and f16 as bit patterns <-> float values ----

inline float bf16_value(u16 h) { return F32((u32)h << 16); }

inline u16 bf16_bits(float f) {
  u32 b = BITS32(f);
  if ((b & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return (u16)((b + 0x7fffu + ((b >> 16) & 1)) >> 16);
}

inline u16 bf16_bits_rz(float f) {
  u32 b = BITS32(f);
  return (b & 0x7fffffffu) > 0x7f800000u ? 0x7fff : (u16)(b >> 16);
}

inline float f16_value(u16 h) {
  u32 magnitude = h & 0x7fffu, sign = (u32)(h & 0x8000u) << 16;
  float f = magnitude >= 0x7c00u ? F32(0x7f800000u | (magnitude & 0x3ffu) << 13)
                                 : F32(magnitude << 13) * 0x1p112f;  // rebias; right for subnormals too
  return F32(BITS32(f) | sign);
}

// Rounds a non-negative finite value below 2^16 to f16's grid by adding and
// subtracting a power of two whose last place is that grid's step.
inline u16 f16_bits(float f) {
  u32 b = BITS32(f), sign = b >> 16 & 0x8000u;
  b &= 0x7fffffffu;
  if (b > 0x7f800000u) return 0x7fff;
  if (b >= 0x477ff000u) return (u16)(sign | 0x7c00u);  // rounds to 65536 or more
  if (b < 0x38800000u) return (u16)(sign | (BITS32(F32(b) + 0.5f) - 0x3f000000u));  // subnormal: step 2^-24
  return (u16)(sign | (((b + 0xfffu + (b >> 13 & 1)) >> 13) - 0x1c000u));
}

inline u16 f16_bits_rz(float f) {
  u32 b = BITS32(f), sign = b >> 16 & 0x8000u;
  b &= 0x7fffffffu;
  if (b > 0x7f800000u) return 0x7fff;
  if (b == 0x7f800000u) return (u16)(sign | 0x7c00u);
  if (b >= 0x47800000u) return (u16)(sign | 0x7bffu);
  if (b < 0x38800000u) return (u16)(sign | (u32)(F32(b) * 0x1p24f));
  return (u16)(sign | ((b >> 13) - 0x1c000u));
}

// ---- rounding to odd: keeps a later rounding to fewer bits correct ----

inline double add_to_odd(double a, double b) {
  double sum = a + b;
  double part = sum - a, error = (a - (sum - part)) + (b - part);
  u64 bits = BITS64(sum);
  if (error == 0 || error != error || (bits & 1)) return sum;
  bool toward_zero = (error < 0) != (sum < 0);
  return F64(toward_zero ? bits - 1 : bits + 1);
}

inline float narrow_to_odd(double d) {
  float f = (float)d;
  if ((double)f == d || d != d) return f;
  u32 bits = BITS32(f);
  bool too_large = ((double)f > d) == (d > 0);
  if (too_large) bits--;
  return F32(bits | 1);
}

inline float fma_narrow(float a, float b, float c) { return narrow_to_odd(add_to_odd((double)a * b, c)); }

// ---- directed rounding of float results ----

inline float round_down(double d) {
  float f = (float)d;
  if (!((double)f > d)) return f;
  u32 bits = BITS32(f);
  return bits == 0 ? -0x1p-149f : F32(f > 0 ? bits - 1 : bits + 1);
}
inline float round_up(double d) { return -round_down(-d); }
inline float round_zero(double d) { return d < 0 ? round_up(d) : round_down(d); }

// ---- small float helpers ----

inline float flush(float f) { return (BITS32(f) & 0x7f800000u) ? f : F32(BITS32(f) & 0x80000000u); }
inline float saturate(float f) { return f > 0 ? (f < 1 ? f : 1.0f) : 0.0f; }
inline double saturate(double f) { return f > 0 ? (f < 1 ? f : 1.0) : 0.0; }
inline float relu(float f) { return f > 0 || f != f ? f : 0.0f; }
inline float canonical_nan(float) { return F32(0x7fffffffu); }
inline double canonical_nan(double) { return F64(0x7fffffffffffffffull); }

template <class T> inline T float_min(T a, T b) {
  if (a != a) return b != b ? canonical_nan(a) : b;
  if (a == b) return __builtin_signbit(a) ? a : b;
  return b < a ? b : a;
}
template <class T> inline T float_max(T a, T b) {
  if (a != a) return b != b ? canonical_nan(a) : b;
  if (a == b) return __builtin_signbit(a) ? b : a;
  return b > a ? b : a;
}
template <class T> inline T float_min_nan(T a, T b) { return a != a || b != b ? canonical_nan(a) : float_min(a, b); }
template <class T> inline T float_max_nan(T a, T b) { return a != a || b != b ? canonical_nan(a) : float_max(a, b); }

// ---- conversions to integers: NaN gives 0, out of range saturates ----

template <class T> struct Range;
template <> struct Range<u8> { static constexpr double low = 0, end = 0x1p8; static constexpr u64 max = 0xff; };
template <> struct Range<u16> { static constexpr double low = 0, end = 0x1p16; static constexpr u64 max = 0xffff; };
template <> struct Range<u32> { static constexpr double low = 0, end = 0x1p32; static constexpr u64 max = 0xffffffffu; };
template <> struct Range<u64> { static constexpr double low = 0, end = 0x1p64; static constexpr u64 max = ~0ull; };
template <> struct Range<s8> { static constexpr double low = -0x1p7, end = 0x1p7; static constexpr s64 max = 0x7f; };
template <> struct Range<s16> { static constexpr double low = -0x1p15, end = 0x1p15; static constexpr s64 max = 0x7fff; };
template <> struct Range<s32> { static constexpr double low = -0x1p31, end = 0x1p31; static constexpr s64 max = 0x7fffffff; };
template <> struct Range<s64> { static constexpr double low = -0x1p63, end = 0x1p63; static constexpr s64 max = INT64_MAX; };

template <class T> inline T float_to(double f) {  // f is already an integer
  if (f != f) return 0;
  if (f >= Range<T>::end) return (T)Range<T>::max;
  if (f <= Range<T>::low) return (T)Range<T>::low;
  return (T)f;
}
template <class T> inline T saturate_to(__int128 v) {
  __int128 low = (__int128)Range<T>::low, high = (__int128)Range<T>::max;
  return (T)(v < low ? low : v > high ? high : v);
}

// ---- integers ----

template <class T> inline T divide(T a, T b) {
  if (b == 0) return (T)~(T)0;
  if (T(-1) < 0 && b == (T)-1) return (T)(0 - (u64)a);  // the hardware wraps where C++ overflows
  return a / b;
}
template <class T> inline T remainder(T a, T b) {
  if (b == 0) return a;
  if (T(-1) < 0 && b == (T)-1) return 0;
  return a % b;
}
inline u32 multiply_high(u32 a, u32 b) { return (u32)((u64)a * b >> 32); }
inline s32 multiply_high(s32 a, s32 b) { return (s32)((s64)a * b >> 32); }
inline u16 multiply_high(u16 a, u16 b) { return (u16)((u32)a * b >> 16); }
inline s16 multiply_high(s16 a, s16 b) { return (s16)((s32)a * b >> 16); }
inline u64 multiply_high(u64 a, u64 b) { return (u64)((unsigned __int128)a * b >> 64); }
inline s64 multiply_high(s64 a, s64 b) { return (s64)((__int128)a * b >> 64); }

template <class T> inline T shift_left(T a, u32 n) { return n < sizeof(T) * 8 ? (T)(a << n) : (T)0; }
template <class T> inline T shift_right(T a, u32 n) {  // arithmetic where T is signed
  u32 last = sizeof(T) * 8 - 1;
  if (n > last) return T(-1) < 0 ? (T)(a >> last) : (T)0;
  return (T)(a >> n);
}
inline u32 funnel_left(u32 low, u32 high, u32 n) { return (u32)((((u64)high << 32 | low) << n) >> 32); }
inline u32 funnel_right(u32 low, u32 high, u32 n) { return (u32)(((u64)high << 32 | low) >> n); }

template <class T> inline T bit_field_extract(T a, u32 position, u32 length) {
  const u32 width = sizeof(T) * 8;
  position &= 0xff, length &= 0xff;
  if (length == 0) return 0;
  bool is_signed = T(-1) < 0;
  u32 last = position + length - 1 < width - 1 ? position + length - 1 : width - 1;
  u64 sign = is_signed && ((u64)a >> last & 1) ? ~0ull : 0;
  u64 field = position < width ? (u64)a << (64 - width) >> (64 - width) >> position : 0;
  u32 kept = position < width ? last - position + 1 : 0;
  u64 mask = kept >= 64 ? ~0ull : (1ull << kept) - 1;
  return (T)((field & mask) | (sign & ~mask));
}
template <class T> inline T bit_field_insert(T from, T into, u32 position, u32 length) {
  position &= 0xff, length &= 0xff;
  u64 mask = position >= 64 || length == 0 ? 0 : (length >= 64 ? ~0ull : (1ull << length) - 1) << position;
  return (T)((into & ~mask) | (position >= 64 ? 0 : (u64)from << position & mask));
}
inline u64 reverse_bits(u64 a, u32 width) {
  u64 r = 0;
  for (u32 i = 0; i < width; i++) r |= (a >> i & 1) << (width - 1 - i);
  return r;
}
inline u32 find_leading(u64 a, bool is_signed, u32 width, bool shift_amount) {
  if (is_signed && (a >> (width - 1) & 1)) a = ~a;
  if (width < 64) a &= (1ull << width) - 1;
  if (a == 0) return 0xffffffffu;
  u32 position = 63 - (u32)__builtin_clzll(a);
  return shift_amount ? width - 1 - position : position;
}
inline u32 count_leading_zeros(u64 a, u32 width) { return a ? (u32)__builtin_clzll(a) - (64 - width) : width; }

inline u32 permute_bytes(u32 a, u32 b, u32 selector) {
  u64 bytes = (u64)b << 32 | a;
  u32 r = 0;
  for (u32 i = 0; i < 4; i++) {
    u32 s = selector >> 4 * i & 15;
    u32 byte = (u32)(bytes >> 8 * (s & 7)) & 0xff;
    if (s & 8) byte = byte & 0x80 ? 0xff : 0;
    r |= byte << 8 * i;
  }
  return r;
}
inline u32 byte_of(u64 bytes, u32 index) { return (u32)(bytes >> 8 * (index & 7)) & 0xff; }
enum PermuteMode { permute_f4e, permute_b4e, permute_rc8, permute_ecl, permute_ecr, permute_rc16 };
inline u32 permute_mode(u32 a, u32 b, u32 selector, PermuteMode mode) {
  u64 bytes = (u64)b << 32 | a;
  u32 s = selector & 3, r = 0;
  for (u32 i = 0; i < 4; i++) {
    u32 from = 0;
    switch (mode) {
      case permute_f4e: from = s + i; break;
      case permute_b4e: from = s - i; break;
      case permute_rc8: from = s; break;
      case permute_ecl: from = i > s ? i : s; break;
      case permute_ecr: from = i < s ? i : s; break;
      case permute_rc16: from = (s & 1) * 2 + (i & 1); break;
    }
    r |= byte_of(bytes, from) << 8 * i;
  }
  return r;
}
inline u32 dot_product_4(u32 a, u32 b, u32 c, bool a_signed, bool b_signed) {
  for (u32 i = 0; i < 32; i += 8) {
    s32 x = a_signed ? (s8)(a >> i) : (u8)(a >> i), y = b_signed ? (s8)(b >> i) : (u8)(b >> i);
    c += (u32)(x * y);
  }
  return c;
}

// ---- atomics on values that have no fetch-and-op of their own ----

template <class T, class Op> inline T atomic_update(void *p, Op op) {
  typedef T __attribute__((may_alias)) M;
  T old = __atomic_load_n((M *)p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n((M *)p, &old, (T)op(old), false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {}
  return old;
}

}  // namespace emulator

#pragma GCC visibility pop

#include "approximations.h"

using namespace emulator;
