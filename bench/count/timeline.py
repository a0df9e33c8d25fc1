"""The share of copy bandwidth that a kernel is predicted to reach, low and high.  Called by predictions.py.

Cross-entropy by events.  A block reads a row, waits for it, sums, writes the gradient and then reads the next row; nothing of two
rows of a block overlaps.  The clocks of each part are those of its machine code (issue.py).  Between the two figures lies what no
count decides:

    low    the blocks of the chip begin together, so memory is idle while all compute; each row raises its sums RAISES times, as rows
           of trained models do; each read waits as long as memory under load takes
    high   the blocks are out of step, so memory is idle only at the beginning and at the end; no row raises its sums

A call has the mean as its reduction: the first gradient needs the count of labels, and the end the sum of losses.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from . import issue
from .chips import LOADED, Chip
from .sass import Instruction

SAMPLED = 8            # multiprocessors that are simulated, with their part of the memory's bandwidth
JITTER = 0.1           # of a latency
PORT = 64.0            # bytes that a multiprocessor reads in a clock
BUFFERED = 0.3         # of the L2 cache: written data that memory does not have yet
RAISES, RAISE_CLOCKS = 3.0, 1000.0   # of a confident row (assumed); one lane works, the others wait
EXCHANGE = 0.6         # us between the blocks of a cluster (assumed)
DRAIN = 0.97           # of the bandwidth, at most, when reads and writes follow one another as they come (assumed)
STREAMS = 0.92         # ... of a kernel that reads and writes more arrays than a copy does (assumed of the low figure)


@dataclass(frozen=True)
class Part:
    """What a block does with the rows of one turn."""

    trips: float = 0.0                     # of a loop whose clocks depend on the blocks that are in it, ...
    clocks: Callable[[int], float] = lambda blocks: 0.0  # ... for one trip of all
    alone: float = 0.0                     # clocks that nothing else lengthens
    reads: float = 0.0                     # bytes, from memory
    writes: float = 0.0
    waits: bool = False                    # for the latency of memory, before it reads
    beside: float = 0.0                    # clocks that may pass while it waits and reads
    may_raise: bool = False                # the first loop over the sums
    needs_labels: bool = False             # the first loop of the gradient waits for their count, in the first turn


@dataclass(frozen=True)
class Work:
    """A call on one chip."""

    chip: Chip
    sms: int               # that have blocks
    parts: Sequence[Part]
    blocks: int            # of a multiprocessor
    turns: float           # of a block
    bytes: float           # that must move, of one turn of a block

    @property
    def bandwidth(self) -> float:
        """Bytes a us of one multiprocessor."""
        return self.chip.copy * 1e6 / self.sms

    @property
    def ideal(self) -> float:
        return self.blocks * self.turns * self.bytes / self.bandwidth

    @property
    def counted(self) -> float:
        """us until the labels are counted: the blocks load them, and then the counts of the others."""
        return 2 * self.chip.latency / 1e3

    @property
    def summed(self) -> float:
        """us behind the last row: the last block adds the losses."""
        return 3 * self.chip.latency / 1e3


def _us(part: Part, work: Work, blocks: int) -> float:
    """Of a part without its reads and writes, beside so many blocks that are in the same part."""
    chip = work.chip
    waits = max(part.waits * chip.latency / 1e3, part.beside / (chip.clock * 1e3))
    return waits + (part.alone + part.trips * part.clocks(blocks)) / (chip.clock * 1e3)


def high(work: Work) -> float:
    together = sum(_us(part, work, work.blocks) for part in work.parts)
    alone = sum(_us(part, work, 1) for part in work.parts)
    port = work.blocks * sum(part.reads for part in work.parts) / (PORT * work.chip.clock * 1e3)
    moved = work.blocks * sum(part.reads + part.writes for part in work.parts) / work.bandwidth
    turn = max(together + port, moved / DRAIN)
    ramp = alone + moved * 0.25  # the first rows are read while nothing is written, and the last are written alone
    return work.ideal / (work.turns * turn + ramp + work.summed)


# ---- low: events ----


@dataclass
class _Block:
    where: int                 # its multiprocessor
    turns: int
    place: int = 0             # the part
    rest: dict[str, float] = field(default_factory=dict)

    def enter(self, part: Part, work: Work, jitter: float, now: float) -> None:
        waits = part.waits * work.chip.latency / 1e3 * jitter + part.alone / (work.chip.clock * 1e3)
        if part.may_raise:
            waits += RAISES * RAISE_CLOCKS / (work.chip.clock * 1e3)
        if part.needs_labels:
            waits = max(waits, work.counted - now)
        beside = part.beside / (work.chip.clock * 1e3)
        self.rest = {"waits": waits, "reads": part.reads, "beside": beside, "trips": part.trips, "writes": part.writes}

    @property
    def does(self) -> str:
        """Waits first, then reads, then works, and writes while it works."""
        for name in ("waits", "reads", "beside", "trips"):
            if self.rest[name] > 1e-9:
                return name
        return ""


class _Simulation:
    def __init__(self, work: Work) -> None:
        self.work = work
        self.random = random.Random(1)
        whole, more = int(work.turns), work.turns - int(work.turns)
        number = SAMPLED * work.blocks
        self.blocks = [_Block(i % SAMPLED, whole + (i < round(more * number))) for i in range(number)]
        self.blocks = [block for block in self.blocks if block.turns]
        self.now, self.unwritten = 0.0, 0.0
        for block in self.blocks:
            self._enter(block)

    def _enter(self, block: _Block) -> None:
        block.enter(self.work.parts[block.place], self.work, 1 + JITTER * self.random.random(), self.now)

    def _rates(self, doing: list[str]) -> tuple[list[float], float]:
        """Of each block in what it does; bytes a us that memory writes."""
        work, chip = self.work, self.work.chip
        readers = doing.count("reads")
        total = work.bandwidth * SAMPLED * DRAIN
        written = (total / 2 if readers else total) if self.unwritten > 0 else 0.0
        full = self.unwritten > BUFFERED * chip.l2 * 2**20 * SAMPLED / work.sms
        beside = Counter((block.where, does) for block, does in zip(self.blocks, doing))
        rates = []
        for block, does in zip(self.blocks, doing):
            others = beside[block.where, does]
            if does == "reads":
                rates.append(min((total - written) / readers, PORT * chip.clock * 1e3 / others))
            elif does == "trips":
                part = work.parts[block.place]
                rates.append(chip.clock * 1e3 / part.clocks(others) * (0.3 if full and part.writes else 1.0))
            else:
                rates.append(1.0)
        return rates, written

    def run(self) -> float:
        while self.blocks:
            doing = [block.does for block in self.blocks]
            rates, written = self._rates(doing)
            produced = sum(block.rest["writes"] / block.rest["trips"] * rate for block, does, rate in zip(self.blocks, doing, rates)
                           if does == "trips")
            step = min(block.rest[does] / rate for block, does, rate in zip(self.blocks, doing, rates))
            if written > produced:
                step = min(step, max(self.unwritten / (written - produced), 1e-3))
            elif produced > written:
                step = min(step, max(1.0, step / 4))  # the buffer may become full
            self.now += step
            self.unwritten = max(0.0, self.unwritten + (produced - written) * step)
            for block, does, rate in zip(self.blocks, doing, rates):
                self._advance(block.rest, does, rate * step, step)
            self._go_on()
        return self.now + self.unwritten / (self.work.bandwidth * SAMPLED)

    @staticmethod
    def _advance(rest: dict[str, float], does: str, done: float, step: float) -> None:
        if does == "trips":
            rest["writes"] *= max(0.0, 1 - done / rest["trips"])
        rest[does] -= done
        if does in ("waits", "reads"):
            rest["beside"] -= step

    def _go_on(self) -> None:
        for block in self.blocks:
            while block.turns and not block.does:
                block.place += 1
                if block.place == len(self.work.parts):
                    block.place, block.turns = 0, block.turns - 1
                self._enter(block)
        self.blocks = [block for block in self.blocks if block.turns]


def low(work: Work) -> float:
    return work.ideal / (_Simulation(work).run() + work.summed)


# ---- kernels whose warps read, work and write in loops ----


@dataclass(frozen=True)
class Tile:
    """What one warp does with a tile."""

    body: Sequence[Instruction]
    bytes: float           # that must move
    moves: float           # those, and what is read again


def of_tiles(chip: Chip, tile: Tile, warps: int) -> tuple[float, float]:
    """Low: a load takes as long as memory under load takes.  High: as an idle one.  `warps` of a scheduler take tiles."""
    bandwidth = chip.copy * 1e3 / chip.sms / chip.clock  # bytes a clock of a multiprocessor
    found = []
    for load, most in ((LOADED, STREAMS), (1.0, DRAIN)):
        works = issue.clocks(tile.body, warps, chip, 3, load) / (4 * warps)
        found.append(tile.bytes / bandwidth / max(works, tile.moves / bandwidth / most))
    return found[0], found[1]
