/*
 * UCX as a carrier of data between hosts: opened at run time, when the ways of a group ask for it.  It gets memory of the library
 * only, and after a failure nothing of it is called any more: its end of a process that has died is best left alone.
 */
#ifndef QUERN_UCX_H
#define QUERN_UCX_H

#include "ranks/membership.h"
#include "ranks/hosts/ucx_types.h"

/* The functions: result, name of the field, name of the symbol, parameters. */
#define QUERN_UCX_FUNCTIONS(X)                                                                                                    \
    X(void, version, ucp_get_version, (unsigned *major, unsigned *minor, unsigned *release))                                      \
    X(ucs_status_t, config_read, ucp_config_read, (const char *prefix, const char *file, ucp_config_t **config))                  \
    X(void, config_release, ucp_config_release, (ucp_config_t *config))                                                           \
    X(ucs_status_t, init, ucp_init_version,                                                                                       \
      (unsigned major, unsigned minor, const ucp_params_t *params, const ucp_config_t *config, ucp_context_h *context))            \
    X(void, cleanup, ucp_cleanup, (ucp_context_h context))                                                                        \
    X(ucs_status_t, worker_create, ucp_worker_create,                                                                             \
      (ucp_context_h context, const ucp_worker_params_t *params, ucp_worker_h *worker))                                           \
    X(void, worker_destroy, ucp_worker_destroy, (ucp_worker_h worker))                                                            \
    X(ucs_status_t, worker_query, ucp_worker_query, (ucp_worker_h worker, ucp_worker_attr_t *attributes))                         \
    X(void, release_address, ucp_worker_release_address, (ucp_worker_h worker, ucp_address_t *address))                           \
    X(unsigned, progress, ucp_worker_progress, (ucp_worker_h worker))                                                             \
    X(ucs_status_t, ep_create, ucp_ep_create, (ucp_worker_h worker, const ucp_ep_params_t *params, ucp_ep_h *ep))                 \
    X(void *, ep_close, ucp_ep_close_nbx, (ucp_ep_h ep, const ucp_request_param_t *param))                                        \
    X(void *, send, ucp_tag_send_nbx,                                                                                             \
      (ucp_ep_h ep, const void *buffer, size_t count, uint64_t tag, const ucp_request_param_t *param))                            \
    X(void *, receive, ucp_tag_recv_nbx,                                                                                          \
      (ucp_worker_h worker, void *buffer, size_t count, uint64_t tag, uint64_t mask, const ucp_request_param_t *param))           \
    X(ucs_status_t, check, ucp_request_check_status, (void *request))                                                             \
    X(ucs_status_t, check_receive, ucp_tag_recv_request_test, (void *request, ucp_tag_recv_info_t *info))                         \
    X(void, cancel, ucp_request_cancel, (ucp_worker_h worker, void *request))                                                     \
    X(void, free_request, ucp_request_free, (void *request))                                                                      \
    X(const char *, text, ucs_status_string, (ucs_status_t status))

struct quern_ucx;

/* Opens the library, and makes what this rank needs of it.  Errors: QUERN_NOT_SUPPORTED, QUERN_OUT_OF_MEMORY. */
quern_status quern_ucx_open(struct quern_membership *member, struct quern_ucx **ucx);

/* Collective, after all have opened it: exchanges the addresses, and makes a connection to each rank of another host. */
quern_status quern_ucx_connect(struct quern_membership *member, struct quern_ucx *ucx);

/* The carrier's functions, for messages.c. */
quern_carrier quern_ucx_carrier(struct quern_ucx *ucx);

/* Ends it, or, after a failure, leaves all to UCX. */
void quern_ucx_close(void *ucx, bool has_failed);

#endif
