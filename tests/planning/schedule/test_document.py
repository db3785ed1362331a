"""The examples of TVM's InferBound document, and two of its pictures: tight answers, worked out by hand.

The oracle of the other tests must find them too.
"""

from dataclasses import dataclass, field
from math import prod

import pytest

from .commands import schedule_of
from .kernels import arguments_of, kernel_of, program
from .oracle import expected_regions


@dataclass(frozen=True, slots=True)
class Row:
    """A stage of a schedule, `boxes` as ``{prefix point: (minima, extents)}`` at some of the points."""

    name: str
    kernel: str
    line: str
    stage: str
    extent: tuple[int, ...]
    instances: int
    total_box: int
    distinct: int
    boxes: dict[tuple[int, ...], tuple[tuple[int, ...], tuple[int, ...]]]
    prefix: tuple[str, ...] = ()
    total_exact: int | None = None
    loops: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def needed(self) -> int:
        return self.total_box if self.total_exact is None else self.total_exact


ROWS = (
    Row("example 1", "pointwise", "", "C", (5, 16), 1, 80, 80, {(): ((0, 0), (5, 16))}),
    Row(
        "example 2",
        "pointwise",
        "at C D dj",
        "C",
        (1, 1),
        80,
        80,
        80,
        {(i, j): ((i, j), (1, 1)) for i in range(5) for j in range(16)},
        ("di", "dj"),
        loops={"C": {"i": 1, "j": 1}, "D": {"di": 5, "dj": 16}},
    ),
    Row(
        "example 3",
        "pointwise",
        "at C D di",
        "C",
        (1, 16),
        5,
        80,
        80,
        {(i,): ((i, 0), (1, 16)) for i in range(5)},
        ("di",),
    ),
    Row(
        "example 4",
        "broadcast",
        "at C D dk",
        "C",
        (1, 1),
        320,
        320,
        80,
        {(3, j, k): ((j, k), (1, 1)) for j in range(5) for k in range(16)},
        ("di", "dj", "dk"),
    ),
    Row(
        "example 5",
        "pointwise",
        "split D dj 8 djo dji; at C D dji",
        "C",
        (1, 1),
        80,
        80,
        80,
        {(4, o, i): ((4, 8 * o + i), (1, 1)) for o in range(2) for i in range(8)},
        ("di", "djo", "dji"),
        loops={"D": {"di": 5, "djo": 2, "dji": 8}},
    ),
    Row(
        "C inside D inside E",
        "chain",
        "at C D dj; at D E ej",
        "C",
        (1, 1),
        80,
        80,
        80,
        {(i, j, 0, 0): ((i, j), (1, 1)) for i in range(5) for j in range(16)},
        ("ei", "ej", "di", "dj"),
        loops={"D": {"di": 1, "dj": 1}, "E": {"ei": 5, "ej": 16}},
    ),
    Row(
        "D inside E, seen from D",
        "chain",
        "at C D dj; at D E ej",
        "D",
        (1, 1),
        80,
        80,
        80,
        {(i, j): ((i, j), (1, 1)) for i in range(5) for j in range(16)},
        ("ei", "ej"),
    ),
    Row("D inside E, C at the root", "chain", "at D E ej", "C", (5, 16), 1, 80, 80, {(): ((0, 0), (5, 16))}),
    Row(
        "example 6",
        "square",
        "fuse D di dj f; split D f 4 fo fi; at C D fo",
        "C",
        (1, 4),
        4,
        16,
        16,
        {(fo,): ((fo, 0), (1, 4)) for fo in range(4)},
        ("fo",),
    ),
    Row(
        "example 6, not fused",
        "square",
        "split D dj 4 djo dji; at C D djo",
        "C",
        (1, 4),
        4,
        16,
        16,
        {(i, 0): ((i, 0), (1, 4)) for i in range(4)},
        ("di", "djo"),
    ),
    Row(
        "example 6 by 8",
        "square",
        "fuse D di dj f; split D f 8 fo fi; at C D fo",
        "C",
        (2, 4),
        2,
        16,
        16,
        {(fo,): ((2 * fo, 0), (2, 4)) for fo in range(2)},
        ("fo",),
    ),
    Row(
        "example 6 by 2",
        "square",
        "fuse D di dj f; split D f 2 fo fi; at C D fo",
        "C",
        (1, 2),
        8,
        16,
        16,
        {(fo,): ((fo // 2, fo % 2 * 2), (1, 2)) for fo in range(8)},
        ("fo",),
    ),
    Row(
        "example 6 by 3",
        "square",
        "fuse D di dj f; split D f 3 fo fi; at C D fo",
        "C",
        (2, 4),
        6,
        26,
        16,
        {
            (0,): ((0, 0), (1, 3)),
            (1,): ((0, 0), (2, 4)),
            (2,): ((1, 0), (2, 4)),
            (3,): ((2, 1), (1, 3)),
            (4,): ((3, 0), (1, 3)),
            (5,): ((3, 3), (1, 1)),
        },
        ("fo",),
        total_exact=16,
    ),
    Row(
        "16 and 4 of 20",
        "line",
        "split D di 16 co ci; at C D co",
        "C",
        (16,),
        2,
        20,
        20,
        {(0,): ((0,), (16,)), (1,): ((16,), (4,))},
        ("co",),
        loops={"C": {"i": 16}, "D": {"co": 2, "ci": 16}},
    ),
    Row("0:3 and 10:13", "far_parts", "", "T", (13,), 1, 13, 13, {(): ((0,), (13,))}, total_exact=6),
    Row("two corners", "corners", "", "T", (4, 4), 1, 16, 16, {(): ((0, 0), (4, 4))}, total_exact=8),
    Row(
        "conv after conv by 4x6",
        "conv_conv",
        "tile O y x 4 6 yo xo yi xi; at C O xo",
        "C",
        (6, 8),
        9,
        (6 + 6 + 5) * (8 + 8 + 5),
        13 * 17,
        {(0, 0): ((0, 0), (6, 8)), (2, 1): ((8, 6), (5, 8)), (2, 2): ((8, 12), (5, 5))},
        ("yo", "xo"),
    ),
    Row(
        "mlp by rows",
        "mlp",
        "split y r 4 ro ri; at h y ro",
        "h",
        (4, 10),
        2,
        70,
        70,
        {(0,): ((0, 0), (4, 10)), (1,): ((4, 0), (3, 10))},
        ("ro",),
    ),
    Row(
        "mlp by rows and columns",
        "mlp",
        "tile y r o 4 3 ro oo ri oi; at h y oo",
        "h",
        (4, 10),
        4,
        140,
        70,
        {(0, 0): ((0, 0), (4, 10)), (0, 1): ((0, 0), (4, 10)), (1, 1): ((4, 0), (3, 10))},
        ("ro", "oo"),
    ),
)  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_oracle_finds_the_answer_worked_out_by_hand(row: Row) -> None:
    regions = expected_regions(program(row.kernel), row.line)

    region = regions[row.stage]
    assert tuple(loop for _, loop in region.prefix) == row.prefix
    assert region.extent == row.extent
    assert (region.instances, region.total_box) == (row.instances, row.total_box)
    assert (region.total_exact, region.distinct) == (row.needed, row.distinct)
    assert {point: region.boxes[point] for point in row.boxes} == row.boxes
    assert {stage: regions[stage].loops for stage in row.loops} == row.loops


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_infer_bounds_gives_the_answer_worked_out_by_hand(row: Row) -> None:
    regions = schedule_of(kernel_of(row.kernel), row.line).infer_bounds(*arguments_of(row.kernel))

    region = regions[row.stage]
    assert tuple(map(str, region.prefix)) == row.prefix
    assert tuple(region.extent) == row.extent
    assert (region.instances, region.total_box) == (row.instances, row.total_box)
    assert (region.total_exact, region.distinct) == (row.needed, row.distinct)
    assert region.recompute == pytest.approx(row.total_box / row.distinct)
    for point, (minima, extents) in row.boxes.items():
        at = dict(zip(row.prefix, point, strict=True))
        assert tuple(expr.evaluate(at) for expr in region.min) == minima
        assert tuple(expr.evaluate(at) for expr in region.extent_expr) == extents
    assert {stage: dict(regions[stage].loops) for stage in row.loops} == row.loops


def test_boxes_fill_their_counts() -> None:
    for row in ROWS:
        boxes = expected_regions(program(row.kernel), row.line)[row.stage].boxes
        if len(row.boxes) == row.instances:
            assert sum(prod(extents) for _, extents in row.boxes.values()) == row.total_box, row.name
        assert len(boxes) == row.instances
