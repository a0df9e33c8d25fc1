/*
 * Random lists of transfers.  Every rank makes the whole case from its seed, so it knows what it must receive; each gives its items
 * in an order of its own.
 */
#ifndef HARNESS_TRANSFER_CASE_H
#define HARNESS_TRANSFER_CASE_H

#include "harness/ranks.h"

/* Where the items are. */
struct transfer_place {
    void *user, *stream;      /* the latter is that of the starts */
    void *(*make)(void *user, int64_t bytes);
    void (*free)(void *user, void *memory);
    void (*put)(void *user, void *to, const void *from, int64_t bytes);  /* on the stream; `from` may change when it returns */
    void (*get)(void *user, void *to, const void *from, int64_t bytes);  /* waits for the copy, not for the stream */
    void (*between)(void *user);  /* before and after each of several cases; NULL: nothing */
};

extern const struct transfer_place transfer_place_of_host;

struct transfer_choice {
    int lists;        /* transfers at the same time, started in an order of each rank's own */
    int items;        /* of all ranks together, in each list */
    int64_t largest;  /* bytes of an item */
    int rounds;       /* starts of each list */
    bool batch;       /* the starts of a round are between quern_transfer_begin and _end */
    bool busy;        /* barriers and sleeps between the starts and the waits */
    bool captures;    /* over NCCL: each start is in a graph of its own, which is launched once */
    const struct transfer_place *place;  /* NULL: the host's memory */
};

/* Prepares, runs and destroys one case; fails the rank unless every byte is right, also beside the items. */
void transfer_run_case(struct rank *rank, quern_group *group, uint64_t seed, const struct transfer_choice *choice);

/* That many cases of each of three choices: few items, all sizes that start together, between barriers. */
void transfer_run_choices(struct rank *rank, quern_group *group, int cases, const struct transfer_place *place);

/* Rank functions: the former, user is the number of cases; and one case, user is its choice. */
quern_status transfer_run_lists(struct rank *rank);
quern_status transfer_run_one(struct rank *rank);

/* One item, and a list of them. */
quern_transfer_item transfer_item(int receive, int peer, uint64_t tag, void *memory, int64_t bytes);
quern_transfer *transfer_prepare(struct rank *rank, quern_group *group, uint64_t key, const quern_transfer_item *items,
                                 int64_t count);

/* The same of one item, which rank 0 of two sends. */
quern_transfer *transfer_prepare_one(struct rank *rank, quern_group *group, uint64_t key, uint64_t tag, void *memory,
                                     int64_t bytes);

#endif
