"""Learns to read handwritten digits with a small convolutional network in which every layer is a comprehension.

The data are 1797 digits of 8 x 8 pixels (``data/README.md``). Layers are written in TC or in the Python notation,
gradients come from JAX, and the optimiser is optax's Adam. Writes ``out/digits.png`` (test images and the network's
answers) and ``out/digits.npz`` (the parameters).
"""

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, no_type_check

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.typing import ArrayLike
from PIL import Image, ImageDraw
from tqdm import tqdm

import tcjax

HERE = Path(__file__).resolve().parent
OUT = HERE.parent / "out"

Parameters = dict[str, jax.Array]

# ---------------------------------------------------------------- the network, layer by layer

# Three-by-three windows that stay inside the image: h runs over [0, H - KH + 1), inferred from I(.., h+kh, ..).
convolution = tcjax.kernel("""
def convolution(float(N,C,H,W) I, float(M,C,KH,KW) F, float(M) B) -> (O) {
    O(n,m,h,w) +=! I(n,c,h+kh,w+kw) * F(m,c,kh,kw)
    O(n,m,h,w)  = O(n,m,h,w) + B(m)
}""")


@no_type_check
@tcjax.kernel
def relu(x: "float(N,C,H,W)"):
    y[n, c, h, w] = max(x[n, c, h, w], 0.0)
    return y


# Without declarations: the rank of `image` is read from its use.
max_pool = tcjax.kernel("O(n,c,h,w) max=! image(n,c,2*h+kh,2*w+kw) where kh in 0:2, kw in 0:2")


# No flattening before the dense layer: it sums over all three axes of a feature map.
@no_type_check
@tcjax.kernel
def dense(x: "float(N,C,H,W)", weight: "float(O,C,H,W)", bias: "float(O)"):
    y[n, o] = bias[o] + sum[c, h, w](x[n, c, h, w] * weight[o, c, h, w])
    return y


log_softmax = tcjax.kernel("def log_softmax(float(N,O) x) -> (y) { y(n,o) = x(n,o) - logsumexp[p](x(n,p)) }")

# Reads the log-probability of the right digit: a subscript that depends on data.
cross_entropy = tcjax.kernel("""
def cross_entropy(float(N,O) log_p, int32(N) label) -> (loss) { loss mean=! -log_p(n, label(n)) }""")

most_likely = tcjax.kernel("def most_likely(float(N,O) x) -> (digit) { digit(n) argmax=! x(n,o) }")


class Network(NamedTuple):
    """The layers. What a network computes is the same for layers that run on many devices."""

    convolution: tcjax.Kernel = convolution
    relu: tcjax.Kernel = relu
    max_pool: tcjax.Kernel = max_pool
    dense: tcjax.Kernel = dense
    log_softmax: tcjax.Kernel = log_softmax
    cross_entropy: tcjax.Kernel = cross_entropy

    def __call__(self, parameters: Mapping[str, jax.Array], images: ArrayLike) -> jax.Array:
        """Log-probabilities ``(N, 10)`` of the digits in images ``(N, 1, 8, 8)``."""
        x = self.relu(self.convolution(images, parameters["filter 1"], parameters["bias 1"]))  # (N, 16, 6, 6)
        x = self.relu(self.convolution(x, parameters["filter 2"], parameters["bias 2"]))  # (N, 32, 4, 4)
        x = self.max_pool(x)  # (N, 32, 2, 2)
        return self.log_softmax(self.dense(x, parameters["weight"], parameters["bias"]))

    def loss(self, parameters: Parameters, images: ArrayLike, labels: ArrayLike) -> jax.Array:
        return self.cross_entropy(self(parameters, images), labels)


# ---------------------------------------------------------------- training


def initial_parameters(seed: int) -> Parameters:
    """He's initialisation: variance 2 / fan-in."""
    shapes = {"filter 1": (16, 1, 3, 3), "filter 2": (32, 16, 3, 3), "weight": (10, 32, 2, 2)}
    random = np.random.default_rng(seed)
    filters = {name: random.normal(scale=np.sqrt(2 / np.prod(shape[1:])), size=shape) for name, shape in shapes.items()}
    biases = {"bias 1": np.zeros(16), "bias 2": np.zeros(32), "bias": np.zeros(10)}
    return {name: jnp.asarray(values, jnp.float32) for name, values in (filters | biases).items()}


def batches(count: int, *, epochs: int, batch: int, seed: int = 0) -> Iterator[np.ndarray]:
    """Which of `count` images each step learns from: in every epoch all of them, in another order."""
    shuffle = np.random.default_rng(seed)
    for _ in range(epochs):
        yield from np.split(shuffle.permutation(count)[: count // batch * batch], count // batch)


def adam(steps: int) -> optax.GradientTransformation:
    return optax.adam(optax.cosine_decay_schedule(3e-3, steps))


def step_of(network: Network, optimiser: optax.GradientTransformation) -> Callable[..., Any]:
    """One step of the training: parameters and the optimiser's state, before and after, and the loss."""

    @jax.jit
    def step(parameters, state, images, labels):
        value, gradient = jax.value_and_grad(network.loss)(parameters, images, labels)
        updates, state = optimiser.update(gradient, state)
        return optax.apply_updates(parameters, updates), state, value

    return step


def train(images: np.ndarray, labels: np.ndarray, *, epochs: int, batch: int = 64, seed: int = 0) -> Parameters:
    """The parameters after `epochs` passes over the images, with a progress bar."""
    parameters = initial_parameters(seed)
    steps = epochs * (len(images) // batch)
    optimiser = adam(steps)
    state, step = optimiser.init(parameters), step_of(Network(), optimiser)
    with tqdm(batches(len(images), epochs=epochs, batch=batch, seed=seed), total=steps, desc="training") as progress:
        for number, chosen in enumerate(progress):
            parameters, state, value = step(parameters, state, images[chosen], labels[chosen])
            if number % 20 == 0:
                progress.set_postfix(loss=f"{float(value):.4f}")
    return parameters


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Images ``(N, 1, 8, 8)`` to learn from and to be tested on, then the labels of these and of those."""
    # A row is 64 grey values from 0 to 16, then the label.
    rows = np.loadtxt(HERE / "data" / "digits.csv.gz", np.int32, delimiter=",")
    test, train = np.split(np.random.default_rng(0).permutation(rows), [len(rows) // 4])
    images = [(part[:, :64].reshape(-1, 1, 8, 8) / 16).astype(np.float32) for part in (train, test)]
    return images[0], images[1], train[:, 64], test[:, 64]


def draw(images: np.ndarray, read: np.ndarray, labels: np.ndarray, columns: int = 20, scale: int = 5) -> Image.Image:
    """The images in rows, under each the digit that was read, in red where it is not the label."""
    width, height = 8 * scale + 4, 8 * scale + 18
    rows = -(-len(images) // columns)
    sheet = Image.new("RGB", (columns * width, rows * height), "white")
    pen = ImageDraw.Draw(sheet)
    for number, image in enumerate(images):
        x, y = number % columns * width + 2, number // columns * height + 2
        pixels = Image.fromarray(np.uint8(255 * (1 - image[0])))
        sheet.paste(pixels.resize((8 * scale, 8 * scale), Image.Resampling.NEAREST), (x, y))
        pen.text((x + 17, y + 8 * scale), str(read[number]), fill="black" if read[number] == labels[number] else "red")
    return sheet


def main(out: Path = OUT, epochs: int = 30) -> float:
    """Trains, prints what was learnt, and returns the accuracy on digits that were not trained on."""
    images, test_images, labels, test_labels = data()
    print(f"{len(images)} digits to learn from, {len(test_images)} to be tested on\n")

    print("What tcjax makes of the second layer:\n")
    initial = initial_parameters(seed=0)
    maps = jax.ShapeDtypeStruct((64, 16, 6, 6), jnp.float32)
    print(convolution.explain(maps, initial["filter 2"], initial["bias 2"]), "\n")

    start = time.perf_counter()
    parameters = train(images, labels, epochs=epochs)
    seconds = time.perf_counter() - start
    # As one computation: layer by layer, JAX would compile each on its own.
    read = np.asarray(jax.jit(lambda images: most_likely(Network()(parameters, images)))(test_images))
    accuracy = float(np.mean(read == test_labels))
    print(f"\n{accuracy:.1%} of the {len(test_labels)} test digits read correctly after {seconds:.0f} s of training")

    out.mkdir(exist_ok=True)
    draw(test_images[:100], read, test_labels).save(out / "digits.png")
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in parameters.items()}
    np.savez(out / "digits.npz", **arrays)
    print(f"test digits and what was read in them: {out.name}/digits.png; parameters: {out.name}/digits.npz")
    assert accuracy >= 0.97, f"only {accuracy:.1%} of the test digits are read correctly"
    return accuracy


if __name__ == "__main__":
    main()
