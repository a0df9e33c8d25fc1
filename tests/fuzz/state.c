/* The handles that live between the calls of one input.  Used by calls.c, cases.c and effects.c. */
#include "state.h"

#include "cases.h"
#include "input.h"

enum { MOST_LIVE = 48, MOST_OF_A_KIND = 4 };

static struct live all[MOST_LIVE];
static int count, permanent;

static void expect_ok(quern_status status) { if (status != QUERN_OK) abort(); }

/* A device with all operations, one with none, and a BLAS if this machine has one. */
void state_begin(void) {
    quern_device *device;
    quern_blas *blas;
    for (unsigned operations = ALL_OPERATIONS;; operations = 0) {
        expect_ok(quern_device_open(QUERN_CPU, 0, &device));
        expect_ok(quern_set_threads(device, 2, NULL, NULL));
        if (operations) expect_ok(quern_prepare(device, operations));
        state_add(HANDLE_OF_quern_device, device, NULL);
        if (!operations) break;
    }
    if (quern_blas_open(all[0].handle, NULL, &blas) == QUERN_OK) state_add(HANDLE_OF_quern_blas, blas, all[0].handle);
    permanent = count;
}

bool state_is_permanent(const struct live *live) { return live < all + permanent; }

bool state_has_room(enum handle kind) {
    int found = 0;
    for (int i = 0; i < count; i++) found += all[i].kind == kind && !all[i].destroyed;
    return found < MOST_OF_A_KIND && count < MOST_LIVE;
}

struct live *state_add(enum handle kind, void *handle, quern_device *device) {
    if (count == MOST_LIVE) abort();
    all[count] = (struct live){.handle = handle, .kind = kind, .device = device};
    return &all[count++];
}

struct live *state_find(const void *handle) {
    for (int i = 0; i < count; i++)
        if (handle && all[i].handle == handle && !all[i].destroyed) return &all[i];
    return NULL;
}

/* A group of one rank, since most inputs do not begin with one. */
static struct live *make_group(void) {
    quern_group *group;
    quern_group_args args = GROUP_ARGS(.ranks = 1, .device = all[0].handle);
    expect_ok(quern_group_create(&args, 1, &group));
    return state_add(HANDLE_OF_quern_group, group, args.device);
}

/* Hardly an input prepares a transfer before it uses one: a few bytes within a rank. */
static struct live *make_transfer(void) {
    static char from[] = "what is sent", to[sizeof from];
    static uint64_t made;
    const struct live *group = state_choose(HANDLE_OF_quern_group);
    const quern_transfer_item items[] = {{.memory = from, .bytes = sizeof from}, {.receive = 1, .memory = to, .bytes = sizeof to}};
    quern_transfer *transfer;
    quern_transfer_args args = TRANSFER_ARGS(.items = items, .item_count = 2, .key = ++made << 32);
    if (!group || count == MOST_LIVE || quern_transfer_prepare(group->handle, &args, &transfer) != QUERN_OK) return NULL;
    struct live *live = state_add(HANDLE_OF_quern_transfer, transfer, NULL);
    live->group = group->handle;
    return live;
}

/* Nor does it make a plan of an exchange: of nothing. */
static struct live *make_ragged_plan(void) {
    static const int32_t none[1] = {0};
    struct live *of = state_choose(HANDLE_OF_quern_group);
    quern_group *group = of ? of->handle : NULL;
    quern_ragged_plan *plan;
    size_t bytes;
    quern_ragged_all_to_all_args args = RAGGED_ALL_TO_ALL_ARGS(.row_bytes = 4, .input_offsets = none, .send_sizes = none,
                                                               .output_offsets = none, .recv_sizes = none);
    if (!of || of->symmetric_count == 8 || count == MOST_LIVE ||
        quern_ragged_all_to_all_workspace(group, &args, &bytes) != QUERN_OK ||
        quern_symmetric_alloc(&group, 1, &bytes, &of->symmetric[of->symmetric_count]) != QUERN_OK)
        return NULL;
    void *const workspace = of->symmetric[of->symmetric_count++];
    if (quern_ragged_plan_create(&group, 1, &args, &workspace, &bytes, &plan) != QUERN_OK) return NULL;
    struct live *live = state_add(HANDLE_OF_quern_ragged_plan, plan, NULL);
    live->group = group;
    return live;
}

static struct live *make_one(enum handle kind) {
    if (kind == HANDLE_OF_quern_group) return make_group();
    if (kind == HANDLE_OF_quern_transfer) return make_transfer();
    return kind == HANDLE_OF_quern_ragged_plan ? make_ragged_plan() : NULL;
}

/* The first of a kind is chosen most often: the device that has everything prepared. */
struct live *state_choose(enum handle kind) {
    const bool other = input_one_in(4), destroyed = input_one_in(64);
    int wanted = other ? (int)input_below(MOST_OF_A_KIND) : 0;
    struct live *found = NULL;
    for (int i = 0; i < count && wanted >= 0; i++)
        if (all[i].kind == kind && (destroyed || !all[i].destroyed)) found = &all[i], wanted--;
    return found || count == MOST_LIVE ? found : make_one(kind);
}

void state_free_blocks(struct block *block) {
    while (block) {
        struct block *next = block->next;
        free(block->start);
        free(block);
        block = next;
    }
}

/* A destroyed group, ragged plan or transfer stays in the list, so that it is used again. */
void state_remove(struct live *live) {
    state_free_blocks(live->kept);
    live->kept = NULL;
    live->symmetric_count = 0;
    live->registered = NULL;
    if (live->kind == HANDLE_OF_quern_group || live->kind == HANDLE_OF_quern_ragged_plan ||
        live->kind == HANDLE_OF_quern_transfer)
        live->destroyed = true;
    else live->handle = NULL, live->kind = NO_HANDLE;
}

void state_destroy(struct live *live) {
    state_destroy_dependents(live);
    switch (live->kind) {
    case HANDLE_OF_quern_device: quern_device_close(live->handle); break;
    case HANDLE_OF_quern_blas: quern_blas_close(live->handle); break;
    case HANDLE_OF_quern_adam_plan: quern_adam_plan_destroy(live->handle); break;
    case HANDLE_OF_quern_accumulate_plan: quern_accumulate_plan_destroy(live->handle); break;
    case HANDLE_OF_quern_quantize_plan: quern_quantize_plan_destroy(live->handle); break;
    case HANDLE_OF_quern_group: expect_ok(quern_group_destroy(live->handle)); break;
    case HANDLE_OF_quern_transfer: expect_ok(quern_transfer_destroy(live->handle)); break;
    case HANDLE_OF_quern_ragged_plan: (void)quern_ragged_plan_destroy(live->handle); break;
    default: break;
    }
    state_remove(live);
}

/* Plans, groups and BLAS of a device; plans and transfers of a group. */
void state_destroy_dependents(const struct live *live) {
    for (int i = count - 1; i >= 0; i--)
        if (!all[i].destroyed && all[i].kind && &all[i] != live &&
            (all[i].device == live->handle || (void *)all[i].group == live->handle))
            state_destroy(&all[i]);
}

void state_end(void) {
    (void)quern_trace_end();  /* its events are memory until then */
    case_remove_paths();
    for (int i = count - 1; i >= 0; i--)
        if (!state_is_permanent(&all[i]) && !all[i].destroyed && all[i].kind) state_destroy(&all[i]);
    count = permanent;
    expect_ok(quern_set_threads(all[0].handle, 2, NULL, NULL));
}

/* Nothing is left here that leads to memory, so that LeakSanitizer sees what is lost. */
void state_close(void) {
    for (int i = count - 1; i >= 0; i--)
        if (all[i].kind) state_destroy(&all[i]);
    count = permanent = 0;
    memset(all, 0, sizeof all);
}

quern_device *state_device(void) { return all[0].handle; }
