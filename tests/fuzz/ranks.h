/* Groups of two or three ranks in threads, whose calls agree or contradict each other. */
#ifndef FUZZ_RANKS_H
#define FUZZ_RANKS_H

#include <quern.h>
#include <stdbool.h>
#include <stdint.h>

/* Lets a group live and die as the input says.  False: nothing was done, since there were many groups for so few other calls. */
bool ranks_meet(quern_device *device, uint64_t calls);

void ranks_print_counts(void);

#endif
