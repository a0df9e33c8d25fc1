"""Compares two dumps call by call, and finds the first tensor that differs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from quern_dump.index import Call, Tensor, read_index
from quern_dump.tensors import DTYPES, DumpError, Stored

PIECE = 1 << 16  # bytes that are compared at a time; a multiple of every element


@dataclass
class Measure:
    """How much two tensors of one dtype and shape differ."""

    elements: int = 0
    different: int = 0
    first: int = -1
    first_values: tuple[float, float] = (0, 0)
    absolute: float = 0.0      # the largest difference, of elements that are finite in both
    relative: float = 0.0      # divided by the larger magnitude of the two
    not_finite: list[int] = field(default_factory=lambda: [0, 0])  # elements that differ and are NaN or infinite, in each

    def add(self, index: int, one: float, other: float) -> None:
        if not self.different:
            self.first, self.first_values = index, (one, other)
        self.different += 1
        finite = math.isfinite(one), math.isfinite(other)
        self.not_finite[0] += not finite[0]
        self.not_finite[1] += not finite[1]
        if all(finite):
            distance, larger = abs(one - other), max(abs(one), abs(other))
            self.absolute = max(self.absolute, distance)
            if larger:
                self.relative = max(self.relative, distance / larger)

    def is_within(self, tolerance: float) -> bool:
        """Without a tolerance the bits must be equal: +0 and -0 have no distance."""
        return not self.different or (0 < tolerance and self.relative <= tolerance and not any(self.not_finite))

    def text(self, shape: tuple[int, ...]) -> str:
        lines = [f"{self.different} of {self.elements} elements differ",
                 f"largest difference {self.absolute:.6g}, relative {self.relative:.6g}",
                 f"first at {place_of(self.first, shape)}: {self.first_values[0]:.9g} and {self.first_values[1]:.9g}"]
        if any(self.not_finite):
            lines.append(f"NaN or infinite among them: {self.not_finite[0]} and {self.not_finite[1]}")
        return "".join(f"    {line}\n" for line in lines)


def place_of(index: int, shape: tuple[int, ...]) -> str:
    """The subscripts of an element in row-major order."""
    subscripts = []
    for size in reversed(shape):
        subscripts.insert(0, index % size if size else 0)
        index //= size or 1
    return "[" + ", ".join(map(str, subscripts)) + "]"


def elements_that_differ(first: bytes, second: bytes, dtype: str) -> Iterator[tuple[int, float, float]]:
    """The index and the values of each element whose bits differ."""
    size, read = DTYPES[dtype]
    ones, others = read(first), read(second)
    for i, (one, other) in enumerate(zip(ones, others, strict=True)):
        if first[i * size:(i + 1) * size] != second[i * size:(i + 1) * size]:
            yield i, one, other


def measure(one: Stored, other: Stored) -> Measure:
    size = DTYPES[one.dtype][0]
    result = Measure(elements=one.bytes // size)
    try:
        with one.path.open("rb") as first, other.path.open("rb") as second:
            first.seek(one.begin)
            second.seek(other.begin)
            for offset in range(0, one.bytes, PIECE):
                length = min(PIECE, one.bytes - offset)
                pieces = first.read(length), second.read(length)
                if any(len(piece) != length for piece in pieces):
                    raise DumpError(f"{one.path} or {other.path} is shorter than its header says")
                if pieces[0] != pieces[1]:
                    for index, value, against in elements_that_differ(*pieces, one.dtype):
                        result.add(offset // size + index, value, against)
    except OSError as error:
        raise DumpError(str(error)) from error
    return result


@dataclass
class Comparison:
    """What was found so far."""

    tolerance: float
    differences: list[str] = field(default_factory=list)
    equal: int = 0
    close: int = 0
    not_compared: int = 0

    def differ(self, call: Call, text: str) -> None:
        self.differences.append(f"{call.title()}: {text}")


def compare_tensors(found: Comparison, call: Call, one: Tensor, other: Tensor) -> None:
    what = f"{one.name} ({one.access})"
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        found.differ(call, f"{what} is {one.dtype} {list(one.shape)} and {other.dtype} {list(other.shape)}\n")
    elif one.left_out or other.left_out:
        found.not_compared += 1
    elif one.sha256 and one.sha256 == other.sha256:
        found.equal += 1
    else:
        result = measure(one.stored(), other.stored())
        found.equal += not result.different
        found.close += bool(result.different) and result.is_within(found.tolerance)
        if not result.is_within(found.tolerance):
            found.differ(call, f"{what} differs\n{result.text(one.shape)}")


def names(call: Call) -> list[tuple[str, str]]:
    return [(tensor.name, tensor.access) for tensor in call.tensors]


def compare_calls(found: Comparison, one: Call, other: Call) -> None:
    if one.operation != other.operation:
        found.differ(one, f"the other run has {other.operation}\n")
        return
    for name in dict.fromkeys([*one.arguments, *other.arguments]):
        values = one.arguments.get(name), other.arguments.get(name)
        if values[0] != values[1]:
            found.differ(one, f"the argument {name} is {values[0]} and {values[1]}\n")
    if names(one) != names(other) and one.status == other.status:
        found.differ(one, "the runs have other tensors\n")
        return
    matching = {(tensor.name, tensor.access): tensor for tensor in other.tensors}
    for tensor in one.tensors:
        if (tensor.name, tensor.access) in matching:
            compare_tensors(found, one, tensor, matching[tensor.name, tensor.access])
    if one.status != other.status:
        found.differ(one, f"the status is {one.status} and {other.status}\n    {one.detail}\n    {other.detail}\n")


def by_rank(calls: list[Call]) -> dict[int | None, list[Call]]:
    """The calls of each rank: ranks that are threads of one process share a sequence, in an order that may change."""
    found: dict[int | None, list[Call]] = {}
    for call in calls:
        found.setdefault(call.rank, []).append(call)
    return found


def pairs_of(one: list[Call], other: list[Call]) -> list[tuple[Call | None, Call | None]]:
    first, second = by_rank(one), by_rank(other)
    ranks = dict.fromkeys([*first, *second])
    pairs = [pair for rank in ranks for pair in itertools.zip_longest(first.get(rank, []), second.get(rank, []))]
    return sorted(pairs, key=lambda pair: (pair[0] or pair[1]).sequence)


def compare(one: Path, other: Path, tolerance: float) -> Comparison:
    found = Comparison(tolerance)
    for first, second in pairs_of(read_index(one), read_index(other)):
        if first and second:
            compare_calls(found, first, second)
        else:
            found.differ(first or second, f"only {one if first else other} has it\n")
    return found
