"""Renders the plan through the templates into generated/, and checks that generated/ is current."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from gen import bindings, header, images, layout, plan, spec, table, tests
from gen.operation import Operation

ROOT = Path(__file__).resolve().parent.parent
GENERATED = ROOT / "generated"
TEMPLATES = ROOT / "templates"
SOURCES = ROOT / "src"

class Other(NamedTuple):
    """The library and its suites once more, without GPU code, for another C library or architecture."""

    name: str           # of its folder in the build directory
    compiler: str       # as ninja writes it
    architecture: str


OTHERS = (Other("musl", "musl-gcc", spec.ARCHITECTURES[0]),
          *(Other(name, f"$${{QUERN_CC_{name.upper()}:-{name}-linux-gnu-gcc}}", name) for name in spec.ARCHITECTURES[1:]))

# The digest of everything that generated/ was made from, so that a machine without Jinja2 can tell that it is up to date.
DIGEST = "generated/inputs.sha256"


def inputs() -> list[str]:
    """The files that decide what is rendered, relative to the root, sorted."""
    further = [path for operation in plan.OPERATIONS.values() for path in operation.inputs]
    paths = [*(ROOT / "gen").rglob("*.py"), *TEMPLATES.rglob("*.j2"), header.HEADER, *layout.headers(), *further]
    return sorted(str(path.relative_to(ROOT)) for path in paths)


def host_sources() -> list[str]:
    """The sources of the host library.  Only their names are rendered: `adam/adam` for src/adam/adam.c."""
    return sorted(str(path.relative_to(SOURCES).with_suffix("")) for path in SOURCES.rglob("*.c"))


def folders() -> list[str]:
    """The folders whose times change when a source is added or removed, relative to the root."""
    rooms = {SOURCES, *(path.parent for path in SOURCES.rglob("*.c"))}
    return [*sorted(str(path.relative_to(ROOT)) for path in rooms), *tests.folders()]


def digest() -> str:
    """One hash over the names and contents of all inputs, and the names of the sources of the host and of the tests."""
    listed = [*host_sources(), *(name for names in tests.sources().values() for name in names)]
    total = hashlib.sha256(" ".join(listed).encode())
    for name in inputs():
        total.update(name.encode() + b"\0" + hashlib.sha256((ROOT / name).read_bytes()).digest())
    return total.hexdigest() + "\n"


def _printable(value: object) -> object:
    """A column that a dtype does not have, or a dtype that a row of a template's own does not know, must not become a text."""
    if value is None:
        raise ValueError("a template prints None: the dtype has no such column, or the kernel no such key")
    return value


class Renderer:
    """The Jinja2 environment; a misspelt name in a template is an error, never an empty text, and so is None."""

    def __init__(self) -> None:
        import jinja2  # here, so that commands which render nothing work without it

        self.environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(TEMPLATES),
            undefined=jinja2.StrictUndefined,
            line_statement_prefix="//%",
            line_comment_prefix="//#",
            variable_start_string="${",
            variable_end_string="}",
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            finalize=_printable,
        )
        self.environment.filters["continued"] = " $\n    ".join  # a list over several lines of a ninja file
        self.environment.filters["constant"] = lambda dtype: spec.DTYPES[dtype].constant if dtype else "QUERN_NO_DTYPE"
        self.environment.filters["by_target"] = table.by_target

    def __call__(self, template: str, **values: object) -> str:
        return self.environment.get_template(template).render(dtypes=spec.DTYPES, **values)

    def unit(self, unit: plan.Unit, kernels: Sequence[plan.Kernel] = ()) -> str:
        """The source text of one compilation unit, with the kernels that other targets have of it too."""
        return self(unit.template, target=unit.target, kernels=kernels or unit.kernels)


class Sources:
    """Which source file each compilation unit is compiled from, and with which definitions.

    Units of targets of one kind that need the same text share one file.  If other targets need another text, the file is named
    after the oldest of its own.  Of the units that share a file and have the same definitions, the oldest owns the result: the
    sanitizers look at that one.  nvcc makes the same PTX for all of them, but for the name of the target and the version of NVVM.
    So only the first is compiled.
    """

    def __init__(self, renderer: Renderer, units: Iterable[plan.Unit]) -> None:
        self.files: dict[str, str] = {}
        self.of_unit: dict[str, str] = {}
        self.definitions: dict[str, tuple[str, ...]] = {}
        self.owned: set[str] = set()
        self.compiled: dict[str, str] = {}  # for each unit of a GPU the unit whose PTX it gets; itself if it is compiled
        # Oldest first, so that a file's name does not change when a newer generation comes to share it.
        ordered = sorted(units, key=lambda u: (u.target.kind == "gpu" and u.target.is_virtual, _age(u.target)))
        kernels = _kernels_of_files(ordered)
        texts = {unit.build_stem: renderer.unit(unit, kernels.get(_place(unit), ())) for unit in ordered}
        variants: dict[tuple[str, str, str], dict[str, str]] = {}
        for unit in ordered:
            variants.setdefault(_place(unit), {}).setdefault(texts[unit.build_stem], unit.target.name)
        seen, compiled = set(), {}
        for unit in ordered:
            text, (operation, stem, extension) = texts[unit.build_stem], _place(unit)
            names = variants[_place(unit)]
            suffix = f"__{names[text]}" if len(names) > 1 else ""
            path = f"generated/{operation}/{stem}{suffix}.{extension}"
            self.files[path] = text
            self.of_unit[unit.build_stem] = path
            self.definitions[unit.build_stem] = definitions = unit.target.definitions(text)
            if (path, definitions) not in seen:
                self.owned.add(unit.build_stem)
            seen.add((path, definitions))
            if isinstance(unit.target, spec.GpuTarget):
                shared = plan.OPERATIONS[operation].is_compiled_once
                code = (path, definitions, unit.target.nvvm if shared else unit.target.name)
                self.compiled[unit.build_stem] = compiled.setdefault(code, unit.build_stem)


def _place(unit: plan.Unit) -> tuple[str, str, str]:
    """The name of its source file, without the target."""
    return unit.operation, unit.stem, "c" if unit.target.kind == "cpu" else "cu"


def _kernels_of_files(units: list[plan.Unit]) -> dict[tuple[str, str, str], list[plan.Kernel]]:
    """For each GPU source the kernels of all targets together: their names do not contain the target."""
    found: dict[tuple[str, str, str], dict[str, plan.Kernel]] = {}
    for unit in reversed(units):  # the newest has most, so that they come in the order of its table
        if unit.target.kind == "gpu":
            for kernel in unit.kernels:
                found.setdefault(_place(unit), {}).setdefault(kernel.symbol, kernel)
    return {place: list(kernels.values()) for place, kernels in found.items()}


def _age(target: plan.Target) -> int:
    return target.cc_min if isinstance(target, spec.GpuTarget) else 0


def outputs() -> dict[str, str]:
    """Every generated file by its path, with its content."""
    renderer = Renderer()
    units = [unit for operation in plan.OPERATIONS for unit in plan.units(operation)]
    sources = Sources(renderer, units)
    files = dict(sources.files)
    files["generated/dtypes.h"] = renderer("build/dtypes.h.j2")
    files["generated/layout.h"] = renderer("build/layout.h.j2", layout=layout.number())
    files["generated/operations.h"] = renderer("build/operations.h.j2", operations=plan.OPERATIONS.values())
    files["generated/build_info.c"] = renderer("build/build_info.c.j2", targets=plan.targets(), operations=plan.OPERATIONS.values())
    files["generated/targets.h"] = renderer("build/targets.h.j2", targets=plan.targets())
    for operation in plan.OPERATIONS.values():
        files.update(_of_operation(renderer, operation, [unit for unit in units if unit.operation == operation.name]))
    files.update(bindings.outputs(renderer))
    ninja = _ninja_values(units, sources, spec.ARCHITECTURES[0])
    files["generated/owners.json"] = _owners(units, sources)
    for name in ("host.ninja", "emulator.ninja", "sanitizers.ninja", "tests.ninja"):
        files[f"generated/{name}"] = renderer(f"build/{name}.j2", **ninja)
    for other in OTHERS:
        files[f"generated/{other.name}.ninja"] = renderer("build/other.ninja.j2", other=other,
                                                          **_ninja_values(units, sources, other.architecture))
    names = sorted([*files, "generated/kernels.ninja", DIGEST])
    files["generated/kernels.ninja"] = renderer("build/kernels.ninja.j2", outputs=names, inputs=[*folders(), *inputs()],
                                                   **ninja)
    files[DIGEST] = digest()
    return files


def _of_operation(renderer: Renderer, operation: Operation, units: list[plan.Unit]) -> dict[str, str]:
    """The table of an operation, its GPU code, and the headers that it has beside them."""
    directory = f"generated/{operation.name}"
    kinds = {kind: [unit for unit in units if unit.target.kind == kind] for kind in ("gpu", "cpu")}
    present = [kind for kind in kinds if kinds[kind]]
    files = {f"{directory}/table.c": renderer("build/table.c.j2", operation=operation, kinds=present),
             f"{directory}/images.S": renderer("build/images.S.j2", operation=operation.name,
                                                 targets=dict.fromkeys(unit.target.name for unit in kinds["gpu"]))}
    for kind in present:
        files[f"{directory}/rows_{kind}.h"] = renderer(f"build/rows_{kind}.h.j2", operation=operation,
                                                       groups=table.groups(kinds[kind]))
    for header in operation.headers:
        files[f"{directory}/{header}"] = renderer(f"{operation.name}/{header}.j2", operation=operation)
    return files


def _ninja_values(units: list[plan.Unit], sources: Sources, architecture: str) -> dict[str, object]:
    """The lists of the ninja templates: paths below $builddir, grouped by edge."""
    units = [unit for unit in units if unit.target.architecture in (None, architecture)]
    cpu_targets = [target.name for target in spec.cpu_targets(architecture)]
    gpu = [unit for unit in units if unit.target.kind == "gpu"]
    gpu_targets = list(dict.fromkeys(unit.target for unit in gpu))
    # Names that are unique in an archive, which knows its members by the last part of their path only.
    cpu_objects = [f"$builddir/{unit.build_stem}__{unit.target.name}.o" for unit in units if unit.target.kind == "cpu"]
    tables = [f"$builddir/{operation}/{operation}_{part}.o" for operation in plan.OPERATIONS for part in ("table", "images")]
    tables.append("$builddir/build_info.o")
    owned = [unit for unit in gpu if unit.build_stem in sources.owned]
    return {
        "host": host_sources(),
        "tests": tests.sources(),
        "programs": tests.programs(cpu_targets),
        "cpu_objects": cpu_objects,
        "cpu_targets": cpu_targets,
        "instrumented_for": {name: [path.replace("$builddir/", "$builddir/address/") if path.endswith(f"__{name}.o") else path
                                    for path in cpu_objects] for name in cpu_targets},
        "light_definitions": selected(spec.cpu_targets(architecture)),
        "wrapped": tests.WRAPPED,
        "units": units,
        "sources": sources.of_unit,
        "definitions": {stem: " ".join(f"-D{name}" for name in names) for stem, names in sources.definitions.items()},
        "owned": owned,
        "compiled": sources.compiled,
        "instrumented": _instrumented(owned),
        "operations": list(plan.OPERATIONS),
        "tables": tables,
        "talking": [unit for unit in owned if _is_tested_for_races(unit)],
        "gpu_targets": gpu_targets,
        "objects": [*tables, *cpu_objects],
        "packed": {images.path("", target.name, operation)[1:]: [f"$builddir/{unit.build_stem}.fatbin" for unit in gpu
                   if unit.operation == operation and unit.target == target]
                   for operation in plan.OPERATIONS for target in gpu_targets},
        "emulated": {target.name: [f"$builddir/emulator/{unit.build_stem}.o" for unit in gpu if unit.target == target]
                     for target in gpu_targets},
        "libraries": [f"$builddir/emulator/{target.name}.so" for target in gpu_targets],
    }


def selected(targets: list[plan.Target]) -> str:
    """The definitions of a table that has the rows of these targets alone: see src/kernels/table.h."""
    return " ".join(["'-DQUERN_SELECTED(target,unit)=QUERN_WITH_##target'", *(f"-DQUERN_WITH_{target.name}" for target in targets)])


def _owners(units: list[plan.Unit], sources: Sources) -> str:
    """For each operation and GPU target the oldest target whose kernels have the same source text: the tests look at each text
    once."""
    owners: dict[str, dict[str, str]] = {}
    for operation in plan.OPERATIONS:
        texts: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        for unit in sorted((unit for unit in units if unit.operation == operation and unit.target.kind == "gpu"),
                           key=lambda unit: _age(unit.target)):
            texts.setdefault(unit.target.name, []).append((sources.of_unit[unit.build_stem], sources.definitions[unit.build_stem]))
        owners[operation] = {name: next(other for other in texts if texts[other] == text) for name, text in texts.items()}
    return json.dumps(owners, indent=1) + "\n"


def _is_tested_for_races(unit: plan.Unit) -> bool:
    """Whether ThreadSanitizer tests its kernels: those of operations whose threads communicate, but for f16, whose threads do so by
    the same text as those of bf16.  Adam is no such operation: its threads communicate too, but its many kernels do so alike, and
    tests/race/kernels.py compiles a few of them."""
    return plan.OPERATIONS[unit.operation].talks and not any("f16" in kernel.dtypes for kernel in unit.kernels)


def _instrumented(owned: list[plan.Unit]) -> dict[str, object]:
    """For ThreadSanitizer, which looks at each GPU source once for each set of definitions, in the oldest target's code."""
    talking = [unit for unit in owned if _is_tested_for_races(unit)]
    talkers = list(dict.fromkeys(unit.target for unit in talking))
    return {
        "thread": {target.name: [f"$builddir/emulator-thread/{unit.build_stem}.o" for unit in talking if unit.target == target]
                   for target in talkers},
        "thread_libraries": [f"$builddir/emulator-thread/{target.name}.so" for target in talkers],
    }


def is_current() -> bool:
    """Whether generated/ was made from the present inputs: judged by the digest alone, without rendering."""
    path = ROOT / DIGEST
    return path.exists() and path.read_text() == digest()


def differences(files: dict[str, str]) -> list[str]:
    """The stale, missing or orphaned files in generated/, one line each."""
    lines = []
    for name, text in sorted(files.items()):
        path = ROOT / name
        if not path.exists():
            lines.append(f"missing: {name}")
        elif path.read_text() != text:
            lines.append(f"stale: {name}")
    present = (str(path.relative_to(ROOT)) for path in GENERATED.rglob("*") if path.is_file())
    lines += [f"orphan: {name}" for name in sorted(set(present) - set(files))]
    return lines


def write(files: dict[str, str]) -> list[str]:
    """Brings generated/ up to date, writing only files that differ; returns the changes, one line each."""
    done = []
    for name, text in sorted(files.items()):
        path = ROOT / name
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            done.append(f"wrote {name}")
    for path in sorted(GENERATED.rglob("*")):
        if path.is_file() and str(path.relative_to(ROOT)) not in files:
            path.unlink()
            done.append(f"removed {path.relative_to(ROOT)}")
    return done
