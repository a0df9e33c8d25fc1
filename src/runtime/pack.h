/* The kernel packs that have been loaded. */
#ifndef QUERN_PACK_H
#define QUERN_PACK_H

#include "kernels/kernel.h"

/* A pack's rows, closed by a row without a name; packs loaded later come first. */
struct quern_pack {
    const struct quern_pack *next;
    uint64_t checksum;
    struct quern_kernel rows[];
};
const struct quern_pack *quern_packs(void);

#endif
