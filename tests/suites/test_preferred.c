/*
 * QUERN_PREFER: the file of preferred rows, each way to be wrong, the rows that it chooses, and those that it may not.
 *
 * Runs on: one cpu, one emulated, gpu.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "cross_entropy/cross_entropy.h"
#include "harness/adam_case.h"
#include "harness/cross_entropy_case.h"
#include "harness/looking.h"
#include "kernels/table.h"
#include "os/sha256.h"
#include "runtime/operation.h"
#include "runtime/preferred.h"
#include "runtime/target.h"

#define FIRST "quern preferred rows 1\n"
#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"
#define NAME "adam_pf32_gf32_mf32_vf32__portable"

/* ---- the file ---- */

static const char *folder;

/* A program has the operations whose functions it names. */
static void (*volatile const linked[])(void) = {
    (void (*)(void))quern_cross_entropy, (void (*)(void))quern_quantize, (void (*)(void))quern_all_reduce,
    (void (*)(void))quern_ragged_all_to_all, (void (*)(void))quern_barrier};

static void write_bytes(const char *bytes, size_t count) {
    FILE *file = fopen(path_in(folder, "rows"), "wb");
    check(file && fwrite(bytes, 1, count, file) == count && fclose(file) == 0, "no file");
}

static void begin(void) {
    check(linked[0], "no function");
    folder = make_folder();
    setenv("QUERN_PREFER", path_in(folder, "rows"), 1);
    unsetenv("QUERN_KERNEL");
    write_bytes(FIRST "end 0\n", strlen(FIRST "end 0\n"));
}

static void end(void) { drop_folder(folder); }

#define TEST_FILE(suite, name) TEST_BETWEEN(begin(), end(), suite, name)

static quern_status open_device(void) {
    quern_device *device = NULL;
    const quern_status status = quern_device_open(QUERN_CPU, 0, &device);
    quern_device_close(device);
    return status;
}

TEST_FILE(preferred, files_that_are_refused) {
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "QUERN_PREFER: no line is \"end COUNT\": the file is truncated, in /tmp/"},
        {"\n", "line 1 is no \"quern preferred rows 1\", in /tmp/"},
        {"quern preferred rows 2\nend 0\n", "line 1 is no \"quern preferred rows 1\""},
        {"# text\n" FIRST "end 0\n", "line 1 is no \"quern preferred rows 1\""},
        {FIRST, "no line is \"end COUNT\": the file is truncated"},
        {FIRST NAME " " ZEROS "\n", "no line is \"end COUNT\": the file is truncated"},
        {FIRST "end 0", "line 2 has no line feed: the file is truncated"},
        {FIRST NAME " 00", "line 2 has no line feed: the file is truncated"},
        {FIRST "end 1\n", "line 2 has another number of rows than the file"},
        {FIRST NAME " " ZEROS "\nend 0\n", "line 3 has another number of rows than the file"},
        {FIRST "end 0\n#\n", "line 3 is behind the end"},
        {FIRST "end 0\nend 0\n", "line 3 is behind the end"},
        {FIRST "\nend 0\n", "line 2 is no row: expected the name of a kernel, a space and a digest of 64 hexadecimal digits"},
        {FIRST NAME "\nend 1\n", "line 2 is no row"},
        {FIRST NAME " \nend 1\n", "line 2 is no row"},
        {FIRST NAME "  " ZEROS "\nend 1\n", "line 2 is no row"},
        {FIRST NAME " " ZEROS "0\nend 1\n", "line 2 is no row"},
        {FIRST NAME " " ZEROS "\r\nend 1\n", "line 2 is no row"},
        {FIRST "#\n" NAME " A" ZEROS, "line 3 has no line feed"},
        {FIRST " " ZEROS "\nend 1\n", "line 2 is no row"},
        {FIRST "adam_*__portable " ZEROS "\nend 1\n", "line 2 is no row"},
        {FIRST "adam_" NAME NAME NAME " " ZEROS "\nend 1\n", "line 2 is no row"},
        {FIRST "softmax_bf16__avx2 " ZEROS "\nend 1\n", "line 2 names a kernel of no operation"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        write_bytes(cases[i].text, strlen(cases[i].text));
        check_refused(open_device(), QUERN_INVALID_ARGUMENT, cases[i].why);
    }
    const char digest[] = FIRST NAME " G" "000000000000000000000000000000000000000000000000000000000000000\nend 1\n";
    write_bytes(digest, sizeof digest - 1);
    check_refused(open_device(), QUERN_INVALID_ARGUMENT, "line 2 is no row");
}

TEST_FILE(preferred, a_byte_of_0_anywhere) {
    const char right[] = FIRST "# text\n" NAME " " ZEROS "\nend 1\n";
    char text[sizeof right];
    write_bytes(right, sizeof right - 1);
    check_ok(open_device());
    for (size_t i = 0; i < sizeof right - 1; i++) {
        memcpy(text, right, sizeof right);
        text[i] = 0;
        write_bytes(text, sizeof right - 1);
        check_refused(open_device(), QUERN_INVALID_ARGUMENT, " has a byte of 0: expected text, in ");
    }
    write_bytes(right, sizeof right);  /* with its zero */
    check_refused(open_device(), QUERN_INVALID_ARGUMENT, "line 5 has ");
}

/* Every shorter file is truncated. */
TEST_FILE(preferred, a_file_that_ends_early) {
    const char right[] = FIRST NAME " " ZEROS "\nend 1\n";
    for (size_t i = 0; i < sizeof right - 1; i++) {
        write_bytes(right, i);
        check_refused(open_device(), QUERN_INVALID_ARGUMENT, "the file is truncated, in ");
    }
}

TEST_FILE(preferred, files_that_cannot_be_read) {
    enum { MOST = 65536 };
    const char *path = getenv("QUERN_PREFER");
    static char text[MOST + 1];
    unlink(path);
    check_refused(open_device(), QUERN_SYSTEM_ERROR, "QUERN_PREFER: /tmp/");
    check_detail("/rows cannot be opened: No such file or directory");
    memset(text, 'x', sizeof text);
    memcpy(text, FIRST "#", strlen(FIRST "#"));
    memcpy(text + MOST - 7, "\nend 0\n", 7);
    write_bytes(text, MOST);
    check_ok(open_device());
    write_bytes(text, MOST + 1);
    check_refused(open_device(), QUERN_INVALID_ARGUMENT, "/rows has 65537 bytes: expected at most 65536");
    check(truncate(path, (off_t)1 << 40) == 0, "no huge file");
    check_refused(open_device(), QUERN_INVALID_ARGUMENT, "/rows has 1099511627776 bytes: expected at most 65536");
    check(unlink(path) == 0 && mkfifo(path, 0600) == 0, "no pipe");
    check_refused(open_device(), QUERN_SYSTEM_ERROR, "/rows is not a regular file");
    setenv("QUERN_PREFER", folder, 1);
    check_refused(open_device(), QUERN_SYSTEM_ERROR, " is not a regular file");
    setenv("QUERN_PREFER", "", 1);
    check_ok(open_device());
}

/* ---- rows ---- */

static char text_of_file[1 << 14];

static void add_row(const char *name, const char *digest) {
    snprintf(text_of_file + strlen(text_of_file), sizeof text_of_file - strlen(text_of_file), "%s %s\n", name, digest);
}

static void add_kernel(const struct quern_kernel *kernel) {
    char digest[QUERN_DIGEST_TEXT];
    quern_row_digest(kernel, digest);
    add_row(kernel->name, digest);
}

static void write_rows(void) {
    static char text[sizeof text_of_file + 100];
    int rows = 0;
    for (const char *at = text_of_file; (at = strchr(at, '\n')); at++) rows++;
    snprintf(text, sizeof text, FIRST "# measured\n%send %d\n", text_of_file, rows);
    write_bytes(text, strlen(text));
    text_of_file[0] = 0;
}

static void write_kernel(const struct quern_kernel *kernel) {
    add_kernel(kernel);
    write_rows();
}

/* A request that several rows serve; the choice of the table, and its last row.  An emulated GPU runs one target. */
struct choice {
    quern_adam_args args;
    const struct quern_kernel *first, *last;
};

static bool serves(const quern_device *device, const struct quern_kernel *row, const struct quern_kernel *other) {
    return row->key.any.task == other->key.any.task && !quern_target_refused(device, &row->target, NULL, 0) &&
           !memcmp(row->key.any.dtypes, other->key.any.dtypes, sizeof row->key.any.dtypes);
}

static const struct quern_kernel *plain;   /* a row of other types */

static struct choice find_choice(void) {
    const struct quern_kernel *wanted = find_adam_row(QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, false);
    plain = find_adam_row(QUERN_F32, QUERN_F32, QUERN_F32, QUERN_F32, QUERN_NO_DTYPE, false);
    unsetenv("QUERN_KERNEL");
    OPEN_ON(device, test_kind(), 0);
    struct choice choice = {.args = adam_args_of(wanted)};
    for (const struct quern_kernel *row = quern_adam_kernels; *row->name; row++) {
        if (!serves(device, row, wanted) || (row->target.kind == QUERN_CUDA && strcmp(row->target.name, test_target()))) continue;
        if (!choice.first) choice.first = row;
        choice.last = row;
    }
    check(choice.first && choice.first != choice.last, "only one row serves");
    return choice;
}

static const char *explain(const quern_device *device, const quern_adam_args *args) {
    static char text[1 << 14];
    quern_adam_explain(device, args, text, sizeof text);
    return text;
}

static void check_chosen(const quern_device *device, const struct choice *choice, const struct quern_kernel *row) {
    char expected[300], instead[300];
    const char *text = explain(device, &choice->args);
    snprintf(expected, sizeof expected, "\n%s: chosen\n", row->name);
    snprintf(instead, sizeof instead, "\n%s: QUERN_PREFER puts another row with the same bits before it\n", choice->first->name);
    check(strstr(text, expected) || !strncmp(text, expected + 1, strlen(expected + 1)), "expected %s in\n%s", row->name, text);
    check((row != choice->first) == (strstr(text, instead) || !strncmp(text, instead + 1, strlen(instead + 1))), "%s", text);
}

static char logged[1 << 16];

static void note(void *user, quern_log_level level, const char *line) {
    (void)user, (void)level;
    snprintf(logged + strlen(logged), sizeof logged - strlen(logged), "%s\n", line);
}

static void check_logged(const char *before, const char *name, const char *behind, bool expected) {
    char line[300];
    snprintf(line, sizeof line, "%s%s%s\n", before, name, behind);
    check(!strstr(logged, line) == !expected, "%s is %sexpected in\n%s", line, expected ? "" : "not ", logged);
}

/* Adam runs the preferred row, with the bits of the model; explanations and the log say so.  Other operations stay. */
TEST_FILE(preferred, a_row_that_is_preferred_runs) {
    const struct choice choice = find_choice();
    write_kernel(choice.last);
    quern_set_log(note, NULL, QUERN_LOG_INFO);
    struct test_device device CLOSED_BY(device_close);
    device_open(&device, 0, "*");
    check_chosen(device.quern, &choice, choice.last);
    check_ok(quern_prepare(device.quern, QUERN_ADAM | QUERN_CROSS_ENTROPY));
    check_chosen(device.quern, &choice, choice.last);
    OPEN_TENSORS(problem, &choice.args, 700, 33);
    adam_check_step(&device, &problem, "the preferred row");
    check_logged("QUERN_PREFER: ", choice.last->name, " goes before rows with the same bits", true);
    check_logged("adam: first use of ", choice.last->name, ", which QUERN_PREFER names", true);
    check(!strstr(logged, choice.first->name), "%s was used:\n%s", choice.first->name, logged);
    quern_set_log(NULL, NULL, QUERN_LOG_ERROR);
}

/* The first row of the file that serves is taken, and a row of other types changes nothing. */
TEST_FILE(preferred, the_order_of_the_file_decides) {
    const struct choice choice = find_choice();
    for (int order = 0; order < 3; order++) {
        if (order == 2) add_kernel(plain);
        else add_kernel(order ? choice.last : choice.first), add_kernel(order ? choice.first : choice.last);
        write_rows();
        quern_set_log(note, NULL, QUERN_LOG_INFO);
        struct test_device device CLOSED_BY(device_close);
        device_open(&device, 0, "*");
        check_ok(quern_prepare(device.quern, QUERN_ADAM));
        check_chosen(device.quern, &choice, order == 1 ? choice.last : choice.first);
        OPEN_TENSORS(problem, &choice.args, 40);
        logged[0] = 0;
        adam_check_step(&device, &problem, "a row");
        check_logged("first use of ", order == 1 ? choice.last->name : choice.first->name,
                     order == 2 ? "" : ", which QUERN_PREFER names", true);
        quern_set_log(NULL, NULL, QUERN_LOG_ERROR);
    }
}

/* A plain row is preferred, and a request needs a full one. */
TEST_FILE(preferred, a_row_that_does_not_serve_stays_behind) {
    const struct quern_kernel *plain = find_choice().first;
    struct choice full = {.args = adam_args_of(find_adam_row(QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, true))};
    write_kernel(plain);
    struct test_device device CLOSED_BY(device_close);
    device_open(&device, 0, "*");
    check_ok(quern_prepare(device.quern, QUERN_ADAM));
    const char *text = explain(device.quern, &full.args);
    check(!plain->key.adam.full && !strstr(text, "QUERN_PREFER"), "%s", text);
    OPEN_TENSORS(problem, &full.args, 40);
    adam_check_step(&device, &problem, "a full row");
}

/* Opens a device, prepares it, and expects the detail of a file that it cannot use. */
static void refuse(unsigned operations, quern_status status, const char *why) {
    write_rows();
    OPEN_ON(device, test_kind(), 0);
    check_refused(quern_prepare(device, operations), status, why);
}

TEST_FILE(preferred, rows_that_are_not_here) {
    const struct choice choice = find_choice();
    char why[300], digest[QUERN_DIGEST_TEXT];
    add_row("adam_none__portable", ZEROS);
    refuse(QUERN_ADAM, QUERN_NO_KERNEL,
           "QUERN_PREFER: line 3: adam_none__portable is not in this build of the library or a pack, in /tmp");
    for (int i = 0; i < 2; i++) {
        quern_row_digest(choice.last, digest);
        if (i) digest[63] ^= 1;
        add_row(choice.last->name, i ? digest : ZEROS);
        snprintf(why, sizeof why, "line 3: %s has another digest here: measure this build, in /tmp", choice.last->name);
        refuse(QUERN_ADAM, QUERN_NO_KERNEL, why);
    }
    setenv("QUERN_KERNEL", choice.first->name, 1);
    write_kernel(choice.last);
    OPEN_ON(device, test_kind(), 0);
    check_chosen(device, &choice, choice.first);
    add_kernel(choice.last);
    snprintf(why, sizeof why, "line 3: %s QUERN_KERNEL=%s leaves it out, in /tmp", choice.last->name, choice.first->name);
    refuse(QUERN_ADAM, QUERN_NO_KERNEL, why);
}

/* A row for which this device lacks something, and one for a device of another kind, which is no fault. */
TEST_FILE(preferred, rows_for_other_devices) {
    const struct quern_kernel *oldest = NULL, *other = NULL;
    for (const struct quern_kernel *row = quern_adam_kernels; *row->name; row++) {
        if (row->target.kind != test_kind()) other = row;
        else if (!strcmp(row->target.name, row->target.kind == QUERN_CUDA ? "sm_75" : "avx2")) oldest = row;
    }
    if (other) add_kernel(other);
    add_row("collective_none", ZEROS);
    write_rows();
    if (test_kind() == QUERN_CPU) setenv("QUERN_TEST_CPU", "portable", 1);
    OPEN_ON(device, test_kind(), 0);
    check_ok(quern_prepare(device, QUERN_ADAM | QUERN_CROSS_ENTROPY));
    if (!oldest) cr_skip_test("this build has one target");
    char why[300];
    snprintf(why, sizeof why, "line 3: %s %s", oldest->name,
             test_kind() == QUERN_CPU ? "this processor or its operating system lacks " : "needs compute capability 7.5 to 7.9");
    add_kernel(oldest);
    refuse(QUERN_ADAM, QUERN_NO_KERNEL, why);
}

/* ---- bits ---- */

static const struct quern_kernel *first_row(const struct quern_kernel *table, bool (*is_wanted)(const struct quern_kernel *row)) {
    for (; *table->name; table++)
        if (table->target.kind == test_kind() && is_wanted(table)) return table;
    return NULL;
}

static bool is_norm(const struct quern_kernel *row) { return row->key.adam.task == QUERN_GRADIENT_NORM; }
static bool is_divided_by_columns(const struct quern_kernel *row) { return row->cuda.elements > 0; }
static bool is_any(const struct quern_kernel *row) { return *row->name; }

/* A row whose bits no other one promises is refused when its operation is prepared, and by no other. */
TEST_FILE(preferred, rows_with_bits_of_their_own) {
    const struct {
        unsigned operation;
        const struct quern_kernel *row;
    } cases[] = {{QUERN_ADAM, first_row(quern_adam_kernels, is_norm)},
                 {QUERN_COLLECTIVE, first_row(quern_collective_kernels, is_any)},
                 {QUERN_CROSS_ENTROPY, first_row(quern_cross_entropy_kernels, is_divided_by_columns)}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char why[300];
        if (!cases[i].row) continue;  /* a CPU divides no row by columns */
        snprintf(why, sizeof why, "line 3: %s has bits of its own: expected a row with the bits of others, in /tmp",
                 cases[i].row->name);
        add_kernel(cases[i].row);
        refuse(cases[i].operation, QUERN_NOT_SUPPORTED, why);
        OPEN_ON(device, test_kind(), 0);
        check_ok(quern_prepare(device, cases[i].operation == QUERN_ADAM ? QUERN_QUANTIZE : QUERN_ADAM));
    }
}

/* The kernel that serves a row of 10 logits. */
static const struct quern_kernel *select_plain(quern_device *device) {
    struct quern_cross_entropy_call call = {.device = device, .args = {.logits_dtype = QUERN_F32, .rows = 1, .vocab = 10}};
    const struct quern_ready_kernel *chosen;
    check_ok(quern_prepare(device, QUERN_CROSS_ENTROPY));
    check_ok(quern_cross_entropy_select(&call, QUERN_STAGE_ROWS, &chosen));
    return chosen->kernel;
}

static bool is_last_row(const struct quern_kernel *row) {
    return row->key.cross_entropy.stage == QUERN_STAGE_ROWS && row->key.cross_entropy.full && row->target.kind == test_kind() &&
           row->key.cross_entropy.logits == QUERN_F32 && row->key.cross_entropy.vocab_max == INT64_MAX &&
           !strcmp(row->target.name, test_target());
}

/* On a GPU the full kernel of long rows divides them by parts, and the plain kernel of short rows by columns. */
TEST_FILE(preferred, a_row_with_other_bits_stays_behind) {
    const struct quern_kernel *row = first_row(quern_cross_entropy_kernels, is_last_row), *before;
    check(row, "no full row");
    {
        write_rows();
        OPEN_ON(device, test_kind(), 0);
        before = select_plain(device);
    }
    write_kernel(row);
    OPEN_ON(device, test_kind(), 0);
    const struct quern_kernel *now = select_plain(device);
    check(now == (test_kind() == QUERN_CPU ? row : before), "%s serves: before it was %s", now->name, before->name);
    struct cross_entropy_case plain = CROSS_ENTROPY_CASE(.logits_dtype = QUERN_F32, .rows = 1, .vocab = 10);
    const quern_cross_entropy_args args = cross_entropy_args_of(&plain);
    char text[1 << 14], expected[200];
    snprintf(expected, sizeof expected, "%s: chosen\n", now->name);
    quern_cross_entropy_explain(device, &args, text, sizeof text);
    check(strstr(text, expected) && !strstr(text, "QUERN_PREFER") == (now == before), "expected %s in %s", expected, text);
}

static bool is_portable(const struct quern_kernel *row) {
    return row->key.cross_entropy.stage == QUERN_STAGE_ROWS && !strcmp(row->target.name, "portable");
}

TEST_FILE(preferred, a_row_that_would_change_bits_is_refused) {
    const struct quern_kernel *row = first_row(quern_cross_entropy_kernels, is_portable);
    if (!row || !strcmp(test_target(), "portable")) cr_skip_test("there is no better target");
    char why[300];
    snprintf(why, sizeof why, "line 3: %s would change the bits of cross_entropy_%s__", row->name,
             quern_dtype_name(row->key.cross_entropy.logits));
    add_kernel(row);
    refuse(QUERN_CROSS_ENTROPY, QUERN_NOT_SUPPORTED, why);
}

/* Which rows are interchangeable, over all pairs of an operation. */
static void check_pairs(const struct quern_kernel *table,
                        bool (*expected)(const struct quern_kernel *one, const struct quern_kernel *other)) {
    for (const struct quern_kernel *one = table; *one->name; one++)
        for (const struct quern_kernel *other = table; *other->name; other++)
            check(quern_same_bits(one, other) == expected(one, other), "%s and %s", one->name, other->name);
}

static bool same_key(const struct quern_kernel *one, const struct quern_kernel *other) {
    return one->key.any.task == other->key.any.task &&
           !memcmp(one->key.any.dtypes, other->key.any.dtypes, sizeof one->key.any.dtypes);
}

static bool same_steps(const struct quern_kernel *one, const struct quern_kernel *other) {
    const bool is_sum = is_norm(one) || one->key.adam.task == QUERN_GRADIENT_NORM_COMBINE;
    return same_key(one, other) && !is_sum;
}

static bool same_rows(const struct quern_kernel *one, const struct quern_kernel *other) {
    if (!same_key(one, other)) return false;
    const enum quern_cross_entropy_stage stage = one->key.cross_entropy.stage;
    if (stage == QUERN_STAGE_PORTABLE || stage == QUERN_STAGE_PORTABLE_COMBINE) return true;
    return !is_divided_by_columns(one) && !is_divided_by_columns(other) && !strcmp(one->target.name, other->target.name);
}

static bool never(const struct quern_kernel *one, const struct quern_kernel *other) {
    (void)one, (void)other;
    return false;
}

Test(preferred, rows_with_the_same_bits) {
    check_pairs(quern_adam_kernels, same_steps);
    check_pairs(quern_cross_entropy_kernels, same_rows);
    check_pairs(quern_quantize_kernels, same_key);
    check_pairs(quern_collective_kernels, never);
    check_pairs(quern_ragged_all_to_all_kernels, never);
    check_pairs(quern_barrier_kernels, never);
}

/* The digest of a GPU's row is that of its packed images, of a CPU's that of the build. */
Test(preferred, digests_are_of_images_and_builds) {
    char text[QUERN_DIGEST_TEXT], expected[QUERN_DIGEST_TEXT];
    for (const struct quern_kernel *row = quern_quantize_kernels; *row->name; row++) {
        const bool is_gpu = row->target.kind == QUERN_CUDA;
        const void *data = is_gpu ? (const void *)row->cuda.image->packed : quern_build_info();
        const size_t bytes = is_gpu ? (size_t)(row->cuda.image->packed_end - row->cuda.image->packed) : strlen(quern_build_info());
        struct quern_sha256 hash;
        unsigned char digest[QUERN_DIGEST_BYTES];
        quern_sha256_begin(&hash);
        quern_sha256_add(&hash, data, bytes);
        quern_sha256_end(&hash, digest);
        for (int i = 0; i < QUERN_DIGEST_BYTES; i++) sprintf(expected + 2 * i, "%02x", digest[i]);
        quern_row_digest(row, text);
        check(!strcmp(text, expected), "%s has the digest %s: expected %s", row->name, text, expected);
    }
}
