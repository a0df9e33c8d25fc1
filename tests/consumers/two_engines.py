"""Loads engines with different versions of Quern into one process; checks that each reaches its own version, devices, tables and
GPU code.  Every symbol of an engine is visible to the later ones (RTLD_GLOBAL).

The second version is the tree's archive with a few members replaced: another number, other names of targets.  The engines contain
an archive in each of the ways in which one is linked; libquern.so and an engine that uses it are loaded with them.  Called by
tests/run.py.  The last line is `N passed, N failed`.
"""

import ctypes
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / os.environ.get("QUERN_TEST_LIBRARY", ".")
sys.path.insert(0, str(ROOT))
from gen import api  # noqa: E402

OPERATIONS = ("adam", "barrier", "cross_entropy", "ragged_all_to_all")
# The members that make the other version: its number, its rows, its GPU code.
FOLDER, FILE = (LIBRARY.name, "build/tests.ninja") if LIBRARY != ROOT else ("", "build.ninja")
REPLACED = ("src/runtime/status.o", *(f"{FOLDER or name}/{name}_{part}.o" for name in OPERATIONS for part in ("table", "images")))
OTHER = "other_"  # before the names of its targets

PKG_CONFIG = re.search(r"^Libs: -L\$\{libdir\} -l:libquern\.a (.*)$", (ROOT / "src/install/quern.pc.in").read_text(), re.M)
# How an engine takes the archive.
WAYS = {
    "as pkg-config says": ("{archive}", *(PKG_CONFIG[1].split() if PKG_CONFIG else ())),
    "plain archive": ("{archive}",),
    "whole archive": ("-Wl,--whole-archive", "{archive}", "-Wl,--no-whole-archive"),
}


def run(command: list[str] | str, folder: Path = ROOT) -> str:
    done = subprocess.run(command, shell=isinstance(command, str), cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"two engines: {command}: {done.stdout}{done.stderr}\n0 passed, 1 failed")
    return done.stdout


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    if old not in text:
        raise SystemExit(f"two engines: {path.name} has no {old!r}\n0 passed, 1 failed")
    path.write_text(text.replace(old, new))


def other_version(folder: Path) -> Path:
    """A copy of the archive as a later version would be.  The build's own commands compile the members."""
    for name in ("include", "src", "generated"):
        shutil.copytree(ROOT / name, folder / name)
    minor = api.version((ROOT / "include/quern.h").read_text())[1]
    edit(folder / "include/quern.h", f"QUERN_VERSION_MINOR {minor}", f"QUERN_VERSION_MINOR {minor + 1}")
    edit(folder / "generated/targets.h", '#define TARGET_ROW {"', f'#define TARGET_ROW {{"{OTHER}')
    (folder / "build").symlink_to(ROOT / "build")  # for the GPU code
    archive = folder / "libquern.a"
    shutil.copy(LIBRARY / "libquern.a", archive)
    (folder / "new").mkdir()
    for member in REPLACED:
        command = run(["ninja", "-f", FILE, "-t", "commands", "-s", f"build/{member}"]).strip()
        name = Path(member).name
        run(command.replace(f"-o build/{member}", f"-o new/{name}").replace(f"-MF build/{member}.d", f"-MF new/{name}.d"), folder)
        run(["ar", "r", str(archive), f"new/{name}"], folder)
    return archive


def link(engine: Path, tree: Path, *library: str) -> None:
    cc = shlex.split(os.environ.get("CC", "cc"))
    run([*cc, "-std=c11", "-shared", "-fPIC", "-I", str(tree / "include"), "-I", str(tree / "src"),
         str(ROOT / "tests/consumers/engine.c"), *library, "-lm", "-ldl", "-pthread", "-o", str(engine)])


def build(folder: Path, way: str) -> None:
    """first.so and second.so contain an archive each."""
    trees = {"first.so": ROOT, "second.so": folder / "other"}
    for name, tree in trees.items():
        flags = (flag.format(archive=(LIBRARY if tree == ROOT else tree) / "libquern.a") for flag in WAYS[way])
        link(folder / name, tree, "-DENGINE_PRIVATE", *flags)


def describe(engines: list[str]) -> int:
    """In a process of its own: loads all engines, then prints the description of each."""
    loaded = [(name, ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)) for name in engines]
    for name, engine in loaded:
        if "libquern" in name:
            print(f"== {Path(name).name}\nversion: {engine.quern_version()}")
        else:
            engine.engine_describe.restype = ctypes.c_char_p
            print(f"== {Path(name).name}\n{engine.engine_describe().decode()}", end="")
    return 0


def parse(output: str) -> dict[str, dict[str, str]]:
    """The facts of each engine by their names."""
    parts = (part.split("\n", 1) for part in output.split("== ")[1:])
    return {name: dict(line.split(": ", 1) for line in body.splitlines() if ": " in line) for name, body in parts}


def faults(name: str, facts: dict[str, str], versions: dict[str, int]) -> list[str]:
    """What an engine found that is not its own."""
    found = []
    if int(facts["version"]) != versions[name]:
        found.append(f"{name} reaches version {facts['version']}: expected {versions[name]}")
    if "header" not in facts:
        return found
    is_other = versions[name] != versions["libquern.so"]
    for fact in ("target", "targets"):
        if facts.get(fact, "").startswith(OTHER) != is_other:
            found.append(f"{name} has the {fact} {facts.get(fact)} of another version")
    if int(facts.get("lines of the log", 0)) < 1:
        found.append(f"{name} receives no line of its log")
    return found + [f"the {part} of {name} lies in {facts[part]}" for part in ("calls", "table", "image")
                    if part in facts and facts[part] != name]


def main() -> int:
    if sys.argv[1:2] == ["--describe"]:
        return describe(sys.argv[2:])
    major, minor, patch = api.version((ROOT / "include/quern.h").read_text())
    number = major * 10000 + minor * 100 + patch
    versions = {"first.so": number, "second.so": number + 100, "shared.so": number, "libquern.so": number}
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "other").mkdir()
        other_version(folder / "other")
        shutil.copy(LIBRARY / "libquern.so", folder / api.soname())
        (folder / "libquern.so").symlink_to(api.soname())
        link(folder / "shared.so", ROOT, str(folder / "libquern.so"), f"-Wl,-rpath,{folder}")
        for way in WAYS:
            build(folder, way)
            # An engine that uses libquern.so takes what earlier objects export, so those have to hide the archive's functions.
            names = ["first.so", "second.so", "libquern.so", *(["shared.so"] if way == next(iter(WAYS)) else [])]
            for order in itertools.permutations(names):
                output = run([sys.executable, __file__, "--describe", *(str(folder / each) for each in order)])
                wrong = [fault for each, facts in parse(output).items() for fault in faults(each, facts, versions)]
                for fault in wrong:
                    print(f"{way}, {' '.join(order)}: {fault}")
                passed, failed = passed + (not wrong), failed + bool(wrong)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
