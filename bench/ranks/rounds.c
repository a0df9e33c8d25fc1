/* Times barriers.  Called by barrier.c and gpu_barrier.c, and by the programs of the other implementations. */
#include "ranks/rounds.h"

#include <stdlib.h>

#include "harness/record.h"
#include "harness/times.h"
#include "ranks/ranks.h"

enum { MAX_TIMES = 10000, MAX_BATCH = 1000, BATCH_NANOSECONDS = 50000 };

enum phase { WARM_UP, BATCHES, SINGLES, PHASES };

/* The part of a turn's seconds, and the minimum of batches, which applies if a round takes longer than a turn should. */
static const struct {
    double share;
    int least;
} phases[PHASES] = {[WARM_UP] = {0.1, 1}, [BATCHES] = {0.6, 3}, [SINGLES] = {0.3, 3}};

struct rounds {
    struct gate gate;
    struct {
        int batch;         /* rounds of a batch; atomic, written by rank 0 */
        int last[PHASES];  /* the last batch of each phase, counted from 1; atomic, written by rank 0, 0 until it has decided */
    } turns[MAX_CONTENDERS][MAX_ROUND_TURNS];
    struct {
        struct round_times times[MAX_CONTENDERS][MAX_ROUND_TURNS];
    } rank[];
};

/* The measurements of one rank in one turn. */
struct series {
    int count;
    double times[MAX_TIMES];
};

struct turn {
    int *last;  /* [PHASES] */
    int rank;
    double seconds;
    const struct contender *contender;
    int64_t rounds;
    struct series series[PHASES];
};

size_t rounds_bytes(int ranks) {
    struct rounds *rounds;
    return sizeof *rounds + (size_t)ranks * sizeof rounds->rank[0];
}

/* Sorts the series. */
static double quantile(struct series *series, double part) {
    times_sort(series->times, series->count);
    return series->times[(int)(part * (series->count - 1) + 0.5)];
}

static void run_phase(struct turn *turn, enum phase phase, int batch) {
    struct series *series = &turn->series[phase];
    void (*meet)(void *) = turn->contender->meet;
    void *context = turn->contender->context;
    int64_t end = clock_nanoseconds() + (int64_t)(1e9 * turn->seconds * phases[phase].share);
    series->count = 0;
    for (int done = 1;; done++) {
        int64_t start = clock_nanoseconds();
        for (int i = 1; i < batch; i++) meet(context);
        if (turn->rank == 0 && (done == MAX_TIMES || (done >= phases[phase].least && clock_nanoseconds() >= end)))
            __atomic_store_n(&turn->last[phase], done, __ATOMIC_RELAXED);
        meet(context);
        series->times[series->count++] = (double)(clock_nanoseconds() - start) / batch;
        turn->rounds += batch;
        if (__atomic_load_n(&turn->last[phase], __ATOMIC_RELAXED) == done) break;
    }
}

/* Based on rank 0's times in the warm-up. */
static int choose_batch(struct turn *turn) {
    double batch = BATCH_NANOSECONDS / (quantile(&turn->series[WARM_UP], 0.5) + 1);
    return batch < 1 ? 1 : batch > MAX_BATCH ? MAX_BATCH : (int)batch;
}

static struct round_times run_turn(struct turn *turn, int *batch) {
    turn->rounds = 0;
    run_phase(turn, WARM_UP, 1);
    if (turn->rank == 0) __atomic_store_n(batch, choose_batch(turn), __ATOMIC_RELAXED);
    turn->contender->meet(turn->contender->context);
    run_phase(turn, BATCHES, __atomic_load_n(batch, __ATOMIC_RELAXED));
    run_phase(turn, SINGLES, 1);
    return (struct round_times){
        .median = quantile(&turn->series[BATCHES], 0.5),
        .single_median = quantile(&turn->series[SINGLES], 0.5),
        .p99 = quantile(&turn->series[SINGLES], 0.99),
        .longest = quantile(&turn->series[SINGLES], 1),
        .rounds = turn->rounds,
    };
}

void rounds_run(struct rounds *rounds, int rank, int ranks, const struct contender *contenders, int count, int turns,
                double seconds) {
    struct turn *turn = calloc(1, sizeof *turn);
    if (!turn) abort();
    turn->rank = rank;
    turn->seconds = seconds;
    for (int i = 0; i < turns; i++) {
        for (int c = 0; c < count; c++) {
            turn->contender = &contenders[c];
            turn->last = rounds->turns[c][i].last;
            rounds->rank[rank].times[c][i] = run_turn(turn, &rounds->turns[c][i].batch);
            gate_pass(&rounds->gate, ranks);  /* an early rank must not spin at the next one while others are here */
        }
    }
    free(turn);
}

static double larger(double a, double b) {
    return a > b ? a : b;
}

static void rounds_times(const struct rounds *rounds, int ranks, int contender, int turns, struct round_times *times) {
    for (int i = 0; i < turns; i++) {
        times[i] = (struct round_times){.rounds = INT64_MAX};
        for (int rank = 0; rank < ranks; rank++) {
            const struct round_times *one = &rounds->rank[rank].times[contender][i];
            times[i].median = larger(times[i].median, one->median);
            times[i].single_median = larger(times[i].single_median, one->single_median);
            times[i].p99 = larger(times[i].p99, one->p99);
            times[i].longest = larger(times[i].longest, one->longest);
            if (one->rounds < times[i].rounds) times[i].rounds = one->rounds;
        }
    }
}

/* ---- lines ---- */

/* One value of each turn, in seconds. */
static void write_turns(const char *key, const struct round_times *times, int turns, size_t offset) {
    double seconds[MAX_ROUND_TURNS];
    for (int i = 0; i < turns; i++) seconds[i] = 1e-9 * *(const double *)((const char *)&times[i] + offset);
    record_numbers(key, 4, seconds, turns);
}

void rounds_write_times(const char *contender, const char *kind, int ranks, const struct round_times *times, int turns) {
    int64_t rounds = 0;
    for (int i = 0; i < turns; i++) rounds += times[i].rounds;
    ranks_begin_record("barrier", contender, kind, ranks);
    write_turns("seconds", times, turns, offsetof(struct round_times, median));
    write_turns("single_seconds", times, turns, offsetof(struct round_times, single_median));
    write_turns("p99_seconds", times, turns, offsetof(struct round_times, p99));
    write_turns("longest_seconds", times, turns, offsetof(struct round_times, longest));
    record_integer("rounds", rounds);
    record_end();
}

void rounds_write(const struct rounds *rounds, const char *kind, int ranks, const struct contender *contenders, int count,
                  int turns) {
    for (int i = 0; i < count; i++) {
        struct round_times times[MAX_ROUND_TURNS];
        rounds_times(rounds, ranks, i, turns, times);
        rounds_write_times(contenders[i].name, kind, ranks, times, turns);
    }
}
