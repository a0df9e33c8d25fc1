/* The machine under measurement: the code that CPU and GPU share.  Called by the operations and by the ranks on a GPU. */
#include "harness/machine.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/record.h"

/* The kinds of machine by the word that names them. */
static const struct {
    const char *word;
    quern_device_kind kind;
    const struct machine_functions *functions;
} kinds[] = {
    {"cpu", QUERN_CPU, &cpu_machine},
    {"cuda", QUERN_CUDA, &cuda_machine},
};

static bool say_why(const char *what) {
    char detail[1000];
    quern_error_detail(detail, sizeof detail);
    fprintf(stderr, "%s: %s\n", what, detail);
    return false;
}

static bool open_kind(struct machine *machine, size_t kind, int ordinal, const char *loops, unsigned operations) {
    machine->functions = kinds[kind].functions;
    machine->info = (quern_device_info)QUERN_DEVICE_INFO_INIT;
    if (quern_device_open(kinds[kind].kind, ordinal, &machine->quern) != QUERN_OK) return say_why(kinds[kind].word);
    if (quern_device_get_info(machine->quern, &machine->info) != QUERN_OK) return say_why(kinds[kind].word);
    if (operations && quern_prepare(machine->quern, operations) != QUERN_OK) return say_why("quern_prepare");
    machine->threads = machine->info.kind == QUERN_CPU ? machine->info.multiprocessors : 0;
    return machine->functions->open(machine, ordinal, loops);
}

bool machine_open(struct machine *machine, const char *device, const char *loops, unsigned operations) {
    *machine = (struct machine){0};
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        size_t length = strlen(kinds[kind].word);
        if (strncmp(device, kinds[kind].word, length) != 0) continue;
        char *end;
        long ordinal = device[length] == ':' ? strtol(device + length + 1, &end, 10) : 0;
        if (device[length] == '\0' || (device[length] == ':' && end > device + length + 1 && *end == '\0'))
            return open_kind(machine, kind, (int)ordinal, loops, operations);
    }
    fprintf(stderr, "device is '%s': expected cpu, cuda or cuda:N\n", device);
    return false;
}

void machine_close(struct machine *machine) {
    quern_device_close(machine->quern);
    machine->quern = NULL;
}

void machine_record(const struct machine *machine) {
    char version[40];
    int number = quern_version();
    snprintf(version, sizeof version, "%d.%d.%d", number / 10000, number / 100 % 100, number % 100);
    record_begin();
    record_text("machine", machine->info.name);
    record_text("kind", machine->info.kind == QUERN_CPU ? "cpu" : "cuda");
    record_text("best_target", machine->info.target);
    record_integer("units", machine->info.multiprocessors);
    record_integer("cache_bytes", (int64_t)machine->cache_bytes);
    record_text("library", version);
    record_end();
}

bool machine_set_threads(struct machine *machine, int threads) {
    if (machine->info.kind != QUERN_CPU) return true;
    machine->threads = threads;
    return quern_set_threads(machine->quern, threads, NULL, NULL) == QUERN_OK || say_why("quern_set_threads");
}

void *machine_allocate(const struct machine *machine, size_t bytes) {
    return machine->functions->allocate(bytes);
}

void machine_release(const struct machine *machine, void *memory) {
    if (memory) machine->functions->release(memory);
}

void machine_upload(const struct machine *machine, void *to, const void *from, size_t bytes) {
    machine->functions->upload(to, from, bytes);
}

void machine_copy(const struct machine *machine, void *to, const void *from, size_t bytes) {
    machine->functions->copy(machine, to, from, bytes);
}

void machine_update(const struct machine *machine, void *data, size_t bytes) {
    machine->functions->update(machine, data, bytes);
}

void machine_read(const struct machine *machine, const void *data, size_t bytes) {
    machine->functions->read(machine, data, bytes);
}

void machine_optimize(const struct machine *machine, const struct optimizer_arrays *arrays) {
    machine->functions->optimize(machine, arrays);
}

void machine_mark(const struct machine *machine, int index) {
    machine->functions->mark(index);
}

double machine_seconds(const struct machine *machine, int from, int to) {
    return machine->functions->seconds(from, to);
}

/* ---- measuring ---- */

enum { MOST_ROUNDS = 400, MOST_REPEATS = 1000 };

#define SHORT_SECONDS 2e-3

static double seconds[MAX_MARKS][MOST_ROUNDS];

static void run_round(const struct machine *machine, const struct activity *activities, int count, const int *repeats,
                      int round) {
    machine_mark(machine, 0);
    for (int i = 0; i < count; i++) {
        for (int n = 0; n < repeats[i]; n++) activities[i].run(activities[i].context);
        machine_mark(machine, i + 1);
    }
    for (int i = 0; i < count; i++) seconds[i][round] = machine_seconds(machine, i, i + 1) / repeats[i];
}

void machine_measure(const struct machine *machine, struct activity *activities, int count, const struct patience *patience) {
    int repeats[MAX_MARKS], round = 0;
    double spent = 0;
    if (count >= MAX_MARKS) machine_fail("%d activities are more than the %d that marks suffice for", count, MAX_MARKS - 1);
    for (int i = 0; i < MAX_MARKS; i++) repeats[i] = 1;
    run_round(machine, activities, count, repeats, 0);
    for (int i = 0; i < count; i++)
        if (activities[i].repeatable) repeats[i] = (int)fmin(ceil(SHORT_SECONDS / fmax(seconds[i][0], 1e-6)), MOST_REPEATS);
    while (round < MOST_ROUNDS && (round < patience->least_rounds || spent < patience->seconds * count)) {
        run_round(machine, activities, count, repeats, round);
        for (int i = 0; i < count; i++) spent += seconds[i][round] * repeats[i];
        round++;
    }
    for (int i = 0; i < count; i++) activities[i].times = times_summary(seconds[i], round);
}

/* ---- failures ---- */

void machine_fail(const char *format, ...) {
    va_list list;
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    exit(EXIT_FAILURE);
}

void machine_fail_call(const char *call) {
    char detail[1000];
    quern_error_detail(detail, sizeof detail);
    machine_fail("%s: %s", call, detail);
}
