/* What calls do to handles. */
#ifndef FUZZ_EFFECTS_H
#define FUZZ_EFFECTS_H

#include "calls.h"

/* Makes room for a call: false if it must not be made, because there are enough handles of its kind. */
bool effects_before(struct call *call);

/* Keeps what the call has made, with the memory that it refers to; forgets what it has destroyed. */
void effects_after(struct call *call, uint64_t result);

#endif
