/* Plausible values: small calls that succeed, from which calls.c departs by single faults.  Called by calls.c. */
#include "cases.h"

#include <ftw.h>

#include "../../generated/header/parameters.h"
#include "calls.h"
#include "hooks.h"
#include "input.h"
#include "pack.h"

/* ---- numbers ---- */

static bool flip(void) { return input_byte() & 1; }

static bool is(const struct record *record, const char *name) { return same_text(record->name, name); }

static quern_dtype float_dtype(void) { return (quern_dtype)(QUERN_F32 + input_below(3)); }

static int64_t stride(int64_t columns) { return flip() ? 0 : columns + input_below(3); }

static void *omit_one_in(int n) {
    return input_one_in(n) ? NULL : OMIT;  /* at the end of the input: omitted */
}

static void loss_numbers(quern_cross_entropy_args *a) {
    *a = (quern_cross_entropy_args)QUERN_CROSS_ENTROPY_ARGS_INIT;
    a->logits_dtype = float_dtype();
    a->labels_dtype = flip() ? QUERN_INT64 : QUERN_INT32;
    a->reduction = (quern_reduction)input_below(3);
    a->rows = input_below(5);
    a->vocab = 1 + (input_one_in(8) ? input_below(2000) : input_below(40));
    a->logits_stride = stride(a->vocab);
    a->loss = omit_one_in(2);
    a->grad_loss = omit_one_in(4);
    a->grad_loss_stride = input_below(3);
    a->report = omit_one_in(4);
    a->class_weights = omit_one_in(6);
    a->lse = omit_one_in(4), a->log_prob = omit_one_in(6), a->entropy = omit_one_in(6), a->argmax = omit_one_in(6);
    a->stats = omit_one_in(2);
    if (input_one_in(6)) a->label_smoothing = 0.125f;
    if (input_one_in(6)) a->z_loss = 0.5f;
    if (input_one_in(6)) a->softcap = 20;
    if (input_one_in(6)) a->inverse_temperature = 0.5f;
    a->inverse_temperatures = omit_one_in(6), a->grad_log_prob = omit_one_in(6), a->grad_entropy = omit_one_in(6);
    a->grad_log_prob_stride = input_below(3), a->grad_entropy_stride = input_below(3);
    if (input_one_in(6)) a->padded_vocab = a->vocab + input_below(5);
    if (input_one_in(8)) a->global_vocab = a->vocab + input_below(9), a->first_column = (a->global_vocab - a->vocab) / 2;
    const int64_t columns = a->padded_vocab ? a->padded_vocab : a->vocab;
    if (a->logits_stride && a->logits_stride < columns) a->logits_stride = columns;
    a->grad = omit_one_in(2);
    if (!a->grad) a->grad_stride = stride(columns);
    else a->grad_loss = OMIT;  /* it would be ignored */
    a->bits = a->rows == 4 && a->vocab % 2 ? QUERN_BITS_PORTABLE : QUERN_BITS_DEFAULT;
    if (a->bits == QUERN_BITS_DEFAULT || !a->global_vocab) a->nodes = OMIT;
    if (input_one_in(4)) a->top_k = 1 + (flip() ? input_below(3) : input_below(32));
    else a->top_ids = OMIT, a->top_log_probs = OMIT;
    if (input_one_in(4)) a->given_count = 1 + input_below(4);
    else a->given_ids = OMIT, a->given_log_probs = OMIT;
    if (!a->top_k || !a->global_vocab) a->shard_top_ids = OMIT, a->shard_top_logits = OMIT;
    if (!a->given_count || !a->global_vocab) a->shard_given_logits = OMIT;
    if (a->given_count && flip()) {
        a->divergence_kind = (quern_divergence)input_below(3), a->has_tail = flip();
        a->divergence = omit_one_in(2), a->grad_divergence = omit_one_in(2), a->grad_divergence_stride = input_below(3);
        if (a->divergence != OMIT || a->grad_divergence != OMIT) a->bits = QUERN_BITS_DEFAULT, a->nodes = OMIT;
    } else {
        a->target_probs = OMIT, a->divergence = OMIT, a->grad_divergence = OMIT;
    }
    a->soft_targets = OMIT;
    if (!a->global_vocab && input_one_in(6)) {
        a->soft_targets_dtype = float_dtype(), a->soft_targets_stride = stride(a->vocab), a->soft_targets = NULL;
        a->target_probs = OMIT, a->divergence = omit_one_in(2), a->grad_divergence = omit_one_in(2), a->has_tail = 0;
        a->bits = QUERN_BITS_DEFAULT, a->nodes = OMIT;
    }
    if (!a->grad && input_one_in(4)) a->grad_dtype = QUERN_F32;
}

static void linear_numbers(quern_linear_cross_entropy_args *a) {
    *a = (quern_linear_cross_entropy_args)QUERN_LINEAR_CROSS_ENTROPY_ARGS_INIT;
    loss_numbers(&a->loss);
    a->loss.logits = a->loss.grad = a->loss.stats = OMIT, a->loss.nodes = OMIT;
    a->loss.shard_top_ids = OMIT, a->loss.shard_top_logits = a->loss.shard_given_logits = OMIT;
    a->loss.logits_stride = a->loss.grad_stride = a->loss.padded_vocab = 0;
    a->loss.grad_dtype = QUERN_NO_DTYPE;
    if (input_one_in(4)) {
        a->shard_count = 1 + input_below(3);
        a->loss.first_column = input_below(3), a->loss.global_vocab = a->loss.vocab + 2 + input_below(3);
        a->loss.soft_targets_dtype = QUERN_NO_DTYPE, a->loss.soft_targets = OMIT;
        a->gather = hook_gather;
        if (input_one_in(8)) a->gather_user = a;
        if (a->loss.class_weights) a->loss.reduction = QUERN_REDUCTION_SUM;
    } else {
        a->loss.first_column = a->loss.global_vocab = 0;
    }
    if (input_one_in(6)) a->d_weight_dtype = QUERN_BF16, a->accumulate = quern_accumulate;
    a->bias = a->d_bias = OMIT;
    if (input_one_in(4)) {
        a->bias_dtype = flip() ? a->loss.logits_dtype : QUERN_F32;
        a->bias = omit_one_in(2), a->d_bias = omit_one_in(2);
    }
    a->hidden_dtype = float_dtype();
    a->weight_dtype = float_dtype();
    a->accumulate_weight = flip();
    a->width = input_below(20);
    a->hidden_stride = stride(a->width), a->weight_stride = stride(a->width);
    a->d_hidden = omit_one_in(2), a->d_weight = omit_one_in(2);
    a->d_hidden_stride = stride(a->width), a->d_weight_stride = a->d_weight_dtype == QUERN_BF16 ? 0 : stride(a->width);
    a->chunk_rows = input_below(4);
    const struct live *blas = input_one_in(3) ? state_choose(HANDLE_OF_quern_blas) : NULL;
    a->gemm = blas ? quern_blas_gemm : hook_gemm;
    if (blas) a->gemm_user = blas->handle;
}

static void gemm_numbers(quern_gemm_args *a) {
    *a = hook_initial_gemm();
    a->accumulate = input_one_in(4);
    a->m = input_below(9), a->n = input_below(9), a->k = input_below(9);
    a->a_dtype = float_dtype(), a->b_dtype = float_dtype();
    a->c_dtype = float_dtype();
    a->a_transposed = flip(), a->b_transposed = flip();
    a->a_stride = (a->a_transposed ? a->m : a->k) + input_below(3);
    a->b_stride = (a->b_transposed ? a->k : a->n) + input_below(3);
    a->c_stride = a->n + input_below(3);
}

static const quern_dtype adam_dtypes[][5] = {
    {QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE},
    {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32},
    {QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER},
    {QUERN_F16, QUERN_F16, QUERN_F32, QUERN_F32, QUERN_F32},
    {QUERN_F32, QUERN_F32, QUERN_E4M3, QUERN_E4M3, QUERN_NO_DTYPE},
    {QUERN_BF16, QUERN_F32, QUERN_F16, QUERN_F16, QUERN_F32},
};

static void adam_numbers(quern_adam_args *a) {
    *a = (quern_adam_args)QUERN_ADAM_ARGS_INIT;
    const quern_dtype *dtypes = adam_dtypes[input_below(6)];
    a->param_dtype = dtypes[0], a->grad_dtype = dtypes[1], a->m_dtype = dtypes[2], a->v_dtype = dtypes[3];
    a->master_dtype = dtypes[4];
    a->mode = (quern_adam_mode)flip();
    a->tensor_count = input_below(4);
    a->lr = 0.125, a->weight_decay = flip() ? 0.25 : 0;
    a->step = 1 + input_below(9);
    a->seed = input_byte();
    a->amsgrad = input_one_in(6), a->zero_grads = input_one_in(6);
    a->use_multipliers = input_one_in(6), a->maximize = input_one_in(6);
    if (input_one_in(8)) a->copy_dtype = (quern_dtype)(QUERN_F16 + input_below(4));
    a->control.lr = omit_one_in(6), a->control.step = omit_one_in(4), a->control.grad_scale = omit_one_in(6);
    a->control.clip = omit_one_in(6), a->control.found_inf = omit_one_in(6);
    a->plan = OMIT, a->grads = OMIT;
    a->steps = a->control.step == OMIT && a->seed % 2 ? NULL : OMIT;
    struct live *live = input_one_in(3) ? state_choose(HANDLE_OF_quern_adam_plan) : NULL;
    if (!live) return;
    const quern_adam_args *made = &live->made;
    a->param_dtype = made->param_dtype, a->grad_dtype = made->grad_dtype, a->m_dtype = made->m_dtype, a->v_dtype = made->v_dtype;
    a->master_dtype = made->master_dtype, a->copy_dtype = made->copy_dtype;
    a->amsgrad = made->amsgrad, a->zero_grads = made->zero_grads, a->use_multipliers = made->use_multipliers;
    a->tensors = OMIT, a->steps = OMIT;
    a->tensor_count = 0;
    a->plan = live->handle;
}

/* Most tensors are small; some have more elements than a block, a chunk or a vector of every kernel. */
static int64_t element_count(void) {
    static const int64_t counts[] = {5, 1, 0, 32, 33, 64, 257, 2049};
    return input_one_in(3) ? input_below(100) : counts[input_below(8)];
}

static void tensor_numbers(quern_adam_tensor *a) {
    a->count = element_count();
    a->lr_multiplier = a->weight_decay_multiplier = 1;
    a->copy_scale = omit_one_in(4), a->copy_max = omit_one_in(4);
}

static void norm_numbers(quern_gradient_norm_args *a) {
    *a = (quern_gradient_norm_args)QUERN_GRADIENT_NORM_ARGS_INIT;
    a->grad_dtype = float_dtype();
    a->gradient_count = input_below(4);
    a->max_norm = flip();
    a->grad_scale_pointer = omit_one_in(4);
    a->plan = OMIT, a->grads = OMIT;
    struct live *live = input_one_in(4) ? state_choose(HANDLE_OF_quern_adam_plan) : NULL;
    if (!live) return;
    a->grad_dtype = live->made.grad_dtype;
    a->gradients = OMIT;
    a->gradient_count = 0;
    a->plan = live->handle;
}

static void accumulate_numbers(quern_accumulate_args *a) {
    *a = (quern_accumulate_args)QUERN_ACCUMULATE_ARGS_INIT;
    a->grad_dtype = float_dtype();
    a->gradient_count = input_below(4);
    a->zero_grads = flip();
    a->main_dtype = flip() ? QUERN_F32 : input_one_in(4) ? QUERN_NO_DTYPE : QUERN_BF16;
    a->overwrite = input_one_in(4);
    a->overwrite_flags = omit_one_in(4);
    a->group_count = a->gradient_count + input_below(3);
    a->token_counts = omit_one_in(2), a->token_places = omit_one_in(2);
    a->plan = OMIT, a->grads = OMIT;
    struct live *live = input_one_in(3) ? state_choose(HANDLE_OF_quern_accumulate_plan) : NULL;
    if (!live) return;
    a->grad_dtype = live->summed.grad_dtype, a->main_dtype = live->summed.main_dtype, a->zero_grads = live->summed.zero_grads;
    a->gradients = OMIT, a->token_places = OMIT;
    a->overwrite_flags = OMIT, a->token_counts = OMIT;  /* a fault in the counts beside them would be ignored */
    a->plan = live->handle;
}

static void quantize_numbers(quern_quantize_args *a) {
    *a = (quern_quantize_args)QUERN_QUANTIZE_ARGS_INIT;
    a->input_dtype = float_dtype();
    a->output_dtype = flip() ? QUERN_E4M3 : QUERN_E5M2;
    a->tensor_count = input_below(4);
    a->eps = flip();
    a->power_of_two = flip();
    a->rounding = (quern_rounding)input_below(3);
    a->scaling = input_one_in(3) ? QUERN_SCALING_MX : (quern_scaling)input_below(2);
    a->scale = omit_one_in(4), a->scale_inv = omit_one_in(4), a->offset_pointer = omit_one_in(2);
    a->noop = omit_one_in(2);
    a->history = a->scaling == QUERN_SCALING_MX ? OMIT : omit_one_in(2);
    a->history_length = 1 + input_below(3);
    a->plan = OMIT;
    struct live *live = input_one_in(3) ? state_choose(HANDLE_OF_quern_quantize_plan) : NULL;
    if (!live) return;
    a->input_dtype = live->quantized.input_dtype, a->output_dtype = live->quantized.output_dtype;
    a->tensors = OMIT;
    a->scaling = live->quantized.scaling;
    if (a->scaling == QUERN_SCALING_MX) a->history = OMIT;
    a->plan = live->handle;
}

/* Vectors, and matrices with rows and columns on both sides of a block. */
static void quantized_numbers(quern_quantize_tensor *a) {
    a->count = element_count();
    a->columns = a->count;
    if (flip()) {
        a->columns = 1 + input_below(70);
        a->count = a->columns * input_below(40);
    }
    a->transposed = omit_one_in(2);
    a->output = a->transposed == OMIT ? NULL : omit_one_in(4);
}

static void group_numbers(quern_group_args *a) {
    *a = (quern_group_args)QUERN_GROUP_ARGS_INIT;
    a->ranks = 1;
    if (!input_one_in(8)) a->name = OMIT;
    a->hosts = OMIT;  /* the suites of hosts fuzz what comes from the network */
    a->first_epoch = input_one_in(4) ? UINT32_MAX - (uint32_t)input_below(3) : 0;
}

static void barrier_numbers(quern_barrier_args *a) {
    *a = (quern_barrier_args)QUERN_BARRIER_ARGS_INIT;
    a->members = omit_one_in(3);
    a->member_count = 1;
}

static void ragged_numbers(quern_ragged_all_to_all_args *a) {
    *a = (quern_ragged_all_to_all_args)QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    a->metadata_dtype = flip() ? QUERN_INT64 : QUERN_INT32;
    a->input_rows = input_below(9);
    a->output_rows = input_below(9);
    a->row_bytes = input_one_in(4) ? input_below(2000) : input_below(20);
    a->updates = 1 + input_below(3);
    a->check_overlap = flip();
    a->member_count = 1;
    a->members = omit_one_in(4);
}

static void dump_numbers(quern_dump_args *a) {
    *a = (quern_dump_args)QUERN_DUMP_ARGS_INIT;
    a->step = input_below(3);
    a->most_bytes = input_one_in(2) ? 0 : input_below(5000);
}

static void sizes_numbers(quern_ragged_sizes_args *a) {
    *a = (quern_ragged_sizes_args)QUERN_RAGGED_SIZES_ARGS_INIT;
    a->metadata_dtype = flip() ? QUERN_INT64 : QUERN_INT32;
    a->updates = input_below(4);
}

static void collective_numbers(quern_collective_args *a) {
    static const quern_dtype dtypes[] = {QUERN_F32, QUERN_F16, QUERN_BF16, QUERN_E4M3, QUERN_INT64};
    *a = (quern_collective_args)QUERN_COLLECTIVE_ARGS_INIT;
    a->dtype = dtypes[input_below(input_one_in(3) ? 5 : 3)];
    a->count = input_below(input_one_in(4) ? 700 : 40);
    a->combination = flip() ? QUERN_COMBINE_SUM : QUERN_COMBINE_MAX;
    a->member_count = 1;
    a->members = omit_one_in(4);
}

/* What fits the symmetric memory that chunks_memory gives it.  An order is most often none: few are permutations. */
enum { CHUNKED_BYTES = 512 };

static void chunks_numbers(quern_quantize_chunks_args *a) {
    static const quern_dtype inputs[] = {QUERN_F32, QUERN_F16, QUERN_BF16}, outputs[] = {QUERN_E4M3, QUERN_E5M2};
    *a = (quern_quantize_chunks_args)QUERN_QUANTIZE_CHUNKS_ARGS_INIT;
    a->input_dtype = inputs[input_below(3)];
    a->output_dtype = outputs[input_below(2)];
    a->rows = input_below(13);
    a->columns = input_below(40);
    a->chunk_rows = 1 + input_below(6);
    a->ready_value = 1 + (uint32_t)input_below(250);
    a->power_of_two = flip();
    a->rounding = flip() ? QUERN_ROUND_STOCHASTIC : QUERN_ROUND_NEAREST;
    a->order = omit_one_in(1);
    if (input_one_in(8)) a->order = NULL;
    a->member_count = 1;
    a->members = omit_one_in(4);
    a->scaling = flip() ? QUERN_SCALING_MX : QUERN_SCALING_DEFAULT;
    if (a->scaling == QUERN_SCALING_MX) a->amax = a->scale = a->scale_inv = OMIT;
    else a->block_scales = OMIT;
}

/* Pairs of a send and a receive within the rank. */
static int items_made;

static void transfer_numbers(quern_transfer_args *a) {
    *a = (quern_transfer_args)QUERN_TRANSFER_ARGS_INIT;
    a->item_count = 2 * input_below(4);
    a->key = input_byte() % 8;
    items_made = 0;
}

static void item_numbers(quern_transfer_item *a) {
    const int place = items_made++;
    *a = (quern_transfer_item){.receive = place % 2, .tag = (uint64_t)place / 2, .bytes = 8 * (place / 2)};
}

/* Parameters that no function needs in particular, by their names and kinds. */
static void default_numbers(const struct record *record, char *self) {
    for (int i = 0; i < record->count; i++) {
        const struct field *field = &record->fields[i];
        char *place = self + field->offset;
        int64_t number = 0;
        const bool made_later = same_text(field->name, "workspace") || same_text(field->name, "saved");  /* by case_pointers */
        if (made_later) number = (int64_t)(uintptr_t)OMIT;
        else if (field->kind == ENUM) number = field->values[input_below(field->value_count)];
        else if (field->kind == INTEGER && same_text(field->name, "count")) number = 1;
        else if (field->kind == INTEGER && same_text(field->name, "bytes")) number = input_below(600);
        else continue;
        memcpy(place, &number, field->bytes);
    }
}

#define SET(type, field, value) if (is(record, #type)) ((type *)self)->field = (value)

static void parameter_numbers(const struct record *record, char *self) {
    default_numbers(record, self);
    SET(quern_set_log__parameters, callback, flip() ? hook_log : NULL);
    if (!input_one_in(4)) SET(quern_device_open__parameters, kind, QUERN_CPU);
    SET(quern_prepare__parameters, operations, 1 + (unsigned)input_below(ALL_OPERATIONS));
    SET(quern_set_threads__parameters, threads, (int)input_below(4));
    SET(quern_set_threads__parameters, hook, input_one_in(3) ? hook_parallel_for : NULL);
    SET(quern_cross_entropy_combine__parameters, shard_count, 1 + input_below(3));
    SET(quern_barrier_bytes__parameters, ranks, (int)input_below(130));
    if (!input_one_in(4)) SET(quern_blas_open__parameters, library, OMIT);
    SET(quern_barrier__parameters, args, omit_one_in(2));
    SET(quern_chunk_wait__parameters, value, 1 + (uint32_t)input_below(250));
    SET(quern_group_missing__parameters, words, 1 + (int)input_below(QUERN_MAX_RANKS / 64));
}

void case_numbers(const struct record *record, void *self, const void *parent) {
    (void)parent;
    if (is(record, "quern_cross_entropy_args")) loss_numbers(self);
    else if (is(record, "quern_linear_cross_entropy_args")) linear_numbers(self);
    else if (is(record, "quern_gemm_args")) gemm_numbers(self);
    else if (is(record, "quern_adam_args")) adam_numbers(self);
    else if (is(record, "quern_adam_tensor")) tensor_numbers(self);
    else if (is(record, "quern_gradient")) ((quern_gradient *)self)->count = element_count();
    else if (is(record, "quern_gradient_norm_args")) norm_numbers(self);
    else if (is(record, "quern_accumulate_args")) accumulate_numbers(self);
    else if (is(record, "quern_quantize_args")) quantize_numbers(self);
    else if (is(record, "quern_quantize_tensor")) quantized_numbers(self);
    else if (is(record, "quern_group_args")) group_numbers(self);
    else if (is(record, "quern_ragged_all_to_all_args")) ragged_numbers(self);
    else if (is(record, "quern_dump_args")) dump_numbers(self);
    else if (is(record, "quern_ragged_sizes_args")) sizes_numbers(self);
    else if (is(record, "quern_collective_args")) collective_numbers(self);
    else if (is(record, "quern_quantize_chunks_args")) chunks_numbers(self);
    else if (is(record, "quern_device_view")) *(quern_device_view *)self = (quern_device_view)QUERN_DEVICE_VIEW_INIT;
    else if (is(record, "quern_barrier_args")) barrier_numbers(self);
    else if (is(record, "quern_transfer_args")) transfer_numbers(self);
    else if (is(record, "quern_transfer_item")) item_numbers(self);
    else if (is(record, "quern_device_info")) *(quern_device_info *)self = (quern_device_info)QUERN_DEVICE_INFO_INIT;
    else parameter_numbers(record, self);
}

/* ---- bounds of time ---- */

static double short_time(double timeout) { return timeout == 0 || timeout > 0.002 ? 0.002 : timeout; }

void case_tame(const struct record *record, void *self) {
    quern_group_args *group = self;
    quern_set_threads__parameters *threads = self;
    quern_chunk_wait__parameters *wait = self;
    quern_quantize_args *quantized = self;
    const struct live *plan = is(record, "quern_quantize_args") ? state_find(quantized->plan) : NULL;
    if (plan) quantized->tensor_count = plan->quantized.tensor_count;  /* not read, but the extent of the arrays */
    if (is(record, "quern_group_args") && group->ranks > 1) {
        group->timeout = short_time(group->timeout);
        group->first_timeout = short_time(group->first_timeout);
    }
    if (is(record, "quern_chunk_wait__parameters")) wait->timeout = short_time(wait->timeout);
    if (is(record, "quern_set_threads__parameters") && threads->threads > 4 && threads->threads <= 1024) threads->threads = 4;
}

bool case_may_write(const char *function, int status) {
    return same_text(function, "quern_linear_cross_entropy") && status >= 2000;
}

/*
 * Ragged exchanges and collectives work in place, and transfers may send memory twice.  The arrays of sizes have room for more
 * ranks than a group here has, so an output may lie behind what is read.  Other functions than quern_cross_entropy ignore some of
 * its arguments.
 */
bool case_may_overlap(const struct function *function, const struct record *record) {
    return is(record, "quern_ragged_all_to_all_args") || is(record, "quern_ragged_sizes_args") ||
           is(record, "quern_collective_args") || is(record, "quern_transfer_item") ||
           (is(record, "quern_cross_entropy_args") && !same_text(function->name, "quern_cross_entropy"));
}

/* ---- workspaces ---- */

/* Exactly what the library asked for; or less, too little of it, or at a wrong place. */
static void give_workspace(struct call *call, quern_status status, size_t needed, void **workspace, size_t *bytes) {
    *workspace = NULL;
    *bytes = status == QUERN_OK ? needed : 64;
    const bool bad = call_fault(call, CONTENTS);
    if (bad && input_one_in(2)) *bytes -= *bytes > 0;
    char *start = call_memory(call, (int64_t)*bytes + 16, true);
    if (!start) {
        *bytes = 0;
        return;
    }
    *workspace = start + 16;
    if (bad && input_one_in(3)) *workspace = start + 8;
    if (bad && input_one_in(3)) *workspace = NULL;
}

#define GIVE_WORKSPACE(function, query) \
    if (is(record, #function "__parameters")) { \
        function##__parameters *p = self; \
        size_t needed = 0; \
        quern_status status = query(p->device, p->args, &needed); \
        give_workspace(call, status, needed, &p->workspace, &p->workspace_bytes); \
    }

static void workspaces(struct call *call, const struct record *record, void *self) {
    GIVE_WORKSPACE(quern_cross_entropy, quern_cross_entropy_workspace)
    GIVE_WORKSPACE(quern_cross_entropy_stats, quern_cross_entropy_workspace)
    GIVE_WORKSPACE(quern_cross_entropy_combine, quern_cross_entropy_workspace)
    GIVE_WORKSPACE(quern_cross_entropy_gradient, quern_cross_entropy_workspace)
    GIVE_WORKSPACE(quern_linear_cross_entropy, quern_linear_cross_entropy_workspace)
    GIVE_WORKSPACE(quern_adam, quern_adam_workspace)
    GIVE_WORKSPACE(quern_gradient_norm, quern_gradient_norm_workspace)
}

/* ---- saved states ---- */

static void damage(unsigned char *saved, size_t bytes) {
    for (int left = (int)input_below(4); left >= 0; left--)
        saved[(uint64_t)input_below(1 << 16) % bytes] ^= (unsigned char)(1 + input_byte());
    if (input_one_in(4)) return;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i + sizeof hash < bytes; i++) hash = (hash ^ saved[i]) * 0x100000001b3u;
    memcpy(saved + bytes - sizeof hash, &hash, sizeof hash);
}

static void saved_state(struct call *call, quern_device *device, const quern_adam_args *args, void **saved, size_t *bytes,
                        bool load) {
    *saved = NULL;
    if (quern_adam_saved_bytes(device, args, bytes) != QUERN_OK) *bytes = 64;
    if (call_fault(call, CONTENTS)) *bytes += (size_t)input_below(3) - 1;
    unsigned char *memory = call_memory(call, (int64_t)*bytes, !load);
    if (!memory) {
        *bytes = 0;
        return;
    }
    call_fill(memory, (int64_t)*bytes, ANY, 0);
    *saved = memory;
    if (load && quern_adam_save(device, args, memory, *bytes) == QUERN_OK && *bytes >= 16 && call_fault(call, CONTENTS))
        damage(memory, *bytes);
}

/* ---- ranks ---- */

/* Each update sends `size` rows from the same place of the input to the next place of the output. */
static void metadata(quern_ragged_all_to_all_args *a) {
    const void *arrays[] = {a->input_offsets, a->send_sizes, a->output_offsets, a->recv_sizes};
    const int64_t all = a->updates < 1 || a->updates > 8 ? 0 : a->updates;
    const int64_t most = a->input_rows < a->output_rows ? a->input_rows : a->output_rows;
    const int64_t size = all && most > 0 ? most / all : 0;
    for (int i = 0; i < 4; i++)
        for (int64_t u = 0; arrays[i] && u < all * MOST_RANKS; u++) {
            const int64_t value = i % 2 ? size : u % all * size;
            if (a->metadata_dtype == QUERN_INT32) ((int32_t *)(uintptr_t)arrays[i])[u] = (int32_t)value;
            if (a->metadata_dtype == QUERN_INT64) ((int64_t *)(uintptr_t)arrays[i])[u] = value;
        }
}

/* An address of the group's symmetric memory; or one of no group. */
static void *symmetric_pointer(struct call *call, quern_group *group) {
    struct live *live = state_find(group);
    const size_t bytes = 64;
    if (live && !live->symmetric_count && quern_symmetric_alloc(&group, 1, &bytes, &live->symmetric[0]) == QUERN_OK)
        live->symmetric_count = 1;
    if (call_fault(call, CONTENTS) || !live || !live->symmetric_count) return call_memory(call, 64, true);
    return live->symmetric[input_below(live->symmetric_count)];
}

static void *registered_pointer(struct call *call, quern_group *group) {
    static char memory[64];
    struct live *live = state_find(group);
    void *pointer = memory;
    if (live && !live->registered && quern_symmetric_register(&group, 1, &pointer, &(size_t){sizeof memory}) == QUERN_OK)
        live->registered = memory;
    return live && live->registered && !call_fault(call, CONTENTS) ? live->registered : symmetric_pointer(call, group);
}

static void *symmetric_workspace(struct call *call, quern_group *group, const quern_ragged_all_to_all_args *args, size_t *bytes) {
    struct live *live = state_find(group);
    void *memory = NULL;
    *bytes = 0;
    if (!live || !args || quern_ragged_all_to_all_workspace(group, args, bytes) != QUERN_OK || *bytes > 1 << 20) return NULL;
    if (call_fault(call, CONTENTS)) *bytes -= *bytes > 0;
    if (live->symmetric_count == 8 || quern_symmetric_alloc(&group, 1, bytes, &memory) != QUERN_OK) return NULL;
    live->symmetric[live->symmetric_count++] = memory;
    return memory;
}

static void ragged_plan(struct call *call, quern_ragged_plan_create__parameters *p) {
    if (p->count != 1 || !p->groups || !p->args) return;
    if (!call_has(call, p->workspaces, 8) || !call_has(call, p->workspace_bytes, 8)) return;
    p->workspaces[0] = symmetric_workspace(call, p->groups[0], p->args, p->workspace_bytes);
}

/* Memory of the group for an output, its words, of which none has a value, and its scales. */
static void chunks_memory(struct call *call, quern_quantize_chunks__parameters *p) {
    struct live *live = state_find(p->group);
    const size_t bytes = 3 * CHUNKED_BYTES;
    void *memory = NULL;
    if (!live || !call_has(call, p->args, sizeof *p->args) || call_fault(call, CONTENTS)) return;
    if (live->symmetric_count == 8 || quern_symmetric_alloc(&p->group, 1, &bytes, &memory) != QUERN_OK) return;
    live->symmetric[live->symmetric_count++] = memory;
    p->args->output = memory;
    p->args->ready = (uint32_t *)(void *)((char *)memory + CHUNKED_BYTES);
    if (p->args->block_scales) p->args->block_scales = (uint8_t *)memory + 2 * CHUNKED_BYTES;
}

/* A word that has come, or none that ever will. */
static void awaited_word(struct call *call, quern_chunk_wait__parameters *p) {
    p->ready = symmetric_pointer(call, p->group);
    if (p->ready && !call_fault(call, CONTENTS)) memcpy(p->ready, &p->value, sizeof p->value);
}

static void registered(struct call *call, quern_symmetric_register__parameters *p) {
    if (p->count != 1 || !call_has(call, p->pointers, 8) || !call_has(call, p->bytes, 8)) return;
    p->pointers[0] = p->bytes[0] > 65536 ? NULL : call_memory(call, (int64_t)p->bytes[0], true);
}

/* Of a group that is alive; or of none. */
static quern_group_gather_args *gather_args(struct call *call) {
    static quern_group_gather_args args;
    const struct live *group = call_fault(call, CONTENTS) ? NULL : state_choose(HANDLE_OF_quern_group);
    args = (quern_group_gather_args)QUERN_GROUP_GATHER_ARGS_INIT;
    if (group) args.group = group->handle;
    return group || input_one_in(2) ? &args : NULL;
}

#define POINTER(function, pointer) if (is(record, #function "__parameters")) \
    ((function##__parameters *)self)->pointer = symmetric_pointer(call, ((function##__parameters *)self)->group)

static void ranks(struct call *call, const struct record *record, void *self) {
    POINTER(quern_symmetric_free, pointer);
    if (is(record, "quern_symmetric_unregister__parameters")) {
        quern_symmetric_unregister__parameters *p = self;
        p->pointer = registered_pointer(call, p->group);
    }
    POINTER(quern_symmetric_peer, pointer);
    POINTER(quern_symmetric_multicast, pointer);
    POINTER(quern_symmetric_view, pointer);
    if (is(record, "quern_chunk_wait__parameters")) awaited_word(call, self);
    if (is(record, "quern_quantize_chunks__parameters")) chunks_memory(call, self);
    if (is(record, "quern_symmetric_register__parameters")) registered(call, self);
    if (is(record, "quern_ragged_plan_create__parameters")) ragged_plan(call, self);
    if (is(record, "quern_ragged_all_to_all__parameters")) {
        quern_ragged_all_to_all__parameters *p = self;
        p->workspace = symmetric_workspace(call, p->group, p->args, &p->workspace_bytes);
    }
}

/* ---- all ---- */

/* The gradient in the place of the logits. */
static void in_place(struct call *call, quern_cross_entropy_args *a) {
    const bool is_aliased = call->fault == POINTERS && call->faults_placed;
    if (a->grad || !a->logits || is_aliased || !input_one_in(2)) return;
    const int64_t stride = a->logits_stride ? a->logits_stride : a->vocab;
    const int64_t columns = a->padded_vocab ? a->padded_vocab : a->vocab;
    if (stride < 0 || stride > 1 << 16 || columns < 0 || columns > stride || a->rows < 0 || a->rows > 16) return;
    const int64_t bytes = a->rows * stride * (int64_t)quern_dtype_bytes(a->logits_dtype);
    void *logits = call_memory(call, bytes, true);
    if (!logits) return;
    call_fill(logits, bytes, ANY, 0);
    a->logits = a->grad = logits;
    a->grad_stride = 0;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status, (void)kind, (void)place;
    return remove(path);
}

static char *own_path(bool is_trace) {
    static char paths[2][64];
    snprintf(paths[is_trace], sizeof paths[0], "/tmp/quern-fuzz-%s-%d", is_trace ? "trace" : "dump", (int)getpid());
    return paths[is_trace];
}

char *case_path(bool is_trace) {
    static const char *const others[] = {"/dev/null", "/", "/nonexistent/look", ""};
    if (input_one_in(4)) return (char *)(uintptr_t)others[input_below(4)];
    nftw(own_path(is_trace), remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    return own_path(is_trace);
}

void case_remove_paths(void) { for (int i = 0; i < 2; i++) nftw(own_path(i), remove_entry, 8, FTW_DEPTH | FTW_PHYS); }

void case_pointers(struct call *call, const struct record *record, void *self, const void *parent) {
    (void)parent;
    if (is(record, "quern_cross_entropy_args")) in_place(call, self);
    if (is(record, "quern_ragged_all_to_all_args") && !call_fault(call, CONTENTS)) metadata(self);
    workspaces(call, record, self);
    ranks(call, record, self);
    if (is(record, "quern_adam_save__parameters")) {
        quern_adam_save__parameters *p = self;
        saved_state(call, p->device, p->args, &p->saved, &p->bytes, false);
    }
    if (is(record, "quern_adam_load__parameters")) {
        quern_adam_load__parameters *p = self;
        saved_state(call, p->device, p->args, (void **)&p->saved, &p->bytes, true);
    }
    if (is(record, "quern_blas_gemm__parameters")) {
        const struct live *blas = call_fault(call, CONTENTS) ? NULL : state_choose(HANDLE_OF_quern_blas);
        ((quern_blas_gemm__parameters *)self)->blas = blas ? blas->handle : NULL;
    }
    if (is(record, "quern_group_gather__parameters")) ((quern_group_gather__parameters *)self)->args = gather_args(call);
    if (is(record, "quern_trace_begin__parameters")) ((quern_trace_begin__parameters *)self)->path = case_path(true);
    if (is(record, "quern_dump_args")) ((quern_dump_args *)self)->folder = case_path(false);
    if (is(record, "quern_load_pack__parameters")) ((quern_load_pack__parameters *)self)->path = (char *)(uintptr_t)pack_path();
}
