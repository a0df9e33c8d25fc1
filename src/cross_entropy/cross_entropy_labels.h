/* The check of strict labels.  For cross_entropy.c and linear_cross_entropy.c. */
#ifndef QUERN_CROSS_ENTROPY_LABELS_H
#define QUERN_CROSS_ENTROPY_LABELS_H

#include "cross_entropy/cross_entropy_call.h"

/* Checks an initialised call with strict labels before anything is written: on a CPU every label, on a GPU that there is a report. */
quern_status quern_cross_entropy_check_labels(const struct quern_cross_entropy_call *call);

#endif
