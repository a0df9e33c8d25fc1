/*
 * The types of include/quern.h that GPU kernels use: src/kernels/public.h.
 *
 * Rendered by gen/ from templates/bindings/kernel_types.h.j2; do not edit.
 */
#ifndef QUERN_GENERATED_KERNEL_TYPES_H
#define QUERN_GENERATED_KERNEL_TYPES_H

#include <stdint.h>

typedef enum quern_status {
    QUERN_OK = 0,
    QUERN_INVALID_ARGUMENT = 1000,
    QUERN_NULL_POINTER = 1001,
    QUERN_INVALID_STRUCT_SIZE = 1002,
    QUERN_INVALID_DTYPE = 1003,
    QUERN_INVALID_SHAPE = 1004,
    QUERN_WORKSPACE_TOO_SMALL = 1005,
    QUERN_NOT_PREPARED = 1006,
    QUERN_INVALID_PACK = 1007,
    QUERN_NOT_SUPPORTED = 2000,
    QUERN_NO_KERNEL = 2001,
    QUERN_NO_DEVICE = 2002,
    QUERN_NO_DRIVER = 2003,
    QUERN_DRIVER_TOO_OLD = 2004,
    QUERN_OUT_OF_MEMORY = 3000,
    QUERN_CUDA_ERROR = 3001,
    QUERN_SYSTEM_ERROR = 3002,
    QUERN_PEER_TIMEOUT = 4000,
    QUERN_PEER_LOST = 4001,
    QUERN_PEER_MISMATCH = 4002,
    QUERN_GROUP_ABORTED = 4003
} quern_status;

typedef enum quern_dtype {
    QUERN_NO_DTYPE = 0,
    QUERN_F32 = 1,
    QUERN_F16 = 2,
    QUERN_BF16 = 3,
    QUERN_E4M3 = 4,
    QUERN_E5M2 = 5,
    QUERN_REMAINDER = 6,
    QUERN_INT32 = 16,
    QUERN_INT64 = 17
} quern_dtype;
typedef struct quern_cross_entropy_report {
    int64_t counted_rows;
    int64_t ignored_rows;
    int64_t bad_labels;
    int64_t first_bad_row;
    int64_t infinite_rows;
} quern_cross_entropy_report;
typedef struct quern_row_stats {
    double origin;
    double others;
    double weighted;
    double moment;
    double weights;
    int64_t argmax;
    float maximum;
    float label_value;
    float label_weight;
    int32_t has_label;
} quern_row_stats;
typedef struct quern_row_nodes {
    float first_unit[32];
    float right_nodes[26];
    float left_nodes[26];
    float last_unit[32];
} quern_row_nodes;
#endif
