/* The images of kernels on a device: loading them, and refusing those that do not work there.  For prepare.c and explain.c. */
#ifndef QUERN_IMAGE_H
#define QUERN_IMAGE_H

#include "runtime/device.h"

/*
 * Loads the image of a kernel, once for each device.  If the image does not suit the device, refuses it and returns QUERN_OK.
 * Called with the device's prepare_lock.
 */
quern_status quern_image_load(quern_device *device, const struct quern_cuda *cuda, const struct quern_kernel *kernel,
                              struct quern_loaded_image **image);

/*
 * After an error of the driver about a kernel: refuses its image and returns QUERN_OK if the error says that the image does not
 * suit the device, as CUDA_ERROR_NO_BINARY_FOR_GPU does.  Any other error is a failure.  `doing` completes "... NAME".
 */
quern_status quern_image_fault(quern_device *device, const struct quern_kernel *kernel, CUresult error, const char *doing);

/* Refuses the image of a kernel: none of its kernels is used on the device.  Errors: QUERN_OUT_OF_MEMORY. */
quern_status quern_image_refuse(quern_device *device, const struct quern_kernel *kernel, quern_status status, const char *reason);

/* The refusal of a kernel's image, or NULL.  Any thread may call it. */
const struct quern_refused_image *quern_image_refusal(const quern_device *device, const struct quern_kernel *kernel);

/* Forgets all images, when the device is closed.  The modules are unloaded when that waits for no rank. */
void quern_image_release(quern_device *device);

#endif
