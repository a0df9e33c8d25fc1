// The declarations of include/quern.h, whose comments describe them.
// Rendered by gen/ from templates/bindings/bindings.rs.j2; do not edit.

pub const QUERN_VERSION_MAJOR: c_int = 0;
pub const QUERN_VERSION_MINOR: c_int = 2;
pub const QUERN_VERSION_PATCH: c_int = 0;
pub const QUERN_STRUCT_MARK: c_int = 1364525056;
pub const QUERN_PORTABLE_HASH: u64 = 12691666240573157747;
pub const QUERN_VERSION: c_int = 200;
pub const QUERN_SCALE_BLOCK: c_int = 32;
pub const QUERN_MAX_RANKS: c_int = 128;
pub const QUERN_MAX_HOSTS_RANKS: c_int = 512;
pub type quern_status = c_uint;
pub const QUERN_OK: quern_status = 0;
pub const QUERN_INVALID_ARGUMENT: quern_status = 1000;
pub const QUERN_NULL_POINTER: quern_status = 1001;
pub const QUERN_INVALID_STRUCT_SIZE: quern_status = 1002;
pub const QUERN_INVALID_DTYPE: quern_status = 1003;
pub const QUERN_INVALID_SHAPE: quern_status = 1004;
pub const QUERN_WORKSPACE_TOO_SMALL: quern_status = 1005;
pub const QUERN_NOT_PREPARED: quern_status = 1006;
pub const QUERN_INVALID_PACK: quern_status = 1007;
pub const QUERN_NOT_SUPPORTED: quern_status = 2000;
pub const QUERN_NO_KERNEL: quern_status = 2001;
pub const QUERN_NO_DEVICE: quern_status = 2002;
pub const QUERN_NO_DRIVER: quern_status = 2003;
pub const QUERN_DRIVER_TOO_OLD: quern_status = 2004;
pub const QUERN_OUT_OF_MEMORY: quern_status = 3000;
pub const QUERN_CUDA_ERROR: quern_status = 3001;
pub const QUERN_SYSTEM_ERROR: quern_status = 3002;
pub const QUERN_PEER_TIMEOUT: quern_status = 4000;
pub const QUERN_PEER_LOST: quern_status = 4001;
pub const QUERN_PEER_MISMATCH: quern_status = 4002;
pub const QUERN_GROUP_ABORTED: quern_status = 4003;
pub type quern_log_level = c_uint;
pub const QUERN_LOG_ERROR: quern_log_level = 1;
pub const QUERN_LOG_INFO: quern_log_level = 2;
pub const QUERN_LOG_DEBUG: quern_log_level = 3;
pub type quern_dtype = c_uint;
pub const QUERN_NO_DTYPE: quern_dtype = 0;
pub const QUERN_F32: quern_dtype = 1;
pub const QUERN_F16: quern_dtype = 2;
pub const QUERN_BF16: quern_dtype = 3;
pub const QUERN_E4M3: quern_dtype = 4;
pub const QUERN_E5M2: quern_dtype = 5;
pub const QUERN_REMAINDER: quern_dtype = 6;
pub const QUERN_INT32: quern_dtype = 16;
pub const QUERN_INT64: quern_dtype = 17;
pub type quern_device_kind = c_uint;
pub const QUERN_CPU: quern_device_kind = 1;
pub const QUERN_CUDA: quern_device_kind = 2;
pub type quern_operations = c_uint;
pub const QUERN_CROSS_ENTROPY: quern_operations = 1;
pub const QUERN_ADAM: quern_operations = 2;
pub const QUERN_BARRIER: quern_operations = 4;
pub const QUERN_RAGGED_ALL_TO_ALL: quern_operations = 8;
pub const QUERN_QUANTIZE: quern_operations = 16;
pub const QUERN_COLLECTIVE: quern_operations = 32;
pub type quern_reduction = c_uint;
pub const QUERN_REDUCTION_NONE: quern_reduction = 0;
pub const QUERN_REDUCTION_SUM: quern_reduction = 1;
pub const QUERN_REDUCTION_MEAN: quern_reduction = 2;
pub type quern_bits = c_uint;
pub const QUERN_BITS_DEFAULT: quern_bits = 0;
pub const QUERN_BITS_PORTABLE: quern_bits = 1;
pub type quern_divergence = c_uint;
pub const QUERN_KL_FORWARD: quern_divergence = 0;
pub const QUERN_KL_REVERSE: quern_divergence = 1;
pub const QUERN_JENSEN_SHANNON: quern_divergence = 2;
pub type quern_adam_mode = c_uint;
pub const QUERN_ADAMW: quern_adam_mode = 0;
pub const QUERN_ADAM_L2: quern_adam_mode = 1;
pub type quern_adam_eps_mode = c_uint;
pub const QUERN_EPS_OUTSIDE: quern_adam_eps_mode = 0;
pub const QUERN_EPS_INSIDE: quern_adam_eps_mode = 1;
pub type quern_rounding = c_uint;
pub const QUERN_ROUND_DEFAULT: quern_rounding = 0;
pub const QUERN_ROUND_NEAREST: quern_rounding = 1;
pub const QUERN_ROUND_STOCHASTIC: quern_rounding = 2;
pub type quern_scaling = c_uint;
pub const QUERN_SCALING_DEFAULT: quern_scaling = 0;
pub const QUERN_SCALING_TENSOR: quern_scaling = 1;
pub const QUERN_SCALING_MX: quern_scaling = 2;
pub type quern_combination = c_uint;
pub const QUERN_COMBINE_SUM: quern_combination = 1;
pub const QUERN_COMBINE_MAX: quern_combination = 2;
pub type quern_order = c_uint;
pub const QUERN_ORDER_RANKS: quern_order = 0;
pub const QUERN_ORDER_ANY: quern_order = 1;
pub type quern_log_callback = Option<unsafe extern "C" fn(user: *mut c_void, level: quern_log_level, line: *const c_char)>;
pub type quern_parallel_for = Option<unsafe extern "C" fn(user: *mut c_void, tasks: i64, task: Option<unsafe extern "C" fn(context: *mut c_void, index: i64)>, context: *mut c_void)>;
pub type quern_gemm = Option<unsafe extern "C" fn(user: *mut c_void, args: *const quern_gemm_args, stream: *mut c_void) -> quern_status>;
pub type quern_gather = Option<unsafe extern "C" fn(user: *mut c_void, mine: *const c_void, all: *mut c_void, bytes: usize, stream: *mut c_void) -> quern_status>;
pub type quern_accumulator = Option<unsafe extern "C" fn(device: *mut quern_device, args: *const quern_accumulate_args, stream: *mut c_void) -> quern_status>;
pub type quern_gather_facts = Option<unsafe extern "C" fn(user: *mut c_void, mine: *const c_void, bytes: usize, all: *mut c_void) -> c_int>;
pub type quern_carrier_send = Option<unsafe extern "C" fn(user: *mut c_void, rank: c_int, data: *const c_void, bytes: usize, tag: u64, request: *mut u64) -> c_int>;
pub type quern_carrier_receive = Option<unsafe extern "C" fn(user: *mut c_void, rank: c_int, data: *mut c_void, bytes: usize, tag: u64, request: *mut u64) -> c_int>;
pub type quern_carrier_test = Option<unsafe extern "C" fn(user: *mut c_void, request: u64, bytes: *mut usize) -> c_int>;
pub type quern_carrier_cancel = Option<unsafe extern "C" fn(user: *mut c_void, request: u64)>;
#[repr(C)]
pub struct quern_device {
    private: [u8; 0],
    marker: PhantomData<(*mut u8, PhantomPinned)>,
}
#[repr(C)]
pub struct quern_blas {
    private: [u8; 0],
    marker: PhantomData<(*mut u8, PhantomPinned)>,
}
#[repr(C)]
pub struct quern_adam_plan {
    private: [u8; 0],
    marker: PhantomData<(*mut u8, PhantomPinned)>,
}
#[repr(C)]
pub struct quern_accumulate_plan {
    private: [u8; 0],
    marker: PhantomData<(*mut u8, PhantomPinned)>,
}
#[repr(C)]
pub struct quern_quantize_plan {
    private: [u8; 0],
    marker: PhantomData<(*mut u8, PhantomPinned)>,
}
#[repr(C)]
pub struct quern_group {
    private: [u8; 0],
    marker: PhantomData<(*mut u8, PhantomPinned)>,
}
#[repr(C)]
pub struct quern_ragged_plan {
    private: [u8; 0],
    marker: PhantomData<(*mut u8, PhantomPinned)>,
}
#[repr(C)]
pub struct quern_transfer {
    private: [u8; 0],
    marker: PhantomData<(*mut u8, PhantomPinned)>,
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quern_device_info {
    pub size: u32,
    pub kind: quern_device_kind,
    pub ordinal: c_int,
    pub compute_capability: c_int,
    pub multiprocessors: c_int,
    pub shared_bytes: i64,
    pub name: [c_char; 96],
    pub target: [c_char; 32],
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quern_dump_args {
    pub size: u32,
    pub folder: *const c_char,
    pub filter: *const c_char,
    pub step: i64,
    pub most_bytes: i64,
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quern_cross_entropy_report {
    pub counted_rows: i64,
    pub ignored_rows: i64,
    pub bad_labels: i64,
    pub first_bad_row: i64,
    pub infinite_rows: i64,
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quern_row_stats {
    pub origin: f64,
    pub others: f64,
    pub weighted: f64,
    pub moment: f64,
    pub weights: f64,
    pub argmax: i64,
    pub maximum: f32,
    pub label_value: f32,
    pub label_weight: f32,
    pub has_label: i32,
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quern_row_nodes {
    pub first_unit: [f32; 32],
    pub right_nodes: [f32; 26],
    pub left_nodes: [f32; 26],
    pub last_unit: [f32; 32],
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quern_cross_entropy_args {
    pub size: u32,
    pub logits_dtype: quern_dtype,
    pub labels_dtype: quern_dtype,
    pub reduction: quern_reduction,
    pub rows: i64,
    pub vocab: i64,
    pub logits: *const c_void,
    pub logits_stride: i64,
    pub labels: *const c_void,
    pub ignore_index: i64,
    pub loss: *mut f32,
    pub grad: *mut c_void,
    pub grad_dtype: quern_dtype,
    pub grad_stride: i64,
    pub grad_loss: *const f32,
    pub grad_loss_stride: i64,
    pub grad_scale: f32,
    pub report: *mut quern_cross_entropy_report,
    pub label_smoothing: f32,
    pub z_loss: f32,
    pub softcap: f32,
    pub class_weights: *const f32,
    pub padded_vocab: i64,
    pub lse: *mut f32,
    pub log_prob: *mut f32,
    pub entropy: *mut f32,
    pub argmax: *mut i64,
    pub stats: *mut quern_row_stats,
    pub first_column: i64,
    pub global_vocab: i64,
    pub strict_labels: i32,
    pub inverse_temperature: f32,
    pub inverse_temperatures: *const f32,
    pub grad_log_prob: *const f32,
    pub grad_log_prob_stride: i64,
    pub grad_entropy: *const f32,
    pub grad_entropy_stride: i64,
    pub bits: quern_bits,
    pub nodes: *mut quern_row_nodes,
    pub top_k: i64,
    pub top_ids: *mut i64,
    pub top_log_probs: *mut f32,
    pub given_count: i64,
    pub given_ids: *const i64,
    pub given_log_probs: *mut f32,
    pub shard_top_ids: *const i64,
    pub shard_top_logits: *const f32,
    pub shard_given_logits: *const f32,
    pub target_probs: *const f32,
    pub divergence_kind: quern_divergence,
    pub has_tail: i32,
    pub divergence: *mut f32,
    pub grad_divergence: *const f32,
    pub grad_divergence_stride: i64,
    pub soft_targets_dtype: quern_dtype,
    pub soft_targets: *const c_void,
    pub soft_targets_stride: i64,
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quern_gemm_args {
    pub size: u32,
    pub accumulate: i32,
    pub m: i64,
    pub n: i64,
    pub k: i64,
    pub a: *const c_void,
    pub b: *const c_void,
    pub c: *mut c_void,
    pub a_dtype: quern_dtype,
    pub b_dtype: quern_dtype,
    pub c_dtype: quern_dtype,
    pub a_transposed: i32,
    pub b_transposed: i32,
    pub a_stride: i64,
    pub b_stride: i64,
    pub c_stride: i64,
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quern_linear_cross_entropy_args {
    pub size: u32,
    pub hidden_dtype: quern_dtype,
    pub weight_dtype: quern_dtype,
    pub accumulate_weight: i32,
    pub loss: quern_cross_entropy_args,
    pub width: i64,
    pub hidden: *const c_void,
    pub hidden_stride: i64,
    pub weight: *const c_void,
    pub weight_stride: i64,
    pub d_hidden: *mut c_void,
    pub d_hidden_stride: i64,
    pub d_weight: *mut c_void,
    pub d_weight_stride: i64,
    pub chunk_rows: i64,
    pub gemm: quern_gemm,
    pub gemm_user: *mut c_void,
    pub d_weight_dtype: quern_dtype,
    pub bias_dtype: quern_dtype,
    pub accumulate: quern_accumulator,
    pub bias: *const c_void,
    pub d_bias: *mut f32,
    pub shard_count: i64,
    pub gather: quern_gather,
    pub gather_user: *mut c_void,
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quern_adam_tensor {
    pub param: *mut c_void,
    pub grad: *mut c_void,
    pub m: *mut c_void,
    pub v: *mut c_void,
    pub master: *mut c_void,
    pub count: i64,
    pub m_scale: *mut u8,
    pub v_scale: *mut u8,
    pub v_max: *mut c_void,
    pub v_max_scale: *mut u8,
    pub copy: *mut c_void,
    pub copy_scale: *const f32,
    pub copy_max: *mut f32,
    pub lr_multiplier: f32,
    pub weight_decay_multiplier: f32,
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quern_adam_control {
    pub lr: *const f32,
    pub step: *mut i64,
    pub grad_scale: *const f32,
    pub clip: *const f32,
    pub found_inf: *const f32,
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quern_adam_args {
    pub size: u32,
    pub tensor_size: u32,
    pub param_dtype: quern_dtype,
    pub grad_dtype: quern_dtype,
    pub m_dtype: quern_dtype,
    pub v_dtype: quern_dtype,
    pub master_dtype: quern_dtype,
    pub mode: quern_adam_mode,
    pub tensors: *const quern_adam_tensor,
    pub tensor_count: i64,
    pub lr: f64,
    pub beta1: f64,
    pub beta2: f64,
    pub eps: f64,
    pub weight_decay: f64,
    pub step: i64,
    pub seed: u64,
    pub param_rounding: quern_rounding,
    pub m_rounding: quern_rounding,
    pub v_rounding: quern_rounding,
    pub eps_mode: quern_adam_eps_mode,
    pub amsgrad: i32,
    pub maximize: i32,
    pub zero_grads: i32,
    pub use_multipliers: i32,
    pub copy_dtype: quern_dtype,
    pub grad_scale: f64,
    pub control: quern_adam_control,
    pub plan: *mut quern_adam_plan,
    pub grads: *const *mut c_void,
    pub bias1: f64,
    pub bias2: f64,
    pub steps: *mut i64,
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quern_gradient {
    pub grad: *mut c_void,
    pub main_grad: *mut c_void,
    pub count: i64,
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quern_gradient_norm_args {
    pub size: u32,
    pub gradient_size: u32,
    pub grad_dtype: quern_dtype,
    pub gradients: *const quern_gradient,
    pub gradient_count: i64,
    pub plan: *const quern_adam_plan,
    pub max_norm: f64,
    pub grad_scale: f64,
    pub grad_scale_pointer: *const f32,
    pub norm: *mut f32,
    pub clip: *mut f32,
    pub found_inf: *mut f32,
    pub grads: *const *mut c_void,
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quern_accumulate_args {
    pub size: u32,
    pub gradient_size: u32,
    pub grad_dtype: quern_dtype,
    pub zero_grads: i32,
    pub gradients: *const quern_gradient,
    pub gradient_count: i64,
    pub scale: f64,
    pub main_dtype: quern_dtype,
    pub overwrite: i32,
    pub plan: *const quern_accumulate_plan,
    pub overwrite_flags: *const i32,
    pub token_counts: *const i64,
    pub group_count: i64,
    pub token_places: *const i32,
    pub grads: *const *mut c_void,
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quern_quantize_tensor {
    pub input: *const c_void,
    pub output: *mut c_void,
    pub count: i64,
    pub columns: i64,
    pub transposed: *mut c_void,
    pub block_scales: *mut u8,
    pub transposed_block_scales: *mut u8,
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quern_quantize_args {
    pub size: u32,
    pub tensor_size: u32,
    pub input_dtype: quern_dtype,
    pub output_dtype: quern_dtype,
    pub tensors: *const quern_quantize_tensor,
    pub tensor_count: i64,
    pub amax: *mut f32,
    pub scale: *mut f32,
    pub scale_inv: *mut f32,
    pub eps: f64,
    pub power_of_two: i32,
    pub rounding: quern_rounding,
    pub seed: u64,
    pub offset: u64,
    pub offset_pointer: *const u64,
    pub noop: *const f32,
    pub history: *mut f32,
    pub history_length: i64,
    pub plan: *const quern_quantize_plan,
    pub scaling: quern_scaling,
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quern_carrier {
    pub size: u32,
    pub threads: i32,
    pub name: *const c_char,
    pub user: *mut c_void,
    pub tags: u64,
    pub longest: u64,
    pub borrows: i32,
    pub send: quern_carrier_send,
    pub receive: quern_carrier_receive,
    pub test: quern_carrier_test,
    pub cancel: quern_carrier_cancel,
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quern_hosts_args {
    pub size: u32,
    pub host_ranks: i32,
    pub meet: *const c_char,
    pub secret: *const c_void,
    pub secret_bytes: usize,
    pub host: *const c_char,
    pub all_gather: quern_gather_facts,
    pub all_gather_user: *mut c_void,
    pub carrier: *const quern_carrier,
    pub transports: *const c_char,
    pub failure_timeout: f64,
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quern_group_args {
    pub size: u32,
    pub rank: c_int,
    pub ranks: c_int,
    pub name: *const c_char,
    pub device: *mut quern_device,
    pub timeout: f64,
    pub share_gpu: i32,
    pub first_epoch: u32,
    pub first_timeout: f64,
    pub job: u64,
    pub multicast: i32,
    pub hosts: *const quern_hosts_args,
    pub progress: i32,
    pub progress_core: c_int,
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quern_barrier_args {
    pub size: u32,
    pub members: *const c_int,
    pub member_count: c_int,
    pub timeout: f64,
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quern_ragged_all_to_all_args {
    pub size: u32,
    pub metadata_dtype: quern_dtype,
    pub input: *const c_void,
    pub input_rows: i64,
    pub output: *mut c_void,
    pub output_rows: i64,
    pub row_bytes: i64,
    pub updates: i64,
    pub input_offsets: *const c_void,
    pub send_sizes: *const c_void,
    pub output_offsets: *const c_void,
    pub recv_sizes: *const c_void,
    pub metadata_on_device: i32,
    pub check_overlap: i32,
    pub members: *const c_int,
    pub member_count: c_int,
    pub multiprocessors: c_int,
    pub timeout: f64,
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quern_ragged_sizes_args {
    pub size: u32,
    pub metadata_dtype: quern_dtype,
    pub updates: i64,
    pub send_sizes: *const c_void,
    pub input_offsets: *mut c_void,
    pub output_offsets: *mut c_void,
    pub recv_sizes: *mut c_void,
    pub input_rows: *mut i64,
    pub output_rows: *mut i64,
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quern_collective_args {
    pub size: u32,
    pub dtype: quern_dtype,
    pub input: *const c_void,
    pub output: *mut c_void,
    pub count: i64,
    pub combination: quern_combination,
    pub root: c_int,
    pub members: *const c_int,
    pub member_count: c_int,
    pub multiprocessors: c_int,
    pub timeout: f64,
    pub input_stride: i64,
    pub order: quern_order,
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quern_group_gather_args {
    pub size: u32,
    pub group: *mut quern_group,
    pub collective: quern_collective_args,
    pub workspace: *mut c_void,
    pub workspace_bytes: usize,
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quern_quantize_chunks_args {
    pub size: u32,
    pub input_dtype: quern_dtype,
    pub output_dtype: quern_dtype,
    pub input: *const c_void,
    pub output: *mut c_void,
    pub ready: *mut u32,
    pub ready_value: u32,
    pub rows: i64,
    pub columns: i64,
    pub chunk_rows: i64,
    pub order: *const c_int,
    pub amax: *mut f32,
    pub scale: *mut f32,
    pub scale_inv: *mut f32,
    pub eps: f64,
    pub power_of_two: i32,
    pub rounding: quern_rounding,
    pub seed: u64,
    pub offset: u64,
    pub offset_pointer: *const u64,
    pub members: *const c_int,
    pub member_count: c_int,
    pub multiprocessors: c_int,
    pub timeout: f64,
    pub scaling: quern_scaling,
    pub block_scales: *mut u8,
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quern_device_view {
    pub size: u32,
    pub rank: c_int,
    pub ranks: c_int,
    pub unused: u32,
    pub timeout: u64,
    pub poison: *const u32,
    pub multicast: *mut c_void,
    pub peer: [*mut c_void; 128],
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quern_transfer_item {
    pub receive: i32,
    pub peer: c_int,
    pub tag: u64,
    pub memory: *mut c_void,
    pub bytes: i64,
}
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quern_transfer_args {
    pub size: u32,
    pub item_size: u32,
    pub items: *const quern_transfer_item,
    pub item_count: i64,
    pub key: u64,
    pub timeout: f64,
}
extern "C" {
    pub fn quern_status_string(status: quern_status) -> *const c_char;
    pub fn quern_status_blame(status: quern_status) -> *const c_char;
    pub fn quern_error_detail(buffer: *mut c_char, bytes: usize) -> usize;
    pub fn quern_version() -> c_int;
    pub fn quern_build_info() -> *const c_char;
    pub fn quern_set_log(callback: quern_log_callback, user: *mut c_void, level: quern_log_level);
    pub fn quern_dtype_name(dtype: quern_dtype) -> *const c_char;
    pub fn quern_dtype_bytes(dtype: quern_dtype) -> usize;
    pub fn quern_device_count(kind: quern_device_kind, count: *mut c_int) -> quern_status;
    pub fn quern_device_open(kind: quern_device_kind, ordinal: c_int, device: *mut *mut quern_device) -> quern_status;
    pub fn quern_device_close(device: *mut quern_device);
    pub fn quern_device_info_init(info: *mut quern_device_info);
    pub fn quern_device_get_info(device: *const quern_device, info: *mut quern_device_info) -> quern_status;
    pub fn quern_device_report(device: *const quern_device, buffer: *mut c_char, bytes: usize) -> usize;
    pub fn quern_prepare(device: *mut quern_device, operations: c_uint) -> quern_status;
    pub fn quern_load_pack(path: *const c_char) -> quern_status;
    pub fn quern_set_threads(device: *mut quern_device, threads: c_int, hook: quern_parallel_for, user: *mut c_void) -> quern_status;
    pub fn quern_trace_begin(path: *const c_char) -> quern_status;
    pub fn quern_trace_end() -> quern_status;
    pub fn quern_dump_args_init(args: *mut quern_dump_args);
    pub fn quern_dump_at(device: *mut quern_device, args: *const quern_dump_args) -> quern_status;
    pub fn quern_step(device: *mut quern_device, step: i64) -> quern_status;
    pub fn quern_cross_entropy_args_init(args: *mut quern_cross_entropy_args);
    pub fn quern_cross_entropy_workspace(device: *const quern_device, args: *const quern_cross_entropy_args, bytes: *mut usize) -> quern_status;
    pub fn quern_cross_entropy(device: *mut quern_device, args: *const quern_cross_entropy_args, workspace: *mut c_void, workspace_bytes: usize, stream: *mut c_void) -> quern_status;
    pub fn quern_cross_entropy_stats(device: *mut quern_device, args: *const quern_cross_entropy_args, workspace: *mut c_void, workspace_bytes: usize, stream: *mut c_void) -> quern_status;
    pub fn quern_cross_entropy_combine(device: *mut quern_device, args: *const quern_cross_entropy_args, shards: *const quern_row_stats, shard_count: i64, workspace: *mut c_void, workspace_bytes: usize, stream: *mut c_void) -> quern_status;
    pub fn quern_cross_entropy_gradient(device: *mut quern_device, args: *const quern_cross_entropy_args, workspace: *mut c_void, workspace_bytes: usize, stream: *mut c_void) -> quern_status;
    pub fn quern_cross_entropy_upstream(device: *mut quern_device, args: *const quern_cross_entropy_args, stream: *mut c_void) -> quern_status;
    pub fn quern_cross_entropy_explain(device: *const quern_device, args: *const quern_cross_entropy_args, buffer: *mut c_char, bytes: usize) -> usize;
    pub fn quern_portable_hash(device: *mut quern_device, hash: *mut u64) -> quern_status;
    pub fn quern_gemm_args_init(args: *mut quern_gemm_args);
    pub fn quern_blas_open(device: *mut quern_device, library: *const c_char, blas: *mut *mut quern_blas) -> quern_status;
    pub fn quern_blas_close(blas: *mut quern_blas);
    pub fn quern_blas_gemm(blas: *mut c_void, args: *const quern_gemm_args, stream: *mut c_void) -> quern_status;
    pub fn quern_linear_cross_entropy_args_init(args: *mut quern_linear_cross_entropy_args);
    pub fn quern_linear_cross_entropy_workspace(device: *const quern_device, args: *const quern_linear_cross_entropy_args, bytes: *mut usize) -> quern_status;
    pub fn quern_linear_cross_entropy(device: *mut quern_device, args: *const quern_linear_cross_entropy_args, workspace: *mut c_void, workspace_bytes: usize, stream: *mut c_void) -> quern_status;
    pub fn quern_adam_args_init(args: *mut quern_adam_args);
    pub fn quern_adam_workspace(device: *const quern_device, args: *const quern_adam_args, bytes: *mut usize) -> quern_status;
    pub fn quern_adam(device: *mut quern_device, args: *const quern_adam_args, workspace: *mut c_void, workspace_bytes: usize, stream: *mut c_void) -> quern_status;
    pub fn quern_adam_explain(device: *const quern_device, args: *const quern_adam_args, buffer: *mut c_char, bytes: usize) -> usize;
    pub fn quern_adam_plan_create(device: *mut quern_device, args: *const quern_adam_args, plan: *mut *mut quern_adam_plan) -> quern_status;
    pub fn quern_adam_plan_destroy(plan: *mut quern_adam_plan);
    pub fn quern_gradient_norm_args_init(args: *mut quern_gradient_norm_args);
    pub fn quern_gradient_norm_workspace(device: *const quern_device, args: *const quern_gradient_norm_args, bytes: *mut usize) -> quern_status;
    pub fn quern_gradient_norm(device: *mut quern_device, args: *const quern_gradient_norm_args, workspace: *mut c_void, workspace_bytes: usize, stream: *mut c_void) -> quern_status;
    pub fn quern_accumulate_args_init(args: *mut quern_accumulate_args);
    pub fn quern_accumulate(device: *mut quern_device, args: *const quern_accumulate_args, stream: *mut c_void) -> quern_status;
    pub fn quern_accumulate_plan_create(device: *mut quern_device, args: *const quern_accumulate_args, plan: *mut *mut quern_accumulate_plan) -> quern_status;
    pub fn quern_accumulate_plan_destroy(plan: *mut quern_accumulate_plan);
    pub fn quern_adam_saved_bytes(device: *const quern_device, args: *const quern_adam_args, bytes: *mut usize) -> quern_status;
    pub fn quern_adam_save(device: *mut quern_device, args: *const quern_adam_args, saved: *mut c_void, bytes: usize) -> quern_status;
    pub fn quern_adam_load(device: *mut quern_device, args: *const quern_adam_args, saved: *const c_void, bytes: usize, step: *mut i64, seed: *mut u64) -> quern_status;
    pub fn quern_quantize_args_init(args: *mut quern_quantize_args);
    pub fn quern_quantize_workspace(device: *const quern_device, args: *const quern_quantize_args, bytes: *mut usize) -> quern_status;
    pub fn quern_quantize(device: *mut quern_device, args: *const quern_quantize_args, workspace: *mut c_void, workspace_bytes: usize, stream: *mut c_void) -> quern_status;
    pub fn quern_quantize_amax(device: *mut quern_device, args: *const quern_quantize_args, workspace: *mut c_void, workspace_bytes: usize, stream: *mut c_void) -> quern_status;
    pub fn quern_quantize_cast(device: *mut quern_device, args: *const quern_quantize_args, stream: *mut c_void) -> quern_status;
    pub fn quern_quantize_explain(device: *const quern_device, args: *const quern_quantize_args, buffer: *mut c_char, bytes: usize) -> usize;
    pub fn quern_quantize_plan_create(device: *mut quern_device, args: *const quern_quantize_args, plan: *mut *mut quern_quantize_plan) -> quern_status;
    pub fn quern_quantize_plan_destroy(plan: *mut quern_quantize_plan);
    pub fn quern_carrier_init(carrier: *mut quern_carrier);
    pub fn quern_hosts_args_init(args: *mut quern_hosts_args);
    pub fn quern_group_args_init(args: *mut quern_group_args);
    pub fn quern_group_create(args: *const quern_group_args, count: c_int, groups: *mut *mut quern_group) -> quern_status;
    pub fn quern_group_rank(group: *const quern_group) -> c_int;
    pub fn quern_group_size(group: *const quern_group) -> c_int;
    pub fn quern_group_split(groups: *const *mut quern_group, count: c_int, colours: *const c_int, keys: *const c_int, new_groups: *mut *mut quern_group) -> quern_status;
    pub fn quern_group_shrink(groups: *const *mut quern_group, count: c_int, new_groups: *mut *mut quern_group) -> quern_status;
    pub fn quern_group_destroy(group: *mut quern_group) -> quern_status;
    pub fn quern_group_abort(group: *mut quern_group, reason: *const c_char) -> quern_status;
    pub fn quern_group_status(group: *mut quern_group) -> quern_status;
    pub fn quern_group_missing(group: *const quern_group, mask: *mut u64, words: c_int) -> quern_status;
    pub fn quern_group_report(group: *const quern_group, buffer: *mut c_char, bytes: usize) -> usize;
    pub fn quern_barrier_args_init(args: *mut quern_barrier_args);
    pub fn quern_barrier(group: *mut quern_group, args: *const quern_barrier_args, stream: *mut c_void) -> quern_status;
    pub fn quern_barrier_bytes(ranks: c_int) -> usize;
    pub fn quern_symmetric_alloc(groups: *const *mut quern_group, count: c_int, bytes: *const usize, pointers: *mut *mut c_void) -> quern_status;
    pub fn quern_symmetric_free(group: *mut quern_group, pointer: *mut c_void, stream: *mut c_void) -> quern_status;
    pub fn quern_symmetric_register(groups: *const *mut quern_group, count: c_int, pointers: *const *mut c_void, bytes: *const usize) -> quern_status;
    pub fn quern_symmetric_unregister(group: *mut quern_group, pointer: *mut c_void, stream: *mut c_void) -> quern_status;
    pub fn quern_symmetric_peer(group: *mut quern_group, pointer: *const c_void, rank: c_int, peer: *mut *mut c_void) -> quern_status;
    pub fn quern_symmetric_multicast(group: *mut quern_group, pointer: *const c_void, multicast: *mut *mut c_void) -> quern_status;
    pub fn quern_ragged_all_to_all_args_init(args: *mut quern_ragged_all_to_all_args);
    pub fn quern_ragged_all_to_all_workspace(group: *mut quern_group, args: *const quern_ragged_all_to_all_args, bytes: *mut usize) -> quern_status;
    pub fn quern_ragged_all_to_all(group: *mut quern_group, args: *const quern_ragged_all_to_all_args, workspace: *mut c_void, workspace_bytes: usize, stream: *mut c_void) -> quern_status;
    pub fn quern_ragged_plan_create(groups: *const *mut quern_group, count: c_int, args: *const quern_ragged_all_to_all_args, workspaces: *const *mut c_void, workspace_bytes: *const usize, plans: *mut *mut quern_ragged_plan) -> quern_status;
    pub fn quern_ragged_plan_run(plan: *mut quern_ragged_plan, stream: *mut c_void) -> quern_status;
    pub fn quern_ragged_plan_destroy(plan: *mut quern_ragged_plan) -> quern_status;
    pub fn quern_ragged_sizes_args_init(args: *mut quern_ragged_sizes_args);
    pub fn quern_ragged_sizes(groups: *const *mut quern_group, count: c_int, args: *const quern_ragged_sizes_args) -> quern_status;
    pub fn quern_collective_args_init(args: *mut quern_collective_args);
    pub fn quern_collective_workspace(group: *mut quern_group, args: *const quern_collective_args, bytes: *mut usize) -> quern_status;
    pub fn quern_all_gather(group: *mut quern_group, args: *const quern_collective_args, workspace: *mut c_void, workspace_bytes: usize, stream: *mut c_void) -> quern_status;
    pub fn quern_reduce_scatter(group: *mut quern_group, args: *const quern_collective_args, workspace: *mut c_void, workspace_bytes: usize, stream: *mut c_void) -> quern_status;
    pub fn quern_all_reduce(group: *mut quern_group, args: *const quern_collective_args, workspace: *mut c_void, workspace_bytes: usize, stream: *mut c_void) -> quern_status;
    pub fn quern_broadcast(group: *mut quern_group, args: *const quern_collective_args, workspace: *mut c_void, workspace_bytes: usize, stream: *mut c_void) -> quern_status;
    pub fn quern_group_gather_args_init(args: *mut quern_group_gather_args);
    pub fn quern_group_gather(args: *mut c_void, mine: *const c_void, all: *mut c_void, bytes: usize, stream: *mut c_void) -> quern_status;
    pub fn quern_quantize_chunks_args_init(args: *mut quern_quantize_chunks_args);
    pub fn quern_quantize_chunks_workspace(group: *mut quern_group, args: *const quern_quantize_chunks_args, bytes: *mut usize) -> quern_status;
    pub fn quern_quantize_chunks(group: *mut quern_group, args: *const quern_quantize_chunks_args, workspace: *mut c_void, workspace_bytes: usize, stream: *mut c_void) -> quern_status;
    pub fn quern_chunk_wait(group: *mut quern_group, ready: *const u32, count: i64, value: u32, timeout: f64, stream: *mut c_void) -> quern_status;
    pub fn quern_device_view_init(view: *mut quern_device_view);
    pub fn quern_symmetric_view(group: *mut quern_group, pointer: *const c_void, view: *mut quern_device_view) -> quern_status;
    pub fn quern_transfer_args_init(args: *mut quern_transfer_args);
    pub fn quern_transfer_prepare(group: *mut quern_group, args: *const quern_transfer_args, transfer: *mut *mut quern_transfer) -> quern_status;
    pub fn quern_transfer_start(transfer: *mut quern_transfer, stream: *mut c_void) -> quern_status;
    pub fn quern_transfer_test(transfer: *mut quern_transfer, done: *mut i32) -> quern_status;
    pub fn quern_transfer_wait(transfer: *mut quern_transfer, timeout: f64) -> quern_status;
    pub fn quern_transfer_wait_on(transfer: *mut quern_transfer, stream: *mut c_void, status: *mut u32) -> quern_status;
    pub fn quern_transfer_cancel(transfer: *mut quern_transfer, reason: *const c_char) -> quern_status;
    pub fn quern_transfer_destroy(transfer: *mut quern_transfer) -> quern_status;
    pub fn quern_transfer_begin(group: *mut quern_group) -> quern_status;
    pub fn quern_transfer_end(group: *mut quern_group) -> quern_status;
}

/// Calls a macro with each struct and the names of its fields.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_struct {
    ($call:ident) => {
        $call!(quern_device_info: size, kind, ordinal, compute_capability, multiprocessors, shared_bytes, name, target);
        $call!(quern_dump_args: size, folder, filter, step, most_bytes);
        $call!(quern_cross_entropy_report: counted_rows, ignored_rows, bad_labels, first_bad_row, infinite_rows);
        $call!(quern_row_stats: origin, others, weighted, moment, weights, argmax, maximum, label_value, label_weight, has_label);
        $call!(quern_row_nodes: first_unit, right_nodes, left_nodes, last_unit);
        $call!(quern_cross_entropy_args: size, logits_dtype, labels_dtype, reduction, rows, vocab, logits, logits_stride, labels, ignore_index, loss, grad, grad_dtype, grad_stride, grad_loss, grad_loss_stride, grad_scale, report, label_smoothing, z_loss, softcap, class_weights, padded_vocab, lse, log_prob, entropy, argmax, stats, first_column, global_vocab, strict_labels, inverse_temperature, inverse_temperatures, grad_log_prob, grad_log_prob_stride, grad_entropy, grad_entropy_stride, bits, nodes, top_k, top_ids, top_log_probs, given_count, given_ids, given_log_probs, shard_top_ids, shard_top_logits, shard_given_logits, target_probs, divergence_kind, has_tail, divergence, grad_divergence, grad_divergence_stride, soft_targets_dtype, soft_targets, soft_targets_stride);
        $call!(quern_gemm_args: size, accumulate, m, n, k, a, b, c, a_dtype, b_dtype, c_dtype, a_transposed, b_transposed, a_stride, b_stride, c_stride);
        $call!(quern_linear_cross_entropy_args: size, hidden_dtype, weight_dtype, accumulate_weight, loss, width, hidden, hidden_stride, weight, weight_stride, d_hidden, d_hidden_stride, d_weight, d_weight_stride, chunk_rows, gemm, gemm_user, d_weight_dtype, bias_dtype, accumulate, bias, d_bias, shard_count, gather, gather_user);
        $call!(quern_adam_tensor: param, grad, m, v, master, count, m_scale, v_scale, v_max, v_max_scale, copy, copy_scale, copy_max, lr_multiplier, weight_decay_multiplier);
        $call!(quern_adam_control: lr, step, grad_scale, clip, found_inf);
        $call!(quern_adam_args: size, tensor_size, param_dtype, grad_dtype, m_dtype, v_dtype, master_dtype, mode, tensors, tensor_count, lr, beta1, beta2, eps, weight_decay, step, seed, param_rounding, m_rounding, v_rounding, eps_mode, amsgrad, maximize, zero_grads, use_multipliers, copy_dtype, grad_scale, control, plan, grads, bias1, bias2, steps);
        $call!(quern_gradient: grad, main_grad, count);
        $call!(quern_gradient_norm_args: size, gradient_size, grad_dtype, gradients, gradient_count, plan, max_norm, grad_scale, grad_scale_pointer, norm, clip, found_inf, grads);
        $call!(quern_accumulate_args: size, gradient_size, grad_dtype, zero_grads, gradients, gradient_count, scale, main_dtype, overwrite, plan, overwrite_flags, token_counts, group_count, token_places, grads);
        $call!(quern_quantize_tensor: input, output, count, columns, transposed, block_scales, transposed_block_scales);
        $call!(quern_quantize_args: size, tensor_size, input_dtype, output_dtype, tensors, tensor_count, amax, scale, scale_inv, eps, power_of_two, rounding, seed, offset, offset_pointer, noop, history, history_length, plan, scaling);
        $call!(quern_carrier: size, threads, name, user, tags, longest, borrows, send, receive, test, cancel);
        $call!(quern_hosts_args: size, host_ranks, meet, secret, secret_bytes, host, all_gather, all_gather_user, carrier, transports, failure_timeout);
        $call!(quern_group_args: size, rank, ranks, name, device, timeout, share_gpu, first_epoch, first_timeout, job, multicast, hosts, progress, progress_core);
        $call!(quern_barrier_args: size, members, member_count, timeout);
        $call!(quern_ragged_all_to_all_args: size, metadata_dtype, input, input_rows, output, output_rows, row_bytes, updates, input_offsets, send_sizes, output_offsets, recv_sizes, metadata_on_device, check_overlap, members, member_count, multiprocessors, timeout);
        $call!(quern_ragged_sizes_args: size, metadata_dtype, updates, send_sizes, input_offsets, output_offsets, recv_sizes, input_rows, output_rows);
        $call!(quern_collective_args: size, dtype, input, output, count, combination, root, members, member_count, multiprocessors, timeout, input_stride, order);
        $call!(quern_group_gather_args: size, group, collective, workspace, workspace_bytes);
        $call!(quern_quantize_chunks_args: size, input_dtype, output_dtype, input, output, ready, ready_value, rows, columns, chunk_rows, order, amax, scale, scale_inv, eps, power_of_two, rounding, seed, offset, offset_pointer, members, member_count, multiprocessors, timeout, scaling, block_scales);
        $call!(quern_device_view: size, rank, ranks, unused, timeout, poison, multicast, peer);
        $call!(quern_transfer_item: receive, peer, tag, memory, bytes);
        $call!(quern_transfer_args: size, item_size, items, item_count, key, timeout);
    };
}
