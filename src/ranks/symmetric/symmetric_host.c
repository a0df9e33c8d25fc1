/*
 * Symmetric memory of CPU ranks: one unnamed file of shared memory for each allocation, with a part for every rank.
 *
 * The lowest rank of the host makes the file and every process maps it once.  Every rank reserves the memory of its own part, so
 * that a lack of memory is a status here and not a signal later.  So the pages also come from the node on which the rank runs.
 *
 * The tables at the end are called by symmetric.c and symmetric_memory.c.
 */
#define _GNU_SOURCE
#include "ranks/symmetric/symmetric.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/control_group.h"
#include "os/descriptor.h"
#include "os/file_size.h"
#include "os/integers.h"
#include "os/memory_room.h"
#include "ranks/descriptors.h"
#include "runtime/status.h"

enum { PAGE = 4096, HUGE_PAGE = 2 << 20 };

/* Every part begins on a page of its own, a large one on a huge page, so that ranks on different nodes share none. */
static size_t unit_of(const struct quern_symmetric_part *part) { return part->bytes >= HUGE_PAGE ? HUGE_PAGE : PAGE; }

/* The padded size of a part.  A part of no bytes gets an address, too. */
static size_t padded_bytes(const struct quern_symmetric_part *part) {
    return quern_round_up((size_t)part->bytes + !part->bytes, unit_of(part));
}

/* The offset of a rank's part in the file; for rank == ranks the length of the file. */
static size_t offset_of(const struct quern_symmetric_part *parts, int ranks, int rank) {
    size_t offset = 0;
    for (int before = 0; before < rank; before++)
        offset = quern_round_up(offset, unit_of(&parts[before])) + padded_bytes(&parts[before]);
    return rank < ranks ? quern_round_up(offset, unit_of(&parts[rank])) : offset;
}

size_t quern_host_file_bytes(const struct quern_symmetric_memory *memory) {
    return offset_of(memory->part, memory->ranks, memory->ranks);
}

static struct quern_host_memory *state_of(const struct quern_symmetric_memory *memory) { return memory->state; }

static quern_status make_state(struct quern_symmetric_memory *memory, const struct quern_membership *member) {
    struct quern_host_memory *state = memory->state = calloc(1, memory->kind->state_bytes);
    if (!state) return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for the records of symmetric memory");
    state->descriptor = state->listener = -1;
    return QUERN_OK;
}

static struct quern_control_group own_control_group(void) {
    return quern_control_group_of(QUERN_OWN_CONTROL_GROUPS);
}

quern_status quern_host_describe(const struct quern_membership *member, void *pointer, struct quern_symmetric_part *part) {
    (void)member, (void)pointer;
    part->control_group = own_control_group().number;
    return QUERN_OK;
}

static quern_status status_of(int reason) {
    return reason == ENOMEM || reason == ENOSPC || reason == EFBIG ? QUERN_OUT_OF_MEMORY : QUERN_SYSTEM_ERROR;
}

/* ---- making the file ---- */

static bool makes_file(const struct quern_membership *member) { return member->rank == member->roster->host_leader; }

/* The bytes that the ranks ask for: all of them, or those of one control group. */
static int64_t wanted_bytes(const struct quern_symmetric_memory *memory, bool all, uint64_t control_group) {
    int64_t wanted = 0;
    for (int rank = 0; rank < memory->ranks; rank++)
        if (all || memory->part[rank].control_group == control_group) wanted += memory->part[rank].bytes;
    return wanted;
}

/* The system overcommits and kills processes when memory runs out, so the memory that is left is checked first. */
static quern_status check_room(const struct quern_symmetric_memory *memory, const struct quern_membership *member) {
    const int64_t wanted = wanted_bytes(memory, true, 0), left = quern_machine_room();
    if (wanted > left)
        return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "the ranks ask for %lld bytes together and the machine has %lld "
                          "left", (long long)wanted, (long long)left);
    const struct quern_control_group group = own_control_group();
    const int64_t of_group = group.number ? wanted_bytes(memory, false, group.number) : 0;
    if (of_group <= group.room) return QUERN_OK;
    return quern_fail(member->device, QUERN_OUT_OF_MEMORY,
                      "the ranks of a control group ask for %lld bytes together and its memory "
                      "limit leaves %lld", (long long)of_group, (long long)group.room);
}

static quern_status make_file(struct quern_symmetric_memory *memory, const struct quern_membership *member) {
    size_t bytes = quern_host_file_bytes(memory);
    int descriptor = state_of(memory)->descriptor = quern_above_two(memfd_create("quern", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (descriptor >= 0 && quern_set_file_size(descriptor, (int64_t)bytes) && quern_seal_file_size(descriptor)) return QUERN_OK;
    return quern_fail(member->device, status_of(errno), "making %zu bytes of shared memory: %s", bytes, strerror(errno));
}

quern_status quern_host_begin(struct quern_symmetric_memory *memory, const struct quern_membership *member) {
    quern_status status = make_state(memory, member);
    if (status == QUERN_OK) status = check_room(memory, member);
    if (status != QUERN_OK) return status;
    if (makes_file(member)) return make_file(memory, member);
    return quern_descriptors_listen(member, memory->id, &state_of(memory)->listener);
}

/* ---- passing it to other processes ---- */

quern_status quern_host_send(struct quern_symmetric_memory *memory, const struct quern_membership *member) {
    struct quern_descriptor file = {0, state_of(memory)->descriptor};
    return makes_file(member) ? quern_descriptors_send(member, memory->id, memory->digest, &file, 1) : QUERN_OK;
}

quern_status quern_host_receive(struct quern_symmetric_memory *memory, const struct quern_membership *member) {
    struct quern_host_memory *state = state_of(memory);
    int table[QUERN_DESCRIPTOR_TAGS];
    if (makes_file(member)) return QUERN_OK;
    for (int tag = 0; tag < QUERN_DESCRIPTOR_TAGS; tag++) table[tag] = -1;
    quern_status status = quern_descriptors_receive(member, memory->id, memory->digest, state->listener, table);
    for (int tag = 1; tag < QUERN_DESCRIPTOR_TAGS; tag++) quern_close_descriptor(&table[tag]);
    state->descriptor = table[0];
    if (status == QUERN_OK && state->descriptor < 0)
        status = quern_fail(member->device, QUERN_SYSTEM_ERROR, "the shared memory of rank %d did not arrive",
                            member->roster->host_leader);
    if (status == QUERN_OK && !quern_file_keeps_size(state->descriptor, (int64_t)quern_host_file_bytes(memory)))
        status = quern_fail(member->device, QUERN_PEER_MISMATCH, "the shared memory of rank %d is another file than rank %d "
                            "expects: %zu bytes that cannot be cut off", member->roster->host_leader, member->rank,
                            quern_host_file_bytes(memory));
    return status;
}

/* ---- mapping it ---- */

quern_status quern_host_map(struct quern_symmetric_memory *memory, const struct quern_membership *member) {
    struct quern_host_memory *state = state_of(memory);
    size_t bytes = quern_host_file_bytes(memory);
    char *addresses = mmap(NULL, bytes + HUGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (addresses == MAP_FAILED)
        return quern_fail(member->device, status_of(errno), "reserving %zu bytes of addresses: %s", bytes, strerror(errno));
    state->addresses = addresses;
    state->address_bytes = bytes + HUGE_PAGE;
    memory->address_bytes = (int64_t)state->address_bytes;
    char *aligned = addresses + (HUGE_PAGE - (uintptr_t)addresses % HUGE_PAGE) % HUGE_PAGE;
    state->mapping = mmap(aligned, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, state->descriptor, 0);
    if (state->mapping == MAP_FAILED)
        return quern_fail(member->device, status_of(errno), "mapping %zu bytes of shared memory: %s", bytes, strerror(errno));
    for (int rank = 0; rank < memory->ranks; rank++) {
        const struct quern_symmetric_part *part = &memory->part[rank];
        memory->peer[rank] = state->mapping + offset_of(memory->part, memory->ranks, rank);
        if (unit_of(part) == HUGE_PAGE)  /* a hint: small pages work, too */
            madvise(memory->peer[rank], padded_bytes(part), MADV_HUGEPAGE);
    }
    return QUERN_OK;
}

/* In pieces, since after a signal the system begins a piece again.  With a frequent signal only small ones end. */
quern_status quern_host_set_aside(struct quern_symmetric_memory *memory, const struct quern_membership *member) {
    enum { MOST = 64 << 20, LEAST = 64 << 10 };
    int64_t most = MOST, bytes = memory->part[member->rank].bytes;
    off_t offset = (off_t)offset_of(memory->part, memory->ranks, member->rank);
    for (int64_t done = 0; done < bytes;) {
        int64_t piece = bytes - done < most ? bytes - done : most;
        if (quern_reserve_fresh_part(state_of(memory)->descriptor, offset + done, piece))
            done += piece;
        else if (errno == EINTR)
            most = most > LEAST ? most / 2 : LEAST;
        else
            return quern_fail(member->device, status_of(errno), "setting aside %lld bytes of shared memory, of which %lld were "
                              "there: %s", (long long)bytes, (long long)done, strerror(errno));
    }
    return QUERN_OK;
}

/* ---- the end ---- */

void quern_host_settle(struct quern_symmetric_memory *memory) {
    struct quern_host_memory *state = state_of(memory);
    quern_close_descriptor(&state->descriptor);
    quern_close_descriptor(&state->listener);
}

/* The addresses stay reserved without memory, so that a use after free is recognised. */
void quern_host_close(struct quern_symmetric_memory *memory) {
    struct quern_host_memory *state = state_of(memory);
    if (!state) return;
    quern_host_settle(memory);
    if (state->addresses)
        mmap(state->addresses, state->address_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void quern_host_discard(struct quern_symmetric_memory *memory) {
    struct quern_host_memory *state = state_of(memory);
    if (state && state->addresses) munmap(state->addresses, state->address_bytes);
    free(state);
}

static const struct quern_symmetric_step steps[] = {QUERN_HOST_STEPS};

const struct quern_symmetric_kind quern_host_memory = {
    .no_multicast = "the ranks are CPUs",
    .state_bytes = sizeof(struct quern_host_memory),
    .describe = quern_host_describe,
    .steps = steps,
    .step_count = sizeof steps / sizeof *steps,
    .settle = quern_host_settle,
    .close = quern_host_close,
    .discard = quern_host_discard,
};

/* ---- registration: of any memory, within one process ---- */

static quern_status describe_registration(const struct quern_membership *member, void *pointer, struct quern_symmetric_part *part) {
    part->address = (uintptr_t)pointer;
    if (member->one_process) return QUERN_OK;
    return quern_fail(member->device, QUERN_NOT_SUPPORTED, "the ranks are of several processes, which cannot reach each other's "
                      "private memory: use quern_symmetric_alloc");
}

static void close_nothing(struct quern_symmetric_memory *memory) { (void)memory; }

/* The system does not number its allocations.  A peer's address is valid for any memory there. */
static uint64_t only_generation(const struct quern_membership *member, const void *pointer) {
    (void)member, (void)pointer;
    return 1;
}

const struct quern_symmetric_kind quern_host_registration = {
    .is_registration = true,
    .no_multicast = "the ranks are CPUs",
    .describe = describe_registration,
    .close = close_nothing,
    .discard = close_nothing,
    .generation = only_generation,
};
