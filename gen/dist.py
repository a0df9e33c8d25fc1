"""Packs the tracked files of the tree, generated/ included, into quern-VERSION.tar.gz.  Called by `./quern dist`.

The same files give the same bytes: names are sorted, owners are root, times are that of the version in CHANGELOG.md.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import re
import sys
import tarfile
from datetime import datetime, timezone
from pathlib import Path

from gen import api, history
from gen.render import ROOT


def tracked() -> list[str]:
    """The files of the tree that git knows and that are there."""
    names = history.git("ls-files", "-z")
    if names is None:
        raise SystemExit("quern: the files of a distribution are those that git tracks: it has no history of this tree")
    return sorted(name for name in names.split("\0") if name and (ROOT / name).is_file())


def time_of_version() -> int:
    """Midnight of the first date in the changelog, in seconds."""
    found = re.search(r"^## \S+ \((\d{4}-\d\d-\d\d)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    if not found:
        raise SystemExit("quern: CHANGELOG.md has no version with a date")
    return int(datetime.fromisoformat(found[1]).replace(tzinfo=timezone.utc).timestamp())


def pack(names: list[str], time: int) -> bytes:
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", filename="", mtime=0) as stream, \
            tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in names:
            content = (ROOT / name).read_bytes()
            entry = tarfile.TarInfo(f"quern-{api.version_text()}/{name}")
            entry.size, entry.mtime, entry.uname, entry.gname = len(content), time, "root", "root"
            entry.mode = 0o755 if (ROOT / name).stat().st_mode & 0o100 else 0o644
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(prog="./quern dist", description="Packs the tracked files of the tree, as they are now.")
    default = ROOT / f"build/quern-{api.version_text()}.tar.gz"
    parser.add_argument("-o", "--output", type=Path, default=default, metavar="FILE", help=str(default.relative_to(ROOT)))
    output = Path(os.environ.get("QUERN_CALLED_FROM", "")) / parser.parse_args().output
    names = tracked()
    data = pack(names, time_of_version())
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_bytes(data)
    print(f"{output}: {len(names)} files, {len(data):,} bytes, sha256 {hashlib.sha256(data).hexdigest()}")
    if changed := (history.git("status", "--porcelain", "--untracked-files=no") or "").splitlines():
        print(f"{len(changed)} of them differ from the last commit")


if __name__ == "__main__":
    sys.exit(main())
