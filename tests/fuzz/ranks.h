/* Groups of two or three ranks in threads, whose calls agree or contradict each other. */
#ifndef FUZZ_RANKS_H
#define FUZZ_RANKS_H

#include <quern.h>
#include <stdbool.h>

/* Lets a group live and die as the input says.  False: nothing was done, because groups have had their share of the time. */
bool ranks_meet(quern_device *device);

void ranks_print_counts(void);

#endif
