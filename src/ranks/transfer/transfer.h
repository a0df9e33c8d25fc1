/* Transfers: lists and their pairs, control messages, and the paths of data. */
#ifndef QUERN_RANKS_TRANSFER_H
#define QUERN_RANKS_TRANSFER_H

#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#include "os/futex.h"
#include "ranks/cuda_rank.h"
#include "ranks/hosts/hosts.h"
#include "ranks/membership.h"
#include "ranks/nccl/nccl.h"
#include "runtime/cuda_driver.h"
#include "runtime/idle.h"
#include "runtime/look.h"

/* ---- ring.c ---- */

/*
 * A ring: a stream of bytes from one rank to another one of the same host, in memory that both see.  Between threads of a process
 * it is the process's own memory; else it lies behind the segment in the segment's file, where it takes space only once it is used.
 * There any process of the user can write: what is read is checked.
 */

struct quern_ring {
    _Alignas(128) uint64_t written;  /* atomic; by the sender: bytes so far */
    uint32_t ends;                   /* atomic; by the sender: how often it has withdrawn memory: see quern_withdraw */
    _Alignas(128) uint64_t read;     /* atomic; by the receiver */
    uint32_t copying;                /* atomic; by the receiver: odd while it copies from the sender's memory */
    _Alignas(128) unsigned char ring[];
};

enum { QUERN_RING_BYTES = 80 << 10 };  /* in the segment's file; holds a message of 64 KiB */

/* One rank's end of a ring.  Its own count of bytes is in its own memory. */
struct quern_ring_end {
    struct quern_ring *ring;
    uint64_t moved;
    size_t room;                     /* bytes of the ring */
    bool is_mapped;
};

/* Opens an end, and makes the ring if need be.  False: no memory, or no space in /dev/shm; errno says which. */
bool quern_open_ring(struct quern_ring_end *end, const struct quern_membership *member, int from, int to);
void quern_close_ring(struct quern_ring_end *end);

/* Whether a ring that this rank has not opened has bytes from another rank for it. */
bool quern_ring_speaks(const struct quern_membership *member, int from);

/* Bytes that the sender can put at once. */
size_t quern_ring_room(const struct quern_ring_end *end);

/* Move what fits at once.  -1: the ring is damaged. */
ssize_t quern_ring_put(struct quern_ring_end *end, const struct iovec *parts, int count);
ssize_t quern_ring_get(struct quern_ring_end *end, const struct iovec *parts, int count);

/* ---- The messages of transfers ---- */

enum quern_word {
    QUERN_WORD_HELLO = 1,  /* payload: where the sender's process can be read */
    QUERN_WORD_REACH,      /* number: 1: the sender of this word can read the memory of the other process */
    QUERN_WORD_EAGER,      /* payload: the items that a transfer has with the other rank */
    QUERN_WORD_START,      /* a transfer is started; number: its batch; bit 32: into a graph */
    QUERN_WORD_DATA,       /* payload: bytes from an offset, the number, in all that goes in this direction */
    QUERN_WORD_DONE,       /* all has come */
    QUERN_WORD_END,        /* the transfer has failed or was destroyed; number: the status; payload: the reason */
    QUERN_WORD_BATCH,      /* number: 1: the starts that follow begin together; 0: these were all */
    QUERN_WORD_CONNECT,    /* number: the generation of a communicator; bit 32: the sender has kept it; payload: its id */
    QUERN_WORD_CONNECTED,  /* number: its generation: the sender has it */
    QUERN_WORD_GO,         /* number: the generation; payload: the transfers that both ends enqueue now */
    QUERN_WORD_BREAK,      /* number: the generation, whose communicator the sender has aborted; payload: the reason */
    QUERN_WORD_FORGOTTEN,  /* number: the generation, whose communicator the sender has not kept */
    QUERN_WORD_READY,      /* payload: a message over a carrier that the sender of this word has begun to receive */
    QUERN_WORD_NONE,       /* number: of such a message, which never comes */
    QUERN_WORD_LISTENING,  /* number: of the descriptor of a bounce buffer for which the sender of this word has a socket */
    QUERN_WORD_BUFFER,     /* it is sent */
    QUERN_WORD_STAGED,     /* payload: a piece that is in a half of the buffer of the sender of this word */
    QUERN_WORD_TAKEN,      /* number: of the half, which is free again */
    QUERN_WORDS
};

/* What begins every message.  Any process may write into a ring, so it begins with its digest, and is numbered. */
struct quern_transfer_frame {
    uint64_t digest;
    uint32_t word, order;           /* order: counts the frames of this direction */
    uint64_t key;
    uint32_t instance, other;       /* of the transfer: of the sender, and of the receiver as far as it is known; else 0 */
    uint64_t round;                 /* how often it was started */
    uint64_t number;
    uint64_t bytes, payload_digest; /* of the payload; data has no digest */
};

enum { QUERN_TRANSFER_REASON = 232 };  /* bytes of a reason, with its end */

/* Where a process can be read to prove that it is the right one: its random number. */
struct quern_transfer_hello {
    uint64_t address;
    int32_t pid, unused;
};

/* One item, as its rank has it. */
struct quern_transfer_entry {
    uint64_t tag, address;
    uint64_t memory;    /* of GPU ranks: the number of the symmetric memory, in which the address is an offset; 0: in none */
    int64_t bytes;
    int64_t receive;
};

/* A transfer that both ends enqueue; the instances are those of the sender and of the receiver of the word. */
struct quern_transfer_go {
    uint64_t key, round;
    uint32_t instance, other;
};

/* A message over a carrier, and of which bytes of the round it is. */
struct quern_transfer_piece {
    uint64_t message, offset, bytes;
};

/* A piece in a bounce buffer, and of which bytes of the round it is. */
struct quern_transfer_staged {
    uint64_t half, offset, bytes;
};

enum { QUERN_TRANSFER_MOST_GO = 1024 };  /* transfers that go out as one group */

_Static_assert(sizeof(struct quern_transfer_frame) == 64, "a frame has no holes");

/* ---- connection.c ---- */

/*
 * The connection of two ranks for transfers: frames over two rings within a host, over a socket between hosts.  It knows no
 * transfers: it queues frames to send, and hands over those that arrive.
 */

enum { QUERN_CONN_PIECE = 64 << 10, QUERN_CONN_PARTS = 32 };
enum quern_access { QUERN_ACCESS_UNKNOWN, QUERN_ACCESS_NO, QUERN_ACCESS_YES };

struct quern_path;
struct quern_nccl_path;
struct quern_carrier_path;
struct quern_bounce_path;

struct quern_conn {
    struct quern_membership *member;
    const struct quern_path *path;  /* of the data */
    int peer, socket;               /* -1: the rank is of this host */
    bool is_elsewhere;              /* of another host */
    struct quern_ring_end in, out;
    enum quern_access reads, is_read;  /* whether this rank can copy from the memory of the other one; and back */
    int32_t pid;                    /* of the other process, as it says */
    struct quern_nccl_path *nccl;        /* what its path has; NULL: it is another one */
    struct quern_carrier_path *carrier;
    struct quern_bounce_path *bounce;
    quern_status status;            /* why nothing is heard any more: the rank has left, or what came is damaged */
    bool is_mute;                   /* the other end takes nothing; what it has said before can still be heard */

    unsigned char *queue;           /* what is to be sent: [begin, end) of [room] */
    size_t begin, end, room;
    struct quern_transfer_frame data;  /* a message of data on its way, behind which the queue waits */
    struct iovec parts[1 + QUERN_CONN_PARTS];
    int first, count;
    void *sending;                  /* whose data that is; NULL: none */
    uint32_t sent;

    struct quern_transfer_frame head;  /* what comes */
    size_t headed;                  /* bytes of it */
    uint64_t left;                  /* of its payload */
    void *sink;                     /* whose data that is; NULL: it is dropped or collected */
    unsigned char *payload;         /* collected */
    uint32_t heard, ends;           /* frames; those that were ends */
};

/* Opens the connection to a rank.  NULL: fails with the reason as the thread's detail. */
struct quern_conn *quern_open_conn(struct quern_membership *member, int peer, quern_status *status);
void quern_close_conn(struct quern_conn *conn);

/* Makes room in the queue for so many bytes more, so that no later call needs memory. */
bool quern_conn_reserve(struct quern_conn *conn, size_t bytes);

/* Enters a message into the queue.  Without memory for it, the connection ends. */
void quern_conn_say(struct quern_conn *conn, struct quern_transfer_frame frame, const void *payload, size_t bytes);

/* Whether a message of data can begin: nothing else waits. */
static inline bool quern_conn_is_idle(const struct quern_conn *conn) {
    return conn->status == QUERN_OK && !conn->is_mute && !conn->count && conn->begin == conn->end;
}

/* The most bytes of data that a message can have now. */
size_t quern_conn_data_room(const struct quern_conn *conn);

/* Begins a message of data from conn->parts[1 .. count), whose memory stays as it is until conn->sending is NULL. */
void quern_conn_send_data(struct quern_conn *conn, struct quern_transfer_frame frame, int count, void *sending);

/* Copies what is left of a message of data, since its memory is needed.  Without memory for it, the connection ends. */
void quern_conn_detach_data(struct quern_conn *conn);

/* Sends what goes at once.  True: something has moved. */
bool quern_conn_flush(struct quern_conn *conn);

/*
 * Takes what has come: heads, and the payloads that are none of data.  Returns a whole message, or the head of one with data; NULL:
 * nothing more.  After the head of data the caller takes the payload by quern_conn_take, until conn->left is 0.
 */
const struct quern_transfer_frame *quern_conn_hear(struct quern_conn *conn, bool *moved);
ssize_t quern_conn_take(struct quern_conn *conn, const struct iovec *parts, int count);
void quern_conn_drop(struct quern_conn *conn, bool *moved);

/* The connection ends, since what came is no message of a rank. */
void quern_conn_damaged(struct quern_conn *conn);

/*
 * How a sender takes its memory back from a receiver that copies from it: after a cancel, a failure or a destroy.  For bytes.c,
 * transfers.c and progress.c.
 *
 *   sender:    ends += 1;  fence;  if it is a thread that copies (copying is odd): wait until copying changes
 *   receiver:  copying += 1 (odd);  fence;  if ends is what it has heard of: copy a piece;  copying += 1;
 *              after the last piece, before it says that it is done: fence;  is ends still that?
 *
 * Between processes the sender does not wait: the system copies, so memory that is gone is no fault, and what was copied after the
 * withdrawal is found to be so.  Between hosts there is no ring: a receiver copies from bounce buffers alone, which no sender takes
 * back.  Checked by tests/model/transfer.pml.
 */

/* The sender says the word END. */
static inline void quern_withdraw(struct quern_conn *conn) {
    struct quern_ring *ring = conn->out.ring;
    if (!ring) return;
    __atomic_add_fetch(&ring->ends, 1, __ATOMIC_RELAXED);
    quern_fence();
    const uint32_t copying = __atomic_load_n(&ring->copying, __ATOMIC_ACQUIRE);
    if (conn->out.is_mapped || copying % 2 == 0) return;
    while (__atomic_load_n(&ring->copying, __ATOMIC_ACQUIRE) == copying) sched_yield();
}

/* The receiver, around a piece.  False: there is an END that it has not heard. */
static inline bool quern_begin_copy(struct quern_conn *conn) {
    struct quern_ring *ring = conn->in.ring;
    if (!ring) return true;
    __atomic_add_fetch(&ring->copying, 1, __ATOMIC_RELAXED);
    quern_fence();
    if (__atomic_load_n(&ring->ends, __ATOMIC_RELAXED) == conn->ends) return true;
    __atomic_add_fetch(&ring->copying, 1, __ATOMIC_RELAXED);
    return false;
}

static inline bool quern_end_copy(struct quern_conn *conn) {
    struct quern_ring *ring = conn->in.ring;
    if (!ring) return true;
    __atomic_add_fetch(&ring->copying, 1, __ATOMIC_RELEASE);
    quern_fence();  /* the system may have copied what was written after the withdrawal */
    return __atomic_load_n(&ring->ends, __ATOMIC_RELAXED) == conn->ends;
}

/* ---- transfer_list.c: the list of a transfer: checked, sorted as both ends sort it, and divided by peers ---- */

enum { QUERN_TRANSFER_MOST_ITEMS = 1 << 20 };

struct quern_transfer_part {
    int peer;
    int32_t receive;
    uint64_t tag;
    char *memory;
    int64_t bytes;
    int64_t place;     /* in the caller's list */
    bool is_staged;    /* GPU memory that the receiver does not reach: bounce_path.c */
};

/*
 * Reads the items of the arguments into parts[args->item_count], ordered by peer, tag and sender: the same order on both ends of a
 * pair.  Errors: 1xxx with the item.
 */
quern_status quern_read_transfer_list(const struct quern_membership *member, const quern_transfer_args *args,
                                      struct quern_transfer_part *parts);

/* Checks what can be checked without the items: the size of an item and the number. */
quern_status quern_check_transfer_list(const struct quern_membership *member, const quern_transfer_args *args);

/* ---- transfers.c ---- */

/* Transfers of a rank and their pairs: what transfer.c, progress.c and bytes.c share.  Types, and how transfers end. */

enum {
    QUERN_TRANSFER_SMALL = 4 << 10,   /* up to so many bytes in a direction travel with the messages in any case */
    QUERN_TRANSFER_EAGER = 64 << 10   /* so many before the other rank has started */
};

/* How far one direction of a pair has come in this round. */
struct quern_cursor {
    int64_t items, all;               /* its items; their bytes */
    int64_t done;                     /* bytes */
    int64_t asked;                    /* bytes for which the receiver has said READY: carrier_path.c */
    int64_t part, within;             /* the next byte: of which part of the pair, and where in it */
    bool is_complete;
};

struct quern_transfer_data;
struct quern_transfer_pair;

/* Takes back what the GPU, a bounce buffer or a carrier has of a pair whose transfer has failed. */
typedef void quern_release_pair(struct quern_transfer_pair *pair, quern_status status, const char *reason);

/* The part of a transfer with one rank. */
struct quern_transfer_pair {
    struct quern_transfer_data *transfer;
    struct quern_conn *conn;          /* NULL: the rank itself */
    struct quern_transfer_part *parts;
    int64_t count;
    bool is_agreed;                   /* the other rank's list is known and matches */
    uint32_t other;                   /* the instance of its transfer */
    uint64_t other_round;             /* how often it was started */
    uint64_t *addresses;              /* [count], in the other rank's memory */
    struct quern_cursor in, out;
    unsigned char *landing;           /* data that has come before the start */
    int64_t landed;
    int64_t gone_since;               /* the rank is known to have gone; 0: it has not */
    uint32_t other_batch;             /* in which the other rank has started it; 0: alone */
    bool other_captures;              /* ... into a graph */
    bool is_said;                     /* the start of this round */
    bool flies;                       /* NCCL has it: nccl_path.c; or the copies within the rank are under way: gpu.h */
    quern_release_pair *release;      /* NULL: there is nothing */
    bool is_told, is_over;            /* the other rank knows that this transfer has failed; has said that its own has */
    bool other_flew;                  /* ... and that it has handed this round to NCCL */
    quern_status status;              /* of the latter ... */
    char reason[QUERN_TRANSFER_REASON];
};

enum quern_transfer_state { QUERN_TRANSFER_IDLE, QUERN_TRANSFER_DEFERRED, QUERN_TRANSFER_STARTED, QUERN_TRANSFER_OVER };

/* A transfer.  Behind the handle of the caller. */
struct quern_transfer_data {
    struct quern_transfer_data *next;
    struct quern_membership *member;
    uint64_t key, round;
    uint32_t instance;
    enum quern_transfer_state state;
    bool is_cancelled;
    uint32_t batch;                   /* in which it was started; 0: alone */
    bool is_captured;                 /* over NCCL: it was started on a stream that is being captured */
    struct quern_transfer_gpu *gpu;   /* of GPU ranks: gpu.h; else NULL */
    double timeout;
    quern_status status;              /* OVER: with which it has failed ... */
    char reason[QUERN_TRANSFER_REASON];
    int64_t looked;                   /* when the ranks were last looked at */
    struct quern_transfer_part *parts;
    int64_t count;
    struct quern_transfer_pair *pairs;
    int pair_count;
};

/*
 * The n-th transfer of a key that a rank prepares with another one meets the n-th of that one.  What this is of the ones that have
 * not met: the list of another rank, or the news of its end; or a transfer of this rank that was destroyed.
 */
struct quern_early {
    struct quern_early *next;
    int peer;
    uint64_t key, round;
    uint32_t instance, batch;
    bool captures;
    bool is_own;                                 /* a destroyed one of this rank; the fields below are not used */
    int64_t count;
    struct quern_transfer_entry *entries;
    bool is_over;
    quern_status status;
    char reason[QUERN_TRANSFER_REASON];
};

/* All of a group handle. */
struct quern_transfers {
    struct quern_membership *member;
    struct quern_conn *conn[QUERN_GROUP_LIMIT];  /* by rank; NULL: none so far */
    struct quern_conn *open[QUERN_GROUP_LIMIT];  /* [conns] */
    struct pollfd polls[QUERN_GROUP_LIMIT];      /* of a sleep of a call */
    int conns;
    struct quern_transfer_data *first;
    struct quern_early *early;                   /* the oldest first */
    int earlies;
    int yields;                                  /* of a call in vain before it sleeps; of a thread: a quarter */
    uint32_t instances, batches;
    struct quern_transfer_streams *streams;      /* of GPU ranks: gpu.h; NULL: none so far */
    bool is_batch;
    struct quern_progress_threads *threads;      /* NULL: all is moved inside of calls */
    struct quern_stream_waits *waits;            /* of GPU ranks with threads: stream_wait.c; else NULL */
};

/* Lets a transfer fail, unless it has, and tells all its ranks. */
void quern_transfer_fail(struct quern_transfer_data *transfer, quern_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Lets it fail since the rank of a pair has ended or left. */
void quern_lose_rank(struct quern_transfer_pair *pair);

/* Ends what a transfer does on its connection, and tells its ranks that it is over.  Then its memory is the caller's. */
void quern_release_pairs(struct quern_transfer_data *transfer, quern_status status, const char *reason);

/* ---- The paths of data ---- */

/*
 * Where the data of a connection goes; control messages go by the connection itself.  The first row that serves a connection is its
 * path.  A function that a path does not need is NULL.
 */
struct quern_path {
    bool (*serves)(const struct quern_conn *conn);
    quern_status (*open)(struct quern_conn *conn);
    void (*close)(struct quern_conn *conn);       /* also of one that open has left half made */

    /* A word of this path has come; `pair` is the one that it means, or NULL. */
    void (*hears)(struct quern_conn *conn, struct quern_transfer_pair *pair, const struct quern_transfer_frame *head);

    /* Go on with a connection, and with a pair of a started transfer.  True: something has moved. */
    bool (*advance)(struct quern_conn *conn);
    bool (*advance_pair)(struct quern_transfer_pair *pair);

    /*
     * The receiver of a pair copies: where the next bytes are, of at most *most, which becomes their number.  *buffer is their
     * address in the bounce buffer of the sender; 0: they are in memory that is reached.  False: there are none yet, or the
     * transfer has failed.  Then so many of them are copied.
     */
    bool (*find)(struct quern_transfer_pair *pair, size_t *most, CUdeviceptr *buffer);
    void (*have_taken)(struct quern_transfer_pair *pair, size_t bytes);

    bool (*is_busy)(const struct quern_conn *conn);  /* something is under way of whose end nobody tells: look again soon */
    bool (*has_sent)(struct quern_transfer_pair *pair);  /* whether DONE is plausible; NULL: the path has its own end of a round */
    void (*check)(struct quern_transfer_pair *pair);     /* lets a transfer fail that needs what has failed */
    quern_release_pair *release;                  /* on return nothing touches the memory of the pair any more */
};

extern const struct quern_path quern_nccl_path, quern_carrier_path, quern_bounce_path, quern_direct_path;

/* ---- agree.c: compares the lists of two ranks ---- */

/* Whether another rank's list has what this one's has.  If not, the transfer fails with the first difference: the same on both. */
bool quern_agree_on_lists(struct quern_transfer_pair *pair, const struct quern_transfer_entry *theirs, int64_t count);

/* A transfer without any item with a rank whose list has some with this one fails. */
void quern_refuse_list(struct quern_transfer_data *transfer, int peer, const struct quern_transfer_entry *theirs, int64_t count);

/* ---- bounce_buffer.c ---- */

/*
 * A bounce buffer: memory of the sender's process that a rank of another process maps, too.  For bounce_path.c.
 *
 * Where GPUs reach each other it is memory of the sender's GPU, else pinned memory of the host, as the group's symmetric memory is.
 * It passes as a file descriptor, and in a group of several hosts as a fabric handle.  The system keeps the memory while either end
 * has it, so each end may close it first, or die.
 * An IPC handle of cuMemAlloc would not do: its owner must not free the memory before the other process has closed it.
 */

enum { QUERN_BOUNCE_BUFFER_BYTES = 8 << 20 };

struct quern_bounce_buffer;

/* Makes one.  Errors: of the driver or of the system.  The caller closes it. */
quern_status quern_make_bounce_buffer(const struct quern_membership *member, struct quern_bounce_buffer **buffer);

/* By what another process can open a buffer. */
struct quern_bounce_ticket {
    int descriptor;              /* -1: none */
    CUmemFabricHandle fabric;    /* in a group of several hosts */
};

/* Makes the ticket; the caller closes the descriptor. */
quern_status quern_export_bounce_buffer(const struct quern_membership *member, const struct quern_bounce_buffer *buffer,
                                        struct quern_bounce_ticket *ticket);

/*
 * Opens that of another process; the descriptor stays the caller's.  Errors: of the driver; QUERN_PEER_MISMATCH: it is another
 * file.
 */
quern_status quern_open_bounce_buffer(const struct quern_membership *member, struct quern_bounce_ticket *ticket,
                                      struct quern_bounce_buffer **buffer);

/* Its address for the GPUs of this process. */
CUdeviceptr quern_bounce_buffer_address(const struct quern_bounce_buffer *buffer);

/* Closes it as soon as no operation of the process's ranks is pending.  NULL does nothing. */
void quern_close_bounce_buffer(struct quern_bounce_buffer *buffer);

/* ---- bounce_path.c ---- */

/*
 * The transport between GPU ranks of two processes that the receiver cannot reach: memory that is not symmetric.  What both have
 * prepared and started is said on their connection, as for all transfers.  The sender copies a piece into a free half of its
 * buffer, and the receiver copies it out:
 *
 *   receiver:  LISTENING   it needs the bounce buffer of the sender, and has a socket for its descriptor if that comes as one
 *   sender:    BUFFER      the descriptor is sent, or is a fabric handle, which comes with this word
 *   sender:    STAGED      a half has a piece: which bytes of which transfer
 *   receiver:  TAKEN       the half is free again: the piece is copied, or its transfer is over here
 *
 * A half belongs to a piece from the beginning of the sender's copy to TAKEN, whatever becomes of the transfer meanwhile.  Only
 * the sender's memory needs this: within a host items in symmetric memory go straight, also beside others in one list.  Between
 * hosts of one fabric all go through it, since no word in shared memory tells a receiver that its sender has taken memory back.
 * One stage for each connection, with both directions.  Checked by tests/model/paths.pml.
 */

enum { QUERN_BOUNCE_HALVES = 2, QUERN_BOUNCE_BYTES = QUERN_BOUNCE_BUFFER_BYTES / QUERN_BOUNCE_HALVES };

/* A half of this rank's bounce buffer. */
struct quern_bounce_half {
    enum { QUERN_HALF_FREE, QUERN_HALF_FILLING, QUERN_HALF_STAGED } state;
    struct quern_transfer_pair *pair;     /* NULL: its transfer is over */
    struct quern_transfer_staged piece;
    CUevent filled;                       /* NULL: none so far */
};

/* Pieces that the other rank has written and this one has not taken. */
struct quern_bounce_arrival {
    struct quern_transfer_pair *pair;
    struct quern_transfer_staged piece;
    uint64_t done;                        /* bytes copied */
};

struct quern_bounce_path {
    struct quern_bounce_buffer *out, *in;        /* NULL: not made so far; not open */
    uint64_t asked;                       /* LISTENING that is not answered; 0: none */
    bool is_shown;                        /* BUFFER was said */
    struct quern_bounce_half half[QUERN_BOUNCE_HALVES];
    int listener;                         /* -1: this rank does not wait for a descriptor */
    uint64_t number;                      /* which it has asked for; 0: none */
    CUmemFabricHandle fabric;             /* that has come, in a group of several hosts */
    bool has_come;                        /* BUFFER was heard; it is not open */
    struct quern_bounce_arrival arrival[QUERN_BOUNCE_HALVES];  /* [arrivals], the oldest first */
    int arrivals;
};

/* ---- bytes.c: moves the bytes of transfers ---- */

/* Begins a round: both directions at their first byte, with the data that has come before. */
void quern_begin_cursors(struct quern_transfer_pair *pair);

/* The head of data has come on the connection: where it goes; and takes what there is of it. */
void quern_begin_data(struct quern_conn *conn, struct quern_transfer_pair *pair, const struct quern_transfer_frame *head);
void quern_take_data(struct quern_conn *conn, bool *moved);

/* Goes on with a pair of a started transfer.  True: something has moved. */
bool quern_advance_pair(struct quern_transfer_pair *pair);

/* For paths.  The receiver takes what it can by `take`, and says DONE behind the last byte. */
bool quern_receive(struct quern_transfer_pair *pair, bool (*take)(struct quern_transfer_pair *pair));

/* Copies some pieces from the sender's memory, if this rank reaches it; sends the next bytes in messages of data. */
bool quern_copy_some(struct quern_transfer_pair *pair);
bool quern_send_data(struct quern_transfer_pair *pair);

/* ---- carrier_path.c ---- */

/*
 * The way of the data of two CPU ranks of two hosts by messages of a carrier of the engine, or of UCX.  What both have prepared and
 * started is said on their connection, as over sockets, and so is each message before it is sent:
 *
 *   receiver:  READY   it has begun to receive a message: its number, and of which bytes of which transfer
 *   sender:            sends that message ...
 *              NONE    ... or it never comes, since its transfer is over here
 *
 * So each message finds its receive, and each receive ends: with its message, or cancelled after NONE, which every carrier can, as
 * nothing has met it.  The messages of a direction are numbered, and a tag is a number, of those that exchanges do not have.
 *
 * The carrier gets memory of the library alone, also one that borrows: MPI cannot cancel a send, and a transfer that is cancelled
 * gives its memory back at once.  Checked by tests/model/paths.pml.
 */

enum {
    QUERN_CARRIER_SLOTS = 16,            /* messages of a direction that are under way at once */
    QUERN_CARRIER_PIECE = 256 << 10      /* bytes of a message, unless the carrier takes less */
};

/* A message under way. */
struct quern_carrier_slot {
    bool is_busy;                      /* the carrier has it */
    bool is_none;                      /* of a receive: its message never comes */
    uint64_t request;
    size_t bytes;
    struct quern_transfer_pair *pair;  /* of a receive: whose bytes; NULL: nobody's any more */
    unsigned char *buffer;             /* [piece]; NULL: not needed so far */
};

/* Those of a direction: a ring, from the oldest message to the next one. */
struct quern_carrier_line {
    struct quern_carrier_slot slot[QUERN_CARRIER_SLOTS];
    uint32_t next, oldest;
};

/* A READY that is not answered. */
struct quern_carrier_order {
    struct quern_transfer_pair *pair;  /* NULL: its transfer is over */
    size_t bytes;
};

struct quern_carrier_path {
    struct quern_messages *messages;
    size_t piece;
    struct quern_carrier_line in, out;
    struct quern_carrier_order order[QUERN_CARRIER_SLOTS];  /* [out.next, ordered) */
    uint32_t ordered;
    bool is_over;                      /* nothing is begun or tested any more */
    int64_t failed_at;
    char reason[120];                  /* with which the carrier has failed; "": it has not */
};

/*
 * Takes the library's memory back from the carrier, within a second; no transfer is left.  A carrier that does not borrow is left
 * alone after a failure, as in exchanges.  QUERN_PEER_LOST: it keeps a message.
 */
quern_status quern_settle_carrier_path(struct quern_transfers *all, bool is_poisoned);

/* ---- gpu.c: the GPU's part in transfers of GPU ranks: the events of their starts, and copies ---- */

/* Of a transfer. */
struct quern_transfer_gpu {
    CUstream captured; /* the stream of a start that a graph gets */
    CUevent ready;     /* recorded on the engine's stream by quern_transfer_start */
    bool is_ready;     /* ... and known to have passed */
    CUevent copied;    /* behind the copies within the rank */
};

/* Of a group handle: streams of high priority for copies; those within the rank may wait for the engine's streams. */
struct quern_transfer_streams {
    CUstream copies, own;
};

/* Makes them for a transfer; nothing for CPU ranks.  quern_free_gpu frees what there is. */
quern_status quern_make_gpu(struct quern_transfer_data *transfer);
void quern_free_gpu(struct quern_transfer_data *transfer);
void quern_free_gpu_streams(struct quern_transfers *all);

/*
 * What the stream has now comes before the transfer.  The engine may destroy the stream afterwards, unless it is being captured.
 * Errors: QUERN_NOT_SUPPORTED (it is being captured, not over NCCL), QUERN_INVALID_ARGUMENT (of another GPU), QUERN_OUT_OF_MEMORY
 * (graphs have as many calls as can be), QUERN_CUDA_ERROR.
 */
quern_status quern_mark_start(struct quern_transfer_data *transfer, void *stream);

/* Whether the stream is of the rank's context, and whether it is being captured. */
quern_status quern_check_transfer_stream(const struct quern_membership *member, CUstream stream, bool *is_captured);

/* Whether the engine's stream has come to the start.  An error of the device lets the transfer fail. */
bool quern_gpu_is_ready(struct quern_transfer_data *transfer);

/* A start or a copy within the rank that the device has not come to. */
bool quern_gpu_is_busy(const struct quern_transfer_data *transfer);

/* Lets it fail with the driver's text. */
void quern_fail_on_gpu(struct quern_transfer_data *transfer, CUresult error, const char *what);

/*
 * Within a host, without NCCL, the receiver copies, by the addresses that it has of the sender's memory: any memory of this
 * process, and symmetric memory of others.  Other memory of others is staged.  The first checks that no receiver is to reach memory
 * that was freed; the second says which it is, and the third finds it, or lets the transfer fail.
 */
quern_status quern_check_reach(const struct quern_transfer_data *transfer);
void quern_name_memory(const struct quern_transfer_pair *pair, struct quern_transfer_entry *entries);
bool quern_find_memory(struct quern_transfer_pair *pair, const struct quern_transfer_entry *theirs);

/* Copies, and returns when it is done. */
CUresult quern_copy_by_gpu(const struct quern_transfer_data *transfer, const struct iovec *ours, const struct iovec *theirs,
                           int count);

/* Copies within the rank: begins them, and asks whether they have ended.  They fail with the transfer. */
void quern_copy_own_on_gpu(struct quern_transfer_pair *pair);
bool quern_have_copied_own(struct quern_transfer_pair *pair);

/* The copies that a failed transfer has begun have ended. */
quern_release_pair quern_await_own_copies;

/* ---- handle.c: handles of transfers ---- */

struct quern_transfer {
    struct quern_transfer_data *data;    /* atomic; NULL: destroyed */
    quern_group *group;
    struct quern_transfer *next;
};

/* The transfer behind a handle.  Fails for NULL, for a destroyed handle, and in a forked child. */
quern_status quern_transfer_of(quern_transfer *handle, struct quern_transfer_data **data);

/* Fails with the reason if it has failed. */
quern_status quern_transfer_status(struct quern_transfer_data *transfer);

/* Lets it fail if the group is poisoned. */
quern_status quern_transfer_poisoned(struct quern_transfer_data *transfer);

enum { QUERN_TRANSFER_SLICE = 20000000 };  /* nanoseconds between two looks after a transfer for which somebody waits */

/* Looks at the poison, and whether the ranks live for which a started transfer waits; it may fail. */
void quern_look_after(struct quern_transfer_data *transfer, int64_t now);
bool quern_is_awaited(const struct quern_transfer_pair *pair);

/* Returns when a transfer is over, within the limit. */
quern_status quern_wait_for_transfer(struct quern_transfer_data *transfer, double limit);

/* Lets it fail since its limit has ended. */
void quern_expire_transfer(struct quern_transfer_data *transfer, double waited);

/* Shows what a transfer sends (receive 0) or receives (1) to those who look. */
void quern_show_transfer(const struct quern_transfer_data *transfer, int32_t receive, struct quern_tensor_taker *taker);

/* ---- nccl_path.c ---- */

/*
 * The way of the data of two GPU ranks over NCCL.  What both have prepared and started is said on their connection, as for CPU
 * ranks, and only then does NCCL see it, on both ends in the same order:
 *
 *   lower rank: CONNECT    when a list of both has been agreed on and there is no communicator: a new one, or one that an earlier
 *                          group has left here
 *   upper rank: FORGOTTEN  the latter, and it has none of this id: the lower one aborts its end, and says CONNECT again
 *   both:       CONNECTED  when NCCL says that it is ready
 *   lower rank: GO         when both have started the transfers of its payload: both enqueue these, in its order, as one flight
 *   either:     BREAK      it has aborted the communicator: NCCL has failed, or a rank ends a transfer that cannot complete
 *
 * The communicator has a generation, which the lower rank counts, so that an end that has lost it and one that has not agree.
 */

struct quern_nccl_path {
    struct quern_nccl_pair *nccl;
    uint32_t generation;                  /* of the communicator, or of the last one; 0: there was none */
    bool is_said, is_heard;               /* CONNECTED, of this generation */
    bool is_forgotten;                    /* the last one was FORGOTTEN: the next follows at once */
    bool says_batch, is_batching;         /* this rank; the other one: is in the middle of the starts of a batch */
    struct quern_transfer_pair *flight[QUERN_TRANSFER_MOST_GO];  /* [flying], in the order of the GO */
    int flying;
    struct quern_nccl_item *items;        /* of the flight */
    int64_t room;
    struct quern_nccl_order *waiting;     /* the upper rank's, the oldest first: heard while a flight is under way */
};

/* A GO. */
struct quern_nccl_order {
    struct quern_nccl_order *next;
    int count;
    struct quern_transfer_go *list;
};

/* ---- progress.c: control messages of transfers: sends and receives them, and advances the data ---- */

/* The connection to a rank, which is opened if need be.  NULL: fails with the reason as the thread's detail. */
struct quern_conn *quern_conn_to(struct quern_transfers *all, int peer, quern_status *status);

/* Opens conns to the ranks that have spoken first. */
void quern_find_speakers(struct quern_transfers *all);

/* Tells the rank of a pair of the list, and hears what that one has said before. */
bool quern_say_eager(struct quern_transfer_pair *pair);
void quern_hear_early(struct quern_transfers *all, struct quern_transfer_pair *pair);
void quern_free_early(struct quern_transfers *all);

/* Notes that a transfer is destroyed before the other rank's list of its turn has come. */
void quern_keep_turn(struct quern_transfers *all, struct quern_transfer_pair *pair);

/* Tells the rank that the round has begun; and the ranks of a batch, around its starts, that they shall take these as one. */
void quern_say_start(struct quern_transfer_pair *pair);
void quern_say_batch(struct quern_transfers *all, uint32_t batch, bool begins);

/* Sends and hears on all conns of the handle, and goes on with its transfers.  True: something has moved. */
bool quern_pass_transfers(struct quern_transfers *all);

/* A GPU or a carrier is at work, whose end nobody tells: the rank has to look again soon. */
bool quern_transfers_are_busy(const struct quern_transfers *all);

/* The sockets on which the handle's connections wait.  Returns their number. */
int quern_list_sockets(const struct quern_transfers *all, struct pollfd *polls);

/* ---- progress_threads.c ---- */

/*
 * Starts the threads that move the transfers of a group handle (quern_group_args.progress), which are made, and ends them, if there
 * are any.
 *
 * They touch what is behind the handle's quern_transfers, under its lock, and what other threads may read of the membership: the
 * roster, the poison and the connections of transfers.  A public function on transfers has the lock from quern_begin_transfer_call
 * to quern_end_transfer_call, also while it waits: it moves the bytes itself, and the threads sleep.  With is_news they look once
 * more, since they have something new to move or to wait for.
 */
quern_status quern_start_progress(struct quern_membership *member);
void quern_stop_progress(struct quern_membership *member);
void quern_begin_transfer_call(struct quern_transfers *all);
void quern_end_transfer_call(struct quern_transfers *all, bool is_news);

/* Once in a while looks after the transfers for which streams wait, and ends those whose limit has ended.  True: some wait. */
bool quern_watch_stream_waits(struct quern_stream_waits *waits);

/* ---- stream_wait.c: streams of the engine that wait for transfers ---- */

/*
 * A stream waits for a word of the host's memory, which whoever moves the transfer sets when it is over.  So no way of data needs
 * one of its own, and a stream goes on when the transfer has failed.
 */

enum { QUERN_STREAM_WAITS = 1024 };  /* of a group handle, that streams have not passed */

/* What the host and a stream tell each other.  All atomic. */
struct quern_stream_word {
    uint32_t reached;  /* by the stream: it has come to the wait */
    uint32_t is_over;  /* by the host, behind the status */
    uint32_t status;
    uint32_t passed;   /* by the stream: the word is free */
};

struct quern_stream_wait {
    struct quern_transfer_data *transfer;  /* NULL: it is over */
    double limit;                          /* seconds, from when the stream has come to the wait */
    int64_t since;                         /* 0: it has not */
};

struct quern_stream_waits {
    struct quern_idle_task task;           /* first: its end */
    CUdevice device;                       /* its context is retained until the end */
    CUcontext context;
    struct quern_stream_word *words;       /* [QUERN_STREAM_WAITS] */
    CUdeviceptr address;                   /* of the words */
    bool is_pinned;
    struct quern_stream_wait wait[QUERN_STREAM_WAITS];
    int count;                             /* whose transfer is not over */
    int64_t looked;
};

/* Makes what the handle's waits need, for a GPU rank; and frees it when all have ended and the streams have passed them. */
quern_status quern_make_stream_waits(struct quern_transfers *all);
void quern_free_stream_waits(struct quern_transfers *all);

/* Lets a stream wait for a started transfer, and writes its status.  Errors: QUERN_OUT_OF_MEMORY, of the driver. */
quern_status quern_begin_stream_wait(struct quern_transfer_data *transfer, double limit, CUstream stream, uint32_t *status);

/* A transfer is over: the streams that wait for it go on. */
void quern_end_stream_waits(struct quern_transfer_data *transfer, quern_status status);

/* ---- cursor.c: the bytes of a direction of a pair, in the memory of its items ---- */

/*
 * The next pieces of memory, at most so many and of so many bytes; also at the other rank, unless `theirs` is NULL.
 * Returns their number.
 */
int quern_list_pieces(const struct quern_transfer_pair *pair, const struct quern_cursor *cursor, bool receive, size_t most,
                      struct iovec *ours, struct iovec *theirs, int limit);
size_t quern_bytes_in(const struct iovec *pieces, int count);

/* The bytes, at most so many, up to the next item that goes the other way: through a bounce buffer, or not. */
size_t quern_run_of(const struct quern_transfer_pair *pair, const struct quern_cursor *cursor, bool receive, size_t most,
                    bool *is_staged);

/* So many bytes have moved. */
void quern_move_on(const struct quern_transfer_pair *pair, struct quern_cursor *cursor, bool receive, int64_t bytes);

/* Copy the next bytes into the memory of the pair's receives, and out of that of its sends. */
void quern_put_bytes(struct quern_transfer_pair *pair, const unsigned char *from, size_t bytes);
void quern_get_bytes(struct quern_transfer_pair *pair, unsigned char *to, size_t bytes);

/* ---- transfer.c: transfers as the group's handle sees them ---- */

/* Makes what the handle has for transfers, unless it is there. */
quern_status quern_make_transfers(struct quern_membership *member);

/* Fails if transfers of the handle are not destroyed. */
quern_status quern_check_no_transfers(const struct quern_membership *member);

/* The lines of a report about transfers between hosts: by which way their bytes go, where that is not the one of their words. */
void quern_report_transfers(struct quern_text *text, const struct quern_membership *member);

/* Takes back what a carrier has of them, before the end of the group.  QUERN_PEER_LOST: it keeps a message. */
quern_status quern_settle_transfers(struct quern_membership *member);

/* Frees what the handle has for transfers, of which none is left. */
void quern_forget_transfers(struct quern_membership *member);

#endif
