/*
 * Shrinks a group: the living ranks agree on who they are, and form a group of their own.
 *
 * The segment has a word for each rank: the last round to which it has come, and the round in which it was excluded.  A rank comes
 * by compare-and-swap.  Whoever waits for it excludes it by compare-and-swap if it has ended, or at the end of the limit.  So every
 * word decides once, and for all ranks alike, whether its rank is of a round.  When all have decided, the ranks of the round meet.
 * If one of them ends before they have met, or fails and excludes itself from the next round, the round is over, and the others
 * come to the next.  That locks tell for certain who lives makes this simpler than the agreement of MPI_Comm_shrink in ULFM (Bland
 * et al., 2013).
 *
 * Between hosts no lock tells who lives: a host that is silent may have ended, or may go on by itself.  There the ranks of a round
 * are those of this host.  The lowest speaks for them, and the hosts that answer each other find the ranks that go on, of which
 * there must be a quorum (src/ranks/hosts/hosts.h).  All of these must meet in the new group.  Until its last meeting a rank that
 * fails comes to another round; after it has begun, others may have completed it, so the rank ends with an error.  So it is of one
 * group at most, and two quorums have a rank in common.
 *
 * Called by engines.  Checked by tests/model/shrink.pml and quorum.pml.
 */
#define _GNU_SOURCE
#include <time.h>

#include "os/clock.h"
#include "ranks/describe.h"
#include "ranks/group/group.h"
#include "ranks/handles.h"
#include "ranks/poison.h"
#include "ranks/seen_wait.h"
#include "runtime/status.h"

struct shrinking {
    struct quern_membership *const *members;  /* of the old group */
    int count;
    uint32_t round;
    int64_t deadline;              /* until then ranks of this host are awaited: CLOCK_MONOTONIC, nanoseconds; ... */
    int64_t hosts_patience;        /* ... other hosts, whose ranks may be awaited so long */
    int64_t limit;                 /* until then the call lasts */
    struct quern_rank_set living;  /* the ranks of the round: of this host */
    uint16_t numbers[QUERN_GROUP_LIMIT];  /* of the new group's ranks in the old one */
    struct quern_quorum *quorum;   /* of the rank that speaks for one of several hosts */
    bool is_over;                  /* no further round can help */
};

/* ---- the words ---- */

/* How far a rank has come, and when it was excluded; 0: not yet. */
struct word {
    uint32_t come, out;
};

static uint32_t *place_of(const struct quern_membership *member, int rank) { return &quern_place(member->roster, rank)->shrink; }

static uint32_t pack(struct word word) { return word.come << 16 | word.out; }

static struct word word_of(const struct quern_membership *member, int rank) {
    const uint32_t packed = __atomic_load_n(place_of(member, rank), __ATOMIC_SEQ_CST);
    return (struct word){packed >> 16, packed & 0xffff};
}

static bool swap(const struct quern_membership *member, int rank, struct word from, struct word to) {
    uint32_t expected = pack(from);
    return __atomic_compare_exchange_n(place_of(member, rank), &expected, pack(to), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static bool is_decided(struct word word, uint32_t round) { return word.come >= round || word.out; }

static bool is_of(struct word word, uint32_t round) { return word.come >= round && (!word.out || word.out > round); }

/* This thread's ranks will not be of the next round. */
static void exclude_own(const struct shrinking *shrinking) {
    for (int i = 0; i < shrinking->count; i++) {
        const struct quern_membership *member = shrinking->members[i];
        struct word word = word_of(member, member->rank);
        while (!word.out && !swap(member, member->rank, word, (struct word){word.come, shrinking->round + 1}))
            word = word_of(member, member->rank);
    }
}

/* ---- one round ---- */

static quern_status fail_excluded(const struct quern_membership *member) {
    return quern_fail(member->device, QUERN_PEER_TIMEOUT,
                      "%s: the other ranks have shrunk the group without this one, which came too late", member->label);
}

static quern_status come(const struct shrinking *shrinking) {
    for (int i = 0; i < shrinking->count; i++) {
        const struct quern_membership *member = shrinking->members[i];
        if (!swap(member, member->rank, (struct word){shrinking->round - 1, 0}, (struct word){shrinking->round, 0}))
            return fail_excluded(member);
    }
    return QUERN_OK;
}

/* Only the ranks of this host have words here. */
static bool has_word(const struct quern_membership *member, int rank) { return !member->roster->peer[rank].is_elsewhere; }

/* The next rank in cyclic order whose word has not decided; -1: all have. */
static int find_undecided(const struct shrinking *shrinking) {
    const struct quern_membership *member = shrinking->members[0];
    for (int i = 1; i < member->ranks; i++) {
        const int rank = (member->rank + i) % member->ranks;
        if (has_word(member, rank) && !is_decided(word_of(member, rank), shrinking->round)) return rank;
    }
    return -1;
}

/* Each rank looks whether its next one lives, so that all are looked at: 128 ranks that look at all would take all the time. */
static void await_words(const struct shrinking *shrinking) {
    const struct quern_membership *member = shrinking->members[0];
    long nap = 100000;  /* nanoseconds */
    for (int rank; (rank = find_undecided(shrinking)) >= 0;) {
        const struct word word = word_of(member, rank);
        if (!is_decided(word, shrinking->round) &&
            (quern_rank_has_gone(member->roster, rank) || quern_now() >= shrinking->deadline)) {
            swap(member, rank, word, (struct word){word.come, shrinking->round});
            continue;
        }
        nanosleep(&(struct timespec){.tv_nsec = nap}, NULL);
        if (nap < 10000000) nap *= 2;
    }
}

static quern_status find_living(struct shrinking *shrinking) {
    const struct quern_membership *member = shrinking->members[0];
    shrinking->living = (struct quern_rank_set){0};
    for (int rank = 0; rank < member->ranks; rank++)
        if (has_word(member, rank) && is_of(word_of(member, rank), shrinking->round)) quern_set_add(&shrinking->living, rank);
    for (int i = 0; i < shrinking->count; i++)
        if (!quern_set_has(&shrinking->living, shrinking->members[i]->rank)) return fail_excluded(shrinking->members[i]);
    return QUERN_OK;
}

/* A rank of the round that will not join its group; -1: none. */
static int find_lost(const struct shrinking *shrinking) {
    const struct quern_membership *member = shrinking->members[0];
    for (int rank = 0; rank < member->ranks; rank++) {
        if (!quern_set_has(&shrinking->living, rank) || rank == member->rank) continue;
        const struct word word = word_of(member, rank);
        const bool has_gone_on = word.come > shrinking->round || word.out > shrinking->round;
        if (has_gone_on || quern_rank_has_gone(member->roster, rank)) return rank;
    }
    return -1;
}

static quern_status check_round(const void *user) {
    const struct shrinking *shrinking = user;
    const int lost = find_lost(shrinking);
    if (lost < 0) return QUERN_OK;
    return quern_fail(shrinking->members[0]->device, QUERN_PEER_LOST, "%s: rank %d has ended, or has found that another has",
                      shrinking->members[0]->label, lost);
}

/* In texts the ranks have the numbers that they are known by. */
static void list_living(struct shrinking *shrinking, const uint32_t *words) {
    int count = 0;
    for (int rank = 0; rank < shrinking->members[0]->ranks; rank++)
        if (words[rank / 32] >> rank % 32 & 1) shrinking->numbers[count++] = (uint16_t)rank;
}

/* The ranks keep their order. */
static int place_of_living(const struct quern_rank_set *living, int rank) {
    int place = 0;
    for (int other = 0; other < rank; other++) place += quern_set_has(living, other);
    return place;
}

/* The time that is left limits the wait; what follows has the limits of the old group. */
static quern_status join_living(struct shrinking *shrinking, struct quern_membership **formed) {
    quern_group_args args[QUERN_RANK_LIMIT];
    char name[96];
    const double left = (double)(shrinking->limit - quern_now()) * 1e-9;
    struct quern_text text = quern_text_begin(name, sizeof name);
    quern_text_add(&text, QUERN_SHRINK);
    quern_add_number(&text, shrinking->members[0]->roster->id);
    quern_text_add(&text, ".%u", shrinking->round);
    for (int i = 0; i < shrinking->count; i++) {
        const struct quern_membership *member = shrinking->members[i];
        args[i] = quern_inherit_group(member);
        args[i].ranks = shrinking->living.count;
        args[i].rank = place_of_living(&shrinking->living, member->rank);
        args[i].first_timeout = left > 1e-9 ? left : 1e-9;
    }
    list_living(shrinking, shrinking->living.words);
    const struct quern_veto veto = {check_round, shrinking, shrinking->numbers};
    quern_status status = quern_join_group(args, shrinking->count, name, veto, formed);
    for (int i = 0; i < shrinking->count && status == QUERN_OK; i++)
        formed[i]->timeout = formed[i]->first_timeout = shrinking->members[i]->first_timeout;
    return status;
}

/* ---- the rest of a round of several hosts ---- */

static int find_speaker(const struct shrinking *shrinking) {
    int rank = 0;
    while (!quern_set_has(&shrinking->living, rank)) rank++;
    return rank;
}

static quern_status fail_expired(const struct quern_membership *member) {
    return quern_fail(member->device, QUERN_PEER_TIMEOUT, "%s: quern_group_shrink has not ended in twice the limit of %g s",
                      member->label, member->first_timeout);
}

static quern_status speak(struct shrinking *shrinking, struct quern_decision *decision) {
    const struct quern_membership *member = shrinking->members[0];
    shrinking->quorum = quern_open_quorum(member, &shrinking->living, shrinking->hosts_patience);
    if (!shrinking->quorum) return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for a group");
    quern_status status = quern_find_quorum(shrinking->quorum, (struct quern_veto){.ask = check_round, .user = shrinking},
                                            shrinking->limit, decision);
    if (status == QUERN_OK) quern_publish_decision(member, shrinking->round, decision);
    return status;
}

/* The speaker may have published it just before its end. */
static quern_status await_decision(const struct shrinking *shrinking, int speaker, struct quern_decision *decision) {
    long nap = 100000;  /* nanoseconds */
    for (;;) {
        const quern_status lost = check_round(shrinking);
        if (quern_read_decision(shrinking->members[0], speaker, shrinking->round, decision)) return QUERN_OK;
        if (lost != QUERN_OK) return lost;
        if (quern_now() > shrinking->limit) return fail_expired(shrinking->members[0]);
        nanosleep(&(struct timespec){.tv_nsec = nap}, NULL);
        if (nap < 10000000) nap *= 2;
    }
}

/* All stay in the round until the group is made: who leaves it hangs up, and the others know. */
static quern_status check_hosts(const void *user) {
    const struct shrinking *shrinking = user;
    const quern_status status = check_round(user);
    if (status != QUERN_OK || !shrinking->quorum || !quern_quorum_is_broken(shrinking->quorum)) return status;
    return quern_fail(shrinking->members[0]->device, QUERN_PEER_LOST, "%s: another host has ended, or has found that a rank has",
                      shrinking->members[0]->label);
}

static quern_status join_hosts(struct shrinking *shrinking, const struct quern_decision *decision,
                               struct quern_membership **formed) {
    const struct quern_membership *member = shrinking->members[0];
    const double left = (double)(shrinking->limit - quern_now()) * 1e-9;
    list_living(shrinking, decision->living);
    const struct quern_veto veto = {check_hosts, shrinking, shrinking->numbers};
    quern_status status = quern_join_quorum(member, decision, left > 1e-9 ? left : 1e-9, veto, formed);
    if (status != QUERN_OK) return status;
    shrinking->is_over = true;
    return quern_complete_quorum(member, formed);
}

static quern_status take_round_of_hosts(struct shrinking *shrinking, struct quern_membership **formed) {
    const struct quern_membership *member = shrinking->members[0];
    const int speaker = find_speaker(shrinking);
    struct quern_decision decision = {.status = QUERN_OK};
    quern_status status = speaker == member->rank ? speak(shrinking, &decision) : await_decision(shrinking, speaker, &decision);
    if (status == QUERN_OK && decision.status != QUERN_OK) {
        char reason[sizeof decision.reason];
        quern_copy_text(reason, decision.reason, sizeof reason);
        shrinking->is_over = true;
        status = quern_fail(member->device, quern_told_status(decision.status), "%s: %s", member->label, reason);
    }
    if (status == QUERN_OK) status = join_hosts(shrinking, &decision, formed);
    quern_close_quorum(shrinking->quorum);
    shrinking->quorum = NULL;
    return status;
}

/* ---- all rounds ---- */

static quern_status take_round(struct shrinking *shrinking, struct quern_membership **formed) {
    const struct quern_membership *member = shrinking->members[0];
    quern_status status = come(shrinking);
    if (status != QUERN_OK) return status;
    await_words(shrinking);
    status = find_living(shrinking);
    if (status != QUERN_OK) return status;
    if (quern_now() >= shrinking->limit) return fail_expired(member);
    if (member->control) return take_round_of_hosts(shrinking, formed);
    return join_living(shrinking, formed);
}

/* As many as ranks of one host can end; hosts may meet and part until the limit. */
static uint32_t most_rounds(const struct quern_membership *member) { return member->control ? 0x7fff : (uint32_t)member->ranks; }

/* A round of hosts that is lost after the first limit still leaves a moment to come to the next one. */
static void extend_patience(struct shrinking *shrinking) {
    static const int64_t GRACE = 1000000000;  /* nanoseconds */
    const int64_t soon = quern_now() + GRACE;
    if (!shrinking->members[0]->control || shrinking->round == 1) return;
    if (shrinking->deadline < soon) shrinking->deadline = soon;
    if (shrinking->hosts_patience < soon + GRACE) shrinking->hosts_patience = soon + GRACE;
}

/* A round that is over is followed by another, unless other processes write into the segment: each one has lost a rank. */
static quern_status take_rounds(struct shrinking *shrinking, struct quern_membership **formed) {
    quern_status status = QUERN_PEER_LOST;
    while (status == QUERN_PEER_LOST && !shrinking->is_over && shrinking->round < most_rounds(shrinking->members[0])) {
        shrinking->round++;
        extend_patience(shrinking);
        status = take_round(shrinking, formed);
    }
    if (status != QUERN_OK) exclude_own(shrinking);
    return status;
}

static int64_t nanoseconds(double seconds) { return seconds < 4e9 ? (int64_t)(seconds * 1e9) : INT64_MAX / 4; }

static quern_status check_whole(struct quern_membership *const *members, int count, quern_group *const *new_groups) {
    if (!new_groups) return quern_fail(members[0]->device, QUERN_NULL_POINTER, "new_groups is NULL");
    if (members[0]->control && members[0]->device->kind != QUERN_CPU)
        return quern_fail(members[0]->device, QUERN_NOT_SUPPORTED,
                          "%s: a group of GPUs of several hosts cannot be shrunk: destroy it, and create "
                          "one of the ranks that quern_group_missing does not name",
                          members[0]->label);
    for (int i = 0; i < count; i++)
        if (members[i]->is_shrunk)
            return quern_fail(members[i]->device, QUERN_INVALID_ARGUMENT, "%s was shrunk before", members[i]->label);
    for (int i = 0; i < count; i++) members[i]->is_shrunk = true;
    return QUERN_OK;
}

static quern_status shrink(quern_group *const *groups, int count, quern_group **new_groups, struct quern_look *look) {
    struct quern_membership *members[QUERN_RANK_LIMIT], *formed[QUERN_RANK_LIMIT];
    quern_status status = quern_members_even_poisoned(groups, count, members);
    if (status == QUERN_OK) quern_look_at_members(look, members, count);
    if (status == QUERN_OK) status = check_whole(members, count, new_groups);
    if (status != QUERN_OK) return status;
    const int64_t now = quern_now(), limit = nanoseconds(members[0]->first_timeout);
    struct shrinking shrinking = {.members = members, .count = count, .deadline = now + limit,
                                  .hosts_patience = now + limit + limit / 2, .limit = now + 2 * limit};
    quern_poison_by_abort(members[0], "it is being shrunk");  /* unless it has failed: the other ranks must come here, too */
    status = take_rounds(&shrinking, formed);
    if (status == QUERN_OK && !members[0]->control) status = quern_attach_group(formed, count);
    if (status == QUERN_OK) quern_publish_group(formed, count, new_groups);
    return status;
}

quern_status quern_group_shrink(quern_group *const *groups, int count, quern_group **new_groups) {
    static const struct quern_view view = {.name = "group_shrink", .is_undumped = true};
    struct quern_look look;
    quern_begin_look(&look, &view, NULL, NULL);
    return quern_end_look(&look, shrink(groups, count, new_groups, &look));
}
