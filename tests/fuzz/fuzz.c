/*
 * A libFuzzer program: each input is a sequence of calls of the public functions, by the tables that gen/ makes of the header.
 * Run by run.py.  At the end it prints how often each function was called, and how often it returned QUERN_OK.
 *
 * From time to time, and at the end, all devices are closed.  Then memory, threads and descriptors must be as before the first one.
 */
#include <sys/stat.h>

#include "calls.h"
#include "effects.h"
#include "input.h"
#include "pack.h"
#include "process.h"
#include "ranks.h"

enum { MOST_FUNCTIONS = 128, MOST_CALLS = 24, INPUTS_PER_OPENING = 4000, MEETING = 255 };

static struct {
    uint64_t calls, succeeded;
} counts[MOST_FUNCTIONS];
static int printed;   /* in place of standard output and standard error: the library must leave it empty */

static uint64_t calls, succeeded;  /* of all */

static void print_counts(void) {
    for (int i = 0; i < header_function_count; i++)
        dprintf(fuzz_output, "called %s %llu %llu\n", header_functions[i].name, (unsigned long long)counts[i].calls,
                (unsigned long long)counts[i].succeeded);
    ranks_print_counts();
    dprintf(fuzz_output, "calls %llu succeeded %llu\n", (unsigned long long)calls, (unsigned long long)succeeded);
}

/* ---- what must come back ---- */

static void end(void) {
    print_counts();
    if (!printed) return;
    state_close();
    process_check();
}

/* libFuzzer keeps a handler that was there before its own. */
static void interrupt(int signal) {
    print_counts();
    _exit(128 + signal);
}

/* ---- inputs ---- */

int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerInitialize(int *count, char ***arguments) {
    (void)count, (void)arguments;
    if (header_function_count > MOST_FUNCTIONS) abort();
    fuzz_output = dup(2);
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    signal(SIGINT, interrupt);
    signal(SIGTERM, interrupt);
    atexit(end);
    return 0;
}

/* libFuzzer writes to a copy of standard error once it has started, because of -close_fd_mask=3. */
static void catch_output(void) {
    printed = memfd_create("printed", 0);
    dup2(printed, 1);
    dup2(printed, 2);
}

/* libFuzzer has started its own threads by now. */
static void begin(void) {
    catch_output();
    pack_begin();
    state_begin();
    state_close();   /* a BLAS may leave something at its first use */
    process_remember();
    state_begin();
}

static void check_output(void) {
    struct stat file;
    char text[201] = "";
    if (fstat(printed, &file) != 0 || !file.st_size) return;
    if (pread(printed, text, sizeof text - 1, 0) < 0) abort();
    fuzz_fail("printed: %s", text);
}

static bool has_structs(const struct function *function) {
    for (int i = 0; function->record && i < function->record->count; i++)
        if (function->record->fields[i].kind == STRUCTS) return true;
    return false;
}

/* Functions with structs of arguments, which have the most to check, are chosen as often as all others together. */
static const struct function *choose_function(uint8_t choice) {
    static const struct function *with_structs[MOST_FUNCTIONS];
    static int found;
    if (!found)
        for (int i = 0; i < header_function_count; i++)
            if (has_structs(&header_functions[i])) with_structs[found++] = &header_functions[i];
    return choice & 1 ? &header_functions[(choice >> 1) % header_function_count] : with_structs[(choice >> 1) % found];
}

static void make_call(const struct function *function) {
    struct call call;
    call_prepare(&call, function);
    if (effects_before(&call)) {
        const uint64_t result = call_make(&call);
        const bool is_ok = function->result != STATUS || result == QUERN_OK;
        counts[function - header_functions].calls++, calls++;
        counts[function - header_functions].succeeded += is_ok, succeeded += is_ok;
        effects_after(&call, result);
    }
    call_end(&call);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static int inputs;
    if (!printed) begin();
    input_begin(bytes, size);
    for (int i = 0; i < MOST_CALLS && !input_is_at_end(); i++) {
        const uint8_t choice = input_byte();
        if (choice != MEETING) make_call(choose_function(choice));
        else if (!ranks_meet(state_device(), calls)) break;
    }
    state_end();
    check_output();
    if (++inputs % INPUTS_PER_OPENING == 0) {
        state_close();
        process_check();
        state_begin();
    }
    return 0;
}
