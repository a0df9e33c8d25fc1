/*
 * Uses every macro of quern.h and calls every initialiser, in C99 and later and in C++11 and later.  Compiled by header.py with all
 * warnings as errors, and never linked.
 */
#include "quern.h"

#if QUERN_VERSION < 1
#error "QUERN_VERSION cannot be compared by the preprocessor"
#endif

/* A macro at file scope, in a member of a struct, nested and in an array. */
struct engine {
    int layers;
    quern_adam_args adam;
    quern_linear_cross_entropy_args head;
};

static const quern_device_info static_device_info = QUERN_DEVICE_INFO_INIT;
static const quern_dump_args static_dump = QUERN_DUMP_ARGS_INIT;
static const quern_cross_entropy_args static_cross_entropy_args = QUERN_CROSS_ENTROPY_ARGS_INIT;
static const quern_gemm_args static_gemm_args = QUERN_GEMM_ARGS_INIT;
static const quern_linear_cross_entropy_args static_linear_cross_entropy_args = QUERN_LINEAR_CROSS_ENTROPY_ARGS_INIT;
static const quern_adam_args static_adam_args = QUERN_ADAM_ARGS_INIT;
static const quern_gradient_norm_args static_gradient_norm_args = QUERN_GRADIENT_NORM_ARGS_INIT;
static const quern_accumulate_args static_accumulate_args = QUERN_ACCUMULATE_ARGS_INIT;
static const quern_quantize_args static_quantize_args = QUERN_QUANTIZE_ARGS_INIT;
static const quern_carrier static_carrier = QUERN_CARRIER_INIT;
static const quern_group_args static_group_args = QUERN_GROUP_ARGS_INIT;
static const quern_barrier_args static_barrier_args = QUERN_BARRIER_ARGS_INIT;
static const quern_ragged_all_to_all_args static_ragged_all_to_all_args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
static const quern_ragged_sizes_args static_ragged_sizes_args = QUERN_RAGGED_SIZES_ARGS_INIT;
static const quern_collective_args static_collective_args = QUERN_COLLECTIVE_ARGS_INIT;
static const quern_quantize_chunks_args static_chunks_args = QUERN_QUANTIZE_CHUNKS_ARGS_INIT;
static const quern_device_view static_device_view = QUERN_DEVICE_VIEW_INIT;
static const quern_transfer_args static_transfer_args = QUERN_TRANSFER_ARGS_INIT;
static const struct engine engine = {12, QUERN_ADAM_ARGS_INIT, QUERN_LINEAR_CROSS_ENTROPY_ARGS_INIT};

/* In C++ from 2014 on the macros are constants. */
#if defined(__cplusplus) && __cplusplus >= 201402L
constexpr quern_linear_cross_entropy_args constant = QUERN_LINEAR_CROSS_ENTROPY_ARGS_INIT;
static_assert(constant.loss.ignore_index == -100, "the macro's value");
#endif

uint64_t quern_header_user(void);

uint64_t quern_header_user(void) {
    quern_device_info device_info = QUERN_DEVICE_INFO_INIT;
    quern_dump_args dump = QUERN_DUMP_ARGS_INIT;
    quern_cross_entropy_args cross_entropy_args = QUERN_CROSS_ENTROPY_ARGS_INIT;
    quern_gemm_args gemm_args = QUERN_GEMM_ARGS_INIT;
    quern_linear_cross_entropy_args linear_cross_entropy_args = QUERN_LINEAR_CROSS_ENTROPY_ARGS_INIT;
    quern_adam_args adam_args = QUERN_ADAM_ARGS_INIT;
    quern_gradient_norm_args gradient_norm_args = QUERN_GRADIENT_NORM_ARGS_INIT;
    quern_accumulate_args accumulate_args = QUERN_ACCUMULATE_ARGS_INIT;
    quern_quantize_args quantize_args = QUERN_QUANTIZE_ARGS_INIT;
    quern_carrier carrier = QUERN_CARRIER_INIT;
    quern_group_args group_args = QUERN_GROUP_ARGS_INIT;
    quern_barrier_args barrier_args = QUERN_BARRIER_ARGS_INIT;
    quern_ragged_all_to_all_args ragged_all_to_all_args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    quern_ragged_sizes_args ragged_sizes_args = QUERN_RAGGED_SIZES_ARGS_INIT;
    quern_collective_args collective_args = QUERN_COLLECTIVE_ARGS_INIT;
    quern_quantize_chunks_args chunks_args = QUERN_QUANTIZE_CHUNKS_ARGS_INIT;
    quern_device_view device_view = QUERN_DEVICE_VIEW_INIT;
    quern_transfer_args transfer_args = QUERN_TRANSFER_ARGS_INIT;
    quern_group_args ranks[2] = {QUERN_GROUP_ARGS_INIT, QUERN_GROUP_ARGS_INIT};
    quern_device_info_init(&device_info);
    quern_dump_args_init(&dump);
    quern_cross_entropy_args_init(&cross_entropy_args);
    quern_gemm_args_init(&gemm_args);
    quern_linear_cross_entropy_args_init(&linear_cross_entropy_args);
    quern_adam_args_init(&adam_args);
    quern_gradient_norm_args_init(&gradient_norm_args);
    quern_accumulate_args_init(&accumulate_args);
    quern_quantize_args_init(&quantize_args);
    quern_carrier_init(&carrier);
    quern_group_args_init(&group_args);
    quern_barrier_args_init(&barrier_args);
    quern_ragged_all_to_all_args_init(&ragged_all_to_all_args);
    quern_ragged_sizes_args_init(&ragged_sizes_args);
    quern_collective_args_init(&collective_args);
    quern_quantize_chunks_args_init(&chunks_args);
    quern_device_view_init(&device_view);
    quern_transfer_args_init(&transfer_args);
    quern_group_args_init(ranks);
    gemm_args.size = QUERN_STRUCT_SIZE(quern_gemm_args);
    return device_info.size + static_device_info.size + dump.size + static_dump.size +
           cross_entropy_args.size + static_cross_entropy_args.size +
           gemm_args.size + static_gemm_args.size +
           linear_cross_entropy_args.size + static_linear_cross_entropy_args.size +
           adam_args.size + static_adam_args.size +
           gradient_norm_args.size + static_gradient_norm_args.size +
           accumulate_args.size + static_accumulate_args.size + quantize_args.size + static_quantize_args.size +
           carrier.size + static_carrier.size +
           group_args.size + static_group_args.size +
           barrier_args.size + static_barrier_args.size +
           collective_args.size + static_collective_args.size + chunks_args.size + static_chunks_args.size +
           device_view.size + static_device_view.size + ragged_sizes_args.size + static_ragged_sizes_args.size +
           ragged_all_to_all_args.size + static_ragged_all_to_all_args.size + transfer_args.size + static_transfer_args.size +
           engine.adam.size + engine.head.loss.size + ranks[1].size + QUERN_STRUCT_MARK;
}
