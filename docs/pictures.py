"""Draws the pictures of the documents: what is measured, a training step, an exchange, a group over hosts and a trace.

    python3 docs/pictures.py            writes docs/*.svg
    python3 docs/pictures.py --check    fails if a picture differs from what it is drawn from

Bars come from bench/results and the table of docs/quantize.md, the rows of the exchange from examples/ragged_all_to_all.c, the
trace from docs/trace.json, which examples/trace.c has written.
"""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs"))
import svg  # noqa: E402

# ---- what is measured ----

KERNELS, RANKS, LLMC = (f"bench/results/amd-epyc-2-cores{end}" for end in (".json", "-ranks.json", "-llmc.jsonl"))
DEMO = "bench/results/intel-xeon-2-cores-demo.txt"
FIRST, WIDTH, ROW = 430, 960, 22


def of_peer(name: str, operation: str, shape: str, dtypes: str) -> float:
    """How many times as fast as a peer on a CPU: the ratio of turns, or of the times where they took none."""
    results = json.loads((ROOT / KERNELS).read_text())

    def is_it(row: dict) -> bool:
        return (row["operation"], row["pass"], row["shape"], row["dtypes"]) == (*operation.split(", "), shape, dtypes)

    peer = next(row for row in results["peers"] if is_it(row) and row["name"].startswith(name))
    ours = next(row["seconds"] for row in results["records"] if is_it(row) and row["threads"] == peer["threads"])
    return peer.get("ratio") or peer["seconds"] / ours


def of_casts(kind: str) -> float:
    row = re.search(rf"^\| {kind} \| 2 \|.* ([\d.]+) \|$", (ROOT / "docs/quantize.md").read_text(), re.M)
    assert row, kind
    return float(row[1])


def of_demo(what: str) -> float:
    row = re.search(rf"^ +{what}, ms .* ([\d.]+)x$", (ROOT / DEMO).read_text(), re.M)
    assert row, what
    return float(row[1])


def of_llmc(operation: str) -> float:
    rows = [json.loads(row) for row in (ROOT / LLMC).read_text().splitlines()]
    return next(row["ratio"] for row in rows if row["operation"] == operation)


def of_ranks(operation: str, peer: str, **of: int) -> float:
    rows = [row for row in json.loads((ROOT / RANKS).read_text())["ranks"] if row["operation"] == operation
            and (row["kind"], row["ranks"]) == ("processes", 2) and all(row[key] == value for key, value in of.items())]
    seconds = {row["contender"]: row["seconds"] for row in rows}
    shares = {row["contender"]: row.get("of_stream") for row in rows}
    return shares["quern"] / shares[peer] if shares[peer] else seconds[peer] / seconds["quern"]


def measured() -> tuple[tuple[str, tuple[tuple[str, float], ...]], ...]:
    """Each task with those who do it, and how many times as fast Quern is."""
    loss, step, torch, speed = "cross_entropy, forward + gradient", "adam, step", "PyTorch", "DeepSpeed"
    gpt, small = "GPT-2 124M, 148 tensors", "10000 x 64"
    return (
        ("loss and gradient, 4,096 × 32,768, bf16", (("PyTorch", of_peer(torch, loss, "4096 x 32768", "bf16")),)),
        ("loss and gradient, 2,048 × 32,768, f32", (("PyTorch", of_peer(torch, loss, "2048 x 32768", "f32")),)),
        ("loss and gradient, 512 × 50,257, f32", (("llm.c", of_llmc("loss and gradient")),)),
        ("loss and gradient of the demo, 512 × 5,280", (("plain C loops", of_demo("loss and gradient")),)),
        ("AdamW, GPT-2 124M, bf16", (("PyTorch, fused", of_peer(torch, step, gpt, "all bf16")),
                                     ("DeepSpeed", of_peer(speed, step, gpt, "all bf16")))),
        ("AdamW, GPT-2 124M, f32", (("PyTorch, fused", of_peer(torch, step, gpt, "all fp32")),
                                    ("DeepSpeed", of_peer(speed, step, gpt, "all fp32")))),
        ("AdamW, 10,000 tensors of 64, bf16", (("PyTorch, fused", of_peer(torch, step, small, "all bf16")),
                                               ("DeepSpeed", of_peer(speed, step, small, "all bf16")))),
        ("AdamW, one tensor of 16 million, f32", (("llm.c", of_llmc("AdamW")),)),
        ("Adam of the demo, 1.1 million parameters", (("plain C loops", of_demo("Adam")),)),
        ("cast of bf16 to E4M3 with its scale", (("PyTorch", of_casts("e4m3, eager")),
                                                 ("PyTorch, compiled", of_casts("e4m3, compiled")))),
        ("barrier of two processes", (("OpenMPI", of_ranks("barrier", "MPI_Barrier")),)),
        ("all-to-all of two processes, 1 MiB each",
         (("OpenMPI", of_ranks("ragged_all_to_all", "MPI_Alltoallv", rows=1024, row_bytes=1024, updates=1)),)),
    )


def factor(times: float) -> str:
    return f"{times:.0f} ×" if times >= 10 else f"{times:.1f} ×"


def comparison() -> str:
    scale = (WIDTH - FIRST - 60) / math.log10(200)
    lines, y = [], 52.0
    for task, peers in measured():
        lines.append(svg.text(FIRST - 120, y + ROW * len(peers) / 2 + 4, task, "right"))
        for peer, times in peers:
            end = scale * math.log10(max(times, 1.0))
            lines += [svg.text(FIRST - 8, y + 15, peer, "about right"), svg.rectangle(FIRST, y + 3, max(end, 2), ROW - 6, "bar"),
                      svg.text(FIRST + end + 6, y + 15, factor(times), "left")]
            y += ROW
        y += 8
    grid = [svg.line((FIRST + scale * math.log10(tick), 44), (FIRST + scale * math.log10(tick), y), kind="grid")
            for tick in (1, 2, 5, 10, 20, 50, 100)]
    ticks = [svg.text(FIRST + scale * math.log10(tick), y + 16, f"{tick} ×", "about") for tick in (1, 2, 5, 10, 20, 50, 100)]
    return svg.picture("How many times as fast as others Quern is, on two cores", WIDTH, y + 28,
                       svg.text(16, 26, "Times as fast as others, on two cores of an EPYC (casts and demo: a Xeon) with AVX-512", "name left"),
                       *grid, *lines, *ticks)


# ---- a training step ----

STEP = (("forward", "hidden states, logits", False), ("cross_entropy", "loss; gradient in place", True),
        ("backward", "gradients of all layers", False), ("reduce_scatter", "their sums, a shard each", True),
        ("adam", "parameters of the shard", True), ("all_gather", "parameters of all shards", True),
        ("quantize", "weights to FP8", True))


def step() -> str:
    width, height, gap, left = 184, 52, 22, 20
    lines = []
    for i, (name, about, is_quern) in enumerate(STEP):
        column, row = (i, 0) if i < 4 else (6 - i, 1)
        x, y = left + column * (width + gap) + (row and gap + width) / 2, 48 + row * 96
        lines.append(svg.box(x, y, width, height, f"quern_{name}" if is_quern else name, about, "api" if is_quern else "other"))
        middle = y + height / 2
        if i in (0, 1, 2):
            lines.append(svg.line((x + width, middle), (x + width + gap, middle), ends="end"))
        elif i == 3:
            lines.append(svg.line((x + width / 2, y + height), (x + width / 2, y + 96 + height / 2), (x + 2, y + 96 + height / 2),
                                  ends="end"))
        elif i < 6:
            lines.append(svg.line((x, middle), (x - gap, middle), ends="end"))
        else:
            lines.append(svg.line((x, middle), (left + width / 2, middle), (left + width / 2, 48 + height + 2), ends="end"))
    return svg.picture("A training step, and which of its calls are Quern's", left * 2 + 4 * width + 3 * gap, 212,
                       svg.text(left, 28, "A training step of one rank: calls of Quern, and the engine's own", "name left"),
                       *lines)


# ---- a ragged all-to-all ----


def table(name: str) -> list[list[int]]:
    """An array of the example."""
    found = re.search(rf"\b{name}\[2\]\[\d\] = {{({{.*?}})}}", (ROOT / "examples/ragged_all_to_all.c").read_text())
    assert found, name
    return [[int(number) for number in row.split(",")] for row in re.findall(r"{([^{}]*)}", found[1])]


def ragged() -> str:
    cell, left, top, apart = 44, 150, 60, 350
    inputs, froms, sizes, tos = (table(name) for name in ("INPUT", "INPUT_OFFSETS", "SEND_SIZES", "OUTPUT_OFFSETS"))
    kinds = ("api", "other")
    outputs = [[("", "") for _ in range(4)] for _ in range(2)]
    lines, arrows = [], []
    for sender in range(2):
        x = left + sender * apart
        lines += [svg.text(x - 12, top + 27, f"input of rank {sender}", "right"),
                  svg.text(x - 12, top + 157, f"output of rank {sender}", "right")]
        for row, value in enumerate(inputs[sender]):
            is_sent = row < sum(sizes[sender])
            lines.append(svg.box(x + row * cell, top, cell, cell, str(value), kind=kinds[sender] if is_sent else ""))
        for receiver in range(2):
            first, count, place = froms[sender][receiver], sizes[sender][receiver], tos[sender][receiver]
            for i in range(count):
                outputs[receiver][place + i] = (str(inputs[sender][first + i]), kinds[sender])
            arrows.append(svg.line((x + (first + count / 2) * cell, top + cell + 3),
                                   (left + receiver * apart + (place + count / 2) * cell, top + 130 - 4), ends="end"))
    for receiver, rows in enumerate(outputs):
        lines += [svg.box(left + receiver * apart + i * cell, top + 130, cell, cell, value, kind=kind)
                  for i, (value, kind) in enumerate(rows)]
    return svg.picture("A ragged all-to-all of two ranks", left + apart + 4 * cell + 40, top + 190,
                       svg.text(16, 28, "Each rank sends each rank a slice of any length, to a place that the sender names",
                                "name left"), *lines, *arrows)


# ---- a group over hosts ----


def hosts() -> str:
    rank, gap, left, top, apart = 84, 10, 20, 50, 470
    lines = []
    for host in range(2):
        x, width = left + host * apart, 4 * rank + 5 * gap
        lines += [svg.rectangle(x, top, width, 196), svg.text(x + width / 2, top + 20, f"host {host}", "name")]
        for i in range(4):
            start = x + gap + i * (rank + gap)
            lines.append(svg.box(start, top + 32, rank, 46, f"rank {4 * host + i}", "process" if i else "leader", "api"))
            middle = start + rank / 2
            lines.append(svg.line((middle, top + 80), (middle, top + 104), ends="both"))
        lines += [svg.box(x + gap, top + 106, width - 2 * gap, 40, "segment in /dev/shm",
                          "signals, mailboxes, who lives, poison"),
                  svg.box(x + gap, top + 156, rank + 20, 32, "monitor", kind="other")]
        lines.append(svg.line((x + gap + 30, top + 148), (x + gap + 30, top + 155), ends="both"))
    end, begin = left + 4 * rank + 5 * gap, left + apart
    lines += [svg.line((end + 2, top + 55), (begin - 2, top + 55), ends="both"),
              svg.text((end + begin) / 2, top + 48, "calls", "about"),
              svg.text((end + begin) / 2, top + 70, "TCP, MPI, UCX", "about"),
              svg.line((left + gap + rank + 22, top + 172), (begin + gap - 2, top + 172), ends="both"),
              svg.text((end + begin) / 2 - 60, top + 166, "beats and poison, TCP and UDP", "about")]
    return svg.picture("A group of CPU ranks of two hosts", left * 2 + apart + 4 * rank + 5 * gap, top + 212,
                       svg.text(left, 30, "A group of eight CPU ranks of two hosts", "name left"), *lines)


# ---- a trace ----


def trace() -> str:
    """The file until the last rank begins its second step."""
    events = json.loads((ROOT / "docs/trace.json").read_text())["traceEvents"]
    names = {event["tid"]: event["args"]["name"].split(",")[0] for event in events if event["name"] == "thread_name"}
    timed = [event for event in events if "ts" in event]
    begin = min(event["ts"] for event in timed)
    end = max(event["ts"] for event in timed if event["name"] == "step" and event["args"]["step"] == 2)
    left, width, height, top, lane = 110, 960, 26, 56, 104
    scale = (width - left - 20) / (end - begin)
    lines = []
    for track, thread in enumerate(sorted(names, key=lambda tid: names[tid])):
        y = top + track * lane
        lines += [svg.text(left - 12, y + 18, names[thread], "right"), svg.line((left, y + 72), (width - 20, y + 72), kind="grid")]
        shown = [event for event in timed if event["tid"] == thread and event["ts"] < end]
        for event in sorted(shown, key=lambda event: event["ts"]):
            x, until = left + scale * (event["ts"] - begin), min(event["ts"] + event.get("dur", 0), end)
            long, is_wait = scale * (until - event["ts"]), event["cat"] == "wait"
            if event["cat"] == "step":
                lines += [svg.line((x, y - 10), (x, y + 56)), svg.text(x + 3, y - 1, f"step {event['args']['step']}", "about left")]
                continue
            hint = f"{event['name']}, {event['dur']:.0f} µs" + (f", for rank {event['args']['for'][0]}" if is_wait else "")
            below = y + (height + 4 if is_wait else 2)
            lines.append(svg.rectangle(x, below, max(long, 1), 20 if is_wait else height, "thin" if is_wait else "api", hint))
            label = f"waits for rank {event['args']['for'][0]}" if is_wait else event["name"]
            if long > 7 * len(label):
                lines.append(svg.text(x + long / 2, below + (14 if is_wait else 18), label, "about"))
            elif not is_wait and long > 40:
                lines.append(svg.text(x + long / 2, y + 66, label, "about"))
    bottom = top + lane * len(names)
    ticks = [svg.text(left + scale * time, bottom, f"{time / 1000:g} ms", "about") for time in range(0, int(end - begin) + 1, 500)]
    return svg.picture("A trace of two ranks", width, bottom + 14,
                       svg.text(16, 28, "The first step of examples/trace.c: calls, and below them waits for the other rank",
                                "name left"), *lines, *ticks)


if __name__ == "__main__":
    sys.exit(svg.write_or_check({f"{draw.__name__}.svg": draw() for draw in (comparison, step, ragged, hosts, trace)}, sys.argv[1:],
                                "python3 docs/pictures.py"))
