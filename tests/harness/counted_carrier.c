/* Stands between a group and its carrier.  counted_carrier.h documents the functions. */
#include "harness/counted_carrier.h"

static void count_message(struct counted_carrier *counted, size_t bytes) {
    counted->bytes += bytes;
    if (++counted->messages == counted->dies_at) raise(SIGKILL);
}

static int send_counted(void *user, int rank, const void *data, size_t bytes, uint64_t tag, uint64_t *request) {
    struct counted_carrier *counted = user;
    count_message(counted, bytes);
    return counted->carrier->send(counted->carrier->user, rank, data, bytes, tag, request);
}

static int receive_counted(void *user, int rank, void *data, size_t bytes, uint64_t tag, uint64_t *request) {
    struct counted_carrier *counted = user;
    count_message(counted, 0);
    return counted->carrier->receive(counted->carrier->user, rank, data, bytes, tag, request);
}

static int test_counted(void *user, uint64_t request, size_t *bytes) {
    struct counted_carrier *counted = user;
    return counted->carrier->test(counted->carrier->user, request, bytes);
}

static void cancel_counted(void *user, uint64_t request) {
    struct counted_carrier *counted = user;
    counted->carrier->cancel(counted->carrier->user, request);
}

quern_group *counted_carrier_group(struct counted_carrier *counted, struct rank *rank, double timeout) {
    quern_group_args args = rank_group_args(rank, timeout);
    quern_carrier carrier = *args.hosts->carrier;
    counted->carrier = args.hosts->carrier;
    carrier.user = counted, carrier.send = send_counted, carrier.receive = receive_counted;
    carrier.test = test_counted, carrier.cancel = cancel_counted;
    rank_hosts_args(&args)->carrier = &carrier;
    return rank_create(rank, &args);
}
