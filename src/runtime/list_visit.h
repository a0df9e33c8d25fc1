/* Visits the arrays of a list in pieces, on the threads of a CPU device.  For gradients and quantisation. */
#ifndef QUERN_LIST_VISIT_H
#define QUERN_LIST_VISIT_H

#include "quern.h"
#include "runtime/list_marks.h"

/* The elements from `first` on of the array at `place` of the list.  `piece` counts the pieces of the whole list. */
typedef void quern_piece_visit(void *context, int64_t place, int64_t piece, int64_t first, int64_t count);

struct quern_list_visit {
    const void *list;
    int64_t places;
    quern_list_units *elements;  /* of the array at a place */
    int64_t chunk;               /* elements of a piece; the last one of an array may have fewer */
    bool visits_empty;           /* an array without elements is one piece; else it has none */
    quern_piece_visit *visit;
    void *context;
};

/* Visits every piece once; returns when all visits have. */
void quern_visit_list(const quern_device *device, const struct quern_list_visit *visit);

#endif
