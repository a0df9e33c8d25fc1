/* Divides the pieces of a list among the threads of a CPU device.  Called for gradients and quantisation. */
#include "runtime/list_visit.h"

#include "os/integers.h"
#include "runtime/device.h"
#include "runtime/threads.h"

struct shares {
    const struct quern_list_visit *visit;
    struct quern_list_marks marks;     /* by pieces */
    int64_t tasks;
};

/* Most arrays of a long list are short: they need no division. */
static int64_t pieces_of(const struct quern_list_visit *visit, int64_t elements) {
    if (elements > visit->chunk) return quern_divide_up(elements, visit->chunk);
    return elements || visit->visits_empty;
}

static int64_t pieces_at(const void *context, int64_t place) {
    const struct quern_list_visit *visit = context;
    return pieces_of(visit, visit->elements(visit->list, place));
}

static void visit_share(void *context, int64_t task) {
    const struct shares *shares = context;
    const struct quern_list_visit *visit = shares->visit;
    const int64_t to = quern_share_begin(&shares->marks, task + 1, shares->tasks);
    int64_t piece = quern_share_begin(&shares->marks, task, shares->tasks), before;
    for (int64_t place = quern_nearest_mark(&shares->marks, piece, &before); piece < to; place++) {
        const int64_t elements = visit->elements(visit->list, place), end = before + pieces_of(visit, elements);
        for (; piece < end && piece < to; piece++) {
            const int64_t first = (piece - before) * visit->chunk;
            visit->visit(visit->context, place, piece, first, quern_smaller(elements - first, visit->chunk));
        }
        before = end;
    }
}

void quern_visit_list(const quern_device *device, const struct quern_list_visit *visit) {
    const int64_t most = 8 * (int64_t)quern_threads_of(device);
    struct shares shares = {.visit = visit};
    if (!quern_mark_list(&shares.marks, visit, visit->places, pieces_at)) return;  /* cannot happen: no memory is so large */
    shares.tasks = quern_smaller(shares.marks.units, most);
    quern_run_tasks(device, shares.tasks, visit_share, &shares);
}
