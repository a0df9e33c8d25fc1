/* The command line. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "backend.h"
#include "device.h"
#include "look.h"

struct options {
    struct device_choice device;
    const char *corpus;
    const char *curve;         /* NULL: none */
    struct look look;
    struct optimizer optimizer;
    bool comparison;
    int64_t seed, steps, threads;
    int64_t batch, context, layers, vocab, width;
    int64_t experts;           /* 0: none */
    int64_t ranks;             /* 0: the run is not spread over ranks */
    int64_t timeout;
    bool processes;
    bool pipeline;             /* the ranks have different layers */
    int64_t tensor_parallel;   /* ranks that have parts of each MLP: all of them; 0: none */
    int64_t hosts;             /* of the ranks */
    int64_t host;              /* that this program is; -1: all of them */
    const char *meet;          /* of several hosts: an address of host 0 and a port; NULL: not chosen yet */
    const char *secret;        /* a file; NULL: not drawn yet */
    int64_t rank;              /* of this process, if it was started as one rank; else -1 */
    const char *group;         /* where the ranks meet */
};

/* The text that demo/corpus.py writes. */
#define OWN_CORPUS "build/corpus.txt"

/* With defaults filled in.  Ends the program with status 2 and a message on stderr if the command line is not valid. */
struct options options_parse(int argc, char **argv);

#endif
