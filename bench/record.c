#include "record.h"

#include <stdio.h>
#include <string.h>

#include "json.h"

static void write_field(const char *key, const char *text) {
    json_text(key, text);
    printf(", ");
}

/* JSON has no way to say "not measured" but null. */
static void write_rate(const char *key, double bytes_per_second) {
    if (bytes_per_second > 0)
        printf("\"%s\": %.4g, ", key, 1e-9 * bytes_per_second);
    else
        printf("\"%s\": null, ", key);
}

static void end_line(void) {
    printf("}\n");
    fflush(stdout);
}

void record_machine(const struct machine *machine) {
    int version = quern_version();
    printf("{");
    write_field("machine", machine->info.name);
    write_field("kind", machine->info.kind == QUERN_CPU ? "cpu" : "cuda");
    write_field("best_target", machine->info.target);
    printf("\"units\": %d, \"cache_bytes\": %zu, ", machine->info.multiprocessors, machine->cache_bytes);
    printf("\"library\": \"%d.%d.%d\"", version / 10000, version / 100 % 100, version % 100);
    end_line();
}

void record_write(const struct machine *machine, const struct record *record) {
    printf("{");
    write_field("operation", record->operation);
    write_field("pass", record->pass);
    write_field("dtypes", record->dtypes);
    write_field("shape", record->shape);
    write_field("peer", record->peer);
    write_field("kernel", record->kernel);
    printf("\"threads\": %d, \"elements\": %lld, ", machine->threads, (long long)record->elements);
    printf("\"bytes_per_element\": %g, \"flops_per_element\": %d, ", record->bytes_per_element, record->flops_per_element);
    printf("\"rounds\": %d, \"seconds\": %.5g, ", record->rounds, record->kernel_time->median);
    printf("\"seconds_low\": %.5g, \"seconds_high\": %.5g, ", record->kernel_time->low, record->kernel_time->high);
    write_rate("copy_gb_s", record->copy_bytes_per_second);
    write_rate("stream_gb_s", record->stream_bytes_per_second);
    if (record->plain_seconds > 0) printf("\"plain_seconds\": %.5g, ", record->plain_seconds);
    json_text("stream", record->stream);
    end_line();
}

void record_skipped(const char *operation, const char *shape, const char *why) {
    printf("{");
    write_field("operation", operation);
    write_field("shape", shape);
    json_text("skipped", why);
    end_line();
}

void record_kernel(struct record *record, const char *explanation) {
    const char *end = strstr(explanation, ": chosen"), *start = end;
    while (start && start > explanation && start[-1] != '\n') start--;
    snprintf(record->kernel, sizeof record->kernel, "%.*s", start ? (int)(end - start) : 1, start ? start : "?");
}
