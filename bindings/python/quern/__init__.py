"""Fused kernels for training: the library, its devices and its errors.

The operations are in quern.torch, quern.jax and quern.numpy.  quern.lib has every function of quern.h, by ctypes, and quern._c its
structs and constants.
"""
from __future__ import annotations

import ctypes
import os
import re
import threading
from pathlib import Path

from . import _c

__version__ = f"{_c.QUERN_VERSION_MAJOR}.{_c.QUERN_VERSION_MINOR}.{_c.QUERN_VERSION_PATCH}"

FOLDER = Path(__file__).parent
# The file has the soname, so that the shims of PyTorch and JAX find the same one.
lib = _c.load(str(next(FOLDER.glob("libquern.so.*"))))
if lib.quern_version() != _c.QUERN_VERSION:
    raise ImportError(f"{FOLDER} has a libquern of version {lib.quern_version()}: expected {_c.QUERN_VERSION}")


# ---- errors ----


class Error(RuntimeError):
    """A call has failed.  status: the number of quern_status; name: its name; blame: the responsible party."""

    def __init__(self, status: int, detail: str) -> None:
        self.status, self.detail = status, detail
        self.name, self.blame = lib.quern_status_string(status).decode(), lib.quern_status_blame(status).decode()
        super().__init__(f"{self.name}: {detail}")


class ArgumentError(Error, ValueError):
    """1xxx: an argument is wrong.  No work was started."""


class NotSupported(Error, NotImplementedError):
    """2xxx: a valid request that this library or device cannot serve."""


class OutOfMemory(Error, MemoryError):
    """3000."""


class SystemFailed(Error, OSError):
    """Other 3xxx: the system failed."""

    def __str__(self) -> str:
        return f"{self.name}: {self.detail}"


class PeerError(Error, ConnectionError):
    """4xxx: another rank is missing, has ended, or made another call."""

    def __str__(self) -> str:
        return f"{self.name}: {self.detail}"


def error(status: int, detail: str) -> Error:
    """The exception of a status."""
    kinds = {1: ArgumentError, 2: NotSupported, 3: OutOfMemory if status == _c.QUERN_OUT_OF_MEMORY else SystemFailed, 4: PeerError}
    return kinds[status // 1000](status, detail)


def detail() -> str:
    """The reason of this thread's last failed call."""
    text = ctypes.create_string_buffer(256)
    lib.quern_error_detail(text, len(text))
    return text.value.decode(errors="replace")


def check(status: int) -> None:
    """Raises the exception of a status, unless it is QUERN_OK."""
    if status:
        raise error(status, detail())


_STATUS = {lib.quern_status_string(value).decode(): value for name, value in vars(_c).items()
           if name.startswith("QUERN_") and isinstance(value, int) and 1000 <= value < 5000
           and lib.quern_status_string(value).decode() == name}


def translated(failure: RuntimeError) -> Exception:
    """The library's exception for an error that a framework has raised for it, which has the name of the status in its text."""
    for found in re.finditer(r"(QUERN_[A-Z_]+): (.*)", str(failure)):   # its details may name other constants
        if found[1] in _STATUS:
            return error(_STATUS[found[1]], found[2])
    return failure


# ---- devices ----

KINDS = {"cpu": _c.QUERN_CPU, "cuda": _c.QUERN_CUDA}
_OPERATIONS = (_c.QUERN_CROSS_ENTROPY | _c.QUERN_ADAM | _c.QUERN_QUANTIZE | _c.QUERN_RAGGED_ALL_TO_ALL | _c.QUERN_COLLECTIVE
               | _c.QUERN_BARRIER)
_devices: dict[tuple[str, int], ctypes.c_void_p] = {}
_lock = threading.Lock()
_threads = 0       # of the CPU; 0: the library's default
_hook = _c.quern_parallel_for()   # false: the library's own threads
_chosen = False    # whether set_threads has chosen them


def _set_threads(handle: ctypes.c_void_p) -> None:
    check(lib.quern_set_threads(handle, _threads, _hook, None))


def device(kind: str = "cpu", ordinal: int = 0) -> ctypes.c_void_p:
    """The handle of a device for quern.lib, opened and prepared by the first call, one for the process."""
    handle = _devices.get((kind, ordinal))
    if handle is None:
        with _lock:
            handle = _devices.get((kind, ordinal)) or _open(kind, ordinal)
    return handle


def _open(kind: str, ordinal: int) -> ctypes.c_void_p:
    handle = ctypes.c_void_p()
    check(lib.quern_device_open(KINDS[kind], ordinal, ctypes.byref(handle)))
    try:
        if kind == "cpu":
            _set_threads(handle)
        check(lib.quern_prepare(handle, _OPERATIONS & _built()))
    except Error:
        lib.quern_device_close(handle)
        raise
    _devices[kind, ordinal] = handle
    return handle


def _built() -> int:
    """The operations of this library: a build may have chosen some."""
    words = build_info()["operations"].split()
    return sum(value for name, value in vars(_c).items()
               if name.startswith("QUERN_") and name[6:].lower() in words and isinstance(value, int))


def prepare(kind: str = "cpu", ordinal: int = 0) -> None:
    """Opens a device and loads its kernels now, and not in the first call: before a stream is captured, for instance."""
    device(kind, ordinal)


def set_threads(threads: int = 0) -> None:
    """The number of threads of CPU calls; 0: QUERN_THREADS, else OMP_NUM_THREADS, else the cores that this process may use.

    quern.torch follows torch.get_num_threads() until a number is set here or by QUERN_THREADS.
    """
    global _chosen
    _follow(threads or _default_threads())
    _chosen = threads > 0


def _follow(threads: int, hook=_hook) -> None:
    global _threads, _hook
    with _lock:
        before, _threads, _hook = (_threads, _hook), threads, hook
        try:
            if ("cpu", 0) in _devices:
                _set_threads(_devices["cpu", 0])
        except Error:
            _threads, _hook = before
            raise


def _default_threads() -> int:
    """0 leaves it to the library."""
    wanted = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return int(wanted) if "QUERN_THREADS" not in os.environ and wanted.isdecimal() else 0


_threads = _default_threads()


# ---- what there is ----


def build_info() -> dict[str, str]:
    """What the library was built with: version, targets, operations, compiler, nvcc."""
    return dict(line.split(": ", 1) for line in lib.quern_build_info().decode().splitlines())


def report(kind: str = "cpu", ordinal: int = 0) -> str:
    """A line for each target of the library: whether this device can use it, or why not."""
    return _text(lib.quern_device_report, device(kind, ordinal))


def _text(function, *arguments) -> str:
    """What a function writes into a buffer, whole."""
    text = ctypes.create_string_buffer(1 + function(*arguments, None, 0))
    function(*arguments, text, len(text))
    return text.value.decode(errors="replace")


def _count(kind: str) -> int:
    count = ctypes.c_int()
    check(lib.quern_device_count(KINDS[kind], ctypes.byref(count)))
    return count.value


def devices() -> list[tuple[str, int]]:
    """The devices of this machine, as (kind, ordinal)."""
    return [(kind, ordinal) for kind in KINDS for ordinal in range(_count(kind))]


def arguments(name: str, /, **fields):
    """A struct of quern.h with its defaults and these fields: arguments("adam_args", lr=1e-3)."""
    made = getattr(_c, f"quern_{name}")()
    getattr(lib, f"quern_{name}_init")(ctypes.byref(made))
    for field, value in fields.items():
        setattr(made, field, value)
    return made


def explain(operation: str, /, kind: str = "cpu", ordinal: int = 0, **fields) -> str:
    """The kernel that serves the arguments of an operation, and the reasons against those before it.

    explain("cross_entropy", logits_dtype=quern._c.QUERN_BF16, ...)
    """
    given = arguments(f"{operation}_args", **fields)
    return _text(getattr(lib, f"quern_{operation}_explain"), device(kind, ordinal), ctypes.byref(given))


