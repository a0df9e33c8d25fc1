/* The lines of quern_group_report about hosts.  For group.c. */
#ifndef QUERN_HOSTS_REPORT_H
#define QUERN_HOSTS_REPORT_H

#include "ranks/membership.h"

/* Appends these words and how many strangers of each kind have come; nothing, and false, if none has. */
bool quern_describe_strangers(struct quern_text *text, const char *words, const uint32_t *strangers);  /* [QUERN_STRANGERS] */

/* Appends a line for each host, for each pair of hosts, and for strangers; nothing for a group of one host. */
void quern_report_hosts(struct quern_text *text, const struct quern_membership *member);

/*
 * The name of the way between the hosts of a group, which is that of the transport if it has no hosts; and why not those before it.
 */
const char *quern_transport_between_hosts(const struct quern_membership *member);
const char *quern_why_this_transport(const struct quern_membership *member);

#endif
