/* Runs the steps of a collective over several hosts.  Called by collective_hosts.c. */
#include "ranks/collective/collective.h"

#include <string.h>

#include "os/integers.h"
#include "ranks/points.h"
#include "ranks/poison.h"
#include "ranks/ragged/ragged.h"

enum {
    LINE = 64,
    LEAST_UNIT = 4 << 10
};

int64_t quern_most_workspace = 4 << 20;  /* it should stay in the caches */

static const double NEARER = 0.1;  /* seconds: a wait for another host ends before that for a rank which waits there */

/* ---- who is where ---- */

size_t quern_host_exchange_storage(const struct quern_collective_call *call) {
    const size_t places = (size_t)call->places;
    const size_t hosts = (size_t)call->member->roster->hosts;
    return places * (sizeof(char *) * 2 + 3 * sizeof(uint16_t)) + (2 * (places + 1) + hosts) * sizeof(uint16_t);
}

static void lay_out_storage(struct quern_host_exchange *x, void *storage) {
    const int places = x->call->places;
    x->buffer = storage;
    x->inputs = (const char **)(x->buffer + places);
    x->host_of = (uint16_t *)(x->inputs + places);
    x->index_of = x->host_of + places;
    x->member_at = x->index_of + places;
    x->first_of = x->member_at + places;
    x->column_of = x->first_of + places + 1;
    x->number_of = x->column_of + places + 1;
}

/* The number among the members' hosts: the next one, if it has none so far. */
static uint16_t host_at(struct quern_host_exchange *x, int place) {
    uint16_t *number = &x->number_of[x->call->member->roster->peer[x->call->rank_at[place]].host];
    if (!*number) *number = (uint16_t)++x->hosts;
    return (uint16_t)(*number - 1);
}

/* first_of[h + 1] counts the members of host h, then the members of all hosts up to it. */
static void number_hosts(struct quern_host_exchange *x) {
    const int places = x->call->places;
    memset(x->first_of, 0, ((size_t)places + 1) * sizeof *x->first_of);
    memset(x->number_of, 0, (size_t)x->call->member->roster->hosts * sizeof *x->number_of);
    for (int place = 0; place < places; place++) {
        x->host_of[place] = host_at(x, place);
        x->index_of[place] = x->first_of[x->host_of[place] + 1]++;
    }
    x->fewest = places;
    for (int host = 0; host < x->hosts; host++) {
        x->fewest = (int)quern_smaller(x->fewest, x->first_of[host + 1]);
        x->first_of[host + 1] = (uint16_t)(x->first_of[host + 1] + x->first_of[host]);
    }
    for (int place = 0; place < places; place++)
        x->member_at[x->first_of[x->host_of[place]] + x->index_of[place]] = (uint16_t)place;
}

/* The members of another host hand what they gather to those of this one in turns: each gets as many columns. */
static void number_columns(struct quern_host_exchange *x) {
    int column = 0;
    for (int host = 0; host < x->hosts; host++) {
        x->column_of[host] = (uint16_t)column;
        if (host != x->host) column += (int)quern_divide_up(quern_host_members(x, host), x->here);
    }
}

static void find_places(struct quern_host_exchange *x, void *storage) {
    lay_out_storage(x, storage);
    number_hosts(x);
    x->host = x->host_of[x->call->place];
    x->index = x->index_of[x->call->place];
    x->here = quern_host_members(x, x->host);
    number_columns(x);
}

/* ---- the buffers ---- */

static int64_t unit_of(const struct quern_collective_call *call, int64_t slots) {
    const int64_t most = quern_larger(quern_most_workspace / 2 / slots / LINE * LINE, LEAST_UNIT);
    return quern_smaller(most, (int64_t)quern_round_up((size_t)quern_larger(call->piece_bytes, LINE), LINE));
}

/* No schedule has more slots than quern_most_slots, and the buffer of fewer slots is no larger. */
size_t quern_host_exchange_workspace(const struct quern_collective_call *call) {
    const int64_t slots = quern_most_slots(call->places);
    return (size_t)quern_larger(2 * slots * unit_of(call, slots),
                                quern_smaller(quern_most_workspace, 2 * slots * unit_of(call, 1)));
}

void quern_open_host_exchange(struct quern_host_exchange *x, const struct quern_collective_call *call, void *storage) {
    *x = (struct quern_host_exchange){.call = call};
    find_places(x, storage);
    x->share = (int64_t)quern_round_up((size_t)quern_divide_up(call->count, call->places), LINE);
    x->meeting = (struct quern_meeting){.operation = call->form->operation, .phase = QUERN_PHASE_COPY, .set = &call->set,
                                        .timeout = call->timeout};
}

void quern_take_schedule(struct quern_host_exchange *x, const struct quern_collective_schedule *schedule) {
    x->schedule = schedule;
    x->slot_count = schedule->slots(x);
    x->unit = unit_of(x->call, x->slot_count);
    x->piece = x->unit / x->call->element_bytes;
}

/* ---- the messages of a step ---- */

struct step {
    struct quern_host_exchange *x;
    int64_t number;
};

static int place_of(const struct quern_collective_call *call, int rank) {
    int low = 0, high = call->places;  /* the ranks ascend */
    while (low < high) {
        const int middle = (low + high) / 2;
        if (call->rank_at[middle] < rank) low = middle + 1;
        else high = middle;
    }
    return low;
}

static uint64_t bytes_of(const struct iovec *parts, int count) {
    uint64_t bytes = 0;
    for (int i = 0; i < count; i++) bytes += parts[i].iov_len;
    return bytes;
}

static bool place_parts(void *user, struct quern_channel *channel) {
    const struct step *step = user;
    const struct quern_collective_call *call = step->x->call;
    channel->in = channel->few_in;
    channel->ins = step->x->schedule->parts(step->x, step->number, place_of(call, channel->rank), call->place, channel->few_in);
    return channel->in_head.first == 0 && channel->in_head.second == 0 &&
           channel->in_head.last == bytes_of(channel->few_in, channel->ins);
}

static void fill_channel(const struct step *step, struct quern_channel *channel) {
    const struct quern_host_exchange *x = step->x;
    const int own = x->call->place, other = place_of(x->call, channel->rank);
    struct iovec parts[QUERN_STEP_PARTS];
    const int count = x->schedule->parts(x, step->number, own, other, parts);
    channel->out_head.last = bytes_of(parts, count);
    for (int i = 0; i < count; i++) quern_channel_add(channel, parts[i].iov_base, parts[i].iov_len);
    if (!count) quern_channel_only_receives(&step->x->sendrecv, channel);
    if (!x->schedule->parts(x, step->number, other, own, parts)) quern_channel_only_sends(channel);
}

/* The ranks with which this one has a message in a step. */
static struct quern_rank_set partners_in(const struct step *step) {
    const struct quern_host_exchange *x = step->x;
    struct iovec parts[QUERN_STEP_PARTS];
    struct quern_rank_set set = {.count = 0};
    for (int place = 0; place < x->call->places; place++) {
        if (x->host_of[place] == x->host) continue;
        if (x->schedule->parts(x, step->number, x->call->place, place, parts) ||
            x->schedule->parts(x, step->number, place, x->call->place, parts))
            quern_set_add(&set, x->call->rank_at[place]);
    }
    return set;
}

static quern_status begin_messages(struct step *step) {
    struct quern_host_exchange *x = step->x;
    struct quern_net *net = x->call->member->net;
    const struct quern_rank_set partners = partners_in(step);
    quern_sendrecv_open(&x->sendrecv, x->call->member, &x->meeting, &partners, net->channels, net->order);
    x->sendrecv.place = place_parts;
    x->sendrecv.user = step;
    for (int i = 0; i < x->sendrecv.count; i++) fill_channel(step, &x->sendrecv.channel[i]);
    return quern_sendrecv_begin(&x->sendrecv);
}

/* ---- the steps ---- */

quern_status quern_meet_members_here(struct quern_membership *member, struct quern_meeting meeting, enum quern_phase phase) {
    const struct quern_rank_set here = quern_local_part(member, meeting.set);
    meeting.phase = phase;
    meeting.called = meeting.set;
    meeting.set = &here;
    meeting.timeout += NEARER;
    return here.count > 1 ? quern_meet(member, &meeting) : QUERN_OK;
}

/* If this rank is late, the others may have timed out and returned: then their memory must not be touched. */
static quern_status work_on(struct quern_host_exchange *x, int64_t step) {
    quern_status status = quern_check_poison(x->call->member);
    return status == QUERN_OK ? x->schedule->work(x, step) : status;
}

/* The tag of a message names all members, those of whom nothing is heard in this step too. */
static quern_status run_step(struct quern_host_exchange *x, int64_t number) {
    struct step step = {x, number};
    quern_status status = begin_messages(&step);
    if (status != QUERN_OK) return status;
    if (number) status = work_on(x, number - 1);
    if (status == QUERN_OK && x->here > 1) status = x->schedule->stage(x, number);
    QUERN_POINT(COLLECTIVE_STAGED);
    if (status == QUERN_OK) status = quern_sendrecv_end(&x->sendrecv);
    else quern_sendrecv_abandon(&x->sendrecv);
    if (status == QUERN_OK) status = quern_meet_members_here(x->call->member, x->meeting, QUERN_PHASE_COPY);
    QUERN_POINT(COLLECTIVE_WINDOW);
    return status;
}

quern_status quern_run_steps(struct quern_host_exchange *x) {
    const int64_t steps = x->schedule->steps(x);
    quern_status status = QUERN_OK;
    for (int64_t step = 0; step < steps && status == QUERN_OK; step++) status = run_step(x, step);
    x->sendrecv.open = 0;  /* the last work has no messages beside it */
    if (status == QUERN_OK && steps) status = work_on(x, steps - 1);
    QUERN_POINT(COLLECTIVE_COPIED);
    return status;
}

/* ---- work, between whose pieces messages move ---- */

static quern_status move_messages(struct quern_host_exchange *x) {
    return x->sendrecv.open ? quern_sendrecv_begin(&x->sendrecv) : QUERN_OK;
}

quern_status quern_combine_inputs(struct quern_host_exchange *x, int count, char *to, int64_t elements) {
    const struct quern_collective_combination combination = {
        .inputs = x->inputs, .outputs = &to, .input_count = count, .output_count = 1,
        .is_max = x->call->combination == QUERN_COMBINE_MAX};
    quern_collective_combine(x->call, &combination, elements);
    return move_messages(x);
}

quern_status quern_copy_piece(struct quern_host_exchange *x, char *to, const char *from, int64_t bytes) {
    struct quern_copy copy;
    struct quern_copy_list list = {.copies = &copy};
    if (to == from || !bytes) return QUERN_OK;
    quern_copies_add(&list, to, from, bytes);
    quern_copies_run(x->call->member->device, x->call->move->kernel->cpu.ragged_all_to_all, &list, false);
    return move_messages(x);
}
