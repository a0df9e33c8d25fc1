/*
 * Litmus tests of the checker itself: all executions of small programs.  Each must have exactly the outcomes that C's memory model
 * allows, but those that need a load of a later store or stores that take effect in another order than they are executed in.
 */

#include "harness/standard.h"
#include "memory_model/checker.h"

enum { RELAXED = __ATOMIC_RELAXED, ACQUIRE = __ATOMIC_ACQUIRE, RELEASE = __ATOMIC_RELEASE, ACQ_REL = __ATOMIC_ACQ_REL,
       SEQ_CST = __ATOMIC_SEQ_CST };

static uint32_t x, y, data;
static uint32_t a, b, c, d;  /* what the threads have read: 0 to 3 each */
static uint64_t outcomes[4];  /* a bit for each a + 4 * b + 16 * c + 64 * d */

#define STORE(word, value, order) __atomic_store_n(&word, value, order)
#define LOAD(word, order) __atomic_load_n(&word, order)
#define ADD(word, order) __atomic_fetch_add(&word, 1, order)
#define FENCE(order) __atomic_thread_fence(order)

static void begin(int rank) { if (!rank) x = y = data = a = b = c = d = 0; }

static void end(int rank) {
    const uint32_t outcome = a + 4 * b + 16 * c + 64 * d;
    if (!rank) outcomes[outcome / 64] |= (uint64_t)1 << outcome % 64;
}

/* A program: its name and what each thread does. */
#define PROGRAMS(program)                                                                                                         \
    program(store_buffers, { STORE(x, 1, RELEASE); a = LOAD(y, ACQUIRE); }, { STORE(y, 1, RELEASE); b = LOAD(x, ACQUIRE); }, {},  \
            {})                                                                                                                   \
    program(store_buffers_total, { STORE(x, 1, SEQ_CST); a = LOAD(y, SEQ_CST); }, { STORE(y, 1, SEQ_CST); b = LOAD(x, SEQ_CST); }, \
            {}, {})                                                                                                               \
    program(store_buffers_half, { STORE(x, 1, SEQ_CST); a = LOAD(y, SEQ_CST); }, { STORE(y, 1, SEQ_CST); b = LOAD(x, ACQUIRE); }, \
            {}, {})                                                                                                               \
    program(store_buffers_fences, { STORE(x, 1, RELAXED); FENCE(SEQ_CST); a = LOAD(y, RELAXED); },                                \
            { STORE(y, 1, RELAXED); FENCE(SEQ_CST); b = LOAD(x, RELAXED); }, {}, {})                                              \
    program(store_buffers_one_fence, { STORE(x, 1, RELAXED); FENCE(SEQ_CST); a = LOAD(y, RELAXED); },                             \
            { STORE(y, 1, RELAXED); FENCE(ACQ_REL); b = LOAD(x, RELAXED); }, {}, {})                                              \
    program(store_buffers_updates, { ADD(x, SEQ_CST); a = LOAD(y, SEQ_CST); }, { ADD(y, SEQ_CST); b = LOAD(x, SEQ_CST); }, {}, {}) \
    program(message, { STORE(x, 1, RELAXED); STORE(y, 1, RELEASE); }, { a = LOAD(y, ACQUIRE); b = LOAD(x, RELAXED); }, {}, {})    \
    program(message_stored_relaxed, { STORE(x, 1, RELAXED); STORE(y, 1, RELAXED); },                                              \
            { a = LOAD(y, ACQUIRE); b = LOAD(x, RELAXED); }, {}, {})                                                              \
    program(message_loaded_relaxed, { STORE(x, 1, RELAXED); STORE(y, 1, RELEASE); },                                              \
            { a = LOAD(y, RELAXED); b = LOAD(x, RELAXED); }, {}, {})                                                              \
    program(message_fences, { STORE(x, 1, RELAXED); FENCE(RELEASE); STORE(y, 1, RELAXED); },                                      \
            { a = LOAD(y, RELAXED); FENCE(ACQUIRE); b = LOAD(x, RELAXED); }, {}, {})                                              \
    program(message_one_fence, { STORE(x, 1, RELAXED); FENCE(RELEASE); STORE(y, 1, RELAXED); },                                   \
            { a = LOAD(y, RELAXED); FENCE(RELEASE); b = LOAD(x, RELAXED); }, {}, {})                                              \
    program(message_on, { STORE(x, 1, RELAXED); STORE(y, 1, RELEASE); }, { ADD(y, RELAXED); },                                    \
            { a = LOAD(y, ACQUIRE); b = LOAD(x, RELAXED); }, {})                                                                  \
    program(message_over, { STORE(x, 1, RELAXED); STORE(y, 1, RELEASE); }, { STORE(y, 2, RELAXED); },                             \
            { a = LOAD(y, ACQUIRE); b = LOAD(x, RELAXED); }, {})                                                                  \
    program(message_of_data, { data = 1; STORE(y, 1, RELEASE); }, { a = LOAD(y, ACQUIRE); if (a) b = data; }, {}, {})             \
    program(coherence, { STORE(x, 1, RELAXED); STORE(x, 2, RELAXED); }, { a = LOAD(x, RELAXED); b = LOAD(x, RELAXED); }, {}, {})  \
    program(causes, { STORE(x, 1, RELAXED); }, { a = LOAD(x, RELAXED); STORE(y, 1, RELEASE); },                                   \
            { b = LOAD(y, ACQUIRE); c = LOAD(x, RELAXED); }, {})                                                                  \
    program(readers, { STORE(x, 1, RELEASE); }, { STORE(y, 1, RELEASE); }, { a = LOAD(x, ACQUIRE); b = LOAD(y, ACQUIRE); },       \
            { c = LOAD(y, ACQUIRE); d = LOAD(x, ACQUIRE); })                                                                      \
    program(readers_total, { STORE(x, 1, SEQ_CST); }, { STORE(y, 1, SEQ_CST); }, { a = LOAD(x, SEQ_CST); b = LOAD(y, SEQ_CST); }, \
            { c = LOAD(y, SEQ_CST); d = LOAD(x, SEQ_CST); })                                                                      \
    program(readers_fences, { STORE(x, 1, RELAXED); }, { STORE(y, 1, RELAXED); },                                                 \
            { a = LOAD(x, RELAXED); FENCE(SEQ_CST); b = LOAD(y, RELAXED); },                                                      \
            { c = LOAD(y, RELAXED); FENCE(SEQ_CST); d = LOAD(x, RELAXED); })

#define FUNCTIONS(name, first, second, third, fourth)                                                                             \
    static void name(int rank) {                                                                                                  \
        if (rank == 0) first else if (rank == 1) second else if (rank == 2) third else fourth                                     \
    }
PROGRAMS(FUNCTIONS)

#define ROW(name, ...) {#name, name},
static const struct {
    const char *name;
    void (*run)(int rank);
} programs[] = {PROGRAMS(ROW)};

/* Outcomes as numbers of a and b (and c and d), separated by spaces. */
static const struct {
    const char *name;
    int threads;
    const char *outcomes;
} allowed[] = {
    {"store_buffers", 2, "00 01 10 11"},
    {"store_buffers_total", 2, "01 10 11"},
    {"store_buffers_half", 2, "00 01 10 11"},
    {"store_buffers_fences", 2, "01 10 11"},
    {"store_buffers_one_fence", 2, "00 01 10 11"},
    {"store_buffers_updates", 2, "01 10 11"},
    {"message", 2, "00 01 11"},
    {"message_stored_relaxed", 2, "00 01 10 11"},
    {"message_loaded_relaxed", 2, "00 01 10 11"},
    {"message_fences", 2, "00 01 11"},
    {"message_one_fence", 2, "00 01 10 11"},
    {"message_on", 3, "00 01 10 11 21"},
    {"message_over", 3, "00 01 11 20 21"},
    {"message_of_data", 2, "00 11"},
    {"coherence", 2, "00 01 02 11 12 22"},
    {"causes", 3, "000 001 010 011 100 101 111"},
    {"readers", 4, "0000 0001 0010 0011 0100 0101 0110 0111 1000 1001 1010 1011 1100 1101 1110 1111"},
    {"readers_total", 4, "0000 0001 0010 0011 0100 0101 0110 0111 1000 1001 1011 1100 1101 1110 1111"},
    {"readers_fences", 4, "0000 0001 0010 0011 0100 0101 0110 0111 1000 1001 1011 1100 1101 1110 1111"},
};

static void expected_outcomes(const char *text, uint64_t expected[4]) {
    memset(expected, 0, sizeof outcomes);
    for (uint32_t outcome = 0, place = 0;; text++) {
        if (*text >= '0') {
            outcome |= (uint32_t)(*text - '0') << 2 * place++;
            continue;
        }
        expected[outcome / 64] |= (uint64_t)1 << outcome % 64;
        outcome = place = 0;
        if (!*text) return;
    }
}

static int differs(int i) {
    uint64_t expected[4];
    int differ = strcmp(programs[i].name, allowed[i].name) != 0;
    const struct checker_program program = {programs[i].name, allowed[i].threads, 0, NULL, begin, programs[i].run, end};
    memset(outcomes, 0, sizeof outcomes);
    checker_run(&program);
    expected_outcomes(allowed[i].outcomes, expected);
    for (uint32_t outcome = 0; outcome < 256; outcome++) {
        const int seen = outcomes[outcome / 64] >> outcome % 64 & 1, may = expected[outcome / 64] >> outcome % 64 & 1;
        if (seen == may) continue;
        printf("%s: %u%u%u%u is %s\n", programs[i].name, outcome % 4, outcome / 4 % 4, outcome / 16 % 4, outcome / 64,
               may ? "missing" : "not allowed");
        differ = 1;
    }
    return differ;
}

int main(void) {
    const int count = sizeof programs / sizeof *programs;
    int failed = 0;
    for (int i = 0; i < count; i++) failed += differs(i);
    printf("%d passed, %d failed\n", count - failed, failed);
    return failed != 0;
}
