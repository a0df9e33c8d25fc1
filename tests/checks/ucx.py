"""Holds the library's declarations of UCX (src/ranks/hosts/ucx_types.h) against the real ucp/api/ucp.h of this machine, if it has
one.

Compiles tests/ucx/declarations.c with its own declarations and with the header: offsets, values and the types of functions must be
the same.  `ucx.py --self-test` breaks the declarations and checks that each break is found.  The last line is `N passed, N failed`,
and `, N skipped` without a header.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "ucx" / "declarations.c"
FOLDER = ROOT / "src" / "ranks" / "hosts"
HEADERS = ("/usr/include", "/usr/local/include")

# Breaks of the declarations: file, old text, new text.
BREAKS = (
    ("ucx_types.h", "UCP_OP_ATTR_FLAG_NO_IMM_CMPL = 1 << 16", "UCP_OP_ATTR_FLAG_NO_IMM_CMPL = 1 << 17"),
    ("ucx_types.h", "    int mt_workers_shared;\n", ""),
    ("ucx_types.h", "    uint32_t address_flags;\n", "    uint64_t address_flags;\n"),
    ("ucx_types.h", "typedef signed char ucs_status_t;", "typedef int ucs_status_t;"),
    ("ucx_types.h", "    const ucp_address_t *address;\n    ucp_err_handling_mode_t err_mode;\n",
     "    ucp_err_handling_mode_t err_mode;\n    const ucp_address_t *address;\n"),
    ("ucx_types.h", "    unsigned char later[256];\n", ""),
    ("ucx.h", "X(unsigned, progress, ucp_worker_progress", "X(int, progress, ucp_worker_progress"),
    ("ucx.h", "(ucp_worker_h worker, void *buffer, size_t count, uint64_t tag, uint64_t mask,",
     "(ucp_worker_h worker, void *buffer, size_t count, uint64_t tag,"),
)


def include() -> str | None:
    return next((folder for folder in HEADERS if Path(folder, "ucp", "api", "ucp.h").exists()), None)


def numbers(folder: Path, theirs: str | None) -> tuple[list[str], str]:
    """What the program writes, or the compiler's complaint."""
    with tempfile.TemporaryDirectory() as place:
        tree = Path(place)
        (tree / "ranks" / "hosts").mkdir(parents=True)
        for name in ("ucx.h", "ucx_types.h"):
            shutil.copy(folder / name, tree / "ranks" / "hosts" / name)
        options = ["-DTHEIRS", f"-I{theirs}"] if theirs else []
        command = ["cc", "-std=gnu11", "-D_GNU_SOURCE", *options, f"-I{tree}", f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}",
                   str(PROGRAM), "-o", str(tree / "numbers")]
        built = subprocess.run(command, capture_output=True, text=True)
        if built.returncode:
            return [], next((line for line in built.stderr.splitlines() if "error" in line), built.stderr)
        return subprocess.run([str(tree / "numbers")], capture_output=True, text=True, check=True).stdout.splitlines(), ""


def compare(folder: Path, theirs: str) -> list[str]:
    """What differs."""
    (ours, broken), (real, refused) = numbers(folder, None), numbers(folder, theirs)
    if broken or refused:
        return [broken or refused]
    return [f"{mine} and {other}" for mine, other in zip(ours, real) if mine != other]


def self_test(theirs: str) -> list[str]:
    """The breaks that are not found."""
    missed = []
    for name, old, new in BREAKS:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place, "ucx")
            shutil.copytree(FOLDER, folder)
            text = (folder / name).read_text()
            if text.count(old) != 1:
                missed.append(f"{name} does not hold its text exactly once: {old}")
            (folder / name).write_text(text.replace(old, new))
            if not compare(folder, theirs):
                missed.append(f"not found: {' '.join(old.split())}")
    return missed


def main() -> int:
    theirs = include()
    if not theirs:
        print("ucx: skipped, there is no ucp/api/ucp.h: install libucx-dev\n0 passed, 0 failed, 1 skipped")
        return 0
    testing = sys.argv[1:] == ["--self-test"]
    wrong = self_test(theirs) if testing else compare(FOLDER, theirs)
    total = len(BREAKS) if testing else max(len(numbers(FOLDER, None)[0]), 1)
    print("\n".join(f"ucx: {line}" for line in wrong))
    print(f"{total - len(wrong)} passed, {len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
