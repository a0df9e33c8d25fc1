"""nvcc's tools, one step at a time: source -> PTX -> cubin.

The steps are separate so that the PTX which the tests emulate is the very PTX that ptxas assembles, and so that ptxas' report
on registers and spills stays beside the cubin for `./quern gen audit`.  nvcc 13 makes the PTX.  ptxas of CUDA 12 assembles it,
where it is found: drivers from release 550 on load its machine code, and that of ptxas 13 only from 580 on.

Where nvcc is missing no step is in ninja's graph: the library then has its CPU kernels, and the rows of GPU kernels say that it was
built without nvcc.
"""

from __future__ import annotations

import argparse
import inspect
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from gen import receipts, store
from gen.spec import GPU_TARGETS, GpuTarget

ROOT = Path(__file__).resolve().parent.parent
NVCC_FLAGS = ["-std=c++17", "-O3", "-fmad=false", "-prec-div=true", "-prec-sqrt=true", "-ftz=false", "-I", "include", "-I", "src"]
NONE = "none"   # in the place of the path or the version of a tool


def find_nvcc() -> Path | None:
    """$NVCC, then the PATH, then the toolkit's usual home, then the Python packages that `./quern` installs."""
    if given := os.environ.get("NVCC"):
        found = shutil.which(given)
        return Path(found) if found else None
    candidates = [shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc",
                  *sorted(map(str, ROOT.glob(".venv/lib/python3*/site-packages/nvidia/cu*/bin/nvcc")))]
    return next((Path(path) for path in candidates if path and Path(path).exists()), None)


def find_nvdisasm() -> Path | None:
    """$NVDISASM, then beside nvcc, the PATH, the toolkit's usual home, and the Python package that `./quern` installs."""
    if given := os.environ.get("NVDISASM"):
        found = shutil.which(given)
        return Path(found) if found else None
    nvcc = find_nvcc()
    candidates = [nvcc.resolve().parent / "nvdisasm" if nvcc else None, shutil.which("nvdisasm"), "/usr/local/cuda/bin/nvdisasm",
                  *sorted(map(str, ROOT.glob(".venv/lib/python3*/site-packages/nvidia/cu*/bin/nvdisasm")))]
    return next((Path(path) for path in candidates if path and Path(path).exists()), None)


def find_ptxas_12() -> Path | None:
    """ptxas of CUDA 12: $QUERN_PTXAS12, then the Python package that `./quern` installs."""
    if given := os.environ.get("QUERN_PTXAS12"):
        found = shutil.which(given)
        if found and (number := toolkit(found)) // 1000 != 12:
            raise SystemExit(f"QUERN_PTXAS12={given}: this ptxas is of CUDA {number // 1000}: expected one of CUDA 12")
        return Path(found) if found else None
    return next(iter(sorted(ROOT.glob(".venv/lib/python3*/site-packages/nvidia/cuda_nvcc/bin/ptxas"))), None)


def version(nvcc: str) -> str:
    """Its number, 13.0.88 for instance; NONE: there is no nvcc."""
    if nvcc == NONE:
        return nvcc
    found = re.search(r"\bV(\d+(?:\.\d+)*)", _run([nvcc, "--version"]))
    return found[1] if found else "unknown"


def pinned(package: str = "nvidia-cuda-nvcc") -> str:
    """The version of nvcc that `./quern toolkit` installs, or of another package."""
    found = re.search(rf"\b{package}==([\d.]+)", (ROOT / "quern").read_text())
    if not found:
        raise LookupError(f"quern names no version of {package}")
    return found[1]


def cuda_version(number: str) -> int:
    """As cuDriverGetVersion would give that of nvcc or ptxas: 13000 for 13.0.88; 0: there is no tool."""
    numbers = re.match(r"(\d+)\.(\d+)", number)
    return 1000 * int(numbers[1]) + 10 * int(numbers[2]) if numbers else 0


def toolkit(tool: str) -> int:
    return cuda_version(version(tool))


def takes_ptxas_12(target: GpuTarget, ptxas_12: int) -> bool:
    """Whether ptxas of CUDA 12 assembles the code of a target.  0: there is none."""
    return not target.is_virtual and ptxas_12 >= max(target.driver, 1)


def made_by(target: GpuTarget, nvcc: int, ptxas_12: int) -> int:
    """The toolkit of a target's images."""
    return ptxas_12 if takes_ptxas_12(target, ptxas_12) else nvcc


def toolkit_of(target: GpuTarget) -> int:
    """That of its images, by the tools that are found."""
    return made_by(target, toolkit(str(find_nvcc() or NONE)), toolkit(str(find_ptxas_12() or NONE)))


def name_of(nvcc: str, ptxas_12: str) -> str:
    """Of the tools with these versions."""
    return nvcc if NONE in (nvcc, ptxas_12) else f"{nvcc}, ptxas {ptxas_12}"


def tools() -> str:
    """The name of those that are found."""
    return name_of(version(str(find_nvcc() or NONE)), version(str(find_ptxas_12() or NONE)))


def pinned_versions() -> tuple[str, str]:
    """Of nvcc and ptxas of CUDA 12."""
    return pinned(), pinned("nvidia-cuda-nvcc-cu12")


def pinned_tools() -> str:
    """The name of those that `./quern toolkit` installs."""
    return name_of(*pinned_versions())


# The oldest driver that decompresses images (Zstandard), that of CUDA 12.4.
_DECOMPRESSES = 12040


def least_driver(target: GpuTarget, made_by: int) -> int:
    """The oldest driver that loads images made by a toolkit.

    A driver compiles the PTX of its own version and older ones, and loads machine code of any toolkit with its major number: ptxas
    13 writes another ABI than ptxas 12 (tests/checks/images.py).
    """
    if not made_by:
        return 0
    return max(_DECOMPRESSES, target.driver, made_by if target.is_virtual else made_by // 1000 * 1000)


def _tool(nvcc: Path, name: str) -> str:
    return str(nvcc.resolve().parent / name)


def _run(command: list[str]) -> str:
    """Runs a tool; its messages are returned when it succeeds and shown when it fails."""
    environment = {**os.environ, "PATH": str(Path(command[0]).parent) + os.pathsep + os.environ.get("PATH", "")}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    if done.returncode != 0:
        sys.stderr.write(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        raise SystemExit(done.returncode)
    return done.stdout + done.stderr


def ptx(nvcc: Path, target: GpuTarget, source: Path, out: Path, definitions: Sequence[str] = ()) -> None:
    """Compiles a CUDA source to the PTX of a target, with a depfile of the headers it read.  Unchanged PTX keeps its time.

    nvcc puts a hash of the working directory into the names of local symbols.  The size of a compressed image would depend on it.
    """
    new = out.with_suffix(".new.ptx")
    flags = [f"-arch={target.virtual_architecture}", *NVCC_FLAGS, *(f"-D{each}" for each in definitions)]
    messages = _run([str(nvcc), "-ptx", *flags, "-MMD", "-MF", f"{out}.d", "-MT", str(out), str(source), "-o", str(new)])
    sys.stdout.write(messages)
    new.write_text(re.sub(r"_INTERNAL_[0-9a-f]{8}_", "_INTERNAL_00000000_", new.read_text()))
    if out.exists() and out.read_bytes() == new.read_bytes():
        new.unlink()
    else:
        new.replace(out)


def _known(ptx_file: Path, ptxas: Path, out: Path) -> Path:
    """The PTX with the version that ptxas of CUDA 12 knows.  It fails there if it uses anything newer."""
    minor = toolkit(str(ptxas)) % 1000 // 10
    copy = out.with_suffix(".known.ptx")
    version_line = f".version 8.{minor if minor <= 5 else minor - 1}"  # CUDA 12.5 and 12.6 have the same
    copy.write_text(re.sub(r"^\.version .*", version_line, ptx_file.read_text(), count=1, flags=re.MULTILINE))
    return copy


def cubin(nvcc: Path, ptxas_12: Path | None, target: GpuTarget, source: Path, out: Path) -> None:
    """Assembles PTX; the report of ptxas goes beside the output.

    A virtual target is assembled for its own capability, to audit it.
    """
    ptxas = Path(_tool(nvcc, "ptxas"))
    if ptxas_12 and takes_ptxas_12(target, toolkit(str(ptxas_12))):
        ptxas, source = ptxas_12, _known(source, ptxas_12, out)
    report = _run([str(ptxas), "-v", f"-arch={target.ptx_name}", str(source), "-o", str(out)])
    out.with_suffix(".ptxas").write_text(report)


def _write_changed(out: Path, text: str) -> None:
    if not out.exists() or out.read_text() != text:
        out.write_text(text)


def versions(nvcc: str, ptxas_12: str) -> str:
    """A header, of the versions of the tools: for each target the initialiser of struct quern_images (src/kernels/kernel.h)."""
    lines = [f'#define QUERN_NVCC_VERSION "{name_of(nvcc, ptxas_12)}"']
    for target in GPU_TARGETS.values():
        number = made_by(target, cuda_version(nvcc), cuda_version(ptxas_12))
        lines.append(f"#define QUERN_IMAGES_{target.name} {{{least_driver(target, number)}, {number}}}")
    return "\n".join(lines) + "\n"


def _write_location(location: Path, header: Path) -> None:
    nvcc, ptxas_12 = find_nvcc(), find_ptxas_12()
    if not nvcc:
        print("nvcc not found: building the CPU kernels only (./quern toolkit installs it)")
    elif not ptxas_12 and toolkit(str(nvcc)) >= 13000:
        print("ptxas of CUDA 12 not found: the GPU kernels need a driver of release 580, not 550 (./quern toolkit installs it)")
    location.write_text(f"{nvcc or NONE}\n{ptxas_12 or NONE}\n")
    _write_changed(header, f"#define QUERN_HAS_NVCC {1 if nvcc else 0}\n")
    # The files of the tools are dependencies: another version gives the location a new time, and the kernels are compiled again.
    files = " ".join(str(path).replace(" ", "\\ ") for path in (nvcc, ptxas_12) if path)
    Path(f"{location}.d").write_text(f"{location}: {files}\n")


def located(location: Path) -> tuple[Path | None, Path | None]:
    """nvcc and ptxas of CUDA 12, from the file that `locate` wrote."""
    nvcc, ptxas_12 = (None if line == NONE else Path(line) for line in location.read_text().splitlines())
    return nvcc, ptxas_12


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m gen.toolchain", description=__doc__.split("\n")[0] if __doc__ else None)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("locate", help="find nvcc and ptxas of CUDA 12, and write what depends on whether they are there")
    command.add_argument("location", type=Path, help="for the paths of both, or none")
    command.add_argument("header", type=Path, help="defines QUERN_HAS_NVCC")
    command = commands.add_parser("version", help="write a header with the versions of the tools and of drivers for their images")
    command.add_argument("location", type=Path, help="what locate wrote")
    command.add_argument("out", type=Path)
    for step in ("ptx", "cubin"):
        command = commands.add_parser(step)
        command.add_argument("location", type=Path, help="what locate wrote")
        command.add_argument("target")
        command.add_argument("source", type=Path)
        command.add_argument("out", type=Path)
        if step == "ptx":
            command.add_argument("-D", dest="definitions", metavar="NAME=VALUE", action="append", default=[])
    return parser.parse_args(arguments)


def _make(chosen: argparse.Namespace, nvcc: Path, ptxas_12: Path | None, numbers: list[str]) -> None:
    """PTX or machine code, which the store may have."""
    target, source, out = GPU_TARGETS[chosen.target], chosen.source, chosen.out
    key: list[str | bytes] = [chosen.command, target.name, str(source), str(out)]
    if chosen.command == "ptx":
        key += [numbers[0], inspect.getsource(ptx), *NVCC_FLAGS, *chosen.definitions]
        key += map(receipts.code_of, receipts.closure(ROOT / source))
        made, run = [out, Path(f"{out}.d")], lambda: ptx(nvcc, target, source, out, chosen.definitions)
    else:
        key += [*numbers, *map(inspect.getsource, (cubin, _known, takes_ptxas_12)), source.read_bytes()]
        made, run = [out, out.with_suffix(".ptxas")], lambda: cubin(nvcc, ptxas_12, target, source, out)
    store.make(store.key(*key), made, run)


def main(arguments: list[str]) -> int:
    chosen = _parse(arguments)
    if chosen.command == "locate":
        _write_location(chosen.location, chosen.header)
        return 0
    nvcc, ptxas_12 = located(chosen.location)
    numbers = [version(str(tool or NONE)) for tool in (nvcc, ptxas_12)]
    if chosen.command == "version":
        _write_changed(chosen.out, versions(*numbers))
        return 0
    if not nvcc:
        print(f"{chosen.out} needs nvcc, which was not found: ./quern toolkit installs it", file=sys.stderr)
        return 1
    _make(chosen, nvcc, ptxas_12, numbers)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
