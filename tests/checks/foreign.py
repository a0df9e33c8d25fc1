"""Holds the library's declarations of NCCL or UCX against every real header of this machine.

    foreign.py nccl | ucx [--self-test]

Compiles the declarations.c of tests/ with the library's declarations and with each header: sizes, offsets, values and the types of
functions must be the same.  --self-test breaks the declarations and checks that each break is found.  The last line is
`N passed, N failed`.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = f"{ROOT}/.venv/lib/python*/site-packages/nvidia"
SYSTEM = ("/usr/include", "/usr/local/include")
CUDA = ("/usr/local/cuda*/include", f"{PACKAGES}/cu*/include")


class Library(NamedTuple):
    folder: str                              # of src/ranks, with the declarations
    header: str
    places: tuple[str, ...]
    breaks: tuple[tuple[str, str, str], ...]   # file, old text, new text
    others: str = ""                         # another header that this one includes, in CUDA


UCX_TYPES, NCCL_TYPES = "ucx_types.h", "nccl_types.h"
LIBRARIES = {
    "nccl": Library("nccl", "nccl.h", (*SYSTEM, CUDA[0], f"{PACKAGES}/nccl/include"), (
        (NCCL_TYPES, "ncclRemoteError = 6", "ncclRemoteError = 5"),
        (NCCL_TYPES, "NCCL_UNIQUE_ID_BYTES = 128", "NCCL_UNIQUE_ID_BYTES = 64"),
        (NCCL_TYPES, "0xcafebeef", "0xcafebeee"),
        (NCCL_TYPES, "    int cgaClusterSize;\n", "    long cgaClusterSize;\n"),
        (NCCL_TYPES, "ncclUint8 = 1", "ncclUint8 = 0"),
        (NCCL_TYPES, "sizeof(ncclConfig_t), 0x", "8, 0x")), "cuda_runtime.h"),
    "ucx": Library("hosts", "ucp/api/ucp.h", SYSTEM, (
        (UCX_TYPES, "UCP_OP_ATTR_FLAG_NO_IMM_CMPL = 1 << 16", "UCP_OP_ATTR_FLAG_NO_IMM_CMPL = 1 << 17"),
        (UCX_TYPES, "    int mt_workers_shared;\n", ""),
        (UCX_TYPES, "    uint32_t address_flags;\n", "    uint64_t address_flags;\n"),
        (UCX_TYPES, "typedef signed char ucs_status_t;", "typedef int ucs_status_t;"),
        (UCX_TYPES, "    const ucp_address_t *address;\n    ucp_err_handling_mode_t err_mode;\n",
         "    ucp_err_handling_mode_t err_mode;\n    const ucp_address_t *address;\n"),
        (UCX_TYPES, "    unsigned char later[256];\n", ""),
        ("ucx.h", "X(unsigned, progress, ucp_worker_progress", "X(int, progress, ucp_worker_progress"),
        ("ucx.h", "(ucp_worker_h worker, void *buffer, size_t count, uint64_t tag, uint64_t mask,",
         "(ucp_worker_h worker, void *buffer, size_t count, uint64_t tag,"))),
}


def folders_with(header: str, places: tuple[str, ...]) -> list[Path]:
    """Each folder once, also that beside nvcc: links to one file count as one."""
    nvcc = shutil.which("nvcc")
    beside = [str(Path(nvcc).resolve().parents[1] / "include")] if nvcc else []
    found: dict[Path, Path] = {}
    for place in (*places, *beside):
        for folder in sorted(Path("/").glob(place[1:])):
            if (folder / header).exists():
                found.setdefault((folder / header).resolve(), folder)
    return list(found.values())


def numbers(name: str, declarations: Path, theirs: list[Path]) -> tuple[list[str], str]:
    """What the program writes, with the library's declarations or those of folders, or the compiler's complaint."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        shutil.copytree(declarations, tree / "ranks" / LIBRARIES[name].folder)
        command = ["cc", "-std=gnu11", "-D_GNU_SOURCE", *(["-DTHEIRS"] if theirs else []), *(f"-I{place}" for place in theirs),
                   f"-I{tree}", f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}", str(ROOT / "tests" / name / "declarations.c"),
                   "-o", str(tree / "numbers")]
        built = subprocess.run(command, capture_output=True, text=True)
        if built.returncode:
            return [], next((line for line in built.stderr.splitlines() if "error" in line), built.stderr)
        return subprocess.run([str(tree / "numbers")], capture_output=True, text=True, check=True).stdout.splitlines(), ""


def compare(name: str, declarations: Path, theirs: list[Path]) -> list[str]:
    """What differs."""
    (ours, broken), (real, refused) = numbers(name, declarations, []), numbers(name, declarations, theirs)
    if broken or refused:
        return [broken or refused]
    return [f"{mine} and {other}" for mine, other in zip(ours, real, strict=True) if mine != other]


def missed_breaks(name: str, declarations: Path, theirs: list[Path]) -> list[str]:
    missed = []
    for file, old, new in LIBRARIES[name].breaks:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(shutil.copytree(declarations, Path(place, name)))
            text = (folder / file).read_text()
            (folder / file).write_text(text.replace(old, new, 1))
            if old not in text or not compare(name, folder, theirs):
                missed.append(f"not found: {' '.join(old.split())}")
    return missed


def main() -> int:
    name, library = sys.argv[1], LIBRARIES[sys.argv[1]]
    declarations, others = ROOT / "src" / "ranks" / library.folder, folders_with(library.others, CUDA)[:1] if library.others else []
    found = folders_with(library.header, library.places)
    if not found or bool(library.others) != bool(others):
        print(f"{name}: skipped, there is no {library.others if found else library.header}\n0 passed, 0 failed, 1 skipped")
        return 0
    if sys.argv[2:] == ["--self-test"]:
        wrong, total = compare(name, declarations, [found[0], *others]), len(library.breaks) + 1
        wrong += missed_breaks(name, declarations, [found[0], *others])
    else:
        wrong, total = [], len(found)
        for folder in found:
            differences = compare(name, declarations, [folder, *others])
            wrong += [f"{folder}: {'; '.join(differences)}"] if differences else []
    print("\n".join([*(f"{name}: {line}" for line in wrong), f"{total - len(wrong)} passed, {len(wrong)} failed"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
