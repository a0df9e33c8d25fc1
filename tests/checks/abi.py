"""Checks the symbols of the library: the archive, the shared library, and a shared object that an engine makes of the archive.

    abi.py archive      libquern.a defines only quern_* symbols, calls nothing that prints, aborts or exits, and is small
    abi.py visibility   exactly the functions of include/quern.h are exported, from all three; nothing else can be interposed

Called by tests/run.py.  The last line is `N passed, N failed`.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from gen import api  # noqa: E402

LIBRARY = ROOT / os.environ.get("QUERN_TEST_LIBRARY", ".")
ARCHIVE, SHARED = LIBRARY / "libquern.a", LIBRARY / "libquern.so"
HEADER = (ROOT / "include/quern.h").read_text()
LARGEST_ARCHIVE = 20_000_000
# What prints or ends the process, which atexit does not; and the CPU's features of the compiler's run-time library, which not every
# linker sets up.
FORBIDDEN = re.compile(r"printf|abort|(?<!^at)exit|assert|puts|perror|__cpu_")
PART_OF_LIBC = re.compile(r"(lib(c|m|dl|pthread|rt)|ld-linux[-\w]*)\.so")
LINKERS = ("bfd", "gold", "lld")
ENGINE = '#include <quern.h>\nint engine(void);\nint engine(void) { return quern_version(); }\n'


class Symbol(NamedTuple):
    """A line of `readelf -s`."""

    name: str
    binding: str
    visibility: str
    version: str
    defined: bool


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if done.returncode != 0:
        raise SystemExit(f"abi: {' '.join(command)}: {done.stderr}\n0 passed, 1 failed")
    return done.stdout


def symbols(path: Path, table: str = "--syms") -> list[Symbol]:
    """The global symbols of an archive's members, or of a table of a shared object."""
    found = []
    for line in run("readelf", "--wide", table, str(path)).splitlines():
        words = line.split()
        if len(words) < 8 or words[4] not in ("GLOBAL", "WEAK"):
            continue
        name, _, version = words[7].partition("@")
        found.append(Symbol(name, words[4], words[5], version.lstrip("@"), words[6] not in ("UND", "ABS")))
    return found


def difference(place: str, found: Iterable[str], expected: Iterable[str]) -> list[str]:
    """The names that one list has and the other has not."""
    found, expected = set(found), set(expected)
    return [f"{place} does not export {name}, which quern.h declares" for name in sorted(expected - found)] + \
        [f"{place} exports {name}, which quern.h does not declare" for name in sorted(found - expected)]


def unprotected(place: str, found: Iterable[Symbol]) -> list[str]:
    return [f"{each.name} is {each.visibility} in {place}: expected PROTECTED" for each in found if each.visibility != "PROTECTED"]


def interface() -> str:
    """The numbers that the soname and the version node have: a program that needs another interface is not loaded."""
    major, minor, _ = re.findall(r"^#define QUERN_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", HEADER, re.M)
    return major if major != "0" else f"0.{minor}"


# ---- the archive ----

def prefixes() -> list[str]:
    return [f"libquern.a defines {each.name}, without the prefix quern_" for each in symbols(ARCHIVE)
            if each.defined and not each.name.startswith("quern_")]


def calls() -> list[str]:
    called = {each.name for each in symbols(ARCHIVE) if not each.defined and not each.name.startswith("quern_")}
    return [f"libquern.a calls {name}" for name in sorted(called) if FORBIDDEN.search(name)]


def size() -> list[str]:
    found = ARCHIVE.stat().st_size
    return [f"libquern.a has {found:,} bytes: expected at most {LARGEST_ARCHIVE:,}"] if found > LARGEST_ARCHIVE else []


# ---- visibility ----

def marks() -> list[str]:
    """The macro marks every function of the header."""
    return [f"quern.h declares {name} without {api.MACRO}" for name, marked in api.declarations(HEADER).items() if not marked]


def archive_exports() -> list[str]:
    """In the archive the public functions are protected: exported, and bound inside the object that contains them."""
    visible = [each for each in symbols(ARCHIVE) if each.defined and each.visibility != "HIDDEN"]
    return difference("libquern.a", (each.name for each in visible), api.functions()) + \
        unprotected("libquern.a", visible)


def archive_references() -> list[str]:
    """A reference that the archive leaves open, a weak one above all, could be met by another library."""
    found = symbols(ARCHIVE)
    defined = {each.name for each in found if each.defined}
    return [f"libquern.a refers to {each.name}, which it does not define" for each in found
            if not each.defined and each.name.startswith("quern_") and (each.name not in defined or each.binding == "WEAK")]


def shared_exports() -> list[str]:
    dynamic = symbols(SHARED, "--dyn-syms")
    node = f"QUERN_{interface()}"
    return difference("libquern.so", (each.name for each in dynamic if each.defined), api.functions()) + \
        [f"{each.name} is {each.visibility} in libquern.so: expected DEFAULT, for programs that take its address"
         for each in dynamic if each.defined and each.visibility != "DEFAULT"] + \
        [f"{each.name} has version {each.version or 'none'} in libquern.so: expected {node}" for each in dynamic
         if each.defined and each.version != node] + \
        [f"libquern.so leaves {each.name} open" for each in dynamic if not each.defined and each.name.startswith("quern_")]


def shared_properties() -> list[str]:
    """Its name, eager binding, no relocations in code, no libraries but libc and its parts."""
    text = run("readelf", "--wide", "--dynamic", str(SHARED))
    name = f"libquern.so.{interface()}"
    faults = [] if f"soname: [{name}]" in text else [f"libquern.so has not the name {name}"]
    faults += [] if re.search(r"\(FLAGS(_1)?\).*\b(BIND_)?NOW\b", text) else ["libquern.so is bound lazily"]
    faults += ["libquern.so has relocations in its code"] if "(TEXTREL)" in text else []
    needed = set(re.findall(r"\(NEEDED\)\s+Shared library: \[(.*?)\]", text))
    return faults + [f"libquern.so needs {other}" for other in sorted(needed) if not PART_OF_LIBC.match(other)]


def engine_exports() -> list[str]:
    """A shared object with the whole archive, of each linker of this machine: no private symbol, and none left open."""
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        source, engine = Path(folder, "engine.c"), Path(folder, "engine.so")
        source.write_text(ENGINE)
        for linker in LINKERS:
            command = ["cc", "-shared", "-fPIC", f"-fuse-ld={linker}", "-I", "include", str(source), "-Wl,--whole-archive",
                       str(ARCHIVE), "-Wl,--no-whole-archive", "-lm", "-ldl", "-pthread", "-o", str(engine)]
            done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
            if done.returncode != 0:
                if "cannot find" not in done.stderr:
                    faults.append(f"{linker} does not link an engine: {done.stderr}")
                continue
            dynamic = [each for each in symbols(engine, "--dyn-syms") if each.name.startswith("quern_")]
            faults += difference(f"an engine linked by {linker}", (each.name for each in dynamic if each.defined), api.functions())
            faults += [f"an engine linked by {linker} leaves {each.name} open" for each in dynamic if not each.defined]
            faults += unprotected(f"an engine linked by {linker}", (each for each in dynamic if each.defined))
    return faults


CHECKS: dict[str, tuple[Callable[[], list[str]], ...]] = {
    "archive": (prefixes, calls, size),
    "visibility": (marks, archive_exports, archive_references, shared_exports, shared_properties, engine_exports),
}


def main() -> int:
    if sys.argv[1:] not in [[name] for name in CHECKS]:
        print(f"usage: abi.py {' | '.join(CHECKS)}")
        return 2
    failed = 0
    for check in CHECKS[sys.argv[1]]:
        faults = check()
        for fault in faults[:20]:
            print(f"abi: {fault}")
        failed += bool(faults)
    print(f"{len(CHECKS[sys.argv[1]]) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
