"""Reads handwritten digits with layers of `tcjax.linen`; training is plain flax.linen and optax."""

import time

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import tcjax.linen as tnn


class Network(nn.Module):
    """Log-probabilities ``(N, 10)`` of the digits in images ``(N, 8, 8, 1)``."""

    @nn.compact
    def __call__(self, images: jax.Array) -> jax.Array:
        x = nn.relu(tnn.Conv(16, (3, 3), padding="VALID")(images))  # (N, 6, 6, 16)
        x = nn.relu(tnn.Conv(32, (3, 3), padding="VALID")(x))  # (N, 4, 4, 32)
        x = tnn.LayerNorm()(tnn.max_pool(x, (2, 2), (2, 2)))  # (N, 2, 2, 32)
        # A weight for each position and channel, summed over all three: its shape comes from the feature maps.
        scores = tnn.Comprehension(
            "def last(x, weight, bias) -> (y) { y(n,o) = bias(o) + sum[h,w,c](x(n,h,w,c) * weight(o,h,w,c)) }",
            params={"weight": nn.initializers.lecun_normal(), "bias": nn.initializers.zeros},
            sizes={"o": 10},
        )(x)
        return nn.log_softmax(scores)


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
    network = Network()
    variables = network.init(jax.random.key(0), images[:1])
    steps = len(images) // batch
    adam = optax.adam(optax.cosine_decay_schedule(3e-3, epochs * steps))
    state = adam.init(variables)

    def scores(variables, images) -> jax.Array:
        return jnp.asarray(network.apply(variables, images))

    @jax.jit
    def step(variables, state, images, labels):
        def loss(variables):
            return -jnp.take_along_axis(scores(variables, images), labels[:, None], axis=1).mean()

        updates, state = adam.update(jax.grad(loss)(variables), state)
        return optax.apply_updates(variables, updates), state

    shuffle = np.random.default_rng(0)
    start = time.perf_counter()
    for _ in tqdm(range(epochs), unit="epoch"):
        for chosen in np.split(shuffle.permutation(len(images))[: steps * batch], steps):
            variables, state = step(variables, state, images[chosen], labels[chosen])
    accuracy = float((scores(variables, test_images).argmax(1) == test_labels).mean())
    print(f"{accuracy:.1%} of {len(test_labels)} digits read correctly after {time.perf_counter() - start:.0f} s")
    return accuracy


if __name__ == "__main__":
    assert main() >= 0.97
