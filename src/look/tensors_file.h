/* Files of tensors in the format of safetensors: the bytes of a header in JSON, the header, and the data.  For the dump. */
#ifndef QUERN_TENSORS_FILE_H
#define QUERN_TENSORS_FILE_H

#include "look/json.h"
#include "look/tensor_reader.h"
#include "os/sha256.h"

enum { QUERN_TENSOR_NAME = 64 };

/* The most bytes of a header that readers of the format take; a longer one is EFBIG.  Tests lower it. */
extern size_t quern_most_header;

/* A tensor of a call that is dumped. */
struct quern_dumped_tensor {
    struct quern_tensor tensor;
    bool is_chosen;                               /* for the file that is written */
    const char *left_out;                         /* why it is not; NULL: it is written */
    unsigned char digest[QUERN_DIGEST_BYTES];     /* SHA-256 of its data in the file */
};

/* The name in the file and the index: "logits", or of an item "param.3". */
void quern_name_tensor(const struct quern_tensor *tensor, char name[QUERN_TENSOR_NAME]);

/* Adds its shape to an object. */
void quern_json_shape(struct quern_json *json, const struct quern_tensor *tensor);

/* Writes the chosen tensors, whole or not at all, and sets their digests.  Returns 0 or an errno; *error is the driver's. */
int quern_write_tensors(const char *path, struct quern_reader *reader, struct quern_dumped_tensor *tensors, int64_t count,
                        CUresult *error);

#endif
