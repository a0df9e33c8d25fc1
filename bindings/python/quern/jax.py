"""Quern's operations on arrays of JAX, on CPU devices: custom calls inside of jit, grad, vmap and shard_map."""
from __future__ import annotations

import ctypes
import os
import secrets
from functools import partial
from typing import Any, Callable, NamedTuple, Optional, Union

import jax
import jax.numpy as jnp
import numpy

import quern

try:
    from jax import ffi
except ImportError:   # before jax 0.5
    from jax.extend import ffi

__all__ = ["Outputs", "adamw", "cross_entropy", "ragged_all_to_all"]

_shim = ctypes.CDLL(str(quern.FOLDER / "quern_jax.so"))
_shim.quern_jax_use.argtypes = [ctypes.c_void_p]
_shim.quern_jax_name.argtypes = [ctypes.c_char_p]
for _name in ("cross_entropy", "stats", "combine", "gradient", "adamw", "ragged_all_to_all"):
    ffi.register_ffi_target(f"quern_{_name}", ffi.pycapsule(getattr(_shim, f"quern_jax_{_name}")), platform="cpu")


def _begin() -> None:
    """Called while a function is traced, and again in a child of fork: ranks of two processes must not meet."""
    _shim.quern_jax_use(quern.device())
    _shim.quern_jax_name(secrets.token_hex(16).encode())


_begin()
os.register_at_fork(after_in_child=_begin)


# ---- cross-entropy ----


class Outputs(NamedTuple):
    """Further outputs of the rows, without gradients: log-sum-exp, log-probability of the label, entropy."""

    lse: jax.Array
    log_prob: jax.Array
    entropy: jax.Array


class _Options(NamedTuple):
    ignore_index: int
    label_smoothing: float
    z_loss: float
    softcap: float
    strict: bool
    entropy: bool
    axis_name: Any

    def attributes(self, shards: int) -> dict[str, Any]:
        reals = {name: numpy.float32(getattr(self, name)) for name in ("label_smoothing", "z_loss", "softcap")}
        return reals | {name: numpy.int32(getattr(self, name)) for name in ("ignore_index", "strict", "entropy")} | {
            "shards": numpy.int32(shards)}


_STATS_BYTES = 64


def _varies(given) -> frozenset:
    """The axes of shard_map over which an array may differ between devices, where this jax keeps account of them."""
    if not hasattr(jax, "typeof"):
        return frozenset()
    kind = jax.typeof(given)
    account = getattr(kind, "manual_axis_type", None)   # since jax 0.9; before it was a set of its own
    return getattr(kind, "vma", frozenset()) if account is None else account.varying


def _vary(results, *arguments, axes=()):
    """XLA's calls do not tell that what they return differs between devices as their arguments do."""
    named = frozenset(axes if isinstance(axes, tuple) else (axes,)) if hasattr(jax, "typeof") else frozenset()
    wanted = named.union(*map(_varies, arguments))

    def one(given):
        missing = tuple(wanted - _varies(given))
        if not missing:
            return given
        return jax.lax.pcast(given, missing, to="varying") if hasattr(jax.lax, "pcast") else jax.lax.pvary(given, missing)

    return jax.tree_util.tree_map(one, results)


def _call(name: str, results, *arguments, vmap_method: str = "broadcast_all", **attributes):
    call = ffi.ffi_call(f"quern_{name}", results, vmap_method=vmap_method)
    return _vary(call(*arguments, **attributes), *arguments)


def _row_results(rows: tuple[int, ...]) -> tuple:
    row = jax.ShapeDtypeStruct(rows, jnp.float32)
    return row, jax.ShapeDtypeStruct((*rows, _STATS_BYTES), jnp.uint8), row, row, row


def _shards(options: _Options) -> int:
    return 1 if options.axis_name is None else _axis_size(options.axis_name)


def _axis_size(axis_name) -> int:
    """jax.lax.axis_size came with jax 0.6; the sum of ones is the same number, known while tracing."""
    found = jax.lax.axis_size(axis_name) if hasattr(jax.lax, "axis_size") else jax.lax.psum(1, axis_name)
    return int(found)


def _first_column(logits, labels, options: _Options):
    """For each row, so that all arguments have the same leading dimensions."""
    first = 0 if options.axis_name is None else jax.lax.axis_index(options.axis_name).astype(jnp.int32) * logits.shape[-1]
    return jnp.full(labels.shape, first, jnp.int32)


def _forward(logits, labels, options: _Options):
    """The results of the rows, of which the first one is the loss and the second one the stats."""
    shards, first = _shards(options), _first_column(logits, labels, options)
    attributes, results = options.attributes(shards), _row_results(labels.shape)
    if options.axis_name is None:
        return _call("cross_entropy", results, logits, labels, first, **attributes)
    mine = _call("stats", results[1], logits, labels, first, **attributes)
    every = jax.lax.all_gather(mine, options.axis_name)
    return _call("combine", results, logits, labels, first, every, vmap_method="sequential", **attributes)


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def _loss(logits, labels, options: _Options):
    loss, _, *further = _forward(logits, labels, options)
    return loss, *further


def _loss_forward(logits, labels, options: _Options):
    loss, stats, *further = _forward(logits, labels, options)
    return (loss, *further), (logits, labels, stats)


def _loss_backward(options: _Options, kept, upstream):
    """The loss of each device depends on the columns of all: their upstream gradients are added."""
    logits, labels, stats = kept
    rows = upstream[0].astype(jnp.float32)
    if options.axis_name is not None:
        rows = jax.lax.psum(rows, options.axis_name)
    grad = _call("gradient", jax.ShapeDtypeStruct(logits.shape, logits.dtype), logits, labels,
                 _first_column(logits, labels, options), stats, rows, **options.attributes(_shards(options)))
    return grad, None


_loss.defvjp(_loss_forward, _loss_backward)


def cross_entropy(logits, labels, *, reduction: str = "mean", ignore_index: int = -100, label_smoothing: float = 0.0,
                  z_loss: float = 0.0, softcap: float = 0.0, strict: bool = True, outputs: bool = False, axis_name=None):
    """The loss of logits [..., vocab] against labels [...], in fp32 for every dtype of logits.

    axis_name: inside of shard_map, the axis over whose devices the vocab is divided: logits has the columns of this device, labels
    counts over all.  Each device gets the loss of the whole rows.  Each shard has as many columns.

    strict: a label out of range is an error; else its row is skipped, as one with ignore_index is.  reduction: "none", "sum" or "mean",
    of the rows that count.  outputs: returns (loss, Outputs).  The options are those of quern_cross_entropy in quern.h.
    """
    logits, labels = jnp.asarray(logits), jnp.asarray(labels)
    if reduction not in ("none", "sum", "mean"):
        raise quern.error(quern._c.QUERN_INVALID_ARGUMENT, f"reduction is {reduction!r}: expected 'none', 'sum' or 'mean'")
    if logits.ndim == 0 or labels.shape != logits.shape[:-1]:
        raise quern.error(quern._c.QUERN_INVALID_SHAPE, f"labels has the shape {labels.shape} and logits {logits.shape}: expected [...] "
                          "and [..., vocab]")
    options = _Options(int(ignore_index), float(label_smoothing), float(z_loss), float(softcap), bool(strict), bool(outputs), axis_name)
    loss, *further = _loss(logits, labels, options)
    if reduction != "none":
        total = jnp.sum(loss)
        if reduction == "mean":
            columns = logits.shape[-1] * _shards(options)
            counted = (labels != ignore_index) & (labels >= 0) & (labels < columns)
            total = total / jnp.maximum(jnp.sum(counted), 1)
        loss = total
    return (loss, Outputs(*further)) if outputs else loss


# ---- AdamW ----


class AdamWState(NamedTuple):
    count: jax.Array
    mu: Any
    nu: Any


class AdamW(NamedTuple):
    """An optax.GradientTransformation with a further function: step(grads, state, params) returns the new params and the new state.

    step writes parameters and moments in place, if the jitted function that calls it donates them.  update returns differences for
    optax.apply_updates, as optax.adamw does, at the cost of a copy.
    """

    init: Callable
    update: Callable
    step: Callable


def _kinds(*trees: list) -> dict[tuple, list[int]]:
    """The leaves by their dtypes: those of a call are the same."""
    found: dict[tuple, list[int]] = {}
    for index, leaves in enumerate(zip(*trees)):
        found.setdefault(tuple(leaf.dtype for leaf in leaves), []).append(index)
    return found


def adamw(learning_rate: Union[float, Callable], b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8, weight_decay: float = 1e-4, *,
          mu_dtype=None, nu_dtype=None, seed: int = 0) -> AdamW:
    """optax.adamw on Quern's kernels, all leaves of a dtype in one call.  learning_rate: a number, or a schedule of the count.

    mu_dtype, nu_dtype: of the moments (that of each parameter).  Parameters and second moments in bfloat16 are rounded stochastically,
    by the seed and the count.
    """

    def init(params) -> AdamWState:
        zeros = lambda dtype: jax.tree_util.tree_map(lambda leaf: jnp.zeros(leaf.shape, dtype or leaf.dtype), params)  # noqa: E731
        return AdamWState(jnp.zeros([], jnp.int32), zeros(mu_dtype), zeros(nu_dtype))

    def step(grads, state: AdamWState, params):
        rate = learning_rate(state.count) if callable(learning_rate) else learning_rate
        count = state.count + 1
        leaves, tree = jax.tree_util.tree_flatten(params)
        trees = [jax.tree_util.tree_leaves(each) for each in (grads, params, state.mu, state.nu)]
        out = [list(each) for each in trees[1:]]
        for number, chosen in enumerate(_kinds(*trees).values()):
            given = [[leaf[i] for i in chosen] for leaf in trees]
            flat = [leaf for each in given for leaf in each]
            results = tuple(jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in flat[len(chosen):])
            aliases = {2 + len(chosen) + i: i for i in range(len(results))}
            made = ffi.ffi_call("quern_adamw", results, input_output_aliases=aliases)(
                jnp.asarray(rate, jnp.float32), count, *flat, b1=numpy.float32(b1), b2=numpy.float32(b2), eps=numpy.float32(eps),
                weight_decay=numpy.float32(weight_decay), seed=numpy.int32((seed + number * 0x3C6EF372) % 2**31))
            for place, i in enumerate(chosen):
                for part in range(3):
                    out[part][i] = made[part * len(chosen) + place]
        new = [jax.tree_util.tree_unflatten(tree, each) for each in out]
        return new[0], AdamWState(count, new[1], new[2])

    def update(updates, state, params=None, **_):
        if params is None:
            raise quern.error(quern._c.QUERN_INVALID_ARGUMENT, "adamw needs params: update(grads, state, params)")
        new, state = step(updates, state, params)
        return jax.tree_util.tree_map(lambda after, before: after - before, new, params), state

    return AdamW(init, update, step)


# ---- ragged all-to-all ----


def _other_axes(axis_name) -> tuple:
    """The other axes of the mesh: the devices that differ in them are of other groups."""
    try:
        from jax.sharding import get_abstract_mesh
        names = get_abstract_mesh().axis_names
    except ImportError:
        from jax._src.core import get_axis_env
        names = get_axis_env().axis_names()
    own = axis_name if isinstance(axis_name, tuple) else (axis_name,)
    return tuple(name for name in names if name not in own)


def _place(axis_name):
    place = jnp.zeros([], jnp.int32)
    for name in _other_axes(axis_name):
        place = place * _axis_size(name) + jax.lax.axis_index(name).astype(jnp.int32)
    return place


def _exchange(operand, output, indices, axis_name, timeout: float, check_overlap: bool):
    call = ffi.ffi_call("quern_ragged_all_to_all", jax.ShapeDtypeStruct(output.shape, output.dtype), has_side_effect=True,
                            input_output_aliases={3: 0})
    result = call(jax.lax.axis_index(axis_name).astype(jnp.int32), _place(axis_name), operand, output, *indices,
                  ranks=numpy.int32(_axis_size(axis_name)), element_bytes=numpy.int32(operand.dtype.itemsize),
                  timeout=numpy.float32(timeout), check_overlap=numpy.int32(check_overlap))
    return _vary(result, operand, output, *indices, axes=axis_name)


@partial(jax.custom_vjp, nondiff_argnums=(6, 7))
def _ragged(operand, output, input_offsets, send_sizes, output_offsets, recv_sizes, axis_name, timeout):
    return _exchange(operand, output, (input_offsets, send_sizes, output_offsets, recv_sizes), axis_name, timeout, False)


def _ragged_forward(operand, output, *rest):
    return _ragged(operand, output, *rest), (operand, output, *rest[:4])


def _ragged_backward(axis_name, timeout, kept, upstream):
    """The gradient of a slice goes back to where the slice came from.  Slices of operand must not overlap: then it would be a sum."""
    operand, output, *indices = kept
    inputs, sends, outputs, receives = indices
    ranks = _axis_size(axis_name)
    swap = lambda each: jax.lax.all_to_all(  # noqa: E731
        each.reshape(ranks, -1), axis_name, 0, 0, tiled=True).reshape(each.shape)
    theirs, here = swap(inputs), swap(outputs)
    d_operand = _exchange(upstream, jnp.zeros_like(operand), (here, receives, theirs, sends), axis_name, timeout, True)
    rows = jnp.arange(output.shape[0])
    come = ((rows[:, None] >= here[None, :]) & (rows[:, None] < (here + receives)[None, :])).any(axis=1)
    d_output = jnp.where(come.reshape(-1, *(1,) * (output.ndim - 1)), 0, upstream)
    return d_operand, d_output, None, None, None, None


_ragged.defvjp(_ragged_forward, _ragged_backward)


def ragged_all_to_all(operand, output, input_offsets, send_sizes, output_offsets, recv_sizes, *, axis_name,
                      timeout: Optional[float] = None):
    """jax.lax.ragged_all_to_all, which XLA does not have on CPUs, between CPU devices of this process.  Inside of shard_map.

    Slice p of a device are the rows input_offsets[p], send_sizes[p] of operand; it goes to device p of the axis, to the row
    output_offsets[p] of the output there.  recv_sizes[p] rows come from device p.  Several slices for each device stand beside each
    other.  Returns the output with the rows that have come.  For gradients, slices of operand must not overlap.

    timeout: seconds that a device waits for the others (60).  XLA runs each device's call on a thread of its pool, which must have as
    many as there are devices.  Launches from several threads are told apart from jaxlib 0.5.3 on; before, launch from one thread.
    """
    return _ragged(operand, output, input_offsets, send_sizes, output_offsets, recv_sizes, axis_name, float(timeout or 60.0))
