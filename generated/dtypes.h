/*
 * The element types: X(number, CONSTANT, name, bytes, is_float, is_scaled), in the order of quern_dtype (quern.h).  Logits, parameters
 * and gradients can have a type with is_float; a moment in one with is_scaled has a scale for each QUERN_SCALE_BLOCK elements.
 *
 * Rendered by gen/ from templates/build/dtypes.h.j2; do not edit.
 */
#ifndef QUERN_GENERATED_DTYPES_H
#define QUERN_GENERATED_DTYPES_H

#define QUERN_FOR_EACH_DTYPE(X) \
    X(1, QUERN_F32, f32, 4, 1, 0) \
    X(2, QUERN_F16, f16, 2, 1, 1) \
    X(3, QUERN_BF16, bf16, 2, 1, 0) \
    X(4, QUERN_E4M3, e4m3, 1, 0, 1) \
    X(5, QUERN_E5M2, e5m2, 1, 0, 1) \
    X(6, QUERN_REMAINDER, remainder, 2, 0, 0)
#define QUERN_FLOAT_DTYPES QUERN_F32, QUERN_F16, QUERN_BF16

#endif
