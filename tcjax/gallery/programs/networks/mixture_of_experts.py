"""A mixture of experts

A router scores every expert for every token. The R best are evaluated, and their outputs are added with the softmax of
their scores as weights. Each token looks up the weights of its experts by number. The work grows with the number of
tokens times R, not with the number of experts, and no array has a matrix for each token, in the gradient either.

Shazeer and others, "Outrageously Large Neural Networks" (2017); Fedus, Zoph and Shazeer, "Switch Transformers" (2022).
"""

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

CHOSEN = 2
mixture_of_experts = tcjax.kernel(
    """
def mixture_of_experts(float(T,D) x, float(X,D) router, float(X,D,F) up, float(X,F,D) down) -> (y) {
    score(t,e)    = sum[d](x(t,d) * router(e,d))
    expert(t,r)   = argmaxk[e](score(t,e), r) where r in 0:R
    share(t,r)    = exp(score(t,expert(t,r)) - logsumexp[s in 0:R](score(t,expert(t,s))))
    hidden(t,r,f) = relu(sum[d](x(t,d) * up(expert(t,r),d,f)))
    y(t,d)        = sum[r](share(t,r) * sum[f](hidden(t,r,f) * down(expert(t,r),f,d)))
}""",
    consts={"R": CHOSEN},
)


def data(tokens: int, width: int, experts: int, hidden: int) -> tuple[np.ndarray, ...]:
    """Handwritten digits without their mean, cut to `width` pixels; the rows of the router are digits, too."""
    from sklearn.datasets import load_digits

    digits = load_digits().data / 16
    digits = np.tile(digits - digits.mean(0), (tokens // len(digits) + 1, width // 64 + 1))[:, :width]
    random = np.random.default_rng(0)
    up = random.normal(size=(experts, width, hidden)) / np.sqrt(width)
    down = random.normal(size=(experts, hidden, width)) / np.sqrt(hidden)
    return tuple(a.astype(np.float32) for a in (digits[experts : experts + tokens], digits[:experts], up, down))


def chosen(x, router):
    """The experts of each token, the best first, and their shares, by NumPy."""
    score = x @ router.T
    expert = np.argsort(-score, kind="stable")[:, :CHOSEN]
    weight = np.exp(np.take_along_axis(score, expert, 1))
    return expert, weight / weight.sum(1, keepdims=True)


def reference(x, router, up, down):
    """Token by token."""
    expert, share = chosen(x, router)
    return np.stack(
        [
            sum(w * (np.maximum(token @ up[e], 0) @ down[e]) for e, w in zip(experts, weights, strict=True))
            for token, experts, weights in zip(x, expert, share, strict=True)
        ]
    )


def gathered(x, router, up, down):
    """A matrix for each token, by its expert."""
    score, expert = jax.lax.top_k(x @ router.T, CHOSEN)
    hidden = jax.nn.relu(jnp.einsum("td,trdf->trf", x, up[expert]))
    return jnp.einsum("tr,trf,trfd->td", jax.nn.softmax(score), hidden, down[expert])


def everyone(x, router, up, down):
    """All experts answer, most of them in vain."""
    score, expert = jax.lax.top_k(x @ router.T, CHOSEN)
    share = jnp.zeros((len(x), len(router))).at[jnp.arange(len(x))[:, None], expert].set(jax.nn.softmax(score))
    hidden = jax.nn.relu(jnp.einsum("td,edf->tef", x, up)) * share[:, :, None]
    return jnp.einsum("tef,efd->td", hidden, down)


def sorted_by_expert(x, router, up, down):
    """The tokens of an expert stand next to each other, for `ragged_dot`."""
    score, expert = jax.lax.top_k(x @ router.T, CHOSEN)
    order = jnp.argsort(expert.reshape(-1))
    sizes = jnp.bincount(expert.reshape(-1), length=len(router))
    hidden = jax.nn.relu(jax.lax.ragged_dot(x[order // CHOSEN], up, sizes))
    answers = jax.lax.ragged_dot(hidden, down, sizes)
    share = jax.nn.softmax(score).reshape(-1)[order]
    return jnp.zeros_like(x).at[order // CHOSEN].add(share[:, None] * answers)


def draw(figure, arrays, y):
    """Which experts answer for which digit."""
    from sklearn.datasets import load_digits

    x, router, *_ = arrays
    expert, share = chosen(x, router)
    digit = load_digits().target[len(router) : len(router) + len(x)]
    taken = np.zeros((10, len(router)))
    np.add.at(taken, (digit[:, None], expert), share)
    axes = figure.subplots()
    image = axes.imshow(taken / taken.sum(1, keepdims=True), aspect="auto")
    axes.set(xlabel="expert", ylabel="digit", yticks=range(10), xticks=range(len(router)))
    axes.set_title("share of each expert in the answers")
    figure.colorbar(image)


program = Program(
    mixture_of_experts,
    data,
    reference,
    {"a matrix for each token": gathered, "all experts": everyone, "ragged_dot": sorted_by_expert},
    draw,
    small={"tokens": 20, "width": 8, "experts": 5, "hidden": 6},
    full={"tokens": 1024, "width": 64, "experts": 32, "hidden": 128},
    picture={"tokens": 1500, "width": 64, "experts": 16, "hidden": 32},
    gradient=(0, 1, 2, 3),
)

if __name__ == "__main__":
    program.main()
