/* Draws the progress of a run.  Called by training.c. */
#define _POSIX_C_SOURCE 200809L

#include "progress.h"

#include <stdio.h>
#include <unistd.h>

#include "clock.h"

enum { BAR_WIDTH = 16 };  /* the whole line fits 80 columns */

static const double REDRAW_SECONDS = 0.1;

void progress_begin(struct progress *progress, int steps, int64_t tokens_per_step, bool is_silent) {
    *progress = (struct progress){
        .is_terminal = isatty(STDOUT_FILENO) == 1,
        .is_silent = is_silent,
        .steps = steps,
        .tokens_per_step = tokens_per_step,
        .start = seconds_now(),
    };
}

static void print_numbers(const struct progress *progress, int done, double seconds) {
    int left = (int)(seconds / done * (progress->steps - done) + 0.5);
    printf("step %*d/%d  loss %6.3f  %6.0f tokens/s  %d:%02d left", progress->steps >= 1000 ? 4 : 3, done, progress->steps,
           progress->loss, (double)(done * progress->tokens_per_step) / seconds, left / 60, left % 60);
}

static void draw_bar(const struct progress *progress, int done) {
    char bar[BAR_WIDTH + 1] = {0};
    for (int i = 0; i < BAR_WIDTH; i++) bar[i] = i < BAR_WIDTH * (int64_t)done / progress->steps ? '#' : '.';
    printf("\r  [%s] ", bar);
}

void progress_step(struct progress *progress, int done, double loss) {
    if (progress->is_silent) return;
    double now = seconds_now();
    progress->loss = done == 1 ? loss : 0.9 * progress->loss + 0.1 * loss;
    if (progress->is_terminal) {
        if (done < progress->steps && now - progress->last_drawn < REDRAW_SECONDS) return;
        progress->last_drawn = now;
        draw_bar(progress, done);
        print_numbers(progress, done, now - progress->start);
        printf("\033[K");  /* erases the rest of a longer previous line */
    } else {
        int64_t tenths = 10 * (int64_t)done / progress->steps, tenths_before = 10 * (int64_t)(done - 1) / progress->steps;
        if (tenths == tenths_before && done > 1) return;
        printf("  ");
        print_numbers(progress, done, now - progress->start);
        putchar('\n');
    }
    fflush(stdout);
}

void progress_end(struct progress *progress) {
    if (progress->is_terminal && progress->last_drawn > 0) putchar('\n');
}
