"""A mixture of Gaussians

How likely each point is under a sum of Gaussians, and the share of each Gaussian in it: one half of the EM algorithm.
Densities are kept as logarithms, so far points do not underflow, and the sum over the Gaussians is a `logsumexp`. The
gradient with respect to points, weights, means and factors is that of the likelihood and of the shares, so the mixture
can be part of a larger model.

Dempster, Laird and Rubin, "Maximum likelihood from incomplete data via the EM algorithm" (1977).
"""

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

mixture = tcjax.kernel("""
def mixture(float(N,D) x, float(K) weight, float(K,D) centre, float(K,D,D) factor) -> (likelihood, share) {
    away(n,k,e) = sum[d]((x(n,d) - centre(k,d)) * factor(k,d,e))
    size(k) = sum[d](log(factor(k,d,d)))
    density(n,k) = log(weight(k)) + size(k) - 0.5 * sum[e](away(n,k,e) * away(n,k,e)) - 0.5 * D * log(2 * 3.14159265359)
    likelihood(n) = logsumexp[k](density(n,k))
    share(n,k) = exp(density(n,k) - likelihood(n))
}""")


def data(points: int, gaussians: int) -> tuple[np.ndarray, ...]:
    """scikit-learn's irises, again with a little noise where more points are asked for, and a mixture fitted to them.

    A factor times its transpose is the inverse of a covariance.
    """
    from sklearn.datasets import load_iris
    from sklearn.mixture import GaussianMixture

    flowers = load_iris().data
    random = np.random.default_rng(0)
    x = flowers[np.arange(points) % len(flowers)]
    x = x + random.normal(scale=0.1, size=x.shape) * (np.arange(points) >= len(flowers))[:, None]
    fitted = GaussianMixture(gaussians, random_state=0, reg_covar=1e-2).fit(flowers)
    arrays = x, fitted.weights_, fitted.means_, fitted.precisions_cholesky_
    return tuple(array.astype(np.float32) for array in arrays)


def reference(x, weight, centre, factor):
    densities: list[np.ndarray] = []
    for w, c, f in zip(weight, centre, factor, strict=True):
        away = x - c
        squared = np.einsum("nd,de,ne->n", away, f @ f.T, away)
        densities.append(w * np.prod(np.diag(f)) * np.exp(-squared / 2) / (2 * np.pi) ** (x.shape[1] / 2))
    total = np.sum(densities, 0)
    return np.log(total), np.stack(densities, 1) / total[:, None]


def log_densities(away, weight, factor):
    size = jnp.log(jnp.diagonal(factor, axis1=1, axis2=2)).sum(-1)
    return jnp.log(weight) + size - 0.5 * (away**2).sum(-1) - 0.5 * factor.shape[-1] * np.log(2 * np.pi)


def einsum(x, weight, centre, factor):
    density = log_densities(jnp.einsum("nkd,kde->nke", x[:, None] - centre, factor), weight, factor)
    likelihood = jax.nn.logsumexp(density, axis=1)
    return likelihood, jnp.exp(density - likelihood[:, None])


def products(x, weight, centre, factor):
    """The factors times all points, less the factors times the centres; far from zero digits are lost."""
    away = jnp.einsum("nd,kde->nke", x, factor) - jnp.einsum("kd,kde->ke", centre, factor)
    density = log_densities(away, weight, factor)
    likelihood = jax.nn.logsumexp(density, axis=1)
    return likelihood, jnp.exp(density - likelihood[:, None])


def library(x, weight, centre, factor):
    """SciPy's density in JAX, one Gaussian after the other."""
    covariance = jnp.linalg.inv(factor @ factor.swapaxes(1, 2))
    density = jax.vmap(jax.scipy.stats.multivariate_normal.logpdf, (None, 0, 0), 1)(x, centre, covariance)
    density = density + jnp.log(weight)
    likelihood = jax.nn.logsumexp(density, axis=1)
    return likelihood, jnp.exp(density - likelihood[:, None])


def sklearn(x, weight, centre, factor):
    from sklearn.mixture import GaussianMixture

    model = GaussianMixture(len(weight))
    model.weights_, model.means_, model.precisions_cholesky_ = weight, centre, factor
    return model.score_samples(x), model.predict_proba(x)


def draw(figure, arrays, results):
    """The shares as colours, ellipses of one and two standard deviations; and the likelihoods."""
    (x, _, centre, factor), (likelihood, share) = arrays, results
    left, right = figure.subplots(1, 2, sharey=True)
    colours = np.array([[0.82, 0.53, 0.44], [0.37, 0.51, 0.67], [0.64, 0.75, 0.55]])
    left.scatter(x[:, 0], x[:, 2], s=10, c=np.clip(share @ colours, 0, 1))
    turn = np.linspace(0, 2 * np.pi, 100)
    for c, f, colour in zip(centre, factor, colours, strict=True):
        covariance = np.linalg.inv(f @ f.T)[np.ix_([0, 2], [0, 2])]
        ring = np.stack([np.cos(turn), np.sin(turn)], 1) @ np.linalg.cholesky(covariance).T
        for size in (1, 2):
            left.plot(*(c[[0, 2]] + size * ring).T, color=colour, linewidth=1)
    left.set(title="150 irises, shares of three Gaussians", xlabel="length of the sepal, cm", ylabel="of the petal, cm")
    shown = right.scatter(x[:, 0], x[:, 2], s=10, c=likelihood, cmap="plasma")
    right.set(title="log-likelihood", xlabel="length of the sepal, cm")
    figure.colorbar(shown, ax=right)


program = Program(
    mixture,
    data,
    reference,
    {"einsum": einsum, "matrix products": products, "jax.scipy": library},
    draw,
    small={"points": 150, "gaussians": 3},
    full={"points": 20000, "gaussians": 16},
    gradient=(0, 1, 2, 3),
    peers={"scikit-learn": sklearn},
)

if __name__ == "__main__":
    program.main()
