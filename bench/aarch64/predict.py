"""Counts the instructions of an element in the CPU kernels of aarch64, and predicts its cycles: `python3 bench/aarch64/predict.py`.

QEMU writes the address of each instruction that loops.c executes over two numbers of elements.  What the difference has is the loops
over the elements, whatever the start costs.  llvm-mca schedules the blocks that are executed equally often, each over and over, with
all data in the first cache: a prediction, which no processor has confirmed.  The loop of vectors.c, compiled for Advanced SIMD and for
SVE, says what a target for SVE would save.  Needs the cross compiler, QEMU, llvm-mca 19 and
build/aarch64/light/libquern.a, or another archive that is named; writes bench/results/aarch64-predictions.md.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "build/aarch64/light/libquern.a"
RESULT = ROOT / "bench/results/aarch64-predictions.md"
CASES = {
    "adam_f32": "Adam, all fp32",
    "adam_nearest": "Adam, all bf16, to nearest",
    "adam_bf16": "Adam, all bf16, v and parameters stochastic",
    "adam_master": "Adam, bf16 with an fp32 master, v stochastic",
    "cross_entropy_f32": "cross-entropy, fp32, gradient in place",
    "cross_entropy_bf16": "cross-entropy, bf16, gradient in place",
    "quantize_e4m3": "quantisation, bf16 to E4M3, both steps",
}
TARGETS = ("neon", "portable")
CORES = ("neoverse-n1", "neoverse-v2")
ELEMENTS = 8192   # and twice as many: whole parts of all loops
ITERATIONS = 200
# Cores with SVE: the bits of its vectors.
SVE_CORES = {"neoverse-v1": 256, "neoverse-v2": 128}
FP32_BITS = 32
TRACE = re.compile(r"^Trace \d+: \S+ \[[^/]*/([0-9a-f]+)/")
LINE = re.compile(r"^ +([0-9a-f]+):\t(\S+)\s*(.*)$")


def output(*command: object, text: str | None = None) -> str:
    done = subprocess.run([str(word) for word in command], input=text, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command[:4]))}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def executed(program: Path, case: str, target: str, elements: int) -> Counter[int]:
    """How often the instruction at each address is executed."""
    command = ["qemu-aarch64-static", "-singlestep", "-d", "exec,nochain", "-E", f"QUERN_KERNEL=*__{target}", "-E", "QUERN_THREADS=1",
               str(program), case, str(elements)]
    found: Counter[int] = Counter()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        said = []
        for line in process.stderr or ():
            if address := TRACE.match(line):
                found[int(address[1], 16)] += 1
            else:
                said.append(line)
    if process.returncode:
        raise SystemExit(f"{case} {target}: {''.join(said)[-2000:]}")
    return found


def blocks(program: Path, counts: dict[int, int]) -> list[tuple[int, list[str]]]:
    """The instructions that follow each other and are executed equally often, with the number."""
    code = {}
    for line in output("aarch64-linux-gnu-objdump", "-d", "--no-show-raw-insn", program).splitlines():
        if found := LINE.match(line):
            # Without comments and names; an address in place of an offset would be too far for llvm-mca.
            operands = re.sub(r"\b[0-9a-f]{5,}$", "4096", re.sub(r" *(<.*|//.*)$", "", found[3]))
            code[int(found[1], 16)] = f"{found[2]} {operands}"
    found_blocks: list[tuple[int, list[str]]] = []
    before = (0, 0)
    for address, count in sorted(counts.items()):
        if (address - 4, count) != before:
            found_blocks.append((count, []))
        found_blocks[-1][1].append(code[address])
        before = (address, count)
    return found_blocks


def cycles(core: str, block: list[str]) -> float:
    """Of one of many iterations."""
    said = output("llvm-mca-19", "-mtriple=aarch64", f"-mcpu={core}", f"-iterations={ITERATIONS}", text="\n".join(block) + "\n")
    total = re.search(r"Total Cycles: +(\d+)", said)
    if not total:
        raise SystemExit(f"llvm-mca gives no cycles: {said[:500]}")
    return int(total[1]) / ITERATIONS


def measure(program: Path, case: str, target: str) -> tuple[float, ...]:
    """Instructions of an element, and its cycles on each core."""
    once, twice = (executed(program, case, target, elements) for elements in (ELEMENTS, 2 * ELEMENTS))
    more = {address: twice[address] - once[address] for address in twice if twice[address] > once[address]}
    hot = {address: count for address, count in more.items() if count >= ELEMENTS // 512}   # a step of a loop is at most 512 elements
    found = blocks(program, hot)
    return (sum(more.values()) / ELEMENTS,
            *(sum(count * cycles(core, block) for count, block in found) / ELEMENTS for core in CORES))


def loop(*flags: str) -> list[str]:
    """The instructions of the loop of vectors.c."""
    text = output("aarch64-linux-gnu-gcc", "-std=c11", "-O3", "-fno-math-errno", "-fno-trapping-math", *flags, "-S",
                  ROOT / "bench/aarch64/vectors.c", "-o", "-")
    (found,) = (each[0] for each in re.finditer(r"^(\.L\d+):\n(?:\t.*\n)*?\tb\S+\t\1$", text, re.MULTILINE)
                if re.search(r"\tfsqrt\t[vz]\d+\.4?s", each[0]))
    return found.splitlines()


def vectors() -> list[tuple[str, ...]]:
    """Of an element of the loop, by Advanced SIMD and by SVE on each core: instructions and cycles."""
    rows = []
    for core, bits in SVE_CORES.items():
        for name, width, flags in (("Advanced SIMD", 128, "-march=armv8.4-a"), ("SVE", bits, "-march=armv8.4-a+sve")):
            block = loop(flags, *([f"-msve-vector-bits={bits}"] if name == "SVE" else []))
            lanes = width // FP32_BITS
            rows.append((core, name, str(width), f"{(len(block) - 1) / lanes:.1f}", f"{cycles(core, block) / lanes:.1f}"))
    return rows


WHY_NO_SVE = """\
## SVE

The loop of Adam, all fp32, compiled by the same compiler for Advanced SIMD and for SVE
([vectors.c](../aarch64/vectors.c)), an element:

{table}

There is no target for SVE. Of the processors in the [README](../../README.md) only Graviton3 (Neoverse V1) has SVE wider than 128
bits. Grace, Graviton4 (Neoverse V2) and GB10 have 128, Apple's none outside of streaming mode. V1 has half as many units of
twice the width: SVE halves the instructions, and the divisions and square roots, which bound the loop, take the same cycles. Over large
tensors neither counts: a step moves 28 bytes of an element, which at 2 cycles and 3 GHz are 42 GB/s of one core, and the cores of a
socket share a few hundred.

DeepSpeed has Adam for SVE ([8365](https://github.com/deepspeedai/DeepSpeed/pull/8365), fp32 alone) and Advanced SIMD
([8453](https://github.com/deepspeedai/DeepSpeed/pull/8453)), and compares the former with a scalar loop: 1.3 to 1.55 times as fast, the
step of 4 billion parameters in 0.487 s, which is 230 GB/s at 28 bytes. The instructions of its loops are not counted here; the loop
above has the operations of any such step, one division and one square root.
"""


def table(header: tuple[str, ...], rows: list[tuple[str, ...]], texts: int = 2) -> str:
    rule = tuple("---" if place < texts else "---:" for place in range(len(header)))
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, rule, *rows))


def page(rows: list[tuple[str, ...]], compiler: str) -> str:
    found = table(("case", "target", "instructions", *(f"cycles on {core}" for core in CORES)), rows)
    sve = WHY_NO_SVE.format(table=table(("core", "vectors", "bits", "instructions", "cycles"), vectors()))
    return "\n".join(["# aarch64: instructions and predicted cycles of an element", "",
                      "Written by [bench/aarch64/predict.py](../aarch64/predict.py), which says how. No processor has confirmed the cycles.",
                      f"Compiler: {compiler}.", "", found, "", sve])


def main() -> int:
    rows = []
    with tempfile.TemporaryDirectory() as name:
        program = Path(name) / "loops"
        output("aarch64-linux-gnu-gcc", "-O2", "-static", "-w", "-I", ROOT / "include", ROOT / "bench/aarch64/loops.c",
               sys.argv[1] if len(sys.argv) > 1 else LIBRARY, "-lm", "-ldl", "-pthread", "-o", program)
        for case, title in CASES.items():
            for target in TARGETS:
                numbers = measure(program, case, target)
                rows.append((title, f"`{target}`", *(f"{number:.1f}" for number in numbers)))
                print(*rows[-1], flush=True)
    RESULT.write_text(page(rows, output("aarch64-linux-gnu-gcc", "--version").splitlines()[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
