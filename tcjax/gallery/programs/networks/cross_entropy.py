"""Cross-entropy with label smoothing

How badly the scores predict the right classes: the mean of logsumexp minus the score of the label. The label's score is
looked up by index, so there is no one-hot array. Smoothing moves part of the target from the label to all classes. The
gradient is the softmax minus the target.

Szegedy et al., "Rethinking the Inception architecture for computer vision" (2016).
"""

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

SMOOTH = 0.1

cross_entropy = tcjax.kernel(
    """
def cross_entropy(float(N,C) score, int32(N) label) -> (loss) {
    target(n) = (1 - smooth) * score(n, label(n)) + smooth * mean[c](score(n,c))
    loss() = mean[n](logsumexp[c](score(n,c)) - target(n))
}""",
    consts={"smooth": SMOOTH},
)


def data(rows: int, classes: int) -> tuple[np.ndarray, ...]:
    """Scores of a network that has learned something: the right class stands out, some more than others."""
    random = np.random.default_rng(0)
    label = random.integers(0, classes, rows)
    score = random.normal(size=(rows, classes))
    score[np.arange(rows), label] += random.uniform(0, 8, size=rows)
    return score.astype(np.float32), label.astype(np.int32)


def reference(score, label):
    target = np.full(score.shape, SMOOTH / score.shape[1])
    target[np.arange(len(label)), label] += 1 - SMOOTH
    likely = np.exp(score) / np.exp(score).sum(1, keepdims=True)
    return -(target * np.log(likely)).sum() / len(label)


def one_hot(score, label):
    classes = score.shape[1]
    target = jax.nn.one_hot(label, classes) * (1 - SMOOTH) + SMOOTH / classes
    return -(target * jax.nn.log_softmax(score)).sum(1).mean()


def taken(score, label):
    """The label's score by its index, as optax does it."""
    right = jnp.take_along_axis(score, label[:, None], 1)[:, 0]
    target = (1 - SMOOTH) * right + SMOOTH * score.mean(1)
    return (jax.nn.logsumexp(score, 1) - target).mean()


def draw(figure, arrays, _):
    """Scores, and the slope by each of them: down for the label, up for the classes that rival it."""
    score, label = arrays
    slope = np.asarray(jax.grad(cross_entropy)(score, label)) * len(label)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, values, bound, title in zip(panels, (score, slope), (8, 1), ("score", "gradient x rows"), strict=True):
        image = axes.imshow(values, aspect="auto", cmap="RdBu_r", vmin=-bound, vmax=bound)
        axes.plot(label, np.arange(len(label)), "s", mfc="none", mec="#808890", ms=6, mew=0.8)
        axes.set(title=title, xlabel="class")
        figure.colorbar(image, ax=axes, shrink=0.9)
    panels[0].set(ylabel="row", yticks=range(0, len(label), 5))


program = Program(
    cross_entropy,
    data,
    reference,
    {"one_hot": one_hot, "take_along_axis": taken},
    draw,
    small={"rows": 16, "classes": 24},
    full={"rows": 2048, "classes": 4096},
    gradient=(0,),
)

if __name__ == "__main__":
    program.main()
