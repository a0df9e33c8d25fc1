/* Random lists of transfers: made, run and compared.  transfer_case.h documents the functions. */
#include "harness/transfer_case.h"

#include "harness/nccl_side.h"
#include "harness/random.h"

enum { MOST_LISTS = 4, GUARD = 16 };

quern_transfer_item transfer_item(int receive, int peer, uint64_t tag, void *memory, int64_t bytes) {
    return (quern_transfer_item){.receive = receive, .peer = peer, .tag = tag, .memory = memory, .bytes = bytes};
}

quern_transfer *transfer_prepare(struct rank *rank, quern_group *group, uint64_t key, const quern_transfer_item *items,
                                 int64_t count) {
    quern_transfer *transfer = NULL;
    quern_transfer_args args = TRANSFER_ARGS(.items = items, .item_count = count, .key = key);
    rank_ok(rank, quern_transfer_prepare(group, &args, &transfer));
    return transfer;
}

quern_transfer *transfer_prepare_one(struct rank *rank, quern_group *group, uint64_t key, uint64_t tag, void *memory,
                                     int64_t bytes) {
    const quern_transfer_item item = transfer_item(rank->rank, !rank->rank, tag, memory, bytes);
    return transfer_prepare(rank, group, key, &item, 1);
}

/* ---- the host's memory ---- */

static void *take_memory(void *user, int64_t bytes) { return (void)user, malloc((size_t)bytes); }
static void give_back(void *user, void *memory) { (void)user, free(memory); }
static void copy(void *user, void *to, const void *from, int64_t bytes) { (void)user, memcpy(to, from, (size_t)bytes); }

const struct transfer_place transfer_place_of_host = {NULL, NULL, take_memory, give_back, copy, copy, NULL};

/* ---- a case ---- */

/* What goes from one rank to another. */
struct cargo {
    int from, to;
    uint64_t tag;
    int64_t bytes;
};

struct list {
    quern_transfer *transfer;
    quern_transfer_item *items;
    struct cargo *cargo;      /* [count]: of each item */
    unsigned char **shadow;   /* [count]: what it has to have, or has, with what is beside it */
    int64_t count;
};

struct bench {
    struct rank *rank;
    const struct transfer_place *place;
    uint64_t seed;
    struct list list[MOST_LISTS];
};

static int64_t size_of(uint64_t seed, uint64_t index, int64_t largest) {
    const int64_t kinds[] = {1, 100, 5000, largest + 1, largest + 1};
    const int64_t most = kinds[random_below(seed, index * 8, 5)];
    return random_below(seed, index * 8 + 1, most <= largest ? most : largest + 1);
}

/* Tags are spread over all 64 bits, and each pair has several of one number in both directions. */
static struct cargo cargo_of(uint64_t seed, int index, int ranks, int64_t largest) {
    const uint64_t i = (uint64_t)index;
    struct cargo cargo = {.from = (int)random_below(seed, i * 8 + 2, ranks), .to = (int)random_below(seed, i * 8 + 3, ranks)};
    cargo.tag = random_bits(seed, i / 2 * 8 + 4) << 20 | i / 2;
    if (index % 2) {  /* back, with the same tag */
        const struct cargo before = cargo_of(seed, index - 1, ranks, largest);
        cargo.from = before.to, cargo.to = before.from;
        if (cargo.from == cargo.to) cargo.tag ^= (uint64_t)1 << 19;
    }
    cargo.bytes = size_of(seed, i, largest);
    return cargo;
}

static unsigned char byte_of(const struct cargo *cargo, uint64_t round, int64_t at) {
    return (unsigned char)(cargo->tag * 31 + (uint64_t)cargo->from * 7 + round * 113 + (uint64_t)at * 5 + (uint64_t)at / 253);
}

static unsigned char guard_of(int64_t at) { return (unsigned char)(0xa0 + at % 16); }

static unsigned char *make_shadow(int64_t bytes) {
    unsigned char *memory = zeroed((size_t)bytes + 2 * GUARD);
    for (int64_t i = 0; i < GUARD; i++) memory[i] = memory[GUARD + bytes + i] = guard_of(i);
    return memory;
}

static void add(struct bench *bench, struct list *list, const struct cargo *cargo, bool receive) {
    const struct transfer_place *place = bench->place;
    unsigned char *shadow = make_shadow(cargo->bytes);
    unsigned char *memory = place->make(place->user, cargo->bytes + 2 * GUARD);
    rank_check(bench->rank, memory, "no memory");
    list->shadow[list->count] = shadow;
    list->cargo[list->count] = *cargo;
    list->items[list->count++] = transfer_item(receive, receive ? cargo->from : cargo->to, cargo->tag, memory + GUARD,
                                               cargo->bytes);
}

static void shuffle(struct list *list, uint64_t seed) {
    for (int64_t i = list->count - 1; i > 0; i--) {
        const int64_t other = random_below(seed, (uint64_t)i, i + 1);
        const quern_transfer_item item = list->items[i];
        const struct cargo cargo = list->cargo[i];
        unsigned char *shadow = list->shadow[i];
        list->items[i] = list->items[other], list->cargo[i] = list->cargo[other], list->shadow[i] = list->shadow[other];
        list->items[other] = item, list->cargo[other] = cargo, list->shadow[other] = shadow;
    }
}

static void make_list(struct bench *bench, quern_group *group, int number, const struct transfer_choice *choice) {
    struct list *list = &bench->list[number];
    struct rank *rank = bench->rank;
    const uint64_t seed = bench->seed * 16 + (uint64_t)number;
    list->items = zeroed((2 * (size_t)choice->items + 1) * sizeof *list->items);
    list->cargo = zeroed((2 * (size_t)choice->items + 1) * sizeof *list->cargo);
    list->shadow = zeroed((2 * (size_t)choice->items + 1) * sizeof *list->shadow);
    for (int i = 0; i < choice->items; i++) {
        const struct cargo cargo = cargo_of(seed, i, rank->ranks, choice->largest);
        if (cargo.from == rank->rank) add(bench, list, &cargo, false);
        if (cargo.to == rank->rank) add(bench, list, &cargo, true);
    }
    shuffle(list, seed * 64 + (uint64_t)rank->rank);
    list->transfer = transfer_prepare(rank, group, seed, list->items, list->count);
}

static void fill(const struct bench *bench, struct list *list, uint64_t round) {
    const struct transfer_place *place = bench->place;
    for (int64_t i = 0; i < list->count; i++) {
        const quern_transfer_item *item = &list->items[i];
        for (int64_t at = 0; at < item->bytes; at++)
            list->shadow[i][GUARD + at] = item->receive ? 0xee : byte_of(&list->cargo[i], round, at);
        place->put(place->user, (char *)item->memory - GUARD, list->shadow[i], item->bytes + 2 * GUARD);
    }
}

static void compare(struct bench *bench, const struct list *list, uint64_t round) {
    for (int64_t i = 0; i < list->count; i++) {
        const struct cargo *cargo = &list->cargo[i];
        const unsigned char *memory = list->shadow[i] + GUARD;
        bench->place->get(bench->place->user, list->shadow[i], (char *)list->items[i].memory - GUARD, cargo->bytes + 2 * GUARD);
        for (int64_t at = 0; at < cargo->bytes; at++)
            rank_check(bench->rank, memory[at] == byte_of(cargo, round, at), "seed %llu, round %llu: byte %lld of %lld of the %s "
                       "from rank %d to rank %d with tag %llu is %d instead of %d", (unsigned long long)bench->seed,
                       (unsigned long long)round, (long long)at, (long long)cargo->bytes,
                       list->items[i].receive ? "receive" : "send", cargo->from, cargo->to, (unsigned long long)cargo->tag,
                       memory[at], byte_of(cargo, round, at));
        for (int64_t at = 0; at < GUARD; at++)
            rank_check(bench->rank, memory[at - GUARD] == guard_of(at) && memory[cargo->bytes + at] == guard_of(at),
                       "seed %llu: the memory beside item %lld was written", (unsigned long long)bench->seed, (long long)i);
    }
}

/* A list in this rank's order of the round. */
static struct list *nth(struct bench *bench, const struct transfer_choice *choice, uint64_t round, int place) {
    const int64_t first = random_below(bench->seed, 900 + round * 64 + (uint64_t)bench->rank->rank, choice->lists);
    return &bench->list[(first + place) % choice->lists];
}

/* The place of a rank over NCCL is its side. */
static void start(struct bench *bench, const struct transfer_choice *choice, quern_transfer *transfer) {
    const struct nccl_side *side = bench->place->user;
    if (choice->captures) nccl_begin_capture(side);
    rank_ok(bench->rank, quern_transfer_start(transfer, bench->place->stream));
    if (!choice->captures) return;
    void *graph = nccl_take_graph(side);
    nccl_launch_graph(side, graph);
    nccl_end_graph(side, graph);
    cuda_ok(side, stream_synchronize(side->stream));
}

static void run_round(struct bench *bench, quern_group *group, const struct transfer_choice *choice, uint64_t round) {
    struct rank *rank = bench->rank;
    void *stream = bench->place->stream;
    for (int i = 0; i < choice->lists; i++) fill(bench, &bench->list[i], round);
    if (choice->batch) rank_ok(rank, quern_transfer_begin(group));
    for (int i = 0; i < choice->lists; i++) start(bench, choice, nth(bench, choice, round, i)->transfer);
    if (choice->batch) rank_ok(rank, quern_transfer_end(group));
    if (choice->busy && random_below(bench->seed, 500 + round * 64 + (uint64_t)rank->rank, 2)) rank_sleep(1e-3);
    if (choice->busy) rank_ok(rank, quern_barrier(group, NULL, stream));
    for (int i = choice->lists - 1; i >= 0; i--) {
        struct list *list = nth(bench, choice, round, i);
        int32_t done = 0;
        if ((round + (uint64_t)i) % 3 == 0)
            while (!done) rank_ok(rank, quern_transfer_test(list->transfer, &done));
        rank_ok(rank, quern_transfer_wait(list->transfer, 0));
        compare(bench, list, round);
    }
}

void transfer_run_case(struct rank *rank, quern_group *group, uint64_t seed, const struct transfer_choice *choice) {
    SCOPED struct bench *bench = zeroed(sizeof *bench);
    bench->rank = rank, bench->seed = seed, bench->place = choice->place ? choice->place : &transfer_place_of_host;
    for (int i = 0; i < choice->lists; i++) make_list(bench, group, i, choice);
    for (int round = 1; round <= choice->rounds; round++) run_round(bench, group, choice, (uint64_t)round);
    for (int i = 0; i < choice->lists; i++) {
        struct list *list = &bench->list[i];
        rank_ok(rank, quern_transfer_destroy(list->transfer));
        for (int64_t item = 0; item < list->count; item++) {
            bench->place->free(bench->place->user, (char *)list->items[item].memory - GUARD);
            free(list->shadow[item]);
        }
        free(list->shadow);
        free(list->items);
        free(list->cargo);
    }
}

/* ---- several cases ---- */

void transfer_run_choices(struct rank *rank, quern_group *group, int cases, const struct transfer_place *place) {
    static const struct transfer_choice choices[] = {
        {.lists = 1, .items = 12, .largest = 3000, .rounds = 3},
        {.lists = 3, .items = 20, .largest = 200000, .rounds = 3, .batch = true},
        {.lists = 4, .items = 9, .largest = 70000, .rounds = 4, .busy = true},
    };
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        struct transfer_choice choice = choices[i];
        choice.place = place;
        for (int number = 0; number < cases; number++) {
            if (place && place->between) place->between(place->user);
            transfer_run_case(rank, group, 100 * i + (uint64_t)number, &choice);
            if (place && place->between) place->between(place->user);
        }
    }
}

quern_status transfer_run_lists(struct rank *rank) {
    quern_group *group = rank_group(rank, RANK_LIMIT);
    transfer_run_choices(rank, group, *(const int *)rank->user, NULL);
    return quern_group_destroy(group);
}

quern_status transfer_run_one(struct rank *rank) {
    quern_group *group = rank_group(rank, RANK_LIMIT);
    transfer_run_case(rank, group, 900, rank->user);
    return quern_group_destroy(group);
}
