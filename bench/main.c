/*
 * Measures one subject, an operation's kernels or the ranks' barriers and all-to-alls, and writes a line of JSON per measurement.
 * Usually run by run.py, which makes tables of the lines.
 */
#include <getopt.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/bench.h"
#include "harness/machine.h"

static const struct subject *const subjects[] = {
    &cross_entropy_subject, &few_rows_subject, &lists_subject, &adam_subject, &quantize_subject, &barrier_subject,
    &ragged_all_to_all_subject,
};

enum { SUBJECTS = sizeof subjects / sizeof *subjects };

/* ---- the command line ---- */

enum form { TEXT, POSITIVE, WHOLE, FLAG };

#define FIELD(name) offsetof(struct options, name)

static const struct setting {
    const char *name, *argument, *help;
    enum form form;
    size_t field;
    int64_t most;  /* of a whole number */
} settings[] = {
    {"device", "cpu|cuda:N", "where to measure (cpu); on a GPU one thread drives all ranks", TEXT, FIELD(device), 0},
    {"loops", "FILE", "the PTX of stream.cu, for a GPU", TEXT, FIELD(loops), 0},
    {"seconds", "S", "how long to time each activity (0.5)", POSITIVE, FIELD(seconds), 0},
    {"quick", "", "small shapes and few rounds: shows that everything works, measures little", FLAG, FIELD(quick), 0},
    {"threads", "N[,N...]", "kernels: threads of a CPU (1 and all)", TEXT, FIELD(threads), 0},
    {"memory", "GB", "kernels: the most memory that one case takes (3 on a CPU, 40 on a GPU)", POSITIVE, FIELD(gigabytes), 0},
    {"list", "LIST", "adam: `gpt2 WIDTH LAYERS` or `equal TENSORS COUNT`, quantize: COUNT: a step for each line of input ...", TEXT,
     FIELD(list), 0},
    {"dtypes", "NAME", "adam, quantize: ... in these types, as a table names them", TEXT, FIELD(dtypes), 0},
    {"kind", "KIND", "ranks: threads or processes (processes)", TEXT, FIELD(kind), 0},
    {"ranks", "N", "ranks: how many (2)", WHOLE, FIELD(ranks), QUERN_MAX_RANKS},
    {"cores", "N", "ranks: how many cores they share (2)", WHOLE, FIELD(cores), 1024},
    {"limit", "S", "ranks: when to give up (60)", POSITIVE, FIELD(limit), 0},
    {"turns", "N", "barrier: how many turns each has (10)", WHOLE, FIELD(turns), 50},
    {"only", "NAME", "barrier: this one alone", TEXT, FIELD(only), 0},
    {"rows", "N", "ragged_all_to_all: rows that a rank sends to another (1024)", WHOLE, FIELD(rows), INT32_MAX / 16},
    {"row-bytes", "N", "ragged_all_to_all: a multiple of 8 (1024)", WHOLE, FIELD(row_bytes), INT32_MAX},
    {"updates", "N", "ragged_all_to_all: also in so many updates, which divide the rows (1)", WHOLE, FIELD(updates), INT32_MAX},
    {"cache", "BYTES", "ragged_all_to_all: the buffers exceed these (32 MiB)", WHOLE, FIELD(cache_bytes), INT64_MAX},
};

enum { SETTINGS = sizeof settings / sizeof *settings, HELP = SETTINGS + 1 };

static void print_usage(void) {
    printf("Usage: quern_bench SUBJECT [OPTIONS]\n\n");
    for (int i = 0; i < SUBJECTS; i++) printf("  %-24s %s\n", subjects[i]->name, subjects[i]->measures);
    printf("  %-24s %s\n", "machine", "measures nothing: writes the line that describes the machine");
    printf("  %-24s %s\n\n", "self-test", "checks the byte counts, the loops, the barriers and the slices");
    for (int i = 0; i < SETTINGS; i++) printf("  --%-11s %-10s %s\n", settings[i].name, settings[i].argument, settings[i].help);
    printf("\nQUERN_KERNEL=GLOB chooses among the library's kernels.\n");
}

void refuse(const char *format, ...) {
    va_list list;
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fprintf(stderr, "; see quern_bench --help\n");
    exit(2);
}

static double positive(const struct setting *setting, const char *text) {
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value > 0)) refuse("--%s is '%s': expected a number above 0", setting->name, text);
    return value;
}

static int64_t whole(const struct setting *setting, const char *text) {
    char *end;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || value < 1 || value > setting->most)
        refuse("--%s is '%s': expected a whole number from 1 to %lld", setting->name, text, (long long)setting->most);
    return value;
}

static void set(struct options *options, const struct setting *setting, const char *text) {
    void *field = (char *)options + setting->field;
    switch (setting->form) {
    case TEXT: *(const char **)field = text; break;
    case POSITIVE: *(double *)field = positive(setting, text); break;
    case WHOLE: *(int64_t *)field = whole(setting, text); break;
    case FLAG: *(bool *)field = true; break;
    }
}

static struct options read_options(int count, char **arguments) {
    struct option names[SETTINGS + 2] = {{"help", no_argument, NULL, HELP}};
    struct options options = {.device = "cpu", .seconds = 0.5, .kind = "processes", .ranks = 2, .cores = 2, .limit = 60,
                              .turns = 10, .rows = 1024, .row_bytes = 1024, .updates = 1, .cache_bytes = 32 << 20};
    for (int i = 0; i < SETTINGS; i++)
        names[1 + i] = (struct option){settings[i].name, settings[i].form == FLAG ? no_argument : required_argument, NULL, 1 + i};
    for (int key; (key = getopt_long(count, arguments, "", names, NULL)) != -1;) {
        if (key == HELP) {
            print_usage();
            exit(EXIT_SUCCESS);
        }
        if (key == '?') refuse("the command line is not understood");
        set(&options, &settings[key - 1], optarg);
    }
    if (optind != count - 1) refuse("%d subjects are named: expected one", count - optind);
    return options;
}

/* ---- the subjects ---- */

static void describe_machine(const struct options *options) {
    struct machine machine;
    if (!machine_open(&machine, options->device, options->loops, 0)) exit(EXIT_FAILURE);
    machine_record(&machine);
    machine_close(&machine);
}

int main(int count, char **arguments) {
    struct options options = read_options(count, arguments);
    const char *name = arguments[optind];
    if (strcmp(name, "self-test") == 0) return self_test(subjects, SUBJECTS);
    if (strcmp(name, "machine") == 0) return describe_machine(&options), EXIT_SUCCESS;
    for (int i = 0; i < SUBJECTS; i++)
        if (strcmp(name, subjects[i]->name) == 0) return subjects[i]->run(&options), EXIT_SUCCESS;
    refuse("there is no subject '%s'", name);
}
