/* The two benchmarks, and what is asked of them. */
#ifndef BENCH_H
#define BENCH_H

#include "machine.h"
#include "timing.h"

enum { MAX_THREAD_COUNTS = 8 };

struct plan {
    bool quick;                         /* small shapes and few rounds: shows that everything works, measures little */
    struct patience patience;
    size_t case_bytes;                  /* about how much memory one case may take, where it can be chosen */
    int threads[MAX_THREAD_COUNTS];     /* of a CPU */
    int thread_counts;                  /* 1 on a GPU */
};

void bench_cross_entropy(struct machine *machine, const struct plan *plan);
void bench_adam(struct machine *machine, const struct plan *plan);
/* Takes a step for each line of standard input and writes its seconds; the list is named as records name it for their peers. */
void bench_adam_turns(struct machine *machine, const struct plan *plan, const char *dtypes, const char *list);

/* Checks the byte counts, the lists of tensors and the loops; 0 when all are right, after "N passed, N failed". */
int self_test(void);

#endif
