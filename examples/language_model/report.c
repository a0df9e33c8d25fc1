#include "report.h"

#include <math.h>
#include <stdio.h>

static const double LOSS_TOLERANCE = 0.02;

void report_run(const struct run_report *run) {
    if (run->outcome.steps == 0) {
        printf("  no step was completed\n");
        return;
    }
    printf("  %d steps in %.1f s: loss %.3f over the last tenth, %.3f on text held out\n", run->outcome.steps,
           run->outcome.seconds, run->outcome.loss, run->outcome.held_out_loss);
    const struct step_times *times = &run->outcome.times;
    printf("  fastest step %.1f ms; fastest loss and gradient %.2f ms, Adam %.2f ms", 1e3 * times->whole,
           1e3 * times->cross_entropy, 1e3 * times->adam);
    if (times->copies > 0) printf(", copies between host and device %.2f ms", 1e3 * times->copies);
    printf("\n");
}

static void print_row(const char *what, double quern, double plain, const char *note) {
    printf("  %-38s %10.3f %12.3f   %s\n", what, quern, plain, note);
}

static void print_ratio_row(const char *what, double quern, double plain, double ratio) {
    char note[32];
    snprintf(note, sizeof note, "%.2fx", ratio);
    print_row(what, quern, plain, note);
}

static double apart(double a, double b) {
    return fabs(a - b) / fabs(b);
}

static void print_loss_row(const char *what, double quern, double plain) {
    char note[48];
    snprintf(note, sizeof note, "%.2f %% apart", 100 * apart(quern, plain));
    print_row(what, quern, plain, note);
}

static void print_time(const char *what, double quern, double plain) {
    print_ratio_row(what, 1e3 * quern, 1e3 * plain, plain / quern);
}

static void print_times(const struct step_times *quern, const struct step_times *plain) {
    print_time("loss and gradient, ms (fastest of all)", quern->cross_entropy, plain->cross_entropy);
    print_time("Adam, ms (fastest of all)", quern->adam, plain->adam);
    print_time("both, ms", quern->cross_entropy + quern->adam, plain->cross_entropy + plain->adam);
    if (quern->copies > 0) print_row("copies between host and device, ms", 1e3 * quern->copies, 0, "");
    print_time("whole step with matrix products, ms", quern->whole, plain->whole);
}

static void print_memory(const char *what, int64_t quern, int64_t plain) {
    print_ratio_row(what, (double)quern / 1e6, (double)plain / 1e6, (double)plain / (double)quern);
}

bool report_comparison(const struct run_report *quern, const struct run_report *plain) {
    printf("\n  %-38s %10s %12s\n", "", "Quern", "plain loops");
    print_loss_row("loss, last tenth of the steps", quern->outcome.loss, plain->outcome.loss);
    print_loss_row("loss, text held out", quern->outcome.held_out_loss, plain->outcome.held_out_loss);
    print_times(&quern->outcome.times, &plain->outcome.times);
    print_memory("Adam's m and v, MB", quern->moment_bytes, plain->moment_bytes);
    print_memory("parameters, Quern's with master, MB", quern->parameter_bytes, plain->parameter_bytes);
    print_memory("logits and their gradient, MB", quern->logits_bytes, plain->logits_bytes);

    double distance = fmax(apart(quern->outcome.loss, plain->outcome.loss),
                           apart(quern->outcome.held_out_loss, plain->outcome.held_out_loss));
    if (distance <= LOSS_TOLERANCE) return true;
    fflush(stdout);
    fprintf(stderr, "language_model: the two runs reach losses %.2f %% apart; %.0f %% is allowed\n", 100 * distance,
            100 * LOSS_TOLERANCE);
    return false;
}
