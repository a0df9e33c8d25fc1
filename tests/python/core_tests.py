"""The package alone, in an environment without any other: declarations, errors, devices, threads, python -m quern, fork."""
from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import quern
from harness import main, raises, run_snippets
from quern import _c


def test_every_function_is_there():
    for name in _c._FUNCTIONS:
        assert getattr(quern.lib, name)


def test_sizes_of_structs_are_those_of_the_library():
    """The initialiser writes sizeof into the lower half of size."""
    checked = 0
    for name in _c._FUNCTIONS:
        if name.endswith("_init"):
            struct = getattr(_c, name.removesuffix("_init"))
            if struct._fields_[0][0] != "size":
                continue
            made = struct()
            getattr(quern.lib, name)(ctypes.byref(made))
            assert made.size & 0xFFFF == ctypes.sizeof(struct), f"{name}: {made.size & 0xFFFF} and {ctypes.sizeof(struct)}"
            checked += 1
    assert checked > 10


def test_each_status_has_its_exception():
    kinds = {1000: ValueError, 1004: ValueError, 2001: NotImplementedError, 3000: MemoryError, 3002: OSError, 4000: ConnectionError,
             4002: ConnectionError}
    for status, kind in kinds.items():
        failure = quern.error(status, "because")
        assert isinstance(failure, kind) and isinstance(failure, quern.Error) and isinstance(failure, RuntimeError)
        assert failure.status == status and failure.blame == quern.lib.quern_status_blame(status).decode()
        assert str(failure) == f"{quern.lib.quern_status_string(status).decode()}: because"


def test_an_error_of_a_framework_is_translated():
    failure = quern.translated(RuntimeError("INTERNAL: QUERN_PEER_LOST: rank 3 has ended\n at line 4"))
    assert isinstance(failure, quern.PeerError) and failure.status == _c.QUERN_PEER_LOST and failure.detail == "rank 3 has ended"
    other = RuntimeError("something else")
    assert quern.translated(other) is other


def test_a_failed_call_has_the_detail():
    args = quern.arguments("adam_args", step=0, tensor_count=0, param_dtype=_c.QUERN_F32, grad_dtype=_c.QUERN_F32,
                           m_dtype=_c.QUERN_F32, v_dtype=_c.QUERN_F32)
    raises(quern.ArgumentError, "args.step is 0", lambda: quern.check(
        quern.lib.quern_adam(quern.device(), ctypes.byref(args), None, 0, None)))


def test_a_struct_of_a_newer_header_is_refused():
    class Larger(_c.quern_adam_args):
        _fields_ = [("more", ctypes.c_int64)]

    args = Larger()
    quern.lib.quern_adam_args_init(ctypes.byref(args))
    args.size = _c.QUERN_STRUCT_MARK + ctypes.sizeof(Larger)
    status = quern.lib.quern_adam(quern.device(), ctypes.byref(args), None, 0, None)
    assert status == _c.QUERN_INVALID_STRUCT_SIZE, status


def test_a_device_that_is_not_there():
    raises(quern.NotSupported, "QUERN_NO_D", quern.device, "cuda", 99)


def test_one_handle_for_a_device():
    assert quern.device() is quern.device("cpu", 0)


def threads_of_cpu() -> int:
    info = quern.arguments("device_info")
    quern.check(quern.lib.quern_device_get_info(quern.device(), ctypes.byref(info)))
    return info.multiprocessors


def test_threads():
    quern.set_threads(3)
    assert threads_of_cpu() == 3
    raises(quern.ArgumentError, "", quern.set_threads, 5000)
    assert threads_of_cpu() == 3, "a number that was refused changes nothing"
    quern.set_threads()


def run_python(code: str, **environment: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment})
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.strip()


def test_threads_of_the_environment():
    code = "import core_tests; print(core_tests.threads_of_cpu())"
    assert run_python(code, OMP_NUM_THREADS="5") == "5"
    assert run_python(code, OMP_NUM_THREADS="5", QUERN_THREADS="2") == "2"
    assert int(run_python(code, OMP_NUM_THREADS="many")) >= 1


def test_the_command():
    done = subprocess.run([sys.executable, "-m", "quern", "--explain"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for part in (f"quern {quern.__version__}", "cpu:0", "cross_entropy", "adam bf16: adam_pbf16_gbf16", "no GPU: "):
        assert part in done.stdout, done.stdout


def test_a_child_of_fork_uses_the_handle_of_its_parent():
    quern.device()
    child = os.fork()
    if child == 0:
        try:
            test_a_failed_call_has_the_detail()
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def test_the_end_of_the_process_is_silent():
    assert run_python("import quern; quern.device(); print('done')") == "done"


def test_snippets_of_the_document():
    run_snippets("quern", 1)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
