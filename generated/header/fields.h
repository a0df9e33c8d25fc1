/*
 * The fields of every struct of arguments but its size, the parameters of every function that reads such a struct, and these
 * functions, as lists for macros.  tests/fields/ has a row for each of them: one without is an error of the compiler.
 *
 * Rendered by gen/ from templates/bindings/header_fields.h.j2; do not edit.
 */
#ifndef QUERN_GENERATED_HEADER_FIELDS_H
#define QUERN_GENERATED_HEADER_FIELDS_H
#define FIELDS_OF_quern_dump_args(ROW) \
    ROW(quern_dump_args, folder) \
    ROW(quern_dump_args, filter) \
    ROW(quern_dump_args, step) \
    ROW(quern_dump_args, most_bytes)

#define FIELDS_OF_quern_cross_entropy_args(ROW) \
    ROW(quern_cross_entropy_args, logits_dtype) \
    ROW(quern_cross_entropy_args, labels_dtype) \
    ROW(quern_cross_entropy_args, reduction) \
    ROW(quern_cross_entropy_args, rows) \
    ROW(quern_cross_entropy_args, vocab) \
    ROW(quern_cross_entropy_args, logits) \
    ROW(quern_cross_entropy_args, logits_stride) \
    ROW(quern_cross_entropy_args, labels) \
    ROW(quern_cross_entropy_args, ignore_index) \
    ROW(quern_cross_entropy_args, loss) \
    ROW(quern_cross_entropy_args, grad) \
    ROW(quern_cross_entropy_args, grad_dtype) \
    ROW(quern_cross_entropy_args, grad_stride) \
    ROW(quern_cross_entropy_args, grad_loss) \
    ROW(quern_cross_entropy_args, grad_loss_stride) \
    ROW(quern_cross_entropy_args, grad_scale) \
    ROW(quern_cross_entropy_args, report) \
    ROW(quern_cross_entropy_args, label_smoothing) \
    ROW(quern_cross_entropy_args, z_loss) \
    ROW(quern_cross_entropy_args, softcap) \
    ROW(quern_cross_entropy_args, class_weights) \
    ROW(quern_cross_entropy_args, padded_vocab) \
    ROW(quern_cross_entropy_args, lse) \
    ROW(quern_cross_entropy_args, log_prob) \
    ROW(quern_cross_entropy_args, entropy) \
    ROW(quern_cross_entropy_args, argmax) \
    ROW(quern_cross_entropy_args, stats) \
    ROW(quern_cross_entropy_args, first_column) \
    ROW(quern_cross_entropy_args, global_vocab) \
    ROW(quern_cross_entropy_args, strict_labels) \
    ROW(quern_cross_entropy_args, inverse_temperature) \
    ROW(quern_cross_entropy_args, inverse_temperatures) \
    ROW(quern_cross_entropy_args, grad_log_prob) \
    ROW(quern_cross_entropy_args, grad_log_prob_stride) \
    ROW(quern_cross_entropy_args, grad_entropy) \
    ROW(quern_cross_entropy_args, grad_entropy_stride) \
    ROW(quern_cross_entropy_args, bits) \
    ROW(quern_cross_entropy_args, nodes) \
    ROW(quern_cross_entropy_args, top_k) \
    ROW(quern_cross_entropy_args, top_ids) \
    ROW(quern_cross_entropy_args, top_log_probs) \
    ROW(quern_cross_entropy_args, given_count) \
    ROW(quern_cross_entropy_args, given_ids) \
    ROW(quern_cross_entropy_args, given_log_probs) \
    ROW(quern_cross_entropy_args, shard_top_ids) \
    ROW(quern_cross_entropy_args, shard_top_logits) \
    ROW(quern_cross_entropy_args, shard_given_logits) \
    ROW(quern_cross_entropy_args, target_probs) \
    ROW(quern_cross_entropy_args, divergence_kind) \
    ROW(quern_cross_entropy_args, has_tail) \
    ROW(quern_cross_entropy_args, divergence) \
    ROW(quern_cross_entropy_args, grad_divergence) \
    ROW(quern_cross_entropy_args, grad_divergence_stride) \
    ROW(quern_cross_entropy_args, soft_targets_dtype) \
    ROW(quern_cross_entropy_args, soft_targets) \
    ROW(quern_cross_entropy_args, soft_targets_stride)

#define FIELDS_OF_quern_gemm_args(ROW) \
    ROW(quern_gemm_args, accumulate) \
    ROW(quern_gemm_args, m) \
    ROW(quern_gemm_args, n) \
    ROW(quern_gemm_args, k) \
    ROW(quern_gemm_args, a) \
    ROW(quern_gemm_args, b) \
    ROW(quern_gemm_args, c) \
    ROW(quern_gemm_args, a_dtype) \
    ROW(quern_gemm_args, b_dtype) \
    ROW(quern_gemm_args, c_dtype) \
    ROW(quern_gemm_args, a_transposed) \
    ROW(quern_gemm_args, b_transposed) \
    ROW(quern_gemm_args, a_stride) \
    ROW(quern_gemm_args, b_stride) \
    ROW(quern_gemm_args, c_stride)

#define FIELDS_OF_quern_linear_cross_entropy_args(ROW) \
    ROW(quern_linear_cross_entropy_args, hidden_dtype) \
    ROW(quern_linear_cross_entropy_args, weight_dtype) \
    ROW(quern_linear_cross_entropy_args, accumulate_weight) \
    ROW(quern_linear_cross_entropy_args, loss) \
    ROW(quern_linear_cross_entropy_args, width) \
    ROW(quern_linear_cross_entropy_args, hidden) \
    ROW(quern_linear_cross_entropy_args, hidden_stride) \
    ROW(quern_linear_cross_entropy_args, weight) \
    ROW(quern_linear_cross_entropy_args, weight_stride) \
    ROW(quern_linear_cross_entropy_args, d_hidden) \
    ROW(quern_linear_cross_entropy_args, d_hidden_stride) \
    ROW(quern_linear_cross_entropy_args, d_weight) \
    ROW(quern_linear_cross_entropy_args, d_weight_stride) \
    ROW(quern_linear_cross_entropy_args, chunk_rows) \
    ROW(quern_linear_cross_entropy_args, gemm) \
    ROW(quern_linear_cross_entropy_args, gemm_user) \
    ROW(quern_linear_cross_entropy_args, d_weight_dtype) \
    ROW(quern_linear_cross_entropy_args, bias_dtype) \
    ROW(quern_linear_cross_entropy_args, accumulate) \
    ROW(quern_linear_cross_entropy_args, bias) \
    ROW(quern_linear_cross_entropy_args, d_bias) \
    ROW(quern_linear_cross_entropy_args, shard_count) \
    ROW(quern_linear_cross_entropy_args, gather) \
    ROW(quern_linear_cross_entropy_args, gather_user)

#define FIELDS_OF_quern_adam_tensor(ROW) \
    ROW(quern_adam_tensor, param) \
    ROW(quern_adam_tensor, grad) \
    ROW(quern_adam_tensor, m) \
    ROW(quern_adam_tensor, v) \
    ROW(quern_adam_tensor, master) \
    ROW(quern_adam_tensor, count) \
    ROW(quern_adam_tensor, m_scale) \
    ROW(quern_adam_tensor, v_scale) \
    ROW(quern_adam_tensor, v_max) \
    ROW(quern_adam_tensor, v_max_scale) \
    ROW(quern_adam_tensor, copy) \
    ROW(quern_adam_tensor, copy_scale) \
    ROW(quern_adam_tensor, copy_max) \
    ROW(quern_adam_tensor, lr_multiplier) \
    ROW(quern_adam_tensor, weight_decay_multiplier)

#define FIELDS_OF_quern_adam_control(ROW) \
    ROW(quern_adam_control, lr) \
    ROW(quern_adam_control, step) \
    ROW(quern_adam_control, grad_scale) \
    ROW(quern_adam_control, clip) \
    ROW(quern_adam_control, found_inf)

#define FIELDS_OF_quern_adam_args(ROW) \
    ROW(quern_adam_args, tensor_size) \
    ROW(quern_adam_args, param_dtype) \
    ROW(quern_adam_args, grad_dtype) \
    ROW(quern_adam_args, m_dtype) \
    ROW(quern_adam_args, v_dtype) \
    ROW(quern_adam_args, master_dtype) \
    ROW(quern_adam_args, mode) \
    ROW(quern_adam_args, tensors) \
    ROW(quern_adam_args, tensor_count) \
    ROW(quern_adam_args, lr) \
    ROW(quern_adam_args, beta1) \
    ROW(quern_adam_args, beta2) \
    ROW(quern_adam_args, eps) \
    ROW(quern_adam_args, weight_decay) \
    ROW(quern_adam_args, step) \
    ROW(quern_adam_args, seed) \
    ROW(quern_adam_args, param_rounding) \
    ROW(quern_adam_args, m_rounding) \
    ROW(quern_adam_args, v_rounding) \
    ROW(quern_adam_args, eps_mode) \
    ROW(quern_adam_args, amsgrad) \
    ROW(quern_adam_args, maximize) \
    ROW(quern_adam_args, zero_grads) \
    ROW(quern_adam_args, use_multipliers) \
    ROW(quern_adam_args, copy_dtype) \
    ROW(quern_adam_args, grad_scale) \
    ROW(quern_adam_args, control) \
    ROW(quern_adam_args, plan) \
    ROW(quern_adam_args, grads) \
    ROW(quern_adam_args, bias1) \
    ROW(quern_adam_args, bias2) \
    ROW(quern_adam_args, steps)

#define FIELDS_OF_quern_gradient(ROW) \
    ROW(quern_gradient, grad) \
    ROW(quern_gradient, main_grad) \
    ROW(quern_gradient, count)

#define FIELDS_OF_quern_gradient_norm_args(ROW) \
    ROW(quern_gradient_norm_args, gradient_size) \
    ROW(quern_gradient_norm_args, grad_dtype) \
    ROW(quern_gradient_norm_args, gradients) \
    ROW(quern_gradient_norm_args, gradient_count) \
    ROW(quern_gradient_norm_args, plan) \
    ROW(quern_gradient_norm_args, max_norm) \
    ROW(quern_gradient_norm_args, grad_scale) \
    ROW(quern_gradient_norm_args, grad_scale_pointer) \
    ROW(quern_gradient_norm_args, norm) \
    ROW(quern_gradient_norm_args, clip) \
    ROW(quern_gradient_norm_args, found_inf) \
    ROW(quern_gradient_norm_args, grads)

#define FIELDS_OF_quern_accumulate_args(ROW) \
    ROW(quern_accumulate_args, gradient_size) \
    ROW(quern_accumulate_args, grad_dtype) \
    ROW(quern_accumulate_args, zero_grads) \
    ROW(quern_accumulate_args, gradients) \
    ROW(quern_accumulate_args, gradient_count) \
    ROW(quern_accumulate_args, scale) \
    ROW(quern_accumulate_args, main_dtype) \
    ROW(quern_accumulate_args, overwrite) \
    ROW(quern_accumulate_args, plan) \
    ROW(quern_accumulate_args, overwrite_flags) \
    ROW(quern_accumulate_args, token_counts) \
    ROW(quern_accumulate_args, group_count) \
    ROW(quern_accumulate_args, token_places) \
    ROW(quern_accumulate_args, grads)

#define FIELDS_OF_quern_quantize_tensor(ROW) \
    ROW(quern_quantize_tensor, input) \
    ROW(quern_quantize_tensor, output) \
    ROW(quern_quantize_tensor, count) \
    ROW(quern_quantize_tensor, columns) \
    ROW(quern_quantize_tensor, transposed) \
    ROW(quern_quantize_tensor, block_scales) \
    ROW(quern_quantize_tensor, transposed_block_scales)

#define FIELDS_OF_quern_quantize_args(ROW) \
    ROW(quern_quantize_args, tensor_size) \
    ROW(quern_quantize_args, input_dtype) \
    ROW(quern_quantize_args, output_dtype) \
    ROW(quern_quantize_args, tensors) \
    ROW(quern_quantize_args, tensor_count) \
    ROW(quern_quantize_args, amax) \
    ROW(quern_quantize_args, scale) \
    ROW(quern_quantize_args, scale_inv) \
    ROW(quern_quantize_args, eps) \
    ROW(quern_quantize_args, power_of_two) \
    ROW(quern_quantize_args, rounding) \
    ROW(quern_quantize_args, seed) \
    ROW(quern_quantize_args, offset) \
    ROW(quern_quantize_args, offset_pointer) \
    ROW(quern_quantize_args, noop) \
    ROW(quern_quantize_args, history) \
    ROW(quern_quantize_args, history_length) \
    ROW(quern_quantize_args, plan) \
    ROW(quern_quantize_args, scaling)

#define FIELDS_OF_quern_carrier(ROW) \
    ROW(quern_carrier, threads) \
    ROW(quern_carrier, name) \
    ROW(quern_carrier, user) \
    ROW(quern_carrier, tags) \
    ROW(quern_carrier, longest) \
    ROW(quern_carrier, borrows) \
    ROW(quern_carrier, send) \
    ROW(quern_carrier, receive) \
    ROW(quern_carrier, test) \
    ROW(quern_carrier, cancel)

#define FIELDS_OF_quern_hosts_args(ROW) \
    ROW(quern_hosts_args, host_ranks) \
    ROW(quern_hosts_args, meet) \
    ROW(quern_hosts_args, secret) \
    ROW(quern_hosts_args, secret_bytes) \
    ROW(quern_hosts_args, host) \
    ROW(quern_hosts_args, all_gather) \
    ROW(quern_hosts_args, all_gather_user) \
    ROW(quern_hosts_args, carrier) \
    ROW(quern_hosts_args, transports) \
    ROW(quern_hosts_args, failure_timeout)

#define FIELDS_OF_quern_group_args(ROW) \
    ROW(quern_group_args, rank) \
    ROW(quern_group_args, ranks) \
    ROW(quern_group_args, name) \
    ROW(quern_group_args, device) \
    ROW(quern_group_args, timeout) \
    ROW(quern_group_args, share_gpu) \
    ROW(quern_group_args, first_epoch) \
    ROW(quern_group_args, first_timeout) \
    ROW(quern_group_args, job) \
    ROW(quern_group_args, multicast) \
    ROW(quern_group_args, hosts) \
    ROW(quern_group_args, progress) \
    ROW(quern_group_args, progress_core)

#define FIELDS_OF_quern_barrier_args(ROW) \
    ROW(quern_barrier_args, members) \
    ROW(quern_barrier_args, member_count) \
    ROW(quern_barrier_args, timeout)

#define FIELDS_OF_quern_ragged_all_to_all_args(ROW) \
    ROW(quern_ragged_all_to_all_args, metadata_dtype) \
    ROW(quern_ragged_all_to_all_args, input) \
    ROW(quern_ragged_all_to_all_args, input_rows) \
    ROW(quern_ragged_all_to_all_args, output) \
    ROW(quern_ragged_all_to_all_args, output_rows) \
    ROW(quern_ragged_all_to_all_args, row_bytes) \
    ROW(quern_ragged_all_to_all_args, updates) \
    ROW(quern_ragged_all_to_all_args, input_offsets) \
    ROW(quern_ragged_all_to_all_args, send_sizes) \
    ROW(quern_ragged_all_to_all_args, output_offsets) \
    ROW(quern_ragged_all_to_all_args, recv_sizes) \
    ROW(quern_ragged_all_to_all_args, metadata_on_device) \
    ROW(quern_ragged_all_to_all_args, check_overlap) \
    ROW(quern_ragged_all_to_all_args, members) \
    ROW(quern_ragged_all_to_all_args, member_count) \
    ROW(quern_ragged_all_to_all_args, multiprocessors) \
    ROW(quern_ragged_all_to_all_args, timeout)

#define FIELDS_OF_quern_ragged_sizes_args(ROW) \
    ROW(quern_ragged_sizes_args, metadata_dtype) \
    ROW(quern_ragged_sizes_args, updates) \
    ROW(quern_ragged_sizes_args, send_sizes) \
    ROW(quern_ragged_sizes_args, input_offsets) \
    ROW(quern_ragged_sizes_args, output_offsets) \
    ROW(quern_ragged_sizes_args, recv_sizes) \
    ROW(quern_ragged_sizes_args, input_rows) \
    ROW(quern_ragged_sizes_args, output_rows)

#define FIELDS_OF_quern_collective_args(ROW) \
    ROW(quern_collective_args, dtype) \
    ROW(quern_collective_args, input) \
    ROW(quern_collective_args, output) \
    ROW(quern_collective_args, count) \
    ROW(quern_collective_args, combination) \
    ROW(quern_collective_args, root) \
    ROW(quern_collective_args, members) \
    ROW(quern_collective_args, member_count) \
    ROW(quern_collective_args, multiprocessors) \
    ROW(quern_collective_args, timeout) \
    ROW(quern_collective_args, input_stride) \
    ROW(quern_collective_args, order)

#define FIELDS_OF_quern_group_gather_args(ROW) \
    ROW(quern_group_gather_args, group) \
    ROW(quern_group_gather_args, collective) \
    ROW(quern_group_gather_args, workspace) \
    ROW(quern_group_gather_args, workspace_bytes)

#define FIELDS_OF_quern_quantize_chunks_args(ROW) \
    ROW(quern_quantize_chunks_args, input_dtype) \
    ROW(quern_quantize_chunks_args, output_dtype) \
    ROW(quern_quantize_chunks_args, input) \
    ROW(quern_quantize_chunks_args, output) \
    ROW(quern_quantize_chunks_args, ready) \
    ROW(quern_quantize_chunks_args, ready_value) \
    ROW(quern_quantize_chunks_args, rows) \
    ROW(quern_quantize_chunks_args, columns) \
    ROW(quern_quantize_chunks_args, chunk_rows) \
    ROW(quern_quantize_chunks_args, order) \
    ROW(quern_quantize_chunks_args, amax) \
    ROW(quern_quantize_chunks_args, scale) \
    ROW(quern_quantize_chunks_args, scale_inv) \
    ROW(quern_quantize_chunks_args, eps) \
    ROW(quern_quantize_chunks_args, power_of_two) \
    ROW(quern_quantize_chunks_args, rounding) \
    ROW(quern_quantize_chunks_args, seed) \
    ROW(quern_quantize_chunks_args, offset) \
    ROW(quern_quantize_chunks_args, offset_pointer) \
    ROW(quern_quantize_chunks_args, members) \
    ROW(quern_quantize_chunks_args, member_count) \
    ROW(quern_quantize_chunks_args, multiprocessors) \
    ROW(quern_quantize_chunks_args, timeout) \
    ROW(quern_quantize_chunks_args, scaling) \
    ROW(quern_quantize_chunks_args, block_scales)

#define FIELDS_OF_quern_device_view(ROW) \
    ROW(quern_device_view, rank) \
    ROW(quern_device_view, ranks) \
    ROW(quern_device_view, unused) \
    ROW(quern_device_view, timeout) \
    ROW(quern_device_view, poison) \
    ROW(quern_device_view, multicast) \
    ROW(quern_device_view, peer)

#define FIELDS_OF_quern_transfer_item(ROW) \
    ROW(quern_transfer_item, receive) \
    ROW(quern_transfer_item, peer) \
    ROW(quern_transfer_item, tag) \
    ROW(quern_transfer_item, memory) \
    ROW(quern_transfer_item, bytes)

#define FIELDS_OF_quern_transfer_args(ROW) \
    ROW(quern_transfer_args, item_size) \
    ROW(quern_transfer_args, items) \
    ROW(quern_transfer_args, item_count) \
    ROW(quern_transfer_args, key) \
    ROW(quern_transfer_args, timeout)

#define FIELDS_OF_quern_dump_at__parameters(ROW) \
    ROW(quern_dump_at__parameters, device) \
    ROW(quern_dump_at__parameters, args)

#define FIELDS_OF_quern_cross_entropy_workspace__parameters(ROW) \
    ROW(quern_cross_entropy_workspace__parameters, device) \
    ROW(quern_cross_entropy_workspace__parameters, args) \
    ROW(quern_cross_entropy_workspace__parameters, bytes)

#define FIELDS_OF_quern_cross_entropy__parameters(ROW) \
    ROW(quern_cross_entropy__parameters, device) \
    ROW(quern_cross_entropy__parameters, args) \
    ROW(quern_cross_entropy__parameters, workspace) \
    ROW(quern_cross_entropy__parameters, workspace_bytes) \
    ROW(quern_cross_entropy__parameters, stream)

#define FIELDS_OF_quern_cross_entropy_stats__parameters(ROW) \
    ROW(quern_cross_entropy_stats__parameters, device) \
    ROW(quern_cross_entropy_stats__parameters, args) \
    ROW(quern_cross_entropy_stats__parameters, workspace) \
    ROW(quern_cross_entropy_stats__parameters, workspace_bytes) \
    ROW(quern_cross_entropy_stats__parameters, stream)

#define FIELDS_OF_quern_cross_entropy_combine__parameters(ROW) \
    ROW(quern_cross_entropy_combine__parameters, device) \
    ROW(quern_cross_entropy_combine__parameters, args) \
    ROW(quern_cross_entropy_combine__parameters, shards) \
    ROW(quern_cross_entropy_combine__parameters, shard_count) \
    ROW(quern_cross_entropy_combine__parameters, workspace) \
    ROW(quern_cross_entropy_combine__parameters, workspace_bytes) \
    ROW(quern_cross_entropy_combine__parameters, stream)

#define FIELDS_OF_quern_cross_entropy_gradient__parameters(ROW) \
    ROW(quern_cross_entropy_gradient__parameters, device) \
    ROW(quern_cross_entropy_gradient__parameters, args) \
    ROW(quern_cross_entropy_gradient__parameters, workspace) \
    ROW(quern_cross_entropy_gradient__parameters, workspace_bytes) \
    ROW(quern_cross_entropy_gradient__parameters, stream)

#define FIELDS_OF_quern_cross_entropy_upstream__parameters(ROW) \
    ROW(quern_cross_entropy_upstream__parameters, device) \
    ROW(quern_cross_entropy_upstream__parameters, args) \
    ROW(quern_cross_entropy_upstream__parameters, stream)

#define FIELDS_OF_quern_cross_entropy_explain__parameters(ROW) \
    ROW(quern_cross_entropy_explain__parameters, device) \
    ROW(quern_cross_entropy_explain__parameters, args) \
    ROW(quern_cross_entropy_explain__parameters, buffer) \
    ROW(quern_cross_entropy_explain__parameters, bytes)

#define FIELDS_OF_quern_blas_gemm__parameters(ROW) \
    ROW(quern_blas_gemm__parameters, blas) \
    ROW(quern_blas_gemm__parameters, args) \
    ROW(quern_blas_gemm__parameters, stream)

#define FIELDS_OF_quern_linear_cross_entropy_workspace__parameters(ROW) \
    ROW(quern_linear_cross_entropy_workspace__parameters, device) \
    ROW(quern_linear_cross_entropy_workspace__parameters, args) \
    ROW(quern_linear_cross_entropy_workspace__parameters, bytes)

#define FIELDS_OF_quern_linear_cross_entropy__parameters(ROW) \
    ROW(quern_linear_cross_entropy__parameters, device) \
    ROW(quern_linear_cross_entropy__parameters, args) \
    ROW(quern_linear_cross_entropy__parameters, workspace) \
    ROW(quern_linear_cross_entropy__parameters, workspace_bytes) \
    ROW(quern_linear_cross_entropy__parameters, stream)

#define FIELDS_OF_quern_adam_workspace__parameters(ROW) \
    ROW(quern_adam_workspace__parameters, device) \
    ROW(quern_adam_workspace__parameters, args) \
    ROW(quern_adam_workspace__parameters, bytes)

#define FIELDS_OF_quern_adam__parameters(ROW) \
    ROW(quern_adam__parameters, device) \
    ROW(quern_adam__parameters, args) \
    ROW(quern_adam__parameters, workspace) \
    ROW(quern_adam__parameters, workspace_bytes) \
    ROW(quern_adam__parameters, stream)

#define FIELDS_OF_quern_adam_explain__parameters(ROW) \
    ROW(quern_adam_explain__parameters, device) \
    ROW(quern_adam_explain__parameters, args) \
    ROW(quern_adam_explain__parameters, buffer) \
    ROW(quern_adam_explain__parameters, bytes)

#define FIELDS_OF_quern_adam_plan_create__parameters(ROW) \
    ROW(quern_adam_plan_create__parameters, device) \
    ROW(quern_adam_plan_create__parameters, args) \
    ROW(quern_adam_plan_create__parameters, plan)

#define FIELDS_OF_quern_adam_saved_bytes__parameters(ROW) \
    ROW(quern_adam_saved_bytes__parameters, device) \
    ROW(quern_adam_saved_bytes__parameters, args) \
    ROW(quern_adam_saved_bytes__parameters, bytes)

#define FIELDS_OF_quern_adam_save__parameters(ROW) \
    ROW(quern_adam_save__parameters, device) \
    ROW(quern_adam_save__parameters, args) \
    ROW(quern_adam_save__parameters, saved) \
    ROW(quern_adam_save__parameters, bytes)

#define FIELDS_OF_quern_adam_load__parameters(ROW) \
    ROW(quern_adam_load__parameters, device) \
    ROW(quern_adam_load__parameters, args) \
    ROW(quern_adam_load__parameters, saved) \
    ROW(quern_adam_load__parameters, bytes) \
    ROW(quern_adam_load__parameters, step) \
    ROW(quern_adam_load__parameters, seed)

#define FIELDS_OF_quern_gradient_norm_workspace__parameters(ROW) \
    ROW(quern_gradient_norm_workspace__parameters, device) \
    ROW(quern_gradient_norm_workspace__parameters, args) \
    ROW(quern_gradient_norm_workspace__parameters, bytes)

#define FIELDS_OF_quern_gradient_norm__parameters(ROW) \
    ROW(quern_gradient_norm__parameters, device) \
    ROW(quern_gradient_norm__parameters, args) \
    ROW(quern_gradient_norm__parameters, workspace) \
    ROW(quern_gradient_norm__parameters, workspace_bytes) \
    ROW(quern_gradient_norm__parameters, stream)

#define FIELDS_OF_quern_accumulate__parameters(ROW) \
    ROW(quern_accumulate__parameters, device) \
    ROW(quern_accumulate__parameters, args) \
    ROW(quern_accumulate__parameters, stream)

#define FIELDS_OF_quern_accumulate_plan_create__parameters(ROW) \
    ROW(quern_accumulate_plan_create__parameters, device) \
    ROW(quern_accumulate_plan_create__parameters, args) \
    ROW(quern_accumulate_plan_create__parameters, plan)

#define FIELDS_OF_quern_quantize_workspace__parameters(ROW) \
    ROW(quern_quantize_workspace__parameters, device) \
    ROW(quern_quantize_workspace__parameters, args) \
    ROW(quern_quantize_workspace__parameters, bytes)

#define FIELDS_OF_quern_quantize__parameters(ROW) \
    ROW(quern_quantize__parameters, device) \
    ROW(quern_quantize__parameters, args) \
    ROW(quern_quantize__parameters, workspace) \
    ROW(quern_quantize__parameters, workspace_bytes) \
    ROW(quern_quantize__parameters, stream)

#define FIELDS_OF_quern_quantize_amax__parameters(ROW) \
    ROW(quern_quantize_amax__parameters, device) \
    ROW(quern_quantize_amax__parameters, args) \
    ROW(quern_quantize_amax__parameters, workspace) \
    ROW(quern_quantize_amax__parameters, workspace_bytes) \
    ROW(quern_quantize_amax__parameters, stream)

#define FIELDS_OF_quern_quantize_cast__parameters(ROW) \
    ROW(quern_quantize_cast__parameters, device) \
    ROW(quern_quantize_cast__parameters, args) \
    ROW(quern_quantize_cast__parameters, stream)

#define FIELDS_OF_quern_quantize_explain__parameters(ROW) \
    ROW(quern_quantize_explain__parameters, device) \
    ROW(quern_quantize_explain__parameters, args) \
    ROW(quern_quantize_explain__parameters, buffer) \
    ROW(quern_quantize_explain__parameters, bytes)

#define FIELDS_OF_quern_quantize_plan_create__parameters(ROW) \
    ROW(quern_quantize_plan_create__parameters, device) \
    ROW(quern_quantize_plan_create__parameters, args) \
    ROW(quern_quantize_plan_create__parameters, plan)

#define FIELDS_OF_quern_group_create__parameters(ROW) \
    ROW(quern_group_create__parameters, args) \
    ROW(quern_group_create__parameters, count) \
    ROW(quern_group_create__parameters, groups)

#define FIELDS_OF_quern_barrier__parameters(ROW) \
    ROW(quern_barrier__parameters, group) \
    ROW(quern_barrier__parameters, args) \
    ROW(quern_barrier__parameters, stream)

#define FIELDS_OF_quern_ragged_all_to_all_workspace__parameters(ROW) \
    ROW(quern_ragged_all_to_all_workspace__parameters, group) \
    ROW(quern_ragged_all_to_all_workspace__parameters, args) \
    ROW(quern_ragged_all_to_all_workspace__parameters, bytes)

#define FIELDS_OF_quern_ragged_all_to_all__parameters(ROW) \
    ROW(quern_ragged_all_to_all__parameters, group) \
    ROW(quern_ragged_all_to_all__parameters, args) \
    ROW(quern_ragged_all_to_all__parameters, workspace) \
    ROW(quern_ragged_all_to_all__parameters, workspace_bytes) \
    ROW(quern_ragged_all_to_all__parameters, stream)

#define FIELDS_OF_quern_ragged_plan_create__parameters(ROW) \
    ROW(quern_ragged_plan_create__parameters, groups) \
    ROW(quern_ragged_plan_create__parameters, count) \
    ROW(quern_ragged_plan_create__parameters, args) \
    ROW(quern_ragged_plan_create__parameters, workspaces) \
    ROW(quern_ragged_plan_create__parameters, workspace_bytes) \
    ROW(quern_ragged_plan_create__parameters, plans)

#define FIELDS_OF_quern_ragged_sizes__parameters(ROW) \
    ROW(quern_ragged_sizes__parameters, groups) \
    ROW(quern_ragged_sizes__parameters, count) \
    ROW(quern_ragged_sizes__parameters, args)

#define FIELDS_OF_quern_collective_workspace__parameters(ROW) \
    ROW(quern_collective_workspace__parameters, group) \
    ROW(quern_collective_workspace__parameters, args) \
    ROW(quern_collective_workspace__parameters, bytes)

#define FIELDS_OF_quern_all_gather__parameters(ROW) \
    ROW(quern_all_gather__parameters, group) \
    ROW(quern_all_gather__parameters, args) \
    ROW(quern_all_gather__parameters, workspace) \
    ROW(quern_all_gather__parameters, workspace_bytes) \
    ROW(quern_all_gather__parameters, stream)

#define FIELDS_OF_quern_reduce_scatter__parameters(ROW) \
    ROW(quern_reduce_scatter__parameters, group) \
    ROW(quern_reduce_scatter__parameters, args) \
    ROW(quern_reduce_scatter__parameters, workspace) \
    ROW(quern_reduce_scatter__parameters, workspace_bytes) \
    ROW(quern_reduce_scatter__parameters, stream)

#define FIELDS_OF_quern_all_reduce__parameters(ROW) \
    ROW(quern_all_reduce__parameters, group) \
    ROW(quern_all_reduce__parameters, args) \
    ROW(quern_all_reduce__parameters, workspace) \
    ROW(quern_all_reduce__parameters, workspace_bytes) \
    ROW(quern_all_reduce__parameters, stream)

#define FIELDS_OF_quern_broadcast__parameters(ROW) \
    ROW(quern_broadcast__parameters, group) \
    ROW(quern_broadcast__parameters, args) \
    ROW(quern_broadcast__parameters, workspace) \
    ROW(quern_broadcast__parameters, workspace_bytes) \
    ROW(quern_broadcast__parameters, stream)

#define FIELDS_OF_quern_quantize_chunks_workspace__parameters(ROW) \
    ROW(quern_quantize_chunks_workspace__parameters, group) \
    ROW(quern_quantize_chunks_workspace__parameters, args) \
    ROW(quern_quantize_chunks_workspace__parameters, bytes)

#define FIELDS_OF_quern_quantize_chunks__parameters(ROW) \
    ROW(quern_quantize_chunks__parameters, group) \
    ROW(quern_quantize_chunks__parameters, args) \
    ROW(quern_quantize_chunks__parameters, workspace) \
    ROW(quern_quantize_chunks__parameters, workspace_bytes) \
    ROW(quern_quantize_chunks__parameters, stream)

#define FIELDS_OF_quern_transfer_prepare__parameters(ROW) \
    ROW(quern_transfer_prepare__parameters, group) \
    ROW(quern_transfer_prepare__parameters, args) \
    ROW(quern_transfer_prepare__parameters, transfer)

#define CALLS_WITH_quern_dump_args(ROW) \
    ROW(quern_dump_at)

#define CALLS_WITH_quern_cross_entropy_args(ROW) \
    ROW(quern_cross_entropy_workspace) \
    ROW(quern_cross_entropy) \
    ROW(quern_cross_entropy_stats) \
    ROW(quern_cross_entropy_combine) \
    ROW(quern_cross_entropy_gradient) \
    ROW(quern_cross_entropy_upstream) \
    ROW(quern_cross_entropy_explain)

#define CALLS_WITH_quern_gemm_args(ROW) \
    ROW(quern_blas_gemm)

#define CALLS_WITH_quern_linear_cross_entropy_args(ROW) \
    ROW(quern_linear_cross_entropy_workspace) \
    ROW(quern_linear_cross_entropy)

#define CALLS_WITH_quern_adam_args(ROW) \
    ROW(quern_adam_workspace) \
    ROW(quern_adam) \
    ROW(quern_adam_explain) \
    ROW(quern_adam_plan_create) \
    ROW(quern_adam_saved_bytes) \
    ROW(quern_adam_save) \
    ROW(quern_adam_load)

#define CALLS_WITH_quern_gradient_norm_args(ROW) \
    ROW(quern_gradient_norm_workspace) \
    ROW(quern_gradient_norm)

#define CALLS_WITH_quern_accumulate_args(ROW) \
    ROW(quern_accumulate) \
    ROW(quern_accumulate_plan_create)

#define CALLS_WITH_quern_quantize_args(ROW) \
    ROW(quern_quantize_workspace) \
    ROW(quern_quantize) \
    ROW(quern_quantize_amax) \
    ROW(quern_quantize_cast) \
    ROW(quern_quantize_explain) \
    ROW(quern_quantize_plan_create)

#define CALLS_WITH_quern_group_args(ROW) \
    ROW(quern_group_create)

#define CALLS_WITH_quern_barrier_args(ROW) \
    ROW(quern_barrier)

#define CALLS_WITH_quern_ragged_all_to_all_args(ROW) \
    ROW(quern_ragged_all_to_all_workspace) \
    ROW(quern_ragged_all_to_all) \
    ROW(quern_ragged_plan_create)

#define CALLS_WITH_quern_ragged_sizes_args(ROW) \
    ROW(quern_ragged_sizes)

#define CALLS_WITH_quern_collective_args(ROW) \
    ROW(quern_collective_workspace) \
    ROW(quern_all_gather) \
    ROW(quern_reduce_scatter) \
    ROW(quern_all_reduce) \
    ROW(quern_broadcast)

#define CALLS_WITH_quern_quantize_chunks_args(ROW) \
    ROW(quern_quantize_chunks_workspace) \
    ROW(quern_quantize_chunks)

#define CALLS_WITH_quern_transfer_args(ROW) \
    ROW(quern_transfer_prepare)

#endif
