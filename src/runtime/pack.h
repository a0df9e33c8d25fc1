/* The kernel packs that the process has loaded. */
#ifndef QUERN_PACK_H
#define QUERN_PACK_H

#include "kernels/kernel.h"

/* The rows of a pack, closed by a row without a name.  Packs loaded later come first. */
struct quern_pack {
    const struct quern_pack *next;
    uint64_t checksum;
    struct quern_kernel rows[];
};
const struct quern_pack *quern_packs(void);

#endif
