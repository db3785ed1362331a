"""Kernels too large to visit every point: numbers worked out by hand, and inferred without visiting points too."""

import tcjax

from .commands import schedule_of
from .kernels import specs

GEMM = """def f(float(M,K) A, float(K,N) B) -> (C) {
  S(a,b) = A(a,b) * 0.5
  T(c,d) = B(c,d) + 1.0
  C(i,j) +=! S(i,k) * T(k,j)
}"""
CONVS = """def f(float(N,C,H,W) I, float(M,C,KH,KW) U, float(M,M,KH,KW) V) -> (O) {
  R(n,m,h,w) +=! I(n,c,h+p,w+q) * U(m,c,p,q)
  O(b,o,y,x) +=! R(b,r,y+s,x+t) * V(o,r,s,t)
}"""
STENCIL = """def f(float(H,W) A) -> (B) {
  C(i,j) = A(i,j) * 2.0
  B(y,x) = C(y-1,x) + C(y+1,x) + C(y,x) + C(y,x-1) + C(y,x+1)
}"""
SOFTMAX = """def f(float(N,D) x) -> (y) {
  m(a) max=! x(a,b)
  e(c,d) = exp(x(c,d) - m(c))
  s(p) +=! e(p,q)
  y(u,v) = e(u,v) / s(u)
}"""


def regions(text: str, arguments: str, line: str) -> dict[str, tcjax.Region]:
    return schedule_of(tcjax.kernel(text), line).infer_bounds(*specs(arguments))


def counts(region: tcjax.Region) -> tuple[int, int, int, int]:
    return region.instances, region.total_box, region.total_exact, region.distinct


def test_the_panels_of_a_tiled_product() -> None:
    line = "tile C i j 128 128 io jo ii ji; split C k 64 ko ki; order C io jo ko ii ji ki; at S C ko; at T C ko"

    found = regions(GEMM, "4096,4096 4096,4096", line)

    steps = 32 * 32 * 64
    assert (tuple(found["S"].extent), tuple(found["T"].extent)) == ((128, 64), (64, 128))
    assert counts(found["S"]) == counts(found["T"]) == (steps, steps * 128 * 64, steps * 128 * 64, 4096**2)
    assert found["S"].recompute == found["T"].recompute == 32
    at = {"io": 3, "jo": 5, "ko": 7}
    assert [expr.evaluate(at) for expr in found["S"].min] == [3 * 128, 7 * 64]
    assert [expr.evaluate(at) for expr in found["T"].min] == [7 * 64, 5 * 128]


def test_the_panels_of_a_product_whose_grid_is_one_loop_and_cut_again() -> None:
    line = (
        "tile C i j 128 128 io jo ii ji; fuse C io jo g; split C g 48 go gi; split C k 64 ko ki; "
        "order C go gi ko ii ji ki; at S C ko; at T C ko"
    )

    found = regions(GEMM, "4096,4096 4096,4096", line)

    # The last of 22 times 48 blocks has only 16.
    steps = 32 * 32 * 64
    assert found["C"].loops == {"go": 22, "gi": 48, "ko": 64, "ii": 128, "ji": 128, "ki": 64}
    assert counts(found["S"]) == counts(found["T"]) == (steps, steps * 128 * 64, steps * 128 * 64, 4096**2)
    at = {"go": 20, "gi": 47, "ko": 1}
    block = 20 * 48 + 47
    assert [expr.evaluate(at) for expr in found["S"].min] == [block // 32 * 128, 64]
    assert [expr.evaluate(at) for expr in found["T"].min] == [64, block % 32 * 128]


def test_rows_that_a_fused_and_split_loop_cuts() -> None:
    found = regions(GEMM, "1000,1000 1000,1000", "fuse C i j f; split C f 256 fo fi; at S C fo; at T C fo")

    tiles = -(-(1000**2) // 256)
    # Of the 999 inner row ends, those at multiples of 32 * 1000 are also ends of tiles.
    cut = 999 - 999 // 32
    assert tuple(found["S"].extent) == (2, 1000)
    assert counts(found["S"]) == (tiles, (tiles + cut) * 1000, (tiles + cut) * 1000, 1000**2)
    # A tile across the end of a row takes all columns, although it needs only 256.
    columns = 1000 * cut + (1000**2 - 256 * cut)
    assert tuple(found["T"].extent) == (1000, 1000)
    assert counts(found["T"]) == (tiles, 1000 * columns, 1000 * 1000**2, 1000**2)


def test_tiles_of_a_convolution_of_a_convolution() -> None:
    line = "tile O y x 7 30 yo xo yi xi; order O b yo xo o yi xi; at R O xo"

    found = regions(CONVS, "32,16,226,226 64,16,3,3 64,64,3,3", line)["R"]

    rows, columns = 31 * 9 + 7, 7 * 32 + 14
    assert tuple(found.extent) == (1, 64, 9, 32)
    assert counts(found) == (32 * 32 * 8, 32 * 64 * rows * columns, 32 * 64 * rows * columns, 32 * 64 * 224**2)
    assert [expr.evaluate({"b": 5, "yo": 31, "xo": 7}) for expr in found.extent_expr] == [1, 64, 7, 14]


def test_a_box_for_each_point_of_a_large_convolution() -> None:
    found = regions(CONVS, "32,16,226,226 64,16,3,3 64,64,3,3", "at R O x")["R"]

    points = 32 * 64 * 222 * 222
    assert tuple(found.extent) == (1, 64, 3, 3)
    assert counts(found) == (points, points * 64 * 9, points * 64 * 9, 32 * 64 * 224**2)


def test_tiles_of_a_stencil_and_their_corners() -> None:
    found = regions(STENCIL, "4000,6000", "tile B y x 64 64 yo xo yi xi; at C B xo")["C"]

    rows, columns = 62 * 66 + 32, 93 * 66 + 48
    assert tuple(found.extent) == (66, 66)
    # Four corners of each tile are computed but not needed.
    assert counts(found) == (63 * 94, rows * columns, rows * columns - 4 * 63 * 94, 4000 * 6000)
    assert not found.box_is_exact


def test_statistics_of_rows_that_a_fused_loop_cuts() -> None:
    found = regions(SOFTMAX, "1024,30522", "fuse y u v f; split y f 4096 fo fi; at s y fo")

    # 30522 and 4096 share only the factor 2: every end of a row is inside a tile.
    tiles = -(-1024 * 30522 // 4096)
    assert tuple(found["s"].extent) == (2,)
    assert counts(found["s"]) == (tiles, tiles + 1023, tiles + 1023, 1024)
    assert counts(found["e"]) == (1, 1024 * 30522, 1024 * 30522, 1024 * 30522)


def test_data_may_ask_for_anything() -> None:
    text = "def f(float(N) A, int32(M) I) -> (D) { C(i) = A(i) * 2.0  D(u) = C(I(u)) }"

    found = regions(text, "10000000 int32:3000000", "split D u 1024 uo ui; at C D uo")["C"]

    tiles = -(-3000000 // 1024)
    assert tuple(found.extent) == (10**7,)
    assert counts(found) == (tiles, tiles * 10**7, tiles * 10**7, 10**7)
