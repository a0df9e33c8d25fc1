"""Measures kernels against the memory's bandwidth, ranks against the way of a cache line, and other implementations beside them.

build/quern_bench does the measuring and writes one line of JSON per measurement: it is started here once for each operation and
target, and by ranks/measure.py once for each case of ranks, beside the programs of other implementations.  report/ makes tables,
files and pictures of the lines.  README.md explains the columns.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bench"), str(ROOT)]
from gen import arguments  # noqa: E402
from gen.spec import ARCHITECTURES, cpu_targets  # noqa: E402
from ranks import measure as rank_measure  # noqa: E402
from report import page, tables  # noqa: E402

KERNELS = ("cross_entropy", "adam")
OPERATIONS = (*KERNELS, *tables.TABLES)
CPU_TARGETS = [target.name for target in cpu_targets(ARCHITECTURES[0])]


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./quern bench", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("operation", nargs="*", metavar="|".join(OPERATIONS), help="the subjects (default: all)")
    parser.add_argument("--device", default="cpu", metavar="cpu|cuda:N", help="where to measure (cpu)")
    parser.add_argument("--target", default="", metavar="|".join(CPU_TARGETS),
                        help="only the CPU kernels of these targets, separated by commas (default: the best that runs)")
    parser.add_argument("--ranks", type=int, action="append", metavar="N",
                        help="only the barriers and all-to-alls of so many ranks; may be given again")
    parser.add_argument("--threads", metavar="N[,N]", help="threads of the CPU (1 and all)")
    parser.add_argument("--seconds", type=float, metavar="S", help="how long to time each kernel and loop (0.5)")
    parser.add_argument("--memory", type=float, metavar="GB",
                        help="the most that one case takes (3 on a CPU, 40 on a GPU; 8 for ranks)")
    parser.add_argument("--quick", action="store_true", help="small shapes: shows that it works, measures little")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all measurements")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables as a page")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg",
                        help="draw the kernels' roofline, and the ranks beside it as FILE-ranks.svg (needs matplotlib)")
    parser.add_argument("--from", dest="source", type=Path, metavar="FILE", help="measure nothing: show what --json wrote")
    parser.add_argument("--date", help="a date to be written into the files (default: none)")
    parser.add_argument("--note", help="a remark to be written into the files")
    parser.add_argument("--no-peers", action="store_true", help="leave out the other implementations")
    parser.add_argument("--peers", action="store_true", help="install OpenMPI first, unless it is there")
    parser.add_argument("--peer-python", default=sys.executable, metavar="PYTHON",
                        help="the Python that has PyTorch (this one)")
    parser.add_argument("--count", action="store_true",
                        help="measure nothing: count issue slots from the GPU kernels' machine code (--count --help)")
    parser.add_argument("--self-test", action="store_true",
                        help="measure nothing: check the byte counts, the loops, the barriers and the slices")
    parser.add_argument("--program", type=Path, default=ROOT / "build/quern_bench", help=argparse.SUPPRESS)
    parser.add_argument("--loops", type=Path, default=ROOT / "build/bench/stream.ptx", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    for operation in chosen.operation:
        if operation not in OPERATIONS:
            parser.error(f"{operation}: expected {', '.join(OPERATIONS)}")
    for target in filter(None, chosen.target.split(",")):
        if target not in CPU_TARGETS:
            parser.error(f"--target {target}: expected some of {', '.join(CPU_TARGETS)}")
    if chosen.target and chosen.device != "cpu":
        parser.error("--target chooses among the CPU's kernels: on a GPU set QUERN_KERNEL instead")
    chosen.operation = chosen.operation or list(OPERATIONS)
    return chosen


def lines_of(command: list[str], environment: dict[str, str] | None = None) -> Iterator[dict]:
    """The JSON lines that a program writes, as it writes them; its messages go to the terminal."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})}) as process:
        assert process.stdout
        for line in process.stdout:
            yield json.loads(line)
    if process.returncode != 0:
        raise SystemExit(f"{Path(command[0]).name} ended with {process.returncode}")


def measuring_command(chosen: argparse.Namespace, operation: str) -> list[str]:
    command = [str(chosen.program), operation, "--device", chosen.device, "--loops", str(chosen.loops)]
    for option in ("threads", "seconds", "memory"):
        if (value := getattr(chosen, option)) is not None:
            command += [f"--{option}", str(value)]
    return command + ["--quick"] * chosen.quick


def measure_kernels(chosen: argparse.Namespace, results: dict) -> None:
    """Shows each measurement as it comes."""
    for operation in [name for name in KERNELS if name in chosen.operation]:
        for target in chosen.target.split(","):
            forced = {"QUERN_KERNEL": f"*__{target}"} if target else {}
            for line in lines_of(measuring_command(chosen, operation), forced):
                if "machine" in line:
                    show_machine(line, results)
                    continue
                if not results["records"]:
                    page.show_head()
                results["records"].append(line)
                page.show_record(line)
    if results["records"]:
        if not chosen.no_peers:
            measure_peers(chosen, results)
        page.show_foot(tables.KERNEL_FOOT)


def show_machine(line: dict, results: dict) -> None:
    if "machine" not in results:
        results["machine"] = line
        page.show_machine(line)


def rank_settings(chosen: argparse.Namespace, machine: dict) -> rank_measure.Settings:
    seconds = 0.02 if chosen.quick else chosen.seconds or 0.5
    memory = min(0.8 * rank_measure.available_memory(), 1e9 * (chosen.memory or 8))
    return rank_measure.Settings(chosen.device, chosen.loops, seconds, 60, machine["cache_bytes"], memory, not chosen.no_peers,
                                 chosen.program)


def measure_ranks(chosen: argparse.Namespace, results: dict) -> None:
    wanted = [name for name in tables.TABLES if name in chosen.operation]
    if not wanted:
        return
    for line in lines_of([str(chosen.program), "machine", "--device", chosen.device, "--loops", str(chosen.loops)]):
        show_machine(line, results)
    settings = rank_settings(chosen, results["machine"])
    for operation in wanted:
        cases = rank_measure.cases(operation, chosen.device, chosen.quick, chosen.ranks)
        page.show_head(tables.TABLES[operation].columns([]))
        for records in rank_measure.measure(cases, settings):
            results["ranks"] += records
            page.show_rank_records(operation, records, results["ranks"])
        for line in rank_measure.absent_peers(operation, settings):
            print(line)
        page.show_foot(tables.TABLES[operation].foot)


# The passes that other implementations do in one call too.
PEER_PASSES = ("forward", "forward + gradient", "step")


def measure_peers(chosen: argparse.Namespace, results: dict) -> None:
    """Other implementations on the same shapes with the most threads, where they can be imported; never fails the run."""
    records = [record for record in results["records"] if "skipped" not in record]
    most = max((record["threads"] for record in records), default=0)
    cases: list[dict] = []
    for record in records:
        case = {key: record[key] for key in ("operation", "pass", "dtypes", "peer", "shape", "threads")}
        if record["threads"] == most and record["pass"] in PEER_PASSES and case not in cases:
            cases.append(case)
    seconds = 0.01 if chosen.quick else chosen.seconds or 0.5
    command = [chosen.peer_python, str(Path(__file__).parent / "operations/peers.py"), chosen.device, str(seconds),
               json.dumps(cases), str(chosen.program)]
    page.show_peer_head()
    try:
        for line in lines_of(command):
            results["peers"].append(line)
            page.show_peer(line, results["records"])
    except (OSError, ValueError, SystemExit) as error:
        print(f"the other implementations ended early: {error}")


def stated_bytes(header: str) -> dict[str, int]:
    """The bytes per element that quern.h states."""
    adam = header.split("Bytes moved per element:")[1].split(".")[0]
    counts = {}
    for statement in adam.split(","):
        name, number = statement.strip().rsplit(" ", 1)
        counts[name] = int(number)
    counts["bf16:"] = int(header.split("one read and one write (bf16:")[1].split(")")[0])
    return counts


def self_test(chosen: argparse.Namespace) -> int:
    """The program's own checks, and its byte counts against what the header and the definition of the exchange state."""
    done = subprocess.run([str(chosen.program), "self-test"], capture_output=True, text=True, check=False)
    counted = {}
    for line in done.stdout.splitlines():
        if line.startswith("bytes: "):
            name, number = line.removeprefix("bytes: ").rsplit(" ", 1)
            counted[name] = float(number)
        else:
            print(line)
    stated = stated_bytes((ROOT / "include/quern.h").read_text()) | {"all-to-all": rank_measure.EXAMPLE_TRAFFIC}
    wrong = {name for name in stated.keys() | counted.keys() if stated.get(name) != counted.get(name)}
    for name in sorted(wrong):
        print(f"bytes, {name}: counted {counted.get(name)}, stated {stated.get(name)}")
    print(f"{len(stated) - len(wrong)} passed, {len(wrong)} failed")
    return 0 if done.returncode == 0 and not wrong else 1


def write_files(chosen: argparse.Namespace, results: dict) -> None:
    if chosen.json:
        chosen.json.parent.mkdir(parents=True, exist_ok=True)
        chosen.json.write_text(page.as_json(results))
    if chosen.markdown:
        chosen.markdown.parent.mkdir(parents=True, exist_ok=True)
        chosen.markdown.write_text(page.as_markdown(results))
    if chosen.plot:
        draw(results, chosen.plot)


def draw(results: dict, path: Path) -> None:
    from report import pictures

    path.parent.mkdir(parents=True, exist_ok=True)
    if results["records"]:
        pictures.draw_kernels(results, path)
    if results.get("ranks"):
        pictures.draw_ranks(results, path.with_name(f"{path.stem}-ranks{path.suffix}"))


def measure(chosen: argparse.Namespace) -> int:
    """Writes the files even if something fails or a signal ends it: with what has been measured, and a note that says so."""
    results: dict = {"records": [], "peers": [], "ranks": []}
    results |= {key: value for key in ("date", "note") if (value := getattr(chosen, key))}
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        measure_kernels(chosen, results)
        measure_ranks(chosen, results)
    except (SystemExit, KeyboardInterrupt) as why:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        results["note"] = f"{results.get('note', '')} Incomplete: {str(why) or 'stopped by a signal'}.".strip()
        if results["records"] or results["ranks"]:
            write_files(chosen, results)
        raise
    write_files(chosen, results)
    return 0


def main() -> int:
    if "--count" in sys.argv[1:]:
        from count import command

        return command.main([word for word in sys.argv[1:] if word != "--count"])
    chosen = read_arguments()
    arguments.end_of_check()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    if not chosen.source and not chosen.program.exists():
        raise SystemExit(f"{chosen.program} is not there: build it with ninja bench")
    if chosen.self_test:
        return self_test(chosen)
    if chosen.source:
        results = json.loads(chosen.source.read_text())
        page.show_all(results)
        write_files(chosen, results)
        return 0
    return measure(chosen)


if __name__ == "__main__":
    sys.exit(main())
