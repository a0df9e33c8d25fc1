/*
 * The initialisers of the header's structs, with fields that a test sets: those without a default.
 *
 *   const quern_barrier_args args = BARRIER_ARGS(.members = members, .member_count = 2);
 */
#ifndef HARNESS_ARGS_H
#define HARNESS_ARGS_H

#include "quern.h"

#define INITIAL(type, defaults, ...) {.size = QUERN_STRUCT_SIZE(type), defaults(QUERN_SET_FIELD) __VA_ARGS__}

#define ACCUMULATE_ARGS(...) INITIAL(quern_accumulate_args, QUERN_ACCUMULATE_ARGS_DEFAULTS, __VA_ARGS__)
#define ADAM_ARGS(...) INITIAL(quern_adam_args, QUERN_ADAM_ARGS_DEFAULTS, __VA_ARGS__)
#define BARRIER_ARGS(...) INITIAL(quern_barrier_args, QUERN_NO_DEFAULTS, __VA_ARGS__)
#define CARRIER(...) INITIAL(quern_carrier, QUERN_NO_DEFAULTS, __VA_ARGS__)
#define COLLECTIVE_ARGS(...) INITIAL(quern_collective_args, QUERN_COLLECTIVE_ARGS_DEFAULTS, __VA_ARGS__)
#define CROSS_ENTROPY_ARGS(...) INITIAL(quern_cross_entropy_args, QUERN_CROSS_ENTROPY_ARGS_DEFAULTS, __VA_ARGS__)
#define DUMP_ARGS(...) INITIAL(quern_dump_args, QUERN_NO_DEFAULTS, __VA_ARGS__)
#define GEMM_ARGS(...) INITIAL(quern_gemm_args, QUERN_NO_DEFAULTS, __VA_ARGS__)
#define GRADIENT_NORM_ARGS(...) INITIAL(quern_gradient_norm_args, QUERN_GRADIENT_NORM_ARGS_DEFAULTS, __VA_ARGS__)
#define GROUP_ARGS(...) INITIAL(quern_group_args, QUERN_GROUP_ARGS_DEFAULTS, __VA_ARGS__)
#define HOSTS_ARGS(...) INITIAL(quern_hosts_args, QUERN_NO_DEFAULTS, __VA_ARGS__)
#define LINEAR_CROSS_ENTROPY_ARGS(...) \
    INITIAL(quern_linear_cross_entropy_args, QUERN_LINEAR_CROSS_ENTROPY_ARGS_DEFAULTS, __VA_ARGS__)
#define QUANTIZE_ARGS(...) INITIAL(quern_quantize_args, QUERN_QUANTIZE_ARGS_DEFAULTS, __VA_ARGS__)
#define QUANTIZE_CHUNKS_ARGS(...) INITIAL(quern_quantize_chunks_args, QUERN_QUANTIZE_CHUNKS_ARGS_DEFAULTS, __VA_ARGS__)
#define RAGGED_ALL_TO_ALL_ARGS(...) INITIAL(quern_ragged_all_to_all_args, QUERN_RAGGED_ALL_TO_ALL_ARGS_DEFAULTS, __VA_ARGS__)
#define RAGGED_SIZES_ARGS(...) INITIAL(quern_ragged_sizes_args, QUERN_RAGGED_SIZES_ARGS_DEFAULTS, __VA_ARGS__)
#define TRANSFER_ARGS(...) INITIAL(quern_transfer_args, QUERN_TRANSFER_ARGS_DEFAULTS, __VA_ARGS__)

/* The types of Adam's parameters, gradients and moments, if they have the same. */
#define ADAM_DTYPES(dtype) .param_dtype = dtype, .grad_dtype = dtype, .m_dtype = dtype, .v_dtype = dtype

#endif
