/*
 * The barrier on the host.  Every rank announces itself by a signal, then waits for the signals of the others.
 *
 * In a meeting of some ranks a rank puts its signal into the pad of each other member, since each pair of ranks counts its
 * meetings.  In a meeting of all ranks it writes one signal, on a line of its own, which all others read: 64 ranks write 64 words,
 * not 4,032.
 *
 * A waiting rank polls a number of times, since a peer on another core arrives within a microsecond.  Then it yields its core a
 * number of times, since the peer may wait for this core; spin.c learns both numbers.  If the core has other work, a yield
 * lasts until the end of that work's slice of milliseconds, while a sleeper gets the core when it is woken.  So at last it sleeps.
 *
 * In a meeting of some ranks it sleeps on the word that counts the signals put into its pad.  Before it sleeps it sets the count at
 * which it must be woken: the current count plus the missing signals.  So only the last of 63 peers pays for a wake-up.  A signal
 * from a rank that is one meeting ahead wakes the rank too early, never too late; the rank polls again and sleeps again.
 *
 *   putter:   signal = ..., release;  arrivals += 1;  if arrivals has just become wake_at: wake
 *   sleeper:  seen = arrivals;  missing = look;  wake_at = seen + missing;  sleep while arrivals == seen
 *
 * The last steps of both sides are sequentially consistent: either the putter sees wake_at, or the system sees that the count has
 * changed and does not sleep.  Only the sleeper writes wake_at: if putters cleared a flag, they could clear the flag of the next
 * sleep.
 *
 * In a meeting of all ranks everybody sleeps on one word, and whoever sees that all have come wakes them all:
 *
 *   putter:   signal = epoch;  look until all have come;  fence;  if sleeps_in is epoch: clear it, wakes += 1, wake
 *   sleeper:  seen = wakes;  sleeps_in = epoch;  fence;  look;  sleep while wakes == seen
 *
 * A sleeper misses a rank whose signal is later than its look.  That rank sees sleeps_in after its fence, unless it sleeps itself
 * and misses a later one.  The fence is not at the signal, where it would wait for all that was written before the meeting.  A
 * rank that is slow to sleep, or to clear sleeps_in, may do so when others sleep in the next meeting.  Then it wakes them, and they
 * write sleeps_in again.
 *
 * Checked by tests/model/sleep.pml.  A sleep is cut into slices only to check the timeout and whether the peers live.
 *
 * Called by the barrier of CPU ranks, by their ragged all-to-all, and by every exchange of messages.
 */
#include "ranks/meeting.h"

#include <sched.h>
#include <string.h>

#include "os/clock.h"
#include "os/futex.h"
#include "ranks/describe.h"
#include "ranks/points.h"
#include "ranks/poison.h"
#include "ranks/seen_wait.h"

static const int64_t SLICE = 50000000;  /* nanoseconds */
static const int64_t MOST_YIELDING = 500000;  /* nanoseconds: a core whose other work takes longer is not worth yielding */

/* ---- announcing ---- */

static void wake_if_complete(struct quern_segment_place *peer) {
    uint32_t arrivals = __atomic_add_fetch(&peer->arrivals, 1, __ATOMIC_SEQ_CST);
    if (arrivals == __atomic_load_n(&peer->wake_at, __ATOMIC_SEQ_CST)) quern_futex_wake(&peer->arrivals);
}

static bool is_of_all(const struct quern_membership *member, const struct quern_meeting *meeting) {
    return meeting->set->count == member->ranks;
}

/* The digest of all ranks is stored, since most meetings are of all ranks. */
static uint32_t tag_of(const struct quern_membership *member, const struct quern_meeting *meeting) {
    const struct quern_rank_set *called = meeting->called ? meeting->called : meeting->set;
    return quern_make_tag(meeting->operation, meeting->phase, called->count == member->ranks ? member->everyones_digest
                                                              : quern_set_digest(called, member->ranks));
}

/* Each rank begins with its successor, so that not all ranks write the same pad first. */
static inline int next_slot(const struct quern_membership *member, int slot) { return slot + 1 < member->here ? slot + 1 : 0; }

static int own_slot(const struct quern_membership *member) { return (int)member->roster->peer[member->rank].slot; }

static void announce_to_some(struct quern_membership *member, const struct quern_meeting *meeting, uint32_t tag) {
    const struct quern_roster *roster = member->roster;
    const int own = own_slot(member);
    for (int peer = next_slot(member, own); peer != own; peer = next_slot(member, peer)) {
        if (!quern_set_has(meeting->set, roster->rank_at[peer])) continue;
        uint32_t epoch = ++member->count[peer];
        __atomic_store_n(member->to[peer], quern_make_signal(epoch, tag), __ATOMIC_RELEASE);
    }
    QUERN_POINT(MEET_SIGNALLED);
    /* All signals are written before the first wake-up: a woken rank may take this core and enter the next meeting. */
    for (int peer = next_slot(member, own); peer != own; peer = next_slot(member, peer))
        if (quern_set_has(meeting->set, roster->rank_at[peer]))
            wake_if_complete(quern_segment_place(&roster->view, (uint32_t)peer));
}

/*
 * What is told is stored right before the signal, since a rank that waits would take the line away in between.  It goes by words:
 * they may have just been written, and a processor loads at once only what one store has written.
 */
static void announce_to_all(struct quern_membership *member, uint32_t tag, const uint64_t *told) {
    const uint32_t epoch = ++member->all_count;
    const quern_signal signal = quern_make_signal(epoch, tag);
    for (int i = 0; i < 2; i++) {
        if (!member->own_line[i]) continue;
        struct quern_signal_half *half = &member->own_line[i]->half[epoch % 2];
        for (int word = 0; told && word < QUERN_TOLD_WORDS; word++)
            __atomic_store_n(&half->told[word], told[word], __ATOMIC_RELAXED);
        __atomic_store_n(&half->signal, signal, __ATOMIC_RELEASE);
    }
    QUERN_POINT(MEET_SIGNALLED);
}

/* All have come to a meeting of all ranks. */
static void wake_sleepers(const struct quern_membership *member) {
    struct quern_segment *segment = member->segment;
    const uint32_t epoch = member->all_count;
    quern_fence();
    if (__atomic_load_n(&segment->sleeps_in, __ATOMIC_RELAXED) != epoch) return;
    __atomic_store_n(&segment->sleeps_in, epoch - 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&segment->wakes, 1, __ATOMIC_RELAXED);
    quern_futex_wake(&segment->wakes);
}

static void announce(struct quern_membership *member, const struct quern_meeting *meeting, const uint64_t *told) {
    struct quern_segment_rank *mine = &member->segment->rank[member->rank];
    const uint32_t tag = tag_of(member, meeting);
    QUERN_POINT(MEET_ANNOUNCING);
    __atomic_store_n(&mine->tag, tag, __ATOMIC_RELAXED);
    __atomic_store_n(&mine->meetings, mine->meetings + 1, __ATOMIC_RELAXED);
    if (is_of_all(member, meeting)) announce_to_all(member, tag, told);
    else announce_to_some(member, meeting, tag);
}

void quern_announce(struct quern_membership *member, const struct quern_meeting *meeting) { announce(member, meeting, NULL); }

/* ---- awaiting ---- */

struct wait {
    struct quern_membership *member;
    const struct quern_meeting *meeting;
    uint32_t tag;
    bool of_all;        /* a meeting of all ranks */
    int next;           /* all members below this slot have arrived */
    int other_call;     /* a rank that is in another call; -1: none */
    uint32_t other_tag; /* its tag */
    int looked_for;     /* the slot whose process was checked last */
    int64_t began;      /* 0: the clock has not been read */
};

static int rank_at(const struct wait *wait, int slot) { return wait->member->roster->rank_at[slot]; }

/* A rank's signal for a meeting or, if it has not come, an earlier one; of a meeting of some ranks also a later one. */
static quern_signal signal_of(const struct quern_membership *member, int slot, bool of_all, uint32_t epoch) {
    return __atomic_load_n(of_all ? &member->line_of[slot]->half[epoch % 2].signal : member->from[slot], __ATOMIC_ACQUIRE);
}

/* This rank's last meeting with another one. */
static uint32_t last_meeting(const struct quern_membership *member, int slot, bool of_all) {
    return of_all ? member->all_count : member->count[slot];
}

static bool has_reached(const struct quern_membership *member, int slot, bool of_all, uint32_t epoch) {
    return quern_epoch_reached(quern_signal_epoch(signal_of(member, slot, of_all, epoch)), epoch);
}

static bool has_come(const struct wait *wait, int slot) {
    return has_reached(wait->member, slot, wait->of_all, last_meeting(wait->member, slot, wait->of_all));
}

static bool is_awaited(const struct wait *wait, int slot) {
    const int rank = rank_at(wait, slot);
    return rank != wait->member->rank && quern_set_has(wait->meeting->set, rank);
}

/* A rank at exactly this epoch must be in the same call.  A rank that is further has completed this meeting. */
static void compare_tags(struct wait *wait, int slot) {
    const uint32_t epoch = last_meeting(wait->member, slot, wait->of_all);
    const quern_signal signal = signal_of(wait->member, slot, wait->of_all, epoch);
    if (quern_signal_epoch(signal) != epoch) return;
    if (quern_signal_tag(signal) == wait->tag) return;
    wait->other_call = rank_at(wait, slot);
    wait->other_tag = quern_signal_tag(signal);
}

/*
 * A rank that has gone on to the next meeting of the other kind, of some ranks or of all, and not to this one, is in another call.
 * Its signals are read in this order: it may have passed this meeting before it went on.
 */
static void find_other_call(struct wait *wait) {
    const struct quern_membership *member = wait->member;
    for (int slot = wait->next; slot < member->here; slot++) {
        if (!is_awaited(wait, slot)) continue;
        const uint32_t next = last_meeting(member, slot, !wait->of_all) + 1;
        const quern_signal other = signal_of(member, slot, !wait->of_all, next);
        if (!quern_epoch_reached(quern_signal_epoch(other), next) || has_come(wait, slot)) continue;
        wait->other_call = rank_at(wait, slot);
        wait->other_tag = quern_signal_tag(other);
    }
}

/* Advances past the ranks that have arrived.  True if all have. */
static bool all_have_come(struct wait *wait) {
    for (; wait->next < wait->member->here; wait->next++) {
        if (!is_awaited(wait, wait->next)) continue;
        if (!has_come(wait, wait->next)) return false;
        compare_tags(wait, wait->next);
    }
    return true;
}

static uint32_t count_missing(const struct wait *wait) {
    uint32_t missing = 0;
    for (int slot = wait->next; slot < wait->member->here; slot++)
        missing += is_awaited(wait, slot) && !has_come(wait, slot);
    return missing;
}

/* ---- errors ---- */

static quern_status report_other_call(const struct wait *wait) {
    char here[64], there[64];
    struct quern_text text = quern_text_begin(here, sizeof here);
    quern_describe_tag(&text, wait->tag);
    text = quern_text_begin(there, sizeof there);
    quern_describe_tag(&text, wait->other_tag);
    return quern_poison(wait->member, QUERN_PEER_MISMATCH,
                        "rank %d is in %s while rank %d is in %s%s: the ranks must make the same calls in the same order, with the "
                        "same members", wait->member->rank, here, wait->other_call, there,
                        strcmp(here, there) == 0 ? " of other members" : "");
}

/* Of a rank that is missing: its signal for the meeting before, if it has given that one. */
static uint32_t last_epoch_of(const struct wait *wait, int slot) {
    const uint32_t epoch = last_meeting(wait->member, slot, wait->of_all);
    const uint32_t before = quern_signal_epoch(signal_of(wait->member, slot, wait->of_all, epoch - 1));
    return before == epoch - 1 ? before : quern_signal_epoch(signal_of(wait->member, slot, wait->of_all, epoch));
}

/* Appends the missing ranks and their last signals, and notes them for quern_poison. */
static void list_missing(const struct wait *wait, struct quern_text *text) {
    const struct quern_membership *member = wait->member;
    struct quern_missing_list list = {text, member, 0};
    for (int rank = 0; rank < member->ranks; rank++) {
        const int slot = (int)member->roster->peer[rank].slot;
        if (!quern_set_has(wait->meeting->set, rank) || !is_awaited(wait, slot) || has_come(wait, slot)) continue;
        const uint32_t epoch = last_meeting(member, slot, wait->of_all);
        wait->member->missing[rank / 32] |= 1u << rank % 32;
        quern_list_missing(&list, rank, last_epoch_of(wait, slot), epoch,
                           __atomic_load_n(&member->segment->rank[rank].tag, __ATOMIC_RELAXED));
    }
    quern_end_missing(&list);
}

static quern_status expire(const struct wait *wait, int64_t now) {
    char where[64], missing[700];
    QUERN_POINT(MEET_EXPIRING);
    struct quern_text text = quern_text_begin(where, sizeof where);
    quern_describe_tag(&text, wait->tag);
    text = quern_text_begin(missing, sizeof missing);
    list_missing(wait, &text);
    if (!text.length) return QUERN_OK;  /* the last rank has arrived just now */
    QUERN_POINT(MEET_EXPIRED);
    return quern_poison(wait->member, QUERN_PEER_TIMEOUT, "%s: rank %d waited %g s for %s", where,
                        quern_told_rank(wait->member, wait->member->rank), quern_seconds(now - wait->began), missing);
}

/*
 * A missing rank that will never arrive; -1: none is known.  Every waiting rank checks every missing one, so each call checks a few
 * of them in turn.
 */
static int find_lost(struct wait *wait, bool *left) {
    enum { LOOKS = 8 };
    const struct quern_segment_rank *ranks = wait->member->segment->rank;
    for (int step = 0, looks = 0; step < wait->member->here && looks < LOOKS; step++) {
        const int slot = wait->looked_for = (wait->looked_for + 1) % wait->member->here, rank = rank_at(wait, slot);
        if (!is_awaited(wait, slot) || has_come(wait, slot)) continue;
        looks++;
        QUERN_POINT(MEET_CHECKING);
        bool lives = quern_rank_lives(wait->member->roster, rank);  /* first: a rank says that it leaves, then lets its lock go */
        *left = __atomic_load_n(&ranks[rank].state, __ATOMIC_ACQUIRE) == QUERN_RANK_LEFT;
        bool gone = *left || !lives;
        if (gone && !has_come(wait, slot)) return rank;  /* checked last: it may have arrived before it ended */
    }
    return -1;
}

static quern_status check_lost(struct wait *wait) {
    bool left;
    int rank = find_lost(wait, &left);
    if (rank < 0) return QUERN_OK;
    QUERN_POINT(MEET_LOST);
    char where[64];
    struct quern_text text = quern_text_begin(where, sizeof where);
    quern_describe_tag(&text, wait->tag);
    wait->member->missing[rank / 32] |= 1u << rank % 32;
    return quern_poison(wait->member, QUERN_PEER_LOST, "%s: rank %d (process %d) %s; rank %d waited for it", where,
                        quern_told_rank(wait->member, rank), wait->member->roster->peer[rank].process.pid,
                        left ? "has destroyed its group" : "has ended", quern_told_rank(wait->member, wait->member->rank));
}

/* ---- sleeping ---- */

/* Says when to wake this rank.  Returns the word to sleep on, and its value until then. */
static uint32_t *ask_some(const struct wait *wait, uint32_t *seen) {
    struct quern_segment_place *mine = quern_place(wait->member->roster, wait->member->rank);
    *seen = __atomic_load_n(&mine->arrivals, __ATOMIC_ACQUIRE);
    __atomic_store_n(&mine->wake_at, *seen + count_missing(wait), __ATOMIC_SEQ_CST);
    return &mine->arrivals;
}

static uint32_t *ask_all(const struct wait *wait, uint32_t *seen) {
    struct quern_segment *segment = wait->member->segment;
    *seen = __atomic_load_n(&segment->wakes, __ATOMIC_RELAXED);
    __atomic_store_n(&segment->sleeps_in, wait->member->all_count, __ATOMIC_RELAXED);
    quern_fence();
    return &segment->wakes;
}

static void sleep_a_slice(const struct wait *wait, int64_t limit) {
    uint32_t seen, *word = (wait->of_all ? ask_all : ask_some)(wait, &seen);
    QUERN_POINT(MEET_SLEEPING);
    const bool poisoned = __atomic_load_n(&wait->member->segment->poison, __ATOMIC_RELAXED) != 0;
    if (count_missing(wait) && !poisoned) quern_futex_wait(word, seen, limit);
}

static quern_status sleep_until_all_have_come(struct wait *wait) {
    struct quern_membership *member = wait->member;
    struct quern_segment_rank *mine = &member->segment->rank[member->rank];
    int64_t limit = wait->meeting->timeout < 9e9 ? (int64_t)(wait->meeting->timeout * 1e9) : INT64_MAX / 2;
    int64_t now = wait->began = quern_now(), look_around = now + SLICE;
    __atomic_store_n(&mine->since, now, __ATOMIC_RELAXED);
    __atomic_store_n(&mine->asleep_in_meeting, 1, __ATOMIC_RELAXED);
    quern_status status = QUERN_OK;
    while (!all_have_come(wait) && wait->other_call < 0) {
        QUERN_POINT(MEET_LOOKING);
        find_other_call(wait);
        if (wait->other_call >= 0) break;
        status = quern_check_poison(member);
        if (status != QUERN_OK && all_have_come(wait)) status = QUERN_OK;  /* a rank has left the meeting and then poisoned */
        if (status == QUERN_OK && now >= look_around) {
            status = check_lost(wait);
            look_around = now + SLICE;
        }
        if (status == QUERN_OK && now - wait->began >= limit) status = expire(wait, now);
        if (status != QUERN_OK) break;
        int64_t left = limit - (now - wait->began);
        sleep_a_slice(wait, left < SLICE ? left : SLICE);
        now = quern_now();
    }
    __atomic_store_n(&mine->asleep_in_meeting, 0, __ATOMIC_RELAXED);
    return status;
}

static bool come_while_polling(struct wait *wait) {
    struct quern_spin *spin = &wait->member->polls;
    for (int look = 0; look < spin->spins; look++) {  /* never 0 */
        quern_pause();
        if (!all_have_come(wait)) continue;
        quern_spin_succeeded(spin);
        return true;
    }
    quern_spin_failed(spin);
    return false;
}

static bool come_while_yielding(struct wait *wait) {
    struct quern_spin *spin = &wait->member->yields;
    const int looks = quern_spin_count(spin);
    const int64_t until = quern_now() + MOST_YIELDING;
    for (int look = 0; look < looks; look++) {
        sched_yield();
        const bool come = all_have_come(wait), late = quern_now() > until;
        if (late) quern_spin_pause(spin);
        else if (come) quern_spin_succeeded(spin);
        if (come || late) return come;
    }
    if (looks) quern_spin_failed(spin);
    return false;
}

static bool come_while_looking(struct wait *wait) {
    return all_have_come(wait) || come_while_polling(wait) || come_while_yielding(wait);
}

/* The ranks that are missing now. */
static void see_missing(const struct wait *wait, struct quern_seen_wait *seen) {
    if (!quern_begin_wait(seen)) return;
    for (int slot = 0; slot < wait->member->here; slot++)
        if (is_awaited(wait, slot) && !has_come(wait, slot)) quern_await_rank(seen, rank_at(wait, slot));
}

quern_status quern_await(struct quern_membership *member, const struct quern_meeting *meeting) {
    struct quern_seen_wait seen;
    struct wait wait = {.member = member, .meeting = meeting, .tag = tag_of(member, meeting), .of_all = is_of_all(member, meeting),
                        .other_call = -1};
    QUERN_POINT(MEET_ANNOUNCED);
    see_missing(&wait, &seen);
    quern_status status = come_while_looking(&wait) ? QUERN_OK : sleep_until_all_have_come(&wait);
    if (status == QUERN_OK) QUERN_POINT(MEET_COMPLETE);
    if (wait.of_all && status == QUERN_OK) wake_sleepers(member);
    return quern_end_wait(&seen, member, wait.other_call >= 0 ? report_other_call(&wait) : status);
}

quern_status quern_meet(struct quern_membership *member, const struct quern_meeting *meeting) {
    quern_announce(member, meeting);
    return quern_await(member, meeting);
}

quern_status quern_meet_telling(struct quern_membership *member, const struct quern_meeting *meeting,
                                const uint64_t told[QUERN_TOLD_WORDS]) {
    announce(member, meeting, told);
    return quern_await(member, meeting);
}

/* ---- exchanging ---- */

/*
 * One round: every rank writes its piece into its mailbox, all meet, every rank reads all mailboxes.  The two halves of a mailbox
 * alternate.  A rank writes a half again only after the next meeting, and every rank enters that meeting after reading this half.
 * Ranks of one process read the mailboxes in its own memory.
 */
static void write_piece(struct quern_membership *member, const void *piece, size_t bytes) {
    const uint32_t half = member->exchanges++;
    if (!bytes) return;
    memcpy(quern_own_mailbox(member->roster, member->rank, half), piece, bytes);
    if (!member->one_process) memcpy(quern_shared_mailbox(member->roster, member->rank, half), piece, bytes);
}

static void read_piece(const struct quern_membership *member, int rank, void *piece, size_t bytes) {
    const bool here = member->roster->peer[rank].is_here;
    if (member->roster->peer[rank].is_elsewhere) {
        if (bytes) memcpy(piece, member->control->mailbox(member, rank), bytes);
        return;
    }
    if (bytes) memcpy(piece, (here ? quern_own_mailbox : quern_shared_mailbox)(member->roster, rank, member->exchanges - 1), bytes);
}

/* A thread drives one rank of a group of several hosts. */
static quern_status meet_in_exchange(struct quern_membership *const *members, int count, const struct quern_meeting *meeting,
                                     const void *piece, size_t bytes) {
    if (members[0]->control) return members[0]->control->exchange(members[0], meeting, piece, bytes);
    for (int i = 0; i < count; i++) quern_announce(members[i], meeting);
    quern_status status = QUERN_OK;
    for (int i = 0; i < count && status == QUERN_OK; i++) status = quern_await(members[i], meeting);
    return status;
}

static quern_status exchange_piece(struct quern_membership *const *members, int count, const struct quern_meeting *meeting,
                                   const void *const *payloads, size_t offset, size_t bytes, size_t stride, char *all) {
    for (int i = 0; i < count; i++) write_piece(members[i], bytes ? (const char *)payloads[i] + offset : NULL, bytes);
    QUERN_POINT(EXCHANGE_WRITTEN);
    quern_status status = meet_in_exchange(members, count, meeting, bytes ? (const char *)payloads[0] + offset : NULL, bytes);
    if (status != QUERN_OK) return status;
    QUERN_POINT(EXCHANGE_MET);
    for (int rank = 0; bytes && rank < members[0]->ranks; rank++)
        read_piece(members[0], rank, all + (size_t)rank * stride + offset, bytes);
    QUERN_POINT(EXCHANGE_READ);
    return QUERN_OK;
}

quern_status quern_exchange(struct quern_membership *const *members, int count, enum quern_collective operation,
                            const void *const *payloads, size_t bytes, void *all) {
    struct quern_meeting meeting = {.operation = operation, .phase = QUERN_PHASE_EXCHANGE, .set = &members[0]->everyone,
                                    .timeout = members[0]->timeout};
    quern_status status = quern_check_poison(members[0]);
    size_t done = 0;
    do {
        size_t piece = bytes - done < QUERN_MAILBOX_BYTES ? bytes - done : QUERN_MAILBOX_BYTES;
        if (status == QUERN_OK) status = exchange_piece(members, count, &meeting, payloads, done, piece, bytes, all);
        done += piece;
    } while (done < bytes && status == QUERN_OK);
    return status;
}
