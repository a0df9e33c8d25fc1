/* Cross-entropy on a CPU, for cross_entropy_run.c. */
#ifndef QUERN_CROSS_ENTROPY_CPU_H
#define QUERN_CROSS_ENTROPY_CPU_H

#include "cross_entropy/cross_entropy_call.h"

quern_status quern_cross_entropy_on_cpu(struct quern_cross_entropy_call *call);

#endif
