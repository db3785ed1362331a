"""Rotates a cloud of points until it lies on another, by gradient descent on the Chamfer distance.

The cloud is the outline of a flower: the points of a photograph where brightness changes most. The other cloud is the
same outline after a known rotation and shift, with different points. The photograph is one of scikit-learn's sample
images.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from scipy.ndimage import gaussian_gradient_magnitude
from scipy.spatial import cKDTree
from sklearn.datasets import load_sample_image

import tcjax

chamfer = tcjax.kernel("""
def chamfer(float(N,D) x, float(M,D) y) -> (distance) {
    distance() = sum[i](min[j](sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d))))) / N
               + sum[j](min[i](sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d))))) / M
}""")

ANGLE, SHIFT = 0.4, np.array([0.15, -0.1])


def outline(points: int) -> np.ndarray:
    """Places in the photograph where the brightness changes most, in a square of sides about two."""
    gray = load_sample_image("flower.jpg").mean(axis=2)
    steep = gaussian_gradient_magnitude(gray, 2)
    places = np.argwhere(steep > np.quantile(steep, 0.97))
    chosen = places[np.random.default_rng(0).permutation(len(places))[:points]]
    return ((chosen - chosen.mean(0)) / 200).astype(np.float32)


def moved(points, angle, shift):
    """`points` turned about zero, then shifted."""
    turn = jnp.array([[jnp.cos(angle), -jnp.sin(angle)], [jnp.sin(angle), jnp.cos(angle)]])
    return points @ turn.T + shift


def main(points: int = 1500, steps: int = 150) -> tuple[float, np.ndarray]:
    """Finds the turn and the shift of a cloud and returns them; compares the distance with SciPy's k-d trees."""
    cloud = outline(2 * points)
    here, there = cloud[:points], np.asarray(moved(cloud[points:], ANGLE, SHIFT))

    mine = float(chamfer(here, there))
    trees = (cKDTree(there).query(here)[0] ** 2).mean() + (cKDTree(here).query(there)[0] ** 2).mean()
    print(f"distance at the start {mine:.6f}, by k-d trees {trees:.6f}")
    np.testing.assert_allclose(mine, trees, rtol=1e-4)

    optimiser = optax.adam(optax.cosine_decay_schedule(0.03, steps))
    loss = jax.value_and_grad(lambda pose: chamfer(moved(here, *pose), there))

    @jax.jit
    def step(pose, state):
        value, slope = loss(pose)
        updates, state = optimiser.update(slope, state)
        return optax.apply_updates(pose, updates), state, value

    pose = jnp.zeros(()), jnp.zeros(2)
    state = optimiser.init(pose)
    for number in range(steps):
        pose, state, value = step(pose, state)
        if number % 50 == 0:
            print(f"step {number}: {float(value):.6f}")
    angle, shift = float(pose[0]), np.asarray(pose[1])
    print(f"turned by {angle:.3f} (truly {ANGLE}), shifted by {shift} (truly {SHIFT})")
    assert abs(angle - ANGLE) < 0.02 and np.abs(shift - SHIFT).max() < 0.02
    return angle, shift


if __name__ == "__main__":
    main()
