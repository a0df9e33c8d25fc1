"""The architecture of the CPUs that run the library, and its compiler."""

from __future__ import annotations

import os
import platform

from gen.spec import ARCHITECTURES


def this_host() -> str:
    """That of this machine's CPU."""
    machine = platform.machine()
    return machine if machine in ARCHITECTURES else ARCHITECTURES[0]


def compiler(host: str) -> list[str]:
    """As build.ninja and generated/aarch64.ninja call it."""
    if host == ARCHITECTURES[0]:
        return os.environ.get("CC", "cc").split()
    return os.environ.get(f"QUERN_CC_{host.upper()}", f"{host}-linux-gnu-gcc").split()
