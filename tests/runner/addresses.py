"""Fixed addresses for programs with sanitizers.

A sanitizer's shadow memory has fixed places.  Where the kernel randomizes many bits of an address, it maps a library there now and
then, and the program dies at its start.
"""

import subprocess
from functools import cache


@cache
def fixed_addresses() -> tuple[str, ...]:
    """The prefix of a command whose process, and all that it starts, have fixed addresses; empty where that is refused."""
    prefix = ("setarch", "-R")
    try:
        done = subprocess.run([*prefix, "true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except OSError:
        return ()
    return () if done.returncode else prefix
