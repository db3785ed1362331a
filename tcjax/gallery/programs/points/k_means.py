"""The colours of a photograph by k-means

Lloyd's algorithm: assign each pixel to its nearest colour, replace each colour by the mean of its pixels, and repeat.
Both halves of a step are formulas: an argmin over colours, and sums scattered to where the argmin says. The steps are a
loop inside the kernel, and the whole loop is differentiated: the gradient tells which pixels pull at a colour.

Lloyd, "Least squares quantization in PCM" (1957, published 1982).
"""

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

STEPS = 10

k_means = tcjax.kernel(
    """
    def k_means(float(H,W,C) image, float(K,C) start) -> (centre) {
        float(K,C) total
        float(K) count
        centre(k,c) = start(k,c)
        for t in 0:steps {
            which(y,x) = argmin[k](sum[c]((image(y,x,c) - centre(k,c)) * (image(y,x,c) - centre(k,c))))
            total(which(y,x), c) +=! image(y,x,c)
            count(which(y,x)) +=! 1.0
            centre(k,c) = count(k) > 0 ? total(k,c) / count(k) : centre(k,c)
        }
    }""",
    consts={"steps": STEPS},
)


def data(stride: int, colours: int) -> tuple[np.ndarray, ...]:
    """A regular sample of the pixels of scikit-learn's photograph of a flower, and some random colours from it."""
    from sklearn.datasets import load_sample_image

    image = load_sample_image("flower.jpg")[::stride, ::stride] / np.float32(255)
    pixels = image.reshape(-1, 3)
    return image, pixels[np.random.default_rng(0).choice(len(pixels), colours, replace=False)]


def reference(image, start):
    pixels, centre = image.reshape(-1, 3), start.copy()
    for _ in range(STEPS):
        which = ((pixels[:, None] - centre) ** 2).sum(-1).argmin(1)
        for k in range(len(centre)):
            if (which == k).any():
                centre[k] = pixels[which == k].mean(0)
    return centre


def lloyd(image, start, means):
    pixels = image.reshape(-1, 3)

    def step(centre, _):
        which = ((pixels[:, None] - centre) ** 2).sum(-1).argmin(1)
        total, count = means(pixels, which, len(centre))
        return jnp.where(count[:, None] > 0, total / jnp.maximum(count, 1)[:, None], centre), None

    return jax.lax.scan(step, start, length=STEPS)[0]


def segments(image, start):
    def means(pixels, which, count):
        return jax.ops.segment_sum(pixels, which, count), jnp.bincount(which, length=count)

    return lloyd(image, start, means)


def one_hot(image, start):
    def means(pixels, which, count):
        chosen = jax.nn.one_hot(which, count)
        return chosen.T @ pixels, chosen.sum(0)

    return lloyd(image, start, means)


def sklearn(image, start):
    from sklearn.cluster import KMeans

    model = KMeans(len(start), init=start, n_init=1, max_iter=STEPS, tol=0, algorithm="lloyd")
    model.fit(image.reshape(-1, 3))
    return model.cluster_centers_


def draw(figure, arrays, centre):
    """The photograph, and what is left of it."""
    image, start = arrays
    which = ((image[:, :, None] - centre) ** 2).sum(-1).argmin(-1)
    left, right, palette = figure.subplots(1, 3, width_ratios=(8, 8, 1))
    left.imshow(image)
    left.set_title("the photograph")
    right.imshow(centre[which])
    right.set_title(f"in {len(start)} colours")
    order = np.argsort(centre.sum(1))
    palette.imshow(centre[order][:, None])
    for axes in (left, right, palette):
        axes.axis("off")


program = Program(
    k_means,
    data,
    reference,
    {"segment_sum": segments, "one-hot matrix": one_hot},
    draw,
    small={"stride": 16, "colours": 6},
    full={"stride": 2, "colours": 12},
    picture={"stride": 2, "colours": 8},
    gradient=(0,),
    peers={"scikit-learn": sklearn},
)

if __name__ == "__main__":
    program.main()
