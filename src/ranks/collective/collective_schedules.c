/*
 * Schedules of the collectives of CPU ranks of several hosts.  Chosen by collective_hosts.c, run by collective_steps.c.
 *
 *   gather      A rank sends each piece of its own once to each other host: to the member of its index there, who shows it to the
 *               rest.  All-gather, and the end of a direct all-reduce.
 *   direct      A rank sends to each member of another host the piece of that member's share, and combines its own share in the
 *               order of the places.  Reduce-scatter and all-reduce.
 *   chain       If the places of each host follow each other: the first host combines its inputs, sends the result to the next one,
 *               which goes on with its own, and so on; from the last host the results go on around the ring.  A vector leaves each
 *               host twice at most, however many members it has, and the order of the places is kept.  Between hosts go results in
 *               the dtype of the inputs, so this is for sums of fp32 and for maxima.
 *   broadcast   From host to host in a ring that begins at the root's.
 *
 * In a chain and a broadcast the members of equal index of two hosts are partners, and each has a slice of the piece.
 */
#include "ranks/collective/collective.h"

#include "os/integers.h"

typedef struct quern_host_exchange exchange;

/* ---- pieces ---- */

/* Elements, from the beginning of the vector that is divided. */
struct range {
    int64_t begin, count;
};

static struct range part_of(struct range whole, int64_t size, int64_t number) {
    struct range part = {whole.begin + number * size, 0};
    if (number >= 0 && number * size < whole.count) part.count = quern_smaller(size, whole.count - number * size);
    return part;
}

/* Elements from one share to the next: of the gathered output, or of the input of a reduce-scatter. */
static int64_t stride_of(const exchange *x) { return x->call->form->scatters ? x->call->input_stride : x->call->count; }

/* The share of a place: of the gathered output, of the input of a reduce-scatter, or of the vector of an all-reduce. */
static struct range share_of(const exchange *x, int place) {
    const struct quern_collective_call *call = x->call;
    const bool divides = !call->form->scatters && !call->form->gathers;
    return divides ? part_of((struct range){0, call->count}, x->share, place) : (struct range){place * stride_of(x), call->count};
}

static int64_t pieces_of_shares(const exchange *x) { return quern_divide_up(share_of(x, 0).count, x->piece); }

static int64_t bytes_of(const exchange *x, int64_t elements) { return elements * x->call->element_bytes; }

static const char *input_at(const exchange *x, int64_t element) { return x->call->input + bytes_of(x, element); }

static char *output_at(const exchange *x, int64_t element) { return x->call->output + bytes_of(x, element); }

static bool is_alone(const exchange *x) { return x->here == 1; }

static int add_part(const exchange *x, struct iovec *parts, int count, const char *at, struct range range) {
    parts[count] = (struct iovec){(void *)at, (size_t)bytes_of(x, range.count)};
    return count + (range.count > 0);
}

static quern_status copy(exchange *x, char *to, const char *from, struct range range) {
    return quern_copy_piece(x, to, from, bytes_of(x, range.count));
}

/* ---- gather: step t has piece t - lag of each share ---- */

/* Whether a place has what is gathered in its input; else the result that it has combined two steps ago. */
static int lag_of_gather(const exchange *x) { return x->call->form->gathers ? 0 : 2; }

/* Slots: of the direct schedule, one for this rank's own piece, then a column for each that comes from other hosts. */
static int64_t own_column(const exchange *x) { return x->call->form->gathers ? 0 : x->call->places; }

static int hand_over_index(const exchange *x, int from, int host) { return x->index_of[from] % quern_host_members(x, host); }

static char *arrival(const exchange *x, int from, int64_t step) {
    const int column = x->column_of[x->host_of[from]] + x->index_of[from] / x->here;
    return quern_slot(x, hand_over_index(x, from, x->host), step, own_column(x) + 1 + column);
}

static int gather_part(const exchange *x, int64_t step, int from, int to, struct iovec *parts, int count) {
    const struct range piece = part_of(share_of(x, from), x->piece, step - lag_of_gather(x));
    const char *at;
    if (x->index_of[to] != hand_over_index(x, from, x->host_of[to])) return count;
    if (to == x->call->place) at = is_alone(x) ? output_at(x, piece.begin) : arrival(x, from, step);
    else if (x->call->form->gathers) at = input_at(x, piece.begin - share_of(x, from).begin);
    else at = is_alone(x) ? output_at(x, piece.begin) : quern_own_slot(x, step, own_column(x));
    return add_part(x, parts, count, at, piece);
}

static int all_gather_parts(const exchange *x, int64_t step, int from, int to, struct iovec *parts) {
    return gather_part(x, step, from, to, parts, 0);
}

static int64_t all_gather_slots(const exchange *x) { return 1 + x->call->places; }

static int64_t all_gather_steps(const exchange *x) { return pieces_of_shares(x); }

static quern_status stage_input(exchange *x, int64_t step) {
    const struct range piece = part_of((struct range){0, x->call->count}, x->piece, step);
    return copy(x, quern_own_slot(x, step, 0), input_at(x, piece.begin), piece);
}

/* A rank that is alone has received into its output. */
static quern_status take_arrivals(exchange *x, int64_t step) {
    quern_status status = QUERN_OK;
    for (int place = 0; place < x->call->places && status == QUERN_OK && !is_alone(x); place++) {
        const struct range piece = part_of(share_of(x, place), x->piece, step - lag_of_gather(x));
        if (x->host_of[place] != x->host) status = copy(x, output_at(x, piece.begin), arrival(x, place, step), piece);
    }
    return status;
}

static quern_status take_gathered(exchange *x, int64_t step) {
    quern_status status = QUERN_OK;
    for (int i = 0; i < x->here && status == QUERN_OK; i++) {
        const int place = quern_member_at(x, x->host, i);
        const struct range share = share_of(x, place), piece = part_of(share, x->piece, step);
        const bool own = place == x->call->place;
        status = copy(x, output_at(x, piece.begin), own ? input_at(x, piece.begin - share.begin) : quern_slot(x, i, step, 0),
                      piece);
    }
    return status == QUERN_OK ? take_arrivals(x, step) : status;
}

/* ---- direct: step t has piece t of each share, combined in the work of the step and gathered in step t + 2 ---- */

/* Slots: for a member of this host what it gets from this rank, for one of another host what has come; the result; columns. */
static int64_t direct_slots(const exchange *x) { return quern_most_slots(x->call->places); }

static int64_t direct_steps(const exchange *x) {
    const int64_t pieces = pieces_of_shares(x);
    return pieces && !x->call->form->scatters ? pieces + 2 : pieces;
}

static int direct_parts(const exchange *x, int64_t step, int from, int to, struct iovec *parts) {
    const struct range piece = part_of(share_of(x, to), x->piece, step);
    const bool sends = from == x->call->place;
    const int count = add_part(x, parts, 0, sends ? input_at(x, piece.begin) : quern_own_slot(x, step, from), piece);
    return x->call->form->scatters ? count : gather_part(x, step, from, to, parts, count);
}

static quern_status stage_shares(exchange *x, int64_t step) {
    quern_status status = QUERN_OK;
    for (int i = 0; i < x->here && status == QUERN_OK; i++) {
        const int place = quern_member_at(x, x->host, i);
        const struct range piece = part_of(share_of(x, place), x->piece, step);
        if (i != x->index) status = copy(x, quern_own_slot(x, step, place), input_at(x, piece.begin), piece);
    }
    return status;
}

static quern_status combine_share(exchange *x, int64_t step) {
    const int own = x->call->place;
    const struct range share = share_of(x, own), piece = part_of(share, x->piece, step);
    char *to = quern_own_slot(x, step, own_column(x));
    for (int place = 0; place < x->call->places; place++) {
        if (place == own) x->inputs[place] = input_at(x, piece.begin);
        else if (x->host_of[place] == x->host) x->inputs[place] = quern_slot(x, x->index_of[place], step, own);
        else x->inputs[place] = quern_own_slot(x, step, place);
    }
    if (x->call->form->scatters) to = output_at(x, piece.begin - share.begin);
    else if (is_alone(x)) to = output_at(x, piece.begin);
    return quern_combine_inputs(x, x->call->places, to, piece.count);
}

/* The results of this host are complete at the meeting of the next step, before they are sent. */
static quern_status take_results(exchange *x, int64_t step) {
    quern_status status = QUERN_OK;
    for (int i = 0; i < x->here && status == QUERN_OK && !is_alone(x); i++) {
        const struct range piece = part_of(share_of(x, quern_member_at(x, x->host, i)), x->piece, step - 1);
        status = copy(x, output_at(x, piece.begin), quern_slot(x, i, step - 1, own_column(x)), piece);
    }
    return status;
}

static quern_status work_directly(exchange *x, int64_t step) {
    quern_status status = combine_share(x, step);
    if (x->call->form->scatters || status != QUERN_OK) return status;
    status = take_results(x, step);
    return status == QUERN_OK ? take_arrivals(x, step) : status;
}

/* ---- chain: host h combines piece t - 2 h in step t, and results go on behind the last host ---- */

enum { CHAIN_PARTIAL, CHAIN_OUT, CHAIN_RESULT, CHAIN_INPUTS };  /* slots: what comes, what goes, a result that comes; the slices */

static int64_t chain_slots(const exchange *x) { return CHAIN_INPUTS + x->fewest; }

static int64_t size_of_piece(const exchange *x) { return x->fewest * x->piece; }

/* A reduce-scatter has the pieces of a share after those of the one before. */
static int64_t pieces_of_share(const exchange *x) { return quern_divide_up(x->call->count, size_of_piece(x)); }

static int owner_of(const exchange *x, int64_t piece) {
    return x->call->form->scatters ? (int)(piece / pieces_of_share(x)) : x->call->places;
}

static int64_t pieces_of_chain(const exchange *x) { return pieces_of_share(x) * (x->call->form->scatters ? x->call->places : 1); }

static struct range slice_of(const exchange *x, int64_t piece, int index) {
    const bool scatters = x->call->form->scatters;
    if (piece < 0 || piece >= pieces_of_chain(x) || index >= x->fewest) return (struct range){0, 0};
    const struct range whole = {scatters ? owner_of(x, piece) * stride_of(x) : 0, x->call->count};
    return part_of(part_of(whole, size_of_piece(x), scatters ? piece % pieces_of_share(x) : piece), x->piece, index);
}

static int64_t chain_steps(const exchange *x) {
    const int64_t pieces = pieces_of_chain(x);
    return pieces ? pieces + 3 * x->hosts - 2 : 0;
}

/* The piece whose inputs a host combines, and the one whose result comes there, in a step. */
static int64_t combined_at(int64_t step, int host) { return step - 2 * host; }
static int64_t result_at(const exchange *x, int64_t step, int host) { return step - 2 * x->hosts - host; }

/* Whether a host gets a result from the one before: a share goes as far as its owner's host, unless that has combined it. */
static bool gets_result(const exchange *x, int64_t piece, int host) {
    if (piece < 0 || piece >= pieces_of_chain(x) || host == x->hosts - 1) return false;
    const int owner = owner_of(x, piece);
    return owner == x->call->places || (x->host_of[owner] < x->hosts - 1 && host <= x->host_of[owner]);
}

static int chain_parts(const exchange *x, int64_t step, int from, int to, struct iovec *parts) {
    const int source = x->host_of[from], host = x->host_of[to], index = x->index_of[to];
    const bool sends = from == x->call->place;
    const int64_t result = result_at(x, step, host);
    int count = 0;
    if (host != (source + 1) % x->hosts || x->index_of[from] != index) return 0;
    if (host > 0)
        count = add_part(x, parts, count, quern_own_slot(x, step, sends ? CHAIN_OUT : CHAIN_PARTIAL),
                         slice_of(x, combined_at(step, host), index));
    if (!gets_result(x, result, host)) return count;
    const char *at = sends ? source == x->hosts - 1 ? quern_own_slot(x, step, CHAIN_OUT) : quern_own_slot(x, step - 1, CHAIN_RESULT)
                           : quern_own_slot(x, step, CHAIN_RESULT);
    return add_part(x, parts, count, at, slice_of(x, result, index));
}

static quern_status stage_slices(exchange *x, int64_t step) {
    quern_status status = QUERN_OK;
    for (int index = 0; index < x->fewest && status == QUERN_OK; index++) {
        const struct range slice = slice_of(x, combined_at(step, x->host), index);
        if (index != x->index) status = copy(x, quern_own_slot(x, step, CHAIN_INPUTS + index), input_at(x, slice.begin), slice);
    }
    return status;
}

static quern_status combine_slice(exchange *x, int64_t step) {
    const struct range slice = slice_of(x, combined_at(step, x->host), x->index);
    int count = 0;
    if (!slice.count) return QUERN_OK;
    if (x->host > 0) x->inputs[count++] = quern_own_slot(x, step, CHAIN_PARTIAL);
    for (int i = 0; i < x->here; i++)
        x->inputs[count++] = i == x->index ? input_at(x, slice.begin) : quern_slot(x, i, step, CHAIN_INPUTS + x->index);
    return quern_combine_inputs(x, count, quern_own_slot(x, step, CHAIN_OUT), slice.count);
}

/* On the last host what was combined in the step before. */
static quern_status take_slices(exchange *x, int64_t step) {
    const bool is_last = x->host == x->hosts - 1;
    const int64_t piece = is_last ? combined_at(step - 1, x->host) : result_at(x, step, x->host);
    const int owner = piece < 0 || piece >= pieces_of_chain(x) ? -1 : owner_of(x, piece);
    quern_status status = QUERN_OK;
    if (owner != x->call->places && owner != x->call->place) return QUERN_OK;
    for (int index = 0; index < x->fewest && status == QUERN_OK; index++) {
        const struct range slice = slice_of(x, piece, index);
        const char *from = is_last ? quern_slot(x, index, step - 1, CHAIN_OUT) : quern_slot(x, index, step, CHAIN_RESULT);
        const int64_t skipped = owner == x->call->places ? 0 : owner * stride_of(x);
        status = copy(x, output_at(x, slice.begin - skipped), from, slice);
    }
    return status;
}

static quern_status work_in_chain(exchange *x, int64_t step) {
    quern_status status = combine_slice(x, step);
    return status == QUERN_OK ? take_slices(x, step) : status;
}

/* ---- broadcast: the root shows piece t in step t, and the host n places behind its own gets it in step t + n ---- */

enum { CAST_ARRIVAL, CAST_INPUTS };

static int64_t cast_slots(const exchange *x) { return CAST_INPUTS + x->fewest; }

static int64_t cast_steps(const exchange *x) {
    const int64_t pieces = quern_divide_up(x->call->count, size_of_piece(x));
    return pieces ? pieces + x->hosts - 1 : 0;
}

static int root_host(const exchange *x) { return x->host_of[x->call->root_place]; }

static int distance_of(const exchange *x, int host) { return (host - root_host(x) + x->hosts) % x->hosts; }

static struct range cast_slice(const exchange *x, int64_t piece, int index) {
    if (index >= x->fewest) return (struct range){0, 0};
    return part_of(part_of((struct range){0, x->call->count}, size_of_piece(x), piece), x->piece, index);
}

/* Where this rank has a slice that it sends in a step. */
static const char *cast_source(const exchange *x, int64_t step, struct range slice) {
    if (x->call->place == x->call->root_place) return input_at(x, slice.begin);
    if (x->host == root_host(x)) return quern_slot(x, x->index_of[x->call->root_place], step - 1, CAST_INPUTS + x->index);
    return is_alone(x) ? output_at(x, slice.begin) : quern_own_slot(x, step - 1, CAST_ARRIVAL);
}

static int cast_parts(const exchange *x, int64_t step, int from, int to, struct iovec *parts) {
    const int distance = distance_of(x, x->host_of[to]);
    const struct range slice = cast_slice(x, step - distance, x->index_of[to]);
    if (!distance || distance != distance_of(x, x->host_of[from]) + 1 || x->index_of[from] != x->index_of[to]) return 0;
    if (from == x->call->place) return add_part(x, parts, 0, cast_source(x, step, slice), slice);
    return add_part(x, parts, 0, is_alone(x) ? output_at(x, slice.begin) : quern_own_slot(x, step, CAST_ARRIVAL), slice);
}

static quern_status show_piece(exchange *x, int64_t step) {
    quern_status status = QUERN_OK;
    for (int index = 0; index < x->fewest && x->call->place == x->call->root_place && status == QUERN_OK; index++) {
        const struct range slice = cast_slice(x, step, index);
        status = copy(x, quern_own_slot(x, step, CAST_INPUTS + index), input_at(x, slice.begin), slice);
    }
    return status;
}

static quern_status take_cast(exchange *x, int64_t step) {
    const int root = x->call->root_place, distance = distance_of(x, x->host);
    quern_status status = QUERN_OK;
    for (int index = 0; index < x->fewest && status == QUERN_OK; index++) {
        const struct range slice = cast_slice(x, step - distance, index);
        const char *from = x->call->place == root ? input_at(x, slice.begin)
                           : distance == 0        ? quern_slot(x, x->index_of[root], step, CAST_INPUTS + index)
                           : is_alone(x)          ? output_at(x, slice.begin)
                                                  : quern_slot(x, index, step, CAST_ARRIVAL);
        status = copy(x, output_at(x, slice.begin), from, slice);
    }
    return status;
}

/* ---- the choice ---- */

static const struct quern_collective_schedule
    all_gather = {"gather", all_gather_slots, all_gather_steps, all_gather_parts, stage_input, take_gathered},
    direct = {"direct", direct_slots, direct_steps, direct_parts, stage_shares, work_directly},
    chain = {"chain", chain_slots, chain_steps, chain_parts, stage_slices, work_in_chain},
    broadcast = {"broadcast", cast_slots, cast_steps, cast_parts, show_piece, take_cast};

static bool is_in_blocks(const exchange *x) {
    for (int place = 1; place < x->call->places; place++)
        if (x->host_of[place] < x->host_of[place - 1]) return false;
    return true;
}

/*
 * Shares that the busiest host sends.  Direct: each of its members to each member of another host; and once to each other host of
 * an all-reduce.  Chain: the vector to the next host, unless it is the last one; and the results, those of a scatter as far as they
 * go.
 */
static int64_t shares_sent_directly(const exchange *x) {
    int64_t most = 0;
    for (int host = 0; host < x->hosts; host++) {
        const int64_t members = quern_host_members(x, host), others = x->call->places - members;
        most = quern_larger(most, members * (others + (x->call->form->scatters ? 0 : x->hosts - 1)));
    }
    return most;
}

static int64_t shares_sent_in_chain(const exchange *x) {
    const int64_t places = x->call->places, last = quern_host_members(x, x->hosts - 1);
    const bool scatters = x->call->form->scatters;
    const int64_t forwarded = x->hosts == 2 ? 0 : scatters ? places - last - quern_host_members(x, 0) : places;
    return quern_larger(places + forwarded, scatters ? places - last : places);
}

static bool may_chain(const exchange *x) {
    const struct quern_collective_call *call = x->call;
    return is_in_blocks(x) && (call->dtype == QUERN_F32 || call->combination == QUERN_COMBINE_MAX);
}

const struct quern_collective_schedule *quern_choose_schedule(const struct quern_host_exchange *x) {
    const struct quern_collective_form *form = x->call->form;
    if (form->has_root) return &broadcast;
    if (!form->reduces) return &all_gather;
    return may_chain(x) && shares_sent_in_chain(x) < shares_sent_directly(x) ? &chain : &direct;
}
