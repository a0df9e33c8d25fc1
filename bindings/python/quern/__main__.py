"""python -m quern: what this package has and what it would use here."""
from __future__ import annotations

import argparse
import sys

import quern
from quern import _c

_FLOATS = {"f32": _c.QUERN_F32, "f16": _c.QUERN_F16, "bf16": _c.QUERN_BF16}


def _fields(operation: str, dtype: int) -> dict[str, int]:
    """The arguments of a common call of an operation."""
    if operation == "cross_entropy":
        return dict(logits_dtype=dtype, labels_dtype=_c.QUERN_INT64, rows=1024, vocab=32000)
    if operation == "adam":
        return dict(param_dtype=dtype, grad_dtype=dtype, m_dtype=dtype, v_dtype=dtype, step=1)
    return dict(input_dtype=dtype, output_dtype=_c.QUERN_E4M3)


def _show_device(kind: str, ordinal: int, explain: bool) -> None:
    print(f"\n{kind}:{ordinal}")
    try:
        report = quern.report(kind, ordinal)
    except quern.Error as failure:
        print(f"  {failure}")
        return
    print("".join(f"  {line}\n" for line in report.splitlines()), end="")
    for operation in ("cross_entropy", "adam", "quantize"):
        for name, dtype in _FLOATS.items():
            try:
                lines = quern.explain(operation, kind, ordinal, **_fields(operation, dtype)).splitlines()
            except quern.Error as failure:
                lines = [str(failure)]
            chosen = next((line.split(":")[0] for line in lines if line.endswith(": chosen")), lines[-1] if lines else "none")
            print(f"  {operation} {name}: {chosen}")
            if explain:
                print("".join(f"      {line}\n" for line in lines if not line.endswith(": chosen")), end="")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m quern", description="Prints version, devices and the kernels of common calls.")
    parser.add_argument("--explain", action="store_true", help="also the reasons against the other kernels")
    options = parser.parse_args()
    print(f"quern {quern.__version__}")
    for name, value in quern.build_info().items():
        if name != "version":
            print(f"  {name}: {value}")
    for kind, ordinal in quern.devices():
        _show_device(kind, ordinal, options.explain)
    if not any(kind == "cuda" for kind, _ in quern.devices()):
        print(f"\nno GPU: {quern.detail() or 'there is none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
