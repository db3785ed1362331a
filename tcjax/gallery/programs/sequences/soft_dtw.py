"""Soft dynamic time warping

How far apart two series are if either may run slower for a while: the cheapest path through all pairs of their time
steps. The minimum is soft, so there is a gradient everywhere. The recurrence is two nested `for` loops, and the batch
is an index. The gradient with respect to the costs is the alignment: how much each pair of time steps is on the path.

Cuturi and Blondel, "Soft-DTW: a differentiable loss function for time-series" (2017).
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import tcjax
from tcjax.gallery import Program

SOFT = 0.1

soft_dtw = tcjax.kernel(
    """
def soft_dtw(float(B,N,M) cost) -> (distance) {
    R(b,i,j) = i == 0 && j == 0 ? 0.0 : inf where b in 0:B, i in 0:N+1, j in 0:M+1
    for i in 1:N+1 {
        for j in 1:M+1 {
            R(b,i,j) = cost(b,i-1,j-1) - soft * logsumexp[p in 0:2, q in 0:2 where p + q > 0](-R(b,i-p,j-q) / soft)
        }
    }
    distance(b) = R(b,N,M)
}""",
    consts={"soft": SOFT},
)


def series(pairs, first, second):
    """Pairs of one gesture at two speeds, with a little noise."""
    random = np.random.default_rng(0)
    found = []
    for length in (first, second):
        pace = 0.2 + random.random((pairs, length)) ** 3
        time = pace.cumsum(1) / pace.sum(1, keepdims=True)
        bumps = np.exp(-(((time - 0.3) / 0.06) ** 2)) - 0.8 * np.exp(-(((time - 0.65) / 0.1) ** 2))
        found.append(bumps + 0.02 * random.normal(size=time.shape))
    return found


def data(pairs: int, first: int, second: int) -> tuple[np.ndarray, ...]:
    """Squared differences of every moment of one series with every moment of the other."""
    x, y = series(pairs, first, second)
    return (((x[:, :, None] - y[:, None, :]) ** 2).astype(np.float32),)


def reference(cost):
    R = np.full((cost.shape[1] + 1, cost.shape[2] + 1, len(cost)), np.inf)
    R[0, 0] = 0
    for i, j in np.ndindex(cost.shape[1:]):
        ways = np.array([R[i, j], R[i, j + 1], R[i + 1, j]])
        R[i + 1, j + 1] = cost[:, i, j] - SOFT * np.logaddexp.reduce(-ways / SOFT)
    return R[-1, -1]


def scans(cost):
    """A scan over rows of a scan over the row."""
    border = jnp.full(len(cost), jnp.inf)

    def row(above, costs):
        def entry(left, now):
            corner, up, cost = now
            ways = jnp.stack([corner, up, left])
            found = cost - SOFT * jax.nn.logsumexp(-ways / SOFT, axis=0)
            return found, found

        entries = lax.scan(entry, border, (above[:-1], above[1:], costs))[1]
        return jnp.concatenate([border[None], entries]), None

    top = jnp.full((cost.shape[2] + 1, len(cost)), jnp.inf).at[0].set(0)
    return lax.scan(row, top, cost.transpose(1, 2, 0))[0][-1]


def diagonals(cost):
    """One scan: what is on a diagonal does not depend on each other."""
    B, N, M = cost.shape
    i, s = jnp.arange(N), jnp.arange(N + M - 1)[:, None]
    # Entries of a diagonal outside the matrix cost so much that no path goes there.
    outside = (s < i) | (s >= i + M)
    skewed = jnp.where(outside[:, None], 1e10, cost[:, i, jnp.clip(s - i, 0, M - 1)].swapaxes(0, 1))

    def step(before, cost):
        last, now = before
        ways = jnp.stack([last[:, :-1], now[:, :-1], now[:, 1:]])
        found = cost - SOFT * jax.nn.logsumexp(-ways / SOFT, axis=0)
        return (now, jnp.pad(found, ((0, 0), (1, 0)), constant_values=1e10)), None

    border = jnp.full((B, N + 1), 1e10)
    return lax.scan(step, (border.at[:, 0].set(0), border), skewed)[0][1][:, -1]


def draw(figure, arrays, _):
    """Two series, and how much each pair of their moments counts."""
    x, y = (each[0] for each in series(*arrays[0].shape))
    weight = np.asarray(jax.grad(lambda cost: soft_dtw(cost).sum())(arrays[0]))[0]
    left, right = figure.subplots(1, 2, width_ratios=(1.3, 1))
    for i in range(0, len(x), 3):
        j = weight[i].argmax()
        left.plot([i, j], [x[i] + 1, y[j] - 1], color="#808890", linewidth=0.5, alpha=0.6)
    left.plot(x + 1)
    left.plot(y - 1)
    left.set(xlabel="time", yticks=[], title="two series")
    right.imshow(np.sqrt(weight), aspect="auto")
    right.set(xlabel="time of the second", ylabel="time of the first", title="gradient by the costs")


program = Program(
    soft_dtw,
    data,
    reference,
    {"lax.scan in lax.scan": scans, "lax.scan over diagonals": diagonals},
    draw,
    small={"pairs": 3, "first": 14, "second": 11},
    full={"pairs": 64, "first": 128, "second": 96},
    picture={"pairs": 1, "first": 120, "second": 100},
    gradient=(0,),
)

if __name__ == "__main__":
    program.main()
