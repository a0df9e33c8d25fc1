/* Knows what a group of several hosts needs of the system, and says what is missing.  Called while such a group is created. */
#include "ranks/hosts/hosts.h"

#include <errno.h>
#include <string.h>

#include "os/descriptor.h"
#include "runtime/status.h"

/* Where the limit of each is set. */
static const struct {
    int error;
    const char *limit;
} shortages[] = {
    {EMFILE, ""},
    {ENFILE, "the limit of the system is /proc/sys/fs/file-max"},
    {EADDRNOTAVAIL, "no local port is free, of those in /proc/sys/net/ipv4/ip_local_port_range"},
    {ENOBUFS, "the memory of sockets is used up, of which /proc/sys/net/ipv4/tcp_mem has the limit"},
    {ENOMEM, "the system has no memory for sockets"},
};

static const char *limit_of(int error) {
    for (size_t i = 0; i < sizeof shortages / sizeof *shortages; i++)
        if (shortages[i].error == error) return shortages[i].limit;
    return NULL;
}

bool quern_is_shortage(int error) { return limit_of(error); }

/* Other hosts: before they have met, as few as can have so many ranks. */
static int count_hosts(const struct quern_membership *member) {
    const int elsewhere = member->ranks - member->here;
    if (member->roster && member->roster->is_complete) return member->roster->hosts - 1;
    return (elsewhere + QUERN_RANK_LIMIT - 1) / QUERN_RANK_LIMIT;
}

/* The lowest rank of this host, when all of its ranks have joined. */
static int find_leader(const struct quern_membership *member) {
    int rank = 0;
    if (member->roster->is_complete) return member->roster->host_leader;
    while (rank + 1 < member->ranks && __atomic_load_n(&member->segment->rank[rank].state, __ATOMIC_ACQUIRE) == QUERN_RANK_ABSENT)
        rank++;
    return rank;
}

/* Two for each pair of ranks.  The leader's process has one for each pair of hosts, and a socket for datagrams. */
int quern_connections_needed(const struct quern_membership *member) {
    const struct quern_roster *roster = member->roster;
    const bool leads = roster && roster->peer[find_leader(member)].is_here;
    int mine = roster ? 0 : 1;
    for (int rank = 0; roster && rank < member->ranks; rank++) mine += roster->peer[rank].is_here;
    return mine * 2 * (member->ranks - member->here) + (leads ? count_hosts(member) + 1 : 0);
}

static quern_status fail_with_limit(const struct quern_membership *member, const char *what, int needed,
                                    const struct quern_descriptor_limit *limit) {
    return quern_fail(member->device, QUERN_SYSTEM_ERROR, "%sthe group needs %d descriptors in this process, and the limit "
                      "(RLIMIT_NOFILE) is %llu, of which %llu are open", what, needed, (unsigned long long)limit->most,
                      (unsigned long long)limit->open);
}

quern_status quern_check_descriptors(const struct quern_membership *member, int needed) {
    struct quern_descriptor_limit limit;
    return quern_has_descriptors((uint64_t)needed, &limit) ? QUERN_OK : fail_with_limit(member, "", needed, &limit);
}

quern_status quern_fail_short(const struct quern_membership *member, const char *call, int error) {
    struct quern_descriptor_limit limit;
    char what[120];
    const int needed = quern_connections_needed(member);
    struct quern_text text = quern_text_begin(what, sizeof what);
    quern_text_add(&text, "%s: %s: ", call, strerror(error));
    if (error != EMFILE)
        return quern_fail(member->device, QUERN_SYSTEM_ERROR, "%s%s; the group needs %d connections of this process", what,
                          limit_of(error), needed);
    quern_has_descriptors(UINT64_MAX, &limit);
    return fail_with_limit(member, what, needed, &limit);
}
