"""Simulates the outer planets for 170 years; the force is the gradient of one comprehension, the energy.

Positions (astronomical units) and velocities (per day) are those of September 5, 1994, masses in suns: the table of
Hairer, Lubich and Wanner, Geometric Numerical Integration, section I.2.4. The example checks that energy is conserved
and that the orbital periods agree with almanacs.
"""

import jax
import numpy as np
from jax import lax

import tcjax

GRAVITY = 2.95912208286e-4

energy = tcjax.kernel(f"""
def energy(m, q, p) -> (H) {{
    H() = sum[i,d](p(i,d) * p(i,d) / (2 * m(i)))
        - {GRAVITY} * sum[i, j where j < i](m(i) * m(j) / sqrt(sum[d]((q(i,d) - q(j,d)) * (q(i,d) - q(j,d)))))
}}""")

# Mass, position, velocity. The sun's mass includes the inner planets'.
BODIES = {
    "Sun": (1.00000597682, [0, 0, 0], [0, 0, 0]),
    "Jupiter": (9.54786104043e-4, [-3.5023653, -3.8169847, -1.5507963], [0.00565429, -0.00412490, -0.00190589]),
    "Saturn": (2.85583733151e-4, [9.0755314, -3.0458353, -1.6483708], [0.00168318, 0.00483525, 0.00192462]),
    "Uranus": (4.37273164546e-5, [8.3101420, -16.2901086, -7.2521278], [0.00354178, 0.00137102, 0.00055029]),
    "Neptune": (5.17759138449e-5, [11.4707666, -25.7294829, -10.8169456], [0.00288930, 0.00114527, 0.00039677]),
    "Pluto": (1 / 1.3e8, [-15.5387357, -25.2225594, -3.1902382], [0.00276725, -0.00170702, -0.00136504]),
}
YEARS = {"Jupiter": 11.86, "Saturn": 29.46, "Uranus": 84.01}
DAY = 10.0  # The time of a step.


def travel(m: jax.Array, q: jax.Array, p: jax.Array, steps: int) -> tuple[jax.Array, jax.Array]:
    """The positions and the energy after each step of the leapfrog method, from Hamilton's equations."""
    downhill, velocity = jax.grad(energy, argnums=1), jax.grad(energy, argnums=2)

    def step(state, _):
        q, p = state
        p = p - DAY / 2 * downhill(m, q, p)
        q = q + DAY * velocity(m, q, p)
        p = p - DAY / 2 * downhill(m, q, p)
        return (q, p), (q, energy(m, q, p))

    return lax.scan(step, (q, p), length=steps)[1]


def turn(path: np.ndarray) -> float:
    """The years of one turn, from the angle that a planet goes round the sun in all."""
    inertia = np.linalg.eigh(path.T @ path)[1]
    angle = np.unwrap(np.arctan2(*(path @ inertia[:, 1:]).T))
    return len(path) * DAY / 365.25 / abs((angle[-1] - angle[0]) / (2 * np.pi))


def main(years: int = 170) -> dict[str, float]:
    """Prints and returns the years of a turn; raises if the energy drifts or an almanac disagrees."""
    with jax.enable_x64(True):
        m, q, v = (np.array(column, np.float64) for column in zip(*BODIES.values(), strict=True))
        p = m[:, None] * (v - m @ v / m.sum())
        start = float(energy(m, q, p))
        q, energies = (np.asarray(a) for a in jax.jit(travel, static_argnums=3)(m, q, p, round(years * 365.25 / DAY)))
    drift = float(np.abs(energies / start - 1).max())
    turns = {name: turn(q[:, place] - q[:, 0]) for place, name in enumerate(BODIES) if name in YEARS}
    print(f"energy {start:.6e}, off by at most {drift:.1e} of it in {years} years")
    for name, found in turns.items():
        print(f"{name}: a turn takes {found:.2f} years ({YEARS[name]} in almanacs)")
        assert abs(found / YEARS[name] - 1) < 0.01, name
    assert drift < 1e-5
    return turns


if __name__ == "__main__":
    main()
