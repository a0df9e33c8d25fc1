/* The lines of a group report about hosts: how they reach each other, and who came to the meeting uninvited. */
#include "ranks/hosts/hosts.h"

#include "ranks/describe.h"

static bool has_transports(const struct quern_membership *member) { return member->net && member->device->kind == QUERN_CPU; }

const char *quern_transport_between_hosts(const struct quern_membership *member) {
    return has_transports(member) ? member->net->transport : member->transport->name;
}

const char *quern_why_this_transport(const struct quern_membership *member) {
    return has_transports(member) ? member->net->why : "";
}

/* One line for all pairs with the same answer would hide which hosts they are; hosts are few. */
static void report_pairs(struct quern_text *text, const struct quern_membership *member) {
    const struct quern_roster *roster = member->roster;
    const char *why = quern_why_this_transport(member);
    const char *memory = member->device->kind == QUERN_CPU ? "host" : "GPU";
    for (int one = 0; one < roster->hosts; one++)
        for (int other = one + 1; other < roster->hosts; other++)
            if (member->transport->reaches_hosts)
                quern_text_add(text, "hosts %d and %d: %s\n", one, other, member->transport->name);
            else
                quern_text_add(text, "hosts %d and %d: %s, since %s memory does not reach from one host to another%s%s\n", one,
                               other, quern_transport_between_hosts(member), memory, *why ? "; " : "", why);
}

static void report_host(struct quern_text *text, const struct quern_roster *roster, int host) {
    char address[QUERN_ADDRESS_TEXT];
    int count = 0;
    quern_address_write(&roster->peer[quern_host_leader(roster, host)].address, false, address);
    quern_text_add(text, "host %d at %s: ", host, address);
    for (int rank = 0; rank < roster->ranks; rank++)
        if (roster->peer[rank].host == host) quern_text_add(text, "%s%d", count++ ? ", " : "ranks ", rank);
    quern_text_add(text, "\n");
}

bool quern_describe_rejections(struct quern_text *text, const char *words, const uint32_t *rejections) {
    static const char *const kinds[QUERN_REJECTIONS] = {
        [QUERN_REJECTED_GARBAGE] = "garbage or hung up",  [QUERN_REJECTED_FALSE] = "another secret, name or job",
        [QUERN_REJECTED_REPEATED] = "a repeated hello",   [QUERN_REJECTED_SLOW] = "too slow",
        [QUERN_REJECTED_CROWDED] = "crowded out",        [QUERN_REJECTED_VERSION] = "another version of the library",
        [QUERN_REJECTED_DAMAGED] = "damaged on the way",
    };
    uint32_t counts[QUERN_REJECTIONS], all = 0;
    for (int kind = 0; kind < QUERN_REJECTIONS; kind++)
        all += counts[kind] = __atomic_load_n(&rejections[kind], __ATOMIC_RELAXED);
    if (all) quern_text_add(text, "%s%u", words, all);
    for (int kind = 0; kind < QUERN_REJECTIONS; kind++)
        if (counts[kind]) quern_text_add(text, ", %u %s", counts[kind], kinds[kind]);
    return all;
}

void quern_report_hosts(struct quern_text *text, const struct quern_membership *member) {
    if (!member->control) return;
    for (int host = 0; host < member->roster->hosts; host++) report_host(text, member->roster, host);
    report_pairs(text, member);
    if (quern_describe_rejections(text, "connections rejected at the listeners of this group: ", member->segment->rejections))
        quern_text_add(text, "\n");
}
