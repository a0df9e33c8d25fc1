"""Reads files of tensors in the format of safetensors, and the values of every dtype that they have here."""

from __future__ import annotations

import array
import functools
import json
import math
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

MOST_HEADER = 100_000_000  # bytes, as in the safetensors library


class DumpError(Exception):
    """A dump that cannot be read."""


# ---- values ----


def small_float(code: int, exponent_bits: int, mantissa_bits: int, has_infinity: bool) -> float:
    """The value of a float of 8 or 16 bits.  Without infinity only the code of all ones is NaN."""
    bias = (1 << exponent_bits - 1) - 1
    mantissa, exponent = code & (1 << mantissa_bits) - 1, code >> mantissa_bits & (1 << exponent_bits) - 1
    sign = -1.0 if code >> exponent_bits + mantissa_bits else 1.0
    if exponent == (1 << exponent_bits) - 1:
        if has_infinity:
            return math.nan if mantissa else sign * math.inf
        if mantissa == (1 << mantissa_bits) - 1:
            return math.nan
    if exponent == 0:
        return sign * math.ldexp(mantissa, 1 - bias - mantissa_bits)
    return sign * math.ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits)


@functools.cache
def table(exponent_bits: int, mantissa_bits: int, has_infinity: bool) -> list[float]:
    codes = 1 << 1 + exponent_bits + mantissa_bits
    return [small_float(code, exponent_bits, mantissa_bits, has_infinity) for code in range(codes)]


def numbers(letter: str) -> Callable[[bytes], Sequence[float]]:
    """Reads what Python's array module knows, which files have in little-endian order."""
    def read(data: bytes) -> Sequence[float]:
        values = array.array(letter, data)
        if sys.byteorder == "big":
            values.byteswap()
        return values
    return read


def codes(letter: str, exponent_bits: int, mantissa_bits: int, has_infinity: bool = True) -> Callable[[bytes], Sequence[float]]:
    def read(data: bytes) -> Sequence[float]:
        values = table(exponent_bits, mantissa_bits, has_infinity)
        return [values[code] for code in numbers(letter)(data)]
    return read


# The bytes of an element, and how to read elements.
DTYPES: dict[str, tuple[int, Callable[[bytes], Sequence[float]]]] = {
    "F64": (8, numbers("d")), "F32": (4, numbers("f")), "F16": (2, codes("H", 5, 10)), "BF16": (2, codes("H", 8, 7)),
    "F8_E4M3": (1, codes("B", 4, 3, False)), "F8_E5M2": (1, codes("B", 5, 2)), "I64": (8, numbers("q")), "I32": (4, numbers("i")),
    "U32": (4, numbers("I")), "U16": (2, numbers("H")), "U8": (1, numbers("B")),
}


# ---- files ----


@dataclass(frozen=True)
class Stored:
    """A tensor in a file."""

    path: Path
    dtype: str
    shape: tuple[int, ...]
    begin: int  # of its data in the file
    bytes: int


def check_entry(path: Path, name: str, entry: object, size: int) -> Stored:
    try:
        dtype, shape, (begin, end) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
        expected = math.prod(shape) * DTYPES[dtype][0]
        right = all(type(each) is int and each >= 0 for each in (*shape, begin, end)) and end - begin == expected and end <= size
    except (KeyError, TypeError, ValueError) as error:
        raise DumpError(f"{path}: the header of {name} is {entry!r}: {error!r}") from error
    if not right:
        raise DumpError(f"{path}: {name} has offsets {begin} to {end}: expected {expected} bytes within {size}")
    return Stored(path, dtype, shape, begin, expected)


def read_header(path: Path) -> dict[str, Stored]:
    """The tensors of a file by their names."""
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            prefix = file.read(8)
            length = struct.unpack("<Q", prefix)[0] if len(prefix) == 8 else size
            if length > min(size - 8, MOST_HEADER):
                raise DumpError(f"{path}: {size} bytes: expected a header of {length} bytes and data")
            header = json.loads(file.read(length))
    except (OSError, ValueError, RecursionError) as error:
        raise DumpError(f"{path}: {error}") from error
    if not isinstance(header, dict):
        raise DumpError(f"{path}: the header is no object")
    data = 8 + length
    found = {name: check_entry(path, name, entry, size - data) for name, entry in header.items() if name != "__metadata__"}
    return {name: Stored(each.path, each.dtype, each.shape, each.begin + data, each.bytes) for name, each in found.items()}
