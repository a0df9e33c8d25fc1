"""Compares the build's machine code with the kept table.  Part of `./quern test`, through `./quern bench --count --check`.

Code whose digest the table has is not counted again, except for a sample, which would show that the counter or a description has
changed.  Code with another digest is: a kernel that takes 3 % more slots than the table says fails, and so does one that does not
fit its description.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from gen import explain, plan, spec

from . import files, table
from .describe import Use
from .flow import Fault
from .machine_code import MachineCode

TOLERANCE = 1.03
SAME = 0.01  # slots, of code that has not changed
SAMPLE = ("cross_entropy_bf16_short", "cross_entropy_bf16_resident", "cross_entropy_bf16_resident_full",
          "cross_entropy_bf16_streamed", "adam_pf32_gf16_mbf16_vbf16", "adam_gradient_norm_bf16", "adam_gradient_accumulate_bf16",
          "quantize_matrix_bf16_e4m3")
SAMPLED = ("sm_75", "sm_90a", "sm_100f")  # the oldest target, the first with clusters, and the first of the newer NVVM
AGAIN = "write the table again: ./quern bench --count --json bench/results/gpu-counts.json --markdown bench/results/gpu-counts.md"


def is_sampled(kernel: plan.Kernel) -> bool:
    return kernel.base_name in SAMPLE and kernel.target.name in SAMPLED


@dataclass
class Comparison:
    """The kept table, and what differs from it."""

    kept: dict[tuple[str, str, tuple[int, str]], dict]
    codes: dict[str, str]
    faults: list[str]
    notes: list[str]
    counted: int = 0

    def compare_row(self, kernel: plan.Kernel, use: Use, is_same: bool) -> None:
        where = f"{kernel.name}{use}"
        row = self.kept.get((kernel.base_name, kernel.target.name, use.key))
        if not row:
            self.faults.append(f"{where}: the table has no row; {AGAIN}")
            return
        if row["chosen"] != table.is_chosen(kernel, use.vocab):
            self.faults.append(f"{where}: dispatch has changed its choice; {AGAIN}")
        if is_same and not is_sampled(kernel):
            return
        self.counted += 1
        slots = round(table.count_of(kernel, use)[0].slots, 2)
        said = row["slots"]
        if is_same and abs(slots - said) > SAME:
            self.faults.append(f"{where}: {slots} slots, the table says {said}: the counter has changed; {AGAIN}")
        elif slots > TOLERANCE * said:
            self.faults.append(f"{where}: {slots} slots, {slots / said - 1:.1%} more than the table's {said}")
        elif slots < said / TOLERANCE:
            self.notes.append(f"{where}: {slots} slots, {1 - slots / said:.1%} fewer than the table's {said}: write it again")

    def compare(self, kernel: plan.Kernel) -> None:
        is_same = self.codes.get(kernel.name) == MachineCode(kernel).digest
        uses = table.uses_of(kernel, table.Chosen())
        try:
            # A sample of the sample: the first vocab, and an odd one.
            for use in uses:
                if not is_same or not is_sampled(kernel) or use.vocab in (0, 1001, 32768, 50257):
                    self.compare_row(kernel, use, is_same)
        except Fault as fault:
            self.faults.append(str(fault))


def _request(kernel: plan.Kernel) -> tuple[str, str | None, str | None]:
    return kernel.target.name, kernel.key["logits"], kernel.key["options"]


def unexplained(kernels: list[plan.Kernel]) -> list[str]:
    """Where the launches differ from the choice that `gen explain` computes from the plan: one of the two is wrong."""
    faults = []
    rows = [kernel for kernel in kernels if kernel.key.get("logits")]
    for key in dict.fromkeys(_request(kernel) for kernel in rows):
        target, logits, options = key
        for vocab in (*table.VOCABS_OF_SHORT, *table.VOCABS):
            request = {"logits": logits, "options": options, explain.VOCAB: str(vocab)}
            said = explain.walk("cross_entropy", spec.GPU_TARGETS[target], request)[-1]
            taken = [kernel.name for kernel in rows if _request(kernel) == key and table.is_chosen(kernel, vocab)]
            if [f"{name}: chosen" for name in taken] != [said]:
                launched = " and ".join(taken) or "nothing"
                faults.append(f"{target}, {logits}, vocab {vocab}: the library launches {launched}; explain: {said}")
    return faults


def run() -> int:
    kept = json.loads(files.TABLE.read_text())
    if kept["nvcc"] != files.nvcc_version():
        print(f"not compared: the table is of nvcc {kept['nvcc']}, this build of {files.nvcc_version()}")
        return 0
    rows = {(row["kernel"], row["target"], (row.get("vocab", 0), row.get("form", ""))): row for row in kept["rows"]}
    kernels = table.kernels(table.Chosen())
    comparison = Comparison(rows, kept["code"], unexplained(kernels), [])
    for kernel in kernels:
        comparison.compare(kernel)
    gone = kept["code"].keys() - {kernel.name for kernel in kernels}
    comparison.faults += [f"{name}: the table has it, the library does not; {AGAIN}" for name in sorted(gone)]
    for line in (*comparison.notes, *comparison.faults):
        print(line)
    print(f"{len(kernels)} kernels, {comparison.counted} rows counted again")
    print(f"{len(kernels) - len(comparison.faults)} passed, {len(comparison.faults)} failed")
    return 1 if comparison.faults else 0
