/*
 * Poison ends a group.  A rank that finds an error writes the reason into its own part of the segment.  Then it swaps the status
 * and its rank into `poison_by`, unless another rank was first, sets `poison`, and wakes all ranks.  From then on every call on
 * every rank fails with this status and reason.  The reason is complete before the swap, so no rank waits for a writer, and a rank
 * may die at any point.  A rank without a part of its own has no text: the word says what was wrong.
 *
 * A kernel can neither write text nor swap words in host memory.  It writes an error record and sets `poison`.  The first host call
 * that sees this makes the error record the reason, unless there is one already.  In a group of several hosts it writes the text of
 * the record as a reason of its own, which the others can be told.
 *
 * Called by every wait and at the start of every call on a group.  Checked by tests/model/expiry.pml.
 */
#define _GNU_SOURCE
#include "ranks/poison.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "os/futex.h"
#include "ranks/describe.h"
#include "ranks/points.h"
#include "ranks/heartbeat.h"
#include "runtime/log.h"
#include "runtime/status.h"

static const char by_foreign_process[] = QUERN_BY_FOREIGN_PROCESS;

/* ---- error records of kernels ---- */

static void describe_missing(struct quern_text *text, const struct quern_membership *member,
                             const struct quern_kernel_error *error) {
    struct quern_missing_list list = {text, member, 0};
    for (int rank = 0; rank < member->ranks && rank < QUERN_RANK_LIMIT; rank++)
        if (error->missing[rank / 32] >> rank % 32 & 1)
            quern_list_missing(&list, rank, quern_signal_epoch(error->seen[rank]), error->expected[rank],
                               quern_signal_tag(error->seen[rank]));
    quern_end_missing(&list);
}

static uint32_t error_kind(const struct quern_membership *member, int rank) {
    if (member->roster->peer[rank].is_elsewhere) return QUERN_NO_KERNEL_ERROR;
    return __atomic_load_n(&quern_place(member->roster, rank)->error.kind, __ATOMIC_ACQUIRE);
}

static void describe_error(struct quern_text *text, const struct quern_membership *member, int rank) {
    const uint32_t kind = error_kind(member, rank);
    const struct quern_kernel_error error = quern_place(member->roster, rank)->error;
    if (kind == QUERN_NO_KERNEL_ERROR) {
        quern_text_add(text, "%s", by_foreign_process);
        return;
    }
    quern_describe_tag(text, error.tag);
    switch (kind) {
    case QUERN_KERNEL_ERROR_MISMATCH:
        quern_text_add(text, " on the GPU of rank %d met another call of ", rank);
        describe_missing(text, member, &error);
        quern_text_add(text, ": the ranks must make the same calls in the same order, with the same members");
        break;
    case QUERN_KERNEL_ERROR_LOST:
        quern_text_add(text, ": rank %d waited on its GPU for ", rank);
        describe_missing(text, member, &error);
        quern_text_add(text, ": gone, since its process has ended or its group was destroyed");
        break;
    case QUERN_KERNEL_ERROR_SLICE:
        quern_text_add(text, ": ");
        quern_describe_slice(text, &error.slice);
        break;
    default:
        quern_text_add(text, ": rank %d waited %g s on its GPU for ", rank, (double)error.waited * 1e-9);
        describe_missing(text, member, &error);
    }
}

/* The first rank whose kernel has written an error record; the last rank if none has. */
static int find_error(const struct quern_membership *member) {
    int rank = 0;
    while (rank + 1 < member->ranks && error_kind(member, rank) == QUERN_NO_KERNEL_ERROR) rank++;
    return rank;
}

static bool has_missing(uint32_t kind) { return kind == QUERN_KERNEL_ERROR_TIMEOUT || kind == QUERN_KERNEL_ERROR_LOST; }

static quern_status error_status(const struct quern_membership *member, int rank) {
    const struct quern_slice_report slice = quern_place(member->roster, rank)->error.slice;
    const uint32_t kind = error_kind(member, rank);
    return kind == QUERN_KERNEL_ERROR_SLICE     ? quern_slice_status(&slice)
           : kind == QUERN_KERNEL_ERROR_TIMEOUT ? QUERN_PEER_TIMEOUT
           : kind == QUERN_KERNEL_ERROR_LOST    ? QUERN_PEER_LOST
                                                : QUERN_PEER_MISMATCH;
}

/* ---- the poison itself ---- */

/* Wakes every sleeping rank, so that it checks for poison.  While the group is formed, ranks sleep on its state. */
static void wake_all(const struct quern_roster *roster) {
    struct quern_segment *segment = roster->segment;
    for (int slot = 0; slot < roster->here; slot++) {
        struct quern_segment_place *place = quern_segment_place(&roster->view, (uint32_t)slot);
        __atomic_add_fetch(&place->arrivals, 1, __ATOMIC_RELEASE);
        quern_futex_wake(&place->arrivals);
        __atomic_add_fetch(&place->eventcount.count, 1, __ATOMIC_RELEASE);
        quern_futex_wake(&place->eventcount.count);
    }
    __atomic_add_fetch(&segment->wakes, 1, __ATOMIC_RELEASE);
    quern_futex_wake(&segment->wakes);
    quern_futex_wake(&segment->state);
    quern_futex_wake(&segment->met);
}

static void log_report(const struct quern_membership *member) {
    if (!quern_log_wanted(QUERN_LOG_ERROR)) return;
    for (int rank = 0; rank < member->ranks; rank++) {
        char line[512];
        struct quern_text text = quern_text_begin(line, sizeof line);
        quern_describe_rank(&text, member, rank);
        quern_log(member->device, QUERN_LOG_ERROR, "%s: %s", member->label, line);
    }
}

/* The origin of the reason: a rank's text, a kernel's error record, or the poison itself. */
enum source { REASON, KERNEL_ERROR, ABORT, WITH_RANKS, WITH_EPOCH, WITH_HOST_RANKS, HAS_ENDED, SOURCES };

/* The status of a poison that has no other, in the order of the sources; 0: the word has it. */
static const quern_status status_of_source[SOURCES] = {
    [ABORT] = QUERN_GROUP_ABORTED, [WITH_RANKS] = QUERN_PEER_MISMATCH, [WITH_EPOCH] = QUERN_PEER_MISMATCH,
    [WITH_HOST_RANKS] = QUERN_PEER_MISMATCH, [HAS_ENDED] = QUERN_PEER_LOST,
};

/* The low half is a status or, if the source has its own, another number.  The word is not 0. */
enum { RANK_BITS = 9, SOURCE_SHIFT = 16 + RANK_BITS };
_Static_assert(QUERN_GROUP_LIMIT == 1 << RANK_BITS, "a poison has room for each rank");

static uint32_t make_poison(enum source source, int rank, uint32_t number) {
    return (uint32_t)source << SOURCE_SHIFT | (uint32_t)rank << 16 | (number & 0xffff);
}

static uint32_t source_of(uint32_t poison) { return poison >> SOURCE_SHIFT; }
static int rank_of(uint32_t poison) { return poison >> 16 & (QUERN_GROUP_LIMIT - 1); }

static quern_status status_of(uint32_t poison) {
    const uint32_t source = source_of(poison);
    const bool has_own = source < SOURCES && status_of_source[source];
    return has_own ? status_of_source[source] : quern_told_status(poison & 0xffff);
}

/* What was heard of a rank, unless it is replaced meanwhile: then a second look finds another rank. */
static bool copy_heard(struct quern_poison_reason *reason, const struct quern_heard_reason *heard, int rank) {
    if (__atomic_load_n(&heard->from, __ATOMIC_ACQUIRE) != (uint32_t)rank + 1) return false;
    quern_copy_atomically(reason, &heard->reason, sizeof *reason);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return __atomic_load_n(&heard->from, __ATOMIC_RELAXED) == (uint32_t)rank + 1;
}

/* A copy of the text of a rank's poison, its own or from its host; false: nothing is known. */
static bool copy_reason(struct quern_poison_reason *reason, const struct quern_roster *roster, int rank) {
    const struct quern_heard_reason *heard = roster->segment->heard;
    struct quern_poison_reason found;
    if (!roster->peer[rank].is_elsewhere) quern_copy_atomically(&found, &quern_place(roster, rank)->reason, sizeof found);
    else if (!copy_heard(&found, &heard[0], rank) && !copy_heard(&found, &heard[1], rank)) return false;
    *reason = found;
    quern_copy_text(reason->text, found.text, sizeof found.text);
    return true;
}

static void describe_reason(struct quern_text *text, const struct quern_membership *member, int rank) {
    struct quern_poison_reason reason;
    quern_text_add(text, "%s", copy_reason(&reason, member->roster, rank) ? reason.text : by_foreign_process);
}

static void describe_abort(struct quern_text *text, const struct quern_membership *member, int rank) {
    struct quern_poison_reason heard;
    char reason[QUERN_ABORT_TEXT_BYTES] = "";
    const bool elsewhere = member->roster->peer[rank].is_elsewhere;
    if (!elsewhere) quern_copy_text(reason, quern_place(member->roster, rank)->abort_reason, sizeof reason);
    else if (copy_reason(&heard, member->roster, rank)) quern_copy_text(reason, heard.text, sizeof reason);
    quern_text_add(text, "rank %d has aborted the group%s%s", rank, reason[0] ? ": " : "", reason);
}

static void describe_poison(struct quern_text *text, const struct quern_membership *member, uint32_t poison) {
    const int rank = rank_of(poison);
    const uint32_t source = source_of(poison), number = poison & 0xffff;
    if (source == WITH_RANKS)
        quern_text_add(text, "the group is being formed with %d ranks, and rank %d expects %u", member->ranks, rank, number);
    else if (source == WITH_EPOCH)
        quern_text_add(text, "the group's first_epoch is %u, and rank %d has another", member->first_epoch, rank);
    else if (source == WITH_HOST_RANKS)
        quern_text_add(text, "the group is being formed with %d ranks of this host, and rank %d expects %u", member->here, rank,
                       number);
    else if (source == HAS_ENDED && rank < member->ranks)
        quern_text_add(text, "rank %d (process %d) has ended while the group was formed", quern_told_rank(member, rank),
                       member->segment->rank[rank].process.pid);
    else if (source == ABORT && rank < member->ranks)
        describe_abort(text, member, rank);
    else if (source == REASON && rank < member->ranks)
        describe_reason(text, member, rank);
    else if (source == KERNEL_ERROR && rank < member->ranks)
        describe_error(text, member, rank);
    else
        quern_text_add(text, "%s", by_foreign_process);
}

/* Makes this the poison, unless there is one already. */
static bool swap(struct quern_segment *segment, uint32_t poison) {
    uint32_t none = 0;
    QUERN_POINT(POISON_WRITTEN);
    bool first = __atomic_compare_exchange_n(&segment->poison_by, &none, poison, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    QUERN_POINT(POISON_SWAPPED);
    __atomic_store_n(&segment->poison, (uint32_t)status_of(poison), __ATOMIC_RELEASE);
    QUERN_POINT(POISON_SET);
    return first;
}

static void poison_with(const struct quern_membership *member, uint32_t poison) {
    if (!swap(member->segment, poison)) return;
    wake_all(member->roster);
    char words[QUERN_POISON_TEXT_BYTES];
    struct quern_text text = quern_text_begin(words, sizeof words);
    describe_poison(&text, member, poison);
    quern_log(member->device, QUERN_LOG_ERROR, "%s: poisoned with %s: %s", member->label, quern_status_string(status_of(poison)),
              words);
    log_report(member);
}

/* By a rank without a place, for which the segment may be too short: the ranks that form the group sleep on its state. */
static void poison_from_outside(struct quern_segment *segment, uint32_t poison) {
    if (swap(segment, poison)) quern_futex_wake(&segment->state);
}

/* If the group is poisoned already, it may be by this rank, and others may be reading its reason. */
static void write_reason(const struct quern_membership *member, const uint32_t *missing, const char *format, va_list list) {
    struct quern_poison_reason *mine = &quern_place(member->roster, member->rank)->reason;
    char reason[QUERN_POISON_TEXT_BYTES];
    struct quern_text text = quern_text_begin(reason, sizeof reason);
    if (__atomic_load_n(&member->segment->poison_by, __ATOMIC_RELAXED)) return;
    quern_text_add_list(&text, format, list);
    memcpy(mine->text, reason, strlen(reason) + 1);
    memcpy(mine->missing, missing, sizeof mine->missing);
}

/*
 * The thread of a rank and the watcher of its work over NCCL may poison at the same time: one after the other, so that the reason
 * and the status are of one of them.  Other ranks of the process do not wait.
 */
static bool poisoning[QUERN_GROUP_LIMIT];

static void enter_list(const struct quern_membership *member, quern_status status, const uint32_t *missing, const char *format,
                       va_list list) {
    bool *mine = &poisoning[member->rank];
    while (__atomic_exchange_n(mine, true, __ATOMIC_ACQUIRE)) sched_yield();
    write_reason(member, missing, format, list);
    poison_with(member, make_poison(REASON, member->rank, (uint32_t)status));
    __atomic_store_n(mine, false, __ATOMIC_RELEASE);
}

__attribute__((format(printf, 4, 5))) static void enter(const struct quern_membership *member, quern_status status,
                                                        const uint32_t *missing, const char *format, ...) {
    va_list list;
    va_start(list, format);
    enter_list(member, status, missing, format, list);
    va_end(list);
}

/*
 * The error record of a kernel becomes the poison.  It is in the memory of its host, so between hosts its text becomes the reason
 * of this rank, which all hosts can have.
 */
static void adopt_error(const struct quern_membership *member) {
    const int rank = find_error(member);
    const quern_status status = error_status(member, rank);
    const struct quern_kernel_error *error = &quern_place(member->roster, rank)->error;
    uint32_t missing[QUERN_GROUP_WORDS] = {0};
    char words[QUERN_POISON_TEXT_BYTES];
    struct quern_text text = quern_text_begin(words, sizeof words);
    if (!member->control || error_kind(member, rank) == QUERN_NO_KERNEL_ERROR) {
        poison_with(member, make_poison(KERNEL_ERROR, rank, (uint32_t)status));
        return;
    }
    describe_error(&text, member, rank);
    if (has_missing(error_kind(member, rank))) memcpy(missing, error->missing, sizeof error->missing);
    enter(member, status, missing, "%s", words);
}

/* The poison of a poisoned group.  If only a kernel has set it so far, its error record becomes the poison. */
static uint32_t find_poison(const struct quern_membership *member) {
    const uint32_t poison = __atomic_load_n(&member->segment->poison_by, __ATOMIC_ACQUIRE);
    if (poison) return poison;
    adopt_error(member);
    const uint32_t first = __atomic_load_n(&member->segment->poison_by, __ATOMIC_ACQUIRE);
    const int rank = find_error(member);
    return first ? first : make_poison(KERNEL_ERROR, rank, (uint32_t)error_status(member, rank));
}

void quern_adopt_kernel_error(const struct quern_membership *member) {
    if (__atomic_load_n(&member->segment->poison, __ATOMIC_ACQUIRE)) find_poison(member);
}

/*
 * Ranks of several hosts may poison the group at one time.  Until the monitors have told each other, a moment later, nobody returns
 * with what the others will not have.
 */
static void await_agreement(const struct quern_membership *member) {
    const int64_t most = 2 * quern_poison_timeout(member->failure_timeout) / 1000000;  /* the monitor may have ended with its
                                                                                          process */
    const uint32_t *agreement = &member->segment->agreement;
    uint32_t agrees = QUERN_AGREES;
    for (int64_t waited = 0; waited < most && __atomic_load_n(agreement, __ATOMIC_ACQUIRE) == QUERN_AGREES; waited++) {
        if (!quern_rank_lives(member->roster, member->roster->host_leader)) break;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    __atomic_compare_exchange_n(&member->segment->agreement, &agrees, QUERN_AGREED, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* The poison is looked for before the agreement, which is about what the hosts have told each other. */
static quern_status fail_poisoned(const struct quern_membership *member) {
    uint32_t poison = find_poison(member);
    if (member->control) {
        await_agreement(member);
        poison = find_poison(member);
    }
    char words[QUERN_POISON_TEXT_BYTES];
    struct quern_text text = quern_text_begin(words, sizeof words);
    describe_poison(&text, member, poison);
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
    describe_poison(text, member, poison);
    quern_text_add(text, "\n");
}

static quern_status poison_list(const struct quern_membership *member, quern_status status, const uint32_t *missing,
                                const char *format, va_list list) {
    enter_list(member, status, missing, format, list);
    return fail_poisoned(member);
}

quern_status quern_poison(const struct quern_membership *member, quern_status status, const char *format, ...) {
    va_list list;
    va_start(list, format);
    status = poison_list(member, status, member->missing, format, list);
    va_end(list);
    return status;
}

quern_status quern_poison_missing(const struct quern_membership *member, quern_status status,
                                  const uint32_t missing[QUERN_GROUP_WORDS], const char *format, ...) {
    va_list list;
    va_start(list, format);
    status = poison_list(member, status, missing, format, list);
    va_end(list);
    return status;
}

void quern_poison_by_ranks(struct quern_segment *segment, int rank, int ranks) {
    poison_from_outside(segment, make_poison(WITH_RANKS, rank, (uint32_t)ranks));
}

void quern_poison_by_epoch(struct quern_segment *segment, int rank) {
    poison_from_outside(segment, make_poison(WITH_EPOCH, rank, 0));
}

void quern_poison_by_host_ranks(struct quern_segment *segment, int rank, int here) {
    poison_from_outside(segment, make_poison(WITH_HOST_RANKS, rank, (uint32_t)here));
}

void quern_poison_by_end(struct quern_segment *segment, int rank) {
    poison_from_outside(segment, make_poison(HAS_ENDED, rank, 0));
}

/* ---- to and from other hosts ---- */

bool quern_read_poison(const struct quern_roster *roster, uint32_t *word, struct quern_poison_reason *reason) {
    const struct quern_segment *segment = roster->segment;
    const uint32_t poison =
        __atomic_load_n(&segment->poison, __ATOMIC_ACQUIRE) ? __atomic_load_n(&segment->poison_by, __ATOMIC_ACQUIRE) : 0;
    const uint32_t source = source_of(poison);
    const int rank = rank_of(poison);
    if (!poison) return false;
    *word = poison;
    reason->text[0] = 0;
    if (rank >= roster->ranks) return true;
    struct quern_poison_reason by;
    const bool is_own_abort = source == ABORT && !roster->peer[rank].is_elsewhere, is_known = copy_reason(&by, roster, rank);
    if (is_own_abort) quern_copy_text(reason->text, quern_place(roster, rank)->abort_reason, QUERN_ABORT_TEXT_BYTES);
    else if (is_known) memcpy(reason->text, by.text, sizeof by.text);
    if (source == REASON && is_known) memcpy(reason->missing, by.missing, sizeof by.missing);
    return true;
}

/* Which of two poisons all hosts take: an abort before an error, then that of the lower rank. */
static bool precedes(uint32_t one, uint32_t other) {
    const uint32_t below_source = (1u << SOURCE_SHIFT) - 1;
    const bool aborts = source_of(one) == ABORT, other_aborts = source_of(other) == ABORT;
    return aborts != other_aborts ? aborts : (one & below_source) < (other & below_source);
}

/* In place of one that is of a later rank, if there is one. */
static bool replace(struct quern_segment *segment, uint32_t word) {
    uint32_t present = __atomic_load_n(&segment->poison_by, __ATOMIC_ACQUIRE);
    while (!present || precedes(word, present))
        if (__atomic_compare_exchange_n(&segment->poison_by, &present, word, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            __atomic_store_n(&segment->poison, (uint32_t)status_of(word), __ATOMIC_RELEASE);
            return true;
        }
    return false;
}

/* Enters what another host has told, in place of that which is not of the present poison: readers find that by its rank. */
static void hear_reason(const struct quern_roster *roster, int rank, int present, const struct quern_poison_reason *reason) {
    struct quern_heard_reason *heard = roster->segment->heard;
    heard += __atomic_load_n(&heard->from, __ATOMIC_RELAXED) == (uint32_t)present + 1;
    __atomic_store_n(&heard->from, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);  /* a reader of a byte of this reason finds no earlier rank after it */
    quern_copy_atomically(&heard->reason, reason, sizeof *reason);
    __atomic_store_n(&heard->from, (uint32_t)rank + 1, __ATOMIC_RELEASE);
}

bool quern_poison_by_host(const struct quern_roster *roster, uint32_t word, const struct quern_poison_reason *reason) {
    struct quern_segment *segment = roster->segment;
    const uint32_t source = source_of(word), present = __atomic_load_n(&segment->poison_by, __ATOMIC_ACQUIRE);
    const int rank = rank_of(word);
    if ((source != REASON && source != ABORT) || rank >= roster->ranks) return false;
    if (!roster->peer[rank].is_elsewhere) return present != 0;  /* its own, which has come back */
    if (present && !precedes(word, present)) return true;
    hear_reason(roster, rank, present ? rank_of(present) : -1, reason);
    if (replace(segment, word)) wake_all(roster);
    return true;
}

/* Several threads may abort with one handle.  A text stays as it is once the group is poisoned: other ranks may be reading it. */
void quern_poison_by_abort(const struct quern_membership *member, const char *reason) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (reason && __atomic_load_n(&member->segment->poison_by, __ATOMIC_RELAXED) == 0)
        quern_copy_text(quern_place(member->roster, member->rank)->abort_reason, reason, QUERN_ABORT_TEXT_BYTES);
    poison_with(member, make_poison(ABORT, member->rank, 0));
    pthread_mutex_unlock(&lock);
}

/* ---- the missing ranks ---- */

/* Those of the poison's text, from memory that others can write. */
static void copy_missing(const struct quern_membership *member, uint32_t missing[QUERN_GROUP_WORDS]) {
    if (__atomic_load_n(&member->segment->poison, __ATOMIC_ACQUIRE) == 0) return;
    const uint32_t poison = find_poison(member), source = source_of(poison);
    const int rank = rank_of(poison);
    if (rank >= member->ranks) return;
    struct quern_poison_reason by;
    if (source == REASON && copy_reason(&by, member->roster, rank)) {
        memcpy(missing, by.missing, sizeof by.missing);
    } else if (source == KERNEL_ERROR && has_missing(error_kind(member, rank))) {
        const struct quern_kernel_error *error = &quern_place(member->roster, rank)->error;
        memcpy(missing, error->missing, sizeof error->missing);
    }
}

void quern_find_missing(const struct quern_membership *member, uint32_t missing[QUERN_GROUP_WORDS]) {
    memset(missing, 0, QUERN_GROUP_WORDS * sizeof *missing);
    copy_missing(member, missing);
    for (int rank = 0; rank < QUERN_GROUP_LIMIT; rank++) {
        const uint32_t bit = 1u << rank % 32;
        if (rank >= member->ranks || rank == member->rank)
            missing[rank / 32] &= ~bit;
        else if (quern_rank_has_gone(member->roster, rank))
            missing[rank / 32] |= bit;
    }
}
