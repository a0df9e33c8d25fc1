/*
 * What calls do to handles: a table by the names of functions.  Those whose names end with _close or _destroy end the handle that
 * is their first parameter.  Called by fuzz.c.
 */
#include "effects.h"

#include "../../generated/header/parameters.h"
#include "cases.h"
#include "input.h"

/* ---- before ---- */

static bool ends_with(const char *text, const char *end) {
    const size_t length = strlen(text), tail = strlen(end);
    return length >= tail && same_text(text + length - tail, end);
}

/* NULL: it ends none. */
static void **ended_handle(struct call *call) {
    const char *name = call->function->name;
    return ends_with(name, "_close") || ends_with(name, "_destroy") ? (void **)call->parameters : NULL;
}

/* A permanent handle stays; a handle with dependents is closed after them. */
static void before_end(void **handle) {
    struct live *live = state_find(*handle);
    if (live && state_is_permanent(live)) *handle = NULL;
    else if (live) state_destroy_dependents(live);
}

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
static void start(quern_transfer *transfer) { if (!input_one_in(4)) (void)quern_transfer_start(transfer, NULL); }

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

static void after_blas_open(struct call *call) {
    const quern_blas_open__parameters *p = (const void *)call->parameters;
    state_add(HANDLE_OF_quern_blas, *p->blas, p->device);
}

/* Keeps the arguments of a plan, which may be shorter than today's. */
static void keep_plan(struct call *call, struct live *live, void *made, size_t most, const void *args) {
    uint32_t size;
    memcpy(&size, args, sizeof size);
    memset(made, 0, most);
    memcpy(made, args, (size & 0xffff) < most ? size & 0xffff : most);
    keep(live, call);
}

#define AFTER_PLAN(operation, field) \
    static void after_##operation##_create(struct call *call) { \
        const quern_##operation##_create__parameters *p = (const void *)call->parameters; \
        struct live *live = state_add(HANDLE_OF_quern_##operation, *p->plan, p->device); \
        keep_plan(call, live, &live->field, sizeof live->field, p->args); \
    }

AFTER_PLAN(adam_plan, made)
AFTER_PLAN(accumulate_plan, summed)
AFTER_PLAN(quantize_plan, quantized)

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

/* ---- the table ---- */

static const struct effect {
    const char *function;
    enum handle made;                  /* for which there must be room */
    bool (*before)(struct call *call);
    void (*after)(struct call *call);  /* after QUERN_OK, or a function without a status */
} effects[] = {
    {"quern_device_open", HANDLE_OF_quern_device, NULL, after_device_open},
    {"quern_blas_open", HANDLE_OF_quern_blas, NULL, after_blas_open},
    {"quern_adam_plan_create", HANDLE_OF_quern_adam_plan, NULL, after_adam_plan_create},
    {"quern_accumulate_plan_create", HANDLE_OF_quern_accumulate_plan, NULL, after_accumulate_plan_create},
    {"quern_quantize_plan_create", HANDLE_OF_quern_quantize_plan, NULL, after_quantize_plan_create},
    {"quern_group_create", HANDLE_OF_quern_group, NULL, after_group_create},
    {"quern_group_split", HANDLE_OF_quern_group, NULL, after_group_split},
    {"quern_group_shrink", HANDLE_OF_quern_group, NULL, after_group_shrink},
    {"quern_symmetric_alloc", NO_HANDLE, before_symmetric_alloc, after_symmetric_alloc},
    {"quern_symmetric_register", NO_HANDLE, NULL, after_symmetric_register},
    {"quern_symmetric_free", NO_HANDLE, NULL, after_symmetric_free},
    {"quern_ragged_plan_create", HANDLE_OF_quern_ragged_plan, NULL, after_ragged_plan_create},
    {"quern_transfer_prepare", HANDLE_OF_quern_transfer, NULL, after_transfer_prepare},
    {"quern_transfer_start", NO_HANDLE, before_transfer_start, NULL},
    {"quern_transfer_test", NO_HANDLE, before_transfer_test, NULL},
    {"quern_transfer_wait", NO_HANDLE, before_transfer_wait, NULL},
    {"quern_transfer_cancel", NO_HANDLE, NULL, after_transfer_cancel},
    {"quern_transfer_end", NO_HANDLE, before_transfer_end, NULL},
    {"quern_trace_end", NO_HANDLE, before_trace_end, NULL},
};

static const struct effect *find(const struct call *call) {
    for (size_t i = 0; i < sizeof effects / sizeof *effects; i++)
        if (same_text(effects[i].function, call->function->name)) return &effects[i];
    return NULL;
}

bool effects_before(struct call *call) {
    const struct effect *effect = find(call);
    if (ended_handle(call)) before_end(ended_handle(call));
    if (!effect) return true;
    return (!effect->made || state_has_room(effect->made)) && (!effect->before || effect->before(call));
}

void effects_after(struct call *call, uint64_t result) {
    const struct effect *effect = find(call);
    struct live *ended = ended_handle(call) ? state_find(*ended_handle(call)) : NULL;
    if (call->function->result == STATUS && result != QUERN_OK) return;
    if (ended) state_remove(ended);
    if (effect && effect->after) effect->after(call);
}
