"""Makes the wheel of the Python package, installs it where nothing else is, and runs its tests there; with --frameworks also the
tests of PyTorch and JAX, each with the same wheel and several versions.  The last line is `N passed, N failed, N skipped`.

    python3 tests/python/run.py ARCHIVE                the wheel of this libquern.a, alone, with NumPy and on an emulated GPU
    python3 tests/python/run.py ARCHIVE --frameworks   also PyTorch and JAX: 12 GB of packages in build/python, kept there
"""

import argparse
import base64
import csv
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
from gen import api, wheel  # noqa: E402
from gen.spec import GPU_TARGETS  # noqa: E402
from runner.targets import first_with  # noqa: E402

TESTS = ROOT / "tests/python"
MOST_BYTES = 15_000_000
EMULATED = first_with("clusters").name   # the GPU target that the gate builds

# What a framework's tests need, by the name of their environment in build/python: oldest, between, newest.
FRAMEWORKS = {
    "torch-oldest": ("torch_tests.py", ("torch==2.7.1", "numpy")),
    "torch-between": ("torch_tests.py", ("torch==2.9.1", "numpy")),
    "torch-newest": ("torch_tests.py", ("torch", "numpy")),
    "jax-oldest": ("jax_tests.py", ("jax==0.4.38", "jaxlib==0.4.38", "optax==0.2.4")),
    "jax-between": ("jax_tests.py", ("jax==0.6.2", "jaxlib==0.6.2", "optax==0.2.5")),
    "jax-newest": ("jax_tests.py", ("jax", "optax")),
}


def run(*command: object, **environment: str) -> subprocess.CompletedProcess:
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=TESTS, env={**clean, **environment})


# ---- the wheel itself ----


def check_files(path: Path) -> list[str]:
    """The record is right, and nothing is missing."""
    faults = []
    with zipfile.ZipFile(path) as package:
        names = set(package.namelist())
        record = next(name for name in names if name.endswith("/RECORD"))
        rows = list(csv.reader(package.read(record).decode().splitlines()))
        if {row[0] for row in rows} != names:
            faults.append("RECORD does not list the files of the wheel")
        for name, digest, size in rows:
            data = package.read(name)
            found = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            if name != record and (found, str(len(data))) != (digest, size):
                faults.append(f"RECORD has another hash of {name}")
        needed = {"quern/__init__.py", "quern/torch/__init__.py", "quern/jax.py", "quern/numpy.py", "quern/py.typed",
                  f"quern/{api.soname()}", "quern/quern_torch.so", "quern/quern_jax.so", "quern_dump/__main__.py"}
        faults += [f"{name} is missing" for name in sorted(needed - names)]
        bill = json.loads(package.read(next(name for name in names if name.endswith(".spdx.json"))))
        if {each["fileName"] for each in bill["files"]} != {f"./{name}" for name in names if ".dist-info/" not in name}:
            faults.append("the SPDX list has other files")
        metadata = package.read(next(name for name in names if name.endswith("/METADATA"))).decode()
        if f"\nVersion: {api.version_text()}\n" not in metadata or re.search("^Requires-Dist", metadata, re.MULTILINE):
            faults.append("METADATA has another version, or needs another package")
    return faults


def check_wheel(archive: Path, folder: Path) -> tuple[Path, list[str]]:
    first, second = wheel.make(archive, folder / "first"), wheel.make(archive, folder / "second")
    faults = check_files(first)
    if first.read_bytes() != second.read_bytes():
        faults.append("the same inputs give two different wheels")
    if first.stat().st_size > MOST_BYTES:
        faults.append(f"the wheel has {first.stat().st_size} bytes: expected at most {MOST_BYTES}")
    return first, faults


# ---- its tests ----


def count(done: subprocess.CompletedProcess, title: str) -> tuple[int, int, int]:
    """Prints what has failed."""
    lines = done.stdout.strip().splitlines()
    closing = re.fullmatch(r"(\d+) passed, (\d+) failed, (\d+) skipped", lines[-1]) if lines else None
    if done.returncode or not closing:
        ended = f", ended by signal {-done.returncode}" if done.returncode < 0 else ""
        print(f"---- {title}{ended}\n{done.stdout}{done.stderr}")
    else:
        print(f"{title}: {lines[-1]}", flush=True)
    return tuple(map(int, closing.groups())) if closing else (0, 1, 0)


def install(python: Path, *packages: object) -> str:
    """Why not; empty: it is done."""
    done = run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages)
    return "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def environment(folder: Path) -> Path:
    if not (folder / "bin/python").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    return folder / "bin/python"


def install_wheel(python: Path, path: Path) -> str:
    return install(python, "--no-index", "--no-deps", "--force-reinstall", path)


def alone(path: Path, folder: Path) -> tuple[int, int, int]:
    """Without any other package and without network."""
    python = environment(folder / "alone")
    if why := install_wheel(python, path):
        print(f"the wheel cannot be installed: {why}")
        return 0, 1, 0
    return count(run(python, "core_tests.py"), "alone")


def with_numpy(path: Path, folder: Path) -> tuple[int, int, int]:
    """In this interpreter's environment, which has NumPy."""
    with zipfile.ZipFile(path) as package:
        package.extractall(folder / "unpacked")
    if run(sys.executable, "-c", "import numpy").returncode:
        print("NumPy is not installed: its tests are skipped")
        return 0, 0, 1
    done = [count(run(sys.executable, tests, PYTHONPATH=str(folder / "unpacked")), tests)
            for tests in ("numpy_tests.py", "launch_tests.py")]
    return tuple(map(sum, zip(*done)))


def on_emulator(folder: Path) -> tuple[int, int, int]:
    """The operators of PyTorch on tensors of an emulated GPU."""
    emulator = ROOT / "build/emulator"
    if not has_gpu_kernels(folder / "unpacked") or not (emulator / "libcuda.so.1").exists():
        print("the archive has no GPU kernels, or the emulator is not built: operators on a GPU are skipped")
        return 0, 0, 1
    library = folder / "stand_in.so"
    wheel.run(*wheel.COMPILER, "-shared", "-fPIC", "-O1", "-o", library, TESTS / "stand_in.c")
    return count(run(sys.executable, "stand_in_tests.py", PYTHONPATH=str(folder / "unpacked"), STAND_IN=str(library),
                     LD_LIBRARY_PATH=str(emulator),
                     QUERN_EMULATOR=GPU_TARGETS[EMULATED].emulated, QUERN_EMULATOR_KERNELS=str(emulator)), "emulated GPU")


def has_gpu_kernels(package: Path) -> bool:
    done = run(sys.executable, "-c", "import quern; print(quern.build_info()['targets'])", PYTHONPATH=str(package))
    return EMULATED in done.stdout.split()


def with_framework(name: str, path: Path) -> tuple[int, int, int]:
    tests, packages = FRAMEWORKS[name]
    folder = ROOT / "build/python" / name
    python, stamp = environment(folder), folder / "packages.txt"
    if not stamp.exists() or stamp.read_text() != " ".join(packages):
        if why := install(python, *packages):
            print(f"{name}: skipped: {why}")
            return 0, 0, 1
        stamp.write_text(" ".join(packages))
    if why := install_wheel(python, path):
        print(f"{name}: the wheel cannot be installed: {why}")
        return 0, 1, 0
    return count(run(python, tests), name)


def main() -> int:
    parser = argparse.ArgumentParser(description="Tests the Python package.")
    parser.add_argument("archive", type=Path, help="a libquern.a")
    parser.add_argument("--frameworks", action="store_true", help="also PyTorch and JAX")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        path, faults = check_wheel(options.archive.resolve(), Path(scratch))
        print("".join(f"{fault}\n" for fault in faults), end="")
        results = [(int(not faults), len(faults), 0), alone(path, Path(scratch)), with_numpy(path, Path(scratch)),
                   on_emulator(Path(scratch))]
        if options.frameworks:
            results += [with_framework(name, path) for name in FRAMEWORKS]
    passed, failed, skipped = (sum(each) for each in zip(*results))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
