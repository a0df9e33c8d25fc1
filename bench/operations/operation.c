/* Threads and memory of a case, counted bytes, and the lines of kernels.  Called by cross_entropy.c and adam.c. */
#include "operations/operation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/record.h"

/* ---- how much is run ---- */

/* "1,2,4"; without a text one thread and all of them. */
static void choose_threads(struct plan *plan, const struct machine *machine, const char *text) {
    if (machine->info.kind == QUERN_CUDA) {
        plan->thread_counts = 1;
        return;
    }
    if (!text) {
        plan->threads[plan->thread_counts++] = 1;
        if (machine->threads > 1) plan->threads[plan->thread_counts++] = machine->threads;
        return;
    }
    for (char *end;; text = end + 1) {
        long threads = strtol(text, &end, 10);
        if (end == text || threads < 1 || threads > 1024 || (*end && *end != ',') || plan->thread_counts == MAX_THREAD_COUNTS)
            refuse("--threads has '%s': expected up to %d numbers from 1 to 1024, separated by commas", text, MAX_THREAD_COUNTS);
        plan->threads[plan->thread_counts++] = (int)threads;
        if (!*end) return;
    }
}

struct plan operation_open(struct machine *machine, const struct options *options, unsigned operation) {
    if (!machine_open(machine, options->device, options->loops, operation)) exit(EXIT_FAILURE);
    bool gpu = machine->info.kind == QUERN_CUDA;
    double gigabytes = options->gigabytes > 0 ? options->gigabytes : options->quick ? 0.032 : gpu ? 40 : 3;
    size_t wanted = (size_t)(gigabytes * 1e9), free_part = machine->memory_bytes / 5 * 4;
    struct plan plan = {
        .quick = options->quick,
        .patience = {options->quick ? 0.01 : options->seconds, options->quick ? 3 : 5},
        .case_bytes = wanted < free_part ? wanted : free_part,
    };
    choose_threads(&plan, machine, options->threads);
    return plan;
}

/* ---- the counted bytes ---- */

/* An exponential counts as ten operations, a square root and a division as one each. */
enum { EXPONENTIAL = 10 };

int cross_entropy_bytes(quern_dtype logits, bool gradient) {
    return (int)quern_dtype_bytes(logits) * (gradient ? 2 : 1);
}

int cross_entropy_flops(bool gradient) {
    int forward = 1 /* maximum */ + 1 /* minus it */ + EXPONENTIAL + 1 /* sum */;
    return forward + (gradient ? 1 /* times scale / sum */ : 0);
}

bool is_scaled(quern_dtype dtype) {
    return dtype == QUERN_F16 || dtype == QUERN_E4M3 || dtype == QUERN_E5M2;
}

/* The bytes of 32 elements of a moment, with their scale if there is one. */
static int moment_unit_bytes(quern_dtype dtype) {
    return QUERN_SCALE_BLOCK * (int)quern_dtype_bytes(dtype) + is_scaled(dtype);
}

double adam_bytes(const quern_adam_args *args) {
    size_t read = quern_dtype_bytes(args->grad_dtype), param = quern_dtype_bytes(args->param_dtype);
    size_t updated = quern_dtype_bytes(args->master_dtype), written = quern_dtype_bytes(args->copy_dtype);
    int moments = moment_unit_bytes(args->m_dtype) + (args->amsgrad ? 2 : 1) * moment_unit_bytes(args->v_dtype);
    if (args->master_dtype == QUERN_F32)
        written += param;
    else
        updated += param;
    if (args->zero_grads) written += read;
    return (double)(read + 2 * updated + written) + 2.0 * moments / QUERN_SCALE_BLOCK;
}

int adam_flops(void) {
    int m = 3, v = 4, decay = 2;
    int denominator = 3;  /* times the bias correction, root, plus eps */
    int update = 3;       /* times the step size, divided, subtracted */
    return m + v + denominator + update + decay;
}

/* ---- the output ---- */

static void write_rate(const char *key, double bytes_per_second) {
    if (bytes_per_second > 0)
        record_number(key, 4, 1e-9 * bytes_per_second);
    else
        record_null(key);
}

/* The line of an explanation that ends in ": chosen" contains the kernel's name. */
static void write_kernel(const char *explanation) {
    char kernel[120];
    const char *end = strstr(explanation, ": chosen"), *start = end;
    while (start && start > explanation && start[-1] != '\n') start--;
    snprintf(kernel, sizeof kernel, "%.*s", start ? (int)(end - start) : 1, start ? start : "?");
    record_text("kernel", kernel);
}

void measurement_write(const struct machine *machine, const struct measurement *measurement) {
    record_begin();
    record_text("operation", measurement->operation);
    record_text("pass", measurement->pass);
    record_text("dtypes", measurement->dtypes);
    record_text("shape", measurement->shape);
    record_text("peer", measurement->peer);
    write_kernel(measurement->explanation);
    record_integer("threads", machine->threads);
    record_integer("elements", measurement->elements);
    record_number("bytes_per_element", 6, measurement->bytes_per_element);
    record_integer("flops_per_element", measurement->flops_per_element);
    record_integer("rounds", measurement->times.rounds);
    record_number("seconds", 5, measurement->times.median);
    record_number("seconds_low", 5, measurement->times.low);
    record_number("seconds_high", 5, measurement->times.high);
    write_rate("copy_gb_s", measurement->copy_bytes_per_second);
    write_rate("stream_gb_s", measurement->stream_bytes_per_second);
    if (measurement->plain_seconds > 0) record_number("plain_seconds", 5, measurement->plain_seconds);
    record_text("stream", measurement->stream);
    record_end();
}

void measurement_skip(const char *operation, const char *shape, const char *why) {
    record_begin();
    record_text("operation", operation);
    record_text("shape", shape);
    record_text("skipped", why);
    record_end();
}
