/*
 * The number of spins grows slowly with each success, and halves with each failure from the third in a row on.  So a rank whose
 * peers come at once polls as long as ever, a single late peer changes nothing, and a rank that shares its core soon stops
 * polling: no matter whether it was pinned there after it joined, or the core has other work.  Called by meeting.c.
 */
#include "ranks/spin.h"

enum { FORGIVEN = 2, REST = 256 };

void quern_spin_succeeded(struct quern_spin *spin) {
    spin->failures = 0;
    if (spin->spins == spin->most) return;
    spin->spins += spin->spins / 4 + 1;
    if (spin->spins > spin->most) spin->spins = spin->most;
}

void quern_spin_failed(struct quern_spin *spin) {
    if (++spin->failures <= FORGIVEN) return;
    spin->failures = FORGIVEN;
    spin->spins /= 2;
    if (spin->spins < spin->least) spin->spins = spin->least;
}

void quern_spin_pause(struct quern_spin *spin) {
    spin->spins = 0;
    spin->resting = REST;
}

int quern_spin_count(struct quern_spin *spin) {
    if (spin->spins == 0 && --spin->resting <= 0) spin->spins = 1;
    return spin->spins;
}
