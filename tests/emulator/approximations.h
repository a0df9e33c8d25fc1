// PTX's approximations: computed well and rounded once or, with QUERN_EMULATOR_APPROXIMATE=SEED, off by up to the bound that the
// PTX ISA states, to either side.  The error is a function of the seed and the operand, as that of a real unit is one of the
// operand.  Included by arithmetic.h.
#pragma once

#pragma GCC visibility push(hidden)

#define SEED t.view->runtime->approximation_seed

namespace emulator {

// One of -bound ... bound.
inline s32 error_of(u32 operand, u32 seed, s32 bound) {
  u32 h = operand * 0x9e3779b1u ^ seed * 0x85ebca6bu;
  h = (h ^ h >> 15) * 0x2c1b3c6du;
  h = (h ^ h >> 12) * 0x297a2d39u;
  return (s32)((h ^ h >> 15) % (u32)(2 * bound + 1)) - bound;
}

inline bool is_ordinary(float f) { u32 exponent = BITS32(f) >> 23 & 255; return exponent != 0 && exponent != 255; }

// A rounded result, off by up to so many units in the last place.
inline float off_by_units(float exact, u32 operand, u32 seed, s32 units) {
  if (__builtin_expect(seed == 0, 1) || !is_ordinary(exact)) return exact;
  return F32(BITS32(exact) + (u32)error_of(operand, seed, units));
}

// An exact result, off by up to a distance and then rounded.
inline float off_by_distance(double exact, double distance, u32 operand, u32 seed) {
  if (__builtin_expect(seed == 0, 1) || !is_ordinary((float)exact)) return (float)exact;
  return (float)(exact + distance * error_of(operand, seed, 1 << 20) * 0x1p-20);
}

// Relative bounds hold for the rounded result: rounding takes up to 2^-24 of them.
inline float off_by_share(double exact, double share, u32 operand, u32 seed) {
  return off_by_distance(exact, exact * (share - 0x1p-24), operand, seed);
}

inline float approximate_ex2(float x, u32 seed) { return off_by_units(exp2f(x), BITS32(x), seed, x == 0 ? 0 : 2); }
inline float approximate_rcp(float x, u32 seed) { return off_by_units(1.0f / x, BITS32(x), seed, 1); }
inline float approximate_quotient(float exact, u32 seed) { return off_by_units(exact, BITS32(exact), seed, 2); }
inline float approximate_rsqrt(float x, u32 seed) {
    return off_by_share(1.0 / __builtin_sqrt((double)x), 0x1.13p-23, BITS32(x), seed);
}
inline float approximate_sqrt(float x, u32 seed) { return off_by_share(__builtin_sqrt((double)x), 0x1p-23, BITS32(x), seed); }
inline float approximate_tanh(float x, u32 seed) { return off_by_share(tanh((double)x), 0x1.01p-11, BITS32(x), seed); }
inline float approximate_sin(float x, u32 seed) { return off_by_distance(sin((double)x), 0x1.5ap-21, BITS32(x), seed); }
inline float approximate_cos(float x, u32 seed) { return off_by_distance(cos((double)x), 0x1.5ap-21, BITS32(x), seed); }

// Between 0.5 and 2 the bound is absolute.
inline float approximate_lg2(float x, u32 seed) {
  double exact = log2((double)x), near = 0x1p-22 - 0x1p-25;
  return x > 0.5f && x < 2.0f ? off_by_distance(exact, near, BITS32(x), seed) : off_by_share(exact, 0x1p-22, BITS32(x), seed);
}

// In f64 only the upper halves of operand and result count, with 20 bits of the result.
inline double upper_half(double d) { return F64(BITS64(d) >> 32 << 32); }
inline double off_in_upper_half(double exact, u32 operand, u32 seed) {
  double upper = upper_half(exact);
  bool is_ordinary = (BITS64(upper) >> 52 & 2047) % 2047 != 0;
  return seed == 0 || !is_ordinary ? upper : F64(BITS64(upper) + ((u64)(s64)error_of(operand, seed, 1) << 32));
}
inline double approximate_rcp(double x, u32 seed) { return off_in_upper_half(1.0 / upper_half(x), (u32)(BITS64(x) >> 32), seed); }
inline double approximate_rsqrt(double x, u32 seed) {
  return off_in_upper_half(1.0 / __builtin_sqrt(upper_half(x)), (u32)(BITS64(x) >> 32), seed);
}

}  // namespace emulator

#pragma GCC visibility pop
