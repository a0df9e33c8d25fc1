"""The GPU, and the tools that the machine has for it.  Called by command.py."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from gen import render
from gen.toolchain import find_nvcc, version
from runner import devices

ROOT = Path(__file__).resolve().parents[2]
QUERIES = "name,driver_version,clocks.sm,clocks.max.sm,clocks.mem,power.limit,temperature.gpu,compute_mode"


class Missing(Exception):
    """What the machine lacks."""


@dataclass(frozen=True)
class Gpu:
    name: str
    configuration: devices.Configuration  # in which its suites run
    is_emulated: bool

    @property
    def target(self) -> str:
        return self.configuration.environment["QUERN_TEST_TARGET"]

    @property
    def slug(self) -> str:
        """For the names of files."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower().replace("_", "")).strip("-")


def emulated(target: str) -> Gpu:
    found = {each.environment["QUERN_TEST_TARGET"]: each for each in devices.emulated_configurations()}
    if target not in found:
        raise Missing(f"a target of the emulator, not {target!r}: there are {', '.join(found)}")
    name = f"emulated {target}"
    environment = dict(found[target].environment)
    environment["LD_LIBRARY_PATH"] = ":".join(filter(None, (environment["LD_LIBRARY_PATH"], os.environ.get("LD_LIBRARY_PATH"))))
    return Gpu(name, replace(found[target], name=f"gpu, {name}", kind="gpu", environment=environment, is_first=True), True)


def real() -> Gpu:
    configuration = devices.gpu_configurations()[0]
    if configuration.unavailable:
        raise Missing("a GPU with a driver (libcuda.so.1); --emulated tries the command without")
    gpu = Gpu(configuration.name.removeprefix("gpu "), configuration, False)
    if gpu.target == "none":
        raise Missing(f"a target of the library for {gpu.name}")
    return gpu


def missing_tools() -> list[str]:
    """What the build needs and does not find."""
    compilers = {"a C compiler (CC)": os.environ.get("CC", "cc"), "a C++ compiler, which nvcc calls": os.environ.get("CXX", "c++"),
                 "ninja": "ninja", "ar, of binutils": "ar"}
    lacking = [what for what, command in compilers.items() if not shutil.which(shlex.split(command)[0])]
    lacking += [] if find_nvcc() else ["nvcc (on the PATH, in /usr/local/cuda/bin, or named by NVCC)"]
    if not render.is_current() and subprocess.run([sys.executable, "-c", "import jinja2"], capture_output=True).returncode:
        lacking.append(f"jinja2 in {sys.executable}, since generated/ is not current (PYTHON=... names another Python)")
    return lacking


def _first_line(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
        return (done.stdout.strip() or done.stderr.strip()).partition("\n")[0] or "no answer"
    except (OSError, subprocess.TimeoutExpired):
        return "not there"


def facts(gpu: Gpu) -> list[str]:
    """What the results depend on, a line each."""
    lines = [f"GPU: {gpu.name}, target {gpu.target}"]
    if not gpu.is_emulated:
        lines.append(f"nvidia-smi ({QUERIES}): {_first_line('nvidia-smi', f'--query-gpu={QUERIES}', '--format=csv,noheader')}")
    return lines + [f"nvcc: {version(str(find_nvcc()))}",
                    f"compiler: {_first_line(*shlex.split(os.environ.get('CC', 'cc')), '--version')}",
                    f"Python: {sys.version.split()[0]}, {sys.executable}",
                    f"cores: {os.cpu_count()}"]


def find_sanitizer() -> str:
    """compute-sanitizer, on the PATH or beside nvcc; empty: there is none."""
    beside = find_nvcc()
    places = [shutil.which("compute-sanitizer"), *(str(Path(folder) / "compute-sanitizer")
                                                   for folder in ("/usr/local/cuda/bin", beside.parent if beside else "."))]
    return next((place for place in places if place and Path(place).exists()), "")
