"""Calls both operations from Python, through the shared library and ctypes; ../README.md shows how to run it.

The structs are those of quern.h.  Each ends with room for its other fields, which the library's initialiser sets.
"""

import sys
from ctypes import CDLL, POINTER, Structure, byref, cast, create_string_buffer
from ctypes import c_char_p, c_double, c_float, c_int32, c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p

CPU, CROSS_ENTROPY, ADAM, F32, INT32 = 1, 1, 2, 1, 16


def fields(kind, names):
    return [(name, kind) for name in names.split()]


ROOM = fields(c_uint8 * 256, "room")


class CrossEntropyArgs(Structure):
    _fields_ = [*fields(c_uint32, "size"), *fields(c_int32, "logits_dtype labels_dtype reduction"), *fields(c_int64, "rows vocab"),
                *fields(c_void_p, "logits"), *fields(c_int64, "logits_stride"), *fields(c_void_p, "labels"),
                *fields(c_int64, "ignore_index"), *fields(c_void_p, "loss grad"), *fields(c_int32, "grad_dtype"),
                *fields(c_int64, "grad_stride"), *ROOM]


class AdamTensor(Structure):
    _fields_ = [*fields(c_void_p, "param grad m v master"), *fields(c_int64, "count"),
                *fields(c_void_p, "m_scale v_scale v_max v_max_scale copy copy_scale copy_max"),
                *fields(c_float, "lr_multiplier weight_decay_multiplier")]


class AdamArgs(Structure):
    _fields_ = [*fields(c_uint32, "size tensor_size"), *fields(c_int32, "param_dtype grad_dtype m_dtype v_dtype master_dtype mode"),
                *fields(POINTER(AdamTensor), "tensors"), *fields(c_int64, "tensor_count"),
                *fields(c_double, "lr beta1 beta2 eps weight_decay"), *fields(c_int64, "step"), *fields(c_uint64, "seed"), *ROOM]


quern = CDLL(sys.argv[1] if sys.argv[1:] else "libquern.so")
quern.quern_build_info.restype = c_char_p


def check(status):
    if status != 0:
        detail = create_string_buffer(1024)
        quern.quern_error_detail(detail, c_size_t(len(detail)))
        sys.exit(detail.value.decode())


def address(array):
    return cast(array, c_void_p)


device = c_void_p()
check(quern.quern_device_open(CPU, 0, byref(device)))
check(quern.quern_prepare(device, CROSS_ENTROPY | ADAM))

logits, labels, loss = (c_float * 6)(1, 2, 3, 0, 0, 0), (c_int32 * 2)(2, 0), (c_float * 2)()
args = CrossEntropyArgs()
quern.quern_cross_entropy_args_init(byref(args))
args.logits_dtype, args.labels_dtype, args.rows, args.vocab = F32, INT32, 2, 3
args.logits = args.grad = address(logits)
args.labels, args.loss = address(labels), address(loss)
needed = c_size_t()
check(quern.quern_cross_entropy_workspace(device, byref(args), byref(needed)))
buffer = create_string_buffer(needed.value + 16)
workspace = c_void_p(address(buffer).value + 15 & ~15)  # 16-byte aligned
check(quern.quern_cross_entropy(device, byref(args), workspace, needed, None))

param, m, v = (c_float * 3)(1, 1, 1), (c_float * 3)(), (c_float * 3)()
tensor = AdamTensor(param=address(param), grad=address(logits).value + 12, m=address(m), v=address(v), count=3)
adam = AdamArgs()
quern.quern_adam_args_init(byref(adam))
adam.param_dtype = adam.grad_dtype = adam.m_dtype = adam.v_dtype = F32
adam.tensors, adam.tensor_count, adam.lr, adam.step = POINTER(AdamTensor)(tensor), 1, 0.5, 1
check(quern.quern_adam(device, byref(adam), None, c_size_t(0), None))
quern.quern_device_close(device)

print(quern.quern_build_info().decode(), end="")
print("losses {:.4f} {:.4f}, parameters {:.2f} {:.2f} {:.2f}".format(*loss, *param))
