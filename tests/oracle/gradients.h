/* The expected results of quern_gradient_norm and quern_accumulate; every pointer of the arguments points to host memory. */
#ifndef ORACLE_GRADIENTS_H
#define ORACLE_GRADIENTS_H

#include <stdbool.h>

#include "quern.h"

struct exact_norm {
    double norm, clip;   /* not defined when found_inf */
    bool found_inf;
};

/* The norm in long double, in which squares of fp32 values neither overflow nor underflow. */
struct exact_norm gradient_norm_exact(const quern_gradient_norm_args *args);

/* The sums in place, bit for bit, with lists instead of a plan. */
void accumulate_model(const quern_accumulate_args *args);

#endif
