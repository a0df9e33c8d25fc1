/* Symmetric memory of CPU ranks.  For host_transport.c, and for symmetric_pinned.c, which takes its steps. */
#ifndef QUERN_SYMMETRIC_HOST_H
#define QUERN_SYMMETRIC_HOST_H

#include "ranks/symmetric/symmetric_memory.h"

extern const struct quern_symmetric_kind quern_host_memory, quern_host_registration;

/* ---- for kinds whose memory is such a file, too ---- */

struct quern_host_memory {
    int descriptor, listener;   /* -1: none, or closed */
    char *addresses;            /* NULL: none yet */
    size_t address_bytes;       /* more than the file's, so that huge pages can be aligned */
    char *mapping;
};

quern_status quern_host_describe(const struct quern_membership *member, void *pointer, struct quern_symmetric_part *part);

quern_status quern_host_begin(struct quern_symmetric_memory *memory, const struct quern_membership *member);
quern_status quern_host_send(struct quern_symmetric_memory *memory, const struct quern_membership *member);
quern_status quern_host_receive(struct quern_symmetric_memory *memory, const struct quern_membership *member);
quern_status quern_host_map(struct quern_symmetric_memory *memory, const struct quern_membership *member);
quern_status quern_host_set_aside(struct quern_symmetric_memory *memory, const struct quern_membership *member);

/* The steps that make the memory. */
#define QUERN_HOST_STEPS                                    \
    {.run = quern_host_begin},                              \
    {.run = quern_host_send, .between_processes = true},    \
    {.run = quern_host_receive, .between_processes = true}, \
    {.run = quern_host_map},                                \
    {.run = quern_host_set_aside, .every_rank = true}

size_t quern_host_file_bytes(const struct quern_symmetric_memory *memory);

void quern_host_settle(struct quern_symmetric_memory *memory);
void quern_host_close(struct quern_symmetric_memory *memory);
void quern_host_discard(struct quern_symmetric_memory *memory);

#endif
