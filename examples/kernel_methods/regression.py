"""Predicts how diabetes progresses by kernel ridge regression, which is the mean of a Gaussian process.

The kernel matrix is never stored: conjugate gradients need only its product with a vector, which is one comprehension.
Its derivative with respect to the width of the kernel works the same way. The data are scikit-learn's 442 patients with
ten measurements each.
"""

from typing import no_type_check

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.sparse.linalg import cg
from sklearn.datasets import load_diabetes
from sklearn.gaussian_process import GaussianProcessRegressor, kernels
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import train_test_split

import tcjax

RIDGE = 0.5


@no_type_check
@tcjax.kernel
def smoothed(x: "float(N,D)", y: "float(M,D)", a: "float(M)", width: "float"):
    out[i] = sum[j](exp(-sum[d]((x[i, d] - y[j, d]) ** 2) / (2 * width() ** 2)) * a[j])
    return out


def fit(x: jax.Array, t: jax.Array, width: float | jax.Array) -> jax.Array:
    """The weights a with ``(K + RIDGE) a = t``."""
    return cg(lambda a: smoothed(x, x, a, width) + RIDGE * a, t, tol=1e-6, maxiter=200)[0]


def squared_error(width, x, t, x_new, t_new) -> jax.Array:
    """The mean squared error on new patients."""
    return jnp.mean((smoothed(x_new, x, fit(x, t, width), width) - t_new) ** 2)


def main() -> float:
    """Chooses the width on held-out patients, compares with scikit-learn, returns the score R² on the last third."""
    x, t = load_diabetes(return_X_y=True)
    x, t = ((a - a.mean(0)) / a.std(0) for a in (x, t))
    x, x_new, t, t_new = train_test_split(x.astype(np.float32), t.astype(np.float32), test_size=1 / 3, random_state=0)
    parts = x[:200], t[:200], x[200:], t[200:]

    width = 2.0
    slope = jax.jit(jax.value_and_grad(squared_error))
    for step in range(30):
        error, by_width = slope(width, *parts)
        if step % 10 == 0:
            print(f"width {float(width):.3f}: error {float(error):.4f}, slope {float(by_width):+.4f}")
        width -= 4 * by_width
    width = float(width)
    found = np.asarray(smoothed(x_new, x, fit(x, t, width), width))

    ridge = KernelRidge(alpha=RIDGE, kernel="rbf", gamma=1 / (2 * width**2)).fit(x, t).predict(x_new)
    process = GaussianProcessRegressor(kernels.RBF(width), alpha=RIDGE, optimizer=None).fit(x, t).predict(x_new)
    np.testing.assert_allclose(found, ridge, atol=1e-3)
    np.testing.assert_allclose(found, process, atol=1e-3)
    score = 1 - ((found - t_new) ** 2).mean() / t_new.var()
    print(f"width {width:.3f}: R² {score:.3f} on {len(t_new)} patients, as scikit-learn's KernelRidge and process say")
    return float(score)


if __name__ == "__main__":
    main()
