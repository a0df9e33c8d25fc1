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
from gen.spec import GPU_TARGETS, GpuTarget
from gen.toolchain import find_nvcc, least_driver, pinned, toolkit, toolkit_of, tools
from runner import devices

ROOT = Path(__file__).resolve().parents[2]
QUERIES = "name,driver_version,clocks.sm,clocks.max.sm,clocks.mem,power.limit,temperature.gpu,compute_mode"


DRIVERS = {"550": 12040, "580": 13000}  # releases, and their versions of CUDA
PTXAS_12 = 12090                        # of the ptxas that `./quern toolkit` installs


class Missing(Exception):
    """What the machine lacks."""


@dataclass(frozen=True)
class Gpu:
    name: str
    configuration: devices.Configuration  # in which its suites run
    is_emulated: bool
    is_exclusive: bool = False            # it serves one process at a time

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
    configuration, driver = devices.gpu_configurations()[0], devices.real_driver()
    if configuration.unavailable:
        raise Missing(f"a GPU: {configuration.unavailable}; --emulated tries the command without, --build-for builds for another")
    gpu = Gpu(configuration.name.removeprefix("gpu "), configuration, False, driver.is_exclusive)
    if gpu.target == "none":
        raise Missing(f"a target of the library for {gpu.name}")
    return gpu


def elsewhere(target: str) -> Gpu:
    """One of another machine, for which programs are built here."""
    known = [name for name, each in GPU_TARGETS.items() if each.in_library]
    if target not in known:
        raise Missing(f"a target of the library, not {target!r}: there are {', '.join(known)}")
    environment = {"QUERN_TEST_DEVICE": "cuda", "QUERN_TEST_TARGET": target}
    return Gpu(target, devices.Configuration(f"gpu {target}", "gpu", environment), False)


def _cuda(version: int) -> str:
    return f"CUDA {version // 1000}.{version % 1000 // 10}"


def check_driver(target: GpuTarget, driver: int) -> None:
    """Raises Missing unless it loads the images that would be built."""
    nvcc, made_by = toolkit(str(find_nvcc() or "none")), toolkit_of(target)
    if nvcc < target.driver:
        raise Missing(f"nvcc of {_cuda(target.driver)} or newer for {target.name}: this one is of {_cuda(nvcc)}")
    if (least := least_driver(target, made_by)) <= driver:
        return
    remedies = [f"a driver for {_cuda(least)}"]
    if not target.is_virtual and least_driver(target, PTXAS_12) <= driver:
        package = f"nvidia-cuda-nvcc-cu12=={pinned('nvidia-cuda-nvcc-cu12')}"
        remedies.append(f"nvcc of CUDA 12 (NVCC=...), or ptxas of CUDA 12 (QUERN_PTXAS12=..., from `pip install {package}`)")
    raise Missing(f"{', or '.join(remedies)}: this driver, for {_cuda(driver)}, loads no {target.name} images of {_cuda(made_by)}")


def missing_tools() -> list[str]:
    """What the build needs and does not find."""
    compilers = {"a C compiler (CC)": os.environ.get("CC", "cc"), "a C++ compiler, which nvcc calls": os.environ.get("CXX", "c++"),
                 "ninja": "ninja", "ar, of binutils": "ar"}
    lacking = [what for what, command in compilers.items() if not shutil.which(shlex.split(command)[0])]
    lacking += [] if find_nvcc() else ["nvcc (on the PATH, in /usr/local/cuda/bin, or named by NVCC), or programs "
                                           "that another machine has built: --build-for there, --no-build here"]
    if not render.is_current() and subprocess.run([sys.executable, "-c", "import jinja2"], capture_output=True).returncode:
        lacking.append(f"jinja2 in {sys.executable}, since generated/ is not current (PYTHON=... names another Python)")
    return lacking


def _first_line(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
        return (done.stdout.strip() or done.stderr.strip()).partition("\n")[0] or "no answer"
    except (OSError, subprocess.TimeoutExpired):
        return "not there"


def _free(folder: str) -> str:
    return f"{shutil.disk_usage(folder).free / 1e6:,.0f} MB" if Path(folder).is_dir() else "there is none"


def facts(gpu: Gpu) -> list[str]:
    """What the results depend on, a line each."""
    lines = [f"GPU: {gpu.name}, target {gpu.target}"]
    if not gpu.is_emulated:
        lines.append(f"nvidia-smi ({QUERIES}): {_first_line('nvidia-smi', f'--query-gpu={QUERIES}', '--format=csv,noheader')}")
    return lines + [f"driver: {_cuda(devices.real_driver().version)}" if not gpu.is_emulated else "driver: the emulator",
                    f"nvcc: {tools()}",
                    f"compiler: {_first_line(*shlex.split(os.environ.get('CC', 'cc')), '--version')}",
                    f"Python: {sys.version.split()[0]}, {sys.executable}",
                    f"cores: {os.cpu_count()}; free in /dev/shm, where ranks meet: {_free('/dev/shm')}"]


def find_sanitizer() -> str:
    """compute-sanitizer, on the PATH or beside nvcc; empty: there is none."""
    beside = find_nvcc()
    places = [shutil.which("compute-sanitizer"), *(str(Path(folder) / "compute-sanitizer")
                                                   for folder in ("/usr/local/cuda/bin", beside.parent if beside else "."))]
    return next((place for place in places if place and Path(place).exists()), "")
