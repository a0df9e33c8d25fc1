"""Casts to FP8 and MXFP8, with the scales of TransformerEngine."""
from __future__ import annotations

from ctypes import addressof, byref, c_size_t
from typing import NamedTuple, Optional

import torch

import quern
from quern import _c

from ._register import dtype_of, place

_FLOATS = (torch.float32, torch.float16, torch.bfloat16)
_EIGHT = (torch.float8_e4m3fn, torch.float8_e5m2)


class Quantized(NamedTuple):
    """values * scale_inv is about the input.  In blocks scale_inv has the E8M0 scales of the values, as uint8."""

    values: torch.Tensor
    scale_inv: torch.Tensor
    transposed: Optional[torch.Tensor] = None
    transposed_scale_inv: Optional[torch.Tensor] = None


def _blocks(columns: int) -> int:
    return -(-columns // _c.QUERN_SCALE_BLOCK)


def quantize(x: torch.Tensor, dtype: torch.dtype = torch.float8_e4m3fn, *, scaling: str = "tensor", transposed: bool = False,
             power_of_two: bool = False, eps: float = 0.0, stochastic: bool = False, seed: int = 0, offset: int = 0) -> Quantized:
    """x in 8 bits: with one scale from its largest magnitude, or with one for each 32 elements of a row (scaling="mx").

    transposed: also the matrix [columns, rows], for which x is [rows, columns].  stochastic: rounds up with a probability equal to the
    fraction that is cut off; calls with one seed need different offsets.  See quern_quantize in quern.h.
    """
    if scaling not in ("tensor", "mx"):
        raise quern.error(_c.QUERN_INVALID_ARGUMENT, f"scaling is {scaling!r}: expected 'tensor' or 'mx'")
    if transposed and x.dim() != 2:
        raise quern.error(_c.QUERN_INVALID_SHAPE, f"x has the shape {list(x.shape)}: expected [rows, columns] for transposed")
    in_dtype = dtype_of(x, "x", _FLOATS)
    if dtype not in _EIGHT:
        raise quern.error(_c.QUERN_INVALID_DTYPE, f"dtype is {dtype}: expected float8_e4m3fn or float8_e5m2")
    return Quantized(*_quantize(x.detach().contiguous(), in_dtype, dtype, scaling == "mx", transposed, power_of_two, eps, stochastic,
                                seed, offset))


def _quantize(x, in_dtype, dtype, is_mx, transposed, power_of_two, eps, stochastic, seed, offset):
    columns = x.shape[-1] if x.dim() else 1
    rows = x.numel() // columns if columns else 0
    values = torch.empty_like(x, dtype=dtype)
    other = x.new_empty((columns, rows), dtype=dtype) if transposed else None
    row = _c.quern_quantize_tensor(input=x.data_ptr(), output=values.data_ptr(), count=x.numel(), columns=columns)
    args = quern.arguments("quantize_args", input_dtype=in_dtype, tensors=addressof(row), tensor_count=1, eps=eps,
                           power_of_two=power_of_two, seed=seed, offset=offset,
                           output_dtype=_c.QUERN_E4M3 if dtype == torch.float8_e4m3fn else _c.QUERN_E5M2,
                           rounding=_c.QUERN_ROUND_STOCHASTIC if stochastic else _c.QUERN_ROUND_NEAREST,
                           scaling=_c.QUERN_SCALING_MX if is_mx else _c.QUERN_SCALING_TENSOR)
    scales = [None, None]
    if is_mx:
        scales[0] = x.new_empty((*x.shape[:-1], _blocks(columns)), dtype=torch.uint8)
        row.block_scales = scales[0].data_ptr()
        if transposed:
            scales[1] = x.new_empty((columns, _blocks(rows)), dtype=torch.uint8)
            row.transposed_block_scales = scales[1].data_ptr()
    else:
        amax, scales[0] = x.new_empty(1, dtype=torch.float32), x.new_empty(1, dtype=torch.float32)
        args.amax, args.scale_inv = amax.data_ptr(), scales[0].data_ptr()
    if transposed:
        row.transposed = other.data_ptr()
    device, stream = place(x)
    bytes_ = c_size_t()
    quern.check(quern.lib.quern_quantize_workspace(device, byref(args), byref(bytes_)))
    workspace = x.new_empty(bytes_.value, dtype=torch.uint8)
    quern.check(quern.lib.quern_quantize(device, byref(args), workspace.data_ptr(), bytes_, stream))
    return values, scales[0], other, scales[1]
