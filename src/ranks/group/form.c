/*
 * Forms a group: makes the memberships of a thread's ranks, lets them meet the others, and chooses how they reach each other.
 * Called when a group is created, split or shrunk.
 */
#include "ranks/group/group.h"

#include <stdlib.h>
#include <string.h>

#include "os/unload.h"
#include "ranks/collective/collective.h"
#include "ranks/describe.h"
#include "ranks/handles.h"
#include "ranks/hosts/hosts.h"
#include "ranks/points.h"
#include "ranks/poison.h"
#include "ranks/heartbeat.h"
#include "ranks/transfer/transfer.h"
#include "runtime/log.h"
#include "runtime/status.h"

static const struct quern_transport *const transports[] = {&quern_host_transport, &quern_hosts_transport, &quern_cuda_transport,
                                                           &quern_pinned_transport, &quern_fabric_transport, &quern_nccl_transport};

/* Seconds.  A rank on a GPU may compile kernels, or write a checkpoint. */
static const double DEFAULT_CPU_TIMEOUT = 60, DEFAULT_GPU_TIMEOUT = 1800;

/*
 * With a core for every rank, polling is faster than anything.  Otherwise a polling rank delays the others, and giving the core to
 * them is faster than sleeping.  This is where the ranks begin; their waits teach them more.
 */
static void choose_spins(struct quern_membership *member) {
    enum { PATIENT = 4000, CROWDED = 16, LEAST = 4, YIELDS = 64 };
    const int looks = member->roster->is_crowded ? CROWDED : PATIENT;
    member->polls = (struct quern_spin){.spins = looks, .most = PATIENT, .least = LEAST};
    member->yields = (struct quern_spin){.spins = YIELDS, .most = YIELDS, .least = 1};
}

/* Of a group that may be of several hosts.  The arguments were checked. */
static void set_hosts(struct quern_membership *member, const quern_hosts_args *hosts) {
    const double timeout = hosts->failure_timeout != 0 ? hosts->failure_timeout : QUERN_USUAL_FAILURE_TIMEOUT;
    member->failure_timeout = (uint32_t)(timeout * 1e6 + 0.5);
    quern_read_transports(hosts, &member->transports);
    if (!hosts->carrier) return;
    member->carrier = *hosts->carrier;
    quern_copy_text(member->carrier_name, hosts->carrier->name, sizeof member->carrier_name);
    member->carrier.name = member->carrier_name;
}

quern_group_args quern_inherit_group(const struct quern_membership *member) {
    quern_group_args args = QUERN_GROUP_ARGS_INIT;
    args.device = member->device;
    args.timeout = member->steady_timeout;
    args.first_timeout = member->first_timeout;
    args.share_gpu = member->share_gpu;
    args.multicast = member->multicast;
    args.progress = member->progress;
    args.progress_core = member->progress_core;
    return args;
}

static struct quern_membership *make_member(const quern_group_args *args, const char *name) {
    const size_t heard_bytes = (size_t)args->ranks * sizeof(struct quern_vote);
    struct quern_membership *member = calloc(1, sizeof *member + heard_bytes + sizeof(struct quern_collective_again));
    struct quern_group *handle = malloc(sizeof *handle);
    if (!member || !handle) {
        free(handle);
        free(member);
        return NULL;
    }
    member->again = (struct quern_collective_again *)(member->heard + args->ranks);
    member->handle = handle;
    member->device = args->device;
    member->rank = args->rank;
    member->ranks = args->ranks;
    if (args->hosts) set_hosts(member, args->hosts);
    member->here = args->hosts ? args->hosts->host_ranks : args->ranks;
    member->first_epoch = args->first_epoch;
    member->steady_timeout = args->timeout > 0                 ? args->timeout
                             : args->device->kind == QUERN_CUDA ? DEFAULT_GPU_TIMEOUT
                                                                : DEFAULT_CPU_TIMEOUT;
    member->timeout = member->first_timeout = args->first_timeout > 0 ? args->first_timeout : member->steady_timeout;
    member->share_gpu = args->share_gpu;
    member->multicast = args->multicast;
    member->progress = args->progress;
    member->progress_core = args->progress_core;
    for (int rank = 0; rank < args->ranks; rank++) quern_set_add(&member->everyone, rank);
    for (int slot = 0; slot < member->here; slot++) member->count[slot] = args->first_epoch;
    member->all_count = args->first_epoch;
    member->everyones_digest = quern_set_digest(&member->everyone, args->ranks);
    struct quern_text text = quern_text_begin(member->label, sizeof member->label);
    quern_text_add(&text, "group %s", name);
    if (text.length > 40) text.length = 40;  /* leaves room for the rank */
    quern_text_add(&text, ", rank %d", args->rank);
    return member;
}

/*
 * All ranks have agreed that a transport fails for this reason, so all of them try the next one.  False: the one before has failed
 * for the same reason, which therefore is not about the way.
 */
static bool note_detour(struct quern_membership *const *members, int count, struct quern_text *why) {
    char reason[sizeof members[0]->detour];
    quern_error_detail(reason, sizeof reason);
    if (strcmp(reason, members[0]->detour) == 0) return false;
    quern_text_add(why, "%s", reason);
    for (int i = 0; i < count; i++) memcpy(members[i]->detour, reason, sizeof reason);
    return true;
}

static quern_status choose_transport(struct quern_membership *const *members, int count) {
    char reasons[700];
    int tried = 0;
    struct quern_text why = quern_text_begin(reasons, sizeof reasons);
    for (size_t row = 0; row < sizeof transports / sizeof *transports; row++) {
        const size_t before = why.length;
        quern_text_add(&why, "%s%s: ", before ? "; " : "", transports[row]->name);
        const size_t named = why.length;
        const bool serves = transports[row]->serves(members[0]->roster, &why);
        if (!serves && why.length == named && before < sizeof reasons) reasons[why.length = before] = 0;  /* not for such groups */
        if (!serves) continue;
        for (int i = 0; i < count; i++) members[i]->transport = transports[row];
        quern_status status = transports[row]->attach(members, count);
        if (status != QUERN_NOT_SUPPORTED || quern_check_poison(members[0]) != QUERN_OK) return status;
        if (!note_detour(members, count, &why)) return status;
        tried++;
    }
    if (tried == 1) return QUERN_NOT_SUPPORTED;  /* the detail is that way's, which the others would crowd out */
    return quern_fail(members[0]->device, QUERN_NOT_SUPPORTED, "%s: no way for these ranks to reach each other: %s",
                      members[0]->label, reasons);
}

void quern_leave_group(struct quern_membership *member) {
    quern_forget_transfers(member);
    if (member->roster) {
        __atomic_store_n(&member->segment->rank[member->rank].state, QUERN_RANK_LEFT, __ATOMIC_RELEASE);
        if (member->control) member->control->leave(member);
        quern_leave_roster(member->roster, member->rank);
        QUERN_POINT(LEAVE_LEFT);
        quern_release_roster(member->roster);
        QUERN_POINT(LEAVE_UNMAPPED);
    }
    free(member->lists);
    free(member);
}

static bool is_of_cpus(const struct quern_transport *transport) {
    return transport == &quern_host_transport || transport == &quern_hosts_transport;
}

/*
 * Ends the forgotten groups of CPU ranks, whose devices may be closed already.  GPU ranks keep theirs: ending those waits for the
 * GPU.  A forked child keeps its copies, since a lock may be held for ever there.
 */
static void end_forgotten(void) {
    for (quern_group *group; (group = quern_drop_handle());) {
        struct quern_membership *member = group->member;
        if (member && (!is_of_cpus(member->transport) || !quern_is_own_roster(member->roster))) continue;
        if (member) {
            member->transport->detach(member);
            quern_leave_group(member);
        }
        free(group);
    }
}

void quern_drop_members(struct quern_membership **members, int count) {
    for (int i = 0; i < count && members[i]; i++) {
        free(members[i]->handle);
        quern_leave_group(members[i]);
    }
}

quern_status quern_join_group(const quern_group_args *args, int count, const char *name, struct quern_veto veto,
                              struct quern_membership **members) {
    memset(members, 0, (size_t)count * sizeof *members);
    for (int i = 0; i < count; i++)
        if (!(members[i] = make_member(&args[i], name))) {
            quern_drop_members(members, count);
            return quern_fail(args[i].device, QUERN_OUT_OF_MEMORY, "no memory for a group");
        }
    for (int i = 0; i < count; i++) members[i]->numbers = veto.numbers;
    quern_status status = args->hosts ? quern_meet_hosts(args, name, veto, members[0])
                                                : quern_rendezvous(name, args->job, veto, members, count);
    if (status == QUERN_OK) return QUERN_OK;
    quern_drop_members(members, count);
    return status;
}

/* The other ranks may have the group already, so they are told. */
static quern_status start_progress(struct quern_membership *const *members, int count) {
    quern_status status = QUERN_OK;
    for (int i = 0; i < count && status == QUERN_OK; i++) {
        char reason[200];
        if (!members[i]->progress) continue;
        status = quern_make_transfers(members[i]);
        if (status == QUERN_OK) status = quern_start_progress(members[i]);
        if (status == QUERN_OK) continue;
        quern_error_detail(reason, sizeof reason);
        status = quern_poison(members[i], status, "rank %d: %s", quern_told_rank(members[i], members[i]->rank), reason);
    }
    for (int i = 0; i < count && status != QUERN_OK; i++) {
        quern_stop_progress(members[i]);
        members[i]->transport->detach(members[i]);
    }
    return status;
}

quern_status quern_attach_group(struct quern_membership **members, int count) {
    for (int i = 0; i < count; i++) choose_spins(members[i]);
    quern_status status = choose_transport(members, count);
    if (status == QUERN_OK) status = start_progress(members, count);
    if (status != QUERN_OK) quern_drop_members(members, count);
    return status;
}

quern_status quern_form_group(const quern_group_args *args, int count, const char *name, struct quern_veto veto,
                              struct quern_membership **members) {
    quern_status status = quern_join_group(args, count, name, veto, members);
    return status == QUERN_OK ? quern_attach_group(members, count) : status;
}

void quern_add_number(struct quern_text *text, const unsigned char number[16]) {
    static const char digits[] = "0123456789abcdef";
    char written[33] = "";
    for (int i = 0; i < 16; i++) {
        written[2 * i] = digits[number[i] >> 4];
        written[2 * i + 1] = digits[number[i] & 15];
    }
    quern_text_add(text, "%s", written);
}

static void log_transport(const struct quern_membership *member) {
    const char *why = *member->detour ? member->detour : quern_why_this_transport(member);
    quern_log(member->device, QUERN_LOG_INFO, "%s of %d: joined, by way of %s%s%s", member->label, member->ranks,
              quern_transport_between_hosts(member), *why ? "; " : "", why);
}

void quern_publish_group(struct quern_membership *const *members, int count, quern_group **groups) {
    quern_on_unload(QUERN_UNLOAD_GROUPS, end_forgotten);
    for (int i = 0; i < count; i++) {
        groups[i] = NULL;
        if (!members[i]) continue;
        members[i]->numbers = NULL;
        groups[i] = quern_publish_handle(members[i]);
        log_transport(members[i]);
    }
}
