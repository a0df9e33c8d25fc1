/* Kernel packs, whole and damaged. */
#ifndef FUZZ_PACK_H
#define FUZZ_PACK_H

void pack_begin(void);  /* once, before the first */

/* Writes a pack and returns its path, or a path to something else. */
const char *pack_path(void);

#endif
