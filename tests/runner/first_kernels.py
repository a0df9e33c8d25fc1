"""The first answer to a changed line of GPU kernels, for `./quern test --changed`.

The kernels of one data type are compiled for one target beside those of the last build, and the cheap suites run with them, before
all others are built.
"""

import sys
import time
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
from gen import plan, render  # noqa: E402
from gen.spec import GPU_TARGETS  # noqa: E402
from mutation import executes, kernels, trees  # noqa: E402
from mutation.units import Unit  # noqa: E402
from runner import devices, jobs  # noqa: E402
from runner.record import Record  # noqa: E402

SECONDS = 30.0    # of the chosen suites together, by the record
FIRST_DTYPE = "bf16"


def sources(changed: Iterable[str]) -> set[str]:
    """The rendered GPU sources that differ: themselves, or by a header."""
    found = set()
    for file in changed:
        path = Path(file)
        if path.suffix == ".cu":
            found.add(file)
        elif path.suffix == ".cuh" or (path.suffix == ".h" and path.is_relative_to("src/kernels")):
            found |= {str(user.relative_to(ROOT)) for user in executes.users(file, "generated/*/*.cu")}
    return found


def units(changed: Iterable[str], target: str) -> list[Unit]:
    """Those of a target that may differ; of the first data type before the others."""
    every = [unit for operation in plan.OPERATIONS for unit in plan.units(operation) if unit.target.kind == "gpu"]
    rendered, differ = render.Sources(render.Renderer(), every), sources(changed)
    found = [Unit(target, unit.stem, unit.operation, rendered.of_unit[unit.build_stem],
                  f"build/{rendered.compiled[unit.build_stem]}.ptx", len(rendered.files[rendered.of_unit[unit.build_stem]]), {})
             for unit in every if unit.target.name == target and rendered.of_unit[unit.build_stem] in differ]
    return sorted(found, key=lambda unit: (FIRST_DTYPE not in unit.stem, unit.bytes))


def suites(first: Unit, library: Path, record: Record) -> list[jobs.Job]:
    """The cheapest that run kernels of the operation, with the programs that the last gate has left."""
    found: dict[str, tuple[float, jobs.Job]] = {}
    emulated = [each for each in devices.emulated_configurations() if each.is_first]
    for each in (*emulated, *devices.instrumented(emulated)):
        folder = "build/gate/address/tests" if each.is_sanitized else "build/gate/tests"
        searched = {"QUERN_EMULATOR_KERNELS": f"{library.parent}:{ROOT / kernels.EMULATOR}"}
        for suite in each.suites():
            if first.operation in suite.operations and (ROOT / folder / suite.name).exists():
                job = jobs.Job(each.name, suite.name, (f"{folder}/{suite.name}", "-j1"), {**each.environment, **searched})
                found[suite.name] = record.expected(each.name, suite.name).seconds, job
    chosen, left = [], SECONDS
    for seconds, job in sorted(found.values(), key=lambda pair: pair[0]):
        left -= seconds
        chosen += [job] if left > 0 else []
    return chosen


def answer(changed: Iterable[str], record: Record, cores: int) -> jobs.Count:
    """Of no tests if there is nothing to compile beside, or nothing differs."""
    began, target = time.monotonic(), GPU_TARGETS[devices.FIRST_EMULATED].name
    candidates = units(changed, target)
    if not candidates or not (ROOT / kernels.EMULATOR / f"{target}.so").exists():
        return jobs.Count()
    made = kernels.Kernels(trees.Tree(ROOT), target)
    first = next((unit for unit in candidates if made.add(unit)), None)
    library = made.link(kernels.EMULATOR) if first else None
    if not first or not library:
        return jobs.Count()
    print(f"first {first.stem} on {target}, compiled beside the last build in {time.monotonic() - began:.0f} s", flush=True)
    total, _, _ = jobs.run_all(suites(first, library, record), cores, record)
    print(f"{first.stem} on {target}: {total} after {time.monotonic() - began:.0f} s; now all that have changed", flush=True)
    return total
