/* Whether the GPUs of a group really reach each other's memory.  For cuda_transport.c. */
#ifndef QUERN_PEER_PROBE_H
#define QUERN_PEER_PROBE_H

#include "ranks/membership.h"

/* The bytes of a pad and of what the probe uses behind it; zeroed. */
size_t quern_probed_pad_bytes(int ranks);

/*
 * Collective: each rank writes a word behind every other rank's pad and reads it back, and finds the words of the others behind its
 * own.  QUERN_NOT_SUPPORTED names the GPUs between which a word was lost.
 */
quern_status quern_probe_peers(struct quern_membership *const *members, int count);

#endif
