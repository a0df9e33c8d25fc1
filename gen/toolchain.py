"""nvcc's tools, one step at a time: source -> PTX -> cubin -> fatbin.

The steps are separate so that the PTX which the tests emulate is the very PTX that ptxas assembles, and so that ptxas' report
on registers and spills stays beside the cubin for `./quern gen audit`.

Where nvcc is missing no step is in ninja's graph: the library then has its CPU kernels, and the rows of GPU kernels say that it was
built without nvcc.
"""

from __future__ import annotations

import argparse
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


def find_older_ptxas() -> Path | None:
    """ptxas of CUDA 12, for older drivers: $QUERN_PTXAS12, then the Python package that `./quern build --driver 550` installs."""
    if given := os.environ.get("QUERN_PTXAS12"):
        found = shutil.which(given)
        return Path(found) if found else None
    return next(iter(sorted(ROOT.glob(".venv/lib/python3*/site-packages/nvidia/cuda_nvcc/bin/ptxas"))), None)


def version(nvcc: str) -> str:
    """Its number, 13.0.88 for instance; "none": there is no nvcc."""
    if nvcc == "none":
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


def _lowered(ptx_file: Path, ptxas: Path, out: Path) -> Path:
    """The PTX with the version that another ptxas knows.  It fails there if it uses anything newer."""
    minor = toolkit(str(ptxas)) % 1000 // 10
    lowered = out.with_suffix(".lowered.ptx")
    known = f".version 8.{minor if minor <= 5 else minor - 1}"  # CUDA 12.5 and 12.6 have the same
    lowered.write_text(re.sub(r"^\.version .*", known, ptx_file.read_text(), count=1, flags=re.MULTILINE))
    return lowered


def cubin(nvcc: Path, target: GpuTarget, source: Path, out: Path, older: Path | None = None) -> None:
    """Assembles PTX, with the ptxas of nvcc or an older one; its report goes beside the output.

    A virtual target is assembled for its own capability, to audit it.
    """
    if older:
        source = _lowered(source, older, out)
    report = _run([str(older or _tool(nvcc, "ptxas")), "-v", f"-arch={target.ptx_name}", str(source), "-o", str(out)])
    out.with_suffix(".ptxas").write_text(report)


def _write_changed(out: Path, text: str) -> None:
    if not out.exists() or out.read_text() != text:
        out.write_text(text)


def versions(nvcc: str, older: str = "") -> str:
    """A header, of the versions of nvcc and of an older ptxas: for each target the initialiser of struct quern_images
    (src/kernels/kernel.h)."""
    lines = [f'#define QUERN_NVCC_VERSION "{nvcc}{f", ptxas {older}" if older else ""}"']
    for target in GPU_TARGETS.values():
        made_by = cuda_version(older if older and not target.is_virtual else nvcc)
        lines.append(f"#define QUERN_IMAGES_{target.name} {{{least_driver(target, made_by)}, {made_by}}}")
    return "\n".join(lines) + "\n"


def _write_location(location: Path, header: Path) -> None:
    nvcc = find_nvcc()
    if not nvcc:
        print("nvcc not found: building the CPU kernels only (./quern toolkit installs it)")
    location.write_text(f"{nvcc}\n" if nvcc else "none\n")
    _write_changed(header, f"#define QUERN_HAS_NVCC {1 if nvcc else 0}\n")
    # Where nvcc was found its own file is a dependency: another version of it gives the location a new time, and the kernels are
    # compiled again.
    escaped = str(nvcc or "").replace(" ", "\\ ")
    Path(f"{location}.d").write_text(f"{location}: {escaped}\n")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m gen.toolchain", description=__doc__.split("\n")[0] if __doc__ else None)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("locate", help="find nvcc, and write what depends on whether it is there")
    command.add_argument("location", type=Path, help="for the path of nvcc, or none")
    command.add_argument("header", type=Path, help="defines QUERN_HAS_NVCC")
    command = commands.add_parser("version", help="write a header with the versions of nvcc and of drivers for its images")
    command.add_argument("location", type=Path, help="what locate wrote")
    command.add_argument("out", type=Path)
    command.add_argument("--ptxas", type=Path, help="the assembler, unless it is that of nvcc")
    for step, inputs in {"ptx": 1, "cubin": 1, "fatbin": 2}.items():
        command = commands.add_parser(step)
        command.add_argument("location", type=Path, help="what locate wrote")
        command.add_argument("target")
        command.add_argument("inputs", type=Path, nargs=inputs)
        command.add_argument("out", type=Path)
        if step == "cubin":
            command.add_argument("--ptxas", type=Path, help="the assembler, unless it is that of nvcc")
        if step == "ptx":
            command.add_argument("-D", dest="definitions", metavar="NAME=VALUE", action="append", default=[])
    chosen = parser.parse_args(arguments)
    if chosen.command == "locate":
        _write_location(chosen.location, chosen.header)
        return 0
    location = chosen.location.read_text().strip()
    if chosen.command == "version":
        _write_changed(chosen.out, versions(version(location), version(str(chosen.ptxas)) if chosen.ptxas else ""))
        return 0
    if location == "none":
        print(f"{chosen.out} needs nvcc, which was not found: ./quern toolkit installs it", file=sys.stderr)
        return 1
    steps = {"ptx": ptx, "cubin": cubin, "fatbin": fatbin}
    more = {"ptx": lambda: [chosen.definitions], "cubin": lambda: [chosen.ptxas], "fatbin": lambda: []}[chosen.command]()
    target, out = GPU_TARGETS[chosen.target], chosen.out
    made = {"ptx": [out, Path(f"{out}.d")], "cubin": [out, out.with_suffix(".ptxas")], "fatbin": [out]}[chosen.command]
    tool = more[0] if chosen.command == "cubin" and more[0] else Path(location)
    texts = receipts.closure(ROOT / chosen.inputs[0]) if chosen.command == "ptx" else [ROOT / path for path in chosen.inputs]
    key = store.key(chosen.command, version(str(tool)), target.name, *NVCC_FLAGS, *map(str, [*chosen.inputs, out, *map(str, more)]),
                    Path(__file__).read_bytes(), *map(receipts.code_of, texts))
    store.make(key, made, lambda: steps[chosen.command](Path(location), target, *chosen.inputs, out, *more))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
