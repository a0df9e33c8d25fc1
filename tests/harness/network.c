/* Hosts that are network namespaces.  network.h documents the functions. */
#include "harness/network.h"

#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>

int network_command(const char *format, ...) {
    char command[256];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(command, sizeof command, format, list);
    va_end(list);
    snprintf(command + length, sizeof command - (size_t)length, " 2>/dev/null");
    return system(command);
}

void network_take_down(const struct network *network) {
    for (int host = 0; host < NETWORK_HOSTS; host++) {
        const char *name = network->host[host];
        /* Connections without an end keep the namespace, and it its cable, for minutes. */
        network_command("ip link del %sv", name);
        network_command("ip netns del %s", name);
    }
    network_command("ip link del %s", network->bridge);
}

bool network_set_cable(const struct network *network, int host, bool is_in) {
    return network_command("ip -n %s link set eth0 %s", network->host[host], is_in ? "up" : "down") == 0;
}

static bool add_host(const struct network *network, int host) {
    const char *name = network->host[host];
    return network_command("ip netns add %s", name) == 0 &&
           network_command("ip link add %sv type veth peer name eth0 netns %s", name, name) == 0 &&
           network_command("ip link set %sv master %s && ip link set %sv up", name, network->bridge, name) == 0 &&
           network_command("ip -n %s addr add 10.79.0.%d/24 dev eth0 && ip -n %s link set lo up", name, host + 1, name) == 0 &&
           network_set_cable(network, host, true);
}

/* The kernel calls an interface running up to a second after it is up, and UCX leaves out those that are not. */
static bool is_running(const struct network *network, int host) {
    const double end = rank_now() + RANK_LIMIT;
    while (network_command("ip -n %s -o link show eth0 | grep -q 'state UP'", network->host[host]) != 0) {
        if (rank_now() > end) return false;
        rank_sleep(0.05);
    }
    return true;
}

bool network_put_up(struct network *network) {
    const int number = (int)getpid() % 100000;
    bool good = geteuid() == 0;
    snprintf(network->bridge, sizeof network->bridge, "qn%d-0", number);
    for (int host = 0; host < NETWORK_HOSTS; host++)
        snprintf(network->host[host], sizeof network->host[host], "qn%d-%d", number, host + 1);
    if (!good) return false;
    good = network_command("ip link add %s type bridge", network->bridge) == 0 &&
           network_command("ip link set %s up", network->bridge) == 0;
    for (int host = 0; host < NETWORK_HOSTS && good; host++) good = add_host(network, host);
    for (int host = 0; host < NETWORK_HOSTS && good; host++) good = is_running(network, host);
    if (!good) network_take_down(network);
    return good;
}

void network_move_in(struct rank *rank, const struct network *network) {
    char path[64];
    snprintf(path, sizeof path, "/run/netns/%s", network->host[rank_host(rank, rank->rank)]);
    const int space = open(path, O_RDONLY | O_CLOEXEC);
    rank_check(rank, space >= 0 && setns(space, CLONE_NEWNET) == 0, "cannot move to %s", path);
    close(space);
    rank->meet = "10.79.0.1:4711";
}
