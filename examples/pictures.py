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

STENCIL = """
def stencil(float(N) u) -> (v) {
    v(i) = u(wrap(i-1)) + u(wrap(i+2)) - 2.0 * u(i) where i in 0:N
}"""

ALIGNMENT = """
def alignment(float(N,M) cost) -> (D) {
    D(i,0) = 0.0 where i in 0:N+1
    D(0,j) = 0.0 where j in 1:M+1
    for i in 1:N+1 {
        for j in 1:M+1 {
            D(i,j) = fmin(fmin(D(i-1,j), D(i,j-1)) + 1.0, D(i-1,j-1) + cost(i-1,j-1))
        }
    }
}"""

SUMS = "def sums(float(N) x) -> (y) { y(i) = sum[j where j <= i](x(j)) where i in 0:N }"

FILTER = """
def filter(float(N) x) -> (y) {
    y(0) = x(0)
    y(1) = x(1)
    for t in 2:N { y(t) = 1.5 * y(t-1) - 0.7 * y(t-2) + x(t) }
}"""

CSR = """
def product(float(E) v, int32(E) col, int32(R) ptr, float(C) x) -> (y) {
    y(i) +=! v(p) * x(col(p)) where p in ptr(i):ptr(i+1)
}"""

TRIANGLE = """
def nearest(float(N,D) X) -> (y) { y(i) min=! sum[d](fabs(X(i,d) - X(j,d))) where j < i }"""


def pictures() -> Iterator[tuple[str, str]]:
    """The name of each file, and the SVG in it."""
    matmul = tcjax.kernel("C(m,n) +=! A(m,k) * B(k,n)")
    yield "matmul.svg", matmul.picture(floats(12, 9), floats(9, 14)).svg(across=1)
    band = tcjax.kernel("y(i) +=! A(i,k) * x(k) where k <= i, i - k < 5")
    yield "band.svg", band.picture(floats(20, 20), floats(20)).svg(across=1)
    pool = tcjax.kernel("O(h,w) max=! I(2*h+p, 2*w+q) where p in 0:3, q in 0:3")
    yield "pool.svg", pool.picture(floats(17, 21)).svg(across=1)
    blur = tcjax.kernel(BLUR)
    tiles = blur.schedule().tile("C", "i", "j", 8, 8, names=("io", "jo", "ii", "ji")).compute_at("B", "C", "jo")
    (halo,) = tiles.show(floats(34, 34)).drawings
    yield "halo.svg", halo.svg()
    mesh = {"mesh": {"data": 4}, "shard": {"i": "data"}}
    yield "mesh.svg", tcjax.kernel(STENCIL).picture(floats(16), **mesh, kind="halo").svg()
    yield "triangle.svg", tcjax.kernel(TRIANGLE).picture(floats(2000, 3), kind="domain").svg()
    yield "ragged.svg", tcjax.kernel(CSR).picture(*rows(3, 0, 5, 1, 2, 6, 0, 3), kind="ragged").svg()
    yield "scan.svg", tcjax.kernel(SUMS).picture(floats(2000), kind="scan").svg()
    yield "steps.svg", tcjax.kernel(FILTER).picture(floats(12), kind="scan").svg()
    yield "wavefront.svg", tcjax.kernel(ALIGNMENT).picture(floats(8, 9), kind="wavefront").svg()


def rows(*lengths: int) -> tuple[np.ndarray, ...]:
    """A sparse matrix with rows of these lengths, and a vector: of ragged rows, pictures need the pointers."""
    pointers = np.cumsum([0, *lengths]).astype(np.int32)
    values = np.ones(pointers[-1], np.float32)
    return values, values.astype(np.int32), pointers, np.ones(4, np.float32)


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
