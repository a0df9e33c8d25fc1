/*
 * Each field of the calls on gradients, by the table of tests/fields/gradients.h: rubbish in ignored fields changes nothing,
 * illegal values are refused with a detail that names the field, buffers are aligned and apart.  Details about several fields word
 * for word.
 *
 * Runs on: cpu, one emulated, gpu.
 */
#include "fields/gradients.h"

TEST_FIELDS(fields_gradients, each_call, QUERN_ADAM) { WALK_EACH(gradient_calls, destroy_plans); }

/* ---- several fields ---- */

static void make_plan_without_groups(quern_accumulate_plan **plan) {
    quern_accumulate_args args = sum_args;
    args.plan = NULL, args.gradients = gradients, args.gradient_count = GRADIENTS, args.group_count = 0;
    check_ok(quern_accumulate_plan_create(fields_device.quern, &args, plan));
}

TEST_FIELDS(fields_gradients, groups, QUERN_ADAM) {
    static const int32_t beyond[GRADIENTS] = {-1, 1}, negative[GRADIENTS] = {0, -2};
    quern_accumulate_args *a = &sum_args;
    quern_accumulate_plan *plan;
    for (const struct call *call = calls_of_quern_accumulate; call->name; call++) {
        fields_prepare(call);
        if (call->parts[1].column == SUM_OF_PLAN) {
            make_plan_without_groups(&plan);
            REFUSED(a->plan = plan, QUERN_INVALID_ARGUMENT,
                    "args.token_counts is not NULL, and args.plan was made with group_count 0: expected NULL");
            REFUSED(a->main_dtype = QUERN_BF16, QUERN_INVALID_ARGUMENT, "args.main_dtype is bf16, and args.plan was made with f32");
            quern_accumulate_plan_destroy(plan);
        } else if (call->parts[1].column == GROUPED_SUM) {
            REFUSED((a->token_places = NULL, a->group_count = 1), QUERN_INVALID_ARGUMENT, "args.group_count is 1: expected at "
                    "least args.gradient_count, which is 2, since args.token_places is NULL");
            ACCEPTED((a->token_places = NULL, a->group_count = GRADIENTS));
            REFUSED((a->token_places = beyond, a->group_count = 1), QUERN_INVALID_ARGUMENT,
                    "args.token_places[1] is 1: expected -1, or 0 to below args.group_count, which is 1");
            REFUSED(a->token_places = negative, QUERN_INVALID_ARGUMENT,
                    "args.token_places[1] is -2: expected -1, or 0 to below args.group_count, which is 2");
            ACCEPTED(a->token_places = beyond);
            REFUSED(a->token_places = (const void *)((const char *)beyond + 2), QUERN_INVALID_ARGUMENT,
                    "args.token_places is not at a multiple of 4 bytes, the size of its elements");
        }
        destroy_plans();
    }
    fields_prepare(&calls_of_quern_accumulate_plan_create[0]);  /* a plan is not made of another one */
    make_plan_without_groups(&plan);
    REFUSED((a->plan = plan, a->gradients = NULL), QUERN_NULL_POINTER, "args.gradients is NULL");
    REFUSED((a->gradient_count = 0, a->gradient_size = 0), QUERN_INVALID_STRUCT_SIZE,
            "args.gradient_size is 0: expected 24 (as the struct's initialiser sets)");
    quern_accumulate_plan_destroy(plan);
}
