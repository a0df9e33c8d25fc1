/* Wraps the library's calls and makes the crossings of crossing.h around them. */
#include "faults/crossing.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>

#include "harness/standard.h"
#include "ranks/descriptors.h"
#include "os/futex.h"
#include "ranks/hosts/hosts.h"
#include "ranks/meeting.h"
#include "ranks/poison.h"

static struct {
    bool armed;
    enum crossing_deed deed;
    const char *function;  /* NULL: all */
    long at, count;
    struct crossing_place *place;  /* NULL: nobody asks for it */
} crossings;

void crossing_arm_at(enum crossing_deed deed, const char *function, long at) {
    crossings.deed = deed;
    crossings.function = function;
    crossings.at = at;
    crossings.count = 0;
    crossings.armed = true;
}

void crossing_arm(enum crossing_deed deed, long at) { crossing_arm_at(deed, NULL, at); }

void crossing_tell(struct crossing_place *place) { crossings.place = place; }

long crossing_count(void) { return crossings.count; }

const char *crossing_name(const struct crossing_place *place) {
    static char text[100];
    snprintf(text, sizeof text, "%s call %ld of %s", place->before ? "before" : "behind", place->call,
             place->function ? place->function : "nothing");
    return text;
}

/* A connection that is being repaired ends without a word. */
static void silence_connections(void) {
    for (int file = 3; file < 256; file++) setsockopt(file, IPPROTO_TCP, TCP_REPAIR, &(int){1}, sizeof(int));
}

static void act(enum crossing_deed deed) {
    static const int signals[] = {[CROSSING_KILL] = SIGKILL, [CROSSING_STOP] = SIGSTOP, [CROSSING_DELAY] = 0,
                                  [CROSSING_VANISH] = SIGKILL};
    if (deed == CROSSING_VANISH) silence_connections();
    if (signals[deed]) kill(getpid(), signals[deed]);
    if (deed == CROSSING_DELAY) nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
}

static void cross(const char *function, bool before, long *calls) {
    if (!crossings.armed) return;
    *calls += before;
    if (crossings.function && (!before || strcmp(crossings.function, function) != 0)) return;
    if (++crossings.count != crossings.at) return;
    if (crossings.place) *crossings.place = (struct crossing_place){function, *calls, before};
    act(crossings.deed);
}

/* A function of the library or of libc, called through a crossing on each side. */
#define CROSSED(result, name, parameters, arguments) \
    result __real_##name parameters; \
    result __wrap_##name parameters; \
    result __wrap_##name parameters { \
        static long calls; \
        cross(#name, true, &calls); \
        result value = __real_##name arguments; \
        cross(#name, false, &calls); \
        return value; \
    }

#define CROSSED_VOID(name, parameters, arguments) \
    void __real_##name parameters; \
    void __wrap_##name parameters; \
    void __wrap_##name parameters { \
        static long calls; \
        cross(#name, true, &calls); \
        __real_##name arguments; \
        cross(#name, false, &calls); \
    }

CROSSED(int, shm_open, (const char *name, int flags, mode_t mode), (name, flags, mode))
CROSSED(int, shm_unlink, (const char *name), (name))
CROSSED(int, flock, (int file, int operation), (file, operation))
CROSSED(int, posix_fallocate, (int file, off_t from, off_t bytes), (file, from, bytes))
CROSSED(void *, mmap, (void *at, size_t bytes, int protection, int flags, int file, off_t from),
        (at, bytes, protection, flags, file, from))
CROSSED(int, munmap, (void *at, size_t bytes), (at, bytes))
CROSSED(void *, memcpy, (void *to, const void *from, size_t bytes), (to, from, bytes))
CROSSED_VOID(quern_futex_wait, (uint32_t *word, uint32_t value, int64_t nanoseconds), (word, value, nanoseconds))
CROSSED_VOID(quern_futex_wake, (uint32_t *word), (word))
CROSSED(quern_status, quern_enter_roster,
        (struct quern_roster *roster, const struct quern_entering *entering, bool *again), (roster, entering, again))
CROSSED(bool, quern_rank_lives, (const struct quern_roster *roster, int rank), (roster, rank))
CROSSED(quern_status, quern_check_poison, (const struct quern_membership *member), (member))
CROSSED(quern_status, quern_meet, (struct quern_membership *member, const struct quern_meeting *meeting), (member, meeting))
CROSSED_VOID(quern_announce, (struct quern_membership *member, const struct quern_meeting *meeting), (member, meeting))
CROSSED(quern_status, quern_await, (struct quern_membership *member, const struct quern_meeting *meeting), (member, meeting))
CROSSED(quern_status, quern_exchange,
        (struct quern_membership *const *members, int count, enum quern_collective operation, const void *const *payloads,
         size_t bytes, void *all), (members, count, operation, payloads, bytes, all))
CROSSED(quern_status, quern_descriptors_listen, (const struct quern_membership *member, uint64_t call, int *listener),
        (member, call, listener))
CROSSED(quern_status, quern_descriptors_send,
        (const struct quern_membership *member, uint64_t call, uint64_t digest, const struct quern_descriptor *list, int count),
        (member, call, digest, list, count))
CROSSED(quern_status, quern_descriptors_receive,
        (const struct quern_membership *member, uint64_t call, uint64_t digest, int listener, int table[QUERN_DESCRIPTOR_TAGS]),
        (member, call, digest, listener, table))
CROSSED_VOID(quern_release_roster, (struct quern_roster *roster), (roster))

/* Of groups of several hosts. */
CROSSED(int, listen, (int file, int waiting), (file, waiting))
CROSSED(int, connect, (int file, const struct sockaddr *name, socklen_t bytes), (file, name, bytes))
CROSSED(int, accept4, (int file, struct sockaddr *name, socklen_t *bytes, int flags), (file, name, bytes, flags))
CROSSED(ssize_t, send, (int file, const void *data, size_t bytes, int flags), (file, data, bytes, flags))
CROSSED(ssize_t, recv, (int file, void *data, size_t bytes, int flags), (file, data, bytes, flags))
CROSSED(ssize_t, sendmsg, (int file, const struct msghdr *message, int flags), (file, message, flags))
CROSSED(ssize_t, recvmsg, (int file, struct msghdr *message, int flags), (file, message, flags))
CROSSED(bool, quern_open_net, (struct quern_membership *member), (member))
CROSSED_VOID(quern_publish_roll, (const struct quern_membership *member, const struct quern_roll *roll), (member, roll))
CROSSED_VOID(quern_free_net, (struct quern_membership *member), (member))
