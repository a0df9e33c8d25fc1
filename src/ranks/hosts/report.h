/* What quern_group_report says about hosts.  For group.c. */
#ifndef QUERN_HOSTS_REPORT_H
#define QUERN_HOSTS_REPORT_H

#include "ranks/membership.h"

/* Appends a line for each host, for each pair of hosts, and for strangers; nothing for a group of one host. */
void quern_report_hosts(struct quern_text *text, const struct quern_membership *member);

#endif
