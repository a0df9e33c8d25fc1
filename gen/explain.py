"""Explains which row serves a request on a target and why earlier rows do not, as the dispatcher would select."""

from __future__ import annotations

import functools
import sys

from gen import plan, spec
from gen.operation import Operation
from gen.spec import ARCHITECTURES

VOCAB = "vocab"  # a request's further key: the length of a row of logits


class BadRequest(Exception):
    """The request cannot be understood; the text says why."""


def find_target(name: str) -> plan.Target:
    targets: dict[str, plan.Target] = {**spec.GPU_TARGETS, **spec.CPU_TARGETS}
    if name not in targets:
        raise BadRequest(f"there is no target {name!r}; there are {', '.join(targets)}")
    return targets[name]


def parse(words: list[str]) -> tuple[str, plan.Target, plan.Key]:
    """`adam target=sm_90a param=bf16 ...`, or the name of a kernel."""
    if len(words) == 1 and "__" in words[0]:
        for operation in plan.OPERATIONS:
            for kernel in plan.kernels(operation):
                if kernel.name == words[0]:
                    return operation, kernel.target, kernel.key
        raise BadRequest(f"no kernel has the name {words[0]!r}; ./quern gen list shows them all")
    operation, pairs = words[0], words[1:]
    if operation not in plan.OPERATIONS:
        raise BadRequest(f"there is no operation {operation!r}; there are {', '.join(plan.OPERATIONS)}")
    request: plan.Key = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise BadRequest(f"{pair!r} is not of the form key=value")
        request[name] = None if value == "none" else value
    target = request.pop("target", None)
    if target is None:
        raise BadRequest("the request names no target, e.g. target=sm_90a")
    if not (request.get(VOCAB) or "0").isdigit():
        raise BadRequest(f"{VOCAB} is {request[VOCAB]!r}, which is no number")
    keys = plan.OPERATIONS[operation].keys
    unknown = set(request) - set(keys) - {VOCAB}
    if unknown:
        raise BadRequest(f"{operation} has no key {', '.join(sorted(unknown))}; it has {', '.join([*keys, VOCAB])}")
    return operation, find_target(target), request


def runs_on(target: plan.Target, device: plan.Target) -> str | None:
    """Why code for a target does not run on a device of another one, or None."""
    if target.kind != device.kind:
        return f"runs on a {target.kind}"
    if isinstance(target, spec.GpuTarget) and isinstance(device, spec.GpuTarget):
        if not target.cc_min <= device.cc_min <= target.cc_max:
            return f"needs compute capability {target.cc_min} to {target.cc_max}, {device.name} has {device.cc_min}"
    if isinstance(target, spec.CpuTarget) and isinstance(device, spec.CpuTarget):
        missing = set(target.required) - set(device.required)
        if missing:
            return f"needs {', '.join(sorted(missing))}"
    return None


def mismatch(kernel: plan.Kernel, request: plan.Key) -> str | None:
    """Why a row of the right target does not serve the request, or None."""
    for name, value in kernel.key.items():
        if name in request and request[name] != value:
            return f"{name} is {value or 'none'}, the request has {request[name] or 'none'}"
    reason = kernel.row.mismatch(kernel.key, request)
    if reason:
        return reason
    vocab = request.get(VOCAB)
    if vocab is not None and int(vocab) > kernel.vocab_max:
        return f"holds a vocab of up to {kernel.vocab_max}"
    return None


@functools.cache
def _candidates(operation: str, extra: tuple[plan.Target, ...], architecture: str | None) -> list[plan.Kernel]:
    """The rows of the library for CPUs of an architecture."""
    return plan.kernels(operation, [*extra, *plan.targets(architecture=architecture)])


def walk(operation: str, device: plan.Target, request: plan.Key) -> list[str]:
    """The lines of the walk, rows of a target that fail for the same reason together."""
    lines: list[str] = []
    group: tuple[str, str] | None = None
    count = 0
    extra = (device,) if isinstance(device, spec.GpuTarget) and not device.in_library else ()
    for kernel in _candidates(operation, extra, device.architecture or ARCHITECTURES[0]):
        reason = runs_on(kernel.target, device) or mismatch(kernel, request)
        if reason is None:
            return [*lines, f"{kernel.name}: chosen"]
        if group == (kernel.target.name, reason):
            count += 1
            lines[-1] = f"{first} and {count} more of {kernel.target.name}: {reason}"
        else:
            group, count, first = (kernel.target.name, reason), 0, kernel.name
            lines.append(f"{first}: {reason}")
    return [*lines, f"no {operation} kernel serves this request on {device.name}{plan.OPERATIONS[operation].advice(request)}"]


def why_illegal(operation: Operation, device: plan.Target, request: plan.Key) -> str | None:
    """For a combination that is illegal on every target, the reason instead of a list of rows."""
    if operation.has_open_requests:
        return None
    return plan.illegal(operation.name, {name: request.get(name) for name in operation.keys}, device)


def run(words: list[str]) -> int:
    """./quern gen explain ..."""
    try:
        operation, device, request = parse(words)
    except BadRequest as error:
        print(f"explain: {error}", file=sys.stderr)
        return 2
    reason = why_illegal(plan.OPERATIONS[operation], device, request)
    if reason:
        print(f"no such kernel can exist: {reason}")
        return 1
    lines = walk(operation, device, request)
    print("\n".join(lines))
    return 0 if lines[-1].endswith("chosen") else 1
