/*
 * Brings ranks of several hosts together.  The hosts may all be this machine: then their ranks share no memory, and meet at an
 * address of the loopback interface.  Called by main.c and run.c.
 */
#define _GNU_SOURCE
#include "hosts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "memory.h"

#define PLACE "127.0.0.2"

enum { LEAST_SECRET = 16, MOST_SECRET = 4096, DRAWN_SECRET = 32 };

int host_of_rank(int rank, int ranks, int hosts) {
    int host = 0;
    while (host_first_rank(host + 1, ranks, hosts) <= rank) host++;
    return host;
}

static bool fail(const char *what) {
    fprintf(stderr, "language_model: %s: %s\n", what, strerror(errno));
    return false;
}

/* ---- inviting ---- */

/* A port that is free now. */
static bool choose_place(char *option, size_t bytes) {
    struct sockaddr_in name = {.sin_family = AF_INET};
    socklen_t length = sizeof name;
    inet_pton(AF_INET, PLACE, &name.sin_addr);
    int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (probe < 0 || bind(probe, (struct sockaddr *)&name, length) || getsockname(probe, (struct sockaddr *)&name, &length)) {
        if (probe >= 0) close(probe);
        return fail("cannot listen at " PLACE);
    }
    close(probe);
    snprintf(option, bytes, "--meet=" PLACE ":%d", ntohs(name.sin_port));
    return true;
}

/* In memory that the processes inherit: neither on a command line nor in a file of a name. */
static bool draw_secret(char *option, size_t bytes) {
    unsigned char secret[DRAWN_SECRET];
    int file = memfd_create("secret", 0);
    if (file < 0 || getrandom(secret, sizeof secret, 0) != sizeof secret || write(file, secret, sizeof secret) != sizeof secret)
        return fail("cannot draw a secret");
    snprintf(option, bytes, "--secret=/proc/self/fd/%d", file);
    return true;
}

bool hosts_invite(struct invitation *invitation, const struct options *options) {
    int count = 0;
    *invitation = (struct invitation){0};
    if (options->hosts == 1) return true;
    if (options->meet == NULL) {
        if (!choose_place(invitation->meet, sizeof invitation->meet)) return false;
        invitation->options[count++] = invitation->meet;
    }
    if (options->secret == NULL) {
        if (!draw_secret(invitation->secret, sizeof invitation->secret)) return false;
        invitation->options[count++] = invitation->secret;
    }
    const char *place = options->meet != NULL ? options->meet : invitation->meet + strlen("--meet=");
    if (options->host >= 0)
        printf("Hosts      this is host %d of %d; they meet at %s\n", (int)options->host, (int)options->hosts, place);
    else
        printf("Hosts      %d on this machine, which share no memory; they meet at %s\n", (int)options->hosts, place);
    return true;
}

/* ---- a rank ---- */

static bool read_secret(struct meeting *meeting, const char *path) {
    unsigned char *secret = allocate(MOST_SECRET);
    FILE *file = fopen(path, "rb");
    meeting->secret = secret;
    if (file == NULL) return fail(path);
    meeting->secret_bytes = fread(secret, 1, MOST_SECRET, file);
    fclose(file);
    if (meeting->secret_bytes >= LEAST_SECRET) return true;
    fprintf(stderr, "language_model: %s has %zu bytes; a secret has at least %d\n", path, meeting->secret_bytes, LEAST_SECRET);
    return false;
}

bool hosts_settle(struct meeting *meeting, const struct options *options) {
    const int hosts = (int)options->hosts, host = host_of_rank(meeting->rank, meeting->ranks, hosts);
    meeting->meet = options->meet;
    meeting->host_ranks = host_first_rank(host + 1, meeting->ranks, hosts) - host_first_rank(host, meeting->ranks, hosts);
    if (options->host < 0) snprintf(meeting->host, sizeof meeting->host, "host%d", host);
    return read_secret(meeting, options->secret);
}
