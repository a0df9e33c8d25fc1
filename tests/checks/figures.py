"""Checks the figures in the documents: numbers that the sources have are computed from them, and the sentence must have them so.

A row is a document, a sentence with a place for each figure, and the figures.  Measurements are not rows: they name the file or
the command that they come from.  Called by tests/checks/docs.py.
"""

import functools
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
from gen import spec, toolchain, wheel  # noqa: E402

KERNELS, RANKS, LOOK, ERRORS = (f"docs/{name}.md" for name in ("kernels_and_packs", "ranks", "looking_inside", "errors"))
COLLECTIVES, TRANSFERS_PAGE, HOSTS, OPERATORS = (f"docs/{name}.md" for name in ("collectives", "transfers", "hosts", "operators"))
WORDS = "no one two three four five six seven eight nine ten eleven twelve".split()


def constant(path: str, name: str) -> float:
    """The number that a source gives a name: by =, by #define or as the length of an array."""
    text = (ROOT / path).read_text()
    found = re.search(rf"\b{name}(?:\[| = | )([\d.x* <()]*\d[\d.]*)", text)
    if not found:
        raise LookupError(f"{path} has no number for {name}")
    return float(eval(found[1].strip("( "), {}))  # digits and operators only


def number(path: str, name: str, unit: float = 1, less: int = 0) -> Callable[[], str]:
    return lambda: f"{constant(path, name) / unit - less:,.9g}"


@functools.cache
def value_of(header: str, expression: str) -> int:
    """Of a constant expression, as the compiler has it."""
    source = f'#include "{header}"\nchar size[{expression}];\n'
    command = [os.environ.get("CC", "cc"), "-std=c11", "-I", "include", "-I", "src", "-x", "c", "-S", "-o", "-", "-"]
    text = subprocess.run(command, cwd=ROOT, input=source, capture_output=True, text=True, check=True).stdout
    found = re.search(r"\.(?:size|comm)\s+size, ?(\d+)", text)
    assert found, text
    return int(found[1])


def size_of(header: str, kind: str) -> int:
    return value_of(header, f"sizeof({kind})")


def version() -> str:
    """Of the header."""
    return ".".join(f"{constant('include/quern.h', f'QUERN_VERSION_{part}'):g}" for part in ("MAJOR", "MINOR", "PATCH"))


def word(count: int) -> str:
    return WORDS[count].capitalize()


def python() -> str:
    """The oldest that ./quern takes."""
    found = re.search(r"version_info < \((\d+), (\d+)\)", (ROOT / "quern").read_text())
    assert found
    return ".".join(found.groups())


def hand_files(recipe: str) -> Callable[[], str]:
    """The files that a recipe adds or edits."""
    return lambda: word(sum(path.is_file() and "__pycache__" not in path.parts
                            for path in (ROOT / "tests/checks/recipes" / recipe).rglob("*")))


def megabytes(*rows: str) -> Callable[[], str]:
    """The sum of rows of the table of sizes, which `gen sizes --check` compares with the build."""
    kilobytes = dict(re.findall(r"^\| ([\w ]+) (?:\| [\d ]*)+\| (\d+) \|$", (ROOT / KERNELS).read_text(), re.M))
    return lambda: f"{sum(int(kilobytes[row]) for row in rows) / 1000:.1f}"


def minutes(*outputs: str) -> Callable[[], str]:
    """Of one core, in fives, above ten in tens, for the steps whose output has one of these parts: tests/runner/steps.json."""
    costs = json.loads((ROOT / "tests/runner/steps.json").read_text())
    named = {"cc_kernel": "CC build/avx512", "cc": "CC build/src", "ptx": "NVCC", "ptx_of_other": "PTX", "cubin": "PTXAS",
             "fatbin": "FATBIN", "pack_images": "PACK"}
    text = "".join((ROOT / f"generated/{name}.ninja").read_text() for name in ("kernels", "host"))
    rules = [rule for output, rule in re.findall(r"^build (\S+): (\w+)", text, re.M)
             if rule in named and any(part in output for part in outputs)]
    needed = sum(costs[named[rule]] for rule in rules) / 60
    step = 5 if needed <= 10 else 10
    return lambda: str(step * math.ceil(needed / step))


def release(driver: int) -> str:
    """What NVIDIA calls the driver of a version of CUDA."""
    return f"CUDA {driver // 1000}.{driver % 1000 // 10}, release {({12040: 550, 12090: 575, 13000: 580})[driver]}"


MESSAGES, TRANSFERS, RECORD = "src/ranks/hosts/hosts.h", "src/ranks/transfer/transfer.h", "ranks/collective/collective.h"
KIB, MIB, SECOND = 1 << 10, 1 << 20, 1e9
TOOLKIT, PTXAS = map(toolchain.cuda_version, toolchain.pinned_versions())

FIGURES: tuple[tuple[str, str, tuple[Callable[[], str], ...]], ...] = (
    ("README.md", "Release {};", (version,)),
    ("README.md", "pip install {}-{}-{}.whl", (lambda: wheel.NAME, version, wheel.tag)),
    ("README.md", "need a driver for {})",
     (lambda: release(toolchain.least_driver(spec.GPU_TARGETS["sm_90a"], PTXAS)).replace(", ", " ("),)),
    ("README.md", "Python {} generates", (python,)),
    ("docs/looking_inside.md", "needs Python {} and no packages", (python,)),
    (KERNELS, "ABI version 8) | {} |", (lambda: release(TOOLKIT),)),
    ("README.md", "for CPUs alone: up to {} minutes on one core", (minutes("/avx512/", "/avx2/", "/portable/", "/src/"),)),
    ("README.md", "it has all kernels, which takes up to {} minutes on one core", (minutes("/"),)),
    ("CONTRIBUTING.md", "A whole build takes up to {} minutes on one core", (minutes("/"),)),
    (LOOK, "{} bytes each, at most {}.", (lambda: str(size_of("look/look.h", "struct quern_event")),
                                         number("src/look/events.c", "quern_trace_most_events"))),
    (LOOK, "more than {} bytes; a line that", (number("src/runtime/preferred.c", "MOST_BYTES"),)),
    (LOOK, "the first {} of the ranks that were missing", (number("src/look/look.h", "QUERN_EVENT_RANKS"),)),
    (LOOK, "headers of more than {} bytes", (number("src/look/tensors_file.c", "quern_most_header"),)),
    (ERRORS, "one line of at most {} characters", (number("src/runtime/status.c", "detail", less=1),)),
    (ERRORS, "`QUERN_THREADS` | 1 to {}:", (lambda: f"{constant('src/runtime/threads.c', 'MAX_THREADS'):g}",)),
    (ERRORS, "a glob of kernel names, up to {} characters", (number("src/runtime/device.h", "kernel_glob", less=1),)),
    (ERRORS, "1 to {}: the hardware queues of a context | a line, and {} are assumed",
     (number("src/ranks/cuda_support.c", "MOST"), number("src/ranks/cuda_support.c", "DEFAULT"))),
    (KERNELS, "For AVX-512 and Hopper all of it has {} MB", (megabytes("avx512", "sm_90a", "code of the host"),)),
    (KERNELS, "functions of the driver | {} |", (lambda: release(toolchain._DECOMPRESSES),)),
    (KERNELS, "machine code of ptxas 12.9 for sm_100f and sm_120f | {} |", (lambda: release(spec.GPU_TARGETS["sm_100f"].driver),)),
    (KERNELS, "{} file changes by hand: add a row to `GPU_TARGETS`", (hand_files("target"),)),
    (KERNELS, "{} files change by hand if no other target requires the instructions", (hand_files("cpu_target"),)),
    (KERNELS, "{} files change by hand, if the type has 16 bits", (hand_files("dtype"),)),
    (KERNELS, "{} files change by hand, including tests and documents", (hand_files("operation"),)),
    (RANKS, "else {} seconds for CPU ranks and {} minutes for GPU ranks",
     (number("src/ranks/group/form.c", "DEFAULT_CPU_TIMEOUT"), number("src/ranks/group/form.c", "DEFAULT_GPU_TIMEOUT", 60))),
    (HOSTS, "A host has at most {} ranks of a group, a group of several hosts at most {}. "
            "Up to {} ranks sockets carry the data of CPU",
     (number("include/quern.h", "QUERN_MAX_RANKS"), number("include/quern.h", "QUERN_MAX_HOSTS_RANKS"),
      number("src/ranks/hosts/choice.c", "quern_most_over_sockets"))),
    (COLLECTIVES, "an all-reduce of at most {} KiB", (number("src/ranks/collective/collective_rounds.c", "MOST_READ", KIB),)),
    (COLLECTIVES, "then up to {} blocks (up to {} with", (number("src/ranks/cuda_launch.c", "BLOCKS"),
                                                     number("src/ranks/cuda_launch.c", "MOST_BLOCKS"))),
    (TRANSFERS_PAGE, "groups of up to {} operations.", (number("src/ranks/nccl/nccl_functions.h", "QUERN_NCCL_GROUP_OPERATIONS"),)),
    (COLLECTIVES, "An input of up to {} bytes goes beside",
     (lambda: str(size_of(RECORD, "((struct quern_collective_told *)0)->input")),)),
    (COLLECTIVES, "have up to {} bytes a rank", (lambda: f"{value_of(RECORD, 'QUERN_COLLECTIVE_PAYLOAD'):,}",)),
    (COLLECTIVES, "an input of up to {} bytes travels", (lambda: f"{value_of(RECORD, 'QUERN_COLLECTIVE_PAYLOAD'):,}",)),
    ("docs/adam.md", "for lists of up to {} arrays", (number("src/runtime/pieces.h", "QUERN_CHECKED_ARRAYS"),)),
    ("docs/quantize.md", "two launches for each {} tensors, or one for each {} in blocks",
     (number("src/kernels/quantize_problem.h", "QUERN_QUANTIZE_BATCH"),
      number("src/kernels/quantize_problem.h", "QUERN_QUANTIZE_MATRICES"))),
    ("docs/quantize.md", "A thread casts {} elements", (number("src/ranks/chunks/chunks_work.c", "STEP"),)),
    ("docs/cross_entropy.md", "a row of up to {} KiB, {} bf16 columns",
     (number("gen/operations/cross_entropy.py", "SHORT_ROW_BYTES", KIB),
      lambda: f"{constant('gen/operations/cross_entropy.py', 'SHORT_ROW_BYTES') / 2:,.0f}")),
    (COLLECTIVES, "in rounds of {} to {} KiB", (number("src/ranks/collective/collective_rounds.c", "LEAST_BUFFER", KIB),
                                          number("src/ranks/collective/collective_rounds.c", "MOST_BUFFER", KIB))),
    (COLLECTIVES, "which has up to {} MiB (more with",
     (number("src/ranks/collective/collective_steps.c", "quern_most_workspace", MIB),)),
    (COLLECTIVES, "at most {} MiB, whatever the number of ranks",
     (number("src/ranks/collective/collective_nccl_reduce.c", "WORKSPACE", MIB),)),
    (TRANSFERS_PAGE, "for up to {} KiB in a direction in any case", (number(TRANSFERS, "QUERN_TRANSFER_SMALL", KIB),)),
    (TRANSFERS_PAGE, "hands over up to {} KiB for each rank in its start", (number(TRANSFERS, "QUERN_TRANSFER_EAGER", KIB),)),
    (TRANSFERS_PAGE, "shared memory of {} KiB for each direction",
     (number("src/ranks/transfer/transfer.h", "QUERN_RING_BYTES", KIB),)),
    (TRANSFERS_PAGE, "one half of a bounce buffer of {} MiB",
     (number("src/ranks/transfer/transfer.h", "QUERN_BOUNCE_BUFFER_BYTES", MIB),)),
    (TRANSFERS_PAGE, "of {} KiB or of as much as the carrier takes",
     (number("src/ranks/transfer/transfer.h", "QUERN_CARRIER_PIECE", KIB),)),
    (HOSTS, "one message if it is up to {} KiB with all slices", (number(MESSAGES, "QUERN_MESSAGE_STAGE", KIB),)),
    (HOSTS, "in messages of up to {} MiB", (number(MESSAGES, "QUERN_MESSAGE_LARGEST", MIB),)),
    (HOSTS, "at least {} bytes", (number("src/ranks/group/group.c", "LEAST_SECRET"),)),
    (HOSTS, "every {} s, and when something has changed", (number("src/ranks/heartbeat.h", "RAREST", SECOND),)),
    (HOSTS, "The failure timeout is {} s unless the group names another, {} to {},",
     tuple(number("src/ranks/heartbeat.h", f"QUERN_{name}_FAILURE_TIMEOUT") for name in ("USUAL", "LEAST", "MOST"))),
    (HOSTS, "looks every {} ms at the oldest operation", (number("src/ranks/watch.h", "QUERN_WATCH_MILLISECONDS"),)),
    ("CONTRIBUTING.md", "is in {} parts", (number("tests/runner/tiers.py", "PARTS"),)),
    ("CONTRIBUTING.md", "a line has at most {} columns", (number("tests/checks/style.py", "COLUMNS"),)),
)


def wrong_figures(name: str, text: str) -> Iterator[str]:
    said = " ".join(text.split())
    for document, sentence, figures in FIGURES:
        if document == name:
            expected = sentence.format(*(figure() for figure in figures))
            if expected not in said:
                yield f"expected \"{expected}\""


def main() -> int:
    found = [f"{name}: {fault}" for name in sorted({row[0] for row in FIGURES})
             for fault in wrong_figures(name, (ROOT / name).read_text())]
    print("".join(f"{fault}\n" for fault in found) + f"{len(FIGURES) - len(found)} passed, {len(found)} failed")
    return len(found) != 0


if __name__ == "__main__":
    sys.exit(main())
