"""Handwritten digits by their nearest neighbours

Each image is compared with all known images, and the five nearest vote on what it shows. `argmink[j](e, r)` is the
position of the r-th smallest value, so the whole classifier is three lines: find, count, choose. Only five positions
are kept for each image, not all distances.

Cover and Hart, "Nearest neighbor pattern classification" (1967).
"""

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

NEAREST, CLASSES = 5, 10

neighbours = tcjax.kernel(
    """
    def neighbours(float(N,D) x, float(M,D) y, int32(M) label) -> (guess, near) {
        near(i,r) = argmink[j](sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d))), r) where r in 0:nearest
        votes(i,c) = sum[r](label(near(i,r)) == c ? 1 : 0) where c in 0:classes
        guess(i) = argmax[c](votes(i,c))
    }""",
    consts={"nearest": NEAREST, "classes": CLASSES},
)


def data(images: int, known: int) -> tuple[np.ndarray, ...]:
    """The last images of scikit-learn's 1797 digits, the first ones, and what the first ones show."""
    from sklearn.datasets import load_digits

    pixels, names = load_digits(return_X_y=True)
    return pixels[-images:].astype(np.float32), pixels[:known].astype(np.float32), names[:known].astype(np.int32)


def reference(x, y, label):
    squared = ((x[:, None] - y) ** 2).sum(-1)
    near = squared.argsort(1, kind="stable")[:, :NEAREST]
    votes = np.stack([(label[near] == c).sum(1) for c in range(CLASSES)], 1)
    return votes.argmax(1), near


def squares(x, y):
    return (x**2).sum(-1)[:, None] + (y**2).sum(-1) - 2 * x @ y.T


def sorting(x, y, label):
    near = jnp.argsort(squares(x, y), axis=1)[:, :NEAREST]
    votes = jax.nn.one_hot(label[near], CLASSES, dtype="int32").sum(1)
    return votes.argmax(1), near


def top_k(x, y, label):
    _, near = jax.lax.top_k(-squares(x, y), NEAREST)
    votes = jax.nn.one_hot(label[near], CLASSES, dtype="int32").sum(1)
    return votes.argmax(1), near


def sklearn(x, y, label):
    from sklearn.neighbors import KNeighborsClassifier

    model = KNeighborsClassifier(NEAREST, algorithm="brute").fit(y, label)
    return model.predict(x), model.kneighbors(x, return_distance=False)


def draw(figure, arrays, results):
    """Images on the left, their neighbours behind them: first those of which not all neighbours agree."""
    (x, y, label), (guess, near) = arrays, results
    doubt = (label[near] != guess[:, None]).sum(1)
    chosen = np.argsort(-doubt, kind="stable")[:8]
    # Two columns of four images, each with an empty place behind it.
    panels = figure.subplots(4, 2 * (NEAREST + 2) - 1)
    for axes in panels.flat:
        axes.axis("off")
    for place, i in enumerate(chosen):
        row, first = place % 4, (place // 4) * (NEAREST + 2)
        panels[row, first].imshow(x[i].reshape(8, 8), cmap="magma")
        panels[row, first].set_title(f"{guess[i]}?", fontsize=8)
        for r, j in enumerate(near[i]):
            axes = panels[row, first + 1 + r]
            axes.imshow(y[j].reshape(8, 8), cmap="gray")
            axes.set_title(label[j], fontsize=8, **({"color": "#d08770"} if label[j] != guess[i] else {}))


program = Program(
    neighbours,
    data,
    reference,
    {"argsort": sorting, "top_k": top_k},
    draw,
    small={"images": 60, "known": 200},
    full={"images": 797, "known": 1000},
    picture={"images": 797, "known": 1000},
    peers={"scikit-learn": sklearn},
)

if __name__ == "__main__":
    program.main()
