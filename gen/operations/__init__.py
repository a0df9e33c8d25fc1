"""The operations: each file in this folder defines one OPERATION and is found automatically."""

from __future__ import annotations

import importlib
import pkgutil

from gen.operation import Operation


def _found() -> list[Operation]:
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    found: list[Operation] = sorted((module.OPERATION for module in modules), key=lambda operation: operation.bit)
    bits = [operation.bit for operation in found]
    if bits != [1 << place for place in range(len(bits))]:
        raise ValueError(f"the operations have the bits {bits}: expected 1, 2, 4 and so on, each once")
    return found


# By name, in the order of their bits.
OPERATIONS: dict[str, Operation] = {operation.name: operation for operation in _found()}
