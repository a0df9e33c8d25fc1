/*
 * The public header as tables: every function with its parameters, every struct with its fields.  tests/header/table.h has the
 * types.  The extents that are declared here are defined in tests/header/extents.h: one without a definition is an error of the
 * compiler.
 *
 * Rendered by gen/ from templates/bindings/header_table.h.j2; do not edit.
 */
#ifndef QUERN_GENERATED_HEADER_TABLE_H
#define QUERN_GENERATED_HEADER_TABLE_H

#include <stddef.h>

#include "parameters.h"

/* ---- enums ---- */

static const int values_of_quern_status[] = {QUERN_OK, QUERN_INVALID_ARGUMENT, QUERN_NULL_POINTER, QUERN_INVALID_STRUCT_SIZE, QUERN_INVALID_DTYPE, QUERN_INVALID_SHAPE, QUERN_WORKSPACE_TOO_SMALL, QUERN_NOT_PREPARED, QUERN_INVALID_PACK, QUERN_NOT_SUPPORTED, QUERN_NO_KERNEL, QUERN_NO_DEVICE, QUERN_NO_DRIVER, QUERN_DRIVER_TOO_OLD, QUERN_OUT_OF_MEMORY, QUERN_CUDA_ERROR, QUERN_SYSTEM_ERROR, QUERN_PEER_TIMEOUT, QUERN_PEER_LOST, QUERN_PEER_MISMATCH, QUERN_GROUP_ABORTED};
static const int values_of_quern_log_level[] = {QUERN_LOG_ERROR, QUERN_LOG_INFO, QUERN_LOG_DEBUG};
static const int values_of_quern_dtype[] = {QUERN_NO_DTYPE, QUERN_F32, QUERN_F16, QUERN_BF16, QUERN_E4M3, QUERN_E5M2, QUERN_REMAINDER, QUERN_INT32, QUERN_INT64};
static const int values_of_quern_device_kind[] = {QUERN_CPU, QUERN_CUDA};
static const int values_of_quern_operations[] = {QUERN_CROSS_ENTROPY, QUERN_ADAM, QUERN_BARRIER, QUERN_RAGGED_ALL_TO_ALL, QUERN_QUANTIZE, QUERN_COLLECTIVE};
static const int values_of_quern_reduction[] = {QUERN_REDUCTION_NONE, QUERN_REDUCTION_SUM, QUERN_REDUCTION_MEAN};
static const int values_of_quern_bits[] = {QUERN_BITS_DEFAULT, QUERN_BITS_PORTABLE};
static const int values_of_quern_divergence[] = {QUERN_KL_FORWARD, QUERN_KL_REVERSE, QUERN_JENSEN_SHANNON};
static const int values_of_quern_adam_mode[] = {QUERN_ADAMW, QUERN_ADAM_L2};
static const int values_of_quern_adam_eps_mode[] = {QUERN_EPS_OUTSIDE, QUERN_EPS_INSIDE};
static const int values_of_quern_rounding[] = {QUERN_ROUND_DEFAULT, QUERN_ROUND_NEAREST, QUERN_ROUND_STOCHASTIC};
static const int values_of_quern_scaling[] = {QUERN_SCALING_DEFAULT, QUERN_SCALING_TENSOR, QUERN_SCALING_MX};
static const int values_of_quern_combination[] = {QUERN_COMBINE_SUM, QUERN_COMBINE_MAX};
static const int values_of_quern_order[] = {QUERN_ORDER_RANKS, QUERN_ORDER_ANY};
/* ---- structs, innermost first ---- */
static const struct field fields_of_quern_device_info[] = {
    {.name = "size", .kind = SIZE, .offset = offsetof(quern_device_info, size), .bytes = sizeof((quern_device_info *)0)->size},
    {.name = "kind", .kind = ENUM, .offset = offsetof(quern_device_info, kind), .bytes = sizeof((quern_device_info *)0)->kind, VALUES(quern_device_kind)},
    {.name = "ordinal", .kind = INTEGER, .offset = offsetof(quern_device_info, ordinal), .bytes = sizeof((quern_device_info *)0)->ordinal},
    {.name = "compute_capability", .kind = INTEGER, .offset = offsetof(quern_device_info, compute_capability), .bytes = sizeof((quern_device_info *)0)->compute_capability},
    {.name = "multiprocessors", .kind = INTEGER, .offset = offsetof(quern_device_info, multiprocessors), .bytes = sizeof((quern_device_info *)0)->multiprocessors},
    {.name = "shared_bytes", .kind = INTEGER, .offset = offsetof(quern_device_info, shared_bytes), .bytes = sizeof((quern_device_info *)0)->shared_bytes},
    {.name = "name", .kind = BYTES, .offset = offsetof(quern_device_info, name), .bytes = sizeof((quern_device_info *)0)->name},
    {.name = "target", .kind = BYTES, .offset = offsetof(quern_device_info, target), .bytes = sizeof((quern_device_info *)0)->target},
};
static const struct record record_of_quern_device_info = {"quern_device_info", sizeof(quern_device_info), fields_of_quern_device_info, 8};
static const struct field fields_of_quern_dump_args[] = {
    {.name = "size", .kind = SIZE, .offset = offsetof(quern_dump_args, size), .bytes = sizeof((quern_dump_args *)0)->size},
    {.name = "folder", .kind = TEXT, .offset = offsetof(quern_dump_args, folder), .bytes = sizeof((quern_dump_args *)0)->folder, .is_const = 1},
    {.name = "filter", .kind = TEXT, .offset = offsetof(quern_dump_args, filter), .bytes = sizeof((quern_dump_args *)0)->filter, .is_const = 1},
    {.name = "step", .kind = INTEGER, .offset = offsetof(quern_dump_args, step), .bytes = sizeof((quern_dump_args *)0)->step},
    {.name = "most_bytes", .kind = INTEGER, .offset = offsetof(quern_dump_args, most_bytes), .bytes = sizeof((quern_dump_args *)0)->most_bytes},
};
static const struct record record_of_quern_dump_args = {"quern_dump_args", sizeof(quern_dump_args), fields_of_quern_dump_args, 5};
DECLARE_EXTENT(quern_cross_entropy_args, logits)
DECLARE_EXTENT(quern_cross_entropy_args, labels)
DECLARE_EXTENT(quern_cross_entropy_args, loss)
DECLARE_EXTENT(quern_cross_entropy_args, grad)
DECLARE_EXTENT(quern_cross_entropy_args, grad_loss)
DECLARE_EXTENT(quern_cross_entropy_args, report)
DECLARE_EXTENT(quern_cross_entropy_args, class_weights)
DECLARE_EXTENT(quern_cross_entropy_args, lse)
DECLARE_EXTENT(quern_cross_entropy_args, log_prob)
DECLARE_EXTENT(quern_cross_entropy_args, entropy)
DECLARE_EXTENT(quern_cross_entropy_args, argmax)
DECLARE_EXTENT(quern_cross_entropy_args, stats)
DECLARE_EXTENT(quern_cross_entropy_args, inverse_temperatures)
DECLARE_EXTENT(quern_cross_entropy_args, grad_log_prob)
DECLARE_EXTENT(quern_cross_entropy_args, grad_entropy)
DECLARE_EXTENT(quern_cross_entropy_args, nodes)
DECLARE_EXTENT(quern_cross_entropy_args, top_ids)
DECLARE_EXTENT(quern_cross_entropy_args, top_log_probs)
DECLARE_EXTENT(quern_cross_entropy_args, given_ids)
DECLARE_EXTENT(quern_cross_entropy_args, given_log_probs)
DECLARE_EXTENT(quern_cross_entropy_args, shard_top_ids)
DECLARE_EXTENT(quern_cross_entropy_args, shard_top_logits)
DECLARE_EXTENT(quern_cross_entropy_args, shard_given_logits)
DECLARE_EXTENT(quern_cross_entropy_args, target_probs)
DECLARE_EXTENT(quern_cross_entropy_args, divergence)
DECLARE_EXTENT(quern_cross_entropy_args, grad_divergence)
DECLARE_EXTENT(quern_cross_entropy_args, soft_targets)
static const struct field fields_of_quern_cross_entropy_args[] = {
    {.name = "size", .kind = SIZE, .offset = offsetof(quern_cross_entropy_args, size), .bytes = sizeof((quern_cross_entropy_args *)0)->size},
    {.name = "logits_dtype", .kind = ENUM, .offset = offsetof(quern_cross_entropy_args, logits_dtype), .bytes = sizeof((quern_cross_entropy_args *)0)->logits_dtype, VALUES(quern_dtype)},
    {.name = "labels_dtype", .kind = ENUM, .offset = offsetof(quern_cross_entropy_args, labels_dtype), .bytes = sizeof((quern_cross_entropy_args *)0)->labels_dtype, VALUES(quern_dtype)},
    {.name = "reduction", .kind = ENUM, .offset = offsetof(quern_cross_entropy_args, reduction), .bytes = sizeof((quern_cross_entropy_args *)0)->reduction, VALUES(quern_reduction)},
    {.name = "rows", .kind = INTEGER, .offset = offsetof(quern_cross_entropy_args, rows), .bytes = sizeof((quern_cross_entropy_args *)0)->rows},
    {.name = "vocab", .kind = INTEGER, .offset = offsetof(quern_cross_entropy_args, vocab), .bytes = sizeof((quern_cross_entropy_args *)0)->vocab},
    {.name = "logits", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_args, logits), .bytes = sizeof((quern_cross_entropy_args *)0)->logits, .is_const = 1, .extent = extent_of_quern_cross_entropy_args__logits},
    {.name = "logits_stride", .kind = INTEGER, .offset = offsetof(quern_cross_entropy_args, logits_stride), .bytes = sizeof((quern_cross_entropy_args *)0)->logits_stride},
    {.name = "labels", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_args, labels), .bytes = sizeof((quern_cross_entropy_args *)0)->labels, .is_const = 1, .extent = extent_of_quern_cross_entropy_args__labels},
    {.name = "ignore_index", .kind = INTEGER, .offset = offsetof(quern_cross_entropy_args, ignore_index), .bytes = sizeof((quern_cross_entropy_args *)0)->ignore_index},
    {.name = "loss", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_args, loss), .bytes = sizeof((quern_cross_entropy_args *)0)->loss, .extent = extent_of_quern_cross_entropy_args__loss},
    {.name = "grad", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_args, grad), .bytes = sizeof((quern_cross_entropy_args *)0)->grad, .extent = extent_of_quern_cross_entropy_args__grad},
    {.name = "grad_dtype", .kind = ENUM, .offset = offsetof(quern_cross_entropy_args, grad_dtype), .bytes = sizeof((quern_cross_entropy_args *)0)->grad_dtype, VALUES(quern_dtype)},
    {.name = "grad_stride", .kind = INTEGER, .offset = offsetof(quern_cross_entropy_args, grad_stride), .bytes = sizeof((quern_cross_entropy_args *)0)->grad_stride},
    {.name = "grad_loss", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_args, grad_loss), .bytes = sizeof((quern_cross_entropy_args *)0)->grad_loss, .is_const = 1, .extent = extent_of_quern_cross_entropy_args__grad_loss},
    {.name = "grad_loss_stride", .kind = INTEGER, .offset = offsetof(quern_cross_entropy_args, grad_loss_stride), .bytes = sizeof((quern_cross_entropy_args *)0)->grad_loss_stride},
    {.name = "grad_scale", .kind = REAL, .offset = offsetof(quern_cross_entropy_args, grad_scale), .bytes = sizeof((quern_cross_entropy_args *)0)->grad_scale},
    {.name = "report", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_args, report), .bytes = sizeof((quern_cross_entropy_args *)0)->report, .extent = extent_of_quern_cross_entropy_args__report},
    {.name = "label_smoothing", .kind = REAL, .offset = offsetof(quern_cross_entropy_args, label_smoothing), .bytes = sizeof((quern_cross_entropy_args *)0)->label_smoothing},
    {.name = "z_loss", .kind = REAL, .offset = offsetof(quern_cross_entropy_args, z_loss), .bytes = sizeof((quern_cross_entropy_args *)0)->z_loss},
    {.name = "softcap", .kind = REAL, .offset = offsetof(quern_cross_entropy_args, softcap), .bytes = sizeof((quern_cross_entropy_args *)0)->softcap},
    {.name = "class_weights", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_args, class_weights), .bytes = sizeof((quern_cross_entropy_args *)0)->class_weights, .is_const = 1, .extent = extent_of_quern_cross_entropy_args__class_weights},
    {.name = "padded_vocab", .kind = INTEGER, .offset = offsetof(quern_cross_entropy_args, padded_vocab), .bytes = sizeof((quern_cross_entropy_args *)0)->padded_vocab},
    {.name = "lse", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_args, lse), .bytes = sizeof((quern_cross_entropy_args *)0)->lse, .extent = extent_of_quern_cross_entropy_args__lse},
    {.name = "log_prob", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_args, log_prob), .bytes = sizeof((quern_cross_entropy_args *)0)->log_prob, .extent = extent_of_quern_cross_entropy_args__log_prob},
    {.name = "entropy", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_args, entropy), .bytes = sizeof((quern_cross_entropy_args *)0)->entropy, .extent = extent_of_quern_cross_entropy_args__entropy},
    {.name = "argmax", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_args, argmax), .bytes = sizeof((quern_cross_entropy_args *)0)->argmax, .extent = extent_of_quern_cross_entropy_args__argmax},
    {.name = "stats", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_args, stats), .bytes = sizeof((quern_cross_entropy_args *)0)->stats, .extent = extent_of_quern_cross_entropy_args__stats},
    {.name = "first_column", .kind = INTEGER, .offset = offsetof(quern_cross_entropy_args, first_column), .bytes = sizeof((quern_cross_entropy_args *)0)->first_column},
    {.name = "global_vocab", .kind = INTEGER, .offset = offsetof(quern_cross_entropy_args, global_vocab), .bytes = sizeof((quern_cross_entropy_args *)0)->global_vocab},
    {.name = "strict_labels", .kind = FLAG, .offset = offsetof(quern_cross_entropy_args, strict_labels), .bytes = sizeof((quern_cross_entropy_args *)0)->strict_labels},
    {.name = "inverse_temperature", .kind = REAL, .offset = offsetof(quern_cross_entropy_args, inverse_temperature), .bytes = sizeof((quern_cross_entropy_args *)0)->inverse_temperature},
    {.name = "inverse_temperatures", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_args, inverse_temperatures), .bytes = sizeof((quern_cross_entropy_args *)0)->inverse_temperatures, .is_const = 1, .extent = extent_of_quern_cross_entropy_args__inverse_temperatures},
    {.name = "grad_log_prob", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_args, grad_log_prob), .bytes = sizeof((quern_cross_entropy_args *)0)->grad_log_prob, .is_const = 1, .extent = extent_of_quern_cross_entropy_args__grad_log_prob},
    {.name = "grad_log_prob_stride", .kind = INTEGER, .offset = offsetof(quern_cross_entropy_args, grad_log_prob_stride), .bytes = sizeof((quern_cross_entropy_args *)0)->grad_log_prob_stride},
    {.name = "grad_entropy", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_args, grad_entropy), .bytes = sizeof((quern_cross_entropy_args *)0)->grad_entropy, .is_const = 1, .extent = extent_of_quern_cross_entropy_args__grad_entropy},
    {.name = "grad_entropy_stride", .kind = INTEGER, .offset = offsetof(quern_cross_entropy_args, grad_entropy_stride), .bytes = sizeof((quern_cross_entropy_args *)0)->grad_entropy_stride},
    {.name = "bits", .kind = ENUM, .offset = offsetof(quern_cross_entropy_args, bits), .bytes = sizeof((quern_cross_entropy_args *)0)->bits, VALUES(quern_bits)},
    {.name = "nodes", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_args, nodes), .bytes = sizeof((quern_cross_entropy_args *)0)->nodes, .extent = extent_of_quern_cross_entropy_args__nodes},
    {.name = "top_k", .kind = INTEGER, .offset = offsetof(quern_cross_entropy_args, top_k), .bytes = sizeof((quern_cross_entropy_args *)0)->top_k},
    {.name = "top_ids", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_args, top_ids), .bytes = sizeof((quern_cross_entropy_args *)0)->top_ids, .extent = extent_of_quern_cross_entropy_args__top_ids},
    {.name = "top_log_probs", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_args, top_log_probs), .bytes = sizeof((quern_cross_entropy_args *)0)->top_log_probs, .extent = extent_of_quern_cross_entropy_args__top_log_probs},
    {.name = "given_count", .kind = INTEGER, .offset = offsetof(quern_cross_entropy_args, given_count), .bytes = sizeof((quern_cross_entropy_args *)0)->given_count},
    {.name = "given_ids", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_args, given_ids), .bytes = sizeof((quern_cross_entropy_args *)0)->given_ids, .is_const = 1, .extent = extent_of_quern_cross_entropy_args__given_ids},
    {.name = "given_log_probs", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_args, given_log_probs), .bytes = sizeof((quern_cross_entropy_args *)0)->given_log_probs, .extent = extent_of_quern_cross_entropy_args__given_log_probs},
    {.name = "shard_top_ids", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_args, shard_top_ids), .bytes = sizeof((quern_cross_entropy_args *)0)->shard_top_ids, .is_const = 1, .extent = extent_of_quern_cross_entropy_args__shard_top_ids},
    {.name = "shard_top_logits", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_args, shard_top_logits), .bytes = sizeof((quern_cross_entropy_args *)0)->shard_top_logits, .is_const = 1, .extent = extent_of_quern_cross_entropy_args__shard_top_logits},
    {.name = "shard_given_logits", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_args, shard_given_logits), .bytes = sizeof((quern_cross_entropy_args *)0)->shard_given_logits, .is_const = 1, .extent = extent_of_quern_cross_entropy_args__shard_given_logits},
    {.name = "target_probs", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_args, target_probs), .bytes = sizeof((quern_cross_entropy_args *)0)->target_probs, .is_const = 1, .extent = extent_of_quern_cross_entropy_args__target_probs},
    {.name = "divergence_kind", .kind = ENUM, .offset = offsetof(quern_cross_entropy_args, divergence_kind), .bytes = sizeof((quern_cross_entropy_args *)0)->divergence_kind, VALUES(quern_divergence)},
    {.name = "has_tail", .kind = FLAG, .offset = offsetof(quern_cross_entropy_args, has_tail), .bytes = sizeof((quern_cross_entropy_args *)0)->has_tail},
    {.name = "divergence", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_args, divergence), .bytes = sizeof((quern_cross_entropy_args *)0)->divergence, .extent = extent_of_quern_cross_entropy_args__divergence},
    {.name = "grad_divergence", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_args, grad_divergence), .bytes = sizeof((quern_cross_entropy_args *)0)->grad_divergence, .is_const = 1, .extent = extent_of_quern_cross_entropy_args__grad_divergence},
    {.name = "grad_divergence_stride", .kind = INTEGER, .offset = offsetof(quern_cross_entropy_args, grad_divergence_stride), .bytes = sizeof((quern_cross_entropy_args *)0)->grad_divergence_stride},
    {.name = "soft_targets_dtype", .kind = ENUM, .offset = offsetof(quern_cross_entropy_args, soft_targets_dtype), .bytes = sizeof((quern_cross_entropy_args *)0)->soft_targets_dtype, VALUES(quern_dtype)},
    {.name = "soft_targets", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_args, soft_targets), .bytes = sizeof((quern_cross_entropy_args *)0)->soft_targets, .is_const = 1, .extent = extent_of_quern_cross_entropy_args__soft_targets},
    {.name = "soft_targets_stride", .kind = INTEGER, .offset = offsetof(quern_cross_entropy_args, soft_targets_stride), .bytes = sizeof((quern_cross_entropy_args *)0)->soft_targets_stride},
};
static const struct record record_of_quern_cross_entropy_args = {"quern_cross_entropy_args", sizeof(quern_cross_entropy_args), fields_of_quern_cross_entropy_args, 57};
DECLARE_EXTENT(quern_gemm_args, a)
DECLARE_EXTENT(quern_gemm_args, b)
DECLARE_EXTENT(quern_gemm_args, c)
static const struct field fields_of_quern_gemm_args[] = {
    {.name = "size", .kind = SIZE, .offset = offsetof(quern_gemm_args, size), .bytes = sizeof((quern_gemm_args *)0)->size},
    {.name = "accumulate", .kind = FLAG, .offset = offsetof(quern_gemm_args, accumulate), .bytes = sizeof((quern_gemm_args *)0)->accumulate},
    {.name = "m", .kind = INTEGER, .offset = offsetof(quern_gemm_args, m), .bytes = sizeof((quern_gemm_args *)0)->m},
    {.name = "n", .kind = INTEGER, .offset = offsetof(quern_gemm_args, n), .bytes = sizeof((quern_gemm_args *)0)->n},
    {.name = "k", .kind = INTEGER, .offset = offsetof(quern_gemm_args, k), .bytes = sizeof((quern_gemm_args *)0)->k},
    {.name = "a", .kind = MEMORY, .offset = offsetof(quern_gemm_args, a), .bytes = sizeof((quern_gemm_args *)0)->a, .is_const = 1, .extent = extent_of_quern_gemm_args__a},
    {.name = "b", .kind = MEMORY, .offset = offsetof(quern_gemm_args, b), .bytes = sizeof((quern_gemm_args *)0)->b, .is_const = 1, .extent = extent_of_quern_gemm_args__b},
    {.name = "c", .kind = MEMORY, .offset = offsetof(quern_gemm_args, c), .bytes = sizeof((quern_gemm_args *)0)->c, .extent = extent_of_quern_gemm_args__c},
    {.name = "a_dtype", .kind = ENUM, .offset = offsetof(quern_gemm_args, a_dtype), .bytes = sizeof((quern_gemm_args *)0)->a_dtype, VALUES(quern_dtype)},
    {.name = "b_dtype", .kind = ENUM, .offset = offsetof(quern_gemm_args, b_dtype), .bytes = sizeof((quern_gemm_args *)0)->b_dtype, VALUES(quern_dtype)},
    {.name = "c_dtype", .kind = ENUM, .offset = offsetof(quern_gemm_args, c_dtype), .bytes = sizeof((quern_gemm_args *)0)->c_dtype, VALUES(quern_dtype)},
    {.name = "a_transposed", .kind = FLAG, .offset = offsetof(quern_gemm_args, a_transposed), .bytes = sizeof((quern_gemm_args *)0)->a_transposed},
    {.name = "b_transposed", .kind = FLAG, .offset = offsetof(quern_gemm_args, b_transposed), .bytes = sizeof((quern_gemm_args *)0)->b_transposed},
    {.name = "a_stride", .kind = INTEGER, .offset = offsetof(quern_gemm_args, a_stride), .bytes = sizeof((quern_gemm_args *)0)->a_stride},
    {.name = "b_stride", .kind = INTEGER, .offset = offsetof(quern_gemm_args, b_stride), .bytes = sizeof((quern_gemm_args *)0)->b_stride},
    {.name = "c_stride", .kind = INTEGER, .offset = offsetof(quern_gemm_args, c_stride), .bytes = sizeof((quern_gemm_args *)0)->c_stride},
};
static const struct record record_of_quern_gemm_args = {"quern_gemm_args", sizeof(quern_gemm_args), fields_of_quern_gemm_args, 16};
DECLARE_EXTENT(quern_linear_cross_entropy_args, hidden)
DECLARE_EXTENT(quern_linear_cross_entropy_args, weight)
DECLARE_EXTENT(quern_linear_cross_entropy_args, d_hidden)
DECLARE_EXTENT(quern_linear_cross_entropy_args, d_weight)
DECLARE_EXTENT(quern_linear_cross_entropy_args, gemm_user)
DECLARE_EXTENT(quern_linear_cross_entropy_args, bias)
DECLARE_EXTENT(quern_linear_cross_entropy_args, d_bias)
DECLARE_EXTENT(quern_linear_cross_entropy_args, gather_user)
static const struct field fields_of_quern_linear_cross_entropy_args[] = {
    {.name = "size", .kind = SIZE, .offset = offsetof(quern_linear_cross_entropy_args, size), .bytes = sizeof((quern_linear_cross_entropy_args *)0)->size},
    {.name = "hidden_dtype", .kind = ENUM, .offset = offsetof(quern_linear_cross_entropy_args, hidden_dtype), .bytes = sizeof((quern_linear_cross_entropy_args *)0)->hidden_dtype, VALUES(quern_dtype)},
    {.name = "weight_dtype", .kind = ENUM, .offset = offsetof(quern_linear_cross_entropy_args, weight_dtype), .bytes = sizeof((quern_linear_cross_entropy_args *)0)->weight_dtype, VALUES(quern_dtype)},
    {.name = "accumulate_weight", .kind = FLAG, .offset = offsetof(quern_linear_cross_entropy_args, accumulate_weight), .bytes = sizeof((quern_linear_cross_entropy_args *)0)->accumulate_weight},
    {.name = "loss", .kind = STRUCT, .offset = offsetof(quern_linear_cross_entropy_args, loss), .bytes = sizeof((quern_linear_cross_entropy_args *)0)->loss, .record = &record_of_quern_cross_entropy_args},
    {.name = "width", .kind = INTEGER, .offset = offsetof(quern_linear_cross_entropy_args, width), .bytes = sizeof((quern_linear_cross_entropy_args *)0)->width},
    {.name = "hidden", .kind = MEMORY, .offset = offsetof(quern_linear_cross_entropy_args, hidden), .bytes = sizeof((quern_linear_cross_entropy_args *)0)->hidden, .is_const = 1, .extent = extent_of_quern_linear_cross_entropy_args__hidden},
    {.name = "hidden_stride", .kind = INTEGER, .offset = offsetof(quern_linear_cross_entropy_args, hidden_stride), .bytes = sizeof((quern_linear_cross_entropy_args *)0)->hidden_stride},
    {.name = "weight", .kind = MEMORY, .offset = offsetof(quern_linear_cross_entropy_args, weight), .bytes = sizeof((quern_linear_cross_entropy_args *)0)->weight, .is_const = 1, .extent = extent_of_quern_linear_cross_entropy_args__weight},
    {.name = "weight_stride", .kind = INTEGER, .offset = offsetof(quern_linear_cross_entropy_args, weight_stride), .bytes = sizeof((quern_linear_cross_entropy_args *)0)->weight_stride},
    {.name = "d_hidden", .kind = MEMORY, .offset = offsetof(quern_linear_cross_entropy_args, d_hidden), .bytes = sizeof((quern_linear_cross_entropy_args *)0)->d_hidden, .extent = extent_of_quern_linear_cross_entropy_args__d_hidden},
    {.name = "d_hidden_stride", .kind = INTEGER, .offset = offsetof(quern_linear_cross_entropy_args, d_hidden_stride), .bytes = sizeof((quern_linear_cross_entropy_args *)0)->d_hidden_stride},
    {.name = "d_weight", .kind = MEMORY, .offset = offsetof(quern_linear_cross_entropy_args, d_weight), .bytes = sizeof((quern_linear_cross_entropy_args *)0)->d_weight, .extent = extent_of_quern_linear_cross_entropy_args__d_weight},
    {.name = "d_weight_stride", .kind = INTEGER, .offset = offsetof(quern_linear_cross_entropy_args, d_weight_stride), .bytes = sizeof((quern_linear_cross_entropy_args *)0)->d_weight_stride},
    {.name = "chunk_rows", .kind = INTEGER, .offset = offsetof(quern_linear_cross_entropy_args, chunk_rows), .bytes = sizeof((quern_linear_cross_entropy_args *)0)->chunk_rows},
    {.name = "gemm", .kind = CALLBACK, .offset = offsetof(quern_linear_cross_entropy_args, gemm), .bytes = sizeof((quern_linear_cross_entropy_args *)0)->gemm},
    {.name = "gemm_user", .kind = MEMORY, .offset = offsetof(quern_linear_cross_entropy_args, gemm_user), .bytes = sizeof((quern_linear_cross_entropy_args *)0)->gemm_user, .extent = extent_of_quern_linear_cross_entropy_args__gemm_user},
    {.name = "d_weight_dtype", .kind = ENUM, .offset = offsetof(quern_linear_cross_entropy_args, d_weight_dtype), .bytes = sizeof((quern_linear_cross_entropy_args *)0)->d_weight_dtype, VALUES(quern_dtype)},
    {.name = "bias_dtype", .kind = ENUM, .offset = offsetof(quern_linear_cross_entropy_args, bias_dtype), .bytes = sizeof((quern_linear_cross_entropy_args *)0)->bias_dtype, VALUES(quern_dtype)},
    {.name = "accumulate", .kind = CALLBACK, .offset = offsetof(quern_linear_cross_entropy_args, accumulate), .bytes = sizeof((quern_linear_cross_entropy_args *)0)->accumulate},
    {.name = "bias", .kind = MEMORY, .offset = offsetof(quern_linear_cross_entropy_args, bias), .bytes = sizeof((quern_linear_cross_entropy_args *)0)->bias, .is_const = 1, .extent = extent_of_quern_linear_cross_entropy_args__bias},
    {.name = "d_bias", .kind = MEMORY, .offset = offsetof(quern_linear_cross_entropy_args, d_bias), .bytes = sizeof((quern_linear_cross_entropy_args *)0)->d_bias, .extent = extent_of_quern_linear_cross_entropy_args__d_bias},
    {.name = "shard_count", .kind = INTEGER, .offset = offsetof(quern_linear_cross_entropy_args, shard_count), .bytes = sizeof((quern_linear_cross_entropy_args *)0)->shard_count},
    {.name = "gather", .kind = CALLBACK, .offset = offsetof(quern_linear_cross_entropy_args, gather), .bytes = sizeof((quern_linear_cross_entropy_args *)0)->gather},
    {.name = "gather_user", .kind = MEMORY, .offset = offsetof(quern_linear_cross_entropy_args, gather_user), .bytes = sizeof((quern_linear_cross_entropy_args *)0)->gather_user, .extent = extent_of_quern_linear_cross_entropy_args__gather_user},
};
static const struct record record_of_quern_linear_cross_entropy_args = {"quern_linear_cross_entropy_args", sizeof(quern_linear_cross_entropy_args), fields_of_quern_linear_cross_entropy_args, 25};
DECLARE_EXTENT(quern_adam_tensor, param)
DECLARE_EXTENT(quern_adam_tensor, grad)
DECLARE_EXTENT(quern_adam_tensor, m)
DECLARE_EXTENT(quern_adam_tensor, v)
DECLARE_EXTENT(quern_adam_tensor, master)
DECLARE_EXTENT(quern_adam_tensor, m_scale)
DECLARE_EXTENT(quern_adam_tensor, v_scale)
DECLARE_EXTENT(quern_adam_tensor, v_max)
DECLARE_EXTENT(quern_adam_tensor, v_max_scale)
DECLARE_EXTENT(quern_adam_tensor, copy)
DECLARE_EXTENT(quern_adam_tensor, copy_scale)
DECLARE_EXTENT(quern_adam_tensor, copy_max)
static const struct field fields_of_quern_adam_tensor[] = {
    {.name = "param", .kind = MEMORY, .offset = offsetof(quern_adam_tensor, param), .bytes = sizeof((quern_adam_tensor *)0)->param, .extent = extent_of_quern_adam_tensor__param},
    {.name = "grad", .kind = MEMORY, .offset = offsetof(quern_adam_tensor, grad), .bytes = sizeof((quern_adam_tensor *)0)->grad, .extent = extent_of_quern_adam_tensor__grad},
    {.name = "m", .kind = MEMORY, .offset = offsetof(quern_adam_tensor, m), .bytes = sizeof((quern_adam_tensor *)0)->m, .extent = extent_of_quern_adam_tensor__m},
    {.name = "v", .kind = MEMORY, .offset = offsetof(quern_adam_tensor, v), .bytes = sizeof((quern_adam_tensor *)0)->v, .extent = extent_of_quern_adam_tensor__v},
    {.name = "master", .kind = MEMORY, .offset = offsetof(quern_adam_tensor, master), .bytes = sizeof((quern_adam_tensor *)0)->master, .extent = extent_of_quern_adam_tensor__master},
    {.name = "count", .kind = INTEGER, .offset = offsetof(quern_adam_tensor, count), .bytes = sizeof((quern_adam_tensor *)0)->count},
    {.name = "m_scale", .kind = MEMORY, .offset = offsetof(quern_adam_tensor, m_scale), .bytes = sizeof((quern_adam_tensor *)0)->m_scale, .extent = extent_of_quern_adam_tensor__m_scale},
    {.name = "v_scale", .kind = MEMORY, .offset = offsetof(quern_adam_tensor, v_scale), .bytes = sizeof((quern_adam_tensor *)0)->v_scale, .extent = extent_of_quern_adam_tensor__v_scale},
    {.name = "v_max", .kind = MEMORY, .offset = offsetof(quern_adam_tensor, v_max), .bytes = sizeof((quern_adam_tensor *)0)->v_max, .extent = extent_of_quern_adam_tensor__v_max},
    {.name = "v_max_scale", .kind = MEMORY, .offset = offsetof(quern_adam_tensor, v_max_scale), .bytes = sizeof((quern_adam_tensor *)0)->v_max_scale, .extent = extent_of_quern_adam_tensor__v_max_scale},
    {.name = "copy", .kind = MEMORY, .offset = offsetof(quern_adam_tensor, copy), .bytes = sizeof((quern_adam_tensor *)0)->copy, .extent = extent_of_quern_adam_tensor__copy},
    {.name = "copy_scale", .kind = MEMORY, .offset = offsetof(quern_adam_tensor, copy_scale), .bytes = sizeof((quern_adam_tensor *)0)->copy_scale, .is_const = 1, .extent = extent_of_quern_adam_tensor__copy_scale},
    {.name = "copy_max", .kind = MEMORY, .offset = offsetof(quern_adam_tensor, copy_max), .bytes = sizeof((quern_adam_tensor *)0)->copy_max, .extent = extent_of_quern_adam_tensor__copy_max},
    {.name = "lr_multiplier", .kind = REAL, .offset = offsetof(quern_adam_tensor, lr_multiplier), .bytes = sizeof((quern_adam_tensor *)0)->lr_multiplier},
    {.name = "weight_decay_multiplier", .kind = REAL, .offset = offsetof(quern_adam_tensor, weight_decay_multiplier), .bytes = sizeof((quern_adam_tensor *)0)->weight_decay_multiplier},
};
static const struct record record_of_quern_adam_tensor = {"quern_adam_tensor", sizeof(quern_adam_tensor), fields_of_quern_adam_tensor, 15};
DECLARE_EXTENT(quern_adam_control, lr)
DECLARE_EXTENT(quern_adam_control, step)
DECLARE_EXTENT(quern_adam_control, grad_scale)
DECLARE_EXTENT(quern_adam_control, clip)
DECLARE_EXTENT(quern_adam_control, found_inf)
static const struct field fields_of_quern_adam_control[] = {
    {.name = "lr", .kind = MEMORY, .offset = offsetof(quern_adam_control, lr), .bytes = sizeof((quern_adam_control *)0)->lr, .is_const = 1, .extent = extent_of_quern_adam_control__lr},
    {.name = "step", .kind = MEMORY, .offset = offsetof(quern_adam_control, step), .bytes = sizeof((quern_adam_control *)0)->step, .extent = extent_of_quern_adam_control__step},
    {.name = "grad_scale", .kind = MEMORY, .offset = offsetof(quern_adam_control, grad_scale), .bytes = sizeof((quern_adam_control *)0)->grad_scale, .is_const = 1, .extent = extent_of_quern_adam_control__grad_scale},
    {.name = "clip", .kind = MEMORY, .offset = offsetof(quern_adam_control, clip), .bytes = sizeof((quern_adam_control *)0)->clip, .is_const = 1, .extent = extent_of_quern_adam_control__clip},
    {.name = "found_inf", .kind = MEMORY, .offset = offsetof(quern_adam_control, found_inf), .bytes = sizeof((quern_adam_control *)0)->found_inf, .is_const = 1, .extent = extent_of_quern_adam_control__found_inf},
};
static const struct record record_of_quern_adam_control = {"quern_adam_control", sizeof(quern_adam_control), fields_of_quern_adam_control, 5};
DECLARE_EXTENT(quern_adam_args, tensors)
DECLARE_EXTENT(quern_adam_args, grads)
DECLARE_EXTENT(quern_adam_args, steps)
static const struct field fields_of_quern_adam_args[] = {
    {.name = "size", .kind = SIZE, .offset = offsetof(quern_adam_args, size), .bytes = sizeof((quern_adam_args *)0)->size},
    {.name = "tensor_size", .kind = INTEGER, .offset = offsetof(quern_adam_args, tensor_size), .bytes = sizeof((quern_adam_args *)0)->tensor_size},
    {.name = "param_dtype", .kind = ENUM, .offset = offsetof(quern_adam_args, param_dtype), .bytes = sizeof((quern_adam_args *)0)->param_dtype, VALUES(quern_dtype)},
    {.name = "grad_dtype", .kind = ENUM, .offset = offsetof(quern_adam_args, grad_dtype), .bytes = sizeof((quern_adam_args *)0)->grad_dtype, VALUES(quern_dtype)},
    {.name = "m_dtype", .kind = ENUM, .offset = offsetof(quern_adam_args, m_dtype), .bytes = sizeof((quern_adam_args *)0)->m_dtype, VALUES(quern_dtype)},
    {.name = "v_dtype", .kind = ENUM, .offset = offsetof(quern_adam_args, v_dtype), .bytes = sizeof((quern_adam_args *)0)->v_dtype, VALUES(quern_dtype)},
    {.name = "master_dtype", .kind = ENUM, .offset = offsetof(quern_adam_args, master_dtype), .bytes = sizeof((quern_adam_args *)0)->master_dtype, VALUES(quern_dtype)},
    {.name = "mode", .kind = ENUM, .offset = offsetof(quern_adam_args, mode), .bytes = sizeof((quern_adam_args *)0)->mode, VALUES(quern_adam_mode)},
    {.name = "tensors", .kind = STRUCTS, .offset = offsetof(quern_adam_args, tensors), .bytes = sizeof((quern_adam_args *)0)->tensors, .is_const = 1, .record = &record_of_quern_adam_tensor, .extent = extent_of_quern_adam_args__tensors},
    {.name = "tensor_count", .kind = INTEGER, .offset = offsetof(quern_adam_args, tensor_count), .bytes = sizeof((quern_adam_args *)0)->tensor_count},
    {.name = "lr", .kind = REAL, .offset = offsetof(quern_adam_args, lr), .bytes = sizeof((quern_adam_args *)0)->lr},
    {.name = "beta1", .kind = REAL, .offset = offsetof(quern_adam_args, beta1), .bytes = sizeof((quern_adam_args *)0)->beta1},
    {.name = "beta2", .kind = REAL, .offset = offsetof(quern_adam_args, beta2), .bytes = sizeof((quern_adam_args *)0)->beta2},
    {.name = "eps", .kind = REAL, .offset = offsetof(quern_adam_args, eps), .bytes = sizeof((quern_adam_args *)0)->eps},
    {.name = "weight_decay", .kind = REAL, .offset = offsetof(quern_adam_args, weight_decay), .bytes = sizeof((quern_adam_args *)0)->weight_decay},
    {.name = "step", .kind = INTEGER, .offset = offsetof(quern_adam_args, step), .bytes = sizeof((quern_adam_args *)0)->step},
    {.name = "seed", .kind = INTEGER, .offset = offsetof(quern_adam_args, seed), .bytes = sizeof((quern_adam_args *)0)->seed},
    {.name = "param_rounding", .kind = ENUM, .offset = offsetof(quern_adam_args, param_rounding), .bytes = sizeof((quern_adam_args *)0)->param_rounding, VALUES(quern_rounding)},
    {.name = "m_rounding", .kind = ENUM, .offset = offsetof(quern_adam_args, m_rounding), .bytes = sizeof((quern_adam_args *)0)->m_rounding, VALUES(quern_rounding)},
    {.name = "v_rounding", .kind = ENUM, .offset = offsetof(quern_adam_args, v_rounding), .bytes = sizeof((quern_adam_args *)0)->v_rounding, VALUES(quern_rounding)},
    {.name = "eps_mode", .kind = ENUM, .offset = offsetof(quern_adam_args, eps_mode), .bytes = sizeof((quern_adam_args *)0)->eps_mode, VALUES(quern_adam_eps_mode)},
    {.name = "amsgrad", .kind = FLAG, .offset = offsetof(quern_adam_args, amsgrad), .bytes = sizeof((quern_adam_args *)0)->amsgrad},
    {.name = "maximize", .kind = FLAG, .offset = offsetof(quern_adam_args, maximize), .bytes = sizeof((quern_adam_args *)0)->maximize},
    {.name = "zero_grads", .kind = FLAG, .offset = offsetof(quern_adam_args, zero_grads), .bytes = sizeof((quern_adam_args *)0)->zero_grads},
    {.name = "use_multipliers", .kind = FLAG, .offset = offsetof(quern_adam_args, use_multipliers), .bytes = sizeof((quern_adam_args *)0)->use_multipliers},
    {.name = "copy_dtype", .kind = ENUM, .offset = offsetof(quern_adam_args, copy_dtype), .bytes = sizeof((quern_adam_args *)0)->copy_dtype, VALUES(quern_dtype)},
    {.name = "grad_scale", .kind = REAL, .offset = offsetof(quern_adam_args, grad_scale), .bytes = sizeof((quern_adam_args *)0)->grad_scale},
    {.name = "control", .kind = STRUCT, .offset = offsetof(quern_adam_args, control), .bytes = sizeof((quern_adam_args *)0)->control, .record = &record_of_quern_adam_control},
    {.name = "plan", .kind = HANDLE, .offset = offsetof(quern_adam_args, plan), .bytes = sizeof((quern_adam_args *)0)->plan, .handle = HANDLE_OF_quern_adam_plan},
    {.name = "grads", .kind = MEMORY, .offset = offsetof(quern_adam_args, grads), .bytes = sizeof((quern_adam_args *)0)->grads, .is_const = 1, .extent = extent_of_quern_adam_args__grads},
    {.name = "bias1", .kind = REAL, .offset = offsetof(quern_adam_args, bias1), .bytes = sizeof((quern_adam_args *)0)->bias1},
    {.name = "bias2", .kind = REAL, .offset = offsetof(quern_adam_args, bias2), .bytes = sizeof((quern_adam_args *)0)->bias2},
    {.name = "steps", .kind = MEMORY, .offset = offsetof(quern_adam_args, steps), .bytes = sizeof((quern_adam_args *)0)->steps, .extent = extent_of_quern_adam_args__steps},
};
static const struct record record_of_quern_adam_args = {"quern_adam_args", sizeof(quern_adam_args), fields_of_quern_adam_args, 33};
DECLARE_EXTENT(quern_gradient, grad)
DECLARE_EXTENT(quern_gradient, main_grad)
static const struct field fields_of_quern_gradient[] = {
    {.name = "grad", .kind = MEMORY, .offset = offsetof(quern_gradient, grad), .bytes = sizeof((quern_gradient *)0)->grad, .extent = extent_of_quern_gradient__grad},
    {.name = "main_grad", .kind = MEMORY, .offset = offsetof(quern_gradient, main_grad), .bytes = sizeof((quern_gradient *)0)->main_grad, .extent = extent_of_quern_gradient__main_grad},
    {.name = "count", .kind = INTEGER, .offset = offsetof(quern_gradient, count), .bytes = sizeof((quern_gradient *)0)->count},
};
static const struct record record_of_quern_gradient = {"quern_gradient", sizeof(quern_gradient), fields_of_quern_gradient, 3};
DECLARE_EXTENT(quern_gradient_norm_args, gradients)
DECLARE_EXTENT(quern_gradient_norm_args, grad_scale_pointer)
DECLARE_EXTENT(quern_gradient_norm_args, norm)
DECLARE_EXTENT(quern_gradient_norm_args, clip)
DECLARE_EXTENT(quern_gradient_norm_args, found_inf)
DECLARE_EXTENT(quern_gradient_norm_args, grads)
static const struct field fields_of_quern_gradient_norm_args[] = {
    {.name = "size", .kind = SIZE, .offset = offsetof(quern_gradient_norm_args, size), .bytes = sizeof((quern_gradient_norm_args *)0)->size},
    {.name = "gradient_size", .kind = INTEGER, .offset = offsetof(quern_gradient_norm_args, gradient_size), .bytes = sizeof((quern_gradient_norm_args *)0)->gradient_size},
    {.name = "grad_dtype", .kind = ENUM, .offset = offsetof(quern_gradient_norm_args, grad_dtype), .bytes = sizeof((quern_gradient_norm_args *)0)->grad_dtype, VALUES(quern_dtype)},
    {.name = "gradients", .kind = STRUCTS, .offset = offsetof(quern_gradient_norm_args, gradients), .bytes = sizeof((quern_gradient_norm_args *)0)->gradients, .is_const = 1, .record = &record_of_quern_gradient, .extent = extent_of_quern_gradient_norm_args__gradients},
    {.name = "gradient_count", .kind = INTEGER, .offset = offsetof(quern_gradient_norm_args, gradient_count), .bytes = sizeof((quern_gradient_norm_args *)0)->gradient_count},
    {.name = "plan", .kind = HANDLE, .offset = offsetof(quern_gradient_norm_args, plan), .bytes = sizeof((quern_gradient_norm_args *)0)->plan, .is_const = 1, .handle = HANDLE_OF_quern_adam_plan},
    {.name = "max_norm", .kind = REAL, .offset = offsetof(quern_gradient_norm_args, max_norm), .bytes = sizeof((quern_gradient_norm_args *)0)->max_norm},
    {.name = "grad_scale", .kind = REAL, .offset = offsetof(quern_gradient_norm_args, grad_scale), .bytes = sizeof((quern_gradient_norm_args *)0)->grad_scale},
    {.name = "grad_scale_pointer", .kind = MEMORY, .offset = offsetof(quern_gradient_norm_args, grad_scale_pointer), .bytes = sizeof((quern_gradient_norm_args *)0)->grad_scale_pointer, .is_const = 1, .extent = extent_of_quern_gradient_norm_args__grad_scale_pointer},
    {.name = "norm", .kind = MEMORY, .offset = offsetof(quern_gradient_norm_args, norm), .bytes = sizeof((quern_gradient_norm_args *)0)->norm, .extent = extent_of_quern_gradient_norm_args__norm},
    {.name = "clip", .kind = MEMORY, .offset = offsetof(quern_gradient_norm_args, clip), .bytes = sizeof((quern_gradient_norm_args *)0)->clip, .extent = extent_of_quern_gradient_norm_args__clip},
    {.name = "found_inf", .kind = MEMORY, .offset = offsetof(quern_gradient_norm_args, found_inf), .bytes = sizeof((quern_gradient_norm_args *)0)->found_inf, .extent = extent_of_quern_gradient_norm_args__found_inf},
    {.name = "grads", .kind = MEMORY, .offset = offsetof(quern_gradient_norm_args, grads), .bytes = sizeof((quern_gradient_norm_args *)0)->grads, .is_const = 1, .extent = extent_of_quern_gradient_norm_args__grads},
};
static const struct record record_of_quern_gradient_norm_args = {"quern_gradient_norm_args", sizeof(quern_gradient_norm_args), fields_of_quern_gradient_norm_args, 13};
DECLARE_EXTENT(quern_accumulate_args, gradients)
DECLARE_EXTENT(quern_accumulate_args, overwrite_flags)
DECLARE_EXTENT(quern_accumulate_args, token_counts)
DECLARE_EXTENT(quern_accumulate_args, token_places)
DECLARE_EXTENT(quern_accumulate_args, grads)
static const struct field fields_of_quern_accumulate_args[] = {
    {.name = "size", .kind = SIZE, .offset = offsetof(quern_accumulate_args, size), .bytes = sizeof((quern_accumulate_args *)0)->size},
    {.name = "gradient_size", .kind = INTEGER, .offset = offsetof(quern_accumulate_args, gradient_size), .bytes = sizeof((quern_accumulate_args *)0)->gradient_size},
    {.name = "grad_dtype", .kind = ENUM, .offset = offsetof(quern_accumulate_args, grad_dtype), .bytes = sizeof((quern_accumulate_args *)0)->grad_dtype, VALUES(quern_dtype)},
    {.name = "zero_grads", .kind = FLAG, .offset = offsetof(quern_accumulate_args, zero_grads), .bytes = sizeof((quern_accumulate_args *)0)->zero_grads},
    {.name = "gradients", .kind = STRUCTS, .offset = offsetof(quern_accumulate_args, gradients), .bytes = sizeof((quern_accumulate_args *)0)->gradients, .is_const = 1, .record = &record_of_quern_gradient, .extent = extent_of_quern_accumulate_args__gradients},
    {.name = "gradient_count", .kind = INTEGER, .offset = offsetof(quern_accumulate_args, gradient_count), .bytes = sizeof((quern_accumulate_args *)0)->gradient_count},
    {.name = "scale", .kind = REAL, .offset = offsetof(quern_accumulate_args, scale), .bytes = sizeof((quern_accumulate_args *)0)->scale},
    {.name = "main_dtype", .kind = ENUM, .offset = offsetof(quern_accumulate_args, main_dtype), .bytes = sizeof((quern_accumulate_args *)0)->main_dtype, VALUES(quern_dtype)},
    {.name = "overwrite", .kind = FLAG, .offset = offsetof(quern_accumulate_args, overwrite), .bytes = sizeof((quern_accumulate_args *)0)->overwrite},
    {.name = "plan", .kind = HANDLE, .offset = offsetof(quern_accumulate_args, plan), .bytes = sizeof((quern_accumulate_args *)0)->plan, .is_const = 1, .handle = HANDLE_OF_quern_accumulate_plan},
    {.name = "overwrite_flags", .kind = MEMORY, .offset = offsetof(quern_accumulate_args, overwrite_flags), .bytes = sizeof((quern_accumulate_args *)0)->overwrite_flags, .is_const = 1, .extent = extent_of_quern_accumulate_args__overwrite_flags},
    {.name = "token_counts", .kind = MEMORY, .offset = offsetof(quern_accumulate_args, token_counts), .bytes = sizeof((quern_accumulate_args *)0)->token_counts, .is_const = 1, .extent = extent_of_quern_accumulate_args__token_counts},
    {.name = "group_count", .kind = INTEGER, .offset = offsetof(quern_accumulate_args, group_count), .bytes = sizeof((quern_accumulate_args *)0)->group_count},
    {.name = "token_places", .kind = MEMORY, .offset = offsetof(quern_accumulate_args, token_places), .bytes = sizeof((quern_accumulate_args *)0)->token_places, .is_const = 1, .extent = extent_of_quern_accumulate_args__token_places},
    {.name = "grads", .kind = MEMORY, .offset = offsetof(quern_accumulate_args, grads), .bytes = sizeof((quern_accumulate_args *)0)->grads, .is_const = 1, .extent = extent_of_quern_accumulate_args__grads},
};
static const struct record record_of_quern_accumulate_args = {"quern_accumulate_args", sizeof(quern_accumulate_args), fields_of_quern_accumulate_args, 15};
DECLARE_EXTENT(quern_quantize_tensor, input)
DECLARE_EXTENT(quern_quantize_tensor, output)
DECLARE_EXTENT(quern_quantize_tensor, transposed)
DECLARE_EXTENT(quern_quantize_tensor, block_scales)
DECLARE_EXTENT(quern_quantize_tensor, transposed_block_scales)
static const struct field fields_of_quern_quantize_tensor[] = {
    {.name = "input", .kind = MEMORY, .offset = offsetof(quern_quantize_tensor, input), .bytes = sizeof((quern_quantize_tensor *)0)->input, .is_const = 1, .extent = extent_of_quern_quantize_tensor__input},
    {.name = "output", .kind = MEMORY, .offset = offsetof(quern_quantize_tensor, output), .bytes = sizeof((quern_quantize_tensor *)0)->output, .extent = extent_of_quern_quantize_tensor__output},
    {.name = "count", .kind = INTEGER, .offset = offsetof(quern_quantize_tensor, count), .bytes = sizeof((quern_quantize_tensor *)0)->count},
    {.name = "columns", .kind = INTEGER, .offset = offsetof(quern_quantize_tensor, columns), .bytes = sizeof((quern_quantize_tensor *)0)->columns},
    {.name = "transposed", .kind = MEMORY, .offset = offsetof(quern_quantize_tensor, transposed), .bytes = sizeof((quern_quantize_tensor *)0)->transposed, .extent = extent_of_quern_quantize_tensor__transposed},
    {.name = "block_scales", .kind = MEMORY, .offset = offsetof(quern_quantize_tensor, block_scales), .bytes = sizeof((quern_quantize_tensor *)0)->block_scales, .extent = extent_of_quern_quantize_tensor__block_scales},
    {.name = "transposed_block_scales", .kind = MEMORY, .offset = offsetof(quern_quantize_tensor, transposed_block_scales), .bytes = sizeof((quern_quantize_tensor *)0)->transposed_block_scales, .extent = extent_of_quern_quantize_tensor__transposed_block_scales},
};
static const struct record record_of_quern_quantize_tensor = {"quern_quantize_tensor", sizeof(quern_quantize_tensor), fields_of_quern_quantize_tensor, 7};
DECLARE_EXTENT(quern_quantize_args, tensors)
DECLARE_EXTENT(quern_quantize_args, amax)
DECLARE_EXTENT(quern_quantize_args, scale)
DECLARE_EXTENT(quern_quantize_args, scale_inv)
DECLARE_EXTENT(quern_quantize_args, offset_pointer)
DECLARE_EXTENT(quern_quantize_args, noop)
DECLARE_EXTENT(quern_quantize_args, history)
static const struct field fields_of_quern_quantize_args[] = {
    {.name = "size", .kind = SIZE, .offset = offsetof(quern_quantize_args, size), .bytes = sizeof((quern_quantize_args *)0)->size},
    {.name = "tensor_size", .kind = INTEGER, .offset = offsetof(quern_quantize_args, tensor_size), .bytes = sizeof((quern_quantize_args *)0)->tensor_size},
    {.name = "input_dtype", .kind = ENUM, .offset = offsetof(quern_quantize_args, input_dtype), .bytes = sizeof((quern_quantize_args *)0)->input_dtype, VALUES(quern_dtype)},
    {.name = "output_dtype", .kind = ENUM, .offset = offsetof(quern_quantize_args, output_dtype), .bytes = sizeof((quern_quantize_args *)0)->output_dtype, VALUES(quern_dtype)},
    {.name = "tensors", .kind = STRUCTS, .offset = offsetof(quern_quantize_args, tensors), .bytes = sizeof((quern_quantize_args *)0)->tensors, .is_const = 1, .record = &record_of_quern_quantize_tensor, .extent = extent_of_quern_quantize_args__tensors},
    {.name = "tensor_count", .kind = INTEGER, .offset = offsetof(quern_quantize_args, tensor_count), .bytes = sizeof((quern_quantize_args *)0)->tensor_count},
    {.name = "amax", .kind = MEMORY, .offset = offsetof(quern_quantize_args, amax), .bytes = sizeof((quern_quantize_args *)0)->amax, .extent = extent_of_quern_quantize_args__amax},
    {.name = "scale", .kind = MEMORY, .offset = offsetof(quern_quantize_args, scale), .bytes = sizeof((quern_quantize_args *)0)->scale, .extent = extent_of_quern_quantize_args__scale},
    {.name = "scale_inv", .kind = MEMORY, .offset = offsetof(quern_quantize_args, scale_inv), .bytes = sizeof((quern_quantize_args *)0)->scale_inv, .extent = extent_of_quern_quantize_args__scale_inv},
    {.name = "eps", .kind = REAL, .offset = offsetof(quern_quantize_args, eps), .bytes = sizeof((quern_quantize_args *)0)->eps},
    {.name = "power_of_two", .kind = FLAG, .offset = offsetof(quern_quantize_args, power_of_two), .bytes = sizeof((quern_quantize_args *)0)->power_of_two},
    {.name = "rounding", .kind = ENUM, .offset = offsetof(quern_quantize_args, rounding), .bytes = sizeof((quern_quantize_args *)0)->rounding, VALUES(quern_rounding)},
    {.name = "seed", .kind = INTEGER, .offset = offsetof(quern_quantize_args, seed), .bytes = sizeof((quern_quantize_args *)0)->seed},
    {.name = "offset", .kind = INTEGER, .offset = offsetof(quern_quantize_args, offset), .bytes = sizeof((quern_quantize_args *)0)->offset},
    {.name = "offset_pointer", .kind = MEMORY, .offset = offsetof(quern_quantize_args, offset_pointer), .bytes = sizeof((quern_quantize_args *)0)->offset_pointer, .is_const = 1, .extent = extent_of_quern_quantize_args__offset_pointer},
    {.name = "noop", .kind = MEMORY, .offset = offsetof(quern_quantize_args, noop), .bytes = sizeof((quern_quantize_args *)0)->noop, .is_const = 1, .extent = extent_of_quern_quantize_args__noop},
    {.name = "history", .kind = MEMORY, .offset = offsetof(quern_quantize_args, history), .bytes = sizeof((quern_quantize_args *)0)->history, .extent = extent_of_quern_quantize_args__history},
    {.name = "history_length", .kind = INTEGER, .offset = offsetof(quern_quantize_args, history_length), .bytes = sizeof((quern_quantize_args *)0)->history_length},
    {.name = "plan", .kind = HANDLE, .offset = offsetof(quern_quantize_args, plan), .bytes = sizeof((quern_quantize_args *)0)->plan, .is_const = 1, .handle = HANDLE_OF_quern_quantize_plan},
    {.name = "scaling", .kind = ENUM, .offset = offsetof(quern_quantize_args, scaling), .bytes = sizeof((quern_quantize_args *)0)->scaling, VALUES(quern_scaling)},
};
static const struct record record_of_quern_quantize_args = {"quern_quantize_args", sizeof(quern_quantize_args), fields_of_quern_quantize_args, 20};
DECLARE_EXTENT(quern_carrier, user)
static const struct field fields_of_quern_carrier[] = {
    {.name = "size", .kind = SIZE, .offset = offsetof(quern_carrier, size), .bytes = sizeof((quern_carrier *)0)->size},
    {.name = "threads", .kind = FLAG, .offset = offsetof(quern_carrier, threads), .bytes = sizeof((quern_carrier *)0)->threads},
    {.name = "name", .kind = TEXT, .offset = offsetof(quern_carrier, name), .bytes = sizeof((quern_carrier *)0)->name, .is_const = 1},
    {.name = "user", .kind = MEMORY, .offset = offsetof(quern_carrier, user), .bytes = sizeof((quern_carrier *)0)->user, .extent = extent_of_quern_carrier__user},
    {.name = "tags", .kind = INTEGER, .offset = offsetof(quern_carrier, tags), .bytes = sizeof((quern_carrier *)0)->tags},
    {.name = "longest", .kind = INTEGER, .offset = offsetof(quern_carrier, longest), .bytes = sizeof((quern_carrier *)0)->longest},
    {.name = "borrows", .kind = FLAG, .offset = offsetof(quern_carrier, borrows), .bytes = sizeof((quern_carrier *)0)->borrows},
    {.name = "send", .kind = CALLBACK, .offset = offsetof(quern_carrier, send), .bytes = sizeof((quern_carrier *)0)->send},
    {.name = "receive", .kind = CALLBACK, .offset = offsetof(quern_carrier, receive), .bytes = sizeof((quern_carrier *)0)->receive},
    {.name = "test", .kind = CALLBACK, .offset = offsetof(quern_carrier, test), .bytes = sizeof((quern_carrier *)0)->test},
    {.name = "cancel", .kind = CALLBACK, .offset = offsetof(quern_carrier, cancel), .bytes = sizeof((quern_carrier *)0)->cancel},
};
static const struct record record_of_quern_carrier = {"quern_carrier", sizeof(quern_carrier), fields_of_quern_carrier, 11};
DECLARE_EXTENT(quern_hosts_args, secret)
DECLARE_EXTENT(quern_hosts_args, all_gather_user)
DECLARE_EXTENT(quern_hosts_args, carrier)
static const struct field fields_of_quern_hosts_args[] = {
    {.name = "size", .kind = SIZE, .offset = offsetof(quern_hosts_args, size), .bytes = sizeof((quern_hosts_args *)0)->size},
    {.name = "host_ranks", .kind = FLAG, .offset = offsetof(quern_hosts_args, host_ranks), .bytes = sizeof((quern_hosts_args *)0)->host_ranks},
    {.name = "meet", .kind = TEXT, .offset = offsetof(quern_hosts_args, meet), .bytes = sizeof((quern_hosts_args *)0)->meet, .is_const = 1},
    {.name = "secret", .kind = MEMORY, .offset = offsetof(quern_hosts_args, secret), .bytes = sizeof((quern_hosts_args *)0)->secret, .is_const = 1, .extent = extent_of_quern_hosts_args__secret},
    {.name = "secret_bytes", .kind = INTEGER, .offset = offsetof(quern_hosts_args, secret_bytes), .bytes = sizeof((quern_hosts_args *)0)->secret_bytes},
    {.name = "host", .kind = TEXT, .offset = offsetof(quern_hosts_args, host), .bytes = sizeof((quern_hosts_args *)0)->host, .is_const = 1},
    {.name = "all_gather", .kind = CALLBACK, .offset = offsetof(quern_hosts_args, all_gather), .bytes = sizeof((quern_hosts_args *)0)->all_gather},
    {.name = "all_gather_user", .kind = MEMORY, .offset = offsetof(quern_hosts_args, all_gather_user), .bytes = sizeof((quern_hosts_args *)0)->all_gather_user, .extent = extent_of_quern_hosts_args__all_gather_user},
    {.name = "carrier", .kind = STRUCTS, .offset = offsetof(quern_hosts_args, carrier), .bytes = sizeof((quern_hosts_args *)0)->carrier, .is_const = 1, .record = &record_of_quern_carrier, .extent = extent_of_quern_hosts_args__carrier},
    {.name = "transports", .kind = TEXT, .offset = offsetof(quern_hosts_args, transports), .bytes = sizeof((quern_hosts_args *)0)->transports, .is_const = 1},
    {.name = "failure_timeout", .kind = REAL, .offset = offsetof(quern_hosts_args, failure_timeout), .bytes = sizeof((quern_hosts_args *)0)->failure_timeout},
};
static const struct record record_of_quern_hosts_args = {"quern_hosts_args", sizeof(quern_hosts_args), fields_of_quern_hosts_args, 11};
DECLARE_EXTENT(quern_group_args, hosts)
static const struct field fields_of_quern_group_args[] = {
    {.name = "size", .kind = SIZE, .offset = offsetof(quern_group_args, size), .bytes = sizeof((quern_group_args *)0)->size},
    {.name = "rank", .kind = INTEGER, .offset = offsetof(quern_group_args, rank), .bytes = sizeof((quern_group_args *)0)->rank},
    {.name = "ranks", .kind = INTEGER, .offset = offsetof(quern_group_args, ranks), .bytes = sizeof((quern_group_args *)0)->ranks},
    {.name = "name", .kind = TEXT, .offset = offsetof(quern_group_args, name), .bytes = sizeof((quern_group_args *)0)->name, .is_const = 1},
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_group_args, device), .bytes = sizeof((quern_group_args *)0)->device, .handle = HANDLE_OF_quern_device},
    {.name = "timeout", .kind = REAL, .offset = offsetof(quern_group_args, timeout), .bytes = sizeof((quern_group_args *)0)->timeout},
    {.name = "share_gpu", .kind = FLAG, .offset = offsetof(quern_group_args, share_gpu), .bytes = sizeof((quern_group_args *)0)->share_gpu},
    {.name = "first_epoch", .kind = INTEGER, .offset = offsetof(quern_group_args, first_epoch), .bytes = sizeof((quern_group_args *)0)->first_epoch},
    {.name = "first_timeout", .kind = REAL, .offset = offsetof(quern_group_args, first_timeout), .bytes = sizeof((quern_group_args *)0)->first_timeout},
    {.name = "job", .kind = INTEGER, .offset = offsetof(quern_group_args, job), .bytes = sizeof((quern_group_args *)0)->job},
    {.name = "multicast", .kind = FLAG, .offset = offsetof(quern_group_args, multicast), .bytes = sizeof((quern_group_args *)0)->multicast},
    {.name = "hosts", .kind = STRUCTS, .offset = offsetof(quern_group_args, hosts), .bytes = sizeof((quern_group_args *)0)->hosts, .is_const = 1, .record = &record_of_quern_hosts_args, .extent = extent_of_quern_group_args__hosts},
    {.name = "progress", .kind = FLAG, .offset = offsetof(quern_group_args, progress), .bytes = sizeof((quern_group_args *)0)->progress},
    {.name = "progress_core", .kind = INTEGER, .offset = offsetof(quern_group_args, progress_core), .bytes = sizeof((quern_group_args *)0)->progress_core},
};
static const struct record record_of_quern_group_args = {"quern_group_args", sizeof(quern_group_args), fields_of_quern_group_args, 14};
DECLARE_EXTENT(quern_barrier_args, members)
static const struct field fields_of_quern_barrier_args[] = {
    {.name = "size", .kind = SIZE, .offset = offsetof(quern_barrier_args, size), .bytes = sizeof((quern_barrier_args *)0)->size},
    {.name = "members", .kind = MEMORY, .offset = offsetof(quern_barrier_args, members), .bytes = sizeof((quern_barrier_args *)0)->members, .is_const = 1, .is_host = 1, .extent = extent_of_quern_barrier_args__members},
    {.name = "member_count", .kind = INTEGER, .offset = offsetof(quern_barrier_args, member_count), .bytes = sizeof((quern_barrier_args *)0)->member_count},
    {.name = "timeout", .kind = REAL, .offset = offsetof(quern_barrier_args, timeout), .bytes = sizeof((quern_barrier_args *)0)->timeout},
};
static const struct record record_of_quern_barrier_args = {"quern_barrier_args", sizeof(quern_barrier_args), fields_of_quern_barrier_args, 4};
DECLARE_EXTENT(quern_ragged_all_to_all_args, input)
DECLARE_EXTENT(quern_ragged_all_to_all_args, output)
DECLARE_EXTENT(quern_ragged_all_to_all_args, input_offsets)
DECLARE_EXTENT(quern_ragged_all_to_all_args, send_sizes)
DECLARE_EXTENT(quern_ragged_all_to_all_args, output_offsets)
DECLARE_EXTENT(quern_ragged_all_to_all_args, recv_sizes)
DECLARE_EXTENT(quern_ragged_all_to_all_args, members)
static const struct field fields_of_quern_ragged_all_to_all_args[] = {
    {.name = "size", .kind = SIZE, .offset = offsetof(quern_ragged_all_to_all_args, size), .bytes = sizeof((quern_ragged_all_to_all_args *)0)->size},
    {.name = "metadata_dtype", .kind = ENUM, .offset = offsetof(quern_ragged_all_to_all_args, metadata_dtype), .bytes = sizeof((quern_ragged_all_to_all_args *)0)->metadata_dtype, VALUES(quern_dtype)},
    {.name = "input", .kind = MEMORY, .offset = offsetof(quern_ragged_all_to_all_args, input), .bytes = sizeof((quern_ragged_all_to_all_args *)0)->input, .is_const = 1, .extent = extent_of_quern_ragged_all_to_all_args__input},
    {.name = "input_rows", .kind = INTEGER, .offset = offsetof(quern_ragged_all_to_all_args, input_rows), .bytes = sizeof((quern_ragged_all_to_all_args *)0)->input_rows},
    {.name = "output", .kind = MEMORY, .offset = offsetof(quern_ragged_all_to_all_args, output), .bytes = sizeof((quern_ragged_all_to_all_args *)0)->output, .extent = extent_of_quern_ragged_all_to_all_args__output},
    {.name = "output_rows", .kind = INTEGER, .offset = offsetof(quern_ragged_all_to_all_args, output_rows), .bytes = sizeof((quern_ragged_all_to_all_args *)0)->output_rows},
    {.name = "row_bytes", .kind = INTEGER, .offset = offsetof(quern_ragged_all_to_all_args, row_bytes), .bytes = sizeof((quern_ragged_all_to_all_args *)0)->row_bytes},
    {.name = "updates", .kind = INTEGER, .offset = offsetof(quern_ragged_all_to_all_args, updates), .bytes = sizeof((quern_ragged_all_to_all_args *)0)->updates},
    {.name = "input_offsets", .kind = MEMORY, .offset = offsetof(quern_ragged_all_to_all_args, input_offsets), .bytes = sizeof((quern_ragged_all_to_all_args *)0)->input_offsets, .is_const = 1, .extent = extent_of_quern_ragged_all_to_all_args__input_offsets},
    {.name = "send_sizes", .kind = MEMORY, .offset = offsetof(quern_ragged_all_to_all_args, send_sizes), .bytes = sizeof((quern_ragged_all_to_all_args *)0)->send_sizes, .is_const = 1, .extent = extent_of_quern_ragged_all_to_all_args__send_sizes},
    {.name = "output_offsets", .kind = MEMORY, .offset = offsetof(quern_ragged_all_to_all_args, output_offsets), .bytes = sizeof((quern_ragged_all_to_all_args *)0)->output_offsets, .is_const = 1, .extent = extent_of_quern_ragged_all_to_all_args__output_offsets},
    {.name = "recv_sizes", .kind = MEMORY, .offset = offsetof(quern_ragged_all_to_all_args, recv_sizes), .bytes = sizeof((quern_ragged_all_to_all_args *)0)->recv_sizes, .is_const = 1, .extent = extent_of_quern_ragged_all_to_all_args__recv_sizes},
    {.name = "metadata_on_device", .kind = FLAG, .offset = offsetof(quern_ragged_all_to_all_args, metadata_on_device), .bytes = sizeof((quern_ragged_all_to_all_args *)0)->metadata_on_device},
    {.name = "check_overlap", .kind = FLAG, .offset = offsetof(quern_ragged_all_to_all_args, check_overlap), .bytes = sizeof((quern_ragged_all_to_all_args *)0)->check_overlap},
    {.name = "members", .kind = MEMORY, .offset = offsetof(quern_ragged_all_to_all_args, members), .bytes = sizeof((quern_ragged_all_to_all_args *)0)->members, .is_const = 1, .is_host = 1, .extent = extent_of_quern_ragged_all_to_all_args__members},
    {.name = "member_count", .kind = INTEGER, .offset = offsetof(quern_ragged_all_to_all_args, member_count), .bytes = sizeof((quern_ragged_all_to_all_args *)0)->member_count},
    {.name = "multiprocessors", .kind = INTEGER, .offset = offsetof(quern_ragged_all_to_all_args, multiprocessors), .bytes = sizeof((quern_ragged_all_to_all_args *)0)->multiprocessors},
    {.name = "timeout", .kind = REAL, .offset = offsetof(quern_ragged_all_to_all_args, timeout), .bytes = sizeof((quern_ragged_all_to_all_args *)0)->timeout},
};
static const struct record record_of_quern_ragged_all_to_all_args = {"quern_ragged_all_to_all_args", sizeof(quern_ragged_all_to_all_args), fields_of_quern_ragged_all_to_all_args, 18};
DECLARE_EXTENT(quern_ragged_sizes_args, send_sizes)
DECLARE_EXTENT(quern_ragged_sizes_args, input_offsets)
DECLARE_EXTENT(quern_ragged_sizes_args, output_offsets)
DECLARE_EXTENT(quern_ragged_sizes_args, recv_sizes)
DECLARE_EXTENT(quern_ragged_sizes_args, input_rows)
DECLARE_EXTENT(quern_ragged_sizes_args, output_rows)
static const struct field fields_of_quern_ragged_sizes_args[] = {
    {.name = "size", .kind = SIZE, .offset = offsetof(quern_ragged_sizes_args, size), .bytes = sizeof((quern_ragged_sizes_args *)0)->size},
    {.name = "metadata_dtype", .kind = ENUM, .offset = offsetof(quern_ragged_sizes_args, metadata_dtype), .bytes = sizeof((quern_ragged_sizes_args *)0)->metadata_dtype, VALUES(quern_dtype)},
    {.name = "updates", .kind = INTEGER, .offset = offsetof(quern_ragged_sizes_args, updates), .bytes = sizeof((quern_ragged_sizes_args *)0)->updates},
    {.name = "send_sizes", .kind = MEMORY, .offset = offsetof(quern_ragged_sizes_args, send_sizes), .bytes = sizeof((quern_ragged_sizes_args *)0)->send_sizes, .is_const = 1, .extent = extent_of_quern_ragged_sizes_args__send_sizes},
    {.name = "input_offsets", .kind = MEMORY, .offset = offsetof(quern_ragged_sizes_args, input_offsets), .bytes = sizeof((quern_ragged_sizes_args *)0)->input_offsets, .extent = extent_of_quern_ragged_sizes_args__input_offsets},
    {.name = "output_offsets", .kind = MEMORY, .offset = offsetof(quern_ragged_sizes_args, output_offsets), .bytes = sizeof((quern_ragged_sizes_args *)0)->output_offsets, .extent = extent_of_quern_ragged_sizes_args__output_offsets},
    {.name = "recv_sizes", .kind = MEMORY, .offset = offsetof(quern_ragged_sizes_args, recv_sizes), .bytes = sizeof((quern_ragged_sizes_args *)0)->recv_sizes, .extent = extent_of_quern_ragged_sizes_args__recv_sizes},
    {.name = "input_rows", .kind = MEMORY, .offset = offsetof(quern_ragged_sizes_args, input_rows), .bytes = sizeof((quern_ragged_sizes_args *)0)->input_rows, .extent = extent_of_quern_ragged_sizes_args__input_rows},
    {.name = "output_rows", .kind = MEMORY, .offset = offsetof(quern_ragged_sizes_args, output_rows), .bytes = sizeof((quern_ragged_sizes_args *)0)->output_rows, .extent = extent_of_quern_ragged_sizes_args__output_rows},
};
static const struct record record_of_quern_ragged_sizes_args = {"quern_ragged_sizes_args", sizeof(quern_ragged_sizes_args), fields_of_quern_ragged_sizes_args, 9};
DECLARE_EXTENT(quern_collective_args, input)
DECLARE_EXTENT(quern_collective_args, output)
DECLARE_EXTENT(quern_collective_args, members)
static const struct field fields_of_quern_collective_args[] = {
    {.name = "size", .kind = SIZE, .offset = offsetof(quern_collective_args, size), .bytes = sizeof((quern_collective_args *)0)->size},
    {.name = "dtype", .kind = ENUM, .offset = offsetof(quern_collective_args, dtype), .bytes = sizeof((quern_collective_args *)0)->dtype, VALUES(quern_dtype)},
    {.name = "input", .kind = MEMORY, .offset = offsetof(quern_collective_args, input), .bytes = sizeof((quern_collective_args *)0)->input, .is_const = 1, .extent = extent_of_quern_collective_args__input},
    {.name = "output", .kind = MEMORY, .offset = offsetof(quern_collective_args, output), .bytes = sizeof((quern_collective_args *)0)->output, .extent = extent_of_quern_collective_args__output},
    {.name = "count", .kind = INTEGER, .offset = offsetof(quern_collective_args, count), .bytes = sizeof((quern_collective_args *)0)->count},
    {.name = "combination", .kind = ENUM, .offset = offsetof(quern_collective_args, combination), .bytes = sizeof((quern_collective_args *)0)->combination, VALUES(quern_combination)},
    {.name = "root", .kind = INTEGER, .offset = offsetof(quern_collective_args, root), .bytes = sizeof((quern_collective_args *)0)->root},
    {.name = "members", .kind = MEMORY, .offset = offsetof(quern_collective_args, members), .bytes = sizeof((quern_collective_args *)0)->members, .is_const = 1, .is_host = 1, .extent = extent_of_quern_collective_args__members},
    {.name = "member_count", .kind = INTEGER, .offset = offsetof(quern_collective_args, member_count), .bytes = sizeof((quern_collective_args *)0)->member_count},
    {.name = "multiprocessors", .kind = INTEGER, .offset = offsetof(quern_collective_args, multiprocessors), .bytes = sizeof((quern_collective_args *)0)->multiprocessors},
    {.name = "timeout", .kind = REAL, .offset = offsetof(quern_collective_args, timeout), .bytes = sizeof((quern_collective_args *)0)->timeout},
    {.name = "input_stride", .kind = INTEGER, .offset = offsetof(quern_collective_args, input_stride), .bytes = sizeof((quern_collective_args *)0)->input_stride},
    {.name = "order", .kind = ENUM, .offset = offsetof(quern_collective_args, order), .bytes = sizeof((quern_collective_args *)0)->order, VALUES(quern_order)},
};
static const struct record record_of_quern_collective_args = {"quern_collective_args", sizeof(quern_collective_args), fields_of_quern_collective_args, 13};
DECLARE_EXTENT(quern_group_gather_args, workspace)
static const struct field fields_of_quern_group_gather_args[] = {
    {.name = "size", .kind = SIZE, .offset = offsetof(quern_group_gather_args, size), .bytes = sizeof((quern_group_gather_args *)0)->size},
    {.name = "group", .kind = HANDLE, .offset = offsetof(quern_group_gather_args, group), .bytes = sizeof((quern_group_gather_args *)0)->group, .handle = HANDLE_OF_quern_group},
    {.name = "collective", .kind = STRUCT, .offset = offsetof(quern_group_gather_args, collective), .bytes = sizeof((quern_group_gather_args *)0)->collective, .record = &record_of_quern_collective_args},
    {.name = "workspace", .kind = MEMORY, .offset = offsetof(quern_group_gather_args, workspace), .bytes = sizeof((quern_group_gather_args *)0)->workspace, .extent = extent_of_quern_group_gather_args__workspace},
    {.name = "workspace_bytes", .kind = INTEGER, .offset = offsetof(quern_group_gather_args, workspace_bytes), .bytes = sizeof((quern_group_gather_args *)0)->workspace_bytes},
};
static const struct record record_of_quern_group_gather_args = {"quern_group_gather_args", sizeof(quern_group_gather_args), fields_of_quern_group_gather_args, 5};
DECLARE_EXTENT(quern_quantize_chunks_args, input)
DECLARE_EXTENT(quern_quantize_chunks_args, output)
DECLARE_EXTENT(quern_quantize_chunks_args, ready)
DECLARE_EXTENT(quern_quantize_chunks_args, order)
DECLARE_EXTENT(quern_quantize_chunks_args, amax)
DECLARE_EXTENT(quern_quantize_chunks_args, scale)
DECLARE_EXTENT(quern_quantize_chunks_args, scale_inv)
DECLARE_EXTENT(quern_quantize_chunks_args, offset_pointer)
DECLARE_EXTENT(quern_quantize_chunks_args, members)
DECLARE_EXTENT(quern_quantize_chunks_args, block_scales)
static const struct field fields_of_quern_quantize_chunks_args[] = {
    {.name = "size", .kind = SIZE, .offset = offsetof(quern_quantize_chunks_args, size), .bytes = sizeof((quern_quantize_chunks_args *)0)->size},
    {.name = "input_dtype", .kind = ENUM, .offset = offsetof(quern_quantize_chunks_args, input_dtype), .bytes = sizeof((quern_quantize_chunks_args *)0)->input_dtype, VALUES(quern_dtype)},
    {.name = "output_dtype", .kind = ENUM, .offset = offsetof(quern_quantize_chunks_args, output_dtype), .bytes = sizeof((quern_quantize_chunks_args *)0)->output_dtype, VALUES(quern_dtype)},
    {.name = "input", .kind = MEMORY, .offset = offsetof(quern_quantize_chunks_args, input), .bytes = sizeof((quern_quantize_chunks_args *)0)->input, .is_const = 1, .extent = extent_of_quern_quantize_chunks_args__input},
    {.name = "output", .kind = MEMORY, .offset = offsetof(quern_quantize_chunks_args, output), .bytes = sizeof((quern_quantize_chunks_args *)0)->output, .extent = extent_of_quern_quantize_chunks_args__output},
    {.name = "ready", .kind = MEMORY, .offset = offsetof(quern_quantize_chunks_args, ready), .bytes = sizeof((quern_quantize_chunks_args *)0)->ready, .extent = extent_of_quern_quantize_chunks_args__ready},
    {.name = "ready_value", .kind = INTEGER, .offset = offsetof(quern_quantize_chunks_args, ready_value), .bytes = sizeof((quern_quantize_chunks_args *)0)->ready_value},
    {.name = "rows", .kind = INTEGER, .offset = offsetof(quern_quantize_chunks_args, rows), .bytes = sizeof((quern_quantize_chunks_args *)0)->rows},
    {.name = "columns", .kind = INTEGER, .offset = offsetof(quern_quantize_chunks_args, columns), .bytes = sizeof((quern_quantize_chunks_args *)0)->columns},
    {.name = "chunk_rows", .kind = INTEGER, .offset = offsetof(quern_quantize_chunks_args, chunk_rows), .bytes = sizeof((quern_quantize_chunks_args *)0)->chunk_rows},
    {.name = "order", .kind = MEMORY, .offset = offsetof(quern_quantize_chunks_args, order), .bytes = sizeof((quern_quantize_chunks_args *)0)->order, .is_const = 1, .is_host = 1, .extent = extent_of_quern_quantize_chunks_args__order},
    {.name = "amax", .kind = MEMORY, .offset = offsetof(quern_quantize_chunks_args, amax), .bytes = sizeof((quern_quantize_chunks_args *)0)->amax, .extent = extent_of_quern_quantize_chunks_args__amax},
    {.name = "scale", .kind = MEMORY, .offset = offsetof(quern_quantize_chunks_args, scale), .bytes = sizeof((quern_quantize_chunks_args *)0)->scale, .extent = extent_of_quern_quantize_chunks_args__scale},
    {.name = "scale_inv", .kind = MEMORY, .offset = offsetof(quern_quantize_chunks_args, scale_inv), .bytes = sizeof((quern_quantize_chunks_args *)0)->scale_inv, .extent = extent_of_quern_quantize_chunks_args__scale_inv},
    {.name = "eps", .kind = REAL, .offset = offsetof(quern_quantize_chunks_args, eps), .bytes = sizeof((quern_quantize_chunks_args *)0)->eps},
    {.name = "power_of_two", .kind = FLAG, .offset = offsetof(quern_quantize_chunks_args, power_of_two), .bytes = sizeof((quern_quantize_chunks_args *)0)->power_of_two},
    {.name = "rounding", .kind = ENUM, .offset = offsetof(quern_quantize_chunks_args, rounding), .bytes = sizeof((quern_quantize_chunks_args *)0)->rounding, VALUES(quern_rounding)},
    {.name = "seed", .kind = INTEGER, .offset = offsetof(quern_quantize_chunks_args, seed), .bytes = sizeof((quern_quantize_chunks_args *)0)->seed},
    {.name = "offset", .kind = INTEGER, .offset = offsetof(quern_quantize_chunks_args, offset), .bytes = sizeof((quern_quantize_chunks_args *)0)->offset},
    {.name = "offset_pointer", .kind = MEMORY, .offset = offsetof(quern_quantize_chunks_args, offset_pointer), .bytes = sizeof((quern_quantize_chunks_args *)0)->offset_pointer, .is_const = 1, .extent = extent_of_quern_quantize_chunks_args__offset_pointer},
    {.name = "members", .kind = MEMORY, .offset = offsetof(quern_quantize_chunks_args, members), .bytes = sizeof((quern_quantize_chunks_args *)0)->members, .is_const = 1, .is_host = 1, .extent = extent_of_quern_quantize_chunks_args__members},
    {.name = "member_count", .kind = INTEGER, .offset = offsetof(quern_quantize_chunks_args, member_count), .bytes = sizeof((quern_quantize_chunks_args *)0)->member_count},
    {.name = "multiprocessors", .kind = INTEGER, .offset = offsetof(quern_quantize_chunks_args, multiprocessors), .bytes = sizeof((quern_quantize_chunks_args *)0)->multiprocessors},
    {.name = "timeout", .kind = REAL, .offset = offsetof(quern_quantize_chunks_args, timeout), .bytes = sizeof((quern_quantize_chunks_args *)0)->timeout},
    {.name = "scaling", .kind = ENUM, .offset = offsetof(quern_quantize_chunks_args, scaling), .bytes = sizeof((quern_quantize_chunks_args *)0)->scaling, VALUES(quern_scaling)},
    {.name = "block_scales", .kind = MEMORY, .offset = offsetof(quern_quantize_chunks_args, block_scales), .bytes = sizeof((quern_quantize_chunks_args *)0)->block_scales, .extent = extent_of_quern_quantize_chunks_args__block_scales},
};
static const struct record record_of_quern_quantize_chunks_args = {"quern_quantize_chunks_args", sizeof(quern_quantize_chunks_args), fields_of_quern_quantize_chunks_args, 26};
DECLARE_EXTENT(quern_device_view, poison)
DECLARE_EXTENT(quern_device_view, multicast)
DECLARE_EXTENT(quern_device_view, peer)
static const struct field fields_of_quern_device_view[] = {
    {.name = "size", .kind = SIZE, .offset = offsetof(quern_device_view, size), .bytes = sizeof((quern_device_view *)0)->size},
    {.name = "rank", .kind = INTEGER, .offset = offsetof(quern_device_view, rank), .bytes = sizeof((quern_device_view *)0)->rank},
    {.name = "ranks", .kind = INTEGER, .offset = offsetof(quern_device_view, ranks), .bytes = sizeof((quern_device_view *)0)->ranks},
    {.name = "unused", .kind = INTEGER, .offset = offsetof(quern_device_view, unused), .bytes = sizeof((quern_device_view *)0)->unused},
    {.name = "timeout", .kind = INTEGER, .offset = offsetof(quern_device_view, timeout), .bytes = sizeof((quern_device_view *)0)->timeout},
    {.name = "poison", .kind = MEMORY, .offset = offsetof(quern_device_view, poison), .bytes = sizeof((quern_device_view *)0)->poison, .is_const = 1, .extent = extent_of_quern_device_view__poison},
    {.name = "multicast", .kind = MEMORY, .offset = offsetof(quern_device_view, multicast), .bytes = sizeof((quern_device_view *)0)->multicast, .extent = extent_of_quern_device_view__multicast},
    {.name = "peer", .kind = MEMORY, .offset = offsetof(quern_device_view, peer), .bytes = sizeof((quern_device_view *)0)->peer, .extent = extent_of_quern_device_view__peer},
};
static const struct record record_of_quern_device_view = {"quern_device_view", sizeof(quern_device_view), fields_of_quern_device_view, 8};
DECLARE_EXTENT(quern_transfer_item, memory)
static const struct field fields_of_quern_transfer_item[] = {
    {.name = "receive", .kind = FLAG, .offset = offsetof(quern_transfer_item, receive), .bytes = sizeof((quern_transfer_item *)0)->receive},
    {.name = "peer", .kind = INTEGER, .offset = offsetof(quern_transfer_item, peer), .bytes = sizeof((quern_transfer_item *)0)->peer},
    {.name = "tag", .kind = INTEGER, .offset = offsetof(quern_transfer_item, tag), .bytes = sizeof((quern_transfer_item *)0)->tag},
    {.name = "memory", .kind = MEMORY, .offset = offsetof(quern_transfer_item, memory), .bytes = sizeof((quern_transfer_item *)0)->memory, .extent = extent_of_quern_transfer_item__memory},
    {.name = "bytes", .kind = INTEGER, .offset = offsetof(quern_transfer_item, bytes), .bytes = sizeof((quern_transfer_item *)0)->bytes},
};
static const struct record record_of_quern_transfer_item = {"quern_transfer_item", sizeof(quern_transfer_item), fields_of_quern_transfer_item, 5};
DECLARE_EXTENT(quern_transfer_args, items)
static const struct field fields_of_quern_transfer_args[] = {
    {.name = "size", .kind = SIZE, .offset = offsetof(quern_transfer_args, size), .bytes = sizeof((quern_transfer_args *)0)->size},
    {.name = "item_size", .kind = INTEGER, .offset = offsetof(quern_transfer_args, item_size), .bytes = sizeof((quern_transfer_args *)0)->item_size},
    {.name = "items", .kind = STRUCTS, .offset = offsetof(quern_transfer_args, items), .bytes = sizeof((quern_transfer_args *)0)->items, .is_const = 1, .record = &record_of_quern_transfer_item, .extent = extent_of_quern_transfer_args__items},
    {.name = "item_count", .kind = INTEGER, .offset = offsetof(quern_transfer_args, item_count), .bytes = sizeof((quern_transfer_args *)0)->item_count},
    {.name = "key", .kind = INTEGER, .offset = offsetof(quern_transfer_args, key), .bytes = sizeof((quern_transfer_args *)0)->key},
    {.name = "timeout", .kind = REAL, .offset = offsetof(quern_transfer_args, timeout), .bytes = sizeof((quern_transfer_args *)0)->timeout},
};
static const struct record record_of_quern_transfer_args = {"quern_transfer_args", sizeof(quern_transfer_args), fields_of_quern_transfer_args, 6};
static const struct field fields_of_quern_status_string__parameters[] = {
    {.name = "status", .kind = ENUM, .offset = offsetof(quern_status_string__parameters, status), .bytes = sizeof((quern_status_string__parameters *)0)->status, VALUES(quern_status)},
};
static const struct record record_of_quern_status_string__parameters = {"quern_status_string__parameters", sizeof(quern_status_string__parameters), fields_of_quern_status_string__parameters, 1};
static const struct field fields_of_quern_status_blame__parameters[] = {
    {.name = "status", .kind = ENUM, .offset = offsetof(quern_status_blame__parameters, status), .bytes = sizeof((quern_status_blame__parameters *)0)->status, VALUES(quern_status)},
};
static const struct record record_of_quern_status_blame__parameters = {"quern_status_blame__parameters", sizeof(quern_status_blame__parameters), fields_of_quern_status_blame__parameters, 1};
DECLARE_EXTENT(quern_error_detail__parameters, buffer)
static const struct field fields_of_quern_error_detail__parameters[] = {
    {.name = "buffer", .kind = MEMORY, .offset = offsetof(quern_error_detail__parameters, buffer), .bytes = sizeof((quern_error_detail__parameters *)0)->buffer, .extent = extent_of_quern_error_detail__parameters__buffer},
    {.name = "bytes", .kind = INTEGER, .offset = offsetof(quern_error_detail__parameters, bytes), .bytes = sizeof((quern_error_detail__parameters *)0)->bytes},
};
static const struct record record_of_quern_error_detail__parameters = {"quern_error_detail__parameters", sizeof(quern_error_detail__parameters), fields_of_quern_error_detail__parameters, 2};
DECLARE_EXTENT(quern_set_log__parameters, user)
static const struct field fields_of_quern_set_log__parameters[] = {
    {.name = "callback", .kind = CALLBACK, .offset = offsetof(quern_set_log__parameters, callback), .bytes = sizeof((quern_set_log__parameters *)0)->callback},
    {.name = "user", .kind = MEMORY, .offset = offsetof(quern_set_log__parameters, user), .bytes = sizeof((quern_set_log__parameters *)0)->user, .extent = extent_of_quern_set_log__parameters__user},
    {.name = "level", .kind = ENUM, .offset = offsetof(quern_set_log__parameters, level), .bytes = sizeof((quern_set_log__parameters *)0)->level, VALUES(quern_log_level)},
};
static const struct record record_of_quern_set_log__parameters = {"quern_set_log__parameters", sizeof(quern_set_log__parameters), fields_of_quern_set_log__parameters, 3};
static const struct field fields_of_quern_dtype_name__parameters[] = {
    {.name = "dtype", .kind = ENUM, .offset = offsetof(quern_dtype_name__parameters, dtype), .bytes = sizeof((quern_dtype_name__parameters *)0)->dtype, VALUES(quern_dtype)},
};
static const struct record record_of_quern_dtype_name__parameters = {"quern_dtype_name__parameters", sizeof(quern_dtype_name__parameters), fields_of_quern_dtype_name__parameters, 1};
static const struct field fields_of_quern_dtype_bytes__parameters[] = {
    {.name = "dtype", .kind = ENUM, .offset = offsetof(quern_dtype_bytes__parameters, dtype), .bytes = sizeof((quern_dtype_bytes__parameters *)0)->dtype, VALUES(quern_dtype)},
};
static const struct record record_of_quern_dtype_bytes__parameters = {"quern_dtype_bytes__parameters", sizeof(quern_dtype_bytes__parameters), fields_of_quern_dtype_bytes__parameters, 1};
DECLARE_EXTENT(quern_device_count__parameters, count)
static const struct field fields_of_quern_device_count__parameters[] = {
    {.name = "kind", .kind = ENUM, .offset = offsetof(quern_device_count__parameters, kind), .bytes = sizeof((quern_device_count__parameters *)0)->kind, VALUES(quern_device_kind)},
    {.name = "count", .kind = MEMORY, .offset = offsetof(quern_device_count__parameters, count), .bytes = sizeof((quern_device_count__parameters *)0)->count, .is_host = 1, .extent = extent_of_quern_device_count__parameters__count},
};
static const struct record record_of_quern_device_count__parameters = {"quern_device_count__parameters", sizeof(quern_device_count__parameters), fields_of_quern_device_count__parameters, 2};
DECLARE_EXTENT(quern_device_open__parameters, device)
static const struct field fields_of_quern_device_open__parameters[] = {
    {.name = "kind", .kind = ENUM, .offset = offsetof(quern_device_open__parameters, kind), .bytes = sizeof((quern_device_open__parameters *)0)->kind, VALUES(quern_device_kind)},
    {.name = "ordinal", .kind = INTEGER, .offset = offsetof(quern_device_open__parameters, ordinal), .bytes = sizeof((quern_device_open__parameters *)0)->ordinal},
    {.name = "device", .kind = MEMORY, .offset = offsetof(quern_device_open__parameters, device), .bytes = sizeof((quern_device_open__parameters *)0)->device, .extent = extent_of_quern_device_open__parameters__device},
};
static const struct record record_of_quern_device_open__parameters = {"quern_device_open__parameters", sizeof(quern_device_open__parameters), fields_of_quern_device_open__parameters, 3};
static const struct field fields_of_quern_device_close__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_device_close__parameters, device), .bytes = sizeof((quern_device_close__parameters *)0)->device, .handle = HANDLE_OF_quern_device},
};
static const struct record record_of_quern_device_close__parameters = {"quern_device_close__parameters", sizeof(quern_device_close__parameters), fields_of_quern_device_close__parameters, 1};
DECLARE_EXTENT(quern_device_info_init__parameters, info)
static const struct field fields_of_quern_device_info_init__parameters[] = {
    {.name = "info", .kind = MEMORY, .offset = offsetof(quern_device_info_init__parameters, info), .bytes = sizeof((quern_device_info_init__parameters *)0)->info, .extent = extent_of_quern_device_info_init__parameters__info},
};
static const struct record record_of_quern_device_info_init__parameters = {"quern_device_info_init__parameters", sizeof(quern_device_info_init__parameters), fields_of_quern_device_info_init__parameters, 1};
DECLARE_EXTENT(quern_device_get_info__parameters, info)
static const struct field fields_of_quern_device_get_info__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_device_get_info__parameters, device), .bytes = sizeof((quern_device_get_info__parameters *)0)->device, .is_const = 1, .handle = HANDLE_OF_quern_device},
    {.name = "info", .kind = STRUCTS, .offset = offsetof(quern_device_get_info__parameters, info), .bytes = sizeof((quern_device_get_info__parameters *)0)->info, .record = &record_of_quern_device_info, .extent = extent_of_quern_device_get_info__parameters__info},
};
static const struct record record_of_quern_device_get_info__parameters = {"quern_device_get_info__parameters", sizeof(quern_device_get_info__parameters), fields_of_quern_device_get_info__parameters, 2};
DECLARE_EXTENT(quern_device_report__parameters, buffer)
static const struct field fields_of_quern_device_report__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_device_report__parameters, device), .bytes = sizeof((quern_device_report__parameters *)0)->device, .is_const = 1, .handle = HANDLE_OF_quern_device},
    {.name = "buffer", .kind = MEMORY, .offset = offsetof(quern_device_report__parameters, buffer), .bytes = sizeof((quern_device_report__parameters *)0)->buffer, .extent = extent_of_quern_device_report__parameters__buffer},
    {.name = "bytes", .kind = INTEGER, .offset = offsetof(quern_device_report__parameters, bytes), .bytes = sizeof((quern_device_report__parameters *)0)->bytes},
};
static const struct record record_of_quern_device_report__parameters = {"quern_device_report__parameters", sizeof(quern_device_report__parameters), fields_of_quern_device_report__parameters, 3};
static const struct field fields_of_quern_prepare__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_prepare__parameters, device), .bytes = sizeof((quern_prepare__parameters *)0)->device, .handle = HANDLE_OF_quern_device},
    {.name = "operations", .kind = INTEGER, .offset = offsetof(quern_prepare__parameters, operations), .bytes = sizeof((quern_prepare__parameters *)0)->operations},
};
static const struct record record_of_quern_prepare__parameters = {"quern_prepare__parameters", sizeof(quern_prepare__parameters), fields_of_quern_prepare__parameters, 2};
static const struct field fields_of_quern_load_pack__parameters[] = {
    {.name = "path", .kind = TEXT, .offset = offsetof(quern_load_pack__parameters, path), .bytes = sizeof((quern_load_pack__parameters *)0)->path, .is_const = 1},
};
static const struct record record_of_quern_load_pack__parameters = {"quern_load_pack__parameters", sizeof(quern_load_pack__parameters), fields_of_quern_load_pack__parameters, 1};
DECLARE_EXTENT(quern_set_threads__parameters, user)
static const struct field fields_of_quern_set_threads__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_set_threads__parameters, device), .bytes = sizeof((quern_set_threads__parameters *)0)->device, .handle = HANDLE_OF_quern_device},
    {.name = "threads", .kind = INTEGER, .offset = offsetof(quern_set_threads__parameters, threads), .bytes = sizeof((quern_set_threads__parameters *)0)->threads},
    {.name = "hook", .kind = CALLBACK, .offset = offsetof(quern_set_threads__parameters, hook), .bytes = sizeof((quern_set_threads__parameters *)0)->hook},
    {.name = "user", .kind = MEMORY, .offset = offsetof(quern_set_threads__parameters, user), .bytes = sizeof((quern_set_threads__parameters *)0)->user, .extent = extent_of_quern_set_threads__parameters__user},
};
static const struct record record_of_quern_set_threads__parameters = {"quern_set_threads__parameters", sizeof(quern_set_threads__parameters), fields_of_quern_set_threads__parameters, 4};
static const struct field fields_of_quern_trace_begin__parameters[] = {
    {.name = "path", .kind = TEXT, .offset = offsetof(quern_trace_begin__parameters, path), .bytes = sizeof((quern_trace_begin__parameters *)0)->path, .is_const = 1},
};
static const struct record record_of_quern_trace_begin__parameters = {"quern_trace_begin__parameters", sizeof(quern_trace_begin__parameters), fields_of_quern_trace_begin__parameters, 1};
DECLARE_EXTENT(quern_dump_args_init__parameters, args)
static const struct field fields_of_quern_dump_args_init__parameters[] = {
    {.name = "args", .kind = MEMORY, .offset = offsetof(quern_dump_args_init__parameters, args), .bytes = sizeof((quern_dump_args_init__parameters *)0)->args, .extent = extent_of_quern_dump_args_init__parameters__args},
};
static const struct record record_of_quern_dump_args_init__parameters = {"quern_dump_args_init__parameters", sizeof(quern_dump_args_init__parameters), fields_of_quern_dump_args_init__parameters, 1};
DECLARE_EXTENT(quern_dump_at__parameters, args)
static const struct field fields_of_quern_dump_at__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_dump_at__parameters, device), .bytes = sizeof((quern_dump_at__parameters *)0)->device, .handle = HANDLE_OF_quern_device},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_dump_at__parameters, args), .bytes = sizeof((quern_dump_at__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_dump_args, .extent = extent_of_quern_dump_at__parameters__args},
};
static const struct record record_of_quern_dump_at__parameters = {"quern_dump_at__parameters", sizeof(quern_dump_at__parameters), fields_of_quern_dump_at__parameters, 2};
static const struct field fields_of_quern_step__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_step__parameters, device), .bytes = sizeof((quern_step__parameters *)0)->device, .handle = HANDLE_OF_quern_device},
    {.name = "step", .kind = INTEGER, .offset = offsetof(quern_step__parameters, step), .bytes = sizeof((quern_step__parameters *)0)->step},
};
static const struct record record_of_quern_step__parameters = {"quern_step__parameters", sizeof(quern_step__parameters), fields_of_quern_step__parameters, 2};
DECLARE_EXTENT(quern_cross_entropy_args_init__parameters, args)
static const struct field fields_of_quern_cross_entropy_args_init__parameters[] = {
    {.name = "args", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_args_init__parameters, args), .bytes = sizeof((quern_cross_entropy_args_init__parameters *)0)->args, .extent = extent_of_quern_cross_entropy_args_init__parameters__args},
};
static const struct record record_of_quern_cross_entropy_args_init__parameters = {"quern_cross_entropy_args_init__parameters", sizeof(quern_cross_entropy_args_init__parameters), fields_of_quern_cross_entropy_args_init__parameters, 1};
DECLARE_EXTENT(quern_cross_entropy_workspace__parameters, args)
DECLARE_EXTENT(quern_cross_entropy_workspace__parameters, bytes)
static const struct field fields_of_quern_cross_entropy_workspace__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_cross_entropy_workspace__parameters, device), .bytes = sizeof((quern_cross_entropy_workspace__parameters *)0)->device, .is_const = 1, .handle = HANDLE_OF_quern_device},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_cross_entropy_workspace__parameters, args), .bytes = sizeof((quern_cross_entropy_workspace__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_cross_entropy_args, .extent = extent_of_quern_cross_entropy_workspace__parameters__args},
    {.name = "bytes", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_workspace__parameters, bytes), .bytes = sizeof((quern_cross_entropy_workspace__parameters *)0)->bytes, .extent = extent_of_quern_cross_entropy_workspace__parameters__bytes},
};
static const struct record record_of_quern_cross_entropy_workspace__parameters = {"quern_cross_entropy_workspace__parameters", sizeof(quern_cross_entropy_workspace__parameters), fields_of_quern_cross_entropy_workspace__parameters, 3};
DECLARE_EXTENT(quern_cross_entropy__parameters, args)
DECLARE_EXTENT(quern_cross_entropy__parameters, workspace)
DECLARE_EXTENT(quern_cross_entropy__parameters, stream)
static const struct field fields_of_quern_cross_entropy__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_cross_entropy__parameters, device), .bytes = sizeof((quern_cross_entropy__parameters *)0)->device, .handle = HANDLE_OF_quern_device},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_cross_entropy__parameters, args), .bytes = sizeof((quern_cross_entropy__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_cross_entropy_args, .extent = extent_of_quern_cross_entropy__parameters__args},
    {.name = "workspace", .kind = MEMORY, .offset = offsetof(quern_cross_entropy__parameters, workspace), .bytes = sizeof((quern_cross_entropy__parameters *)0)->workspace, .extent = extent_of_quern_cross_entropy__parameters__workspace},
    {.name = "workspace_bytes", .kind = INTEGER, .offset = offsetof(quern_cross_entropy__parameters, workspace_bytes), .bytes = sizeof((quern_cross_entropy__parameters *)0)->workspace_bytes},
    {.name = "stream", .kind = MEMORY, .offset = offsetof(quern_cross_entropy__parameters, stream), .bytes = sizeof((quern_cross_entropy__parameters *)0)->stream, .extent = extent_of_quern_cross_entropy__parameters__stream},
};
static const struct record record_of_quern_cross_entropy__parameters = {"quern_cross_entropy__parameters", sizeof(quern_cross_entropy__parameters), fields_of_quern_cross_entropy__parameters, 5};
DECLARE_EXTENT(quern_cross_entropy_stats__parameters, args)
DECLARE_EXTENT(quern_cross_entropy_stats__parameters, workspace)
DECLARE_EXTENT(quern_cross_entropy_stats__parameters, stream)
static const struct field fields_of_quern_cross_entropy_stats__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_cross_entropy_stats__parameters, device), .bytes = sizeof((quern_cross_entropy_stats__parameters *)0)->device, .handle = HANDLE_OF_quern_device},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_cross_entropy_stats__parameters, args), .bytes = sizeof((quern_cross_entropy_stats__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_cross_entropy_args, .extent = extent_of_quern_cross_entropy_stats__parameters__args},
    {.name = "workspace", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_stats__parameters, workspace), .bytes = sizeof((quern_cross_entropy_stats__parameters *)0)->workspace, .extent = extent_of_quern_cross_entropy_stats__parameters__workspace},
    {.name = "workspace_bytes", .kind = INTEGER, .offset = offsetof(quern_cross_entropy_stats__parameters, workspace_bytes), .bytes = sizeof((quern_cross_entropy_stats__parameters *)0)->workspace_bytes},
    {.name = "stream", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_stats__parameters, stream), .bytes = sizeof((quern_cross_entropy_stats__parameters *)0)->stream, .extent = extent_of_quern_cross_entropy_stats__parameters__stream},
};
static const struct record record_of_quern_cross_entropy_stats__parameters = {"quern_cross_entropy_stats__parameters", sizeof(quern_cross_entropy_stats__parameters), fields_of_quern_cross_entropy_stats__parameters, 5};
DECLARE_EXTENT(quern_cross_entropy_combine__parameters, args)
DECLARE_EXTENT(quern_cross_entropy_combine__parameters, shards)
DECLARE_EXTENT(quern_cross_entropy_combine__parameters, workspace)
DECLARE_EXTENT(quern_cross_entropy_combine__parameters, stream)
static const struct field fields_of_quern_cross_entropy_combine__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_cross_entropy_combine__parameters, device), .bytes = sizeof((quern_cross_entropy_combine__parameters *)0)->device, .handle = HANDLE_OF_quern_device},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_cross_entropy_combine__parameters, args), .bytes = sizeof((quern_cross_entropy_combine__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_cross_entropy_args, .extent = extent_of_quern_cross_entropy_combine__parameters__args},
    {.name = "shards", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_combine__parameters, shards), .bytes = sizeof((quern_cross_entropy_combine__parameters *)0)->shards, .is_const = 1, .extent = extent_of_quern_cross_entropy_combine__parameters__shards},
    {.name = "shard_count", .kind = INTEGER, .offset = offsetof(quern_cross_entropy_combine__parameters, shard_count), .bytes = sizeof((quern_cross_entropy_combine__parameters *)0)->shard_count},
    {.name = "workspace", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_combine__parameters, workspace), .bytes = sizeof((quern_cross_entropy_combine__parameters *)0)->workspace, .extent = extent_of_quern_cross_entropy_combine__parameters__workspace},
    {.name = "workspace_bytes", .kind = INTEGER, .offset = offsetof(quern_cross_entropy_combine__parameters, workspace_bytes), .bytes = sizeof((quern_cross_entropy_combine__parameters *)0)->workspace_bytes},
    {.name = "stream", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_combine__parameters, stream), .bytes = sizeof((quern_cross_entropy_combine__parameters *)0)->stream, .extent = extent_of_quern_cross_entropy_combine__parameters__stream},
};
static const struct record record_of_quern_cross_entropy_combine__parameters = {"quern_cross_entropy_combine__parameters", sizeof(quern_cross_entropy_combine__parameters), fields_of_quern_cross_entropy_combine__parameters, 7};
DECLARE_EXTENT(quern_cross_entropy_gradient__parameters, args)
DECLARE_EXTENT(quern_cross_entropy_gradient__parameters, workspace)
DECLARE_EXTENT(quern_cross_entropy_gradient__parameters, stream)
static const struct field fields_of_quern_cross_entropy_gradient__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_cross_entropy_gradient__parameters, device), .bytes = sizeof((quern_cross_entropy_gradient__parameters *)0)->device, .handle = HANDLE_OF_quern_device},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_cross_entropy_gradient__parameters, args), .bytes = sizeof((quern_cross_entropy_gradient__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_cross_entropy_args, .extent = extent_of_quern_cross_entropy_gradient__parameters__args},
    {.name = "workspace", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_gradient__parameters, workspace), .bytes = sizeof((quern_cross_entropy_gradient__parameters *)0)->workspace, .extent = extent_of_quern_cross_entropy_gradient__parameters__workspace},
    {.name = "workspace_bytes", .kind = INTEGER, .offset = offsetof(quern_cross_entropy_gradient__parameters, workspace_bytes), .bytes = sizeof((quern_cross_entropy_gradient__parameters *)0)->workspace_bytes},
    {.name = "stream", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_gradient__parameters, stream), .bytes = sizeof((quern_cross_entropy_gradient__parameters *)0)->stream, .extent = extent_of_quern_cross_entropy_gradient__parameters__stream},
};
static const struct record record_of_quern_cross_entropy_gradient__parameters = {"quern_cross_entropy_gradient__parameters", sizeof(quern_cross_entropy_gradient__parameters), fields_of_quern_cross_entropy_gradient__parameters, 5};
DECLARE_EXTENT(quern_cross_entropy_upstream__parameters, args)
DECLARE_EXTENT(quern_cross_entropy_upstream__parameters, stream)
static const struct field fields_of_quern_cross_entropy_upstream__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_cross_entropy_upstream__parameters, device), .bytes = sizeof((quern_cross_entropy_upstream__parameters *)0)->device, .handle = HANDLE_OF_quern_device},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_cross_entropy_upstream__parameters, args), .bytes = sizeof((quern_cross_entropy_upstream__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_cross_entropy_args, .extent = extent_of_quern_cross_entropy_upstream__parameters__args},
    {.name = "stream", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_upstream__parameters, stream), .bytes = sizeof((quern_cross_entropy_upstream__parameters *)0)->stream, .extent = extent_of_quern_cross_entropy_upstream__parameters__stream},
};
static const struct record record_of_quern_cross_entropy_upstream__parameters = {"quern_cross_entropy_upstream__parameters", sizeof(quern_cross_entropy_upstream__parameters), fields_of_quern_cross_entropy_upstream__parameters, 3};
DECLARE_EXTENT(quern_cross_entropy_explain__parameters, args)
DECLARE_EXTENT(quern_cross_entropy_explain__parameters, buffer)
static const struct field fields_of_quern_cross_entropy_explain__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_cross_entropy_explain__parameters, device), .bytes = sizeof((quern_cross_entropy_explain__parameters *)0)->device, .is_const = 1, .handle = HANDLE_OF_quern_device},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_cross_entropy_explain__parameters, args), .bytes = sizeof((quern_cross_entropy_explain__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_cross_entropy_args, .extent = extent_of_quern_cross_entropy_explain__parameters__args},
    {.name = "buffer", .kind = MEMORY, .offset = offsetof(quern_cross_entropy_explain__parameters, buffer), .bytes = sizeof((quern_cross_entropy_explain__parameters *)0)->buffer, .extent = extent_of_quern_cross_entropy_explain__parameters__buffer},
    {.name = "bytes", .kind = INTEGER, .offset = offsetof(quern_cross_entropy_explain__parameters, bytes), .bytes = sizeof((quern_cross_entropy_explain__parameters *)0)->bytes},
};
static const struct record record_of_quern_cross_entropy_explain__parameters = {"quern_cross_entropy_explain__parameters", sizeof(quern_cross_entropy_explain__parameters), fields_of_quern_cross_entropy_explain__parameters, 4};
DECLARE_EXTENT(quern_portable_hash__parameters, hash)
static const struct field fields_of_quern_portable_hash__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_portable_hash__parameters, device), .bytes = sizeof((quern_portable_hash__parameters *)0)->device, .handle = HANDLE_OF_quern_device},
    {.name = "hash", .kind = MEMORY, .offset = offsetof(quern_portable_hash__parameters, hash), .bytes = sizeof((quern_portable_hash__parameters *)0)->hash, .extent = extent_of_quern_portable_hash__parameters__hash},
};
static const struct record record_of_quern_portable_hash__parameters = {"quern_portable_hash__parameters", sizeof(quern_portable_hash__parameters), fields_of_quern_portable_hash__parameters, 2};
DECLARE_EXTENT(quern_gemm_args_init__parameters, args)
static const struct field fields_of_quern_gemm_args_init__parameters[] = {
    {.name = "args", .kind = MEMORY, .offset = offsetof(quern_gemm_args_init__parameters, args), .bytes = sizeof((quern_gemm_args_init__parameters *)0)->args, .extent = extent_of_quern_gemm_args_init__parameters__args},
};
static const struct record record_of_quern_gemm_args_init__parameters = {"quern_gemm_args_init__parameters", sizeof(quern_gemm_args_init__parameters), fields_of_quern_gemm_args_init__parameters, 1};
DECLARE_EXTENT(quern_blas_open__parameters, blas)
static const struct field fields_of_quern_blas_open__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_blas_open__parameters, device), .bytes = sizeof((quern_blas_open__parameters *)0)->device, .handle = HANDLE_OF_quern_device},
    {.name = "library", .kind = TEXT, .offset = offsetof(quern_blas_open__parameters, library), .bytes = sizeof((quern_blas_open__parameters *)0)->library, .is_const = 1},
    {.name = "blas", .kind = MEMORY, .offset = offsetof(quern_blas_open__parameters, blas), .bytes = sizeof((quern_blas_open__parameters *)0)->blas, .extent = extent_of_quern_blas_open__parameters__blas},
};
static const struct record record_of_quern_blas_open__parameters = {"quern_blas_open__parameters", sizeof(quern_blas_open__parameters), fields_of_quern_blas_open__parameters, 3};
static const struct field fields_of_quern_blas_close__parameters[] = {
    {.name = "blas", .kind = HANDLE, .offset = offsetof(quern_blas_close__parameters, blas), .bytes = sizeof((quern_blas_close__parameters *)0)->blas, .handle = HANDLE_OF_quern_blas},
};
static const struct record record_of_quern_blas_close__parameters = {"quern_blas_close__parameters", sizeof(quern_blas_close__parameters), fields_of_quern_blas_close__parameters, 1};
DECLARE_EXTENT(quern_blas_gemm__parameters, blas)
DECLARE_EXTENT(quern_blas_gemm__parameters, args)
DECLARE_EXTENT(quern_blas_gemm__parameters, stream)
static const struct field fields_of_quern_blas_gemm__parameters[] = {
    {.name = "blas", .kind = MEMORY, .offset = offsetof(quern_blas_gemm__parameters, blas), .bytes = sizeof((quern_blas_gemm__parameters *)0)->blas, .extent = extent_of_quern_blas_gemm__parameters__blas},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_blas_gemm__parameters, args), .bytes = sizeof((quern_blas_gemm__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_gemm_args, .extent = extent_of_quern_blas_gemm__parameters__args},
    {.name = "stream", .kind = MEMORY, .offset = offsetof(quern_blas_gemm__parameters, stream), .bytes = sizeof((quern_blas_gemm__parameters *)0)->stream, .extent = extent_of_quern_blas_gemm__parameters__stream},
};
static const struct record record_of_quern_blas_gemm__parameters = {"quern_blas_gemm__parameters", sizeof(quern_blas_gemm__parameters), fields_of_quern_blas_gemm__parameters, 3};
DECLARE_EXTENT(quern_linear_cross_entropy_args_init__parameters, args)
static const struct field fields_of_quern_linear_cross_entropy_args_init__parameters[] = {
    {.name = "args", .kind = MEMORY, .offset = offsetof(quern_linear_cross_entropy_args_init__parameters, args), .bytes = sizeof((quern_linear_cross_entropy_args_init__parameters *)0)->args, .extent = extent_of_quern_linear_cross_entropy_args_init__parameters__args},
};
static const struct record record_of_quern_linear_cross_entropy_args_init__parameters = {"quern_linear_cross_entropy_args_init__parameters", sizeof(quern_linear_cross_entropy_args_init__parameters), fields_of_quern_linear_cross_entropy_args_init__parameters, 1};
DECLARE_EXTENT(quern_linear_cross_entropy_workspace__parameters, args)
DECLARE_EXTENT(quern_linear_cross_entropy_workspace__parameters, bytes)
static const struct field fields_of_quern_linear_cross_entropy_workspace__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_linear_cross_entropy_workspace__parameters, device), .bytes = sizeof((quern_linear_cross_entropy_workspace__parameters *)0)->device, .is_const = 1, .handle = HANDLE_OF_quern_device},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_linear_cross_entropy_workspace__parameters, args), .bytes = sizeof((quern_linear_cross_entropy_workspace__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_linear_cross_entropy_args, .extent = extent_of_quern_linear_cross_entropy_workspace__parameters__args},
    {.name = "bytes", .kind = MEMORY, .offset = offsetof(quern_linear_cross_entropy_workspace__parameters, bytes), .bytes = sizeof((quern_linear_cross_entropy_workspace__parameters *)0)->bytes, .extent = extent_of_quern_linear_cross_entropy_workspace__parameters__bytes},
};
static const struct record record_of_quern_linear_cross_entropy_workspace__parameters = {"quern_linear_cross_entropy_workspace__parameters", sizeof(quern_linear_cross_entropy_workspace__parameters), fields_of_quern_linear_cross_entropy_workspace__parameters, 3};
DECLARE_EXTENT(quern_linear_cross_entropy__parameters, args)
DECLARE_EXTENT(quern_linear_cross_entropy__parameters, workspace)
DECLARE_EXTENT(quern_linear_cross_entropy__parameters, stream)
static const struct field fields_of_quern_linear_cross_entropy__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_linear_cross_entropy__parameters, device), .bytes = sizeof((quern_linear_cross_entropy__parameters *)0)->device, .handle = HANDLE_OF_quern_device},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_linear_cross_entropy__parameters, args), .bytes = sizeof((quern_linear_cross_entropy__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_linear_cross_entropy_args, .extent = extent_of_quern_linear_cross_entropy__parameters__args},
    {.name = "workspace", .kind = MEMORY, .offset = offsetof(quern_linear_cross_entropy__parameters, workspace), .bytes = sizeof((quern_linear_cross_entropy__parameters *)0)->workspace, .extent = extent_of_quern_linear_cross_entropy__parameters__workspace},
    {.name = "workspace_bytes", .kind = INTEGER, .offset = offsetof(quern_linear_cross_entropy__parameters, workspace_bytes), .bytes = sizeof((quern_linear_cross_entropy__parameters *)0)->workspace_bytes},
    {.name = "stream", .kind = MEMORY, .offset = offsetof(quern_linear_cross_entropy__parameters, stream), .bytes = sizeof((quern_linear_cross_entropy__parameters *)0)->stream, .extent = extent_of_quern_linear_cross_entropy__parameters__stream},
};
static const struct record record_of_quern_linear_cross_entropy__parameters = {"quern_linear_cross_entropy__parameters", sizeof(quern_linear_cross_entropy__parameters), fields_of_quern_linear_cross_entropy__parameters, 5};
DECLARE_EXTENT(quern_adam_args_init__parameters, args)
static const struct field fields_of_quern_adam_args_init__parameters[] = {
    {.name = "args", .kind = MEMORY, .offset = offsetof(quern_adam_args_init__parameters, args), .bytes = sizeof((quern_adam_args_init__parameters *)0)->args, .extent = extent_of_quern_adam_args_init__parameters__args},
};
static const struct record record_of_quern_adam_args_init__parameters = {"quern_adam_args_init__parameters", sizeof(quern_adam_args_init__parameters), fields_of_quern_adam_args_init__parameters, 1};
DECLARE_EXTENT(quern_adam_workspace__parameters, args)
DECLARE_EXTENT(quern_adam_workspace__parameters, bytes)
static const struct field fields_of_quern_adam_workspace__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_adam_workspace__parameters, device), .bytes = sizeof((quern_adam_workspace__parameters *)0)->device, .is_const = 1, .handle = HANDLE_OF_quern_device},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_adam_workspace__parameters, args), .bytes = sizeof((quern_adam_workspace__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_adam_args, .extent = extent_of_quern_adam_workspace__parameters__args},
    {.name = "bytes", .kind = MEMORY, .offset = offsetof(quern_adam_workspace__parameters, bytes), .bytes = sizeof((quern_adam_workspace__parameters *)0)->bytes, .extent = extent_of_quern_adam_workspace__parameters__bytes},
};
static const struct record record_of_quern_adam_workspace__parameters = {"quern_adam_workspace__parameters", sizeof(quern_adam_workspace__parameters), fields_of_quern_adam_workspace__parameters, 3};
DECLARE_EXTENT(quern_adam__parameters, args)
DECLARE_EXTENT(quern_adam__parameters, workspace)
DECLARE_EXTENT(quern_adam__parameters, stream)
static const struct field fields_of_quern_adam__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_adam__parameters, device), .bytes = sizeof((quern_adam__parameters *)0)->device, .handle = HANDLE_OF_quern_device},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_adam__parameters, args), .bytes = sizeof((quern_adam__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_adam_args, .extent = extent_of_quern_adam__parameters__args},
    {.name = "workspace", .kind = MEMORY, .offset = offsetof(quern_adam__parameters, workspace), .bytes = sizeof((quern_adam__parameters *)0)->workspace, .extent = extent_of_quern_adam__parameters__workspace},
    {.name = "workspace_bytes", .kind = INTEGER, .offset = offsetof(quern_adam__parameters, workspace_bytes), .bytes = sizeof((quern_adam__parameters *)0)->workspace_bytes},
    {.name = "stream", .kind = MEMORY, .offset = offsetof(quern_adam__parameters, stream), .bytes = sizeof((quern_adam__parameters *)0)->stream, .extent = extent_of_quern_adam__parameters__stream},
};
static const struct record record_of_quern_adam__parameters = {"quern_adam__parameters", sizeof(quern_adam__parameters), fields_of_quern_adam__parameters, 5};
DECLARE_EXTENT(quern_adam_explain__parameters, args)
DECLARE_EXTENT(quern_adam_explain__parameters, buffer)
static const struct field fields_of_quern_adam_explain__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_adam_explain__parameters, device), .bytes = sizeof((quern_adam_explain__parameters *)0)->device, .is_const = 1, .handle = HANDLE_OF_quern_device},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_adam_explain__parameters, args), .bytes = sizeof((quern_adam_explain__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_adam_args, .extent = extent_of_quern_adam_explain__parameters__args},
    {.name = "buffer", .kind = MEMORY, .offset = offsetof(quern_adam_explain__parameters, buffer), .bytes = sizeof((quern_adam_explain__parameters *)0)->buffer, .extent = extent_of_quern_adam_explain__parameters__buffer},
    {.name = "bytes", .kind = INTEGER, .offset = offsetof(quern_adam_explain__parameters, bytes), .bytes = sizeof((quern_adam_explain__parameters *)0)->bytes},
};
static const struct record record_of_quern_adam_explain__parameters = {"quern_adam_explain__parameters", sizeof(quern_adam_explain__parameters), fields_of_quern_adam_explain__parameters, 4};
DECLARE_EXTENT(quern_adam_plan_create__parameters, args)
DECLARE_EXTENT(quern_adam_plan_create__parameters, plan)
static const struct field fields_of_quern_adam_plan_create__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_adam_plan_create__parameters, device), .bytes = sizeof((quern_adam_plan_create__parameters *)0)->device, .handle = HANDLE_OF_quern_device},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_adam_plan_create__parameters, args), .bytes = sizeof((quern_adam_plan_create__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_adam_args, .extent = extent_of_quern_adam_plan_create__parameters__args},
    {.name = "plan", .kind = MEMORY, .offset = offsetof(quern_adam_plan_create__parameters, plan), .bytes = sizeof((quern_adam_plan_create__parameters *)0)->plan, .extent = extent_of_quern_adam_plan_create__parameters__plan},
};
static const struct record record_of_quern_adam_plan_create__parameters = {"quern_adam_plan_create__parameters", sizeof(quern_adam_plan_create__parameters), fields_of_quern_adam_plan_create__parameters, 3};
static const struct field fields_of_quern_adam_plan_destroy__parameters[] = {
    {.name = "plan", .kind = HANDLE, .offset = offsetof(quern_adam_plan_destroy__parameters, plan), .bytes = sizeof((quern_adam_plan_destroy__parameters *)0)->plan, .handle = HANDLE_OF_quern_adam_plan},
};
static const struct record record_of_quern_adam_plan_destroy__parameters = {"quern_adam_plan_destroy__parameters", sizeof(quern_adam_plan_destroy__parameters), fields_of_quern_adam_plan_destroy__parameters, 1};
DECLARE_EXTENT(quern_gradient_norm_args_init__parameters, args)
static const struct field fields_of_quern_gradient_norm_args_init__parameters[] = {
    {.name = "args", .kind = MEMORY, .offset = offsetof(quern_gradient_norm_args_init__parameters, args), .bytes = sizeof((quern_gradient_norm_args_init__parameters *)0)->args, .extent = extent_of_quern_gradient_norm_args_init__parameters__args},
};
static const struct record record_of_quern_gradient_norm_args_init__parameters = {"quern_gradient_norm_args_init__parameters", sizeof(quern_gradient_norm_args_init__parameters), fields_of_quern_gradient_norm_args_init__parameters, 1};
DECLARE_EXTENT(quern_gradient_norm_workspace__parameters, args)
DECLARE_EXTENT(quern_gradient_norm_workspace__parameters, bytes)
static const struct field fields_of_quern_gradient_norm_workspace__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_gradient_norm_workspace__parameters, device), .bytes = sizeof((quern_gradient_norm_workspace__parameters *)0)->device, .is_const = 1, .handle = HANDLE_OF_quern_device},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_gradient_norm_workspace__parameters, args), .bytes = sizeof((quern_gradient_norm_workspace__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_gradient_norm_args, .extent = extent_of_quern_gradient_norm_workspace__parameters__args},
    {.name = "bytes", .kind = MEMORY, .offset = offsetof(quern_gradient_norm_workspace__parameters, bytes), .bytes = sizeof((quern_gradient_norm_workspace__parameters *)0)->bytes, .extent = extent_of_quern_gradient_norm_workspace__parameters__bytes},
};
static const struct record record_of_quern_gradient_norm_workspace__parameters = {"quern_gradient_norm_workspace__parameters", sizeof(quern_gradient_norm_workspace__parameters), fields_of_quern_gradient_norm_workspace__parameters, 3};
DECLARE_EXTENT(quern_gradient_norm__parameters, args)
DECLARE_EXTENT(quern_gradient_norm__parameters, workspace)
DECLARE_EXTENT(quern_gradient_norm__parameters, stream)
static const struct field fields_of_quern_gradient_norm__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_gradient_norm__parameters, device), .bytes = sizeof((quern_gradient_norm__parameters *)0)->device, .handle = HANDLE_OF_quern_device},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_gradient_norm__parameters, args), .bytes = sizeof((quern_gradient_norm__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_gradient_norm_args, .extent = extent_of_quern_gradient_norm__parameters__args},
    {.name = "workspace", .kind = MEMORY, .offset = offsetof(quern_gradient_norm__parameters, workspace), .bytes = sizeof((quern_gradient_norm__parameters *)0)->workspace, .extent = extent_of_quern_gradient_norm__parameters__workspace},
    {.name = "workspace_bytes", .kind = INTEGER, .offset = offsetof(quern_gradient_norm__parameters, workspace_bytes), .bytes = sizeof((quern_gradient_norm__parameters *)0)->workspace_bytes},
    {.name = "stream", .kind = MEMORY, .offset = offsetof(quern_gradient_norm__parameters, stream), .bytes = sizeof((quern_gradient_norm__parameters *)0)->stream, .extent = extent_of_quern_gradient_norm__parameters__stream},
};
static const struct record record_of_quern_gradient_norm__parameters = {"quern_gradient_norm__parameters", sizeof(quern_gradient_norm__parameters), fields_of_quern_gradient_norm__parameters, 5};
DECLARE_EXTENT(quern_accumulate_args_init__parameters, args)
static const struct field fields_of_quern_accumulate_args_init__parameters[] = {
    {.name = "args", .kind = MEMORY, .offset = offsetof(quern_accumulate_args_init__parameters, args), .bytes = sizeof((quern_accumulate_args_init__parameters *)0)->args, .extent = extent_of_quern_accumulate_args_init__parameters__args},
};
static const struct record record_of_quern_accumulate_args_init__parameters = {"quern_accumulate_args_init__parameters", sizeof(quern_accumulate_args_init__parameters), fields_of_quern_accumulate_args_init__parameters, 1};
DECLARE_EXTENT(quern_accumulate__parameters, args)
DECLARE_EXTENT(quern_accumulate__parameters, stream)
static const struct field fields_of_quern_accumulate__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_accumulate__parameters, device), .bytes = sizeof((quern_accumulate__parameters *)0)->device, .handle = HANDLE_OF_quern_device},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_accumulate__parameters, args), .bytes = sizeof((quern_accumulate__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_accumulate_args, .extent = extent_of_quern_accumulate__parameters__args},
    {.name = "stream", .kind = MEMORY, .offset = offsetof(quern_accumulate__parameters, stream), .bytes = sizeof((quern_accumulate__parameters *)0)->stream, .extent = extent_of_quern_accumulate__parameters__stream},
};
static const struct record record_of_quern_accumulate__parameters = {"quern_accumulate__parameters", sizeof(quern_accumulate__parameters), fields_of_quern_accumulate__parameters, 3};
DECLARE_EXTENT(quern_accumulate_plan_create__parameters, args)
DECLARE_EXTENT(quern_accumulate_plan_create__parameters, plan)
static const struct field fields_of_quern_accumulate_plan_create__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_accumulate_plan_create__parameters, device), .bytes = sizeof((quern_accumulate_plan_create__parameters *)0)->device, .handle = HANDLE_OF_quern_device},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_accumulate_plan_create__parameters, args), .bytes = sizeof((quern_accumulate_plan_create__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_accumulate_args, .extent = extent_of_quern_accumulate_plan_create__parameters__args},
    {.name = "plan", .kind = MEMORY, .offset = offsetof(quern_accumulate_plan_create__parameters, plan), .bytes = sizeof((quern_accumulate_plan_create__parameters *)0)->plan, .extent = extent_of_quern_accumulate_plan_create__parameters__plan},
};
static const struct record record_of_quern_accumulate_plan_create__parameters = {"quern_accumulate_plan_create__parameters", sizeof(quern_accumulate_plan_create__parameters), fields_of_quern_accumulate_plan_create__parameters, 3};
static const struct field fields_of_quern_accumulate_plan_destroy__parameters[] = {
    {.name = "plan", .kind = HANDLE, .offset = offsetof(quern_accumulate_plan_destroy__parameters, plan), .bytes = sizeof((quern_accumulate_plan_destroy__parameters *)0)->plan, .handle = HANDLE_OF_quern_accumulate_plan},
};
static const struct record record_of_quern_accumulate_plan_destroy__parameters = {"quern_accumulate_plan_destroy__parameters", sizeof(quern_accumulate_plan_destroy__parameters), fields_of_quern_accumulate_plan_destroy__parameters, 1};
DECLARE_EXTENT(quern_adam_saved_bytes__parameters, args)
DECLARE_EXTENT(quern_adam_saved_bytes__parameters, bytes)
static const struct field fields_of_quern_adam_saved_bytes__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_adam_saved_bytes__parameters, device), .bytes = sizeof((quern_adam_saved_bytes__parameters *)0)->device, .is_const = 1, .handle = HANDLE_OF_quern_device},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_adam_saved_bytes__parameters, args), .bytes = sizeof((quern_adam_saved_bytes__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_adam_args, .extent = extent_of_quern_adam_saved_bytes__parameters__args},
    {.name = "bytes", .kind = MEMORY, .offset = offsetof(quern_adam_saved_bytes__parameters, bytes), .bytes = sizeof((quern_adam_saved_bytes__parameters *)0)->bytes, .extent = extent_of_quern_adam_saved_bytes__parameters__bytes},
};
static const struct record record_of_quern_adam_saved_bytes__parameters = {"quern_adam_saved_bytes__parameters", sizeof(quern_adam_saved_bytes__parameters), fields_of_quern_adam_saved_bytes__parameters, 3};
DECLARE_EXTENT(quern_adam_save__parameters, args)
DECLARE_EXTENT(quern_adam_save__parameters, saved)
static const struct field fields_of_quern_adam_save__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_adam_save__parameters, device), .bytes = sizeof((quern_adam_save__parameters *)0)->device, .handle = HANDLE_OF_quern_device},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_adam_save__parameters, args), .bytes = sizeof((quern_adam_save__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_adam_args, .extent = extent_of_quern_adam_save__parameters__args},
    {.name = "saved", .kind = MEMORY, .offset = offsetof(quern_adam_save__parameters, saved), .bytes = sizeof((quern_adam_save__parameters *)0)->saved, .extent = extent_of_quern_adam_save__parameters__saved},
    {.name = "bytes", .kind = INTEGER, .offset = offsetof(quern_adam_save__parameters, bytes), .bytes = sizeof((quern_adam_save__parameters *)0)->bytes},
};
static const struct record record_of_quern_adam_save__parameters = {"quern_adam_save__parameters", sizeof(quern_adam_save__parameters), fields_of_quern_adam_save__parameters, 4};
DECLARE_EXTENT(quern_adam_load__parameters, args)
DECLARE_EXTENT(quern_adam_load__parameters, saved)
DECLARE_EXTENT(quern_adam_load__parameters, step)
DECLARE_EXTENT(quern_adam_load__parameters, seed)
static const struct field fields_of_quern_adam_load__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_adam_load__parameters, device), .bytes = sizeof((quern_adam_load__parameters *)0)->device, .handle = HANDLE_OF_quern_device},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_adam_load__parameters, args), .bytes = sizeof((quern_adam_load__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_adam_args, .extent = extent_of_quern_adam_load__parameters__args},
    {.name = "saved", .kind = MEMORY, .offset = offsetof(quern_adam_load__parameters, saved), .bytes = sizeof((quern_adam_load__parameters *)0)->saved, .is_const = 1, .extent = extent_of_quern_adam_load__parameters__saved},
    {.name = "bytes", .kind = INTEGER, .offset = offsetof(quern_adam_load__parameters, bytes), .bytes = sizeof((quern_adam_load__parameters *)0)->bytes},
    {.name = "step", .kind = MEMORY, .offset = offsetof(quern_adam_load__parameters, step), .bytes = sizeof((quern_adam_load__parameters *)0)->step, .extent = extent_of_quern_adam_load__parameters__step},
    {.name = "seed", .kind = MEMORY, .offset = offsetof(quern_adam_load__parameters, seed), .bytes = sizeof((quern_adam_load__parameters *)0)->seed, .extent = extent_of_quern_adam_load__parameters__seed},
};
static const struct record record_of_quern_adam_load__parameters = {"quern_adam_load__parameters", sizeof(quern_adam_load__parameters), fields_of_quern_adam_load__parameters, 6};
DECLARE_EXTENT(quern_quantize_args_init__parameters, args)
static const struct field fields_of_quern_quantize_args_init__parameters[] = {
    {.name = "args", .kind = MEMORY, .offset = offsetof(quern_quantize_args_init__parameters, args), .bytes = sizeof((quern_quantize_args_init__parameters *)0)->args, .extent = extent_of_quern_quantize_args_init__parameters__args},
};
static const struct record record_of_quern_quantize_args_init__parameters = {"quern_quantize_args_init__parameters", sizeof(quern_quantize_args_init__parameters), fields_of_quern_quantize_args_init__parameters, 1};
DECLARE_EXTENT(quern_quantize_workspace__parameters, args)
DECLARE_EXTENT(quern_quantize_workspace__parameters, bytes)
static const struct field fields_of_quern_quantize_workspace__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_quantize_workspace__parameters, device), .bytes = sizeof((quern_quantize_workspace__parameters *)0)->device, .is_const = 1, .handle = HANDLE_OF_quern_device},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_quantize_workspace__parameters, args), .bytes = sizeof((quern_quantize_workspace__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_quantize_args, .extent = extent_of_quern_quantize_workspace__parameters__args},
    {.name = "bytes", .kind = MEMORY, .offset = offsetof(quern_quantize_workspace__parameters, bytes), .bytes = sizeof((quern_quantize_workspace__parameters *)0)->bytes, .extent = extent_of_quern_quantize_workspace__parameters__bytes},
};
static const struct record record_of_quern_quantize_workspace__parameters = {"quern_quantize_workspace__parameters", sizeof(quern_quantize_workspace__parameters), fields_of_quern_quantize_workspace__parameters, 3};
DECLARE_EXTENT(quern_quantize__parameters, args)
DECLARE_EXTENT(quern_quantize__parameters, workspace)
DECLARE_EXTENT(quern_quantize__parameters, stream)
static const struct field fields_of_quern_quantize__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_quantize__parameters, device), .bytes = sizeof((quern_quantize__parameters *)0)->device, .handle = HANDLE_OF_quern_device},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_quantize__parameters, args), .bytes = sizeof((quern_quantize__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_quantize_args, .extent = extent_of_quern_quantize__parameters__args},
    {.name = "workspace", .kind = MEMORY, .offset = offsetof(quern_quantize__parameters, workspace), .bytes = sizeof((quern_quantize__parameters *)0)->workspace, .extent = extent_of_quern_quantize__parameters__workspace},
    {.name = "workspace_bytes", .kind = INTEGER, .offset = offsetof(quern_quantize__parameters, workspace_bytes), .bytes = sizeof((quern_quantize__parameters *)0)->workspace_bytes},
    {.name = "stream", .kind = MEMORY, .offset = offsetof(quern_quantize__parameters, stream), .bytes = sizeof((quern_quantize__parameters *)0)->stream, .extent = extent_of_quern_quantize__parameters__stream},
};
static const struct record record_of_quern_quantize__parameters = {"quern_quantize__parameters", sizeof(quern_quantize__parameters), fields_of_quern_quantize__parameters, 5};
DECLARE_EXTENT(quern_quantize_amax__parameters, args)
DECLARE_EXTENT(quern_quantize_amax__parameters, workspace)
DECLARE_EXTENT(quern_quantize_amax__parameters, stream)
static const struct field fields_of_quern_quantize_amax__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_quantize_amax__parameters, device), .bytes = sizeof((quern_quantize_amax__parameters *)0)->device, .handle = HANDLE_OF_quern_device},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_quantize_amax__parameters, args), .bytes = sizeof((quern_quantize_amax__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_quantize_args, .extent = extent_of_quern_quantize_amax__parameters__args},
    {.name = "workspace", .kind = MEMORY, .offset = offsetof(quern_quantize_amax__parameters, workspace), .bytes = sizeof((quern_quantize_amax__parameters *)0)->workspace, .extent = extent_of_quern_quantize_amax__parameters__workspace},
    {.name = "workspace_bytes", .kind = INTEGER, .offset = offsetof(quern_quantize_amax__parameters, workspace_bytes), .bytes = sizeof((quern_quantize_amax__parameters *)0)->workspace_bytes},
    {.name = "stream", .kind = MEMORY, .offset = offsetof(quern_quantize_amax__parameters, stream), .bytes = sizeof((quern_quantize_amax__parameters *)0)->stream, .extent = extent_of_quern_quantize_amax__parameters__stream},
};
static const struct record record_of_quern_quantize_amax__parameters = {"quern_quantize_amax__parameters", sizeof(quern_quantize_amax__parameters), fields_of_quern_quantize_amax__parameters, 5};
DECLARE_EXTENT(quern_quantize_cast__parameters, args)
DECLARE_EXTENT(quern_quantize_cast__parameters, stream)
static const struct field fields_of_quern_quantize_cast__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_quantize_cast__parameters, device), .bytes = sizeof((quern_quantize_cast__parameters *)0)->device, .handle = HANDLE_OF_quern_device},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_quantize_cast__parameters, args), .bytes = sizeof((quern_quantize_cast__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_quantize_args, .extent = extent_of_quern_quantize_cast__parameters__args},
    {.name = "stream", .kind = MEMORY, .offset = offsetof(quern_quantize_cast__parameters, stream), .bytes = sizeof((quern_quantize_cast__parameters *)0)->stream, .extent = extent_of_quern_quantize_cast__parameters__stream},
};
static const struct record record_of_quern_quantize_cast__parameters = {"quern_quantize_cast__parameters", sizeof(quern_quantize_cast__parameters), fields_of_quern_quantize_cast__parameters, 3};
DECLARE_EXTENT(quern_quantize_explain__parameters, args)
DECLARE_EXTENT(quern_quantize_explain__parameters, buffer)
static const struct field fields_of_quern_quantize_explain__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_quantize_explain__parameters, device), .bytes = sizeof((quern_quantize_explain__parameters *)0)->device, .is_const = 1, .handle = HANDLE_OF_quern_device},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_quantize_explain__parameters, args), .bytes = sizeof((quern_quantize_explain__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_quantize_args, .extent = extent_of_quern_quantize_explain__parameters__args},
    {.name = "buffer", .kind = MEMORY, .offset = offsetof(quern_quantize_explain__parameters, buffer), .bytes = sizeof((quern_quantize_explain__parameters *)0)->buffer, .extent = extent_of_quern_quantize_explain__parameters__buffer},
    {.name = "bytes", .kind = INTEGER, .offset = offsetof(quern_quantize_explain__parameters, bytes), .bytes = sizeof((quern_quantize_explain__parameters *)0)->bytes},
};
static const struct record record_of_quern_quantize_explain__parameters = {"quern_quantize_explain__parameters", sizeof(quern_quantize_explain__parameters), fields_of_quern_quantize_explain__parameters, 4};
DECLARE_EXTENT(quern_quantize_plan_create__parameters, args)
DECLARE_EXTENT(quern_quantize_plan_create__parameters, plan)
static const struct field fields_of_quern_quantize_plan_create__parameters[] = {
    {.name = "device", .kind = HANDLE, .offset = offsetof(quern_quantize_plan_create__parameters, device), .bytes = sizeof((quern_quantize_plan_create__parameters *)0)->device, .handle = HANDLE_OF_quern_device},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_quantize_plan_create__parameters, args), .bytes = sizeof((quern_quantize_plan_create__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_quantize_args, .extent = extent_of_quern_quantize_plan_create__parameters__args},
    {.name = "plan", .kind = MEMORY, .offset = offsetof(quern_quantize_plan_create__parameters, plan), .bytes = sizeof((quern_quantize_plan_create__parameters *)0)->plan, .extent = extent_of_quern_quantize_plan_create__parameters__plan},
};
static const struct record record_of_quern_quantize_plan_create__parameters = {"quern_quantize_plan_create__parameters", sizeof(quern_quantize_plan_create__parameters), fields_of_quern_quantize_plan_create__parameters, 3};
static const struct field fields_of_quern_quantize_plan_destroy__parameters[] = {
    {.name = "plan", .kind = HANDLE, .offset = offsetof(quern_quantize_plan_destroy__parameters, plan), .bytes = sizeof((quern_quantize_plan_destroy__parameters *)0)->plan, .handle = HANDLE_OF_quern_quantize_plan},
};
static const struct record record_of_quern_quantize_plan_destroy__parameters = {"quern_quantize_plan_destroy__parameters", sizeof(quern_quantize_plan_destroy__parameters), fields_of_quern_quantize_plan_destroy__parameters, 1};
DECLARE_EXTENT(quern_carrier_init__parameters, carrier)
static const struct field fields_of_quern_carrier_init__parameters[] = {
    {.name = "carrier", .kind = MEMORY, .offset = offsetof(quern_carrier_init__parameters, carrier), .bytes = sizeof((quern_carrier_init__parameters *)0)->carrier, .extent = extent_of_quern_carrier_init__parameters__carrier},
};
static const struct record record_of_quern_carrier_init__parameters = {"quern_carrier_init__parameters", sizeof(quern_carrier_init__parameters), fields_of_quern_carrier_init__parameters, 1};
DECLARE_EXTENT(quern_hosts_args_init__parameters, args)
static const struct field fields_of_quern_hosts_args_init__parameters[] = {
    {.name = "args", .kind = MEMORY, .offset = offsetof(quern_hosts_args_init__parameters, args), .bytes = sizeof((quern_hosts_args_init__parameters *)0)->args, .extent = extent_of_quern_hosts_args_init__parameters__args},
};
static const struct record record_of_quern_hosts_args_init__parameters = {"quern_hosts_args_init__parameters", sizeof(quern_hosts_args_init__parameters), fields_of_quern_hosts_args_init__parameters, 1};
DECLARE_EXTENT(quern_group_args_init__parameters, args)
static const struct field fields_of_quern_group_args_init__parameters[] = {
    {.name = "args", .kind = MEMORY, .offset = offsetof(quern_group_args_init__parameters, args), .bytes = sizeof((quern_group_args_init__parameters *)0)->args, .extent = extent_of_quern_group_args_init__parameters__args},
};
static const struct record record_of_quern_group_args_init__parameters = {"quern_group_args_init__parameters", sizeof(quern_group_args_init__parameters), fields_of_quern_group_args_init__parameters, 1};
DECLARE_EXTENT(quern_group_create__parameters, args)
DECLARE_EXTENT(quern_group_create__parameters, groups)
static const struct field fields_of_quern_group_create__parameters[] = {
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_group_create__parameters, args), .bytes = sizeof((quern_group_create__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_group_args, .extent = extent_of_quern_group_create__parameters__args},
    {.name = "count", .kind = INTEGER, .offset = offsetof(quern_group_create__parameters, count), .bytes = sizeof((quern_group_create__parameters *)0)->count},
    {.name = "groups", .kind = MEMORY, .offset = offsetof(quern_group_create__parameters, groups), .bytes = sizeof((quern_group_create__parameters *)0)->groups, .extent = extent_of_quern_group_create__parameters__groups},
};
static const struct record record_of_quern_group_create__parameters = {"quern_group_create__parameters", sizeof(quern_group_create__parameters), fields_of_quern_group_create__parameters, 3};
static const struct field fields_of_quern_group_rank__parameters[] = {
    {.name = "group", .kind = HANDLE, .offset = offsetof(quern_group_rank__parameters, group), .bytes = sizeof((quern_group_rank__parameters *)0)->group, .is_const = 1, .handle = HANDLE_OF_quern_group},
};
static const struct record record_of_quern_group_rank__parameters = {"quern_group_rank__parameters", sizeof(quern_group_rank__parameters), fields_of_quern_group_rank__parameters, 1};
static const struct field fields_of_quern_group_size__parameters[] = {
    {.name = "group", .kind = HANDLE, .offset = offsetof(quern_group_size__parameters, group), .bytes = sizeof((quern_group_size__parameters *)0)->group, .is_const = 1, .handle = HANDLE_OF_quern_group},
};
static const struct record record_of_quern_group_size__parameters = {"quern_group_size__parameters", sizeof(quern_group_size__parameters), fields_of_quern_group_size__parameters, 1};
DECLARE_EXTENT(quern_group_split__parameters, groups)
DECLARE_EXTENT(quern_group_split__parameters, colours)
DECLARE_EXTENT(quern_group_split__parameters, keys)
DECLARE_EXTENT(quern_group_split__parameters, new_groups)
static const struct field fields_of_quern_group_split__parameters[] = {
    {.name = "groups", .kind = HANDLES, .offset = offsetof(quern_group_split__parameters, groups), .bytes = sizeof((quern_group_split__parameters *)0)->groups, .is_const = 1, .handle = HANDLE_OF_quern_group, .extent = extent_of_quern_group_split__parameters__groups},
    {.name = "count", .kind = INTEGER, .offset = offsetof(quern_group_split__parameters, count), .bytes = sizeof((quern_group_split__parameters *)0)->count},
    {.name = "colours", .kind = MEMORY, .offset = offsetof(quern_group_split__parameters, colours), .bytes = sizeof((quern_group_split__parameters *)0)->colours, .is_const = 1, .is_host = 1, .extent = extent_of_quern_group_split__parameters__colours},
    {.name = "keys", .kind = MEMORY, .offset = offsetof(quern_group_split__parameters, keys), .bytes = sizeof((quern_group_split__parameters *)0)->keys, .is_const = 1, .is_host = 1, .extent = extent_of_quern_group_split__parameters__keys},
    {.name = "new_groups", .kind = MEMORY, .offset = offsetof(quern_group_split__parameters, new_groups), .bytes = sizeof((quern_group_split__parameters *)0)->new_groups, .extent = extent_of_quern_group_split__parameters__new_groups},
};
static const struct record record_of_quern_group_split__parameters = {"quern_group_split__parameters", sizeof(quern_group_split__parameters), fields_of_quern_group_split__parameters, 5};
DECLARE_EXTENT(quern_group_shrink__parameters, groups)
DECLARE_EXTENT(quern_group_shrink__parameters, new_groups)
static const struct field fields_of_quern_group_shrink__parameters[] = {
    {.name = "groups", .kind = HANDLES, .offset = offsetof(quern_group_shrink__parameters, groups), .bytes = sizeof((quern_group_shrink__parameters *)0)->groups, .is_const = 1, .handle = HANDLE_OF_quern_group, .extent = extent_of_quern_group_shrink__parameters__groups},
    {.name = "count", .kind = INTEGER, .offset = offsetof(quern_group_shrink__parameters, count), .bytes = sizeof((quern_group_shrink__parameters *)0)->count},
    {.name = "new_groups", .kind = MEMORY, .offset = offsetof(quern_group_shrink__parameters, new_groups), .bytes = sizeof((quern_group_shrink__parameters *)0)->new_groups, .extent = extent_of_quern_group_shrink__parameters__new_groups},
};
static const struct record record_of_quern_group_shrink__parameters = {"quern_group_shrink__parameters", sizeof(quern_group_shrink__parameters), fields_of_quern_group_shrink__parameters, 3};
static const struct field fields_of_quern_group_destroy__parameters[] = {
    {.name = "group", .kind = HANDLE, .offset = offsetof(quern_group_destroy__parameters, group), .bytes = sizeof((quern_group_destroy__parameters *)0)->group, .handle = HANDLE_OF_quern_group},
};
static const struct record record_of_quern_group_destroy__parameters = {"quern_group_destroy__parameters", sizeof(quern_group_destroy__parameters), fields_of_quern_group_destroy__parameters, 1};
static const struct field fields_of_quern_group_abort__parameters[] = {
    {.name = "group", .kind = HANDLE, .offset = offsetof(quern_group_abort__parameters, group), .bytes = sizeof((quern_group_abort__parameters *)0)->group, .handle = HANDLE_OF_quern_group},
    {.name = "reason", .kind = TEXT, .offset = offsetof(quern_group_abort__parameters, reason), .bytes = sizeof((quern_group_abort__parameters *)0)->reason, .is_const = 1},
};
static const struct record record_of_quern_group_abort__parameters = {"quern_group_abort__parameters", sizeof(quern_group_abort__parameters), fields_of_quern_group_abort__parameters, 2};
static const struct field fields_of_quern_group_status__parameters[] = {
    {.name = "group", .kind = HANDLE, .offset = offsetof(quern_group_status__parameters, group), .bytes = sizeof((quern_group_status__parameters *)0)->group, .handle = HANDLE_OF_quern_group},
};
static const struct record record_of_quern_group_status__parameters = {"quern_group_status__parameters", sizeof(quern_group_status__parameters), fields_of_quern_group_status__parameters, 1};
DECLARE_EXTENT(quern_group_missing__parameters, mask)
static const struct field fields_of_quern_group_missing__parameters[] = {
    {.name = "group", .kind = HANDLE, .offset = offsetof(quern_group_missing__parameters, group), .bytes = sizeof((quern_group_missing__parameters *)0)->group, .is_const = 1, .handle = HANDLE_OF_quern_group},
    {.name = "mask", .kind = MEMORY, .offset = offsetof(quern_group_missing__parameters, mask), .bytes = sizeof((quern_group_missing__parameters *)0)->mask, .extent = extent_of_quern_group_missing__parameters__mask},
    {.name = "words", .kind = INTEGER, .offset = offsetof(quern_group_missing__parameters, words), .bytes = sizeof((quern_group_missing__parameters *)0)->words},
};
static const struct record record_of_quern_group_missing__parameters = {"quern_group_missing__parameters", sizeof(quern_group_missing__parameters), fields_of_quern_group_missing__parameters, 3};
DECLARE_EXTENT(quern_group_report__parameters, buffer)
static const struct field fields_of_quern_group_report__parameters[] = {
    {.name = "group", .kind = HANDLE, .offset = offsetof(quern_group_report__parameters, group), .bytes = sizeof((quern_group_report__parameters *)0)->group, .is_const = 1, .handle = HANDLE_OF_quern_group},
    {.name = "buffer", .kind = MEMORY, .offset = offsetof(quern_group_report__parameters, buffer), .bytes = sizeof((quern_group_report__parameters *)0)->buffer, .extent = extent_of_quern_group_report__parameters__buffer},
    {.name = "bytes", .kind = INTEGER, .offset = offsetof(quern_group_report__parameters, bytes), .bytes = sizeof((quern_group_report__parameters *)0)->bytes},
};
static const struct record record_of_quern_group_report__parameters = {"quern_group_report__parameters", sizeof(quern_group_report__parameters), fields_of_quern_group_report__parameters, 3};
DECLARE_EXTENT(quern_barrier_args_init__parameters, args)
static const struct field fields_of_quern_barrier_args_init__parameters[] = {
    {.name = "args", .kind = MEMORY, .offset = offsetof(quern_barrier_args_init__parameters, args), .bytes = sizeof((quern_barrier_args_init__parameters *)0)->args, .extent = extent_of_quern_barrier_args_init__parameters__args},
};
static const struct record record_of_quern_barrier_args_init__parameters = {"quern_barrier_args_init__parameters", sizeof(quern_barrier_args_init__parameters), fields_of_quern_barrier_args_init__parameters, 1};
DECLARE_EXTENT(quern_barrier__parameters, args)
DECLARE_EXTENT(quern_barrier__parameters, stream)
static const struct field fields_of_quern_barrier__parameters[] = {
    {.name = "group", .kind = HANDLE, .offset = offsetof(quern_barrier__parameters, group), .bytes = sizeof((quern_barrier__parameters *)0)->group, .handle = HANDLE_OF_quern_group},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_barrier__parameters, args), .bytes = sizeof((quern_barrier__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_barrier_args, .extent = extent_of_quern_barrier__parameters__args},
    {.name = "stream", .kind = MEMORY, .offset = offsetof(quern_barrier__parameters, stream), .bytes = sizeof((quern_barrier__parameters *)0)->stream, .extent = extent_of_quern_barrier__parameters__stream},
};
static const struct record record_of_quern_barrier__parameters = {"quern_barrier__parameters", sizeof(quern_barrier__parameters), fields_of_quern_barrier__parameters, 3};
static const struct field fields_of_quern_barrier_bytes__parameters[] = {
    {.name = "ranks", .kind = INTEGER, .offset = offsetof(quern_barrier_bytes__parameters, ranks), .bytes = sizeof((quern_barrier_bytes__parameters *)0)->ranks},
};
static const struct record record_of_quern_barrier_bytes__parameters = {"quern_barrier_bytes__parameters", sizeof(quern_barrier_bytes__parameters), fields_of_quern_barrier_bytes__parameters, 1};
DECLARE_EXTENT(quern_symmetric_alloc__parameters, groups)
DECLARE_EXTENT(quern_symmetric_alloc__parameters, bytes)
DECLARE_EXTENT(quern_symmetric_alloc__parameters, pointers)
static const struct field fields_of_quern_symmetric_alloc__parameters[] = {
    {.name = "groups", .kind = HANDLES, .offset = offsetof(quern_symmetric_alloc__parameters, groups), .bytes = sizeof((quern_symmetric_alloc__parameters *)0)->groups, .is_const = 1, .handle = HANDLE_OF_quern_group, .extent = extent_of_quern_symmetric_alloc__parameters__groups},
    {.name = "count", .kind = INTEGER, .offset = offsetof(quern_symmetric_alloc__parameters, count), .bytes = sizeof((quern_symmetric_alloc__parameters *)0)->count},
    {.name = "bytes", .kind = MEMORY, .offset = offsetof(quern_symmetric_alloc__parameters, bytes), .bytes = sizeof((quern_symmetric_alloc__parameters *)0)->bytes, .is_const = 1, .extent = extent_of_quern_symmetric_alloc__parameters__bytes},
    {.name = "pointers", .kind = MEMORY, .offset = offsetof(quern_symmetric_alloc__parameters, pointers), .bytes = sizeof((quern_symmetric_alloc__parameters *)0)->pointers, .extent = extent_of_quern_symmetric_alloc__parameters__pointers},
};
static const struct record record_of_quern_symmetric_alloc__parameters = {"quern_symmetric_alloc__parameters", sizeof(quern_symmetric_alloc__parameters), fields_of_quern_symmetric_alloc__parameters, 4};
DECLARE_EXTENT(quern_symmetric_free__parameters, pointer)
DECLARE_EXTENT(quern_symmetric_free__parameters, stream)
static const struct field fields_of_quern_symmetric_free__parameters[] = {
    {.name = "group", .kind = HANDLE, .offset = offsetof(quern_symmetric_free__parameters, group), .bytes = sizeof((quern_symmetric_free__parameters *)0)->group, .handle = HANDLE_OF_quern_group},
    {.name = "pointer", .kind = MEMORY, .offset = offsetof(quern_symmetric_free__parameters, pointer), .bytes = sizeof((quern_symmetric_free__parameters *)0)->pointer, .extent = extent_of_quern_symmetric_free__parameters__pointer},
    {.name = "stream", .kind = MEMORY, .offset = offsetof(quern_symmetric_free__parameters, stream), .bytes = sizeof((quern_symmetric_free__parameters *)0)->stream, .extent = extent_of_quern_symmetric_free__parameters__stream},
};
static const struct record record_of_quern_symmetric_free__parameters = {"quern_symmetric_free__parameters", sizeof(quern_symmetric_free__parameters), fields_of_quern_symmetric_free__parameters, 3};
DECLARE_EXTENT(quern_symmetric_register__parameters, groups)
DECLARE_EXTENT(quern_symmetric_register__parameters, pointers)
DECLARE_EXTENT(quern_symmetric_register__parameters, bytes)
static const struct field fields_of_quern_symmetric_register__parameters[] = {
    {.name = "groups", .kind = HANDLES, .offset = offsetof(quern_symmetric_register__parameters, groups), .bytes = sizeof((quern_symmetric_register__parameters *)0)->groups, .is_const = 1, .handle = HANDLE_OF_quern_group, .extent = extent_of_quern_symmetric_register__parameters__groups},
    {.name = "count", .kind = INTEGER, .offset = offsetof(quern_symmetric_register__parameters, count), .bytes = sizeof((quern_symmetric_register__parameters *)0)->count},
    {.name = "pointers", .kind = MEMORY, .offset = offsetof(quern_symmetric_register__parameters, pointers), .bytes = sizeof((quern_symmetric_register__parameters *)0)->pointers, .is_const = 1, .extent = extent_of_quern_symmetric_register__parameters__pointers},
    {.name = "bytes", .kind = MEMORY, .offset = offsetof(quern_symmetric_register__parameters, bytes), .bytes = sizeof((quern_symmetric_register__parameters *)0)->bytes, .is_const = 1, .extent = extent_of_quern_symmetric_register__parameters__bytes},
};
static const struct record record_of_quern_symmetric_register__parameters = {"quern_symmetric_register__parameters", sizeof(quern_symmetric_register__parameters), fields_of_quern_symmetric_register__parameters, 4};
DECLARE_EXTENT(quern_symmetric_unregister__parameters, pointer)
DECLARE_EXTENT(quern_symmetric_unregister__parameters, stream)
static const struct field fields_of_quern_symmetric_unregister__parameters[] = {
    {.name = "group", .kind = HANDLE, .offset = offsetof(quern_symmetric_unregister__parameters, group), .bytes = sizeof((quern_symmetric_unregister__parameters *)0)->group, .handle = HANDLE_OF_quern_group},
    {.name = "pointer", .kind = MEMORY, .offset = offsetof(quern_symmetric_unregister__parameters, pointer), .bytes = sizeof((quern_symmetric_unregister__parameters *)0)->pointer, .extent = extent_of_quern_symmetric_unregister__parameters__pointer},
    {.name = "stream", .kind = MEMORY, .offset = offsetof(quern_symmetric_unregister__parameters, stream), .bytes = sizeof((quern_symmetric_unregister__parameters *)0)->stream, .extent = extent_of_quern_symmetric_unregister__parameters__stream},
};
static const struct record record_of_quern_symmetric_unregister__parameters = {"quern_symmetric_unregister__parameters", sizeof(quern_symmetric_unregister__parameters), fields_of_quern_symmetric_unregister__parameters, 3};
DECLARE_EXTENT(quern_symmetric_peer__parameters, pointer)
DECLARE_EXTENT(quern_symmetric_peer__parameters, peer)
static const struct field fields_of_quern_symmetric_peer__parameters[] = {
    {.name = "group", .kind = HANDLE, .offset = offsetof(quern_symmetric_peer__parameters, group), .bytes = sizeof((quern_symmetric_peer__parameters *)0)->group, .handle = HANDLE_OF_quern_group},
    {.name = "pointer", .kind = MEMORY, .offset = offsetof(quern_symmetric_peer__parameters, pointer), .bytes = sizeof((quern_symmetric_peer__parameters *)0)->pointer, .is_const = 1, .extent = extent_of_quern_symmetric_peer__parameters__pointer},
    {.name = "rank", .kind = INTEGER, .offset = offsetof(quern_symmetric_peer__parameters, rank), .bytes = sizeof((quern_symmetric_peer__parameters *)0)->rank},
    {.name = "peer", .kind = MEMORY, .offset = offsetof(quern_symmetric_peer__parameters, peer), .bytes = sizeof((quern_symmetric_peer__parameters *)0)->peer, .extent = extent_of_quern_symmetric_peer__parameters__peer},
};
static const struct record record_of_quern_symmetric_peer__parameters = {"quern_symmetric_peer__parameters", sizeof(quern_symmetric_peer__parameters), fields_of_quern_symmetric_peer__parameters, 4};
DECLARE_EXTENT(quern_symmetric_multicast__parameters, pointer)
DECLARE_EXTENT(quern_symmetric_multicast__parameters, multicast)
static const struct field fields_of_quern_symmetric_multicast__parameters[] = {
    {.name = "group", .kind = HANDLE, .offset = offsetof(quern_symmetric_multicast__parameters, group), .bytes = sizeof((quern_symmetric_multicast__parameters *)0)->group, .handle = HANDLE_OF_quern_group},
    {.name = "pointer", .kind = MEMORY, .offset = offsetof(quern_symmetric_multicast__parameters, pointer), .bytes = sizeof((quern_symmetric_multicast__parameters *)0)->pointer, .is_const = 1, .extent = extent_of_quern_symmetric_multicast__parameters__pointer},
    {.name = "multicast", .kind = MEMORY, .offset = offsetof(quern_symmetric_multicast__parameters, multicast), .bytes = sizeof((quern_symmetric_multicast__parameters *)0)->multicast, .extent = extent_of_quern_symmetric_multicast__parameters__multicast},
};
static const struct record record_of_quern_symmetric_multicast__parameters = {"quern_symmetric_multicast__parameters", sizeof(quern_symmetric_multicast__parameters), fields_of_quern_symmetric_multicast__parameters, 3};
DECLARE_EXTENT(quern_ragged_all_to_all_args_init__parameters, args)
static const struct field fields_of_quern_ragged_all_to_all_args_init__parameters[] = {
    {.name = "args", .kind = MEMORY, .offset = offsetof(quern_ragged_all_to_all_args_init__parameters, args), .bytes = sizeof((quern_ragged_all_to_all_args_init__parameters *)0)->args, .extent = extent_of_quern_ragged_all_to_all_args_init__parameters__args},
};
static const struct record record_of_quern_ragged_all_to_all_args_init__parameters = {"quern_ragged_all_to_all_args_init__parameters", sizeof(quern_ragged_all_to_all_args_init__parameters), fields_of_quern_ragged_all_to_all_args_init__parameters, 1};
DECLARE_EXTENT(quern_ragged_all_to_all_workspace__parameters, args)
DECLARE_EXTENT(quern_ragged_all_to_all_workspace__parameters, bytes)
static const struct field fields_of_quern_ragged_all_to_all_workspace__parameters[] = {
    {.name = "group", .kind = HANDLE, .offset = offsetof(quern_ragged_all_to_all_workspace__parameters, group), .bytes = sizeof((quern_ragged_all_to_all_workspace__parameters *)0)->group, .handle = HANDLE_OF_quern_group},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_ragged_all_to_all_workspace__parameters, args), .bytes = sizeof((quern_ragged_all_to_all_workspace__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_ragged_all_to_all_args, .extent = extent_of_quern_ragged_all_to_all_workspace__parameters__args},
    {.name = "bytes", .kind = MEMORY, .offset = offsetof(quern_ragged_all_to_all_workspace__parameters, bytes), .bytes = sizeof((quern_ragged_all_to_all_workspace__parameters *)0)->bytes, .extent = extent_of_quern_ragged_all_to_all_workspace__parameters__bytes},
};
static const struct record record_of_quern_ragged_all_to_all_workspace__parameters = {"quern_ragged_all_to_all_workspace__parameters", sizeof(quern_ragged_all_to_all_workspace__parameters), fields_of_quern_ragged_all_to_all_workspace__parameters, 3};
DECLARE_EXTENT(quern_ragged_all_to_all__parameters, args)
DECLARE_EXTENT(quern_ragged_all_to_all__parameters, workspace)
DECLARE_EXTENT(quern_ragged_all_to_all__parameters, stream)
static const struct field fields_of_quern_ragged_all_to_all__parameters[] = {
    {.name = "group", .kind = HANDLE, .offset = offsetof(quern_ragged_all_to_all__parameters, group), .bytes = sizeof((quern_ragged_all_to_all__parameters *)0)->group, .handle = HANDLE_OF_quern_group},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_ragged_all_to_all__parameters, args), .bytes = sizeof((quern_ragged_all_to_all__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_ragged_all_to_all_args, .extent = extent_of_quern_ragged_all_to_all__parameters__args},
    {.name = "workspace", .kind = MEMORY, .offset = offsetof(quern_ragged_all_to_all__parameters, workspace), .bytes = sizeof((quern_ragged_all_to_all__parameters *)0)->workspace, .extent = extent_of_quern_ragged_all_to_all__parameters__workspace},
    {.name = "workspace_bytes", .kind = INTEGER, .offset = offsetof(quern_ragged_all_to_all__parameters, workspace_bytes), .bytes = sizeof((quern_ragged_all_to_all__parameters *)0)->workspace_bytes},
    {.name = "stream", .kind = MEMORY, .offset = offsetof(quern_ragged_all_to_all__parameters, stream), .bytes = sizeof((quern_ragged_all_to_all__parameters *)0)->stream, .extent = extent_of_quern_ragged_all_to_all__parameters__stream},
};
static const struct record record_of_quern_ragged_all_to_all__parameters = {"quern_ragged_all_to_all__parameters", sizeof(quern_ragged_all_to_all__parameters), fields_of_quern_ragged_all_to_all__parameters, 5};
DECLARE_EXTENT(quern_ragged_plan_create__parameters, groups)
DECLARE_EXTENT(quern_ragged_plan_create__parameters, args)
DECLARE_EXTENT(quern_ragged_plan_create__parameters, workspaces)
DECLARE_EXTENT(quern_ragged_plan_create__parameters, workspace_bytes)
DECLARE_EXTENT(quern_ragged_plan_create__parameters, plans)
static const struct field fields_of_quern_ragged_plan_create__parameters[] = {
    {.name = "groups", .kind = HANDLES, .offset = offsetof(quern_ragged_plan_create__parameters, groups), .bytes = sizeof((quern_ragged_plan_create__parameters *)0)->groups, .is_const = 1, .handle = HANDLE_OF_quern_group, .extent = extent_of_quern_ragged_plan_create__parameters__groups},
    {.name = "count", .kind = INTEGER, .offset = offsetof(quern_ragged_plan_create__parameters, count), .bytes = sizeof((quern_ragged_plan_create__parameters *)0)->count},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_ragged_plan_create__parameters, args), .bytes = sizeof((quern_ragged_plan_create__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_ragged_all_to_all_args, .extent = extent_of_quern_ragged_plan_create__parameters__args},
    {.name = "workspaces", .kind = MEMORY, .offset = offsetof(quern_ragged_plan_create__parameters, workspaces), .bytes = sizeof((quern_ragged_plan_create__parameters *)0)->workspaces, .is_const = 1, .extent = extent_of_quern_ragged_plan_create__parameters__workspaces},
    {.name = "workspace_bytes", .kind = MEMORY, .offset = offsetof(quern_ragged_plan_create__parameters, workspace_bytes), .bytes = sizeof((quern_ragged_plan_create__parameters *)0)->workspace_bytes, .is_const = 1, .extent = extent_of_quern_ragged_plan_create__parameters__workspace_bytes},
    {.name = "plans", .kind = MEMORY, .offset = offsetof(quern_ragged_plan_create__parameters, plans), .bytes = sizeof((quern_ragged_plan_create__parameters *)0)->plans, .extent = extent_of_quern_ragged_plan_create__parameters__plans},
};
static const struct record record_of_quern_ragged_plan_create__parameters = {"quern_ragged_plan_create__parameters", sizeof(quern_ragged_plan_create__parameters), fields_of_quern_ragged_plan_create__parameters, 6};
DECLARE_EXTENT(quern_ragged_plan_run__parameters, stream)
static const struct field fields_of_quern_ragged_plan_run__parameters[] = {
    {.name = "plan", .kind = HANDLE, .offset = offsetof(quern_ragged_plan_run__parameters, plan), .bytes = sizeof((quern_ragged_plan_run__parameters *)0)->plan, .handle = HANDLE_OF_quern_ragged_plan},
    {.name = "stream", .kind = MEMORY, .offset = offsetof(quern_ragged_plan_run__parameters, stream), .bytes = sizeof((quern_ragged_plan_run__parameters *)0)->stream, .extent = extent_of_quern_ragged_plan_run__parameters__stream},
};
static const struct record record_of_quern_ragged_plan_run__parameters = {"quern_ragged_plan_run__parameters", sizeof(quern_ragged_plan_run__parameters), fields_of_quern_ragged_plan_run__parameters, 2};
static const struct field fields_of_quern_ragged_plan_destroy__parameters[] = {
    {.name = "plan", .kind = HANDLE, .offset = offsetof(quern_ragged_plan_destroy__parameters, plan), .bytes = sizeof((quern_ragged_plan_destroy__parameters *)0)->plan, .handle = HANDLE_OF_quern_ragged_plan},
};
static const struct record record_of_quern_ragged_plan_destroy__parameters = {"quern_ragged_plan_destroy__parameters", sizeof(quern_ragged_plan_destroy__parameters), fields_of_quern_ragged_plan_destroy__parameters, 1};
DECLARE_EXTENT(quern_ragged_sizes_args_init__parameters, args)
static const struct field fields_of_quern_ragged_sizes_args_init__parameters[] = {
    {.name = "args", .kind = MEMORY, .offset = offsetof(quern_ragged_sizes_args_init__parameters, args), .bytes = sizeof((quern_ragged_sizes_args_init__parameters *)0)->args, .extent = extent_of_quern_ragged_sizes_args_init__parameters__args},
};
static const struct record record_of_quern_ragged_sizes_args_init__parameters = {"quern_ragged_sizes_args_init__parameters", sizeof(quern_ragged_sizes_args_init__parameters), fields_of_quern_ragged_sizes_args_init__parameters, 1};
DECLARE_EXTENT(quern_ragged_sizes__parameters, groups)
DECLARE_EXTENT(quern_ragged_sizes__parameters, args)
static const struct field fields_of_quern_ragged_sizes__parameters[] = {
    {.name = "groups", .kind = HANDLES, .offset = offsetof(quern_ragged_sizes__parameters, groups), .bytes = sizeof((quern_ragged_sizes__parameters *)0)->groups, .is_const = 1, .handle = HANDLE_OF_quern_group, .extent = extent_of_quern_ragged_sizes__parameters__groups},
    {.name = "count", .kind = INTEGER, .offset = offsetof(quern_ragged_sizes__parameters, count), .bytes = sizeof((quern_ragged_sizes__parameters *)0)->count},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_ragged_sizes__parameters, args), .bytes = sizeof((quern_ragged_sizes__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_ragged_sizes_args, .extent = extent_of_quern_ragged_sizes__parameters__args},
};
static const struct record record_of_quern_ragged_sizes__parameters = {"quern_ragged_sizes__parameters", sizeof(quern_ragged_sizes__parameters), fields_of_quern_ragged_sizes__parameters, 3};
DECLARE_EXTENT(quern_collective_args_init__parameters, args)
static const struct field fields_of_quern_collective_args_init__parameters[] = {
    {.name = "args", .kind = MEMORY, .offset = offsetof(quern_collective_args_init__parameters, args), .bytes = sizeof((quern_collective_args_init__parameters *)0)->args, .extent = extent_of_quern_collective_args_init__parameters__args},
};
static const struct record record_of_quern_collective_args_init__parameters = {"quern_collective_args_init__parameters", sizeof(quern_collective_args_init__parameters), fields_of_quern_collective_args_init__parameters, 1};
DECLARE_EXTENT(quern_collective_workspace__parameters, args)
DECLARE_EXTENT(quern_collective_workspace__parameters, bytes)
static const struct field fields_of_quern_collective_workspace__parameters[] = {
    {.name = "group", .kind = HANDLE, .offset = offsetof(quern_collective_workspace__parameters, group), .bytes = sizeof((quern_collective_workspace__parameters *)0)->group, .handle = HANDLE_OF_quern_group},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_collective_workspace__parameters, args), .bytes = sizeof((quern_collective_workspace__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_collective_args, .extent = extent_of_quern_collective_workspace__parameters__args},
    {.name = "bytes", .kind = MEMORY, .offset = offsetof(quern_collective_workspace__parameters, bytes), .bytes = sizeof((quern_collective_workspace__parameters *)0)->bytes, .extent = extent_of_quern_collective_workspace__parameters__bytes},
};
static const struct record record_of_quern_collective_workspace__parameters = {"quern_collective_workspace__parameters", sizeof(quern_collective_workspace__parameters), fields_of_quern_collective_workspace__parameters, 3};
DECLARE_EXTENT(quern_all_gather__parameters, args)
DECLARE_EXTENT(quern_all_gather__parameters, workspace)
DECLARE_EXTENT(quern_all_gather__parameters, stream)
static const struct field fields_of_quern_all_gather__parameters[] = {
    {.name = "group", .kind = HANDLE, .offset = offsetof(quern_all_gather__parameters, group), .bytes = sizeof((quern_all_gather__parameters *)0)->group, .handle = HANDLE_OF_quern_group},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_all_gather__parameters, args), .bytes = sizeof((quern_all_gather__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_collective_args, .extent = extent_of_quern_all_gather__parameters__args},
    {.name = "workspace", .kind = MEMORY, .offset = offsetof(quern_all_gather__parameters, workspace), .bytes = sizeof((quern_all_gather__parameters *)0)->workspace, .extent = extent_of_quern_all_gather__parameters__workspace},
    {.name = "workspace_bytes", .kind = INTEGER, .offset = offsetof(quern_all_gather__parameters, workspace_bytes), .bytes = sizeof((quern_all_gather__parameters *)0)->workspace_bytes},
    {.name = "stream", .kind = MEMORY, .offset = offsetof(quern_all_gather__parameters, stream), .bytes = sizeof((quern_all_gather__parameters *)0)->stream, .extent = extent_of_quern_all_gather__parameters__stream},
};
static const struct record record_of_quern_all_gather__parameters = {"quern_all_gather__parameters", sizeof(quern_all_gather__parameters), fields_of_quern_all_gather__parameters, 5};
DECLARE_EXTENT(quern_reduce_scatter__parameters, args)
DECLARE_EXTENT(quern_reduce_scatter__parameters, workspace)
DECLARE_EXTENT(quern_reduce_scatter__parameters, stream)
static const struct field fields_of_quern_reduce_scatter__parameters[] = {
    {.name = "group", .kind = HANDLE, .offset = offsetof(quern_reduce_scatter__parameters, group), .bytes = sizeof((quern_reduce_scatter__parameters *)0)->group, .handle = HANDLE_OF_quern_group},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_reduce_scatter__parameters, args), .bytes = sizeof((quern_reduce_scatter__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_collective_args, .extent = extent_of_quern_reduce_scatter__parameters__args},
    {.name = "workspace", .kind = MEMORY, .offset = offsetof(quern_reduce_scatter__parameters, workspace), .bytes = sizeof((quern_reduce_scatter__parameters *)0)->workspace, .extent = extent_of_quern_reduce_scatter__parameters__workspace},
    {.name = "workspace_bytes", .kind = INTEGER, .offset = offsetof(quern_reduce_scatter__parameters, workspace_bytes), .bytes = sizeof((quern_reduce_scatter__parameters *)0)->workspace_bytes},
    {.name = "stream", .kind = MEMORY, .offset = offsetof(quern_reduce_scatter__parameters, stream), .bytes = sizeof((quern_reduce_scatter__parameters *)0)->stream, .extent = extent_of_quern_reduce_scatter__parameters__stream},
};
static const struct record record_of_quern_reduce_scatter__parameters = {"quern_reduce_scatter__parameters", sizeof(quern_reduce_scatter__parameters), fields_of_quern_reduce_scatter__parameters, 5};
DECLARE_EXTENT(quern_all_reduce__parameters, args)
DECLARE_EXTENT(quern_all_reduce__parameters, workspace)
DECLARE_EXTENT(quern_all_reduce__parameters, stream)
static const struct field fields_of_quern_all_reduce__parameters[] = {
    {.name = "group", .kind = HANDLE, .offset = offsetof(quern_all_reduce__parameters, group), .bytes = sizeof((quern_all_reduce__parameters *)0)->group, .handle = HANDLE_OF_quern_group},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_all_reduce__parameters, args), .bytes = sizeof((quern_all_reduce__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_collective_args, .extent = extent_of_quern_all_reduce__parameters__args},
    {.name = "workspace", .kind = MEMORY, .offset = offsetof(quern_all_reduce__parameters, workspace), .bytes = sizeof((quern_all_reduce__parameters *)0)->workspace, .extent = extent_of_quern_all_reduce__parameters__workspace},
    {.name = "workspace_bytes", .kind = INTEGER, .offset = offsetof(quern_all_reduce__parameters, workspace_bytes), .bytes = sizeof((quern_all_reduce__parameters *)0)->workspace_bytes},
    {.name = "stream", .kind = MEMORY, .offset = offsetof(quern_all_reduce__parameters, stream), .bytes = sizeof((quern_all_reduce__parameters *)0)->stream, .extent = extent_of_quern_all_reduce__parameters__stream},
};
static const struct record record_of_quern_all_reduce__parameters = {"quern_all_reduce__parameters", sizeof(quern_all_reduce__parameters), fields_of_quern_all_reduce__parameters, 5};
DECLARE_EXTENT(quern_broadcast__parameters, args)
DECLARE_EXTENT(quern_broadcast__parameters, workspace)
DECLARE_EXTENT(quern_broadcast__parameters, stream)
static const struct field fields_of_quern_broadcast__parameters[] = {
    {.name = "group", .kind = HANDLE, .offset = offsetof(quern_broadcast__parameters, group), .bytes = sizeof((quern_broadcast__parameters *)0)->group, .handle = HANDLE_OF_quern_group},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_broadcast__parameters, args), .bytes = sizeof((quern_broadcast__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_collective_args, .extent = extent_of_quern_broadcast__parameters__args},
    {.name = "workspace", .kind = MEMORY, .offset = offsetof(quern_broadcast__parameters, workspace), .bytes = sizeof((quern_broadcast__parameters *)0)->workspace, .extent = extent_of_quern_broadcast__parameters__workspace},
    {.name = "workspace_bytes", .kind = INTEGER, .offset = offsetof(quern_broadcast__parameters, workspace_bytes), .bytes = sizeof((quern_broadcast__parameters *)0)->workspace_bytes},
    {.name = "stream", .kind = MEMORY, .offset = offsetof(quern_broadcast__parameters, stream), .bytes = sizeof((quern_broadcast__parameters *)0)->stream, .extent = extent_of_quern_broadcast__parameters__stream},
};
static const struct record record_of_quern_broadcast__parameters = {"quern_broadcast__parameters", sizeof(quern_broadcast__parameters), fields_of_quern_broadcast__parameters, 5};
DECLARE_EXTENT(quern_group_gather_args_init__parameters, args)
static const struct field fields_of_quern_group_gather_args_init__parameters[] = {
    {.name = "args", .kind = MEMORY, .offset = offsetof(quern_group_gather_args_init__parameters, args), .bytes = sizeof((quern_group_gather_args_init__parameters *)0)->args, .extent = extent_of_quern_group_gather_args_init__parameters__args},
};
static const struct record record_of_quern_group_gather_args_init__parameters = {"quern_group_gather_args_init__parameters", sizeof(quern_group_gather_args_init__parameters), fields_of_quern_group_gather_args_init__parameters, 1};
DECLARE_EXTENT(quern_group_gather__parameters, args)
DECLARE_EXTENT(quern_group_gather__parameters, mine)
DECLARE_EXTENT(quern_group_gather__parameters, all)
DECLARE_EXTENT(quern_group_gather__parameters, stream)
static const struct field fields_of_quern_group_gather__parameters[] = {
    {.name = "args", .kind = MEMORY, .offset = offsetof(quern_group_gather__parameters, args), .bytes = sizeof((quern_group_gather__parameters *)0)->args, .extent = extent_of_quern_group_gather__parameters__args},
    {.name = "mine", .kind = MEMORY, .offset = offsetof(quern_group_gather__parameters, mine), .bytes = sizeof((quern_group_gather__parameters *)0)->mine, .is_const = 1, .extent = extent_of_quern_group_gather__parameters__mine},
    {.name = "all", .kind = MEMORY, .offset = offsetof(quern_group_gather__parameters, all), .bytes = sizeof((quern_group_gather__parameters *)0)->all, .extent = extent_of_quern_group_gather__parameters__all},
    {.name = "bytes", .kind = INTEGER, .offset = offsetof(quern_group_gather__parameters, bytes), .bytes = sizeof((quern_group_gather__parameters *)0)->bytes},
    {.name = "stream", .kind = MEMORY, .offset = offsetof(quern_group_gather__parameters, stream), .bytes = sizeof((quern_group_gather__parameters *)0)->stream, .extent = extent_of_quern_group_gather__parameters__stream},
};
static const struct record record_of_quern_group_gather__parameters = {"quern_group_gather__parameters", sizeof(quern_group_gather__parameters), fields_of_quern_group_gather__parameters, 5};
DECLARE_EXTENT(quern_quantize_chunks_args_init__parameters, args)
static const struct field fields_of_quern_quantize_chunks_args_init__parameters[] = {
    {.name = "args", .kind = MEMORY, .offset = offsetof(quern_quantize_chunks_args_init__parameters, args), .bytes = sizeof((quern_quantize_chunks_args_init__parameters *)0)->args, .extent = extent_of_quern_quantize_chunks_args_init__parameters__args},
};
static const struct record record_of_quern_quantize_chunks_args_init__parameters = {"quern_quantize_chunks_args_init__parameters", sizeof(quern_quantize_chunks_args_init__parameters), fields_of_quern_quantize_chunks_args_init__parameters, 1};
DECLARE_EXTENT(quern_quantize_chunks_workspace__parameters, args)
DECLARE_EXTENT(quern_quantize_chunks_workspace__parameters, bytes)
static const struct field fields_of_quern_quantize_chunks_workspace__parameters[] = {
    {.name = "group", .kind = HANDLE, .offset = offsetof(quern_quantize_chunks_workspace__parameters, group), .bytes = sizeof((quern_quantize_chunks_workspace__parameters *)0)->group, .handle = HANDLE_OF_quern_group},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_quantize_chunks_workspace__parameters, args), .bytes = sizeof((quern_quantize_chunks_workspace__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_quantize_chunks_args, .extent = extent_of_quern_quantize_chunks_workspace__parameters__args},
    {.name = "bytes", .kind = MEMORY, .offset = offsetof(quern_quantize_chunks_workspace__parameters, bytes), .bytes = sizeof((quern_quantize_chunks_workspace__parameters *)0)->bytes, .extent = extent_of_quern_quantize_chunks_workspace__parameters__bytes},
};
static const struct record record_of_quern_quantize_chunks_workspace__parameters = {"quern_quantize_chunks_workspace__parameters", sizeof(quern_quantize_chunks_workspace__parameters), fields_of_quern_quantize_chunks_workspace__parameters, 3};
DECLARE_EXTENT(quern_quantize_chunks__parameters, args)
DECLARE_EXTENT(quern_quantize_chunks__parameters, workspace)
DECLARE_EXTENT(quern_quantize_chunks__parameters, stream)
static const struct field fields_of_quern_quantize_chunks__parameters[] = {
    {.name = "group", .kind = HANDLE, .offset = offsetof(quern_quantize_chunks__parameters, group), .bytes = sizeof((quern_quantize_chunks__parameters *)0)->group, .handle = HANDLE_OF_quern_group},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_quantize_chunks__parameters, args), .bytes = sizeof((quern_quantize_chunks__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_quantize_chunks_args, .extent = extent_of_quern_quantize_chunks__parameters__args},
    {.name = "workspace", .kind = MEMORY, .offset = offsetof(quern_quantize_chunks__parameters, workspace), .bytes = sizeof((quern_quantize_chunks__parameters *)0)->workspace, .extent = extent_of_quern_quantize_chunks__parameters__workspace},
    {.name = "workspace_bytes", .kind = INTEGER, .offset = offsetof(quern_quantize_chunks__parameters, workspace_bytes), .bytes = sizeof((quern_quantize_chunks__parameters *)0)->workspace_bytes},
    {.name = "stream", .kind = MEMORY, .offset = offsetof(quern_quantize_chunks__parameters, stream), .bytes = sizeof((quern_quantize_chunks__parameters *)0)->stream, .extent = extent_of_quern_quantize_chunks__parameters__stream},
};
static const struct record record_of_quern_quantize_chunks__parameters = {"quern_quantize_chunks__parameters", sizeof(quern_quantize_chunks__parameters), fields_of_quern_quantize_chunks__parameters, 5};
DECLARE_EXTENT(quern_chunk_wait__parameters, ready)
DECLARE_EXTENT(quern_chunk_wait__parameters, stream)
static const struct field fields_of_quern_chunk_wait__parameters[] = {
    {.name = "group", .kind = HANDLE, .offset = offsetof(quern_chunk_wait__parameters, group), .bytes = sizeof((quern_chunk_wait__parameters *)0)->group, .handle = HANDLE_OF_quern_group},
    {.name = "ready", .kind = MEMORY, .offset = offsetof(quern_chunk_wait__parameters, ready), .bytes = sizeof((quern_chunk_wait__parameters *)0)->ready, .is_const = 1, .extent = extent_of_quern_chunk_wait__parameters__ready},
    {.name = "count", .kind = INTEGER, .offset = offsetof(quern_chunk_wait__parameters, count), .bytes = sizeof((quern_chunk_wait__parameters *)0)->count},
    {.name = "value", .kind = INTEGER, .offset = offsetof(quern_chunk_wait__parameters, value), .bytes = sizeof((quern_chunk_wait__parameters *)0)->value},
    {.name = "timeout", .kind = REAL, .offset = offsetof(quern_chunk_wait__parameters, timeout), .bytes = sizeof((quern_chunk_wait__parameters *)0)->timeout},
    {.name = "stream", .kind = MEMORY, .offset = offsetof(quern_chunk_wait__parameters, stream), .bytes = sizeof((quern_chunk_wait__parameters *)0)->stream, .extent = extent_of_quern_chunk_wait__parameters__stream},
};
static const struct record record_of_quern_chunk_wait__parameters = {"quern_chunk_wait__parameters", sizeof(quern_chunk_wait__parameters), fields_of_quern_chunk_wait__parameters, 6};
DECLARE_EXTENT(quern_device_view_init__parameters, view)
static const struct field fields_of_quern_device_view_init__parameters[] = {
    {.name = "view", .kind = MEMORY, .offset = offsetof(quern_device_view_init__parameters, view), .bytes = sizeof((quern_device_view_init__parameters *)0)->view, .extent = extent_of_quern_device_view_init__parameters__view},
};
static const struct record record_of_quern_device_view_init__parameters = {"quern_device_view_init__parameters", sizeof(quern_device_view_init__parameters), fields_of_quern_device_view_init__parameters, 1};
DECLARE_EXTENT(quern_symmetric_view__parameters, pointer)
DECLARE_EXTENT(quern_symmetric_view__parameters, view)
static const struct field fields_of_quern_symmetric_view__parameters[] = {
    {.name = "group", .kind = HANDLE, .offset = offsetof(quern_symmetric_view__parameters, group), .bytes = sizeof((quern_symmetric_view__parameters *)0)->group, .handle = HANDLE_OF_quern_group},
    {.name = "pointer", .kind = MEMORY, .offset = offsetof(quern_symmetric_view__parameters, pointer), .bytes = sizeof((quern_symmetric_view__parameters *)0)->pointer, .is_const = 1, .extent = extent_of_quern_symmetric_view__parameters__pointer},
    {.name = "view", .kind = STRUCTS, .offset = offsetof(quern_symmetric_view__parameters, view), .bytes = sizeof((quern_symmetric_view__parameters *)0)->view, .record = &record_of_quern_device_view, .extent = extent_of_quern_symmetric_view__parameters__view},
};
static const struct record record_of_quern_symmetric_view__parameters = {"quern_symmetric_view__parameters", sizeof(quern_symmetric_view__parameters), fields_of_quern_symmetric_view__parameters, 3};
DECLARE_EXTENT(quern_transfer_args_init__parameters, args)
static const struct field fields_of_quern_transfer_args_init__parameters[] = {
    {.name = "args", .kind = MEMORY, .offset = offsetof(quern_transfer_args_init__parameters, args), .bytes = sizeof((quern_transfer_args_init__parameters *)0)->args, .extent = extent_of_quern_transfer_args_init__parameters__args},
};
static const struct record record_of_quern_transfer_args_init__parameters = {"quern_transfer_args_init__parameters", sizeof(quern_transfer_args_init__parameters), fields_of_quern_transfer_args_init__parameters, 1};
DECLARE_EXTENT(quern_transfer_prepare__parameters, args)
DECLARE_EXTENT(quern_transfer_prepare__parameters, transfer)
static const struct field fields_of_quern_transfer_prepare__parameters[] = {
    {.name = "group", .kind = HANDLE, .offset = offsetof(quern_transfer_prepare__parameters, group), .bytes = sizeof((quern_transfer_prepare__parameters *)0)->group, .handle = HANDLE_OF_quern_group},
    {.name = "args", .kind = STRUCTS, .offset = offsetof(quern_transfer_prepare__parameters, args), .bytes = sizeof((quern_transfer_prepare__parameters *)0)->args, .is_const = 1, .record = &record_of_quern_transfer_args, .extent = extent_of_quern_transfer_prepare__parameters__args},
    {.name = "transfer", .kind = MEMORY, .offset = offsetof(quern_transfer_prepare__parameters, transfer), .bytes = sizeof((quern_transfer_prepare__parameters *)0)->transfer, .extent = extent_of_quern_transfer_prepare__parameters__transfer},
};
static const struct record record_of_quern_transfer_prepare__parameters = {"quern_transfer_prepare__parameters", sizeof(quern_transfer_prepare__parameters), fields_of_quern_transfer_prepare__parameters, 3};
DECLARE_EXTENT(quern_transfer_start__parameters, stream)
static const struct field fields_of_quern_transfer_start__parameters[] = {
    {.name = "transfer", .kind = HANDLE, .offset = offsetof(quern_transfer_start__parameters, transfer), .bytes = sizeof((quern_transfer_start__parameters *)0)->transfer, .handle = HANDLE_OF_quern_transfer},
    {.name = "stream", .kind = MEMORY, .offset = offsetof(quern_transfer_start__parameters, stream), .bytes = sizeof((quern_transfer_start__parameters *)0)->stream, .extent = extent_of_quern_transfer_start__parameters__stream},
};
static const struct record record_of_quern_transfer_start__parameters = {"quern_transfer_start__parameters", sizeof(quern_transfer_start__parameters), fields_of_quern_transfer_start__parameters, 2};
DECLARE_EXTENT(quern_transfer_test__parameters, done)
static const struct field fields_of_quern_transfer_test__parameters[] = {
    {.name = "transfer", .kind = HANDLE, .offset = offsetof(quern_transfer_test__parameters, transfer), .bytes = sizeof((quern_transfer_test__parameters *)0)->transfer, .handle = HANDLE_OF_quern_transfer},
    {.name = "done", .kind = MEMORY, .offset = offsetof(quern_transfer_test__parameters, done), .bytes = sizeof((quern_transfer_test__parameters *)0)->done, .extent = extent_of_quern_transfer_test__parameters__done},
};
static const struct record record_of_quern_transfer_test__parameters = {"quern_transfer_test__parameters", sizeof(quern_transfer_test__parameters), fields_of_quern_transfer_test__parameters, 2};
static const struct field fields_of_quern_transfer_wait__parameters[] = {
    {.name = "transfer", .kind = HANDLE, .offset = offsetof(quern_transfer_wait__parameters, transfer), .bytes = sizeof((quern_transfer_wait__parameters *)0)->transfer, .handle = HANDLE_OF_quern_transfer},
    {.name = "timeout", .kind = REAL, .offset = offsetof(quern_transfer_wait__parameters, timeout), .bytes = sizeof((quern_transfer_wait__parameters *)0)->timeout},
};
static const struct record record_of_quern_transfer_wait__parameters = {"quern_transfer_wait__parameters", sizeof(quern_transfer_wait__parameters), fields_of_quern_transfer_wait__parameters, 2};
DECLARE_EXTENT(quern_transfer_wait_on__parameters, stream)
DECLARE_EXTENT(quern_transfer_wait_on__parameters, status)
static const struct field fields_of_quern_transfer_wait_on__parameters[] = {
    {.name = "transfer", .kind = HANDLE, .offset = offsetof(quern_transfer_wait_on__parameters, transfer), .bytes = sizeof((quern_transfer_wait_on__parameters *)0)->transfer, .handle = HANDLE_OF_quern_transfer},
    {.name = "stream", .kind = MEMORY, .offset = offsetof(quern_transfer_wait_on__parameters, stream), .bytes = sizeof((quern_transfer_wait_on__parameters *)0)->stream, .extent = extent_of_quern_transfer_wait_on__parameters__stream},
    {.name = "status", .kind = MEMORY, .offset = offsetof(quern_transfer_wait_on__parameters, status), .bytes = sizeof((quern_transfer_wait_on__parameters *)0)->status, .extent = extent_of_quern_transfer_wait_on__parameters__status},
};
static const struct record record_of_quern_transfer_wait_on__parameters = {"quern_transfer_wait_on__parameters", sizeof(quern_transfer_wait_on__parameters), fields_of_quern_transfer_wait_on__parameters, 3};
static const struct field fields_of_quern_transfer_cancel__parameters[] = {
    {.name = "transfer", .kind = HANDLE, .offset = offsetof(quern_transfer_cancel__parameters, transfer), .bytes = sizeof((quern_transfer_cancel__parameters *)0)->transfer, .handle = HANDLE_OF_quern_transfer},
    {.name = "reason", .kind = TEXT, .offset = offsetof(quern_transfer_cancel__parameters, reason), .bytes = sizeof((quern_transfer_cancel__parameters *)0)->reason, .is_const = 1},
};
static const struct record record_of_quern_transfer_cancel__parameters = {"quern_transfer_cancel__parameters", sizeof(quern_transfer_cancel__parameters), fields_of_quern_transfer_cancel__parameters, 2};
static const struct field fields_of_quern_transfer_destroy__parameters[] = {
    {.name = "transfer", .kind = HANDLE, .offset = offsetof(quern_transfer_destroy__parameters, transfer), .bytes = sizeof((quern_transfer_destroy__parameters *)0)->transfer, .handle = HANDLE_OF_quern_transfer},
};
static const struct record record_of_quern_transfer_destroy__parameters = {"quern_transfer_destroy__parameters", sizeof(quern_transfer_destroy__parameters), fields_of_quern_transfer_destroy__parameters, 1};
static const struct field fields_of_quern_transfer_begin__parameters[] = {
    {.name = "group", .kind = HANDLE, .offset = offsetof(quern_transfer_begin__parameters, group), .bytes = sizeof((quern_transfer_begin__parameters *)0)->group, .handle = HANDLE_OF_quern_group},
};
static const struct record record_of_quern_transfer_begin__parameters = {"quern_transfer_begin__parameters", sizeof(quern_transfer_begin__parameters), fields_of_quern_transfer_begin__parameters, 1};
static const struct field fields_of_quern_transfer_end__parameters[] = {
    {.name = "group", .kind = HANDLE, .offset = offsetof(quern_transfer_end__parameters, group), .bytes = sizeof((quern_transfer_end__parameters *)0)->group, .handle = HANDLE_OF_quern_group},
};
static const struct record record_of_quern_transfer_end__parameters = {"quern_transfer_end__parameters", sizeof(quern_transfer_end__parameters), fields_of_quern_transfer_end__parameters, 1};
/* ---- functions ---- */

static uint64_t call_quern_status_string(const void *parameters) {
    const quern_status_string__parameters *p = parameters;
    return (uint64_t)quern_status_string(p->status);
}
static uint64_t call_quern_status_blame(const void *parameters) {
    const quern_status_blame__parameters *p = parameters;
    return (uint64_t)quern_status_blame(p->status);
}
static uint64_t call_quern_error_detail(const void *parameters) {
    const quern_error_detail__parameters *p = parameters;
    return (uint64_t)quern_error_detail(p->buffer, p->bytes);
}
static uint64_t call_quern_version(const void *parameters) {
    (void)parameters;
    return (uint64_t)quern_version();
}
static uint64_t call_quern_build_info(const void *parameters) {
    (void)parameters;
    return (uint64_t)quern_build_info();
}
static uint64_t call_quern_set_log(const void *parameters) {
    const quern_set_log__parameters *p = parameters;
    quern_set_log(p->callback, p->user, p->level);
    return 0;
}
static uint64_t call_quern_dtype_name(const void *parameters) {
    const quern_dtype_name__parameters *p = parameters;
    return (uint64_t)quern_dtype_name(p->dtype);
}
static uint64_t call_quern_dtype_bytes(const void *parameters) {
    const quern_dtype_bytes__parameters *p = parameters;
    return (uint64_t)quern_dtype_bytes(p->dtype);
}
static uint64_t call_quern_device_count(const void *parameters) {
    const quern_device_count__parameters *p = parameters;
    return (uint64_t)quern_device_count(p->kind, p->count);
}
static uint64_t call_quern_device_open(const void *parameters) {
    const quern_device_open__parameters *p = parameters;
    return (uint64_t)quern_device_open(p->kind, p->ordinal, p->device);
}
static uint64_t call_quern_device_close(const void *parameters) {
    const quern_device_close__parameters *p = parameters;
    quern_device_close(p->device);
    return 0;
}
static uint64_t call_quern_device_info_init(const void *parameters) {
    const quern_device_info_init__parameters *p = parameters;
    quern_device_info_init(p->info);
    return 0;
}
static uint64_t call_quern_device_get_info(const void *parameters) {
    const quern_device_get_info__parameters *p = parameters;
    return (uint64_t)quern_device_get_info(p->device, p->info);
}
static uint64_t call_quern_device_report(const void *parameters) {
    const quern_device_report__parameters *p = parameters;
    return (uint64_t)quern_device_report(p->device, p->buffer, p->bytes);
}
static uint64_t call_quern_prepare(const void *parameters) {
    const quern_prepare__parameters *p = parameters;
    return (uint64_t)quern_prepare(p->device, p->operations);
}
static uint64_t call_quern_load_pack(const void *parameters) {
    const quern_load_pack__parameters *p = parameters;
    return (uint64_t)quern_load_pack(p->path);
}
static uint64_t call_quern_set_threads(const void *parameters) {
    const quern_set_threads__parameters *p = parameters;
    return (uint64_t)quern_set_threads(p->device, p->threads, p->hook, p->user);
}
static uint64_t call_quern_trace_begin(const void *parameters) {
    const quern_trace_begin__parameters *p = parameters;
    return (uint64_t)quern_trace_begin(p->path);
}
static uint64_t call_quern_trace_end(const void *parameters) {
    (void)parameters;
    return (uint64_t)quern_trace_end();
}
static uint64_t call_quern_dump_args_init(const void *parameters) {
    const quern_dump_args_init__parameters *p = parameters;
    quern_dump_args_init(p->args);
    return 0;
}
static uint64_t call_quern_dump_at(const void *parameters) {
    const quern_dump_at__parameters *p = parameters;
    return (uint64_t)quern_dump_at(p->device, p->args);
}
static uint64_t call_quern_step(const void *parameters) {
    const quern_step__parameters *p = parameters;
    return (uint64_t)quern_step(p->device, p->step);
}
static uint64_t call_quern_cross_entropy_args_init(const void *parameters) {
    const quern_cross_entropy_args_init__parameters *p = parameters;
    quern_cross_entropy_args_init(p->args);
    return 0;
}
static uint64_t call_quern_cross_entropy_workspace(const void *parameters) {
    const quern_cross_entropy_workspace__parameters *p = parameters;
    return (uint64_t)quern_cross_entropy_workspace(p->device, p->args, p->bytes);
}
static uint64_t call_quern_cross_entropy(const void *parameters) {
    const quern_cross_entropy__parameters *p = parameters;
    return (uint64_t)quern_cross_entropy(p->device, p->args, p->workspace, p->workspace_bytes, p->stream);
}
static uint64_t call_quern_cross_entropy_stats(const void *parameters) {
    const quern_cross_entropy_stats__parameters *p = parameters;
    return (uint64_t)quern_cross_entropy_stats(p->device, p->args, p->workspace, p->workspace_bytes, p->stream);
}
static uint64_t call_quern_cross_entropy_combine(const void *parameters) {
    const quern_cross_entropy_combine__parameters *p = parameters;
    return (uint64_t)quern_cross_entropy_combine(p->device, p->args, p->shards, p->shard_count, p->workspace, p->workspace_bytes, p->stream);
}
static uint64_t call_quern_cross_entropy_gradient(const void *parameters) {
    const quern_cross_entropy_gradient__parameters *p = parameters;
    return (uint64_t)quern_cross_entropy_gradient(p->device, p->args, p->workspace, p->workspace_bytes, p->stream);
}
static uint64_t call_quern_cross_entropy_upstream(const void *parameters) {
    const quern_cross_entropy_upstream__parameters *p = parameters;
    return (uint64_t)quern_cross_entropy_upstream(p->device, p->args, p->stream);
}
static uint64_t call_quern_cross_entropy_explain(const void *parameters) {
    const quern_cross_entropy_explain__parameters *p = parameters;
    return (uint64_t)quern_cross_entropy_explain(p->device, p->args, p->buffer, p->bytes);
}
static uint64_t call_quern_portable_hash(const void *parameters) {
    const quern_portable_hash__parameters *p = parameters;
    return (uint64_t)quern_portable_hash(p->device, p->hash);
}
static uint64_t call_quern_gemm_args_init(const void *parameters) {
    const quern_gemm_args_init__parameters *p = parameters;
    quern_gemm_args_init(p->args);
    return 0;
}
static uint64_t call_quern_blas_open(const void *parameters) {
    const quern_blas_open__parameters *p = parameters;
    return (uint64_t)quern_blas_open(p->device, p->library, p->blas);
}
static uint64_t call_quern_blas_close(const void *parameters) {
    const quern_blas_close__parameters *p = parameters;
    quern_blas_close(p->blas);
    return 0;
}
static uint64_t call_quern_blas_gemm(const void *parameters) {
    const quern_blas_gemm__parameters *p = parameters;
    return (uint64_t)quern_blas_gemm(p->blas, p->args, p->stream);
}
static uint64_t call_quern_linear_cross_entropy_args_init(const void *parameters) {
    const quern_linear_cross_entropy_args_init__parameters *p = parameters;
    quern_linear_cross_entropy_args_init(p->args);
    return 0;
}
static uint64_t call_quern_linear_cross_entropy_workspace(const void *parameters) {
    const quern_linear_cross_entropy_workspace__parameters *p = parameters;
    return (uint64_t)quern_linear_cross_entropy_workspace(p->device, p->args, p->bytes);
}
static uint64_t call_quern_linear_cross_entropy(const void *parameters) {
    const quern_linear_cross_entropy__parameters *p = parameters;
    return (uint64_t)quern_linear_cross_entropy(p->device, p->args, p->workspace, p->workspace_bytes, p->stream);
}
static uint64_t call_quern_adam_args_init(const void *parameters) {
    const quern_adam_args_init__parameters *p = parameters;
    quern_adam_args_init(p->args);
    return 0;
}
static uint64_t call_quern_adam_workspace(const void *parameters) {
    const quern_adam_workspace__parameters *p = parameters;
    return (uint64_t)quern_adam_workspace(p->device, p->args, p->bytes);
}
static uint64_t call_quern_adam(const void *parameters) {
    const quern_adam__parameters *p = parameters;
    return (uint64_t)quern_adam(p->device, p->args, p->workspace, p->workspace_bytes, p->stream);
}
static uint64_t call_quern_adam_explain(const void *parameters) {
    const quern_adam_explain__parameters *p = parameters;
    return (uint64_t)quern_adam_explain(p->device, p->args, p->buffer, p->bytes);
}
static uint64_t call_quern_adam_plan_create(const void *parameters) {
    const quern_adam_plan_create__parameters *p = parameters;
    return (uint64_t)quern_adam_plan_create(p->device, p->args, p->plan);
}
static uint64_t call_quern_adam_plan_destroy(const void *parameters) {
    const quern_adam_plan_destroy__parameters *p = parameters;
    quern_adam_plan_destroy(p->plan);
    return 0;
}
static uint64_t call_quern_gradient_norm_args_init(const void *parameters) {
    const quern_gradient_norm_args_init__parameters *p = parameters;
    quern_gradient_norm_args_init(p->args);
    return 0;
}
static uint64_t call_quern_gradient_norm_workspace(const void *parameters) {
    const quern_gradient_norm_workspace__parameters *p = parameters;
    return (uint64_t)quern_gradient_norm_workspace(p->device, p->args, p->bytes);
}
static uint64_t call_quern_gradient_norm(const void *parameters) {
    const quern_gradient_norm__parameters *p = parameters;
    return (uint64_t)quern_gradient_norm(p->device, p->args, p->workspace, p->workspace_bytes, p->stream);
}
static uint64_t call_quern_accumulate_args_init(const void *parameters) {
    const quern_accumulate_args_init__parameters *p = parameters;
    quern_accumulate_args_init(p->args);
    return 0;
}
static uint64_t call_quern_accumulate(const void *parameters) {
    const quern_accumulate__parameters *p = parameters;
    return (uint64_t)quern_accumulate(p->device, p->args, p->stream);
}
static uint64_t call_quern_accumulate_plan_create(const void *parameters) {
    const quern_accumulate_plan_create__parameters *p = parameters;
    return (uint64_t)quern_accumulate_plan_create(p->device, p->args, p->plan);
}
static uint64_t call_quern_accumulate_plan_destroy(const void *parameters) {
    const quern_accumulate_plan_destroy__parameters *p = parameters;
    quern_accumulate_plan_destroy(p->plan);
    return 0;
}
static uint64_t call_quern_adam_saved_bytes(const void *parameters) {
    const quern_adam_saved_bytes__parameters *p = parameters;
    return (uint64_t)quern_adam_saved_bytes(p->device, p->args, p->bytes);
}
static uint64_t call_quern_adam_save(const void *parameters) {
    const quern_adam_save__parameters *p = parameters;
    return (uint64_t)quern_adam_save(p->device, p->args, p->saved, p->bytes);
}
static uint64_t call_quern_adam_load(const void *parameters) {
    const quern_adam_load__parameters *p = parameters;
    return (uint64_t)quern_adam_load(p->device, p->args, p->saved, p->bytes, p->step, p->seed);
}
static uint64_t call_quern_quantize_args_init(const void *parameters) {
    const quern_quantize_args_init__parameters *p = parameters;
    quern_quantize_args_init(p->args);
    return 0;
}
static uint64_t call_quern_quantize_workspace(const void *parameters) {
    const quern_quantize_workspace__parameters *p = parameters;
    return (uint64_t)quern_quantize_workspace(p->device, p->args, p->bytes);
}
static uint64_t call_quern_quantize(const void *parameters) {
    const quern_quantize__parameters *p = parameters;
    return (uint64_t)quern_quantize(p->device, p->args, p->workspace, p->workspace_bytes, p->stream);
}
static uint64_t call_quern_quantize_amax(const void *parameters) {
    const quern_quantize_amax__parameters *p = parameters;
    return (uint64_t)quern_quantize_amax(p->device, p->args, p->workspace, p->workspace_bytes, p->stream);
}
static uint64_t call_quern_quantize_cast(const void *parameters) {
    const quern_quantize_cast__parameters *p = parameters;
    return (uint64_t)quern_quantize_cast(p->device, p->args, p->stream);
}
static uint64_t call_quern_quantize_explain(const void *parameters) {
    const quern_quantize_explain__parameters *p = parameters;
    return (uint64_t)quern_quantize_explain(p->device, p->args, p->buffer, p->bytes);
}
static uint64_t call_quern_quantize_plan_create(const void *parameters) {
    const quern_quantize_plan_create__parameters *p = parameters;
    return (uint64_t)quern_quantize_plan_create(p->device, p->args, p->plan);
}
static uint64_t call_quern_quantize_plan_destroy(const void *parameters) {
    const quern_quantize_plan_destroy__parameters *p = parameters;
    quern_quantize_plan_destroy(p->plan);
    return 0;
}
static uint64_t call_quern_carrier_init(const void *parameters) {
    const quern_carrier_init__parameters *p = parameters;
    quern_carrier_init(p->carrier);
    return 0;
}
static uint64_t call_quern_hosts_args_init(const void *parameters) {
    const quern_hosts_args_init__parameters *p = parameters;
    quern_hosts_args_init(p->args);
    return 0;
}
static uint64_t call_quern_group_args_init(const void *parameters) {
    const quern_group_args_init__parameters *p = parameters;
    quern_group_args_init(p->args);
    return 0;
}
static uint64_t call_quern_group_create(const void *parameters) {
    const quern_group_create__parameters *p = parameters;
    return (uint64_t)quern_group_create(p->args, p->count, p->groups);
}
static uint64_t call_quern_group_rank(const void *parameters) {
    const quern_group_rank__parameters *p = parameters;
    return (uint64_t)quern_group_rank(p->group);
}
static uint64_t call_quern_group_size(const void *parameters) {
    const quern_group_size__parameters *p = parameters;
    return (uint64_t)quern_group_size(p->group);
}
static uint64_t call_quern_group_split(const void *parameters) {
    const quern_group_split__parameters *p = parameters;
    return (uint64_t)quern_group_split(p->groups, p->count, p->colours, p->keys, p->new_groups);
}
static uint64_t call_quern_group_shrink(const void *parameters) {
    const quern_group_shrink__parameters *p = parameters;
    return (uint64_t)quern_group_shrink(p->groups, p->count, p->new_groups);
}
static uint64_t call_quern_group_destroy(const void *parameters) {
    const quern_group_destroy__parameters *p = parameters;
    return (uint64_t)quern_group_destroy(p->group);
}
static uint64_t call_quern_group_abort(const void *parameters) {
    const quern_group_abort__parameters *p = parameters;
    return (uint64_t)quern_group_abort(p->group, p->reason);
}
static uint64_t call_quern_group_status(const void *parameters) {
    const quern_group_status__parameters *p = parameters;
    return (uint64_t)quern_group_status(p->group);
}
static uint64_t call_quern_group_missing(const void *parameters) {
    const quern_group_missing__parameters *p = parameters;
    return (uint64_t)quern_group_missing(p->group, p->mask, p->words);
}
static uint64_t call_quern_group_report(const void *parameters) {
    const quern_group_report__parameters *p = parameters;
    return (uint64_t)quern_group_report(p->group, p->buffer, p->bytes);
}
static uint64_t call_quern_barrier_args_init(const void *parameters) {
    const quern_barrier_args_init__parameters *p = parameters;
    quern_barrier_args_init(p->args);
    return 0;
}
static uint64_t call_quern_barrier(const void *parameters) {
    const quern_barrier__parameters *p = parameters;
    return (uint64_t)quern_barrier(p->group, p->args, p->stream);
}
static uint64_t call_quern_barrier_bytes(const void *parameters) {
    const quern_barrier_bytes__parameters *p = parameters;
    return (uint64_t)quern_barrier_bytes(p->ranks);
}
static uint64_t call_quern_symmetric_alloc(const void *parameters) {
    const quern_symmetric_alloc__parameters *p = parameters;
    return (uint64_t)quern_symmetric_alloc(p->groups, p->count, p->bytes, p->pointers);
}
static uint64_t call_quern_symmetric_free(const void *parameters) {
    const quern_symmetric_free__parameters *p = parameters;
    return (uint64_t)quern_symmetric_free(p->group, p->pointer, p->stream);
}
static uint64_t call_quern_symmetric_register(const void *parameters) {
    const quern_symmetric_register__parameters *p = parameters;
    return (uint64_t)quern_symmetric_register(p->groups, p->count, p->pointers, p->bytes);
}
static uint64_t call_quern_symmetric_unregister(const void *parameters) {
    const quern_symmetric_unregister__parameters *p = parameters;
    return (uint64_t)quern_symmetric_unregister(p->group, p->pointer, p->stream);
}
static uint64_t call_quern_symmetric_peer(const void *parameters) {
    const quern_symmetric_peer__parameters *p = parameters;
    return (uint64_t)quern_symmetric_peer(p->group, p->pointer, p->rank, p->peer);
}
static uint64_t call_quern_symmetric_multicast(const void *parameters) {
    const quern_symmetric_multicast__parameters *p = parameters;
    return (uint64_t)quern_symmetric_multicast(p->group, p->pointer, p->multicast);
}
static uint64_t call_quern_ragged_all_to_all_args_init(const void *parameters) {
    const quern_ragged_all_to_all_args_init__parameters *p = parameters;
    quern_ragged_all_to_all_args_init(p->args);
    return 0;
}
static uint64_t call_quern_ragged_all_to_all_workspace(const void *parameters) {
    const quern_ragged_all_to_all_workspace__parameters *p = parameters;
    return (uint64_t)quern_ragged_all_to_all_workspace(p->group, p->args, p->bytes);
}
static uint64_t call_quern_ragged_all_to_all(const void *parameters) {
    const quern_ragged_all_to_all__parameters *p = parameters;
    return (uint64_t)quern_ragged_all_to_all(p->group, p->args, p->workspace, p->workspace_bytes, p->stream);
}
static uint64_t call_quern_ragged_plan_create(const void *parameters) {
    const quern_ragged_plan_create__parameters *p = parameters;
    return (uint64_t)quern_ragged_plan_create(p->groups, p->count, p->args, p->workspaces, p->workspace_bytes, p->plans);
}
static uint64_t call_quern_ragged_plan_run(const void *parameters) {
    const quern_ragged_plan_run__parameters *p = parameters;
    return (uint64_t)quern_ragged_plan_run(p->plan, p->stream);
}
static uint64_t call_quern_ragged_plan_destroy(const void *parameters) {
    const quern_ragged_plan_destroy__parameters *p = parameters;
    return (uint64_t)quern_ragged_plan_destroy(p->plan);
}
static uint64_t call_quern_ragged_sizes_args_init(const void *parameters) {
    const quern_ragged_sizes_args_init__parameters *p = parameters;
    quern_ragged_sizes_args_init(p->args);
    return 0;
}
static uint64_t call_quern_ragged_sizes(const void *parameters) {
    const quern_ragged_sizes__parameters *p = parameters;
    return (uint64_t)quern_ragged_sizes(p->groups, p->count, p->args);
}
static uint64_t call_quern_collective_args_init(const void *parameters) {
    const quern_collective_args_init__parameters *p = parameters;
    quern_collective_args_init(p->args);
    return 0;
}
static uint64_t call_quern_collective_workspace(const void *parameters) {
    const quern_collective_workspace__parameters *p = parameters;
    return (uint64_t)quern_collective_workspace(p->group, p->args, p->bytes);
}
static uint64_t call_quern_all_gather(const void *parameters) {
    const quern_all_gather__parameters *p = parameters;
    return (uint64_t)quern_all_gather(p->group, p->args, p->workspace, p->workspace_bytes, p->stream);
}
static uint64_t call_quern_reduce_scatter(const void *parameters) {
    const quern_reduce_scatter__parameters *p = parameters;
    return (uint64_t)quern_reduce_scatter(p->group, p->args, p->workspace, p->workspace_bytes, p->stream);
}
static uint64_t call_quern_all_reduce(const void *parameters) {
    const quern_all_reduce__parameters *p = parameters;
    return (uint64_t)quern_all_reduce(p->group, p->args, p->workspace, p->workspace_bytes, p->stream);
}
static uint64_t call_quern_broadcast(const void *parameters) {
    const quern_broadcast__parameters *p = parameters;
    return (uint64_t)quern_broadcast(p->group, p->args, p->workspace, p->workspace_bytes, p->stream);
}
static uint64_t call_quern_group_gather_args_init(const void *parameters) {
    const quern_group_gather_args_init__parameters *p = parameters;
    quern_group_gather_args_init(p->args);
    return 0;
}
static uint64_t call_quern_group_gather(const void *parameters) {
    const quern_group_gather__parameters *p = parameters;
    return (uint64_t)quern_group_gather(p->args, p->mine, p->all, p->bytes, p->stream);
}
static uint64_t call_quern_quantize_chunks_args_init(const void *parameters) {
    const quern_quantize_chunks_args_init__parameters *p = parameters;
    quern_quantize_chunks_args_init(p->args);
    return 0;
}
static uint64_t call_quern_quantize_chunks_workspace(const void *parameters) {
    const quern_quantize_chunks_workspace__parameters *p = parameters;
    return (uint64_t)quern_quantize_chunks_workspace(p->group, p->args, p->bytes);
}
static uint64_t call_quern_quantize_chunks(const void *parameters) {
    const quern_quantize_chunks__parameters *p = parameters;
    return (uint64_t)quern_quantize_chunks(p->group, p->args, p->workspace, p->workspace_bytes, p->stream);
}
static uint64_t call_quern_chunk_wait(const void *parameters) {
    const quern_chunk_wait__parameters *p = parameters;
    return (uint64_t)quern_chunk_wait(p->group, p->ready, p->count, p->value, p->timeout, p->stream);
}
static uint64_t call_quern_device_view_init(const void *parameters) {
    const quern_device_view_init__parameters *p = parameters;
    quern_device_view_init(p->view);
    return 0;
}
static uint64_t call_quern_symmetric_view(const void *parameters) {
    const quern_symmetric_view__parameters *p = parameters;
    return (uint64_t)quern_symmetric_view(p->group, p->pointer, p->view);
}
static uint64_t call_quern_transfer_args_init(const void *parameters) {
    const quern_transfer_args_init__parameters *p = parameters;
    quern_transfer_args_init(p->args);
    return 0;
}
static uint64_t call_quern_transfer_prepare(const void *parameters) {
    const quern_transfer_prepare__parameters *p = parameters;
    return (uint64_t)quern_transfer_prepare(p->group, p->args, p->transfer);
}
static uint64_t call_quern_transfer_start(const void *parameters) {
    const quern_transfer_start__parameters *p = parameters;
    return (uint64_t)quern_transfer_start(p->transfer, p->stream);
}
static uint64_t call_quern_transfer_test(const void *parameters) {
    const quern_transfer_test__parameters *p = parameters;
    return (uint64_t)quern_transfer_test(p->transfer, p->done);
}
static uint64_t call_quern_transfer_wait(const void *parameters) {
    const quern_transfer_wait__parameters *p = parameters;
    return (uint64_t)quern_transfer_wait(p->transfer, p->timeout);
}
static uint64_t call_quern_transfer_wait_on(const void *parameters) {
    const quern_transfer_wait_on__parameters *p = parameters;
    return (uint64_t)quern_transfer_wait_on(p->transfer, p->stream, p->status);
}
static uint64_t call_quern_transfer_cancel(const void *parameters) {
    const quern_transfer_cancel__parameters *p = parameters;
    return (uint64_t)quern_transfer_cancel(p->transfer, p->reason);
}
static uint64_t call_quern_transfer_destroy(const void *parameters) {
    const quern_transfer_destroy__parameters *p = parameters;
    return (uint64_t)quern_transfer_destroy(p->transfer);
}
static uint64_t call_quern_transfer_begin(const void *parameters) {
    const quern_transfer_begin__parameters *p = parameters;
    return (uint64_t)quern_transfer_begin(p->group);
}
static uint64_t call_quern_transfer_end(const void *parameters) {
    const quern_transfer_end__parameters *p = parameters;
    return (uint64_t)quern_transfer_end(p->group);
}
static const struct function functions[] = {
    {"quern_status_string", &record_of_quern_status_string__parameters, call_quern_status_string, STATIC_TEXT},
    {"quern_status_blame", &record_of_quern_status_blame__parameters, call_quern_status_blame, STATIC_TEXT},
    {"quern_error_detail", &record_of_quern_error_detail__parameters, call_quern_error_detail, LENGTH},
    {"quern_version", NULL, call_quern_version, NUMBER},
    {"quern_build_info", NULL, call_quern_build_info, STATIC_TEXT},
    {"quern_set_log", &record_of_quern_set_log__parameters, call_quern_set_log, NOTHING},
    {"quern_dtype_name", &record_of_quern_dtype_name__parameters, call_quern_dtype_name, STATIC_TEXT},
    {"quern_dtype_bytes", &record_of_quern_dtype_bytes__parameters, call_quern_dtype_bytes, LENGTH},
    {"quern_device_count", &record_of_quern_device_count__parameters, call_quern_device_count, STATUS},
    {"quern_device_open", &record_of_quern_device_open__parameters, call_quern_device_open, STATUS},
    {"quern_device_close", &record_of_quern_device_close__parameters, call_quern_device_close, NOTHING},
    {"quern_device_info_init", &record_of_quern_device_info_init__parameters, call_quern_device_info_init, NOTHING},
    {"quern_device_get_info", &record_of_quern_device_get_info__parameters, call_quern_device_get_info, STATUS},
    {"quern_device_report", &record_of_quern_device_report__parameters, call_quern_device_report, LENGTH},
    {"quern_prepare", &record_of_quern_prepare__parameters, call_quern_prepare, STATUS},
    {"quern_load_pack", &record_of_quern_load_pack__parameters, call_quern_load_pack, STATUS},
    {"quern_set_threads", &record_of_quern_set_threads__parameters, call_quern_set_threads, STATUS},
    {"quern_trace_begin", &record_of_quern_trace_begin__parameters, call_quern_trace_begin, STATUS},
    {"quern_trace_end", NULL, call_quern_trace_end, STATUS},
    {"quern_dump_args_init", &record_of_quern_dump_args_init__parameters, call_quern_dump_args_init, NOTHING},
    {"quern_dump_at", &record_of_quern_dump_at__parameters, call_quern_dump_at, STATUS},
    {"quern_step", &record_of_quern_step__parameters, call_quern_step, STATUS},
    {"quern_cross_entropy_args_init", &record_of_quern_cross_entropy_args_init__parameters, call_quern_cross_entropy_args_init, NOTHING},
    {"quern_cross_entropy_workspace", &record_of_quern_cross_entropy_workspace__parameters, call_quern_cross_entropy_workspace, STATUS},
    {"quern_cross_entropy", &record_of_quern_cross_entropy__parameters, call_quern_cross_entropy, STATUS},
    {"quern_cross_entropy_stats", &record_of_quern_cross_entropy_stats__parameters, call_quern_cross_entropy_stats, STATUS},
    {"quern_cross_entropy_combine", &record_of_quern_cross_entropy_combine__parameters, call_quern_cross_entropy_combine, STATUS},
    {"quern_cross_entropy_gradient", &record_of_quern_cross_entropy_gradient__parameters, call_quern_cross_entropy_gradient, STATUS},
    {"quern_cross_entropy_upstream", &record_of_quern_cross_entropy_upstream__parameters, call_quern_cross_entropy_upstream, STATUS},
    {"quern_cross_entropy_explain", &record_of_quern_cross_entropy_explain__parameters, call_quern_cross_entropy_explain, LENGTH},
    {"quern_portable_hash", &record_of_quern_portable_hash__parameters, call_quern_portable_hash, STATUS},
    {"quern_gemm_args_init", &record_of_quern_gemm_args_init__parameters, call_quern_gemm_args_init, NOTHING},
    {"quern_blas_open", &record_of_quern_blas_open__parameters, call_quern_blas_open, STATUS},
    {"quern_blas_close", &record_of_quern_blas_close__parameters, call_quern_blas_close, NOTHING},
    {"quern_blas_gemm", &record_of_quern_blas_gemm__parameters, call_quern_blas_gemm, STATUS},
    {"quern_linear_cross_entropy_args_init", &record_of_quern_linear_cross_entropy_args_init__parameters, call_quern_linear_cross_entropy_args_init, NOTHING},
    {"quern_linear_cross_entropy_workspace", &record_of_quern_linear_cross_entropy_workspace__parameters, call_quern_linear_cross_entropy_workspace, STATUS},
    {"quern_linear_cross_entropy", &record_of_quern_linear_cross_entropy__parameters, call_quern_linear_cross_entropy, STATUS},
    {"quern_adam_args_init", &record_of_quern_adam_args_init__parameters, call_quern_adam_args_init, NOTHING},
    {"quern_adam_workspace", &record_of_quern_adam_workspace__parameters, call_quern_adam_workspace, STATUS},
    {"quern_adam", &record_of_quern_adam__parameters, call_quern_adam, STATUS},
    {"quern_adam_explain", &record_of_quern_adam_explain__parameters, call_quern_adam_explain, LENGTH},
    {"quern_adam_plan_create", &record_of_quern_adam_plan_create__parameters, call_quern_adam_plan_create, STATUS},
    {"quern_adam_plan_destroy", &record_of_quern_adam_plan_destroy__parameters, call_quern_adam_plan_destroy, NOTHING},
    {"quern_gradient_norm_args_init", &record_of_quern_gradient_norm_args_init__parameters, call_quern_gradient_norm_args_init, NOTHING},
    {"quern_gradient_norm_workspace", &record_of_quern_gradient_norm_workspace__parameters, call_quern_gradient_norm_workspace, STATUS},
    {"quern_gradient_norm", &record_of_quern_gradient_norm__parameters, call_quern_gradient_norm, STATUS},
    {"quern_accumulate_args_init", &record_of_quern_accumulate_args_init__parameters, call_quern_accumulate_args_init, NOTHING},
    {"quern_accumulate", &record_of_quern_accumulate__parameters, call_quern_accumulate, STATUS},
    {"quern_accumulate_plan_create", &record_of_quern_accumulate_plan_create__parameters, call_quern_accumulate_plan_create, STATUS},
    {"quern_accumulate_plan_destroy", &record_of_quern_accumulate_plan_destroy__parameters, call_quern_accumulate_plan_destroy, NOTHING},
    {"quern_adam_saved_bytes", &record_of_quern_adam_saved_bytes__parameters, call_quern_adam_saved_bytes, STATUS},
    {"quern_adam_save", &record_of_quern_adam_save__parameters, call_quern_adam_save, STATUS},
    {"quern_adam_load", &record_of_quern_adam_load__parameters, call_quern_adam_load, STATUS},
    {"quern_quantize_args_init", &record_of_quern_quantize_args_init__parameters, call_quern_quantize_args_init, NOTHING},
    {"quern_quantize_workspace", &record_of_quern_quantize_workspace__parameters, call_quern_quantize_workspace, STATUS},
    {"quern_quantize", &record_of_quern_quantize__parameters, call_quern_quantize, STATUS},
    {"quern_quantize_amax", &record_of_quern_quantize_amax__parameters, call_quern_quantize_amax, STATUS},
    {"quern_quantize_cast", &record_of_quern_quantize_cast__parameters, call_quern_quantize_cast, STATUS},
    {"quern_quantize_explain", &record_of_quern_quantize_explain__parameters, call_quern_quantize_explain, LENGTH},
    {"quern_quantize_plan_create", &record_of_quern_quantize_plan_create__parameters, call_quern_quantize_plan_create, STATUS},
    {"quern_quantize_plan_destroy", &record_of_quern_quantize_plan_destroy__parameters, call_quern_quantize_plan_destroy, NOTHING},
    {"quern_carrier_init", &record_of_quern_carrier_init__parameters, call_quern_carrier_init, NOTHING},
    {"quern_hosts_args_init", &record_of_quern_hosts_args_init__parameters, call_quern_hosts_args_init, NOTHING},
    {"quern_group_args_init", &record_of_quern_group_args_init__parameters, call_quern_group_args_init, NOTHING},
    {"quern_group_create", &record_of_quern_group_create__parameters, call_quern_group_create, STATUS},
    {"quern_group_rank", &record_of_quern_group_rank__parameters, call_quern_group_rank, NUMBER},
    {"quern_group_size", &record_of_quern_group_size__parameters, call_quern_group_size, NUMBER},
    {"quern_group_split", &record_of_quern_group_split__parameters, call_quern_group_split, STATUS},
    {"quern_group_shrink", &record_of_quern_group_shrink__parameters, call_quern_group_shrink, STATUS},
    {"quern_group_destroy", &record_of_quern_group_destroy__parameters, call_quern_group_destroy, STATUS},
    {"quern_group_abort", &record_of_quern_group_abort__parameters, call_quern_group_abort, STATUS},
    {"quern_group_status", &record_of_quern_group_status__parameters, call_quern_group_status, STATUS},
    {"quern_group_missing", &record_of_quern_group_missing__parameters, call_quern_group_missing, STATUS},
    {"quern_group_report", &record_of_quern_group_report__parameters, call_quern_group_report, LENGTH},
    {"quern_barrier_args_init", &record_of_quern_barrier_args_init__parameters, call_quern_barrier_args_init, NOTHING},
    {"quern_barrier", &record_of_quern_barrier__parameters, call_quern_barrier, STATUS},
    {"quern_barrier_bytes", &record_of_quern_barrier_bytes__parameters, call_quern_barrier_bytes, LENGTH},
    {"quern_symmetric_alloc", &record_of_quern_symmetric_alloc__parameters, call_quern_symmetric_alloc, STATUS},
    {"quern_symmetric_free", &record_of_quern_symmetric_free__parameters, call_quern_symmetric_free, STATUS},
    {"quern_symmetric_register", &record_of_quern_symmetric_register__parameters, call_quern_symmetric_register, STATUS},
    {"quern_symmetric_unregister", &record_of_quern_symmetric_unregister__parameters, call_quern_symmetric_unregister, STATUS},
    {"quern_symmetric_peer", &record_of_quern_symmetric_peer__parameters, call_quern_symmetric_peer, STATUS},
    {"quern_symmetric_multicast", &record_of_quern_symmetric_multicast__parameters, call_quern_symmetric_multicast, STATUS},
    {"quern_ragged_all_to_all_args_init", &record_of_quern_ragged_all_to_all_args_init__parameters, call_quern_ragged_all_to_all_args_init, NOTHING},
    {"quern_ragged_all_to_all_workspace", &record_of_quern_ragged_all_to_all_workspace__parameters, call_quern_ragged_all_to_all_workspace, STATUS},
    {"quern_ragged_all_to_all", &record_of_quern_ragged_all_to_all__parameters, call_quern_ragged_all_to_all, STATUS},
    {"quern_ragged_plan_create", &record_of_quern_ragged_plan_create__parameters, call_quern_ragged_plan_create, STATUS},
    {"quern_ragged_plan_run", &record_of_quern_ragged_plan_run__parameters, call_quern_ragged_plan_run, STATUS},
    {"quern_ragged_plan_destroy", &record_of_quern_ragged_plan_destroy__parameters, call_quern_ragged_plan_destroy, STATUS},
    {"quern_ragged_sizes_args_init", &record_of_quern_ragged_sizes_args_init__parameters, call_quern_ragged_sizes_args_init, NOTHING},
    {"quern_ragged_sizes", &record_of_quern_ragged_sizes__parameters, call_quern_ragged_sizes, STATUS},
    {"quern_collective_args_init", &record_of_quern_collective_args_init__parameters, call_quern_collective_args_init, NOTHING},
    {"quern_collective_workspace", &record_of_quern_collective_workspace__parameters, call_quern_collective_workspace, STATUS},
    {"quern_all_gather", &record_of_quern_all_gather__parameters, call_quern_all_gather, STATUS},
    {"quern_reduce_scatter", &record_of_quern_reduce_scatter__parameters, call_quern_reduce_scatter, STATUS},
    {"quern_all_reduce", &record_of_quern_all_reduce__parameters, call_quern_all_reduce, STATUS},
    {"quern_broadcast", &record_of_quern_broadcast__parameters, call_quern_broadcast, STATUS},
    {"quern_group_gather_args_init", &record_of_quern_group_gather_args_init__parameters, call_quern_group_gather_args_init, NOTHING},
    {"quern_group_gather", &record_of_quern_group_gather__parameters, call_quern_group_gather, STATUS},
    {"quern_quantize_chunks_args_init", &record_of_quern_quantize_chunks_args_init__parameters, call_quern_quantize_chunks_args_init, NOTHING},
    {"quern_quantize_chunks_workspace", &record_of_quern_quantize_chunks_workspace__parameters, call_quern_quantize_chunks_workspace, STATUS},
    {"quern_quantize_chunks", &record_of_quern_quantize_chunks__parameters, call_quern_quantize_chunks, STATUS},
    {"quern_chunk_wait", &record_of_quern_chunk_wait__parameters, call_quern_chunk_wait, STATUS},
    {"quern_device_view_init", &record_of_quern_device_view_init__parameters, call_quern_device_view_init, NOTHING},
    {"quern_symmetric_view", &record_of_quern_symmetric_view__parameters, call_quern_symmetric_view, STATUS},
    {"quern_transfer_args_init", &record_of_quern_transfer_args_init__parameters, call_quern_transfer_args_init, NOTHING},
    {"quern_transfer_prepare", &record_of_quern_transfer_prepare__parameters, call_quern_transfer_prepare, STATUS},
    {"quern_transfer_start", &record_of_quern_transfer_start__parameters, call_quern_transfer_start, STATUS},
    {"quern_transfer_test", &record_of_quern_transfer_test__parameters, call_quern_transfer_test, STATUS},
    {"quern_transfer_wait", &record_of_quern_transfer_wait__parameters, call_quern_transfer_wait, STATUS},
    {"quern_transfer_wait_on", &record_of_quern_transfer_wait_on__parameters, call_quern_transfer_wait_on, STATUS},
    {"quern_transfer_cancel", &record_of_quern_transfer_cancel__parameters, call_quern_transfer_cancel, STATUS},
    {"quern_transfer_destroy", &record_of_quern_transfer_destroy__parameters, call_quern_transfer_destroy, STATUS},
    {"quern_transfer_begin", &record_of_quern_transfer_begin__parameters, call_quern_transfer_begin, STATUS},
    {"quern_transfer_end", &record_of_quern_transfer_end__parameters, call_quern_transfer_end, STATUS},
};

#endif
