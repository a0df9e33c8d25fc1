/*
 * Measures Quern's kernels beside plain loops over the same memory and writes one line of JSON per measurement.
 * Usually run by run.py, which makes a table of the lines; `quern_bench --help` says how it is run alone.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "record.h"

static const char usage[] =
    "Usage: quern_bench cross_entropy|adam|self-test [OPTIONS]\n"
    "       quern_bench adam --turns LIST --dtypes NAME [OPTIONS]\n"
    "\n"
    "  --device cpu|cuda:N   where to measure (cpu)\n"
    "  --threads N[,N...]    threads of a CPU (1 and all)\n"
    "  --seconds S           how long to time each activity (0.5)\n"
    "  --memory GB           the most memory that one case takes, where it can be chosen (3 on a CPU, 40 on a GPU)\n"
    "  --loops FILE          the PTX of stream.cu, for a GPU\n"
    "  --quick               small shapes and few rounds: shows that everything works, measures little\n"
    "  --turns LIST          one step for each line of standard input, of `gpt2 WIDTH LAYERS` or `equal TENSORS COUNT` ...\n"
    "  --dtypes NAME         ... in the types that a table calls so\n"
    "\n"
    "QUERN_KERNEL=GLOB chooses among the library's kernels.\n";

struct options {
    const char *device, *threads, *loops, *turns, *dtypes;
    double seconds, gigabytes;
    bool quick;
};

static const struct {
    const char *name;
    void (*run)(struct machine *machine, const struct plan *plan);
} benchmarks[] = {{"cross_entropy", bench_cross_entropy}, {"adam", bench_adam}};

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

static struct options read_options(int count, char **arguments) {
    static const struct option names[] = {
        {"device", required_argument, NULL, 'd'}, {"threads", required_argument, NULL, 't'},
        {"seconds", required_argument, NULL, 's'}, {"memory", required_argument, NULL, 'm'},
        {"loops", required_argument, NULL, 'l'},   {"quick", no_argument, NULL, 'q'},
        {"turns", required_argument, NULL, 'u'},   {"dtypes", required_argument, NULL, 'y'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0},
    };
    struct options options = {.device = "cpu", .seconds = 0.5};
    for (int key; (key = getopt_long(count, arguments, "", names, NULL)) != -1;) {
        switch (key) {
        case 'd': options.device = optarg; break;
        case 't': options.threads = optarg; break;
        case 's': options.seconds = positive(optarg); break;
        case 'm': options.gigabytes = positive(optarg); break;
        case 'l': options.loops = optarg; break;
        case 'q': options.quick = true; break;
        case 'u': options.turns = optarg; break;
        case 'y': options.dtypes = optarg; break;
        case 'h': fputs(usage, stdout); exit(0);
        default: explain_usage();
        }
    }
    if (!options.turns != !options.dtypes) explain_usage();
    return options;
}

/* "1,2,4"; without a text one thread and all of them. */
static void choose_threads(struct plan *plan, const struct machine *machine, const char *text) {
    if (machine->info.kind == QUERN_CUDA) {
        plan->thread_counts = 1;
    } else if (!text) {
        plan->threads[plan->thread_counts++] = 1;
        if (machine->threads > 1) plan->threads[plan->thread_counts++] = machine->threads;
    } else {
        while (plan->thread_counts < MAX_THREAD_COUNTS) {
            char *end;
            long threads = strtol(text, &end, 10);
            if (end == text || threads < 1 || threads > 1024) explain_usage();
            plan->threads[plan->thread_counts++] = (int)threads;
            if (!*end) return;
            if (*end != ',') explain_usage();
            text = end + 1;
        }
        explain_usage();
    }
}

static struct plan make_plan(const struct machine *machine, const struct options *options) {
    bool gpu = machine->info.kind == QUERN_CUDA;
    double gigabytes = options->quick ? 0.032 : options->gigabytes > 0 ? options->gigabytes : gpu ? 40 : 3;
    size_t wanted = (size_t)(gigabytes * 1e9), free_part = machine->memory_bytes / 5 * 4;
    struct plan plan = {
        .quick = options->quick,
        .patience = {options->quick ? 0.01 : options->seconds, options->quick ? 3 : 5},
        .case_bytes = wanted < free_part ? wanted : free_part,
    };
    choose_threads(&plan, machine, options->threads);
    return plan;
}

int main(int count, char **arguments) {
    struct options options = read_options(count, arguments);
    if (optind != count - 1) explain_usage();
    const char *name = arguments[optind];
    if (strcmp(name, "self-test") == 0) return self_test();
    if (options.turns && strcmp(name, "adam") != 0) explain_usage();
    for (size_t i = 0; i < sizeof benchmarks / sizeof *benchmarks; i++) {
        if (strcmp(name, benchmarks[i].name) != 0) continue;
        struct machine machine;
        if (!machine_open(&machine, options.device, options.loops)) return EXIT_FAILURE;
        struct plan plan = make_plan(&machine, &options);
        if (options.turns) {
            bench_adam_turns(&machine, &plan, options.dtypes, options.turns);
        } else {
            record_machine(&machine);
            benchmarks[i].run(&machine, &plan);
        }
        machine_close(&machine);
        return EXIT_SUCCESS;
    }
    explain_usage();
}
