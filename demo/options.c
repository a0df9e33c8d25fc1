/* Reads and checks the command line with argp.  Called by main.c. */
#define _GNU_SOURCE

#include "options.h"

#include <argp.h>
#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "router.h"

enum { HEAD_WIDTH = 32, USAGE_STATUS = 2 };

enum { STEPS = 's', SEED = 'r', DEVICE = 'd', CORPUS = 'c', THREADS = 't', NO_COMPARISON = 'n', BETA2 = 'b', MOMENTS = 'm',
       CURVE = 'l',
       BATCH = 256, CONTEXT, LAYERS, VOCAB, WIDTH, EXPERTS, RANKS, PROCESSES, TIMEOUT, PIPELINE, TENSOR_PARALLEL, HOSTS, HOST, MEET,
       SECRET, RANK, GROUP, TRACE, DUMP };

static const struct argp_option OPTIONS[] = {
    {"steps", STEPS, "N", 0, "Training steps (1000; on ranks 400)", 0},
    {"seed", SEED, "N", 0, "Seed of weights, batches and rounding (1)", 0},
    {"device", DEVICE, "cpu|cuda:N|auto", 0, "Where loss and optimizer run (auto: the first GPU, else the CPU)", 0},
    {"corpus", CORPUS, "FILE", 0, "Text to learn (documents of this repository)", 0},
    {"threads", THREADS, "N", 0, "Threads on the CPU, of all ranks (one per core)", 0},
    {"no-comparison", NO_COMPARISON, NULL, 0, "Leave out the second run: with plain fp32 loops, or on one rank", 0},
    {"beta2", BETA2, "X", 0, "Adam's beta2, from 0 to 1 (0.99)", 0},
    {"moments", MOMENTS, "bf16|nearest|f32", 0, "Quern's m and v: bf16, bf16 with v rounded to nearest, or fp32 (bf16)", 0},
    {"curve", CURVE, "FILE", 0, "Write the loss of each step of the first run", 0},
    {"trace", TRACE, "FILE", 0, "Write what the first run does and when, for Perfetto; with --processes each rank N above 0 to "
                                "FILE.N", 0},
    {"dump", DUMP, "STEP:FOLDER", 0, "Write the tensors of all operations of a step of the first run, each rank N above 0 to "
                                     "FOLDER.N; python3 -m quern_dump compares them", 0},
    {NULL, 0, NULL, 0, "The model:", 0},
    {"batch", BATCH, "N", 0, "Sequences per step, of all ranks (8, or one per rank)", 0},
    {"context", CONTEXT, "N", 0, "Tokens per sequence (64)", 0},
    {"layers", LAYERS, "N", 0, "Transformer blocks (2, or one per rank of a pipeline)", 0},
    {"vocab", VOCAB, "N", 0, "Tokens of the vocabulary (8192)", 0},
    {"width", WIDTH, "N", 0, "Width of the hidden state, a multiple of 32 (128)", 0},
    {"experts", EXPERTS, "N", 0, "A mixture of N experts per block in place of its MLP, two of them per token (with --ranks 8)", 0},
    {NULL, 0, NULL, 0, "Several ranks, which share out tokens and experts, layers or MLPs:", 0},
    {"ranks", RANKS, "N", 0, "Train on N ranks, then on one, and compare (up to 128)", 0},
    {"processes", PROCESSES, NULL, 0, "Each rank is a process; otherwise a thread", 0},
    {"timeout", TIMEOUT, "SECONDS", 0, "How long a rank waits for another one (20)", 0},
    {"pipeline", PIPELINE, NULL, 0, "Each rank has some of the layers, without experts, and hands its results on; the second run "
                                    "has all of them on one rank", 0},
    {"tensor-parallel", TENSOR_PARALLEL, "N", 0, "Each of N ranks has a part of every MLP, without experts, and rows go between "
                                                 "ranks in 8 bits; the second run has the whole on one rank and no 8 bits", 0},
    {"hosts", HOSTS, "N", 0, "The ranks are processes on N hosts, and the second run is on one.  Without --host all of them are on "
                             "this machine, without common memory", 0},
    {"host", HOST, "N", 0, "This is host N, from 0; start the others likewise.  It needs --meet and --secret", 0},
    {"meet", MEET, "ADDRESS:PORT", 0, "Where the hosts meet: an address of host 0", 0},
    {"secret", SECRET, "FILE", 0, "16 bytes or more, the same on all hosts", 0},
    {"rank", RANK, "N", OPTION_HIDDEN, "This process is one of the ranks", 0},
    {"group", GROUP, "NAME", OPTION_HIDDEN, "Where the ranks meet", 0},
    {0},
};

/* The numeric options: the destination and the range of each. */
static const struct number {
    int key;
    const char *name;
    size_t offset;
    int64_t least, most, multiple;
} NUMBERS[] = {
    {STEPS, "--steps", offsetof(struct options, steps), 1, 1000000, 1},
    {SEED, "--seed", offsetof(struct options, seed), 0, INT64_MAX, 1},
    {THREADS, "--threads", offsetof(struct options, threads), 1, 1024, 1},
    {BATCH, "--batch", offsetof(struct options, batch), 1, 4096, 1},
    {CONTEXT, "--context", offsetof(struct options, context), 8, 4096, 1},
    {LAYERS, "--layers", offsetof(struct options, layers), 1, 64, 1},
    {VOCAB, "--vocab", offsetof(struct options, vocab), 257, 65535, 1},
    {WIDTH, "--width", offsetof(struct options, width), HEAD_WIDTH, 4096, HEAD_WIDTH},
    {EXPERTS, "--experts", offsetof(struct options, experts), CHOICES, 1024, 1},
    {RANKS, "--ranks", offsetof(struct options, ranks), 1, QUERN_MAX_RANKS, 1},
    {TENSOR_PARALLEL, "--tensor-parallel", offsetof(struct options, tensor_parallel), 2, QUERN_MAX_RANKS, 1},
    {TIMEOUT, "--timeout", offsetof(struct options, timeout), 1, 86400, 1},
    {HOSTS, "--hosts", offsetof(struct options, hosts), 1, QUERN_MAX_RANKS, 1},
    {HOST, "--host", offsetof(struct options, host), 0, QUERN_MAX_RANKS - 1, 1},
    {RANK, "--rank", offsetof(struct options, rank), 0, QUERN_MAX_RANKS - 1, 1},
};

static bool read_number(const char *text, int64_t *value) {
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0';
}

static void set_number(struct argp_state *state, const struct number *number, const char *text) {
    int64_t *value = (int64_t *)((char *)state->input + number->offset);
    if (read_number(text, value) && *value >= number->least && *value <= number->most && *value % number->multiple == 0)
        return;
    if (number->multiple > 1)
        argp_error(state, "%s is '%s'; it is a multiple of %lld from %lld to %lld", number->name, text,
                   (long long)number->multiple, (long long)number->least, (long long)number->most);
    else
        argp_error(state, "%s is '%s'; it is a number from %lld to %lld", number->name, text, (long long)number->least,
                   (long long)number->most);
}

static void set_device(struct argp_state *state, const char *text) {
    struct device_choice *device = &((struct options *)state->input)->device;
    int64_t ordinal = 0;
    bool is_cuda = strncmp(text, "cuda", 4) == 0;
    if (is_cuda && text[4] != '\0' && (text[4] != ':' || !read_number(text + 5, &ordinal) || ordinal < 0 || ordinal > 1023))
        is_cuda = false;
    if (!is_cuda && strcmp(text, "cpu") != 0 && strcmp(text, "auto") != 0)
        argp_error(state, "--device is '%s'; it is cpu, cuda:N or auto", text);
    *device = (struct device_choice){.is_auto = strcmp(text, "auto") == 0, .is_cuda = is_cuda, .ordinal = (int)ordinal};
}

static void set_beta2(struct argp_state *state, const char *text) {
    double *beta2 = &((struct options *)state->input)->optimizer.beta2;
    char *end;
    *beta2 = strtod(text, &end);
    if (end == text || *end != '\0' || !(*beta2 >= 0 && *beta2 < 1))
        argp_error(state, "--beta2 is '%s'; it is a number from 0 to below 1", text);
}

static void set_moments(struct argp_state *state, const char *text) {
    static const struct {
        const char *name;
        quern_dtype moments;
        quern_rounding v_rounding;
    } choices[] = {{"bf16", QUERN_BF16, QUERN_ROUND_DEFAULT}, {"nearest", QUERN_BF16, QUERN_ROUND_NEAREST},
                   {"f32", QUERN_F32, QUERN_ROUND_DEFAULT}};
    struct optimizer *optimizer = &((struct options *)state->input)->optimizer;
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        if (strcmp(text, choices[i].name) != 0) continue;
        optimizer->moments = choices[i].moments;
        optimizer->v_rounding = choices[i].v_rounding;
        return;
    }
    argp_error(state, "--moments is '%s'; it is bf16, nearest or f32", text);
}

static void set_corpus(struct argp_state *state, const char *path) {
    ((struct options *)state->input)->corpus = path;
    if (access(path, R_OK) != 0) argp_error(state, "--corpus is '%s': %s", path, strerror(errno));
}

static void set_dump(struct argp_state *state, char *text) {
    struct look *look = &((struct options *)state->input)->look;
    char *colon = strchr(text, ':');
    if (colon != NULL) *colon = '\0';
    if (colon == NULL || colon[1] == '\0' || !read_number(text, &look->dump_step) || look->dump_step < 1)
        argp_error(state, "--dump is '%s'; it is a step from 1 on, a colon and a folder", text);
    if (colon != NULL) *colon = ':', look->dump = colon + 1;
}

static int64_t usable_cores(void) {
    cpu_set_t cores;
    return sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

static void set_default(int64_t *value, int64_t fallback) {
    if (*value == 0) *value = fallback;
}

static void complete_hosts(struct argp_state *state, struct options *options) {
    if (options->ranks == 0) argp_error(state, "--hosts needs --ranks of at least as much: a rank per host");
    if (options->hosts > options->ranks)
        argp_error(state, "--hosts is %lld; with --ranks %lld it is at most as much: a rank per host", (long long)options->hosts,
                   (long long)options->ranks);
    if (options->host >= options->hosts)
        argp_error(state, "--host is %lld; with --hosts %lld it is less", (long long)options->host, (long long)options->hosts);
    if (options->host >= 0 && (options->meet == NULL || options->secret == NULL))
        argp_error(state, "--host needs --meet and --secret");
    if (options->device.is_cuda) argp_error(state, "--hosts needs --device cpu");
    options->device.is_auto = false;
    options->processes = true;
}

static void complete_pipeline(struct argp_state *state, struct options *options) {
    set_default(&options->layers, options->ranks > 2 ? options->ranks : 2);
    if (options->ranks < 2) argp_error(state, "--pipeline needs --ranks of 2 or more");
    if (options->layers < options->ranks)
        argp_error(state, "--layers is %lld; in a pipeline of %lld ranks it is at least as much: a layer per rank",
                   (long long)options->layers, (long long)options->ranks);
    if (options->experts > 0) argp_error(state, "--pipeline has no --experts");
    if (options->device.is_cuda) argp_error(state, "--pipeline needs --device cpu");
    options->device.is_auto = false;
}

/* Each rank has as many rows as the others, and as many hidden values of an MLP. */
static void complete_tensor_parallel(struct argp_state *state, struct options *options) {
    const int64_t parts = options->tensor_parallel, hidden = 4 * options->width;
    if (options->pipeline) argp_error(state, "--tensor-parallel has no --pipeline");
    if (options->experts > 0) argp_error(state, "--tensor-parallel has no --experts");
    if (options->hosts > 1) argp_error(state, "--tensor-parallel has no --hosts");
    if (options->ranks != 0 && options->ranks != parts)
        argp_error(state, "--ranks is %lld; with --tensor-parallel %lld it is %lld", (long long)options->ranks, (long long)parts,
                   (long long)parts);
    options->ranks = parts;
    set_default(&options->batch, (8 + parts - 1) / parts * parts);
    if (options->batch % parts != 0)
        argp_error(state, "--batch is %lld; with --tensor-parallel %lld it is a multiple of %lld", (long long)options->batch,
                   (long long)parts, (long long)parts);
    if (hidden % parts != 0)
        argp_error(state, "--tensor-parallel is %lld; it is a divisor of 4 times --width: of %lld", (long long)parts,
                   (long long)hidden);
}

/* Checks that involve several options. */
static void complete(struct argp_state *state, struct options *options) {
    if (options->tensor_parallel > 0) complete_tensor_parallel(state, options);
    bool has_ranks = options->ranks > 0;
    set_default(&options->threads, usable_cores());
    set_default(&options->steps, has_ranks ? 400 : 1000);
    set_default(&options->batch, options->ranks > 8 ? options->ranks : 8);
    if (options->pipeline) complete_pipeline(state, options);
    set_default(&options->layers, 2);
    set_default(&options->experts, has_ranks && !options->pipeline && options->tensor_parallel == 0 ? 8 : 0);
    if (options->processes && !has_ranks) argp_error(state, "--processes needs --ranks");
    if (options->hosts > 1) complete_hosts(state, options);
    else if (options->host >= 0 || options->meet != NULL || options->secret != NULL)
        argp_error(state, "--host, --meet and --secret need --hosts");
    if (options->batch < options->ranks)
        argp_error(state, "--batch is %lld; with --ranks %lld it is at least as much: a sequence per rank",
                   (long long)options->batch, (long long)options->ranks);
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct options *options = state->input;
    for (size_t i = 0; i < sizeof NUMBERS / sizeof *NUMBERS; i++) {
        if (NUMBERS[i].key == key) {
            set_number(state, &NUMBERS[i], argument);
            return 0;
        }
    }
    if (key == DEVICE) set_device(state, argument);
    else if (key == CORPUS) set_corpus(state, argument);
    else if (key == CURVE) options->curve = argument;
    else if (key == BETA2) set_beta2(state, argument);
    else if (key == MOMENTS) set_moments(state, argument);
    else if (key == NO_COMPARISON) options->comparison = false;
    else if (key == PROCESSES) options->processes = true;
    else if (key == GROUP) options->group = argument;
    else if (key == TRACE) options->look.trace = argument;
    else if (key == DUMP) set_dump(state, argument);
    else if (key == PIPELINE) options->pipeline = true;
    else if (key == MEET) options->meet = argument;
    else if (key == SECRET) options->secret = argument;
    else if (key == ARGP_KEY_END) complete(state, options);
    else if (key == ARGP_KEY_ARG) argp_error(state, "unexpected argument '%s'", argument);
    else return ARGP_ERR_UNKNOWN;
    return 0;
}

struct options options_parse(int argc, char **argv) {
    static const struct argp PARSER = {
        .options = OPTIONS,
        .parser = parse,
        .doc = "Trains a small language model on real text, with Quern's cross-entropy and Adam in bf16, and then once more "
               "with plain C loops in fp32.  With --ranks the blocks are mixtures of experts: each rank has its share of the "
               "experts and of every step's sequences, Quern's ragged all-to-all carries tokens to their experts and back, and its "
               "all-reduce sums the gradients of all other parameters; the second run is the same on one rank.  With --hosts the "
               "ranks are processes on several hosts, and the second run has them on one.  With --tensor-parallel each rank has a "
               "part of every MLP, and the rows come to it in 8 bits.\v"
               "With --device cuda the loss, the optimizer and the collectives run on the GPU, and the matrix products, those of "
               "the experts too, stay on the CPU: what they exchange is copied.  Ranks take the GPUs in turn.\n\n"
               "Exit status: 0 when both runs reach the same loss (within 2 %, on ranks 1 %, with --hosts the same bits), 1 "
               "when they do not or something failed, 2 for a wrong command line, 130 after Ctrl-C.",
    };
    struct options options = {
        .device = {.is_auto = true},
        .corpus = OWN_CORPUS,
        .optimizer = {.beta2 = 0.99, .moments = QUERN_BF16},
        .comparison = true,
        .seed = 1,
        .timeout = 20,
        .rank = -1,
        .hosts = 1,
        .host = -1,
        .context = 64,
        .vocab = 8192,
        .width = 128,
    };
    argp_err_exit_status = USAGE_STATUS;
    argp_parse(&PARSER, argc, argv, 0, NULL, &options);
    return options;
}
