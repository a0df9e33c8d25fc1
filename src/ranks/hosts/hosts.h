/* Several hosts: bootstrap, connections, heartbeats, transports of data, and the quorum of a shrink. */
#ifndef QUERN_RANKS_HOSTS_H
#define QUERN_RANKS_HOSTS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "os/address.h"
#include "os/sha256.h"
#include "quern.h"
#include "ranks/heartbeat.h"
#include "ranks/meeting.h"
#include "ranks/membership.h"
#include "ranks/rendezvous.h"
#include "ranks/segment.h"

/*
 * The ways that data may take between hosts: the rows under sendrecv.c.  A row moves the parts of a channel; what a message says,
 * who is waited for and for how long is the business of sendrecv.c.
 *
 * Control stays on sockets with every row: meeting, liveness, poison.  A group begins with the row of sockets, and goes over to
 * another one when all ranks have agreed (src/ranks/hosts/hosts.h).
 */

struct quern_membership;
struct quern_net;
struct quern_sendrecv;
struct quern_channel;
struct quern_frame;

enum quern_outcome {
    QUERN_STUCK,    /* nothing has moved */
    QUERN_MOVED,
    QUERN_ENDED,    /* the other rank has ended or left */
    QUERN_FAILED,   /* sendrecv->why says why */
    QUERN_DAMAGED   /* what has come is no message of this rank */
};

struct quern_data_row {
    const char *name;
    bool merges;    /* parts that follow each other in memory may be one; else both ends have parts of the same sizes */

    /* Begin and go on to send what a channel has; to receive its head; to receive the parts of which the head has told. */
    enum quern_outcome (*send)(struct quern_sendrecv *sendrecv, struct quern_channel *channel);
    enum quern_outcome (*receive_head)(struct quern_sendrecv *sendrecv, struct quern_channel *channel);
    enum quern_outcome (*receive)(struct quern_sendrecv *sendrecv, struct quern_channel *channel);

    /* Lets others run for a while: nothing has moved for some time. */
    void (*rest)(struct quern_sendrecv *sendrecv);

    /*
     * What the pair's connection says while data goes another way; NULL: data goes there.  ENDED: the rank has ended, or *last is
     * its goodbye; MOVED: *last is the head of a barrier; STUCK: nothing.
     */
    enum quern_outcome (*look)(const struct quern_sendrecv *sendrecv, int rank, struct quern_frame *last);

    /*
     * The call has failed: nothing more is begun, and what is under way is taken back as far as that goes at once; NULL: there is
     * none.
     */
    void (*abandon)(struct quern_sendrecv *sendrecv);

    /* Takes the memory of callers back, within a second; and ends the row for a rank.  NULL: nothing is to be done. */
    quern_status (*settle)(struct quern_membership *member);
    void (*close)(struct quern_net *net, bool has_failed);  /* has_failed: the group is poisoned */
};

/* ---- handshake.c ---- */

/*
 * Both ends of a new connection prove that they know the key of the group, before anything else is read from it:
 *
 *   caller    hello      magic, version, why it calls, its rank, the rank that it calls, a random number
 *   listener  challenge  magic, version, another random number
 *   caller    proof      the code of both with the key
 *   listener  welcome    the code of both with the key, for the other direction; or a refusal
 *
 * A code is HMAC-SHA-256.  The caller proves first, so who does not know the key gets nothing from a listener by which secrets
 * could be tried.  A repeated hello has no proof for the new random number.  Nothing is encrypted.  No function
 * waits.
 *
 * All versions of the library have magic and version where they are here, and a hello of 56 bytes, so each hears of the other.
 */

/* Why a connection is made. */
enum quern_call_kind { QUERN_CALL_MEETING = 1, QUERN_CALL_DATA, QUERN_CALL_CONTROL, QUERN_CALL_TRANSFERS };

/* Connections that came to nothing, as quern_group_report counts them. */
enum quern_rejection {
    QUERN_REJECTED_GARBAGE,   /* it does not speak this protocol */
    QUERN_REJECTED_FALSE,     /* a proof with another secret, name or job */
    QUERN_REJECTED_REPEATED,  /* a hello that was used before */
    QUERN_REJECTED_SLOW,      /* it did not say enough in time */
    QUERN_REJECTED_CROWDED,   /* the oldest of too many at once */
    QUERN_REJECTED_VERSION,   /* another version of the library */
    QUERN_REJECTED_DAMAGED,   /* a host whose card does not have its HMAC */
    QUERN_REJECTIONS
};

struct quern_hello {
    char magic[8];
    uint32_t version;         /* also says the order of bytes */
    uint32_t kind;            /* enum quern_call_kind */
    int32_t from, to;         /* ranks */
    unsigned char number[32];
};

struct quern_challenge {
    char magic[8];
    uint32_t version, spare;
    unsigned char number[32];
};

struct quern_welcome {
    char word[8];             /* WELCOME, or REFUSED */
    unsigned char code[QUERN_DIGEST_BYTES];
};

enum quern_handshake_state { QUERN_HANDSHAKE_GOES_ON, QUERN_HANDSHAKE_DONE, QUERN_HANDSHAKE_FAILED };

struct quern_handshake {
    int socket;
    bool is_listener;
    const unsigned char *key;     /* [QUERN_DIGEST_BYTES] */
    int step;
    size_t done;                  /* bytes of the step's message */
    int64_t began;
    struct quern_hello hello;
    struct quern_challenge challenge;
    unsigned char proof[QUERN_DIGEST_BYTES];
    struct quern_welcome welcome;
    bool refuses;                 /* the listener: it fails when the present message is out, which tells the caller why */
    enum quern_rejection rejection; /* FAILED: what it was; GARBAGE also if it has hung up */
};

/*
 * The key of a group: of its secret, its name, its job and, once they have met, of the number of the meeting; from that the key of
 * its shrink, of which it has one.
 */
void quern_make_key(const void *secret, size_t secret_bytes, const char *name, uint64_t job, unsigned char key[QUERN_DIGEST_BYTES]);
void quern_make_shrink_key(const unsigned char meeting[QUERN_DIGEST_BYTES], unsigned char key[QUERN_DIGEST_BYTES]);
void quern_make_meeting_key(const unsigned char key[QUERN_DIGEST_BYTES], const unsigned char number[32],
                            unsigned char meeting[QUERN_DIGEST_BYTES]);

/* Begin: at the listener; as the caller, over a socket that is connected or connecting. */
void quern_handshake_answer(struct quern_handshake *handshake, int socket, const unsigned char *key);
bool quern_handshake_call(struct quern_handshake *handshake, int socket, const unsigned char *key, enum quern_call_kind kind,
                          int from, int to);

/* The key of what is said over a connection, when both ends have proved themselves. */
void quern_handshake_session(const struct quern_handshake *handshake, unsigned char session[QUERN_DIGEST_BYTES]);

/* The version of the protocol, which each change of a message between hosts raises. */
extern const uint32_t quern_handshake_version;

/* Goes as far as it can without waiting.  The socket stays the caller's. */
enum quern_handshake_state quern_handshake_go(struct quern_handshake *handshake);

/* The events to poll for until the next step. */
short quern_handshake_awaits(const struct quern_handshake *handshake);

/* ---- facts.c: the facts that hosts exchange about their ranks, read from and written into a segment ---- */

struct quern_fact {
    int32_t rank, host;
    struct quern_process process;
    int32_t device_kind, device_ordinal;
    unsigned char device_uuid[16];
    int32_t share_gpu, has_fabric;
    struct quern_address address;
    uint32_t transports;             /* of data that it allows: bits of choice.c */
    uint32_t failure_timeout;          /* microseconds: after which it counts a host as lost */
};

/* The facts of all ranks when all have arrived. */
struct quern_roll {
    int32_t hosts;
    unsigned char number[32];  /* of this meeting: random */
    const uint32_t *rejections; /* [QUERN_REJECTIONS]; NULL: none were counted */
    struct quern_fact *facts;  /* [ranks] */
};

/* The facts of one rank that has joined; those of all ranks of this host, with their number. */
struct quern_fact quern_read_fact(const struct quern_membership *member, int rank);
int quern_read_own_facts(const struct quern_membership *member, struct quern_fact facts[QUERN_RANK_LIMIT]);

/* Each place of a rank that is elsewhere gets what its host has said. */
void quern_publish_roll(const struct quern_membership *member, const struct quern_roll *roll);

/* ---- listener.c: A listening socket and the connections at it that have not proved yet whom they belong to ---- */

enum {
    QUERN_LISTENER_NUMBERS = 128,
    QUERN_LISTENER_CALLS = 3,      /* at most: of a rank to another one */
    QUERN_LISTENER_PLACES = QUERN_LISTENER_CALLS * QUERN_GROUP_LIMIT  /* at most */
};

struct quern_listener {
    int socket;                    /* -1: closed */
    struct quern_address address;
    const unsigned char *key;
    uint32_t *rejections;             /* [QUERN_REJECTIONS], atomic: counts */
    struct quern_handshake *waiting;  /* [places] */
    int count, places;
    unsigned char numbers[QUERN_LISTENER_NUMBERS][32];  /* of the last hellos, to know repeated ones */
    unsigned seen;
    unsigned char session[QUERN_DIGEST_BYTES];  /* the key of the last connection that was served */
    int shortage;                  /* the error by which the system lets no connection in, though none waits here; 0: it does */
};

/*
 * The ports of listeners that may have any, by QUERN_PORTS=FIRST-LAST in the environment; zeros: all.  False: the variable is
 * something else.
 */
bool quern_listener_ports(struct quern_ports *ports);

/*
 * Opens what may have any of these ports: at 0, which the system replaces, or at the first one of QUERN_PORTS that is free.  False:
 * errno says why, of the port that it has tried last.
 */
bool quern_try_ports(bool (*opens)(void *user, uint16_t port), void *user);

/*
 * Opens it at an address; port 0: any of those, which the address then has.  It has places for the calls of a group of so many
 * ranks that come at once.  False: errno says why.
 */
bool quern_listener_open(struct quern_listener *listener, const struct quern_address *address, int ranks);
void quern_listener_close(struct quern_listener *listener);

/*
 * Binds a socket to a free port of an address, where it does not listen: until it is closed no other program gets the port, and a
 * listener can still be opened there.  -1: errno says why.
 */
int quern_reserve_port(const struct quern_address *address, uint16_t *port);

/* Fills in what to poll for; returns how many. */
int quern_listener_awaits(const struct quern_listener *listener, struct pollfd *polls);  /* [1 + places] */

/*
 * Lets connections in and goes on with all handshakes, without waiting.  The socket of one that is done, with what it said; -1:
 * none is.  To be called again until it is -1.
 */
int quern_listener_serve(struct quern_listener *listener, struct quern_hello *hello);

/* ---- bootstrap.c ---- */

/*
 * The meeting of hosts.  One rank of each host speaks for it: it brings the facts of its ranks to the host of rank 0, which hands
 * the facts of all ranks to all hosts when it has them.  Each host writes what it gets into the places of its own segment, where
 * its ranks read it.  A host that cannot take part comes as well, and says why: then all hosts get that reason.
 */

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
struct quern_host_answer {
    uint32_t status;          /* quern_status */
    int32_t hosts;
    uint32_t rejections[QUERN_REJECTIONS];
    unsigned char number[32]; /* of this meeting: random */
    char reason[200];
};

/* The code of what is said over a connection, with the key of that connection; each side has another word. */
void quern_sign_card(const unsigned char session[QUERN_DIGEST_BYTES], const struct quern_host_card *card,
                     const struct quern_fact *facts, unsigned char hmac[QUERN_DIGEST_BYTES]);
void quern_sign_decision(const unsigned char session[QUERN_DIGEST_BYTES], const unsigned char digest[QUERN_DIGEST_BYTES],
                        unsigned char hmac[QUERN_DIGEST_BYTES]);
/* Of a decision, and of the facts of so many ranks behind it. */
void quern_digest_decision(const struct quern_host_answer *decision, const struct quern_fact *facts, int ranks,
                          unsigned char digest[QUERN_DIGEST_BYTES]);

/* The card of this host, and the facts of its ranks.  A status that is not QUERN_OK has its reason in the detail of the thread. */
void quern_write_card(const struct quern_membership *member, quern_status status, struct quern_host_card *card,
                      struct quern_fact facts[QUERN_RANK_LIMIT]);

/* Ends as the decision says, and publishes the facts if all is well. */
quern_status quern_take_decision(const struct quern_membership *member, const struct quern_host_answer *decision,
                                struct quern_fact *facts);

/* Why nobody is awaited any more: the poison, or the veto. */
quern_status quern_look_beside(const struct quern_bootstrap *bootstrap);

/*
 * Goes to the place and comes back with the decision.  With a status that is not QUERN_OK, of a rank that has not joined its host
 * or of the host, it only says that, and returns it.
 */
quern_status quern_bootstrap(const struct quern_bootstrap *bootstrap, quern_status status);

/* Moves exactly so many bytes before the deadline.  False: errno says why, or 0 if the other side has hung up. */
bool quern_send_all(int socket, const void *data, size_t bytes, int64_t deadline);
bool quern_receive_all(int socket, void *data, size_t bytes, int64_t deadline);

/* ---- bootstrap_root.c: the place of meeting, which rank 0 holds: see bootstrap.c ---- */

struct quern_bootstrap_root;

/* NULL: no memory. */
struct quern_bootstrap_root *quern_open_bootstrap_root(const struct quern_bootstrap *bootstrap);
void quern_close_bootstrap_root(struct quern_bootstrap_root *place);

/*
 * Serves those who have come, while the ranks of this host still meet.  Fails if those cannot all come, since other hosts have
 * brought more ranks than this one leaves them.
 */
quern_status quern_serve_bootstrap_root(struct quern_bootstrap_root *place);

/*
 * Awaits all hosts and tells them the decision.  With a status that is not QUERN_OK, which has its reason in the detail of the
 * thread, this host does not take part, and the others hear why; so do those who come later, until the limit.
 */
quern_status quern_hold_bootstrap_root(struct quern_bootstrap_root *place, quern_status status);

/* ---- choice.c: chooses the transport between the hosts of a group ---- */

/* The transports that a rank allows, as bits of membership->transports. */
enum { QUERN_TRANSPORT_CARRIER = 1, QUERN_TRANSPORT_UCX = 2, QUERN_TRANSPORT_SOCKETS = 4 };

/* Reads quern_hosts_args.transports, which may be NULL.  Returns NULL, or the rest from the first unknown name on. */
const char *quern_read_transports(const quern_hosts_args *hosts, uint32_t *transports);

/* Sockets serve so many ranks of several hosts.  Tests lower the number. */
extern uint32_t quern_most_over_sockets;

/* QUERN_NOT_SUPPORTED: a rank allows sockets alone in a group that is too large for them. */
quern_status quern_check_transports(struct quern_membership *member);

/*
 * Collective: takes the first row of the table that works on all ranks, and writes into the net why not those before it.  With
 * sockets alone nothing is said, since the facts of all ranks have their transports.  QUERN_NOT_SUPPORTED: none works.
 */
quern_status quern_choose_transport(struct quern_membership *member);

/* ---- connections.c ---- */

/*
 * One rank's way to the ranks of other hosts: see choice.c.
 *
 * Each rank has two connections to every rank of another host, for calls and for transfers, which only its own thread uses, inside
 * of calls: nothing wakes another thread on the way of a message, and bytes go straight between the caller's memory and the socket.
 */

struct quern_channel;
struct quern_data_row;
struct quern_messages;

struct quern_net {
    const struct quern_data_row *row;        /* the transport: src/ranks/hosts/hosts.h */
    struct quern_messages *messages;         /* of a row of messages; NULL: it is none */
    const char *transport;                         /* the name of the row, or of its carrier ... */
    char why[240];                           /* ... and why not the rows before it; "": there are none */
    struct quern_rank_set here;              /* the ranks of this host */
    unsigned char key[32];                   /* of the group's meeting */
    int *socket;                             /* [ranks]; -1: of this host */
    int *transfers;                          /* likewise, for src/ranks/transfer */
    uint32_t *sent, *received;               /* [ranks]: messages */
    struct quern_channel *channels;          /* [ranks]: of the call */
    uint16_t *order;                         /* [ranks]: likewise */
    struct pollfd *polls;                    /* [ranks] */
    unsigned char *mailboxes;                /* [ranks][QUERN_MAILBOX_BYTES]: the last message of each rank of another host */
    unsigned char *eager_buffers;                   /* [ranks][QUERN_EAGER_BYTES] */
};

/* Of a rank of another host. */
unsigned char *quern_net_mailbox(const struct quern_membership *member, int rank);
unsigned char *quern_net_eager(const struct quern_membership *member, int rank);

/* The ranks of a set that are of this host. */
struct quern_rank_set quern_local_part(const struct quern_membership *member, const struct quern_rank_set *set);
bool quern_spans_hosts(const struct quern_membership *member, const struct quern_rank_set *set);

/* A message with this tag, which no call has, is the last of a rank that leaves. */
#define QUERN_GOODBYE_TAG 0xffffffffu

/* The head of a message, and the sizes of its parts. */
struct quern_frame {
    uint32_t tag;
    uint32_t number;          /* of the messages of this pair, in this direction */
    uint32_t first, second;   /* bytes of the first two parts ... */
    uint64_t last;            /* ... and of the last one */
};

/* ---- connector.c: calls an address until the listener there opens ---- */

struct quern_connector {
    struct quern_address address;
    const unsigned char *key;
    enum quern_call_kind kind;
    int from, to;
    int socket;               /* -1: between two attempts */
    int64_t again;            /* when the next attempt begins */
    struct quern_handshake handshake;
    int failures;             /* attempts */
    int shortage;             /* the error by which the system makes no connections; 0: it does */
    char why[120];            /* the last attempt has failed: the text of the system, or another ... */
    bool has_answered;        /* ... which stays when later attempts are refused: a listener was there */
};

void quern_connector_begin(struct quern_connector *connector, const struct quern_address *address, const unsigned char *key,
                      enum quern_call_kind kind, int from, int to);

/* Goes on without waiting.  The socket, when the listener has opened; -1: not yet. */
int quern_connector_go(struct quern_connector *connector);

/* The events to poll for; the descriptor is -1 between two attempts. */

void quern_connector_awaits(const struct quern_connector *connector, struct pollfd *poll);

void quern_connector_end(struct quern_connector *connector);

/* ---- datagrams.c ---- */

/*
 * Beats over UDP, beside those on the connections of monitors.
 *
 * TCP doubles the time between its attempts while a network is down, so that its first one afterwards may come as late as the
 * outage was long.  A monitor that has not heard another one for two heartbeats asks it by datagrams, and one that is asked
 * answers by them.  Either counts as a heartbeat.
 */

/* Where a monitor is reached.  The token is told on a connection of the group only. */
struct quern_datagram_place {
    unsigned char token[16];
};

struct quern_datagram {
    struct quern_datagram_place to;
    uint64_t number;        /* rises with each datagram of a monitor */
    int32_t host;           /* the sender's */
    uint32_t asks;          /* 1: it has not heard the other one for two heartbeats */
};

/* A monitor's own. */
struct quern_datagrams {
    int socket;             /* -1: none of its connections is over TCP */
    int family, host;
    uint16_t port;
    struct quern_datagram_place place;
};

/* The monitor at the other end of a connection. */
struct quern_datagram_peer {
    struct sockaddr_storage name;
    unsigned bytes;         /* of the name; 0: it has not said where it is reached */
    struct quern_datagram_place place;
    uint64_t heard;         /* the number of its last datagram */
    int64_t asked, said;    /* nanoseconds: when it has asked, and when it was sent one; 0: never */
};

/* Opens the socket of a host for peers at the other ends of `sockets`, of which those that are -1 are none.  False: errno. */
bool quern_open_datagrams(struct quern_datagrams *datagrams, const int *sockets, int count, int host);
void quern_close_datagrams(struct quern_datagrams *datagrams);

/* The monitor at the other end of a connection has said where it is reached. */
void quern_place_peer(const struct quern_datagrams *datagrams, struct quern_datagram_peer *peer, int socket, uint16_t port,
                      const struct quern_datagram_place *place);

/* Takes a datagram that has the token.  False: there is none now. */
bool quern_take_datagram(const struct quern_datagrams *datagrams, struct quern_datagram *taken);

/* One that cannot be sent is lost, as any may be. */
void quern_send_datagram(const struct quern_datagrams *datagrams, struct quern_datagram_peer *peer, bool asks, int64_t now);

/* ---- gather.c: the meeting of hosts by an all-gather that the engine brings, in place of a place of meeting ---- */

struct quern_gathering {
    const struct quern_membership *member;  /* has its segment if the rank is ready */
    quern_gather_facts gather;
    void *user;
    const unsigned char *key;
    const struct quern_listener *listener;  /* where this rank expects those of other hosts */
};

/* How many bytes each rank brings. */
extern const size_t quern_gather_bytes;

/*
 * Every rank calls it, even one that is not ready: its status and its thread's detail reach all others.  Fails on every rank alike,
 * unless what the ranks are given differs.
 */
quern_status quern_gather_roll(const struct quern_gathering *gathering, quern_status ready, struct quern_roll *roll);

/* ---- hosts.c: creates a group whose ranks are of several hosts, or may be: quern_group_args.hosts is not NULL ---- */

/*
 * Lets a rank meet those of its host in shared memory and, through the leaders of the hosts, all others, and connects it with
 * them. The membership has all but its roster and segment.  If it has a roster after a failure, the caller leaves the group.
 */
quern_status quern_meet_hosts(const quern_group_args *args, const char *name, struct quern_veto veto,
                              struct quern_membership *member);

/* ---- mesh.c: connects a rank with all ranks of other hosts, and the leaders of hosts with each other ---- */

struct quern_mesh {
    struct quern_membership *member;       /* with a net */
    struct quern_listener *listener;               /* of this rank, with the key of the meeting */
    int64_t began, deadline;
    int *control;                          /* [ranks]: connections to the leaders of other hosts; NULL: this rank does not speak */
    struct quern_veto veto;                /* asked while ranks are awaited */
};

/* All connections, or an error: QUERN_PEER_TIMEOUT names those that are missing. */
quern_status quern_make_mesh(const struct quern_mesh *mesh);

/* The lowest rank of a host. */
int quern_host_leader(const struct quern_roster *roster, int host);

/* ---- messages.c ---- */

/*
 * Channels over messages of a carrier, as MPI has them.  A struct quern_data_row.
 *
 * What a channel sends is a message with its head and, if all of it fits, with its parts; else pieces follow.  Both ends cut the
 * same pieces, since both know the sizes of all parts: small parts are copied together into a piece, and a large one is a piece of
 * its own, or several, which the carrier gets where it lies if it borrows memory.  The messages of a pair are numbered in each
 * direction, and the number is the tag, so that nothing depends on the order in which the carrier delivers.
 */

enum {
    QUERN_MESSAGE_STAGE = 64 << 10,    /* bytes of a message that is copied, at most: a head with all parts, a piece; of a
                                          part in it */
    QUERN_MESSAGE_HEADS = 8 << 20,     /* bytes of a rank's heads from all others, for which it has room ... */
    QUERN_MESSAGE_HEAD = 4 << 10,      /* ... but for each at least so many */
    QUERN_MESSAGE_LARGEST = 16 << 20,  /* of any piece */
    QUERN_MESSAGE_SLOTS = 4,           /* messages of a direction of a pair that are under way at once */
    QUERN_CARRIER_LEAST = 8 << 10,     /* the longest message of a carrier, at least */
    QUERN_CARRIER_TAGS = 1024,         /* likewise its tags; the last ... */
    QUERN_CARRIER_OF_TRANSFERS = 256   /* ... of them are for the messages of transfers */
};

/*
 * The state for a carrier, which is copied; NULL: no memory.  Then the net's row can be quern_message_row.  `end`, unless it is
 * NULL, is called with the carrier's user when it is freed.
 */
struct quern_messages *quern_make_messages(const quern_carrier *carrier, int ranks, void (*end)(void *user, bool has_failed));
void *quern_messages_user(const struct quern_messages *messages);  /* of the carrier */
void quern_free_messages(struct quern_messages *messages, bool has_failed);

/*
 * For transfers, which give the carrier messages of their own: the tag of the n-th message to or from a rank; whether a call has
 * failed, after which nothing is begun; and that what is under way is left to the carrier for good.
 */
const quern_carrier *quern_messages_carrier(const struct quern_messages *messages);
uint64_t quern_tag_of_transfer(const quern_carrier *carrier, uint32_t number);
bool quern_messages_are_over(const struct quern_messages *messages);
void quern_leave_messages(struct quern_messages *messages);

/* A number that is the same for carriers that cut and number alike. */
uint64_t quern_carrier_digest(const quern_carrier *carrier);

extern const struct quern_data_row quern_message_row;

/* ---- monitor.c ---- */

/*
 * The thread by which a host stays in touch with the others: of the process whose rank speaks for the host.
 *
 * The places of other hosts' ranks in this host's segment mirror their own.  So whatever a rank asks of the segment, whether
 * another lives, what it is doing, whether the group is poisoned and why, has its answer there, as within one host.
 */

/* Starts it with the connections to the leaders of other hosts, which it then owns; those of other ranks are -1.  False: errno. */
bool quern_start_monitor(const struct quern_membership *member, const int *control);

/* The creation has failed before there was a monitor: tells the others why, over the connections that are there. */
void quern_tell_failure(const struct quern_membership *member, const int *control);

/* If the group is poisoned, waits a moment until the other hosts know why. */
void quern_await_telling(const struct quern_membership *member);

/* A rank has left, and its place says so.  With the last rank of the process the thread ends. */
void quern_leave_monitor(const struct quern_membership *member);

/* ---- quorum.c ---- */

/*
 * The quorum of hosts whose group is shrunk.  One rank of each host speaks for it.  It listens where the leader of its host was
 * reached when the old group was made, and calls the lower hosts there: the lowest host that answers is the coordinator, and learns
 * which ranks live.  When every host has answered or ended, or the limit has passed, it sends the decision to all.  A set of ranks
 * continues if it is a quorum.
 *
 * Whatever happens here, no two groups continue, since each needs all ranks of its quorum (src/ranks/group/shrink.c).
 */

/* The first message of a follower. */
struct quern_card {
    uint32_t ranks;                       /* of the old group */
    uint32_t port;                        /* reserved, for a group whose lowest rank is the speaker */
    int64_t deadline;                     /* nanoseconds for which it still waits for others */
    uint32_t living[QUERN_GROUP_WORDS];
};

struct quern_follower {
    int socket;                           /* -1: none of this host */
    bool is_whole;                        /* its card is there */
    size_t done;                          /* bytes of it */
    int64_t heard;
    struct quern_card card;
};

struct quern_quorum {
    const struct quern_membership *member;
    unsigned char key[QUERN_DIGEST_BYTES];
    int own, coordinator, hosts;                 /* the numbers of hosts: this one; where it is a follower, or this one */
    uint32_t living[QUERN_GROUP_WORDS];   /* of this host */
    int64_t began, deadline, beaten;
    struct quern_heartbeat heartbeat;         /* of the other ends */
    bool is_decided, is_broken;

    int reserved;                         /* a socket that keeps ... */
    uint16_t port;                        /* ... this port for the new group */

    struct quern_listener listener;       /* of a coordinator */
    int64_t listens_again;
    struct quern_follower *followers;           /* [hosts] */
    struct quern_connector *connectors;   /* [hosts] */
    struct pollfd *polls;                 /* [1 + places of the listener + 2 hosts] */
    struct pollfd *lines;                 /* [ranks]: those of the old group */
    bool *has_left;                       /* [hosts]: all of its ranks have ended or left the group, as far as lines say */

    int socket;                           /* of a follower: to its coordinator */
    int64_t heard;
    size_t done;                          /* bytes of the decision and of the word before it */
    struct quern_decision decision;
};

/* More than half of the ranks, or half of them with rank 0: two such sets have a rank in common. */
bool quern_is_quorum(const uint32_t living[QUERN_GROUP_WORDS], int ranks);

/* Begins for a host, of which these ranks live; others are awaited until `deadline`.  NULL: no memory. */
struct quern_quorum *quern_open_quorum(const struct quern_membership *member, const struct quern_rank_set *living,
                                       int64_t deadline);

/*
 * Waits for the decision, which may be an error for all; its round is left to the caller.  Fails with the veto's status, with
 * QUERN_PEER_TIMEOUT at the limit, or without random numbers.
 */
quern_status quern_find_quorum(struct quern_quorum *quorum, struct quern_veto veto, int64_t limit, struct quern_decision *decision);

/*
 * Whether a host of the decision has hung up since: it is in another round, or has ended.  All stay connected until their group is
 * made.
 */
bool quern_quorum_is_broken(const struct quern_quorum *quorum);

void quern_close_quorum(struct quern_quorum *quorum);

/* ---- reach.c: opens and closes a rank's net: its way to the ranks of other hosts ---- */

/* Makes the net of a rank whose roster is complete, without connections.  False: no memory. */
bool quern_open_net(struct quern_membership *member);

/* Says goodbye, so that the others can tell an end from a death, and closes all. */
void quern_free_net(struct quern_membership *member);

/* ---- report.c: the lines of quern_group_report about hosts ---- */

/* Appends these words and how many connections were rejected, by kind; nothing, and false, if none has. */
bool quern_describe_rejections(struct quern_text *text, const char *words, const uint32_t *rejections);  /* [QUERN_REJECTIONS] */

/* Appends a line for each host, for each pair of hosts, and for rejections; nothing for a group of one host. */
void quern_report_hosts(struct quern_text *text, const struct quern_membership *member);

/*
 * The name of the way between the hosts of a group, which is that of the transport if it has no hosts; and why not those before it.
 */
const char *quern_transport_between_hosts(const struct quern_membership *member);
const char *quern_why_this_transport(const struct quern_membership *member);

/* ---- sendrecv.c ---- */

/*
 * Messages between a rank and ranks of other hosts.  Both sides of a pair make the same calls in the same order, so a message needs
 * no address: its head says which meeting it is of, and must be the expected one.
 */

/* One peer's part of a sendrecv. */
struct quern_channel {
    int rank;
    struct quern_frame out_head, in_head;
    struct iovec *out, *in;   /* what is left to move; used up */
    int outs, ins;
    size_t in_heading;        /* bytes of the head that have come */
    uint64_t skipped;         /* bytes behind the parts that are read and dropped */
    int sending, receiving;   /* messages under way, of rows of messages */
    struct iovec few_out[4], few_in[3];  /* for messages of few parts */
};

/*
 * A sendrecv: one message to and one from each of some ranks of other hosts, all at once, so that both directions of all pairs move
 * and none waits for another.
 */
struct quern_sendrecv {
    struct quern_membership *member;
    const struct quern_data_row *row;
    uint32_t tag;
    double timeout;
    int64_t began, ended;     /* since when a rank is known to have ended; 0: none has */
    int count, open;          /* channels; those that are not done */
    struct quern_channel *channel;  /* [count] */
    uint16_t *order;          /* [open]: of those that are not done */

    /* A head has come: says where its parts go (channel->in, ins, skipped).  False: the sizes are not those of a rank's message. */
    bool (*place)(void *user, struct quern_channel *channel);
    void *user;
    int rests;                /* so far */
    char why[120];            /* with which the row has failed */
};

/* A channel for each rank of a set that is of another host.  The caller fills in the parts, and then begins. */
void quern_sendrecv_open(struct quern_sendrecv *sendrecv, struct quern_membership *member, const struct quern_meeting *meeting,
                      const struct quern_rank_set *set, struct quern_channel *channels, uint16_t *order);

/* Adds a part to what a channel sends: the first, second and last ones in this order. */
void quern_channel_add(struct quern_channel *channel, const void *data, size_t bytes);

/* The channel has one direction: nothing is sent; nothing comes. */
void quern_channel_only_receives(struct quern_sendrecv *sendrecv, struct quern_channel *channel);
void quern_channel_only_sends(struct quern_channel *channel);

/*
 * Moves what can be moved at once, at first and between other work; and until all is moved.  Errors poison the group, as those of
 * quern_await.
 */
quern_status quern_sendrecv_begin(struct quern_sendrecv *sendrecv);
quern_status quern_sendrecv_end(struct quern_sendrecv *sendrecv);

/* The call fails between the two. */
void quern_sendrecv_abandon(struct quern_sendrecv *sendrecv);

/* ---- shortage.c: shortages of the system for a group of several hosts: descriptors, local ports, memory of sockets ---- */

/* Whether an error of socket, accept or connect says so.  It ends the creation for all: another attempt would fail, too. */
bool quern_is_shortage(int error);

/*
 * How many descriptors the connections take that the ranks of this process need, as far as is known: of this rank alone, or of all
 * that have joined; at least, or, when the hosts have met, exactly.
 */
int quern_connections_needed(const struct quern_membership *member);

/* Whether so many descriptors can be opened.  Fails with that number, the limit and how many are open. */
quern_status quern_check_descriptors(const struct quern_membership *member, int needed);

/* Fails after a call with such an error: names the limit, and what the group needs. */
quern_status quern_fail_short(const struct quern_membership *member, const char *call, int error);

/* ---- socket_row.c: the way of sockets, which is always there ---- */

extern const struct quern_data_row quern_socket_row;

/* ---- sockets.c: the connections of this process, which a forked child must not keep open ---- */

/*
 * Sets up a connection between hosts: small messages go at once, and one that is idle for hours is kept alive, since a firewall may
 * forget it.
 */
void quern_socket_set_up(int socket);

/* Enters a socket.  False: no memory. */
bool quern_socket_own(int socket);

/* Closes a socket that was entered, unless it is -1, and sets it to -1. */
void quern_socket_close(int *socket);

/* Move what goes at once, as sendmsg and recvmsg do; the last one leaves there what it gives. */
ssize_t quern_socket_put(int socket, const struct iovec *parts, int count);
ssize_t quern_socket_get(int socket, const struct iovec *parts, int count);
ssize_t quern_socket_peek(int socket, void *bytes, size_t count);

/* ---- net.c: meetings of ranks of several hosts ---- */

/* The barrier: within hosts, between one rank of each host, within hosts. */
quern_status quern_net_meet(struct quern_membership *member, const struct quern_meeting *meeting);

/*
 * A meeting in which each rank sends a message to each rank of another host.  The ranks of this host meet in its memory at the same
 * time.  The sendrecv is open, and its parts are there.
 */
quern_status quern_net_sendrecv(struct quern_sendrecv *sendrecv, const struct quern_meeting *meeting);

/* The control of a group of several hosts. */
extern const struct quern_control quern_net_control;

/* Before a handle is destroyed: takes the memory of callers back from the transport.  QUERN_PEER_LOST: some is not given back. */
quern_status quern_settle_net(struct quern_membership *member);

#endif
