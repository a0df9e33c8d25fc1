"""quern.numpy against float64."""
from __future__ import annotations

import sys

import numpy

import quern
import quern.numpy
from harness import Skip, main, raises, run_snippets

random = numpy.random.default_rng(7)


def oracle(logits, labels, weight=None, smoothing=0.0, z_loss=0.0, softcap=0.0, ignore=-100):
    """Loss of each row, its derivative by the logits, and the divisor of the mean, in float64."""
    x = logits.astype(numpy.float64)
    y = softcap * numpy.tanh(x / softcap) if softcap else x
    weights = numpy.ones(x.shape[1]) if weight is None else weight.astype(numpy.float64)
    lse = numpy.log(numpy.exp(y - y.max(1, keepdims=True)).sum(1)) + y.max(1)
    probability = numpy.exp(y - lse[:, None])
    counted = labels != ignore
    hot = numpy.zeros_like(y)
    hot[numpy.arange(len(labels))[counted], labels[counted]] = 1
    terms = (1 - smoothing) * hot * weights + smoothing / x.shape[1] * weights
    loss = (terms * (lse[:, None] - y)).sum(1) + z_loss * lse**2
    gradient = terms.sum(1)[:, None] * probability - terms + 2 * z_loss * lse[:, None] * probability
    if softcap:
        gradient *= 1 - (y / softcap) ** 2
    return loss * counted, gradient * counted[:, None], (hot * weights).sum(), lse


def case(rows=37, vocab=211, dtype=numpy.float32):
    labels = random.integers(0, vocab, rows)
    labels[::9] = -100
    return (random.normal(size=(rows, vocab)) * 3).astype(dtype), labels


def near(found, expected, tolerance):
    worst = numpy.abs(numpy.asarray(found, numpy.float64) - expected).max() / max(1e-30, numpy.abs(expected).max())
    assert worst <= tolerance, f"{worst} of the largest value: expected at most {tolerance}"


def test_cross_entropy_with_all_options():
    for dtype, tolerance in ((numpy.float32, 1e-6), (numpy.float16, 1e-3)):
        for options in ({}, {"label_smoothing": 0.2}, {"z_loss": 0.01}, {"softcap": 5.0}, {"weight": random.random(211)},
                        {"weight": random.random(211), "label_smoothing": 0.1, "z_loss": 0.02, "softcap": 8.0}):
            logits, labels = case(dtype=dtype)
            names = {"weight": "weight", "label_smoothing": "smoothing", "z_loss": "z_loss", "softcap": "softcap"}
            given = {names[name]: value if name != "weight" else value.astype(numpy.float32) for name, value in options.items()}
            loss, gradient, divisor, lse = oracle(logits, labels, **given)
            totals = (("none", 1.0, loss), ("sum", 1.0, loss.sum()), ("mean", 1 / divisor, loss.sum() / divisor))
            for reduction, factor, total in totals:
                found = quern.numpy.cross_entropy(logits, labels, reduction=reduction, grad=True, outputs=True, **options)
                near(found.loss, total, 2e-6)
                near(found.grad, gradient * factor, tolerance)
                near(found.lse[labels >= 0], lse[labels >= 0], 1e-6)
            assert (found.argmax[labels >= 0] == logits.argmax(1)[labels >= 0]).all()


def test_upstream_gradient():
    logits, labels = case()
    _, gradient, _, _ = oracle(logits, labels)
    rows = random.normal(size=len(labels))
    near(quern.numpy.cross_entropy(logits, labels, reduction="none", grad=True, grad_loss=rows).grad,
         gradient * rows.astype(numpy.float32)[:, None], 1e-6)
    near(quern.numpy.cross_entropy(logits, labels, reduction="sum", grad=True, grad_loss=-2.5).grad, gradient * -2.5, 1e-6)


def test_policy_gradient():
    """Upstream gradients of log_prob and of the entropy, at a temperature for each row, by the formulas in float64."""
    logits, labels = case()
    inverse, of_log_prob, of_entropy = (random.random(len(labels)).astype(numpy.float32) + 0.5 for _ in range(3))
    y = logits.astype(numpy.float64) * inverse[:, None]
    log_p = y - numpy.log(numpy.exp(y).sum(1, keepdims=True))
    p, counted = numpy.exp(log_p), labels >= 0
    entropy = -(p * log_p).sum(1)
    hot = numpy.zeros_like(p)
    hot[counted, labels[counted]] = 1
    gradient = (of_log_prob[:, None] * (hot - p) - of_entropy[:, None] * p * (log_p + entropy[:, None])) * inverse[:, None]
    found = quern.numpy.cross_entropy(logits, labels, inverse_temperature=inverse, grad_loss=0.0, grad_log_prob=of_log_prob,
                                      grad_entropy=of_entropy, grad=True, outputs=True)
    near(found.entropy, entropy * counted, 1e-6)
    near(found.grad, gradient * counted[:, None], 1e-6)
    same = quern.numpy.cross_entropy(logits, labels, inverse_temperature=0.5, outputs=True)
    near(same.lse, quern.numpy.cross_entropy(logits * numpy.float32(0.5), labels, outputs=True).lse, 1e-6)


def test_portable_bits():
    """Near the others, and a row alone has the same."""
    logits, labels = case()
    options = {"reduction": "none", "grad": True, "outputs": True}
    found, other = (quern.numpy.cross_entropy(logits, labels, portable=portable, **options) for portable in (True, False))
    assert (found.argmax == other.argmax).all()
    near(found.entropy, other.entropy, 1e-6)
    near(found.loss, other.loss, 1e-6)
    near(found.grad, other.grad, 1e-6)
    for row in range(len(labels)):
        alone = quern.numpy.cross_entropy(logits[row:row + 1], labels[row:row + 1], portable=True, **options)
        for name in ("loss", "grad", "lse", "log_prob", "entropy"):
            assert getattr(alone, name).tobytes() == getattr(found, name)[row:row + 1].tobytes(), name
    raises(NotImplementedError, "softcap", quern.numpy.cross_entropy, logits, labels, softcap=5.0, portable=True)


def test_in_place_and_leading_dimensions():
    logits, labels = case(36)
    expected = quern.numpy.cross_entropy(logits, labels, grad=True)
    shaped = logits.reshape(4, 9, -1).copy()
    found = quern.numpy.cross_entropy(shaped, labels.reshape(4, 9), inplace=True)
    assert found.grad is shaped and (shaped.reshape(36, -1) == expected.grad).all() and found.loss == expected.loss


def test_bfloat16():
    try:
        import ml_dtypes
    except ImportError:
        raise Skip("ml_dtypes is not installed") from None
    logits, labels = case(dtype=ml_dtypes.bfloat16)
    loss, gradient, _, _ = oracle(logits, labels)
    found = quern.numpy.cross_entropy(logits, labels, reduction="sum", grad=True)
    near(found.loss, loss.sum(), 2e-6)
    near(found.grad, gradient, 4e-3)
    values, inverse = quern.numpy.quantize(logits)
    near(values.astype(numpy.float64) * inverse, logits.astype(numpy.float64), 0.04)


def test_adamw():
    shapes = [(3, 5), (1,), (0,), (700,)]
    params, first, second, grads = ([random.normal(size=shape).astype(numpy.float32) for shape in shapes] for _ in range(4))
    first, second = ([numpy.zeros_like(param) for param in params] for _ in range(2))
    wanted = [(param.astype(numpy.float64), 0.0, 0.0) for param in params]
    for step in range(1, 8):
        grads = [random.normal(size=shape).astype(numpy.float32) for shape in shapes]
        quern.numpy.adamw(params, grads, first, second, step=step, lr=0.01, weight_decay=0.1)
        for i, grad in enumerate(grads):
            p, m, v = wanted[i]
            g = grad.astype(numpy.float64)
            m, v = m + 0.1 * (g - m), v + 0.001 * (g * g - v)
            p = p - 0.01 * 0.1 * p - 0.01 * (m / (1 - 0.9**step)) / (numpy.sqrt(v / (1 - 0.999**step)) + 1e-8)
            wanted[i] = p, m, v
    for param, (p, _, _) in zip(params, wanted):
        assert param.size == 0 or numpy.abs(param - p).max() < 1e-6


def test_quantize():
    x = random.normal(size=(30, 7)).astype(numpy.float32)
    values, inverse = quern.numpy.quantize(x)
    scale = numpy.float32(448) / numpy.abs(x).max()
    assert abs(inverse * scale - 1) < 1e-6
    near(numpy.asarray(values.view(numpy.uint8)).view(numpy.uint8).shape, x.shape, 0)


def test_errors():
    logits, labels = case()
    call = quern.numpy.cross_entropy
    raises(ValueError, "labels has the shape (3,)", call, logits, labels[:3])
    raises(ValueError, "args.labels[", call, logits, labels + 300)
    raises(ValueError, "logits has float64", call, logits.astype(float), labels)
    raises(ValueError, "weight has the shape (2,)", call, logits, labels, numpy.ones(2))
    raises(ValueError, "args.label_smoothing", call, logits, labels, label_smoothing=2.0)
    raises(ValueError, "reduction is 'all'", call, logits, labels, reduction="all")
    raises(ValueError, "logits is written", call, logits[:, ::2], labels, inplace=True)
    raises(ValueError, "args.step is 0", quern.numpy.adamw, [logits], [logits.copy()], [logits * 0], [logits * 0], step=0)
    raises(ValueError, "masters[0] has float16", quern.numpy.adamw, *([logits.astype(numpy.float16)] for _ in range(4)), step=1,
           masters=[logits.astype(numpy.float16)])
    raises(ValueError, "the lists differ in length", quern.numpy.adamw, [logits], [], [], [], step=1)


def test_snippets_of_the_document():
    run_snippets("quern.numpy", 1)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
