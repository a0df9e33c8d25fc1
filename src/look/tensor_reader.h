/* Reads tensors from the memory of a device.  For the dump. */
#ifndef QUERN_TENSOR_READER_H
#define QUERN_TENSOR_READER_H

#include "runtime/cuda_visit.h"
#include "runtime/look.h"

struct quern_reader {
    struct quern_cuda_visit visit;   /* of a GPU */
    CUstream stream;
    bool owns_stream;
    char *buffer;                    /* of the host, for the memory of a GPU; else NULL */
};

/*
 * Opens a reader for the memory of a device.  CUDA_SUCCESS on a CPU.  On a GPU it reads after the work of the stream.  The second
 * one waits for no stream: the default one would wait for kernels of others.
 */
CUresult quern_reader_open(struct quern_reader *reader, const quern_device *device, void *stream);
CUresult quern_reader_open_apart(struct quern_reader *reader, const quern_device *device);
void quern_reader_close(struct quern_reader *reader);

/* Hands all elements of a tensor to `take`, in their order, without the gaps between rows. */
CUresult quern_read_tensor(struct quern_reader *reader, const struct quern_tensor *tensor,
                           void (*take)(void *context, const void *data, size_t bytes), void *context);

/* The number of its elements, and their bytes. */
int64_t quern_tensor_elements(const struct quern_tensor *tensor);
int64_t quern_tensor_bytes(const struct quern_tensor *tensor);

#endif
