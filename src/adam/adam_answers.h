/* The known answers of the kernels of Adam and of gradients.  For the operation's row in adam_select.c. */
#ifndef QUERN_ADAM_ANSWERS_H
#define QUERN_ADAM_ANSWERS_H

struct quern_known_answers;

extern const struct quern_known_answers quern_adam_answers;

#endif
