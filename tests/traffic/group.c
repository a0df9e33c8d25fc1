/*
 * A group of several hosts and what it sends in each phase of its life, as lines of JSON:
 *
 *   group HOSTS RANKS SLICE meet|gather direct|relay
 *
 * RANKS: of each host; SLICE: bytes from each rank to each rank, in the large exchanges
 *
 * The ranks are threads, the hosts names at loopback addresses.  tests/checks/scale.py compares the lines with the simulation.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "quern.h"
#include "ranks/segment.h"
#include "traffic/traffic.h"

enum { SMALL = 8, WORKSPACE = 4 << 20, PART_BYTES = 4096 };

static int hosts, here, ranks, slice;
static bool gathers;
static char meet[32], name[64];
static pthread_barrier_t line;   /* the ranks and the counter */
static pthread_barrier_t parts_line;  /* the ranks alone */
static unsigned char (*parts)[PART_BYTES];
static size_t part_bytes;        /* of the all-gather */

static void give_up(int rank, const char *what) {
    char detail[512] = "";
    quern_error_detail(detail, sizeof detail);
    fprintf(stderr, "rank %d: %s: %s %s\n", rank, what, strerror(errno), detail);
    exit(EXIT_FAILURE);
}

/* ---- a rank ---- */

struct rank {
    int rank;
    quern_device *device;
    quern_group *group;
    void *workspace;
    unsigned char *input, *output;
    int32_t *offsets, *sizes, *places;
    quern_ragged_plan *plan;
};

static void ok(const struct rank *rank, quern_status status, const char *what) {
    if (status != QUERN_OK) give_up(rank->rank, what);
}

static int gather(void *user, const void *mine, size_t bytes, void *all) {
    const struct rank *rank = user;
    if (bytes > PART_BYTES) give_up(rank->rank, "a part of the all-gather");
    memcpy(parts[rank->rank], mine, bytes);
    pthread_barrier_wait(&parts_line);
    for (int other = 0; other < ranks; other++) memcpy((char *)all + (size_t)other * bytes, parts[other], bytes);
    pthread_barrier_wait(&parts_line);
    if (rank->rank == 0) part_bytes = bytes;
    return 0;
}

static void create(struct rank *rank) {
    char host[16];
    quern_group_args args = QUERN_GROUP_ARGS_INIT;
    quern_hosts_args hosts = QUERN_HOSTS_ARGS_INIT;
    snprintf(host, sizeof host, "h%d", rank->rank / here);
    args.rank = rank->rank, args.ranks = ranks, args.name = name, args.device = rank->device, args.timeout = 400;
    args.hosts = &hosts;
    hosts.meet = gathers ? "127.0.0.1" : meet, hosts.host = host, hosts.host_ranks = here;
    hosts.secret = "a secret of tests", hosts.secret_bytes = 17;
    if (gathers) hosts.all_gather = gather, hosts.all_gather_user = rank;
    ok(rank, quern_group_create(&args, 1, &rank->group), "creating the group");
}

static void allocate(struct rank *rank) {
    ok(rank, quern_symmetric_alloc(&rank->group, 1, &(size_t){WORKSPACE}, &rank->workspace), "a workspace");
}

static void meet_all(struct rank *rank) { ok(rank, quern_barrier(rank->group, NULL, NULL), "a barrier"); }

/* The same slice to each rank. */
static quern_ragged_all_to_all_args exchange_of(struct rank *rank, int bytes) {
    quern_ragged_all_to_all_args args = QUERN_RAGGED_ALL_TO_ALL_ARGS_INIT;
    for (int peer = 0; peer < ranks; peer++) {
        rank->offsets[peer] = peer * bytes;
        rank->sizes[peer] = bytes;
        rank->places[peer] = rank->rank * bytes;
    }
    args.input = rank->input, args.output = rank->output;
    args.input_rows = args.output_rows = (int64_t)ranks * bytes, args.row_bytes = 1;
    args.input_offsets = rank->offsets, args.send_sizes = args.recv_sizes = rank->sizes, args.output_offsets = rank->places;
    return args;
}

static void exchange(struct rank *rank, int bytes) {
    const quern_ragged_all_to_all_args args = exchange_of(rank, bytes);
    ok(rank, quern_ragged_all_to_all(rank->group, &args, rank->workspace, WORKSPACE, NULL), "an exchange");
}

static void exchange_little(struct rank *rank) { exchange(rank, SMALL); }
static void exchange_much(struct rank *rank) { exchange(rank, slice); }

static void make_plan(struct rank *rank) {
    const quern_ragged_all_to_all_args args = exchange_of(rank, slice);
    void *const workspaces[] = {rank->workspace};
    ok(rank, quern_ragged_plan_create(&rank->group, 1, &args, workspaces, &(size_t){WORKSPACE}, &rank->plan), "a plan");
}

static void run_plan(struct rank *rank) { ok(rank, quern_ragged_plan_run(rank->plan, NULL), "a plan's run"); }

/* Until a monitor says that its host lives. */
static void rest(struct rank *rank) {
    (void)rank;
    while (!traffic_beats()) usleep(1000);
}

static void leave(struct rank *rank) {
    ok(rank, quern_ragged_plan_destroy(rank->plan), "destroying the plan");
    ok(rank, quern_group_destroy(rank->group), "destroying the group");
}

static const struct phase {
    const char *name;
    void (*run)(struct rank *rank);
} phases[] = {
    {"creation", create},       {"memory", allocate},     {"barrier", meet_all}, {"small exchange", exchange_little},
    {"exchange", exchange_much}, {"plan", make_plan},     {"plan run", run_plan}, {"rest", rest},
    {"end", leave},
};
enum { PHASES = sizeof phases / sizeof *phases };

static void prepare(struct rank *rank) {
    const size_t most = (size_t)ranks * (size_t)(slice > SMALL ? slice : SMALL), row = (size_t)ranks * sizeof(int32_t);
    ok(rank, quern_device_open(QUERN_CPU, 0, &rank->device), "opening the CPU");
    ok(rank, quern_prepare(rank->device, QUERN_RAGGED_ALL_TO_ALL), "preparing");
    rank->input = calloc(1, most), rank->output = calloc(1, most);
    rank->offsets = malloc(row), rank->sizes = malloc(row), rank->places = malloc(row);
    if (!rank->input || !rank->output || !rank->offsets || !rank->sizes || !rank->places) give_up(rank->rank, "memory");
}

static void *live(void *user) {
    struct rank *rank = user;
    prepare(rank);
    for (int phase = 0; phase < PHASES; phase++) {
        pthread_barrier_wait(&line);  /* the counter has read the phase before */
        phases[phase].run(rank);
        pthread_barrier_wait(&line);
    }
    return NULL;
}

/* ---- the counter ---- */

static void write_phase(const char *phase) {
    static const struct {
        int kind;
        const char *name;
    } kinds[] = {{QUERN_CALL_MEETING, "meeting"}, {QUERN_CALL_DATA, "data"}, {QUERN_CALL_CONTROL, "control"},
                 {QUERN_CALL_TRANSFERS, "transfers"}, {QUERN_CALL_RELAY, "relay"}};
    struct traffic totals[TRAFFIC_KINDS];
    traffic_take(totals);
    printf("{\"phase\": \"%s\"", phase);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct traffic *total = &totals[kinds[i].kind];
        printf(", \"%s\": {\"connections\": %ld, \"handshake_bytes\": %ld, \"messages\": %ld, \"bytes\": %ld, \"beats\": %ld, "
               "\"beat_bytes\": %ld}", kinds[i].name, total->connections, total->handshake_bytes, total->messages, total->bytes,
               total->beats, total->beat_bytes);
    }
    printf(", \"part_bytes\": %zu}\n", part_bytes);
}

static void choose_port(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000002)};
    socklen_t bytes = sizeof at;
    const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (probe < 0 || bind(probe, (struct sockaddr *)&at, bytes) || getsockname(probe, (struct sockaddr *)&at, &bytes))
        give_up(-1, "a port");
    close(probe);
    snprintf(meet, sizeof meet, "127.0.0.2:%d", ntohs(at.sin_port));
}

int main(int count, char **words) {
    if (count == 6) hosts = atoi(words[1]), here = atoi(words[2]), slice = atoi(words[3]);
    gathers = count == 6 && strcmp(words[4], "gather") == 0;
    quern_most_direct = count == 6 && strcmp(words[5], "relay") == 0 ? 0 : QUERN_MAX_RANKS;
    ranks = hosts * here;
    if (hosts < 2 || here < 1 || ranks > QUERN_MAX_RANKS || slice < 1)
        return fprintf(stderr, "usage: group HOSTS RANKS SLICE meet|gather direct|relay\n"), EXIT_FAILURE;
    pthread_t threads[QUERN_MAX_RANKS];
    static struct rank all[QUERN_MAX_RANKS];
    parts = calloc((size_t)ranks, PART_BYTES);
    if (!parts) give_up(-1, "memory");
    snprintf(name, sizeof name, "traffic.%d", (int)getpid());
    choose_port();
    pthread_barrier_init(&line, NULL, (unsigned)ranks + 1);
    pthread_barrier_init(&parts_line, NULL, (unsigned)ranks);
    for (int rank = 0; rank < ranks; rank++) {
        all[rank].rank = rank;
        if (pthread_create(&threads[rank], NULL, live, &all[rank])) give_up(rank, "a thread");
    }
    for (int phase = 0; phase < PHASES; phase++) {
        pthread_barrier_wait(&line);
        pthread_barrier_wait(&line);
        write_phase(phases[phase].name);
    }
    for (int rank = 0; rank < ranks; rank++) pthread_join(threads[rank], NULL);
    return EXIT_SUCCESS;
}
