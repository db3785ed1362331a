"""Draws the pictures of docs/notebooks.md: ``python examples/pictures.py [FOLDER]``, docs/pictures unless given."""

import sys
from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np

import tcjax

HERE = Path(__file__).parent.parent / "docs" / "pictures"

BLUR = """
def blur(float(N,M) A) -> (C) {
    B(i,j) = (A(i-1,j) + A(i,j) + A(i+1,j)) / 3.0
    C(i,j) = (B(i,j-1) + B(i,j) + B(i,j+1)) / 3.0
}"""


def pictures() -> Iterator[tuple[str, str]]:
    """The name of each file, and the SVG in it."""
    matmul = tcjax.kernel("C(m,n) +=! A(m,k) * B(k,n)")
    yield "matmul.svg", matmul.picture(floats(12, 9), floats(9, 14)).svg()
    band = tcjax.kernel("y(i) +=! A(i,k) * x(k) where k <= i, i - k < 5")
    yield "band.svg", band.picture(floats(20, 20), floats(20)).svg()
    pool = tcjax.kernel("O(h,w) max=! I(2*h+p, 2*w+q) where p in 0:3, q in 0:3")
    yield "pool.svg", pool.picture(floats(17, 21)).svg()
    blur = tcjax.kernel(BLUR)
    tiles = blur.schedule().tile("C", "i", "j", 8, 8, names=("io", "jo", "ii", "ji")).compute_at("B", "C", "jo")
    (halo,) = tiles.show(floats(34, 34)).drawings
    yield "halo.svg", halo.svg()


def floats(*shape: int) -> jax.ShapeDtypeStruct:
    """An array of this shape: pictures need no values."""
    return jax.ShapeDtypeStruct(shape, np.float32)


def main() -> None:
    """Writes the files."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    folder.mkdir(parents=True, exist_ok=True)
    for name, svg in pictures():
        (folder / name).write_text(svg + "\n", encoding="utf-8")
        print(folder / name)


if __name__ == "__main__":
    main()
