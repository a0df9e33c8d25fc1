/* The functions that an engine would pass to the library. */
#ifndef FUZZ_HOOKS_H
#define FUZZ_HOOKS_H

#include <quern.h>

quern_gemm_args hook_initial_gemm(void);

/* A matrix product that reads and writes every element and computes nothing.  A user other than NULL makes it fail. */
quern_status hook_gemm(void *user, const quern_gemm_args *args, void *stream);

/* Gives the first shard what this rank has, and the others nothing.  A user other than NULL makes it fail. */
quern_status hook_gather(void *user, const void *mine, void *all, size_t bytes, void *stream);

/* Runs the tasks on the calling thread, the last one first. */
void hook_parallel_for(void *user, int64_t tasks, void (*task)(void *context, int64_t index), void *context);

/* Ends the process if a line is empty or has a line end. */
void hook_log(void *user, quern_log_level level, const char *line);

#endif
