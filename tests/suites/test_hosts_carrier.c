/*
 * Data between hosts by a carrier of the engine: which way is chosen and why, what a carrier with faults does to calls, and who has
 * the memory afterwards.  The other suites of hosts run over carriers too: the configurations of tests/runner/devices.py.
 *
 * Runs on: ranks.
 */
#include "harness/device.h"
#include "harness/hosts_case.h"
#include "harness/ragged_case.h"
#include "ranks/handles.h"
#include "ranks/hosts/hosts.h"

static const struct carrier_choice borrows = {.borrows = true}, copies = {.longest = 9000};
static const struct carrier_choice *const kinds[] = {&borrows, &copies};

/* ---- the way that is chosen ---- */

struct wish {
    const char *transports[3];      /* of each rank */
    unsigned without;         /* bits: ranks without a carrier */
    uint64_t other_tags;      /* of rank 2 */
    quern_status status;
    const char *text;         /* in the report, or in the detail */
};

static quern_status choose(struct rank *rank) {
    const struct wish *wish = rank->user;
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    quern_hosts_args *hosts = rank_hosts_args(&args);
    quern_carrier carrier = *hosts->carrier;
    quern_group *group;
    hosts->transports = wish->transports[rank->rank];
    if (wish->other_tags && rank->rank == 2) carrier.tags = wish->other_tags;
    hosts->carrier = wish->without >> rank->rank & 1 ? NULL : &carrier;
    rank_status(rank, quern_group_create(&args, 1, &group), wish->status);
    if (wish->status != QUERN_OK) {
        rank_check_detail(rank, wish->text);
        return QUERN_OK;
    }
    memset(&carrier, 0, sizeof carrier);  /* the group has a copy */
    rank_check_report(rank, group, wish->text);
    for (int i = 0; i < 10; i++) rank_ok(rank, quern_barrier(group, NULL, NULL));
    return quern_group_destroy(group);
}

Test(hosts_carrier, the_walk_gives_reasons) {
    static const struct wish wishes[] = {
        {{NULL}, 0, 0, QUERN_OK, "hosts 0 and 1: stand-in, since host memory does not reach from one host to another\n"},
        {{NULL}, 0, 0, QUERN_OK, "transfers of hosts 0 and 1: stand-in, and sockets for up to 4096 bytes from one rank to another"},
        {{NULL}, 7, 0, QUERN_OK, "hosts 0 and 1: sockets, since host memory does not reach from one host to another\n"},
        {{"sockets", "sockets", "sockets"}, 0, 0, QUERN_OK, "hosts 0 and 1: sockets, since"},
        {{"sockets,stand-in", NULL, "stand-in,sockets"}, 0, 0, QUERN_OK, "hosts 0 and 1: stand-in, since"},
        {{NULL}, 2, 0, QUERN_OK, ": rank 1: its transports do not name it\n"},
        {{NULL, "sockets", NULL}, 0, 0, QUERN_OK, "another; stand-in: rank 1: its transports do not name it\n"},
        {{NULL}, 0, 2048, QUERN_OK, "another; stand-in: rank 2 has other tags or sizes than rank 0\n"},
        {{"stand-in", "stand-in", "stand-in"}, 0, 2048, QUERN_NOT_SUPPORTED,
         "no transport for data between the hosts: stand-in: rank 2 has other tags or sizes than rank 0"},
        {{"stand-in", "stand-in", "sockets"}, 0, 0, QUERN_NOT_SUPPORTED, "sockets: rank 0: its transports do not name it"},
    };
    check_ranks(.kind = RANK_PROCESSES, .count = 3, .hosts = 2, .function = choose, RANKS_EACH(wishes), .carrier = &borrows);
}

Test(hosts_carrier, one_thread_at_a_time) {
    static const struct carrier_choice alone = {.borrows = true, .alone = true};
    static const struct wish threads = {{NULL}, 0, 0, QUERN_OK,
                                        "stand-in: rank 0: it is in one process with rank 1, and one thread"},
                             processes = {{NULL}, 0, 0, QUERN_OK, "hosts 0 and 1: stand-in, since"};
    check_ranks(.kind = RANK_THREADS, .count = 3, .hosts = 2, .function = choose, .user = &threads, .carrier = &alone);
    check_ranks(.kind = RANK_PROCESSES, .count = 3, .hosts = 2, .function = choose, .user = &processes, .carrier = &alone);
}

TEST_GROUP(hosts_carrier, a_part_goes_over_sockets, .kind = RANK_PROCESSES, .count = 4, .hosts = 2, .carrier = &borrows) {
    quern_group *part;
    rank_ok(rank, quern_group_split(&group, 1, &(int){0}, &(int){-rank->rank}, &part));
    rank_check_report(rank, part, "hosts 0 and 1: sockets, since");
    rank_check_report(rank, part, "another; stand-in: the group is split off");
    for (int i = 0; i < 10; i++) rank_ok(rank, quern_barrier(i % 2 ? group : part, NULL, NULL));
    rank_ok(rank, quern_group_destroy(part));
}

/* ---- more ranks than sockets serve ---- */

#define TOO_MANY "3 ranks of several hosts: sockets serve up to 2; set carrier (include/quern_mpi.h has MPI's)"

/* One rank that has sockets alone ends the creation for all; else the way is looked for, and sockets are none. */
Test(hosts_carrier, ranks_that_are_too_many_for_sockets) {
    static const struct wish wishes[] = {
        {{NULL}, 7, 0, QUERN_NOT_SUPPORTED, TOO_MANY " or transports=\"ucx\""},
        {{NULL}, 2, 0, QUERN_NOT_SUPPORTED, "rank 1: " TOO_MANY},
        {{NULL, NULL, "sockets"}, 0, 0, QUERN_NOT_SUPPORTED, "rank 2: " TOO_MANY},
        {{NULL}, 0, 2048, QUERN_NOT_SUPPORTED, "stand-in: rank 2 has other tags or sizes than rank 0; sockets: rank 0: " TOO_MANY},
        {{NULL}, 0, 0, QUERN_OK, "hosts 0 and 1: stand-in, since"},
        {{"stand-in", "stand-in", "stand-in"}, 0, 0, QUERN_OK, "hosts 0 and 1: stand-in, since"},
    };
    quern_most_over_sockets = 2;
    check_ranks(.kind = RANK_BOTH, .count = 3, .hosts = 2, .function = choose, RANKS_EACH(wishes), .carrier = &borrows);
    quern_most_over_sockets = 3;
    check_ranks(.kind = RANK_BOTH, .count = 3, .hosts = 2, .function = choose, .carrier = &borrows,
                .user = &((struct wish){{NULL}, 7, 0, QUERN_OK, "hosts 0 and 1: sockets, since"}));
}

/* Of a part, or of what is left of a group, the carrier has other ranks. */
TEST_GROUP_FOR(hosts_carrier, parts_that_are_too_large_for_sockets,
               quern_most_over_sockets = 2; for (int splits = 0; splits < 2; splits++), .kind = RANK_PROCESSES, .count = 3,
               .hosts = 2, .met = true, .user = &(bool){splits}, .carrier = &borrows) {
    const bool splits = *(const bool *)rank->user;
    quern_group *part = NULL;
    const quern_status status = splits ? quern_group_split(&group, 1, &(int){0}, &(int){0}, &part)
                                       : quern_group_shrink(&group, 1, &part);
    rank_refused(rank, status, QUERN_NOT_SUPPORTED, TOO_MANY);
}

/* 64 ranks are as many as sockets serve. */
TEST_RANKS_FOR(hosts_carrier, sockets_serve_64_ranks, for (int count = 64; count <= 65; count++), .kind = RANK_THREADS,
               .count = count, .hosts = 2) {
    quern_group_args args = rank_group_args(rank, RANK_LIMIT);
    quern_hosts_args *hosts = rank_hosts_args(&args);
    quern_group *group = NULL;
    hosts->carrier = NULL, hosts->transports = NULL;
    if (rank->ranks == 64) {
        rank_ok(rank, quern_group_create(&args, 1, &group));
        rank_ok(rank, quern_barrier(group, NULL, NULL));
        return quern_group_destroy(group);
    }
    rank_refused(rank, quern_group_create(&args, 1, &group), QUERN_NOT_SUPPORTED,
                 "65 ranks of several hosts: sockets serve up to 64");
    return QUERN_OK;
}

/* All meet and exchange, and each slice has its own values. */
TEST_GROUP(hosts_carrier, a_carrier_serves_66_ranks, .kind = RANK_THREADS, .count = 66, .hosts = 2, .carrier = &borrows,
           .shared_bytes = sizeof(struct hosts_board)) {
    enum { ROWS = 3 };
    struct rank_exchange exchange;
    int32_t input[CARRIER_RANKS * ROWS], output[CARRIER_RANKS * ROWS];
    rank_check(rank, !strcmp(rank_member_of(rank, group)->net->transport, "stand-in"), "another transport");
    for (int64_t round = 1; round <= 3; round++) meet_members(rank, group, NULL, 0, round);
    for (int i = 0; i < rank->ranks * ROWS; i++) input[i] = rank->rank * 1000 + i;
    rank_ok(rank, rank_exchange_open(rank, group, &exchange, input, output, ROWS, sizeof *input));
    rank_ok(rank, rank_exchange_run(group, &exchange));
    for (int i = 0; i < rank->ranks * ROWS; i++)
        rank_check(rank, output[i] == i / ROWS * 1000 + rank->rank * ROWS + i % ROWS, "row %d is %d", i, output[i]);
}

/* ---- illegal carriers ---- */

static int no_send(void *user, int rank, const void *data, size_t bytes, uint64_t tag, uint64_t *request) {
    (void)user, (void)rank, (void)data, (void)bytes, (void)tag, (void)request;
    return 1;
}
static int no_receive(void *user, int rank, void *data, size_t bytes, uint64_t tag, uint64_t *request) {
    return no_send(user, rank, data, bytes, tag, request);
}
static int no_test(void *user, uint64_t request, size_t *bytes) { return (void)user, (void)request, (void)bytes, -1; }
static void no_cancel(void *user, uint64_t request) { (void)user, (void)request; }

Test(hosts_carrier, illegal_arguments) {
    quern_group *group;
    OPEN_CPU(device);
    quern_group_args args = GROUP_ARGS(.ranks = 2, .name = "illegal", .device = device, .timeout = 0.1);
    quern_hosts_args hosts = QUERN_HOSTS_ARGS_INIT;
    args.hosts = &hosts;
    hosts.meet = "127.0.0.2:4711", hosts.secret = "0123456789abcdef", hosts.secret_bytes = 16, hosts.host_ranks = 1;
    quern_carrier good = CARRIER(.name = "c", .tags = 1024, .longest = 8192, .send = no_send, .receive = no_receive,
                                 .test = no_test, .cancel = no_cancel);
    const struct {
        const char *detail;
        quern_status status;
        size_t field, bytes;  /* of the carrier, set to the value */
        uint64_t value;
        const char *transports;
    } cases[] = {
#define SET(field, value) offsetof(quern_carrier, field), sizeof good.field, (uint64_t)(uintptr_t)(value)
        {"size", QUERN_INVALID_STRUCT_SIZE, SET(size, sizeof good), NULL},
        {"a function of carrier is NULL", QUERN_NULL_POINTER, SET(send, NULL), NULL},
        {"a function of carrier is NULL", QUERN_NULL_POINTER, SET(receive, NULL), NULL},
        {"a function of carrier is NULL", QUERN_NULL_POINTER, SET(test, NULL), NULL},
        {"a function of carrier is NULL", QUERN_NULL_POINTER, SET(cancel, NULL), NULL},
        {"carrier.name is NULL", QUERN_NULL_POINTER, SET(name, NULL), NULL},
        {"carrier.name is not 1 to 15", QUERN_INVALID_ARGUMENT, SET(name, "0123456789abcdef"), NULL},
        {"carrier.name is not 1 to 15", QUERN_INVALID_ARGUMENT, SET(name, "a,b"), NULL},
        {"is the name of another transport", QUERN_INVALID_ARGUMENT, SET(name, "sockets"), NULL},
        {"is the name of another transport", QUERN_INVALID_ARGUMENT, SET(name, "ucx"), NULL},
        {"carrier.tags is 1023: expected at least 1024", QUERN_INVALID_ARGUMENT, SET(tags, 1023), NULL},
        {"carrier.longest is 8191: expected at least 8192", QUERN_INVALID_ARGUMENT, SET(longest, 8191), NULL},
        {"carrier.threads is 2: expected 0 to 1", QUERN_INVALID_ARGUMENT, SET(threads, 2), NULL},
        {"carrier.borrows is -1: expected 0 to 1", QUERN_INVALID_ARGUMENT, SET(borrows, -1), NULL},
        {"hosts.transports has an unknown name at \"\"", QUERN_INVALID_ARGUMENT, SET(tags, 1024), ""},
        {"hosts.transports has an unknown name at \"mpi,c\"", QUERN_INVALID_ARGUMENT, SET(tags, 1024), "sockets,mpi,c"},
        {"hosts.transports has an unknown name at \"\"", QUERN_INVALID_ARGUMENT, SET(tags, 1024), "c,"},
        {"hosts.transports has an unknown name at \"sockets \"", QUERN_INVALID_ARGUMENT, SET(tags, 1024), "c,sockets "},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        quern_carrier carrier = good;
        memcpy((char *)&carrier + cases[i].field, &cases[i].value, cases[i].bytes);
        hosts.carrier = &carrier;
        hosts.transports = cases[i].transports;
        const quern_status status = quern_group_create(&args, 1, &group);
        check(status == cases[i].status && strstr(error_detail(), cases[i].detail), "case %zu: %s: %s", i,
              quern_status_string(status), error_detail());
    }
}

/* ---- carriers with faults ---- */

struct fault {
    struct carrier_choice choice;
    quern_status status, destroyed;  /* destroyed: of the culprit */
    const char *text, *kept;
    double limit;
};

/* Exchanges until a call fails, as it does on all ranks alike. */
static void exchange_until_the_end(struct rank *rank) {
    enum { SLICE = 300000 };
    const struct fault *fault = rank->user;
    quern_group *group = rank_group(rank, RANK_LIMIT);
    /* the limit is that of the calls before the exchange */
    if (fault->choice.hangs_at) rank_member_of(rank, group)->timeout = fault->limit + 2;
    struct rank_exchange exchange = {.bytes = 0};
    unsigned char *input = zeroed(4 * SLICE), *output = zeroed(4 * SLICE);
    quern_status status = rank_exchange_open(rank, group, &exchange, input, output, SLICE, 1);
    exchange.args.timeout = fault->limit;
    for (int round = 0; status == QUERN_OK && round < 50; round++) status = rank_exchange_run(group, &exchange);
    rank_refused(rank, status, fault->status, fault->text);
    rank_status(rank, quern_barrier(group, NULL, NULL), fault->status);
    rank_status(rank, quern_group_destroy(group), rank->rank == fault->choice.culprit ? fault->destroyed : QUERN_OK);
    if (rank->rank == fault->choice.culprit && fault->kept) rank_check_detail(rank, fault->kept);
    if (rank->rank == fault->choice.culprit && fault->kept)  /* the carrier may still read and write symmetric memory */
        for (size_t i = 0; i < exchange.bytes; i += 4096) ((volatile char *)exchange.workspace)[i]++;
    memset(input, 1, 4 * SLICE);   /* it is the caller's again: the stand-in ends the process if it finds it changed */
    memset(output, 1, 4 * SLICE);
}

Test(hosts_carrier, faults_are_statuses) {
    for (size_t kind = 0; kind < COUNT(kinds); kind++)
        for (int at = 9; at < 75; at += 13) {
            struct fault faults[] = {
                {{.fails_at = at}, QUERN_SYSTEM_ERROR, QUERN_OK, "returned 17", NULL, RANK_LIMIT},
                {{.breaks_at = at}, QUERN_SYSTEM_ERROR, QUERN_OK, "returned -18", NULL, RANK_LIMIT},
                {{.hangs_at = at}, QUERN_PEER_TIMEOUT, QUERN_OK, " waited ", NULL, 0.4},
            };
            for (size_t i = 0; i < COUNT(faults); i++) {
                faults[i].choice.culprit = 1;
                faults[i].choice.borrows = kinds[kind]->borrows;
                faults[i].choice.longest = kinds[kind]->longest;
                check_ranks(.kind = rank_kinds[at % 2], .count = 4, .hosts = 2, .body = exchange_until_the_end,
                            .user = &faults[i], .carrier = &faults[i].choice);
            }
        }
}

Test(hosts_carrier, memory_that_is_kept_is_named) {
    static const struct fault kept = {{.borrows = true, .hangs_at = 40, .culprit = 1, .keeps = true}, QUERN_PEER_TIMEOUT,
                                      QUERN_PEER_LOST,
                                      " waited ", "stand-in does not give back the memory of a message of rank #: keep", 5};
    check_ranks(.kind = RANK_PROCESSES, .count = 4, .hosts = 2, .body = exchange_until_the_end, .user = &kept,
                .carrier = &kept.choice);
}

/* ---- the bytes ---- */

static unsigned char byte_of(int sender, int receiver, int64_t update, int64_t at) {
    return (unsigned char)(sender * 31 + receiver * 7 + update * 3 + at + at / 251);
}

/*
 * Of the first slice; the third has half of it.  In the two ranges all of a message is about as long as the longest message of the
 * carrier that copies, and as what a message with a head may have.
 */
static int64_t size_at(int index) {
    static const int64_t few[] = {0, 1, 1000, 8999, 9000, 9001, 65536, 65537, 100000, 100001, 350000};
    enum { FEW = COUNT(few), RANGE = 80, OF_COPIES = 9000 * 2 / 3 + 2, OF_STAGE = (64 << 10) * 2 / 3 + 2 };
    if (index < FEW) return few[index];
    if (index < FEW + RANGE) return OF_COPIES - (index - FEW);
    return index < FEW + 2 * RANGE ? OF_STAGE - (index - FEW - RANGE) : -1;
}

/* Three slices to each rank, with gaps between them on one side, none on the other: around all sizes at which messages are cut. */
TEST_GROUP_FOR(hosts_carrier, slices_of_all_sizes, for (size_t kind = 0; kind < COUNT(kinds); kind++), .kind = RANK_BOTH,
               .count = 2, .hosts = 2, .carrier = kinds[kind]) {
    enum { UPDATES = 3, GAP = 5, MOST = 3 * 350200 };
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    int64_t from[2 * UPDATES], sent[2 * UPDATES], to[2 * UPDATES], received[2 * UPDATES];
    SCOPED unsigned char *input = zeroed(2 * MOST), *output = zeroed(2 * MOST);
    size_t bytes;
    args.metadata_dtype = QUERN_INT64, args.input = input, args.output = output, args.input_rows = args.output_rows = 2 * MOST;
    args.row_bytes = 1, args.updates = UPDATES;
    args.input_offsets = from, args.send_sizes = sent, args.output_offsets = to, args.recv_sizes = received;
    rank_ok(rank, quern_prepare(rank->device, QUERN_RAGGED_ALL_TO_ALL));
    rank_ok(rank, quern_ragged_all_to_all_workspace(group, &args, &bytes));
    void *workspace = rank_allocate(rank, group, bytes);
    for (int index = 0; size_at(index) >= 0; index++) {
        const int64_t size = size_at(index);
        const int64_t lengths[UPDATES] = {size, 7, size / 2}, gap_in = index % 2 ? GAP : 0, gap_out = index % 2 ? 0 : GAP;
        int64_t at_in = 0, at_out[2] = {0, MOST};
        for (int peer = 0; peer < 2; peer++)
            for (int64_t i = 0; i < UPDATES; i++) {
                from[peer * UPDATES + i] = at_in;
                sent[peer * UPDATES + i] = received[peer * UPDATES + i] = lengths[i];
                to[peer * UPDATES + i] = at_out[rank->rank];
                for (int64_t at = 0; at < lengths[i]; at++) input[at_in + at] = byte_of(rank->rank, peer, i, at);
                at_in += lengths[i] + gap_in;
                if (peer == 0) at_out[rank->rank] += lengths[i] + gap_out;
            }
        memcpy(to + UPDATES, to, sizeof to / 2);
        memset(output, 0xEE, 2 * MOST);
        rank_ok(rank, quern_ragged_all_to_all(group, &args, workspace, bytes, NULL));
        for (int sender = 0; sender < 2; sender++)
            for (int64_t i = 0, place = sender * MOST; i < UPDATES; place += lengths[i++] + gap_out) {
                for (int64_t at = 0; at < lengths[i]; at++)
                    rank_check(rank, output[place + at] == byte_of(sender, rank->rank, i, at), "size %lld: byte %lld of rank %d",
                               (long long)size, (long long)at, sender);
                if (gap_out || i + 1 == UPDATES)
                    rank_check(rank, output[place + lengths[i]] == 0xEE, "size %lld: the byte behind", (long long)size);
            }
    }
}

Test(hosts_carrier, random_exchanges) {
    for (size_t kind = 0; kind < COUNT(kinds); kind++)
        check_ranks(.kind = RANK_PROCESSES, .count = 5, .hosts = 3, .function = ragged_run_batch, .carrier = kinds[kind],
                    .user = &((struct ragged_batch){.first = 56000, .cases = 8}));
}

/* ---- how many messages ---- */

/* A small exchange is one message each way, and a barrier none: it goes over sockets. */
TEST_GROUP(hosts_carrier, a_small_exchange_is_one_message, .kind = RANK_PROCESSES, .count = 2, .hosts = 2, .carrier = &copies) {
    struct rank_exchange exchange;
    const struct carrier_end *end = rank->carrier;
    char input[128] = "", output[128];
    rank_ok(rank, rank_exchange_open(rank, group, &exchange, input, output, 1, 64));
    int before = carrier_count(end);
    for (int i = 0; i < 20; i++) rank_ok(rank, quern_barrier(group, NULL, NULL));
    rank_check(rank, carrier_count(end) == before, "%d messages of 20 barriers", carrier_count(end) - before);
    before = carrier_count(end);
    for (int i = 0; i < 20; i++) rank_ok(rank, rank_exchange_run(group, &exchange));
    rank_check(rank, carrier_count(end) == before + 40, "%d messages of 20 exchanges", carrier_count(end) - before);
}

/* An exchange with votes, in which rank 0, rank 1, both or none sends something to the other. */
TEST_GROUP(hosts_carrier, an_empty_slice_is_no_message, .kind = RANK_PROCESSES, .count = 2, .hosts = 2, .carrier = &copies) {
    enum { ROWS = 100, BOTH = 3 };
    struct rank_exchange exchange;
    char input[2 * ROWS] = "", output[2 * ROWS];
    int32_t send_sizes[2] = {ROWS, ROWS}, recv_sizes[2] = {ROWS, ROWS};
    const int other = 1 - rank->rank;
    int with_none = 0;
    rank_ok(rank, rank_exchange_open(rank, group, &exchange, input, output, ROWS, 1));
    exchange.args.check_overlap = 1;
    exchange.args.send_sizes = send_sizes, exchange.args.recv_sizes = recv_sizes;
    for (int senders = 0; senders <= BOTH; senders++) {
        const int before = carrier_count(rank->carrier), sends = senders >> rank->rank & 1, receives = senders >> other & 1;
        send_sizes[other] = sends * ROWS, recv_sizes[other] = receives * ROWS;
        rank_ok(rank, rank_exchange_run(group, &exchange));
        const int messages = carrier_count(rank->carrier) - before;
        if (!senders) with_none = messages;
        rank_check(rank, messages == with_none + sends + receives, "%d messages, %d without rows", messages, with_none);
    }
}

static const struct carrier_choice late[] = {{.borrows = true, .culprit = 1, .late = 300},
                                             {.longest = 9000, .culprit = 1, .late = 300}};

/* Rank 0 leaves as soon as it has its own part.  What it has sent to rank 1 comes later than the word that it has left. */
TEST_GROUP_FOR(hosts_carrier, what_a_rank_has_sent_comes_after_it_has_left, for (size_t i = 0; i < COUNT(late); i++),
               .kind = rank_kinds[i], .count = 2, .hosts = 2, .carrier = &late[i]) {
    struct rank_exchange exchange;
    enum { ROWS = 3000 };  /* more than what travels with the head */
    static __thread int32_t input[2 * ROWS], output[2 * ROWS];
    for (int i = 0; i < 2 * ROWS; i++) input[i] = i + rank->rank * 100000;
    rank_ok(rank, rank_exchange_open(rank, group, &exchange, input, output, ROWS, 4));
    rank_ok(rank, rank_exchange_run(group, &exchange));
    for (int sender = 0; sender < 2; sender++)
        for (int i = 0; i < ROWS; i++)
            rank_check(rank, output[sender * ROWS + i] == rank->rank * ROWS + i + sender * 100000, "row %d of rank %d", i, sender);
}

/* ---- different calls ---- */

/* One host is in a barrier, which goes over sockets, and the other in an exchange, which also does without a carrier. */
TEST_GROUP_FOR(hosts_carrier, a_barrier_and_an_exchange_are_a_mismatch,
               for (size_t kind = 0; kind <= COUNT(kinds); kind++) for (int in_barrier = 0; in_barrier < 2; in_barrier++),
               .kind = rank_kinds[in_barrier], .count = 4, .hosts = 2, .user = &in_barrier, .met = true,
               .carrier = kind < COUNT(kinds) ? kinds[kind] : NULL) {
    const int in_barrier = *(const int *)rank->user;
    void *memory;
    if (rank_host(rank, rank->rank) == in_barrier) rank_status(rank, quern_barrier(group, NULL, NULL), QUERN_PEER_MISMATCH);
    else rank_status(rank, quern_symmetric_alloc(&group, 1, &(size_t){64}, &memory), QUERN_PEER_MISMATCH);
    rank_check_detail(rank, "quern_barrier");
    rank_check_detail(rank, "quern_symmetric_alloc");
    rank_status(rank, quern_group_status(group), QUERN_PEER_MISMATCH);
}

/* ---- hosts that end ---- */

static quern_status exchange_and_lose(struct rank *rank) {
    const quern_status status = exchange_until_the_last_ends(rank, rank_group(rank, RANK_LIMIT));
    rank_check(rank, status == QUERN_OK || status == QUERN_PEER_LOST, "destroying gave %s", quern_status_string(status));
    return QUERN_OK;
}

Test(hosts_carrier, a_process_that_is_killed) {
    for (size_t kind = 0; kind < COUNT(kinds); kind++) end_the_last(4, exchange_and_lose, kinds[kind], SIGKILL);
}

Test(hosts_carrier, a_host_that_is_stopped) {
    for (size_t kind = 0; kind < COUNT(kinds); kind++) end_the_last(4, exchange_and_lose, kinds[kind], SIGSTOP);
}
