/* What calls do to handles: a table by the names of functions.  Called by fuzz.c. */
#include "effects.h"

#include <string.h>

#include "../../generated/header/parameters.h"
#include "cases.h"
#include "input.h"

/* ---- before ---- */

/* A permanent handle stays; a handle with dependents is closed after them. */
static void closes(void **handle) {
    struct live *live = state_find(*handle);
    if (live && state_is_permanent(live)) *handle = NULL;
    else if (live) state_destroy_dependents(live);
}

static bool before_device_close(struct call *call) {
    closes((void **)&((quern_device_close__parameters *)call->parameters)->device);
    return true;
}

static bool before_blas_close(struct call *call) {
    closes((void **)&((quern_blas_close__parameters *)call->parameters)->blas);
    return true;
}

static bool before_group_destroy(struct call *call) {
    closes((void **)&((quern_group_destroy__parameters *)call->parameters)->group);
    return true;
}

static bool before_device_open(struct call *call) { (void)call; return state_has_room(HANDLE_OF_quern_device); }
static bool before_blas_open(struct call *call) { (void)call; return state_has_room(HANDLE_OF_quern_blas); }
static bool before_plan_create(struct call *call) { (void)call; return state_has_room(HANDLE_OF_quern_adam_plan); }
static bool before_sums_create(struct call *call) { (void)call; return state_has_room(HANDLE_OF_quern_accumulate_plan); }
static bool before_quantize_create(struct call *call) { (void)call; return state_has_room(HANDLE_OF_quern_quantize_plan); }
static bool before_group_create(struct call *call) { (void)call; return state_has_room(HANDLE_OF_quern_group); }
static bool before_ragged_plan_create(struct call *call) { (void)call; return state_has_room(HANDLE_OF_quern_ragged_plan); }

static bool before_transfer_prepare(struct call *call) { (void)call; return state_has_room(HANDLE_OF_quern_transfer); }

/* Hardly an input would begin with the same group before. */
static bool before_transfer_end(struct call *call) {
    if (!input_one_in(4)) (void)quern_transfer_begin(((quern_transfer_end__parameters *)call->parameters)->group);
    return true;
}

static bool before_trace_end(struct call *call) {
    (void)call;
    if (!input_one_in(4)) (void)quern_trace_begin(case_path(true));
    return true;
}

/* One that is started, and one that was and is complete. */
static void start(quern_transfer *transfer) {
    if (!input_one_in(4)) (void)quern_transfer_start(transfer, NULL);
}

static bool before_transfer_start(struct call *call) {
    int32_t done;
    (void)quern_transfer_test(((quern_transfer_start__parameters *)call->parameters)->transfer, &done);
    return true;
}

static bool before_transfer_test(struct call *call) {
    start(((quern_transfer_test__parameters *)call->parameters)->transfer);
    return true;
}

static bool before_transfer_wait(struct call *call) {
    start(((quern_transfer_wait__parameters *)call->parameters)->transfer);
    return true;
}

/* A group has place for so many addresses in the state. */
static bool before_symmetric_alloc(struct call *call) {
    const quern_symmetric_alloc__parameters *p = (const void *)call->parameters;
    const struct live *live = p->groups && p->count == 1 ? state_find(p->groups[0]) : NULL;
    return !live || live->symmetric_count < 8;
}

/* ---- after ---- */

/* Appends the memory of a call to a handle's. */
static void keep(struct live *live, struct call *call) {
    struct block **last = &live->kept;
    while (*last) last = &(*last)->next;
    *last = call->blocks;
    call->keeps_blocks = true;
}

static void after_device_open(struct call *call) {
    state_add(HANDLE_OF_quern_device, *((quern_device_open__parameters *)call->parameters)->device, NULL);
}

static void after_device_close(struct call *call) {
    struct live *live = state_find(((quern_device_close__parameters *)call->parameters)->device);
    if (live) state_remove(live);
}

static void after_blas_open(struct call *call) {
    const quern_blas_open__parameters *p = (const void *)call->parameters;
    state_add(HANDLE_OF_quern_blas, *p->blas, p->device);
}

static void after_blas_close(struct call *call) {
    struct live *live = state_find(((quern_blas_close__parameters *)call->parameters)->blas);
    if (live) state_remove(live);
}

static void after_plan_create(struct call *call) {
    const quern_adam_plan_create__parameters *p = (const void *)call->parameters;
    struct live *live = state_add(HANDLE_OF_quern_adam_plan, *p->plan, p->device);
    memcpy(&live->made, p->args, (p->args->size & 0xffff) < sizeof live->made ? p->args->size & 0xffff : sizeof live->made);
    keep(live, call);
}

static void after_sums_create(struct call *call) {
    const quern_accumulate_plan_create__parameters *p = (const void *)call->parameters;
    struct live *live = state_add(HANDLE_OF_quern_accumulate_plan, *p->plan, p->device);
    const size_t bytes = p->args->size & 0xffff;
    live->summed = (quern_accumulate_args){0};
    memcpy(&live->summed, p->args, bytes < sizeof live->summed ? bytes : sizeof live->summed);
    keep(live, call);
}

static void after_sums_destroy(struct call *call) {
    struct live *live = state_find(((quern_accumulate_plan_destroy__parameters *)call->parameters)->plan);
    if (live) state_remove(live);
}

static void after_quantize_create(struct call *call) {
    const quern_quantize_plan_create__parameters *p = (const void *)call->parameters;
    struct live *live = state_add(HANDLE_OF_quern_quantize_plan, *p->plan, p->device);
    const size_t bytes = p->args->size & 0xffff;
    live->quantized = (quern_quantize_args){0};
    memcpy(&live->quantized, p->args, bytes < sizeof live->quantized ? bytes : sizeof live->quantized);
    keep(live, call);
}

static void after_quantize_destroy(struct call *call) {
    struct live *live = state_find(((quern_quantize_plan_destroy__parameters *)call->parameters)->plan);
    if (live) state_remove(live);
}

static void after_plan_destroy(struct call *call) {
    struct live *live = state_find(((quern_adam_plan_destroy__parameters *)call->parameters)->plan);
    if (live) state_remove(live);
}

static void after_group_create(struct call *call) {
    const quern_group_create__parameters *p = (const void *)call->parameters;
    for (int i = 0; i < p->count; i++) state_add(HANDLE_OF_quern_group, p->groups[i], p->args[i].device);
}

static void after_group_split(struct call *call) {
    const quern_group_split__parameters *p = (const void *)call->parameters;
    for (int i = 0; i < p->count; i++)
        if (p->new_groups[i]) state_add(HANDLE_OF_quern_group, p->new_groups[i], state_find(p->groups[i])->device);
}

static void after_group_shrink(struct call *call) {
    const quern_group_shrink__parameters *p = (const void *)call->parameters;
    for (int i = 0; i < p->count; i++) state_add(HANDLE_OF_quern_group, p->new_groups[i], state_find(p->groups[i])->device);
}

static void after_group_destroy(struct call *call) {
    struct live *live = state_find(((quern_group_destroy__parameters *)call->parameters)->group);
    if (live) state_remove(live);
}

static void after_symmetric_alloc(struct call *call) {
    const quern_symmetric_alloc__parameters *p = (const void *)call->parameters;
    struct live *live = state_find(p->groups[0]);
    live->symmetric[live->symmetric_count++] = p->pointers[0];
}

static void after_symmetric_register(struct call *call) {
    const quern_symmetric_register__parameters *p = (const void *)call->parameters;
    struct live *live = state_find(p->groups[0]);
    live->registered = p->pointers[0];
    keep(live, call);
}

static void after_symmetric_free(struct call *call) {
    const quern_symmetric_free__parameters *p = (const void *)call->parameters;
    struct live *live = state_find(p->group);
    for (int i = 0; i < live->symmetric_count; i++)
        if (live->symmetric[i] == p->pointer) live->symmetric[i] = live->symmetric[--live->symmetric_count];
}

static void after_ragged_plan_create(struct call *call) {
    const quern_ragged_plan_create__parameters *p = (const void *)call->parameters;
    struct live *live = state_add(HANDLE_OF_quern_ragged_plan, p->plans[0], NULL);
    live->group = p->groups[0];
    keep(live, call);
}

static void after_ragged_plan_destroy(struct call *call) {
    struct live *live = state_find(((quern_ragged_plan_destroy__parameters *)call->parameters)->plan);
    if (live) state_remove(live);
}

static void after_transfer_prepare(struct call *call) {
    const quern_transfer_prepare__parameters *p = (const void *)call->parameters;
    struct live *live = state_add(HANDLE_OF_quern_transfer, *p->transfer, NULL);
    live->group = p->group;
    keep(live, call);
}

/* Else all later calls have one that was cancelled. */
static void after_transfer_cancel(struct call *call) {
    struct live *live = state_find(((quern_transfer_cancel__parameters *)call->parameters)->transfer);
    if (live && !input_one_in(4)) state_destroy(live);
}

static void after_transfer_destroy(struct call *call) {
    struct live *live = state_find(((quern_transfer_destroy__parameters *)call->parameters)->transfer);
    if (live) state_remove(live);
}

/* ---- the table ---- */

static const struct effect {
    const char *function;
    bool (*before)(struct call *call);
    void (*after)(struct call *call);  /* after QUERN_OK, or a function without a status */
} effects[] = {
    {"quern_device_open", before_device_open, after_device_open},
    {"quern_device_close", before_device_close, after_device_close},
    {"quern_blas_open", before_blas_open, after_blas_open},
    {"quern_blas_close", before_blas_close, after_blas_close},
    {"quern_adam_plan_create", before_plan_create, after_plan_create},
    {"quern_adam_plan_destroy", NULL, after_plan_destroy},
    {"quern_accumulate_plan_create", before_sums_create, after_sums_create},
    {"quern_accumulate_plan_destroy", NULL, after_sums_destroy},
    {"quern_quantize_plan_create", before_quantize_create, after_quantize_create},
    {"quern_quantize_plan_destroy", NULL, after_quantize_destroy},
    {"quern_group_create", before_group_create, after_group_create},
    {"quern_group_split", before_group_create, after_group_split},
    {"quern_group_shrink", before_group_create, after_group_shrink},
    {"quern_group_destroy", before_group_destroy, after_group_destroy},
    {"quern_symmetric_alloc", before_symmetric_alloc, after_symmetric_alloc},
    {"quern_symmetric_register", NULL, after_symmetric_register},
    {"quern_symmetric_free", NULL, after_symmetric_free},
    {"quern_ragged_plan_create", before_ragged_plan_create, after_ragged_plan_create},
    {"quern_ragged_plan_destroy", NULL, after_ragged_plan_destroy},
    {"quern_transfer_prepare", before_transfer_prepare, after_transfer_prepare},
    {"quern_transfer_destroy", NULL, after_transfer_destroy},
    {"quern_transfer_start", before_transfer_start, NULL},
    {"quern_transfer_test", before_transfer_test, NULL},
    {"quern_transfer_wait", before_transfer_wait, NULL},
    {"quern_transfer_cancel", NULL, after_transfer_cancel},
    {"quern_transfer_end", before_transfer_end, NULL},
    {"quern_trace_end", before_trace_end, NULL},
};

static const struct effect *find(const struct call *call) {
    for (size_t i = 0; i < sizeof effects / sizeof *effects; i++)
        if (same_text(effects[i].function, call->function->name)) return &effects[i];
    return NULL;
}

bool effects_before(struct call *call) {
    const struct effect *effect = find(call);
    return !effect || !effect->before || effect->before(call);
}

void effects_after(struct call *call, uint64_t result) {
    const struct effect *effect = find(call);
    if (effect && effect->after && (call->function->result != STATUS || result == QUERN_OK)) effect->after(call);
}
