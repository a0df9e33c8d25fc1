"""The share of a chip's copy bandwidth that a kernel can reach at most.  Called by table.py.  README.md states the model."""

from __future__ import annotations

from dataclasses import dataclass

from .chips import Chip
from .counts import Count

REGISTERS = 65536  # of an SM
RESERVED_SHARED_KB = 1  # of each block, from compute capability 8.0 on


@dataclass(frozen=True)
class Launch:
    """What a block takes, and what a kernel moves; bytes per element."""

    threads: int
    registers: int
    shared: int       # bytes of a block, static and dynamic
    must_move: float  # bytes that any kernel must read and write
    again: float      # bytes that this one reads a second time, from memory or the L2 cache
    row_again: float  # ... of a whole row or tile
    in_flight: float  # bytes that a block has requested and not received, while it loads
    most_blocks: int = 32  # of an SM, of which the grid has no more


def blocks_of_sm(launch: Launch, chip: Chip) -> int:
    warps = launch.threads // 32
    of_warp = -(-max(launch.registers, 1) * 32 // 256) * 256
    reserved = 0 if chip.target == "sm_75" else RESERVED_SHARED_KB * 1024
    limits = [chip.blocks, launch.most_blocks, chip.threads // launch.threads, REGISTERS // of_warp // warps]
    if launch.shared:
        limits.append(chip.shared_kb * 1024 // (launch.shared + reserved))
    return min(limits)


def moves(launch: Launch, chip: Chip, blocks: int) -> float:
    """Bytes per element from and to memory.  Half of the L2 cache holds what blocks will read again (assumed)."""
    held = chip.l2 * 2**20 / 2
    wanted = launch.row_again * blocks * chip.sms
    return launch.must_move + launch.again * (1 - min(1.0, held / wanted) if wanted else 1.0)


def needed_in_flight(chip: Chip) -> float:
    """Bytes that each SM must have requested for the memory to read as fast as it copies: half of the traffic is reads."""
    return chip.copy * 1e12 / 2 * chip.latency * 1e-9 / chip.sms


def budget(chip: Chip, moved: float) -> float:
    """Issue slots per element in the time that the copy takes for so many bytes."""
    return chip.sms * 128 * chip.clock * 1e9 / (chip.copy * 1e12 / moved)


def demands(count: Count, chip: Chip) -> dict[str, float]:
    """What an element asks of the schedulers, of each pipe and of shared memory's 128 bytes a clock, in issue slots."""
    asked = {"issue": count.slots, "shared": count.shared_bytes}
    for pipe, slots in count.pipes.items():
        asked[pipe] = slots * 128 / chip.lanes[pipe]
    # The integer multiplier is a part of the FP32 pipe.
    asked["fp32"] = (count.pipes["fp32"] * 128 / chip.lanes["fp32"]) + count.pipes["heavy"] * 128 / max(chip.lanes["fp32"], 64)
    return asked


def share(count: Count, launch: Launch, chip: Chip) -> tuple[float, str]:
    """The share of copy bandwidth, and what bounds it.  0: no block fits."""
    blocks = blocks_of_sm(launch, chip)
    if not blocks:
        return 0.0, "no block fits"
    asked = demands(count, chip)
    first = max(asked, key=lambda name: asked[name])
    moved = moves(launch, chip, blocks)
    flying = launch.in_flight * blocks / needed_in_flight(chip)
    times = {  # of an element, in slots
        first: asked[first],
        "memory": budget(chip, moved),
        "latency": budget(chip, moved) / min(flying, 1.0) if flying < 1 else 0.0,
    }
    bound = max(times, key=lambda name: times[name])
    return min(1.0, budget(chip, launch.must_move) / times[bound]), bound
