/*
 * An engine as a shared object: describes the Quern that its calls reach.  tests/consumers/two_engines.py builds it several times,
 * each time with another library.  With ENGINE_PRIVATE, which needs the archive, also the parts that no call shows.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <quern.h>
#include <stdio.h>
#include <string.h>

#ifdef ENGINE_PRIVATE
#include "kernels/kernel.h"
#endif

#define ENGINE __attribute__((visibility("default")))

static char text[8192];

static void add(const char *name, const char *value) {
    size_t length = strlen(text);
    snprintf(text + length, sizeof text - length, "%s: %s\n", name, value);
}

static void add_file(const char *name, const void *address) {
    Dl_info found;
    const char *path = dladdr(address, &found) ? found.dli_fname : "nowhere";
    const char *slash = strrchr(path, '/');
    add(name, slash ? slash + 1 : path);
}

static void count_line(void *user, quern_log_level level, const char *line) {
    (void)level, (void)line;
    ++*(int *)user;
}

/* The device's targets, and how many lines of the log reached this engine while it used its device. */
static void add_device(void) {
    static int lines;
    char words[4096], number[16];
    quern_device *device;
    lines = 0;
    quern_set_log(count_line, &lines, QUERN_LOG_INFO);
    if (quern_device_open(QUERN_CPU, 0, &device) != QUERN_OK || quern_prepare(device, QUERN_ADAM) != QUERN_OK) {
        quern_error_detail(words, sizeof words);
        add("failed", words);
        return;
    }
    quern_device_info info = QUERN_DEVICE_INFO_INIT;
    quern_device_get_info(device, &info);
    add("target", info.target);
    quern_device_report(device, words, sizeof words);
    add("targets", strtok(words, "\n"));
    quern_device_close(device);
    snprintf(number, sizeof number, "%d", lines);
    add("lines of the log", number);
}

/* The text is static. */
ENGINE const char *engine_describe(void);
ENGINE const char *engine_describe(void) {
    char number[16];
    text[0] = 0;
    snprintf(number, sizeof number, "%d", quern_version());
    add("version", number);
    snprintf(number, sizeof number, "%d", QUERN_VERSION);
    add("header", number);
    add_device();
#ifdef ENGINE_PRIVATE
    add_file("calls", (const void *)(size_t)quern_version);
    add_file("table", quern_adam_kernels);
    add_file("image", quern_adam_kernels[0].cuda.image->packed);
#endif
    return text;
}

/* So that the tables of all operations are in the engine. */
ENGINE size_t engine_needs(void);
ENGINE size_t engine_needs(void) {
    size_t bytes = 0;
    quern_ragged_all_to_all_workspace(NULL, NULL, &bytes);
    quern_cross_entropy(NULL, NULL, NULL, 0, NULL);
    quern_adam(NULL, NULL, NULL, 0, NULL);
    return bytes + quern_barrier_bytes(1);
}
