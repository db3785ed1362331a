"""Removes noise from a brightness profile, a photograph and a film of it with one definition that works for any rank.

The photograph is one of those in ``data/README.md``; the profile is one of its rows, and the film pans along it. The
noise is added, so the clean signal is known. Saves the noisy and the denoised photograph as ``out/stencil.png``.
"""

import itertools
import time
from pathlib import Path

import jax
import numpy as np
from PIL import Image

import tcjax

HERE = Path(__file__).resolve().parent
OUT = HERE.parent / "out"

# A weighted mean of the 3, 9 or 27 values around: nearer ones count more (1 2 1 along every axis), and those across an
# edge hardly count (the bilateral filter of Tomasi and Manduchi, 1998). At the rim nothing changes: its places are
# those that the first partition leaves to the last.
FILTER = """
float likeness(float x, float y, float contrast) {
    return exp(-((x - y) / contrast) * ((x - y) / contrast));
}

float average(float[d:shp] near, float contrast) {
    middle = near[shp / 2];
    weight = { ov -> prod(2 - abs(ov - 1)) * likeness(middle, near[ov], contrast) };
    return sum(weight * near) / sum(weight);
}

float[*] smooth(float[d:shp] a, float contrast) {
    one = 0 * shp + 1;
    return { iv -> average({ ov -> a[iv + ov - 1] | ov < 3 * one }, contrast) | one <= iv < shp - one;
             iv -> a[iv] };
}
"""
smooth = tcjax.kernel(FILTER)

NOISE = 0.1
CONTRAST = 0.3
PASSES = 2


def smoothed(noisy: np.ndarray, passes: int = PASSES) -> jax.Array:
    """What some passes of the filter make of an array of any rank."""
    values = jax.numpy.asarray(noisy)
    for _ in range(passes):
        values = smooth(values, np.float32(CONTRAST))
    return values


def smoothed_by_numpy(noisy: np.ndarray, passes: int = PASSES) -> np.ndarray:
    """The same in float64, as a sum of shifted slices."""
    values = noisy.astype(np.float64)
    inside = (slice(1, -1),) * values.ndim
    for _ in range(passes):
        total, weights = 0.0, 0.0
        for offsets in itertools.product(range(3), repeat=values.ndim):
            shifted = values[tuple(slice(o, o + n - 2) for o, n in zip(offsets, values.shape, strict=True))]
            nearness = np.prod([(1, 2, 1)[offset] for offset in offsets])
            weight = nearness * np.exp(-(((values[inside] - shifted) / CONTRAST) ** 2))
            total, weights = total + weight * shifted, weights + weight
        values = values.copy()
        values[inside] = total / weights
    return values


def scenes(height: int = 120, width: int = 160, frames: int = 8) -> dict[str, np.ndarray]:
    """A profile, a picture and a film, brightness in [0, 1], by title."""
    photograph = (np.asarray(Image.open(HERE / "data" / "flower.jpg")) @ np.array([0.299, 0.587, 0.114]) / 255).astype(
        np.float32
    )
    # The camera moves by a pixel from one frame to the next.
    pan = np.stack([photograph[100 : 100 + height, t + 200 : t + 200 + width] for t in range(frames)])
    return {"profile": photograph[200], "picture": pan[frames // 2], "film": pan}


def signal_to_noise(values: np.ndarray, truth: np.ndarray) -> float:
    """In decibels, for values in [0, 1]; the rim, which stays as it is, does not count."""
    inside = (slice(PASSES, -PASSES),) * truth.ndim
    return float(-10 * np.log10(np.mean((values[inside] - truth[inside]) ** 2)))


def main(out: Path = OUT) -> dict[str, float]:
    """Filters the three, prints how well, and returns the gain in decibels by title."""
    print(FILTER)
    noise = np.random.default_rng(0)
    gains: dict[str, float] = {}
    pictures: list[np.ndarray] = []
    for title, truth in scenes().items():
        noisy = (truth + NOISE * noise.standard_normal(truth.shape)).astype(np.float32)
        values = np.asarray(smoothed(noisy))
        start = time.perf_counter()
        jax.block_until_ready(smoothed(noisy))
        seconds = time.perf_counter() - start
        error = np.abs(values - smoothed_by_numpy(noisy)).max()
        before, after = signal_to_noise(noisy, truth), signal_to_noise(values, truth)
        gains[title] = after - before
        print(
            f"{title:8} {' x '.join(map(str, truth.shape)):>14}  {before:.1f} dB -> {after:.1f} dB  "
            f"in {seconds * 1e3:6.1f} ms, largest difference from NumPy {error:.0e}"
        )
        assert error < 1e-5, f"the {title} is not what NumPy makes of it"
        if truth.ndim > 1:
            middle = truth.shape[0] // 2
            pictures += [array if array.ndim == 2 else array[middle] for array in (truth, noisy, values)]
    original, noisy, alone, _, _, in_film = pictures
    out.mkdir(exist_ok=True)
    sheet = np.hstack([original, noisy, alone, in_film])
    Image.fromarray(np.uint8(255 * np.clip(sheet, 0, 1))).save(out / "stencil.png")
    print(f"the picture, with noise, smoothed alone, smoothed as a frame of the film: {out.name}/stencil.png")
    return gains


if __name__ == "__main__":
    main()
