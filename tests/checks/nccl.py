"""Holds the library's declarations of NCCL (src/ranks/nccl/nccl_types.h) against every real nccl.h of this machine.

Compiles tests/nccl/declarations.c with its own declarations and with each header: sizes, offsets, values and the types of functions
must be the same.  Headers are looked for beside nvcc, in /usr and in Python packages.  `nccl.py --self-test` breaks the
declarations and checks that each break is found.  The last line is `N passed, N failed`.
"""

from __future__ import annotations

import glob
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "nccl" / "declarations.c"
TYPES = ROOT / "src" / "ranks" / "nccl" / "nccl_types.h"
PLACES = ("/usr/include", "/usr/local/include", "/usr/local/cuda*/include",
          "{root}/.venv/lib/python*/site-packages/nvidia/nccl/include")


def headers() -> list[Path]:
    """Each nccl.h once: links to one file count as one."""
    nvcc = shutil.which("nvcc")
    places = [*PLACES, *([str(Path(nvcc).resolve().parents[1] / "include")] if nvcc else [])]
    found: dict[Path, Path] = {}
    for place in places:
        for name in sorted(glob.glob(place.format(root=ROOT) + "/nccl.h")):
            found.setdefault(Path(name).resolve(), Path(name))
    return list(found.values())


def cuda_folders() -> list[str]:
    """nccl.h includes headers of the CUDA runtime."""
    nvcc = shutil.which("nvcc")
    places = ["/usr/local/cuda*/include", f"{ROOT}/.venv/lib/python*/site-packages/nvidia/cu*/include",
              *([str(Path(nvcc).resolve().parents[1] / "include")] if nvcc else [])]
    return [name for place in places for name in sorted(glob.glob(place)) if (Path(name) / "cuda_runtime.h").exists()]


def numbers(types: Path, header: Path | None) -> tuple[list[str], str]:
    """What the program writes, or the compiler's complaint."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        shutil.copytree(ROOT / "src" / "ranks" / "nccl", tree / "ranks" / "nccl")
        shutil.copy(types, tree / "ranks" / "nccl" / "nccl_types.h")
        theirs = ["-DTHEIRS", f"-I{header.parent}", *(f"-I{name}" for name in cuda_folders()[:1])] if header else []
        command = ["cc", "-std=c11", "-D_GNU_SOURCE", *theirs, f"-I{tree}", f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}",
                   str(PROGRAM), "-o", str(tree / "numbers")]
        built = subprocess.run(command, capture_output=True, text=True)
        if built.returncode:
            return [], next((line for line in built.stderr.splitlines() if "error" in line), built.stderr)
        return subprocess.run([str(tree / "numbers")], capture_output=True, text=True, check=True).stdout.splitlines(), ""


def compare(header: Path, types: Path = TYPES) -> list[str]:
    ours, broken = numbers(types, None)
    theirs, refused = numbers(types, header)
    if broken or refused:
        return [broken or refused]
    return [f"{one}: {header} has {other.rpartition(' ')[2]}" for one, other in zip(ours, theirs) if one != other]


# (the declaration, and a wrong one)
BREAKS = [("ncclRemoteError = 6", "ncclRemoteError = 5"), ("NCCL_UNIQUE_ID_BYTES = 128", "NCCL_UNIQUE_ID_BYTES = 64"),
          ("0xcafebeef", "0xcafebeee"), ("    int cgaClusterSize;\n", ""), ("ncclUint8 = 1", "ncclUint8 = 0"),
          ("sizeof(ncclConfig_t), 0x", "8, 0x")]


def self_test(header: Path) -> int:
    missed = len(compare(header))
    for old, new in BREAKS:
        with tempfile.TemporaryDirectory() as folder:
            broken = Path(folder) / "nccl_types.h"
            text = TYPES.read_text().replace(old, new, 1)
            broken.write_text(text.replace("NCCL_CONFIG_UNDEF_INT, NULL", "NULL") if "cga" in old else text)
            if TYPES.read_text().count(old) < 1 or not compare(header, broken):
                print(f"not found: {new or 'without ' + old.strip()}")
                missed += 1
    print(f"{len(BREAKS) - missed} passed, {missed} failed")
    return missed != 0


def main() -> int:
    found = headers()
    if not found or not cuda_folders():
        print(f"skipped: no {'nccl.h' if not found else 'cuda_runtime.h'} in {', '.join(PLACES)} or beside nvcc")
        return 0
    if sys.argv[1:] == ["--self-test"]:
        return self_test(found[0])
    failed = 0
    for header in found:
        differences = compare(header)
        version = re.findall(r"#define NCCL_(?:MAJOR|MINOR|PATCH) (\d+)", header.read_text())
        print(f"{header}: NCCL {'.'.join(version)}: {'; '.join(differences) or 'the same'}")
        failed += bool(differences)
    print(f"{len(found) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
