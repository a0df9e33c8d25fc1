"""The rows of the table: one for each kernel, target and use.  Called by command.py and check.py."""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import ModuleType

from gen import plan
from gen.operation import VARIANT
from gen.spec import GpuTarget

from . import bounds, chips, launches
from .counts import Count, count
from .describe import Use
from .flow import Fault
from .kernels import adam, cross_entropy, quantize
from .machine_code import MachineCode
from .pipes import PIPES

DESCRIBED: dict[str, ModuleType] = {"cross_entropy": cross_entropy, "adam": adam, "quantize": quantize}
VOCABS = (32000, 32768, 50257, 65536, 100352, 128256, 262144)
VOCABS_OF_FULL = (32768, 50257, 128256)  # of kernels with all options, to keep the table small
VOCABS_OF_SHORT = (1000, 1001, 1536, 3072)  # of kernels for short rows


@dataclass(frozen=True)
class Chosen:
    """What to count."""

    operations: tuple[str, ...] = tuple(DESCRIBED)
    targets: tuple[str, ...] = ()   # empty: all
    vocabs: tuple[int, ...] = ()    # empty: those of the table
    pattern: str = "*"              # of kernels' names with their targets
    keeps_listings: bool = False


def kernels(chosen: Chosen) -> list[plan.Kernel]:
    """The kernels that are described.  A virtual target has no machine code of its own: the driver makes it."""
    return [kernel for operation in chosen.operations for kernel in plan.kernels(operation)
            if isinstance(kernel.target, GpuTarget) and not kernel.target.is_virtual
            and (not chosen.targets or kernel.target.name in chosen.targets)
            and fnmatch.fnmatchcase(kernel.name, chosen.pattern) and DESCRIBED[operation].is_described(kernel)]


def _vocabs_of(kernel: plan.Kernel) -> tuple[int, ...]:
    return VOCABS_OF_SHORT if kernel.key[VARIANT] == "short" else VOCABS_OF_FULL if kernel.full else VOCABS


def uses_of(kernel: plan.Kernel, chosen: Chosen) -> tuple[Use, ...]:
    """The forms of a kernel without vocabs; otherwise those vocabs that it can hold."""
    if not kernel.key.get("logits"):
        forms = getattr(DESCRIBED[kernel.operation], "forms", lambda _: ("",))
        return tuple(Use(form=form) for form in forms(kernel))
    wanted = chosen.vocabs or _vocabs_of(kernel)
    launched = {vocab: _launch_of(kernel, vocab) for vocab in wanted}
    return tuple(Use(vocab, blocks=found.cluster, shared=found.shared) for vocab, found in launched.items() if found)


ALL_VOCABS = (*VOCABS_OF_SHORT, *VOCABS)


@functools.cache
def _launched_of(target: GpuTarget, vocabs: tuple[int, ...], rows: int, kernels: str) -> dict[tuple[int, str], launches.Launched]:
    return launches.launched(target, list(vocabs), rows, kernels)


def _launched(target: GpuTarget, vocab: int, rows: int, kernels: str) -> dict[tuple[int, str], launches.Launched]:
    """Asks for all vocabs of the table at once."""
    return _launched_of(target, ALL_VOCABS if vocab in ALL_VOCABS else (vocab,), rows, kernels)


def _launch_of(kernel: plan.Kernel, vocab: int) -> launches.Launched | None:
    """How the library launches the kernel for a vocab; if it takes another one, how it does when it is forced to this."""
    assert isinstance(kernel.target, GpuTarget)
    for rows, forced in ((launches.ROWS, ""), (launches.ROWS, f"{kernel.base_name}__*"), (1, "")):
        found = _launched(kernel.target, vocab, rows, forced).get((vocab, kernel.base_name))
        if found:
            return found
    return None


def is_chosen(kernel: plan.Kernel, vocab: int) -> bool:
    """Whether dispatch takes the kernel for a call of many rows.  An Adam kernel is the only one of its key."""
    assert isinstance(kernel.target, GpuTarget)
    return not vocab or (vocab, kernel.base_name) in _launched(kernel.target, vocab, launches.ROWS, "")


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    kernel: plan.Kernel
    use: Use
    count: Count
    launch: bounds.Launch
    chosen: bool

    @property
    def shares(self) -> dict[str, tuple[float, str]]:
        """By chip: the share of copy bandwidth and what bounds it."""
        return {chip.name: bounds.share(self.count, self.launch, chip) for chip in chips.of_target(self.kernel.target.name)}

    @property
    def blocks(self) -> int | None:
        """Of an SM."""
        found = chips.of_target(self.kernel.target.name)
        return bounds.blocks_of_sm(self.launch, found[0]) if found else None

    def as_json(self) -> dict:
        row: dict = {"kernel": self.kernel.base_name, "target": self.kernel.target.name}
        row |= {name: value for name, value in (("vocab", self.use.vocab), ("form", self.use.form)) if value}
        row |= {"slots": round(self.count.slots, 2), "loop": round(self.count.loop, 2), "fixed": round(self.count.fixed, 2)}
        row["pipes"] = [round(self.count.pipes[name], 2) or 0 for name in PIPES]
        row |= {"shared_bytes": round(self.count.shared_bytes, 1), "registers": self.launch.registers, "shared": self.launch.shared}
        if self.blocks is not None:
            row |= {"blocks": self.blocks, "in_flight": round(self.blocks * self.launch.in_flight)}
        row["share"] = {name: round(share, 2) for name, (share, _) in self.shares.items()}
        row["chosen"] = self.chosen
        return row


def count_of(kernel: plan.Kernel, use: Use, keeps_listing: bool = False) -> tuple[Count, bounds.Launch]:
    """Counts one kernel; raises flow.Fault if it does not fit its description."""
    described = DESCRIBED[kernel.operation]
    if kernel.key.get(VARIANT) not in described.VARIANTS:
        raise Fault(f"{kernel.name}: bench/count/kernels/{kernel.operation}.py has no description of {kernel.key.get(VARIANT)}")
    code = MachineCode(kernel)
    items = described.items(kernel, use)
    must_move, again = described.moved(kernel, use)
    launch = bounds.Launch(kernel.threads, code.registers, code.static_shared + use.shared, must_move, again,
                            again * use.vocab / use.blocks, sum(item.share * item.in_flight for item in items))
    # The blocks of a grid that take work in turns.
    launched = _launch_of(kernel, use.vocab) if use.vocab else None
    if launched and launched.blocks >= launches.MULTIPROCESSORS:
        launch = replace(launch, most_blocks=launched.blocks // launches.MULTIPROCESSORS)
    return count(code.code, described.shapes(kernel), described.OVER, items, keeps_listing), launch


def rows(chosen: Chosen) -> Iterator[Row]:
    """The rows in the order of the kernels' table."""
    for kernel in kernels(chosen):
        for use in uses_of(kernel, chosen):
            counted, launch = count_of(kernel, use, chosen.keeps_listings)
            yield Row(kernel, use, counted, launch, is_chosen(kernel, use.vocab))
