"""Registers the operators of quern_torch.so with PyTorch, and finds the device and stream of a tensor."""
from __future__ import annotations

import ctypes
import os
from pathlib import Path

import torch

import quern
from quern import _c

DTYPES = {torch.float32: _c.QUERN_F32, torch.float16: _c.QUERN_F16, torch.bfloat16: _c.QUERN_BF16,
          torch.float8_e4m3fn: _c.QUERN_E4M3, torch.float8_e5m2: _c.QUERN_E5M2, torch.int32: _c.QUERN_INT32,
          torch.int64: _c.QUERN_INT64}

_FIND = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)


def handle_of(kind: str, ordinal: int) -> ctypes.c_void_p:
    """The handle of a device, which must not be opened while a graph is captured."""
    if kind == "cuda" and ("cuda", ordinal) not in quern._devices and torch.cuda.is_current_stream_capturing():
        raise RuntimeError(f'the first call on cuda:{ordinal} is inside of a capture: call quern.prepare("cuda", {ordinal}) before it')
    return quern.device(kind, ordinal)


@_FIND
def _find(kind, ordinal, why, room):
    """For quern_torch.so, once for each device."""
    try:
        return handle_of("cuda" if kind == _c.QUERN_CUDA else "cpu", ordinal).value
    except Exception as failure:
        text = str(failure).encode()[:room - 1] + b"\0"
        ctypes.memmove(why, text, len(text))
        return None


def _library(name: str):
    path = Path(torch.__file__).parent / "lib" / name
    return ctypes.CDLL(str(path))._handle if path.exists() else None


_shim = ctypes.CDLL(str(quern.FOLDER / "quern_torch.so"))
_shim.quern_torch_register.restype = ctypes.c_char_p
_shim.quern_torch_register.argtypes = [ctypes.c_void_p, ctypes.c_void_p, _FIND]
if _why := _shim.quern_torch_register(_library("libtorch_cpu.so"), _library("libtorch_cuda.so"), _find):
    raise ImportError(_why.decode())


# ---- what each call asks ----

_is_set = "QUERN_THREADS" in os.environ
_shim.quern_torch_threads.restype = _c.quern_parallel_for
_hook = _shim.quern_torch_threads()   # false where PyTorch does not lend its threads


def follow_threads() -> None:
    """CPU calls run on PyTorch's threads, or on as many as it has now, unless QUERN_THREADS or quern.set_threads says another number."""
    threads = torch.get_num_threads()
    if (quern._threads == threads and quern._hook is _hook) or _is_set or quern._chosen:
        return
    quern._follow(threads, _hook)


def _forget_threads() -> None:
    """In a fork, where those of PyTorch are not: the library has a pool of its own there."""
    global _hook
    _hook = _c.quern_parallel_for()


os.register_at_fork(after_in_child=_forget_threads)


def place(tensor: torch.Tensor) -> tuple[ctypes.c_void_p, int | None]:
    """The handle of a tensor's device, and the current stream there."""
    if tensor.device.type == "cpu":
        follow_threads()
        return quern.device(), None
    if tensor.device.type != "cuda":
        raise quern.error(_c.QUERN_NOT_SUPPORTED, f"a tensor is on {tensor.device}: expected cpu or cuda")
    ordinal = tensor.device.index
    return handle_of("cuda", ordinal), torch.cuda.current_stream(ordinal).cuda_stream


def dtype_of(tensor: torch.Tensor, what: str, expected: tuple[torch.dtype, ...]) -> int:
    if tensor.dtype not in expected:
        raise quern.error(_c.QUERN_INVALID_DTYPE, f"{what} has {tensor.dtype}: expected "
                          f"{', '.join(str(dtype).removeprefix('torch.') for dtype in expected)}")
    return DTYPES[tensor.dtype]
