"""Two galaxies that meet (gravity of N bodies)

Every body attracts every other one, with some softening so that close ones do not fly apart. A loop inside the kernel
moves them with the leapfrog method, which conserves energy. An acceleration is a sum over all pairs, none of which is
stored. The loop has a gradient, so you can ask how the final positions depend on the initial ones and on the masses.

Aarseth, "Gravitational N-body simulations" (2003); the softening is Plummer's.
"""

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

STEPS, DT, SOFT = 20, 0.05, 0.1

n_body = tcjax.kernel(
    """
    def n_body(float(N) mass, float(N,D) start, float(N,D) speed) -> (q, v) {
        q(i,d) = start(i,d)
        v(i,d) = speed(i,d)
        for t in 0:steps {
            q(i,d) = q(i,d) + 0.5 * dt * v(i,d)
            v(i,d) = v(i,d) + dt * sum[j](mass(j) * (q(j,d) - q(i,d))
                   * pow(sum[e]((q(j,e) - q(i,e)) * (q(j,e) - q(i,e))) + soft * soft, -1.5))
            q(i,d) = q(i,d) + 0.5 * dt * v(i,d)
        }
    }""",
    consts={"steps": STEPS, "dt": DT, "soft": SOFT},
)


def data(bodies: int) -> tuple[np.ndarray, ...]:
    """Two discs of light bodies around a heavy one each, that pass each other."""
    random = np.random.default_rng(0)
    half = bodies // 2
    masses, places, speeds = [], [], []
    for side in (-1, 1):
        radius, angle = random.uniform(0.3, 1, half), random.uniform(0, 2 * np.pi, half)
        radius[0] = 0
        mass = np.full(half, 0.1 / half)
        mass[0] = 1.0
        around = np.sqrt(radius**2 / (radius**2 + SOFT**2) ** 1.5)
        flat = np.zeros(half) if side < 0 else 0.3 * np.sin(angle) * radius
        disc = np.stack([radius * np.cos(angle), radius * np.sin(angle), flat], 1)
        places.append(disc + np.array([1.3 * side, 0.9 * side, 0]))
        turning = np.stack([-np.sin(angle), np.cos(angle), 0 * angle], 1) * around[:, None]
        speeds.append(turning + np.array([-0.5 * side, 0, 0]))
        masses.append(mass)
    return tuple(np.concatenate(arrays).astype(np.float32) for arrays in (masses, places, speeds))


def simulated(mass, q, v, accelerations, loop):
    def step(state, _):
        q, v = state
        q = q + DT / 2 * v
        v = v + DT * accelerations(mass, q)
        return (q + DT / 2 * v, v), None

    return loop(step, (q, v))


def all_pairs(mass, q):
    away = q[None] - q[:, None]
    return (mass[:, None] * away / ((away**2).sum(-1, keepdims=True) + SOFT**2) ** 1.5).sum(1)


def reference(mass, q, v):
    def loop(step, state):
        for _ in range(STEPS):
            state, _ = step(state, None)
        return state

    return simulated(mass, q, v, all_pairs, loop)


def scan(step, state):
    return jax.lax.scan(step, state, length=STEPS)[0]


def broadcast(mass, q, v):
    return simulated(mass, q, v, all_pairs, scan)


def blocks(mass, q, v):
    """For 64 bodies at a time, computed again for the gradient: one number for each pair, no axis of coordinates."""

    def accelerations(mass, q):
        @jax.checkpoint
        def one(body):
            away = [q[:, d] - body[d] for d in range(len(body))]
            squared = sum(a**2 for a in away) + SOFT**2
            pull = mass * jax.lax.rsqrt(squared) / squared
            return jnp.stack([(pull * a).sum() for a in away])

        return jax.lax.map(one, q, batch_size=64)

    return simulated(mass, q, v, jax.checkpoint(accelerations), scan)


def draw(figure, arrays, results):
    """Before, in the middle, and after: the kernel goes on from where it stopped."""
    mass, q, v = arrays
    colours = np.where(np.arange(len(mass)) < len(mass) // 2, "#d08770", "#5e81ac")
    panels = dict(zip((0, 2, 3, 4), figure.subplots(1, 4, sharex=True, sharey=True), strict=True))
    for number in range(5):
        if number:
            q, v = results if number == 1 else map(np.asarray, n_body(mass, q, v))
        if number not in panels:
            continue
        axes = panels[number]
        axes.scatter(q[:, 0], q[:, 1], s=np.where(mass > 0.5, 25, 1), c=colours, linewidths=0)
        axes.set(title=f"time {number * STEPS * DT:.0f}", aspect="equal", xlim=(-3.3, 3.3), ylim=(-2.7, 2.7))
        axes.axis("off")


program = Program(
    n_body,
    data,
    reference,
    {"array of all pairs": broadcast, "lax.map of blocks": blocks},
    draw,
    small={"bodies": 40},
    full={"bodies": 1024},
    picture={"bodies": 1600},
    gradient=(0, 1, 2),
)

if __name__ == "__main__":
    program.main()
