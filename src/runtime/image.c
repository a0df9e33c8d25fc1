/* Loads the images of kernels on a device and keeps the reasons against those that do not work there.  Called by quern_prepare. */
#include "runtime/image.h"

#include <stdlib.h>

#include "os/text.h"
#include "runtime/idle.h"
#include "runtime/log.h"
#include "runtime/status.h"
#include "runtime/unpack.h"

/*
 * The errors that speak of the image or of one launch, and leave the context usable.  Another image may serve instead.  Errors that
 * are not listed, of memory or of the context for instance, concern every image.
 */
static const CUresult errors_of_images[] = {
    CUDA_ERROR_INVALID_VALUE,          /* a launch with more threads than the machine code permits */
    CUDA_ERROR_INVALID_IMAGE,
    CUDA_ERROR_NO_BINARY_FOR_GPU,      /* no machine code for this GPU: a later member of a family */
    CUDA_ERROR_INVALID_PTX,
    CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
    CUDA_ERROR_JIT_COMPILATION_DISABLED,
    CUDA_ERROR_NOT_FOUND,              /* the image lacks the function */
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
    CUDA_ERROR_NOT_SUPPORTED,
    CUDA_ERROR_INVALID_CLUSTER_SIZE,
};

static bool is_of_image(CUresult error) {
    for (size_t i = 0; i < sizeof errors_of_images / sizeof *errors_of_images; i++)
        if (errors_of_images[i] == error) return true;
    return false;
}

/* A driver older than the toolkit that made an image may refuse it, though drivers of the toolkit's generation should not. */
static bool speaks_of_age(const quern_device *device, const struct quern_kernel *kernel, CUresult error) {
    return device->driver < kernel->target.images->toolkit &&
           (error == CUDA_ERROR_INVALID_IMAGE || error == CUDA_ERROR_NO_BINARY_FOR_GPU ||
            error == CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
}

static quern_status refuse_for_age(quern_device *device, const struct quern_kernel *kernel, CUresult error) {
    const int driver = device->driver, toolkit = kernel->target.images->toolkit;
    char reason[256];
    struct quern_text text = quern_text_begin(reason, sizeof reason);
    quern_text_add(&text, "the CUDA driver, which supports CUDA %d.%d, refuses %s with error %d: CUDA %d.%d made it, and a driver "
                   "for that version is needed", driver / 1000, driver % 1000 / 10, kernel->name, error, toolkit / 1000,
                   toolkit % 1000 / 10);
    return quern_image_refuse(device, kernel, QUERN_DRIVER_TOO_OLD, reason);
}

quern_status quern_image_fault(quern_device *device, const struct quern_kernel *kernel, CUresult error, const char *doing) {
    char what[160], reason[256];
    struct quern_text text = quern_text_begin(what, sizeof what);
    quern_text_add(&text, "%s %s", doing, kernel->name);
    if (!is_of_image(error)) return quern_cuda_fail(device, error, what);
    if (speaks_of_age(device, kernel, error)) return refuse_for_age(device, kernel, error);
    quern_cuda_describe(error, what, reason, sizeof reason);
    return quern_image_refuse(device, kernel, QUERN_CUDA_ERROR, reason);
}

quern_status quern_image_refuse(quern_device *device, const struct quern_kernel *kernel, quern_status status, const char *reason) {
    struct quern_refused_image *refused = malloc(sizeof *refused);
    if (!refused) return quern_fail(device, QUERN_OUT_OF_MEMORY, "no memory to note that %s is not used", kernel->name);
    *refused = (struct quern_refused_image){.next = device->refused, .image = kernel->cuda.image, .status = status};
    struct quern_text text = quern_text_begin(refused->reason, sizeof refused->reason);
    quern_text_add(&text, "%s", reason);
    __atomic_store_n(&device->refused, refused, __ATOMIC_RELEASE);
    quern_log(device, QUERN_LOG_ERROR, "%s is not used: %s", kernel->name, reason);
    return QUERN_OK;
}

const struct quern_refused_image *quern_image_refusal(const quern_device *device, const struct quern_kernel *kernel) {
    if (kernel->target.kind != QUERN_CUDA) return NULL;
    const struct quern_refused_image *refused = __atomic_load_n(&device->refused, __ATOMIC_ACQUIRE);
    while (refused && refused->image != kernel->cuda.image) refused = refused->next;
    return refused;
}

/* Unpacks the image of a kernel.  Returns QUERN_OK, too, if it is damaged: it is refused then, and *image is NULL. */
static quern_status unpack(quern_device *device, const struct quern_kernel *kernel, const void **image) {
    const char *fault;
    const quern_status status = quern_unpack(kernel->cuda.image, &device->unpacked, image, &fault);
    if (status != QUERN_OK) return quern_fail(device, status, "no memory to unpack the image of %s", kernel->name);
    if (!fault) return QUERN_OK;
    char reason[256];
    struct quern_text text = quern_text_begin(reason, sizeof reason);
    quern_text_add(&text, "the image of %s cannot be taken from its packed images: %s", kernel->name, fault);
    return quern_image_refuse(device, kernel, QUERN_INVALID_PACK, reason);
}

quern_status quern_image_load(quern_device *device, const struct quern_cuda *cuda, const struct quern_kernel *kernel,
                              struct quern_loaded_image **image) {
    for (*image = device->images; *image; *image = (*image)->next)
        if ((*image)->image == kernel->cuda.image) return QUERN_OK;
    const void *bytes;
    const quern_status status = unpack(device, kernel, &bytes);
    if (status != QUERN_OK || !bytes) return status;
    struct quern_loaded_image *loaded = malloc(sizeof *loaded);
    if (!loaded) return quern_fail(device, QUERN_OUT_OF_MEMORY, "no memory to load %s", kernel->name);
    *loaded = (struct quern_loaded_image){.next = device->images, .image = kernel->cuda.image};
    CUresult error = quern_make_leftover(device, &loaded->leftover);
    if (error == CUDA_SUCCESS) error = cuda->module_load(&loaded->module, bytes);
    if (error != CUDA_SUCCESS) {
        quern_drop_leftover(loaded->leftover);
        free(loaded);
        return quern_image_fault(device, kernel, error, "loading the image of");
    }
    device->images = *image = loaded;
    return QUERN_OK;
}

void quern_image_release(quern_device *device) {
    while (device->images) {
        struct quern_loaded_image *image = device->images;
        device->images = image->next;
        image->leftover->module = image->module;
        quern_discard_when_idle(image->leftover);
        free(image);
    }
    while (device->refused) {
        struct quern_refused_image *refused = device->refused;
        device->refused = refused->next;
        free(refused);
    }
}
