"""The record of each job's cost in earlier runs.  The runner estimates the remaining time from it.

The last runs of this tree are in build/test_times.json.  A first run uses tests/runner/times.json, which
`./quern test --keep-times` writes; in it the devices of one kind share an entry, and cheap jobs have none.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEPT = Path(__file__).resolve().parent / "times.json"
LAST = ROOT / "build/test_times.json"


@dataclass(frozen=True)
class Cost:
    seconds: float     # wall-clock time
    cpu: float         # of all its processes
    peak_mb: int       # of its largest process

    def as_list(self) -> list[float]:
        return [round(self.seconds, 1), round(self.cpu, 1), self.peak_mb]

    def is_cheap(self) -> bool:
        return max(self.seconds, self.cpu) < 2 and self.peak_mb < 256


CHEAP = Cost(1.0, 1.0, 128)   # a job without a record


def _read(path: Path) -> dict[str, Cost]:
    try:
        return {name: Cost(*values) for name, values in json.loads(path.read_text()).items()}
    except (OSError, ValueError, TypeError):
        return {}


def kind_of(configuration: str) -> str:
    """The part of a configuration's name in the kept record: `sanitized emulated` of `sanitized emulated sm_80 on 8.0`."""
    words = configuration.split()
    return " ".join(words[: 2 if words[0] in ("sanitized", "musl") else 1])


class Record:
    def __init__(self) -> None:
        self.kept = _read(KEPT)
        self.last = _read(LAST)

    def expected(self, configuration: str, name: str) -> Cost:
        return self.last.get(f"{configuration}: {name}") or self.kept.get(f"{kind_of(configuration)}: {name}", CHEAP)

    def kept_cpu(self, configuration: str, name: str) -> float:
        """CPU seconds by the kept record, so that every machine makes the same choice."""
        return self.kept.get(f"{kind_of(configuration)}: {name}", CHEAP).cpu

    quick_seconds = kept_cpu   # by which --quick selects

    def add(self, configuration: str, name: str, cost: Cost) -> None:
        self.last[f"{configuration}: {name}"] = cost

    def save(self) -> None:
        _write(LAST, self.last)

    def keep(self) -> None:
        """Writes the kept record.  The entry of a kind has the highest costs of its devices; jobs that did not run keep theirs."""
        shared: dict[str, Cost] = {}
        for job, cost in self.last.items():
            configuration, name = job.split(": ", 1)
            entry = f"{kind_of(configuration)}: {name}"
            before = shared.get(entry, cost)
            shared[entry] = Cost(*(max(pair) for pair in zip(asdict(before).values(), asdict(cost).values())))
        _write(KEPT, {name: cost for name, cost in {**self.kept, **shared}.items() if not cost.is_cheap()})

    def table(self, rows: int = 10) -> list[str]:
        """The kinds of jobs by their cost in the last runs, and the most expensive jobs."""
        groups: dict[str, float] = {}
        for job, cost in self.last.items():
            groups[kind_of(job.split(": ", 1)[0])] = groups.get(kind_of(job.split(": ", 1)[0]), 0) + cost.cpu
        lines = [f"{seconds / 60:8.1f} min of CPU  {name}" for name, seconds in sorted(groups.items(), key=lambda g: -g[1])]
        dearest = sorted(self.last.items(), key=lambda job: -job[1].cpu)[:rows]
        return lines + [""] + [f"{cost.cpu:8.1f} s of CPU, {cost.peak_mb:5} MB  {job}" for job, cost in dearest]


def _write(path: Path, costs: dict[str, Cost]) -> None:
    lines = [f"{json.dumps(name)}: {json.dumps(cost.as_list())}" for name, cost in sorted(costs.items())]
    path.parent.mkdir(exist_ok=True)
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
