/*
 * Measures the barrier and the ragged all-to-all beside what they are compared with, one case a run, and writes one line of JSON
 * per contender.  Usually run by run.py, which alternates with the programs of other implementations and forms the ratios.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cores.h"
#include "machine.h"
#include "ranks.h"
#include "record.h"
#include "rounds.h"
#include "turns.h"

static const char usage[] =
    "Usage: quern_bench_ranks barrier|ragged_all_to_all|machine|self-test [OPTIONS]\n"
    "\n"
    "  --device cpu|cuda:N   where to measure (cpu); on a GPU all ranks are on that one, driven by one thread\n"
    "  --kind KIND           threads or processes (processes)\n"
    "  --ranks N             (2)\n"
    "  --cores N             how many cores the ranks share (2)\n"
    "  --seconds S           how long to time each barrier, or each activity of an all-to-all (0.2)\n"
    "  --turns N             of each barrier (10)\n"
    "  --limit S             when to give up (60)\n"
    "  --only NAME           one barrier of all\n"
    "  --rows N              of the slice that a rank sends to another (1024)\n"
    "  --row-bytes N         a multiple of 8 (1024)\n"
    "  --updates N           also in so many updates, which divide the rows (1)\n"
    "  --cache BYTES         what the buffers of an all-to-all exceed (32 MiB)\n"
    "  --loops FILE          the PTX of stream.cu, for a GPU\n";

_Noreturn static void explain_usage(void) {
    fputs(usage, stderr);
    exit(2);
}

static double positive(const char *text) {
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value > 0)) explain_usage();
    return value;
}

static int64_t whole(const char *text, int64_t most) {
    char *end;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || value < 1 || value > most) explain_usage();
    return value;
}

static enum team_kind kind_named(const char *text) {
    for (int kind = TEAM_THREADS; kind <= TEAM_PROCESSES; kind++)
        if (strcmp(text, team_kind_names[kind]) == 0) return (enum team_kind)kind;
    explain_usage();
}

static struct rank_options read_options(int count, char **arguments) {
    static const struct option names[] = {
        {"device", required_argument, NULL, 'd'},  {"kind", required_argument, NULL, 'k'},
        {"ranks", required_argument, NULL, 'r'},   {"cores", required_argument, NULL, 'c'},
        {"seconds", required_argument, NULL, 's'}, {"limit", required_argument, NULL, 't'},
        {"only", required_argument, NULL, 'o'},    {"rows", required_argument, NULL, 'n'},
        {"row-bytes", required_argument, NULL, 'b'}, {"updates", required_argument, NULL, 'u'},
        {"cache", required_argument, NULL, 'm'},   {"loops", required_argument, NULL, 'l'},
        {"turns", required_argument, NULL, 'i'},   {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct rank_options options = {
        .device = "cpu",
        .team = {TEAM_PROCESSES, 2, 2, 60},
        .slices = {.updates = 1, .rows = 1024, .row_bytes = 1024},
        .cache_bytes = 32 << 20,
        .seconds = 0.2,
        .turns = 10,
    };
    for (int key; (key = getopt_long(count, arguments, "", names, NULL)) != -1;) {
        switch (key) {
        case 'd': options.device = optarg; break;
        case 'k': options.team.kind = kind_named(optarg); break;
        case 'r': options.team.ranks = (int)whole(optarg, QUERN_MAX_RANKS); break;
        case 'c': options.team.cores = (int)whole(optarg, 1024); break;
        case 's': options.seconds = positive(optarg); break;
        case 't': options.team.limit = positive(optarg); break;
        case 'o': options.only = optarg; break;
        case 'n': options.slices.rows = whole(optarg, INT32_MAX / MAX_TURN_RANKS); break;
        case 'b': options.slices.row_bytes = whole(optarg, INT32_MAX); break;
        case 'u': options.slices.updates = (int)whole(optarg, INT32_MAX); break;
        case 'm': options.cache_bytes = (size_t)whole(optarg, INT64_MAX); break;
        case 'l': options.loops = optarg; break;
        case 'i': options.turns = (int)whole(optarg, MAX_ROUND_TURNS); break;
        case 'h': fputs(usage, stdout); exit(0);
        default: explain_usage();
        }
    }
    options.slices.ranks = options.team.ranks;
    if (options.slices.row_bytes % 8 || options.slices.rows % options.slices.updates) explain_usage();
    return options;
}

static void describe_machine(const struct rank_options *options) {
    struct machine machine;
    if (!machine_open(&machine, options->device, options->loops)) exit(EXIT_FAILURE);
    record_machine(&machine);
    machine_close(&machine);
}

static void measure_all_to_all(const struct rank_options *options, void (*measure)(const struct rank_options *)) {
    if (options->team.ranks > MAX_TURN_RANKS) explain_usage();
    measure(options);
}

int main(int count, char **arguments) {
    struct rank_options options = read_options(count, arguments);
    if (optind != count - 1) explain_usage();
    const char *operation = arguments[optind];
    bool gpu = strncmp(options.device, "cuda", 4) == 0;
    if (strcmp(operation, "self-test") == 0) return ranks_self_test();
    if (strcmp(operation, "machine") == 0)
        describe_machine(&options);
    else if (strcmp(operation, "barrier") == 0)
        (gpu ? measure_barriers_on_gpu : measure_barriers)(&options);
    else if (strcmp(operation, "ragged_all_to_all") == 0)
        measure_all_to_all(&options, gpu ? measure_exchange_on_gpu : measure_exchange);
    else
        explain_usage();
    return EXIT_SUCCESS;
}
