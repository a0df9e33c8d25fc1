/* UCX as a carrier.  Called by src/ranks/hosts/choice.c, and by messages.c through the carrier. */
#define _GNU_SOURCE
#include "ranks/hosts/hosts.h"
#include "ranks/hosts/ucx.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "os/clock.h"
#include "os/text.h"
#include "ranks/meeting.h"
#include "ranks/poison.h"
#include "runtime/status.h"

enum { ADDRESS = 4096, LONGEST = 1 << 30, RANK_BITS = 16 };
static const uint64_t TAGS = (uint64_t)1 << 40;

struct functions {
#define FIELD(result, field, symbol, parameters) result(*field) parameters;
    QUERN_UCX_FUNCTIONS(FIELD)
#undef FIELD
};

struct quern_ucx {
    const struct functions *call;
    ucp_context_h context;
    ucp_worker_h worker;
    int rank, ranks;
    ucp_ep_h ep[];               /* [ranks]; NULL: of this host */
};

/* ---- the library ---- */

static struct {
    pthread_once_t once;
    struct functions functions;
    quern_status status;
    char reason[400];
} library = {.once = PTHREAD_ONCE_INIT, .status = QUERN_NOT_SUPPORTED};

/*
 * As soon as it is loaded UCX changes mmap in the C library and takes signals, and later it prints and starts a thread, unless the
 * environment forbids it.  A library does not set its process's environment: other threads may read it.
 */
static const struct {
    const char *name, *value;
} settings[] = {{"UCX_MEM_EVENTS", "n"}, {"UCX_HANDLE_ERRORS", "none"}, {"UCX_DEBUG_SIGNO", "0"}, {"UCX_VFS_ENABLE", "n"},
                {"UCX_LOG_LEVEL", "fatal"}};

static const struct {
    size_t offset;
    const char *symbol;
} symbols[] = {
#define SYMBOL(result, field, symbol, parameters) {offsetof(struct functions, field), #symbol},
    QUERN_UCX_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

static bool has_settings(struct quern_text *why) {
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const char *value = getenv(settings[i].name);
        if (value && strcmp(value, settings[i].value) == 0) continue;
        quern_text_add(why, "%s is %s%s%s: UCX is not loaded into a process without %s=%s, "
                       "because UCX would otherwise hook mmap, install signal handlers and print",
                       settings[i].name, value ? "\"" : "", value ? value : "not set", value ? "\"" : "", settings[i].name,
                       settings[i].value);
        return false;
    }
    return true;
}

static bool find_symbols(void *file, const char *name, struct quern_text *why) {
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *address = dlsym(file, symbols[i].symbol);
        if (!address) {
            quern_text_add(why, "%s has no function %s: expected UCX 1.12 or newer", name, symbols[i].symbol);
            return false;
        }
        memcpy((char *)&library.functions + symbols[i].offset, &address, sizeof address);
    }
    return true;
}

/* A process that has it already has its settings too. */
static void open_library(void) {
    const char *named = getenv("QUERN_UCX"), *name = named && *named ? named : "libucp.so.0";
    struct quern_text why = quern_text_begin(library.reason, sizeof library.reason);
    void *file = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (!file && !has_settings(&why)) return;
    if (!file) file = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!file) {
        const char *error = dlerror();
        quern_text_add(&why, "no UCX at %s: install libucx0, or name its file in QUERN_UCX (%s)", name, error ? error : "");
        return;
    }
    if (find_symbols(file, name, &why)) library.status = QUERN_OK;
}

/* ---- a rank's part ---- */

static quern_status fail(const struct quern_membership *member, const struct functions *call, const char *what,
                         ucs_status_t status) {
    const char *text = call->text(status);
    return quern_fail(member->device, QUERN_NOT_SUPPORTED, "%s: %s", what, text ? text : "unknown error");
}

static quern_status make_worker(const struct quern_membership *member, struct quern_ucx *ucx) {
    enum { MAJOR = 1, MINOR = 12 };
    ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS, .features = UCP_FEATURE_TAG,
                           .estimated_num_eps = (size_t)member->ranks};
    ucp_worker_params_t worker = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE, 
                                  .thread_mode = member->progress ? UCS_THREAD_MODE_MULTI : UCS_THREAD_MODE_SERIALIZED};
    ucp_config_t *config;
    ucs_status_t status = ucx->call->config_read(NULL, NULL, &config);
    if (status != UCS_OK) return fail(member, ucx->call, "ucp_config_read", status);
    status = ucx->call->init(MAJOR, MINOR, &params, config, &ucx->context);
    ucx->call->config_release(config);
    if (status != UCS_OK) return fail(member, ucx->call, "ucp_init_version", status);
    status = ucx->call->worker_create(ucx->context, &worker, &ucx->worker);
    if (status != UCS_OK) return fail(member, ucx->call, "ucp_worker_create", status);
    ucp_worker_attr_t granted = {.field_mask = UCP_WORKER_ATTR_FIELD_THREAD_MODE};
    status = ucx->call->worker_query(ucx->worker, &granted);
    if (status != UCS_OK) return fail(member, ucx->call, "ucp_worker_query", status);
    if (granted.thread_mode >= worker.thread_mode) return QUERN_OK;
    return quern_fail(member->device, QUERN_NOT_SUPPORTED, "one thread at a time may be inside of this UCX, and progress is 1");
}

quern_status quern_ucx_open(struct quern_membership *member, struct quern_ucx **made) {
    pthread_once(&library.once, open_library);
    if (library.status != QUERN_OK) return quern_fail(member->device, library.status, "%s", library.reason);
    struct quern_ucx *ucx = calloc(1, sizeof *ucx + (size_t)member->ranks * sizeof *ucx->ep);
    if (!ucx) return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for UCX");
    ucx->call = &library.functions;
    ucx->rank = member->rank;
    ucx->ranks = member->ranks;
    quern_status status = make_worker(member, ucx);
    if (status == QUERN_OK) *made = ucx;
    else quern_ucx_close(ucx, false);
    return status;
}

/* ---- connections ---- */

struct address {
    uint64_t bytes;              /* more than there is room for: it does not fit */
    unsigned char address[ADDRESS];
};

static quern_status read_address(const struct quern_membership *member, const struct quern_ucx *ucx, struct address *address) {
    ucp_worker_attr_t attributes = {.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS};
    const ucs_status_t status = ucx->call->worker_query(ucx->worker, &attributes);
    if (status != UCS_OK) return fail(member, ucx->call, "ucp_worker_query", status);
    address->bytes = attributes.address_length;
    if (address->bytes <= ADDRESS) memcpy(address->address, attributes.address, attributes.address_length);
    ucx->call->release_address(ucx->worker, attributes.address);
    return QUERN_OK;
}

/* The requests to a rank that has died fail too, and its end is said by the monitor. */
static void ignore_error(void *user, ucp_ep_h ep, ucs_status_t status) { (void)user, (void)ep, (void)status; }

static quern_status connect_rank(const struct quern_membership *member, struct quern_ucx *ucx, int rank,
                                 const struct address *address) {
    const ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address = (const ucp_address_t *)address->address, .err_mode = UCP_ERR_HANDLING_MODE_PEER,
        .err_handler = {ignore_error, NULL}};
    if (address->bytes == 0 || address->bytes > ADDRESS)
        return quern_fail(member->device, QUERN_NOT_SUPPORTED, "the address of rank %d in UCX has %llu bytes: expected 1 to %d",
                          rank, (unsigned long long)address->bytes, ADDRESS);
    const ucs_status_t status = ucx->call->ep_create(ucx->worker, &params, &ucx->ep[rank]);
    if (status == UCS_OK) return QUERN_OK;
    const char *text = ucx->call->text(status);
    return quern_fail(member->device, QUERN_NOT_SUPPORTED, "ucp_ep_create for rank %d: %s: expected a running device of "
                      "UCX_NET_DEVICES on each host, and a route", rank, text ? text : "unknown error");
}

quern_status quern_ucx_connect(struct quern_membership *member, struct quern_ucx *ucx) {
    struct address *all = calloc((size_t)member->ranks + 1, sizeof *all), *mine = all + member->ranks;
    if (!all) return quern_poison(member, QUERN_OUT_OF_MEMORY, "rank %d has no memory for the addresses of UCX", member->rank);
    quern_status status = read_address(member, ucx, mine), met;
    const void *payload = mine;
    met = quern_exchange(&member, 1, QUERN_IN_CREATE, &payload, sizeof *mine, all);
    if (met != QUERN_OK) status = met;
    for (int rank = 0; rank < member->ranks && status == QUERN_OK; rank++)
        if (member->roster->peer[rank].is_elsewhere) status = connect_rank(member, ucx, rank, &all[rank]);
    free(all);
    return status;
}

static bool is_error(const void *request) { return (uintptr_t)request >= (uintptr_t)(intptr_t)UCS_ERR_LAST; }

void quern_ucx_close(void *user, bool has_failed) {
    static const int64_t LIMIT = 1000000000;  /* nanoseconds, for what is still to be sent */
    struct quern_ucx *ucx = user;
    const int64_t end = quern_now() + LIMIT;
    const ucp_request_param_t plain = {.op_attr_mask = 0};
    bool closed = !has_failed;
    for (int rank = 0; rank < ucx->ranks && closed; rank++) {
        void *request = ucx->ep[rank] ? ucx->call->ep_close(ucx->ep[rank], &plain) : NULL;
        if (!request || is_error(request)) continue;
        while (ucx->call->check(request) == UCS_INPROGRESS && quern_now() < end) ucx->call->progress(ucx->worker);
        closed = ucx->call->check(request) != UCS_INPROGRESS;
        if (closed) ucx->call->free_request(request);
    }
    if (!closed) return;
    if (ucx->worker) ucx->call->worker_destroy(ucx->worker);
    if (ucx->context) ucx->call->cleanup(ucx->context);
    free(ucx);
}

/* ---- the carrier ---- */

static uint64_t tag_of(int sender, uint64_t tag) { return tag << RANK_BITS | (uint64_t)sender; }

/* A receive has the lowest bit, which no pointer has.  Without immediate ends there is always a request. */
static const ucp_request_param_t later = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FLAG_NO_IMM_CMPL};

static int begun(void *pointer, uint64_t receives, uint64_t *request) {
    if (is_error(pointer)) return (int)(intptr_t)pointer;
    *request = (uint64_t)(uintptr_t)pointer | receives;
    return 0;
}

static int send_message(void *user, int rank, const void *data, size_t bytes, uint64_t tag, uint64_t *request) {
    const struct quern_ucx *ucx = user;
    return begun(ucx->call->send(ucx->ep[rank], data, bytes, tag_of(ucx->rank, tag), &later), 0, request);
}

static int receive_message(void *user, int rank, void *data, size_t bytes, uint64_t tag, uint64_t *request) {
    const struct quern_ucx *ucx = user;
    return begun(ucx->call->receive(ucx->worker, data, bytes, tag_of(rank, tag), UINT64_MAX, &later), 1, request);
}

static int test_message(void *user, uint64_t request, size_t *bytes) {
    const struct quern_ucx *ucx = user;
    void *pointer = (void *)(uintptr_t)(request & ~(uint64_t)1);
    ucp_tag_recv_info_t info = {.length = 0};
    ucx->call->progress(ucx->worker);
    const ucs_status_t status = request & 1 ? ucx->call->check_receive(pointer, &info) : ucx->call->check(pointer);
    if (status == UCS_INPROGRESS) return 0;
    ucx->call->free_request(pointer);
    *bytes = info.length;
    return status == UCS_OK ? 1 : status;
}

static void cancel_message(void *user, uint64_t request) {
    const struct quern_ucx *ucx = user;
    ucx->call->cancel(ucx->worker, (void *)(uintptr_t)(request & ~(uint64_t)1));
}

quern_carrier quern_ucx_carrier(struct quern_ucx *ucx) {
    quern_carrier carrier = QUERN_CARRIER_INIT;
    carrier.threads = 1;
    carrier.name = "ucx";
    carrier.user = ucx;
    carrier.tags = TAGS;
    carrier.longest = LONGEST;
    carrier.send = send_message;
    carrier.receive = receive_message;
    carrier.test = test_message;
    carrier.cancel = cancel_message;
    return carrier;
}
