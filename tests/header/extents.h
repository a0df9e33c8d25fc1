/*
 * How many bytes each pointer of the public header reaches, by the arguments beside it: the shapes in the header's comments as
 * formulas.  A pointer in generated/header/table.h without a row here is an error of the compiler.  Included by table.c.
 */
#ifndef HEADER_EXTENTS_H
#define HEADER_EXTENTS_H

#include "../../generated/header/parameters.h"
#include "table.h"

#define DECLARE_EXTENT(type, field) static extent_of extent_of_##type##__##field;
#define EXTENT(type, field, ...) \
    static struct extent reach_of_##type##__##field(const type *a, const void *parent) { \
        (void)a, (void)parent; \
        return __VA_ARGS__; \
    } \
    static struct extent extent_of_##type##__##field(const void *self, const void *parent) { \
        return reach_of_##type##__##field(self, parent); \
    }

/* ---- arithmetic that refuses what is negative or does not fit ---- */

static int64_t times(int64_t a, int64_t b) {
    int64_t product;
    return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) ? REFUSED : product;
}

static int64_t plus(int64_t a, int64_t b) {
    int64_t sum;
    return a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum) ? REFUSED : sum;
}

static struct extent memory(int64_t bytes) { return (struct extent){.bytes = bytes < 0 ? REFUSED : bytes}; }

/* A size_t beyond any memory is no error by itself. */
static struct extent buffer(size_t bytes) { return memory(bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes); }

static struct extent elements(int64_t count, quern_dtype dtype) {
    return memory(times(count, (int64_t)quern_dtype_bytes(dtype)));
}

static struct extent integers(int64_t count, quern_dtype dtype, int64_t limit) {
    struct extent extent = elements(count, dtype);
    extent.fill = dtype == QUERN_INT32 ? INT32S : dtype == QUERN_INT64 ? INT64S : ANY;
    extent.limit = limit;
    return extent;
}

static struct extent handles(int64_t count) { return (struct extent){.bytes = times(count, sizeof(void *)), .fill = HANDLES_IN}; }

/* Structs whose size the arguments give. */
static struct extent list(int64_t count, int64_t size) { return (struct extent){.bytes = times(count, size), .limit = size}; }

/* rows of columns elements, `stride` from one to the next; stride 0: `preset` */
static struct extent matrix(int64_t rows, int64_t columns, int64_t stride, int64_t preset, quern_dtype dtype) {
    if (!rows) return memory(0);
    return elements(plus(times(rows - 1, stride ? stride : preset), columns), dtype);
}

static const struct extent not_memory = {.bytes = NOT_MEMORY};

#define ONE(type, field, pointee) EXTENT(type, field, memory(sizeof(pointee)))
#define OPAQUE(type, field) EXTENT(type, field, not_memory)
#define BUFFER(function) EXTENT(function##__parameters, buffer, buffer(a->bytes))
#define WORKSPACE(function) EXTENT(function##__parameters, workspace, buffer(a->workspace_bytes)) \
    OPAQUE(function##__parameters, stream)
#define ARGS(function, type) ONE(function##__parameters, args, type)

/* ---- status, initialisers, log, devices ---- */

#define INITIALISER(type, parameter) ONE(type##_init__parameters, parameter, type)
INITIALISER(quern_dump_args, args)
ARGS(quern_dump_at, quern_dump_args)
INITIALISER(quern_device_info, info)
INITIALISER(quern_cross_entropy_args, args)
INITIALISER(quern_gemm_args, args)
INITIALISER(quern_linear_cross_entropy_args, args)
INITIALISER(quern_adam_args, args)
INITIALISER(quern_gradient_norm_args, args)
INITIALISER(quern_accumulate_args, args)
INITIALISER(quern_quantize_args, args)
INITIALISER(quern_group_args, args)
INITIALISER(quern_carrier, carrier)
INITIALISER(quern_hosts_args, args)
INITIALISER(quern_barrier_args, args)
INITIALISER(quern_ragged_all_to_all_args, args)
INITIALISER(quern_ragged_sizes_args, args)
INITIALISER(quern_collective_args, args)
INITIALISER(quern_group_gather_args, args)
INITIALISER(quern_quantize_chunks_args, args)
INITIALISER(quern_device_view, view)
INITIALISER(quern_transfer_args, args)

BUFFER(quern_error_detail)
OPAQUE(quern_set_log__parameters, user)
ONE(quern_device_count__parameters, count, int)
ONE(quern_device_open__parameters, device, void *)
ONE(quern_device_get_info__parameters, info, quern_device_info)
BUFFER(quern_device_report)
OPAQUE(quern_set_threads__parameters, user)

/* ---- cross-entropy ---- */

static int64_t labels_end(const quern_cross_entropy_args *a) { return a->global_vocab ? a->global_vocab : a->vocab; }

static int64_t padded(const quern_cross_entropy_args *a) { return a->padded_vocab ? a->padded_vocab : a->vocab; }

static quern_dtype grad_dtype(const quern_cross_entropy_args *a) { return a->grad_dtype ? a->grad_dtype : a->logits_dtype; }

/* Without a stride of its own a gradient in place has that of the logits. */
static int64_t preset_of_grad(const quern_cross_entropy_args *a) {
    return a->logits_stride > padded(a) ? a->logits_stride : padded(a);
}

/* The upstream gradients may be in reverse order; the pointer is then to the last of the memory, which the fuzzer does not do. */
static int64_t upstream_bytes(const quern_cross_entropy_args *a, int64_t stride) {
    return !a->rows ? 0 : times(stride < 0 ? INT64_MAX / 8 : plus(times(a->rows - 1, stride), 1), sizeof(float));
}

#define ROWS(field, pointee) EXTENT(quern_cross_entropy_args, field, memory(times(a->rows, sizeof(pointee))))
EXTENT(quern_cross_entropy_args, logits, matrix(a->rows, a->vocab, a->logits_stride, a->vocab, a->logits_dtype))
EXTENT(quern_cross_entropy_args, labels, integers(a->rows, a->labels_dtype, labels_end(a) + 1))
EXTENT(quern_cross_entropy_args, loss,
       memory(a->reduction == QUERN_REDUCTION_NONE ? times(a->rows, sizeof(float)) : (int64_t)sizeof(float)))
EXTENT(quern_cross_entropy_args, grad, matrix(a->rows, padded(a), a->grad_stride, preset_of_grad(a), grad_dtype(a)))
EXTENT(quern_cross_entropy_args, grad_loss, memory(upstream_bytes(a, a->grad_loss_stride)))
EXTENT(quern_cross_entropy_args, grad_log_prob, memory(upstream_bytes(a, a->grad_log_prob_stride)))
EXTENT(quern_cross_entropy_args, grad_entropy, memory(upstream_bytes(a, a->grad_entropy_stride)))
ONE(quern_cross_entropy_args, report, quern_cross_entropy_report)
EXTENT(quern_cross_entropy_args, class_weights, memory(times(a->vocab, sizeof(float))))
ROWS(lse, float)
ROWS(log_prob, float)
ROWS(entropy, float)
ROWS(argmax, int64_t)
ROWS(stats, quern_row_stats)
/* The combine step reads nodes and lists of all shards, whose number the fuzzer keeps below this. */
enum { MOST_SHARDS_OF_NODES = 16 };
EXTENT(quern_cross_entropy_args, nodes,
       memory(times(times(MOST_SHARDS_OF_NODES, a->rows), (a->entropy ? 2 : 1) * sizeof(quern_row_nodes))))
ROWS(inverse_temperatures, float)
#define LIST(field, lists, count, pointee) EXTENT(quern_cross_entropy_args, field, \
    memory(times(times(times(lists, a->rows), a->count), sizeof(pointee))))
LIST(top_ids, 1, top_k, int64_t)
LIST(top_log_probs, 1, top_k, float)
EXTENT(quern_cross_entropy_args, given_ids, integers(times(a->rows, a->given_count), QUERN_INT64, labels_end(a) + 1))
LIST(given_log_probs, 1, given_count, float)
LIST(target_probs, 1, given_count, float)
ROWS(divergence, float)
EXTENT(quern_cross_entropy_args, grad_divergence, memory(upstream_bytes(a, a->grad_divergence_stride)))
EXTENT(quern_cross_entropy_args, soft_targets,
       matrix(a->soft_targets_dtype ? a->rows : 0, a->vocab, a->soft_targets_stride, a->vocab, a->soft_targets_dtype))
LIST(shard_top_ids, MOST_SHARDS_OF_NODES, top_k, int64_t)
LIST(shard_top_logits, MOST_SHARDS_OF_NODES, top_k, float)
LIST(shard_given_logits, MOST_SHARDS_OF_NODES, given_count, float)

ARGS(quern_cross_entropy_workspace, quern_cross_entropy_args)
ONE(quern_cross_entropy_workspace__parameters, bytes, size_t)
ARGS(quern_cross_entropy, quern_cross_entropy_args)
WORKSPACE(quern_cross_entropy)
ARGS(quern_cross_entropy_stats, quern_cross_entropy_args)
WORKSPACE(quern_cross_entropy_stats)
ARGS(quern_cross_entropy_combine, quern_cross_entropy_args)

/* Arguments have only the bytes that their size states: those of an older header end before those of today. */
static int64_t rows_of(const quern_cross_entropy_args *a) {
    return a && (a->size & 0xffff) >= offsetof(quern_cross_entropy_args, rows) + sizeof a->rows ? a->rows : 0;
}

EXTENT(quern_cross_entropy_combine__parameters, shards,
       memory(a->shard_count > MOST_SHARDS_OF_NODES ? INT64_MAX
                                                    : times(times(a->shard_count, rows_of(a->args)), sizeof(quern_row_stats))))
WORKSPACE(quern_cross_entropy_combine)
ARGS(quern_cross_entropy_gradient, quern_cross_entropy_args)
WORKSPACE(quern_cross_entropy_gradient)
ARGS(quern_cross_entropy_upstream, quern_cross_entropy_args)
OPAQUE(quern_cross_entropy_upstream__parameters, stream)
ARGS(quern_cross_entropy_explain, quern_cross_entropy_args)
BUFFER(quern_cross_entropy_explain)
ONE(quern_portable_hash__parameters, hash, uint64_t)

/* ---- matrix products and the last layer ---- */

#define OPERAND(name, rows, columns) EXTENT(quern_gemm_args, name, \
    a->name##_transposed ? matrix(columns, rows, a->name##_stride, 0, a->name##_dtype) \
                         : matrix(rows, columns, a->name##_stride, 0, a->name##_dtype))
OPERAND(a, a->m, a->k)
OPERAND(b, a->k, a->n)
EXTENT(quern_gemm_args, c, matrix(a->m, a->n, a->c_stride, 0, a->c_dtype))
ONE(quern_blas_open__parameters, blas, void *)
OPAQUE(quern_blas_gemm__parameters, blas)
ARGS(quern_blas_gemm, quern_gemm_args)
OPAQUE(quern_blas_gemm__parameters, stream)

#define LAYER(field, rows, dtype) \
    EXTENT(quern_linear_cross_entropy_args, field, matrix(rows, a->width, a->field##_stride, a->width, dtype))
LAYER(hidden, a->loss.rows, a->hidden_dtype)
LAYER(weight, a->loss.vocab, a->weight_dtype)
LAYER(d_hidden, a->loss.rows, a->hidden_dtype)
LAYER(d_weight, a->loss.vocab, a->d_weight_dtype ? a->d_weight_dtype : QUERN_F32)
EXTENT(quern_linear_cross_entropy_args, bias, elements(a->loss.vocab, a->bias_dtype))
EXTENT(quern_linear_cross_entropy_args, d_bias, elements(a->loss.vocab, QUERN_F32))
OPAQUE(quern_linear_cross_entropy_args, gemm_user)
OPAQUE(quern_linear_cross_entropy_args, gather_user)
ARGS(quern_linear_cross_entropy_workspace, quern_linear_cross_entropy_args)
ONE(quern_linear_cross_entropy_workspace__parameters, bytes, size_t)
ARGS(quern_linear_cross_entropy, quern_linear_cross_entropy_args)
WORKSPACE(quern_linear_cross_entropy)

/* ---- Adam: the parent of a tensor is its arguments ---- */

static const quern_adam_args *adam_of(const void *parent) { return parent; }

static struct extent scales(const quern_adam_tensor *a) {
    return memory(a->count < 0 ? REFUSED : a->count / 32 + (a->count % 32 != 0));
}

#define PART(field, dtype) EXTENT(quern_adam_tensor, field, elements(a->count, adam_of(parent)->dtype))
#define SCALES(field) EXTENT(quern_adam_tensor, field, scales(a))
PART(param, param_dtype)
PART(grad, grad_dtype)
PART(m, m_dtype)
PART(v, v_dtype)
PART(master, master_dtype)
PART(v_max, v_dtype)
PART(copy, copy_dtype)
SCALES(m_scale)
SCALES(v_scale)
SCALES(v_max_scale)
ONE(quern_adam_tensor, copy_scale, float)
ONE(quern_adam_tensor, copy_max, float)
ONE(quern_adam_control, lr, float)
ONE(quern_adam_control, step, int64_t)
ONE(quern_adam_control, grad_scale, float)
ONE(quern_adam_control, clip, float)
ONE(quern_adam_control, found_inf, float)
EXTENT(quern_adam_args, tensors, list(a->tensor_count, a->tensor_size))
EXTENT(quern_adam_args, steps, memory(times(a->tensor_count, sizeof(int64_t))))
OPAQUE(quern_adam_args, grads)  /* addresses, one for each tensor of a plan, of which the arguments say nothing */
ARGS(quern_adam_workspace, quern_adam_args)
ONE(quern_adam_workspace__parameters, bytes, size_t)
ARGS(quern_adam, quern_adam_args)
WORKSPACE(quern_adam)
ARGS(quern_adam_explain, quern_adam_args)
BUFFER(quern_adam_explain)
ARGS(quern_adam_plan_create, quern_adam_args)
ONE(quern_adam_plan_create__parameters, plan, void *)
ARGS(quern_adam_saved_bytes, quern_adam_args)
ONE(quern_adam_saved_bytes__parameters, bytes, size_t)
ARGS(quern_adam_save, quern_adam_args)
EXTENT(quern_adam_save__parameters, saved, buffer(a->bytes))
ARGS(quern_adam_load, quern_adam_args)
EXTENT(quern_adam_load__parameters, saved, buffer(a->bytes))
ONE(quern_adam_load__parameters, step, int64_t)
ONE(quern_adam_load__parameters, seed, uint64_t)

_Static_assert(offsetof(quern_accumulate_args, grad_dtype) == offsetof(quern_gradient_norm_args, grad_dtype), "the same parent");
EXTENT(quern_gradient, grad, elements(a->count, ((const quern_accumulate_args *)parent)->grad_dtype))
/* The arguments of a norm, and those of an older program, have no main_dtype. */
static quern_dtype main_dtype(const quern_accumulate_args *a) {
    return a->size == QUERN_STRUCT_SIZE(*a) && a->main_dtype ? a->main_dtype : QUERN_F32;
}
EXTENT(quern_gradient, main_grad, elements(a->count, main_dtype(parent)))
EXTENT(quern_gradient_norm_args, gradients, list(a->gradient_count, a->gradient_size))
ONE(quern_gradient_norm_args, grad_scale_pointer, float)
ONE(quern_gradient_norm_args, norm, float)
ONE(quern_gradient_norm_args, clip, float)
ONE(quern_gradient_norm_args, found_inf, float)
OPAQUE(quern_gradient_norm_args, grads)
ARGS(quern_gradient_norm_workspace, quern_gradient_norm_args)
ONE(quern_gradient_norm_workspace__parameters, bytes, size_t)
ARGS(quern_gradient_norm, quern_gradient_norm_args)
WORKSPACE(quern_gradient_norm)
OPAQUE(quern_accumulate_args, grads)
EXTENT(quern_accumulate_args, gradients, list(a->gradient_count, a->gradient_size))
EXTENT(quern_accumulate_args, overwrite_flags, memory(times(a->gradient_count, sizeof(int32_t))))
EXTENT(quern_accumulate_args, token_counts, memory(times(a->group_count, sizeof(int64_t))))
EXTENT(quern_accumulate_args, token_places, integers(a->gradient_count, QUERN_INT32, a->group_count))
ARGS(quern_accumulate, quern_accumulate_args)
OPAQUE(quern_accumulate__parameters, stream)
ARGS(quern_accumulate_plan_create, quern_accumulate_args)
ONE(quern_accumulate_plan_create__parameters, plan, void *)

/* ---- quantisation ---- */

#define NUMBERS(field) EXTENT(quern_quantize_args, field, memory(times(a->tensor_count, sizeof(float))))
EXTENT(quern_quantize_tensor, input, elements(a->count, ((const quern_quantize_args *)parent)->input_dtype))
EXTENT(quern_quantize_tensor, output, memory(a->count))
EXTENT(quern_quantize_tensor, transposed, memory(a->count))

/* Blocks of 32 in so many lines of so many elements. */
static int64_t blocks(int64_t lines, int64_t elements) { return times(lines, elements / 32 + (elements % 32 > 0)); }
static int64_t matrix_rows(const quern_quantize_tensor *a) { return a->columns > 0 ? a->count / a->columns : 0; }
EXTENT(quern_quantize_tensor, block_scales, memory(blocks(matrix_rows(a), a->columns)))
EXTENT(quern_quantize_tensor, transposed_block_scales, memory(blocks(a->columns, matrix_rows(a))))
EXTENT(quern_quantize_args, tensors, list(a->tensor_count, a->tensor_size))
NUMBERS(amax)
NUMBERS(scale)
NUMBERS(scale_inv)
EXTENT(quern_quantize_args, history, memory(times(times(a->history_length, a->tensor_count), sizeof(float))))
ONE(quern_quantize_args, offset_pointer, uint64_t)
ONE(quern_quantize_args, noop, float)
ARGS(quern_quantize_workspace, quern_quantize_args)
ONE(quern_quantize_workspace__parameters, bytes, size_t)
ARGS(quern_quantize, quern_quantize_args)
WORKSPACE(quern_quantize)
ARGS(quern_quantize_amax, quern_quantize_args)
WORKSPACE(quern_quantize_amax)
ARGS(quern_quantize_cast, quern_quantize_args)
OPAQUE(quern_quantize_cast__parameters, stream)
ARGS(quern_quantize_explain, quern_quantize_args)
BUFFER(quern_quantize_explain)
ARGS(quern_quantize_plan_create, quern_quantize_args)
ONE(quern_quantize_plan_create__parameters, plan, void *)

/* ---- ranks ---- */

#define COUNTED(function, field, pointee) EXTENT(function##__parameters, field, memory(times(a->count, sizeof(pointee))))
#define GROUPS(function) EXTENT(function##__parameters, groups, handles(a->count))
COUNTED(quern_group_create, args, quern_group_args)
COUNTED(quern_group_create, groups, void *)
ONE(quern_group_args, hosts, quern_hosts_args)
EXTENT(quern_hosts_args, secret, buffer(a->secret_bytes))
OPAQUE(quern_hosts_args, all_gather_user)
ONE(quern_hosts_args, carrier, quern_carrier)
OPAQUE(quern_carrier, user)
GROUPS(quern_group_split)
EXTENT(quern_group_split__parameters, colours, integers(a->count, QUERN_INT32, 3))
EXTENT(quern_group_split__parameters, keys, integers(a->count, QUERN_INT32, 3))
COUNTED(quern_group_split, new_groups, void *)
GROUPS(quern_group_shrink)
COUNTED(quern_group_shrink, new_groups, void *)
EXTENT(quern_group_missing__parameters, mask, memory(times(a->words, sizeof(uint64_t))))
BUFFER(quern_group_report)
EXTENT(quern_barrier_args, members, integers(a->member_count, QUERN_INT32, 2))
ARGS(quern_barrier, quern_barrier_args)
OPAQUE(quern_barrier__parameters, stream)
GROUPS(quern_symmetric_alloc)
EXTENT(quern_symmetric_alloc__parameters, bytes, (struct extent){times(a->count, sizeof(size_t)), SIZES, 0})
COUNTED(quern_symmetric_alloc, pointers, void *)
OPAQUE(quern_symmetric_free__parameters, pointer)
OPAQUE(quern_symmetric_free__parameters, stream)
GROUPS(quern_symmetric_register)
COUNTED(quern_symmetric_register, pointers, void *)
EXTENT(quern_symmetric_register__parameters, bytes, (struct extent){times(a->count, sizeof(size_t)), SIZES, 0})
OPAQUE(quern_symmetric_unregister__parameters, pointer)
OPAQUE(quern_symmetric_unregister__parameters, stream)
OPAQUE(quern_symmetric_peer__parameters, pointer)
ONE(quern_symmetric_peer__parameters, peer, void *)
OPAQUE(quern_symmetric_multicast__parameters, pointer)
ONE(quern_symmetric_multicast__parameters, multicast, void *)

/* If no test sets the number of ranks, for the largest group: the fuzzer chooses members after the metadata. */
static int64_t entries(const quern_ragged_all_to_all_args *a) {
    return times(a->members && header_ranks != MOST_RANKS ? a->member_count : header_ranks, a->updates);
}

#define METADATA(field, limit) EXTENT(quern_ragged_all_to_all_args, field, integers(entries(a), a->metadata_dtype, limit))
EXTENT(quern_ragged_all_to_all_args, input, memory(times(a->input_rows, a->row_bytes)))
EXTENT(quern_ragged_all_to_all_args, output, memory(times(a->output_rows, a->row_bytes)))
METADATA(input_offsets, a->input_rows)
METADATA(send_sizes, a->input_rows)
METADATA(output_offsets, a->output_rows)
METADATA(recv_sizes, a->output_rows)
EXTENT(quern_ragged_all_to_all_args, members, integers(a->member_count, QUERN_INT32, 2))
ARGS(quern_ragged_all_to_all_workspace, quern_ragged_all_to_all_args)
ONE(quern_ragged_all_to_all_workspace__parameters, bytes, size_t)
ARGS(quern_ragged_all_to_all, quern_ragged_all_to_all_args)
WORKSPACE(quern_ragged_all_to_all)

/* The larger buffer of any of the operations, since all share the struct. */
static int64_t pieces(const quern_collective_args *a) {
    const int64_t step = a->input_stride ? a->input_stride : a->count;
    return times(a->members && header_ranks != MOST_RANKS ? a->member_count : header_ranks, step);
}

EXTENT(quern_collective_args, input, elements(pieces(a), a->dtype))
EXTENT(quern_collective_args, output, elements(pieces(a), a->dtype))
EXTENT(quern_collective_args, members, integers(a->member_count, QUERN_INT32, 2))
ARGS(quern_collective_workspace, quern_collective_args)
ONE(quern_collective_workspace__parameters, bytes, size_t)
ARGS(quern_all_gather, quern_collective_args)
WORKSPACE(quern_all_gather)
ARGS(quern_reduce_scatter, quern_collective_args)
WORKSPACE(quern_reduce_scatter)
ARGS(quern_all_reduce, quern_collective_args)
WORKSPACE(quern_all_reduce)
ARGS(quern_broadcast, quern_collective_args)
WORKSPACE(quern_broadcast)
EXTENT(quern_group_gather_args, workspace, buffer(a->workspace_bytes))
OPAQUE(quern_group_gather__parameters, args)
EXTENT(quern_group_gather__parameters, mine, buffer(a->bytes))
EXTENT(quern_group_gather__parameters, all, memory(a->bytes > 1 << 20 ? REFUSED : times((int64_t)a->bytes, header_ranks)))
OPAQUE(quern_group_gather__parameters, stream)
GROUPS(quern_ragged_plan_create)
COUNTED(quern_ragged_plan_create, args, quern_ragged_all_to_all_args)
COUNTED(quern_ragged_plan_create, workspaces, void *)
EXTENT(quern_ragged_plan_create__parameters, workspace_bytes, (struct extent){times(a->count, sizeof(size_t)), SIZES, 0})
COUNTED(quern_ragged_plan_create, plans, void *)
OPAQUE(quern_ragged_plan_run__parameters, stream)

#define SIZES_OF(field) EXTENT(quern_ragged_sizes_args, field, integers(times(header_ranks, a->updates), a->metadata_dtype, 8))
SIZES_OF(send_sizes)
SIZES_OF(input_offsets)
SIZES_OF(output_offsets)
SIZES_OF(recv_sizes)
ONE(quern_ragged_sizes_args, input_rows, int64_t)
ONE(quern_ragged_sizes_args, output_rows, int64_t)
GROUPS(quern_ragged_sizes)
COUNTED(quern_ragged_sizes, args, quern_ragged_sizes_args)

/* As in pieces: of all members, each of whose tensors has so many chunks. */
static int64_t places(const quern_quantize_chunks_args *a) {
    return a->members && header_ranks != MOST_RANKS ? a->member_count : header_ranks;
}
static int64_t chunks(const quern_quantize_chunks_args *a) {
    return a->rows < 0 || a->chunk_rows < 1 ? REFUSED : a->rows / a->chunk_rows + (a->rows % a->chunk_rows > 0);
}
EXTENT(quern_quantize_chunks_args, input, elements(times(a->rows, a->columns), a->input_dtype))
EXTENT(quern_quantize_chunks_args, output, memory(times(places(a), times(a->rows, a->columns))))
EXTENT(quern_quantize_chunks_args, ready, memory(times(times(places(a), chunks(a)), sizeof(uint32_t))))
EXTENT(quern_quantize_chunks_args, block_scales, memory(times(places(a), blocks(a->rows, a->columns))))
EXTENT(quern_quantize_chunks_args, order, integers(chunks(a), QUERN_INT32, chunks(a)))
ONE(quern_quantize_chunks_args, amax, float)
ONE(quern_quantize_chunks_args, scale, float)
ONE(quern_quantize_chunks_args, scale_inv, float)
ONE(quern_quantize_chunks_args, offset_pointer, uint64_t)
EXTENT(quern_quantize_chunks_args, members, integers(a->member_count, QUERN_INT32, 2))
ARGS(quern_quantize_chunks_workspace, quern_quantize_chunks_args)
ONE(quern_quantize_chunks_workspace__parameters, bytes, size_t)
ARGS(quern_quantize_chunks, quern_quantize_chunks_args)
WORKSPACE(quern_quantize_chunks)
EXTENT(quern_chunk_wait__parameters, ready, memory(times(a->count, sizeof(uint32_t))))
OPAQUE(quern_chunk_wait__parameters, stream)
OPAQUE(quern_symmetric_view__parameters, pointer)
OPAQUE(quern_device_view, poison)
OPAQUE(quern_device_view, multicast)
OPAQUE(quern_device_view, peer)
ONE(quern_symmetric_view__parameters, view, quern_device_view)
EXTENT(quern_transfer_item, memory, memory(a->bytes))
EXTENT(quern_transfer_args, items, list(a->item_count, a->item_size))
ARGS(quern_transfer_prepare, quern_transfer_args)
ONE(quern_transfer_prepare__parameters, transfer, void *)
OPAQUE(quern_transfer_start__parameters, stream)
ONE(quern_transfer_test__parameters, done, int32_t)
OPAQUE(quern_transfer_wait_on__parameters, stream)
ONE(quern_transfer_wait_on__parameters, status, uint32_t)

#endif
