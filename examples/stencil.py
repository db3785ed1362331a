"""Removes noise from a brightness profile, a photograph and a film of it with one definition that works for any rank.

The photograph is one of those in ``data/README.md``; the profile is one of its rows, and the film pans along it. The
noise is added, so the clean signal is known. Saves the photograph, with noise and without, as ``out/stencil.png``.
"""

import itertools
import time
from pathlib import Path

import jax
import numpy as np
from PIL import Image, ImageDraw, ImageFont

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


# Pixels: of a value of a picture, and of the room around pictures.
SCALE = 3
LEFT, TOP, RIGHT, BOTTOM = 46, 30, 18, 44
BAR = 96


def sheet(pictures: dict[str, np.ndarray]) -> Image.Image:
    """Pictures two by two below their titles, with axes in pixels, and the scale of brightness beside them."""
    height, width = (SCALE * n for n in next(iter(pictures.values())).shape)
    columns, rows = 2, -(-len(pictures) // 2)
    across, down = LEFT + width + RIGHT, TOP + height + BOTTOM
    image = Image.new("L", (columns * across + BAR, rows * down), 255)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(15)
    for number, (title, values) in enumerate(pictures.items()):
        x, y = number % columns * across + LEFT, number // columns * down + TOP
        gray = Image.fromarray(np.uint8(255 * np.clip(values, 0, 1)))
        image.paste(gray.resize((width, height), Image.Resampling.NEAREST), (x, y))
        draw.rectangle((x - 1, y - 1, x + width, y + height), outline=0)
        draw.text((x + width / 2, y - 8), title, 0, font, anchor="ms")
        for part in (0, 0.5, 1):
            at, row = x + part * width, y + part * height
            draw.text((at, y + height + 6), f"{part * values.shape[1]:.0f}", 0, font, anchor="ma")
            draw.text((x - 6, row), f"{part * values.shape[0]:.0f}", 0, font, anchor="rm")
        draw.text((x + width / 2, y + height + 24), "column (pixels)", 0, font, anchor="ma")
        if number % columns == 0:
            _upwards(image, "row (pixels)", x - 44, y + height // 4)
    x, y = columns * across + 6, TOP
    ramp = Image.fromarray(np.uint8(np.linspace(255, 0, height)[:, None].repeat(18, axis=1)))
    image.paste(ramp, (x, y))
    draw.rectangle((x - 1, y - 1, x + 18, y + height), outline=0)
    for part in (0, 0.5, 1):
        draw.text((x + 24, y + (1 - part) * height), f"{part:g}", 0, font, anchor="lm")
    _upwards(image, "brightness (0 black, 1 white)", x + 52, y + height // 5)
    return image


def _upwards(image: Image.Image, text: str, x: int, y: int) -> None:
    """Text that reads upwards, from its upper left corner on."""
    font = ImageFont.load_default(15)
    _, _, wide, high = font.getbbox(text)
    part = Image.new("L", (int(wide) + 2, int(high) + 2), 255)
    ImageDraw.Draw(part).text((0, 0), text, 0, font)
    image.paste(part.rotate(90, expand=True), (x, y))


def main(out: Path = OUT) -> dict[str, float]:
    """Filters the three, prints how well, and returns the gain in decibels by title."""
    print(FILTER)
    noise = np.random.default_rng(0)
    gains: dict[str, float] = {}
    pictures: dict[str, np.ndarray] = {}
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
            middle = (slice(None),) * 2 if truth.ndim == 2 else (truth.shape[0] // 2,)
            pictures["the photograph"] = truth[middle]
            pictures.setdefault(f"with noise, {before:.1f} dB", noisy[middle])
            alone = "alone" if truth.ndim == 2 else "as a frame of the film"
            pictures[f"smoothed {alone}, {after:.1f} dB"] = values[middle]
    out.mkdir(exist_ok=True)
    sheet(pictures).save(out / "stencil.png")
    print(f"the picture, with noise, smoothed alone, smoothed as a frame of the film: {out.name}/stencil.png")
    return gains


if __name__ == "__main__":
    main()
