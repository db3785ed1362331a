"""The temporary bytes that `explain` predicts, compared with XLA's count."""

from __future__ import annotations

import jax
import pytest

from bench import estimates
from bench.estimates import GALLERY, Foretold, foretold, programs

THREE = pytest.mark.xfail(reason="of the loop before a selection three arrays are counted, XLA has two", strict=True)

# One program of each kind with a non-trivial estimate: loops over vectors and with transposed operands, odd numbers of
# lanes, two states, a selection, copies of a band, repeated operands, images in another layout, values that two
# reductions read, a pass with a condition, positions in two dimensions.
KINDS = (
    "objective",
    "nearest",
    "smoothed",
    "softmin",
    pytest.param("classify", marks=THREE),
    "difference_as_subscript",
    "absolute_value",
    "kronecker_product/256x16x32x32x32",
    "convolution/8x64x64x56x56",
    "balance",
    "sliding",
    "guard_and_place",
    "nearest_place/8192x8192x3",
)


# Operands that XLA now transposes in two steps instead of one.
TURNED = ("objective", "nearest", "smoothed", "absolute_value")


@pytest.mark.parametrize("name", KINDS)
def test_an_estimate_is_near_what_xla_counts(name: str) -> None:
    if name in TURNED and jax.__version_info__ < (0, 11):
        pytest.skip("XLA of JAX 0.10 needs less for it")
    group, program, text, given = next(found for found in programs("full") if found[1] == name)

    found = foretold(group, program, text, given)

    assert found.is_near, f"{found.estimate} foretold, {found.counted} counted {found.problem}"


def test_every_program_of_the_gallery_has_an_estimate() -> None:
    assert [program for group, program, _, _ in programs("tiny") if group == "gallery"] == [*GALLERY]


@pytest.mark.parametrize(
    ("estimate", "counted", "is_near"),
    [
        (109, 100, True),
        (1_090_000, 1_000_000, True),
        (1_110_000, 1_000_000, False),
        (0, 60_000, True),
        (0, 70_000, False),
    ],
)
def test_near_is_within_a_tenth_or_what_xla_adds(estimate: int, counted: int, is_near: bool) -> None:
    assert Foretold("cases", "f", estimate, counted).is_near is is_near


def test_a_program_that_fails_is_a_line_and_not_near() -> None:
    found = foretold("cases", "f", "O(i) = x(", ())

    assert not found.is_near and "CompileError" in estimates.row(found)[-1]


def test_the_summary_counts_each_kind_of_programs() -> None:
    found = [Foretold("gallery", "f", 1, 1), Foretold("chain", "g", 1, 1), Foretold("chain", "h", 10**6, 1)]

    assert estimates.summary(found).splitlines() == [
        "gallery: 1 of 1 estimates are near (100 %)",
        "rewrites: 1 of 2 estimates are near (50 %)",
        "all: 2 of 3 estimates are near (67 %)",
    ]
