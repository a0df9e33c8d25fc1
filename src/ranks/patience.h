/* How often a rank looks again before it gives its core away or sleeps: learnt from its last waits.  For meetings. */
#ifndef QUERN_PATIENCE_H
#define QUERN_PATIENCE_H

/* Zero is no patience. */
struct quern_patience {
    int looks;       /* in the next wait, 0 to most */
    int most, least;
    int failures;    /* waits in a row that ended without success */
    int resting;     /* waits until it looks again, if looks is 0 */
};

/* Looking has ended a wait; it has not. */
void quern_patience_pays(struct quern_patience *patience);
void quern_patience_fails(struct quern_patience *patience);

/* A single look has cost more than the wait was worth: no look in the next waits. */
void quern_patience_rests(struct quern_patience *patience);

/* How often to look in this wait. */
int quern_patience_looks(struct quern_patience *patience);

#endif
