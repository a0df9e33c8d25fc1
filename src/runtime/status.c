/* Status codes, their names, and the detail of the calling thread.  Called by all code that fails. */
#include "runtime/status.h"

#include <string.h>

#include "os/text.h"
#include "runtime/log.h"

static _Thread_local char detail[256];

static const struct {
    quern_status status;
    const char *name;
} names[] = {
    {QUERN_OK, "QUERN_OK"},
    {QUERN_INVALID_ARGUMENT, "QUERN_INVALID_ARGUMENT"},
    {QUERN_NULL_POINTER, "QUERN_NULL_POINTER"},
    {QUERN_INVALID_STRUCT_SIZE, "QUERN_INVALID_STRUCT_SIZE"},
    {QUERN_INVALID_DTYPE, "QUERN_INVALID_DTYPE"},
    {QUERN_INVALID_SHAPE, "QUERN_INVALID_SHAPE"},
    {QUERN_WORKSPACE_TOO_SMALL, "QUERN_WORKSPACE_TOO_SMALL"},
    {QUERN_NOT_PREPARED, "QUERN_NOT_PREPARED"},
    {QUERN_INVALID_PACK, "QUERN_INVALID_PACK"},
    {QUERN_NOT_SUPPORTED, "QUERN_NOT_SUPPORTED"},
    {QUERN_NO_KERNEL, "QUERN_NO_KERNEL"},
    {QUERN_NO_DEVICE, "QUERN_NO_DEVICE"},
    {QUERN_NO_DRIVER, "QUERN_NO_DRIVER"},
    {QUERN_DRIVER_TOO_OLD, "QUERN_DRIVER_TOO_OLD"},
    {QUERN_OUT_OF_MEMORY, "QUERN_OUT_OF_MEMORY"},
    {QUERN_CUDA_ERROR, "QUERN_CUDA_ERROR"},
    {QUERN_SYSTEM_ERROR, "QUERN_SYSTEM_ERROR"},
    {QUERN_PEER_TIMEOUT, "QUERN_PEER_TIMEOUT"},
    {QUERN_PEER_LOST, "QUERN_PEER_LOST"},
    {QUERN_PEER_MISMATCH, "QUERN_PEER_MISMATCH"},
    {QUERN_GROUP_ABORTED, "QUERN_GROUP_ABORTED"},
};

static const char *name_of(quern_status status) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].status == status) return names[i].name;
    return NULL;
}

bool quern_is_status(quern_status status) { return name_of(status) != NULL; }

const char *quern_status_string(quern_status status) {
    const char *name = name_of(status);
    return name ? name : "unknown quern_status";
}

const char *quern_status_blame(quern_status status) {
    static const char *const blame[] = {"nobody", "the caller's argument", "not supported here", "the system", "a peer"};
    unsigned thousands = (unsigned)status / 1000;
    return thousands < sizeof blame / sizeof *blame ? blame[thousands] : "unknown quern_status";
}

size_t quern_error_detail(char *buffer, size_t bytes) {
    struct quern_text text = quern_text_begin(buffer, buffer ? bytes : 0);
    quern_text_add(&text, "%s", detail);
    return text.length;
}

int quern_version(void) {
    return QUERN_VERSION;
}

/* Joins the lines of a text.  One that is too long loses its middle: it begins with the fault and ends with what was expected. */
static void set_detail(const char *format, va_list list) {
    static const char cut[] = " ... ";
    char whole[1024];
    struct quern_text text = quern_text_begin(whole, sizeof whole);
    quern_text_add_list(&text, format, list);
    const size_t length = strlen(whole), head = (sizeof detail - sizeof cut) / 2, tail = sizeof detail - sizeof cut - head;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)whole[i] < ' ') whole[i] = ' ';
    text = quern_text_begin(detail, sizeof detail);
    if (length >= sizeof detail) {
        whole[head] = 0;
        quern_text_add(&text, "%s%s%s", whole, cut, whole + length - tail);
    } else {
        quern_text_add(&text, "%s", whole);
    }
}

quern_status quern_fail(const quern_device *device, quern_status status, const char *format, ...) {
    va_list list;
    va_start(list, format);
    set_detail(format, list);
    va_end(list);
    quern_log(device, QUERN_LOG_ERROR, "%s: %s", quern_status_string(status), detail);
    return status;
}

void quern_note(const char *format, ...) {
    va_list list;
    va_start(list, format);
    set_detail(format, list);
    va_end(list);
}
