"""Reads handwritten digits with layers of `tcjax.nn`: two that Flax also has, and one written as a formula.

The data are scikit-learn's 1797 digits of 8 x 8 pixels; training is plain flax.nnx.
"""

import time

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import tcjax.nn as tnn


class Network(nnx.Module):
    """Log-probabilities ``(N, 10)`` of the digits in images ``(N, 8, 8, 1)``."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.first = tnn.Conv(1, 16, (3, 3), padding="VALID", rngs=rngs)
        self.second = tnn.Conv(16, 32, (3, 3), padding="VALID", rngs=rngs)
        self.norm = tnn.LayerNorm(32, rngs=rngs)
        # No flattening before the last layer: it sums over all three axes of a feature map, which is its fan-in.
        self.last = tnn.Comprehension(
            "def last(x, weight, bias) -> (y) { y(n,o) = bias(o) + sum[h,w,c](x(n,h,w,c) * weight(o,h,w,c)) }",
            params={"weight": nnx.initializers.lecun_normal(), "bias": nnx.initializers.zeros},
            sizes={"o": 10, "h": 2, "w": 2, "c": 32},
            rngs=rngs,
        )

    def __call__(self, images: jax.Array) -> jax.Array:
        x = nnx.relu(self.first(images))  # (N, 6, 6, 16)
        x = nnx.relu(self.second(x))  # (N, 4, 4, 32)
        x = self.norm(tnn.max_pool(x, (2, 2), (2, 2)))  # (N, 2, 2, 32)
        return nnx.log_softmax(self.last(x))


def loss(network: Network, images: jax.Array, labels: jax.Array) -> jax.Array:
    return -jnp.take_along_axis(network(images), labels[:, None], axis=1).mean()


@nnx.jit
def step(network: Network, optimizer: nnx.Optimizer, images: jax.Array, labels: jax.Array) -> None:
    optimizer.update(network, nnx.grad(loss)(network, images, labels))


def data() -> list[np.ndarray]:
    """Training images and labels, and those for testing."""
    digits = load_digits()
    images = (digits.images[..., None] / 16).astype(np.float32)
    labels = digits.target.astype(np.int32)
    split = train_test_split(images, labels, test_size=0.25, random_state=0, stratify=labels)
    return [split[0], split[2], split[1], split[3]]


def main(epochs: int = 30, batch: int = 64) -> float:
    """Trains, and returns the accuracy on the test digits."""
    images, labels, test_images, test_labels = data()
    network = Network(nnx.Rngs(0))
    steps = len(images) // batch
    schedule = optax.cosine_decay_schedule(3e-3, epochs * steps)
    optimizer = nnx.Optimizer(network, optax.adam(schedule), wrt=nnx.Param)
    shuffle = np.random.default_rng(0)
    start = time.perf_counter()
    for _ in tqdm(range(epochs), unit="epoch"):
        for chosen in np.split(shuffle.permutation(len(images))[: steps * batch], steps):
            step(network, optimizer, jnp.asarray(images[chosen]), jnp.asarray(labels[chosen]))
    accuracy = float((network(jnp.asarray(test_images)).argmax(1) == test_labels).mean())
    print(f"{accuracy:.1%} of {len(test_labels)} digits read correctly after {time.perf_counter() - start:.0f} s")
    return accuracy


if __name__ == "__main__":
    assert main() >= 0.97
