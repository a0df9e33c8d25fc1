/*
 * The initialisers of the public structs, for programs in languages without their macros: the bytes of the macro, padding
 * included.  A struct that grows gets a second function, to which the header's name then refers: programs that were compiled
 * against the smaller struct pass no more bytes than that.
 */
#include <string.h>

#include "quern.h"

#define DEFINE_INIT(type, initialiser) \
    void type##_init(type *target) { \
        static const type initial = initialiser; \
        _Static_assert(sizeof initial < 0x10000, "the upper half of the size is the mark"); \
        if (target) memcpy(target, &initial, sizeof initial); \
    }

DEFINE_INIT(quern_device_info, QUERN_DEVICE_INFO_INIT)
DEFINE_INIT(quern_dump_args, QUERN_DUMP_ARGS_INIT)
DEFINE_INIT(quern_cross_entropy_args, QUERN_CROSS_ENTROPY_ARGS_INIT)
DEFINE_INIT(quern_gemm_args, QUERN_GEMM_ARGS_INIT)
DEFINE_INIT(quern_linear_cross_entropy_args, QUERN_LINEAR_CROSS_ENTROPY_ARGS_INIT)
DEFINE_INIT(quern_adam_args, QUERN_ADAM_ARGS_INIT)
DEFINE_INIT(quern_gradient_norm_args, QUERN_GRADIENT_NORM_ARGS_INIT)
DEFINE_INIT(quern_accumulate_args, QUERN_ACCUMULATE_ARGS_INIT)
DEFINE_INIT(quern_quantize_args, QUERN_QUANTIZE_ARGS_INIT)
DEFINE_INIT(quern_carrier, QUERN_CARRIER_INIT)
DEFINE_INIT(quern_group_args, QUERN_GROUP_ARGS_INIT)
DEFINE_INIT(quern_barrier_args, QUERN_BARRIER_ARGS_INIT)
DEFINE_INIT(quern_ragged_all_to_all_args, QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT)
DEFINE_INIT(quern_ragged_sizes_args, QUERN_RAGGED_SIZES_ARGS_INIT)
DEFINE_INIT(quern_collective_args, QUERN_COLLECTIVE_ARGS_INIT)
DEFINE_INIT(quern_quantize_chunks_args, QUERN_QUANTIZE_CHUNKS_ARGS_INIT)
DEFINE_INIT(quern_device_view, QUERN_DEVICE_VIEW_INIT)
DEFINE_INIT(quern_transfer_args, QUERN_TRANSFER_ARGS_INIT)
