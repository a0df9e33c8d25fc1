/* The parts of a walk, for choice.c. */
#ifndef FIELDS_WALKS_H
#define FIELDS_WALKS_H

#include "fields/slots.h"

/* The illegal values of a checked number or choice, and of what must be 0 or NULL: limits.c. */
void fields_walk_values(const struct call *call, const struct slot *slot);
void fields_walk_unused(const struct call *call, const struct slot *slot);

/* The sizes with which structs begin: structs.c. */
void fields_walk_structs(const struct call *call);

/* Several fields at once, by chance: mixtures.c. */
void fields_walk_mixtures(const struct call *call);

#endif
