"""A number that two builds share if the ranks' memory (src/ranks/segment.h) has the same layout and meaning in both: a hash of the
header and of what it includes.  Comments do not count.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from gen import receipts

SEGMENT = receipts.ROOT / "src/ranks/segment.h"


def headers() -> tuple[Path, ...]:
    return receipts.closure(SEGMENT)


def number() -> str:
    texts = (re.sub(r"/\*.*?\*/", " ", path.read_text(), flags=re.DOTALL) for path in headers())
    return "0x" + hashlib.sha256(" ".join(" ".join(text.split()) for text in texts).encode()).hexdigest()[:8]
