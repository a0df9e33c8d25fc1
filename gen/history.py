"""What git knows of this tree: of its own history, not that of a repository that it lies in.  An unpacked archive has none.

Called by gen/dist.py and tests/runner/."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def git(*arguments: str) -> str | None:
    """The output of a command; None: the tree has no history, there is no git, or git refuses."""
    if not (ROOT / ".git").exists():
        return None
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, errors="replace")
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 else None
