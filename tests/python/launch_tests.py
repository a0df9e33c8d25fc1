"""Launches of quern.jax's ragged all-to-all that overlap, without JAX: its handler is called by hand, in the worst order."""
from __future__ import annotations

import ctypes
import os
import sys
import threading
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_float, c_int, c_int32, c_int64, c_size_t, c_void_p

import numpy

import quern
from harness import main

RANKS, ROWS = 2, 4
F32, S32, SCALAR = 11, 4, 3   # XLA_FFI_DataType, XLA_FFI_AttrType
LONG = 60.0                   # seconds that a call waits which must not wait in vain


class Base(Structure):
    _fields_ = [("struct_size", c_size_t), ("extension", c_void_p)]


class ErrorCreate(Base):
    _fields_ = [("message", c_char_p), ("code", c_int)]


class RunIdGet(Base):
    _fields_ = [("context", c_void_p), ("run_id", c_int64)]


ERROR_CREATE = CFUNCTYPE(c_void_p, POINTER(ErrorCreate))
RUN_ID_GET = CFUNCTYPE(c_void_p, POINTER(RunIdGet))


class Api(Base):
    _fields_ = [("version", c_size_t * 3), ("internal", c_void_p), ("error_create", ERROR_CREATE), ("unused", c_void_p * 15),
                ("run_id_get", RUN_ID_GET)]


class Buffer(Base):
    _fields_ = [("dtype", c_int), ("data", c_void_p), ("rank", c_int64), ("dims", POINTER(c_int64))]


class Text(Structure):
    _fields_ = [("at", c_char_p), ("length", c_size_t)]


class Scalar(Structure):
    _fields_ = [("dtype", c_int), ("value", c_void_p)]


class Buffers(Base):
    _fields_ = [("size", c_int64), ("types", POINTER(c_int)), ("buffers", POINTER(POINTER(Buffer)))]


class Attributes(Base):
    _fields_ = [("size", c_int64), ("types", POINTER(c_int)), ("names", POINTER(POINTER(Text))), ("values", POINTER(c_void_p))]


class Call(Base):
    _fields_ = [("api", POINTER(Api)), ("context", c_void_p), ("stage", c_int), ("arguments", Buffers), ("results", Buffers),
                ("attributes", Attributes)]


shim = ctypes.CDLL(str(quern.FOLDER / "quern_jax.so"))
shim.quern_jax_use.argtypes = [c_void_p]
handler = shim.quern_jax_ragged_all_to_all
handler.restype, handler.argtypes = c_void_p, [POINTER(Call)]
shim.quern_jax_use(quern.device())
shim.quern_jax_name(f"launches{os.getpid()}".encode())


class OneCall(threading.Thread):
    """The call of a launch on a device, which sends each device a row with `value`."""

    def __init__(self, run: int, rank: int, value: float, timeout: float = LONG, tells_run: bool = True):
        super().__init__()
        self.error, self.has_asked = "", threading.Event()
        self.output = numpy.zeros((ROWS, 1), numpy.float32)
        whole = lambda *values: numpy.array(values, numpy.int32)  # noqa: E731
        places = whole(*range(RANKS))
        one = numpy.ones(RANKS, numpy.int32)
        self.arrays = [numpy.array(rank, numpy.int32), numpy.array(0, numpy.int32), numpy.full((ROWS, 1), value, numpy.float32),
                       self.output, places, one, numpy.full(RANKS, rank, numpy.int32), one]
        self.api = Api(struct_size=ctypes.sizeof(Api) if tells_run else Api.run_id_get.offset)
        self.api.error_create = ERROR_CREATE(self.fails)
        self.api.run_id_get = RUN_ID_GET(lambda get: self.asks(get, run))
        self.call = self.frame(timeout)
        self.start()

    def fails(self, create) -> int:
        self.error = create[0].message.decode()
        return 1

    def asks(self, get, run: int) -> None:
        get[0].run_id = run
        self.has_asked.set()

    def frame(self, timeout: float) -> Call:
        buffers = [Buffer(dtype=F32 if each.dtype == numpy.float32 else S32, data=each.ctypes.data, rank=each.ndim,
                          dims=(c_int64 * 4)(*each.shape)) for each in self.arrays]
        values = {b"ranks": c_int32(RANKS), b"element_bytes": c_int32(4), b"timeout": c_float(timeout),
                  b"check_overlap": c_int32(0)}
        scalars = [Scalar(value=ctypes.addressof(each)) for each in values.values()]
        names = [Text(name, len(name)) for name in values]
        self.kept = buffers, values, scalars, names
        pointers = lambda kind, items: (POINTER(kind) * len(items))(*map(ctypes.pointer, items))  # noqa: E731
        return Call(api=ctypes.pointer(self.api),
                    arguments=Buffers(size=len(buffers), buffers=pointers(Buffer, buffers)),
                    results=Buffers(size=1, buffers=pointers(Buffer, buffers[3:4])),
                    attributes=Attributes(size=len(values), types=(c_int * len(values))(*[SCALAR] * len(values)),
                                          names=pointers(Text, names),
                                          values=(c_void_p * len(values))(*map(ctypes.addressof, scalars))))

    def run(self) -> None:
        handler(ctypes.byref(self.call))

    def received(self) -> list[float]:
        """What has come from each device."""
        self.join()
        assert not self.error, self.error
        return self.output[:RANKS, 0].tolist()


def test_launches_that_overlap():
    """Each device runs another launch first."""
    for _ in range(20):
        first = [OneCall(1, 0, 10), OneCall(2, 1, 21)]
        for each in first:
            assert each.has_asked.wait(LONG)
        second = [OneCall(2, 0, 20), OneCall(1, 1, 11)]
        assert [each.received() for each in (first[0], second[1])] == [[10, 11]] * 2
        assert [each.received() for each in (second[0], first[1])] == [[20, 21]] * 2


def test_a_call_that_does_not_come():
    """It is named, and the next launch is whole."""
    for rank in (1, 0):
        alone = OneCall(5, rank, 0, timeout=0.01)
        alone.join()
        assert alone.error == (f"QUERN_PEER_TIMEOUT: device {rank} of 2 waited 0.01 s for the calls of this launch on 1 devices, "
                               "which XLA has not run")
    assert [each.received() for each in (OneCall(6, 0, 1), OneCall(6, 1, 2))] == [[1, 2]] * 2


def test_without_numbers_of_launches():
    """Two calls on one device are refused, since nobody knows which belongs to the other device's."""
    calls = [OneCall(0, 0, 1, tells_run=False), OneCall(0, 0, 2, tells_run=False)]
    while not any(each.error for each in calls):
        assert any(each.is_alive() for each in calls)
    refused, kept = sorted(calls, key=lambda each: not each.error)
    assert refused.error == ("QUERN_NOT_SUPPORTED: two launches exchange at once on device 0 of 2, which this jaxlib does not tell "
                             "apart: expected jaxlib 0.5.3, or launches from one thread")
    other = OneCall(0, 1, 3, tells_run=False)
    assert kept.received() == other.received() and other.received()[1] == 3


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
