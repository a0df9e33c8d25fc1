/* Runs one kernel of each image on a problem with known results.  Called by quern_prepare for each operation. */
#include "runtime/answers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/idle.h"
#include "runtime/image.h"
#include "runtime/operation.h"
#include "runtime/status.h"
#include "runtime/storage.h"

/* ---- comparing ---- */

bool quern_answer_is_wrong(const struct quern_answer *answer, const double *expected, struct quern_text *why) {
    float got[QUERN_MOST_ANSWERS];
    quern_storage_widen(answer->dtype, answer->values, answer->scales, answer->count, got);
    for (int i = 0; i < answer->count; i++) {
        if (fabs((double)got[i] - expected[i]) <= answer->tolerance * fabs(expected[i])) continue;  /* NaN is wrong */
        quern_text_add(why, "%s %d is %g, expected %g", answer->name, i, (double)got[i], expected[i]);
        return true;
    }
    return false;
}

/* ---- asking ---- */

struct question {
    const struct quern_kernel *kernel;
    CUresult error;  /* of the launch */
};

/* The questions to the images of an operation.  The memory of all of them is one array. */
struct examination {
    quern_device *device;
    const struct quern_cuda *cuda;
    const struct quern_known_answers *answers;
    struct question *questions;
    size_t count, slot_bytes;
    char *memory;
    void *parameters;
    CUdeviceptr address;
    CUstream stream;
};

enum { ALIGNMENT = 256, RUBBISH = 0xA5 };

static struct quern_loaded_image *image_of(const quern_device *device, const struct quern_kernel *kernel) {
    struct quern_loaded_image *image = device->images;
    while (image->image != kernel->cuda.image) image = image->next;
    return image;
}

static bool is_asked(const struct examination *exam, const struct quern_kernel *kernel) {
    for (size_t i = 0; i < exam->count; i++)
        if (exam->questions[i].kernel->cuda.image == kernel->cuda.image) return true;
    return image_of(exam->device, kernel)->is_checked;
}

/* Writes the inputs to the device and launches.  An error of the launch is kept: it may concern this image alone. */
static CUresult ask(struct examination *exam, const struct quern_ready_kernel *ready) {
    const struct quern_cuda *cuda = exam->cuda;
    const size_t bytes = exam->slot_bytes, place = exam->count * bytes;
    struct question *question = &exam->questions[exam->count++];
    struct quern_trial trial = {.memory = exam->memory + place, .address = exam->address + place, .parameters = exam->parameters,
                                .blocks = 1};
    memset(trial.memory, RUBBISH, bytes);
    memset(trial.parameters, 0, exam->answers->parameter_bytes);
    exam->answers->ask(ready->kernel, &trial);
    const CUresult error = cuda->copy_to_device_async(trial.address, trial.memory, bytes, exam->stream);
    if (error != CUDA_SUCCESS) return error;
    question->kernel = ready->kernel;
    question->error = cuda->launch(ready->function, trial.blocks, 1, 1, ready->kernel->cuda.threads, 1, 1, trial.shared_bytes,
                                   exam->stream, trial.arguments, NULL);
    return CUDA_SUCCESS;
}

static CUresult ask_all(struct examination *exam, const struct quern_ready_list *list) {
    CUresult error = CUDA_SUCCESS;
    for (size_t i = 0; i < list->count && error == CUDA_SUCCESS; i++)
        if (!is_asked(exam, list->kernels[i].kernel)) error = ask(exam, &list->kernels[i]);
    if (error == CUDA_SUCCESS)
        error = exam->cuda->copy_to_host_async(exam->memory, exam->address, exam->count * exam->slot_bytes, exam->stream);
    const CUresult waited = exam->cuda->stream_synchronize(exam->stream);  /* after an error too: the copies read the memory */
    return error == CUDA_SUCCESS ? waited : error;
}

/* All answers are in the memory when it returns. */
static CUresult run(struct examination *exam, const struct quern_ready_list *list) {
    const struct quern_cuda *cuda = exam->cuda;
    CUresult error = cuda->stream_create(&exam->stream, CU_STREAM_NON_BLOCKING);
    if (error != CUDA_SUCCESS) return error;
    struct quern_leftover *leftover;
    error = quern_make_leftover(exam->device, &leftover);
    if (error == CUDA_SUCCESS) error = cuda->memory_allocate(&leftover->memory, list->count * exam->slot_bytes);
    if (error == CUDA_SUCCESS) {
        exam->address = leftover->memory;
        error = ask_all(exam, list);
        quern_discard_when_idle(leftover);
    } else {
        quern_drop_leftover(leftover);
    }
    cuda->stream_destroy(exam->stream);
    return error;
}

/* ---- judging ---- */

static quern_status judge(struct examination *exam, size_t place) {
    const struct question *question = &exam->questions[place];
    const struct quern_kernel *kernel = question->kernel;
    char reason[256];
    struct quern_text text = quern_text_begin(reason, sizeof reason);
    if (question->error != CUDA_SUCCESS)
        return quern_image_fault(exam->device, kernel, question->error, "the launch that checks the answers of");
    quern_text_add(&text, "%s gives a wrong answer: ", kernel->name);
    if (exam->answers->is_wrong(kernel, exam->memory + place * exam->slot_bytes, &text))
        return quern_image_refuse(exam->device, kernel, QUERN_NO_KERNEL, reason);
    image_of(exam->device, kernel)->is_checked = true;
    return QUERN_OK;
}

static quern_status examine(struct examination *exam, const struct quern_ready_list *list) {
    exam->questions = malloc(list->count * sizeof *exam->questions);
    exam->memory = malloc(list->count * exam->slot_bytes);
    exam->parameters = malloc(exam->answers->parameter_bytes);
    if (!exam->questions || !exam->memory || !exam->parameters)
        return quern_fail(exam->device, QUERN_OUT_OF_MEMORY, "no memory to check the answers of kernels");
    const CUresult error = run(exam, list);
    if (error != CUDA_SUCCESS) return quern_cuda_fail(exam->device, error, "launching kernels to check their answers");
    quern_status status = QUERN_OK;
    for (size_t i = 0; i < exam->count && status == QUERN_OK; i++) status = judge(exam, i);
    return status;
}

quern_status quern_check_answers(quern_device *device, const struct quern_cuda *cuda, unsigned operation,
                                 const struct quern_ready_list *list) {
    const struct quern_known_answers *answers = quern_linked_operation(operation)->answers;
    struct examination exam = {.device = device, .cuda = cuda, .answers = answers};
    if (device->kind == QUERN_CPU || !answers || !device->checks_answers) return QUERN_OK;
    size_t first = 0;
    while (first < list->count && is_asked(&exam, list->kernels[first].kernel)) first++;
    if (first == list->count) return QUERN_OK;  /* nothing to ask: no call of the driver, for a capture may be under way */
    exam.slot_bytes = (answers->memory_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    const quern_status status = examine(&exam, list);
    free(exam.questions);
    free(exam.memory);
    free(exam.parameters);
    return status;
}
