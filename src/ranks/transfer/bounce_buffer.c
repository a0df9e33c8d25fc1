/* Memory through which data goes that another process does not reach, in three kinds.  Called by bounce_path.c. */
#define _GNU_SOURCE
#include "ranks/transfer/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/descriptor.h"
#include "os/file_size.h"
#include "ranks/descriptors.h"
#include "ranks/symmetric/symmetric.h"
#include "runtime/cuda_visit.h"
#include "runtime/idle.h"
#include "runtime/status.h"

struct quern_bounce_buffer {
    struct quern_idle_task task;          /* first: its end */
    const struct buffer_kind *kind;
    struct quern_local_gpus gpus;
    CUdeviceptr address;
    CUmemGenericAllocationHandle handle;  /* of the GPU's memory, in its owner's process */
    bool has_handle;
    struct quern_cuda_mapping mapping;
    int file;                             /* of the host's memory, in its owner's process; -1: none */
    void *pages;
    bool is_pinned;
};

/* On failure close_all frees what there is. */
struct buffer_kind {
    quern_status (*make)(const struct quern_membership *member, struct quern_bounce_buffer *buffer);
    quern_status (*export)(const struct quern_membership *member, const struct quern_bounce_buffer *buffer,
                           struct quern_bounce_ticket *ticket);
    quern_status (*open)(const struct quern_membership *member, struct quern_bounce_buffer *buffer,
                         struct quern_bounce_ticket *ticket);
};

/* ---- memory of the GPU ---- */

static quern_status map(const struct quern_membership *member, struct quern_bounce_buffer *buffer,
                        CUmemGenericAllocationHandle handle) {
    const quern_status status = quern_map_for_all(member, &buffer->gpus, handle, QUERN_BOUNCE_BUFFER_BYTES,
                                                  "the bounce buffer of transfers",
                                                  &buffer->mapping);
    buffer->address = buffer->mapping.address;
    return status;
}

static quern_status make_on_gpu(const struct quern_membership *member, struct quern_bounce_buffer *buffer) {
    const CUmemAllocationProp properties = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requested_handle_types = quern_cuda_handle_types(member),
        .location = {CU_MEM_LOCATION_TYPE_DEVICE, member->device->cuda_device},
    };
    CUresult error = buffer->gpus.cuda->vmm_create(&buffer->handle, QUERN_BOUNCE_BUFFER_BYTES, &properties, 0);
    if (error != CUDA_SUCCESS) return quern_cuda_fail(member->device, error, "cuMemCreate of the bounce buffer of transfers");
    buffer->has_handle = true;
    return map(member, buffer, buffer->handle);
}

static quern_status export_from_gpu(const struct quern_membership *member, const struct quern_bounce_buffer *buffer,
                                    struct quern_bounce_ticket *ticket) {
    return quern_export_handle(member, buffer->gpus.cuda, buffer->handle, &ticket->descriptor);
}

static quern_status open_on_gpu(const struct quern_membership *member, struct quern_bounce_buffer *buffer,
                                struct quern_bounce_ticket *ticket) {
    const CUresult error = buffer->gpus.cuda->vmm_import(&buffer->handle, (void *)(intptr_t)ticket->descriptor,
                                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    if (error != CUDA_SUCCESS)
        return quern_cuda_fail(member->device, error, "cuMemImportFromShareableHandle of the bounce buffer of transfers");
    buffer->has_handle = true;
    return map(member, buffer, buffer->handle);
}

/* ---- the same, for other hosts of one fabric ---- */

static quern_status export_to_fabric(const struct quern_membership *member, const struct quern_bounce_buffer *buffer,
                                     struct quern_bounce_ticket *ticket) {
    return quern_export_fabric(member, buffer->gpus.cuda, buffer->handle, &ticket->fabric);
}

static quern_status open_from_fabric(const struct quern_membership *member, struct quern_bounce_buffer *buffer,
                                     struct quern_bounce_ticket *ticket) {
    const quern_status status = quern_import_fabric(member, buffer->gpus.cuda, &ticket->fabric, &buffer->handle);
    if (status != QUERN_OK) return status;
    buffer->has_handle = true;
    return map(member, buffer, buffer->handle);
}

/* ---- pinned memory of the host ---- */

static CUresult pin(struct quern_bounce_buffer *buffer, CUcontext context) {
    struct quern_cuda_visit visit;
    CUresult error = quern_cuda_begin_visit(&visit, context);
    if (error == CUDA_SUCCESS)
        error = visit.cuda->host_register(buffer->pages, QUERN_BOUNCE_BUFFER_BYTES,
                                          CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    buffer->is_pinned = error == CUDA_SUCCESS;
    if (error == CUDA_SUCCESS) error = visit.cuda->host_device_pointer(&buffer->address, buffer->pages, 0);
    quern_cuda_end_visit(&visit);
    return error;
}

static quern_status map_file(const struct quern_membership *member, struct quern_bounce_buffer *buffer, int file) {
    buffer->pages = mmap(NULL, QUERN_BOUNCE_BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (buffer->pages == MAP_FAILED)
        return quern_fail(member->device, QUERN_SYSTEM_ERROR, "mapping the bounce buffer of transfers: %s", strerror(errno));
    const CUresult error = pin(buffer, member->device->context);
    if (error == CUDA_SUCCESS) return QUERN_OK;
    return quern_cuda_fail(member->device, error, "cuMemHostRegister of the bounce buffer of transfers");
}

static quern_status make_on_host(const struct quern_membership *member, struct quern_bounce_buffer *buffer) {
    buffer->file = quern_above_two(memfd_create("quern buffer", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (buffer->file < 0 || !quern_reserve_file_size(buffer->file, QUERN_BOUNCE_BUFFER_BYTES) ||
        !quern_seal_file_size(buffer->file))
        return quern_fail(member->device, QUERN_SYSTEM_ERROR, "making the bounce buffer of transfers: %s", strerror(errno));
    return map_file(member, buffer, buffer->file);
}

static quern_status export_from_host(const struct quern_membership *member, const struct quern_bounce_buffer *buffer,
                                     struct quern_bounce_ticket *ticket) {
    ticket->descriptor = quern_above_two(fcntl(buffer->file, F_DUPFD_CLOEXEC, 0));
    if (ticket->descriptor >= 0) return QUERN_OK;
    return quern_fail(member->device, QUERN_SYSTEM_ERROR, "a descriptor of the bounce buffer of transfers: %s", strerror(errno));
}

static quern_status open_on_host(const struct quern_membership *member, struct quern_bounce_buffer *buffer,
                                 struct quern_bounce_ticket *ticket) {
    if (quern_file_keeps_size(ticket->descriptor, QUERN_BOUNCE_BUFFER_BYTES)) return map_file(member, buffer, ticket->descriptor);
    return quern_fail(member->device, QUERN_PEER_MISMATCH, "the bounce buffer of transfers is another file: expected %d bytes that "
                      "cannot be cut off", QUERN_BOUNCE_BUFFER_BYTES);
}

/* ---- the kinds ---- */

static const struct buffer_kind on_gpu = {make_on_gpu, export_from_gpu, open_on_gpu};
static const struct buffer_kind on_fabric = {make_on_gpu, export_to_fabric, open_from_fabric};
static const struct buffer_kind on_host = {make_on_host, export_from_host, open_on_host};

static void close_pages(struct quern_bounce_buffer *buffer) {
    struct quern_cuda_visit visit;
    CUresult error = quern_cuda_begin_visit(&visit, buffer->gpus.context[0]);
    if (error == CUDA_SUCCESS && buffer->is_pinned) error = visit.cuda->host_unregister(buffer->pages);
    quern_cuda_end_visit(&visit);
    if (error == CUDA_SUCCESS) munmap(buffer->pages, QUERN_BOUNCE_BUFFER_BYTES);  /* else the driver would refuse other memory
                                                                                     there */
}

static void end(struct quern_idle_task *task) {
    struct quern_bounce_buffer *buffer = (struct quern_bounce_buffer *)task;
    struct quern_cuda_visit visit;
    if (quern_cuda_begin_visit(&visit, NULL) == CUDA_SUCCESS) {
        quern_unmap(visit.cuda, &buffer->mapping);
        quern_unreserve(visit.cuda, &buffer->mapping);
        if (buffer->has_handle) visit.cuda->vmm_release(buffer->handle);
    }
    quern_cuda_end_visit(&visit);
    if (buffer->pages != MAP_FAILED) close_pages(buffer);
    quern_close_descriptor(&buffer->file);
    quern_close_local_gpus(&buffer->gpus);
    free(buffer);
}

/* A record without memory. */
static quern_status begin(const struct quern_membership *member, struct quern_bounce_buffer **buffer) {
    struct quern_bounce_buffer *fresh = *buffer = calloc(1, sizeof *fresh);
    if (!fresh) return quern_fail(member->device, QUERN_OUT_OF_MEMORY, "no memory for the bounce buffer of transfers");
    fresh->task.run = end;
    fresh->kind = member->transport->allocated == &quern_pinned_memory ? &on_host : member->control ? &on_fabric : &on_gpu;
    fresh->file = -1;
    fresh->pages = MAP_FAILED;
    return quern_open_local_gpus(member, &fresh->gpus);
}

static quern_status settle(struct quern_bounce_buffer **buffer, quern_status status) {
    if (status == QUERN_OK) return status;
    quern_close_bounce_buffer(*buffer);
    *buffer = NULL;
    return status;
}

quern_status quern_make_bounce_buffer(const struct quern_membership *member, struct quern_bounce_buffer **buffer) {
    quern_status status = begin(member, buffer);
    if (status == QUERN_OK) status = (*buffer)->kind->make(member, *buffer);
    return settle(buffer, status);
}

quern_status quern_export_bounce_buffer(const struct quern_membership *member, const struct quern_bounce_buffer *buffer,
                                        struct quern_bounce_ticket *ticket) {
    ticket->descriptor = -1;
    return buffer->kind->export(member, buffer, ticket);
}

quern_status quern_open_bounce_buffer(const struct quern_membership *member, struct quern_bounce_ticket *ticket,
                                      struct quern_bounce_buffer **buffer) {
    quern_status status = begin(member, buffer);
    if (status == QUERN_OK) status = (*buffer)->kind->open(member, *buffer, ticket);
    return settle(buffer, status);
}

CUdeviceptr quern_bounce_buffer_address(const struct quern_bounce_buffer *buffer) { return buffer->address; }

void quern_close_bounce_buffer(struct quern_bounce_buffer *buffer) {
    if (buffer) quern_when_idle(&buffer->task);
}
