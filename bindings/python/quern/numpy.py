"""Quern's operations on arrays of NumPy, on the CPU.  bfloat16 and FP8 are the dtypes of the package ml_dtypes."""
from __future__ import annotations

import ctypes
from ctypes import byref, c_size_t
from typing import NamedTuple, Optional, Sequence

import numpy

import quern
from quern import _c

_DTYPES = {"float32": _c.QUERN_F32, "float16": _c.QUERN_F16, "bfloat16": _c.QUERN_BF16, "float8_e4m3fn": _c.QUERN_E4M3,
           "float8_e5m2": _c.QUERN_E5M2, "int32": _c.QUERN_INT32, "int64": _c.QUERN_INT64}
_REDUCTIONS = {"none": _c.QUERN_REDUCTION_NONE, "sum": _c.QUERN_REDUCTION_SUM, "mean": _c.QUERN_REDUCTION_MEAN}


class Loss(NamedTuple):
    """What cross_entropy computes; None: it was not asked for."""

    loss: numpy.ndarray
    grad: Optional[numpy.ndarray] = None
    lse: Optional[numpy.ndarray] = None
    log_prob: Optional[numpy.ndarray] = None
    entropy: Optional[numpy.ndarray] = None
    argmax: Optional[numpy.ndarray] = None


def _dtype(array: numpy.ndarray, name: str, expected: Sequence[str]) -> int:
    if array.dtype.name not in expected:
        raise quern.error(_c.QUERN_INVALID_DTYPE, f"{name} has {array.dtype.name}: expected {', '.join(expected)}")
    return _DTYPES[array.dtype.name]


def _address(array: numpy.ndarray) -> int:
    return array.__array_interface__["data"][0]


def _writable(array: numpy.ndarray, name: str) -> int:
    if not array.flags.c_contiguous or not array.flags.writeable:
        raise quern.error(_c.QUERN_INVALID_ARGUMENT, f"{name} is written: expected a contiguous array that may be")
    return _address(array)


def _workspace(function, *arguments) -> numpy.ndarray:
    size = c_size_t()
    quern.check(function(*arguments, byref(size)))
    return numpy.empty(size.value, numpy.uint8)


def cross_entropy(logits, labels, weight=None, *, reduction: str = "mean", ignore_index: int = -100, label_smoothing: float = 0.0,
                  z_loss: float = 0.0, softcap: float = 0.0, inverse_temperature=1.0, grad_loss=None, grad_log_prob=None,
                  grad_entropy=None, grad: bool = False, inplace: bool = False, outputs: bool = False, strict: bool = True,
                  portable: bool = False) -> Loss:
    """The loss of logits [..., vocab] against labels [...], in fp32.  quern_cross_entropy in quern.h describes the options.

    inverse_temperature: one number or one for each row.  grad: also the gradient of the logits, in their dtype; inplace: it overwrites
    them.  grad_loss, grad_log_prob, grad_entropy: upstream gradients, one number or one for each row.  outputs: also lse, log_prob, entropy and argmax of the
    rows.  portable: the same bits on every machine.
    """
    if reduction not in _REDUCTIONS:
        raise quern.error(_c.QUERN_INVALID_ARGUMENT, f"reduction is {reduction!r}: expected 'none', 'sum' or 'mean'")
    logits = numpy.asarray(logits) if inplace else numpy.ascontiguousarray(logits)
    labels = numpy.ascontiguousarray(labels)
    if logits.ndim == 0 or labels.shape != logits.shape[:-1]:
        raise quern.error(_c.QUERN_INVALID_SHAPE, f"labels has the shape {labels.shape} and logits {logits.shape}: expected [...] and "
                          "[..., vocab]")
    args = quern.arguments(
        "cross_entropy_args", logits_dtype=_dtype(logits, "logits", ("float32", "float16", "bfloat16")),
        labels_dtype=_dtype(labels, "labels", ("int32", "int64")), rows=labels.size, vocab=logits.shape[-1], logits=_address(logits),
        labels=_address(labels), reduction=_REDUCTIONS[reduction], ignore_index=ignore_index, label_smoothing=label_smoothing,
        z_loss=z_loss, softcap=softcap, strict_labels=strict, bits=_c.QUERN_BITS_PORTABLE if portable else _c.QUERN_BITS_DEFAULT)
    kept = [_float32(weight, (logits.shape[-1],), "weight"), _rows(inverse_temperature, labels.shape, "inverse_temperature")]
    args.class_weights = None if weight is None else _address(kept[0])
    if kept[1].ndim:
        args.inverse_temperatures = _address(kept[1])
    else:
        args.inverse_temperature = float(kept[1])
    for name, given in {"grad_loss": grad_loss, "grad_log_prob": grad_log_prob, "grad_entropy": grad_entropy}.items():
        if given is not None:
            kept.append(_rows(given, labels.shape, name))
            setattr(args, name, _address(kept[-1]))
            setattr(args, f"{name}_stride", int(kept[-1].size > 1))
    result = Loss(numpy.empty(labels.shape if reduction == "none" else (), numpy.float32))
    args.loss = _address(result.loss)
    if grad or inplace:
        result = result._replace(grad=logits if inplace else numpy.empty_like(logits))
        args.grad = _writable(result.grad, "logits" if inplace else "grad")
    if outputs:
        further = {name: numpy.empty(labels.shape, numpy.int64 if name == "argmax" else numpy.float32)
                   for name in ("lse", "log_prob", "entropy", "argmax")}
        for name, array in further.items():
            setattr(args, name, _address(array))
        result = result._replace(**further)
    device = quern.device()
    workspace = _workspace(quern.lib.quern_cross_entropy_workspace, device, byref(args))
    quern.check(quern.lib.quern_cross_entropy(device, byref(args), _address(workspace), workspace.size, None))
    return result


def _float32(given, shape: tuple, name: str) -> Optional[numpy.ndarray]:
    if given is None:
        return None
    array = numpy.array(given, numpy.float32, order="C")
    if array.shape != shape:
        raise quern.error(_c.QUERN_INVALID_SHAPE, f"{name} has the shape {array.shape}: expected {shape}")
    return array


def _rows(given, shape: tuple, name: str) -> numpy.ndarray:
    """One value for all rows, or one for each."""
    return _float32(given, () if numpy.ndim(given) == 0 else shape, name)


def adamw(params: Sequence, grads: Sequence, exp_avgs: Sequence, exp_avg_sqs: Sequence, *, step: int, lr: float = 1e-3,
          beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8, weight_decay: float = 1e-2, maximize: bool = False,
          masters: Optional[Sequence] = None, seed: int = 0) -> None:
    """One step of AdamW over lists of arrays, in place.  step counts from 1.  The arrays of a list have one dtype.

    masters: fp32 copies of 16-bit parameters.  Without them 16-bit parameters are rounded stochastically, by the seed and the step.
    """
    lists = [list(params), list(grads), list(exp_avgs), list(exp_avg_sqs), list(masters or [])]
    count = len(lists[0])
    if any(len(each) != count for each in lists[1:4]) or (masters is not None and len(lists[4]) != count):
        raise quern.error(_c.QUERN_INVALID_ARGUMENT, "the lists differ in length: expected an array for each parameter")
    rows = (_c.quern_adam_tensor * count)()
    for i, row in enumerate(rows):
        param = lists[0][i]
        if any(each and each[i].shape != param.shape for each in lists):
            raise quern.error(_c.QUERN_INVALID_SHAPE, f"arrays of parameter {i} have other shapes than its {param.shape}")
        row.count, row.grad = param.size, _writable(lists[1][i], f"grads[{i}]")
        row.param, row.m, row.v = (_writable(each[i], f"array {i}") for each in (lists[0], lists[2], lists[3]))
        row.master = _writable(lists[4][i], f"masters[{i}]") if lists[4] else None
    kinds = [{_dtype(array, "an array", tuple(_DTYPES)) for array in each} for each in lists[:4]]
    for i, master in enumerate(lists[4]):
        _dtype(master, f"masters[{i}]", ("float32",))
    if any(len(kind) > 1 for kind in kinds):
        raise quern.error(_c.QUERN_INVALID_DTYPE, "the arrays of a list have several dtypes: expected one")
    first = [next(iter(kind), _c.QUERN_F32) for kind in kinds]
    args = quern.arguments(
        "adam_args", tensors=ctypes.addressof(rows), tensor_count=count, param_dtype=first[0], grad_dtype=first[1], m_dtype=first[2],
        v_dtype=first[3], master_dtype=_c.QUERN_F32 if lists[4] else _c.QUERN_NO_DTYPE, lr=lr, beta1=beta1, beta2=beta2, eps=eps,
        weight_decay=weight_decay, step=step, maximize=maximize, seed=seed)
    quern.check(quern.lib.quern_adam(quern.device(), byref(args), None, 0, None))


def quantize(x, dtype="float8_e4m3fn", *, power_of_two: bool = False, eps: float = 0.0) -> tuple[numpy.ndarray, numpy.float32]:
    """x in 8 bits with one scale from its largest magnitude: (values, scale_inv).  Without ml_dtypes the values are codes, as uint8."""
    name = dtype if isinstance(dtype, str) else numpy.dtype(dtype).name
    if name not in ("float8_e4m3fn", "float8_e5m2"):
        raise quern.error(_c.QUERN_INVALID_DTYPE, f"dtype is {name}: expected float8_e4m3fn or float8_e5m2")
    x = numpy.ascontiguousarray(x)
    codes, amax, inverse = numpy.empty(x.shape, numpy.uint8), numpy.zeros(1, numpy.float32), numpy.zeros(1, numpy.float32)
    row = _c.quern_quantize_tensor(input=_address(x), output=_address(codes), count=x.size)
    args = quern.arguments(
        "quantize_args", input_dtype=_dtype(x, "x", ("float32", "float16", "bfloat16")), output_dtype=_DTYPES[name],
        tensors=ctypes.addressof(row), tensor_count=1, amax=_address(amax), scale_inv=_address(inverse), eps=eps,
        power_of_two=power_of_two)
    quern.check(quern.lib.quern_quantize(quern.device(), byref(args), None, 0, None))
    try:
        import ml_dtypes
    except ImportError:
        return codes, inverse[0]
    return codes.view(getattr(ml_dtypes, name)), inverse[0]
