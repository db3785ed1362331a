"""A small transformer that learns to write like Python's manual, letter by letter.

The text is the help text of the language: the topics of the module pydoc_data. Embeddings, attention, norms and dense
layers are comprehensions, with the interface of flax.nnx.
"""

import time
from pydoc_data.topics import topics

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from tqdm import tqdm

import tcjax.nn as tnn

LETTERS = "\n" + "".join(map(chr, range(32, 127)))
CONTEXT = 48


class Block(nnx.Module):
    """Attention to what stands before, then a network for each place."""

    def __init__(self, width: int, heads: int, rngs: nnx.Rngs) -> None:
        self.before_attention = tnn.RMSNorm(width, rngs=rngs)
        self.attention = tnn.MultiHeadAttention(heads, width, use_bias=False, decode=False, rngs=rngs)
        self.before_network = tnn.RMSNorm(width, rngs=rngs)
        self.up = tnn.Linear(width, 4 * width, rngs=rngs)
        self.down = tnn.Linear(4 * width, width, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        x = x + self.attention(self.before_attention(x), is_causal=True)
        return x + self.down(nnx.gelu(self.up(self.before_network(x))))


class Writer(nnx.Module):
    """What letter comes next, as logits ``(B, T, letters)`` for letters ``(B, T)``."""

    def __init__(self, width: int, heads: int, depth: int, rngs: nnx.Rngs) -> None:
        self.letters = tnn.Embed(len(LETTERS), width, rngs=rngs)
        # Adds a vector for each place: the formula reads only as many as the text is long.
        self.places = tnn.Comprehension(
            "y(b,t,d) = x(b,t,d) + place(t,d) where t in 0:x.1",
            params={"place": nnx.initializers.normal(0.02)},
            sizes={"place": (CONTEXT, width)},
            rngs=rngs,
        )
        self.blocks = nnx.List([Block(width, heads, rngs) for _ in range(depth)])
        self.last = tnn.LayerNorm(width, rngs=rngs)

    def __call__(self, letters: jax.Array) -> jax.Array:
        x = self.places(self.letters(letters))
        for block in self.blocks:
            x = block(x)
        return self.letters.attend(self.last(x))


def loss(writer: Writer, letters: jax.Array) -> jax.Array:
    """The mean surprise, in nats a letter."""
    logits = writer(letters[:, :-1])
    return optax.softmax_cross_entropy_with_integer_labels(logits, letters[:, 1:]).mean()


@nnx.jit
def step(writer: Writer, optimizer: nnx.Optimizer, letters: jax.Array) -> None:
    optimizer.update(writer, nnx.grad(loss)(writer, letters))


@nnx.jit
def next_letter(writer: Writer, letters: jax.Array, length: jax.Array, key: jax.Array) -> jax.Array:
    return jax.random.categorical(key, writer(letters)[0, length - 1] / 0.7)


def write(writer: Writer, start: str, count: int) -> str:
    """The text, continued by so many letters."""
    written = [LETTERS.index(letter) for letter in start]
    for key in jax.random.split(jax.random.key(1), count):
        seen = written[-CONTEXT:]
        letters = jnp.zeros((1, CONTEXT), jnp.int32).at[0, : len(seen)].set(jnp.array(seen))
        written.append(int(next_letter(writer, letters, jnp.int32(len(seen)), key)))
    return "".join(LETTERS[number] for number in written)


def main(steps: int = 400, width: int = 64, heads: int = 4, depth: int = 2, batch: int = 32) -> tuple[float, float]:
    """Trains, prints what it writes, and returns the loss on text to be tested on, before and after."""
    numbers = {letter: number for number, letter in enumerate(LETTERS)}
    manual = np.array([numbers.get(letter, 1) for topic in sorted(topics) for letter in topics[topic]], np.int32)
    split = 9 * len(manual) // 10
    learned, tested = manual[:split], manual[split:]
    sample = np.random.default_rng(0)

    def some(text: np.ndarray, count: int) -> np.ndarray:
        return text[sample.integers(0, len(text) - CONTEXT - 1, count)[:, None] + np.arange(CONTEXT + 1)]

    test = jnp.asarray(some(tested, 128))
    writer = Writer(width, heads, depth, nnx.Rngs(0))
    schedule = optax.warmup_cosine_decay_schedule(0.0, 5e-3, steps // 10, steps)
    optimizer = nnx.Optimizer(writer, optax.adamw(schedule, weight_decay=0.01), wrt=nnx.Param)
    measure = nnx.jit(loss)
    before, start = float(measure(writer, test)), time.perf_counter()
    for _ in tqdm(range(steps), unit="step"):
        step(writer, optimizer, jnp.asarray(some(learned, batch)))
    after = float(measure(writer, test))
    print(f"{before:.2f} nats a letter before, {after:.2f} after {time.perf_counter() - start:.0f} s\n")
    print(write(writer, "The ", 200 if steps > 100 else 5))
    return before, after


if __name__ == "__main__":
    before, after = main()
    assert after < 2.4 < before
