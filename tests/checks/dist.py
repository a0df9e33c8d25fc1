"""Makes the distribution twice and compares the bytes; in the unpacked tree, without git, runs commands that ask git elsewhere.

The second time other times and permissions of the files, and another umask, must change nothing.  Called by tests/run.py.  The last
line is `N passed, N failed`.
"""

import os
import sys
import tarfile
import tempfile
from pathlib import Path

import cases
from cases import expect, expect_in, output_of

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from gen import api, dist, history  # noqa: E402


def run(folder: Path, *command: str, status: int = 0) -> str:
    return output_of(*command, status=status, folder=folder)


def copy_of_repository(folder: Path) -> Path:
    """The files that git knows, with other times and permissions, in a repository of their own."""
    names = dist.tracked()
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((ROOT / name).read_bytes())
        path.chmod(0o700 if os.access(ROOT / name, os.X_OK) else 0o600)
        os.utime(path, (1e9, 1e9))
    run(folder, "git", "init", "--quiet")
    run(folder, "git", "add", "--force", *(name for name in os.listdir(folder) if name != ".git"))
    return folder


def pack(tree: Path, output: Path) -> bytes:
    run(tree, sys.executable, "-m", "gen.dist", "-o", str(output))
    return output.read_bytes()


def test_the_same_files_give_the_same_bytes() -> None:
    if history.git("rev-parse", "HEAD") is None:
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        before = os.umask(0o077)
        try:
            second = pack(copy_of_repository(folder), folder / "build/second.tar.gz")
        finally:
            os.umask(before)
        expect(pack(ROOT, folder / "build/first.tar.gz") == second, True)


def test_the_unpacked_tree_works_without_a_history() -> None:
    if history.git("rev-parse", "HEAD") is None:
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "a repository of its user")
        folder.mkdir()
        pack(ROOT, folder / "quern.tar.gz")
        run(folder, "git", "init", "--quiet")
        author = ("-c", "user.name=user", "-c", "user.email=user")
        run(folder, "git", *author, "commit", "--quiet", "--allow-empty", "-m", "another tree")
        with tarfile.open(folder / "quern.tar.gz") as archive:
            expect({entry.name.split("/")[0] for entry in archive}, {f"quern-{api.version_text()}"})
            archive.extractall(folder)
        tree = folder / f"quern-{api.version_text()}"
        expect_in("checks", run(tree, sys.executable, "tests/run.py", "--list"))
        expect_in("--changed compares with the last commit", run(tree, sys.executable, "tests/run.py", "--changed", status=2))
        expect_in("generated/ is up to date", run(tree, sys.executable, "-m", "gen", "check"))
        expect_in("the files of a distribution are those that git tracks", run(tree, sys.executable, "-m", "gen.dist", status=1))


if __name__ == "__main__":
    sys.exit(cases.run(globals()))
