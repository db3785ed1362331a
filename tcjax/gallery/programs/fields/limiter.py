"""Advection with a limiter

Waves move along without being smeared out and without oscillations at their jumps. After van Leer, a slope is used only
where both neighbours agree on it. `wrap` makes the line a ring, and what leaves a cell enters the next. The branch that
is not taken is not evaluated: where a wave is flat there is no 0/0, in the gradient either.

van Leer, "Towards the ultimate conservative difference scheme II" (1974).
"""

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

STEPS = 100

advect = tcjax.kernel(
    """
def advect(float(B,N) start, float(B) c) -> (u) {
    u(b,i) = start(b,i)
    for t in 0:steps {
        slope(b,i) = rise * fall > 0 ? 2 * rise * fall / (rise + fall) : 0.0
            where rise = u(b, wrap(i+1)) - u(b,i), fall = u(b,i) - u(b, wrap(i-1))
        flux(b,i) = c(b) * (u(b,i) + (1 - c(b)) / 2 * slope(b,i))
        u(b,i) = u(b,i) + flux(b, wrap(i-1)) - flux(b,i)
    }
}""",
    consts={"steps": STEPS},
)


def data(waves: int, cells: int) -> tuple[np.ndarray, ...]:
    """A bell and a box over a gentle swell, every 120 cells, and speeds in cells for each step."""
    x = (np.arange(cells) % 120 + 0.5) / 120
    wave = np.exp(-(((x - 0.253) / 0.05) ** 2)) + (np.abs(x - 0.55) < 0.08) + 0.1 * np.sin(2 * np.pi * x + 0.3)
    return np.tile(wave, (waves, 1)).astype(np.float32), np.linspace(0.3, 0.9, waves, dtype=np.float32)


def reference(start, c):
    u, c = start.copy(), c[:, None]
    for _ in range(STEPS):
        steps = np.diff(u, axis=1, append=u[:, :1])
        rise, fall = steps, np.concatenate([steps[:, -1:], steps[:, :-1]], 1)
        product = np.maximum(rise * fall, 0)
        slope = np.divide(2 * product, rise + fall, out=np.zeros_like(u), where=product > 0)
        flux = c * (u + (1 - c) / 2 * slope)
        u = u - np.diff(flux, axis=1, prepend=flux[:, -1:])
    return u


def rolled(start, c):
    def step(_, u):
        rise, fall = jnp.roll(u, -1, 1) - u, u - jnp.roll(u, 1, 1)
        same = rise * fall > 0
        # The divisor is 1 where it would be 0: the derivative of a branch that is not taken would be NaN.
        slope = jnp.where(same, 2 * rise * fall / jnp.where(same, rise + fall, 1), 0)
        flux = c[:, None] * (u + (1 - c[:, None]) / 2 * slope)
        return u + jnp.roll(flux, 1, 1) - flux

    return jax.lax.fori_loop(0, STEPS, step, start)


def halo(start, c):
    n, c = start.shape[1], c[:, None]

    def step(u, _):
        p = jnp.concatenate([u[:, -2:], u, u[:, :1]], 1)
        steps = p[:, 1:] - p[:, :-1]
        rise, fall = steps[:, 1:], steps[:, :-1]
        same = rise * fall > 0
        slope = jnp.where(same, 2 * rise * fall / jnp.where(same, rise + fall, 1), 0)
        flux = c * (p[:, 1 : n + 2] + (1 - c) / 2 * slope)
        return u + flux[:, :-1] - flux[:, 1:], None

    return jax.lax.scan(step, start, length=STEPS)[0]


def draw(figure, arrays, u):
    """Where the waves have come, above where they should have."""
    start, c = arrays
    cells = np.arange(start.shape[1])
    panels = figure.subplots(1, len(c), sharey=True)
    for axes, wave, end, speed in zip(panels, start, u, c, strict=True):
        axes.plot(cells, np.interp(cells - speed * STEPS, cells, wave, period=len(cells)), color="0.6", label="exact")
        axes.plot(cells, end, color="tab:orange", label="computed")
        axes.set(title=f"{speed:.1f} cells a step", xlabel="cell")
    panels[0].legend(loc="upper left")


program = Program(
    advect,
    data,
    reference,
    {"fori_loop, roll": rolled, "scan, halo": halo},
    draw,
    small={"waves": 3, "cells": 120},
    full={"waves": 64, "cells": 4080},
    picture={"waves": 3, "cells": 120},
    gradient=(0, 1),
)

if __name__ == "__main__":
    program.main()
