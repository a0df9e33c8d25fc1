/* Writes tensors to a file.  Called by the dump, before and after each call. */
#include "look/look.h"

#include <errno.h>
#include <string.h>

#include "os/integers.h"
#include "os/whole_file.h"

enum { HEADER_MULTIPLE = 8 };   /* so that the data is aligned if the file is mapped */

size_t quern_most_header = 100000000;

void quern_name_tensor(const struct quern_tensor *tensor, char name[QUERN_TENSOR_NAME]) {
    struct quern_text text = quern_text_begin(name, QUERN_TENSOR_NAME);
    quern_text_add(&text, "%s", tensor->name);
    if (tensor->item != QUERN_NO_ITEM) quern_text_add(&text, ".%lld", (long long)tensor->item);
}

void quern_json_shape(struct quern_json *json, const struct quern_tensor *tensor) {
    quern_json_open(json, "shape", '[');
    if (tensor->rows != QUERN_NO_ROWS) quern_json_integer(json, NULL, tensor->rows);
    quern_json_integer(json, NULL, tensor->columns);
    quern_json_close(json, ']');
}

static void add_header(struct quern_json *json, const struct quern_dumped_tensor *tensors, int64_t count) {
    int64_t offset = 0;
    quern_json_open(json, NULL, '{');
    for (int64_t i = 0; i < count; i++) {
        if (!tensors[i].is_chosen) continue;
        const struct quern_tensor *tensor = &tensors[i].tensor;
        char name[QUERN_TENSOR_NAME];
        quern_name_tensor(tensor, name);
        quern_json_open(json, name, '{');
        quern_json_text(json, "dtype", tensor->element.name);
        quern_json_shape(json, tensor);
        quern_json_open(json, "data_offsets", '[');
        quern_json_integer(json, NULL, offset);
        quern_json_integer(json, NULL, offset += quern_tensor_bytes(tensor));
        quern_json_close(json, ']');
        quern_json_close(json, '}');
    }
    quern_json_close(json, '}');
}

/* The format is little-endian, as this machine is. */
static int write_header(struct quern_whole_file *file, const struct quern_dumped_tensor *tensors, int64_t count) {
    static const char spaces[HEADER_MULTIPLE + 1] = "        ";
    struct quern_json json = {0};
    add_header(&json, tensors, count);
    const uint64_t bytes = quern_round_up(json.length, HEADER_MULTIPLE);
    const bool fits = bytes <= quern_most_header;
    if (!json.failed && fits) {
        quern_write_file(file, &bytes, sizeof bytes);
        quern_write_file(file, json.text, json.length);
        quern_write_file(file, spaces, bytes - json.length);
    }
    quern_json_free(&json);
    return json.failed ? ENOMEM : fits ? 0 : EFBIG;
}

struct writing {
    struct quern_whole_file *file;
    struct quern_sha256 hash;
};

static void take(void *context, const void *data, size_t bytes) {
    struct writing *writing = context;
    quern_sha256_add(&writing->hash, data, bytes);
    quern_write_file(writing->file, data, bytes);
}

int quern_write_tensors(const char *path, struct quern_reader *reader, struct quern_dumped_tensor *tensors, int64_t count,
                        CUresult *error) {
    struct writing writing;
    int failure = quern_begin_file(path, &writing.file);
    if (failure) return failure;
    failure = write_header(writing.file, tensors, count);
    for (int64_t i = 0; i < count && !failure && *error == CUDA_SUCCESS; i++) {
        if (!tensors[i].is_chosen) continue;
        quern_sha256_begin(&writing.hash);
        *error = quern_read_tensor(reader, &tensors[i].tensor, take, &writing);
        quern_sha256_end(&writing.hash, tensors[i].digest);
    }
    if (!failure && *error == CUDA_SUCCESS) return quern_end_file(writing.file);
    quern_drop_file(writing.file);
    return failure;
}
