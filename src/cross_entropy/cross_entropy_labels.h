/* The check of strict labels.  For cross_entropy.c and linear_cross_entropy.c. */
#ifndef QUERN_CROSS_ENTROPY_LABELS_H
#define QUERN_CROSS_ENTROPY_LABELS_H

#include "cross_entropy/cross_entropy_call.h"

/* With strict labels: a CPU needs good labels in all rows, a GPU a report.  The call is filled in and has not started. */
quern_status quern_cross_entropy_check_labels(const struct quern_cross_entropy_call *call);

#endif
