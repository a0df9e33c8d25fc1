#!/usr/bin/env python3
"""Writes the demo's training text, which is the same on every machine: python3 corpus.py OUTPUT

It is packed in text.xz: paragraphs of this repository's documents, header and docstrings as they were at version 0.2.0, in an order
that chance chose once.  It is not made anew, so that losses can be compared over the years.
"""

from __future__ import annotations

import lzma
import sys
from pathlib import Path

PACKED = Path(__file__).resolve().parent / "text.xz"


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: corpus.py OUTPUT", file=sys.stderr)
        return 2
    output = Path(arguments[0])
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_bytes(lzma.decompress(PACKED.read_bytes()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
