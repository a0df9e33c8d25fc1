#define _POSIX_C_SOURCE 200809L
#include "runtime/dispatch.h"

#include <fnmatch.h>
#include <string.h>

#include "runtime/log.h"
#include "runtime/pack.h"
#include "runtime/status.h"
#include "runtime/targets.h"

void quern_walk(unsigned operation, const struct quern_kernel *table,
                bool (*visit)(const struct quern_kernel *kernel, void *context), void *context) {
    for (const struct quern_pack *pack = quern_packs(); pack; pack = pack->next)
        for (const struct quern_kernel *kernel = pack->rows; *kernel->name; kernel++)
            if (kernel->operation == operation && !visit(kernel, context)) return;
    for (const struct quern_kernel *kernel = table; *kernel->name; kernel++)
        if (!visit(kernel, context)) return;
}

/* Whether a glob can match names that begin with a prefix, judged by what stands before its first wildcard. */
static bool can_match(const char *glob, const char *prefix) {
    size_t literal = strcspn(glob, "*?["), length = strlen(prefix);
    return strncmp(glob, prefix, literal < length ? literal : length) == 0;
}

/* What the names of an operation's kernels begin with. */
static const char *name_prefix(unsigned operation) {
    static const char *const prefixes[QUERN_OPERATION_COUNT] = {"cross_entropy_", "adam_", "barrier__", "ragged_all_to_all__"};
    return prefixes[quern_operation_index(operation)];
}

/* What a glob says of the target: all behind its last "__". */
static const char *target_glob(const char *glob) {
    const char *target = "*";
    for (const char *next = glob; (next = strstr(next, "__")); next++) target = next + 2;
    return target;
}

/* QUERN_KERNEL restricts only the operations it can name: "adam_*" leaves cross-entropy alone. */
bool quern_is_named(const quern_device *device, const struct quern_kernel *kernel) {
    if (!device->kernel_glob[0] || !can_match(device->kernel_glob, name_prefix(kernel->operation))) return true;
    return fnmatch(device->kernel_glob, kernel->name, 0) == 0;
}

/* The kernels that QUERN_KERNEL chooses among: of cross-entropy those of the rows stage, of Adam the steps. */
static bool is_chosen_by_name(const struct quern_kernel *kernel) {
    if (kernel->operation == QUERN_CROSS_ENTROPY) return kernel->key.cross_entropy.stage == QUERN_STAGE_ROWS;
    return kernel->operation != QUERN_ADAM || kernel->key.adam.task == QUERN_ADAM_STEP;
}

/* Those that have one kernel for all and nothing to choose. */
static bool is_indispensable(const struct quern_kernel *kernel) {
    if (kernel->operation == QUERN_CROSS_ENTROPY) return kernel->key.cross_entropy.stage > QUERN_STAGE_GRADIENT;
    return kernel->key.adam.task == QUERN_GRADIENT_NORM_COMBINE;
}

/*
 * Kernels that cannot be chosen by their names follow the choice to its target: so those of cross-entropy that do in steps what the
 * rows stage does give the same bits.
 */
bool quern_forced_away(const quern_device *device, const struct quern_kernel *kernel) {
    const bool is_named = quern_is_named(device, kernel);
    if (is_named || is_chosen_by_name(kernel)) return !is_named;
    return !is_indispensable(kernel) && fnmatch(target_glob(device->kernel_glob), kernel->target.name, 0) != 0;
}

/* Groups the rows that a device refuses for the same reason, so that a walk past 600 rows reads as a few lines. */
struct explanation {
    const quern_device *device;
    const struct quern_operation *operation;
    const void *request;
    struct quern_text text;
    char reason[256];         /* of the group that is open */
    const char *first, *target;
    int rows;
    bool found;
};

static void close_group(struct explanation *walk) {
    if (walk->rows == 1) quern_text_add(&walk->text, "%s: %s\n", walk->first, walk->reason);
    if (walk->rows > 1)
        quern_text_add(&walk->text, "%s and %d more of %s: %s\n", walk->first, walk->rows - 1, walk->target, walk->reason);
    walk->rows = 0;
}

static void add_to_group(struct explanation *walk, const struct quern_kernel *kernel, const char *reason) {
    bool same = walk->rows && strcmp(walk->reason, reason) == 0 && strcmp(walk->target, kernel->target.name) == 0;
    if (!same) {
        close_group(walk);
        struct quern_text copy = quern_text_begin(walk->reason, sizeof walk->reason);
        quern_text_add(&copy, "%s", reason);
        walk->first = kernel->name;
        walk->target = kernel->target.name;
    }
    walk->rows++;
}

static bool explain_row(const struct quern_kernel *kernel, void *context) {
    struct explanation *walk = context;
    char reason[256];
    struct quern_text why = quern_text_begin(reason, sizeof reason);
    if (quern_target_refused(walk->device, &kernel->target, reason, sizeof reason)) {
        add_to_group(walk, kernel, reason);
    } else if (kernel->target.kind == QUERN_CUDA && kernel->cuda.image == kernel->cuda.image_end) {
        add_to_group(walk, kernel, "the library was built without nvcc");
    } else if (quern_forced_away(walk->device, kernel)) {
        quern_text_add(&why, "QUERN_KERNEL=%s leaves it out", walk->device->kernel_glob);
        add_to_group(walk, kernel, reason);
    } else if (walk->operation->refused(kernel, walk->request, &why)) {
        add_to_group(walk, kernel, reason);
    } else {
        close_group(walk);
        quern_text_add(&walk->text, "%s: chosen\n", kernel->name);
        walk->found = true;
    }
    return !walk->found;
}

struct search {
    const struct quern_operation *operation;
    const void *request;
    bool found;
};

static bool search_row(const struct quern_kernel *kernel, void *context) {
    struct search *search = context;
    search->found = !search->operation->refused(kernel, search->request, NULL);
    return !search->found;
}

/* That no row serves the request here, and what would help if none does anywhere. */
static void add_absence(const quern_device *device, const struct quern_operation *operation, const void *request,
                        struct quern_text *text) {
    struct search search = {.operation = operation, .request = request};
    quern_text_add(text, "no %s kernel serves this request on %s", operation->name, device->label);
    if (operation->advise) quern_walk(operation->bit, operation->table, search_row, &search);
    if (operation->advise && !search.found) operation->advise(request, text);
}

size_t quern_explain(const quern_device *device, const struct quern_operation *operation, const void *request, char *buffer,
                     size_t bytes) {
    struct explanation walk = {.device = device, .operation = operation, .request = request,
                               .text = quern_text_begin(buffer, buffer ? bytes : 0)};
    quern_walk(operation->bit, operation->table, explain_row, &walk);
    close_group(&walk);
    if (!walk.found) {
        add_absence(device, operation, request, &walk.text);
        quern_text_add(&walk.text, "\n");
    }
    return walk.text.length;
}

static quern_status no_kernel(const quern_device *device, const struct quern_operation *operation, const void *request) {
    char absence[400], walk[800];
    struct quern_text text = quern_text_begin(absence, sizeof absence);
    add_absence(device, operation, request, &text);
    quern_explain(device, operation, request, walk, sizeof walk);
    return quern_fail(device, QUERN_NO_KERNEL, "%s:\n%s", absence, walk);
}

static void log_choice(const quern_device *device, const struct quern_operation *operation, const void *request,
                       struct quern_ready_kernel *ready) {
    if (!__atomic_exchange_n(&ready->chosen_before, true, __ATOMIC_RELAXED))
        quern_log(device, QUERN_LOG_INFO, "%s: first use of %s", operation->name, ready->kernel->name);
    if (!quern_log_wanted(QUERN_LOG_DEBUG)) return;
    char walk[1000];
    quern_explain(device, operation, request, walk, sizeof walk);
    for (char *rest = walk, *line; (line = strtok_r(rest, "\n", &rest));)
        quern_log(device, QUERN_LOG_DEBUG, "%s: %s", operation->name, line);
}

quern_status quern_select(quern_device *device, const struct quern_operation *operation, const void *request,
                          const struct quern_ready_kernel **chosen) {
    struct quern_ready_list *list = __atomic_load_n(&device->ready[quern_operation_index(operation->bit)], __ATOMIC_ACQUIRE);
    if (!list)
        return quern_fail(device, QUERN_NOT_PREPARED, "%s is not prepared on %s: call quern_prepare first", operation->name,
                          device->label);
    for (size_t i = 0; i < list->count; i++) {
        if (operation->refused(list->kernels[i].kernel, request, NULL)) continue;
        log_choice(device, operation, request, &list->kernels[i]);
        *chosen = &list->kernels[i];
        return QUERN_OK;
    }
    return no_kernel(device, operation, request);
}
