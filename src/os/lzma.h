/* LZMA, the compression of xz and 7-Zip: decodes raw streams that end with a marker.  For the packed images of kernels. */
#ifndef QUERN_LZMA_H
#define QUERN_LZMA_H

#include <stdbool.h>
#include <stddef.h>

/* The stream's contexts: how many bits of the byte before a literal (lc), and of a byte's place (lp, pb), choose a probability. */
struct quern_lzma_contexts {
    unsigned char lc, lp, pb;  /* lc + lp and pb are at most 4 */
};

enum { QUERN_LZMA_SCRATCH = 28270 };  /* bytes, at a multiple of 2 */

/* Decodes a stream.  False if it is damaged or does not give as many bytes as `out` has. */
bool quern_lzma_decode(struct quern_lzma_contexts contexts, const unsigned char *in, size_t in_bytes, void *scratch,
                       unsigned char *out, size_t out_bytes);

#endif
