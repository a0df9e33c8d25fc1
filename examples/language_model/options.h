/* The command line. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "backend.h"
#include "model.h"

struct options {
    struct device_choice device;
    const char *corpus;
    bool comparison;
    int64_t seed, steps, threads;              /* threads 0: one per core that the process may use */
    int64_t batch, context, layers, vocab, width;
};

/* Ends the program with status 2 and the usage on stderr when the command line makes no sense. */
struct options options_parse(int argc, char **argv);

#endif
