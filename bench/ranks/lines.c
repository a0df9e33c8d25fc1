#include "lines.h"

#include <stddef.h>
#include <stdio.h>

#include "json.h"

static void write_text(const char *key, const char *text) {
    json_text(key, text);
    printf(", ");
}

static void write_case(const char *operation, const char *contender, const char *kind, int ranks) {
    printf("{");
    write_text("operation", operation);
    write_text("contender", contender);
    write_text("kind", kind);
    printf("\"ranks\": %d, ", ranks);
}

/* One value of each turn, in seconds. */
static void write_turns(const char *key, const struct round_times *times, int turns, size_t offset) {
    printf("\"%s\": [", key);
    for (int i = 0; i < turns; i++) {
        double nanoseconds = *(const double *)((const char *)&times[i] + offset);
        printf("%s%.4g", i ? ", " : "", 1e-9 * nanoseconds);
    }
    printf("], ");
}

void write_barrier(const char *contender, const char *kind, int ranks, const struct round_times *times, int turns) {
    long long rounds = 0;
    for (int i = 0; i < turns; i++) rounds += times[i].rounds;
    write_case("barrier", contender, kind, ranks);
    write_turns("seconds", times, turns, offsetof(struct round_times, median));
    write_turns("single_seconds", times, turns, offsetof(struct round_times, single_median));
    write_turns("p99_seconds", times, turns, offsetof(struct round_times, p99));
    write_turns("longest_seconds", times, turns, offsetof(struct round_times, longest));
    printf("\"rounds\": %lld}\n", rounds);
    fflush(stdout);
}

void write_barriers(const struct rounds *rounds, const char *kind, int ranks, const struct contender *contenders, int count,
                    int turns) {
    for (int i = 0; i < count; i++) {
        struct round_times times[MAX_ROUND_TURNS];
        rounds_times(rounds, ranks, i, turns, times);
        write_barrier(contenders[i].name, kind, ranks, times, turns);
    }
}

void write_exchange(const char *contender, const char *kind, const struct slices *slices, const struct turn_times *times) {
    write_case("ragged_all_to_all", contender, kind, slices->ranks);
    printf("\"updates\": %d, \"rows\": %lld, ", slices->updates, (long long)slices->rows);
    printf("\"row_bytes\": %lld, \"bytes\": %zu, ", (long long)slices->row_bytes, slices_traffic(slices));
    printf("\"seconds\": %.5g, \"seconds_low\": %.5g, ", times->median, times->low);
    printf("\"seconds_high\": %.5g, \"rounds\": %d}\n", times->high, times->rounds);
    fflush(stdout);
}

void write_skipped(const char *operation, const char *contender, const char *kind, int ranks, const char *why) {
    write_case(operation, contender, kind, ranks);
    write_text("skipped", why);
    printf("\"rounds\": 0}\n");
    fflush(stdout);
}
