/*
 * What the library declares of ucp/api/ucp.h, under UCX's names, so that building needs no header of UCX.  Structs are as in UCX
 * 1.12; later ones are longer, and UCX reads only the fields of which a mask tells.  The check "ucx" holds it against a real
 * header.
 */
#ifndef QUERN_UCX_TYPES_H
#define QUERN_UCX_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef signed char ucs_status_t;
enum { UCS_OK = 0, UCS_INPROGRESS = 1, UCS_ERR_LAST = -100 };
typedef enum { UCS_THREAD_MODE_SINGLE = 0, UCS_THREAD_MODE_SERIALIZED = 1, UCS_THREAD_MODE_MULTI = 2 } ucs_thread_mode_t;

typedef struct ucp_config ucp_config_t;
typedef struct ucp_context *ucp_context_h;
typedef struct ucp_worker *ucp_worker_h;
typedef struct ucp_ep *ucp_ep_h;
typedef struct ucp_address ucp_address_t;

enum { UCP_FEATURE_TAG = 1 << 0 };
enum { UCP_PARAM_FIELD_FEATURES = 1 << 0, UCP_PARAM_FIELD_ESTIMATED_NUM_EPS = 1 << 6 };
typedef struct {
    uint64_t field_mask, features;
    size_t request_size;
    void (*request_init)(void *request);
    void (*request_cleanup)(void *request);
    uint64_t tag_sender_mask;
    int mt_workers_shared;
    size_t estimated_num_eps;
    unsigned char later[64];
} ucp_params_t;

enum { UCP_WORKER_PARAM_FIELD_THREAD_MODE = 1 << 0 };
typedef struct {
    uint64_t field_mask;
    ucs_thread_mode_t thread_mode;
    unsigned char later[256];
} ucp_worker_params_t;

enum { UCP_WORKER_ATTR_FIELD_THREAD_MODE = 1 << 0, UCP_WORKER_ATTR_FIELD_ADDRESS = 1 << 1 };
typedef struct {
    uint64_t field_mask;
    ucs_thread_mode_t thread_mode;
    uint32_t address_flags;
    ucp_address_t *address;
    size_t address_length;
    unsigned char later[128];
} ucp_worker_attr_t;

typedef enum { UCP_ERR_HANDLING_MODE_NONE = 0, UCP_ERR_HANDLING_MODE_PEER = 1 } ucp_err_handling_mode_t;
typedef struct {
    void (*cb)(void *arg, ucp_ep_h ep, ucs_status_t status);
    void *arg;
} ucp_err_handler_t;
enum {
    UCP_EP_PARAM_FIELD_REMOTE_ADDRESS = 1 << 0,
    UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE = 1 << 1,
    UCP_EP_PARAM_FIELD_ERR_HANDLER = 1 << 2
};
typedef struct {
    uint64_t field_mask;
    const ucp_address_t *address;
    ucp_err_handling_mode_t err_mode;
    ucp_err_handler_t err_handler;
    unsigned char later[128];
} ucp_ep_params_t;

enum { UCP_OP_ATTR_FIELD_FLAGS = 1 << 4, UCP_OP_ATTR_FLAG_NO_IMM_CMPL = 1 << 16 };
typedef struct {
    uint32_t op_attr_mask, flags;
    unsigned char later[128];
} ucp_request_param_t;

typedef struct {
    uint64_t sender_tag;
    size_t length;
} ucp_tag_recv_info_t;

#endif
