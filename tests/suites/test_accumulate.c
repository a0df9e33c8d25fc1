/*
 * The accumulation of gradients, bit for bit: lists and plans, sums that are overwritten, groups without tokens.
 *
 * Runs on: cpu, every emulated, gpu; kernels of adam.
 */
#include <fenv.h>

#include "harness/cuda.h"
#include "harness/gradient_case.h"
#include "oracle/dtype.h"
#include "oracle/gradients.h"

/* ---- calls ---- */

/* Every type of gradients and sums, with all kernels of the target. */
static void for_each_types(void (*body)(const struct test_device *device, quern_dtype dtype, quern_dtype main_dtype)) {
    static const quern_dtype grads[] = {QUERN_F32, QUERN_F16, QUERN_BF16}, mains[] = {QUERN_F32, QUERN_BF16};
    OPEN_PREPARED(device, QUERN_ADAM);
    for (size_t i = 0; i < COUNT(grads) * COUNT(mains); i++) body(&device, grads[i / COUNT(mains)], mains[i % COUNT(mains)]);
}
#define TEST_TYPES(suite, name) \
    TEST_EACH(for_each_types, suite, name, const struct test_device *device, quern_dtype dtype, quern_dtype main_dtype)

/* The flags and counts of a list.  Empty: not used. */
struct control {
    int32_t *flags;         /* [tensors] or NULL */
    int64_t *counts;        /* [groups] or NULL */
    int64_t groups;
    int32_t *places;        /* [tensors] or NULL */
};

static quern_accumulate_args args_of(const struct gradients *g, const struct control *control) {
    quern_accumulate_args args = QUERN_ACCUMULATE_ARGS_INIT;
    check(args.scale == 1 && args.main_dtype == QUERN_F32, "other defaults");
    args.grad_dtype = g->dtype, args.main_dtype = g->main_dtype;
    args.gradients = g->host, args.gradient_count = g->tensors;
    args.overwrite_flags = control->flags, args.token_counts = control->counts;
    args.group_count = control->groups, args.token_places = control->places;
    return args;
}

/* The same call on a device whose memory has the flags and counts.  A count of 0 lies before those of the groups. */
struct session {
    struct gradients *g;
    quern_accumulate_args args;
    quern_accumulate_plan *plan;
    struct buffer flags, counts;
    void **grads;           /* NULL: those of the list or plan */
};

enum form { LISTED, PLANNED, PLANNED_WITH_GRADS, FORMS };

static void session_write(struct session *session, const int32_t *flags, const int64_t *counts) {
    const size_t bytes = session->counts.bytes - sizeof *counts;
    SCOPED int64_t *image = zeroed(session->counts.bytes);
    if (flags) buffer_write(&session->flags, flags);
    if (counts) memcpy(image + 1, counts, bytes), buffer_write(&session->counts, image);
}

/* A plan whose gradients are gone, and lay as those of the calls do. */
static void plan_without_grads(struct session *session) {
    const struct gradients *g = session->g;
    SCOPED quern_gradient *list = zeroed((size_t)g->tensors * sizeof *list + 1);
    session->grads = zeroed((size_t)g->tensors * sizeof *session->grads + 1);
    OPEN_BUFFER(gone, g->device, g->grad_bytes, 0, NULL);
    for (int64_t i = 0; i < g->tensors; i++) {
        char *grad = g->on_device[i].grad;
        list[i] = g->on_device[i];
        session->grads[i] = list[i].count ? grad : (void *)1;  /* that of an empty item is ignored */
        if (list[i].count) list[i].grad = (char *)gone.data + (grad - (char *)g->grad_buffer.data);
    }
    session->args.gradients = list;
    check_ok(quern_accumulate_plan_create(g->device->quern, &session->args, &session->plan));
}

static void session_open(struct session *session, struct gradients *g, const quern_accumulate_args *on_host, enum form form) {
    *session = (struct session){.g = g, .args = *on_host};
    quern_accumulate_args *args = &session->args;
    args->gradients = g->on_device;
    if (form != PLANNED && args->main_dtype == QUERN_F32) args->main_dtype = QUERN_NO_DTYPE;  /* the default */
    buffer_open(&session->flags, g->device, (size_t)g->tensors * sizeof(int32_t), 4, NULL);
    buffer_open(&session->counts, g->device, (size_t)(on_host->group_count + 1) * sizeof(int64_t), 8, NULL);
    session_write(session, on_host->overwrite_flags, on_host->token_counts);
    if (on_host->overwrite_flags) args->overwrite_flags = session->flags.data;
    if (on_host->token_counts) args->token_counts = (int64_t *)session->counts.data + 1;
    if (form == LISTED) return;
    if (form == PLANNED_WITH_GRADS) plan_without_grads(session);
    else check_ok(quern_accumulate_plan_create(g->device->quern, args, &session->plan));
    args->gradients = NULL, args->token_places = NULL, args->gradient_count = args->group_count = -1;
    args->plan = session->plan;
}

/* The addresses are read before the call returns: they are overwritten afterwards. */
static void session_run(struct session *session) {
    const size_t bytes = session->grads ? (size_t)session->g->tensors * sizeof *session->grads : 0;
    quern_accumulate_args args = session->args;
    SCOPED void **grads = zeroed(bytes + 1);
    if (session->grads) args.grads = memcpy(grads, session->grads, bytes);
    check_ok(quern_accumulate(session->g->device->quern, &args, session->g->device->stream));
    memset(grads, 0xff, bytes);
}

static void session_close(struct session *session) {
    buffer_close(&session->flags);
    buffer_close(&session->counts);
    quern_accumulate_plan_destroy(session->plan);
    free(session->grads);
}

/* One call against the oracle, with a list or a plan. */
static void check_sum(struct gradients *g, const quern_accumulate_args *args, enum form form) {
    struct session session CLOSED_BY(session_close);
    gradients_upload(g);
    session_open(&session, g, args, form);
    session_run(&session);
    accumulate_model(args);
    gradients_check(g, quern_dtype_name(g->dtype));
}

/* ---- sizes and values ---- */

TEST_TYPES(accumulate, any_shape) {
    enum { MANY = 2500 };
    static int64_t sizes[258], many[MANY];
    const int64_t longs[] = {test_size(70001, 5000), 0, 2048, 2049, 1, 0};
    for (int i = 0; i < 258; i++) sizes[i] = i;
    for (int i = 0; i < MANY; i++) many[i] = i % 3;
    const struct {
        const int64_t *counts;
        int64_t tensors;
    } lists[] = {{sizes, 258}, {longs, COUNT(longs)}, {many, MANY}, {longs, 0}, {longs + 5, 1}};
    static const double scales[] = {1, -0.3, 1.0 / 8, 0};
    for (size_t i = 0; i < COUNT(lists) * 4; i++) {
        OPEN_GRADIENTS(g, device, dtype, main_dtype, lists[i / 4].counts, lists[i / 4].tensors);
        quern_accumulate_args args = args_of(&g, &(struct control){0});
        args.scale = scales[(i + i / 4) % COUNT(scales)], args.zero_grads = i % 2, args.overwrite = i / 2 % 2;
        check_sum(&g, &args, (enum form)((i + i / 4) % FORMS));
    }
}

/*
 * One rounding, and in bf16 a second one, to nearest even: NaN, infinities, cancellation, ties, tiny values; each affects its own
 * element only.
 */
TEST_TYPES(accumulate, special_values) {
    static const double values[] = {(double)NAN, (double)INFINITY, (double)-INFINITY, 0, -0.0, 0x1.FEp127, -0x1.FEp127, 1, -1,
                                    0x1p-24, -0x1p-24, 0x1p-149, 0x1p-133, 65504, 1e-30, 3, 0x1p-8, 0x1.02p0, 0x1.04p0};
    static const int64_t counts[] = {COUNT(values) * COUNT(values)};
    static const double scales[] = {1, 0.1, 3e38, -1};
    for (size_t k = 0; k < COUNT(scales) * 2; k++) {
        OPEN_GRADIENTS(g, device, dtype, main_dtype, counts, 1);
        for (size_t i = 0; i < COUNT(values) * COUNT(values); i++) {
            dtype_store(dtype, g.host[0].grad, (int64_t)i, values[i % COUNT(values)]);
            dtype_store(main_dtype, g.host[0].main_grad, (int64_t)i, values[i / COUNT(values)]);
        }
        quern_accumulate_args args = args_of(&g, &(struct control){0});
        args.scale = scales[k / 2], args.zero_grads = k / 2 == 1, args.overwrite = k % 2;
        check_sum(&g, &args, LISTED);
    }
}

/*
 * A thousand 16-bit gradients of 1 add up to 1000 in fp32; their own type stops at 256.  The nearest fp32 to the scale is 1, also
 * for an engine that rounds upward.
 */
TEST_TYPES(accumulate, sums_of_fp32_do_not_stall) {
    static const int64_t counts[] = {100};
    if (dtype != QUERN_BF16) return;
    OPEN_GRADIENTS(g, device, dtype, main_dtype, counts, 1);
    struct session session CLOSED_BY(session_close);
    for (int64_t i = 0; i < counts[0]; i++) {
        dtype_store(dtype, g.host[0].grad, i, 1);
        dtype_store(main_dtype, g.host[0].main_grad, i, 0);
    }
    gradients_upload(&g);
    quern_accumulate_args args = args_of(&g, &(struct control){0});
    args.scale = 1 + 0x1p-30;
    session_open(&session, &g, &args, PLANNED);
    if (main_dtype == QUERN_F32) fesetround(FE_UPWARD);
    for (int64_t i = 0; i < 1000; i++) session_run(&session);
    fesetround(FE_TONEAREST);
    for (int64_t i = 0; i < counts[0]; i++)
        dtype_store(main_dtype, g.host[0].main_grad, i, main_dtype == QUERN_F32 ? 1000 : 256);
    gradients_check(&g, "a thousand ones");
}

/* ---- overwriting, and groups without tokens ---- */

/* More tensors than a launch takes, with a few that have several tiles. */
enum { LIST = 2000 };

static const int64_t *list_counts(void) {
    static int64_t counts[LIST];
    for (int64_t i = 0; i < LIST; i++) counts[i] = i % 401 == 7 ? 4100 + i % 5 : i % 9;
    return counts;
}

static void fill_with_nan(quern_dtype dtype, void *array, int64_t count) {
    for (int64_t i = 0; i < count; i++) dtype_store(dtype, array, i, (double)NAN);
}

/* What is overwritten is not read: it may be NaN. */
TEST_TYPES(accumulate, an_overwritten_sum_is_not_read) {
    static int32_t flags[LIST];
    for (int with_flags = 0; with_flags < 2; with_flags++) {
        OPEN_GRADIENTS(g, device, dtype, main_dtype, list_counts(), LIST);
        for (int64_t i = 0; i < LIST; i++) {
            flags[i] = !with_flags ? 1 : i % 7 == 0 ? 256 : i % 7 == 3 ? INT32_MIN : i % 7 == 4 ? 1 : 0;
            if (flags[i]) fill_with_nan(main_dtype, g.host[i].main_grad, g.host[i].count);
        }
        quern_accumulate_args args = args_of(&g, &(struct control){.flags = with_flags ? flags : NULL});
        args.overwrite = with_flags ? 12345 : 1;  /* the flags replace it */
        args.scale = 0.7;
        check_sum(&g, &args, with_flags ? PLANNED_WITH_GRADS : LISTED);
    }
}

/* Several tensors share a group, in any order; some have none. */
enum { GROUPS = 300 };

static void fill_groups(int64_t *counts, int32_t *places) {
    static const int64_t tokens[] = {3, 0, 1, -1, INT64_MAX, INT64_MIN, (int64_t)1 << 32, 0};
    for (int64_t i = 0; i < GROUPS; i++) counts[i] = tokens[i % (int64_t)COUNT(tokens)];
    for (int64_t i = 0; i < LIST; i++) places[i] = i % 11 == 5 ? -1 : (int32_t)(i * 37 % GROUPS);
}

static bool is_empty(const struct control *control, int64_t place) {
    const int64_t group = control->places ? control->places[place] : place;
    return group >= 0 && control->counts[group] <= 0;
}

/* By the definition, and not by the oracle: a sum that was NaN and keeps its bytes, or zeros. */
static void check_empty(const struct gradients *g, const quern_accumulate_args *args, int64_t place) {
    const bool is_overwritten = args->overwrite_flags ? args->overwrite_flags[place] : args->overwrite;
    for (int64_t i = 0; i < g->host[place].count; i++) {
        const double sum = dtype_load(g->main_dtype, g->host[place].main_grad, i);
        check(is_overwritten ? sum == 0 && !signbit(sum) : place % 4 >= 2 || isnan(sum), "tensor %d: %g", (int)place, sum);
    }
}

/*
 * As the weights of experts without tokens in a micro-batch: the gradient is NaN and stays so; its sum keeps its bytes or, if it is
 * overwritten, becomes +0.
 */
TEST_TYPES(accumulate, groups_without_tokens_are_left_alone) {
    static int64_t counts[LIST];
    static int32_t places[LIST], flags[LIST];
    for (int k = 0; k < 4; k++) {
        struct control control = {.flags = k % 2 ? flags : NULL, .counts = counts, .groups = GROUPS, .places = places};
        OPEN_GRADIENTS(g, device, dtype, main_dtype, list_counts(), LIST);
        fill_groups(counts, places);
        if (k == 3) {
            for (int64_t i = 0; i < LIST; i++) counts[i] = i % 3 - 1;
            control.places = NULL, control.groups = LIST;
        }
        for (int64_t i = 0; i < LIST; i++) {
            flags[i] = i % 5 < 2;  /* a launch has no multiple of five gradients */
            if (is_empty(&control, i)) fill_with_nan(dtype, g.host[i].grad, g.host[i].count);
            if (is_empty(&control, i) && i % 4 < 2) fill_with_nan(main_dtype, g.host[i].main_grad, g.host[i].count);
        }
        quern_accumulate_args args = args_of(&g, &control);
        args.zero_grads = k / 2, args.overwrite = k == 2;
        check_sum(&g, &args, k == 0 ? PLANNED : k == 3 ? PLANNED_WITH_GRADS : LISTED);
        for (int64_t i = 0; i < LIST; i++)
            if (is_empty(&control, i)) check_empty(&g, &args, i);
    }
}

/* ---- plans ---- */

/* A plan has its own copy of the list and needs one launch; later calls may have other flags, counts and scales. */
TEST_TYPES(accumulate, a_plan_is_one_launch_with_its_own_list) {
    static int64_t counts[GROUPS];
    static int32_t places[LIST], flags[LIST];
    OPEN_GRADIENTS(g, device, dtype, main_dtype, list_counts(), LIST);
    struct session session CLOSED_BY(session_close);
    gradients_upload(&g);
    fill_groups(counts, places);
    quern_accumulate_args args = args_of(&g, &(struct control){flags, counts, GROUPS, places});
    session_open(&session, &g, &args, PLANNED);
    memset(g.on_device, 0xff, (size_t)LIST * sizeof *g.on_device);
    for (int call = 0; call < 3; call++) {
        for (int64_t i = 0; i < LIST; i++) flags[i] = (i + call) % 3 == 0;
        for (int64_t i = 0; i < GROUPS; i++) counts[i] = (i + call) % 4;
        session_write(&session, flags, counts);
        session.args.scale = args.scale = 1.0 / (1 + call);
        const long long before = device_launches(device);
        session_run(&session);
        check(before < 0 || device_launches(device) == before + 1, "%lld launches", device_launches(device) - before);
        accumulate_model(&args);
        gradients_check(&g, "a plan");
    }
    session.args.token_counts = NULL, session.args.overwrite_flags = NULL;  /* the same plan without them */
    session_run(&session);
    args.token_counts = NULL, args.overwrite_flags = NULL;
    accumulate_model(&args);
    gradients_check(&g, "a plan without counts");
}

/* A captured call reads new flags and counts in each replay, with a list too.  A CPU is called each time. */
TEST_TYPES(accumulate, flags_and_counts_change_from_replay_to_replay) {
    enum { TENSORS = 5 };
    static const int64_t sizes[TENSORS] = {300, 2100, 0, 33, 1};
    for (enum form form = LISTED; form < FORMS; form++) {
        int32_t flags[TENSORS] = {0};
        int64_t counts[TENSORS] = {1, 1, 1, 1, 1};
        OPEN_GRADIENTS(g, device, dtype, main_dtype, sizes, TENSORS);
        struct session session CLOSED_BY(session_close);
        void *executable = NULL;
        gradients_upload(&g);
        const quern_accumulate_args args = args_of(&g, &(struct control){flags, counts, TENSORS, NULL});
        session_open(&session, &g, &args, form);
        if (device->kind == QUERN_CUDA) {
            cuda_begin_capture(device->stream);
            session_run(&session);
            executable = cuda_end_capture(device->stream);
        }
        for (int replay = 0; replay < 6; replay++) {
            for (int i = 0; i < TENSORS; i++) flags[i] = (i + replay) % 3 == 0, counts[i] = (i + replay) % 4 - 1;
            session_write(&session, flags, counts);
            if (executable) CUDA(cuGraphLaunch(executable, device->stream));
            else session_run(&session);
            accumulate_model(&args);
            gradients_check(&g, "a replay");
        }
        if (executable) CUDA(cuGraphExecDestroy(executable));
    }
}
