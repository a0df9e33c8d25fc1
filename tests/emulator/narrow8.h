// fp32 as codes of 8 bits, for translated PTX that has such conversions: cvt.rn.satfinite.e4m3x2.f32 and .e5m2x2.f32.
//
// PTX leaves open which code a NaN becomes: here it keeps its sign, and in e5m2 it is not the one of all ones, so that no kernel
// may rely on one of them.
#pragma once
#include "arithmetic.h"

#pragma GCC visibility push(hidden)

namespace emulator {

// Of a type with so many bits of fraction and this exponent bias.  As in f16_bits, the step of subnormal codes is that of a sum.
template <int FRACTION, int BIAS, u32 LARGEST, u32 NAN8> inline u32 narrow8(float f) {
  const u32 sign = BITS32(f) >> 24 & 0x80, b = BITS32(f) & 0x7fffffffu, cut = 23 - FRACTION;
  if (b > 0x7f800000u) return sign | NAN8;
  const u32 aligner = (151u - BIAS - FRACTION) << 23, rebias = (127u - BIAS) << FRACTION;
  const u32 code = b < (128u - BIAS) << 23 ? BITS32(F32(b) + F32(aligner)) - aligner
                                           : ((b + (1u << (cut - 1)) - 1 + (b >> cut & 1)) >> cut) - rebias;
  return sign | (code < LARGEST ? code : LARGEST);
}

inline u32 narrow8_e4m3(float f) { return narrow8<3, 7, 0x7e, 0x7f>(f); }
inline u32 narrow8_e5m2(float f) { return narrow8<2, 15, 0x7b, 0x7e>(f); }

}  // namespace emulator

#pragma GCC visibility pop
