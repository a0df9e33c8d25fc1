"""Compares machine code with the kept table.  Part of `./quern test`, through `./quern bench --count --check`.

The digests of the code are those of the receipts (gen/measured.py).  Code whose digest the table has is not counted, except for a
sample, which would show that the counter or a description has changed.  Code with another digest is: a kernel that takes 3 % more
slots than the table says fails, and so does one that does not fit its description.  Both counts have receipts of their own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from gen import explain, measured, plan, receipts, spec, toolchain
from gen.machine_code import Image
from gen.receipts import Unit

from . import files, table
from .describe import Use
from .flow import Fault

GROUP = "issue slots"
TOLERANCE = 1.03
SAME = 0.01  # slots, of code that has not changed
SAMPLE = ("cross_entropy_bf16_short", "cross_entropy_bf16_resident", "cross_entropy_bf16_resident_full",
          "cross_entropy_bf16_streamed", "adam_pf32_gf16_mbf16_vbf16", "adam_gradient_norm_bf16", "adam_gradient_accumulate_bf16",
          "quantize_matrix_bf16_e4m3")
SAMPLED = ("sm_75", "sm_90a", "sm_100f")  # the oldest target, the first with clusters, and the first of the newer NVVM
SAMPLED_USES = (0, 1001, 32768, 50257)    # no vocab, the first one, and others of which one is odd
AGAIN = "write the table again: ./quern bench --count --json bench/results/gpu-counts.json --markdown bench/results/gpu-counts.md"
NOT_THE_COUNTER = ("command", "check", "files", "picture")  # the modules here on which no count depends


def is_sampled(kernel: plan.Kernel) -> bool:
    return kernel.base_name in SAMPLE and kernel.target.name in SAMPLED


def _stem(kernel: plan.Kernel) -> str:
    return f"{kernel.target.name}/{kernel.stem}"


def _name(use: Use) -> str:
    return str(use.vocab or use.form)


@dataclass
class Comparison:
    """The kept table, what is known of the present code, and what differs."""

    kept: dict[tuple[str, str, tuple[int, str]], dict]
    codes: dict[str, str]
    images: dict[str, Image]
    counts: dict[str, dict[str, float]] = field(default_factory=dict)  # the slots of kernels that are counted, by use
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def is_same(self, kernel: plan.Kernel) -> bool:
        return self.codes.get(kernel.name) == self.images[_stem(kernel)].kernels[kernel.symbol].digest

    def uses_of(self, kernel: plan.Kernel) -> list[Use]:
        """What is counted of a kernel."""
        uses = table.uses_of(kernel, table.Chosen())
        return [use for use in uses if not self.is_same(kernel) or is_sampled(kernel) and use.vocab in SAMPLED_USES]

    def units(self) -> list[Unit]:
        """The kernels that are counted, of those whose code is known."""
        sources = sorted(path for path in Path(__file__).parent.rglob("*.py") if path.stem not in NOT_THE_COUNTER)
        counter = receipts.digest(*sources)
        return [Unit(kernel.name, receipts.digest(counter, self.images[_stem(kernel)].kernels[kernel.symbol].digest),
                     (f"build/{_stem(kernel)}.cubin",))
                for kernel in table.kernels(table.Chosen())
                if _stem(kernel) in self.images and (is_sampled(kernel) or not self.is_same(kernel))]

    def count(self, due: list[Unit]) -> dict[str, dict[str, float] | None]:
        if first := measured.not_built([need for unit in due for need in unit.needs]):
            self.faults.append(f"{len(due)} kernels have to be counted, {due[0].name} for one, and their machine code is not built "
                               f"({first})")
            return {}
        kernels = {kernel.name: kernel for kernel in table.kernels(table.Chosen())}
        found: dict[str, dict[str, float] | None] = {}
        for name in (unit.name for unit in due):
            kernel = kernels[name]
            try:
                found[name] = {_name(use): round(table.count_of(kernel, use)[0].slots, 2) for use in self.uses_of(kernel)}
            except Fault as fault:
                self.faults.append(str(fault))
                found[name] = None
        return found

    def compare_row(self, kernel: plan.Kernel, use: Use) -> None:
        where, code = f"{kernel.name}{use}", self.images[_stem(kernel)].kernels[kernel.symbol]
        row = self.kept.get((kernel.base_name, kernel.target.name, use.key))
        if not row:
            self.faults.append(f"{where}: the table has no row; {AGAIN}")
            return
        if row["chosen"] != table.is_chosen(kernel, use.vocab):
            self.faults.append(f"{where}: dispatch has changed its choice; {AGAIN}")
        if self.is_same(kernel) and row["shared"] != code.shared + use.shared:
            shared = code.shared + use.shared
            self.faults.append(f"{where}: {shared} bytes of shared memory, the table says {row['shared']}; {AGAIN}")
        slots, said = self.counts.get(kernel.name, {}).get(_name(use)), row["slots"]
        if slots is None:
            return
        if self.is_same(kernel):
            if abs(slots - said) > SAME:
                self.faults.append(f"{where}: {slots} slots, the table says {said}: the counter has changed; {AGAIN}")
        elif slots > TOLERANCE * said:
            self.faults.append(f"{where}: {slots} slots, {slots / said - 1:.1%} more than the table's {said}")
        elif slots < said / TOLERANCE:
            self.notes.append(f"{where}: {slots} slots, {1 - slots / said:.1%} fewer than the table's {said}: write it again")

    def compare(self, kernels: list[plan.Kernel]) -> None:
        for kernel in kernels:
            for use in table.uses_of(kernel, table.Chosen()) if _stem(kernel) in self.images else ():
                self.compare_row(kernel, use)
        gone = self.codes.keys() - {kernel.name for kernel in kernels}
        self.faults += [f"{name}: the table has it, the library does not; {AGAIN}" for name in sorted(gone)]


def _request(kernel: plan.Kernel) -> tuple[str, str | None, str | None]:
    return kernel.target.name, kernel.key["logits"], kernel.key["options"]


def unexplained(kernels: list[plan.Kernel]) -> list[str]:
    """Where the launches differ from the choice that `gen explain` computes from the plan: one of the two is wrong."""
    faults = []
    rows = [kernel for kernel in kernels if kernel.key.get("logits")]
    for key in dict.fromkeys(_request(kernel) for kernel in rows):
        target, logits, options = key
        for vocab in table.ALL_VOCABS:
            request = {"logits": logits, "options": options, explain.VOCAB: str(vocab)}
            said = explain.walk("cross_entropy", spec.GPU_TARGETS[target], request)[-1]
            taken = [kernel.name for kernel in rows if _request(kernel) == key and table.is_chosen(kernel, vocab)]
            if [f"{name}: chosen" for name in taken] != [said]:
                launched = " and ".join(taken) or "nothing"
                faults.append(f"{target}, {logits}, vocab {vocab}: the library launches {launched}; explain: {said}")
    return faults


def comparison(images: dict[str, Image]) -> Comparison:
    kept = json.loads(files.TABLE.read_text())
    rows = {(row["kernel"], row["target"], (row.get("vocab", 0), row.get("form", ""))): row for row in kept["rows"]}
    found = Comparison(rows, kept["code"], images)
    if kept["nvcc"] != (pinned := toolchain.pinned_tools()):
        found.faults.append(f"the table is of nvcc {kept['nvcc']}, the receipts of {pinned}; {AGAIN}")
    return found


def run(everything: bool) -> int:
    code = measured.measured(everything)
    found = comparison(code.images)
    found.notes += code.skipped
    found.faults += code.faults
    why = measured.lacking() or not toolchain.find_nvdisasm() and "there is no nvdisasm" or code.faults and "other code is unknown"
    settled = receipts.settle(GROUP, found.units(), None if why else found.count, everything)
    found.counts, found.faults = settled.results, found.faults + settled.faults
    found.notes += [f"{name}: not counted, {why}" for name in settled.missing if why]
    kernels = table.kernels(table.Chosen())
    found.faults += unexplained(kernels)
    found.compare(kernels)
    closing = f"{len(kernels)} kernels compared, {len(settled.computed)} of them counted again"
    print("\n".join([*found.notes, *found.faults, closing]))
    return 1 if found.faults else 0
