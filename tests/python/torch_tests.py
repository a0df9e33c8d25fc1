"""quern.torch against PyTorch's own operators in float64, and what compilers, scalers and shards ask of it."""
from __future__ import annotations

import copy
import io
import itertools
import os
import sys
import tempfile

import torch
import torch.multiprocessing
import torch.nn.functional as F
from torch.library import opcheck

import quern
import quern.torch
from harness import Skip, main, raises, run_snippets

DEVICE = os.environ.get("QUERN_TORCH_DEVICE", "cpu")   # or cuda: tests of labels, threads and processes are those of CPUs
torch.set_default_device(DEVICE)
FLOATS = {torch.float32: 1e-6, torch.bfloat16: 4e-3, torch.float16: 1e-3}


def case(rows=50, vocab=777, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, vocab, (rows,), generator=generator, device="cpu").to(DEVICE)
    labels[::7] = -100
    return torch.randn(rows, vocab, generator=generator, device="cpu").to(DEVICE, dtype).requires_grad_(), labels


def only_cpu():
    if DEVICE != "cpu":
        raise Skip("of CPUs only")


def worst(found, expected):
    return ((found.double() - expected.double()).abs().max() / expected.double().abs().max().clamp(min=1e-30)).item()


# ---- cross-entropy ----


def test_loss_and_gradient():
    weight = torch.rand(777)
    for dtype, tolerance in FLOATS.items():
        for reduction in ("none", "sum", "mean"):
            for smoothing in (0.0, 0.1):
                for given in (None, weight):
                    logits, labels = case(dtype=dtype)
                    mine = quern.torch.cross_entropy(logits, labels, given, reduction=reduction, label_smoothing=smoothing)
                    theirs = F.cross_entropy(logits.double(), labels, None if given is None else given.double(),
                                             reduction=reduction, label_smoothing=smoothing)
                    upstream = torch.randn_like(mine)
                    gradient, = torch.autograd.grad(mine, logits, upstream)
                    expected, = torch.autograd.grad(theirs, logits, upstream.double())
                    assert mine.dtype == torch.float32 and gradient.dtype == dtype
                    assert worst(mine, theirs) < 1e-5 and worst(gradient, expected) < tolerance


def test_shapes():
    logits, labels = case(48)
    expected, = torch.autograd.grad(quern.torch.cross_entropy(logits, labels, reduction="sum"), logits)
    for view in (lambda x: x.reshape(4, 12, -1), lambda x: x.t().contiguous().t(), lambda x: F.pad(x, (3, 5))[:, 3:-5]):
        shaped = view(logits)
        loss = quern.torch.cross_entropy(shaped, labels.reshape(shaped.shape[:-1]), reduction="sum")
        assert torch.equal(torch.autograd.grad(loss, logits)[0], expected)
    rows = quern.torch.cross_entropy(logits.reshape(4, 12, -1), labels.reshape(4, 12), reduction="none")
    assert rows.shape == (4, 12)
    empty = torch.empty(0, 777, requires_grad=True)
    assert quern.torch.cross_entropy(empty, labels[:0], reduction="sum").item() == 0


def test_padding_columns_have_no_part():
    logits, labels = case()
    padded = F.pad(logits.detach(), (0, 23), value=float("nan")).requires_grad_()
    loss = quern.torch.cross_entropy(padded, labels, vocab=777)
    loss.backward()
    expected, = torch.autograd.grad(quern.torch.cross_entropy(logits, labels), logits)
    assert torch.equal(padded.grad[:, :777], expected) and not padded.grad[:, 777:].any()


def test_outputs():
    logits, labels = case()
    loss, outputs = quern.torch.cross_entropy(logits, labels, outputs=True)
    counted = labels >= 0
    x = logits.detach().double()
    lse = x.logsumexp(1)
    probability = (x - lse[:, None]).exp()
    assert worst(outputs.lse[counted], lse[counted]) < 1e-6
    assert worst(outputs.entropy[counted], -(probability * (x - lse[:, None])).sum(1)[counted]) < 1e-6
    assert worst(outputs.log_prob[counted], (x.gather(1, labels.clamp(0)[:, None])[:, 0] - lse)[counted]) < 1e-6
    assert torch.equal(outputs.argmax[counted], logits.argmax(1)[counted])
    assert not any(each.requires_grad for each in outputs)
    loss.backward()
    assert torch.equal(logits.grad, torch.autograd.grad(quern.torch.cross_entropy(logits, labels), logits)[0])


def test_log_prob_and_entropy():
    """Values and gradients of both, alone and together, against PyTorch's own softmax in float64."""
    for dtype, tolerance in ((torch.float32, 2e-6), (torch.bfloat16, 1e-2)):
        for weights in ((1.0, 0.0), (0.0, 1.0), (0.7, -0.3)):
            given = (torch.randn(4, 9, 301) * 3).to(dtype).requires_grad_()
            labels = torch.randint(0, 301, (4, 9))
            exact = given.detach().double().requires_grad_()
            log_p = torch.log_softmax(exact / 1.7, -1)
            expected = log_p.gather(-1, labels[..., None])[..., 0], -(log_p.exp() * log_p).sum(-1)
            found = quern.torch.log_prob_and_entropy(given, labels, temperature=1.7)
            for each, other in zip(found, expected):
                torch.testing.assert_close(each.double(), other, rtol=2e-6, atol=2e-6)
            upstream = torch.randn(4, 9)
            sum((each * upstream * weight).sum() for each, weight in zip(found, weights)).backward()
            sum((each * upstream * weight).sum() for each, weight in zip(expected, weights)).backward()
            limit = tolerance * exact.grad.abs().max().item()
            torch.testing.assert_close(given.grad.double(), exact.grad, rtol=tolerance, atol=limit)


def test_a_policy_in_compiled_code():
    given, labels = torch.randn(6, 50, requires_grad=True), torch.randint(0, 50, (6,))

    def loss(logits):
        log_prob, entropy = quern.torch.log_prob_and_entropy(logits, labels, temperature=0.5)
        return (log_prob + 0.1 * entropy).sum()

    plain, = torch.autograd.grad(loss(given), given)
    compiled, = torch.autograd.grad(torch.compile(loss, fullgraph=True, backend="aot_eager")(given), given)
    assert (plain == compiled).all()
    options = (labels, None, 50, 0, -100, 0.0, 0.0, 0.0, True, False, 2.0)
    opcheck(torch.ops.quern.policy.default, (given, *options))
    log_prob, _, stats = torch.ops.quern.policy(given.detach(), *options)
    opcheck(torch.ops.quern.policy_gradient.default, (given.detach(), *options, stats, log_prob, log_prob))
    raises(ValueError, "temperature is 0.0", quern.torch.log_prob_and_entropy, given, labels, temperature=0.0)


def test_largest_and_given_columns():
    """Against PyTorch's topk and softmax in float64; of equal logits the lower column is first."""
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        logits = (torch.randn(3, 5, 700) * 2).to(dtype)
        log_p = torch.log_softmax(logits.double() / 0.8, -1)
        values, ids = quern.torch.top_log_probs(logits, 9, temperature=0.8)
        order = torch.sort(logits.double(), dim=-1, descending=True, stable=True).indices[..., :9]
        assert (ids == order).all()
        torch.testing.assert_close(values.double(), log_p.gather(-1, order), rtol=2e-6, atol=2e-6)
        wanted = torch.randint(0, 700, (3, 5, 4))
        found = quern.torch.log_probs_of(logits, wanted, temperature=0.8)
        torch.testing.assert_close(found.double(), log_p.gather(-1, wanted), rtol=2e-6, atol=2e-6)
    assert quern.torch.log_probs_of(logits, torch.full((3, 5, 1), -1)).isneginf().all()
    raises(ValueError, "top_k is 33", quern.torch.top_log_probs, logits, 33)
    raises(ValueError, "expected [..., columns]", quern.torch.log_probs_of, logits, wanted[0])


def exact_divergence(logits, ids, targets, kind, tail):
    """In float64, from whole softmaxes, by autograd."""
    p = torch.softmax(logits, -1)
    q, t = p.gather(-1, ids), targets
    if tail:
        q, t = (torch.cat([each, 1 - each.sum(-1, keepdim=True)], -1) for each in (q, t))
    m = (t + q) / 2
    forward, reverse = (t * (t / q).log()).sum(-1), (q * (q / t).log()).sum(-1)
    of_means = ((t * (t / m).log()).sum(-1) + (q * (q / m).log()).sum(-1)) / 2
    return {"forward_kl": forward, "reverse_kl": reverse, "jensen_shannon": of_means}[kind]


def test_divergences():
    for kind in ("forward_kl", "reverse_kl", "jensen_shannon"):
        for tail in (True, False):
            given = (torch.randn(2, 6, 90) * 2).requires_grad_()
            ids = torch.rand(2, 6, 90).argsort(-1)[..., :7]
            targets = (torch.softmax(torch.randn(2, 6, 8), -1))[..., :7].contiguous()
            exact = given.detach().double().requires_grad_()
            expected = exact_divergence(exact / 1.5, ids, targets.double(), kind, tail)
            found = quern.torch.divergence(given, ids, targets, kind=kind, tail=tail, temperature=1.5)
            torch.testing.assert_close(found.double(), expected, rtol=4e-6, atol=4e-6)
            upstream = torch.randn(2, 6)
            (found * upstream).sum().backward()
            (expected * upstream).sum().backward()
            torch.testing.assert_close(given.grad.double(), exact.grad, rtol=1e-5, atol=2e-6)
    for kind, dtype in (("forward_kl", torch.bfloat16), ("reverse_kl", torch.float16), ("jensen_shannon", torch.float32)):
        given = (torch.randn(2, 6, 90) * 2).requires_grad_()
        targets = torch.softmax(torch.randn(2, 6, 90), -1).to(dtype)
        exact, every = given.detach().double().requires_grad_(), torch.arange(90).expand(2, 6, 90)
        expected = exact_divergence(exact / 1.5, every, targets.double(), kind, False)
        found = quern.torch.divergence(given, None, targets, kind=kind, temperature=1.5)
        torch.testing.assert_close(found.double(), expected, rtol=4e-6, atol=4e-6)
        upstream = torch.randn(2, 6)
        (found * upstream).sum().backward()
        (expected * upstream).sum().backward()
        torch.testing.assert_close(given.grad.double(), exact.grad, rtol=1e-5, atol=2e-6)
    raises(ValueError, "target probabilities [rows, vocab]", quern.torch.divergence, given, None, targets[..., :3])
    targets = torch.softmax(torch.randn(2, 6, 7), -1)
    raises(ValueError, "kind is 'kl'", lambda: quern.torch.divergence(given, ids, targets, kind="kl"))
    raises(ValueError, "expected the same", quern.torch.divergence, given, ids, targets[..., :3])


def test_divergences_in_compiled_code():
    given, ids = torch.randn(5, 40, requires_grad=True), torch.rand(5, 40).argsort(-1)[:, :3].contiguous()
    targets = torch.full((5, 3), 0.25)

    def loss(logits):
        return quern.torch.divergence(logits, ids, targets).sum() + quern.torch.top_log_probs(logits, 2)[0].sum()

    plain, = torch.autograd.grad(loss(given), given)
    compiled, = torch.autograd.grad(torch.compile(loss, fullgraph=True, backend="aot_eager")(given), given)
    assert (plain == compiled).all()
    options = (torch.zeros(5, dtype=torch.int64), None, 40, 0, -100, 0.0, 0.0, 0.0, False, False, 1.0)
    opcheck(torch.ops.quern.divergence.default, (given, *options, ids, targets, 0, True))
    opcheck(torch.ops.quern.divergence.default, (given, *options, None, torch.full((5, 40), 0.025), 2, False))
    opcheck(torch.ops.quern.log_probs.default, (given.detach(), *options, 3, ids))


def test_a_graph_that_is_kept():
    logits, labels = case()
    loss = quern.torch.cross_entropy(logits, labels)
    first, = torch.autograd.grad(loss, logits, retain_graph=True)
    second, = torch.autograd.grad(loss, logits, torch.tensor(3.0))
    assert worst(second, first * 3) < 1e-6


def test_the_number_of_passes_changes_no_bit():
    """One pass where the last upstream gradient was 1, else two.  A gradient that its owner has written to is not given again."""
    only_cpu()
    state = quern.torch.loss._OnePass
    for dtype in FLOATS:
        for options in ({}, {"label_smoothing": 0.1, "z_loss": 0.01, "softcap": 3.0}, {"reduction": "sum", "vocab": 700}):
            logits, labels = case(dtype=dtype)
            labels = labels.clamp(max=699)
            found = {}
            for upstream in (1.0, 3.0):
                for expected in (True, False):
                    state.upstream_is_one = expected
                    loss = quern.torch.cross_entropy(logits, labels, **options)
                    for again in (True, False):
                        grad, = torch.autograd.grad(loss, logits, torch.tensor(upstream), retain_graph=again)
                        assert torch.equal(found.setdefault(upstream, grad.clone()), grad), (dtype, options, upstream, again)
                        grad.fill_(7)
                    assert state.upstream_is_one == (upstream == 1.0)
            assert not torch.equal(found[1.0], found[3.0])


def test_the_gradient_of_a_gradient_is_refused():
    logits, labels = case()
    loss = quern.torch.cross_entropy(logits, labels)
    raises(NotImplementedError, "create_graph", torch.autograd.grad, loss, logits, create_graph=True)


def test_in_place():
    for dtype in FLOATS:
        for factor in (1.0, 0.25, -8.0):
            logits, labels = case(dtype=dtype)
            work = logits * 1
            (quern.torch.cross_entropy(work, labels, inplace=True) * factor).backward()
            expected, = torch.autograd.grad(quern.torch.cross_entropy(logits, labels) * factor, logits)
            assert worst(logits.grad, expected) < FLOATS[dtype]


def test_in_place_by_rows():
    """One upstream gradient for each row, of which some are 1."""
    for dtype in FLOATS:
        logits, labels = case(dtype=dtype)
        factors = torch.arange(50.0) % 4
        work = logits * 1
        (quern.torch.cross_entropy(work, labels, inplace=True, reduction="none") * factors).sum().backward()
        expected, = torch.autograd.grad((quern.torch.cross_entropy(logits, labels, reduction="none") * factors).sum(), logits)
        assert worst(logits.grad, expected) < FLOATS[dtype]


def test_in_place_with_a_scale():
    """Gradients that float16 would round to 0 are kept by grad_scale."""
    logits, labels = case(dtype=torch.float16)
    scale = 2.0**12
    zeros = []
    for factor in (1.0, scale):
        work = logits * 2
        gradient, = torch.autograd.grad(quern.torch.cross_entropy(work, labels, inplace=True, grad_scale=factor) * scale, logits)
        zeros.append(int((gradient[labels >= 0] == 0).sum()))
        expected, = torch.autograd.grad(F.cross_entropy(logits.double() * 2, labels) * scale, logits)
        assert worst(gradient, expected) < 2e-3
    assert zeros[0] > 100 > zeros[1], zeros


def test_in_place_never_gives_a_wrong_gradient():
    logits, labels = case()
    work = logits * 2
    square = work * work
    loss = quern.torch.cross_entropy(work, labels, inplace=True)
    raises(RuntimeError, "modified by an inplace operation", (loss + square.sum()).backward)
    raises(ValueError, "leaf", quern.torch.cross_entropy, logits, labels, inplace=True)
    raises(ValueError, "contiguous", quern.torch.cross_entropy, (logits * 1).t().contiguous().t(), labels, inplace=True)
    work = logits * 2
    loss = quern.torch.cross_entropy(work, labels, inplace=True)
    torch.autograd.grad(loss, work, torch.tensor(2.0), retain_graph=True)
    raises(RuntimeError, "modified by an inplace operation", torch.autograd.grad, loss, work)


def test_no_gradient_is_asked_for():
    logits, labels = case()
    with torch.no_grad():
        loss = quern.torch.cross_entropy(logits, labels)
    assert not loss.requires_grad and loss.item() > 0
    assert torch.equal(loss, quern.torch.cross_entropy(logits.detach(), labels))


def test_errors_in_eager_and_compiled_code():
    only_cpu()
    logits, labels = case()
    call = quern.torch.cross_entropy
    failure = raises(quern.ArgumentError, "args.labels[1]", call, logits, labels + 800)
    assert isinstance(failure, ValueError) and failure.blame == "the caller's argument"
    compiled = torch.compile(call, fullgraph=True)
    raises(RuntimeError, "QUERN_INVALID_ARGUMENT: args.labels[1]", compiled, logits, labels + 800)
    skipped = call(logits, labels.where(labels >= 0, 5000), strict=False)
    assert worst(skipped, call(logits, labels)) == 0
    raises(ValueError, "logits has torch.float64", call, logits.double(), labels)
    raises(ValueError, "class probabilities", call, logits, torch.rand(50, 777))
    raises(ValueError, "labels has the shape [3]", call, logits, labels[:3])
    raises(ValueError, "weight has the shape [5]", call, logits, labels, torch.ones(5))
    raises(ValueError, "reduction is 'all'", call, logits, labels, reduction="all")
    raises(ValueError, "vocab is 800", call, logits, labels, vocab=800)
    raises(ValueError, "args.z_loss", call, logits, labels, z_loss=-1.0)


def test_operators_for_compilers():
    logits, labels = case()
    options = (labels, None, 777, 2, -100, 0.1, 0.0, 0.0, DEVICE == "cpu", False)
    given, operators = logits.detach(), torch.ops.quern
    stats = operators.cross_entropy(given, *options)[1]
    opcheck(operators.cross_entropy.default, (logits, *options))
    opcheck(operators.cross_entropy_outputs.default, (logits, *options))
    opcheck(operators.cross_entropy_and_gradient.default, (given, *options))
    opcheck(operators.cross_entropy_loss.default, (given, *options))
    opcheck(operators.cross_entropy_gradient.default, (given, *options, stats, torch.tensor(1.0)))
    opcheck(operators.cross_entropy_.default, (given.clone(), *options, 1.0))
    opcheck(operators.cross_entropy_upstream_.default, (given.clone(), torch.tensor(3.0)))
    opcheck(operators.cross_entropy_out.default, (given, *options, 1.0), {"loss": torch.empty(()), "grad": torch.empty_like(given)})


def test_portable_bits():
    """A row alone has those of the row in a batch, in place or not, eager or compiled; and a machine has those of all others."""
    logits, labels = case()
    upstream = torch.randn(len(labels), device=DEVICE)

    def results(rows, targets, upstream, function=quern.torch.cross_entropy):
        leaf = rows.detach().clone().requires_grad_()
        losses = function(leaf, targets, reduction="none", portable=True)
        losses.backward(upstream)
        return losses.detach(), leaf.grad

    losses, grad = results(logits, labels, upstream)
    torch.testing.assert_close(losses, F.cross_entropy(logits, labels, reduction="none").detach(), rtol=1e-6, atol=1e-6)
    for row in (0, 17, 49):
        one = slice(row, row + 1)
        alone, of_alone = results(logits[one], labels[one], upstream[one])
        assert torch.equal(alone, losses[one]) and torch.equal(of_alone, grad[one])
    compiled, of_compiled = results(logits, labels, upstream, torch.compile(quern.torch.cross_entropy, fullgraph=True))
    assert torch.equal(compiled, losses) and torch.equal(of_compiled, grad)
    raises(NotImplementedError, "softcap", lambda: quern.torch.cross_entropy(logits, labels, softcap=5.0, portable=True))
    _, outputs = quern.torch.cross_entropy(logits, labels, outputs=True, portable=True)
    _, alone = quern.torch.cross_entropy(logits[17:18], labels[17:18], outputs=True, portable=True)
    assert torch.equal(alone.entropy, outputs.entropy[17:18]) and torch.equal(alone.argmax, outputs.argmax[17:18])


def test_operators_refuse_what_they_could_read_beyond():
    logits, labels = (each.detach() for each in case())
    rest, operators = (2, -100, 0.0, 0.0, 0.0, False, False), torch.ops.quern
    loss, grad, one = torch.empty(()), torch.empty_like(logits), torch.ones(())
    stats = operators.cross_entropy(logits, labels, None, 777, *rest)[1]
    call, gradient, out = operators.cross_entropy, operators.cross_entropy_gradient, operators.cross_entropy_out
    given = (logits, labels, None, 777, *rest)
    for wrong in (lambda: call(logits[0], labels, None, 777, *rest), lambda: call(logits.t(), labels, None, 50, *rest),
                  lambda: call(logits, labels[:9], None, 777, *rest), lambda: call(logits, labels, None, 778, *rest),
                  lambda: call(logits, labels, None, 0, *rest), lambda: call(logits, labels, torch.ones(9), 777, *rest),
                  lambda: call(logits, labels, torch.ones(777, dtype=torch.float64), 777, *rest),
                  lambda: call(logits.expand(50, 777).as_strided((50, 777), (1, 1)), labels, None, 777, *rest),
                  lambda: call(logits, labels.repeat(2)[::2], None, 777, *rest),
                  lambda: gradient(*given, stats[:3], one), lambda: gradient(*given, stats, one.double()),
                  lambda: gradient(*given, stats, torch.ones(50)), lambda: out(*given, 1.0, loss=torch.empty(3), grad=grad),
                  lambda: operators.cross_entropy_upstream_(logits.clone(), torch.ones(9)),
                  lambda: operators.cross_entropy_upstream_(logits.clone().t(), one),
                  lambda: operators.cross_entropy_upstream_(logits.clone(), one.double()),
                  lambda: out(*given, 1.0, loss=loss, grad=grad[:9]), lambda: out(*given, 1.0, loss=loss, grad=grad.half())):
        raises(RuntimeError, "QUERN_INVALID_SHAPE: expected", wrong)


def test_compiled_exported_and_meta():
    logits, labels = case()
    expected, = torch.autograd.grad(quern.torch.cross_entropy(logits, labels, label_smoothing=0.1), logits)
    for dynamic in (False, True):
        compiled = torch.compile(lambda x, y: quern.torch.cross_entropy(x, y, label_smoothing=0.1), fullgraph=True, dynamic=dynamic)
        assert torch.equal(torch.autograd.grad(compiled(logits, labels), logits)[0], expected)

    class Loss(torch.nn.Module):
        def forward(self, x, y):
            return quern.torch.cross_entropy(x, y)

    exported = torch.export.export(Loss(), (logits.detach(), labels))
    assert torch.equal(exported.module()(logits.detach(), labels), quern.torch.cross_entropy(logits, labels).detach())
    options = (None, 777, 2, -100, 0.0, 0.0, 0.0, True, False)
    meta = torch.ops.quern.cross_entropy(logits.detach().to("meta"), labels.to("meta"), *options)
    assert meta[0].shape == () and meta[1].shape == (50, 64)


def test_threads_follow_pytorch():
    only_cpu()
    import ctypes
    logits, labels = case()
    before = torch.get_num_threads()
    for threads in (1, 3):
        torch.set_num_threads(threads)
        quern.torch.cross_entropy(logits, labels)
        info = quern.arguments("device_info")
        quern.check(quern.lib.quern_device_get_info(quern.device(), ctypes.byref(info)))
        assert info.multiprocessors == threads
    torch.set_num_threads(before)


def test_linear_cross_entropy():
    for reduction, has_bias in itertools.product(("sum", "mean"), (False, True)):
        for weight in (None, torch.rand(97)):
            generator = torch.Generator().manual_seed(3)
            hidden, matrix, bias = (torch.randn(*shape, generator=generator, device="cpu").to(DEVICE).requires_grad_()
                                    for shape in ((4, 15, 24), (97, 24), (97,)))
            inputs = (hidden, matrix, bias) if has_bias else (hidden, matrix)
            labels = torch.randint(0, 97, (4, 15), generator=generator, device="cpu").to(DEVICE)
            labels[1] = -100
            loss = quern.torch.linear_cross_entropy(hidden, matrix, labels, weight, bias=bias if has_bias else None,
                                                    reduction=reduction, chunk_rows=7)
            mine = torch.autograd.grad(loss * 3, inputs)
            wide = [each.detach().double().requires_grad_() for each in inputs]
            other = F.cross_entropy(F.linear(wide[0], *wide[1:]).reshape(60, 97), labels.reshape(60),
                                    None if weight is None else weight.double(), reduction=reduction)
            theirs = torch.autograd.grad(other * 3, wide)
            assert worst(loss, other) < 1e-6 and all(worst(a, b) < 1e-5 for a, b in zip(mine, theirs))
    raises(ValueError, "hidden has the shape", quern.torch.linear_cross_entropy, hidden, matrix[:, :3], labels)
    for wrong in (bias[:5], bias.double()):
        raises(ValueError, "bias has the shape", quern.torch.linear_cross_entropy, hidden, matrix, labels, bias=wrong)


# ---- FP8 ----


def test_quantize():
    for dtype, largest in ((torch.float8_e4m3fn, 448.0), (torch.float8_e5m2, 57344.0)):
        x = torch.randn(64, 96)
        scale = largest / x.abs().max()
        found = quern.torch.quantize(x, dtype, transposed=True)
        assert torch.equal(found.values.view(torch.uint8), (x * scale).to(dtype).view(torch.uint8))
        assert torch.equal(found.transposed.view(torch.uint8), found.values.view(torch.uint8).t())
        assert abs(found.scale_inv.item() * scale.item() - 1) < 1e-6
        blocks = quern.torch.quantize(x, dtype, scaling="mx")
        powers = (blocks.scale_inv.float() - 127).exp2().repeat_interleave(32, 1)
        assert worst(blocks.values.float() * powers, x) < 0.07 if dtype == torch.float8_e4m3fn else 0.13
    raises(ValueError, "x has torch.float64", quern.torch.quantize, x.double())
    raises(ValueError, "scaling is 'block'", quern.torch.quantize, x, scaling="block")


# ---- AdamW ----


def model(dtype=torch.float32):
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(33, 65), torch.nn.Tanh(), torch.nn.Linear(65, 17)).to(dtype)


def batch(seed):
    return torch.randn(8, 33, generator=torch.Generator().manual_seed(seed), device="cpu").to(DEVICE)


def train(pairs, steps, first=0, late=False, loss=lambda y: y.float().pow(2).sum()):
    """Each model with its optimizer, on the same batches.  late: one parameter has no gradient in the first steps."""
    for step in range(first, first + steps):
        x = batch(step)
        for network, optimizer in pairs:
            optimizer.zero_grad()
            loss(network(x.to(next(network.parameters()).dtype))).backward()
            if late and step < 5:
                network[0].bias.grad = None
            optimizer.step()


def apart(a, b):
    return max((p - q).abs().max().item() for p, q in zip(a.parameters(), b.parameters()))


def test_adamw_is_that_of_pytorch():
    for options in ({}, {"amsgrad": True}, {"maximize": True, "lr": 1e-4}, {"weight_decay": 0.3, "lr": 1e-2}):
        a, b = model(), model()
        train([(a, torch.optim.AdamW(a.parameters(), **options)), (b, quern.torch.AdamW(b.parameters(), **options))], 20, late=True)
        assert apart(a, b) < 1e-6, options


def test_a_parameter_that_is_frozen_for_some_steps():
    """Its step stays, in the list of the others and in that of all; all of them take one call."""
    for capturable in (False, True):
        a, b = model(), model()
        theirs, mine = torch.optim.AdamW(a.parameters()), quern.torch.AdamW(b.parameters(), capturable=capturable)
        for steps, frozen in ((3, False), (4, True), (3, False), (2, True), (3, False)):
            for network in (a, b):
                network[0].bias.requires_grad_(not frozen)
            train([(a, theirs), (b, mine)], steps)
        assert apart(a, b) < 1e-6
        assert float(mine.state[b[0].bias]["step"]) == 9 and float(mine.state[b[0].weight]["step"]) == 15
        calls, step = [], quern.lib.quern_adam
        quern.lib.quern_adam = lambda *arguments: calls.append(1) or step(*arguments)
        try:
            train([(b, mine)], 1)
        finally:
            quern.lib.quern_adam = step
        assert len(calls) == 1, calls


def test_parameters_that_take_turns():
    """As experts do: as many gradients in each step, of other parameters between the first and the last one."""
    nets = [[torch.nn.Parameter(torch.randn(5, generator=torch.Generator().manual_seed(i))) for i in range(5)] for _ in range(2)]
    optimizers = [torch.optim.AdamW(nets[0]), quern.torch.AdamW(nets[1])]
    for step in range(6):
        for params, optimizer in zip(nets, optimizers):
            for i, param in enumerate(params):
                param.grad = torch.full((5,), i + step + 1.0) if i in (0, 1 + step % 3, 4) else None
            optimizer.step()
    for a, b in zip(*nets):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6)


def test_one_of_many_parameters_that_needs_a_look():
    def of_other_memory(param):
        param.data = param.data.clone()

    def transposed(param):
        param.grad = param.grad.t().contiguous().t()

    def missing(param):
        param.grad = None

    nets = [[torch.nn.Parameter(torch.ones(3, 2)) for _ in range(40)] for _ in range(2)]
    optimizers = [torch.optim.AdamW(nets[0]), quern.torch.AdamW(nets[1])]
    for step, change in enumerate((None, None, of_other_memory, transposed, None, missing, None)):
        for params, optimizer in zip(nets, optimizers):
            for i, param in enumerate(params):
                param.grad = torch.arange(6.0).reshape(3, 2) + i % 7 + step
            if change:
                change(params[30])
            optimizer.step()
    for a, b in zip(*nets):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6)


def test_threads_are_those_of_pytorch():
    """A chosen number takes the library's own; in a fork there are none of PyTorch's, and waiting for them would have no end."""
    def loss():
        return float(quern.torch.cross_entropy(logits, labels))

    logits, labels = torch.randn(64, 5000), torch.randint(0, 5000, (64,))
    lends = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 10)
    torch.set_num_threads(2)
    logits.exp().sum()
    expected = loss()
    assert bool(quern._hook) == lends and quern._threads == 2
    quern.set_threads(3)
    assert loss() == expected and not quern._hook and quern._threads == 3
    quern.set_threads()
    assert loss() == expected and bool(quern._hook) == lends and quern._threads == 2
    child = os.fork()
    if not child:
        os._exit(0 if loss() == expected and not quern._hook and quern._threads == 2 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_groups_and_schedulers():
    nets = [model(), model()]
    optimizers = [kind([{"params": net[0].parameters(), "lr": 3e-3}, {"params": net[2].parameters(), "weight_decay": 0.5}], lr=1e-3)
                  for kind, net in zip((torch.optim.AdamW, quern.torch.AdamW), nets)]
    schedulers = [torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10) for optimizer in optimizers]
    for step in range(10):
        train(list(zip(nets, optimizers)), 1, step)
        for scheduler in schedulers:
            scheduler.step()
    assert apart(*nets) < 1e-6


def test_state_dicts_are_exchanged_with_pytorch():
    a, b = model(), model()
    theirs, mine = torch.optim.AdamW(a.parameters()), quern.torch.AdamW(b.parameters())
    train([(a, theirs), (b, mine)], 10, late=True)
    other, own = torch.optim.AdamW(b.parameters()), quern.torch.AdamW(a.parameters())
    other.load_state_dict(copy.deepcopy(mine.state_dict()))
    own.load_state_dict(copy.deepcopy(theirs.state_dict()))
    train([(b, other), (a, own)], 10, 10)
    assert apart(a, b) < 1e-6
    assert float(other.state[b[0].bias]["step"]) == 15 and float(own.state[a[0].weight]["step"]) == 20


def test_a_resumed_run_has_the_same_bits():
    for options in ({}, {"master": "fp32"}, {"master": "remainder"}, {"state_dtype": torch.bfloat16},
                    {"state_dtype": torch.float16}, {"state_dtype": torch.float8_e4m3fn, "master": "remainder"},
                    {"state_dtype": (torch.bfloat16, torch.float8_e4m3fn)}):
        a = model(torch.bfloat16)
        optimizer = quern.torch.AdamW(a.parameters(), **options)
        train([(a, optimizer)], 6)
        file = io.BytesIO()
        torch.save(optimizer.state_dict(), file)
        file.seek(0)
        b = copy.deepcopy(a)
        resumed = quern.torch.AdamW(b.parameters(), **options)
        resumed.load_state_dict(torch.load(file))
        train([(a, optimizer), (b, resumed)], 5, 6)
        for p, q in zip(a.parameters(), b.parameters()):
            assert torch.equal(p, q), options
            for key, value in optimizer.state[p].items():
                assert torch.equal(value, resumed.state[q][key]) and value.dtype == resumed.state[q][key].dtype, (options, key)


def test_gradient_scaler():
    nets = [model(), model()]
    optimizers = [torch.optim.AdamW(nets[0].parameters()), quern.torch.AdamW(nets[1].parameters())]
    scalers = [torch.amp.GradScaler(DEVICE, init_scale=1024.0) for _ in nets]
    for step in range(12):
        x = batch(step)
        for net, optimizer, scaler in zip(nets, optimizers, scalers):
            optimizer.zero_grad()
            scaler.scale(net(x).pow(2).sum() * (float("inf") if step == 4 else 1.0)).backward()
            scaler.step(optimizer)
            scaler.update()
    assert apart(*nets) < 1e-6 and scalers[0].get_scale() == scalers[1].get_scale() == 512
    assert float(optimizers[1].state[nets[1][0].weight]["step"]) == 11


def test_clipping():
    nets = [model(), model(), model()]
    optimizers = [torch.optim.AdamW(nets[0].parameters()), quern.torch.AdamW(nets[1].parameters(), max_grad_norm=0.5),
                  quern.torch.AdamW(nets[2].parameters())]
    for step in range(8):
        x = batch(step)
        norms = []
        for i, (net, optimizer) in enumerate(zip(nets, optimizers)):
            optimizer.zero_grad()
            net(x).pow(2).sum().backward()
            if i != 1:
                norms.append((torch.nn.utils, quern.torch)[i // 2].clip_grad_norm_(net.parameters(), 0.5))
            optimizer.step()
        assert worst(*norms) < 1e-6
    assert apart(nets[0], nets[1]) < 1e-6 and apart(nets[0], nets[2]) < 1e-6


def test_capturable():
    nets = [model(), model()]
    rates = [torch.tensor(1e-3), torch.tensor(1e-3)]
    optimizers = [torch.optim.AdamW(nets[0].parameters(), lr=rates[0], foreach=False),
                  quern.torch.AdamW(nets[1].parameters(), lr=rates[1], capturable=True)]
    train(list(zip(nets, optimizers)), 5)
    for rate in rates:
        rate.fill_(4e-3)
    train(list(zip(nets, optimizers)), 5, 5)
    assert apart(*nets) < 1e-6 and float(optimizers[1].state[nets[1][0].weight]["step"]) == 10


def test_layouts():
    start = torch.randn(4, 3, 5, 5).to(memory_format=torch.channels_last)
    params = [torch.nn.Parameter(start.clone()), torch.nn.Parameter(start.clone())]
    optimizers = [torch.optim.AdamW([params[0]]), quern.torch.AdamW([params[1]])]
    for step in range(4):
        gradient = torch.randn(4, 3, 5, 5)
        for param, optimizer in zip(params, optimizers):
            param.grad = gradient.clone() if step % 2 else gradient.to(memory_format=torch.channels_last)
            optimizer.step()
    assert (params[0] - params[1]).abs().max() < 1e-6
    turned = torch.nn.Parameter(params[1].detach().contiguous())
    other = quern.torch.AdamW([turned])
    other.load_state_dict(optimizers[1].state_dict())
    for param, optimizer in ((params[1], optimizers[1]), (turned, other)):
        param.grad = gradient.clone()
        optimizer.step()
    assert torch.equal(turned, params[1])
    gapped = torch.nn.Parameter(torch.randn(4, 8)[:, ::2])
    gapped.grad = torch.randn(4, 4)
    raises(ValueError, "the strides", quern.torch.AdamW([gapped]).step)
    table = torch.nn.Embedding(10, 4, sparse=True)
    table(torch.tensor([1, 2])).sum().backward()
    raises(NotImplementedError, "sparse gradients", quern.torch.AdamW(table.parameters()).step)


def test_storage_that_moves():
    nets = [model(), model()]
    optimizers = [torch.optim.AdamW(nets[0].parameters()), quern.torch.AdamW(nets[1].parameters())]
    for step in range(6):
        train(list(zip(nets, optimizers)), 1, step)
        for param in nets[1].parameters():
            param.data = param.data.clone()
    assert apart(*nets) < 1e-6


def test_states_of_other_optimizers():
    """A state that lacks something is completed, states of two layouts are two lists, and one of another shape is refused."""
    a = model(torch.bfloat16)
    theirs = torch.optim.AdamW(a.parameters())
    train([(a, theirs)], 3)
    saved = copy.deepcopy(theirs.state_dict())
    mine = quern.torch.AdamW(a.parameters(), master="fp32", amsgrad=True)
    mine.load_state_dict({**saved, "param_groups": mine.state_dict()["param_groups"]})
    train([(a, mine)], 2, 3)
    state = mine.state[a[0].weight]
    assert state["master"].dtype == torch.float32 and float(state["step"]) == 5 and state["max_exp_avg_sq"].any()
    mixed = quern.torch.AdamW(a.parameters(), state_dtype=torch.float32)
    half = {**saved, "state": {key: value for key, value in saved["state"].items() if key < 2},
            "param_groups": mixed.state_dict()["param_groups"]}
    for state in half["state"].values():
        state["step"] = torch.zeros(())      # so that the lists differ by their dtypes alone
    mixed.load_state_dict(copy.deepcopy(half))
    train([(a, mixed)], 1, 5)
    for param in list(a.parameters())[2:]:   # new: the first step leaves a tenth of the gradient
        assert worst(mixed.state[param]["exp_avg"], param.grad * 0.1) < 4e-3
    assert {mixed.state[param]["exp_avg"].dtype for param in a.parameters()} == {torch.bfloat16, torch.float32}
    half["state"][0]["exp_avg"] = torch.zeros(3)
    mixed.load_state_dict(half)
    raises(ValueError, "the state exp_avg has the shape [3]", train, [(a, mixed)], 1)


def test_arguments_of_adamw():
    params = list(model().parameters())
    raises(ValueError, "lr is -1", quern.torch.AdamW, params, lr=-1)
    raises(ValueError, "betas is", quern.torch.AdamW, params, betas=(0.9, 1.0))
    raises(ValueError, "master is 'bf16'", quern.torch.AdamW, params, master="bf16")
    raises(ValueError, "state_dtype is torch.int8", quern.torch.AdamW, params, state_dtype=torch.int8)


# ---- processes ----


def exchange(group, rank, size):
    """Random slices there, and the gradients back, against loops."""
    for seed in range(5):
        generator = torch.Generator().manual_seed(seed)
        sends = torch.randint(0, 4, (size, size), generator=generator)
        inputs, landing = sends.cumsum(1) - sends, sends.t().cumsum(1) - sends.t()
        outputs = landing.t()
        operands, bases, upstreams = (torch.randn(size, 16, 3, generator=generator) for _ in range(3))
        operand, base = operands[rank].clone().requires_grad_(), bases[rank].clone().requires_grad_()
        found = quern.torch.ragged_all_to_all(operand, base, inputs[rank], sends[rank], outputs[rank], sends.t()[rank], group=group)
        expected, d_operand, d_base = bases[rank].clone(), torch.zeros(16, 3), upstreams[rank].clone()
        for other in range(size):
            to, count, start = outputs[other, rank], sends[other, rank], inputs[other, rank]
            expected[to:to + count] = operands[other][start:start + count]
            d_base[to:to + count] = 0
            to, count, start = outputs[rank, other], sends[rank, other], inputs[rank, other]
            d_operand[start:start + count] = upstreams[other][to:to + count]
        apart = torch.empty(3, 16).t().copy_(base.detach())   # with the rows side by side
        again = quern.torch.ragged_all_to_all(operand.detach(), apart, inputs[rank], sends[rank], outputs[rank], sends.t()[rank],
                                              group=group)
        assert torch.equal(again, expected)
        (found * upstreams[rank]).sum().backward()
        assert torch.equal(found, expected) and torch.equal(operand.grad, d_operand) and torch.equal(base.grad, d_base)
    wrong = sends.clone()
    wrong[0, 1] += 1
    raises(ConnectionError, "sender 0, receiver 1", quern.torch.ragged_all_to_all, operand.detach(), base.detach(), inputs[rank],
           wrong[rank], outputs[rank], sends.t()[rank], group=group)


def shards(rank, size):
    """DDP and FSDP2 with either optimizer."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    plain = [model(), model()]
    wrapped = [torch.nn.parallel.DistributedDataParallel(net) for net in plain]
    split = [fully_shard(model(), mesh=init_device_mesh("cpu", (size,))) for _ in range(2)]
    for nets, local in ((wrapped, lambda p: p), (split, lambda p: p.to_local())):
        optimizers = [kind(net.parameters()) for kind, net in zip((torch.optim.AdamW, quern.torch.AdamW), nets)]
        for step in range(20):
            x = batch(step * size + rank)
            for net, optimizer in zip(nets, optimizers):
                optimizer.zero_grad()
                net(x).pow(2).sum().backward()
                optimizer.step()
        for p, q in zip(nets[0].parameters(), nets[1].parameters()):
            assert not local(p).numel() or (local(p) - local(q)).abs().max() < 1e-5


def process(rank, size, file):
    import torch.distributed
    torch.distributed.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=size)
    shards(rank, size)
    with quern.torch.Group() as group:
        group.barrier()
        exchange(group, rank, size)
    torch.distributed.destroy_process_group()


def test_processes():
    only_cpu()
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(process, (2, os.path.join(folder, "store")), 2)


class Losses(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        logits, labels = case(seed=index)
        return quern.torch.cross_entropy(logits.detach(), labels)


def test_workers_of_a_data_loader():
    only_cpu()
    quern.torch.cross_entropy(*case())
    expected = torch.stack([Losses()[index] for index in range(8)])
    for method in ("fork", "spawn"):
        loader = torch.utils.data.DataLoader(Losses(), batch_size=2, num_workers=2, multiprocessing_context=method)
        assert torch.equal(torch.cat(list(loader)), expected), method


def test_snippets_of_the_document():
    run_snippets("quern.torch", 1)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
