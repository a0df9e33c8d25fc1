"""The emulated devices: one for each GPU target of the library, from the generator's table."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from gen.spec import ARCHITECTURES, GPU_FLOOR, GPU_TARGETS, GpuTarget, cpu_targets  # noqa: E402

# The orders in which threads and blocks run.  A device's position in the list selects one.  A random order costs twice as much, so
# only the first device uses it.
FIRST_ORDER, ORDERS = "random:1", ("forward", "reverse")

# Those of build.ninja's architecture.
CPU_TARGETS = {target.name: target for target in cpu_targets(ARCHITECTURES[0])}

# The flags of /proc/cpuinfo for each CPU feature that the generator requires.
CPU_FLAGS = {
    "QUERN_CPU_AVX2": ("avx2", "fma", "f16c"),
    "QUERN_CPU_AVX512": ("avx512f", "avx512bw", "avx512dq", "avx512vl"),
}


def lacking_flags(cpu_target: str) -> list[str]:
    """The flags of a CPU target that this CPU does not have, sorted."""
    match = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    flags = set(match.group(1).split()) if match else set()
    return sorted({flag for bit in CPU_TARGETS[cpu_target].required for flag in CPU_FLAGS[bit]} - flags)


def library_targets() -> list[GpuTarget]:
    """The GPU targets of the library, oldest first.  Of targets with the same cc_min, the one with the smaller cc_max is first."""
    rows = [target for target in GPU_TARGETS.values() if target.in_library]
    return sorted(rows, key=lambda target: (target.cc_min, target.cc_max))


def older_than_all() -> str:
    """The capability of a device that no target serves."""
    number = GPU_FLOOR - 1
    return f"{number // 10}.{number % 10}"


def emulated_devices() -> list[tuple[str, str, str]]:
    """The capability, target and order of each device, sorted by capability."""
    found = sorted(((target.emulated, target.name) for target in library_targets()), key=lambda pair: float(pair[0]))
    return [(number, name, ORDERS[place % len(ORDERS)] if place else FIRST_ORDER) for place, (number, name) in enumerate(found)]


def first_with(feature: str) -> GpuTarget:
    """The oldest generation that has a feature."""
    return next(target for target in library_targets() if feature in target.features and not target.is_virtual)


def serving(number: str) -> str:
    """The target that serves a device of this capability: the first row that covers it."""
    wanted = round(10 * float(number))
    return next(target.name for target in GPU_TARGETS.values()
                if target.in_library and target.cc_min <= wanted <= target.cc_max)
