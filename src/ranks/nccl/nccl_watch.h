/* The thread that bounds what a rank has enqueued over NCCL.  For nccl_rank.c. */
#ifndef QUERN_NCCL_WATCH_H
#define QUERN_NCCL_WATCH_H

#include "ranks/nccl/nccl_state.h"

quern_status quern_nccl_start_watcher(struct quern_nccl_rank *rank);

/* Joins it, after a last look: what the stream has finished is then known.  Does nothing if it was not started. */
void quern_nccl_stop_watcher(struct quern_nccl_rank *rank);

#endif
