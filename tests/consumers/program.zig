//! A step of Adam from Zig, with the header as `zig translate-c` reads it.  tests/consumers/run.sh builds it if there is Zig.
const c = @import("quern.zig");

pub export fn main() c_int {
    var device: ?*c.quern_device = null;
    if (c.quern_device_open(c.QUERN_CPU, 0, &device) != c.QUERN_OK) return 1;
    defer c.quern_device_close(device);
    if (c.quern_prepare(device, c.QUERN_ADAM) != c.QUERN_OK) return 2;

    var param = [_]f32{ 1, 1, 1 };
    var grad = [_]f32{ -1, 1, 1 };
    var m = [_]f32{ 0, 0, 0 };
    var v = [_]f32{ 0, 0, 0 };
    var tensor = c.quern_adam_tensor{ .param = &param, .grad = &grad, .m = &m, .v = &v, .count = 3 };
    var args: c.quern_adam_args = undefined;
    c.quern_adam_args_init(&args);
    args.param_dtype = c.QUERN_F32;
    args.grad_dtype = c.QUERN_F32;
    args.m_dtype = c.QUERN_F32;
    args.v_dtype = c.QUERN_F32;
    args.tensors = &tensor;
    args.tensor_count = 1;
    args.lr = 0.5;
    args.step = 1;
    if (c.quern_adam(device, &args, null, 0, null) != c.QUERN_OK) return 3;
    return if (param[0] > 1.49 and param[1] < 0.51) 0 else 4;
}
