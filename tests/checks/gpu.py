"""Tries `./quern gpu` with the emulator in place of the driver, over few small suites.

Some of its programs are replaced by scripts that fail or never end.  Called by tests/run.py.  The last line is
`N passed, N failed`.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import cases
from cases import expect, expect_in

ROOT = Path(__file__).resolve().parents[2]
sys.path[:1] = [str(ROOT / "tests"), str(ROOT), str(ROOT / "bench")]
from gpu import budget, criterion, summary  # noqa: E402
from runner.devices import FIRST_EMULATED  # noqa: E402

FOLDER = "build/gpu-check"
SUITE = "test_adam_published"
LINES = 10
FOREVER = "exec sleep 100000"
FILE = f"emulated-{FIRST_EMULATED.replace('_', '')}"


def gpu(out: Path, *options: str, status: int = 0, path: str = "", minutes: str = "600") -> list[str]:
    """Runs the command, which has more time than a busy machine needs; returns its last ten lines."""
    command = ["./quern", "gpu", "--emulated", "--folder", FOLDER, "--out", str(out), "--suite", SUITE, "--jobs", "2",
               "--minutes", minutes, *options]
    environment = {**os.environ, "PYTHON": sys.executable, "PATH": f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"]}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    if done.returncode != status:
        raise AssertionError(f"{' '.join(options)}: status {done.returncode}, expected {status}: {done.stdout}{done.stderr}")
    return done.stdout.splitlines()[-LINES:]


def script(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


# ---- the command ----


def test_stages_pass_and_leave_a_report(out: Path) -> None:
    lines = gpu(out, "--only", "machine,build,suites,report")
    expect_in("machine: passed", lines[0])
    expect_in("the times are not real", lines[0])
    expect_in("build: passed", lines[1])
    expect_in("suites: passed", lines[2])
    expect_in("0 failed", lines[2])
    expect_in("stages passed", lines[9])
    expect([path.name for path in out.iterdir()], [f"{FILE}.txt"])
    expect((out / f"{FILE}.txt").read_text().splitlines()[-LINES:], lines)


def test_a_failing_suite_is_named(out: Path) -> None:
    program = ROOT / FOLDER / "tests" / SUITE
    script(program, 'for word; do case $word in --tap=*) echo "not ok - a::b" >"${word#--tap=}" ;; esac; done; exit 1')
    try:
        lines = gpu(out, "--only", "suites,stress", status=1)
    finally:
        program.unlink()
    expect_in(f"suites: failed: {SUITE}", lines[2])
    expect_in(f"stress: failed: {SUITE}", lines[3])
    expect_in(f"FAILED: suites (failed: {SUITE}), stress (failed: {SUITE})", lines[9])


def test_suites_are_stopped_at_their_share(out: Path) -> None:
    program = ROOT / FOLDER / "tests" / SUITE
    script(program, FOREVER)
    try:
        lines = gpu(out, "--only", "suites", status=1, minutes="0.03")
    finally:
        program.unlink()
    expect_in("suites: stopped after its 2 s", lines[2])


def test_the_sanitizer_runs_the_small_suites_with_both_tools(out: Path) -> None:
    script(out / "compute-sanitizer", f'echo "$2" >>{out}/tools\nwhile [ "${{1#{FOLDER}}}" = "$1" ]; do shift; done\nexec "$@"')
    gpu(out, "--only", "build")
    lines = gpu(out, "--only", "sanitizer", path=str(out))
    expect(sorted((out / "tools").read_text().split()), ["memcheck", "racecheck"])
    expect_in("sanitizer: passed", lines[3])


def test_the_operators_of_python(out: Path) -> None:
    lines = gpu(out, "--only", "build,python")
    expect_in("python: passed", lines[3])
    expect_in("0 failed", lines[3])


MACHINE = {"machine": "Emulated", "kind": "cuda", "units": 4, "library": "0", "cache_bytes": 1}
RECORD = {"operation": "cross_entropy", "pass": "forward + gradient", "dtypes": "bf16", "shape": "4096 x 32768",
          "peer": "4096 32768", "kernel": f"cross_entropy_bf16_resident__{FIRST_EMULATED}", "threads": 0, "elements": 10**9,
          "bytes_per_element": 4, "flops_per_element": 14, "rounds": 3, "seconds": 0.002, "seconds_low": 0.002,
          "seconds_high": 0.002, "copy_gb_s": 4000.0, "stream_gb_s": None, "stream": "in place"}


def test_stopped_benchmarks_leave_what_they_have(out: Path) -> None:
    program = ROOT / FOLDER / "quern_bench"
    script(program, f"echo '{json.dumps(MACHINE)}'\necho '{json.dumps(RECORD)}'\n{FOREVER}")
    try:
        lines = gpu(out, "--only", "benchmarks,report", status=1, minutes="0.5")  # it must have written by then
    finally:
        program.unlink()
    expect_in("benchmarks: stopped after its", lines[4])
    expect_in("measurements: 1 of kernels", lines[4])
    expect_in("0.50 (0.50 to 0.50), predicted for no such chip", lines[6])
    kept = json.loads((out / f"{FILE}.json").read_text())
    expect(kept["records"], [RECORD])
    for part in ("the times are not real", "Incomplete: stopped by a signal"):
        expect_in(part, kept["note"])
        expect_in(part, (out / f"{FILE}.md").read_text())


# ---- its parts ----


def test_shares_stand_beside_the_counters_prediction(out: Path) -> None:
    rows = json.loads(summary.COUNTS.read_text())["rows"]
    expected = {row["kernel"]: row["share"]["H200"] for row in rows if row.get("vocab") == 32768 and row["target"] == "sm_90a"}
    records = [RECORD, RECORD | {"pass": "gradient later"}, RECORD | {"pass": "forward"}]
    lines = summary.share_lines({"records": [dict(record, kernel="cross_entropy_bf16_resident__sm_90a") for record in records]},
                                "NVIDIA H200")
    expect_in("predicted nothing", lines[0])
    expect_in(f"0.50 (0.50 to 0.50), predicted {expected['cross_entropy_bf16_resident']:.2f} (", lines[1])
    expect_in(f"predicted {expected['cross_entropy_bf16_gradient']:.2f} (", lines[2])
    expect_in("not measured", lines[3])
    names = {"NVIDIA H100 80GB HBM3": "H100", "NVIDIA A100-SXM4-80GB": "A100", "Tesla T4": "T4",
             "NVIDIA A10": "", "NVIDIA T400": "", "NVIDIA GH200 480GB": ""}
    expect({name: summary.chip_of(name) for name in names}, names)


def test_the_time_of_a_stage_is_its_part_of_what_is_left(out: Path) -> None:
    stages = ["build", "suites", "benchmarks"]
    clock = budget.Budget(1e6, list(stages))  # so much that the time in between does not count
    shares = [budget.SHARES[stage] for stage in stages]
    expect([round(clock.take(stage), -3) for stage in stages],
           [round((1e6 - budget.GRACE) * share / sum(shares[i:]), -3) for i, share in enumerate(shares)])


def test_a_stopped_program_may_write_first(out: Path) -> None:
    script(out / "program", f"trap 'echo written >{out}/file; exit' TERM\nsleep 10000 & wait")
    expect_in("stopped after its", budget.run([str(out / "program")], 10, 600, out / "log"))  # it must wait by then
    expect((out / "file").read_text(), "written\n")


def test_criterion_can_be_carried(out: Path) -> None:
    expect(criterion.carry(out / "carried"), "")
    criterion.use(out / "carried", out / "own")
    expect(str(criterion._header_folder()), str(out / "carried/include/criterion"))
    expect((out / "carried/lib/libcriterion.so").is_file(), True)
    expect(criterion.works(), True)


def in_a_folder(test: Callable[[Path], None]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        test(Path(folder))


if __name__ == "__main__":
    sys.exit(cases.run(globals(), in_a_folder))
