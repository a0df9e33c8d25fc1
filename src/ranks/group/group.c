/* The public functions on one group: create, destroy, abort and report. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ranks/cuda_support.h"
#include "ranks/collective/collective.h"
#include "ranks/describe.h"
#include "ranks/group/group.h"
#include "ranks/handles.h"
#include "ranks/hosts/hosts.h"
#include "ranks/points.h"
#include "ranks/poison.h"
#include "ranks/seen_wait.h"
#include "ranks/heartbeat.h"
#include "ranks/transfer/transfer.h"
#include "runtime/arguments.h"
#include "runtime/dispatch.h"
#include "runtime/status.h"

/* ---- the arguments of create ---- */

static bool is_name(const char *name) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t length = strlen(name);
    return length >= 1 && length <= 200 && strspn(name, allowed) == length;
}

enum { LEAST_SECRET = 16, MOST_HOST_NAME = 15, MOST_CORE = 1023 };

/* Where and how the ranks of several hosts meet. */
static quern_status check_hosts(const quern_group_args *args) {
    const quern_device *device = args->device;
    const quern_hosts_args *hosts = args->hosts;
    struct quern_address address;
    if (!hosts->all_gather && !hosts->meet)
        return quern_fail(device, QUERN_NULL_POINTER, "hosts.meet is NULL: expected an address, or hosts.all_gather");
    if (!hosts->all_gather && !quern_address_read(hosts->meet, &address))
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "hosts.meet is no address and port: expected \"10.77.0.1:4711\" or "
                          "\"[fd00::1]:4711\"");
    if (hosts->all_gather && hosts->meet && !quern_address_read_alone(hosts->meet, &address))
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "hosts.meet is no address: expected one of this host without a port, "
                          "\"10.77.0.1\" or \"fd00::1\", since hosts.all_gather is set");
    if (!hosts->secret) return quern_fail(device, QUERN_NULL_POINTER, "hosts.secret is NULL: the hosts that meet need one");
    if (hosts->secret_bytes < LEAST_SECRET)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "hosts.secret_bytes is %zu: expected at least %d", hosts->secret_bytes,
                          LEAST_SECRET);
    const int most = args->ranks < QUERN_RANK_LIMIT ? args->ranks : QUERN_RANK_LIMIT;
    if (hosts->host_ranks < 1 || hosts->host_ranks > most)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "hosts.host_ranks is %d: expected 1 to %d, the ranks of this host",
                          hosts->host_ranks, most);
    const double timeout = hosts->failure_timeout;
    if (timeout != 0 && !(timeout >= QUERN_LEAST_FAILURE_TIMEOUT && timeout <= QUERN_MOST_FAILURE_TIMEOUT))
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "hosts.failure_timeout is %g: expected seconds, %g to %g, or 0 for %g",
                          timeout, QUERN_LEAST_FAILURE_TIMEOUT, QUERN_MOST_FAILURE_TIMEOUT, QUERN_USUAL_FAILURE_TIMEOUT);
    if (!args->name) return quern_fail(device, QUERN_NULL_POINTER, "name is NULL: hosts need one to meet under");
    if (hosts->host && (!is_name(hosts->host) || strlen(hosts->host) > MOST_HOST_NAME))
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "hosts.host is not 1 to %d letters, digits, '.', '_' or '-'",
                          MOST_HOST_NAME);
    return QUERN_OK;
}

/* A carrier of a group of several hosts. */
static quern_status check_carrier(const quern_device *device, const quern_carrier *carrier) {
    if (!carrier) return QUERN_OK;
    quern_status status = quern_check_struct(device, "quern_carrier", carrier, sizeof *carrier);
    if (status != QUERN_OK) return status;
    if (device->kind != QUERN_CPU) return quern_fail(device, QUERN_INVALID_ARGUMENT, "carrier is set: expected NULL for a GPU");
    if (!carrier->send || !carrier->receive || !carrier->test || !carrier->cancel)
        return quern_fail(device, QUERN_NULL_POINTER, "a function of carrier is NULL");
    if (!carrier->name) return quern_fail(device, QUERN_NULL_POINTER, "carrier.name is NULL");
    if (!is_name(carrier->name) || strlen(carrier->name) > MOST_HOST_NAME || strcmp(carrier->name, "sockets") == 0 ||
        strcmp(carrier->name, "ucx") == 0)
        return quern_fail(device, QUERN_INVALID_ARGUMENT,
                          "carrier.name is not 1 to %d letters, digits, '.', '_' or '-', or is the name "
                          "of another transport", MOST_HOST_NAME);
    if (carrier->tags < QUERN_CARRIER_TAGS)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "carrier.tags is %llu: expected at least %d",
                          (unsigned long long)carrier->tags, QUERN_CARRIER_TAGS);
    if (carrier->longest < QUERN_CARRIER_LEAST)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "carrier.longest is %llu: expected at least %d",
                          (unsigned long long)carrier->longest, QUERN_CARRIER_LEAST);
    status = quern_check_choice(device, "carrier.threads", carrier->threads, 1);
    return status == QUERN_OK ? quern_check_choice(device, "carrier.borrows", carrier->borrows, 1) : status;
}

static quern_status check_transports(const quern_group_args *args) {
    uint32_t transports = 0;
    const quern_carrier *carrier = args->hosts->carrier;
    quern_status status = check_carrier(args->device, carrier);
    const char *rest = status == QUERN_OK ? quern_read_transports(args->hosts, &transports) : NULL;
    if (!rest && args->progress && transports & QUERN_TRANSPORT_CARRIER && !carrier->threads)
        return quern_fail(args->device, QUERN_NOT_SUPPORTED, "progress is 1, and one thread at a time may be inside the functions "
                          "of %s (carrier.threads is 0): expected 1, or hosts.transports without it", carrier->name);
    if (!rest) return status;
    return quern_fail(args->device, QUERN_INVALID_ARGUMENT, "hosts.transports has an unknown name at \"%s\": expected \"sockets\", "
                      "\"ucx\" or the name of the carrier, or a comma-separated list", rest);
}

static quern_status check_args(const quern_group_args *args) {
    const quern_device *device = args->device;
    if (!device) return quern_fail(NULL, QUERN_NULL_POINTER, "device is NULL");
    const int most = args->hosts ? QUERN_GROUP_LIMIT : QUERN_RANK_LIMIT;
    if (args->ranks < 1 || args->ranks > most)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "ranks is %d: expected 1 to %d", args->ranks, most);
    if (args->rank < 0 || args->rank >= args->ranks)
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "rank is %d: expected 0 to %d", args->rank, args->ranks - 1);
    if (!args->name && args->ranks > 1)
        return quern_fail(device, QUERN_NULL_POINTER, "name is NULL: %d ranks need one to meet under", args->ranks);
    if (args->name && !is_name(args->name))
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "name is not 1 to 200 letters, digits, '.', '_' or '-'");
    if (!(args->timeout >= 0))
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "timeout is %g: expected seconds, 0 or more", args->timeout);
    if (!(args->first_timeout >= 0))
        return quern_fail(device, QUERN_INVALID_ARGUMENT, "first_timeout is %g: expected seconds, 0 or more", args->first_timeout);
    quern_status status = quern_check_choice(device, "args.share_gpu", args->share_gpu, 1);
    if (status == QUERN_OK) status = quern_check_choice(device, "args.multicast", args->multicast, 1);
    if (status == QUERN_OK) status = quern_check_choice(device, "args.progress", args->progress, 1);
    if (status == QUERN_OK && (args->progress_core < -1 || args->progress_core > MOST_CORE))
        status = quern_fail(device, QUERN_INVALID_ARGUMENT, "progress_core is %d: expected 0 to %d, or -1 for any",
                            args->progress_core, MOST_CORE);
    if (status == QUERN_OK && args->hosts) status = check_hosts(args);
    if (status == QUERN_OK && args->hosts) status = check_transports(args);
    if (status != QUERN_OK) return status;
    if (device->kind == QUERN_CUDA && !quern_is_prepared(device, QUERN_BARRIER))
        return quern_fail(device, QUERN_NOT_PREPARED, "%s has no barrier ready: call quern_prepare with QUERN_BARRIER first",
                          device->label);
    return QUERN_OK;
}

static quern_status check_together(const quern_group_args *args, int count) {
    for (int i = 0; i < count; i++) {
        const quern_device *device = args[i].device;
        if (count > 1 && device->kind == QUERN_CPU)
            return quern_fail(device, QUERN_INVALID_ARGUMENT, "count is %d: a thread is one CPU rank", count);
        if (count > 1 && args[i].hosts)
            return quern_fail(device, QUERN_INVALID_ARGUMENT, "count is %d: a thread is one rank of a group of several hosts",
                              count);
        bool same = args[i].ranks == args[0].ranks && args[i].timeout == args[0].timeout &&
                    args[i].first_timeout == args[0].first_timeout && args[i].job == args[0].job &&
                    args[i].first_epoch == args[0].first_epoch && !args[i].name == !args[0].name &&
                    (!args[i].name || strcmp(args[i].name, args[0].name) == 0);
        if (!same)
            return quern_fail(device, QUERN_INVALID_ARGUMENT,
                              "args[%d] differs from args[0] in name, job, ranks, time limits or first_epoch: expected one group",
                              i);
        for (int j = 0; j < i; j++)
            if (args[j].rank == args[i].rank)
                return quern_fail(device, QUERN_INVALID_ARGUMENT, "args[%d] and args[%d] both are rank %d", j, i, args[i].rank);
    }
    if (count > 1 && quern_cuda_launches_block())
        return quern_fail(args[0].device, QUERN_NOT_SUPPORTED,
                          "CUDA_LAUNCH_BLOCKING is set: one thread cannot drive %d GPUs whose kernels wait for each other; unset "
                          "it, or drive each GPU by a thread of its own", count);
    return QUERN_OK;
}

static quern_status check_create(const void *args, int count, quern_group **groups) {
    if (!args) return quern_fail(NULL, QUERN_NULL_POINTER, "args is NULL");
    if (!groups) return quern_fail(NULL, QUERN_NULL_POINTER, "groups is NULL");
    if (count >= 1 && count <= QUERN_RANK_LIMIT) return QUERN_OK;
    return quern_fail(NULL, QUERN_INVALID_ARGUMENT, "count is %d: expected 1 to %d ranks", count, QUERN_RANK_LIMIT);
}

/* Copies the arguments for several hosts. */
static quern_status take_hosts(quern_group_args *args, quern_hosts_args *hosts) {
    if (!args->hosts) return QUERN_OK;
    quern_status status = quern_check_struct(NULL, "quern_hosts_args", args->hosts, sizeof *hosts);
    if (status == QUERN_OK) *hosts = *args->hosts;
    args->hosts = hosts;
    return status;
}

/* The first header's struct ended before first_timeout.  A program that was compiled against an older one has a shorter array. */
static quern_status take_args(const unsigned char *given, int count, quern_group_args *args, quern_hosts_args *hosts) {
    enum { OLDEST_ARGS = offsetof(quern_group_args, first_timeout) };
    size_t bytes = 0;
    for (int i = 0; i < count; i++, given += bytes) {
        uint32_t size;
        quern_status status = quern_check_grown_struct(NULL, "quern_group_args", given, OLDEST_ARGS, sizeof *args);
        if (status != QUERN_OK) return status;
        memcpy(&size, given, sizeof size);
        if (i && quern_struct_bytes(size) != bytes)
            return quern_fail(NULL, QUERN_INVALID_STRUCT_SIZE, "args[%d].size is that of %zu bytes: expected %zu, as in args[0]", i,
                              quern_struct_bytes(size), bytes);
        bytes = quern_struct_bytes(size);
        args[i] = (quern_group_args){0};
        memcpy(&args[i], given, bytes);
        status = take_hosts(&args[i], &hosts[i]);
        if (status == QUERN_OK) status = check_args(&args[i]);
        if (status != QUERN_OK) return status;
    }
    return check_together(args, count);
}

/* ---- create ---- */

/* A group of one rank has no peers, so any unused name will do. */
static void name_single(char *buffer, size_t bytes) {
    static uint32_t singles;
    struct quern_text text = quern_text_begin(buffer, bytes);
    quern_text_add(&text, "single.%d.%u", (int)getpid(), __atomic_fetch_add(&singles, 1, __ATOMIC_RELAXED));
}

static quern_status create(const quern_group_args *args, int count, quern_group **groups, struct quern_look *look) {
    char single[64];
    if (!args->name) name_single(single, sizeof single);
    struct quern_membership *members[QUERN_RANK_LIMIT];
    quern_status status = quern_form_group(args, count, args->name ? args->name : single, (struct quern_veto){0}, members);
    if (status == QUERN_OK) quern_look_at_members(look, members, count);
    if (status == QUERN_OK) quern_publish_group(members, count, groups);
    return status;
}

static quern_status take_and_create(const quern_group_args *given, int count, quern_group **groups, struct quern_look *look) {
    quern_status status = check_create(given, count, groups);
    if (status != QUERN_OK) return status;
    quern_group_args *args = malloc((size_t)count * (sizeof *args + sizeof(quern_hosts_args)));
    if (!args) return quern_fail(NULL, QUERN_OUT_OF_MEMORY, "no memory for a group");
    status = take_args((const void *)given, count, args, (quern_hosts_args *)(args + count));
    if (status == QUERN_OK) status = create(args, count, groups, look);
    free(args);
    return status;
}

quern_status quern_group_create(const quern_group_args *given, int count, quern_group **groups) {
    static const struct quern_view view = {.name = "group_create", .is_undumped = true};
    struct quern_look look;
    quern_begin_look(&look, &view, NULL, NULL);
    return quern_end_look(&look, take_and_create(given, count, groups, &look));
}

/* ---- destroying, aborting, asking ---- */

static quern_status settle(quern_group *group) {
    struct quern_membership *member;
    quern_status status = quern_check_creator(group);
    if (status == QUERN_OK) status = quern_member_of(group, &member);
    if (status == QUERN_OK) status = quern_check_no_transfers(member);
    if (status != QUERN_OK || !member->transport->settle) return status;
    status = member->transport->settle(member);
    return status == QUERN_INVALID_ARGUMENT ? status : QUERN_OK;
}

static quern_status destroy(quern_group *group, struct quern_look *look) {
    quern_status status = settle(group);
    if (status != QUERN_OK) return status;
    struct quern_membership *member = quern_take_member(group);
    if (!member) return quern_fail_no_group(group);
    quern_look_at_member(look, member);
    QUERN_POINT(LEAVE_BEGUN);
    status = quern_settle_transfers(member);
    const quern_status settled = quern_settle_net(member);
    if (status == QUERN_OK) status = settled;
    if (settled == QUERN_OK) member->transport->detach(member);  /* else a carrier may still touch its symmetric memory */
    QUERN_POINT(LEAVE_DETACHED);
    quern_leave_group(member);
    return status;
}

quern_status quern_group_destroy(quern_group *group) {
    static const struct quern_view view = {.name = "group_destroy", .is_undumped = true};
    struct quern_look look;
    if (!group) return QUERN_OK;
    quern_begin_look(&look, &view, NULL, NULL);
    return quern_end_look(&look, destroy(group, &look));
}

quern_status quern_group_abort(quern_group *group, const char *reason) {
    const struct quern_membership *member = quern_begin_visit(group);
    if (!member) return quern_fail_no_group(group);
    quern_poison_by_abort(member, reason);
    quern_end_visit(group);
    return QUERN_OK;
}

quern_status quern_group_status(quern_group *group) {
    struct quern_membership *member;
    quern_status status = quern_member_of(group, &member);
    if (status == QUERN_OK) status = quern_check_poison(member);
    return status == QUERN_OK && member->transport->look ? member->transport->look(member) : status;
}

quern_status quern_group_missing(const quern_group *group, uint64_t *mask, int words) {
    const struct quern_membership *member = quern_begin_visit(group);
    if (!member) return quern_fail_no_group(group);
    quern_status status = QUERN_OK;
    const int needed = (member->ranks + 63) / 64;
    if (!mask)
        status = quern_fail(member->device, QUERN_NULL_POINTER, "mask is NULL");
    else if (words < needed)
        status = quern_fail(member->device, QUERN_INVALID_ARGUMENT, "words is %d: expected at least %d for %d ranks", words, needed,
                            member->ranks);
    if (status == QUERN_OK) {
        uint32_t missing[QUERN_GROUP_WORDS];
        quern_find_missing(member, missing);
        memset(mask, 0, (size_t)words * sizeof *mask);
        for (int word = 0; word < 2 * needed; word++) mask[word / 2] |= (uint64_t)missing[word] << word % 2 * 32;
    }
    quern_end_visit(group);
    return status;
}

int quern_group_rank(const quern_group *group) {
    const struct quern_membership *member = quern_begin_visit(group);
    if (!member) return -1;
    int rank = member->rank;
    quern_end_visit(group);
    return rank;
}

int quern_group_size(const quern_group *group) {
    const struct quern_membership *member = quern_begin_visit(group);
    if (!member) return -1;
    int ranks = member->ranks;
    quern_end_visit(group);
    return ranks;
}

/* ---- the report ---- */

size_t quern_group_report(const quern_group *group, char *buffer, size_t bytes) {
    const struct quern_membership *member = quern_begin_visit(group);
    if (!member) {
        quern_fail_no_group(group);
        return quern_error_detail(buffer, bytes);
    }
    struct quern_text text = quern_text_begin(buffer, buffer ? bytes : 0);
    for (int rank = 0; rank < member->ranks; rank++) {
        quern_describe_rank(&text, member, rank);
        quern_text_add(&text, "\n");
    }
    quern_report_hosts(&text, member);
    quern_report_transfers(&text, member);
    quern_report_sight(&text, member);
    quern_report_sums(&text, member);
    if (*member->detour) quern_text_add(&text, "by way of %s: %s\n", member->transport->name, member->detour);
    quern_report_poison(&text, member);
    quern_end_visit(group);
    return text.length;
}
