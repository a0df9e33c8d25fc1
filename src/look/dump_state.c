/* The errors of a dump, until quern_step tells them, and its paths.  Called by dump.c and dump_call.c. */
#include "look/look.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/log.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  /* of the errors */

void quern_dump_failed(struct quern_dump *dump, const char *format, ...) {
    char reason[sizeof dump->reason];
    struct quern_text text = quern_text_begin(reason, sizeof reason);
    va_list list;
    va_start(list, format);
    quern_text_add_list(&text, format, list);
    va_end(list);
    quern_log(dump->device, QUERN_LOG_ERROR, "dump: %s", reason);
    pthread_mutex_lock(&lock);
    if (!dump->has_failed) memcpy(dump->reason, reason, sizeof reason);
    dump->has_failed = true;
    pthread_mutex_unlock(&lock);
}

bool quern_dump_take_failure(struct quern_dump *first, char reason[sizeof first->reason]) {
    bool failed = false;
    pthread_mutex_lock(&lock);
    for (struct quern_dump *dump = first; dump; dump = dump->older) {
        if (dump->has_failed) memcpy(reason, dump->reason, sizeof dump->reason);
        failed |= dump->has_failed;
        dump->has_failed = false;
    }
    pthread_mutex_unlock(&lock);
    return failed;
}

void quern_hold_dump_errors(void) { pthread_mutex_lock(&lock); }
void quern_release_dump_errors(void) { pthread_mutex_unlock(&lock); }

char *quern_dump_path(const struct quern_dump *dump, const char *name) {
    const size_t length = strlen(dump->folder) + strlen(name) + 2;
    char *path = malloc(length);
    if (!path) return NULL;
    struct quern_text text = quern_text_begin(path, length);
    quern_text_add(&text, "%s/%s", dump->folder, name);
    return path;
}
