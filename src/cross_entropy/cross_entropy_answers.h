/* The known answers of the kernels of cross-entropy.  For the operation's row in cross_entropy_select.c. */
#ifndef QUERN_CROSS_ENTROPY_ANSWERS_H
#define QUERN_CROSS_ENTROPY_ANSWERS_H

struct quern_known_answers;

extern const struct quern_known_answers quern_cross_entropy_answers;

#endif
