"""The pipe of an SM that executes each opcode, and the bytes that it moves in shared memory.  Called by counts.py and bounds.py.

The opcodes are not documented; the table follows the published microbenchmarks (README.md) and the CUDA guide's throughputs.
"""

from __future__ import annotations

import functools
import re

# The first pattern that matches the beginning of an opcode decides.
_PATTERNS = (
    ("mufu", r"MUFU|FRND|F2I|I2F(\.|$)|F2F(\.|$)"),
    ("fp64", r"DADD|DMUL|DFMA|DSETP|DMNMX"),
    ("heavy", r"IMAD|IMUL|IDP|FFMA2|FADD2|FMUL2"),  # of the FP32 pipe half the lanes, or two results of each
    ("fp32", r"FFMA|FADD|FMUL|HFMA2|HADD2|HMUL2|FSWZADD"),
    ("cvt", r"F2FP"),
    ("lsu", r"LDS|STS|LDG|STG|LDL|STL|LD(\.|$)|ST(\.|$)|SHFL|ATOM|RED|LDC(\.|$)|SYNCS|UBLKCP|STAS|MEMBAR|FENCE|CCTL|ERRBAR|MAPA"),
    ("control", r"BRA|BRX|JMP|BSSY|BSYNC|BAR|EXIT|CALL|RET|WARPSYNC|NOP|DEPBAR|LDGDEPBAR|BREAK|NANOSLEEP|"
                r"ACQ|YIELD|BMOV|ELECT|UCGABAR"),
    ("uniform", r"U[A-Z]|R2UR|S2UR|VOTEU|CS2UR|LDCU|REDUX"),
    ("alu", r""),
)
PIPES = tuple(dict.fromkeys(name for name, _ in _PATTERNS))
_WIDTHS = ((r"\.256", 32), (r"\.128", 16), (r"\.64", 8), (r"\.[US]16", 2), (r"\.[US]8", 1))


@functools.cache
def pipe_of(name: str) -> str:
    return next(pipe for pipe, pattern in _PATTERNS if re.match(pattern, name))


@functools.cache
def shared_bytes_of(name: str) -> int:
    """Of one thread.  Bulk copies are not seen here: describe what they move."""
    if not re.match(r"LDS|STS|LDGSTS", name) or name.startswith("LDSM"):
        return 0
    return next((width for pattern, width in _WIDTHS if re.search(pattern + r"(\.|$)", name)), 4)
