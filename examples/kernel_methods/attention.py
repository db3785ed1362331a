"""Two kinds of causal attention over the letters of a real text: linear biases (ALiBi), and a sliding window.

Which keys a query sees is a condition on the indices, and the distance to a key is the difference of indices: there are
no masks and no tables of distances. A layer of each kind learns to predict the next letter. The text is scikit-learn's
description of one of its data sets.
"""

from typing import no_type_check

import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import load_breast_cancer

import tcjax

HEADS, WIDTH, LENGTH = 4, 16, 128
SLOPES = 2.0 ** -np.arange(1, HEADS + 1, dtype=np.float32)  # Press, Smith and Lewis, 2022.
WINDOW = 16


@no_type_check
@tcjax.kernel
def alibi(Q: "float(H,T,D)", K: "float(H,T,D)", V: "float(H,T,E)", slope: "float(H)"):
    score[h, q, k] = sum[d](Q[h, q, d] * K[h, k, d]) / sqrt(Q.shape[2]) - slope[h] * (q - k)
    total[h, q] = logsumexp[k, k <= q](score[h, q, k])
    out[h, q, e] = sum[k, k <= q](exp(score[h, q, k] - total[h, q]) * V[h, k, e])
    return out


@no_type_check
@tcjax.kernel
def sliding(Q: "float(H,T,D)", K: "float(H,T,D)", V: "float(H,T,E)", window: "int32"):
    score[h, q, k] = sum[d](Q[h, q, d] * K[h, k, d]) / sqrt(Q.shape[2])
    total[h, q] = logsumexp[k, k <= q, q < k + window()](score[h, q, k])
    out[h, q, e] = sum[k, k <= q, q < k + window()](exp(score[h, q, k] - total[h, q]) * V[h, k, e])
    return out


def dense(Q, K, V, score, seen):
    """The same with an array of all scores, by NumPy in float64."""
    scores = np.einsum("hqd,hkd->hqk", Q, K) / np.sqrt(Q.shape[2]) + score
    weights = np.where(seen, np.exp(scores - scores.max(-1, keepdims=True)), 0)
    return np.einsum("hqk,hke->hqe", weights, V) / weights.sum(-1)[..., None]


def letters() -> tuple[np.ndarray, int]:
    """The text as numbers of letters, and how many letters there are."""
    text = load_breast_cancer().DESCR
    alphabet = sorted(set(text))
    return np.array([alphabet.index(letter) for letter in text]), len(alphabet)


def logits(parameters, kernel, extra, text):
    """What a layer of attention, after each letter, expects of the next one."""
    x = parameters["letters"][text]
    Q, K, V = jnp.einsum("td,ndhe->nhte", x, parameters["heads"])
    return (x + jnp.einsum("hte,hed->td", kernel(Q, K, V, extra), parameters["out"])) @ parameters["next"]


def learn(kernel, extra, steps: int = 60) -> list[float]:
    """The mean loss, in nats for each letter, before each step of training."""
    text, count = letters()
    random = np.random.default_rng(0)
    d = HEADS * WIDTH
    shapes = {"letters": (count, d), "heads": (3, d, HEADS, WIDTH), "out": (HEADS, WIDTH, d), "next": (d, count)}
    parameters = {name: jnp.asarray(random.normal(size=s) / d**0.5, jnp.float32) for name, s in shapes.items()}
    optimiser = optax.adam(1e-2)

    def loss(parameters, batch):
        guess = jax.vmap(lambda part: logits(parameters, kernel, extra, part))(batch[:, :-1])
        return optax.softmax_cross_entropy_with_integer_labels(guess, batch[:, 1:]).mean()

    @jax.jit
    def step(parameters, state, batch):
        value, slope = jax.value_and_grad(loss)(parameters, batch)
        updates, state = optimiser.update(slope, state)
        return optax.apply_updates(parameters, updates), state, value

    state, history = optimiser.init(parameters), []
    for _ in range(steps):
        starts = random.integers(0, len(text) - LENGTH, size=4)
        parameters, state, value = step(parameters, state, text[starts[:, None] + np.arange(LENGTH + 1)])
        history.append(float(value))
    return history


def main() -> dict[str, float]:
    """Compares both kinds with NumPy, then learns; returns the last losses."""
    random = np.random.default_rng(0)
    Q, K, V = random.normal(size=(3, HEADS, LENGTH, WIDTH)).astype(np.float32)
    q, k = np.ogrid[:LENGTH, :LENGTH]
    expected = dense(Q, K, V, -SLOPES[:, None, None] * (q - k), k <= q)
    np.testing.assert_allclose(alibi(Q, K, V, SLOPES), expected, atol=1e-5)
    np.testing.assert_allclose(sliding(Q, K, V, WINDOW), dense(Q, K, V, 0, (k <= q) & (q < k + WINDOW)), atol=1e-5)

    losses = {}
    for name, kernel, extra in [("alibi", alibi, SLOPES), ("sliding", sliding, np.int32(WINDOW))]:
        history = learn(kernel, extra)
        losses[name] = float(np.mean(history[-5:]))
        print(f"{name}: {history[0]:.2f} nats for each letter at the start, {losses[name]:.2f} at the end")
    return losses


if __name__ == "__main__":
    main()
