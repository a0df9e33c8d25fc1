/* What a dump does before and after a call.  For dump.c. */
#ifndef QUERN_DUMP_CALL_H
#define QUERN_DUMP_CALL_H

#include "look/dump_state.h"

/* Writes the inputs of a call, and notes the rest for the end: its outputs and its line in the index. */
void quern_dump_begin_call(struct quern_look *look);
void quern_dump_end_call(struct quern_look *look, quern_status status);

#endif
