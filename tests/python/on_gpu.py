"""Tests the Python package on a GPU, or on the emulator as the environment has it: PyTorch's operators over a stand-in for libtorch
and, if there is a PyTorch with CUDA, over that.  Called by tests/gpu/command.py.  The last line is `N passed, N failed, N skipped`.

    python3 tests/python/on_gpu.py ARCHIVE
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from run import ROOT, TESTS, count, wheel

CUDA = "import torch, sys; sys.exit(not torch.cuda.is_available())"


def run(*words: str, package: str, **environment: str) -> subprocess.CompletedProcess:
    """Python with the environment of this program, which may be that of the emulator."""
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=ROOT,
                          env={**os.environ, "PYTHONPATH": package, **environment})


def main() -> int:
    with tempfile.TemporaryDirectory() as package:
        wheel.unpack(Path(sys.argv[1]).resolve(), Path(package))
        stand_in = Path(package) / "stand_in.so"
        wheel.run(*wheel.COMPILER, "-shared", "-fPIC", "-O1", "-o", stand_in, TESTS / "stand_in.c")
        results = [count(run(str(TESTS / "stand_in_tests.py"), package=package, STAND_IN=str(stand_in)), "stand-in")]
        if run("-c", CUDA, package=package).returncode == 0:
            results.append(count(run(str(TESTS / "torch_tests.py"), package=package, QUERN_TORCH_DEVICE="cuda"), "PyTorch"))
        else:
            print("there is no PyTorch with CUDA: its tests are skipped")
            results.append((0, 0, 1))
    passed, failed, skipped = (sum(each) for each in zip(*results))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
