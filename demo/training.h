/* One training run: the same batches, in the same order, for every backend. */
#ifndef TRAINING_H
#define TRAINING_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend.h"
#include "ranks.h"

struct model;
struct tokenizer;

struct training {
    const struct tokenizer *text;
    int64_t train_tokens;  /* the model learns the text up to here; the rest is held out */
    int steps;
    uint64_t seed;
    volatile sig_atomic_t *interrupted;  /* set by the signal handler: stop after the current step */
    bool is_silent;        /* another rank shows the progress */
    quern_device *looked_at;  /* is told each step; NULL: none */
    const char *curve;     /* file that receives the loss of each step, a line each; NULL: none */
};

struct outcome {
    int steps;              /* steps done */
    bool interrupted;       /* on some rank, as all ranks know */
    double seconds;
    double loss;            /* mean over the last tenth of the steps done */
    double held_out_loss;
    bool guesses;           /* the backend tells of: */
    struct guesses guessed; /* of the text held out */
    struct step_times times;  /* the fastest of each, which is least disturbed by other programs */
    int64_t tokens;           /* of all ranks */
    struct exchange_totals totals;  /* this rank's seconds; the bytes of all ranks */
};

/* Collective.  False after a message on stderr when an operation failed; an interrupted run is true, with fewer steps. */
bool train(struct model *model, struct backend *backend, const struct training *training, struct outcome *outcome);

#endif
