/* Copies what this rank has cast to the other members, on a thread of a CPU.  Called by chunks_work.c and chunks_work_blocks.c. */
#include "ranks/chunks/chunks.h"

void quern_chunks_copy(const struct quern_chunks_work *work, char *const *all, const char *own, int64_t first, int64_t end) {
    for (int i = 0; i < work->call->places; i++)
        if (all[i] + first != own)
            work->call->move->kernel->cpu.ragged_all_to_all(all[i] + first, own, end - first, work->is_streaming);
}
