/*
 * The element types, in the order of quern_dtype (quern.h), and what is derived from their rows in gen/spec.py.
 *
 * Rendered by gen/ from templates/build/dtypes.h.j2; do not edit.
 */
#ifndef QUERN_GENERATED_DTYPES_H
#define QUERN_GENERATED_DTYPES_H

/*
 * X(number, CONSTANT, name, bits, exponent, has_infinity, is_float, is_scaled, ELEMENT).  exponent: its bits; 0: the type has no
 * value of its own.  Logits, parameters and gradients can have a type with is_float; a moment in one with is_scaled has a scale for
 * each QUERN_SCALE_BLOCK elements.  ELEMENT: its name in a dump.
 */
#define QUERN_FOR_EACH_DTYPE(X) \
    X(1, QUERN_F32, f32, 32, 8, 1, 1, 0, "F32") \
    X(2, QUERN_F16, f16, 16, 5, 1, 1, 1, "F16") \
    X(3, QUERN_BF16, bf16, 16, 8, 1, 1, 0, "BF16") \
    X(4, QUERN_E4M3, e4m3, 8, 4, 0, 0, 1, "F8_E4M3") \
    X(5, QUERN_E5M2, e5m2, 8, 5, 1, 0, 1, "F8_E5M2") \
    X(6, QUERN_REMAINDER, remainder, 16, 0, 1, 0, 0, "U16")
/* X(CONSTANT, name, exponent): the 16-bit types that share the conversions of format.h and format.cuh; there may be none. */
#define QUERN_FOR_EACH_COMMON_DTYPE(X)
#define QUERN_FLOAT_DTYPES QUERN_F32, QUERN_F16, QUERN_BF16
#define QUERN_NARROW_DTYPES QUERN_E4M3, QUERN_E5M2

#endif
