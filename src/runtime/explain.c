/*
 * Says why a row is chosen and each row before it is not.  Called by the …_explain functions, and by the dispatcher for its
 * errors and log lines.
 */
#include "runtime/explain.h"

#include <string.h>

#include "runtime/build_info.h"
#include "runtime/image.h"
#include "runtime/log.h"
#include "runtime/preferred.h"
#include "runtime/status.h"
#include "runtime/target.h"
#include "runtime/walk.h"

/* Groups the rows that a device refuses for the same reason, so that a walk past 600 rows reads as a few lines. */
struct explanation {
    const quern_device *device;
    unsigned bit;
    const struct quern_operation *operation;
    const void *request;
    bool is_logged;           /* each line goes to the log, else to the text */
    struct quern_text text;
    char reason[256];         /* of the open group */
    const char *first, *target;
    int rows;
    bool found;
};

static void add_line(struct explanation *walk, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add_line(struct explanation *walk, const char *format, ...) {
    char line[512];           /* two names and a reason */
    struct quern_text text = quern_text_begin(line, sizeof line);
    va_list list;
    va_start(list, format);
    quern_text_add_list(&text, format, list);
    va_end(list);
    if (walk->is_logged) quern_log(walk->device, QUERN_LOG_DEBUG, "%s: %s", quern_operation_name(walk->bit), line);
    else quern_text_add(&walk->text, "%s\n", line);
}

static void close_group(struct explanation *walk) {
    if (walk->rows == 1) add_line(walk, "%s: %s", walk->first, walk->reason);
    if (walk->rows > 1) add_line(walk, "%s and %d more of %s: %s", walk->first, walk->rows - 1, walk->target, walk->reason);
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

/* The most blocks of a cluster that have room on the device, as far as quern_prepare has asked. */
static int cluster_of(const quern_device *device, const struct quern_kernel *kernel) {
    const int index = quern_operation_index(kernel->operation);
    const struct quern_ready_list *list = __atomic_load_n(&device->ready[index], __ATOMIC_ACQUIRE);
    for (size_t i = 0; list && i < list->count; i++)
        if (list->kernels[i].kernel == kernel) return list->kernels[i].cluster;
    return kernel->cuda.cluster ? (int)kernel->cuda.cluster : 1;
}

/* Looks for a row of QUERN_PREFER's file that serves the request with the bits of the table's choice: dispatch.c. */
struct rival {
    const struct explanation *walk;
    const struct quern_kernel *choice, *best;
    int place;                /* of the best; 0: it is in no file */
};

static bool compare_row(const struct quern_kernel *kernel, void *context) {
    struct rival *rival = context;
    const quern_device *device = rival->walk->device;
    const int place = quern_preferred_place(device, kernel), cluster = cluster_of(device, kernel);
    if (!place || (rival->place && rival->place <= place) || !quern_same_bits(rival->choice, kernel)) return true;
    if (quern_row_unusable(device, kernel, NULL, 0)) return true;
    if (!quern_row_refused(rival->walk->operation, kernel, cluster, rival->walk->request, NULL))
        rival->best = kernel, rival->place = place;
    return true;
}

static void add_choice(struct explanation *walk, const struct quern_kernel *choice) {
    struct rival rival = {walk, choice, choice, quern_preferred_place(walk->device, choice)};
    if (walk->device->preferred) quern_walk(walk->bit, compare_row, &rival);
    if (rival.best != choice) add_line(walk, "%s: QUERN_PREFER puts another row with the same bits before it", choice->name);
    add_line(walk, "%s: chosen", rival.best->name);
}

static bool explain_row(const struct quern_kernel *kernel, void *context) {
    struct explanation *walk = context;
    char reason[256];
    struct quern_text why = quern_text_begin(reason, sizeof reason);
    walk->found = !quern_row_unusable(walk->device, kernel, reason, sizeof reason) &&
                  !quern_row_refused(walk->operation, kernel, cluster_of(walk->device, kernel), walk->request, &why);
    if (!walk->found) {
        add_to_group(walk, kernel, reason);
    } else {
        close_group(walk);
        add_choice(walk, kernel);
    }
    return !walk->found;
}

struct search {
    const quern_device *device;
    const struct quern_operation *operation;
    const void *request;
    int nearest;              /* the last check that a row for the device fails; 0: a row serves the request */
    char reason[256];
};

static bool search_row(const struct quern_kernel *kernel, void *context) {
    struct search *search = context;
    char reason[sizeof search->reason];
    struct quern_text why = quern_text_begin(reason, sizeof reason);
    const int failed = quern_row_refused(search->operation, kernel, (int)kernel->cuda.cluster, search->request, &why);
    if (!failed) search->nearest = 0;
    if (failed > search->nearest && kernel->target.kind == search->device->kind) {
        search->nearest = failed;
        memcpy(search->reason, reason, sizeof reason);
    }
    return failed;
}

/* Says that no row serves the request here.  If no target has such a row, adds what the nearest lacks and who has one. */
static void add_absence(const quern_device *device, unsigned bit, const void *request, struct quern_text *text) {
    const struct quern_operation *operation = quern_linked_operation(bit);
    struct search search = {.device = device, .operation = operation, .request = request, .nearest = QUERN_ANOTHER_TASK};
    quern_text_add(text, "no %s kernel serves this request on %s", quern_operation_name(bit), device->label);
    quern_walk(bit, search_row, &search);
    if (!search.nearest || (operation->advise && operation->advise(request, text))) return;
    if (search.nearest > QUERN_ANOTHER_TASK) quern_text_add(text, ": %s", search.reason);
    quern_text_add(text, QUERN_WHOLE_BUILD);
}

enum { ABSENCE_BYTES = 500 };

static void explain(struct explanation *walk) {
    char absence[ABSENCE_BYTES];
    struct quern_text text = quern_text_begin(absence, sizeof absence);
    quern_walk(walk->bit, explain_row, walk);
    close_group(walk);
    if (walk->found) return;
    add_absence(walk->device, walk->bit, walk->request, &text);
    add_line(walk, "%s", absence);
}

size_t quern_explain(const quern_device *device, unsigned operation, const void *request, char *buffer, size_t bytes) {
    struct explanation walk = {.device = device, .bit = operation, .operation = quern_linked_operation(operation),
                               .request = request, .text = quern_text_begin(buffer, buffer ? bytes : 0)};
    explain(&walk);
    return walk.text.length;
}

static void log_walk(const quern_device *device, unsigned operation, const void *request) {
    if (!quern_log_wanted(QUERN_LOG_DEBUG)) return;
    struct explanation walk = {.device = device, .bit = operation, .operation = quern_linked_operation(operation),
                               .request = request, .is_logged = true};
    explain(&walk);
}

/* Why a row that would serve the request is not used, the nearest cause first. */
enum cause { NOT_PREPARED, REFUSED_IMAGE, FORCED_AWAY, NO_CODE, OTHER_TARGET, NO_ROW };

struct nearest {
    const quern_device *device;
    const struct quern_operation *operation;
    const void *request;
    enum cause cause;
    const struct quern_kernel *kernel;
    char reason[256];         /* of the image or the target */
};

static bool look_nearer(const struct quern_kernel *kernel, void *context) {
    struct nearest *nearest = context;
    char reason[sizeof nearest->reason] = "";
    if (kernel->target.kind != nearest->device->kind) return true;
    if (quern_row_refused(nearest->operation, kernel, cluster_of(nearest->device, kernel), nearest->request, NULL)) return true;
    const bool refused = quern_target_refused(nearest->device, &kernel->target, reason, sizeof reason);
    const struct quern_refused_image *image = quern_image_refusal(nearest->device, kernel);
    const enum cause cause = refused                                       ? OTHER_TARGET
                             : quern_has_no_code(kernel)                   ? NO_CODE
                             : quern_forced_away(nearest->device, kernel) ? FORCED_AWAY
                             : image                                      ? REFUSED_IMAGE
                                                                           : NOT_PREPARED;
    if (cause >= nearest->cause) return true;
    nearest->cause = cause;
    nearest->kernel = kernel;
    memcpy(nearest->reason, cause == REFUSED_IMAGE ? image->reason : reason, sizeof reason);
    return true;
}

quern_status quern_fail_no_kernel(const quern_device *device, unsigned operation, const void *request) {
    struct nearest nearest = {.device = device, .operation = quern_linked_operation(operation), .request = request,
                              .cause = NO_ROW};
    char absence[ABSENCE_BYTES];
    struct quern_text text = quern_text_begin(absence, sizeof absence);
    quern_walk(operation, look_nearer, &nearest);
    add_absence(device, operation, request, &text);
    static const char *const reasons[] = {
        [NOT_PREPARED] = " was loaded after quern_prepare: call it again", [FORCED_AWAY] = " is left out by QUERN_KERNEL=",
        [NO_CODE] = ": " QUERN_WITHOUT_NVCC, [OTHER_TARGET] = ": "};
    if (nearest.cause == REFUSED_IMAGE) quern_text_add(&text, ": %s", nearest.reason);
    else if (nearest.cause != NO_ROW) quern_text_add(&text, ": %s%s", nearest.kernel->name, reasons[nearest.cause]);
    if (nearest.cause == FORCED_AWAY) quern_text_add(&text, "%s", device->kernel_glob);
    if (nearest.cause == OTHER_TARGET) quern_text_add(&text, "%s", nearest.reason);
    log_walk(device, operation, request);
    return quern_fail(device, QUERN_NO_KERNEL, "%s", absence);
}

void quern_log_choice(const quern_device *device, const void *request, struct quern_ready_kernel *ready) {
    const unsigned operation = ready->kernel->operation;
    if (!__atomic_load_n(&ready->chosen_before, __ATOMIC_RELAXED) &&
        !__atomic_exchange_n(&ready->chosen_before, true, __ATOMIC_RELAXED))
        quern_log(device, QUERN_LOG_INFO, "%s: first use of %s%s", quern_operation_name(operation), ready->kernel->name,
                  ready->place ? ", which QUERN_PREFER names" : "");
    log_walk(device, operation, request);
}
