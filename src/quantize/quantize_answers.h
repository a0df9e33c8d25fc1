/* The known answers of the quantisation's kernels: see runtime/answers.h.  For its operation's row. */
#ifndef QUERN_QUANTIZE_ANSWERS_H
#define QUERN_QUANTIZE_ANSWERS_H

#include "runtime/answers.h"

extern const struct quern_known_answers quern_quantize_answers;

#endif
