"""`bijective`, against the definition: distinct images, as many as the box around them has points."""

from itertools import product

import pytest

from tcjax.symbolic.facts import Prover
from tcjax.symbolic.facts.trees import Expr

MAPS = [
    ["x", "y"],
    ["y", "x"],
    ["x"],
    ["x*4 + y"],
    ["x*3 + y"],
    ["y*6 - x"],
    ["(x*4 + y)//3", "(x*4 + y)%3"],
    ["(x*4 + y)//5", "(x*4 + y)%5"],
    ["x//2", "x%2*4 + y"],
    ["(x + y)%6", "y"],
    ["x*5%6", "3 - y"],
    ["x//y", "y"],
    ["select(x < 3, x + 3, x - 3)", "y"],
]


@pytest.mark.parametrize("texts", MAPS, ids=", ".join)
def test_small_maps_are_visited(texts: list[str]) -> None:
    facts = Prover().define("x", 0, 5).define("y", 0, 3)
    exprs = [Expr.of(text) for text in texts]
    images = []
    for x, y in product(range(6), range(4)):
        try:
            images.append(tuple(expr.evaluate({"x": x, "y": y}) for expr in exprs))
        except ZeroDivisionError:
            continue
    volume = 1
    for axis in zip(*images, strict=True):
        volume *= max(axis) - min(axis) + 1

    assert facts.bijective(texts) is (len(set(images)) == len(images) == volume)


@pytest.mark.parametrize(
    "texts",
    [["x//64", "x//8%8", "x%8"], ["x%8*131072 + x//8"], ["(x + 5)%1048576"], ["7 - x%8", "x//8"]],
    ids=", ".join,
)
def test_large_maps_are_read_as_digits(texts: list[str]) -> None:
    assert Prover().define("x", 0, 2**20 - 1).bijective(texts) is True


def test_a_large_map_onto_too_few_points_is_refused() -> None:
    assert Prover().define("x", 0, 2**20 - 1).bijective(["x//8"]) is False


@pytest.mark.parametrize(
    "texts, expected",
    [
        (["i//n", "i%n"], True),
        (["i%n*m + i//n"], True),
        (["i//m", "i%m"], True),
        (["i//n", "i%m"], False),
        (["i//n"], False),
        (["i*2"], False),
    ],
)
def test_maps_over_sizes(texts: list[str], expected: bool) -> None:
    facts = Prover().define("n", 1, None).define("m", 1, None).define("i", 0, "n*m - 1")

    assert facts.bijective(texts) is expected


def test_a_size_that_divides_splits_evenly() -> None:
    facts = Prover().define("n", 8, None).assume("n % 8 == 0").define("i", 0, "n - 1")

    assert facts.bijective(["i//8", "i%8"]) is True
    assert facts.bijective(["i//16", "i%16"]) is False


def test_facts_between_indices_cut_the_domain() -> None:
    facts = Prover().define("x", 0, 3).define("y", 0, 3)

    assert facts.assume("x <= y").bijective(["x", "y"]) is False
    assert facts.assume("x <= y").bijective(["y*(y + 1)//2 + x"]) is True
