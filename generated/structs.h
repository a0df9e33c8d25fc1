/*
 * The public structs that begin with their size: X(type, INITIALISER).
 *
 * Rendered by gen/ from templates/bindings/structs.h.j2; do not edit.
 */
#ifndef QUERN_GENERATED_STRUCTS_H
#define QUERN_GENERATED_STRUCTS_H

#define QUERN_FOR_EACH_STRUCT(X) \
    X(quern_device_info, QUERN_DEVICE_INFO_INIT) \
    X(quern_dump_args, QUERN_DUMP_ARGS_INIT) \
    X(quern_cross_entropy_args, QUERN_CROSS_ENTROPY_ARGS_INIT) \
    X(quern_gemm_args, QUERN_GEMM_ARGS_INIT) \
    X(quern_linear_cross_entropy_args, QUERN_LINEAR_CROSS_ENTROPY_ARGS_INIT) \
    X(quern_adam_args, QUERN_ADAM_ARGS_INIT) \
    X(quern_gradient_norm_args, QUERN_GRADIENT_NORM_ARGS_INIT) \
    X(quern_accumulate_args, QUERN_ACCUMULATE_ARGS_INIT) \
    X(quern_quantize_args, QUERN_QUANTIZE_ARGS_INIT) \
    X(quern_carrier, QUERN_CARRIER_INIT) \
    X(quern_hosts_args, QUERN_HOSTS_ARGS_INIT) \
    X(quern_group_args, QUERN_GROUP_ARGS_INIT) \
    X(quern_barrier_args, QUERN_BARRIER_ARGS_INIT) \
    X(quern_ragged_all_to_all_args, QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT) \
    X(quern_ragged_sizes_args, QUERN_RAGGED_SIZES_ARGS_INIT) \
    X(quern_collective_args, QUERN_COLLECTIVE_ARGS_INIT) \
    X(quern_group_gather_args, QUERN_GROUP_GATHER_ARGS_INIT) \
    X(quern_quantize_chunks_args, QUERN_QUANTIZE_CHUNKS_ARGS_INIT) \
    X(quern_device_view, QUERN_DEVICE_VIEW_INIT) \
    X(quern_transfer_args, QUERN_TRANSFER_ARGS_INIT)
#endif
