"""Builds and installs the library, whole or with chosen targets and operations, and measures what each of them costs.

A chosen library has a folder of its own.  Objects are taken from the build of the whole one; only the tables, the assembled GPU
code and the text of quern_build_info are made again.  Called by `./quern build`, `./quern install` and `./quern gen sizes`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from gen import images, measured, plan
from gen.arguments import end_of_check
from gen.host import this_host
from gen.operation import Target
from gen.render import OTHERS, ROOT, selected
from gen.spec import ARCHITECTURES, GpuTarget
from gen.toolchain import find_nvcc, least_driver, toolkit_of

FOLDER = "build/selected"
LIBRARIES = ["libquern.a", "libquern.so"]
SIZES = ROOT / "docs" / "kernels_and_packs.md"
TOLERANCE = 0.5   # gcc 14 makes CPU kernels of cross-entropy that are 1.5 times as large as those of gcc 12
ROOM = 64e6       # bytes of a disk: if a build fails with less, that may be the reason
LEAST = 16        # kilobytes, below which differences do not count


class BadSelection(Exception):
    """A name that there is not, the text then lists those that there are; or a place where nothing can be written."""


def chosen(kind: str, text: str | None, known: Sequence[str]) -> list[str]:
    """The names of a list with commas, in the order of the known ones; None: all."""
    if text is None:
        return list(known)
    names = [name for name in re.split(r"[,\s]+", text) if name]
    for name in names:
        if name not in known:
            raise BadSelection(f"there is no {kind} {name!r}; there are {', '.join(known)}")
    if not names:
        raise BadSelection(f"no {kind} is named; there are {', '.join(known)}")
    return [name for name in known if name in names]


class Selection:
    def __init__(self, targets: str | None, operations: str | None, host: str = ARCHITECTURES[0]) -> None:
        """Without nvcc all targets are those of CPUs."""
        self.host = host
        known = {target.name: target for target in plan.targets(architecture=host)}
        self.targets = [known[name] for name in chosen("target", targets, list(known))]
        self.operations = chosen("operation", operations, list(plan.OPERATIONS))
        self.lacks_nvcc = targets is None and not find_nvcc()
        if self.lacks_nvcc:
            self.targets = [target for target in self.targets if target.kind == "cpu"]
        elif self.has("gpu") and not find_nvcc():
            raise BadSelection("GPU targets need nvcc, which was not found: ./quern toolkit installs it")

    def units(self, kind: str) -> list[plan.Unit]:
        return [unit for operation in self.operations for unit in plan.units(operation, self.targets) if unit.target.kind == kind]

    def has(self, kind: str) -> bool:
        return any(target.kind == kind for target in self.targets)

    def definitions(self, operation: str) -> str:
        """Those of a table and of assembled GPU code: see src/kernels/table.h."""
        if operation not in self.operations:
            return "'-DQUERN_SELECTED(target,unit)=0'"
        return selected(self.targets)

    def drivers(self) -> list[str]:
        """The oldest driver of each GPU target."""
        nvcc = find_nvcc()
        needed = {}
        for target in self.targets:
            if isinstance(target, GpuTarget) and nvcc:
                needed[target.name] = least_driver(target, toolkit_of(target))
        return [f"{name}: a driver for CUDA {number // 1000}.{number % 1000 // 10}" for name, number in needed.items()]

    def ninja(self, folder: str) -> str:
        """A build file beside the tree's own, whose objects it uses."""
        # What is compiled for another host: in the variables of its scope (templates/build/other.ninja.j2).
        compiler = [f"  cc = {other.compiler}" for other in OTHERS if other.name == self.host]
        lines = ["# Written by gen/selection.py.", "include build.ninja", ""]
        members = [f"{folder}/build_info.o"]
        for operation in plan.OPERATIONS:
            flags = f"  flags = {self.definitions(operation)}"
            packed = [images.path("build", target.name, operation) for target in self.targets if target.kind == "gpu"]
            packed = packed if operation in self.operations else []
            table, embedded = (f"{folder}/{operation}_{part}.o" for part in ("table", "images"))
            lines += [f"build {table}: cc generated/{operation}/table.c", flags, *compiler,
                      f"build {embedded}: assemble generated/{operation}/images.S | {' '.join(['build/nvcc.h', *packed])}",
                      flags, *compiler]
            members += [table, embedded]
        headers = "-include build/nvcc.h -include build/nvcc_version.h"
        left_out = [f"-DQUERN_LEFT_OUT_{name}" for name in plan.OPERATIONS if name not in self.operations]
        lines += [f"build {folder}/build_info.o: cc generated/build_info.c | build/nvcc.h build/nvcc_version.h",
                  f"  flags = {' '.join([self.definitions(self.operations[0]), *left_out, headers])}", *compiler]
        members += [_object(unit, self.host) for unit in self.units("cpu")]
        lines += [f"build {folder}/kernels.a: archive {' '.join(members)}",
                  f"build {folder}/libquern.a: join {_built(self.host)}/host.a {folder}/kernels.a",
                  f"build {folder}/libquern.so: shared {folder}/libquern.a | build/exports.map gen/exports.py", *compiler,
                  f"build {folder}/language_model: example_program {_built(self.host)}/language_model.a {folder}/libquern.a",
                  *compiler,
                  f"build {folder}/install: install {folder}/libquern.a {folder}/libquern.so", f"  library = {folder}"]
        return "\n".join(lines) + "\n"


NO_GPU = "no nvcc was found: the library has no GPU kernels; ./quern toolkit installs nvcc for the next build"


def _ninja(*arguments: str, prefix: str | None = None) -> int:
    environment = os.environ if prefix is None else {**os.environ, "PREFIX": prefix}
    status = subprocess.run(["ninja", *arguments], cwd=ROOT, env=environment).returncode
    free = shutil.disk_usage(ROOT / "build" if (ROOT / "build").exists() else ROOT).free
    if status != 0 and free < ROOM:
        print(f"quern: the disk of {ROOT}/build has only {free / 1e6:.1f} MB left", file=sys.stderr)
    return status


def build_whole(prefix: str | None) -> int:
    """The whole library, and installs it, or builds the examples and benchmarks."""
    status = _ninja(*(["install"] if prefix is not None else ["libquern.a", "examples", "bench"]), prefix=prefix)
    if status == 0 and not find_nvcc():
        print(NO_GPU)
    return status


def build(selection: Selection, folder: str, prefix: str | None = None) -> int:
    """A library with chosen kernels, and installs it."""
    # First what is generated, since ninja reads the list of edges before it builds.
    done = subprocess.run(["ninja", "build.ninja"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        print(done.stdout, end="")
        return done.returncode
    path = ROOT / folder / "build.ninja"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(selection.ninja(folder))
    made = ["install"] if prefix is not None else ["libquern.a"] if selection.host == ARCHITECTURES[0] else LIBRARIES
    if (status := _ninja("-f", str(path.relative_to(ROOT)), *(f"{folder}/{name}" for name in made), prefix=prefix)) != 0:
        return status
    print(f"{folder}/libquern.a: targets {' '.join(target.name for target in selection.targets)}; operations "
          f"{' '.join(selection.operations)}; {(ROOT / folder / 'libquern.a').stat().st_size:,} bytes")
    for line in selection.drivers():
        print(line)
    if not any(target.name == "portable" for target in selection.targets):
        print("without portable: a CPU for which no target was chosen has no kernels")
    if selection.lacks_nvcc:
        print(NO_GPU)
    return 0


# ---- sizes ----


def _loaded(paths: Iterable[str]) -> int:
    """Bytes that objects or archives put into a program: code and data."""
    done = subprocess.run(["size", "--format=berkeley", *paths], cwd=ROOT, capture_output=True, text=True, check=True)
    return sum(int(line.split()[3]) for line in done.stdout.splitlines()[1:])


def folder_for(host: str) -> str:
    """The folder of an archive with chosen kernels."""
    return FOLDER if host == ARCHITECTURES[0] else _built(host)


def _built(host: str) -> str:
    """The folder of the objects for a host."""
    return "build" if host == ARCHITECTURES[0] else f"build/{host}"


def _object(unit: plan.Unit, host: str = ARCHITECTURES[0]) -> str:
    """Of the kernels of a CPU's target."""
    return f"{_built(host)}/{unit.build_stem}__{unit.target.name}.o"


def _is_known(target: Target, packed: dict[str, int]) -> bool:
    """Whether the kernels of a CPU's target are built, and whether packed images of a GPU's have receipts or are built."""
    if target.kind == "gpu":
        return all(f"{target.name}/{operation}" in packed for operation in plan.OPERATIONS)
    return all((ROOT / _object(unit)).exists() for operation in plan.OPERATIONS for unit in plan.units(operation, [target]))


def _cost(operation: str, target: Target, table: int, rows: int, packed: dict[str, int]) -> int:
    """The kernels of a target, and their part of the operation's table."""
    units = plan.units(operation, [target])
    part = table * sum(len(unit.kernels) for unit in units) // max(rows, 1)
    if target.kind == "cpu":
        return part + (_loaded(map(_object, units)) if units else 0)
    return part + packed[f"{target.name}/{operation}"]


def sizes(targets: list[Target], packed: dict[str, int]) -> list[tuple[str, ...]]:
    """The table's cells, in kilobytes: a line for each target, then one for the code of the host."""
    costs = {}
    for operation in plan.OPERATIONS:
        table, rows = _loaded([f"build/{operation}/{operation}_table.o"]), len(plan.kernels(operation))
        for target in targets:
            costs[target.name, operation] = round(_cost(operation, target, table, rows, packed) / 1000)
    lines: list[tuple[str, ...]] = [("target", *plan.OPERATIONS, "all")]
    for target in targets:
        line = [costs[target.name, operation] for operation in plan.OPERATIONS]
        lines.append((target.name, *(str(cost) if cost else "" for cost in line), str(sum(line))))
    return [*lines, ("code of the host", *("" for _ in plan.OPERATIONS), str(round(_loaded(["build/host.a"]) / 1000)))]


def _markdown(lines: list[tuple[str, ...]]) -> str:
    rule = ("---", *("---:" for _ in lines[0][1:]))
    return "".join(f"| {' | '.join(line)} |\n" for line in (lines[0], rule, *lines[1:]))


def differences(found: list[tuple[str, ...]]) -> list[str]:
    """What the document says otherwise than the build."""
    rows = ([cell.strip() for cell in line[1:-1].split("|")] for line in SIZES.read_text().splitlines() if line.startswith("|"))
    kept = {cells[0]: cells[1:] for cells in rows if len(cells) == len(plan.OPERATIONS) + 2}
    faults = []
    header, *lines = found
    for name, *cells in lines:
        for column, cell, said in zip(header[1:], cells, kept.get(name, [""] * len(cells))):
            if abs(int(cell or 0) - int(said or 0)) > max(LEAST, TOLERANCE * int(cell or 0)):
                faults.append(f"{SIZES.name}: {name}, {column} is {said or 'absent'}: the build has {cell or 0} kB")
    return faults


def print_sizes(check: bool, everything: bool) -> int:
    """A check compares the targets whose sizes are known; of everything, it fails for those that are not built."""
    found = measured.packed(everything)
    everywhere = plan.targets(architecture=ARCHITECTURES[0])
    targets = [target for target in everywhere if _is_known(target, found.bytes)]
    absent = [target for target in everywhere if target not in targets]
    try:
        table = sizes(targets, found.bytes)
    except (subprocess.CalledProcessError, FileNotFoundError):
        print("the code of the host has not been built: ninja", file=sys.stderr)
        return 1
    if not check:
        print(_markdown(table), end="")
        print(*(f"{target.name} is not built" for target in absent), sep="\n", end="", file=sys.stderr)
        return 0
    faults = found.faults + differences(table)
    faults += [f"{target.name} is not built" for target in absent if everything and (target.kind == "cpu" or not found.skipped)]
    notes = [f"{target.name} is not compared" for target in absent]
    closing = f"{len(targets)} of {len(everywhere)} targets compared, {len(faults)} differences"
    print("\n".join([*found.skipped, *notes, *faults, closing]))
    return 1 if faults else 0


def _root(prefix: str) -> str:
    """A prefix as an absolute path, if something can be written there."""
    root = Path(os.environ.get("QUERN_CALLED_FROM", ""), prefix).absolute()
    below = Path(os.environ.get("DESTDIR", "") + str(root))
    nearest = next(path for path in (below, *below.parents) if path.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise BadSelection(f"nothing can be written into {nearest}")
    return str(root)


def _parser(command: str) -> argparse.ArgumentParser:
    texts = {"build": "Builds libquern.a, the examples and the benchmarks; with an option, only an archive with chosen kernels.",
             "install": "Builds the libraries, with chosen kernels if options say so, and installs them below PREFIX: libquern.a, "
                        "libquern.so, headers, files for pkg-config and CMake, the Rust crates quern and quern-sys, quern_dump."}
    parser = argparse.ArgumentParser(prog=f"./quern {command}", description=texts[command])
    if command == "install":
        parser.add_argument("prefix", metavar="PREFIX", help="a folder; DESTDIR may stand before it in the environment")
    parser.add_argument("--host", choices=ARCHITECTURES, default=this_host(), help="the CPUs that run the library (this one's)")
    parser.add_argument("--targets", metavar="NAME,...", help=f"of {', '.join(target.name for target in plan.targets())}")
    parser.add_argument("--operations", metavar="NAME,...", help=f"of {', '.join(plan.OPERATIONS)}")
    parser.add_argument("--folder", help=f"below the tree, for the archive ({FOLDER}, or build/HOST of another host than "
                        f"{ARCHITECTURES[0]})")
    return parser


def main(command: str, arguments: list[str]) -> int:
    parser = _parser(command)
    chosen = parser.parse_args(arguments)
    is_whole = chosen.host == ARCHITECTURES[0] and all(getattr(chosen, name) == parser.get_default(name)
                                                       for name in ("targets", "operations", "folder"))
    folder = chosen.folder or folder_for(chosen.host)
    try:
        selection = Selection(chosen.targets, chosen.operations, chosen.host)
        prefix = _root(chosen.prefix) if command == "install" else None
        end_of_check()
        if is_whole:
            return build_whole(prefix)
        return build(selection, folder, prefix)
    except BadSelection as fault:
        print(f"./quern {command}: {fault}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
