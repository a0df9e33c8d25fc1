"""Makes the functions of libquern.so addressable from programs that are not position-independent.  Called by the build.

The functions are compiled as protected, so the linker has bound all calls inside the library.  GNU ld and lld refuse to link such a
program if it takes the address of a function that a shared library protects, as `args.gemm = quern_blas_gemm` does: the address is
then a place in the program.  So the dynamic symbols become default after the link, which changes no call inside the library.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

# Of elf.h: the 64-bit layout, little-endian.
MAGIC = b"\x7fELF\x02\x01"
SECTIONS_AT, SECTION_COUNT_AT, SECTION_BYTES, SYMBOL_BYTES = 40, 60, 64, 24
SHT_DYNSYM = 11
STV_DEFAULT, STV_PROTECTED, VISIBILITY = 0, 3, 3


def dynamic_symbols(elf: bytes) -> range:
    """The offsets of the dynamic symbols in a file."""
    if not elf.startswith(MAGIC):
        raise SystemExit("exports: expected a 64-bit ELF file, little-endian")
    (first,), (count,) = struct.unpack_from("<Q", elf, SECTIONS_AT), struct.unpack_from("<H", elf, SECTION_COUNT_AT)
    for section in range(first, first + count * SECTION_BYTES, SECTION_BYTES):
        kind, = struct.unpack_from("<I", elf, section + 4)
        if kind == SHT_DYNSYM:
            offset, size = struct.unpack_from("<QQ", elf, section + 24)
            return range(offset, offset + size, SYMBOL_BYTES)
    raise SystemExit("exports: the file has no dynamic symbols")


def unprotect(elf: bytearray) -> None:
    for symbol in dynamic_symbols(elf):
        other = symbol + 5
        if elf[other] & VISIBILITY == STV_PROTECTED:
            elf[other] += STV_DEFAULT - STV_PROTECTED


if __name__ == "__main__":
    path = Path(sys.argv[1])
    content = bytearray(path.read_bytes())
    unprotect(content)
    path.write_bytes(content)
