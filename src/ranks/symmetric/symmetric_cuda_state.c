/*
 * Handles of GPU memory for other processes: file descriptors, and between hosts fabric handles.  Called by the steps of all kinds
 * of GPU memory.
 */
#include "ranks/symmetric/symmetric.h"

#include <errno.h>
#include <string.h>

#include "os/descriptor.h"
#include "runtime/status.h"

int quern_cuda_handle_types(const struct quern_membership *member) {
    if (member->control) return CU_MEM_HANDLE_TYPE_FABRIC;
    return member->one_process ? 0 : CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
}

quern_status quern_fail_handle(const struct quern_membership *member, CUresult error, const char *what) {
    char text[QUERN_CUDA_TEXT];
    if (!member->control || error == CUDA_ERROR_OUT_OF_MEMORY || quern_cuda_is_sticky(error))
        return quern_cuda_fail(member->device, error, what);
    quern_cuda_describe(error, what, text, sizeof text);
    return quern_fail(member->device, QUERN_NOT_SUPPORTED, "%s: expected one NVLink fabric and an IMEX channel", text);
}

quern_status quern_export_handle(const struct quern_membership *member, const struct quern_cuda *cuda,
                                 CUmemGenericAllocationHandle handle, int *descriptor) {
    int exported = *descriptor = -1;
    CUresult error = cuda->vmm_export(&exported, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    if (error != CUDA_SUCCESS) return quern_cuda_fail(member->device, error, "cuMemExportToShareableHandle");
    *descriptor = quern_above_two(exported);
    if (*descriptor >= 0) return QUERN_OK;
    return quern_fail(member->device, QUERN_SYSTEM_ERROR, "a descriptor of GPU memory: %s", strerror(errno));
}

quern_status quern_import_handle(const struct quern_membership *member, struct quern_cuda_memory_state *state, int tag,
                                 const char *whose, CUmemGenericAllocationHandle *handle) {
    if (state->fabric) return quern_import_fabric(member, state->gpus.cuda, &state->fabric[tag], handle);
    if (state->received[tag] < 0) return quern_fail(member->device, QUERN_SYSTEM_ERROR, "%s did not arrive", whose);
    CUresult error = state->gpus.cuda->vmm_import(handle, (void *)(intptr_t)state->received[tag],
                                                  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    quern_close_descriptor(&state->received[tag]);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_cuda_fail(member->device, error, "cuMemImportFromShareableHandle");
}

quern_status quern_export_fabric(const struct quern_membership *member, const struct quern_cuda *cuda,
                                 CUmemGenericAllocationHandle handle, CUmemFabricHandle *fabric) {
    const CUresult error = cuda->vmm_export(fabric, handle, CU_MEM_HANDLE_TYPE_FABRIC, 0);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_fail_handle(member, error, "cuMemExportToShareableHandle");
}

quern_status quern_import_fabric(const struct quern_membership *member, const struct quern_cuda *cuda, CUmemFabricHandle *fabric,
                                 CUmemGenericAllocationHandle *handle) {
    const CUresult error = cuda->vmm_import(handle, fabric, CU_MEM_HANDLE_TYPE_FABRIC);
    return error == CUDA_SUCCESS ? QUERN_OK : quern_fail_handle(member, error, "cuMemImportFromShareableHandle");
}
