/* The program's output about its runs. */
#ifndef REPORT_H
#define REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "run.h"
#include "training.h"

/* The result of a run and its memory. */
struct run_report {
    struct outcome outcome;
    int64_t moment_bytes, parameter_bytes, logits_bytes;
};

void report_introduction(const struct demo *demo);
void report_title(const struct run *run);
void report_run(const struct run_report *run, const struct model *model);

/* Print both runs side by side; false, with the reason on stderr, when their losses are too far apart. */
bool report_comparison(const struct run_report *quern, const struct run_report *plain);
bool report_ranks(const struct run_report *many, const struct run_report *one, const struct options *options);
bool report_same(const struct run_report *many, const struct run_report *one, const struct options *options);  /* the same bits */

#endif
