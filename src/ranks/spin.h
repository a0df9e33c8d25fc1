/* How often a wait spins before the rank yields its core or sleeps: learnt from its last waits.  For meetings. */
#ifndef QUERN_SPIN_H
#define QUERN_SPIN_H

/* A zeroed struct never spins. */
struct quern_spin {
    int spins;       /* in the next wait, 0 to most */
    int most, least;
    int failures;    /* waits in a row that ended without success */
    int resting;     /* waits until it looks again, if spins is 0 */
};

/* Spinning has ended a wait; it has not. */
void quern_spin_succeeded(struct quern_spin *spin);
void quern_spin_failed(struct quern_spin *spin);

/* A single spin has cost more than the wait was worth: none in the next waits. */
void quern_spin_pause(struct quern_spin *spin);

/* How often to spin in this wait. */
int quern_spin_count(struct quern_spin *spin);

#endif
