/*
 * What the steps of a group of hosts cost on this machine, in nanoseconds, as JSON: the parameters of bench/scale.
 *
 *   quern_bench_scale > bench/results/scale-costs.json
 *
 * Each is the least of some turns, on one thread or, for the way of a message, two: what other programs take is left out.
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "os/sha256.h"

enum { TURNS = 9, SOCKETS = 256, PIECE = 64 << 10, RECORD = 576, RECORDS = 8192 };

static int listener, out, in;
static struct sockaddr_in name = {.sin_family = AF_INET};
static char piece[PIECE];
static struct pollfd polls[SOCKETS];

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void need(int good, const char *what) {
    if (good) return;
    perror(what);
    exit(EXIT_FAILURE);
}

/* ---- connections ---- */

static void listen_here(void) {
    socklen_t bytes = sizeof name;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    need(listener >= 0 && !bind(listener, (struct sockaddr *)&name, bytes) && !listen(listener, 512), "listening");
    need(!getsockname(listener, (struct sockaddr *)&name, &bytes), "the port");
}

static int call(void) {
    const int on = 1, caller = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    need(caller >= 0 && !connect(caller, (struct sockaddr *)&name, sizeof name), "connecting");
    setsockopt(caller, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return caller;
}

/* The kernel of one machine does both ends' part of a connection inside of connect: the accept here is the call alone. */
static void time_connections(double *connecting, double *accepting) {
    static int callers[SOCKETS], accepted[SOCKETS];
    const double began = now();
    for (int i = 0; i < SOCKETS; i++) callers[i] = call();
    const double between = now();
    for (int i = 0; i < SOCKETS; i++)
        need((accepted[i] = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0, "accepting");
    *accepting = (now() - between) / SOCKETS;
    *connecting = (between - began) / SOCKETS;
    for (int i = 0; i < SOCKETS; i++) close(callers[i]), close(accepted[i]);
}

/* ---- calls that move bytes ---- */

static double time_send(size_t bytes, double *receiving) {
    enum { TIMES = 64 };
    double sending = 0;
    *receiving = 0;
    for (int i = 0; i < TIMES; i++) {
        const double began = now();
        need(send(out, piece, bytes, 0) == (ssize_t)bytes, "sending");
        const double between = now();
        for (size_t done = 0; done < bytes;) {
            const ssize_t got = recv(in, piece, bytes - done, 0);
            need(got > 0, "receiving");
            done += (size_t)got;
        }
        sending += between - began;
        *receiving += now() - between;
    }
    *receiving /= TIMES;
    return sending / TIMES;
}

static double time_attempt(void) {
    enum { TIMES = 2000 };
    const double began = now();
    for (int i = 0; i < TIMES; i++) need(recv(in, piece, 1, MSG_DONTWAIT) < 0, "an empty socket");
    return (now() - began) / TIMES;
}

static double time_poll(int descriptors) {
    enum { TIMES = 200 };
    const double began = now();
    for (int i = 0; i < TIMES; i++) poll(polls, (nfds_t)descriptors, 0);
    return (now() - began) / TIMES;
}

/* ---- the way of a message ---- */

enum { PINGS = 2000 };

static void *echo(void *unused) {
    char byte[64];
    (void)unused;
    for (int i = 0; i < PINGS; i++) need(recv(in, byte, sizeof byte, 0) > 0 && send(in, byte, sizeof byte, 0) > 0, "an echo");
    return NULL;
}

/* Half a round trip between threads that sleep in recv: the way, the calls of both ends, and a wake-up. */
static double time_way(void) {
    char byte[64] = "";
    pthread_t thread;
    need(!pthread_create(&thread, NULL, echo, NULL), "a thread");
    const double began = now();
    for (int i = 0; i < PINGS; i++) need(send(out, byte, sizeof byte, 0) > 0 && recv(out, byte, sizeof byte, 0) > 0, "a ping");
    const double time = (now() - began) / PINGS / 2;
    pthread_join(thread, NULL);
    return time;
}

static int bells[2];

static void *answer(void *unused) {
    uint64_t count;
    (void)unused;
    for (int i = 0; i < PINGS; i++)
        need(read(bells[0], &count, sizeof count) > 0 && write(bells[1], &(uint64_t){1}, sizeof count) > 0, "a bell");
    return NULL;
}

/* To wake a thread of the same host. */
static double time_bell(void) {
    uint64_t count;
    pthread_t thread;
    need((bells[0] = eventfd(0, 0)) >= 0 && (bells[1] = eventfd(0, 0)) >= 0, "bells");
    need(!pthread_create(&thread, NULL, answer, NULL), "a thread");
    const double began = now();
    for (int i = 0; i < PINGS; i++)
        need(write(bells[0], &(uint64_t){1}, sizeof count) > 0 && read(bells[1], &count, sizeof count) > 0, "a bell");
    const double time = (now() - began) / PINGS / 2;
    pthread_join(thread, NULL);
    close(bells[0]), close(bells[1]);
    return time;
}

/* ---- arithmetic ---- */

static double time_codes(size_t bytes) {
    enum { TIMES = 400 };
    unsigned char key[QUERN_DIGEST_BYTES] = {1}, code[QUERN_DIGEST_BYTES];
    const double began = now();
    for (int i = 0; i < TIMES; i++) {
        quern_hmac(key, sizeof key, &(struct quern_part){piece, bytes}, 1, code);
        key[0] ^= code[0];
    }
    return (now() - began) / TIMES;
}

/* Sixteen bytes of each record of an all-gather, one after the other. */
static double time_comparison(void) {
    static char records[RECORDS][RECORD];
    static volatile int same;
    char mine[16] = {1};
    for (int i = 0; i < RECORDS; i++) records[i][16] = (char)i;
    const double began = now();
    for (int i = 0; i < RECORDS; i++) same = same + (memcmp(records[i] + 16, mine, sizeof mine) == 0);
    return (now() - began) / RECORDS;
}

/* ---- the least of some turns ---- */

static const char *const names[] = {"connect", "accept", "send", "receive", "send_byte", "receive_byte", "attempt", "poll",
                                    "poll_each", "way", "bell", "code", "code_byte", "compare"};
enum { NAMES = sizeof names / sizeof *names };

static void measure(double times[NAMES]) {
    double receiving, much_receiving, connecting, accepting;
    time_connections(&connecting, &accepting);
    const double sending = time_send(64, &receiving), much = time_send(PIECE, &much_receiving);
    const double few = time_poll(1), many = time_poll(SOCKETS), code = time_codes(128), long_code = time_codes(4096);
    const double all[NAMES] = {connecting, accepting, sending, receiving, (much - sending) / PIECE,
                               (much_receiving - receiving) / PIECE, time_attempt(), few, (many - few) / (SOCKETS - 1), time_way(),
                               time_bell(), code, (long_code - code) / (4096 - 128), time_comparison()};
    memcpy(times, all, sizeof all);
}

int main(void) {
    double least[NAMES], times[NAMES];
    listen_here();
    out = call();
    need((in = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0, "accepting");
    setsockopt(in, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    for (int i = 0; i < SOCKETS; i++) polls[i] = (struct pollfd){.fd = in, .events = POLLIN};
    measure(least);
    for (int turn = 1; turn < TURNS; turn++) {
        measure(times);
        for (int i = 0; i < NAMES; i++) least[i] = times[i] < least[i] ? times[i] : least[i];
    }
    for (int i = 0; i < NAMES; i++) printf("%s\"%s\": %.4g%s", i ? " " : "{", names[i], least[i], i + 1 < NAMES ? ",\n" : "}\n");
    return 0;
}
