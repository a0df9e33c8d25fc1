"""quern.jax against jax.nn, optax and loops of NumPy, on four CPU devices."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import jax  # noqa: E402
import jaxlib  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy  # noqa: E402
import optax  # noqa: E402
from jax.sharding import Mesh, PartitionSpec as P  # noqa: E402

import quern.jax  # noqa: E402
from harness import Skip, main, raises, run_snippets  # noqa: E402

try:
    from jax import shard_map
except ImportError:
    from jax.experimental.shard_map import shard_map

random = numpy.random.default_rng(3)
RANKS = 4


def mesh(*names, shape=None):
    return Mesh(numpy.array(jax.devices()).reshape(shape or (RANKS,)), names)


def case(rows=24, vocab=80, dtype=jnp.float32):
    labels = random.integers(0, vocab, rows)
    labels[::5] = -100
    return jnp.asarray(random.normal(size=(rows, vocab)) * 3, dtype), jnp.asarray(labels, jnp.int32)


def plain(logits, labels, smoothing=0.0, z_loss=0.0):
    """The mean loss by jax's own functions."""
    x = logits.astype(jnp.float32)
    lse = jax.nn.logsumexp(x, axis=-1)
    counted = labels >= 0
    hit = jnp.take_along_axis(x, jnp.where(counted, labels, 0)[..., None], -1)[..., 0]
    loss = (1 - smoothing) * (lse - hit) + smoothing * (lse - x.mean(-1)) + z_loss * lse**2
    return jnp.sum(jnp.where(counted, loss, 0)) / jnp.sum(counted)


def near(found, expected, tolerance):
    found, expected = (numpy.asarray(each, numpy.float64) for each in (found, expected))
    worst = numpy.abs(found - expected).max() / max(1e-30, numpy.abs(expected).max())
    assert worst <= tolerance, f"{worst} of the largest value: expected at most {tolerance}"


def test_loss_and_gradient():
    for dtype, tolerance in ((jnp.float32, 1e-6), (jnp.bfloat16, 8e-3), (jnp.float16, 2e-3)):
        for options in ({}, {"smoothing": 0.1}, {"z_loss": 0.01}):
            logits, labels = case(dtype=dtype)
            given = {"label_smoothing" if name == "smoothing" else name: value for name, value in options.items()}
            mine = jax.jit(jax.value_and_grad(lambda x: quern.jax.cross_entropy(x, labels, **given) * 3))(logits)
            theirs = jax.value_and_grad(lambda x: plain(x, labels, **options) * 3)(logits)
            near(mine[0], theirs[0], 2e-6)
            near(mine[1], theirs[1], tolerance)


def test_vmap_and_leading_dimensions():
    pairs = [case() for _ in range(6)]
    logits, labels = (jnp.stack(each) for each in zip(*pairs))
    mapped = jax.vmap(jax.value_and_grad(quern.jax.cross_entropy))(logits, labels)
    for i, pair in enumerate(pairs):
        loss, gradient = jax.value_and_grad(quern.jax.cross_entropy)(*pair)
        assert mapped[0][i] == loss and (mapped[1][i] == gradient).all()
    rows = quern.jax.cross_entropy(logits, labels, reduction="none")
    assert rows.shape == labels.shape
    near(rows.sum(), quern.jax.cross_entropy(logits, labels, reduction="sum"), 1e-6)


def test_outputs():
    logits, labels = case()
    loss, outputs = quern.jax.cross_entropy(logits, labels, outputs=True)
    counted = numpy.asarray(labels) >= 0
    near(outputs.lse[counted], jax.nn.logsumexp(logits, -1)[counted], 1e-6)
    near(outputs.log_prob[counted], jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1)[:, 0][counted], 1e-6)
    probability = jax.nn.softmax(logits)
    near(outputs.entropy[counted], -(probability * jnp.log(probability)).sum(-1)[counted], 1e-5)


def test_errors():
    logits, labels = case()
    call, wait = quern.jax.cross_entropy, jax.block_until_ready
    raises(Exception, "args.labels[1]", lambda: wait(call(logits, labels + 100)))
    raises(ValueError, "labels has the shape (3,)", call, logits, labels[:3])
    raises(ValueError, "reduction is 'all'", call, logits, labels, reduction="all")
    near(call(logits, jnp.where(labels < 0, 500, labels), strict=False), call(logits, labels), 0)
    raises(Exception, "QUERN_INVALID_DTYPE", lambda: wait(call(logits.astype(jnp.int32), labels)))


def test_vocab_over_devices():
    logits, labels = case()

    def divided(x, y):
        each = shard_map(lambda x, y: jax.lax.pmean(quern.jax.cross_entropy(x, y, axis_name="model", label_smoothing=0.1), "model"),
                         mesh=mesh("model"), in_specs=(P(None, "model"), P()), out_specs=P())
        return each(x, y)

    mine = jax.jit(jax.value_and_grad(divided))(logits, labels)
    whole = jax.value_and_grad(lambda x: quern.jax.cross_entropy(x, labels, label_smoothing=0.1))(logits)
    near(mine[0], whole[0], 1e-6)
    near(mine[1], whole[1], 1e-6)


def test_rows_over_devices():
    logits, labels = case()

    def divided(x, y):
        return shard_map(lambda x, y: jax.lax.psum(quern.jax.cross_entropy(x, y, reduction="sum"), "data"), mesh=mesh("data"),
                         in_specs=(P("data"), P("data")), out_specs=P())(x, y)

    mine = jax.jit(jax.value_and_grad(divided))(logits, labels)
    whole = jax.value_and_grad(lambda x: quern.jax.cross_entropy(x, labels, reduction="sum"))(logits)
    near(mine[0], whole[0], 1e-6)
    near(mine[1], whole[1], 0)


# ---- AdamW ----


def tree(dtype):
    state = numpy.random.default_rng(1)
    return {"a": jnp.asarray(state.normal(size=(13, 7)), dtype),
            "b": [jnp.asarray(state.normal(size=(5,)), jnp.float32), jnp.zeros((0,), dtype)]}


def gradients(params, step):
    return jax.tree_util.tree_map(lambda leaf: jnp.sin(leaf * 3 + step).astype(leaf.dtype), params)


def far(a, b):
    return max((float(jnp.abs(x.astype(jnp.float32) - y.astype(jnp.float32)).max(initial=0))
                for x, y in zip(*map(jax.tree_util.tree_leaves, (a, b)))))


def test_adamw_is_that_of_optax():
    rate = optax.linear_schedule(1e-2, 1e-3, 10)
    theirs, mine = optax.adamw(rate, weight_decay=0.1), quern.jax.adamw(rate, weight_decay=0.1)
    params = [tree(jnp.float32) for _ in range(3)]
    states = [theirs.init(params[0]), mine.init(params[1]), mine.init(params[2])]
    update, step = jax.jit(mine.update), jax.jit(mine.step, donate_argnums=(1, 2))
    for number in range(12):
        given = gradients(params[0], number)
        changes, states[0] = theirs.update(given, states[0], params[0])
        params[0] = optax.apply_updates(params[0], changes)
        changes, states[1] = update(given, states[1], params[1])
        params[1] = optax.apply_updates(params[1], changes)
        params[2], states[2] = step(given, states[2], params[2])
    assert far(params[0], params[1]) < 2e-6 and far(params[0], params[2]) < 2e-6
    raises(ValueError, "adamw needs params", mine.update, given, states[1])


def test_adamw_in_a_chain():
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), quern.jax.adamw(1e-2))
    other = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-2))
    params, kept = tree(jnp.float32), tree(jnp.float32)
    state, rest = optimizer.init(params), other.init(kept)
    for number in range(3):
        changes, state = optimizer.update(gradients(kept, number), state, params)
        wanted, rest = other.update(gradients(kept, number), rest, kept)
        params, kept = optax.apply_updates(params, changes), optax.apply_updates(kept, wanted)
    assert far(params, kept) < 2e-6


def test_adamw_of_bfloat16():
    """The mean of many stochastic roundings is near the step of fp32, and a seed repeats."""
    optimizers = [quern.jax.adamw(1e-2, seed=seed) for seed in (1, 1, 2)]
    start = jnp.ones((4000,), jnp.bfloat16)
    ends = [jax.jit(each.step)(start * 0 + 1, each.init(start), start)[0] for each in optimizers]
    assert (ends[0] == ends[1]).all() and not (ends[0] == ends[2]).all()
    near(ends[0].astype(jnp.float32).mean(), 1 - 0.01 - 0.01 * 1e-4, 1e-3)


# ---- ragged all-to-all ----


def slices(seed, ranks=RANKS, updates=1, rows=24, width=3):
    state = numpy.random.default_rng(seed)
    sends = state.integers(0, 3, (ranks, ranks, updates))

    def starts(sizes):
        flat = sizes.reshape(ranks, -1)
        return (flat.cumsum(1) - flat).reshape(sizes.shape)

    receives = sends.swapaxes(0, 1).copy()
    outputs = starts(receives).swapaxes(0, 1)
    numbers = [each.reshape(ranks, -1).astype(numpy.int32) for each in (starts(sends), sends, outputs, receives)]
    operand, output = (state.normal(size=(ranks, rows, width)).astype(numpy.float32) for _ in range(2))
    return operand, output, *numbers


def loops(operand, output, inputs, sends, outputs, receives):
    result, updates = output.copy(), sends.shape[1] // len(operand)
    for sender in range(len(operand)):
        for i in range(sends.shape[1]):
            start, count, to = inputs[sender, i], sends[sender, i], outputs[sender, i]
            result[i // updates, to:to + count] = operand[sender, start:start + count]
    return result


def exchange(*arguments, over=None, axis="x", timeout=None):
    def one(*given):
        return quern.jax.ragged_all_to_all(*(each[0] for each in given), axis_name=axis, timeout=timeout)[None]

    over = over or mesh("x")
    spec = P(tuple(over.axis_names))
    return shard_map(one, mesh=over, in_specs=(spec,) * 6, out_specs=spec)(*arguments)


def test_ragged_all_to_all():
    for updates in (1, 3):
        run = jax.jit(exchange)
        for seed in range(40):
            given = slices(seed, updates=updates)
            assert (numpy.asarray(run(*given)) == loops(*given)).all(), seed


def test_ragged_all_to_all_of_some_devices():
    """An axis of a mesh with two: each pair of devices is a group."""
    halves = [slices(seed, ranks=2) for seed in (1, 2)]
    given = [numpy.concatenate(each) for each in zip(*halves)]
    found = jax.jit(lambda *a: exchange(*a, over=mesh("y", "x", shape=(2, 2))))(*given)
    assert (numpy.asarray(found) == numpy.concatenate([loops(*each) for each in halves])).all()


def test_ragged_all_to_all_of_other_dtypes():
    for dtype in (jnp.bfloat16, jnp.int32, jnp.int8):
        operand, output, *numbers = slices(5)
        given = (jnp.asarray(operand * 9, dtype), jnp.asarray(output * 9, dtype), *numbers)
        expected = loops(numpy.asarray(given[0]), numpy.asarray(given[1]), *numbers)
        assert (numpy.asarray(jax.jit(exchange)(*given)) == expected).all()


def test_gradients_of_ragged_all_to_all():
    operand, output, *numbers = slices(9)
    weights = random.normal(size=output.shape).astype(numpy.float32)
    found = jax.jit(jax.grad(lambda *both: (exchange(*both, *numbers) * weights).sum(), argnums=(0, 1)))(operand, output)
    marks = loops(numpy.zeros_like(operand), numpy.ones_like(output), *numbers)
    back = loops(weights, numpy.zeros_like(operand), *(
        each.reshape(RANKS, RANKS).T.copy() for each in (numbers[2], numbers[1], numbers[0], numbers[3])))
    assert (numpy.asarray(found[0]) == back).all() and (numpy.asarray(found[1]) == weights * marks).all()


def test_two_threads():
    """Old versions of XLA may run two launches at once, and have no thread for all of their calls: never a wrong result."""
    if jaxlib.version.__version_info__ < (0, 5, 3):
        raise Skip("this jaxlib does not tell launches apart")
    run, cases = jax.jit(partial(exchange, timeout=2.0)), [slices(seed) for seed in range(10)]
    wanted, wrong = [loops(*given) for given in cases], []

    def work(first):
        for i in range(first, first + 60):
            try:
                if not (numpy.asarray(run(*cases[i % 10])) == wanted[i % 10]).all():
                    wrong.append(i)
            except Exception as failure:
                if "XLA has not run" not in str(failure):
                    wrong.append(failure)

    threads = [threading.Thread(target=work, args=(first,)) for first in (0, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong
    assert (numpy.asarray(run(*cases[0])) == wanted[0]).all()


def alone_overlapping_slices():
    operand, output, inputs, sends, outputs, receives = slices(9)
    sends[:], receives[:] = 1, 1
    inputs[:] = 0
    outputs[:] = numpy.arange(RANKS)[:, None]
    run = jax.jit(jax.grad(lambda x: exchange(x, output, inputs, sends, outputs, receives).sum()))
    raises(Exception, "is also written by", lambda: jax.block_until_ready(run(operand)))


def alone_sizes_that_contradict_each_other():
    given = list(slices(7))
    given[3][1, 2] += 1
    raises(Exception, "sender 1, receiver 2", lambda: jax.block_until_ready(jax.jit(exchange)(*given)))


def test_failures():
    """Each in a process of its own: old versions of jax raise the error of a call with an effect again in the next one."""
    for name in ("alone_overlapping_slices", "alone_sizes_that_contradict_each_other"):
        done = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True)
        assert "as expected" in done.stdout, (name, done.stderr)


def test_layouts_of_the_interface():
    """The structs of xla_ffi.h against the header of this jaxlib, of which old ones are no C: the fields have the same places."""
    source = Path(__file__).resolve().parents[2] / "bindings/python/src"
    theirs = Path(jaxlib.__file__).parent / "include"
    header = list(theirs.glob("xla/ffi/api/c_api.*"))
    if not shutil.which("c++") or not header:
        raise Skip("no compiler of C++, or no header of XLA")
    pairs = (("api", "XLA_FFI_Api", "error_create", "XLA_FFI_Error_Create"), ("call", "XLA_FFI_CallFrame", "attributes", "attrs"),
             ("call", "XLA_FFI_CallFrame", "context", "ctx"), ("call", "XLA_FFI_CallFrame", "results", "rets"),
             ("buffer", "XLA_FFI_Buffer", "dims", "dims"), ("buffer", "XLA_FFI_Buffer", "data", "data"),
             ("buffers", "XLA_FFI_Args", "buffers", "args"), ("attributes", "XLA_FFI_Attrs", "values", "attrs"),
             ("attributes", "XLA_FFI_Attrs", "names", "names"), ("text", "XLA_FFI_ByteSpan", "length", "len"),
             ("scalar", "XLA_FFI_Scalar", "value", "value"), ("error_create", "XLA_FFI_Error_Create_Args", "code", "errc"),
             ("metadata", "XLA_FFI_Metadata", "traits", "traits"), ("metadata_extension", "XLA_FFI_Metadata_Extension", "metadata",
                                                                   "metadata"))
    if jaxlib.version.__version_info__ >= (0, 5, 3):
        pairs += (("api", "XLA_FFI_Api", "run_id_get", "XLA_FFI_RunId_Get"),
                  ("run_id_get", "XLA_FFI_RunId_Get_Args", "run_id", "run_id"))
    rules = [f'static_assert(offsetof(struct xla_{mine}, {field}) == offsetof({other}, {its}), "{mine}.{field}");'
             for mine, other, field, its in pairs]
    code = f'#include "xla_ffi.h"\n#include "{header[0].relative_to(theirs)}"\n' + "\n".join(rules)
    done = subprocess.run(["c++", "-std=c++17", "-fsyntax-only", "-x", "c++", f"-I{source}", f"-I{theirs}", "-"], input=code,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_snippets_of_the_document():
    run_snippets("quern.jax", 2)


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1].startswith("alone_"):
        globals()[sys.argv[1]]()
        print("as expected", flush=True)
        os._exit(0)   # jax shows the error once more at the exit
    sys.exit(main(sys.modules[__name__]))
