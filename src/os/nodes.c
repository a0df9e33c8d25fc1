/* Reads the NUMA nodes of the machine from sysfs.  Called by the thread pool when it starts workers. */
#define _GNU_SOURCE
#include "os/nodes.h"

#include <sched.h>

#include "os/control_group.h"
#include "os/text.h"

/* The cores of a node that the calling thread may use, and their number. */
static int read_node(int number, struct quern_cores *cores) {
    char name[32], list[4096];
    struct quern_cores mine;
    struct quern_text text = quern_text_begin(name, sizeof name);
    *cores = (struct quern_cores){{0}};
    quern_text_add(&text, "/node%d/cpulist", number);
    if (!quern_read_text("/sys/devices/system/node", name, list, sizeof list) || !quern_read_cores(&mine)) return 0;
    quern_parse_cores(list, cores);
    for (int word = 0; word < QUERN_CORE_LIMIT / 64; word++) cores->word[word] &= mine.word[word];
    return quern_count_cores(cores);
}

void quern_read_nodes(struct quern_nodes *nodes) {
    struct quern_cores mine, cores;
    int counted = 0;
    *nodes = (struct quern_nodes){0};
    for (int number = 0; number < QUERN_NODE_LIMIT; number++) {
        counted += nodes->cores[number] = read_node(number, &cores);
        if (nodes->cores[number]) nodes->count = number + 1;
        for (int core = 0; core < QUERN_CORE_LIMIT; core++)
            if (cores.word[core / 64] >> core % 64 & 1) nodes->of_core[core] = (uint8_t)number;
    }
    if (!quern_read_cores(&mine) || counted != quern_count_cores(&mine)) nodes->count = 0;
}

void quern_stay_on_node(int number) {
    struct quern_cores cores;
    if (read_node(number, &cores)) sched_setaffinity(0, sizeof cores, (const cpu_set_t *)&cores);
}
