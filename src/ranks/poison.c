/*
 * Poison ends a group.  A rank that finds an error writes the reason into its own part of the segment.  Then it swaps the status
 * and its rank into `poison_by`, unless another rank was first, sets `poison`, and wakes all ranks.  From then on every call on
 * every rank fails with this status and reason.  The reason is complete before the swap, so no rank waits for a writer, and a rank
 * may die at any point.
 *
 * A kernel can neither write text nor swap words in host memory.  It writes an error record and sets `poison`.  The first host call
 * that sees this makes the error record the reason, unless there is one already.
 *
 * Called by every wait and at the start of every call on a group.  Checked by tests/model/expiry.pml.
 */
#include "ranks/poison.h"

#include "os/futex.h"
#include "ranks/describe.h"
#include "ranks/points.h"
#include "runtime/log.h"
#include "runtime/status.h"

/* ---- error records of kernels ---- */

static void describe_missing(struct quern_text *text, const struct quern_segment *segment, const struct quern_kernel_error *error) {
    struct quern_missing_list list = {text, segment, 0};
    for (uint32_t rank = 0; rank < segment->ranks; rank++)
        if (error->missing[rank / 32] >> rank % 32 & 1)
            quern_list_missing(&list, (int)rank, quern_signal_epoch(error->seen[rank]), error->expected[rank],
                               quern_signal_tag(error->seen[rank]));
    quern_end_missing(&list);
}

static void describe_error(struct quern_text *text, const struct quern_segment *segment, int rank) {
    const struct quern_kernel_error *error = &segment->rank[rank].error;
    quern_describe_tag(text, error->tag);
    switch (__atomic_load_n(&error->kind, __ATOMIC_ACQUIRE)) {
    case QUERN_KERNEL_ERROR_MISMATCH:
        quern_text_add(text, " on the GPU of rank %d met another call of ", rank);
        describe_missing(text, segment, error);
        quern_text_add(text, ": the ranks must make the same calls in the same order, with the same members");
        break;
    case QUERN_KERNEL_ERROR_SLICE:
        quern_text_add(text, ": ");
        quern_describe_slice(text, &error->slice);
        break;
    default:
        quern_text_add(text, ": rank %d waited %g s on its GPU for ", rank, (double)error->waited * 1e-9);
        describe_missing(text, segment, error);
    }
}

/* The first rank whose kernel has written an error record.  At least one has. */
static int find_error(const struct quern_segment *segment) {
    uint32_t rank = 0;
    while (rank + 1 < segment->ranks && __atomic_load_n(&segment->rank[rank].error.kind, __ATOMIC_ACQUIRE) == QUERN_NO_KERNEL_ERROR)
        rank++;
    return (int)rank;
}

static quern_status error_status(const struct quern_kernel_error *error) {
    uint32_t kind = __atomic_load_n(&error->kind, __ATOMIC_ACQUIRE);
    return kind == QUERN_KERNEL_ERROR_SLICE      ? quern_slice_status(&error->slice)
           : kind == QUERN_KERNEL_ERROR_MISMATCH ? QUERN_PEER_MISMATCH
                                             : QUERN_PEER_TIMEOUT;
}

/* ---- the poison itself ---- */

/* Wakes every sleeping rank, so that it checks for poison. */
static void wake_all(struct quern_segment *segment) {
    for (uint32_t rank = 0; rank < segment->ranks; rank++) {
        __atomic_add_fetch(&segment->rank[rank].arrivals, 1, __ATOMIC_SEQ_CST);
        quern_futex_wake(&segment->rank[rank].arrivals);
    }
    quern_futex_wake(&segment->state);
}

static void log_report(const struct quern_membership *member) {
    if (!quern_log_wanted(QUERN_LOG_ERROR)) return;
    const struct quern_segment *segment = member->segment;
    for (uint32_t rank = 0; rank < segment->ranks; rank++) {
        char line[512];
        struct quern_text text = quern_text_begin(line, sizeof line);
        quern_describe_rank(&text, segment, (int)rank);
        quern_log(member->device, QUERN_LOG_ERROR, "%s: %s", member->label, line);
    }
}

/* The origin of the reason: a rank's text, a kernel's error record, or the poison itself. */
enum source { REASON, KERNEL_ERROR, ABORT, OUTSIDER };

/* Not 0, since a poison's status is not. */
static uint32_t make_poison(enum source source, quern_status status, int rank) {
    return (uint32_t)source << 24 | (uint32_t)rank << 16 | (uint32_t)status;
}

static quern_status status_of(uint32_t poison) { return (quern_status)(poison & 0xffff); }

static void describe_poison(struct quern_text *text, const struct quern_segment *segment, uint32_t poison) {
    const int rank = poison >> 16 & 0xff;
    switch (poison >> 24) {
    case REASON: quern_text_add(text, "%s", segment->rank[rank].reason); break;
    case KERNEL_ERROR: describe_error(text, segment, rank); break;
    case ABORT: quern_text_add(text, "rank %d has aborted the group", rank); break;
    default: quern_text_add(text, "the group is being formed with %u ranks, and rank %d expects more", segment->ranks, rank);
    }
}

/* Makes this the poison, unless there is one already. */
static void swap_in(const struct quern_membership *member, uint32_t poison) {
    struct quern_segment *segment = member->segment;
    uint32_t none = 0;
    QUERN_POINT(POISON_WRITTEN);
    bool first = __atomic_compare_exchange_n(&segment->poison_by, &none, poison, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    QUERN_POINT(POISON_SWAPPED);
    __atomic_store_n(&segment->poison, (uint32_t)status_of(poison), __ATOMIC_SEQ_CST);
    QUERN_POINT(POISON_SET);
    if (!first) return;
    wake_all(segment);
    char words[QUERN_POISON_TEXT_BYTES];
    struct quern_text text = quern_text_begin(words, sizeof words);
    describe_poison(&text, segment, poison);
    quern_log(member->device, QUERN_LOG_ERROR, "%s: poisoned with %s: %s", member->label, quern_status_string(status_of(poison)),
              words);
    log_report(member);
}

/* The poison of a poisoned group.  If only a kernel has set it so far, its error record becomes the poison. */
static uint32_t find_poison(const struct quern_membership *member) {
    const struct quern_segment *segment = member->segment;
    uint32_t poison = __atomic_load_n(&segment->poison_by, __ATOMIC_ACQUIRE);
    if (poison) return poison;
    int rank = find_error(segment);
    swap_in(member, make_poison(KERNEL_ERROR, error_status(&segment->rank[rank].error), rank));
    return __atomic_load_n(&segment->poison_by, __ATOMIC_ACQUIRE);
}

static quern_status fail_poisoned(const struct quern_membership *member) {
    uint32_t poison = find_poison(member);
    char words[QUERN_POISON_TEXT_BYTES];
    struct quern_text text = quern_text_begin(words, sizeof words);
    describe_poison(&text, member->segment, poison);
    return quern_fail(member->device, status_of(poison), "%s: %s", member->label, words);
}

quern_status quern_check_poison(const struct quern_membership *member) {
    bool poisoned = __atomic_load_n(&member->segment->poison, __ATOMIC_ACQUIRE) != 0;
    return poisoned ? fail_poisoned(member) : QUERN_OK;
}

void quern_report_poison(struct quern_text *text, const struct quern_membership *member) {
    if (__atomic_load_n(&member->segment->poison, __ATOMIC_ACQUIRE) == 0) return;
    uint32_t poison = find_poison(member);
    quern_text_add(text, "poisoned with %s: ", quern_status_string(status_of(poison)));
    describe_poison(text, member->segment, poison);
    quern_text_add(text, "\n");
}

quern_status quern_poison(const struct quern_membership *member, quern_status status, const char *format, ...) {
    /* If the group is poisoned already, it may be by this rank, and others may be reading its reason. */
    if (__atomic_load_n(&member->segment->poison_by, __ATOMIC_ACQUIRE) == 0) {
        char *reason = member->segment->rank[member->rank].reason;
        struct quern_text text = quern_text_begin(reason, QUERN_POISON_TEXT_BYTES);
        va_list list;
        va_start(list, format);
        quern_text_add_list(&text, format, list);
        va_end(list);
    }
    swap_in(member, make_poison(REASON, status, member->rank));
    return fail_poisoned(member);
}

quern_status quern_poison_by_outsider(const struct quern_membership *member) {
    swap_in(member, make_poison(OUTSIDER, QUERN_PEER_MISMATCH, member->rank));
    return fail_poisoned(member);
}

void quern_poison_by_abort(const struct quern_membership *member) {
    swap_in(member, make_poison(ABORT, QUERN_GROUP_ABORTED, member->rank));
}
