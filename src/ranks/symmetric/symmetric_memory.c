/*
 * The records of symmetric memory in this process: who holds them and when they are closed.  Called by symmetric.c for each rank
 * that gets or frees memory.
 */
#include "ranks/symmetric/symmetric.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/idle.h"

/* All records that are not discarded yet, of all groups. */
static struct {
    pthread_mutex_t lock;
    struct quern_symmetric_memory *first;
} memories = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- making the record ---- */

static void free_record(struct quern_symmetric_memory *memory) {
    free(memory->part);
    free(memory->peer);
    free(memory->peer_bytes);
    free(memory);
}

static struct quern_symmetric_memory *make_record(const struct quern_membership *member, const struct quern_symmetric_kind *kind,
                                                  uint64_t id, const struct quern_symmetric_part *parts) {
    struct quern_symmetric_memory *memory = calloc(1, sizeof *memory);
    if (!memory) return NULL;
    size_t ranks = (size_t)member->ranks;
    memory->kind = kind;
    memory->id = id;
    memory->ranks = member->ranks;
    memcpy(memory->group, member->roster->id, sizeof memory->group);
    memory->part = malloc(ranks * sizeof *memory->part);
    memory->peer = calloc(ranks, sizeof *memory->peer);
    memory->peer_bytes = calloc(ranks, sizeof *memory->peer_bytes);
    if (!memory->part || !memory->peer || !memory->peer_bytes) {
        free_record(memory);
        return NULL;
    }
    memcpy(memory->part, parts, ranks * sizeof *parts);
    memory->digest = quern_digest(parts, ranks * sizeof *parts);
    memory->least_bytes = parts[0].bytes;
    for (size_t rank = 0; rank < ranks; rank++) {
        memory->peer[rank] = (void *)(uintptr_t)parts[rank].address;
        memory->peer_bytes[rank] = parts[rank].bytes;
        if (parts[rank].bytes < memory->least_bytes) memory->least_bytes = parts[rank].bytes;
    }
    struct quern_text why = quern_text_begin(memory->no_multicast, sizeof memory->no_multicast);
    if (kind->no_multicast) quern_text_add(&why, "%s", kind->no_multicast);
    return memory;
}

static struct quern_symmetric_memory *find_record(const unsigned char group[16], uint64_t id) {
    struct quern_symmetric_memory *memory = memories.first;
    while (memory && (memory->id != id || memcmp(memory->group, group, sizeof memory->group) != 0)) memory = memory->next;
    return memory;
}

struct quern_symmetric_memory *quern_symmetric_hold(const struct quern_membership *member, const struct quern_symmetric_kind *kind,
                                                    uint64_t id, const struct quern_symmetric_part *parts) {
    pthread_mutex_lock(&memories.lock);
    struct quern_symmetric_memory *memory = find_record(member->roster->id, id);
    if (!memory && (memory = make_record(member, kind, id, parts))) {
        memory->next = memories.first;
        memories.first = memory;
    }
    if (memory) {
        memory->holders++;
        memory->references++;
    }
    pthread_mutex_unlock(&memories.lock);
    return memory;
}

/* ---- releasing the record ---- */

void quern_symmetric_unhold(struct quern_symmetric_memory *memory, int rank, struct quern_symmetric_use *use) {
    pthread_mutex_lock(&memories.lock);
    memory->holders--;
    if (use) {
        use->next = memory->uses;
        memory->uses = use;
    }
    if (memory->kind->leave) memory->kind->leave(memory, rank);
    pthread_mutex_unlock(&memories.lock);
}

void quern_symmetric_tell_frees(const struct quern_membership *member, uint64_t freed[QUERN_TOLD_FREES]) {
    int count = 0;
    pthread_mutex_lock(&memories.lock);
    for (struct quern_symmetric_memory *memory = memories.first; memory && count < QUERN_TOLD_FREES; memory = memory->next) {
        if (memcmp(memory->group, member->roster->id, sizeof memory->group) != 0 || memory->life != QUERN_MEMORY_OPEN) continue;
        if (memory->kind->must_tell && memory->kind->must_tell(memory, member->rank)) freed[count++] = memory->id;
    }
    pthread_mutex_unlock(&memories.lock);
}

/* Memory that is closed, or was never here, is of no concern. */
void quern_symmetric_hear_frees(const struct quern_membership *member, int rank, const uint64_t freed[QUERN_TOLD_FREES]) {
    pthread_mutex_lock(&memories.lock);
    for (int i = 0; i < QUERN_TOLD_FREES; i++) {
        struct quern_symmetric_memory *memory = freed[i] ? find_record(member->roster->id, freed[i]) : NULL;
        if (memory && memory->life == QUERN_MEMORY_OPEN && memory->kind->leave) memory->kind->leave(memory, rank);
    }
    pthread_mutex_unlock(&memories.lock);
}

void quern_symmetric_abandon_multicast(struct quern_symmetric_memory *memory) {
    pthread_mutex_lock(&memories.lock);
    memory->multicast = NULL;
    pthread_mutex_unlock(&memories.lock);
}

void quern_symmetric_unrefer(struct quern_symmetric_memory *memory) {
    pthread_mutex_lock(&memories.lock);
    memory->references--;
    pthread_mutex_unlock(&memories.lock);
}

static void erase_use(const struct quern_symmetric_memory *memory, struct quern_symmetric_use **link) {
    struct quern_symmetric_use *use = *link;
    *link = use->next;
    memory->kind->erase(use);
    free(use);
}

static void erase_ended_uses(struct quern_symmetric_memory *memory) {
    for (struct quern_symmetric_use **link = &memory->uses; *link;)
        if (memory->kind->has_ended(*link))
            erase_use(memory, link);
        else
            link = &(*link)->next;
}

static bool may_close(struct quern_symmetric_memory *memory) {
    if (memory->life != QUERN_MEMORY_OPEN || memory->holders) return false;
    erase_ended_uses(memory);
    return !memory->uses && (!memory->kind->may_close || memory->kind->may_close(memory));
}

/* A record that can be closed or discarded; under the lock.  It is marked, so that no other thread takes it. */
static struct quern_symmetric_memory *take_unused(void) {
    for (struct quern_symmetric_memory **link = &memories.first; *link; link = &(*link)->next) {
        struct quern_symmetric_memory *memory = *link;
        if (may_close(memory)) {
            memory->life = QUERN_MEMORY_CLOSING;
            return memory;
        }
        if (memory->life == QUERN_MEMORY_CLOSED && !memory->references) {
            *link = memory->next;
            return memory;
        }
    }
    return NULL;
}

/* Without the lock: the driver may wait for a kernel, which may wait for a rank that waits for the lock. */
static void go_further(struct quern_symmetric_memory *memory) {
    if (memory->life == QUERN_MEMORY_CLOSING) {
        memory->kind->close(memory);
        pthread_mutex_lock(&memories.lock);
        memory->life = QUERN_MEMORY_CLOSED;
        pthread_mutex_unlock(&memories.lock);
    } else {
        memory->kind->discard(memory);
        free_record(memory);
    }
}

static void sweep(struct quern_idle_task *task) {
    (void)task;
    for (;;) {
        pthread_mutex_lock(&memories.lock);
        struct quern_symmetric_memory *memory = take_unused();
        pthread_mutex_unlock(&memories.lock);
        if (!memory) return;
        go_further(memory);
    }
}

void quern_symmetric_sweep(void) {
    static struct quern_idle_task task = {.run = sweep};
    quern_when_idle(&task);
}

/* A mark is removed from the list before the wait, since waiting under the lock would block all other ranks. */
static struct quern_symmetric_use *take_use(const struct quern_membership *member, struct quern_symmetric_memory **of) {
    for (struct quern_symmetric_memory *memory = memories.first; memory; memory = memory->next)
        for (struct quern_symmetric_use **link = &memory->uses; *link; link = &(*link)->next) {
            struct quern_symmetric_use *use = *link;
            if (use->member != member) continue;
            *link = use->next;
            memory->holders++;  /* during the wait */
            *of = memory;
            return use;
        }
    return NULL;
}

void quern_symmetric_await_uses(const struct quern_membership *member) {
    for (;;) {
        struct quern_symmetric_memory *memory;
        pthread_mutex_lock(&memories.lock);
        struct quern_symmetric_use *use = take_use(member, &memory);
        pthread_mutex_unlock(&memories.lock);
        if (!use) return;
        memory->kind->await(use);
        memory->kind->erase(use);
        free(use);
        pthread_mutex_lock(&memories.lock);
        memory->holders--;
        pthread_mutex_unlock(&memories.lock);
    }
}
