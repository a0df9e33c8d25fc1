/*
 * Patience grows slowly with each success, and halves with each failure from the third in a row on.  So a rank whose peers come at
 * once polls as long as ever, a single late peer changes nothing, and a rank that shares its core soon stops polling: no matter
 * whether it was pinned there after it joined, or the core has other work.  Called by meeting.c.
 */
#include "ranks/patience.h"

enum { FORGIVEN = 2, REST = 256 };

void quern_patience_pays(struct quern_patience *patience) {
    patience->failures = 0;
    if (patience->looks == patience->most) return;
    patience->looks += patience->looks / 4 + 1;
    if (patience->looks > patience->most) patience->looks = patience->most;
}

void quern_patience_fails(struct quern_patience *patience) {
    if (++patience->failures <= FORGIVEN) return;
    patience->failures = FORGIVEN;
    patience->looks /= 2;
    if (patience->looks < patience->least) patience->looks = patience->least;
}

void quern_patience_rests(struct quern_patience *patience) {
    patience->looks = 0;
    patience->resting = REST;
}

int quern_patience_looks(struct quern_patience *patience) {
    if (patience->looks == 0 && --patience->resting <= 0) patience->looks = 1;
    return patience->looks;
}
