/*
 * The initialisers of the public structs, for programs in languages without their macros: the bytes of the macro, padding
 * included.  A struct that grows gets a second function, to which the header's name then refers: programs that were compiled
 * against the smaller struct pass no more bytes than that.
 */
#include <string.h>

#include "../generated/structs.h"
#include "quern.h"

#define DEFINE_INIT(type, initialiser) \
    void type##_init(type *target) { \
        static const type initial = initialiser; \
        _Static_assert(sizeof initial < 0x10000, "the upper half of the size is the mark"); \
        if (target) memcpy(target, &initial, sizeof initial); \
    }

QUERN_FOR_EACH_STRUCT(DEFINE_INIT)
