"""Learns the heat equation from pictures, as a stencil whose nine numbers are the parameters of a layer.

Heat that diffuses in a plane and is carried by a wind follows a five-point formula, here on a periodic grid. The layer
sees temperatures at one moment and the next, and learns the formula.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

import tcjax.nn as tnn

# In each step: the share of the difference to its neighbours that a point takes up, and how far the wind carries.
SPREAD, EAST, SOUTH = 0.15, 0.10, -0.06
STENCIL = np.array(
    [
        [0, SPREAD + SOUTH / 2, 0],
        [SPREAD + EAST / 2, 1 - 4 * SPREAD, SPREAD - EAST / 2],
        [0, SPREAD - SOUTH / 2, 0],
    ]
)

PROGRAM = """
def later(float(N,H,W) now, float(3,3) stencil) -> (then) {
    then(n,y,x) +=! now(n, (y+i-1) % H, (x+j-1) % W) * stencil(i,j) where y in 0:H, x in 0:W
}"""


def simulated(count: int, size: int, moments: int) -> np.ndarray:
    """Temperatures ``(moments, count, size, size)`` of plates from random initial values, in double precision."""
    plates = [np.random.default_rng(0).normal(size=(count, size, size))]
    for _ in range(moments - 1):
        now = plates[-1]
        east, west, south, north = (np.roll(now, -n, axis) for axis in (2, 1) for n in (1, -1))
        spread = SPREAD * (east + west + south + north - 4 * now)
        plates.append(now + spread - EAST * (east - west) / 2 + SOUTH * (north - south) / 2)
    return np.stack(plates)


def main(steps: int = 400) -> float:
    """Learns the stencil, and returns its error."""
    plates = jnp.asarray(simulated(count=4, size=24, moments=4), jnp.float32)
    now, then = plates[:-1].reshape(-1, 24, 24), plates[1:].reshape(-1, 24, 24)
    layer = tnn.Comprehension(PROGRAM, params={"stencil": nnx.initializers.zeros}, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(layer, optax.adam(optax.cosine_decay_schedule(0.03, steps)), wrt=nnx.Param)

    @nnx.jit
    def step(layer: tnn.Comprehension, optimizer: nnx.Optimizer) -> jax.Array:
        error, slope = nnx.value_and_grad(lambda layer: ((layer(now) - then) ** 2).mean())(layer)
        optimizer.update(layer, slope)
        return error

    for number in range(steps):
        error = step(layer, optimizer)
        if number % (steps // 4) == 0 or number == steps - 1:
            print(f"step {number:3}: mean squared error {float(error):.2e}")
    print("learned\n", np.asarray(layer.stencil[...]).round(4), "\ntrue\n", STENCIL)
    return float(np.abs(np.asarray(layer.stencil[...]) - STENCIL).max())


if __name__ == "__main__":
    assert main() < 1e-3
