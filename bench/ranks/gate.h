/* Where ranks wait for each other outside of what is measured.  They yield, so that one that is still busy has a core. */
#ifndef GATE_H
#define GATE_H

/* In memory that all ranks see, zeroed. */
struct gate {
    _Alignas(128) int arrived;      /* atomic */
    _Alignas(128) unsigned opened;  /* how often; atomic */
};

/* Returns when all ranks have come. */
void gate_pass(struct gate *gate, int ranks);

#endif
