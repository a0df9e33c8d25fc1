"""ThreadSanitizer over emulated kernels: the real ones must be silent, and those without one of their orders must be reported (see
races.py).  The word is that of a program below.

A variant has one kind of instruction weakened or taken out, in the PTX of all kernels or of some.  ThreadSanitizer can tell 256
threads apart and mistakes threads that share a number for one: kernels are compiled in small blocks, into a pack that the program
loads, and their PTX is translated for the emulator.
"""

import dataclasses
import fnmatch
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import races
from races import BUILD, ROOT
from gen import pack, plan, spec
from gen.operations import quantize
from gen.spec import GPU_TARGETS
from runner import targets, texts

# A target, its compute capability, and whether signals go by multicast.
Machine = tuple[str, str, bool]


def machine(name: str, multicast: bool = False) -> Machine:
    return name, GPU_TARGETS[name].emulated, multicast


BARRIERS = r"^\s*(bar|barrier)\.(warp\.)?sync.*;$"
BLOCK_BARRIERS = r"^\s*(bar|barrier)\.sync.*;$"
WARP_BARRIERS = r"^\s*bar\.warp\.sync.*;$"
COPIES = targets.first_with("async_copy").name
PLAIN, MULTICAST = (machine(targets.first_with("multimem").name, multicast) for multicast in (False, True))


@dataclass(frozen=True)
class Variant:
    name: str
    pattern: str
    replacement: str = ""
    machine: Machine = machine(COPIES)
    stem: str | None = None  # of the kernels that are changed; None: all


@dataclass(frozen=True)
class Program:
    units: Callable[[str], list[plan.Unit]]    # of a target
    machines: list[Machine]
    variants: list[Variant]
    gpus: int = 1
    environment: dict[str, str] = field(default_factory=dict)
    has_pack: bool = True    # of its units; else the library's kernels run, and the units are those that variants change


# ---- which kernels ----

class SmallKernel(plan.Kernel):
    """A kernel in blocks of fewer threads than the library's."""

    block_threads: int

    @property
    def geometry(self) -> spec.Geometry:
        return dataclasses.replace(super().geometry, threads=self.block_threads)


def in_small_blocks(operations: Iterable[str], target: str, threads: int,
                    is_used: Callable[[plan.Kernel], bool]) -> list[plan.Unit]:
    """The kernels of operations that are used, in blocks of so many threads."""
    small = type("SmallKernel", (SmallKernel,), {"block_threads": threads})
    found = []
    for unit in (unit for operation in operations for unit in plan.units(operation, [GPU_TARGETS[target]])):
        kernels = tuple(small(k.operation, k.target, k.pairs) for k in unit.kernels if is_used(k))
        found += [dataclasses.replace(unit, kernels=kernels)] if kernels else []
    return found


# The kernels of all dtypes are of the same templates, and those that multiply by an upstream gradient have no barrier.
def short_rows(target: str) -> list[plan.Unit]:
    return [unit for unit in plan.units("cross_entropy", [GPU_TARGETS[target]])
            if not unit.stem.endswith(("_full", "_full_rows", "_streamed", "_upstream")) and "f16" not in unit.stem]


# All step kernels of a form have the same code between their threads, so that one plain and one full row stand for them.
ADAM = ("adam_pbf16_gbf16_mbf16_vbf16", "adam_pf32_gf32_me4m3_ve4m3_full", "adam_gradient_norm_bf16", "adam_gradient_norm_f32",
        "adam_gradient_norm_combine", "adam_gradient_accumulate_bf16")
RANKS = ("barrier", "ragged_all_to_all", "collective")

# A glob of QUERN_KERNEL that refuses the 1 of f16 and bf16, with and without an output behind it, and the 5 of e5m2.  It does not
# leave out kernels that only serve others, such as those of an amax.
ONE_DTYPE = "*[!1]???[!5][!1]?__*"


def is_of_one_dtype(kernel: plan.Kernel) -> bool:
    return fnmatch.fnmatchcase(kernel.name, ONE_DTYPE) or kernel.key.get("variant") == quantize.AMAX


PROGRAMS = {
    # So many multiprocessors that three rows of several parts are split, even if a cluster could have each.
    "cross_entropy": Program(
        short_rows, [machine(name) for name in texts.owners("cross_entropy")], [Variant("no barriers", BARRIERS)],
        environment={"QUERN_EMULATOR_SMS": "32"}, has_pack=False),
    # Races between blocks are only sometimes seen: here a block starts when the one before it has ended, and ThreadSanitizer soon
    # forgets threads that have ended.
    "adam": Program(
        lambda target: in_small_blocks(("adam",), target, 64, lambda kernel: kernel.symbol in ADAM),
        [machine(name) for name in texts.owners("adam")],
        [Variant("a step that is used before it is there", BLOCK_BARRIERS, stem="adam_pbf16_gbf16"),
         Variant("a tile that is used before it is there", WARP_BARRIERS, stem="adam_pbf16_gbf16"),
         Variant("scales that are stored before they are read", WARP_BARRIERS, stem="adam_pf32_gf32_full"),
         Variant("sums that are added before they are there", BLOCK_BARRIERS, stem="gradient_norm_combine")],
        environment={"QUERN_EMULATOR_SMS": "1"}),
    "gpu_ranks": Program(
        lambda target: in_small_blocks((*RANKS, "quantize"), target, 32, is_of_one_dtype),
        [PLAIN, *(machine(name, "multimem" in GPU_TARGETS[name].features) for name in texts.owners(*RANKS))],
        [Variant("signals without release", r"st\.release\.sys(?=\.global\.u64)", "st.relaxed.sys", PLAIN),
         Variant("multicast signals without release", r"multimem\.st\.release", "multimem.st.relaxed", MULTICAST),
         Variant("signals looked at without acquire", r"ld\.acquire\.sys", "ld.relaxed.sys", PLAIN),
         *(Variant(f"words of {what} without release{name}", r"st\.release\.sys", "st.relaxed.sys", machine, f"collective_{stem}")
           for what, stem in (("chunks", "chunks"), ("chunks in blocks", "block_chunks"))
           for name, machine in (("", PLAIN), (" behind multicast codes", MULTICAST))),
         Variant("scales of blocks that are stored before they are there", WARP_BARRIERS, "", PLAIN, "collective_block_chunks"),
         *(Variant(f"{what} counted without {order}", r"atom\.acq_rel", f"atom.{other}", PLAIN, stem)
           for order, other in (("release", "acquire"), ("acquire", "release"))
           for what, stem in (("parts of chunks", "collective_chunks"), ("parts of chunks in blocks", "collective_block_chunks"),
                              ("blocks of all-to-alls", "ragged_all_to_all"),
                              ("blocks of collectives", "collective_combine"), ("blocks of moves", "collective_move"))),
         Variant("words of chunks looked at without acquire", r"ld\.acquire\.sys(?=\.global\.u32)", "ld.relaxed.sys", PLAIN,
                 "collective_chunk_meeting"),
         Variant("no barriers in the blocks", BLOCK_BARRIERS, machine=PLAIN)],
        gpus=3, environment={"QUERN_KERNEL": ONE_DTYPE}),
}


# ---- their code ----

def make_pack(program: Program, target: str, directory: Path) -> None:
    """The kernels of a program in DIRECTORY/TARGET.qpack, their PTX in DIRECTORY/TARGET/, and translated as they are."""
    row, units = GPU_TARGETS[target], program.units(target)
    fatbins = pack.compile_units(row, units, directory / target)
    (directory / f"{target}.qpack").write_bytes(
        pack.assemble(row, units, {stem: fatbin.read_bytes() for stem, fatbin in fatbins.items()}))
    emulate(program, target, directory, directory)


def compile_ptx(source: Path) -> Path:
    subprocess.run([sys.executable, "tests/emulator/translate.py", source, "-o", source.with_suffix(".cpp")], check=True, cwd=ROOT)
    subprocess.run(["clang++", "-std=c++17", "-O1", "-g1", "-fPIC", "-ffp-contract=off", "-w", "-fsanitize=thread", "-I",
                    "tests/emulator", "-c", source.with_suffix(".cpp"), "-o", source.with_suffix(".o")], check=True, cwd=ROOT)
    return source.with_suffix(".o")


def emulate(program: Program, target: str, ptx: Path, directory: Path, variant: Variant | None = None) -> None:
    """The translated kernels for a target, in DIRECTORY/TARGET.so, from PTX/TARGET: as they are, or of a variant, for whose kernels
    that do not differ PTX has objects."""
    sources, objects = [], []
    for stem in (unit.stem for unit in program.units(target)):
        text, count = (ptx / target / f"{stem}.ptx").read_text(), 0
        if variant and variant.stem in (None, stem):
            text, count = re.subn(variant.pattern, variant.replacement, text, flags=re.MULTILINE)
        if variant and not count:
            objects.append(ptx / f"{target}_{stem}.o")
            continue
        sources.append(directory / f"{target}_{stem}.ptx")
        sources[-1].write_text(text)
    if not sources:
        raise SystemExit(f"no PTX of {target} has {variant}")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects += pool.map(compile_ptx, sources)
    subprocess.run(["clang++", "-shared", "-fsanitize=thread", *objects, "-o", directory / f"{target}.so"], check=True)


# ---- runs ----

def run(word: str, machine: Machine, kernels: Iterable[Path], packs: Path) -> tuple[int, str]:
    """What is in none of these directories is prepared but never called: it needs no ThreadSanitizer."""
    program, (target, capability, multicast) = PROGRAMS[word], machine
    environment = {**program.environment, "QUERN_EMULATOR": ",".join([capability] * program.gpus), "QUERN_EMULATOR_TIMEOUT": "600",
                   "QUERN_EMULATOR_MULTICAST": str(int(multicast)), "LD_LIBRARY_PATH": str(BUILD / "emulator"),
                   "QUERN_EMULATOR_KERNELS": ":".join(map(str, (*kernels, BUILD / "emulator")))}
    if program.has_pack:
        environment["QUERN_TEST_PACK"] = str(packs / f"{target}.qpack")
    return races.run(BUILD / "tests/race_kernels", word, **environment)


def check_machines(word: str) -> Iterator[bool]:
    program = PROGRAMS[word]
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name) if program.has_pack else BUILD / "emulator-thread"
        for target in sorted({machine[0] for machine in program.machines}) if program.has_pack else ():
            make_pack(program, target, directory)
        for machine in program.machines:
            yield races.is_silent(f"{word}, {machine[0]}{' by multicast' if machine[2] else ''}",
                                  *run(word, machine, [directory], directory))


def check_variants(word: str) -> Iterator[bool]:
    program = PROGRAMS[word]
    with tempfile.TemporaryDirectory() as name:
        packs = Path(name)
        for target in sorted({variant.machine[0] for variant in program.variants}) if program.has_pack else ():
            make_pack(program, target, packs)
        for variant in program.variants:
            with tempfile.TemporaryDirectory() as other:
                broken, ptx = Path(other), packs if program.has_pack else BUILD
                emulate(program, variant.machine[0], ptx, broken, variant)
                searched = [broken, packs] if program.has_pack else [broken]
                yield races.is_reported(f"{word}, {variant.name}", lambda: run(word, variant.machine, searched, packs))


if __name__ == "__main__":
    sys.exit(races.main(check_machines, check_variants, PROGRAMS))
