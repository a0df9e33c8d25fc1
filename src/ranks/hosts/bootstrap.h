/*
 * The meeting of hosts.  One rank of each host speaks for it: it brings the facts of its ranks to the host of rank 0, which hands
 * the facts of all ranks to all hosts when it has them.  Each host writes what it gets into the places of its own segment, where
 * its ranks read it.  A host that cannot take part comes as well, and says why: then all hosts get that reason.
 */
#ifndef QUERN_BOOTSTRAP_H
#define QUERN_BOOTSTRAP_H

#include "os/address.h"
#include "ranks/hosts/facts.h"
#include "ranks/hosts/listener.h"
#include "ranks/rendezvous.h"

struct quern_bootstrap {
    struct quern_membership *member;             /* the speaker */
    struct quern_address place;                  /* where the hosts meet */
    const unsigned char *key;
    int64_t began, deadline;
    struct quern_listener *listener;             /* at the place, of the host of rank 0 */
    struct quern_veto veto;                      /* asked while hosts are awaited */
};

/* The first message of a host.  The facts of its ranks follow, then the code of all. */
struct quern_host_card {
    uint32_t ranks, first_epoch;
    int32_t count;            /* of its ranks */
    uint32_t status;          /* quern_status: not QUERN_OK: it does not take part */
    char reason[200];
};

/* The answer to a host.  If all is well, the facts of all ranks follow; the code is last. */
struct quern_host_verdict {
    uint32_t status;          /* quern_status */
    int32_t hosts;
    uint32_t strangers[QUERN_STRANGERS];
    unsigned char number[32]; /* of this meeting: random */
    char reason[200];
};

/* The code of what is said over a connection, with the key of that connection; each side has another word. */
void quern_seal_card(const unsigned char session[QUERN_DIGEST_BYTES], const struct quern_host_card *card,
                     const struct quern_fact *facts, unsigned char seal[QUERN_DIGEST_BYTES]);
void quern_seal_verdict(const unsigned char session[QUERN_DIGEST_BYTES], const unsigned char digest[QUERN_DIGEST_BYTES],
                        unsigned char seal[QUERN_DIGEST_BYTES]);
/* Of a verdict, and of the facts of so many ranks behind it. */
void quern_digest_verdict(const struct quern_host_verdict *verdict, const struct quern_fact *facts, int ranks,
                          unsigned char digest[QUERN_DIGEST_BYTES]);

/* The card of this host, and the facts of its ranks.  A status that is not QUERN_OK has its reason in the detail of the thread. */
void quern_write_card(const struct quern_membership *member, quern_status status, struct quern_host_card *card,
                      struct quern_fact facts[QUERN_RANK_LIMIT]);

/* Ends as the verdict says, and publishes the facts if all is well. */
quern_status quern_take_verdict(const struct quern_membership *member, const struct quern_host_verdict *verdict,
                                struct quern_fact *facts);

/* Why nobody is awaited any more: the poison, or the veto. */
quern_status quern_look_beside(const struct quern_bootstrap *bootstrap);

/*
 * Goes to the place and comes back with the verdict.  With a status that is not QUERN_OK, of a rank that has not joined its host or
 * of the host, it only says that, and returns it.
 */
quern_status quern_bootstrap(const struct quern_bootstrap *bootstrap, quern_status status);

/* Moves exactly so many bytes before the deadline.  False: errno says why, or 0 if the other side has hung up. */
bool quern_send_all(int socket, const void *data, size_t bytes, int64_t deadline);
bool quern_receive_all(int socket, void *data, size_t bytes, int64_t deadline);

#endif
