"""A second opinion: the needed elements as hand-written integer sets, counted by isl."""

from typing import Any

import pytest

from .commands import schedule_of
from .kernels import arguments_of, kernel_of, program
from .oracle import expected_regions

isl = pytest.importorskip("islpy")

# Kernel, schedule, stage, and ``{ prefix -> element }``.
NEEDS = (
    (
        "square",
        "fuse D di dj f; split D f 3 fo fi; at C D fo",
        "C",
        "{ [fo] -> [a,b] : exists fi : 0 <= fi < 3 and 0 <= 3fo+fi < 16 and a = floor((3fo+fi)/4) and b = (3fo+fi)%4 }",
    ),
    (
        "pointwise",
        "fuse D di dj f; split D f 24 fo fi; split D fi 6 a b; at C D a",
        "C",
        """{ [fo,a] -> [u,v] : exists b : 0 <= fo < 4 and 0 <= a < 4 and 0 <= b < 6 and 24fo+6a+b < 80
             and u = floor((24fo+6a+b)/16) and v = (24fo+6a+b)%16 }""",
    ),
    (
        "hundred",
        "split D di 48 a b; split D b 32 c d; at C D c",
        "C",
        "{ [a,c] -> [i] : exists d : 0 <= a < 3 and 0 <= d < 32 and 0 <= 32c+d < 48 and i = 48a+32c+d and i < 100 }",
    ),
    (
        "hundred",
        "split D di 48 a b; split D b 32 c d; order D c a d; at C D c",
        "C",
        "{ [c] -> [i] : exists a,d : 0 <= a < 3 and 0 <= d < 32 and 0 <= 32c+d < 48 and i = 48a+32c+d and i < 100 }",
    ),
    (
        "stencil_2d",
        "tile B y x 4 6 yo xo yi xi; at C B xo",
        "C",
        """{ [yo,xo] -> [i,j] : exists y,x : 4yo <= y < 4yo+4 and 6xo <= x < 6xo+6 and 0 <= y < 13 and 0 <= x < 17
             and ((j = x+1 and (i = y or i = y+1 or i = y+2)) or (i = y+1 and (j = x or j = x+2))) }""",
    ),
    (
        "conv_conv",
        "tile O y x 4 6 yo xo yi xi; at C O xo",
        "C",
        """{ [yo,xo] -> [i,j] : exists y,x,p,q : 4yo <= y < 4yo+4 and 6xo <= x < 6xo+6 and 0 <= y < 11 and 0 <= x < 15
             and 0 <= p < 3 and 0 <= q < 3 and i = y+p and j = x+q }""",
    ),
    (
        "conv_relu_pool",
        "tile O y x 2 3 yo xo yi xi; at R O xo; at C O xo",
        "C",
        """{ [yo,xo] -> [i,j] : exists y,x,s,t : 2yo <= y < 2yo+2 and 3xo <= x < 3xo+3 and 0 <= y < 6 and 0 <= x < 8
             and 0 <= s < 2 and 0 <= t < 2 and i = 2y+s and j = 2x+t }""",
    ),
    (
        "sheared",
        "tile B y x 2 4 yo xo yi xi; at C B xo",
        "C",
        """{ [yo,xo] -> [y,j] : exists x : 2yo <= y < 2yo+2 and 4xo <= x < 4xo+4 and 0 <= y < 6 and 0 <= x < 10
             and j = x+y }""",
    ),
    (
        "wrapped",
        "split D u 4 uo ui; at C D uo",
        "C",
        "{ [uo] -> [i] : exists u : 4uo <= u < 4uo+4 and 0 <= u < 26 and i = u%6 }",
    ),
    (
        "rotated",
        "split D u 5 uo ui; at C D uo",
        "C",
        "{ [uo] -> [i] : exists u : 5uo <= u < 5uo+5 and 0 <= u < 16 and i = (u+5)%16 }",
    ),
    (
        "repeated",
        "split D u 4 uo ui; at C D uo",
        "C",
        "{ [uo] -> [i] : exists u : 4uo <= u < 4uo+4 and 0 <= u < 27 and i = floor(u/3) }",
    ),
    (
        "every_fifth",
        "split D u 4 uo ui; at C D uo",
        "C",
        "{ [uo] -> [i] : exists u : 4uo <= u < 4uo+4 and 0 <= u < 9 and i = 5u }",
    ),
    (
        "antidiagonal",
        "split D u 5 uo ui; at C D uo",
        "C",
        "{ [uo] -> [i,j] : exists u : 5uo <= u < 5uo+5 and 0 <= u < 12 and i = u and j = 11-u }",
    ),
    (
        "triangle",
        "split D u 4 uo ui; at C D uo",
        "C",
        "{ [uo] -> [u,v] : 4uo <= u < 4uo+4 and 0 <= u < 11 and 0 <= v <= u }",
    ),
    (
        "padded_conv",
        "split O x 6 xo xi; at P O xo; at C O xo",
        "C",
        """{ [xo] -> [i] : exists x,k : 6xo <= x < 6xo+6 and 0 <= x < 19 and 0 <= k < 5 and i = x+k-2
             and 0 <= i < 19 }""",
    ),
    (
        "matmul_scaled",
        "tile C i j 4 4 io jo ii ji; split C k 5 ko ki; order C io jo ko ii ji ki; at S C ko relax jo",
        "S",
        """{ [io,ko] -> [i,k] : exists jo,j : 4io <= i < 4io+4 and 4jo <= j < 4jo+4 and 5ko <= k < 5ko+5
             and 0 <= i < 9 and 0 <= j < 7 and 0 <= k < 13 }""",
    ),
    (
        "two_halos",
        "split D u 5 uo ui; at L D uo; at C D uo",
        "C",
        """{ [uo] -> [i] : exists u : 5uo <= u < 5uo+5 and 0 <= u < 24 and (i = u or i = u+1 or i = u+3) }""",
    ),
)


@pytest.mark.parametrize(("kernel", "line", "stage", "need"), NEEDS)
def test_isl_counts_the_same_points_and_finds_the_same_boxes(kernel: str, line: str, stage: str, need: str) -> None:
    region = schedule_of(kernel_of(kernel), line).infer_bounds(*arguments_of(kernel))[stage]
    oracle = expected_regions(program(kernel), line)[stage]

    needed = isl.Map(need)

    assert _count(needed.domain()) == region.instances == oracle.instances
    assert _count(needed.wrap()) == region.total_exact == oracle.total_exact
    boxes = {}
    for point in oracle.boxes:
        at = isl.Set("{ [" + ",".join(map(str, point)) + "] }")
        needed_there = needed.intersect_domain(at).range()
        axes = range(needed_there.dim(isl.dim_type.set))
        lo = tuple(needed_there.dim_min_val(axis).to_python() for axis in axes)
        hi = tuple(needed_there.dim_max_val(axis).to_python() for axis in axes)
        boxes[point] = lo, tuple(b - a + 1 for a, b in zip(lo, hi, strict=True))
    assert boxes == oracle.boxes
    for point, box in boxes.items():
        names = dict(zip(region.prefix, point, strict=True))
        minima = tuple(expr.evaluate(names) for expr in region.min)
        assert (minima, tuple(expr.evaluate(names) for expr in region.extent_expr)) == box


def _count(points: Any) -> int:
    return points.count_val().to_python()
