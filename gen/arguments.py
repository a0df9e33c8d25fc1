"""Lets `./quern` check the options of a command before it installs or builds what the command needs."""

from __future__ import annotations

import os
import sys


def end_of_check() -> None:
    """Called when the options are right.  Ends the process if `./quern` asks for no more."""
    if os.environ.get("QUERN_ONLY_OPTIONS"):
        sys.exit(0)
