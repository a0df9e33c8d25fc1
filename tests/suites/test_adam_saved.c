/*
 * Saved states of Adam: the documented bytes, the same on every device; loading restores what was saved, through any change of
 * precision; damaged data is refused and nothing is written.
 *
 * Runs on: cpu, emulated, gpu; kernels of adam.
 */
#include "harness/adam_case.h"
#include "harness/random.h"
#include "oracle/adam_saved.h"

static const int64_t counts[] = {70, 0, 1, 2100, 32, 33, 0};

/* Saves the state of a session after its steps; *bytes is the size that the library asks for. */
static unsigned char *save(struct adam_session *session, size_t *bytes) {
    device_synchronize(session->device);
    check_ok(quern_adam_saved_bytes(session->device->quern, &session->args, bytes));
    unsigned char *saved = zeroed(*bytes + 16);
    memset(saved + *bytes, 0xA5, 16);
    check_ok(quern_adam_save(session->device->quern, &session->args, saved, *bytes));
    for (int i = 0; i < 16; i++) check(saved[*bytes + (size_t)i] == 0xA5, "something was written behind the saved state");
    return saved;
}

/* ---- the documented bytes ---- */

static void check_layout_of(const struct test_device *device, const struct quern_kernel *row, int32_t amsgrad) {
    quern_adam_args args = adam_args_of(row);
    args.amsgrad = amsgrad, args.step = 123456789012, args.seed = 0xFEDCBA9876543210;
    OPEN_ADAM(problem, &args, counts, COUNT(counts));
    const size_t wanted = adam_saved_write(&problem.args, NULL);
    SCOPED unsigned char *expected = zeroed(wanted);
    adam_saved_write(&problem.args, expected);
    size_t bytes;
    OPEN_ADAM_SESSION(session, device, &problem);
    SCOPED unsigned char *saved = save(&session, &bytes);
    check(bytes == wanted, "%s: %zu bytes instead of %zu", row->name, bytes, wanted);
    for (size_t i = 0; i < bytes; i++)
        check(saved[i] == expected[i], "%s: byte %zu of %zu is 0x%02X, not 0x%02X", row->name, i, bytes, saved[i], expected[i]);
}

/* A full row has the option; the others do not. */
TEST_ADAM_ROWS(adam_saved, every_byte_is_as_documented) {
    for (int32_t amsgrad = 0; amsgrad <= adam_args_of(row).amsgrad; amsgrad++) check_layout_of(device, row, amsgrad);
}

/* ---- a step for each tensor ---- */

static const int64_t own_steps[COUNT(counts)] = {0, 5, 1, ((int64_t)1 << 40) + 3, 9, 2, 0};

static void load(struct adam_session *session, const unsigned char *saved, size_t bytes, int64_t *step) {
    check_ok(quern_adam_load(session->device->quern, &session->args, saved, bytes, step, NULL));
}

/* They are saved and loaded; the one step of another state becomes that of each. */
TEST_ADAM_ROWS(adam_saved, steps_of_each_tensor) {
    static const int64_t others[COUNT(counts)] = {7, 7, 7, 7, 7, 7, 7};
    quern_adam_args args = adam_args_of(row);
    size_t bytes, plain_bytes;
    OPEN_ADAM(plain, &args, counts, COUNT(counts));
    args.steps = (int64_t *)(uintptr_t)own_steps;
    OPEN_ADAM(problem, &args, counts, COUNT(counts));
    args.steps = (int64_t *)(uintptr_t)others;
    OPEN_ADAM(other, &args, counts, COUNT(counts));
    OPEN_ADAM_SESSION(from, device, &problem);
    OPEN_ADAM_SESSION(to, device, &other);
    OPEN_ADAM_SESSION(without, device, &plain);
    SCOPED unsigned char *saved = save(&from, &bytes), *plain_saved = save(&without, &plain_bytes);
    SCOPED unsigned char *expected = malloc(adam_saved_write(&problem.args, NULL));
    check(expected && bytes == adam_saved_write(&problem.args, expected) && !memcmp(saved, expected, bytes),
          "%s: another state of %zu bytes", row->name, bytes);
    load(&to, saved, bytes, NULL);
    adam_session_read(&to, &other);
    check(!memcmp(other.args.steps, own_steps, sizeof own_steps), "%s: other steps", row->name);
    int64_t step;
    load(&to, plain_saved, plain_bytes, &step);
    adam_session_read(&to, &other);
    check(step == args.step, "step %lld", (long long)step);
    for (size_t i = 0; i < COUNT(counts); i++) check(other.args.steps[i] == step, "%s: tensor %zu has another step", row->name, i);
    check_refused(quern_adam_load(device->quern, &without.args, saved, bytes, NULL, NULL), QUERN_NULL_POINTER,
                  "args.steps is NULL, and saved has a step for each tensor");
}

/* The same by hand, so that the oracle's own layout is checked too. */
Test(adam_saved, a_small_state_by_hand) {
    const struct quern_kernel *row = find_adam_row(QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, true);
    static const int64_t two[] = {2};
    quern_adam_args args = adam_args_of(row);
    args.amsgrad = 1, args.step = 7, args.seed = 9;
    OPEN_ROW(device, row);
    OPEN_ADAM(problem, &args, two, 1);
    uint16_t *arrays[] = {problem.tensors[0].m, problem.tensors[0].v, problem.tensors[0].v_max, problem.tensors[0].param,
                          problem.tensors[0].master};
    for (int a = 0; a < 5; a++) arrays[a][0] = (uint16_t)(0x1111 * (a + 1)), arrays[a][1] = (uint16_t)(0x0203 * (a + 1));
    unsigned char expected[64 + 64 + 5 * 64 + 8] = "QUERNADM";
    const uint32_t words[] = {1, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_REMAINDER, 1};
    memcpy(expected + 8, words, sizeof words);
    expected[32] = 1, expected[40] = 7, expected[48] = 9, expected[64] = 2;
    for (int a = 0; a < 5; a++) memcpy(expected + 128 + 64 * a, arrays[a], 4);
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < sizeof expected - 8; i++) hash = (hash ^ expected[i]) * 1099511628211u;
    memcpy(expected + sizeof expected - 8, &hash, 8);
    size_t bytes;
    OPEN_ADAM_SESSION(session, &device, &problem);
    SCOPED unsigned char *saved = save(&session, &bytes);
    check(bytes == sizeof expected, "%zu bytes", bytes);
    for (size_t i = 0; i < bytes; i++) check(saved[i] == expected[i], "byte %zu is 0x%02X, not 0x%02X", i, saved[i], expected[i]);
}

/* ---- loading ---- */

/* Another state of the same shape: the load must replace all of it. */
static void spoil(struct adam_problem *problem) {
    static const int arenas[] = {ARENA_M, ARENA_V, ARENA_MASTER, ARENA_M_SCALE, ARENA_V_SCALE, ARENA_V_MAX, ARENA_V_MAX_SCALE};
    for (size_t a = 0; a < COUNT(arenas); a++)
        if (problem->arena[arenas[a]]) fill_pattern(problem->arena[arenas[a]], problem->bytes[arenas[a]]);
    if (problem->args.master_dtype) fill_pattern(problem->arena[ARENA_PARAM], problem->bytes[ARENA_PARAM]);
}

/* Loads into a session of `to` and compares with the oracle's conversion; returns the resulting state. */
static void check_loaded(const struct test_device *device, struct adam_problem *to, const unsigned char *saved, size_t bytes,
                         int64_t step, uint64_t seed, const char *what) {
    struct adam_problem expected CLOSED_BY(adam_free);
    int64_t loaded_step = -1;
    uint64_t loaded_seed = 0;
    unsigned char *aligned = zeroed(bytes);  /* needed by the oracle only */
    memcpy(aligned, saved, bytes);
    adam_copy(&expected, to);
    adam_saved_read(&expected.args, aligned);
    free(aligned);
    OPEN_ADAM_SESSION(session, device, to);
    check_ok(quern_adam_load(device->quern, &session.args, saved, bytes, &loaded_step, &loaded_seed));
    check(loaded_step == step && loaded_seed == seed, "%s: step %lld, seed %llx", what, (long long)loaded_step,
          (unsigned long long)loaded_seed);
    adam_session_read(&session, to);
    adam_check_same(to, &expected, what);
}

/*
 * After a step: save, load into another state, perhaps one of a plan or with changed tensors, which then is the first one, and save
 * again: both saved states are equal.
 */
static void check_round_trip(const struct test_device *device, const quern_adam_args *args, bool with_plan,
                             void (*change)(struct adam_session *session), const char *what) {
    struct adam_problem other CLOSED_BY(adam_free), expected CLOSED_BY(adam_free);
    size_t bytes, again_bytes;
    OPEN_ADAM(problem, args, counts, COUNT(counts));
    OPEN_ADAM_SESSION(from, device, &problem);
    check_ok(adam_session_step(&from));
    SCOPED unsigned char *saved = save(&from, &bytes);
    adam_session_read(&from, &problem);
    adam_copy(&expected, &problem);
    adam_copy(&other, &problem);
    spoil(&other);
    other.with_plan = with_plan;
    OPEN_ADAM_SESSION(to, device, &other);
    if (change) change(&to);
    load(&to, saved, bytes, NULL);
    adam_session_read(&to, &other);
    adam_check_same(&other, &expected, what);
    SCOPED unsigned char *again = save(&to, &again_bytes);
    check(again_bytes == bytes && !memcmp(again, saved, bytes), "%s: saved again it is another state", what);
}

/* So training goes on as if it had not been interrupted. */
TEST_ADAM_ROWS(adam_saved, what_is_loaded_is_saved_as_it_was) {
    quern_adam_args args = adam_args_of(row);
    for (args.amsgrad = 0; args.amsgrad <= adam_args_of(row).amsgrad; args.amsgrad++)
        check_round_trip(device, &args, false, NULL, row->name);
}

/* The arrays of gradients, copies and multipliers are not looked at, only their options. */
static void change_tensors(struct adam_session *session) {
    for (size_t i = 0; i < COUNT(counts); i++) {
        quern_adam_tensor *tensor = &session->tensors[i];
        tensor->grad = i % 2 ? NULL : (char *)tensor->m + 1, tensor->copy = i % 2 ? NULL : tensor->v;
        tensor->copy_scale = (float *)((uintptr_t)tensor->m + 1), tensor->copy_max = (float *)((uintptr_t)tensor->v + 1);
        tensor->lr_multiplier = -1, tensor->weight_decay_multiplier = (float)NAN;
    }
}

Test(adam_saved, gradients_copies_and_multipliers_are_not_read) {
    const struct quern_kernel *row = find_adam_row(QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, true);
    quern_adam_args args = adam_args_of(row);
    args.use_multipliers = 1;
    OPEN_ROW(device, row);
    check_round_trip(&device, &args, false, change_tensors, "changed tensors");
}

/* A plan replaces its list. */
static void leave_the_list_out(struct adam_session *session) {
    check(session->args.plan && !session->args.tensors && !session->args.tensor_count, "no plan");
}

Test(adam_saved, a_plan_stands_for_its_list) {
    const struct quern_kernel *row = find_adam_row(QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E4M3, QUERN_REMAINDER, true);
    const quern_adam_args args = adam_args_of(row);
    OPEN_ROW(device, row);
    check_round_trip(&device, &args, true, leave_the_list_out, "a plan");
}

/* Either may be left out, and the other is still written. */
Test(adam_saved, step_and_seed_are_given_back_each_alone) {
    const struct quern_kernel *row = find_adam_row(QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, false);
    quern_adam_args args = adam_args_of(row);
    args.step = ((int64_t)5 << 32) + 6, args.seed = 0xFEDCBA9876543210;
    OPEN_ROW(device, row);
    size_t bytes;
    int64_t step = -1;
    uint64_t seed = 1;
    OPEN_ADAM(problem, &args, counts, COUNT(counts));
    OPEN_ADAM_SESSION(session, &device, &problem);
    SCOPED unsigned char *saved = save(&session, &bytes);
    session.args.step = 1, session.args.seed = 2;
    check_ok(quern_adam_load(device.quern, &session.args, saved, bytes, &step, NULL));
    check_ok(quern_adam_load(device.quern, &session.args, saved, bytes, NULL, &seed));
    check(step == args.step && seed == args.seed, "step %lld, seed %llx", (long long)step, (unsigned long long)seed);
    check(session.args.step == 1 && session.args.seed == 2, "the arguments were written");
}

/* ---- conversions ---- */

/*
 * The state of one row, loaded into the types of another one with the same parameters.  Bits of amsgrad: of the first, the second.
 */
static void check_conversion(const struct test_device *device, const struct quern_kernel *from, const struct quern_kernel *to,
                             int32_t amsgrad) {
    char what[512];
    snprintf(what, sizeof what, "%s loaded into %s, amsgrad %d", from->name, to->name, (int)amsgrad);
    /* Smaller than a scale can make them large. */
    static const float tiny[QUERN_SCALE_BLOCK] = {0x1p-126f, 0x1.8p-122f, 0x1p-140f, 0x1p-149f};
    quern_adam_args from_args = adam_args_of(from), to_args = adam_args_of(to);
    from_args.amsgrad = amsgrad & 1, to_args.amsgrad = amsgrad >> 1;
    to_args.seed = 1;
    struct adam_problem problem CLOSED_BY(adam_free), other CLOSED_BY(adam_free);
    adam_make(&problem, &from_args, counts, COUNT(counts));
    adam_set_moment(&problem, 3, ARENA_M, 32, QUERN_SCALE_BLOCK, tiny);
    adam_set_moment(&problem, 3, ARENA_V, 64, QUERN_SCALE_BLOCK, tiny);
    adam_set_value(&problem, 0, ARENA_M, 3, (double)NAN);
    adam_set_value(&problem, 0, ARENA_V, 40, (double)INFINITY);
    adam_set_value(&problem, 5, ARENA_M, 0, (double)-INFINITY);
    adam_set_value(&problem, 3, from_args.master_dtype ? ARENA_MASTER : ARENA_PARAM, 77, (double)NAN);
    const size_t bytes = adam_saved_write(&problem.args, NULL);
    SCOPED unsigned char *saved = zeroed(bytes);
    adam_saved_write(&problem.args, saved);
    adam_make(&other, &to_args, counts, COUNT(counts));
    if (from_args.master_dtype) spoil(&other);
    check_loaded(device, &other, saved, bytes, from_args.step, from_args.seed, what);
}

/* Conversion is host code and the same for all rows of a device: one bf16 row per type of state and master is enough. */
static bool stands_for_others(const struct quern_kernel *row) {
    if (row->key.adam.param != QUERN_BF16) return false;
    return row->key.adam.grad == QUERN_BF16 || (row->key.adam.master == QUERN_F32 && row->key.adam.full);
}

Test(adam_saved, any_precision_into_any_other) {
    int pairs = 0, seen = 0;
    OPEN_DEVICE(device, NULL);
    for (const struct quern_kernel *from = next_adam_row(NULL); from; from = next_adam_row(from)) {
        if (!stands_for_others(from)) continue;
        for (const struct quern_kernel *to = next_adam_row(NULL); to; to = next_adam_row(to)) {
            if (!stands_for_others(to) || (test_is_small() && seen++ % 5)) continue;
            check_conversion(&device, from, to, adam_args_of(from).amsgrad + 2 * adam_args_of(to).amsgrad);
            pairs++;
        }
    }
    check(pairs > 100, "only %d pairs", pairs);
}

/* The largest v begins as v, is kept, or is left out. */
Test(adam_saved, amsgrad_begins_and_ends) {
    static const quern_dtype dtypes[] = {QUERN_BF16, QUERN_E4M3, QUERN_F16};
    OPEN_DEVICE(device, NULL);
    for (size_t i = 0; i < COUNT(dtypes) * COUNT(dtypes); i++) {
        const quern_dtype from = dtypes[i / COUNT(dtypes)], to = dtypes[i % COUNT(dtypes)];
        for (int32_t amsgrad = 0; amsgrad < 4; amsgrad++)
            check_conversion(&device, find_adam_row(QUERN_BF16, QUERN_BF16, from, from, QUERN_REMAINDER, true),
                             find_adam_row(QUERN_BF16, QUERN_BF16, to, to, QUERN_REMAINDER, true), amsgrad);
    }
}

/* Tensors longer than one conversion chunk, from and to memory at odd addresses. */
Test(adam_saved, long_tensors_and_odd_addresses) {
    static const int64_t longs[] = {65536 + 100, 65536, 5, 131072 + 33};
    static const struct {
        quern_dtype m, v, master;
        bool is_full;
    } forms[] = {{QUERN_BF16, QUERN_BF16, QUERN_F32, true}, {QUERN_E4M3, QUERN_E4M3, QUERN_REMAINDER, true},
                 {QUERN_F16, QUERN_F16, QUERN_NO_DTYPE, true}, {QUERN_F32, QUERN_F32, QUERN_REMAINDER, false}};
    OPEN_DEVICE(device, NULL);
    for (size_t i = 0; i < COUNT(forms) * COUNT(forms); i++) {
        struct adam_problem ends[2];
        for (int end = 0; end < 2; end++) {
            const size_t k = end ? i / COUNT(forms) : i % COUNT(forms);
            const quern_adam_args args = adam_args_of(find_adam_row(QUERN_BF16, QUERN_BF16, forms[k].m, forms[k].v, forms[k].master,
                                                                    forms[k].is_full));
            adam_make(&ends[end], &args, longs, COUNT(longs));
        }
        const size_t wanted = adam_saved_write(&ends[0].args, NULL);
        unsigned char *expected = zeroed(wanted), *room = zeroed(wanted + 1), *saved = room + 1;
        adam_saved_write(&ends[0].args, expected);
        struct adam_session session;
        adam_session_open(&session, &device, &ends[0]);
        check_ok(quern_adam_save(device.quern, &session.args, saved, wanted));
        check(!memcmp(saved, expected, wanted), "another state at an odd address");
        adam_session_close(&session);
        check_loaded(&device, &ends[1], saved, wanted, ends[0].args.step, ends[0].args.seed, "long tensors");
        free(expected);
        free(room);
        adam_free(&ends[0]);
        adam_free(&ends[1]);
    }
}

/* ---- refused states ---- */

struct refusal {
    struct adam_session session;
    struct adam_problem problem, before;
    unsigned char *saved;
    size_t bytes;
    struct test_device device;
};

static void open_refusal(struct refusal *r) {
    const struct quern_kernel *row = find_adam_row(QUERN_BF16, QUERN_BF16, QUERN_E4M3, QUERN_E4M3, QUERN_REMAINDER, true);
    *r = (struct refusal){.bytes = 0};
    const quern_adam_args args = adam_args_of(row);
    device_open_row(&r->device, 0, row);
    adam_make(&r->problem, &args, counts, COUNT(counts));
    adam_copy(&r->before, &r->problem);
    adam_session_open(&r->session, &r->device, &r->problem);
    r->saved = save(&r->session, &r->bytes);
    adam_session_close(&r->session);
    spoil(&r->problem);
    adam_free(&r->before);
    adam_copy(&r->before, &r->problem);
    adam_session_open(&r->session, &r->device, &r->problem);
}

static void close_refusal(struct refusal *r) {
    adam_session_close(&r->session);
    free(r->saved);
    adam_free(&r->problem);
    adam_free(&r->before);
    device_close(&r->device);
}

static void refuse_saved(struct refusal *r, const void *saved, size_t bytes, const char *what) {
    int64_t step = -5;
    uint64_t seed = 5;
    const quern_status status = quern_adam_load(r->session.device->quern, &r->session.args, saved, bytes, &step, &seed);
    check(status == QUERN_INVALID_ARGUMENT, "%s: %s: %s", what, quern_status_string(status), error_detail());
    check(strlen(error_detail()) > 20, "%s: the detail says no more than '%s'", what, error_detail());
    check(step == -5 && seed == 5, "%s: a step was given back", what);
    adam_session_read(&r->session, &r->problem);
    adam_check_same(&r->problem, &r->before, what);
}

/* One bit anywhere, one byte less, one more. */
Test(adam_saved, damage_is_noticed) {
    struct refusal r CLOSED_BY(close_refusal);
    open_refusal(&r);
    for (size_t i = 0; i < 300; i++) {
        const size_t at = i < 150 ? i : (size_t)random_bits(1, i) % r.bytes;
        r.saved[at] ^= (unsigned char)(1 << i % 8);
        refuse_saved(&r, r.saved, r.bytes, "a changed bit");
        r.saved[at] ^= (unsigned char)(1 << i % 8);
    }
    static const size_t cuts[] = {0, 1, 7, 8, 63, 64, 71, 100};
    for (size_t i = 0; i < COUNT(cuts); i++) refuse_saved(&r, r.saved, cuts[i], "a truncated state");
    refuse_saved(&r, r.saved, r.bytes - 1, "a state without its last byte");
    unsigned char *longer = zeroed(r.bytes + 64);
    memcpy(longer, r.saved, r.bytes);
    refuse_saved(&r, longer, r.bytes + 1, "a byte too many");
    refuse_saved(&r, longer, r.bytes + 64, "64 bytes too many");
    free(longer);
    check_ok(quern_adam_load(r.device.quern, &r.session.args, r.saved, r.bytes, NULL, NULL));
}

/* Behind the last byte there is no memory: whatever a truncated state says, nothing is read there. */
Test(adam_saved, nothing_is_read_behind_a_truncated_state) {
    enum { PAGE = 4096, HEADER = 64 };
    struct refusal r CLOSED_BY(close_refusal);
    open_refusal(&r);
    char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(pages != MAP_FAILED && mprotect(pages + PAGE, PAGE, PROT_NONE) == 0, "no memory");
    for (size_t bytes = 0; bytes <= HEADER + sizeof counts + 8; bytes++) {
        char *cut = pages + PAGE - bytes;
        memcpy(cut, r.saved, bytes);
        refuse_saved(&r, cut, bytes, "a truncated state");
    }
    munmap(pages, 2 * PAGE);
}

/* The hash is valid but the content is wrong: each change gets a new hash. */
Test(adam_saved, lies_are_noticed) {
    static const struct {
        const char *what;
        size_t at, bytes;
        uint64_t value;
    } lies[] = {
        {"another magic", 0, 1, 'X'}, {"version 0", 8, 4, 0}, {"version 2", 8, 4, 2}, {"version 3", 8, 4, 3},
        {"an unknown m type", 16, 4, 77}, {"a wider v", 20, 4, QUERN_F32}, {"no master", 24, 4, 0}, {"no amsgrad", 28, 4, 0},
        {"a tensor less", 32, 8, COUNT(counts) - 1},
        {"a negative number of tensors", 32, 8, (uint64_t)-1}, {"2^60 tensors", 32, 8, (uint64_t)1 << 60},
        {"a count that is another", 64, 8, 71}, {"a negative count", 64, 8, (uint64_t)-70},
        {"a count of 2^62", 64, 8, (uint64_t)1 << 62}, {"the remainder of an f16 parameter", 12, 4, QUERN_F16},
        {"counts in another order", 64 + 8 * 2, 8, 2100},
    };
    struct refusal r CLOSED_BY(close_refusal);
    open_refusal(&r);
    SCOPED unsigned char *lie = zeroed(r.bytes);
    for (size_t i = 0; i < COUNT(lies); i++) {
        memcpy(lie, r.saved, r.bytes);
        memcpy(lie + lies[i].at, &lies[i].value, lies[i].bytes);
        adam_saved_close(lie, r.bytes);
        refuse_saved(&r, lie, r.bytes, lies[i].what);
    }
}

static bool is_listed(quern_dtype dtype, const quern_dtype *list) {
    while (*list && *list != dtype) list++;
    return *list != QUERN_NO_DTYPE;
}

/* Every type in every place of the header: what Adam cannot have is named, also where the state would have the same size. */
Test(adam_saved, types_that_no_state_has) {
    static const quern_dtype params[] = {QUERN_F32, QUERN_F16, QUERN_BF16, QUERN_NO_DTYPE};
    static const quern_dtype moments[] = {QUERN_F32, QUERN_BF16, QUERN_F16, QUERN_E4M3, QUERN_E5M2, QUERN_NO_DTYPE};
    static const quern_dtype masters[] = {QUERN_F32, QUERN_REMAINDER, QUERN_NO_DTYPE};
    static const quern_dtype *const legal[] = {params, moments, moments, masters};
    enum { TYPES = 12, BEYOND = 20 };
    const quern_adam_args args =
        adam_args_of(find_adam_row(QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_NO_DTYPE, false));
    OPEN_DEVICE(device, NULL);
    size_t bytes;
    OPEN_ADAM(problem, &args, counts, COUNT(counts));
    OPEN_ADAM_SESSION(session, &device, &problem);
    SCOPED unsigned char *saved = save(&session, &bytes), *lie = zeroed(bytes);
    for (uint32_t i = 0; i < 5 * BEYOND; i++) {
        const uint32_t place = i / BEYOND, value = i % BEYOND == BEYOND - 1 ? UINT32_MAX : i % BEYOND;
        memcpy(lie, saved, bytes);
        memcpy(lie + TYPES + 4 * place, &value, sizeof value);
        adam_saved_close(lie, bytes);
        const quern_status status = quern_adam_load(device.quern, &session.args, lie, bytes, NULL, NULL);
        const bool is_known = place == 4 ? value <= 1 : is_listed((quern_dtype)value, legal[place]) || (place == 3 && !value);
        const bool is_named = status == QUERN_INVALID_ARGUMENT &&
            !strcmp(error_detail(), "saved cannot be read as a saved state: its types are not those of a saved state");
        check(is_named == !is_known, "%u in place %u: %s: %s", value, place, quern_status_string(status), error_detail());
    }
}
