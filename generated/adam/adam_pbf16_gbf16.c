/*
 * The plain step kernels of Adam for bf16 parameters and bf16 gradients on a CPU.
 * src/kernels/cpu/adam.h says how they work, and adam_step.h has their text; the host code (src/adam/adam_cpu.c) calls them
 * through the table.
 *
 * Rendered by gen/ from templates/adam/adam.c.j2; do not edit.
 */
#define TYPE_f32 float
#define TYPE_f16 uint16_t
#define TYPE_bf16 uint16_t
#define TYPE_e4m3 uint8_t
#define TYPE_e5m2 uint8_t
#define TYPE_remainder uint16_t
#define STEP_IS_FULL 0
#define STEP_PARAM bf16
#define STEP_GRAD bf16

#include "kernels/cpu/adam.h"

#define STEP adam_pbf16_gbf16_mf32_vf32
#define STEP_M f32
#define STEP_V f32
#define STEP_MASTER none
#define STEP_ORDER ordered
#include "kernels/cpu/adam_step.h"

#define STEP adam_pbf16_gbf16_mf32_vf32_master32
#define STEP_M f32
#define STEP_V f32
#define STEP_MASTER f32
#define STEP_ORDER ordered
#include "kernels/cpu/adam_step.h"

#define STEP adam_pbf16_gbf16_mf32_vf32_remainder
#define STEP_M f32
#define STEP_V f32
#define STEP_MASTER remainder
#define STEP_ORDER ordered
#include "kernels/cpu/adam_step.h"

#define STEP adam_pbf16_gbf16_mf32_vbf16
#define STEP_M f32
#define STEP_V bf16
#define STEP_MASTER none
#define STEP_ORDER ordered
#include "kernels/cpu/adam_step.h"

#define STEP adam_pbf16_gbf16_mf32_vbf16_master32
#define STEP_M f32
#define STEP_V bf16
#define STEP_MASTER f32
#define STEP_ORDER ordered
#include "kernels/cpu/adam_step.h"

#define STEP adam_pbf16_gbf16_mf32_vbf16_remainder
#define STEP_M f32
#define STEP_V bf16
#define STEP_MASTER remainder
#define STEP_ORDER ordered
#include "kernels/cpu/adam_step.h"

#define STEP adam_pbf16_gbf16_mbf16_vf32
#define STEP_M bf16
#define STEP_V f32
#define STEP_MASTER none
#define STEP_ORDER ordered
#include "kernels/cpu/adam_step.h"

#define STEP adam_pbf16_gbf16_mbf16_vf32_master32
#define STEP_M bf16
#define STEP_V f32
#define STEP_MASTER f32
#define STEP_ORDER ordered
#include "kernels/cpu/adam_step.h"

#define STEP adam_pbf16_gbf16_mbf16_vf32_remainder
#define STEP_M bf16
#define STEP_V f32
#define STEP_MASTER remainder
#define STEP_ORDER ordered
#include "kernels/cpu/adam_step.h"

#define STEP adam_pbf16_gbf16_mbf16_vbf16
#define STEP_M bf16
#define STEP_V bf16
#define STEP_MASTER none
#define STEP_ORDER pair
#define STEP_IS_USUAL (QUERN_SIMD256 || QUERN_SIMD512)
#include "kernels/cpu/adam_step.h"

#define STEP adam_pbf16_gbf16_mbf16_vbf16_master32
#define STEP_M bf16
#define STEP_V bf16
#define STEP_MASTER f32
#define STEP_ORDER ordered
#define STEP_IS_USUAL (QUERN_SIMD256 || QUERN_SIMD512)
#include "kernels/cpu/adam_step.h"

#define STEP adam_pbf16_gbf16_mbf16_vbf16_remainder
#define STEP_M bf16
#define STEP_V bf16
#define STEP_MASTER remainder
#define STEP_ORDER pair
#define STEP_IS_USUAL (QUERN_SIMD256 || QUERN_SIMD512)
#include "kernels/cpu/adam_step.h"
