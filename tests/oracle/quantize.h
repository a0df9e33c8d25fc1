/* The expected results of quern_quantize and its steps; every pointer of the arguments points to host memory. */
#ifndef ORACLE_QUANTIZE_H
#define ORACLE_QUANTIZE_H

#include "quern.h"

/* The largest magnitudes of a list, and its cast with the scales that follow from amax; with lists instead of a plan. */
void quantize_model_amax(const quern_quantize_args *args);
void quantize_model_cast(const quern_quantize_args *args);

/* Both, or delayed scaling if there is a history, or blocks. */
void quantize_model(const quern_quantize_args *args);

#endif
