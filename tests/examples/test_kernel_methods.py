"""The kernel methods agree with scikit-learn, SciPy, NumPy and almanacs; their own checks run in `main`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import ortho_group

from tests.examples.test_examples import example

pytestmark = pytest.mark.usefixtures("quickly_compiled")


def test_kernel_ridge_regression_without_a_kernel_matrix(capsys: pytest.CaptureFixture[str]) -> None:
    score = example("kernel_methods/regression").main()

    assert 0.3 < score < 0.6
    assert "as scikit-learn's" in capsys.readouterr().out


def test_the_slope_by_the_width_goes_through_the_solution_of_the_equations() -> None:
    regression = example("kernel_methods/regression")
    random = np.random.default_rng(0)
    x, x_new = (random.normal(size=(n, 3)).astype(np.float32) for n in (20, 10))
    t, t_new = np.sin(x).sum(1), np.sin(x_new).sum(1)

    def dense(width):
        near = [((a[:, None] - x) ** 2).sum(-1) for a in (x, x_new)]
        K, K_new = (jnp.exp(-squared / (2 * width**2)) for squared in near)
        weights = jnp.linalg.solve(K + regression.RIDGE * jnp.eye(20), t)
        return jnp.mean((K_new @ weights - t_new) ** 2)

    slope = jax.grad(regression.squared_error)(1.5, x, t, x_new, t_new)

    np.testing.assert_allclose(slope, jax.grad(dense)(1.5), rtol=1e-3)


def test_the_nearest_neighbours_read_digits() -> None:
    assert example("kernel_methods/neighbours").main() > 0.97


def test_the_step_of_newton_is_the_step_of_k_means() -> None:
    clusters = example("kernel_methods/clusters")
    random = np.random.default_rng(0)
    x, centre = random.normal(size=(50, 2)).astype(np.float32), random.normal(size=(4, 2)).astype(np.float32)

    moved = clusters.step(x, centre)

    nearest = ((x[:, None] - centre) ** 2).sum(-1).argmin(1)
    np.testing.assert_allclose(moved, [x[nearest == c].mean(0) for c in range(4)], atol=1e-5)


def test_the_clusters_of_wines_are_scikit_learns_and_nearly_the_cultivars() -> None:
    assert example("kernel_methods/clusters").main() > 0.85


def test_the_chamfer_distance_finds_turn_and_shift() -> None:
    angle, shift = example("kernel_methods/clouds").main(points=400, steps=120)

    assert abs(angle - 0.4) < 0.02
    np.testing.assert_allclose(shift, [0.15, -0.1], atol=0.02)


def test_colours_become_those_of_the_other_photograph() -> None:
    history = example("kernel_methods/transport").main(count=120)

    assert history[-1] < history[0] / 20


def test_flowers_are_found_again_by_their_distances_alone() -> None:
    assert example("kernel_methods/matching").main(count=40) == 1


def test_the_fourfold_sum_of_gromov_and_wasserstein_does_not_see_a_turn() -> None:
    matching = example("kernel_methods/matching")
    points = np.random.default_rng(0).normal(size=(9, 3)).astype(np.float32)
    turned = (points @ ortho_group.rvs(3, random_state=0)).astype(np.float32)
    same = np.eye(9, dtype=np.float32) / 9

    cost = matching.mismatch(matching.distances(points), matching.distances(turned), same)

    np.testing.assert_allclose(np.diag(cost), 0, atol=1e-5)
    assert (np.asarray(cost)[~np.eye(9, dtype=bool)] > 1e-3).all()


def test_the_planets_keep_their_energy_and_their_years() -> None:
    turns = example("kernel_methods/planets").main()

    assert turns["Jupiter"] == pytest.approx(11.86, rel=0.01)


def test_attention_with_conditions_on_indices_and_what_it_learns() -> None:
    attention = example("kernel_methods/attention")

    losses = attention.main()

    assert all(loss < 2.5 for loss in losses.values())


def test_the_gradients_of_attention_with_distances_are_those_of_masks() -> None:
    attention = example("kernel_methods/attention")
    random = np.random.default_rng(0)
    Q, K, V, weights = random.normal(size=(4, 2, 7, 3)).astype(np.float32)
    slopes = np.array([0.5, 0.25], np.float32)
    q, k = np.ogrid[:7, :7]

    def masked(Q, K, V, slopes):
        scores = jnp.einsum("hqd,hkd->hqk", Q, K) / 3**0.5 - slopes[:, None, None] * (q - k)
        return jnp.einsum("hqk,hke->hqe", jax.nn.softmax(jnp.where(k <= q, scores, -jnp.inf), axis=-1), V)

    def slopes_of(attend):
        return jax.grad(lambda *arrays: (attend(*arrays) * weights).sum(), argnums=(0, 1, 2, 3))(Q, K, V, slopes)

    for found, expected in zip(slopes_of(attention.alibi), slopes_of(masked), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_window_of_attention_counts_positions_back() -> None:
    attention = example("kernel_methods/attention")
    Q, K, V = np.random.default_rng(0).normal(size=(3, 1, 9, 4)).astype(np.float32)

    seen = np.asarray(attention.sliding(Q, K, V, 3))

    for q in range(9):
        near = slice(max(0, q - 2), q + 1)
        weights = softmax(K[0, near] @ Q[0, q] / 2)
        np.testing.assert_allclose(seen[0, q], weights @ V[0, near], atol=1e-5)
