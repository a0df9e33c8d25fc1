"""Cross-entropy of logits, and of the last layer of a model.

The gradient is rounded once whatever the upstream gradient is, and a graph that is kept can be used again.  On a CPU the forward
pass computes it for an upstream gradient of 1; else, and after another upstream gradient, the backward pass does, from the logits and
64 bytes for each row.  With inplace=True it overwrites the logits in the forward pass.
"""
from __future__ import annotations

import math
from typing import NamedTuple, Optional

import torch

import quern
from quern import _c

from ._register import follow_threads

_REDUCTIONS = {"none": _c.QUERN_REDUCTION_NONE, "sum": _c.QUERN_REDUCTION_SUM, "mean": _c.QUERN_REDUCTION_MEAN}
_FLOATS = (torch.float32, torch.float16, torch.bfloat16)
_STATS_BYTES = 64
_LEAST_CHUNK = 64
_loss_and_stats = torch.ops.quern.cross_entropy.default
_with_gradient = torch.ops.quern.cross_entropy_and_gradient.default
_loss_alone = torch.ops.quern.cross_entropy_loss.default
_all_outputs = torch.ops.quern.cross_entropy_outputs.default
_gradient = torch.ops.quern.cross_entropy_gradient.default
_policy = torch.ops.quern.policy.default
_policy_gradient = torch.ops.quern.policy_gradient.default
_log_probs = torch.ops.quern.log_probs.default
_divergence = torch.ops.quern.divergence.default
_divergence_gradient = torch.ops.quern.divergence_gradient.default
_KINDS = {"forward_kl": _c.QUERN_KL_FORWARD, "reverse_kl": _c.QUERN_KL_REVERSE, "jensen_shannon": _c.QUERN_JENSEN_SHANNON}
_over_logits = torch.ops.quern.cross_entropy_.default
_late = torch.ops.quern.cross_entropy_upstream_.default


class Outputs(NamedTuple):
    """Further outputs of the rows, without gradients: log-sum-exp, log-probability of the label, entropy, column of the maximum."""

    lse: torch.Tensor
    log_prob: torch.Tensor
    entropy: torch.Tensor
    argmax: torch.Tensor


# ---- shapes, for compilers ----


def _loss_like(logits, reduction):
    return logits.new_empty([] if reduction else [logits.shape[0]], dtype=torch.float32)


def _stats_like(logits):
    return logits.new_empty([logits.shape[0], _STATS_BYTES], dtype=torch.uint8)


def _fake(name, make):
    torch.library.register_fake(f"quern::{name}", make)


# Each operator has (logits, labels, weight, vocab, reduction, ignore_index, label_smoothing, z_loss, softcap, strict, portable,
# ...).
_fake("cross_entropy", lambda logits, *options: (_loss_like(logits, options[3]), _stats_like(logits)))
_fake("cross_entropy_and_gradient", lambda logits, *options: (
    _loss_like(logits, options[3]), _stats_like(logits), torch.empty_like(logits, memory_format=torch.contiguous_format)))
_fake("cross_entropy_loss", lambda logits, *options: _loss_like(logits, options[3]))
_fake("cross_entropy_outputs", lambda logits, *options: (
    _loss_like(logits, options[3]), _stats_like(logits), *(logits.new_empty(logits.shape[:1], dtype=torch.float32) for _ in range(3)),
    logits.new_empty(logits.shape[:1], dtype=torch.int64)))
_fake("cross_entropy_gradient", lambda logits, *options: torch.empty_like(logits, memory_format=torch.contiguous_format))
_fake("policy", lambda logits, *options: (
    *(logits.new_empty(logits.shape[:1], dtype=torch.float32) for _ in range(2)), _stats_like(logits)))
_fake("policy_gradient", lambda logits, *options: torch.empty_like(logits, memory_format=torch.contiguous_format))
_fake("log_probs", lambda logits, *options: (
    logits.new_empty([logits.shape[0], options[-2]], dtype=torch.int64),
    logits.new_empty([logits.shape[0], options[-2]], dtype=torch.float32),
    logits.new_empty([logits.shape[0], 0 if options[-1] is None else options[-1].shape[1]], dtype=torch.float32)))
_fake("divergence", lambda logits, *options: (
    logits.new_empty(logits.shape[:1], dtype=torch.float32),
    logits.new_empty([logits.shape[0], 0 if options[11] is None else options[11].shape[1]], dtype=torch.float32), _stats_like(logits)))
_fake("divergence_gradient", lambda logits, *options: torch.empty_like(logits, memory_format=torch.contiguous_format))
_fake("cross_entropy_", lambda logits, *options: _loss_like(logits, options[3]))
_fake("cross_entropy_upstream_", lambda grad, grad_loss: None)
_fake("cross_entropy_out", lambda logits, *options, loss, grad: None)


# ---- gradients ----


def _save(ctx, inputs, output) -> None:
    logits, labels, weight, *ctx.options = inputs
    ctx.save_for_backward(logits, labels, weight, output[1])
    ctx.mark_non_differentiable(*output[1:])
    ctx.set_materialize_grads(False)


def _backward(ctx, upstream, *_):
    if upstream is None:
        return (None,) * 11
    _refuse_second()
    logits, labels, weight, stats = ctx.saved_tensors
    return _gradient(logits, labels, weight, *ctx.options, stats, upstream), *(None,) * 10


def _save_policy(ctx, inputs, output) -> None:
    logits, labels, _, *ctx.options = inputs
    ctx.save_for_backward(logits, labels, output[2])
    ctx.mark_non_differentiable(output[2])


def _policy_backward(ctx, of_log_prob, of_entropy, _):
    """Without options log_prob is the negated loss."""
    _refuse_second()
    logits, labels, stats = ctx.saved_tensors
    return _policy_gradient(logits, labels, None, *ctx.options, stats, -of_log_prob, of_entropy), *(None,) * 11


def _save_divergence(ctx, inputs, output) -> None:
    logits, labels, _, *options = inputs
    ctx.options = options[:9]
    ids, targets, ctx.kind, ctx.has_tail = options[9:]
    ctx.save_for_backward(logits, labels, ids, targets, *output[1:])
    ctx.mark_non_differentiable(*output[1:])


def _divergence_backward(ctx, upstream, *_):
    _refuse_second()
    logits, labels, ids, targets, log_probs, stats = ctx.saved_tensors
    no_loss = upstream.new_zeros(1).expand(upstream.shape[0])
    return _divergence_gradient(logits, labels, None, *ctx.options, ids, targets, ctx.kind, ctx.has_tail, log_probs, stats, no_loss,
                                upstream), *(None,) * 15


def _refuse_second() -> None:
    """Asks itself, since once_differentiable takes longer than the gradient of a small call."""
    if torch.is_grad_enabled():
        raise quern.error(_c.QUERN_NOT_SUPPORTED, "the gradient of a gradient (create_graph=True)")


for _name in ("cross_entropy", "cross_entropy_outputs"):
    torch.library.register_autograd(f"quern::{_name}", _backward, setup_context=_save)
torch.library.register_autograd("quern::policy", _policy_backward, setup_context=_save_policy)
torch.library.register_autograd("quern::divergence", _divergence_backward, setup_context=_save_divergence)


class _CrossEntropy(torch.autograd.Function):
    """The same without the detour of register_autograd through Python, which costs as much again as the whole call of few rows."""

    @staticmethod
    def forward(ctx, operator, logits, arguments):
        with torch._C._AutoDispatchBelowAutograd():
            output = operator(logits, *arguments)
        ctx.arguments = arguments
        ctx.save_for_backward(logits, output[1])
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)
        return output

    @staticmethod
    def backward(ctx, upstream, *_):
        _refuse_second()
        logits, stats = ctx.saved_tensors
        if ctx.arguments[3] and logits.is_cpu:
            _OnePass.upstream_is_one = upstream is not None and upstream.item() == 1
        return None, None if upstream is None else _gradient(logits, *ctx.arguments, stats, upstream), None


class _OnePass(torch.autograd.Function):
    """Loss and gradient at once, if the upstream gradient is 1.  Another one takes a second pass, so that the gradient is rounded once;
    the next call then expects it."""

    upstream_is_one = True

    @staticmethod
    def forward(ctx, logits, arguments):
        with torch._C._AutoDispatchBelowAutograd():
            loss, ctx.stats, ctx.grad = _with_gradient(logits, *arguments)
        ctx.arguments = arguments
        ctx.save_for_backward(logits)
        return loss

    @staticmethod
    def backward(ctx, upstream):
        _refuse_second()
        logits, = ctx.saved_tensors
        grad, ctx.grad = ctx.grad, None   # given away once: its owner may write to it
        _OnePass.upstream_is_one = is_one = upstream.item() == 1
        return grad if grad is not None and is_one else _gradient(logits, *ctx.arguments, ctx.stats, upstream), None


class _InPlace(torch.autograd.Function):
    """The gradient overwrites the logits, whose version tells autograd, so that any other use of their values is its error."""

    @staticmethod
    def forward(ctx, grad_scale, logits, arguments):
        with torch._C._AutoDispatchBelowAutograd():
            loss = _over_logits(logits.detach(), *arguments, grad_scale)
        torch.autograd.graph.increment_version(logits)
        ctx.save_for_backward(logits)
        ctx.grad_scale = grad_scale
        return loss

    @staticmethod
    def backward(ctx, upstream):
        _refuse_second()
        grad, = ctx.saved_tensors
        grad = grad.detach()
        if ctx.grad_scale != 1:
            upstream = upstream / ctx.grad_scale
        _late(grad, upstream)   # which the device reads: nothing waits for it, and a 1 costs nothing
        torch.autograd.graph.increment_version(grad)   # a second backward pass would multiply it again
        return None, grad, None


# ---- the functions ----


def _fail(status: int, text: str):
    raise quern.error(status, text)


def _rows(logits: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """[rows, columns] and [rows]: views, if the logits of a row lie beside each other."""
    if logits.dtype not in _FLOATS:
        _fail(_c.QUERN_INVALID_DTYPE, f"logits has {logits.dtype}: expected float32, float16, bfloat16")
    if labels.dtype not in (torch.int64, torch.int32):
        _fail(_c.QUERN_INVALID_DTYPE, f"labels has {labels.dtype}: expected int64 or int32 (class probabilities are not supported)")
    if logits.dim() == 0 or labels.shape != logits.shape[:-1]:
        _fail(_c.QUERN_INVALID_SHAPE, f"labels has the shape {list(labels.shape)} and logits {list(logits.shape)}: expected [...] and "
              "[..., vocab]")
    if labels.device != logits.device:
        _fail(_c.QUERN_INVALID_ARGUMENT, f"labels is on {labels.device} and logits on {logits.device}: expected the same device")
    if logits.dim() != 2:
        logits = logits.reshape(-1, logits.shape[-1])
    if logits.stride(1) != 1 or logits.stride(0) < logits.shape[1]:
        logits = logits.contiguous()
    if labels.dim() != 1 or labels.stride(0) != 1:
        labels = labels.reshape(-1).contiguous()
    return logits, labels


def _weight(weight: Optional[torch.Tensor], vocab: int, logits: torch.Tensor) -> Optional[torch.Tensor]:
    if weight is None:
        return None
    if weight.shape != (vocab,) or weight.device != logits.device:
        _fail(_c.QUERN_INVALID_SHAPE, f"weight has the shape {list(weight.shape)} on {weight.device}: expected [{vocab}] on "
              f"{logits.device}")
    return weight.detach().to(torch.float32).contiguous()


def _columns(rows: torch.Tensor, vocab: Optional[int]) -> int:
    columns = rows.shape[1] if vocab is None else vocab
    if not 0 < columns <= rows.shape[1]:
        _fail(_c.QUERN_INVALID_SHAPE, f"vocab is {columns}: expected 1 to the {rows.shape[1]} columns of the logits")
    return columns


def _begin_cooled(temperature: float) -> None:
    """Before a call at a temperature."""
    if not temperature > 0:
        _fail(_c.QUERN_INVALID_ARGUMENT, f"temperature is {temperature}: expected a number above 0")
    if not torch.compiler.is_compiling():
        follow_threads()


def _is_strict(strict: Optional[bool], logits: torch.Tensor) -> bool:
    on_gpu = logits.is_cuda
    if strict and on_gpu:
        _fail(_c.QUERN_NOT_SUPPORTED, "strict=True on a GPU: a label out of range is skipped there")
    return not on_gpu if strict is None else strict


def cross_entropy(logits: torch.Tensor, labels: torch.Tensor, weight: Optional[torch.Tensor] = None, *, ignore_index: int = -100,
                  reduction: str = "mean", label_smoothing: float = 0.0, z_loss: float = 0.0, softcap: float = 0.0,
                  vocab: Optional[int] = None, strict: Optional[bool] = None, inplace: bool = False, grad_scale: float = 1.0,
                  outputs: bool = False, portable: bool = False):
    """The loss of torch.nn.functional.cross_entropy for logits [..., vocab] and labels [...], in fp32 for every dtype of logits.

    z_loss, softcap: as quern_cross_entropy in quern.h.  vocab: the number of columns, if logits has further ones as padding, whose
    gradient is 0.  strict: a label out of range is an error (the default on a CPU); else its row is skipped.

    inplace: the gradient overwrites the logits, which must not be used afterwards; autograd refuses a use in the backward pass.  It
    saves a buffer as large as the logits.  It is stored in their dtype before the upstream gradient multiplies it: with float16 and a
    GradScaler, give the scaler's scale as grad_scale.  The upstream gradient is then divided by that.

    outputs: returns (loss, Outputs).

    portable: the loss, the outputs and the gradient of a row have the same bits on every machine, in every batch (docs/numerics.md).
    Without softcap and label_smoothing.
    """
    if reduction not in _REDUCTIONS:
        _fail(_c.QUERN_INVALID_ARGUMENT, f"reduction is {reduction!r}: expected 'none', 'sum' or 'mean'")
    rows, flat = _rows(logits, labels)
    columns = _columns(rows, vocab)
    arguments = (flat, _weight(weight, columns, rows), columns, _REDUCTIONS[reduction], ignore_index, label_smoothing, z_loss, softcap,
                 _is_strict(strict, rows), portable)
    try:
        result = _call(rows, arguments, logits, inplace, grad_scale, outputs)
    except RuntimeError as failure:
        raise quern.translated(failure) from None
    if reduction != "none":
        return result if not outputs else (result[0], Outputs(*(each.reshape(labels.shape) for each in result[1])))
    if not outputs:
        return result.reshape(labels.shape)
    return result[0].reshape(labels.shape), Outputs(*(each.reshape(labels.shape) for each in result[1]))


def _call(rows, arguments, logits, inplace, grad_scale, outputs):
    """The loss, or (loss, outputs), of the rows."""
    if torch.compiler.is_compiling():   # in place or not: a compiler decides what is copied
        loss, _, *further = (_all_outputs if outputs else _loss_and_stats)(rows, *arguments)
        return (loss, further) if outputs else loss
    follow_threads()
    needs_gradient = rows.requires_grad and torch.is_grad_enabled()
    if inplace:
        if outputs:
            _fail(_c.QUERN_NOT_SUPPORTED, "inplace=True with outputs=True")
        if rows.data_ptr() != logits.data_ptr():
            _fail(_c.QUERN_INVALID_SHAPE, "inplace=True needs logits whose rows are contiguous: these were copied")
        if logits.requires_grad and logits.is_leaf:
            _fail(_c.QUERN_INVALID_ARGUMENT, "inplace=True would overwrite a leaf that requires a gradient")
    if inplace and needs_gradient:
        return _InPlace.apply(grad_scale, rows, arguments)
    if outputs:
        loss, _, *further = _CrossEntropy.apply(_all_outputs, rows, arguments)
        return loss, further
    if needs_gradient and _OnePass.upstream_is_one and arguments[3] and rows.is_cpu:   # a GPU would have to be asked
        return _OnePass.apply(rows, arguments)
    if needs_gradient:
        return _CrossEntropy.apply(_loss_and_stats, rows, arguments)[0]
    return _loss_alone(rows, *arguments)


def log_prob_and_entropy(logits: torch.Tensor, labels: torch.Tensor, *, temperature: float = 1.0, softcap: float = 0.0,
                         ignore_index: int = -100, vocab: Optional[int] = None,
                         strict: Optional[bool] = None) -> tuple[torch.Tensor, torch.Tensor]:
    """(log_prob, entropy) of softmax(logits / temperature) in fp32, each with its gradient: what a policy gradient with an entropy
    bonus needs.

    log_prob is that of the label, a sampled token.  logits is [..., vocab], labels and both results are [...]; a row whose label is
    ignore_index has zeros.  One pass over the logits in the forward pass, and one in the backward pass for both gradients.  softcap:
    applied before the temperature.  vocab, strict: as cross_entropy.
    """
    rows, flat = _rows(logits, labels)
    columns = _columns(rows, vocab)
    _begin_cooled(temperature)
    try:
        log_prob, entropy, _ = _policy(rows, flat, None, columns, _c.QUERN_REDUCTION_NONE, ignore_index, 0.0, 0.0, softcap,
                                       _is_strict(strict, rows), False, 1 / temperature)
    except RuntimeError as failure:
        raise quern.translated(failure) from None
    return log_prob.reshape(labels.shape), entropy.reshape(labels.shape)


def _any_labels(logits: torch.Tensor) -> torch.Tensor:
    """For calls that need none: a row is skipped without."""
    return torch.zeros(logits.shape[:-1], dtype=torch.int32, device=logits.device)


def _plain_options(logits: torch.Tensor, temperature: float, softcap: float, vocab: Optional[int]):
    """The rows, and the arguments up to the inverse temperature."""
    rows, flat = _rows(logits, _any_labels(logits))
    columns = _columns(rows, vocab)
    _begin_cooled(temperature)
    return rows, (flat, None, columns, _c.QUERN_REDUCTION_NONE, -100, 0.0, 0.0, softcap, False, False, 1 / temperature)


def _lists(given: torch.Tensor, name: str, logits: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """[rows, columns] of the dtype."""
    if given.dim() != logits.dim() or given.shape[:-1] != logits.shape[:-1] or given.device != logits.device:
        _fail(_c.QUERN_INVALID_SHAPE, f"{name} has the shape {list(given.shape)} on {given.device} and logits {list(logits.shape)} on "
              f"{logits.device}: expected [..., columns] and [..., vocab]")
    return given.detach().reshape(-1, given.shape[-1]).to(dtype).contiguous()


def top_log_probs(logits: torch.Tensor, k: int, *, temperature: float = 1.0, softcap: float = 0.0,
                  vocab: Optional[int] = None) -> tuple[torch.Tensor, torch.Tensor]:
    """(log_probs, ids), [..., k] each: the k <= 32 largest columns of softmax(logits / temperature), the largest first and of equal logits
    the lower id first; without gradients.  A row with fewer columns above -infinity has ids of -1.
    """
    rows, arguments = _plain_options(logits, temperature, softcap, vocab)
    try:
        ids, log_probs, _ = _log_probs(rows.detach(), *arguments, k, None)
    except RuntimeError as failure:
        raise quern.translated(failure) from None
    return log_probs.reshape(*logits.shape[:-1], k), ids.reshape(*logits.shape[:-1], k)


def log_probs_of(logits: torch.Tensor, ids: torch.Tensor, *, temperature: float = 1.0, softcap: float = 0.0,
                 vocab: Optional[int] = None) -> torch.Tensor:
    """The log-probabilities of the columns ids [..., n] of logits [..., vocab], without gradients; -infinity for an id that is no
    column, as -1.
    """
    rows, arguments = _plain_options(logits, temperature, softcap, vocab)
    try:
        *_, log_probs = _log_probs(rows.detach(), *arguments, 0, _lists(ids, "ids", logits, torch.int64))
    except RuntimeError as failure:
        raise quern.translated(failure) from None
    return log_probs.reshape(ids.shape)


def divergence(logits: torch.Tensor, ids: Optional[torch.Tensor], target_probs: torch.Tensor, *, kind: str = "forward_kl",
               tail: bool = True, temperature: float = 1.0, softcap: float = 0.0, vocab: Optional[int] = None) -> torch.Tensor:
    """How far softmax(logits / temperature) is from the probabilities target_probs [..., n] of the columns ids [..., n], for each row,
    with the gradient of the logits: distillation from a teacher's largest tokens, or a penalty against a reference.

    ids None: target_probs [..., vocab] are the probabilities of all columns, in float32, float16 or bfloat16.  kind: "forward_kl",
    "reverse_kl" or "jensen_shannon" (docs/cross_entropy.md).  tail, of a list: all other columns are one more outcome; else they do not
    count.  The ids of a row are distinct; one that is no column has the probability 0.
    """
    if kind not in _KINDS:
        _fail(_c.QUERN_INVALID_ARGUMENT, f"kind is {kind!r}: expected {', '.join(map(repr, _KINDS))}")
    rows, arguments = _plain_options(logits, temperature, softcap, vocab)
    dtype = target_probs.dtype if ids is None and target_probs.dtype in (torch.float16, torch.bfloat16) else torch.float32
    lists = None if ids is None else _lists(ids, "ids", logits, torch.int64), _lists(target_probs, "target_probs", logits, dtype)
    if ids is not None and lists[0].shape != lists[1].shape:
        _fail(_c.QUERN_INVALID_SHAPE, f"target_probs has the shape {list(target_probs.shape)} and ids {list(ids.shape)}: expected the same")
    try:
        result, *_ = _divergence(rows, *arguments, *lists, _KINDS[kind], tail and ids is not None)
    except RuntimeError as failure:
        raise quern.translated(failure) from None
    return result.reshape(logits.shape[:-1])


class _Linear(torch.autograd.Function):
    """Chunks of rows: their logits, the gradient over them, and its two products, before the next chunk."""

    @staticmethod
    def forward(ctx, hidden, matrix, bias, labels, weight, chunk, options):
        columns, reduction, ignore_index, label_smoothing, z_loss, softcap, strict = options
        d_hidden = torch.empty_like(hidden) if hidden.requires_grad else None
        d_matrix, d_bias = (torch.zeros(each.shape, dtype=torch.float32, device=each.device)
                            if each is not None and each.requires_grad else None for each in (matrix, bias))
        losses = []
        for start in range(0, hidden.shape[0], chunk):
            piece = hidden[start:start + chunk]
            logits = piece @ matrix.t() if bias is None else torch.addmm(bias, piece, matrix.t())
            chosen = (labels[start:start + chunk], weight, columns, _c.QUERN_REDUCTION_SUM, ignore_index, label_smoothing, z_loss,
                      softcap, strict, False)
            if d_hidden is None and d_matrix is None and d_bias is None:
                losses.append(_loss_alone(logits, *chosen))
                continue
            losses.append(_over_logits(logits, *chosen, 1.0))
            if d_hidden is not None:
                torch.mm(logits, matrix, out=d_hidden[start:start + chunk])
            if d_matrix is not None:
                _add_product(d_matrix, logits, piece)
            if d_bias is not None:
                d_bias += logits.sum(0, dtype=torch.float32)
        factor = _factor(labels, weight, columns, ignore_index) if reduction == _c.QUERN_REDUCTION_MEAN else None
        ctx.save_for_backward(d_hidden, None if d_matrix is None else d_matrix.to(matrix.dtype),
                              None if d_bias is None else d_bias.to(bias.dtype), factor)
        total = torch.stack(losses).sum() if losses else hidden.new_zeros([], dtype=torch.float32)
        return total if factor is None else total * factor

    @staticmethod
    def backward(ctx, upstream):
        _refuse_second()
        *grads, factor = ctx.saved_tensors
        if factor is not None:
            upstream = upstream * factor
        return *(None if each is None else each * upstream.to(each.dtype) for each in grads), None, None, None, None


_BLOCK = 4096   # columns of the logits whose products are in memory at a time


def _add_product(sums, logits, piece) -> None:
    """sums += logits.t() @ piece in fp32, without a matrix as large as the sums."""
    if logits.dtype == torch.float32:
        sums.addmm_(logits.t(), piece)
        return
    for start in range(0, logits.shape[1], _BLOCK):
        sums[start:start + _BLOCK] += logits[:, start:start + _BLOCK].t() @ piece


def _factor(labels, weight, columns, ignore_index) -> torch.Tensor:
    """Of a mean: one by the number of counted rows, or by the sum of their weights; 0 if that is 0."""
    counts = (labels != ignore_index) & (labels >= 0) & (labels < columns)
    weights = counts.float() if weight is None else torch.where(counts, weight[labels.clamp(0, columns - 1).long()], 0.0)
    total = weights.sum()
    return torch.where(total > 0, 1 / total, 0.0)


def linear_cross_entropy(hidden: torch.Tensor, matrix: torch.Tensor, labels: torch.Tensor, weight: Optional[torch.Tensor] = None, *,
                         bias: Optional[torch.Tensor] = None, ignore_index: int = -100, reduction: str = "mean",
                         label_smoothing: float = 0.0, z_loss: float = 0.0, softcap: float = 0.0, strict: Optional[bool] = None,
                         chunk_rows: int = 0) -> torch.Tensor:
    """cross_entropy(hidden @ matrix.T + bias, labels), without the whole logits: hidden is [..., width], matrix [vocab, width] and bias
    [vocab].

    Forward and backward pass are one: the logits of chunk_rows rows are in memory at a time (0: as many elements as
    hidden has, or half of those of matrix).  The gradients of matrix and bias are summed over the chunks in fp32; the
    product of a chunk has the dtype of matrix.  reduction is "sum" or "mean".
    """
    if reduction not in ("sum", "mean"):
        _fail(_c.QUERN_INVALID_ARGUMENT, f"reduction is {reduction!r}: expected 'sum' or 'mean'")
    if matrix.dim() != 2 or hidden.dim() == 0 or hidden.shape[-1] != matrix.shape[1] or hidden.dtype != matrix.dtype:
        _fail(_c.QUERN_INVALID_SHAPE, f"hidden has the shape {list(hidden.shape)} ({hidden.dtype}) and matrix {list(matrix.shape)} "
              f"({matrix.dtype}): expected [..., width] and [vocab, width] of one dtype")
    flat, targets = _rows(hidden, labels)
    vocab, width = matrix.shape
    if bias is not None and (bias.shape != (vocab,) or bias.dtype != matrix.dtype or bias.device != matrix.device):
        _fail(_c.QUERN_INVALID_SHAPE, f"bias has the shape {list(bias.shape)} ({bias.dtype}) on {bias.device}: expected [{vocab}] "
              f"({matrix.dtype}) on {matrix.device}")
    chunk = chunk_rows or max(_LEAST_CHUNK, math.ceil(flat.shape[0] * width / max(vocab, 1)), width // 2)
    if not torch.compiler.is_compiling():
        follow_threads()
    try:
        return _Linear.apply(flat, matrix, bias, targets, _weight(weight, vocab, flat), chunk,
                             (vocab, _REDUCTIONS[reduction], ignore_index, label_smoothing, z_loss, softcap, _is_strict(strict, flat)))
    except RuntimeError as failure:
        raise quern.translated(failure) from None
