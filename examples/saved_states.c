/*
 * Saves Adam's state after five steps, loads it into other tensors and continues: both runs have the same bits after ten.  The
 * saved bytes are the same on every device; an engine writes them to its checkpoint.  Loading rounds the saved master to param.
 *
 *   cc saved_states.c $(pkg-config --cflags --libs quern) -o saved_states
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quern.h>

enum { COUNT = 1000 };

/* One run: bf16 parameters with an fp32 master copy and bf16 moments. */
struct run {
    uint16_t param[COUNT], m[COUNT], v[COUNT];
    float master[COUNT], grad[COUNT];
    quern_adam_tensor tensor;
    quern_adam_args args;
};

static void check(quern_status status) {
    char detail[256];
    if (status == QUERN_OK) return;
    quern_error_detail(detail, sizeof detail);
    fprintf(stderr, "%s: %s\n", quern_status_string(status), detail);
    exit(EXIT_FAILURE);
}

static void start(struct run *run) {
    run->tensor = (quern_adam_tensor){.param = run->param, .grad = run->grad, .m = run->m, .v = run->v, .master = run->master,
                                      .count = COUNT};
    run->args = (quern_adam_args)QUERN_ADAM_ARGS_INIT;
    run->args.param_dtype = run->args.m_dtype = run->args.v_dtype = QUERN_BF16;
    run->args.grad_dtype = run->args.master_dtype = QUERN_F32;
    run->args.tensors = &run->tensor;
    run->args.tensor_count = 1;
    run->args.lr = 0.02;
    run->args.step = 1;
}

/* Steps of f(p) = (p - 3)^2 / 2, until `last` is done. */
static void train(quern_device *device, struct run *run, int64_t last) {
    size_t bytes;
    check(quern_adam_workspace(device, &run->args, &bytes));
    void *workspace = aligned_alloc(64, (bytes + 63) / 64 * 64);
    for (; run->args.step <= last; run->args.step++) {
        for (int i = 0; i < COUNT; i++) run->grad[i] = run->master[i] - 3;
        check(quern_adam(device, &run->args, workspace, bytes, NULL));
    }
    free(workspace);
}

int main(void) {
    static struct run first, second;
    quern_device *device;
    check(quern_device_open(QUERN_CPU, 0, &device));
    check(quern_prepare(device, QUERN_ADAM));
    start(&first);
    start(&second);

    train(device, &first, 5);
    size_t bytes;
    first.args.step = 5;                                 /* the last step done is saved too */
    check(quern_adam_saved_bytes(device, &first.args, &bytes));
    char *saved = malloc(bytes);
    check(quern_adam_save(device, &first.args, saved, bytes));

    check(quern_adam_load(device, &second.args, saved, bytes, &second.args.step, &second.args.seed));
    first.args.step++;
    second.args.step++;
    train(device, &first, 10);
    train(device, &second, 10);
    int same = memcmp(first.param, second.param, sizeof first.param) == 0 && memcmp(first.v, second.v, sizeof first.v) == 0;
    printf("%zu bytes saved; after ten steps p = %.4f, the loaded run has %s bits\n", bytes, (double)second.master[0],
           same ? "the same" : "other");

    saved[bytes / 2] ^= 1;                               /* a damaged state is refused */
    char detail[256];
    quern_status status = quern_adam_load(device, &second.args, saved, bytes, NULL, NULL);
    quern_error_detail(detail, sizeof detail);
    printf("damaged: %s: %s\n", quern_status_string(status), detail);
    free(saved);
    quern_device_close(device);
}
