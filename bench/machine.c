#include "machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static bool open_kind(struct machine *machine, size_t kind, int ordinal, const char *loops) {
    machine->functions = kinds[kind].functions;
    machine->info = (quern_device_info)QUERN_DEVICE_INFO_INIT;
    if (quern_device_open(kinds[kind].kind, ordinal, &machine->quern) != QUERN_OK) return say_why(kinds[kind].word);
    if (quern_device_get_info(machine->quern, &machine->info) != QUERN_OK) return say_why(kinds[kind].word);
    if (quern_prepare(machine->quern, QUERN_CROSS_ENTROPY | QUERN_ADAM) != QUERN_OK) return say_why("quern_prepare");
    machine->threads = machine->info.kind == QUERN_CPU ? machine->info.multiprocessors : 0;
    return machine->functions->open(machine, ordinal, loops);
}

bool machine_open(struct machine *machine, const char *device, const char *loops) {
    *machine = (struct machine){0};
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        size_t length = strlen(kinds[kind].word);
        if (strncmp(device, kinds[kind].word, length) != 0) continue;
        char *end;
        long ordinal = device[length] == ':' ? strtol(device + length + 1, &end, 10) : 0;
        if (device[length] == '\0' || (device[length] == ':' && end > device + length + 1 && *end == '\0'))
            return open_kind(machine, kind, (int)ordinal, loops);
    }
    fprintf(stderr, "device is '%s': expected cpu, cuda or cuda:N\n", device);
    return false;
}

void machine_close(struct machine *machine) {
    quern_device_close(machine->quern);
    machine->quern = NULL;
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

void machine_fail(const char *format, ...) {
    va_list list;
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    exit(EXIT_FAILURE);
}
