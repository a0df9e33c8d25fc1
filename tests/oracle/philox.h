/* Philox4x32 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"). */
#ifndef ORACLE_PHILOX_H
#define ORACLE_PHILOX_H

#include <stdint.h>

void philox4x32(int rounds, const uint32_t counter[4], const uint32_t key[2], uint32_t output[4]);

#endif
