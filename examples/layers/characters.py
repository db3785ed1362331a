"""A character-level transformer that learns to write like Python's manual.

    python examples/layers/characters.py                                  train a small model and sample from it
    python examples/layers/characters.py --size medium --checkpoints out/steps
    python examples/layers/characters.py --size medium --checkpoints out/steps --resume
    python examples/layers/characters.py --compare                        compare with the same model in plain Flax

The training text is Python's own help text, from the module pydoc_data. Embeddings, attention, norms and dense layers
are comprehensions with the interface of flax.nnx; `--plain` builds the same model from Flax's own layers. Parameters
are float32, and the layers compute in `--dtype`. Gradient checkpointing (`nnx.remat`) keeps only the input of each
block. A run that is continued with `--resume` ends with exactly the same parameters as an uninterrupted one.
"""

import argparse
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from pydoc_data.topics import topics
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as orbax
from flax import nnx
from tqdm import tqdm

import tcjax
import tcjax.nn as tnn

LETTERS = "\n" + "".join(map(chr, range(32, 127)))


@dataclass(frozen=True)
class Size:
    """The sizes of a model and of its batches, and the peak learning rate."""

    context: int
    width: int
    heads: int
    depth: int
    batch: int
    rate: float = 5e-3


SIZES = {
    "small": Size(context=48, width=64, heads=4, depth=2, batch=32),
    "medium": Size(context=256, width=192, heads=6, depth=4, batch=16, rate=2e-3),
    "large": Size(context=512, width=256, heads=8, depth=6, batch=8, rate=1e-3),
}

# The scores are not named, so tcjax need not store them: where they are large, it streams over them in blocks.
ATTENTION = """
def attention(query, key, value) -> (y) {
  norm(b,h,q) = logsumexp[k where k <= q](sum[d](float(query(b,q,h,d)) * float(key(b,k,h,d))) * scale)
  y(b,q,h,e) = dtype(sum[k where k <= q](
      exp(sum[d](float(query(b,q,h,d)) * float(key(b,k,h,d))) * scale - norm(b,h,q)) * float(value(b,k,h,e))))
}"""


@cache
def attention_kernel(depth: int, dtype: str) -> tcjax.Kernel:
    """Causal attention for queries, keys and values of shape ``(B, T, heads, depth)``."""
    # The language calls float32 `float`.
    return tcjax.kernel(ATTENTION.replace("dtype", dtype.replace("32", "")), consts={"scale": depth**-0.5})


def attention(query: jax.Array, key: jax.Array, value: jax.Array, *, dtype: Any, **options: Any) -> jax.Array:
    """The `attention_fn` of a causal `MultiHeadAttention` without masks or dropout."""
    if not options["is_causal"] or options["mask"] is not None or options["dropout_rate"]:
        raise NotImplementedError("this attention is causal and supports neither masks nor dropout")
    query, key, value = (array.astype(dtype) for array in (query, key, value))
    return attention_kernel(query.shape[-1], str(query.dtype))(query, key, value)


class Places(nnx.Module):
    """Position embeddings in plain Flax, like those of `places`."""

    def __init__(self, size: Size, rngs: nnx.Rngs) -> None:
        self.place = nnx.Param(nnx.initializers.normal(0.02)(rngs.params(), (size.context, size.width)))

    def __call__(self, x: jax.Array) -> jax.Array:
        return x + self.place[...][: x.shape[1]].astype(x.dtype)


def places(size: Size, dtype: Any, rngs: nnx.Rngs) -> tnn.Comprehension:
    """Position embeddings: adds a learned vector for each position up to the length of the text."""
    return tnn.Comprehension(
        "y(b,t,d) = x(b,t,d) + place(t,d) where t in 0:x.1",
        params={"place": nnx.initializers.normal(0.02)},
        sizes={"place": (size.context, size.width)},
        dtype=dtype,
        rngs=rngs,
    )


class Block(nnx.Module):
    """Causal self-attention, then a feed-forward network at each position."""

    def __init__(self, room: ModuleType, size: Size, attend: Callable[..., jax.Array], dtype: Any, rngs: nnx.Rngs):
        width, options = size.width, {"dtype": dtype, "rngs": rngs}
        self.before_attention = room.RMSNorm(width, **options)
        self.attention = room.MultiHeadAttention(
            size.heads, width, use_bias=False, decode=False, attention_fn=attend, **options
        )
        self.before_network = room.RMSNorm(width, **options)
        self.up = room.Linear(width, 4 * width, **options)
        self.down = room.Linear(4 * width, width, **options)

    def __call__(self, x: jax.Array) -> jax.Array:
        x = x + self.attention(self.before_attention(x), is_causal=True)
        return x + self.down(nnx.gelu(self.up(self.before_network(x))))


class Writer(nnx.Module):
    """Predicts the next character: logits ``(B, T, characters)`` for characters ``(B, T)``.

    Its layers are comprehensions, or those of Flax if `plain`. `attend` replaces the attention function.
    """

    def __init__(
        self,
        size: Size,
        dtype: Any = jnp.float32,
        *,
        plain: bool = False,
        attend: Callable[..., jax.Array] | None = None,
        seed: int = 0,
    ) -> None:
        rngs, room = nnx.Rngs(seed), nnx if plain else tnn
        attend = attend or (nnx.dot_product_attention if plain else attention)
        self.letters = room.Embed(len(LETTERS), size.width, dtype=dtype, rngs=rngs)
        self.places = Places(size, rngs) if plain else places(size, dtype, rngs)
        self.blocks = nnx.List([Block(room, size, attend, dtype, rngs) for _ in range(size.depth)])
        self.last = room.LayerNorm(size.width, dtype=dtype, rngs=rngs)

    def __call__(self, letters: jax.Array) -> jax.Array:
        x = self.places(self.letters(letters))
        for block in self.blocks:
            x = nnx.remat(Block.__call__)(block, x)
        return self.letters.attend(self.last(x)).astype(jnp.float32)


def loss(writer: Writer, letters: jax.Array) -> jax.Array:
    """The mean cross-entropy, in nats per character."""
    logits = writer(letters[:, :-1])
    return optax.softmax_cross_entropy_with_integer_labels(logits, letters[:, 1:]).mean()


class Training:
    """A model, its optimiser and the training step, compiled for batches of shape ``(B, T + 1)``."""

    def __init__(self, writer: Writer, size: Size, steps: int) -> None:
        schedule = optax.warmup_cosine_decay_schedule(0.0, size.rate, steps // 10, steps)
        self.writer = writer
        self.optimizer = nnx.Optimizer(writer, optax.adamw(schedule, weight_decay=0.01), wrt=nnx.Param)
        self.graph, self.state = nnx.split((self.writer, self.optimizer))
        self.done = 0

        def step(state: nnx.State, letters: jax.Array) -> tuple[nnx.State, jax.Array]:
            writer, optimizer = nnx.merge(self.graph, state)
            value, gradient = nnx.value_and_grad(loss)(writer, letters)
            optimizer.update(writer, gradient)
            return nnx.state((writer, optimizer)), value

        letters = jax.ShapeDtypeStruct((size.batch, size.context + 1), jnp.int32)
        self.compiled = jax.jit(step, donate_argnums=0).lower(self.state, letters).compile()

    @property
    def temporary_bytes(self) -> int:
        """The memory of a step besides parameters, optimiser state and batch, as reported by XLA."""
        memory: Any = self.compiled.memory_analysis()
        return memory.temp_size_in_bytes

    def step(self, letters: np.ndarray) -> float:
        """Trains on one batch; returns the loss before the update."""
        self.state, value = self.compiled(self.state, jnp.asarray(letters))
        self.done += 1
        return float(value)

    def trained(self) -> Writer:
        nnx.update((self.writer, self.optimizer), self.state)
        return self.writer

    def save(self, checkpoints: orbax.CheckpointManager) -> None:
        checkpoints.save(self.done, args=orbax.args.StandardSave(nnx.to_pure_dict(self.state)))
        # The next step donates these arrays.
        checkpoints.wait_until_finished()

    def restore(self, checkpoints: orbax.CheckpointManager) -> None:
        """Restores the latest checkpoint."""
        self.done = checkpoints.latest_step() or 0
        saved = checkpoints.restore(self.done, args=orbax.args.StandardRestore(nnx.to_pure_dict(self.state)))
        nnx.replace_by_pure_dict(self.state, saved)


class Manual:
    """The text as numbers: nine tenths for training, the rest for testing."""

    def __init__(self, context: int) -> None:
        numbers = {letter: number for number, letter in enumerate(LETTERS)}
        text = np.array([numbers.get(letter, 1) for topic in sorted(topics) for letter in topics[topic]], np.int32)
        self.context, self.split = context, 9 * len(text) // 10
        self.learned, self.tested = text[: self.split], text[self.split :]

    def batch(self, step: int, count: int) -> np.ndarray:
        """Random excerpts ``(count, context + 1)`` of the training text, the same for every run at a given step."""
        return self._some(self.learned, count, step)

    def test(self, count: int = 128) -> np.ndarray:
        return self._some(self.tested, count, 0)

    def _some(self, text: np.ndarray, count: int, seed: int) -> np.ndarray:
        starts = np.random.default_rng(seed).integers(0, len(text) - self.context - 1, count)
        return text[starts[:, None] + np.arange(self.context + 1)]


@nnx.jit
def next_letter(writer: Writer, letters: jax.Array, length: jax.Array, key: jax.Array) -> jax.Array:
    return jax.random.categorical(key, writer(letters)[0, length - 1] / 0.7)


def write(writer: Writer, context: int, start: str, count: int) -> str:
    """The start, continued by `count` sampled characters."""
    written = [LETTERS.index(letter) for letter in start]
    for key in jax.random.split(jax.random.key(1), count):
        seen = written[-context:]
        letters = jnp.zeros((1, context), jnp.int32).at[0, : len(seen)].set(jnp.array(seen))
        written.append(int(next_letter(writer, letters, jnp.int32(len(seen)), key)))
    return "".join(LETTERS[number] for number in written)


def train(
    size: Size = SIZES["small"],
    steps: int = 400,
    dtype: Any = jnp.float32,
    *,
    plain: bool = False,
    checkpoints: Path | None = None,
    resume: bool = False,
    until: int | None = None,
    every: int = 50,
) -> tuple[Training, list[float]]:
    """The trained model and the losses of this run; `until` stops early, as an interruption would."""
    manual = Manual(size.context)
    training = Training(Writer(size, dtype, plain=plain), size, steps)
    until = steps if until is None else until
    manager = None
    if checkpoints is not None:
        logging.getLogger("absl").setLevel(logging.ERROR)
        options = orbax.CheckpointManagerOptions(max_to_keep=2, create=True)
        manager = orbax.CheckpointManager(checkpoints.resolve(), options=options)
        if manager.latest_step() is not None:
            if not resume:
                raise SystemExit(f"{checkpoints} already has checkpoints: pass --resume, or choose another folder")
            training.restore(manager)
            print(f"resuming after step {training.done}")
    losses = []
    for number in tqdm(range(training.done, until), unit="step"):
        losses.append(training.step(manual.batch(number, size.batch)))
        if manager is not None and (training.done % every == 0 or training.done == until):
            training.save(manager)
    if manager is not None:
        manager.close()
    return training, losses


@dataclass(frozen=True)
class Comparison:
    """Losses, processor seconds and temporary bytes of three versions of the same model."""

    losses: dict[str, list[float]]
    seconds: dict[str, list[float]]
    temporary_bytes: dict[str, int]

    def apart(self, first: str, second: str) -> float:
        """The largest difference between their losses at the same step."""
        return max(abs(a - b) for a, b in zip(self.losses[first], self.losses[second], strict=True))

    def ratio(self, first: str = "comprehensions", second: str = "Flax") -> float:
        """The median ratio of processor times, step by step; the first step is left out."""
        return float(np.median([a / b for a, b in zip(self.seconds[first], self.seconds[second], strict=True)][1:]))


def exact_attention(query: jax.Array, key: jax.Array, value: jax.Array, *, dtype: Any, **_: Any) -> jax.Array:
    """Like `attention`, in plain JAX: computed in float32 and rounded to `dtype` at the end, unlike Flax's."""
    query, key, value = (array.astype(dtype).astype(jnp.float32) for array in (query, key, value))
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) * query.shape[-1] ** -0.5
    before = jnp.tri(*scores.shape[-2:], dtype=bool)
    weights = jax.nn.softmax(jnp.where(before, scores, -jnp.inf), axis=-1)
    return jnp.einsum("bhqk,bkhd->bqhd", weights, value).astype(dtype)


def compare(size: Size, steps: int, dtype: Any) -> Comparison:
    """Trains three models side by side: comprehensions, plain Flax, and Flax with `exact_attention`."""
    manual = Manual(size.context)
    writers = {
        "comprehensions": Writer(size, dtype),
        "Flax": Writer(size, dtype, plain=True),
        "Flax, float32 attention": Writer(size, dtype, plain=True, attend=exact_attention),
    }
    trainings = {name: Training(writer, size, steps) for name, writer in writers.items()}
    losses: dict[str, list[float]] = {name: [] for name in trainings}
    seconds: dict[str, list[float]] = {name: [] for name in trainings}
    for number in tqdm(range(steps), unit="step"):
        letters = manual.batch(number, size.batch)
        for name in list(trainings)[:: 1 if number % 2 else -1]:
            start = time.process_time()
            losses[name].append(trainings[name].step(letters))
            seconds[name].append(time.process_time() - start)
    return Comparison(losses, seconds, {name: training.temporary_bytes for name, training in trainings.items()})


def report(found: Comparison, picture: Path) -> None:
    """Prints a line for each model and plots their losses."""
    from matplotlib.figure import Figure

    for name, losses in found.losses.items():
        print(
            f"{name:24} loss {losses[-1]:.4f}, at most {found.apart(name, 'Flax'):.1e} from Flax; "
            f"time per step {found.ratio(name):.2f}x Flax, {found.temporary_bytes[name] / 2**20:.1f} MiB of temporaries"
        )
    figure = Figure((7, 4), layout="constrained")
    axes = figure.subplots()
    styles: tuple[dict[str, Any], ...] = (
        {"linewidth": 4, "alpha": 0.4},
        {"linewidth": 1.5},
        {"linewidth": 1, "linestyle": "--"},
    )
    for (name, losses), style in zip(found.losses.items(), styles, strict=True):
        axes.plot(losses, label=name, **style)
    axes.set(xlabel="step", ylabel="loss, nats per character")
    axes.legend()
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)
    print(f"wrote {picture}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Trains a transformer to write like Python's manual.")
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument(
        "--dtype", choices=("float32", "bfloat16"), default="float32", help="type in which the layers compute"
    )
    parser.add_argument("--plain", action="store_true", help="use Flax layers instead of comprehensions")
    parser.add_argument("--compare", action="store_true", help="train both and compare loss, time and memory")
    parser.add_argument("--checkpoints", type=Path, help="folder for checkpoints")
    parser.add_argument("--resume", action="store_true", help="continue from the latest checkpoint")
    parser.add_argument("--every", type=int, default=50, metavar="STEPS", help="steps between checkpoints")
    options = parser.parse_args(arguments)
    if options.steps < 1 or options.every < 1:
        parser.error("--steps and --every must be at least 1")
    if options.resume and options.checkpoints is None:
        parser.error("--resume needs --checkpoints FOLDER")
    if options.compare and (options.plain or options.checkpoints):
        parser.error("--compare cannot be combined with --plain or --checkpoints")
    size, dtype = SIZES[options.size], jnp.dtype(options.dtype)
    if options.compare:
        report(compare(size, options.steps, dtype), Path("out/characters.png"))
        return
    start = time.perf_counter()
    training, _ = train(
        size,
        options.steps,
        dtype,
        plain=options.plain,
        checkpoints=options.checkpoints,
        resume=options.resume,
        every=options.every,
    )
    writer, test = training.trained(), jnp.asarray(Manual(size.context).test())
    tested = float(nnx.jit(loss)(writer, test))
    print(f"test loss {tested:.2f} nats per character after {time.perf_counter() - start:.0f} s\n")
    print(write(writer, size.context, "The ", 200))
    if options.size == "small" and options.steps >= 400:
        assert tested < 2.0, "the small model reaches 1.7 nats per character in 400 steps"


if __name__ == "__main__":
    main()
