/* The backend of Quern: quern_cross_entropy and quern_adam on any device.  Created by run.c, called by training.c. */
#include "backend.h"

#include <stdio.h>
#include <stdlib.h>

#include "bf16.h"
#include "check.h"
#include "clock.h"
#include "device.h"
#include "memory.h"
#include "model.h"
#include "threads.h"

struct quern {
    struct backend backend;
    struct model *model;
    struct thread_pool *pool;
    struct optimizer optimizer;
    uint64_t seed;
    struct device *device;
    quern_adam_tensor *tensors;
    struct mirrored logits, labels, loss, workspace;
    struct mirrored guesses, guess_log_probs, entropy;  /* of an evaluation: [rows, GUESSES], [rows] */
    struct mirrored parameters, gradients, m, v, master;
};

static quern_cross_entropy_args cross_entropy_args(const struct quern *quern, bool gradient) {
    quern_cross_entropy_args args = QUERN_CROSS_ENTROPY_ARGS_INIT;
    args.logits_dtype = QUERN_BF16;
    args.labels_dtype = QUERN_INT32;
    args.reduction = QUERN_REDUCTION_SUM;  /* the mean includes the other ranks' rows */
    args.rows = quern->model->rows;
    args.vocab = quern->model->shape.vocab;
    args.logits = quern->logits.device;
    args.labels = quern->labels.device;
    args.loss = quern->loss.device;
    args.grad = gradient ? quern->logits.device : NULL;  /* in place */
    args.grad_scale = 1 / (float)quern->model->all_rows;
    if (!gradient) args.top_k = GUESSES, args.top_ids = quern->guesses.device, args.entropy = quern->entropy.device;
    if (!gradient) args.top_log_probs = quern->guess_log_probs.device;
    return args;
}

/* Reads the guesses of an evaluation. */
static bool count_guesses(struct quern *quern, const int32_t *labels) {
    const struct device_memory *memory = &quern->device->memory;
    const int64_t *guesses = quern->guesses.host;
    const float *entropy = quern->entropy.host;
    struct guesses found = {0};
    if (!device_memory_download(memory, &quern->guesses) || !device_memory_download(memory, &quern->entropy)) return false;
    for (int64_t i = 0; i < quern->model->rows * GUESSES; i++) {
        if (guesses[i] != labels[i / GUESSES]) continue;
        found.among_first++;
        if (i % GUESSES == 0) found.first++;
    }
    for (int64_t r = 0; r < quern->model->rows; r++) found.entropy += entropy[r];
    const double all_rows = (double)quern->model->all_rows;
    quern->backend.guessed = (struct guesses){found.first / all_rows, found.among_first / all_rows, found.entropy / all_rows};
    return true;
}

static bool cross_entropy(struct backend *backend, const int32_t *labels, bool gradient, float *loss) {
    struct quern *quern = (struct quern *)backend;
    const struct device_memory *memory = &quern->device->memory;
    quern_cross_entropy_args args = cross_entropy_args(quern, gradient);
    int32_t *host_labels = quern->labels.host;
    for (int64_t r = 0; r < args.rows; r++) host_labels[r] = labels[r];

    double start = seconds_now();
    if (!device_memory_upload(memory, &quern->logits) || !device_memory_upload(memory, &quern->labels)) return false;
    double uploaded = seconds_now();
    if (!succeeded("quern_cross_entropy", quern_cross_entropy(quern->device->quern, &args, quern->workspace.device,
                                                              quern->workspace.bytes, memory->stream)) ||
        !device_memory_wait(memory))
        return false;
    double computed = seconds_now();
    if (!device_memory_download(memory, &quern->loss)) return false;
    if (gradient ? !device_memory_download(memory, &quern->logits) : !count_guesses(quern, labels)) return false;
    *loss = *(const float *)quern->loss.host / (float)quern->model->all_rows;
    backend->times.cross_entropy = computed - uploaded;
    if (memory->is_cuda) backend->times.copies += uploaded - start + seconds_now() - computed;
    return true;
}

enum { ELEMENTS_PER_TASK = 65536 };

static void expand_parameters(void *context, int64_t task) {
    const struct quern *quern = context;
    int64_t first = task * ELEMENTS_PER_TASK, left = quern->model->parameter_count - first;
    bf16_expand(quern->model->parameters + first, (const uint16_t *)quern->parameters.host + first,
                left < ELEMENTS_PER_TASK ? left : ELEMENTS_PER_TASK);
}

/* The matrix products read the parameters as fp32: the bf16 values, widened. */
static void publish_parameters(struct quern *quern) {
    threads_for(quern->pool, (quern->model->parameter_count + ELEMENTS_PER_TASK - 1) / ELEMENTS_PER_TASK, expand_parameters,
                quern);
}

static quern_adam_args adam_args(const struct quern *quern, int64_t step, double lr) {
    quern_adam_args args = QUERN_ADAM_ARGS_INIT;
    args.param_dtype = QUERN_BF16;
    args.grad_dtype = QUERN_F32;
    args.m_dtype = args.v_dtype = quern->optimizer.moments;
    args.v_rounding = quern->optimizer.v_rounding;
    args.master_dtype = QUERN_F32;
    args.tensors = quern->tensors;
    args.tensor_count = quern->model->tensor_count;
    args.lr = lr;
    args.beta1 = ADAM_BETA1;
    args.beta2 = quern->optimizer.beta2;
    args.eps = ADAM_EPSILON;
    args.weight_decay = ADAM_WEIGHT_DECAY;
    args.step = step;
    args.seed = quern->seed;
    return args;
}

static bool adam(struct backend *backend, int64_t step, double lr) {
    struct quern *quern = (struct quern *)backend;
    const struct device_memory *memory = &quern->device->memory;
    quern_adam_args args = adam_args(quern, step, lr);

    double start = seconds_now();
    if (!device_memory_upload(memory, &quern->gradients)) return false;
    double uploaded = seconds_now();
    if (!succeeded("quern_adam", quern_adam(quern->device->quern, &args, quern->workspace.device, quern->workspace.bytes,
                                            memory->stream)) ||
        !device_memory_wait(memory))
        return false;
    double computed = seconds_now();
    if (!device_memory_download(memory, &quern->parameters)) return false;
    backend->times.adam = computed - uploaded;
    if (memory->is_cuda) backend->times.copies += uploaded - start + seconds_now() - computed;
    publish_parameters(quern);
    return true;
}

static void destroy(struct backend *backend) {
    struct quern *quern = (struct quern *)backend;
    struct mirrored *buffers[] = {&quern->logits, &quern->labels, &quern->loss, &quern->workspace, &quern->guesses,
                                  &quern->guess_log_probs, &quern->entropy, &quern->parameters,
                                  &quern->gradients, &quern->m, &quern->v, &quern->master};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) device_memory_free(&quern->device->memory, buffers[i]);
    free(quern->tensors);
    free(quern);
}

static bool create_buffers(struct quern *quern) {
    const struct device_memory *memory = &quern->device->memory;
    const struct model *model = quern->model;
    size_t count = (size_t)model->parameter_count, rows = (size_t)model->rows;
    size_t moment_bytes = count * quern_dtype_bytes(quern->optimizer.moments);
    return device_memory_create(memory, &quern->logits, NULL, (size_t)logits_bytes(model->rows, model->shape.vocab, true)) &&
           device_memory_create(memory, &quern->labels, NULL, rows * sizeof(int32_t)) &&
           device_memory_create(memory, &quern->loss, NULL, sizeof(float)) &&
           device_memory_create(memory, &quern->guesses, NULL, rows * GUESSES * sizeof(int64_t)) &&
           device_memory_create(memory, &quern->guess_log_probs, NULL, rows * GUESSES * sizeof(float)) &&
           device_memory_create(memory, &quern->entropy, NULL, rows * sizeof(float)) &&
           device_memory_create(memory, &quern->parameters, NULL, count * sizeof(uint16_t)) &&
           device_memory_create(memory, &quern->gradients, model->gradients, count * sizeof(float)) &&
           device_memory_create(memory, &quern->m, NULL, moment_bytes) &&
           device_memory_create(memory, &quern->v, NULL, moment_bytes) &&
           device_memory_create(memory, &quern->master, NULL, count * sizeof(float));
}

static void list_tensors(struct quern *quern) {
    const struct model *model = quern->model;
    const int64_t moment_bytes = (int64_t)quern_dtype_bytes(quern->optimizer.moments);
    quern->tensors = allocate((size_t)model->tensor_count * sizeof *quern->tensors);
    for (int t = 0; t < model->tensor_count; t++) {
        int64_t offset = model->tensors[t].offset;
        quern->tensors[t] = (quern_adam_tensor){
            .param = (uint16_t *)quern->parameters.device + offset,
            .grad = (float *)quern->gradients.device + offset,
            .m = (char *)quern->m.device + offset * moment_bytes,
            .v = (char *)quern->v.device + offset * moment_bytes,
            .master = (float *)quern->master.device + offset,
            .count = model->tensors[t].count,
        };
    }
}

/* One workspace for both operations, which never run at the same time. */
static bool create_workspace(struct quern *quern) {
    quern_cross_entropy_args training = cross_entropy_args(quern, true), evaluation = cross_entropy_args(quern, false);
    quern_adam_args update = adam_args(quern, 1, 0);
    const quern_device *device = quern->device->quern;
    size_t needed[3] = {0}, bytes = 0;
    if (!succeeded("quern_cross_entropy_workspace", quern_cross_entropy_workspace(device, &training, &needed[0])) ||
        !succeeded("quern_cross_entropy_workspace", quern_cross_entropy_workspace(device, &evaluation, &needed[1])) ||
        !succeeded("quern_adam_workspace", quern_adam_workspace(device, &update, &needed[2])))
        return false;
    for (int i = 0; i < 3; i++) bytes = needed[i] > bytes ? needed[i] : bytes;
    return device_memory_create(&quern->device->memory, &quern->workspace, NULL, bytes);
}

/* The initial parameters go to the master and, rounded to bf16, to the copy that the model computes with. */
static bool load_parameters(struct quern *quern) {
    struct model *model = quern->model;
    float *master = quern->master.host;
    for (int64_t i = 0; i < model->parameter_count; i++) master[i] = model->parameters[i];
    bf16_round(quern->parameters.host, master, model->parameter_count);
    publish_parameters(quern);
    return device_memory_upload(&quern->device->memory, &quern->master) &&
           device_memory_upload(&quern->device->memory, &quern->parameters);
}

struct backend *quern_backend(struct model *model, struct thread_pool *pool, struct device *device, struct optimizer optimizer,
                              uint64_t seed) {
    struct quern *quern = allocate(sizeof *quern);
    *quern = (struct quern){.model = model, .pool = pool, .optimizer = optimizer, .seed = seed, .device = device};
    bool ready = create_buffers(quern);
    if (ready) list_tensors(quern);
    if (!ready || !create_workspace(quern) || !load_parameters(quern)) {
        destroy(&quern->backend);
        return NULL;
    }
    const char *moments = optimizer.moments == QUERN_F32 ? ", moments in fp32"
                        : optimizer.v_rounding == QUERN_ROUND_NEAREST ? ", v to nearest" : "";
    snprintf(quern->backend.name, sizeof quern->backend.name, "loss and optimizer in bf16 on %s%s", device->name, moments);
    quern->backend.logits = (struct logits){true, quern->logits.host};
    quern->backend.moment_bytes = (int64_t)(quern->m.bytes + quern->v.bytes);
    quern->backend.parameter_bytes = (int64_t)(quern->parameters.bytes + quern->master.bytes);
    quern->backend.guesses = true;
    quern->backend.cross_entropy = cross_entropy;
    quern->backend.adam = adam;
    quern->backend.destroy = destroy;
    return &quern->backend;
}
