/* Passes file descriptors between the processes of a group.  Called while symmetric memory is made, and by transfers. */
#define _GNU_SOURCE
#include "ranks/descriptors.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "os/descriptor.h"
#include "ranks/poison.h"
#include "runtime/status.h"

/* The data of a message that carries descriptors. */
struct message {
    uint64_t call, digest;
    int32_t from;
    int32_t count;
    int32_t tags[QUERN_DESCRIPTOR_TAGS];
};

/* The ancillary data of a message: its descriptors. */
union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(QUERN_DESCRIPTOR_TAGS * sizeof(int))];
};

/* The descriptors that it has room for, which the system fills: its size is rounded up. */
enum { ROOM = (sizeof(union control) - CMSG_LEN(0)) / sizeof(int) };

static quern_status fail_system(const struct quern_membership *member, const char *what) {
    return quern_fail(member->device, QUERN_SYSTEM_ERROR, "%s: %s", what, strerror(errno));
}

void quern_close_descriptor(int *descriptor) {
    if (*descriptor >= 0) close(*descriptor);
    *descriptor = -1;
}

/* An abstract name, which needs no file and disappears with its socket. */
static struct sockaddr_un name_of(const struct quern_roster *roster, uint64_t call, int rank, socklen_t *bytes) {
    static const char digits[] = "0123456789abcdef";
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    char id[2 * sizeof roster->id + 1] = "";
    for (size_t i = 0; i < sizeof roster->id; i++) {
        id[2 * i] = digits[roster->id[i] >> 4];
        id[2 * i + 1] = digits[roster->id[i] & 15];
    }
    struct quern_text text = quern_text_begin(name.sun_path + 1, sizeof name.sun_path - 1);
    quern_text_add(&text, "quern.%s.%d.%llu", id, rank, (unsigned long long)call);
    *bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + text.length);
    return name;
}

static int make_socket(void) { return quern_above_two(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

/* Whether the peer of a connection belongs to this user.  The name is not a secret, so others could connect. */
static bool is_of_this_user(int connection) {
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == geteuid();
}

quern_status quern_descriptors_listen(const struct quern_membership *member, uint64_t call, int *listener) {
    socklen_t bytes;
    struct sockaddr_un name = name_of(member->roster, call, member->rank, &bytes);
    *listener = make_socket();
    if (*listener >= 0 && bind(*listener, (struct sockaddr *)&name, bytes) == 0 && listen(*listener, QUERN_RANK_LIMIT) == 0)
        return QUERN_OK;
    quern_status status = fail_system(member, "making a socket for descriptors");
    quern_close_descriptor(listener);
    return status;
}

/* ---- sending ---- */

static bool send_message(int connection, struct message *message, const struct quern_descriptor *list) {
    union control control = {.bytes = {0}};
    int descriptors[QUERN_DESCRIPTOR_TAGS];
    size_t size = (size_t)message->count * sizeof *descriptors;
    for (int i = 0; i < message->count; i++) {
        message->tags[i] = list[i].tag;
        descriptors[i] = list[i].descriptor;
    }
    struct iovec data = {message, sizeof *message};
    struct msghdr packet = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(size)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&packet);
    *header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(size)};
    memcpy(CMSG_DATA(header), descriptors, size);
    return sendmsg(connection, &packet, MSG_NOSIGNAL) == (ssize_t)sizeof *message;
}

static quern_status send_to(const struct quern_membership *member, struct message message, int rank,
                            const struct quern_descriptor *list) {
    socklen_t bytes;
    struct sockaddr_un name = name_of(member->roster, message.call, rank, &bytes);
    int connection = make_socket();
    quern_status status = QUERN_OK;
    if (connection < 0)
        status = fail_system(member, "making a socket for descriptors");
    else if (connect(connection, (struct sockaddr *)&name, bytes) != 0)
        status = quern_fail(member->device, QUERN_SYSTEM_ERROR,
                            "the socket of rank %d cannot be reached: %s (all processes must be in one network namespace)", rank,
                            strerror(errno));
    else if (!is_of_this_user(connection))
        status = quern_fail(member->device, QUERN_SYSTEM_ERROR, "the socket of rank %d belongs to another user", rank);
    else if (!send_message(connection, &message, list))
        status = fail_system(member, "sending descriptors");
    quern_close_descriptor(&connection);
    return status;
}

/* Whether an unreachable peer has ended.  Its sockets may close a moment before its lock. */
static bool is_gone(const struct quern_membership *member, int rank) {
    bool gone = !quern_rank_lives(member->roster, rank);
    for (int attempt = 0; attempt < 20 && !gone; attempt++) {
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        gone = !quern_rank_lives(member->roster, rank);
    }
    return gone;
}

quern_status quern_descriptors_send_to(const struct quern_membership *member, int rank, uint64_t call, uint64_t digest,
                                       const struct quern_descriptor *list, int count) {
    const struct message message = {.call = call, .digest = digest, .from = member->rank, .count = count};
    quern_status status = send_to(member, message, rank, list);
    if (status == QUERN_OK || !is_gone(member, rank)) return status;
    return quern_fail(member->device, QUERN_PEER_LOST, "rank %d (process %d) has ended; rank %d had a descriptor for it", rank,
                      member->roster->peer[rank].process.pid, member->rank);
}

quern_status quern_descriptors_send(const struct quern_membership *member, uint64_t call, uint64_t digest,
                                    const struct quern_descriptor *list, int count) {
    const struct quern_peer *peers = member->roster->peer;
    char reason[256];
    for (int rank = 0; rank < member->ranks; rank++) {
        if (peers[rank].leader != rank || peers[rank].is_here || peers[rank].is_elsewhere) continue;
        quern_status status = quern_descriptors_send_to(member, rank, call, digest, list, count);
        quern_error_detail(reason, sizeof reason);
        if (status == QUERN_PEER_LOST) status = quern_poison(member, status, "%s", reason);
        if (status != QUERN_OK) return status;
    }
    return QUERN_OK;
}

/* ---- receiving ---- */

/* Reads a message and its descriptors.  The caller owns the descriptors even if the message is malformed. */
static bool read_message(int connection, struct message *message, int descriptors[ROOM], int *count, bool *cut) {
    union control control;
    struct iovec data = {message, sizeof *message};
    struct msghdr packet = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t length = recvmsg(connection, &packet, MSG_CMSG_CLOEXEC);
    *count = 0;
    if (length < 0) return false;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&packet); header; header = CMSG_NXTHDR(&packet, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        size_t bytes = header->cmsg_len - CMSG_LEN(0);
        memcpy(descriptors, CMSG_DATA(header), bytes);
        *count = (int)(bytes / sizeof *descriptors);
    }
    *cut = packet.msg_flags & MSG_CTRUNC;
    for (int i = 0; i < *count; i++) *cut |= (descriptors[i] = quern_above_two(descriptors[i])) < 0;
    return length == (ssize_t)sizeof *message && message->count == *count && *count <= QUERN_DESCRIPTOR_TAGS;
}

/* Stores the descriptors in the table and closes those that have no place there. */
static void file_descriptors(const struct message *message, bool sound, int *descriptors, int count,
                             int table[QUERN_DESCRIPTOR_TAGS]) {
    for (int i = 0; i < count; i++) {
        int tag = sound ? message->tags[i] : -1;
        if (tag < 0 || tag >= QUERN_DESCRIPTOR_TAGS || table[tag] >= 0)
            quern_close_descriptor(&descriptors[i]);
        else
            table[tag] = descriptors[i];
    }
}

quern_status quern_descriptors_receive(const struct quern_membership *member, uint64_t call, uint64_t digest, int listener,
                                       int table[QUERN_DESCRIPTOR_TAGS]) {
    bool any_cut = false;
    for (;;) {
        int connection = quern_above_two(accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (connection < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
        if (connection < 0 && errno != EAGAIN) return fail_system(member, "receiving descriptors");
        if (connection < 0) break;
        struct message message;
        int descriptors[ROOM], count = 0;
        bool cut = false;
        if (is_of_this_user(connection)) {
            bool sound = read_message(connection, &message, descriptors, &count, &cut);
            sound = sound && message.call == call && message.digest == digest;
            file_descriptors(&message, sound, descriptors, count, table);
        }
        any_cut |= cut;
        close(connection);
    }
    if (!any_cut) return QUERN_OK;
    return quern_fail(member->device, QUERN_SYSTEM_ERROR, "no descriptors are left to receive the peers' memory: raise the limit "
                      "of open files");
}
