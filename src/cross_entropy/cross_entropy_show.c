/* Shows the tensors of a call of cross-entropy.  Called while somebody looks at it. */
#include "cross_entropy/cross_entropy.h"

#include "../generated/arguments.h"

static int access_of(char letter) {
    return letter == 'i' ? QUERN_TENSOR_IN : letter == 'o' ? QUERN_TENSOR_OUT : letter == 'b' ? QUERN_TENSOR_BOTH : 0;
}

/* The letters say who uses a tensor in each step, in the order of enum quern_cross_entropy_step: i in, o out, b both, - nobody. */
static void show(const void *context, struct quern_tensor_taker *taker) {
    const struct quern_cross_entropy_call *call = context;
    const quern_cross_entropy_args *args = &call->args;
    const struct quern_element logits = quern_element_of(args->logits_dtype), labels = quern_element_of(args->labels_dtype);
    const int64_t rows = args->rows, sums = args->reduction == QUERN_REDUCTION_NONE ? rows : 1;
    const int64_t one = rows > 0;  /* number for all rows */
    const int64_t of_loss = args->grad_loss_stride, of_log_prob = args->grad_log_prob_stride;
    const int64_t of_entropy = args->grad_entropy_stride;
    const int64_t report = sizeof *args->report / sizeof(int64_t), stats = sizeof(quern_row_stats);
    const int64_t node_bytes = (int64_t)quern_cross_entropy_node_bytes(args);
    const int64_t shard_rows = (call->step == QUERN_STEP_COMBINE ? call->shard_count : 1) * rows;
    const char *const nodes = quern_cross_entropy_has_nodes(args) ? "-oi--" : "-----";
    const int64_t top_k = args->top_k, given_count = args->given_count;
    const char *const top = top_k ? "ooo--" : "-----";
    const int64_t of_divergence = args->grad_divergence_stride;
    const bool is_soft = args->soft_targets_dtype, is_later = args->grad_divergence && given_count && !is_soft;
    const struct quern_element of_soft = quern_element_of(is_soft ? args->soft_targets_dtype : QUERN_F32);
    const bool has_soft = is_soft && args->soft_targets && (args->divergence || args->grad_divergence);
    const char *const soft = !has_soft ? "-----" : args->grad_divergence ? "i--i-" : "i----";
    const char *const given = !given_count ? "-----" : is_later ? "oooi-" : "ooo--";
    const char *const given_ids = is_later ? "iiii-" : given_count ? "iii--" : "-----";
    const char *const targets = is_later ? "i-ii-" : args->divergence && !is_soft ? "i-i--" : "-----";
    const char *const shard_top = top_k ? "--i--" : "-----", *const shard_given = given_count ? "--i--" : "-----";
    const struct {
        const char *name, *uses;
        const void *data;
        struct quern_element element;
        int64_t rows, columns, stride;
    } tensors[] = {
        {"logits", "ii-i-", args->logits, logits, rows, args->vocab, args->logits_stride},
        {"labels", "iiii-", args->labels, labels, QUERN_NO_ROWS, rows, rows},
        {"class_weights", "ii-i-", args->class_weights, quern_float_element, QUERN_NO_ROWS, args->vocab, args->vocab},
        {"grad_loss", "i--ii", args->grad_loss, quern_float_element, of_loss ? rows : one, 1, of_loss},
        {"grad_log_prob", "i--i-", args->grad_log_prob, quern_float_element, of_log_prob ? rows : one, 1, of_log_prob},
        {"grad_entropy", "i--i-", args->grad_entropy, quern_float_element, of_entropy ? rows : one, 1, of_entropy},
        {"inverse_temperatures", "ii-i-", args->inverse_temperatures, quern_float_element, QUERN_NO_ROWS, rows, rows},
        {"shards", "--i--", call->shards, quern_byte_element, call->shard_count * rows, stats, stats},
        {"stats", "oooi-", args->stats, quern_byte_element, rows, stats, stats},
        {"nodes", nodes, args->nodes, quern_byte_element, shard_rows, node_bytes, node_bytes},
        {"soft_targets", soft, args->soft_targets, of_soft, rows, args->vocab, args->soft_targets_stride},
        {"grad", "o--ob", args->grad, quern_element_of(args->grad_dtype), rows, args->padded_vocab, args->grad_stride},
        {"loss", "o-o--", args->loss, quern_float_element, QUERN_NO_ROWS, sums, sums},
        {"lse", "o-o--", args->lse, quern_float_element, QUERN_NO_ROWS, rows, rows},
        {"log_prob", "o-o--", args->log_prob, quern_float_element, QUERN_NO_ROWS, rows, rows},
        {"entropy", "o-o--", args->entropy, quern_float_element, QUERN_NO_ROWS, rows, rows},
        {"argmax", "o-o--", args->argmax, quern_int64_element, QUERN_NO_ROWS, rows, rows},
        {"shard_top_ids", shard_top, args->shard_top_ids, quern_int64_element, shard_rows, top_k, top_k},
        {"shard_top_logits", shard_top, args->shard_top_logits, quern_float_element, shard_rows, top_k, top_k},
        {"shard_given_logits", shard_given, args->shard_given_logits, quern_float_element, shard_rows, given_count, given_count},
        {"given_ids", given_ids, args->given_ids, quern_int64_element, rows, given_count, given_count},
        {"given_log_probs", given, args->given_log_probs, quern_float_element, rows, given_count, given_count},
        {"target_probs", targets, args->target_probs, quern_float_element, rows, given_count, given_count},
        {"grad_divergence", "i--i-", args->grad_divergence, quern_float_element, of_divergence ? rows : one, 1, of_divergence},
        {"divergence", is_soft ? "o----" : "o-o--", args->divergence, quern_float_element, QUERN_NO_ROWS, rows, rows},
        {"top_ids", top, args->top_ids, quern_int64_element, rows, top_k, top_k},
        {"top_log_probs", top, args->top_log_probs, quern_float_element, rows, top_k, top_k},
        {"report", "o-o--", args->report, quern_int64_element, QUERN_NO_ROWS, report, report},
    };
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        const int access = access_of(tensors[i].uses[call->step]);
        if (access)
            quern_show_matrix(taker, tensors[i].name, tensors[i].data, tensors[i].element, tensors[i].rows, tensors[i].columns,
                              tensors[i].stride, access);
    }
}

#define VIEW(function) {.name = function, QUERN_ARGUMENTS(quern_cross_entropy_args), .tensors = show}

const struct quern_view quern_cross_entropy_views[QUERN_STEPS] = {
    [QUERN_STEP_WHOLE] = VIEW("cross_entropy"),
    [QUERN_STEP_STATS] = VIEW("cross_entropy_stats"),
    [QUERN_STEP_COMBINE] = VIEW("cross_entropy_combine"),
    [QUERN_STEP_GRADIENT] = VIEW("cross_entropy_gradient"),
    [QUERN_STEP_UPSTREAM] = VIEW("cross_entropy_upstream"),
};
