/*
 * y = factor * x: every row of the target under test against the product, from the library and from a pack.
 *
 * Runs on: cpu, every emulated, gpu; kernels of scale.
 */
#include "harness/buffer.h"
#include "harness/check.h"
#include "harness/device.h"

enum { COUNT = 1500 };

Test(scale, multiplies) {
    const char *pack = getenv("QUERN_TEST_PACK");
    if (pack) check_ok(quern_load_pack(pack));
    int rows = 0;
    for (const struct quern_kernel *row = NULL; (row = next_row(quern_scale_kernels, row)); rows++) {
        struct test_device device;
        struct buffer x, y;
        float values[COUNT];
        for (int i = 0; i < COUNT; i++) values[i] = (float)(i - 700) / 3;
        device_open_row(&device, 0, row);
        check_ok(quern_prepare(device.quern, QUERN_SCALE));
        buffer_open(&x, &device, sizeof values, 0, values);
        buffer_open(&y, &device, sizeof values, 0, NULL);
        quern_scale_args args;
        quern_scale_args_init(&args);
        args.factor = 1.7f, args.x = x.data, args.y = y.data, args.count = COUNT;
        check_ok(quern_scale(device.quern, &args, device.stream));
        const float *result = buffer_read(&y);
        for (int i = 0; i < COUNT; i++) check(result[i] == 1.7f * values[i], "%s: y[%d] is %g", row->name, i, (double)result[i]);
        args.count = -1;
        check_status(quern_scale(device.quern, &args, device.stream), QUERN_INVALID_SHAPE);
        buffer_close(&x), buffer_close(&y);
        device_close(&device);
    }
    check(rows == 1, "%d rows", rows);
}
