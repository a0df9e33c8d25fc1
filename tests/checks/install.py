"""Installs a library with chosen kernels by `./quern install`; checks what is there, what was built, and what a full disk leaves.

Takes the objects of the tree's own build.  A limit on the size of files stands for the full disk, and another program in ninja's
place for the build of the whole library.  Called by tests/run.py.  The last line is `N passed, N failed`.
"""

import os
import re
import resource
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import cases
from cases import expect, expect_in, output_of

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from gen import api, plan  # noqa: E402

FOLDER = "build/installed"
CHOSEN = ("--targets", "portable", "--operations", "cross_entropy,barrier", "--folder", FOLDER)
PLACES = {"include/quern.h", "include/quern_mpi.h", "include/quern_device.cuh", "lib/libquern.a", "lib/libquern.so",
          "lib/pkgconfig/quern.pc", "lib/pkgconfig/quern-shared.pc", "lib/cmake/quern/quern-config.cmake",
          "lib/cmake/quern/quern-config-version.cmake", "share/quern/quern-sys/Cargo.toml", "share/quern/quern-sys/build.rs",
          "share/quern/quern-sys/src/bindings.rs", "share/quern/quern/Cargo.toml", "share/quern/quern/src/lib.rs",
          "bin/quern_dump"}
DISK = 100_000  # bytes: less than an archive has, more than any other file that is installed


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@contextmanager
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def place(prefix: Path, status: int = 0) -> str:
    """The step of the build that copies, once more."""
    return output_of(sys.executable, "-m", "gen.install", FOLDER, status=status, PREFIX=str(prefix))


def test_chosen_kernels_alone_are_built_and_installed() -> None:
    with scratch() as folder:
        prefix = folder / "a prefix"
        said = output_of(str(ROOT / "quern"), "install", "a prefix", *CHOSEN, folder=folder)
        for step in ("NVCC", "PTXAS", ".*avx", "AR libquern.a", "LINK libquern.so"):
            if re.search(rf"^\[\S+ {step}", said, re.M):
                raise AssertionError(f"the build has a step {step!r}: {said}")
        expect(PLACES - contents(prefix).keys(), set())
        symbols = output_of("nm", "--defined-only", str(prefix / "lib/libquern.a"))
        expect({target.name for target in plan.targets() if f"__{target.name}\n" in symbols}, {"portable"})


def test_the_shared_library_has_the_name_that_programs_ask_for() -> None:
    with scratch() as prefix:
        place(prefix)
        soname = re.search(r"SONAME.*\[(.*)\]", output_of("readelf", "-d", str(prefix / "lib/libquern.so")))
        assert soname
        expect((prefix / "lib" / soname[1]).resolve().name, f"libquern.so.{api.version_text()}")
        expect((prefix / "lib/libquern.so").resolve().name, f"libquern.so.{api.version_text()}")


def test_packages_say_what_the_library_is() -> None:
    with scratch() as prefix:
        place(prefix)
        for name, text in contents(prefix).items():
            if name.endswith((".pc", ".cmake")):
                expect(re.findall(rb"@\w+@", text), [])
        description = re.search(r"^Description: (.*)$", (prefix / "lib/pkgconfig/quern.pc").read_text(), re.M)
        assert description
        for operation in plan.OPERATIONS:
            expect_in(operation.replace("_", " "), description[1])


def test_a_full_disk_changes_no_file() -> None:
    with scratch() as prefix:
        place(prefix)
        (prefix / "include/quern.h").write_text("an older header")
        before, before_limit = contents(prefix), resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (DISK, before_limit[1]))
        try:
            said = place(prefix, status=1)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before_limit)
        expect_in(f"quern: lib/libquern.a cannot be written below {prefix}: File too large; no file there has changed", said)
        expect(contents(prefix), before)


def test_a_place_that_is_no_folder_is_named() -> None:
    with scratch() as folder:
        (folder / "lib").write_text("a file in the place of a folder")
        expect_in(f"lib/libquern.a cannot be written below {folder}: ", place(folder, status=1))


def test_without_options_the_whole_library_is_installed() -> None:
    with scratch() as folder:
        (folder / "ninja").write_text('#!/bin/sh\necho "ninja $* in $PREFIX"\n')
        (folder / "ninja").chmod(0o755)
        path = f"{folder}:{os.environ['PATH']}"
        command = (sys.executable, "-m", "gen.selection")
        said = output_of(*command, "install", "/opt/a quern", PATH=path, NVCC="none").splitlines()
        expect(said[0], "ninja install in /opt/a quern")
        for lines in (said, output_of(*command, "build", PATH=path, NVCC="none").splitlines()):
            expect_in("has no GPU kernels; ./quern toolkit installs nvcc", lines[-1])


def test_a_build_that_fails_on_a_full_disk_says_so() -> None:
    with scratch() as folder:
        (folder / "ninja").symlink_to("/bin/false")
        for room, is_named in (("float('inf')", True), ("0", False)):
            said = output_of(sys.executable, "-c",
                             f"from gen import selection; selection.ROOM = {room}; selection.build_whole(None)",
                       PATH=f"{folder}:{os.environ['PATH']}")
            expect("MB left" in said, is_named)


def test_all_targets_are_those_of_cpus_without_nvcc() -> None:
    said = output_of(sys.executable, "-m", "gen.selection", "build", "--operations", "barrier", "--folder", FOLDER, NVCC="none")
    expect_in("targets avx512 avx2 portable;", said)
    expect_in("has no GPU kernels", said.splitlines()[-1])


if __name__ == "__main__":
    sys.exit(cases.run(globals()))
