/* Where ranks run: the same placement for every contender, in whichever program it is. */
#ifndef CORES_H
#define CORES_H

/*
 * Binds the calling thread to the first `cores` of the cores that it may use: to one of its own if there are as many cores as
 * ranks, else to all of them, so that the scheduler places the ranks as it would in an overloaded job.
 */
void cores_bind(int rank, int ranks, int cores);

/* How many cores the calling thread may use. */
int cores_usable(void);

#endif
