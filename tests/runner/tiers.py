"""Which jobs the gate runs: its own, and one of PARTS parts of all others, chosen by the commit.  `./quern test --deep` runs all.

The gate has each kind of proof once: the host library with sanitizers on CPUs, ranks and the GPU generation that has all features;
the kernels of the best CPU target, and the arithmetic of the others; the short checks.  What repeats that on other targets, C
libraries and carriers, and what takes long, is in a part.  PARTS gates of successive commits run everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gen import history, plan
from runner import devices, jobs, suites
from runner.record import Record
from runner.targets import GPU_TARGETS

PARTS = 24

# What runs with musl in each gate.
MUSL = frozenset({"test_adam_published", "test_details", "test_group", "test_hosts_network", "test_structs"})
# What runs on every CPU target in each gate: the arithmetic of the kernels, in at most five seconds each.
EVERY_TARGET = frozenset({"test_accumulate", "test_adam_published", "test_adam_random", "test_adam_rounding",
                          "test_cross_entropy_columns", "test_cross_entropy_divergence", "test_cross_entropy_published",
                          "test_gradients", "test_linear_cross_entropy", "test_quantize"})
# Of two halves, sanitized kernels of CPUs run one in a gate.
HALVES = (frozenset({"adam", "quantize", "ragged_all_to_all"}), frozenset({"cross_entropy", "collective"}))

# CPU seconds to build what a job needs beside the gate's programs, by the start of its configuration's or its own name.
UNIT_SECONDS = 7.0
BUILDING = {"musl": 35.0, "aarch64": 120.0, "sanitized cpu": 35.0, "data races": 60.0}


def number_of_commit() -> int:
    """How many commits lead to this one: successive commits have successive parts.  0: the tree has no history."""
    return int(history.git("rev-list", "--count", "HEAD") or 0)


def has_suite(configuration: devices.Configuration, suite: suites.Suite, number: int) -> bool:
    """Whether the gate of this commit runs a suite on a configuration."""
    sanitized, kind, name = configuration.is_sanitized, configuration.kind, suite.name
    if configuration.name.startswith("musl"):
        return name in MUSL
    if not configuration.is_native:
        return False
    if kind in ("oracle", "gpu"):
        return True
    if name in suites.LARGE or (configuration.only is not None and configuration.only == devices.CARRIED):
        return False
    if kind == "cpu" and " without " in configuration.name:
        return True
    if kind == "cpu" and sanitized and suite.operations:
        return configuration.is_first and bool(set(suite.operations) & HALVES[number % 2])
    if kind == "cpu" and not sanitized:
        return name in EVERY_TARGET or configuration.is_first and bool(suite.operations or not suite.sanitized)
    if kind == "emulated" and not sanitized:
        return configuration.is_first and not suite.sanitized
    is_local = "carrier" not in configuration.name and "UCX" not in configuration.name
    return is_local and (sanitized or not suite.sanitized) and (configuration.is_first or kind != "cpu")


@dataclass
class Family:
    """Jobs that share what is built for them."""

    title: str
    jobs: list[jobs.Job] = field(default_factory=list)
    target: str = ""                               # of emulated GPUs
    operations: set[str] = field(default_factory=set)

    def seconds(self, record: Record) -> float:
        """CPU seconds to build and to run."""
        units = sum(len(plan.units(operation, [GPU_TARGETS[self.target]])) for operation in self.operations) if self.target else 0
        building = next((cost for start, cost in BUILDING.items() if self.title.startswith(start)), 0.0)
        return units * UNIT_SECONDS + building + sum(record.kept_cpu(job.configuration, job.name) for job in self.jobs)


RANKS = frozenset({"barrier", "collective", "quantize", "ragged_all_to_all"})


def _family(job: jobs.Job) -> tuple[str, str, tuple[str, ...]]:
    """The title, and the GPU kernels that have to be built for it."""
    if job.target not in ("", devices.FIRST_EMULATED):
        if not job.operations:
            return f"host code on {job.target}", job.target, tuple(plan.OPERATIONS)
        if "cross_entropy" in job.operations:
            return f"cross_entropy on {job.target}", job.target, job.operations
        if RANKS & set(job.operations):
            return f"ranks and casts on {job.target}", job.target, job.operations
        return f"adam on {job.target}", job.target, job.operations
    if job.configuration.startswith(("musl", "aarch64", "sanitized cpu")):
        return job.configuration, "", ()
    return job.title, "", ()


def families(others: Sequence[jobs.Job]) -> list[Family]:
    found: dict[str, Family] = {}
    for job in others:
        title, target, operations = _family(job)
        family = found.setdefault(title, Family(title, target=target))
        family.jobs.append(job)
        family.operations.update(operations)
    return list(found.values())


def parts(others: Sequence[jobs.Job], record: Record) -> list[list[Family]]:
    """The longest family goes into the emptiest part."""
    filled: list[list[Family]] = [[] for _ in range(PARTS)]
    costs = [0.0] * PARTS
    for family in sorted(families(others), key=lambda family: (-family.seconds(record), family.title)):
        place = min(range(PARTS), key=lambda place: (costs[place], place))
        filled[place].append(family)
        costs[place] += family.seconds(record)
    return filled
