/* The kernel packs that the process has loaded.  For the walk over table rows. */
#ifndef QUERN_PACK_H
#define QUERN_PACK_H

#include "kernels/kernel.h"

/* A pack.  Its rows end with a row without a name.  Packs loaded later come first in the list. */
struct quern_pack {
    struct quern_pack *next;
    uint64_t checksum;
    unsigned char *bytes;  /* of the file, to which the rows refer */
    struct quern_images images;  /* to which the rows refer, too */
    struct quern_image *packed;  /* and these, which follow the rows */
    struct quern_kernel rows[];
};
const struct quern_pack *quern_packs(void);

#endif
