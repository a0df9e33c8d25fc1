/*
 * Messages: statuses and the responsible party, error details of each thread, names of types, the log.
 *
 * Runs on: every cpu, one emulated, gpu.
 */
#include "harness/cross_entropy_case.h"
#include "runtime/log.h"

Test(status, every_status_has_its_name_and_its_blame) {
    static const struct {
        quern_status status;
        const char *name, *blame;
    } statuses[] = {
#define STATUS(name, blame) {name, #name, blame}
        STATUS(QUERN_OK, "nobody"), STATUS(QUERN_INVALID_ARGUMENT, "the caller's argument"),
        STATUS(QUERN_NULL_POINTER, "the caller's argument"), STATUS(QUERN_INVALID_STRUCT_SIZE, "the caller's argument"),
        STATUS(QUERN_INVALID_DTYPE, "the caller's argument"), STATUS(QUERN_INVALID_SHAPE, "the caller's argument"),
        STATUS(QUERN_WORKSPACE_TOO_SMALL, "the caller's argument"), STATUS(QUERN_NOT_PREPARED, "the caller's argument"),
        STATUS(QUERN_INVALID_PACK, "the caller's argument"), STATUS(QUERN_NOT_SUPPORTED, "not supported here"),
        STATUS(QUERN_NO_KERNEL, "not supported here"), STATUS(QUERN_NO_DEVICE, "not supported here"),
        STATUS(QUERN_NO_DRIVER, "not supported here"), STATUS(QUERN_DRIVER_TOO_OLD, "not supported here"),
        STATUS(QUERN_OUT_OF_MEMORY, "the system"), STATUS(QUERN_CUDA_ERROR, "the system"), STATUS(QUERN_SYSTEM_ERROR, "the system"),
        STATUS(QUERN_PEER_TIMEOUT, "a peer"), STATUS(QUERN_PEER_LOST, "a peer"), STATUS(QUERN_PEER_MISMATCH, "a peer"),
        STATUS(QUERN_GROUP_ABORTED, "a peer"),
    };
    for (size_t i = 0; i < COUNT(statuses); i++) {
        check(!strcmp(quern_status_string(statuses[i].status), statuses[i].name), "%s is called %s", statuses[i].name,
              quern_status_string(statuses[i].status));
        check(!strcmp(quern_status_blame(statuses[i].status), statuses[i].blame), "%s is blamed on %s", statuses[i].name,
              quern_status_blame(statuses[i].status));
    }
    check(!strcmp(quern_status_string((quern_status)999), "unknown quern_status"), "999");
    check(!strcmp(quern_status_string((quern_status)-1), "unknown quern_status"), "-1");
    check(quern_status_blame((quern_status)12345), "no blame for a number that is no status");
}

Test(status, dtypes) {
    static const struct {
        quern_dtype dtype;
        const char *name;
        size_t bytes;
    } dtypes[] = {{QUERN_F32, "f32", 4},     {QUERN_F16, "f16", 2},     {QUERN_BF16, "bf16", 2},
                  {QUERN_INT32, "int32", 4}, {QUERN_INT64, "int64", 8}, {QUERN_NO_DTYPE, "unknown dtype", 0},
                  {(quern_dtype)999, "unknown dtype", 0}, {(quern_dtype)-1, "unknown dtype", 0}};
    for (size_t i = 0; i < COUNT(dtypes); i++) {
        check(!strcmp(quern_dtype_name(dtypes[i].dtype), dtypes[i].name), "%s", dtypes[i].name);
        check(quern_dtype_bytes(dtypes[i].dtype) == dtypes[i].bytes, "%s", dtypes[i].name);
    }
}

Test(status, version) { check(quern_version() == QUERN_VERSION, "library %d, header %d", quern_version(), QUERN_VERSION); }

/* ---- details ---- */

Test(status, detail_is_copied_like_snprintf) {
    char all[512], part[8];
    check_status(quern_device_open(QUERN_CPU, 5, NULL), QUERN_NULL_POINTER);
    size_t length = quern_error_detail(all, sizeof all);
    check(length > 8 && strlen(all) == length, "\"%s\" is not %zu characters long", all, length);
    check(quern_error_detail(NULL, 0) == length && quern_error_detail(NULL, SIZE_MAX) == length, "another length without a buffer");
    char whole[sizeof all];
    check(quern_error_detail(whole, SIZE_MAX) == length && !strcmp(whole, all), "\"%s\" in a buffer of any size", whole);
    memset(part, 'x', sizeof part);
    check(quern_error_detail(part, sizeof part - 1) == length, "another length");
    check(!memcmp(part, all, 6) && part[6] == 0 && part[7] == 'x', "not cut off after 6 characters");
}

static void *fail_differently(UNUSED void *user) {
    int count;
    check(quern_error_detail(NULL, 0) == 0, "a new thread begins with a detail");
    quern_device_count((quern_device_kind)12, &count);
    return strstr(error_detail(), "12") ? "good" : NULL;
}

Test(status, detail_belongs_to_the_thread) {
    pthread_t thread;
    void *result;
    char before[512];
    quern_device_open(QUERN_CPU, 77, NULL);
    quern_error_detail(before, sizeof before);
    pthread_create(&thread, NULL, fail_differently, NULL);
    pthread_join(thread, &result);
    check(result, "the other thread's detail does not name its mistake");
    check(!strcmp(error_detail(), before), "the other thread changed this one's detail");
}

/* ---- the log ---- */

struct record {
    int lines, errors, information, debugging;
    char text[1 << 16];
};

static void keep(void *user, quern_log_level level, const char *line) {
    struct record *record = user;
    record->lines++;
    record->errors += level == QUERN_LOG_ERROR;
    record->information += level == QUERN_LOG_INFO;
    record->debugging += level == QUERN_LOG_DEBUG;
    check(strlen(line) > 0 && !strchr(line, '\n'), "a line with a line end: \"%s\"", line);
    strncat(record->text, line, sizeof record->text - strlen(record->text) - 2);
    strcat(record->text, "\n");
}

/* Opens a device, uses two kernels twice and makes a mistake. */
static void do_things(void) {
    struct cross_entropy_case c = CROSS_ENTROPY_CASE(.logits_dtype = QUERN_F32, .rows = 2, .vocab = 10);
    OPEN_PREPARED(device, QUERN_CROSS_ENTROPY);
    cross_entropy_check_case(&device, &c);
    cross_entropy_check_case(&device, &c);
    check_status(quern_cross_entropy(device.quern, NULL, NULL, 0, NULL), QUERN_NULL_POINTER);
}

static int occurrences(const char *text, const char *word) {
    int count = 0;
    for (const char *at = text; (at = strstr(at, word)); at++) count++;
    return count;
}

Test(log, levels_are_kept_apart) {
    static struct record error, information, debugging, nothing;
    test_target();  /* opens its own device */
    quern_set_log(keep, &error, QUERN_LOG_ERROR);
    do_things();
    quern_set_log(keep, &information, QUERN_LOG_INFO);
    do_things();
    quern_set_log(keep, &debugging, QUERN_LOG_DEBUG);
    do_things();
    quern_set_log(NULL, &nothing, QUERN_LOG_DEBUG);
    do_things();
    check(nothing.lines == 0, "lines without a callback");
    check(error.lines == 1 && error.errors == 1, "%d lines of errors:\n%s", error.lines, error.text);
    check(strstr(error.text, "args is NULL"), "%s", error.text);
    check(information.errors == 1 && information.information >= 2 && !information.debugging, "%s", information.text);
    check(debugging.errors == 1 && debugging.debugging >= 2, "%s", debugging.text);

    char prefix[32], use[96];
    snprintf(prefix, sizeof prefix, test_kind() == QUERN_CPU ? "[cpu] " : "[cuda:0] ");
    check(!strncmp(error.text, prefix, strlen(prefix)), "no device in front: %s", error.text);
    snprintf(use, sizeof use, "first use of cross_entropy_f32");
    check(occurrences(information.text, use) == 1, "the first use, once:\n%s", information.text);
    check(strstr(information.text, test_target()), "the target is not named:\n%s", information.text);
    check(strstr(debugging.text, ": chosen"), "no walk:\n%s", debugging.text);
}

/* Each line of an explanation, however long it is, to the chosen row or to the absence of one. */
Test(log, a_choice_is_logged_to_its_end) {
    static struct record record;
    static char walk[1 << 14];
    static char expected[1 << 16];
    struct test_device device;
    quern_adam_args args = QUERN_ADAM_ARGS_INIT;
    args.param_dtype = args.grad_dtype = args.m_dtype = args.v_dtype = QUERN_BF16, args.step = 1;
    setenv("QUERN_KERNEL", "", 1);
    device.kind = test_kind();
    check_ok(quern_device_open(device.kind, 0, &device.quern));
    check_ok(quern_prepare(device.quern, QUERN_ADAM));
    for (int i = 0; i < 2; i++) {
        args.v_dtype = i ? QUERN_F16 : QUERN_BF16;  /* no kernel has that beside bf16 */
        check(quern_adam_explain(device.quern, &args, walk, sizeof walk) < sizeof walk, "a long walk");
        *record.text = *expected = 0;
        quern_set_log(keep, &record, QUERN_LOG_DEBUG);
        check_status(quern_adam(device.quern, &args, NULL, 0, NULL), i ? QUERN_NO_KERNEL : QUERN_OK);
        quern_set_log(NULL, NULL, QUERN_LOG_DEBUG);
        for (char *line = walk, *end; (end = strchr(line, '\n')); line = end + 1)
            sprintf(expected + strlen(expected), "[%s] adam: %.*s\n", device.kind == QUERN_CPU ? "cpu" : "cuda:0",
                    (int)(end - line), line);
        check(strstr(record.text, expected), "the log has\n%s\ninstead of\n%s", record.text, expected);
    }
    quern_device_close(device.quern);
}

/* A callback that is running when another thread removes it. */
static struct {
    int entered, left;  /* atomic */
} slow;

static void be_slow(UNUSED void *user, UNUSED quern_log_level level, UNUSED const char *line) {
    __atomic_store_n(&slow.entered, 1, __ATOMIC_SEQ_CST);
    usleep(100000);
    __atomic_store_n(&slow.left, 1, __ATOMIC_SEQ_CST);
}

static void *fail_once(UNUSED void *user) {
    int count;
    quern_device_count((quern_device_kind)12, &count);
    return NULL;
}

Test(log, no_callback_runs_after_it_is_removed) {
    pthread_t thread;
    quern_set_log(be_slow, NULL, QUERN_LOG_ERROR);
    check(pthread_create(&thread, NULL, fail_once, NULL) == 0, "no thread");
    while (!__atomic_load_n(&slow.entered, __ATOMIC_SEQ_CST)) usleep(1000);
    quern_set_log(NULL, NULL, QUERN_LOG_ERROR);
    check(__atomic_load_n(&slow.left, __ATOMIC_SEQ_CST), "quern_set_log has returned while the callback runs");
    pthread_join(thread, NULL);
}

/* The content of a file, or NULL. */
static char *read_file(const char *path) {
    static char text[1 << 16];
    FILE *file = fopen(path, "r");
    if (!file) return NULL;
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

static void ignore(UNUSED void *user, UNUSED quern_log_level level, UNUSED const char *line) {
}

Test(log, a_file_that_cannot_be_opened_is_no_error) {
    setenv("QUERN_LOG", "/nonexistent/directory/log", 1);
    do_things();
}

/* ---- values of the environment ---- */

static void open_a_device(void) {
    quern_device *device;
    for (int i = 0; i < 2; i++) check_ok(quern_device_open(QUERN_CPU, 0, &device)), quern_device_close(device);
}

static void read_queues(void) {
    uint32_t told = 0;
    for (int i = 0; i < 2; i++) quern_variable_number("CUDA_DEVICE_MAX_CONNECTIONS", 32, &told);
}

/* Refused with a status, whose detail says why: in the place of the line. */
static void read_at_opening(void) {
    quern_device *device;
    if (quern_device_open(QUERN_CPU, 0, &device) == QUERN_OK) quern_device_close(device);
    else fprintf(stderr, "%s\n", error_detail());
}

#define TEN "aaaaaaaaaa"
#define FORTY TEN TEN TEN TEN

static const struct {
    const char *name;
    void (*read)(void);
    const char *expected, *right[3], *wrong[9];
} variables[] = {
    {"QUERN_LOG", open_a_device, "1, 2 or 3", {"", "log", "2:log"},
     {"0", "4", "9", "12", "00", "9:log", "0:log", "/nonexistent/log", "1:/nonexistent/log"}},
    {"QUERN_THREADS", open_a_device, "1 to 1024", {"", "1", "1024"},
     {"abc", "0", "-1", "1025", "4x", " 4", "4294967297", "1e3", "two\nlines"}},
    {"CUDA_DEVICE_MAX_CONNECTIONS", read_queues, "1 to 32", {"", "1", "32"}, {"33", "0", "x", "-8", "99999999999"}},
    {"QUERN_KNOWN_ANSWERS", read_at_opening, "0 or 1", {"", "0", "1"}, {"2", "yes", "01"}},
    {"QUERN_KERNEL", read_at_opening, "fewer than 160", {"", "*", FORTY}, {FORTY FORTY FORTY FORTY}},
};

/* What a process with a value of a variable says on standard error. */
static const char *say_with(size_t variable, const char *value) {
    static const char *const error = "standard_error";
    const pid_t child = fork();
    check(child >= 0, "no process");
    if (!child) {
        if (!freopen(error, "w", stderr)) _exit(1);
        setenv(variables[variable].name, value, 1);
        variables[variable].read();
        fflush(stderr);
        _exit(0);
    }
    int status;
    check(waitpid(child, &status, 0) == child && status == 0, "%s=%s ended the process", variables[variable].name, value);
    unlink("log");
    const char *text = read_file(error);
    unlink(error);
    return text;
}

/* One line, with the name, the value and what was expected, and no file.  Nothing is said of a value that is right. */
Test(log, no_value_of_the_environment_is_ignored_silently) {
    char directory[] = "/tmp/quern_log_XXXXXX", shown[200];
    check(mkdtemp(directory) && chdir(directory) == 0, "no directory for the log");
    for (size_t i = 0; i < COUNT(variables); i++) {
        const char *name = variables[i].name;
        for (size_t j = 0; j < COUNT(variables[i].right); j++) {
            const char *said = say_with(i, variables[i].right[j]);
            check(said && !*said, "%s=%s: %s", name, variables[i].right[j], said);
        }
        for (size_t j = 0; j < COUNT(variables[i].wrong) && variables[i].wrong[j]; j++) {
            const char *said = say_with(i, variables[i].wrong[j]);
            snprintf(shown, sizeof shown, "%s", strchr(variables[i].wrong[j], '\n') ? "two?lines" : variables[i].wrong[j]);
            if (strlen(shown) >= 160) snprintf(shown, sizeof shown, "160 characters");
            check(said && strstr(said, name) && strstr(said, shown) && strstr(said, variables[i].expected) &&
                  strchr(said, '\n') == said + strlen(said) - 1, "%s=%s: %s", name, variables[i].wrong[j], said);
        }
    }
    check(rmdir(directory) == 0, "a file was made");
}

/*
 * Where the lines of a value go: to a file of this name in the present directory, to which they are appended, or to standard error.
 * A callback that is set for a while changes nothing.  The environment is read once per process, and each test is a process.
 */
static void check_choice(const char *value, const char *expected, int level, bool has_callback) {
    char directory[] = "/tmp/quern_log_XXXXXX";
    static const char *const error = "standard_error";
    check(mkdtemp(directory) && chdir(directory) == 0, "no directory for the log");
    const int kept = dup(STDERR_FILENO);
    check(kept >= 0 && freopen(error, "w", stderr), "standard error cannot be redirected");
    if (expected) {
        FILE *file = fopen(expected, "w");
        check(file && fputs("before\n", file) >= 0 && fclose(file) == 0, "no file for the log");
    }
    setenv("QUERN_LOG", value, 1);
    if (has_callback) quern_set_log(ignore, NULL, QUERN_LOG_INFO);
    if (has_callback) quern_set_log(NULL, NULL, QUERN_LOG_INFO);
    do_things();
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    char *text = read_file(expected ? expected : error);
    check(text && !!strstr(text, "args is NULL") == (level >= 1), "QUERN_LOG=%s, errors: %s", value, text ? text : "no file");
    check(!!strstr(text, "first use of") == (level >= 2), "QUERN_LOG=%s, information:\n%s", value, text);
    check(!!strstr(text, ": chosen") == (level >= 3), "QUERN_LOG=%s, the walk:\n%s", value, text);
    check(!level || text[strlen(text) - 1] == '\n', "QUERN_LOG=%s, an unfinished line:\n%s", value, text);
    check(!expected || !strncmp(text, "before\n", 7), "QUERN_LOG=%s, not appended:\n%s", value, text);
    if (expected) check(!*read_file(error), "QUERN_LOG=%s also wrote to standard error", value);
    if (expected) unlink(expected);
    unlink(error);
    check(rmdir(directory) == 0, "QUERN_LOG=%s left another file", value);
}

#define CHOICE(name, ...) Test(log, name) { check_choice(__VA_ARGS__); }
CHOICE(file_from_the_environment, "log", "log", 2, false)
CHOICE(file_resumes_after_a_callback, "log", "log", 2, true)
CHOICE(file_of_errors_only, "1:log", "log", 1, false)
CHOICE(file_with_every_choice, "3:log", "log", 3, false)
CHOICE(level_of_errors, "1", NULL, 1, false)
CHOICE(level_of_all, "3", NULL, 3, false)
CHOICE(level_with_an_empty_path, "2:", NULL, 2, false)
CHOICE(nothing_for_an_empty_value, "", NULL, 0, false)
