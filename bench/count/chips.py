"""The chips for which shares of copy bandwidth are predicted.  Called by bounds.py and timeline.py.

Every figure names its source; `assumed` marks what no publication known to us states.  Nothing here was measured by this project.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Chip:
    """A GPU.  Lanes are results that an SM finishes in a clock."""

    name: str
    target: str           # whose code it runs
    sms: int
    clock: float          # GHz
    copy: float           # TB/s, read plus written
    latency: float        # ns of a load from DRAM under load
    shared_kb: int        # of an SM
    threads: int          # of an SM
    blocks: int           # of an SM
    l2: int               # MiB of the L2 cache
    lanes: dict[str, float]
    source: str

    @property
    def idle(self) -> float:
        """ns of a load from DRAM that is idle."""
        return self.latency / LOADED


def _lanes(fp32: int, fp64: float, lsu: int = 32, alu: int = 64) -> dict[str, float]:
    """MUFU and conversions of doubles have 16 lanes everywhere; IMAD has half of the FP32 pipe, or all of a narrow one."""
    return {"fp32": fp32, "heavy": 64, "alu": alu, "cvt": 64, "mufu": 16, "fp64": fp64, "lsu": lsu, "uniform": 64, "control": 64}


# L2 caches are those of the data sheets.  A loaded DRAM answers in about twice the time of an idle one (assumed); idle latencies from
# microbenchmarks, in clocks.
LOADED = 2.0

CHIPS = {chip.name: chip for chip in (
    Chip("T4", "sm_75", 40, 1.59, 0.236, LOADED * 434 / 1.59, 64, 1024, 16, 4, _lanes(64, 2, lsu=16),
         "data sheet (SMs, boost clock); copy 220 GiB/s and latency: Jia et al., arXiv 1903.07486; the clock falls under load"),
    Chip("A100", "sm_80", 108, 1.41, 1.80, LOADED * 466 / 1.41, 164, 2048, 32, 40, _lanes(64, 32),
         "data sheet of the 80 GB SXM (2.04 TB/s); copy 0.88 of it: assumed; latency: Luo et al., arXiv 2402.13499"),
    Chip("RTX 4090", "sm_89", 128, 2.52, 0.92, LOADED * 542 / 2.52, 100, 1536, 24, 72, _lanes(128, 2),
         "data sheet (1.008 TB/s); copy 0.91 of it: assumed; latency: arXiv 2402.13499"),
    Chip("H100", "sm_90a", 132, 1.755, 3.0, LOADED * 659 / 1.755, 228, 2048, 32, 50, _lanes(128, 64),
         "data sheet of the SXM (3.35 TB/s); copy 0.9 of it: assumed (published kernels read at 0.94); latency: arXiv 2507.10789"),
    Chip("H200", "sm_90a", 132, 1.755, 4.3, LOADED * 659 / 1.755, 228, 2048, 32, 50, _lanes(128, 64),
         "data sheet (4.8 TB/s), sustained clock (1.98 GHz is the boost); copy 4.3 TB/s: reported; latency as the H100's"),
    Chip("B200", "sm_100f", 148, 1.9, 7.0, LOADED * 820 / 1.9, 228, 2048, 32, 126, _lanes(128, 64),
         "148 SMs: chipsandcheese.com; 8 TB/s data sheet; clock 1.9 GHz and copy 7.0 TB/s: reported; latency 820 clocks: assumed"),
    Chip("B300", "sm_100f", 148, 1.9, 7.0, LOADED * 820 / 1.9, 228, 2048, 32, 126, _lanes(128, 2),
         "as the B200; FP64 reduced to 2 lanes, exponentials as on the B200: assumed"),
    Chip("RTX 5090", "sm_120f", 170, 2.41, 1.6, LOADED * 877 / 2.41, 100, 1536, 24, 96, _lanes(128, 2, alu=128),
         "data sheet (1.792 TB/s); copy 0.9 of it: assumed; latency of a 5080: arXiv 2507.10789"),
)}


def of_target(target: str) -> list[Chip]:
    return [chip for chip in CHIPS.values() if chip.target == target]
