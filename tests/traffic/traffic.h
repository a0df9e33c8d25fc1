/*
 * Counts what the library sends over its connections.  The program is linked with --wrap for the calls of the system, so the
 * library is the one that is delivered.  Both ends of each connection are in this process: what is sent is counted, once, at its
 * sender.
 */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include "ranks/hosts/handshake.h"

enum { TRAFFIC_KINDS = 8 };  /* more than there are in enum quern_call_kind */

struct traffic {
    long connections;      /* whose handshake is complete */
    long handshake_bytes;  /* of theirs: four messages each */
    long messages, bytes;  /* behind handshakes: frames of data and relays; elsewhere what one call of the system sends */
    long beats, beat_bytes;  /* of control connections: they come with time, so they are not in the two above */
};

/* What was sent since the last call, by kind of connection. */
void traffic_take(struct traffic totals[TRAFFIC_KINDS]);

/* The beats among it so far. */
long traffic_beats(void);

#endif
