/* Checks metadata and buffers.  Called by the exchange of CPU ranks and by the plans of both transports. */
#include "ranks/ragged/ragged.h"

static bool fault(struct quern_slice_report *report, const struct quern_ragged_call *call, enum quern_slice_fault kind,
                  int64_t entry, int64_t value, int64_t limit) {
    *report = (struct quern_slice_report){
        .fault = kind,
        .rank = call->member->rank,
        .peer = call->rank_at[entry / call->updates],
        .update = (int32_t)(entry % call->updates),
        .value = value,
        .limit = limit,
    };
    return false;
}

/* a + b, both not negative.  A larger sum becomes INT64_MAX, which also exceeds every limit. */
static int64_t end_of(int64_t a, int64_t b) {
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* ---- sends ---- */

static bool report_sign(const struct quern_ragged_call *call, int64_t entry, struct quern_slice_report *report) {
    const struct {
        const void *array;
        enum quern_slice_fault fault;
    } numbers[] = {{call->input_offsets, QUERN_SLICE_INPUT_OFFSET}, {call->send_sizes, QUERN_SLICE_SEND_SIZE},
                   {call->output_offsets, QUERN_SLICE_OUTPUT_OFFSET}, {call->recv_sizes, QUERN_SLICE_RECV_SIZE}};
    size_t i = 0;
    while (quern_ragged_metadata(call, numbers[i].array, entry) >= 0) i++;
    return fault(report, call, numbers[i].fault, entry, quern_ragged_metadata(call, numbers[i].array, entry), 0);
}

bool quern_ragged_check_sends(const struct quern_ragged_call *call, struct quern_slice_report *report) {
    const int64_t entries = quern_ragged_entries(call);
    for (int64_t entry = 0; entry < entries; entry++) {
        const int64_t offset = quern_ragged_metadata(call, call->input_offsets, entry);
        const int64_t size = quern_ragged_metadata(call, call->send_sizes, entry);
        const int64_t signs = offset | size | quern_ragged_metadata(call, call->output_offsets, entry) |
                              quern_ragged_metadata(call, call->recv_sizes, entry);
        if (signs < 0) return report_sign(call, entry, report);
        int64_t end = end_of(offset, size);
        if (end > call->input_rows) return fault(report, call, QUERN_SLICE_BEYOND_INPUT, entry, end, call->input_rows);
    }
    return true;
}

/* ---- receives ---- */

static bool check_receive(const struct quern_ragged_call *call, const struct quern_ragged_notice *notice, int64_t entry,
                          struct quern_slice_report *report) {
    int64_t expected = quern_ragged_metadata(call, call->recv_sizes, entry);
    if (notice->size != expected) return fault(report, call, QUERN_SLICE_DISAGREEMENT, entry, notice->size, expected);
    if (notice->output_offset < 0) {
        fault(report, call, QUERN_SLICE_OUTPUT_OFFSET, entry, notice->output_offset, 0);
        report->rank = report->peer, report->peer = call->member->rank;  /* a fault of the sender */
        return false;
    }
    int64_t end = end_of(notice->output_offset, notice->size);
    if (end > call->output_rows) return fault(report, call, QUERN_SLICE_BEYOND_OUTPUT, entry, end, call->output_rows);
    return true;
}

/* ---- overlaps: slices are sorted by first row, so it is enough to compare neighbours ---- */

static bool is_before(const struct quern_ragged_notice *inbox, int64_t a, int64_t b) {
    if (inbox[a].output_offset != inbox[b].output_offset) return inbox[a].output_offset < inbox[b].output_offset;
    return a < b;
}

static void sift_down(const struct quern_ragged_notice *inbox, int64_t *heap, int64_t root, int64_t count) {
    int64_t moved = heap[root];
    for (int64_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && is_before(inbox, heap[child], heap[child + 1])) child++;
        if (!is_before(inbox, moved, heap[child])) break;
        heap[root] = heap[child];
    }
    heap[root] = moved;
}

/* Heap sort: it needs no memory, and no input makes it slow. */
static void sort(const struct quern_ragged_notice *inbox, int64_t *order, int64_t count) {
    for (int64_t root = count / 2 - 1; root >= 0; root--) sift_down(inbox, order, root, count);
    for (int64_t last = count - 1; last > 0; last--) {
        int64_t largest = order[0];
        order[0] = order[last];
        order[last] = largest;
        sift_down(inbox, order, 0, last);
    }
}

static bool check_overlaps(const struct quern_ragged_call *call, const struct quern_ragged_notice *inbox, int64_t *order,
                           struct quern_slice_report *report) {
    const int64_t entries = quern_ragged_entries(call);
    int64_t count = 0;
    for (int64_t entry = 0; entry < entries; entry++)
        if (inbox[entry].size) order[count++] = entry;
    sort(inbox, order, count);
    for (int64_t i = 1; i < count; i++) {
        const int64_t before = order[i - 1], entry = order[i];
        if (inbox[before].output_offset + inbox[before].size <= inbox[entry].output_offset) continue;
        fault(report, call, QUERN_SLICE_OVERLAP, entry, inbox[entry].output_offset, 0);
        report->other_peer = call->rank_at[before / call->updates];
        report->other_update = (int32_t)(before % call->updates);
        return false;
    }
    return true;
}

bool quern_ragged_check_receives(const struct quern_ragged_call *call, const struct quern_ragged_notice *inbox, int64_t *order,
                                 struct quern_slice_report *report) {
    const int64_t entries = quern_ragged_entries(call);
    for (int64_t entry = 0; entry < entries; entry++)
        if (!check_receive(call, &inbox[entry], entry, report)) return false;
    return !call->check_overlap || check_overlaps(call, inbox, order, report);
}

/* ---- the buffers of a plan ---- */

static bool is_freed(const struct quern_membership *member, const void *pointer, int64_t bytes, enum quern_symmetric_state state,
                     const struct quern_symmetric_location *place) {
    struct quern_symmetric_location now;
    if (state != QUERN_MEMORY_SYMMETRIC) return false;
    return quern_symmetric_find(member, pointer, bytes, &now) != QUERN_MEMORY_SYMMETRIC || now.id != place->id;
}

const char *quern_ragged_find_freed(const struct quern_ragged_call *call) {
    const struct quern_membership *member = call->member;
    if (is_freed(member, call->workspace, (int64_t)call->workspace_bytes, call->workspace_state, &call->workspace_place))
        return "workspace";
    if (is_freed(member, call->input, call->input_rows * call->row_bytes, call->input_state, &call->input_place)) return "input";
    if (is_freed(member, call->output, call->output_rows * call->row_bytes, call->output_state, &call->output_place))
        return "output";
    return NULL;
}
