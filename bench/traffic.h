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

/* Per parameter; only the dtypes and options of args are looked at. */
double adam_bytes(const quern_adam_args *args);

/* The bytes of 32 elements of a moment, with their scale if there is one. */
int moment_unit_bytes(quern_dtype dtype);
bool is_scaled(quern_dtype dtype);
int adam_flops(void);

#endif
