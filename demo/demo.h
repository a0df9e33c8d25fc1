/* The data that all runs of the program, and all their ranks in this process, share. */
#ifndef DEMO_H
#define DEMO_H

#include "model.h"
#include "options.h"
#include "tokenizer.h"
#include "training.h"
#include "words.h"

struct demo {
    struct options options;
    struct words words;
    struct tokenizer text;
    struct model_shape shape;
    struct training training;
    char group[64];  /* the name under which the ranks meet */
};

#endif
