"""A small GPT in JAX.  Three lines, marked below, make the loss and the optimizer Quern's; --plain runs it without them.

    pip install jax optax quern_kernels-*.whl
    python examples/python/gpt_jax.py
"""
import time

import jax
import jax.numpy as jnp
import optax
import quern.jax                                                # 1
from text import BATCH, HEADS, LAYERS, LENGTH, WIDTH, arguments, batches, peak_mb, tokens


def initial(vocab):
    keys = iter(jax.random.split(jax.random.key(0), 64))
    matrix = lambda *shape: jax.random.normal(next(keys), shape) * shape[0] ** -0.5  # noqa: E731
    norm = lambda: {"scale": jnp.ones(WIDTH), "shift": jnp.zeros(WIDTH)}  # noqa: E731
    block = lambda: {"qkv": matrix(WIDTH, 3 * WIDTH), "out": matrix(WIDTH, WIDTH), "up": matrix(WIDTH, 4 * WIDTH),  # noqa: E731
                     "down": matrix(4 * WIDTH, WIDTH), "norms": [norm(), norm()]}
    return {"tokens": matrix(vocab, WIDTH) * vocab**0.5, "places": matrix(LENGTH, WIDTH), "blocks": [block() for _ in range(LAYERS)],
            "norm": norm(), "head": matrix(WIDTH, vocab)}


def normalized(x, norm):
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-5) * norm["scale"] + norm["shift"]


def attention(x, block):
    q, k, v = jnp.moveaxis((x @ block["qkv"]).reshape(*x.shape[:2], 3, HEADS, -1), 2, 0)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1] ** -0.5
    weights = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -1e9))
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(x.shape) @ block["out"]


def logits_of(params, inputs):
    x = params["tokens"][inputs] + params["places"]
    for block in params["blocks"]:
        x = x + attention(normalized(x, block["norms"][0]), block)
        x = x + jax.nn.gelu(normalized(x, block["norms"][1]) @ block["up"]) @ block["down"]
    return normalized(x, params["norm"]) @ params["head"]


def main():
    options = arguments(__doc__.split("\n")[0])
    numbers, vocab = tokens(options.text)
    params = initial(vocab)
    if options.plain:
        optimizer = optax.adamw(1e-3, weight_decay=0.01)
        loss_of = lambda logits, labels: optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()  # noqa: E731
    else:
        optimizer = quern.jax.adamw(1e-3, weight_decay=0.01)    # 2
        loss_of = quern.jax.cross_entropy                       # 3

    def step(params, state, inputs, labels):
        loss, grads = jax.value_and_grad(lambda given: loss_of(logits_of(given, inputs), labels))(params)
        if hasattr(optimizer, "step"):
            return *optimizer.step(grads, state, params), loss
        changes, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, changes), state, loss

    step, state = jax.jit(step, donate_argnums=(0, 1)), optimizer.init(params)
    began = None
    for number, (inputs, labels) in enumerate(batches(numbers, options.steps)):
        params, state, loss = step(params, state, inputs, labels)
        if began is None:
            loss.block_until_ready()
            began = time.perf_counter()   # the first step is compiled
        elif number % 20 == 19:
            rate = number * BATCH * LENGTH / (loss.block_until_ready() is not None and time.perf_counter() - began)
            print(f"step {number + 1}: loss {loss.item():.4f}, {rate:,.0f} tokens/s, {peak_mb()} MB", flush=True)


if __name__ == "__main__":
    main()
