/* The step of Adam that traces and dumps are made of.  look_bench.h documents the functions. */
#include "harness/look_bench.h"

#include "harness/looking.h"

void bench_open(struct bench *bench, const char *path) {
    static const int64_t counts[] = {LOOK_COUNT, LOOK_LAST};
    memset(bench, 0, sizeof *bench);
    device_open(&bench->device, 0, NULL);
    check_ok(quern_prepare(bench->device.quern, QUERN_ADAM | QUERN_CROSS_ENTROPY));
    const quern_adam_args args = adam_args_of(find_adam_row(QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_BF16, QUERN_F32, false));
    adam_make(&bench->problem, &args, counts, 2);
    adam_session_open(&bench->adam, &bench->device, &bench->problem);
    bench->folder = make_folder();
    strcpy(bench->path, path_in(bench->folder, path));
}

void bench_close(struct bench *bench) {
    adam_session_close(&bench->adam);
    device_close(&bench->device);
    drop_folder(bench->folder);
}

quern_status bench_step(struct bench *bench) {
    return quern_adam(bench->device.quern, &bench->adam.args, bench->adam.workspace.data, bench->adam.workspace_bytes,
                      bench->device.stream);
}
