"""The clocks that a loop or a stretch of a kernel takes on one of the four schedulers of an SM.  Called by timeline.py.

Warps issue in order, one instruction a clock in turns, as the control codes of ptxas allow: stalls, and waits for the barriers of
loads and of MUFU.  A pipe is taken for 128 / lanes clocks.  Latencies are those of published microbenchmarks (chips.py names them).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .chips import Chip
from .pipes import pipe_of, shared_bytes_of
from .sass import Instruction

MOST_WARPS = 16       # that are simulated of a scheduler; more hide nothing else
OPERANDS = 16         # clocks until the operands of a load, a store or a MUFU have been read
BLOCK_BARRIER = 24    # clocks of a barrier of a block whose warps are all there
NEAR = 0.42           # of the latency of an idle memory: the L2 cache, which has the labels and parameters of other rows
# Clocks to the result, by the first pattern that fits; 0: a load by way of the L2 cache.
LATENCIES = ((r"LDG", 0), (r"LD\.|LD$", 0), (r"ATOM|RED", 0), (r"MUFU", 24), (r"LDS|LDSM", 33), (r"SHFL|VOTE|REDUX", 26),
             (r"LDC|LDCU|S2R|S2UR", 40), (r"D(ADD|MUL|FMA|SETP)", 16))


def _latency(name: str, from_memory: int) -> int:
    return next((clocks or from_memory for pattern, clocks in LATENCIES if re.match(pattern, name)), 6)


def _occupies(name: str, chip: Chip) -> float:
    """Clocks for which a warp's instruction takes its pipe of a scheduler.  Shared memory moves 32 bytes a clock for each."""
    pipe = pipe_of(name)
    lanes = chip.lanes["fp32"] if pipe == "heavy" and chip.lanes["fp32"] < 128 else chip.lanes[pipe]
    return max(128 / lanes, shared_bytes_of(name))


class _Warp:
    def __init__(self) -> None:
        self.place, self.trips, self.ready = 0, 0, 0
        self.barriers = [0.0] * 6

    def waits(self, mask: int, now: int) -> bool:
        return any(mask >> i & 1 and self.barriers[i] > now for i in range(6))

    def issue(self, each: Instruction, now: int, latency: int) -> None:
        code = each.control
        if code.write != 7:
            self.barriers[code.write] = max(self.barriers[code.write], now + latency)
        if code.read != 7:
            self.barriers[code.read] = max(self.barriers[code.read], now + OPERANDS)
        self.ready = now + max(code.stall, 1) + (BLOCK_BARRIER if each.name.startswith("BAR") else 0)


def clocks(body: Sequence[Instruction], warps: int, chip: Chip, trips: int = 10, load: float = NEAR) -> float:
    """Of one trip of all these warps.  `load`: the latency of a load, in latencies of an idle memory."""
    from_memory = int(load * chip.idle * chip.clock)
    steps = [(each, pipe_of(each.name), _occupies(each.name, chip), _latency(each.name, from_memory)) for each in body]
    running = [_Warp() for _ in range(min(warps, MOST_WARPS))]
    free: dict[str, float] = {}
    now, latest = 0, 0
    while any(warp.trips < trips for warp in running):
        soonest = min((warp.ready for warp in running if warp.trips < trips))
        now = max(now, soonest)
        for k in range(len(running)):
            warp = running[(latest + k) % len(running)]
            if warp.trips == trips or warp.ready > now:
                continue
            each, pipe, taken, latency = steps[warp.place]
            if free.get(pipe, 0) > now or warp.waits(each.control.wait, now):
                continue
            free[pipe] = max(free.get(pipe, 0), now) + taken
            warp.issue(each, now, latency)
            warp.place += 1
            if warp.place == len(steps):
                warp.place, warp.trips = 0, warp.trips + 1
            latest = (latest + k) % len(running)
            break
        now += 1
    drained = max([float(now), *(end for warp in running for end in warp.barriers)]) if trips == 1 else float(now)
    return drained / trips * max(1.0, warps / MOST_WARPS)
