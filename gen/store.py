"""A store of compiled files outside of the tree, by a hash of what they were made from: a second clone, or another branch, copies
them.

It is the folder QUERN_STORE, or ~/.cache/quern; an empty QUERN_STORE: none. What was not used for longest is removed when it has
more than MOST_BYTES.  Called by gen/toolchain.py, and for the emulator's kernels by the build:

    python3 -m gen.store IN OUT FILES COMMAND...    runs COMMAND... IN -o OUT, or takes what it has made of the same text before;
                                                    FILES are further files that the result depends on
"""

from __future__ import annotations

import contextlib
import fcntl
import filecmp
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

MOST_BYTES = 3 << 30
FORMAT = "1"   # changes with the meaning of a key
# The targets' PTX is often the same but for these lines, which the emulator does not need.
IGNORED = re.compile(rb"^(?:\.target|//).*\n", re.MULTILINE)


def folder() -> Path | None:
    """None if there is none, or if it cannot be written."""
    named = os.environ.get("QUERN_STORE", os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "quern"))
    if not named:
        return None
    path = Path(named) / "objects"
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return path if os.access(path, os.W_OK) else None


def key(*parts: bytes | str) -> str:
    total = hashlib.sha256()
    for part in (FORMAT, *parts):
        data = part if isinstance(part, bytes) else part.encode()
        total.update(b"%d " % len(data) + data)
    return total.hexdigest()[:40]


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """The targets of one build wait for each other's result."""
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _prune(store: Path) -> None:
    files = sorted(((path.stat().st_mtime, path.stat().st_size, path) for path in store.iterdir() if path.is_file()), reverse=True)
    total = 0
    for _, size, path in files:
        total += size
        if total > MOST_BYTES:
            path.unlink(missing_ok=True)


def make(name: str, outs: Sequence[Path], run: Callable[[], None]) -> None:
    """Takes the files of this key from the store, or makes them and puts them there.  A file appears there whole or not at all."""
    store = folder()
    if store is None:
        return run()
    with _locked(store / f"{name[:2]}.lock"):
        kept = [store / f"{name}-{place}" for place in range(len(outs))]
        if all(path.exists() for path in kept):
            for path, out in zip(kept, outs):
                if not out.exists() or not filecmp.cmp(path, out, shallow=False):  # what does not change keeps its time
                    shutil.copyfile(path, out)
                os.utime(path)
            return
        run()
        for path, out in zip(kept, outs):
            new = path.with_suffix(f".{os.getpid()}")
            shutil.copyfile(out, new)
            new.replace(path)
    if int(name[:2], 16) == 0:  # now and then
        _prune(store)


def main(arguments: list[str]) -> int:
    source, out, files, *command = arguments
    version = subprocess.run([command[0], "--version"], capture_output=True, text=True).stdout
    inputs = [Path(name).read_bytes() for name in files.split()]
    name = key(" ".join(command), version, IGNORED.sub(b"", Path(source).read_bytes()), *inputs)

    def run() -> None:
        if (status := subprocess.run([*command, source, "-o", out]).returncode) != 0:
            raise SystemExit(status)

    make(name, [Path(out)], run)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
