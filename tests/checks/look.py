"""Checks what looks inside a run, from outside: traces of the demo, its dumps, and the comparison of dumps by quern_dump.

The demo runs twice for a few steps.  Its trace must be valid for Perfetto.  Its dumps must be safetensors files whose hashes are
right, and quern_dump must find them equal; with one bit flipped in a tensor it must name that tensor, and refuse what is damaged.
The last line is `N passed, N failed`.
"""

import hashlib
import json
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import cases
from cases import check

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = os.environ.get("QUERN_TEST_PROGRAMS", "build")
sys.path.insert(0, str(ROOT / "bindings/python"))

from quern_dump import tensors  # noqa: E402
from quern_dump.diff import place_of  # noqa: E402
from quern_dump.index import Call, Tensor, read_index  # noqa: E402

STEPS, DUMPED = 4, 3


def run_demo(folder: Path, name: str, *options: str) -> None:
    command = [f"{PROGRAMS}/language_model", "--no-comparison", f"--steps={STEPS}", "--device=cpu", "--vocab=512", "--width=32",
               f"--trace={folder / name}.json", f"--dump={DUMPED}:{folder / name}", *options]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    check(result.returncode == 0, f"{' '.join(command)} ended with {result.returncode}: {result.stderr}")


def compare(*arguments: object) -> tuple[int, str]:
    """Runs quern_dump as a program.  Returns its exit status and what it printed."""
    result = subprocess.run([sys.executable, "-m", "quern_dump", *map(str, arguments)], capture_output=True, text=True,
                            env={**os.environ, "PYTHONPATH": str(ROOT / "bindings/python")})
    return result.returncode, result.stdout + result.stderr


# ---- traces ----


def check_event(event: dict) -> None:
    check({"name", "ph", "pid", "tid"} <= event.keys(), f"a key is missing in {event}")
    check(event["ph"] in ("X", "i", "M"), f"another phase in {event}")
    check(event["ph"] == "M" or event["ts"] > 0, f"no time in {event}")
    check(event["ph"] != "X" or event["dur"] >= 0, f"no duration in {event}")


def end_of(event: dict) -> float:
    return event["ts"] + event["dur"]


def check_nesting(events: list[dict]) -> None:
    """On one track an event ends before the next begins, or contains it.  A wait is within the call that it names."""
    for track in {event["tid"] for event in events}:
        outer: list[dict] = []
        for event in sorted((e for e in events if e["ph"] == "X" and e["tid"] == track), key=lambda e: (e["ts"], -e["dur"])):
            while outer and end_of(outer[-1]) <= event["ts"] + 0.0005:
                outer.pop()
            check(not outer or end_of(event) <= end_of(outer[-1]) + 0.0005, f"{event} overlaps another one")
            if event["cat"] == "wait":
                check(bool(outer) and outer[-1]["name"] == event["args"].get("call"), f"{event} is in no call")
            outer.append(event)


def test_trace(folder: Path) -> None:
    trace = json.loads((folder / "one.json").read_text())
    events = trace["traceEvents"]
    for event in events:
        check_event(event)
    check_nesting(events)
    named = {event["tid"] for event in events if event["name"] == "thread_name"}
    check({event["tid"] for event in events if event["ph"] == "X"} <= named, "a track has no name")
    steps = [event["args"]["step"] for event in events if event.get("cat") == "step"]
    check(steps == list(range(1, STEPS + 2)), f"the steps are {steps}")
    adam = [event for event in events if event["name"] == "adam"]
    check(len(adam) == STEPS and all(event["args"]["status"] == "QUERN_OK" for event in adam), f"the events of Adam are {adam}")
    check(len({event["args"]["bytes"] for event in adam}) == 1 and adam[0]["args"]["bytes"] > 10000, "other bytes of Adam")
    check(all(kernel.startswith("adam_") for event in adam for kernel in event["args"]["kernels"]), "another kernel")
    check(trace["otherData"]["events"] == len([e for e in events if e["ph"] != "M"]), "another number of events")


def test_trace_of_ranks(folder: Path) -> None:
    """Which rank waits for the other is up to the machine; in each meeting at most one does not."""
    run_demo(folder, "ranks", "--ranks=2", "--experts=4", "--processes", "--timeout=600")
    all_waits = 0
    for rank, (trace, name) in enumerate((("ranks.json", "ranks"), ("ranks.json.1", "ranks.1"))):
        events = json.loads((folder / trace).read_text())["traceEvents"]
        check_nesting(events)
        waits = [event for event in events if event.get("cat") == "wait"]
        check(all(event["args"]["for"] == [1 - rank] for event in waits), f"the waits of rank {rank} are for others")
        all_waits += len(waits)
        calls = read_index(folder / name)
        check({call.rank for call in calls} == {rank, None}, f"{name} has calls of {({call.rank for call in calls})}")
        check(any(call.operation == "ragged_all_to_all" for call in calls), f"{name} has no exchange")
    check(all_waits > 0, "no rank waits for the other")


# ---- dumps ----


def stored_tensors(folder: Path) -> list[tuple[Call, Tensor]]:
    return [(call, tensor) for call in read_index(folder) for tensor in call.tensors if tensor.file]


def bytes_of(tensor: Tensor) -> bytes:
    stored = tensor.stored()
    return stored.path.read_bytes()[stored.begin:stored.begin + stored.bytes]


def check_file(path: Path) -> None:
    """The tensors fill the file behind the header, in order and without gaps: as the format demands."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    check(length % 8 == 0, f"{path}: the data is not aligned")
    end = 0
    for name, entry in json.loads(data[8:8 + length]).items():
        check(entry["data_offsets"][0] == end, f"{path}: {name} begins at {entry['data_offsets'][0]}: expected {end}")
        end = entry["data_offsets"][1]
    check(end == len(data) - 8 - length, f"{path}: {len(data) - 8 - length} bytes of data: expected {end}")


def check_with_safetensors(path: Path) -> None:
    try:
        from safetensors import deserialize
    except ImportError:
        return
    named = dict(deserialize(path.read_bytes()))
    for name, stored in tensors.read_header(path).items():
        check(list(stored.shape) == named[name]["shape"], f"safetensors reads another shape of {name}")


def test_dump(folder: Path) -> None:
    found = stored_tensors(folder / "one")
    check({call.operation for call, _ in found} == {"cross_entropy", "adam"}, "other operations")
    check(all(call.step == DUMPED for call, _ in found), "another step")
    for _, tensor in found:
        check(hashlib.sha256(bytes_of(tensor)).hexdigest() == tensor.sha256, f"another hash of {tensor.name}")
    files = {path.name for path in (folder / "one").glob("*.safetensors")}
    check(files == {tensor.file.name for _, tensor in found}, "the index has other files than the folder")
    for name in files:
        check_file(folder / "one" / name)
        check_with_safetensors(folder / "one" / name)
    check(not list((folder / "one").glob("*.part")), "a temporary file is left")


def test_equal(folder: Path) -> None:
    status, text = compare("diff", folder / "one", folder / "two")
    count = len(stored_tensors(folder / "one"))
    check(status == 0 and f"{count} tensors equal, 0 differences" in text, f"status {status}: {text}")


def flip_bit(folder: Path, copy: Path, place: int) -> Tensor:
    """Copies a dump, and flips a bit in the middle of a tensor, whose hash is then written anew."""
    shutil.copytree(folder, copy)
    _, tensor = stored_tensors(copy)[place]
    stored, data = tensor.stored(), bytearray(tensor.file.read_bytes())
    data[stored.begin + stored.bytes // 2] ^= 1
    tensor.file.write_bytes(data)
    index = (copy / "index.jsonl").read_text()
    lines = []
    for line in map(json.loads, index.splitlines()):
        for row in line["tensors"]:
            if (row.get("file"), row["name"]) == (tensor.file.name, tensor.name):
                row["sha256"] = hashlib.sha256(bytes_of(tensor)).hexdigest()
        lines.append(json.dumps(line) + "\n")
    (copy / "index.jsonl").write_text("".join(lines))
    return tensor


def test_flips(folder: Path) -> None:
    """One bit of each tenth tensor."""
    for place in range(0, len(stored_tensors(folder / "one")), 10):
        copy = folder / f"flipped{place}"
        tensor = flip_bit(folder / "one", copy, place)
        size = tensors.DTYPES[tensor.dtype][0]
        element = tensor.stored().bytes // 2 // size
        status, text = compare("diff", folder / "two", copy)
        check(status == 1 and f" {tensor.name} ({tensor.access}) differs\n" in text, f"tensor {place}: status {status}: {text}")
        check(f"1 of {tensor.stored().bytes // size} elements differ" in text, f"tensor {place}: {text}")
        check(f"first at {place_of(element, tensor.shape)}" in text, f"tensor {place}: {text}")
        shutil.rmtree(copy)


def test_damage(folder: Path) -> None:
    """What cannot be read is an error with the name of the file, and not a difference."""
    def damage(name: str, change: Callable[[Path], object], expected: str) -> None:
        copy = folder / "damaged"
        tensor = flip_bit(folder / "one", copy, 0)
        change(copy if name == "folder" else copy / "index.jsonl" if name == "index" else tensor.file)
        status, text = compare("diff", copy, folder / "two")
        check(status == 2 and expected in text and "Traceback" not in text, f"{expected}: status {status}: {text}")
        shutil.rmtree(copy)

    damage("file", lambda path: path.write_bytes(path.read_bytes()[:5]), "expected a header")
    damage("file", lambda path: path.write_bytes(path.read_bytes()[:-100]), "has offsets")
    damage("file", lambda path: path.write_bytes(struct.pack("<Q", 1 << 60) + b"{}"), "expected a header")
    damage("file", lambda path: path.write_bytes(b"\x02" + bytes(7) + b"{}"), "has no tensor")
    damage("file", lambda path: path.unlink(), "No such file")
    damage("index", lambda path: path.write_text(path.read_text() + "{"), "index.jsonl:")
    damage("index", lambda path: path.write_text(path.read_text().replace('"file": "', '"file": "../')), "not in the folder")
    damage("index", lambda path: path.unlink(), "index.jsonl")
    deep = "[" * 200000
    damage("index", lambda path: path.write_text(deep), "RecursionError")
    damage("file", lambda path: path.write_bytes(struct.pack("<Q", len(deep)) + deep.encode()), "recursion depth")
    check(compare("diff", folder / "one")[0] == 2 and compare("nonsense")[0] == 2, "a wrong command line")
    check(compare("show", folder / "none")[0] == 2, "a folder that does not exist")


def test_other_runs(folder: Path) -> None:
    """Other arguments, another number of calls, a tolerance."""
    run_demo(folder, "other", "--beta2=0.9")
    status, text = compare("diff", folder / "one", folder / "other", "--all")
    check(status == 1 and "the argument beta2 is 0.99 and 0.9\n" in text, f"status {status}: {text}")
    shutil.copytree(folder / "one", folder / "short")
    lines = (folder / "short/index.jsonl").read_text().splitlines(keepends=True)
    (folder / "short/index.jsonl").write_text("".join(lines[:-1]))
    status, text = compare("diff", folder / "one", folder / "short")
    check(status == 1 and f"only {folder / 'one'} has it" in text, f"status {status}: {text}")
    flip_bit(folder / "one", folder / "near", 0)
    status, text = compare("diff", folder / "one", folder / "near", "--tolerance", "0.01")
    check(status == 0 and "1 within the tolerance" in text, f"status {status}: {text}")


def test_show(folder: Path) -> None:
    status, text = compare("show", folder / "one")
    check(status == 0 and "call 1, adam, step 3 on cpu: QUERN_OK" in text and "beta2 0.99" in text, f"status {status}: {text}")


# ---- a measured choice ----


def steps_of_adam(folder: Path) -> set[str]:
    return {kernel for call in read_index(folder) if call.operation == "adam" for kernel in call.kernels}


def test_preferred(folder: Path) -> None:
    """Dumps of two kernels, one of them made slower by hand: the other one then runs, without a change of any tensor."""
    run_demo(folder, "portable", QUERN_KERNEL="*__portable")
    fast, slow = folder / "portable", folder / "one"
    (portable,) = steps_of_adam(fast)
    lines = [json.loads(line) for line in (slow / "index.jsonl").read_text().splitlines()]
    for launch in (launch for line in lines for launch in line["launches"] if "nanoseconds" in launch):
        launch["nanoseconds"] += 10 ** 12
    shutil.copytree(slow, folder / "slow")
    (folder / "slow/index.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    if steps_of_adam(slow) == {portable}:
        return  # this CPU has no other target
    done = subprocess.run([sys.executable, "-m", "gen", "prefer", fast, folder / "slow", "-o", folder / "rows"], cwd=ROOT,
                          capture_output=True, text=True)
    check(done.returncode == 0 and f"{portable} takes " in done.stderr, f"status {done.returncode}: {done.stderr}")
    check("the bits would change among cross_entropy_" in done.stderr, done.stderr)
    run_demo(folder, "preferred_run", QUERN_PREFER=str(folder / "rows"))
    check(steps_of_adam(folder / "preferred_run") == {portable}, f"{steps_of_adam(folder / 'preferred_run')} ran: not {portable}")
    status, text = compare("diff", slow, folder / "preferred_run")
    check(status == 0 and " 0 differences" in text, f"status {status}: {text}")


# ---- values ----


def test_dtypes(_: Path) -> None:
    """Every code of the small types: against Python's own float16 and float32, and the tables of the OCP's specification."""
    halves = tensors.DTYPES["F16"][1](struct.pack("<65536H", *range(65536)))
    expected = struct.unpack("<65536e", struct.pack("<65536H", *range(65536)))
    check(all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(halves, expected)), "float16 is read wrongly")
    brains = tensors.DTYPES["BF16"][1](struct.pack("<65536H", *range(65536)))
    expected = struct.unpack("<65536f", struct.pack("<65536I", *(code << 16 for code in range(65536))))
    check(all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(brains, expected)), "bfloat16 is read wrongly")
    codes = {"F8_E4M3": {0x00: 0.0, 0x01: 2 ** -9, 0x07: 7 * 2 ** -9, 0x08: 2 ** -6, 0x38: 1.0, 0x7E: 448.0, 0xFE: -448.0,
                         0x78: 256.0},
             "F8_E5M2": {0x00: 0.0, 0x01: 2 ** -16, 0x03: 3 * 2 ** -16, 0x04: 2 ** -14, 0x3C: 1.0, 0x7B: 57344.0, 0x7C: math.inf,
                         0xFC: -math.inf}}
    for dtype, values in codes.items():
        read = tensors.DTYPES[dtype][1](bytes(range(256)))
        check(all(read[code] == value for code, value in values.items()), f"{dtype} is read wrongly")
        nans = {code for code in range(256) if math.isnan(read[code])}
        check(nans == ({0x7F, 0xFF} if dtype == "F8_E4M3" else {0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF}), f"{dtype}: NaN is {nans}")


def write_run(run: Path, *values: float) -> None:
    """A dump of one tensor of 2 by 2 elements."""
    run.mkdir()
    data = struct.pack("<4f", *values)
    header = json.dumps({"x": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}}).encode().ljust(72)
    (run / "x.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + data)
    (run / "index.jsonl").write_text(json.dumps({
        "sequence": 0, "step": 0, "operation": "adam", "device": "cpu", "kernels": [], "arguments": {}, "status": "QUERN_OK",
        "tensors": [{"name": "x", "access": "in", "dtype": "F32", "shape": [2, 2], "file": "x.safetensors",
                     "sha256": hashlib.sha256(data).hexdigest()}]}) + "\n")


def test_zeros(folder: Path) -> None:
    """Zeros of both signs have other bits, and no distance."""
    write_run(folder / "plus", 1.0, 0.0, 3.0, 4.0)
    write_run(folder / "minus", 1.0, -0.0, 3.0, 4.0)
    status, text = compare("diff", folder / "plus", folder / "minus")
    check(status == 1 and "1 of 4 elements differ" in text and "first at [0, 1]: 0 and -0" in text, f"status {status}: {text}")
    status, text = compare("diff", folder / "plus", folder / "minus", "--tolerance", "1e-30")
    check(status == 0 and "1 within the tolerance" in text, f"status {status}: {text}")


def test_not_finite(folder: Path) -> None:
    """A NaN and an infinity count apart, and no tolerance covers them."""
    write_run(folder / "nan", 1.0, math.nan, 3.0, -0.0)
    write_run(folder / "inf", 1.0, 2.0, math.inf, 0.0)
    status, text = compare("diff", folder / "nan", folder / "inf", "--tolerance", "10")
    for part in ("3 of 4 elements differ", "first at [0, 1]: nan and 2", "NaN or infinite among them: 1 and 1",
                 "largest difference 0, relative 0"):
        check(status == 1 and part in text, f"{part}: status {status}: {text}")


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for run in ("one", "two"):
            run_demo(folder, run)
        return cases.run(globals(), lambda test: test(folder))


if __name__ == "__main__":
    sys.exit(main())
