/* Writes one call: files of its inputs and outputs, and a line in the index.  Called by dump.c around each call. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "look/look.h"
#include "os/clock.h"
#include "os/whole_file.h"
#include "runtime/status.h"

/* ---- the list of tensors ---- */

static void take(struct quern_tensor_taker *taker, const struct quern_tensor *tensor) {
    struct quern_dumped *dumped = (struct quern_dumped *)taker;
    if (!tensor->data || dumped->has_failed) return;
    if (dumped->count == dumped->capacity) {
        const int64_t capacity = dumped->capacity ? 2 * dumped->capacity : 16;
        struct quern_dumped_tensor *tensors = realloc(dumped->tensors, (size_t)capacity * sizeof *tensors);
        dumped->has_failed = !tensors;
        if (!tensors) return;
        dumped->tensors = tensors, dumped->capacity = capacity;
    }
    dumped->tensors[dumped->count++] = (struct quern_dumped_tensor){.tensor = *tensor};
}

/* ---- files ---- */

/* A number of at least six digits, so that names are in the order of the calls. */
static void name_file(char *name, size_t bytes, const struct quern_look *look, bool is_output) {
    struct quern_text text = quern_text_begin(name, bytes);
    for (int64_t bound = 100000; bound > look->dumped->sequence && bound > 1; bound /= 10) quern_text_add(&text, "0");
    quern_text_add(&text, "%lld.%s.%s.safetensors", (long long)look->dumped->sequence, look->view->name, is_output ? "out" : "in");
}

/* Takes the bytes from those that the dump may still write. */
static bool reserve(struct quern_dump *dump, int64_t bytes) {
    int64_t left = __atomic_load_n(&dump->bytes_left, __ATOMIC_RELAXED);
    while (bytes <= left)
        if (__atomic_compare_exchange_n(&dump->bytes_left, &left, left - bytes, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return true;
    return false;
}

static int64_t choose(struct quern_look *look, int direction) {
    int64_t chosen = 0;
    for (int64_t i = 0; i < look->dumped->count; i++) {
        struct quern_dumped_tensor *tensor = &look->dumped->tensors[i];
        tensor->is_chosen = tensor->tensor.access & direction;
        tensor->left_out = NULL;
        if (!tensor->is_chosen) continue;
        if (look->dumped->is_captured) tensor->left_out = "captured";
        else if (!reserve(look->dump, quern_tensor_bytes(&tensor->tensor))) tensor->left_out = "most_bytes";
        tensor->is_chosen = !tensor->left_out;
        chosen += tensor->is_chosen;
    }
    return chosen;
}

/* Returns why the file is not there; NULL: it is. */
static const char *write_file(struct quern_look *look, const char *name) {
    struct quern_dumped *dumped = look->dumped;
    struct quern_reader reader;
    char *path = quern_dump_path(look->dump, name);
    if (!path) {
        quern_dump_failed(look->dump, "no memory to write %s", name);
        return "error";
    }
    CUresult error = look->view->is_awaited ? quern_reader_open_apart(&reader, look->device)
                                            : quern_reader_open(&reader, look->device, look->stream);
    int failure = error == CUDA_SUCCESS ? quern_write_tensors(path, &reader, dumped->tensors, dumped->count, &error) : 0;
    quern_reader_close(&reader);
    if (failure) quern_dump_failed(look->dump, "%s cannot be written: %s", path, strerror(failure));
    free(path);
    if (!failure && error != CUDA_SUCCESS) {
        char text[QUERN_CUDA_TEXT];
        if (reader.visit.cuda) quern_cuda_describe(error, "reading tensors", text, sizeof text);
        quern_dump_failed(look->dump, "%s cannot be written: %s", name, reader.visit.cuda ? text : "no memory or no driver");
    }
    return failure || error != CUDA_SUCCESS ? "error" : NULL;
}

static void describe(struct quern_json *json, const struct quern_dumped_tensor *tensor, bool is_output, const char *file,
                     const char *missing) {
    char name[QUERN_TENSOR_NAME];
    quern_name_tensor(&tensor->tensor, name);
    quern_json_open(json, NULL, '{');
    quern_json_text(json, "name", name);
    quern_json_text(json, "access", is_output ? "out" : "in");
    quern_json_text(json, "dtype", tensor->tensor.element.name);
    quern_json_shape(json, &tensor->tensor);
    if (tensor->left_out || missing) {
        quern_json_text(json, "left_out", tensor->left_out ? tensor->left_out : missing);
    } else {
        char digest[QUERN_DIGEST_TEXT];
        quern_digest_text(tensor->digest, digest);
        quern_json_text(json, "file", file);
        quern_json_text(json, "sha256", digest);
    }
    quern_json_close(json, '}');
}

static void write_direction(struct quern_look *look, bool is_output) {
    struct quern_dumped *dumped = look->dumped;
    const int direction = is_output ? QUERN_TENSOR_OUT : QUERN_TENSOR_IN;
    char name[80];
    name_file(name, sizeof name, look, is_output);
    const char *missing = choose(look, direction) ? write_file(look, name) : NULL;
    for (int64_t i = 0; i < dumped->count; i++)
        if (dumped->tensors[i].tensor.access & direction) describe(&dumped->written, &dumped->tensors[i], is_output, name, missing);
}

/* ---- the index ---- */

static const char *name_of(quern_dtype dtype) { return dtype == QUERN_NO_DTYPE ? "none" : quern_dtype_name(dtype); }

static void add_argument(struct quern_json *json, const void *args, const struct quern_argument *argument) {
    const char *at = (const char *)args + argument->offset;
    switch (argument->kind) {
    case QUERN_ARGUMENT_INT32: quern_json_integer(json, argument->name, *(const int32_t *)at); break;
    case QUERN_ARGUMENT_UINT32: quern_json_integer(json, argument->name, *(const uint32_t *)at); break;
    case QUERN_ARGUMENT_INT64: quern_json_integer(json, argument->name, *(const int64_t *)at); break;
    case QUERN_ARGUMENT_UINT64: quern_json_unsigned(json, argument->name, *(const uint64_t *)at); break;
    case QUERN_ARGUMENT_FLOAT: quern_json_real(json, argument->name, (double)*(const float *)at); break;
    case QUERN_ARGUMENT_DOUBLE: quern_json_real(json, argument->name, *(const double *)at); break;
    case QUERN_ARGUMENT_DTYPE: quern_json_text(json, argument->name, name_of(*(const quern_dtype *)at)); break;
    }
}

static void add_arguments(struct quern_json *json, const struct quern_look *look) {
    quern_json_open(json, "arguments", '{');
    for (int i = 0; look->args && i < look->view->argument_count; i++) add_argument(json, look->args, &look->view->arguments[i]);
    quern_json_close(json, '}');
}

static void add_kernels(struct quern_json *json, const struct quern_look *look) {
    quern_json_text(json, "device_name", look->device->name);
    quern_json_open(json, "kernels", '[');
    for (int i = 0; i < look->kernel_count; i++) quern_json_text(json, NULL, look->kernels[i]->kernel->name);
    quern_json_close(json, ']');
    quern_json_launches(json, look);
}

static void add_status(struct quern_json *json, quern_status status) {
    char detail[256];
    quern_json_text(json, "status", quern_status_string(status));
    if (status == QUERN_OK) return;
    quern_error_detail(detail, sizeof detail);
    quern_json_text(json, "detail", detail);
}

/* The tensors are an array that was written piece by piece. */
static void add_line(struct quern_json *json, const struct quern_look *look, quern_status status) {
    const struct quern_dumped *dumped = look->dumped;
    quern_json_open(json, NULL, '{');
    quern_json_integer(json, "sequence", dumped->sequence);
    quern_json_integer(json, "step", look->dump->step);
    quern_json_text(json, "operation", look->view->name);
    quern_json_text(json, "device", look->device->label);
    if (look->ranks) quern_json_integer(json, "rank", look->rank), quern_json_integer(json, "ranks", look->ranks);
    if (dumped->is_captured) quern_json_flag(json, "captured", true);
    add_kernels(json, look);
    add_arguments(json, look);
    add_status(json, status);
    quern_json_raw(json, "tensors", &dumped->written);
    quern_json_close(json, '}');
    quern_json_line(json);
}

static void write_line(struct quern_look *look, quern_status status) {
    struct quern_json json = {0};
    add_line(&json, look, status);
    char *path = quern_dump_path(look->dump, "index.jsonl");
    const int error = json.failed || !path ? ENOMEM : quern_append_to_file(path, json.text, json.length);
    if (error) quern_dump_failed(look->dump, "%s/index.jsonl cannot be written: %s", look->dump->folder, strerror(error));
    free(path);
    quern_json_free(&json);
}

/* ---- a call ---- */

static bool is_captured(const struct quern_look *look) {
    const struct quern_cuda *cuda;
    int capturing = 0;
    if (look->device->kind == QUERN_CPU || look->view->is_awaited || quern_cuda_open(&cuda) != QUERN_OK) return false;
    struct quern_cuda_visit visit;
    const bool is_known = quern_cuda_begin_visit(&visit, look->device->context) == CUDA_SUCCESS &&
                          cuda->stream_is_capturing(look->stream, &capturing) == CUDA_SUCCESS;
    quern_cuda_end_visit(&visit);
    return !is_known || capturing;
}

void quern_dump_begin_call(struct quern_look *look) {
    struct quern_dumped *dumped = calloc(1, sizeof *dumped);
    if (!dumped) {
        quern_dump_failed(look->dump, "no memory to write %s", look->view->name);
        look->dump = NULL;
        return;
    }
    look->dumped = dumped;
    dumped->taker.take = take;
    dumped->sequence = __atomic_fetch_add(&look->dump->sequence, 1, __ATOMIC_RELAXED);
    dumped->is_captured = is_captured(look);
    quern_json_open(&dumped->written, NULL, '[');
    if (look->call && look->view->tensors) look->view->tensors(look->call, &dumped->taker);
    if (dumped->has_failed) quern_dump_failed(look->dump, "no memory for the tensors of %s", look->view->name);
    write_direction(look, false);
    dumped->began = quern_now();
}

void quern_dump_end_call(struct quern_look *look, quern_status status) {
    struct quern_dumped *dumped = look->dumped;
    dumped->ended = quern_now();
    quern_read_launches(look, status);
    if (status == QUERN_OK) write_direction(look, true);
    quern_json_close(&dumped->written, ']');
    write_line(look, status);
    quern_json_free(&dumped->written);
    free(dumped->launches);
    free(dumped->tensors);
    free(dumped);
}
