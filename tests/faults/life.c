/* The steps of a rank with a group, and its buffers.  life.h documents the functions. */
#include "faults/life.h"

enum { HUGE_PAGE = 2 << 20, GUARD = 256, LOOKED = 4096, MORE_BYTES = 4096 };
enum { CHUNK_ROWS = 4, CHUNK_COLUMNS = 100, CHUNKS_OF_RANK = 2, CHUNK_VALUE = 5, CHUNK_ELEMENTS = CHUNK_ROWS * CHUNK_COLUMNS,
       CHUNK_WORDS_AT = LIFE_RANKS * CHUNK_ELEMENTS, CHUNK_BYTES = CHUNK_WORDS_AT + 4 * LIFE_RANKS * CHUNKS_OF_RANK };

static const unsigned char FENCE = 0xf5, SCRIBBLE = 0xdd;

/* ---- the steps ---- */

static quern_status create(struct life *life) {
    quern_group_args args = rank_group_args(life->rank, life->timeout);
    return quern_group_create(&args, 1, &life->group);
}

static quern_status meet(struct life *life) { return quern_barrier(life->group, NULL, NULL); }

static quern_status meet_some(struct life *life) {
    const int last = life->rank->ranks - 1;
    quern_barrier_args args = BARRIER_ARGS(.members = (int[]){0, last}, .member_count = 2);
    return life->rank->rank == 0 || life->rank->rank == last ? quern_barrier(life->group, &args, NULL) : QUERN_OK;
}

/* Into one part, in which all ranks but the middle one have other numbers unless the course keeps them. */
static quern_status split(struct life *life) {
    return quern_group_split(&life->group, 1, (int[]){0}, (int[]){life->course->keeps_order ? 0 : -life->rank->rank}, &life->part);
}

static quern_status meet_part(struct life *life) { return quern_barrier(life->part, NULL, NULL); }

static quern_status allocate_more(struct life *life) {
    return quern_symmetric_alloc(&life->group, 1, (size_t[]){MORE_BYTES}, (void **)&life->memory);
}

/* Writes to the next rank, if it is of the same host. */
static quern_status use(struct life *life) {
    const struct rank *rank = life->rank;
    const int next = (rank->rank + 1) % rank->ranks;
    void *peer;
    if (rank->hosts && rank_host(rank, next) != rank_host(rank, rank->rank)) return QUERN_OK;
    const quern_status status = quern_symmetric_peer(life->group, life->memory, next, &peer);
    if (status == QUERN_OK) memset(peer, rank->rank, MORE_BYTES);
    return status;
}

/* Of the first slice of every rank, or of all its slices. */
static quern_collective_args collective_args(const struct life *life, bool gathers) {
    quern_collective_args args = QUERN_COLLECTIVE_ARGS_INIT;
    args.dtype = QUERN_F32, args.combination = QUERN_COMBINE_MAX;
    args.count = (int64_t)(LIFE_ROWS * life->course->row_bytes / sizeof(float)) * (gathers ? 1 : life->rank->ranks);
    args.input = life->input, args.output = life->output;
    return args;
}

static quern_status allocate(struct life *life) {
    const quern_collective_args largest = collective_args(life, false);
    size_t more = 0;
    quern_status status = quern_ragged_all_to_all_workspace(life->group, &life->exchange.args, &life->workspace_bytes);
    if (status == QUERN_OK) status = quern_collective_workspace(life->group, &largest, &more);
    if (status != QUERN_OK) return status;
    if (more > life->workspace_bytes) life->workspace_bytes = more;
    if (CHUNK_BYTES > life->workspace_bytes) life->workspace_bytes = CHUNK_BYTES;
    return quern_symmetric_alloc(&life->group, 1, &life->workspace_bytes, (void **)&life->workspace);
}

static quern_status exchange(struct life *life) {
    return quern_ragged_all_to_all(life->group, &life->exchange.args, life->workspace, life->workspace_bytes, NULL);
}

static quern_status create_plan(struct life *life) {
    return quern_ragged_plan_create(&life->group, 1, &life->exchange.args, (void *const *)&life->workspace, &life->workspace_bytes,
                                    &life->plan);
}

static quern_status run_plan(struct life *life) { return quern_ragged_plan_run(life->plan, NULL); }

static quern_status gather_with(struct life *life, const quern_collective_args *args) {
    return quern_all_gather(life->group, args, life->workspace, life->workspace_bytes, NULL);
}

/* The first call in which processes find out whether they can read each other. */
static quern_status look(struct life *life) {
    quern_collective_args args = collective_args(life, true);
    SCOPED float *memory = calloc(LOOKED * (size_t)(1 + life->rank->ranks), sizeof *memory);
    rank_check(life->rank, memory, "no memory to look at");
    args.count = LOOKED, args.input = memory, args.output = memory + LOOKED;
    return gather_with(life, &args);
}

static quern_status gather(struct life *life) {
    const quern_collective_args args = collective_args(life, true);
    return gather_with(life, &args);
}

static quern_status reduce(struct life *life) {
    const quern_collective_args args = collective_args(life, false);
    return quern_all_reduce(life->group, &args, life->workspace, life->workspace_bytes, NULL);
}

static quern_status free_memory(struct life *life) {
    quern_status status = quern_ragged_plan_destroy(life->plan);
    life->plan = NULL;
    if (status == QUERN_OK) status = quern_symmetric_free(life->group, life->workspace, NULL);
    return status == QUERN_OK && life->memory ? quern_symmetric_free(life->group, life->memory, NULL) : status;
}

static quern_status destroy(struct life *life) {
    rank_ok(life->rank, quern_ragged_plan_destroy(life->plan));
    rank_ok(life->rank, quern_group_destroy(life->part));
    rank_ok(life->rank, quern_group_destroy(life->group));
    return QUERN_OK;
}

/* ---- chunks, in the symmetric memory that the other steps have as workspace ---- */

static uint32_t *words_of(const struct life *life) { return (uint32_t *)(void *)(life->workspace + CHUNK_WORDS_AT); }

/* Rank r has the inputs 2^r, of which the largest is 2^8 in the output: powers of two have the bits of their exponent and 7. */
static unsigned char code_of(const struct life *life, int place) {
    return (unsigned char)((8 - (life->rank->ranks - 1) + place + 7) << 3);
}

/* A chunk whose word says so is complete.  After a failure that the call has noticed all others say that they will not come. */
static void check_chunks(const struct life *life, quern_status status) {
    for (int word = 0; word < life->rank->ranks * CHUNKS_OF_RANK; word++) {
        const uint32_t has = __atomic_load_n(&words_of(life)[word], __ATOMIC_ACQUIRE);
        const char *chunk = life->workspace + word * (CHUNK_ELEMENTS / CHUNKS_OF_RANK);
        for (int i = 0; i < CHUNK_ELEMENTS / CHUNKS_OF_RANK && has == CHUNK_VALUE; i++)
            rank_check(life->rank, (unsigned char)chunk[i] == code_of(life, word / CHUNKS_OF_RANK), "byte %d of chunk %d is %02X",
                       i, word, (unsigned char)chunk[i]);
        rank_check(life->rank, has == CHUNK_VALUE || (status != QUERN_OK && has == ~(uint32_t)CHUNK_VALUE),
                   "word %d is %u after %s", word, has, quern_status_string(status));
    }
}

static quern_status send_chunks(struct life *life) {
    float input[CHUNK_ELEMENTS], amax;
    quern_quantize_chunks_args args = QUERN_QUANTIZE_CHUNKS_ARGS_INIT;
    for (int i = 0; i < CHUNK_ELEMENTS; i++) input[i] = (float)(1 << life->rank->rank);
    for (int i = 0; i < CHUNK_BYTES; i++)
        rank_check(life->rank, !life->workspace[i], "byte %d was written before this rank has entered the call", i);
    args.input_dtype = QUERN_F32, args.output_dtype = QUERN_E4M3, args.power_of_two = 1;
    args.input = input, args.output = life->workspace, args.ready = words_of(life), args.ready_value = CHUNK_VALUE;
    args.rows = CHUNK_ROWS, args.columns = CHUNK_COLUMNS, args.chunk_rows = CHUNK_ROWS / CHUNKS_OF_RANK, args.amax = &amax;
    const quern_status status = quern_quantize_chunks(life->group, &args, NULL, 0, NULL);
    if (status == QUERN_OK || __atomic_load_n(words_of(life), __ATOMIC_ACQUIRE)) check_chunks(life, status);
    return status;
}

const struct life_step life_steps[STEPS] = {
    [CREATE] = {"create", create},
    [BARRIER] = {"barrier", meet},
    [SOME_BARRIER] = {"barrier of two", meet_some},
    [SPLIT] = {"split", split},
    [PART_BARRIER] = {"barrier of the part", meet_part},
    [ALLOCATE_MORE] = {"allocation of memory", allocate_more},
    [USE] = {"use of memory", use},
    [USED_BARRIER] = {"barrier after use", meet},
    [ALLOCATE] = {"allocation", allocate},
    [EXCHANGE] = {"all-to-all", exchange},
    [CREATE_PLAN] = {"creation of a plan", create_plan},
    [RUN_PLAN] = {"run of a plan", run_plan},
    [LOOK] = {"first look", look},
    [GATHER] = {"all-gather", gather},
    [REDUCE] = {"all-reduce", reduce},
    [CHUNKS] = {"chunks", send_chunks},
    [FREE] = {"free", free_memory},
    [LAST_BARRIER] = {"last barrier", meet},
    [DESTROY] = {"destroy", destroy},
};

quern_group *life_check_poison(struct life *life, enum step step, quern_status status) {
    quern_group *group = step == PART_BARRIER ? life->part : life->group;
    if (!group) return NULL;
    rank_status(life->rank, quern_group_status(group), status);
    rank_status(life->rank, quern_barrier(group, NULL, NULL), status);
    return group;
}

/* ---- the buffers ---- */

size_t life_bytes(const struct life *life) { return (size_t)life->rank->ranks * LIFE_ROWS * life->course->row_bytes; }

static unsigned char value_of(int sender, int receiver, int row) { return (unsigned char)(1 + sender * 64 + receiver * 16 + row); }

static unsigned char input_value(const struct life *life, int row) {
    return value_of(life->rank->rank, row / LIFE_ROWS, row % LIFE_ROWS);
}

/*
 * A row of the output.  Bytes of rank 1 are the largest float: those of rank 0 begin with a lower one, and those of rank 2 with a
 * sign.
 */
static unsigned char output_value(const struct life *life, int row) {
    const unsigned steps = life->course->steps;
    if (steps & BIT(REDUCE)) return value_of(1, row / LIFE_ROWS, row % LIFE_ROWS);
    return value_of(row / LIFE_ROWS, steps & BIT(GATHER) ? 0 : life->rank->rank, row % LIFE_ROWS);
}

bool life_is_filled(const unsigned char *bytes, size_t count, unsigned char value) {
    return bytes[0] == value && memcmp(bytes, bytes + 1, count - 1) == 0;
}

static unsigned char *make_buffer(struct life *life) {
    const size_t bytes = life_bytes(life) + 2 * GUARD;
    unsigned char *buffer = NULL;
    const bool is_large = bytes >= HUGE_PAGE / 2;
    const int error = posix_memalign((void **)&buffer, is_large ? HUGE_PAGE : GUARD, bytes);
    rank_check(life->rank, !error, "no memory for a buffer");
    if (is_large) madvise(buffer, HUGE_PAGE, MADV_HUGEPAGE);  /* each run has new ones: fewer faults */
    memset(buffer, FENCE, bytes);
    return memset(buffer + GUARD, LIFE_UNTOUCHED, life_bytes(life));
}

void life_open(struct life *life, struct rank *rank, const struct course *course, double timeout) {
    *life = (struct life){.rank = rank, .course = course, .timeout = timeout};
    rank_ok(rank, quern_prepare(rank->device, QUERN_RAGGED_ALL_TO_ALL | QUERN_COLLECTIVE | QUERN_QUANTIZE));
    if (!(course->steps & BIT(ALLOCATE))) return;
    life->input = make_buffer(life), life->output = make_buffer(life);
    for (int row = 0; row < rank->ranks * LIFE_ROWS; row++)
        memset(life->input + (size_t)row * course->row_bytes, input_value(life, row), course->row_bytes);
    rank_exchange_args(rank, &life->exchange, life->input, life->output, LIFE_ROWS, (int64_t)course->row_bytes);
}

void life_close(struct life *life) {
    if (life->input) free(life->input - GUARD), free(life->output - GUARD);
}

void life_check_untouched(const struct life *life) {
    rank_check(life->rank, life_is_filled(life->output, life_bytes(life), LIFE_UNTOUCHED),
               "the output was written before this rank has entered the exchange");
}

/* Windows and shares of a collective end inside of rows. */
static bool is_partly_filled(const unsigned char *bytes, size_t count, unsigned char value) {
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != value && bytes[i] != LIFE_UNTOUCHED) return false;
    return true;
}

/* Every row of the output is what was sent or, if the exchange was not completed, as it was. */
static void check_output(const struct life *life, bool is_complete) {
    const size_t bytes = life->course->row_bytes;
    for (int row = 0; row < life->rank->ranks * LIFE_ROWS; row++) {
        const unsigned char *at = life->output + (size_t)row * bytes, value = output_value(life, row);
        rank_check(life->rank, life_is_filled(at, bytes, value) || (!is_complete && is_partly_filled(at, bytes, value)),
                   "output row %d is %s", row, is_complete ? "not what was sent" : "neither as it was nor what was sent");
    }
}

void life_use_buffers(struct life *life) {
    check_output(life, true);
    memset(life->input, SCRIBBLE, life_bytes(life));
}

void life_check_buffers(const struct life *life, bool is_complete, bool is_used) {
    const unsigned char *buffers[] = {life->input, life->output};
    const size_t bytes = life->course->row_bytes;
    if (!life->input) return;
    for (int i = 0; i < 2; i++)
        rank_check(life->rank, life_is_filled(buffers[i] - GUARD, GUARD, FENCE) &&
                   life_is_filled(buffers[i] + life_bytes(life), GUARD, FENCE),
                   "something was written beside the %s", i ? "output" : "input");
    check_output(life, is_complete);
    for (int row = 0; row < life->rank->ranks * LIFE_ROWS; row++)
        rank_check(life->rank, life_is_filled(life->input + (size_t)row * bytes, bytes,
                                              is_used ? SCRIBBLE : input_value(life, row)), "input row %d has changed", row);
}
