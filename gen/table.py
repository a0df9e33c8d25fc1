"""The rows of a table, each listed once for all targets of a kind; values that differ between targets are chosen by the target."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gen.operation import INT64_MAX
from gen.plan import Kernel, Unit


@dataclass(frozen=True)
class Row:
    """Kernels that differ only in their targets."""

    kernels: tuple[Kernel | None, ...]  # one for each target; None where the target has none

    @property
    def first(self) -> Kernel:
        return next(kernel for kernel in self.kernels if kernel)

    @property
    def condition(self) -> str:
        """The preprocessor condition of the row, if some target lacks it."""
        return "" if all(self.kernels) else by_target("1" if kernel else "0" for kernel in self.kernels)

    @property
    def vocab_max(self) -> str:
        return self._column("vocab_max")

    @property
    def launch(self) -> str:
        """How a GPU kernel is launched: the numbers of struct quern_kernel's member cuda."""
        return ", ".join(self._column(name) for name in ("threads", "elements", "shared_per_column", "shared_per_part",
                                                         "shared_fixed", "cluster", "waits"))

    def _column(self, name: str) -> str:
        values = [getattr(kernel, name) if kernel else None for kernel in self.kernels]
        return by_target("INT64_MAX" if value == INT64_MAX else str(value or 0) for value in self._filled(values))

    def _filled(self, values: list[int | None]) -> list[int | None]:
        """A target without the row takes part in no choice: its place has the value that all others have, if they have one."""
        present = {value for value in values if value is not None}
        return [present.copy().pop() if value is None and len(present) == 1 else value for value in values]


@dataclass(frozen=True)
class Group:
    """The rows whose kernels are compiled together."""

    stem: str
    rows: tuple[Row, ...]


def by_target(values: Iterable[str]) -> str:
    """A value that is the same for all targets, or the choice among one for each."""
    listed = list(values)
    return listed[0] if len(set(listed)) == 1 else f"BY_TARGET({', '.join(listed)})"


def groups(units: list[Unit]) -> list[Group]:
    """The units of all targets of one kind, merged; every target has its rows in the same order."""
    targets = list(dict.fromkeys(unit.target for unit in units))
    stems = list(dict.fromkeys(unit.stem for unit in units))
    merged = []
    for stem in stems:
        kernels = [{kernel.base_name: kernel for unit in units if unit.stem == stem and unit.target == target
                    for kernel in unit.kernels} for target in targets]
        names = max((list(each) for each in kernels), key=len)
        for each in kernels:
            if list(each) != [name for name in names if name in each]:
                raise ValueError(f"the targets have the rows of {stem} in different orders")
        merged.append(Group(stem, tuple(Row(tuple(each.get(name) for each in kernels)) for name in names)))
    _check_order(merged, units)
    return merged


def _check_order(merged: list[Group], units: list[Unit]) -> None:
    place = {group.stem: number for number, group in enumerate(merged)}
    for before, after in zip(units, units[1:]):
        if before.target == after.target and place[before.stem] >= place[after.stem]:
            raise ValueError(f"the targets have {before.stem} and {after.stem} in different orders")
