/* The dispatcher: finds the kernel that serves a request.  Called by every operation for each of its kernels. */
#include "runtime/dispatch.h"

#include "runtime/build_info.h"
#include "runtime/explain.h"
#include "runtime/look.h"
#include "runtime/status.h"

static struct quern_ready_list *ready_list(const quern_device *device, unsigned operation) {
    return __atomic_load_n(&device->ready[quern_operation_index(operation)], __ATOMIC_ACQUIRE);
}

bool quern_is_prepared(const quern_device *device, unsigned operation) {
    return ready_list(device, operation) != NULL;
}

const struct quern_ready_kernel *quern_first_ready(const quern_device *device, unsigned operation) {
    const struct quern_ready_list *list = ready_list(device, operation);
    return list && list->count ? &list->kernels[0] : NULL;
}

/* The first row of QUERN_PREFER's file that serves a request with the bits of the table's choice; else that choice. */
static struct quern_ready_kernel *prefer(const struct quern_operation *row, struct quern_ready_list *list,
                                         struct quern_ready_kernel *choice, const void *request) {
    struct quern_ready_kernel *best = choice;
    for (size_t i = 0; list->has_places && i < list->count; i++) {
        struct quern_ready_kernel *other = &list->kernels[i];
        if (!other->place || (best->place && best->place <= other->place)) continue;
        if (quern_same_bits(choice->kernel, other->kernel) && !quern_row_refused(row, other->kernel, other->cluster, request, NULL))
            best = other;
    }
    return best;
}

quern_status quern_select(quern_device *device, unsigned operation, const void *request, const struct quern_ready_kernel **chosen) {
    struct quern_ready_list *list = ready_list(device, operation);
    if (!list && quern_is_left_out(operation)) return quern_fail_left_out(device, operation);
    if (!list)
        return quern_fail(device, QUERN_NOT_PREPARED, "%s is not prepared on %s: call quern_prepare first",
                          quern_operation_name(operation), device->label);
    const struct quern_operation *row = quern_linked_operation(operation);
    for (size_t i = 0; i < list->count; i++) {
        if (quern_row_refused(row, list->kernels[i].kernel, list->kernels[i].cluster, request, NULL)) continue;
        struct quern_ready_kernel *best = prefer(row, list, &list->kernels[i], request);
        quern_log_choice(device, request, best);
        if (quern_is_looked_at()) quern_look_at_kernel(best);
        *chosen = best;
        return QUERN_OK;
    }
    return quern_fail_no_kernel(device, operation, request);
}
