/*
 * What is counted: the bytes that an operation must move per element, each input read once and each output written once, and
 * an estimate of its floating-point operations.
 */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include <stdbool.h>

#include "quern.h"

/* Per logit. */
int cross_entropy_bytes(quern_dtype logits, bool gradient);
int cross_entropy_flops(bool gradient);

/* Per parameter; only the dtypes of args are looked at. */
int adam_bytes(const quern_adam_args *args);
int adam_flops(void);

#endif
