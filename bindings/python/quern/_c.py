"""The declarations of include/quern.h, whose comments describe them.

Rendered by gen/ from templates/bindings/_c.py.j2; do not edit.
"""
import ctypes
from ctypes import CFUNCTYPE, Structure, c_char, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t, c_uint, \
    c_uint32, c_uint64, c_void_p

QUERN_VERSION_MAJOR = 0
QUERN_VERSION_MINOR = 2
QUERN_VERSION_PATCH = 0
QUERN_STRUCT_MARK = 1364525056
QUERN_PORTABLE_HASH = 12691666240573157747
QUERN_VERSION = 200
QUERN_SCALE_BLOCK = 32
QUERN_MAX_RANKS = 128
QUERN_MAX_HOSTS_RANKS = 512
# quern_status
QUERN_OK = 0
QUERN_INVALID_ARGUMENT = 1000
QUERN_NULL_POINTER = 1001
QUERN_INVALID_STRUCT_SIZE = 1002
QUERN_INVALID_DTYPE = 1003
QUERN_INVALID_SHAPE = 1004
QUERN_WORKSPACE_TOO_SMALL = 1005
QUERN_NOT_PREPARED = 1006
QUERN_INVALID_PACK = 1007
QUERN_NOT_SUPPORTED = 2000
QUERN_NO_KERNEL = 2001
QUERN_NO_DEVICE = 2002
QUERN_NO_DRIVER = 2003
QUERN_DRIVER_TOO_OLD = 2004
QUERN_OUT_OF_MEMORY = 3000
QUERN_CUDA_ERROR = 3001
QUERN_SYSTEM_ERROR = 3002
QUERN_PEER_TIMEOUT = 4000
QUERN_PEER_LOST = 4001
QUERN_PEER_MISMATCH = 4002
QUERN_GROUP_ABORTED = 4003
# quern_log_level
QUERN_LOG_ERROR = 1
QUERN_LOG_INFO = 2
QUERN_LOG_DEBUG = 3
# quern_dtype
QUERN_NO_DTYPE = 0
QUERN_F32 = 1
QUERN_F16 = 2
QUERN_BF16 = 3
QUERN_E4M3 = 4
QUERN_E5M2 = 5
QUERN_REMAINDER = 6
QUERN_INT32 = 16
QUERN_INT64 = 17
# quern_device_kind
QUERN_CPU = 1
QUERN_CUDA = 2
# quern_operations
QUERN_CROSS_ENTROPY = 1
QUERN_ADAM = 2
QUERN_BARRIER = 4
QUERN_RAGGED_ALL_TO_ALL = 8
QUERN_QUANTIZE = 16
QUERN_COLLECTIVE = 32
# quern_reduction
QUERN_REDUCTION_NONE = 0
QUERN_REDUCTION_SUM = 1
QUERN_REDUCTION_MEAN = 2
# quern_bits
QUERN_BITS_DEFAULT = 0
QUERN_BITS_PORTABLE = 1
# quern_divergence
QUERN_KL_FORWARD = 0
QUERN_KL_REVERSE = 1
QUERN_JENSEN_SHANNON = 2
# quern_adam_mode
QUERN_ADAMW = 0
QUERN_ADAM_L2 = 1
# quern_adam_eps_mode
QUERN_EPS_OUTSIDE = 0
QUERN_EPS_INSIDE = 1
# quern_rounding
QUERN_ROUND_DEFAULT = 0
QUERN_ROUND_NEAREST = 1
QUERN_ROUND_STOCHASTIC = 2
# quern_scaling
QUERN_SCALING_DEFAULT = 0
QUERN_SCALING_TENSOR = 1
QUERN_SCALING_MX = 2
# quern_combination
QUERN_COMBINE_SUM = 1
QUERN_COMBINE_MAX = 2
# quern_order
QUERN_ORDER_RANKS = 0
QUERN_ORDER_ANY = 1
quern_log_callback = CFUNCTYPE(None, c_void_p, c_int, c_char_p)
quern_parallel_for = CFUNCTYPE(None, c_void_p, c_int64, CFUNCTYPE(None, c_void_p, c_int64), c_void_p)
quern_gemm = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)
quern_gather = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p)
quern_accumulator = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)
quern_gather_facts = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, c_void_p)
quern_carrier_send = CFUNCTYPE(c_int, c_void_p, c_int, c_void_p, c_size_t, c_uint64, c_void_p)
quern_carrier_receive = CFUNCTYPE(c_int, c_void_p, c_int, c_void_p, c_size_t, c_uint64, c_void_p)
quern_carrier_test = CFUNCTYPE(c_int, c_void_p, c_uint64, c_void_p)
quern_carrier_cancel = CFUNCTYPE(None, c_void_p, c_uint64)
class quern_device_info(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("kind", c_int),
        ("ordinal", c_int),
        ("compute_capability", c_int),
        ("multiprocessors", c_int),
        ("shared_bytes", c_int64),
        ("name", c_char * 96),
        ("target", c_char * 32),
    ]
class quern_dump_args(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("folder", c_char_p),
        ("filter", c_char_p),
        ("step", c_int64),
        ("most_bytes", c_int64),
    ]
class quern_cross_entropy_report(Structure):
    _fields_ = [
        ("counted_rows", c_int64),
        ("ignored_rows", c_int64),
        ("bad_labels", c_int64),
        ("first_bad_row", c_int64),
        ("infinite_rows", c_int64),
    ]
class quern_row_stats(Structure):
    _fields_ = [
        ("origin", c_double),
        ("others", c_double),
        ("weighted", c_double),
        ("moment", c_double),
        ("weights", c_double),
        ("argmax", c_int64),
        ("maximum", c_float),
        ("label_value", c_float),
        ("label_weight", c_float),
        ("has_label", c_int32),
    ]
class quern_row_nodes(Structure):
    _fields_ = [
        ("first_unit", c_float * 32),
        ("right_nodes", c_float * 26),
        ("left_nodes", c_float * 26),
        ("last_unit", c_float * 32),
    ]
class quern_cross_entropy_args(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("logits_dtype", c_int),
        ("labels_dtype", c_int),
        ("reduction", c_int),
        ("rows", c_int64),
        ("vocab", c_int64),
        ("logits", c_void_p),
        ("logits_stride", c_int64),
        ("labels", c_void_p),
        ("ignore_index", c_int64),
        ("loss", c_void_p),
        ("grad", c_void_p),
        ("grad_dtype", c_int),
        ("grad_stride", c_int64),
        ("grad_loss", c_void_p),
        ("grad_loss_stride", c_int64),
        ("grad_scale", c_float),
        ("report", c_void_p),
        ("label_smoothing", c_float),
        ("z_loss", c_float),
        ("softcap", c_float),
        ("class_weights", c_void_p),
        ("padded_vocab", c_int64),
        ("lse", c_void_p),
        ("log_prob", c_void_p),
        ("entropy", c_void_p),
        ("argmax", c_void_p),
        ("stats", c_void_p),
        ("first_column", c_int64),
        ("global_vocab", c_int64),
        ("strict_labels", c_int32),
        ("inverse_temperature", c_float),
        ("inverse_temperatures", c_void_p),
        ("grad_log_prob", c_void_p),
        ("grad_log_prob_stride", c_int64),
        ("grad_entropy", c_void_p),
        ("grad_entropy_stride", c_int64),
        ("bits", c_int),
        ("nodes", c_void_p),
        ("top_k", c_int64),
        ("top_ids", c_void_p),
        ("top_log_probs", c_void_p),
        ("given_count", c_int64),
        ("given_ids", c_void_p),
        ("given_log_probs", c_void_p),
        ("shard_top_ids", c_void_p),
        ("shard_top_logits", c_void_p),
        ("shard_given_logits", c_void_p),
        ("target_probs", c_void_p),
        ("divergence_kind", c_int),
        ("has_tail", c_int32),
        ("divergence", c_void_p),
        ("grad_divergence", c_void_p),
        ("grad_divergence_stride", c_int64),
        ("soft_targets_dtype", c_int),
        ("soft_targets", c_void_p),
        ("soft_targets_stride", c_int64),
    ]
class quern_gemm_args(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("accumulate", c_int32),
        ("m", c_int64),
        ("n", c_int64),
        ("k", c_int64),
        ("a", c_void_p),
        ("b", c_void_p),
        ("c", c_void_p),
        ("a_dtype", c_int),
        ("b_dtype", c_int),
        ("c_dtype", c_int),
        ("a_transposed", c_int32),
        ("b_transposed", c_int32),
        ("a_stride", c_int64),
        ("b_stride", c_int64),
        ("c_stride", c_int64),
    ]
class quern_linear_cross_entropy_args(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("hidden_dtype", c_int),
        ("weight_dtype", c_int),
        ("accumulate_weight", c_int32),
        ("loss", quern_cross_entropy_args),
        ("width", c_int64),
        ("hidden", c_void_p),
        ("hidden_stride", c_int64),
        ("weight", c_void_p),
        ("weight_stride", c_int64),
        ("d_hidden", c_void_p),
        ("d_hidden_stride", c_int64),
        ("d_weight", c_void_p),
        ("d_weight_stride", c_int64),
        ("chunk_rows", c_int64),
        ("gemm", quern_gemm),
        ("gemm_user", c_void_p),
        ("d_weight_dtype", c_int),
        ("bias_dtype", c_int),
        ("accumulate", quern_accumulator),
        ("bias", c_void_p),
        ("d_bias", c_void_p),
        ("shard_count", c_int64),
        ("gather", quern_gather),
        ("gather_user", c_void_p),
    ]
class quern_adam_tensor(Structure):
    _fields_ = [
        ("param", c_void_p),
        ("grad", c_void_p),
        ("m", c_void_p),
        ("v", c_void_p),
        ("master", c_void_p),
        ("count", c_int64),
        ("m_scale", c_void_p),
        ("v_scale", c_void_p),
        ("v_max", c_void_p),
        ("v_max_scale", c_void_p),
        ("copy", c_void_p),
        ("copy_scale", c_void_p),
        ("copy_max", c_void_p),
        ("lr_multiplier", c_float),
        ("weight_decay_multiplier", c_float),
    ]
class quern_adam_control(Structure):
    _fields_ = [
        ("lr", c_void_p),
        ("step", c_void_p),
        ("grad_scale", c_void_p),
        ("clip", c_void_p),
        ("found_inf", c_void_p),
    ]
class quern_adam_args(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("tensor_size", c_uint32),
        ("param_dtype", c_int),
        ("grad_dtype", c_int),
        ("m_dtype", c_int),
        ("v_dtype", c_int),
        ("master_dtype", c_int),
        ("mode", c_int),
        ("tensors", c_void_p),
        ("tensor_count", c_int64),
        ("lr", c_double),
        ("beta1", c_double),
        ("beta2", c_double),
        ("eps", c_double),
        ("weight_decay", c_double),
        ("step", c_int64),
        ("seed", c_uint64),
        ("param_rounding", c_int),
        ("m_rounding", c_int),
        ("v_rounding", c_int),
        ("eps_mode", c_int),
        ("amsgrad", c_int32),
        ("maximize", c_int32),
        ("zero_grads", c_int32),
        ("use_multipliers", c_int32),
        ("copy_dtype", c_int),
        ("grad_scale", c_double),
        ("control", quern_adam_control),
        ("plan", c_void_p),
        ("grads", c_void_p),
        ("bias1", c_double),
        ("bias2", c_double),
        ("steps", c_void_p),
    ]
class quern_gradient(Structure):
    _fields_ = [
        ("grad", c_void_p),
        ("main_grad", c_void_p),
        ("count", c_int64),
    ]
class quern_gradient_norm_args(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("gradient_size", c_uint32),
        ("grad_dtype", c_int),
        ("gradients", c_void_p),
        ("gradient_count", c_int64),
        ("plan", c_void_p),
        ("max_norm", c_double),
        ("grad_scale", c_double),
        ("grad_scale_pointer", c_void_p),
        ("norm", c_void_p),
        ("clip", c_void_p),
        ("found_inf", c_void_p),
        ("grads", c_void_p),
    ]
class quern_accumulate_args(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("gradient_size", c_uint32),
        ("grad_dtype", c_int),
        ("zero_grads", c_int32),
        ("gradients", c_void_p),
        ("gradient_count", c_int64),
        ("scale", c_double),
        ("main_dtype", c_int),
        ("overwrite", c_int32),
        ("plan", c_void_p),
        ("overwrite_flags", c_void_p),
        ("token_counts", c_void_p),
        ("group_count", c_int64),
        ("token_places", c_void_p),
        ("grads", c_void_p),
    ]
class quern_quantize_tensor(Structure):
    _fields_ = [
        ("input", c_void_p),
        ("output", c_void_p),
        ("count", c_int64),
        ("columns", c_int64),
        ("transposed", c_void_p),
        ("block_scales", c_void_p),
        ("transposed_block_scales", c_void_p),
    ]
class quern_quantize_args(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("tensor_size", c_uint32),
        ("input_dtype", c_int),
        ("output_dtype", c_int),
        ("tensors", c_void_p),
        ("tensor_count", c_int64),
        ("amax", c_void_p),
        ("scale", c_void_p),
        ("scale_inv", c_void_p),
        ("eps", c_double),
        ("power_of_two", c_int32),
        ("rounding", c_int),
        ("seed", c_uint64),
        ("offset", c_uint64),
        ("offset_pointer", c_void_p),
        ("noop", c_void_p),
        ("history", c_void_p),
        ("history_length", c_int64),
        ("plan", c_void_p),
        ("scaling", c_int),
    ]
class quern_carrier(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("threads", c_int32),
        ("name", c_char_p),
        ("user", c_void_p),
        ("tags", c_uint64),
        ("longest", c_uint64),
        ("borrows", c_int32),
        ("send", quern_carrier_send),
        ("receive", quern_carrier_receive),
        ("test", quern_carrier_test),
        ("cancel", quern_carrier_cancel),
    ]
class quern_hosts_args(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("host_ranks", c_int32),
        ("meet", c_char_p),
        ("secret", c_void_p),
        ("secret_bytes", c_size_t),
        ("host", c_char_p),
        ("all_gather", quern_gather_facts),
        ("all_gather_user", c_void_p),
        ("carrier", c_void_p),
        ("transports", c_char_p),
        ("failure_timeout", c_double),
    ]
class quern_group_args(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("rank", c_int),
        ("ranks", c_int),
        ("name", c_char_p),
        ("device", c_void_p),
        ("timeout", c_double),
        ("share_gpu", c_int32),
        ("first_epoch", c_uint32),
        ("first_timeout", c_double),
        ("job", c_uint64),
        ("multicast", c_int32),
        ("hosts", c_void_p),
        ("progress", c_int32),
        ("progress_core", c_int),
    ]
class quern_barrier_args(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("members", c_void_p),
        ("member_count", c_int),
        ("timeout", c_double),
    ]
class quern_ragged_all_to_all_args(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("metadata_dtype", c_int),
        ("input", c_void_p),
        ("input_rows", c_int64),
        ("output", c_void_p),
        ("output_rows", c_int64),
        ("row_bytes", c_int64),
        ("updates", c_int64),
        ("input_offsets", c_void_p),
        ("send_sizes", c_void_p),
        ("output_offsets", c_void_p),
        ("recv_sizes", c_void_p),
        ("metadata_on_device", c_int32),
        ("check_overlap", c_int32),
        ("members", c_void_p),
        ("member_count", c_int),
        ("multiprocessors", c_int),
        ("timeout", c_double),
    ]
class quern_ragged_sizes_args(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("metadata_dtype", c_int),
        ("updates", c_int64),
        ("send_sizes", c_void_p),
        ("input_offsets", c_void_p),
        ("output_offsets", c_void_p),
        ("recv_sizes", c_void_p),
        ("input_rows", c_void_p),
        ("output_rows", c_void_p),
    ]
class quern_collective_args(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("dtype", c_int),
        ("input", c_void_p),
        ("output", c_void_p),
        ("count", c_int64),
        ("combination", c_int),
        ("root", c_int),
        ("members", c_void_p),
        ("member_count", c_int),
        ("multiprocessors", c_int),
        ("timeout", c_double),
        ("input_stride", c_int64),
        ("order", c_int),
    ]
class quern_group_gather_args(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("group", c_void_p),
        ("collective", quern_collective_args),
        ("workspace", c_void_p),
        ("workspace_bytes", c_size_t),
    ]
class quern_quantize_chunks_args(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("input_dtype", c_int),
        ("output_dtype", c_int),
        ("input", c_void_p),
        ("output", c_void_p),
        ("ready", c_void_p),
        ("ready_value", c_uint32),
        ("rows", c_int64),
        ("columns", c_int64),
        ("chunk_rows", c_int64),
        ("order", c_void_p),
        ("amax", c_void_p),
        ("scale", c_void_p),
        ("scale_inv", c_void_p),
        ("eps", c_double),
        ("power_of_two", c_int32),
        ("rounding", c_int),
        ("seed", c_uint64),
        ("offset", c_uint64),
        ("offset_pointer", c_void_p),
        ("members", c_void_p),
        ("member_count", c_int),
        ("multiprocessors", c_int),
        ("timeout", c_double),
        ("scaling", c_int),
        ("block_scales", c_void_p),
    ]
class quern_device_view(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("rank", c_int),
        ("ranks", c_int),
        ("unused", c_uint32),
        ("timeout", c_uint64),
        ("poison", c_void_p),
        ("multicast", c_void_p),
        ("peer", c_void_p * 128),
    ]
class quern_transfer_item(Structure):
    _fields_ = [
        ("receive", c_int32),
        ("peer", c_int),
        ("tag", c_uint64),
        ("memory", c_void_p),
        ("bytes", c_int64),
    ]
class quern_transfer_args(Structure):
    _fields_ = [
        ("size", c_uint32),
        ("item_size", c_uint32),
        ("items", c_void_p),
        ("item_count", c_int64),
        ("key", c_uint64),
        ("timeout", c_double),
    ]
_FUNCTIONS = {
    "quern_status_string": (c_char_p, c_int),
    "quern_status_blame": (c_char_p, c_int),
    "quern_error_detail": (c_size_t, c_void_p, c_size_t),
    "quern_version": (c_int,),
    "quern_build_info": (c_char_p,),
    "quern_set_log": (None, quern_log_callback, c_void_p, c_int),
    "quern_dtype_name": (c_char_p, c_int),
    "quern_dtype_bytes": (c_size_t, c_int),
    "quern_device_count": (c_int, c_int, c_void_p),
    "quern_device_open": (c_int, c_int, c_int, c_void_p),
    "quern_device_close": (None, c_void_p),
    "quern_device_info_init": (None, c_void_p),
    "quern_device_get_info": (c_int, c_void_p, c_void_p),
    "quern_device_report": (c_size_t, c_void_p, c_void_p, c_size_t),
    "quern_prepare": (c_int, c_void_p, c_uint),
    "quern_load_pack": (c_int, c_char_p),
    "quern_set_threads": (c_int, c_void_p, c_int, quern_parallel_for, c_void_p),
    "quern_trace_begin": (c_int, c_char_p),
    "quern_trace_end": (c_int,),
    "quern_dump_args_init": (None, c_void_p),
    "quern_dump_at": (c_int, c_void_p, c_void_p),
    "quern_step": (c_int, c_void_p, c_int64),
    "quern_cross_entropy_args_init": (None, c_void_p),
    "quern_cross_entropy_workspace": (c_int, c_void_p, c_void_p, c_void_p),
    "quern_cross_entropy": (c_int, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p),
    "quern_cross_entropy_stats": (c_int, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p),
    "quern_cross_entropy_combine": (c_int, c_void_p, c_void_p, c_void_p, c_int64, c_void_p, c_size_t, c_void_p),
    "quern_cross_entropy_gradient": (c_int, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p),
    "quern_cross_entropy_upstream": (c_int, c_void_p, c_void_p, c_void_p),
    "quern_cross_entropy_explain": (c_size_t, c_void_p, c_void_p, c_void_p, c_size_t),
    "quern_portable_hash": (c_int, c_void_p, c_void_p),
    "quern_gemm_args_init": (None, c_void_p),
    "quern_blas_open": (c_int, c_void_p, c_char_p, c_void_p),
    "quern_blas_close": (None, c_void_p),
    "quern_blas_gemm": (c_int, c_void_p, c_void_p, c_void_p),
    "quern_linear_cross_entropy_args_init": (None, c_void_p),
    "quern_linear_cross_entropy_workspace": (c_int, c_void_p, c_void_p, c_void_p),
    "quern_linear_cross_entropy": (c_int, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p),
    "quern_adam_args_init": (None, c_void_p),
    "quern_adam_workspace": (c_int, c_void_p, c_void_p, c_void_p),
    "quern_adam": (c_int, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p),
    "quern_adam_explain": (c_size_t, c_void_p, c_void_p, c_void_p, c_size_t),
    "quern_adam_plan_create": (c_int, c_void_p, c_void_p, c_void_p),
    "quern_adam_plan_destroy": (None, c_void_p),
    "quern_gradient_norm_args_init": (None, c_void_p),
    "quern_gradient_norm_workspace": (c_int, c_void_p, c_void_p, c_void_p),
    "quern_gradient_norm": (c_int, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p),
    "quern_accumulate_args_init": (None, c_void_p),
    "quern_accumulate": (c_int, c_void_p, c_void_p, c_void_p),
    "quern_accumulate_plan_create": (c_int, c_void_p, c_void_p, c_void_p),
    "quern_accumulate_plan_destroy": (None, c_void_p),
    "quern_adam_saved_bytes": (c_int, c_void_p, c_void_p, c_void_p),
    "quern_adam_save": (c_int, c_void_p, c_void_p, c_void_p, c_size_t),
    "quern_adam_load": (c_int, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, c_void_p),
    "quern_quantize_args_init": (None, c_void_p),
    "quern_quantize_workspace": (c_int, c_void_p, c_void_p, c_void_p),
    "quern_quantize": (c_int, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p),
    "quern_quantize_amax": (c_int, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p),
    "quern_quantize_cast": (c_int, c_void_p, c_void_p, c_void_p),
    "quern_quantize_explain": (c_size_t, c_void_p, c_void_p, c_void_p, c_size_t),
    "quern_quantize_plan_create": (c_int, c_void_p, c_void_p, c_void_p),
    "quern_quantize_plan_destroy": (None, c_void_p),
    "quern_carrier_init": (None, c_void_p),
    "quern_hosts_args_init": (None, c_void_p),
    "quern_group_args_init": (None, c_void_p),
    "quern_group_create": (c_int, c_void_p, c_int, c_void_p),
    "quern_group_rank": (c_int, c_void_p),
    "quern_group_size": (c_int, c_void_p),
    "quern_group_split": (c_int, c_void_p, c_int, c_void_p, c_void_p, c_void_p),
    "quern_group_shrink": (c_int, c_void_p, c_int, c_void_p),
    "quern_group_destroy": (c_int, c_void_p),
    "quern_group_abort": (c_int, c_void_p, c_char_p),
    "quern_group_status": (c_int, c_void_p),
    "quern_group_missing": (c_int, c_void_p, c_void_p, c_int),
    "quern_group_report": (c_size_t, c_void_p, c_void_p, c_size_t),
    "quern_barrier_args_init": (None, c_void_p),
    "quern_barrier": (c_int, c_void_p, c_void_p, c_void_p),
    "quern_barrier_bytes": (c_size_t, c_int),
    "quern_symmetric_alloc": (c_int, c_void_p, c_int, c_void_p, c_void_p),
    "quern_symmetric_free": (c_int, c_void_p, c_void_p, c_void_p),
    "quern_symmetric_register": (c_int, c_void_p, c_int, c_void_p, c_void_p),
    "quern_symmetric_unregister": (c_int, c_void_p, c_void_p, c_void_p),
    "quern_symmetric_peer": (c_int, c_void_p, c_void_p, c_int, c_void_p),
    "quern_symmetric_multicast": (c_int, c_void_p, c_void_p, c_void_p),
    "quern_ragged_all_to_all_args_init": (None, c_void_p),
    "quern_ragged_all_to_all_workspace": (c_int, c_void_p, c_void_p, c_void_p),
    "quern_ragged_all_to_all": (c_int, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p),
    "quern_ragged_plan_create": (c_int, c_void_p, c_int, c_void_p, c_void_p, c_void_p, c_void_p),
    "quern_ragged_plan_run": (c_int, c_void_p, c_void_p),
    "quern_ragged_plan_destroy": (c_int, c_void_p),
    "quern_ragged_sizes_args_init": (None, c_void_p),
    "quern_ragged_sizes": (c_int, c_void_p, c_int, c_void_p),
    "quern_collective_args_init": (None, c_void_p),
    "quern_collective_workspace": (c_int, c_void_p, c_void_p, c_void_p),
    "quern_all_gather": (c_int, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p),
    "quern_reduce_scatter": (c_int, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p),
    "quern_all_reduce": (c_int, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p),
    "quern_broadcast": (c_int, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p),
    "quern_group_gather_args_init": (None, c_void_p),
    "quern_group_gather": (c_int, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p),
    "quern_quantize_chunks_args_init": (None, c_void_p),
    "quern_quantize_chunks_workspace": (c_int, c_void_p, c_void_p, c_void_p),
    "quern_quantize_chunks": (c_int, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p),
    "quern_chunk_wait": (c_int, c_void_p, c_void_p, c_int64, c_uint32, c_double, c_void_p),
    "quern_device_view_init": (None, c_void_p),
    "quern_symmetric_view": (c_int, c_void_p, c_void_p, c_void_p),
    "quern_transfer_args_init": (None, c_void_p),
    "quern_transfer_prepare": (c_int, c_void_p, c_void_p, c_void_p),
    "quern_transfer_start": (c_int, c_void_p, c_void_p),
    "quern_transfer_test": (c_int, c_void_p, c_void_p),
    "quern_transfer_wait": (c_int, c_void_p, c_double),
    "quern_transfer_wait_on": (c_int, c_void_p, c_void_p, c_void_p),
    "quern_transfer_cancel": (c_int, c_void_p, c_char_p),
    "quern_transfer_destroy": (c_int, c_void_p),
    "quern_transfer_begin": (c_int, c_void_p),
    "quern_transfer_end": (c_int, c_void_p),
}


def load(path):
    library = ctypes.CDLL(path)
    for name, (result, *parameters) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, parameters
    return library
