"""Kalman filter with gaps

A level drifts, and is measured with noise; some measurements are missing. Each step predicts, then mixes in the
measurement according to how certain both are. If there is none (NaN), the condition leaves the prediction as it is. The
kernel also returns the log-likelihood of the measurements; its gradient with respect to the two variances lets you
learn them.

Durbin and Koopman, "Time series analysis by state space methods" (2012), chapter 2.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import tcjax
from tcjax.gallery import Program

FIRST = 10.0

kalman = tcjax.kernel(
    """
def kalman(float(S,T) x, float(S) drift, float(S) noise) -> (level, variance, likelihood) {
    m(s) = 0.0 where s in 0:S
    P(s) = first where s in 0:S
    total(s) = 0.0 where s in 0:S
    for t in 0:T {
        error(s)  = isnan(x(s,t)) ? 0.0 : x(s,t) - m(s)
        spread(s) = P(s) + noise(s)
        gain(s)   = isnan(x(s,t)) ? 0.0 : P(s) / spread(s)
        total(s)  = total(s) - (isnan(x(s,t)) ? 0.0 : 0.5 * (log(2 * pi * spread(s)) + error(s) * error(s) / spread(s)))
        m(s) = m(s) + gain(s) * error(s)
        level(s,t)    = m(s)
        variance(s,t) = P(s) * (1 - gain(s))
        P(s) = variance(s,t) + drift(s)
    }
    likelihood(s) = total(s)
}""",
    consts={"first": FIRST, "pi": np.pi},
)


def data(series: int, length: int) -> tuple[np.ndarray, ...]:
    """Drifting levels with two gaps in the measurements, and the variances that produced them."""
    random = np.random.default_rng(7)
    drift, noise = random.uniform(0.02, 0.1, series), random.uniform(0.5, 1.5, series)
    level = (np.sqrt(drift)[:, None] * random.normal(size=(series, length))).cumsum(1)
    x = level + np.sqrt(noise)[:, None] * random.normal(size=level.shape)
    for begin, end in ((0.3, 0.4), (0.7, 0.8)):
        x[:, int(begin * length) : int(end * length)] = np.nan
    return x.astype(np.float32), drift.astype(np.float32), noise.astype(np.float32)


def reference(x, drift, noise):
    """All at once: levels and measurements are one normal distribution; what is measured conditions it."""
    level, variance, likelihood = np.zeros(x.shape), np.zeros(x.shape), np.zeros(len(x))
    before = np.minimum(*np.ogrid[: x.shape[1], : x.shape[1]])
    for s in range(len(x)):
        covariance = FIRST + drift[s] * before
        for t in range(x.shape[1]):
            seen = np.flatnonzero(~np.isnan(x[s, : t + 1]))
            measured = covariance[np.ix_(seen, seen)] + noise[s] * np.eye(len(seen))
            weights = np.linalg.solve(measured, covariance[seen, t])
            level[s, t] = weights @ x[s, seen]
            variance[s, t] = covariance[t, t] - weights @ covariance[seen, t]
        seen = np.flatnonzero(~np.isnan(x[s]))
        measured = covariance[np.ix_(seen, seen)] + noise[s] * np.eye(len(seen))
        squares = x[s, seen] @ np.linalg.solve(measured, x[s, seen])
        likelihood[s] = -0.5 * (squares + np.linalg.slogdet(2 * np.pi * measured)[1])
    return level, variance, likelihood


def one(x, drift, noise):
    """One series; the others by vmap."""

    def step(carry, x):
        m, P, total = carry
        seen = ~jnp.isnan(x)
        error, spread = jnp.where(seen, x, m) - m, P + noise
        gain = jnp.where(seen, P / spread, 0)
        total -= jnp.where(seen, 0.5 * (jnp.log(2 * np.pi * spread) + error**2 / spread), 0)
        m, P = m + gain * error, P * (1 - gain)
        return (m, P + drift, total), (m, P)

    (_, _, total), (level, variance) = lax.scan(step, (0.0, FIRST, 0.0), x)
    return level, variance, total


def batched(x, drift, noise):
    """All series in one scan; the likelihood behind it, in one go."""

    def step(carry, x):
        m, P = carry
        gain = jnp.where(jnp.isnan(x), 0, P / (P + noise))
        error = jnp.where(jnp.isnan(x), 0, x - m)
        m, after = m + gain * error, P * (1 - gain)
        return (m, after + drift), (m, after, error, P)

    start = jnp.zeros_like(drift), jnp.full_like(drift, FIRST)
    _, (level, variance, error, P) = lax.scan(step, start, x.T)
    terms = 0.5 * (jnp.log(2 * np.pi * (P + noise)) + error**2 / (P + noise))
    return level.T, variance.T, -jnp.where(jnp.isnan(x.T), 0, terms).sum(0)


def draw(figure, arrays, found):
    """Measurements, and the level with twice its deviation."""
    x, (level, variance, _) = arrays[0], found
    time, band = np.arange(x.shape[1]), 2 * np.sqrt(variance)
    panels = figure.subplots(2, 1, sharex=True)
    for s, axes in enumerate(panels):
        axes.plot(x[s], ".", markersize=3, alpha=0.6, label="measured")
        axes.plot(level[s], color="C1", label="level")
        axes.fill_between(time, (level - band)[s], (level + band)[s], alpha=0.25, color="C1", linewidth=0)
    panels[1].set_xlabel("time")
    panels[0].legend(loc="lower left", ncols=2)


program = Program(
    kalman,
    data,
    reference,
    {"vmap of lax.scan": jax.vmap(one), "lax.scan of all": batched},
    draw,
    small={"series": 3, "length": 30},
    full={"series": 256, "length": 2048},
    picture={"series": 2, "length": 400},
    gradient=(1, 2),
)

if __name__ == "__main__":
    program.main()
