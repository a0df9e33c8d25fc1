/* Reads the elements of a tensor, from a GPU piece by piece.  Called by the dump for each tensor. */
#include "look/look.h"

#include <stdlib.h>

enum { PIECE = 1 << 22 };

typedef void take_bytes(void *context, const void *data, size_t bytes);

int64_t quern_tensor_elements(const struct quern_tensor *tensor) {
    return (tensor->rows == QUERN_NO_ROWS ? 1 : tensor->rows) * tensor->columns;
}

int64_t quern_tensor_bytes(const struct quern_tensor *tensor) {
    return quern_tensor_elements(tensor) * (int64_t)tensor->element.bytes;
}

CUresult quern_reader_open(struct quern_reader *reader, const quern_device *device, void *stream) {
    *reader = (struct quern_reader){.stream = stream};
    if (device->kind == QUERN_CPU) return CUDA_SUCCESS;
    reader->buffer = malloc(PIECE);
    return reader->buffer ? quern_cuda_begin_visit(&reader->visit, device->context) : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult quern_reader_open_apart(struct quern_reader *reader, const quern_device *device) {
    CUresult error = quern_reader_open(reader, device, NULL);
    if (error != CUDA_SUCCESS || !reader->buffer) return error;
    error = reader->visit.cuda->stream_create(&reader->stream, CU_STREAM_NON_BLOCKING);
    reader->owns_stream = error == CUDA_SUCCESS;
    return error;
}

void quern_reader_close(struct quern_reader *reader) {
    if (reader->owns_stream) reader->visit.cuda->stream_destroy(reader->stream);
    if (reader->visit.cuda) quern_cuda_end_visit(&reader->visit);
    free(reader->buffer);
}

static CUresult fetch(struct quern_reader *reader, const char *from, size_t bytes) {
    const struct quern_cuda *cuda = reader->visit.cuda;
    const CUresult error = cuda->copy_to_host_async(reader->buffer, (CUdeviceptr)(uintptr_t)from, bytes, reader->stream);
    return error == CUDA_SUCCESS ? cuda->stream_synchronize(reader->stream) : error;
}

static CUresult read_bytes(struct quern_reader *reader, const char *from, size_t bytes, take_bytes *take, void *context) {
    CUresult error = CUDA_SUCCESS;
    while (bytes && error == CUDA_SUCCESS) {
        const size_t part = bytes < PIECE ? bytes : PIECE;
        error = fetch(reader, from, part);
        if (error == CUDA_SUCCESS) take(context, reader->buffer, part);
        from += part, bytes -= part;
    }
    return error;
}

/* As many rows at a time as fit into the buffer with the gaps between them. */
static CUresult read_rows(struct quern_reader *reader, const char *from, int64_t rows, size_t row, size_t stride,
                          take_bytes *take, void *context) {
    CUresult error = CUDA_SUCCESS;
    while (rows && error == CUDA_SUCCESS) {
        const int64_t fit = (int64_t)(PIECE / stride), part = rows < fit ? rows : fit;
        error = fetch(reader, from, (size_t)(part - 1) * stride + row);
        for (int64_t i = 0; i < part && error == CUDA_SUCCESS; i++) take(context, reader->buffer + (size_t)i * stride, row);
        from += (size_t)part * stride, rows -= part;
    }
    return error;
}

/* A stride may be negative. */
static CUresult read_each_row(struct quern_reader *reader, const struct quern_tensor *tensor, take_bytes *take, void *context) {
    const int64_t element = (int64_t)tensor->element.bytes;
    const size_t row = (size_t)(tensor->columns * element);
    const char *from = tensor->data;
    CUresult error = CUDA_SUCCESS;
    for (int64_t i = 0; i < tensor->rows && error == CUDA_SUCCESS; i++, from += tensor->stride * element) {
        if (reader->buffer && !tensor->on_host) error = read_bytes(reader, from, row, take, context);
        else take(context, from, row);
    }
    return error;
}

CUresult quern_read_tensor(struct quern_reader *reader, const struct quern_tensor *tensor, take_bytes *take, void *context) {
    const size_t bytes = (size_t)quern_tensor_bytes(tensor), element = tensor->element.bytes;
    const bool is_dense = tensor->rows == QUERN_NO_ROWS || tensor->stride == tensor->columns, is_near = !reader->buffer ||
        tensor->on_host;
    if (!bytes) return CUDA_SUCCESS;
    if (is_dense && is_near) {
        take(context, tensor->data, bytes);
        return CUDA_SUCCESS;
    }
    if (is_dense) return read_bytes(reader, tensor->data, bytes, take, context);
    if (is_near || tensor->stride < tensor->columns || (size_t)tensor->stride * element > PIECE)
        return read_each_row(reader, tensor, take, context);
    return read_rows(reader, tensor->data, tensor->rows, (size_t)tensor->columns * element, (size_t)tensor->stride * element, take,
                     context);
}
