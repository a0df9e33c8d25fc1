/* Reads the calling thread's error detail for the assertions of check.h, and checks that it is one short line. */
#include "harness/check.h"

static _Thread_local char detail[4096];

const char *error_detail(void) {
    detail[0] = 0;
    const size_t length = quern_error_detail(detail, sizeof detail);
    check(length == strlen(detail) && length <= 255, "a detail of %zu characters: %s", length, detail);
    for (size_t i = 0; i < length; i++) check((unsigned char)detail[i] >= ' ', "a detail of several lines: %s", detail);
    return detail;
}

quern_device *open_on(quern_device_kind kind, int ordinal) {
    quern_device *device;
    check_ok(quern_device_open(kind, ordinal, &device));
    return device;
}

void close_opened(quern_device **device) { quern_device_close(*device); }

quern_device_info info_of(const quern_device *device) {
    quern_device_info info = QUERN_DEVICE_INFO_INIT;
    check_ok(quern_device_get_info(device, &info));
    return info;
}

void check_status_of(quern_status status, quern_status expected, const char *call, int line) {
    check(status == expected, "line %d: %s: %s instead of %s: %s", line, call, quern_status_string(status),
          quern_status_string(expected), error_detail());
}

void check_detail(const char *text) { check(strstr(error_detail(), text), "no \"%s\" in \"%s\"", text, error_detail()); }
