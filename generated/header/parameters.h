/*
 * The parameters of every public function as a struct, in their order; without const, since the fuzzer writes all of them.
 *
 * Rendered by gen/ from templates/bindings/header_parameters.h.j2; do not edit.
 */
#ifndef QUERN_GENERATED_HEADER_PARAMETERS_H
#define QUERN_GENERATED_HEADER_PARAMETERS_H

#include <quern.h>
typedef struct {
    quern_status status;
} quern_status_string__parameters;
typedef struct {
    quern_status status;
} quern_status_blame__parameters;
typedef struct {
    char *buffer;
    size_t bytes;
} quern_error_detail__parameters;
typedef struct {
    quern_log_callback callback;
    void *user;
    quern_log_level level;
} quern_set_log__parameters;
typedef struct {
    quern_dtype dtype;
} quern_dtype_name__parameters;
typedef struct {
    quern_dtype dtype;
} quern_dtype_bytes__parameters;
typedef struct {
    quern_device_kind kind;
    int *count;
} quern_device_count__parameters;
typedef struct {
    quern_device_kind kind;
    int ordinal;
    quern_device **device;
} quern_device_open__parameters;
typedef struct {
    quern_device *device;
} quern_device_close__parameters;
typedef struct {
    quern_device_info *info;
} quern_device_info_init__parameters;
typedef struct {
    quern_device *device;
    quern_device_info *info;
} quern_device_get_info__parameters;
typedef struct {
    quern_device *device;
    char *buffer;
    size_t bytes;
} quern_device_report__parameters;
typedef struct {
    quern_device *device;
    unsigned operations;
} quern_prepare__parameters;
typedef struct {
    char *path;
} quern_load_pack__parameters;
typedef struct {
    quern_device *device;
    int threads;
    quern_parallel_for hook;
    void *user;
} quern_set_threads__parameters;
typedef struct {
    char *path;
} quern_trace_begin__parameters;
typedef struct {
    quern_dump_args *args;
} quern_dump_args_init__parameters;
typedef struct {
    quern_device *device;
    quern_dump_args *args;
} quern_dump_at__parameters;
typedef struct {
    quern_device *device;
    int64_t step;
} quern_step__parameters;
typedef struct {
    quern_cross_entropy_args *args;
} quern_cross_entropy_args_init__parameters;
typedef struct {
    quern_device *device;
    quern_cross_entropy_args *args;
    size_t *bytes;
} quern_cross_entropy_workspace__parameters;
typedef struct {
    quern_device *device;
    quern_cross_entropy_args *args;
    void *workspace;
    size_t workspace_bytes;
    void *stream;
} quern_cross_entropy__parameters;
typedef struct {
    quern_device *device;
    quern_cross_entropy_args *args;
    void *workspace;
    size_t workspace_bytes;
    void *stream;
} quern_cross_entropy_stats__parameters;
typedef struct {
    quern_device *device;
    quern_cross_entropy_args *args;
    quern_row_stats *shards;
    int64_t shard_count;
    void *workspace;
    size_t workspace_bytes;
    void *stream;
} quern_cross_entropy_combine__parameters;
typedef struct {
    quern_device *device;
    quern_cross_entropy_args *args;
    void *workspace;
    size_t workspace_bytes;
    void *stream;
} quern_cross_entropy_gradient__parameters;
typedef struct {
    quern_device *device;
    quern_cross_entropy_args *args;
    void *stream;
} quern_cross_entropy_upstream__parameters;
typedef struct {
    quern_device *device;
    quern_cross_entropy_args *args;
    char *buffer;
    size_t bytes;
} quern_cross_entropy_explain__parameters;
typedef struct {
    quern_device *device;
    uint64_t *hash;
} quern_portable_hash__parameters;
typedef struct {
    quern_gemm_args *args;
} quern_gemm_args_init__parameters;
typedef struct {
    quern_device *device;
    char *library;
    quern_blas **blas;
} quern_blas_open__parameters;
typedef struct {
    quern_blas *blas;
} quern_blas_close__parameters;
typedef struct {
    void *blas;
    quern_gemm_args *args;
    void *stream;
} quern_blas_gemm__parameters;
typedef struct {
    quern_linear_cross_entropy_args *args;
} quern_linear_cross_entropy_args_init__parameters;
typedef struct {
    quern_device *device;
    quern_linear_cross_entropy_args *args;
    size_t *bytes;
} quern_linear_cross_entropy_workspace__parameters;
typedef struct {
    quern_device *device;
    quern_linear_cross_entropy_args *args;
    void *workspace;
    size_t workspace_bytes;
    void *stream;
} quern_linear_cross_entropy__parameters;
typedef struct {
    quern_adam_args *args;
} quern_adam_args_init__parameters;
typedef struct {
    quern_device *device;
    quern_adam_args *args;
    size_t *bytes;
} quern_adam_workspace__parameters;
typedef struct {
    quern_device *device;
    quern_adam_args *args;
    void *workspace;
    size_t workspace_bytes;
    void *stream;
} quern_adam__parameters;
typedef struct {
    quern_device *device;
    quern_adam_args *args;
    char *buffer;
    size_t bytes;
} quern_adam_explain__parameters;
typedef struct {
    quern_device *device;
    quern_adam_args *args;
    quern_adam_plan **plan;
} quern_adam_plan_create__parameters;
typedef struct {
    quern_adam_plan *plan;
} quern_adam_plan_destroy__parameters;
typedef struct {
    quern_gradient_norm_args *args;
} quern_gradient_norm_args_init__parameters;
typedef struct {
    quern_device *device;
    quern_gradient_norm_args *args;
    size_t *bytes;
} quern_gradient_norm_workspace__parameters;
typedef struct {
    quern_device *device;
    quern_gradient_norm_args *args;
    void *workspace;
    size_t workspace_bytes;
    void *stream;
} quern_gradient_norm__parameters;
typedef struct {
    quern_accumulate_args *args;
} quern_accumulate_args_init__parameters;
typedef struct {
    quern_device *device;
    quern_accumulate_args *args;
    void *stream;
} quern_accumulate__parameters;
typedef struct {
    quern_device *device;
    quern_accumulate_args *args;
    quern_accumulate_plan **plan;
} quern_accumulate_plan_create__parameters;
typedef struct {
    quern_accumulate_plan *plan;
} quern_accumulate_plan_destroy__parameters;
typedef struct {
    quern_device *device;
    quern_adam_args *args;
    size_t *bytes;
} quern_adam_saved_bytes__parameters;
typedef struct {
    quern_device *device;
    quern_adam_args *args;
    void *saved;
    size_t bytes;
} quern_adam_save__parameters;
typedef struct {
    quern_device *device;
    quern_adam_args *args;
    void *saved;
    size_t bytes;
    int64_t *step;
    uint64_t *seed;
} quern_adam_load__parameters;
typedef struct {
    quern_quantize_args *args;
} quern_quantize_args_init__parameters;
typedef struct {
    quern_device *device;
    quern_quantize_args *args;
    size_t *bytes;
} quern_quantize_workspace__parameters;
typedef struct {
    quern_device *device;
    quern_quantize_args *args;
    void *workspace;
    size_t workspace_bytes;
    void *stream;
} quern_quantize__parameters;
typedef struct {
    quern_device *device;
    quern_quantize_args *args;
    void *workspace;
    size_t workspace_bytes;
    void *stream;
} quern_quantize_amax__parameters;
typedef struct {
    quern_device *device;
    quern_quantize_args *args;
    void *stream;
} quern_quantize_cast__parameters;
typedef struct {
    quern_device *device;
    quern_quantize_args *args;
    char *buffer;
    size_t bytes;
} quern_quantize_explain__parameters;
typedef struct {
    quern_device *device;
    quern_quantize_args *args;
    quern_quantize_plan **plan;
} quern_quantize_plan_create__parameters;
typedef struct {
    quern_quantize_plan *plan;
} quern_quantize_plan_destroy__parameters;
typedef struct {
    quern_carrier *carrier;
} quern_carrier_init__parameters;
typedef struct {
    quern_hosts_args *args;
} quern_hosts_args_init__parameters;
typedef struct {
    quern_group_args *args;
} quern_group_args_init__parameters;
typedef struct {
    quern_group_args *args;
    int count;
    quern_group **groups;
} quern_group_create__parameters;
typedef struct {
    quern_group *group;
} quern_group_rank__parameters;
typedef struct {
    quern_group *group;
} quern_group_size__parameters;
typedef struct {
    quern_group **groups;
    int count;
    int *colours;
    int *keys;
    quern_group **new_groups;
} quern_group_split__parameters;
typedef struct {
    quern_group **groups;
    int count;
    quern_group **new_groups;
} quern_group_shrink__parameters;
typedef struct {
    quern_group *group;
} quern_group_destroy__parameters;
typedef struct {
    quern_group *group;
    char *reason;
} quern_group_abort__parameters;
typedef struct {
    quern_group *group;
} quern_group_status__parameters;
typedef struct {
    quern_group *group;
    uint64_t *mask;
    int words;
} quern_group_missing__parameters;
typedef struct {
    quern_group *group;
    char *buffer;
    size_t bytes;
} quern_group_report__parameters;
typedef struct {
    quern_barrier_args *args;
} quern_barrier_args_init__parameters;
typedef struct {
    quern_group *group;
    quern_barrier_args *args;
    void *stream;
} quern_barrier__parameters;
typedef struct {
    int ranks;
} quern_barrier_bytes__parameters;
typedef struct {
    quern_group **groups;
    int count;
    size_t *bytes;
    void **pointers;
} quern_symmetric_alloc__parameters;
typedef struct {
    quern_group *group;
    void *pointer;
    void *stream;
} quern_symmetric_free__parameters;
typedef struct {
    quern_group **groups;
    int count;
    void **pointers;
    size_t *bytes;
} quern_symmetric_register__parameters;
typedef struct {
    quern_group *group;
    void *pointer;
    void *stream;
} quern_symmetric_unregister__parameters;
typedef struct {
    quern_group *group;
    void *pointer;
    int rank;
    void **peer;
} quern_symmetric_peer__parameters;
typedef struct {
    quern_group *group;
    void *pointer;
    void **multicast;
} quern_symmetric_multicast__parameters;
typedef struct {
    quern_ragged_all_to_all_args *args;
} quern_ragged_all_to_all_args_init__parameters;
typedef struct {
    quern_group *group;
    quern_ragged_all_to_all_args *args;
    size_t *bytes;
} quern_ragged_all_to_all_workspace__parameters;
typedef struct {
    quern_group *group;
    quern_ragged_all_to_all_args *args;
    void *workspace;
    size_t workspace_bytes;
    void *stream;
} quern_ragged_all_to_all__parameters;
typedef struct {
    quern_group **groups;
    int count;
    quern_ragged_all_to_all_args *args;
    void **workspaces;
    size_t *workspace_bytes;
    quern_ragged_plan **plans;
} quern_ragged_plan_create__parameters;
typedef struct {
    quern_ragged_plan *plan;
    void *stream;
} quern_ragged_plan_run__parameters;
typedef struct {
    quern_ragged_plan *plan;
} quern_ragged_plan_destroy__parameters;
typedef struct {
    quern_ragged_sizes_args *args;
} quern_ragged_sizes_args_init__parameters;
typedef struct {
    quern_group **groups;
    int count;
    quern_ragged_sizes_args *args;
} quern_ragged_sizes__parameters;
typedef struct {
    quern_collective_args *args;
} quern_collective_args_init__parameters;
typedef struct {
    quern_group *group;
    quern_collective_args *args;
    size_t *bytes;
} quern_collective_workspace__parameters;
typedef struct {
    quern_group *group;
    quern_collective_args *args;
    void *workspace;
    size_t workspace_bytes;
    void *stream;
} quern_all_gather__parameters;
typedef struct {
    quern_group *group;
    quern_collective_args *args;
    void *workspace;
    size_t workspace_bytes;
    void *stream;
} quern_reduce_scatter__parameters;
typedef struct {
    quern_group *group;
    quern_collective_args *args;
    void *workspace;
    size_t workspace_bytes;
    void *stream;
} quern_all_reduce__parameters;
typedef struct {
    quern_group *group;
    quern_collective_args *args;
    void *workspace;
    size_t workspace_bytes;
    void *stream;
} quern_broadcast__parameters;
typedef struct {
    quern_group_gather_args *args;
} quern_group_gather_args_init__parameters;
typedef struct {
    void *args;
    void *mine;
    void *all;
    size_t bytes;
    void *stream;
} quern_group_gather__parameters;
typedef struct {
    quern_quantize_chunks_args *args;
} quern_quantize_chunks_args_init__parameters;
typedef struct {
    quern_group *group;
    quern_quantize_chunks_args *args;
    size_t *bytes;
} quern_quantize_chunks_workspace__parameters;
typedef struct {
    quern_group *group;
    quern_quantize_chunks_args *args;
    void *workspace;
    size_t workspace_bytes;
    void *stream;
} quern_quantize_chunks__parameters;
typedef struct {
    quern_group *group;
    uint32_t *ready;
    int64_t count;
    uint32_t value;
    double timeout;
    void *stream;
} quern_chunk_wait__parameters;
typedef struct {
    quern_device_view *view;
} quern_device_view_init__parameters;
typedef struct {
    quern_group *group;
    void *pointer;
    quern_device_view *view;
} quern_symmetric_view__parameters;
typedef struct {
    quern_transfer_args *args;
} quern_transfer_args_init__parameters;
typedef struct {
    quern_group *group;
    quern_transfer_args *args;
    quern_transfer **transfer;
} quern_transfer_prepare__parameters;
typedef struct {
    quern_transfer *transfer;
    void *stream;
} quern_transfer_start__parameters;
typedef struct {
    quern_transfer *transfer;
    int32_t *done;
} quern_transfer_test__parameters;
typedef struct {
    quern_transfer *transfer;
    double timeout;
} quern_transfer_wait__parameters;
typedef struct {
    quern_transfer *transfer;
    void *stream;
    uint32_t *status;
} quern_transfer_wait_on__parameters;
typedef struct {
    quern_transfer *transfer;
    char *reason;
} quern_transfer_cancel__parameters;
typedef struct {
    quern_transfer *transfer;
} quern_transfer_destroy__parameters;
typedef struct {
    quern_group *group;
} quern_transfer_begin__parameters;
typedef struct {
    quern_group *group;
} quern_transfer_end__parameters;
#endif
