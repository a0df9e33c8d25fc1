"""The page and the picture of predicted shares, low and high.  Called by command.py.

timeline.py has the model, and what it leaves open.  Cross-entropy has bf16 logits, the gradient in place and the mean.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace

from gen.operation import VARIANT
from gen.operations.cross_entropy import SHORT_ROWS
from gen.spec import DTYPES

from . import bounds, issue, table, timeline
from .chips import CHIPS, Chip
from .describe import Item
from .files import markdown_table
from .flow import Fault, Flow
from .kernels import streamed
from .machine_code import MachineCode
from .paths import Walk, name_loops
from .sass import Instruction
from .timeline import Part, Work

CHOSEN = ("T4", "A100", "H100", "H200", "B200")
VOCABS = (1000, 4096, 8192, 16384, 32000, 50257, 65536, 128256, 151936, 262144)
GPC = 16               # multiprocessors that hold whole clusters of four blocks or more (assumed of the low figure)
BESIDE = ("copy", "one lane")  # the next row is being read from here on


def rows_of(vocab: int) -> int:
    return 8192 if vocab < 100000 else 4096


class _Kernel:
    """The machine code of one kernel, and what a block of it does on a chip."""

    def __init__(self, row: table.Row, chip: Chip) -> None:
        self.row, self.chip = row, chip
        kernel = row.kernel
        described = table.DESCRIBED[kernel.operation]
        self.code = MachineCode(kernel).code
        self.flow = Flow(self.code)
        self.names = name_loops(self.flow, described.shapes(kernel))
        self.items: list[Item] = described.items(kernel, row.use)
        self.at_once = SHORT_ROWS if kernel.key[VARIANT] == "short" else 1
        self.element = DTYPES[str(kernel.key["logits"])].bytes
        self.bytes = self.at_once * row.use.vocab * self.element / row.use.blocks  # of the logits of a turn

    def _loop(self, body: tuple[Instruction, ...], trips: float, **bytes_moved: float) -> Part:
        each = self.row.kernel.threads / 128  # warps of a scheduler
        return Part(trips, functools.cache(lambda blocks: issue.clocks(body, max(1, round(blocks * each)), self.chip)), **bytes_moved)

    def _once(self, body: tuple[Instruction, ...]) -> float:
        return issue.clocks(body, 1, self.chip, 1)

    def _segments(self, item: Item) -> list[tuple[str, tuple[Instruction, ...], float]]:
        """The path of the warp that has the most work."""
        walk = Walk(self.flow, self.names, item.roles[0])
        walk.run()
        return [(name, tuple(self.code.instructions[i] for i in body), trips) for name, body, trips in walk.segments() if trips > 0]

    def parts(self, item: Item) -> Iterator[Part]:
        """In order.  What a block does while the next row is on its way is part of that wait."""
        segments = self._segments(item)
        begins = max((i for i, (name, _, _) in enumerate(segments) if name in BESIDE), default=len(segments))
        stores = sum(_count("STG", body) * trips for name, body, trips in segments if "gradient" in name)
        beside = [body for name, body, _ in (segments[0], *segments[begins + 1:]) if not name]
        hidden = sum(self._once(body) for body in beside)
        yield Part(waits=True, beside=hidden, reads=self.kept(item))
        kinds = {"sum": False, "gradient": False}
        for i, (name, body, trips) in enumerate(segments[1:], 1):
            kind = next((kind for kind in kinds if kind in name), "")
            if not kind and i > begins:
                continue
            if not kind:
                alone = self._once(body) * trips
                exchanges = timeline.EXCHANGE * self.chip.clock * 1e3 if self._exchanges(body) else 0.0
                yield Part(alone=alone + exchanges)
                continue
            first, kinds[kind] = not kinds[kind], True
            reads = self.again(item, name, kind, body, trips, segments)
            writes = self.bytes * _count("STG", body) * trips / stores if kind == "gradient" else 0.0
            part = self._loop(body, trips, reads=reads, writes=writes)
            yield replace(part, may_raise=first and kind == "sum", needs_labels=first and kind == "gradient")

    def _exchanges(self, body: Sequence[Instruction]) -> bool:
        return self.row.use.blocks > 1 and any(each.name.startswith(("STAS", "MAPA")) for each in body)

    def kept(self, item: Item) -> float:
        """Bytes that are read ahead of the sums."""
        if self.row.kernel.key[VARIANT] != "streamed":
            return self.bytes
        return streamed.kept_columns(self.row.kernel, self.row.use.vocab, self.row.use.shared) * self.element

    def again(self, item: Item, name: str, kind: str, body: tuple[Instruction, ...], trips: float,
              segments: list[tuple[str, tuple[Instruction, ...], float]]) -> float:
        """Bytes that a loop reads from memory itself: rows that are not kept, once more for the gradient if the L2 has lost them."""
        loads = sum(_count("LDG", other) * each for loop, other, each in segments if kind in loop)
        if not loads or not _count("LDG", body):
            return 0.0
        part = _count("LDG", body) * trips / loads
        launch = self.row.launch
        if kind == "sum":
            return (self.bytes - self.kept(item)) * part
        moved = bounds.moves(launch, self.chip, bounds.blocks_of_sm(launch, self.chip)) - launch.must_move
        return moved * self.row.use.vocab * part


def _count(name: str, body: Sequence[Instruction]) -> int:
    return sum(each.name.startswith(name) for each in body)


def _works(row: table.Row, chip: Chip, sms: int) -> Iterator[tuple[float, Work]]:
    """The rows of each alignment, as if all were so."""
    kernel = _Kernel(row, chip)
    blocks = bounds.blocks_of_sm(row.launch, chip)
    turns = rows_of(row.use.vocab) * row.use.blocks / (kernel.at_once * blocks * sms)
    for item in kernel.items:
        yield item.share, Work(chip, sms, tuple(kernel.parts(item)), blocks, turns, 2 * kernel.bytes)


def _share(works: Iterator[tuple[float, Work]], of: Callable[[Work], float]) -> float:
    return 1 / sum(part / of(work) for part, work in works)


def shares(row: table.Row, chip: Chip) -> tuple[float, float]:
    """Low and high."""
    whole = chip.sms - chip.sms % GPC if row.use.blocks >= 4 else chip.sms
    low, high = _share(_works(row, chip, whole), timeline.low), _share(_works(row, chip, chip.sms), timeline.high)
    return min(low, high), max(low, high)


def tile_shares(row: table.Row, chip: Chip) -> tuple[float, float]:
    """Of a kernel whose warps take tiles: low and high."""
    code, described = MachineCode(row.kernel).code, table.DESCRIBED[row.kernel.operation]
    flow = Flow(code)
    item = described.items(row.kernel, row.use)[0]
    walk = Walk(flow, name_loops(flow, described.shapes(row.kernel)), item.roles[0])
    walk.run()
    body = [code.instructions[i] for _, each, trips in walk.segments() for i in each * round(trips)]
    blocks = bounds.blocks_of_sm(row.launch, chip)
    elements = item.elements / item.roles[0].warps
    tile = timeline.Tile(body, row.launch.must_move * elements, bounds.moves(row.launch, chip, blocks) * elements)
    return timeline.of_tiles(chip, tile, max(1, blocks * row.kernel.threads // 128))


# ---- the page ----


TILES = ("adam_pbf16_gbf16_mbf16_vbf16", "adam_pbf16_gbf16_mf32_vf32_master32", "adam_pbf16_gbf16_mbf16_vbf16_full",
         "quantize_amax_bf16", "quantize_bf16_e4m3", "quantize_matrix_bf16_e4m3")


def _rows(chip: Chip, operation: str, pattern: str) -> Iterator[table.Row]:
    chosen = table.Chosen((operation,), (chip.target,), VOCABS, f"{pattern}__{chip.target}")
    return (row for row in table.rows(chosen) if row.chosen)


@dataclass(frozen=True)
class Predicted:
    """One line of the page."""

    row: table.Row
    low: float
    high: float


def _cross_entropy(name: str, pattern: str) -> list[Predicted]:
    chip = CHIPS[name]
    return [Predicted(row, *shares(row, chip)) for row in _rows(chip, "cross_entropy", pattern) if _has_turns(row)]


def _has_turns(row: table.Row) -> bool:
    """Streamed rows with all options are taken by parts, each a block: timeline.py has none of that."""
    return not (row.kernel.full and row.kernel.key[VARIANT] == "streamed")


PLAIN, FULL = "cross_entropy_bf16_*[!l]", "cross_entropy_bf16_*_full"


def _lines(name: str) -> tuple[list[Predicted], list[Predicted], list[Predicted]]:
    """Of one chip: cross-entropy without and with all options, and what works by tiles."""
    tiles = [Predicted(row, *tile_shares(row, CHIPS[name])) for kernel in TILES
             for row in _rows(CHIPS[name], kernel.split("_")[0], kernel)]
    try:
        full = _cross_entropy(name, FULL)
    except Fault:  # bf16 is rounded by other instructions on Turing, which no description knows
        full = []
    return _cross_entropy(name, PLAIN), full, tiles


def by_chip() -> dict[str, tuple[list[Predicted], list[Predicted], list[Predicted]]]:
    with ProcessPoolExecutor() as pool:
        return dict(zip(CHOSEN, pool.map(_lines, CHOSEN)))


def _range(each: Predicted | None) -> str:
    return f"{each.low:.2f} to {each.high:.2f}" if each else ""


def as_markdown(chips: dict[str, tuple[list[Predicted], list[Predicted], list[Predicted]]]) -> str:
    parts = ["# Shares of a GPU's copy bandwidth, predicted\n\nWritten by `./quern bench --count --predict`; the model is in "
             "[README.md](../README.md#shares-predicted).  No GPU has run for this table.  Empty: not in the model.\n"]
    for name, (plain, full, tiles) in chips.items():
        others = {each.row.use.vocab: each for each in full}
        lines = [[f"{each.row.use.vocab:,}", each.row.kernel.key[VARIANT], f"{rows_of(each.row.use.vocab):,}",
                  str(bounds.blocks_of_sm(each.row.launch, CHIPS[name])), str(each.row.use.blocks), _range(each),
                  _range(others.get(each.row.use.vocab))] for each in plain]
        head = ["vocab", "kernel", "rows", "blocks an SM", "cluster", "share", "with all options"]
        parts.append(f"\n## {name}\n\n{markdown_table(head, lines)}")
        lines = [[each.row.kernel.base_name, each.row.use.form, _range(each)] for each in tiles]
        parts.append(f"\n{markdown_table(['kernel', 'form', 'share'], lines)}")
    return "".join(parts)
