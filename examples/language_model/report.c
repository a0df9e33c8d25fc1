#include "report.h"

#include <math.h>
#include <stdio.h>

static const double LOSS_TOLERANCE = 0.02;

static double per_step_ms(const struct run_report *run, double seconds) {
    return 1e3 * seconds / run->outcome.steps;
}

void report_run(const struct run_report *run) {
    if (run->outcome.steps == 0) {
        printf("  no step was completed\n");
        return;
    }
    printf("  %d steps in %.1f s: loss %.3f over the last tenth, %.3f on text held out\n", run->outcome.steps,
           run->outcome.seconds, run->outcome.loss, run->outcome.held_out_loss);
    printf("  per step: loss and gradient %.2f ms, Adam %.2f ms", per_step_ms(run, run->cross_entropy_seconds),
           per_step_ms(run, run->adam_seconds));
    if (run->copy_seconds > 0) printf(", copies between host and device %.2f ms", per_step_ms(run, run->copy_seconds));
    printf("\n");
}

static void print_row(const char *what, double quern, double plain, const char *note) {
    printf("  %-36s %10.3f %12.3f   %s\n", what, quern, plain, note);
}

/* `better` over `worse` as "2.1x". */
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

static void print_times(const struct run_report *quern, const struct run_report *plain) {
    double quern_loss = per_step_ms(quern, quern->cross_entropy_seconds);
    double plain_loss = per_step_ms(plain, plain->cross_entropy_seconds);
    double quern_adam = per_step_ms(quern, quern->adam_seconds), plain_adam = per_step_ms(plain, plain->adam_seconds);
    double quern_copy = per_step_ms(quern, quern->copy_seconds);
    print_ratio_row("loss and gradient, ms per step", quern_loss, plain_loss, plain_loss / quern_loss);
    print_ratio_row("Adam, ms per step", quern_adam, plain_adam, plain_adam / quern_adam);
    print_ratio_row("both, ms per step", quern_loss + quern_adam, plain_loss + plain_adam,
                    (plain_loss + plain_adam) / (quern_loss + quern_adam));
    if (quern->copy_seconds > 0) print_row("copies between host and device", quern_copy, 0, "");
    double quern_step = per_step_ms(quern, quern->outcome.seconds), plain_step = per_step_ms(plain, plain->outcome.seconds);
    print_ratio_row("whole step, ms", quern_step, plain_step, plain_step / quern_step);
}

static void print_memory(const char *what, int64_t quern, int64_t plain) {
    print_ratio_row(what, (double)quern / 1e6, (double)plain / 1e6, (double)plain / (double)quern);
}

bool report_comparison(const struct run_report *quern, const struct run_report *plain) {
    printf("\n  %-36s %10s %12s\n", "", "Quern", "plain loops");
    print_loss_row("loss, last tenth of the steps", quern->outcome.loss, plain->outcome.loss);
    print_loss_row("loss, text held out", quern->outcome.held_out_loss, plain->outcome.held_out_loss);
    print_times(quern, plain);
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
