#include "timing.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_ROUNDS = 400, MOST_REPEATS = 1000 };

#define SHORT_SECONDS 2e-3

static double times[MAX_MARKS][MOST_ROUNDS];

static void run_round(const struct machine *machine, const struct activity *activities, int count, const int *repeats,
                      int round) {
    machine_mark(machine, 0);
    for (int i = 0; i < count; i++) {
        for (int n = 0; n < repeats[i]; n++) activities[i].run(activities[i].context);
        machine_mark(machine, i + 1);
    }
    for (int i = 0; i < count; i++) times[i][round] = machine_seconds(machine, i, i + 1) / repeats[i];
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void summarise(struct activity *activity, double *sorted, int rounds) {
    qsort(sorted, (size_t)rounds, sizeof *sorted, compare);
    activity->low = sorted[rounds / 4];
    activity->median = 0.5 * (sorted[(rounds - 1) / 2] + sorted[rounds / 2]);
    activity->high = sorted[(3 * rounds - 1) / 4];
}

int measure(const struct machine *machine, struct activity *activities, int count, const struct patience *patience) {
    int repeats[MAX_MARKS], round = 0;
    double spent = 0;
    if (count >= MAX_MARKS) machine_fail("%d activities are more than the %d that marks suffice for", count, MAX_MARKS - 1);
    for (int i = 0; i < MAX_MARKS; i++) repeats[i] = 1;
    run_round(machine, activities, count, repeats, 0);
    for (int i = 0; i < count; i++)
        if (activities[i].repeatable) repeats[i] = (int)fmin(ceil(SHORT_SECONDS / fmax(times[i][0], 1e-6)), MOST_REPEATS);
    while (round < MOST_ROUNDS && (round < patience->least_rounds || spent < patience->seconds * count)) {
        run_round(machine, activities, count, repeats, round);
        for (int i = 0; i < count; i++) spent += times[i][round] * repeats[i];
        round++;
    }
    for (int i = 0; i < count; i++) summarise(&activities[i], times[i], round);
    return round;
}
