"""The operators of quern_torch.so on the tensors of an emulated GPU, over a stand-in for libtorch (stand_in.c).

The environment names the emulator, and STAND_IN the built stand-in.
"""
from __future__ import annotations

import ctypes
import os
import struct
import sys
from ctypes import CFUNCTYPE, POINTER, byref, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

import numpy

import quern
import quern.numpy
from harness import main
from numpy_tests import case, near, oracle
from quern import _c

cuda = ctypes.CDLL("libcuda.so.1")
stand_in = ctypes.CDLL(os.environ["STAND_IN"])
stand_in.stand_in_run.restype = c_char_p
stand_in.stand_in_run.argtypes = [c_void_p, POINTER(c_uint64), c_uint64, c_uint64]

DTYPES = {numpy.dtype(numpy.uint8): 0, numpy.dtype(numpy.int64): 4, numpy.dtype(numpy.float16): 5, numpy.dtype(numpy.float32): 6}
BY_NUMBER = {number: dtype for dtype, number in DTYPES.items()}
live: dict[int, Tensor] = {}     # by the handles that the shim has
operators: dict[tuple[str, str], int] = {}
streams_asked: list[int] = []


def driver(name: str, *arguments) -> None:
    status = getattr(cuda, name)(*arguments)
    assert status == 0, f"{name}: {status}"


class Tensor:
    """Memory of the emulated GPU.  is_ours: the caller has a reference, too."""

    is_ours = False

    def __init__(self, shape, dtype, values=None) -> None:
        self.shape, self.dtype = tuple(shape), numpy.dtype(dtype)
        self.sizes = (c_int64 * max(len(shape), 1))(*shape)
        strides = [int(numpy.prod(shape[i + 1:])) for i in range(len(shape))]
        self.strides = (c_int64 * max(len(shape), 1))(*strides)
        self.bytes = max(1, int(numpy.prod(shape)) * self.dtype.itemsize)
        self.address = c_uint64()
        driver("cuMemAlloc_v2", byref(self.address), c_size_t(self.bytes))
        if values is not None:
            kept = numpy.ascontiguousarray(values, dtype)
            driver("cuMemcpyHtoD_v2", self.address, kept.ctypes.data_as(c_void_p), c_size_t(kept.nbytes))
        self.handle = 0x1000 + 16 * len(live)
        while self.handle in live:
            self.handle += 16
        live[self.handle] = self

    def values(self) -> numpy.ndarray:
        driver("cuCtxSynchronize")
        found = numpy.empty(self.shape, self.dtype)
        driver("cuMemcpyDtoH_v2", found.ctypes.data_as(c_void_p), self.address, c_size_t(found.nbytes))
        return found


def release(handle) -> int:
    tensor = live.pop(handle)
    driver("cuCtxSynchronize")   # PyTorch's allocator does not wait, but its memory stays valid in the order of the stream
    if not tensor.is_ours:
        driver("cuMemFree_v2", tensor.address)
    return 0


def put(pointer, value) -> int:
    pointer[0] = value
    return 0


def empty(count, sizes, strides, dtype, kind, index, made) -> int:
    assert (kind, index) == (1, 0), "a result is on another device"
    return put(made, Tensor([sizes[i] for i in range(count)], BY_NUMBER[dtype]).handle)


def library(key):
    libraries.append(key)
    return len(libraries)


libraries: list[str] = []
I32, I64, VOID = POINTER(c_int32), POINTER(POINTER(c_int64)), POINTER(c_void_p)
CALLS = {
    "get_data_ptr": (CFUNCTYPE(c_int32, c_void_p, VOID), lambda given, data: put(data, live[given].address.value)),
    "get_dim": (CFUNCTYPE(c_int32, c_void_p, POINTER(c_int64)), lambda given, count: put(count, len(live[given].shape))),
    "get_numel": (CFUNCTYPE(c_int32, c_void_p, POINTER(c_int64)),
                  lambda given, count: put(count, int(numpy.prod(live[given].shape)))),
    "get_sizes": (CFUNCTYPE(c_int32, c_void_p, I64), lambda given, sizes: put(sizes, live[given].sizes)),
    "get_strides": (CFUNCTYPE(c_int32, c_void_p, I64), lambda given, strides: put(strides, live[given].strides)),
    "get_dtype": (CFUNCTYPE(c_int32, c_void_p, I32), lambda given, dtype: put(dtype, DTYPES[live[given].dtype])),
    "get_device_type": (CFUNCTYPE(c_int32, c_void_p, I32), lambda given, kind: put(kind, 1)),
    "get_device_index": (CFUNCTYPE(c_int32, c_void_p, I32), lambda given, index: put(index, 0)),
    "delete_tensor_object": (CFUNCTYPE(c_int32, c_void_p), release),
    "empty_strided": (CFUNCTYPE(c_int32, c_int64, POINTER(c_int64), POINTER(c_int64), c_int32, c_int32, c_int32, VOID), empty),
    "library_init_fragment": (CFUNCTYPE(c_int32, c_char_p, c_char_p, c_uint32, VOID),
                              lambda name, file, line, made: put(made, library("definitions"))),
    "library_init_impl": (CFUNCTYPE(c_int32, c_char_p, c_char_p, c_char_p, c_uint32, VOID),
                          lambda name, key, file, line, made: put(made, library(key.decode()))),
    "library_def": (CFUNCTYPE(c_int32, c_void_p, c_char_p), lambda number, schema: 0),
    "library_impl": (CFUNCTYPE(c_int32, c_void_p, c_char_p, c_void_p),
                     lambda number, name, function: operators.setdefault((libraries[number - 1], name.decode()), function) and 0),
    "get_current_cuda_stream": (CFUNCTYPE(c_int32, c_int32, VOID),
                                lambda index, made: streams_asked.append(index) or put(made, stream.value)),
}
kept_calls = {}
for call_name, (kind, function) in CALLS.items():
    kept_calls[call_name] = kind(function)
    c_void_p.in_dll(stand_in, f"stand_in_{call_name}").value = ctypes.cast(kept_calls[call_name], c_void_p).value

FIND = CFUNCTYPE(c_void_p, ctypes.c_int, ctypes.c_int, c_void_p, c_size_t)


@FIND
def find(kind, ordinal, why, room):
    return quern.device("cuda" if kind == _c.QUERN_CUDA else "cpu", ordinal).value


shim = ctypes.CDLL(str(quern.FOLDER / "quern_torch.so"))
shim.quern_torch_register.restype = c_char_p
shim.quern_torch_register.argtypes = [c_void_p, c_void_p, FIND]
quern.device("cuda", 0)          # makes the primary context, which is current from here on
context, stream = c_void_p(), c_void_p()
driver("cuDevicePrimaryCtxRetain", byref(context), 0)
driver("cuCtxSetCurrent", context)
driver("cuStreamCreate", byref(stream), 1)
problem = shim.quern_torch_register(stand_in._handle, stand_in._handle, find)
assert problem is None, problem


def real(value: float) -> int:
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def run(name: str, logits: Tensor, labels: Tensor, *more, weight: Tensor | None = None, reduction: int = 2, smoothing: float = 0.0,
        portable: int = 0, outputs: int = 1) -> list[Tensor]:
    """Calls an operator as PyTorch does.  It owns the tensors of its arguments."""
    boxed = (c_uint64 * 1)(weight.handle) if weight else None
    words = [logits.handle, labels.handle, ctypes.addressof(boxed) if boxed else 0, logits.shape[1], reduction, (-100) % 2**64,
             real(smoothing), real(0.0), real(0.0), 0, portable, *more]
    return call(name, words, outputs)


def call(name: str, words: list[int], outputs: int) -> list[Tensor]:
    stack = (c_uint64 * max(len(words), outputs))(*words)
    streams_asked.clear()
    failed = stand_in.stand_in_run(operators["CUDA", name], stack, len(words), outputs)
    if failed:
        raise RuntimeError(failed.decode())
    assert streams_asked == [0], "the operator asks for the current stream of its device, once"
    return [live[stack[i]] for i in range(outputs)]


def device_case(dtype=numpy.float32):
    logits, labels = case(21, 130, dtype)
    return logits, labels, Tensor(logits.shape, dtype, logits), Tensor(labels.shape, numpy.int64, labels)


def test_all_operators_are_there_for_both_devices():
    names = {name for key, name in operators if key == "CPU"}
    assert len(names) == 13 and names == {name for key, name in operators if key == "CUDA"}


def test_loss_and_gradient():
    for dtype, tolerance in ((numpy.float32, 1e-6), (numpy.float16, 1e-3)):
        weights = numpy.linspace(0.5, 2, 130).astype(numpy.float32)
        for given in (None, weights):
            logits, labels, x, y = device_case(dtype)
            loss, gradient, divisor, _ = oracle(logits, labels, given, smoothing=0.1)
            box = lambda: None if given is None else Tensor(given.shape, numpy.float32, given)  # noqa: E731
            found, stats = run("cross_entropy", x, y, weight=box(), smoothing=0.1, outputs=2)
            near(found.values(), loss.sum() / divisor, 2e-6)
            kept = stats.values()
            x, y = Tensor(logits.shape, dtype, logits), Tensor(labels.shape, numpy.int64, labels)
            upstream = Tensor((), numpy.float32, -3.0)
            grad, = run("cross_entropy_gradient", x, y, stats.handle, upstream.handle, weight=box(), smoothing=0.1)
            near(grad.values(), gradient / divisor * -3, tolerance)
            x, y = Tensor(logits.shape, dtype, logits), Tensor(labels.shape, numpy.int64, labels)
            again, rows, grad = run("cross_entropy_and_gradient", x, y, weight=box(), smoothing=0.1, outputs=3)
            near(grad.values(), gradient / divisor, tolerance)
            assert again.values() == found.values() and (rows.values() == kept).all()


def test_portable_bits_are_those_of_the_cpu():
    for dtype in (numpy.float32, numpy.float16):
        logits, labels, x, y = device_case(dtype)
        losses, _, grad = run("cross_entropy_and_gradient", x, y, reduction=0, portable=1, outputs=3)
        found = quern.numpy.cross_entropy(logits, labels, reduction="none", grad=True, portable=True)
        assert losses.values().tobytes() == found.loss.tobytes() and grad.values().tobytes() == found.grad.tobytes(), dtype


def test_log_prob_and_entropy():
    """At a temperature of 1 / 2, with an upstream gradient of each: rows of log_prob are those of the loss, negated."""
    logits, labels, x, y = device_case()
    log_p = logits.astype(numpy.float64) * 2
    log_p -= numpy.log(numpy.exp(log_p).sum(1, keepdims=True))
    p, counted = numpy.exp(log_p), labels >= 0
    expected = -(p * log_p).sum(1)
    log_prob, entropy, stats = run("policy", x, y, real(2.0), reduction=0, outputs=3)
    near(log_prob.values()[counted], log_p[counted, labels[counted]], 1e-6)
    near(entropy.values()[counted], expected[counted], 1e-6)
    x, y = Tensor(logits.shape, numpy.float32, logits), Tensor(labels.shape, numpy.int64, labels)
    of_loss, of_entropy = (numpy.linspace(-1, 2, 21).astype(numpy.float32) * sign for sign in (1, -0.5))
    upstream = [Tensor(each.shape, numpy.float32, each) for each in (of_loss, of_entropy)]
    grad, = run("policy_gradient", x, y, real(2.0), stats.handle, *(each.handle for each in upstream), reduction=0)
    hot = numpy.zeros_like(p)
    hot[counted, labels[counted]] = 1
    exact = 2 * (of_loss[:, None] * (p - hot) - of_entropy[:, None] * p * (log_p + expected[:, None]))
    near(grad.values(), exact * counted[:, None], 1e-6)


def test_lists_and_divergences():
    """The forward KL divergence from the probabilities of three columns, with its gradient, at a temperature of 1 / 2."""
    logits, labels, x, y = device_case()
    log_p = logits.astype(numpy.float64) * 2
    log_p -= numpy.log(numpy.exp(log_p).sum(1, keepdims=True))
    counted, rows = labels >= 0, numpy.arange(21)[:, None]
    ids = ((numpy.arange(21)[:, None] * 5 + numpy.arange(3) * 40) % 130).astype(numpy.int64)
    given = (c_uint64 * 1)(Tensor(ids.shape, numpy.int64, ids).handle)
    largest, top, own = run("log_probs", x, y, real(2.0), 4, ctypes.addressof(given), reduction=0, outputs=3)
    order = numpy.argsort(-logits.astype(numpy.float64), 1, kind="stable")[:, :4]
    assert (largest.values()[counted] == order[counted]).all() and (largest.values()[~counted] == -1).all()
    near(top.values()[counted], log_p[rows, order][counted], 1e-6)
    near(own.values()[counted], log_p[rows, ids][counted], 1e-6)
    targets = numpy.full((21, 3), 0.25, numpy.float32)
    x, y = Tensor(logits.shape, numpy.float32, logits), Tensor(labels.shape, numpy.int64, labels)

    boxes = []

    def arguments():
        boxes.append((c_uint64 * 1)(Tensor(ids.shape, numpy.int64, ids).handle))
        return real(2.0), ctypes.addressof(boxes[-1]), Tensor(targets.shape, numpy.float32, targets).handle, 0, 0

    found, own, stats = run("divergence", x, y, *arguments(), reduction=0, outputs=3)
    expected = (0.25 * (numpy.log(0.25) - log_p[rows, ids])).sum(1)
    near(found.values()[counted], expected[counted], 1e-6)
    x, y = Tensor(logits.shape, numpy.float32, logits), Tensor(labels.shape, numpy.int64, labels)
    upstream = numpy.linspace(-1, 2, 21).astype(numpy.float32)
    of_loss, of_divergence = (Tensor((21,), numpy.float32, each).handle for each in (numpy.zeros(21, numpy.float32), upstream))
    grad, = run("divergence_gradient", x, y, *arguments(), own.handle, stats.handle, of_loss, of_divergence, reduction=0)
    exact = 0.75 * numpy.exp(log_p)
    exact[rows, ids] -= 0.25
    near(grad.values(), 2 * upstream[:, None] * exact * counted[:, None], 1e-6)
    x, y = Tensor(logits.shape, numpy.float32, logits), Tensor(labels.shape, numpy.int64, labels)
    soft = Tensor(logits.shape, numpy.float32, numpy.full(logits.shape, 1 / 128, numpy.float32))
    found, _, _ = run("divergence", x, y, real(2.0), 0, soft.handle, 0, 0, reduction=0, outputs=3)
    near(found.values()[counted], ((numpy.log(1 / 128) - log_p) / 128).sum(1)[counted], 1e-6)


def test_in_place_and_rows():
    logits, labels, x, y = device_case()
    loss, gradient, _, _ = oracle(logits, labels)
    rows, = run("cross_entropy_loss", x, y, reduction=0)
    near(rows.values(), loss, 2e-6)
    x, y = Tensor(logits.shape, numpy.float32, logits), Tensor(labels.shape, numpy.int64, labels)
    x.is_ours = True
    total, = run("cross_entropy_", x, y, real(2.0), reduction=1)
    near(total.values(), loss.sum(), 2e-6)
    near(x.values(), gradient * 2, 1e-6)


def test_upstream_gradients_come_late():
    given = numpy.arange(21 * 130, dtype=numpy.float32).reshape(21, 130)
    rows = numpy.linspace(-1, 1, 21).astype(numpy.float32)
    for upstream, factor in ((numpy.float32(1), 1), (numpy.float32(-2), -2), (rows, rows[:, None])):
        grad = Tensor(given.shape, numpy.float32, given)
        grad.is_ours = True
        call("cross_entropy_upstream_", [grad.handle, Tensor(upstream.shape, numpy.float32, upstream).handle], 0)
        assert (grad.values() == given * factor).all()


def test_outputs():
    logits, labels, x, y = device_case()
    found = run("cross_entropy_outputs", x, y, outputs=6)
    counted = labels >= 0
    near(found[2].values()[counted], oracle(logits, labels)[3][counted], 1e-6)
    assert (found[5].values()[counted] == logits.argmax(1)[counted]).all()


def test_a_failure_is_thrown_and_nothing_stays():
    logits, labels, x, y = device_case()
    before = len(live) - 2
    try:
        run("cross_entropy", x, y, smoothing=7.0, outputs=2)
    except RuntimeError as failure:
        assert "QUERN_INVALID_ARGUMENT: args.label_smoothing" in str(failure), failure
    else:
        raise AssertionError("no error")
    assert len(live) == before, "tensors of a failed call are still held"


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
