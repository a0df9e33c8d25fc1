/* The progress of a run: a bar on a terminal, otherwise a line for every tenth of the steps. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool is_terminal, is_silent;
    int steps;
    int64_t tokens_per_step;
    double start, last_drawn;
    double loss;  /* smoothed over some steps */
};

void progress_begin(struct progress *progress, int steps, int64_t tokens_per_step, bool is_silent);
void progress_step(struct progress *progress, int done, double loss);
void progress_end(struct progress *progress);

#endif
