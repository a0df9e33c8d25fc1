/* A dump of one step on one device: its state, its folder and its errors.  For dump.c and dump_call.c. */
#ifndef QUERN_DUMP_STATE_H
#define QUERN_DUMP_STATE_H

#include <sys/types.h>

#include "runtime/look.h"

struct quern_dump {
    struct quern_dump *older;    /* the dump that it replaced: kept until the device is closed, since a call may still use it */
    const quern_device *device;
    pid_t process;               /* that has begun it: a child of fork writes nothing */
    char *folder, *filter;       /* filter NULL: all operations */
    int64_t step;
    bool is_ended;               /* another one has replaced it, or none */
    bool is_active;              /* atomic: its step is the device's */
    int64_t bytes_left;          /* atomic */
    int64_t sequence;            /* atomic: the number of the next call */
    bool has_failed;             /* since the last quern_step ... */
    char reason[256];            /* ... with this first reason */
};

/* Notes an error for quern_step, and logs it. */
void quern_dump_failed(struct quern_dump *dump, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Takes the errors out of a dump and those before it, with the reason of the oldest one.  False: there is none. */
bool quern_dump_take_failure(struct quern_dump *dump, char reason[sizeof dump->reason]);

/* Around fork: the errors belong to nobody else. */
void quern_hold_dump_errors(void);
void quern_release_dump_errors(void);

/* The path of a file in the folder; to be freed.  NULL: no memory. */
char *quern_dump_path(const struct quern_dump *dump, const char *name);

#endif
