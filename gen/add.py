"""Step kernels of Adam beside the library's own: from their names to the list in gen/added_kernels.txt."""

from __future__ import annotations

import sys

from gen import plan, render, spec
from gen.operations import adam

HEADING = """\
# Step kernels of Adam beside those of gen/operations/adam.py, one name without a target on a line;
# `./quern gen add NAME` writes them.
"""


def refusal(base_name: str, target: str) -> str | None:
    """Why a name cannot be added, or None; its target, if it has one, must exist and has no other effect."""
    if target and target not in (*spec.GPU_TARGETS, *spec.CPU_TARGETS):
        return f"no target has the name {target!r}: expected none, since a kernel is added for every target"
    try:
        key = adam.step_key(base_name)
    except KeyError:
        return ("no step kernel of Adam has that name: expected adam_pPARAM_gGRAD_mM_vV, then _master32 or _remainder or nothing, "
                "then _full or nothing")
    reasons = [plan.illegal("adam", key, each) for each in plan.targets()]
    return None if None in reasons else reasons[0]


def run(names: list[str]) -> int:
    """python -m gen add NAME..."""
    listed = set(adam.added())
    own = {kernel.name.partition("__")[0] for kernel in plan.kernels("adam")} - listed
    chosen: list[str] = []
    for name in names:
        base_name, _, target = name.partition("__")
        reason = refusal(base_name, target)
        if reason:
            print(f"{name}: {reason}", file=sys.stderr)
            return 2
        if base_name in own or base_name in listed:
            print(f"{base_name}: is there already")
        else:
            chosen.append(base_name)
    if not chosen:
        return 0
    adam.ADDED_KERNELS.write_text(HEADING + "".join(f"{name}\n" for name in sorted(listed | set(chosen))))
    for line in render.write(render.outputs()):
        print(line)
    print(f"added {', '.join(sorted(set(chosen)))} for every target; `ninja` builds it")
    return 0
