/* The NUMA nodes of the machine.  For the thread pool. */
#ifndef QUERN_NODES_H
#define QUERN_NODES_H

#include <stdint.h>

#include "os/cpu_quota.h"

enum { QUERN_NODE_LIMIT = 16 };

struct quern_nodes {
    int count;                         /* the highest number of a node, plus one; 0: it is above the limit, or not known */
    int cores[QUERN_NODE_LIMIT];       /* of each node, those on which the calling thread may run */
    uint8_t of_core[QUERN_CORE_LIMIT];
};

void quern_read_nodes(struct quern_nodes *nodes);

/* From now on the calling thread runs on those of its cores that a node has.  If there is none, it stays where it may be. */
void quern_stay_on_node(int number);

#endif
