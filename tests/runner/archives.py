"""Libraries with the kernels of some GPU targets, and the programs that are linked with them: what the gate tests, which has no
time to compile all targets.  Each has a folder below build/ and a build file beside the tree's own, whose objects it uses.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from gen import images, plan, tests  # noqa: E402
from gen.render import selected  # noqa: E402
from gen.spec import ARCHITECTURES, GPU_TARGETS  # noqa: E402

# Programs of the whole build that are also linked with such a library: the rule, and what is linked beside it.
HARNESS = "build/tests/harness.a"
FAULTS = "build/tests/faults"
PROGRAMS = {
    "symmetric_processes": ("test_program", f"{FAULTS}/symmetric_processes.o {FAULTS}/runs.o {HARNESS}",
                            "wrapped = $failing_calls"),
    "language_model": ("example_program", "build/language_model.a", ""),
}

# A GPU target without multicast, for ranks on GPUs of two generations.
OLDER = "sm_80"


@dataclass(frozen=True)
class Archive:
    """A library with all CPU kernels, and the kernels of these operations for each GPU target."""

    name: str
    gpu: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def folder(self) -> str:
        return f"build/{self.name}"

    def targets_of(self, operation: str) -> list[plan.Target]:
        return [target for target in plan.targets(architecture=ARCHITECTURES[0])
                if target.kind == "cpu" or any(target.name == name and operation in operations for name, operations in self.gpu)]

    def units(self, target: str) -> list[plan.Unit]:
        """The compilation units of a GPU target that the library has."""
        return [unit for name, operations in self.gpu if name == target for operation in plan.OPERATIONS if operation in operations
                for unit in plan.units(operation, [GPU_TARGETS[target]])]

    def is_whole(self, target: str) -> bool:
        return set(dict(self.gpu)[target]) == set(plan.OPERATIONS)

    def emulator(self, target: str) -> str:
        """The folder with the emulator's kernels of a target."""
        return "build/emulator" if self.is_whole(target) else f"{self.folder}/emulator"

    def _tables(self) -> list[str]:
        """The tables with the rows of these kernels, the kernels' images, and the text of quern_build_info."""
        lines, members = [], []
        for operation in plan.OPERATIONS:
            table, embedded = (f"{self.folder}/{operation}_{part}.o" for part in ("table", "images"))
            flags = f"  flags = {selected(self.targets_of(operation))}"
            packed = [images.path("build", name, operation) for name, operations in self.gpu if operation in operations]
            lines += [f"build {table}: cc generated/{operation}/table.c", flags,
                      f"build {embedded}: assemble generated/{operation}/images.S | build/nvcc.h {' '.join(packed)}", flags]
            members += [table, embedded]
        some = [target for target in plan.targets(architecture=ARCHITECTURES[0])
                if target.kind == "cpu" or target.name in dict(self.gpu)]
        lines += [f"build {self.folder}/build_info.o: cc generated/build_info.c | build/nvcc.h build/nvcc_version.h",
                  f"  flags = {selected(some)} $include_nvcc_headers",
                  f"build {self.folder}/tables.a: archive {self.folder}/build_info.o {' '.join(members)}"]
        return lines

    def _suites(self) -> list[str]:
        lines = []
        for folder, rule, host in (("", "test_program", "host.a"), ("/address", "test_program_address", "address/host.a")):
            library = f"{self.folder}{folder}/libquern.a"
            lines.append(f"build {library}: join build/{host} {self.folder}/tables.a build/light/kernels.a")
            for name in tests.sources()["suites"]:
                lines.append(f"build {self.folder}{folder}/tests/{name.split('/')[1]}: {rule} build/tests/{name}.o {HARNESS} "
                             f"build/tests/oracle.a {library}")
                if name in tests.WRAPPED:
                    lines.append(f"  wrapped = {tests.WRAPPED[name]}")
        return lines

    def _programs(self) -> list[str]:
        library, lines = f"{self.folder}/libquern.a", []
        for name, (rule, linked, variable) in PROGRAMS.items():
            lines += [f"build {self.folder}/{name}: {rule} {linked} {library}", *([f"  {variable}"] if variable else [])]
        # Ranks with points: the host library is another one.
        lines.append(f"build {self.folder}/gpu_points: point_program {FAULTS}/points.a {HARNESS} build/points/host.a "
                     f"{self.folder}/tables.a build/light/kernels.a")
        for path in sorted((ROOT / "examples").glob("*.c")):
            lines.append(f"build {self.folder}/examples/{path.stem}: example_program build/examples/{path.stem}.o {library}")
        lines += [f"build {self.folder}/libquern.so: shared {library} | build/exports.map gen/exports.py",
                  f"build {self.folder}/install: install {library} {self.folder}/libquern.so", f"  library = {self.folder}"]
        return lines

    def _emulated(self) -> list[str]:
        lines = []
        for name in (name for name, _ in self.gpu if not self.is_whole(name)):
            objects = " ".join(f"build/emulator/{unit.build_stem}.o" for unit in self.units(name))
            lines.append(f"build {self.emulator(name)}/{name}.so: emulator_link build/emulator/{name}/device_functions.o {objects}")
        return lines

    def edges(self) -> str:
        return "\n".join([*self._tables(), *self._suites(), *self._programs(), *self._emulated()]) + "\n"


def everything(target: str) -> tuple[str, tuple[str, ...]]:
    """All operations of a GPU target."""
    return target, tuple(plan.OPERATIONS)


def of_gate(first: str) -> Archive:
    return Archive("gate", (everything(first), (OLDER, ("barrier",))))


def manifest(archives: Sequence[Archive]) -> str:
    """Writes the build file of several archives."""
    path = ROOT / "build/tests.ninja"
    text = "# Written by tests/runner/archives.py.\ninclude build.ninja\n" + "".join(archive.edges() for archive in archives)
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return str(path.relative_to(ROOT))
