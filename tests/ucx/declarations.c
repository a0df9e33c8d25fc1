/*
 * Writes the offsets and values that the library's declarations of UCX have, one a line.  Compiled twice by
 * tests/checks/foreign.py: with the library's own declarations, and with a real ucp/api/ucp.h (THEIRS), whose functions must then
 * have the types of the library's table.
 */
#include <stddef.h>
#include <stdio.h>

#ifdef THEIRS
#include <ucp/api/ucp.h>
#define QUERN_UCX_TYPES_H
#endif
#include "ranks/hosts/ucx.h"

#ifdef THEIRS
#define SAME(result, field, symbol, parameters) \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&symbol), result(*) parameters), #symbol);
QUERN_UCX_FUNCTIONS(SAME)
#endif

#define OFFSETS(X) \
    X(ucp_params_t, field_mask) X(ucp_params_t, features) X(ucp_params_t, estimated_num_eps) \
    X(ucp_worker_params_t, field_mask) X(ucp_worker_params_t, thread_mode) \
    X(ucp_worker_attr_t, field_mask) X(ucp_worker_attr_t, thread_mode) X(ucp_worker_attr_t, address) \
    X(ucp_worker_attr_t, address_length) \
    X(ucp_ep_params_t, field_mask) X(ucp_ep_params_t, address) X(ucp_ep_params_t, err_mode) X(ucp_ep_params_t, err_handler) \
    X(ucp_err_handler_t, cb) X(ucp_err_handler_t, arg) \
    X(ucp_request_param_t, op_attr_mask) X(ucp_request_param_t, flags) \
    X(ucp_tag_recv_info_t, sender_tag) X(ucp_tag_recv_info_t, length)

#define VALUES(X) \
    X(UCS_OK) X(UCS_INPROGRESS) X(UCS_ERR_LAST) X(UCS_THREAD_MODE_SERIALIZED) X(UCS_THREAD_MODE_MULTI) X(UCP_FEATURE_TAG) \
    X(UCP_PARAM_FIELD_FEATURES) X(UCP_WORKER_ATTR_FIELD_THREAD_MODE) \
    X(UCP_PARAM_FIELD_ESTIMATED_NUM_EPS) X(UCP_WORKER_PARAM_FIELD_THREAD_MODE) X(UCP_WORKER_ATTR_FIELD_ADDRESS) \
    X(UCP_ERR_HANDLING_MODE_PEER) X(UCP_EP_PARAM_FIELD_REMOTE_ADDRESS) X(UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE) \
    X(UCP_EP_PARAM_FIELD_ERR_HANDLER) X(UCP_OP_ATTR_FIELD_FLAGS) X(UCP_OP_ATTR_FLAG_NO_IMM_CMPL) X(sizeof(ucs_status_t)) \
    X(sizeof(ucp_err_handler_t)) X(sizeof(ucp_tag_recv_info_t))

/* Theirs may be shorter than ours: ours have room for later versions. */
#define ROOMY(X) X(ucp_params_t, 128) X(ucp_worker_params_t, 272) X(ucp_worker_attr_t, 160) X(ucp_ep_params_t, 168) \
    X(ucp_request_param_t, 136)

int main(void) {
#define OFFSET(type, field) printf(#type "." #field " %zu\n", offsetof(type, field));
    OFFSETS(OFFSET)
#define VALUE(value) printf(#value " %lld\n", (long long)(value));
    VALUES(VALUE)
#ifdef THEIRS
#define FITS(type, room) printf(#type " fits: %d\n", sizeof(type) <= (room));
#else
#define FITS(type, room) printf(#type " fits: %d\n", sizeof(type) >= (room));
#endif
    ROOMY(FITS)
    return 0;
}
