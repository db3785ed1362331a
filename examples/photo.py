"""Filters a photograph with one-line comprehensions, and saves the results side by side as ``out/photo.png``.

The photograph is one of those in ``data/README.md``. A picture is an array ``(height, width, 3)`` of values in [0, 1].
"""

from pathlib import Path
from typing import no_type_check

import numpy as np
from PIL import Image, ImageDraw

import tcjax

HERE = Path(__file__).resolve().parent
OUT = HERE.parent / "out"

# A pixel is the weighted mean of the 5 x 5 around it; the weights are g(i) * g(j).
blur = tcjax.kernel("blurred(y,x,c) +=! photo(y+i,x+j,c) * g(i) * g(j)")

# Four neighbours are subtracted. y runs over [1, H-1): where all of them exist.
sharpen = tcjax.kernel(
    "sharp(y,x,c) = 5.0*photo(y,x,c) - photo(y-1,x,c) - photo(y+1,x,c) - photo(y,x-1,c) - photo(y,x+1,c)"
)

# Sobel: smoothed along one axis, differenced along the other; the length of the gradient of the summed colours.
edges = tcjax.kernel(
    "edge(y,x) = hypot(sum[i,j,c](photo(y+i,x+j,c) * s(i) * d(j)), sum[i,j,c](photo(y+i,x+j,c) * d(i) * s(j)))"
)

# The largest and the mean value of every 8 x 8 block.
max_pool = tcjax.kernel("pooled(y,x,c) max=! photo(8*y+i,8*x+j,c) where i in 0:8, j in 0:8")


@no_type_check
@tcjax.kernel
def average_pool(photo: "float(H,W,C)"):
    pooled[y, x, c] = mean[i in range(0, 8), j in range(0, 8)](photo[8 * y + i, 8 * x + j, c])
    return pooled


GAUSSIAN = np.array([1, 4, 6, 4, 1], np.float32) / 16
SMOOTH = np.array([1, 2, 1], np.float32) / 4
SLOPE = np.array([-1, 0, 1], np.float32) / 2


def filtered(photo: np.ndarray) -> dict[str, np.ndarray]:
    """The photograph and what each filter makes of it, by title."""
    return {
        "photograph": photo,
        "blurred": np.asarray(blur(photo, GAUSSIAN)),
        "sharpened": np.asarray(sharpen(photo)),
        "edges": np.asarray(edges(photo, SMOOTH, SLOPE)),
        "largest of 8 x 8": np.asarray(max_pool(photo)),
        "mean of 8 x 8": np.asarray(average_pool(photo)),
    }


def side_by_side(pictures: dict[str, np.ndarray], columns: int = 3) -> Image.Image:
    """The pictures in rows at the size of the first, their titles above them."""
    height, width = next(iter(pictures.values())).shape[:2]
    rows = -(-len(pictures) // columns)
    margin = 18
    sheet = Image.new("RGB", (columns * (width + 4), rows * (height + margin + 4)), "white")
    pen = ImageDraw.Draw(sheet)
    for number, (title, picture) in enumerate(pictures.items()):
        x, y = number % columns * (width + 4), number // columns * (height + margin + 4)
        pixels = Image.fromarray(np.uint8(255 * np.clip(picture, 0, 1))).convert("RGB")
        pen.text((x + 4, y + 3), f"{title}: {' x '.join(map(str, picture.shape))}", fill="black")
        sheet.paste(pixels.resize((width, height), Image.Resampling.NEAREST), (x, y + margin))
    return sheet


def main(out: Path = OUT) -> Path:
    """Filters the photograph and returns where the picture is."""
    photo = (np.asarray(Image.open(HERE / "data" / "china.jpg")) / 255).astype(np.float32)
    for name, kernel in {"blur": blur, "sharpen": sharpen, "edges": edges, "max_pool": max_pool}.items():
        print(f"{name}: {kernel}")
    pictures = filtered(photo)
    out.mkdir(exist_ok=True)
    saved = out / "photo.png"
    side_by_side(pictures).save(saved)
    print(f"{len(pictures)} pictures side by side: {out.name}/{saved.name}")
    return saved


if __name__ == "__main__":
    main()
