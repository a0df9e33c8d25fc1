/* A thread that makes calls for another one, one at a time, while that one does something else. */
#ifndef CALLER_H
#define CALLER_H

struct caller;

/* NULL if the thread cannot be started. */
struct caller *caller_start(void);

/* Also accepts NULL.  No call may be under way. */
void caller_stop(struct caller *caller);

/* Begins call(context); caller_wait must follow, and returns when the call has returned. */
void caller_begin(struct caller *caller, void (*call)(void *context), void *context);
void caller_wait(struct caller *caller);

#endif
