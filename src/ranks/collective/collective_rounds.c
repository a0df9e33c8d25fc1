/* The rounds of a large collective on CPUs: addresses and work.  Called by collective_host.c. */
#include "ranks/collective/collective.h"

#include "os/integers.h"
#include "ranks/ragged/ragged.h"

typedef struct quern_collective_rounds rounds_t;

enum {
    LINE = 64,
    LEAST_BUFFER = 1 << 14,   /* large compared with the cost of a meeting ... */
    MOST_BUFFER = 1 << 18,    /* ... and so small that all buffers stay near the cores */
    PARTS = 8,                /* of a call, between these: while one is staged, the one before is combined or copied */
    WHOLE_BYTES = 1 << 15,    /* up to so many bytes of inputs are combined by every rank */
    MOST_SCRATCH = 1 << 18,   /* of each thread, for inputs that are read */
    MOST_READ = 1 << 19       /* bytes of an all-reduce by reading */
};

/* ---- buffers: two staged ones, then two returned ones ---- */

static int64_t in_lines(int64_t bytes) { return (int64_t)quern_round_up((size_t)bytes, LINE); }

/* Of a call that has buffers: enough for the pieces of any operation. */
static int64_t staged_bytes(const struct quern_collective_call *call) {
    const int64_t all = in_lines(call->piece_bytes) * call->places, part = in_lines(all / PARTS);
    const int64_t buffer = quern_larger(LEAST_BUFFER, quern_smaller(part, MOST_BUFFER));
    return quern_smaller(quern_larger(buffer, (int64_t)call->places * LINE), all);
}

static int64_t returned_bytes(const struct quern_collective_call *call) {
    return in_lines(quern_divide_up(staged_bytes(call), call->places));
}

size_t quern_collective_workspace_bytes(const struct quern_collective_call *call) {
    if (call->member->one_process || call->piece_bytes * call->places <= QUERN_COLLECTIVE_PAYLOAD) return 0;
    return 2 * (size_t)(staged_bytes(call) + returned_bytes(call));
}

/* The elements of each piece that a buffer holds; an input of one piece has fewer bytes than the buffers are made for. */
static int64_t buffer_chunk(const struct quern_collective_call *call) {
    const int64_t pieces = call->form->scatters ? call->places : 1;
    const int64_t part = in_lines(call->piece_bytes * pieces / PARTS), buffer = staged_bytes(call);
    const int64_t used = quern_smaller(buffer, quern_larger(LEAST_BUFFER, part));
    return quern_larger(used / pieces / LINE, 1) * LINE / call->element_bytes;
}

static char *staged_buffer(const rounds_t *x, int place, int64_t round) {
    return x->buffer[place] + round % 2 * staged_bytes(x->call);
}

static char *returned_buffer(const rounds_t *x, int place, int64_t round) {
    return x->buffer[place] + 2 * staged_bytes(x->call) + round % 2 * returned_bytes(x->call);
}

/* ---- the elements of a round ---- */

struct range {
    int64_t first, count;
};

static struct range range_of(const rounds_t *x, int64_t round) {
    const int64_t first = round * x->chunk;
    return (struct range){first, quern_smaller(x->chunk, x->call->count - first)};
}

/* The share of a place in the elements of a round, counted from the first of them: whole lines. */
static struct range share_of(const rounds_t *x, int place, int64_t round) {
    const struct quern_collective_call *call = x->call;
    const int64_t count = range_of(x, round).count, line = LINE / call->element_bytes;
    const int64_t share = quern_divide_up(quern_divide_up(count, call->places), line) * line;
    const int64_t first = quern_smaller(place * share, count);
    return (struct range){first, quern_smaller(share, count - first)};
}

/* Where a rank finds the input of a place in a round; of a reduce-scatter the part for itself. */
static const char *source_of(const rounds_t *x, int place, int64_t round) {
    const struct quern_collective_call *call = x->call;
    const int64_t piece = call->form->scatters ? call->place : 0;
    if (x->stages[place] && place != call->place)
        return staged_buffer(x, place, round) + piece * x->chunk * call->element_bytes;
    return x->input[place] + quern_collective_part(call, call->place) + round * x->chunk * call->element_bytes;
}

/* ---- choosing ---- */

static bool is_here(const struct quern_collective_call *call, int place) {
    return call->member->roster->peer[call->rank_at[place]].is_here;
}

static bool are_here(const struct quern_collective_call *call) {
    for (int place = 0; place < call->places; place++)
        if (!is_here(call, place)) return false;
    return true;
}

static bool is_whole(const struct quern_collective_call *call) {
    return call->form->reduces && !call->form->scatters && call->piece_bytes * call->places <= WHOLE_BYTES;
}

/* The bytes of scratch for each input that is read, in the workspace, which nobody else uses then. */
static int64_t scratch_bytes(const struct quern_collective_call *call) {
    const int64_t room = quern_smaller((int64_t)call->workspace_bytes, MOST_SCRATCH * (int64_t)call->threads);
    return room / quern_larger(call->places - 1, 1) / LINE * LINE;
}

/*
 * Whether members that can read each other do so: what is read at once takes longer to copy twice.  The same on all of them.  More
 * of an all-reduce than the caches hold would come from memory once more than through buffers, which stay there.
 */
static bool is_worth_reading(const struct quern_collective_call *call) {
    if (call->form->reduces && !call->form->scatters && call->piece_bytes > MOST_READ) return false;
    const bool shares = call->form->reduces && !call->form->scatters && !is_whole(call);
    const int64_t read = shares ? call->piece_bytes / call->places : call->piece_bytes;
    return read >= QUERN_LEAST_READ && (!call->form->reduces || (int64_t)call->workspace_bytes / call->places >= QUERN_LEAST_READ);
}

/* Whether others can read this rank's buffers, as far as their ends say. */
static bool lets_read(const struct quern_collective_call *call) {
    return quern_collective_is_readable(call->input, call->input ? call->input_bytes : 0) &&
           quern_collective_is_readable(call->output, call->output_bytes);
}

uint32_t quern_collective_begin(const struct quern_collective_call *call) {
    const bool here = are_here(call);
    const bool reached = here || call->output_state == QUERN_MEMORY_SYMMETRIC;
    const bool stages = call->input && !here && call->input_state != QUERN_MEMORY_SYMMETRIC;
    const bool reads = !here && is_worth_reading(call) && quern_collective_sees(call) && lets_read(call);
    const bool ahead = stages && !(call->form->gathers && reached) && !(reads && call->member->again->all_read);
    if (ahead) {
        rounds_t x = {.call = call, .chunk = buffer_chunk(call), .rounds = 1};
        x.buffer[call->place] = call->workspace;
        x.stages[call->place] = true;
        quern_collective_stage(&x, 0);
    }
    return (stages ? QUERN_COLLECTIVE_STAGES : 0) | (ahead ? QUERN_COLLECTIVE_STAGED_AHEAD : 0) |
           (reads ? QUERN_COLLECTIVE_READS : 0) | (reached ? QUERN_COLLECTIVE_OUTPUT_REACHED : 0) |
           (call->in_place ? QUERN_COLLECTIVE_IN_PLACE : 0);
}

/* Whether a rank works in place where others read its input itself. */
static bool is_exposed(const struct quern_collective_call *call, const struct quern_collective_summary *summary, bool reads) {
    for (int place = 0; place < call->places; place++) {
        const bool stages = summary->traits[place] & QUERN_COLLECTIVE_STAGES && !reads;
        if (summary->traits[place] & QUERN_COLLECTIVE_IN_PLACE && !stages) return true;
    }
    return false;
}

void quern_collective_choose(rounds_t *x, const struct quern_collective_call *call,
                             const struct quern_collective_summary *summary) {
    const struct quern_collective_form *form = call->form;
    const bool all_reduce = form->reduces && !form->scatters, reached = summary->all & QUERN_COLLECTIVE_OUTPUT_REACHED;
    const bool staged = summary->any & QUERN_COLLECTIVE_STAGES;
    const bool reads = summary->all & QUERN_COLLECTIVE_READS;
    const bool whole = is_whole(call) || (reads && call->places == 2);  /* two read as many bytes each way, and meet once more */
    const bool divides = all_reduce && !reached && !(whole && !is_exposed(call, summary, reads));
    *x = (rounds_t){.call = call, .pushes = form->gathers && reached && staged, .spreads = all_reduce && reached,
                    .returns = divides && !reads, .collects = divides && reads};
    x->has_buffers = (staged && !x->pushes && !reads) || x->returns;
    call->member->again->all_read = reads;
    x->chunk = x->has_buffers ? buffer_chunk(call) : call->count;
    x->rounds = quern_divide_up(call->count, x->chunk);
    x->is_streaming = quern_copies_are_large(call->member->device, call->places, call->output_bytes);
    for (int place = 0; place < call->places && x->has_buffers; place++) {
        const uint32_t traits = summary->traits[place];
        x->stages[place] = traits & QUERN_COLLECTIVE_STAGES;
        x->has_late |= x->stages[place] && !(traits & QUERN_COLLECTIVE_STAGED_AHEAD);
    }
    for (int place = 0; place < call->places && reads && !x->pushes; place++) {
        const bool is_source = !form->has_root || place == call->root_place;
        x->is_read[place] = is_source && summary->traits[place] & QUERN_COLLECTIVE_STAGES && !is_here(call, place);
        x->reads += x->is_read[place];
    }
}

/* ---- reaching the members ---- */

static char *find(const rounds_t *x, int place, const struct quern_collective_location *location, int64_t bytes) {
    if (is_here(x->call, place)) return (char *)location->pointer;
    return quern_symmetric_resolve(x->call->member, location->id, location->offset, bytes, x->call->rank_at[place]);
}

static void take_own(rounds_t *x) {
    const struct quern_collective_call *call = x->call;
    x->input[call->place] = call->input;
    x->output[call->place] = call->output;
    x->buffer[call->place] = call->workspace;
}

int quern_collective_reach(rounds_t *x, int place, const struct quern_collective_places *places) {
    const struct quern_collective_call *call = x->call;
    if (place == call->place) return take_own(x), -1;
    const bool is_source = !call->form->has_root || place == call->root_place, writes = x->pushes || x->spreads;
    const int64_t input_bytes = quern_collective_part(call, call->places - 1) + call->piece_bytes;
    if (x->is_read[place]) x->input[place] = places->input.pointer;
    if (x->collects) x->output[place] = (char *)(uintptr_t)places->output.pointer;
    const struct {
        bool needed;
        const struct quern_collective_location *location;
        int64_t bytes;
        void *to;
    } buffers[] = {{is_source && !x->pushes && !x->stages[place] && !x->is_read[place],
                    &places->input, input_bytes, &x->input[place]},
                   {writes, &places->output, call->output_bytes, &x->output[place]},
                   {x->stages[place] || x->returns, &places->workspace, (int64_t)call->workspace_bytes, &x->buffer[place]}};
    for (int i = 0; i < 3; i++) {
        if (!buffers[i].needed) continue;
        char *found = find(x, place, buffers[i].location, buffers[i].bytes);
        if (!found) return i;
        *(char **)buffers[i].to = found;
    }
    return -1;
}

/* ---- work ---- */

static void copy(const rounds_t *x, const struct quern_copy_list *list, bool streaming) {
    quern_copies_run(x->call->member->device, x->call->move->kernel->cpu.ragged_all_to_all, list, streaming);
}

static void add(struct quern_copy_list *list, char *to, const char *from, int64_t bytes) {
    if (bytes > 0 && to != from) quern_copies_add(list, to, from, bytes);
}

/* The part that others read: not this rank's own piece or share. */
void quern_collective_stage(const rounds_t *x, int64_t round) {
    const struct quern_collective_call *call = x->call;
    struct quern_copy copies[QUERN_RANK_LIMIT + 1];
    struct quern_copy_list list = {.copies = copies};
    if (!x->stages[call->place] || round >= x->rounds) return;
    const struct range range = range_of(x, round);
    const int64_t size = call->element_bytes;
    const char *from = call->input + range.first * size;
    char *to = staged_buffer(x, call->place, round);
    if (call->form->scatters) {
        for (int place = 0; place < call->places; place++)
            if (place != call->place)
                add(&list, to + place * x->chunk * size, from + quern_collective_part(call, place), range.count * size);
    } else if (call->form->reduces && !is_whole(call)) {
        const struct range own = share_of(x, call->place, round);
        const int64_t end = own.first + own.count;
        add(&list, to, from, own.first * size);
        add(&list, to + end * size, from + end * size, (range.count - end) * size);
    } else {
        add(&list, to, from, range.count * size);
    }
    copy(x, &list, false);
}

static struct quern_read read_of(const rounds_t *x, int place, char *to, const char *from, int64_t bytes) {
    return (struct quern_read){.rank = x->call->rank_at[place], .to = to, .from = (uintptr_t)from, .bytes = bytes};
}

/* Reads what other processes have of some elements; inputs[]: where those of each place are now. */
static quern_status read_inputs(const rounds_t *x, struct range range, const char **inputs) {
    const struct quern_collective_call *call = x->call;
    struct quern_read reads[QUERN_RANK_LIMIT];
    int count = 0;
    for (int place = 0; place < call->places; place++) {
        if (!x->is_read[place]) continue;
        char *scratch = (char *)call->workspace + count * scratch_bytes(call);
        reads[count++] = read_of(x, place, scratch, inputs[place], range.count * call->element_bytes);
        inputs[place] = scratch;
    }
    return quern_collective_read(call, reads, count);
}

/* Combines elements of a round, counted from its first, into outputs that begin at the first of them. */
static quern_status combine_some(const rounds_t *x, int64_t round, struct range range, char *const *outputs, int count,
                                 bool streaming) {
    const struct quern_collective_call *call = x->call;
    const char *inputs[QUERN_RANK_LIMIT];
    for (int place = 0; place < call->places; place++)
        inputs[place] = source_of(x, place, round) + range.first * call->element_bytes;
    const struct quern_collective_combination pieces = {.inputs = inputs, .outputs = outputs, .input_count = call->places,
                                                        .output_count = count, .is_max = call->combination == QUERN_COMBINE_MAX,
                                                        .streaming = streaming};
    const quern_status status = x->reads ? read_inputs(x, range, inputs) : QUERN_OK;
    if (status == QUERN_OK) quern_collective_combine(call, &pieces, range.count);
    return status;
}

/* The same, as many at once as there is scratch for.  The outputs move on. */
static quern_status combine(const rounds_t *x, int64_t round, struct range range, char **outputs, int count, bool streaming) {
    const struct quern_collective_call *call = x->call;
    const int64_t most = x->reads ? scratch_bytes(call) / call->element_bytes : range.count, end = range.first + range.count;
    quern_status status = QUERN_OK;
    while (range.first < end && status == QUERN_OK) {
        range.count = quern_smaller(most, end - range.first);
        status = combine_some(x, round, range, outputs, count, streaming);
        for (int output = 0; output < count; output++) outputs[output] += range.count * call->element_bytes;
        range.first += range.count;
    }
    return status;
}

static quern_status reduce(const rounds_t *x, int64_t round) {
    const struct quern_collective_call *call = x->call;
    const struct range range = range_of(x, round), share = share_of(x, call->place, round);
    char *outputs[QUERN_RANK_LIMIT];
    if (x->spreads) {
        for (int step = 0; step < call->places; step++)
            outputs[step] = x->output[(call->place + step) % call->places] + (range.first + share.first) * call->element_bytes;
        return combine(x, round, share, outputs, call->places, x->is_streaming);
    }
    if (x->returns) {
        outputs[0] = returned_buffer(x, call->place, round);
        return combine(x, round, share, outputs, 1, false);
    }
    const struct range part = x->collects ? share : (struct range){0, range.count};
    outputs[0] = call->output + (range.first + part.first) * call->element_bytes;
    return combine(x, round, part, outputs, 1, x->is_streaming);
}

/* The other ranks' shares of the result, out of their outputs. */
static quern_status collect(const rounds_t *x) {
    const struct quern_collective_call *call = x->call;
    struct quern_copy copies[QUERN_RANK_LIMIT];
    struct quern_copy_list list = {.copies = copies};
    struct quern_read reads[QUERN_RANK_LIMIT];
    int count = 0;
    for (int step = 1; step < call->places; step++) {
        const int place = (call->place + step) % call->places;
        const struct range share = share_of(x, place, 0);
        const int64_t at = share.first * call->element_bytes, bytes = share.count * call->element_bytes;
        if (is_here(call, place)) add(&list, call->output + at, x->output[place] + at, bytes);
        else if (bytes) reads[count++] = read_of(x, place, call->output + at, x->output[place] + at, bytes);
    }
    copy(x, &list, x->is_streaming);
    return quern_collective_read(call, reads, count);
}

/* The results of a round that all ranks have left. */
static void fetch(const rounds_t *x, int64_t round) {
    const struct quern_collective_call *call = x->call;
    struct quern_copy copies[QUERN_RANK_LIMIT];
    struct quern_copy_list list = {.copies = copies};
    const int64_t first = range_of(x, round).first;
    for (int step = 0; step < call->places; step++) {
        const int place = (call->place + step) % call->places;
        const struct range share = share_of(x, place, round);
        add(&list, call->output + (first + share.first) * call->element_bytes, returned_buffer(x, place, round),
            share.count * call->element_bytes);
    }
    copy(x, &list, x->is_streaming);
}

static void push(const rounds_t *x) {
    const struct quern_collective_call *call = x->call;
    struct quern_copy copies[QUERN_RANK_LIMIT];
    struct quern_copy_list list = {.copies = copies};
    for (int step = 1; step <= call->places; step++) {
        char *output = x->output[(call->place + step) % call->places];
        add(&list, output + call->place * call->piece_bytes, call->input, call->piece_bytes);
    }
    copy(x, &list, x->is_streaming);
}

static quern_status pull(const rounds_t *x, int64_t round) {
    const struct quern_collective_call *call = x->call;
    const struct range range = range_of(x, round);
    struct quern_copy copies[QUERN_RANK_LIMIT];
    struct quern_copy_list list = {.copies = copies};
    struct quern_read reads[QUERN_RANK_LIMIT];
    int count = 0;
    for (int step = 1; step <= call->places; step++) {
        const int place = (call->place + step) % call->places;
        const int64_t piece = call->form->gathers ? place : 0;
        if (call->form->has_root && place != call->root_place) continue;
        char *to = call->output + (piece * call->count + range.first) * call->element_bytes;
        const char *from = source_of(x, place, round);
        const int64_t bytes = range.count * call->element_bytes;
        if (x->is_read[place]) reads[count++] = read_of(x, place, to, from, bytes);
        else add(&list, to, from, bytes);
    }
    copy(x, &list, x->is_streaming);
    return quern_collective_read(call, reads, count);
}

quern_status quern_collective_work(const rounds_t *x, int64_t round) {
    if (x->collects && round) return collect(x);
    if (x->returns && round) fetch(x, round - 1);
    quern_collective_stage(x, round + 1);
    if (round >= x->rounds) return QUERN_OK;
    if (x->call->form->reduces) return reduce(x, round);
    if (!x->pushes) return pull(x, round);
    push(x);
    return QUERN_OK;
}
