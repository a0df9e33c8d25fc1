"""Measures the barrier and the ragged all-to-all: the cases, the programs, and the summary of the repetitions.

Each case is repeated, and in each repetition every program has its turn: quern_bench, which measures the library beside
barriers and copies of its own, and the programs of the other implementations, where they were built.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import statistics
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from report import tables

BUILD = Path(__file__).resolve().parent.parent.parent / "build"
CORES = 2
KIB, MIB = 1 << 10, 1 << 20
ROW_BYTES = KIB


@dataclass(frozen=True)
class Case:
    operation: str
    ranks: int
    kind: str = "processes"
    rows: int = 0  # of a slice
    row_bytes: int = 0
    updates: int = 1
    repetitions: int = 3  # of each program
    turns: int = 10       # of each barrier in a program


def named(case: Case) -> dict:
    """The fields that identify a record's case."""
    record = {"operation": case.operation, "kind": case.kind, "ranks": case.ranks}
    return record | {"rows": case.rows, "row_bytes": case.row_bytes, "updates": case.updates} if case.rows else record


def slices(ranks: int, slice_bytes: int, kind: str = "processes") -> Case:
    return Case("ragged_all_to_all", ranks, kind, slice_bytes // ROW_BYTES, ROW_BYTES)


def pieces(ranks: int, updates: int, row_bytes: int, kind: str = "processes") -> Case:
    """Slices in updates of 64 rows."""
    return Case("ragged_all_to_all", ranks, kind, 64 * updates, row_bytes, updates)


KINDS = ("threads", "processes")

CASES = (
    *(Case("barrier", CORES, kind) for kind in KINDS),
    *(Case("barrier", ranks, kind, repetitions=2, turns=1) for ranks in (8, 16, 32, 64) for kind in KINDS),
    *(slices(2, size * KIB) for size in (4, 16, 64, 256)),
    *(slices(ranks, size * MIB) for ranks in (2, 4) for size in (1, 4, 16, 64)),
    *(pieces(ranks, 32, row_bytes) for ranks in (2, 4) for row_bytes in (KIB, 4 * KIB)),
)
QUICK_CASES = (
    *(Case("barrier", ranks, kind, repetitions=2, turns=2) for ranks in (2, 4) for kind in KINDS),
    *(slices(ranks, 64 * KIB) for ranks in (2, 4)),
    pieces(2, 4, KIB),
)
# The bytes of four ranks that send each other slices of 1 MiB: 16 slices, each read once and written once.
EXAMPLE_TRAFFIC = 16 * 2 * MIB

GPU_RANKS = 8
GPU_CASES = (
    Case("barrier", GPU_RANKS, "on one GPU"),
    *(slices(GPU_RANKS, size * MIB, "on one GPU") for size in (1, 4, 16)),
    *(pieces(GPU_RANKS, 32, row_bytes, "on one GPU") for row_bytes in (KIB, 4 * KIB)),
)
QUICK_GPU_CASES = (
    Case("barrier", 2, "on one GPU", repetitions=1),
    Case("ragged_all_to_all", 2, "on one GPU", 8, 64, 4, repetitions=1),
)


@dataclass(frozen=True)
class Settings:
    """The settings that do not depend on the case."""

    device: str
    loops: Path
    seconds: float   # of a contender, over all repetitions
    limit: float     # of one program, until it is given up
    cache_bytes: int
    memory_bytes: float  # the most that a case may take
    peers: bool
    program: Path = BUILD / "quern_bench"
    openmp: Path = BUILD / "quern_bench_openmp"
    mpi: Path = BUILD / "quern_bench_mpi"


def cases(operation: str, device: str, quick: bool, ranks: list[int] | None) -> list[Case]:
    table = {("cpu", False): CASES, ("cpu", True): QUICK_CASES, ("cuda", False): GPU_CASES, ("cuda", True): QUICK_GPU_CASES}
    return [case for case in table[device.partition(":")[0], quick]
            if case.operation == operation and (not ranks or case.ranks in ranks)]


def needed_bytes(case: Case, cache_bytes: int) -> float:
    """Inputs, outputs and private outputs of all ranks, in as many sets as go beyond the cache (slices.c)."""
    exchanged = case.ranks**2 * case.rows * case.row_bytes
    return 3 * (exchanged + 2 * cache_bytes) if case.rows else 0


def available_memory() -> float:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return 1024 * float(line.split()[1])
    return 2e9


# ---- the programs -----------------------------------------------------------------------------------------------------------


def own_command(case: Case, settings: Settings) -> list[str]:
    command = [str(settings.program), case.operation, "--device", settings.device, "--ranks", str(case.ranks),
               "--seconds", f"{settings.seconds / case.repetitions:g}", "--limit", f"{settings.limit:g}",
               "--loops", str(settings.loops), "--cores", str(CORES), "--turns", str(case.turns)]
    if case.kind in KINDS:
        command += ["--kind", case.kind]
    if case.rows:
        command += ["--rows", str(case.rows), "--row-bytes", str(case.row_bytes), "--updates", str(case.updates),
                    "--cache", str(settings.cache_bytes)]
    return command


def peer_arguments(case: Case, settings: Settings) -> list[str]:
    arguments = [case.operation, str(case.ranks), str(CORES), f"{settings.seconds / case.repetitions:g}", str(case.turns)]
    if case.rows:
        arguments += [str(case.rows), str(case.row_bytes), str(settings.cache_bytes)]
    return arguments


def mpirun(case: Case, settings: Settings, *options: str) -> list[str]:
    """The ranks bind themselves, to the same cores as all others."""
    root = ["--allow-run-as-root"] * (os.geteuid() == 0)
    return ["mpirun", *root, "--oversubscribe", "--bind-to", "none", "-n", str(case.ranks), *options, str(settings.mpi),
            *peer_arguments(case, settings)]


@dataclass(frozen=True)
class Program:
    """One program's share in a case; `renamed` tells its contenders apart from those of the same program with other options."""

    command: list[str]
    renamed: str = "{}"


MPI_RANKS = 8  # the most on two cores: it takes a second to start and far longer to end when its ranks spin


def programs(case: Case, settings: Settings) -> list[Program]:
    found = [Program(own_command(case, settings))]
    if not settings.peers or case.kind not in KINDS:
        return found
    if case.operation == "barrier" and case.kind == "threads" and settings.openmp.exists():
        found.append(Program([str(settings.openmp), *peer_arguments(case, settings)]))
    if case.kind == "processes" and case.ranks <= MPI_RANKS and has_mpi(settings):
        if case.ranks <= CORES or case.operation != "barrier":
            found.append(Program(mpirun(case, settings)))
        else:
            found += [Program(mpirun(case, settings, "--mca", "mpi_yield_when_idle", value), "{}, " + words)
                      for value, words in (("0", "no yield"), ("1", "yields"))]
    return found


def has_mpi(settings: Settings) -> bool:
    return settings.mpi.exists() and shutil.which("mpirun") is not None


def absent_peers(operation: str, settings: Settings) -> list[str]:
    """A line for each implementation that should stand beside the library and cannot."""
    if not settings.peers or settings.device != "cpu":
        return []
    lines = []
    if operation == "barrier" and not settings.openmp.exists():
        lines.append("libgomp: not measured, the compiler has no -fopenmp")
    if not has_mpi(settings):
        lines.append("OpenMPI: not measured, it is not installed (./quern bench --peers installs it)")
    return lines


# ---- running -----------------------------------------------------------------------------------------------------------------


PATIENCE = 6  # times the limit: a program ends each of its contenders at the limit


def end_group(process: subprocess.Popen) -> None:
    """Ends the program and its children; mpirun is asked first, since it has files to remove and ranks in other groups."""
    for request, seconds in ((signal.SIGTERM, 5), (signal.SIGKILL, None)):
        try:
            os.killpg(process.pid, request)
            process.wait(seconds)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def lines_of(program: Program, case: Case, limit: float) -> list[dict]:
    """The measurements of a program; a line with the reason if it failed or did not end."""
    skipped = named(case) | {"contender": Path(program.command[0]).name}
    with subprocess.Popen(program.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          start_new_session=True) as process:
        try:
            output, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            return [skipped | {"skipped": f"did not end within {limit:.0f} seconds"}]
        finally:
            end_group(process)  # also when the user interrupts
    if process.returncode != 0:
        last = (errors.strip().splitlines() or [f"ended with {process.returncode}"])[-1]
        return [skipped | {"skipped": last}]
    return [json.loads(line) for line in output.splitlines()]


def compare_with_ping_pong(lines: list[dict]) -> None:
    """In each turn of one program: how far the cores are from each other changes from turn to turn.  And the best turns of both."""
    balls = [line["seconds"] for line in lines if line["contender"] == tables.PING_PONG and "skipped" not in line]
    for line in lines:
        if "skipped" not in line:
            line["of_ping_pong"] = [mine / ball for mine, ball in zip(line["seconds"], balls[0])] if balls else []
            line["best_of_ping_pong"] = [min(line["seconds"]) / min(balls[0])] if balls else []


def compare_with_stream(lines: list[dict]) -> None:
    """In each program, the bandwidth over that of the streaming copy that took turns with it: the cores' memory changes as well."""
    copies = [line["seconds"] for line in lines if line["contender"].startswith(tables.STREAMING) and "skipped" not in line]
    for line in lines:
        if "skipped" not in line:
            line["of_stream"] = copies[0] / line["seconds"] if copies else None


COMPARE = {"barrier": compare_with_ping_pong, "ragged_all_to_all": compare_with_stream}


def measure_case(case: Case, settings: Settings) -> list[dict]:
    """One record for each contender."""
    if case.kind in KINDS and (needed := needed_bytes(case, settings.cache_bytes)) > settings.memory_bytes:
        return [{**named(case), "contender": "all", "skipped": f"needs {1e-9 * needed:.1f} GB of memory"}]
    found: dict[tuple, list[dict]] = {}
    for _ in range(case.repetitions):
        for number, program in enumerate(programs(case, settings)):
            lines = lines_of(program, case, PATIENCE * settings.limit)
            COMPARE[case.operation](lines)
            for line in lines:
                if number > 0 and line["contender"] == tables.PING_PONG:
                    continue  # only there for the ratios of its program
                line = named(case) | line
                line["contender"] = program.renamed.format(line["contender"])
                found.setdefault((line["contender"], line.get("updates")), []).append(line)
    return [COMBINE[case.operation](lines) for lines in found.values()]


def combined(lines: list[dict], medians: list[str], more: Callable[[list[dict], dict], None]) -> dict:
    """The median over all repetitions, with the fastest; a contender that never could be measured stays skipped."""
    measured = [line for line in lines if "skipped" not in line]
    if not measured:
        return lines[0]
    record = dict(measured[0])
    for key in medians:
        values = flat(measured, key)
        record[key] = float(f"{statistics.median(values):.5g}") if values else None
    record["best_seconds"] = min(flat(measured, "seconds"))
    record["rounds"] = sum(line["rounds"] for line in measured)
    more(measured, record)
    return record


def flat(lines: list[dict], key: str) -> list[float]:
    """One value of each line, or of each of its turns; none where there was nothing to compare with."""
    values = [line[key] for line in lines if line[key] is not None]
    return [value for turns in values for value in turns] if values and isinstance(values[0], list) else values


def combine_barriers(lines: list[dict]) -> dict:
    def add_extremes(measured: list[dict], record: dict) -> None:
        record["longest_seconds"] = max(flat(measured, "longest_seconds"))
        record["turns"] = flat(measured, "seconds")

    return combined(lines, ["seconds", "single_seconds", "p99_seconds", "of_ping_pong", "best_of_ping_pong"], add_extremes)


def combine_exchanges(lines: list[dict]) -> dict:
    def add_repetitions(measured: list[dict], record: dict) -> None:
        record["repetitions"] = flat(measured, "seconds")

    return combined(lines, ["seconds", "seconds_low", "seconds_high", "of_stream"], add_repetitions)


COMBINE = {"barrier": combine_barriers, "ragged_all_to_all": combine_exchanges}


def measure(chosen: list[Case], settings: Settings) -> Iterator[list[dict]]:
    """The records of each case, as they come."""
    for case in chosen:
        yield measure_case(case, settings)
