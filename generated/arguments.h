/*
 * The numbers among the arguments of each operation, for those who look at its calls (src/runtime/look.h): X(type, field, KIND).
 *
 * Rendered by gen/ from templates/bindings/arguments.h.j2; do not edit.
 */
#ifndef QUERN_GENERATED_ARGUMENTS_H
#define QUERN_GENERATED_ARGUMENTS_H
#define QUERN_ARGUMENTS_OF_quern_cross_entropy_args(X) \
    X(quern_cross_entropy_args, logits_dtype, DTYPE) \
    X(quern_cross_entropy_args, labels_dtype, DTYPE) \
    X(quern_cross_entropy_args, reduction, INT32) \
    X(quern_cross_entropy_args, rows, INT64) \
    X(quern_cross_entropy_args, vocab, INT64) \
    X(quern_cross_entropy_args, logits_stride, INT64) \
    X(quern_cross_entropy_args, ignore_index, INT64) \
    X(quern_cross_entropy_args, grad_dtype, DTYPE) \
    X(quern_cross_entropy_args, grad_stride, INT64) \
    X(quern_cross_entropy_args, grad_loss_stride, INT64) \
    X(quern_cross_entropy_args, grad_scale, FLOAT) \
    X(quern_cross_entropy_args, label_smoothing, FLOAT) \
    X(quern_cross_entropy_args, z_loss, FLOAT) \
    X(quern_cross_entropy_args, softcap, FLOAT) \
    X(quern_cross_entropy_args, padded_vocab, INT64) \
    X(quern_cross_entropy_args, first_column, INT64) \
    X(quern_cross_entropy_args, global_vocab, INT64) \
    X(quern_cross_entropy_args, strict_labels, INT32) \
    X(quern_cross_entropy_args, inverse_temperature, FLOAT) \
    X(quern_cross_entropy_args, grad_log_prob_stride, INT64) \
    X(quern_cross_entropy_args, grad_entropy_stride, INT64) \
    X(quern_cross_entropy_args, bits, INT32) \
    X(quern_cross_entropy_args, top_k, INT64) \
    X(quern_cross_entropy_args, given_count, INT64) \
    X(quern_cross_entropy_args, divergence_kind, INT32) \
    X(quern_cross_entropy_args, has_tail, INT32) \
    X(quern_cross_entropy_args, grad_divergence_stride, INT64) \
    X(quern_cross_entropy_args, soft_targets_dtype, DTYPE) \
    X(quern_cross_entropy_args, soft_targets_stride, INT64)
#define QUERN_ARGUMENTS_OF_quern_gemm_args(X) \
    X(quern_gemm_args, accumulate, INT32) \
    X(quern_gemm_args, m, INT64) \
    X(quern_gemm_args, n, INT64) \
    X(quern_gemm_args, k, INT64) \
    X(quern_gemm_args, a_dtype, DTYPE) \
    X(quern_gemm_args, b_dtype, DTYPE) \
    X(quern_gemm_args, c_dtype, DTYPE) \
    X(quern_gemm_args, a_transposed, INT32) \
    X(quern_gemm_args, b_transposed, INT32) \
    X(quern_gemm_args, a_stride, INT64) \
    X(quern_gemm_args, b_stride, INT64) \
    X(quern_gemm_args, c_stride, INT64)
#define QUERN_ARGUMENTS_OF_quern_linear_cross_entropy_args(X) \
    X(quern_linear_cross_entropy_args, hidden_dtype, DTYPE) \
    X(quern_linear_cross_entropy_args, weight_dtype, DTYPE) \
    X(quern_linear_cross_entropy_args, accumulate_weight, INT32) \
    X(quern_linear_cross_entropy_args, loss.logits_dtype, DTYPE) \
    X(quern_linear_cross_entropy_args, loss.labels_dtype, DTYPE) \
    X(quern_linear_cross_entropy_args, loss.reduction, INT32) \
    X(quern_linear_cross_entropy_args, loss.rows, INT64) \
    X(quern_linear_cross_entropy_args, loss.vocab, INT64) \
    X(quern_linear_cross_entropy_args, loss.logits_stride, INT64) \
    X(quern_linear_cross_entropy_args, loss.ignore_index, INT64) \
    X(quern_linear_cross_entropy_args, loss.grad_dtype, DTYPE) \
    X(quern_linear_cross_entropy_args, loss.grad_stride, INT64) \
    X(quern_linear_cross_entropy_args, loss.grad_loss_stride, INT64) \
    X(quern_linear_cross_entropy_args, loss.grad_scale, FLOAT) \
    X(quern_linear_cross_entropy_args, loss.label_smoothing, FLOAT) \
    X(quern_linear_cross_entropy_args, loss.z_loss, FLOAT) \
    X(quern_linear_cross_entropy_args, loss.softcap, FLOAT) \
    X(quern_linear_cross_entropy_args, loss.padded_vocab, INT64) \
    X(quern_linear_cross_entropy_args, loss.first_column, INT64) \
    X(quern_linear_cross_entropy_args, loss.global_vocab, INT64) \
    X(quern_linear_cross_entropy_args, loss.strict_labels, INT32) \
    X(quern_linear_cross_entropy_args, loss.inverse_temperature, FLOAT) \
    X(quern_linear_cross_entropy_args, loss.grad_log_prob_stride, INT64) \
    X(quern_linear_cross_entropy_args, loss.grad_entropy_stride, INT64) \
    X(quern_linear_cross_entropy_args, loss.bits, INT32) \
    X(quern_linear_cross_entropy_args, loss.top_k, INT64) \
    X(quern_linear_cross_entropy_args, loss.given_count, INT64) \
    X(quern_linear_cross_entropy_args, loss.divergence_kind, INT32) \
    X(quern_linear_cross_entropy_args, loss.has_tail, INT32) \
    X(quern_linear_cross_entropy_args, loss.grad_divergence_stride, INT64) \
    X(quern_linear_cross_entropy_args, loss.soft_targets_dtype, DTYPE) \
    X(quern_linear_cross_entropy_args, loss.soft_targets_stride, INT64) \
    X(quern_linear_cross_entropy_args, width, INT64) \
    X(quern_linear_cross_entropy_args, hidden_stride, INT64) \
    X(quern_linear_cross_entropy_args, weight_stride, INT64) \
    X(quern_linear_cross_entropy_args, d_hidden_stride, INT64) \
    X(quern_linear_cross_entropy_args, d_weight_stride, INT64) \
    X(quern_linear_cross_entropy_args, chunk_rows, INT64) \
    X(quern_linear_cross_entropy_args, d_weight_dtype, DTYPE) \
    X(quern_linear_cross_entropy_args, bias_dtype, DTYPE) \
    X(quern_linear_cross_entropy_args, shard_count, INT64)
#define QUERN_ARGUMENTS_OF_quern_adam_args(X) \
    X(quern_adam_args, tensor_size, UINT32) \
    X(quern_adam_args, param_dtype, DTYPE) \
    X(quern_adam_args, grad_dtype, DTYPE) \
    X(quern_adam_args, m_dtype, DTYPE) \
    X(quern_adam_args, v_dtype, DTYPE) \
    X(quern_adam_args, master_dtype, DTYPE) \
    X(quern_adam_args, mode, INT32) \
    X(quern_adam_args, tensor_count, INT64) \
    X(quern_adam_args, lr, DOUBLE) \
    X(quern_adam_args, beta1, DOUBLE) \
    X(quern_adam_args, beta2, DOUBLE) \
    X(quern_adam_args, eps, DOUBLE) \
    X(quern_adam_args, weight_decay, DOUBLE) \
    X(quern_adam_args, step, INT64) \
    X(quern_adam_args, seed, UINT64) \
    X(quern_adam_args, param_rounding, INT32) \
    X(quern_adam_args, m_rounding, INT32) \
    X(quern_adam_args, v_rounding, INT32) \
    X(quern_adam_args, eps_mode, INT32) \
    X(quern_adam_args, amsgrad, INT32) \
    X(quern_adam_args, maximize, INT32) \
    X(quern_adam_args, zero_grads, INT32) \
    X(quern_adam_args, use_multipliers, INT32) \
    X(quern_adam_args, copy_dtype, DTYPE) \
    X(quern_adam_args, grad_scale, DOUBLE) \
    X(quern_adam_args, bias1, DOUBLE) \
    X(quern_adam_args, bias2, DOUBLE)
#define QUERN_ARGUMENTS_OF_quern_gradient_norm_args(X) \
    X(quern_gradient_norm_args, gradient_size, UINT32) \
    X(quern_gradient_norm_args, grad_dtype, DTYPE) \
    X(quern_gradient_norm_args, gradient_count, INT64) \
    X(quern_gradient_norm_args, max_norm, DOUBLE) \
    X(quern_gradient_norm_args, grad_scale, DOUBLE)
#define QUERN_ARGUMENTS_OF_quern_accumulate_args(X) \
    X(quern_accumulate_args, gradient_size, UINT32) \
    X(quern_accumulate_args, grad_dtype, DTYPE) \
    X(quern_accumulate_args, zero_grads, INT32) \
    X(quern_accumulate_args, gradient_count, INT64) \
    X(quern_accumulate_args, scale, DOUBLE) \
    X(quern_accumulate_args, main_dtype, DTYPE) \
    X(quern_accumulate_args, overwrite, INT32) \
    X(quern_accumulate_args, group_count, INT64)
#define QUERN_ARGUMENTS_OF_quern_quantize_args(X) \
    X(quern_quantize_args, tensor_size, UINT32) \
    X(quern_quantize_args, input_dtype, DTYPE) \
    X(quern_quantize_args, output_dtype, DTYPE) \
    X(quern_quantize_args, tensor_count, INT64) \
    X(quern_quantize_args, eps, DOUBLE) \
    X(quern_quantize_args, power_of_two, INT32) \
    X(quern_quantize_args, rounding, INT32) \
    X(quern_quantize_args, seed, UINT64) \
    X(quern_quantize_args, offset, UINT64) \
    X(quern_quantize_args, history_length, INT64) \
    X(quern_quantize_args, scaling, INT32)
#define QUERN_ARGUMENTS_OF_quern_barrier_args(X) \
    X(quern_barrier_args, member_count, INT32) \
    X(quern_barrier_args, timeout, DOUBLE)
#define QUERN_ARGUMENTS_OF_quern_ragged_all_to_all_args(X) \
    X(quern_ragged_all_to_all_args, metadata_dtype, DTYPE) \
    X(quern_ragged_all_to_all_args, input_rows, INT64) \
    X(quern_ragged_all_to_all_args, output_rows, INT64) \
    X(quern_ragged_all_to_all_args, row_bytes, INT64) \
    X(quern_ragged_all_to_all_args, updates, INT64) \
    X(quern_ragged_all_to_all_args, metadata_on_device, INT32) \
    X(quern_ragged_all_to_all_args, check_overlap, INT32) \
    X(quern_ragged_all_to_all_args, member_count, INT32) \
    X(quern_ragged_all_to_all_args, multiprocessors, INT32) \
    X(quern_ragged_all_to_all_args, timeout, DOUBLE)
#define QUERN_ARGUMENTS_OF_quern_collective_args(X) \
    X(quern_collective_args, dtype, DTYPE) \
    X(quern_collective_args, count, INT64) \
    X(quern_collective_args, combination, INT32) \
    X(quern_collective_args, root, INT32) \
    X(quern_collective_args, member_count, INT32) \
    X(quern_collective_args, multiprocessors, INT32) \
    X(quern_collective_args, timeout, DOUBLE) \
    X(quern_collective_args, input_stride, INT64) \
    X(quern_collective_args, order, INT32)
#define QUERN_ARGUMENTS_OF_quern_quantize_chunks_args(X) \
    X(quern_quantize_chunks_args, input_dtype, DTYPE) \
    X(quern_quantize_chunks_args, output_dtype, DTYPE) \
    X(quern_quantize_chunks_args, ready_value, UINT32) \
    X(quern_quantize_chunks_args, rows, INT64) \
    X(quern_quantize_chunks_args, columns, INT64) \
    X(quern_quantize_chunks_args, chunk_rows, INT64) \
    X(quern_quantize_chunks_args, eps, DOUBLE) \
    X(quern_quantize_chunks_args, power_of_two, INT32) \
    X(quern_quantize_chunks_args, rounding, INT32) \
    X(quern_quantize_chunks_args, seed, UINT64) \
    X(quern_quantize_chunks_args, offset, UINT64) \
    X(quern_quantize_chunks_args, member_count, INT32) \
    X(quern_quantize_chunks_args, multiprocessors, INT32) \
    X(quern_quantize_chunks_args, timeout, DOUBLE) \
    X(quern_quantize_chunks_args, scaling, INT32)
#endif
