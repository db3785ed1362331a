"""Dots: which axes a pattern names, which a selection keeps."""

import itertools

import numpy as np

from ..case import Case, iota


def _placed(layout: str, cell: tuple[int, ...], bare: str = "") -> Case:
    """`layout` has letters for names and dots for axes of the cell; `bare` is the pattern where it differs."""
    names = [letter for letter in layout if letter != "."]
    pattern = bare or "[" + ",".join(layout) + "]"
    extents = [5, 6, 7][: len(names)]
    value = " + ".join(f"{100**n} * {name}" for n, name in enumerate(names))
    text = f"{{ {pattern} -> c + 10000 * ({value}) | [{','.join(names)}] < {extents} }}"

    def wanted(c: np.ndarray) -> np.ndarray:
        result = np.zeros((*extents, *c.shape), int)
        for index in itertools.product(*map(range, extents)):
            result[index] = c + 10000 * sum(100**n * x for n, x in enumerate(index))
        return result.transpose(_order(layout, len(names), c.ndim))

    return Case(f"{pattern} of {len(cell)} axes", text, [iota(*cell)], wanted)


def _order(layout: str, names: int, rank: int) -> list[int]:
    """The axis of frame ++ cell at each place of the result."""
    named, cells = iter(range(names)), iter(range(names, names + rank))
    return [next(cells if letter == "." else named) for letter in layout] + list(cells)


PATTERNS = [
    _placed("ij", (2, 3)),
    _placed("ij.", (2, 3)),
    _placed("i.j", (2, 3)),
    _placed(".ij", (2, 3)),
    _placed("ij..", (2, 3)),
    _placed("i..j", (2, 3)),
    _placed("..ij", (2, 3)),
    _placed("i.j.", (2, 3)),
    _placed(".i.j", (2, 3)),
    _placed(".ij.", (2, 3)),
    _placed("i..j", (2, 3), "[i,...,j]"),
    _placed("..ij", (2, 3), "[...,i,j]"),
    _placed("ij..", (2, 3), "[i,j,...]"),
    _placed(".i.j", (2, 3), "[.,i,...,j]"),
    _placed(".ij.", (2, 3), "[...,i,j,.]"),
    _placed("i.j.", (2, 3), "[i,...,j,.]"),
    _placed("..ij", (2, 3), "[.,...,.,i,j]"),
    _placed("i..j", (2, 3), "[i,.,.,...,j]"),
    _placed("i", (2, 3)),
    _placed("i.", (2, 3)),
    _placed(".i", (2, 3)),
    _placed("..i", (2, 3)),
    _placed(".i", (2, 3, 4)),
    _placed("..i", (2, 3, 4)),
    _placed("...i", (2, 3, 4), "[...,i]"),
    _placed("..i.", (2, 3, 4), "[...,i,.]"),
    _placed(".i..", (2, 3, 4), "[.,i,...]"),
    _placed(".i..", (2, 3, 4), "[...,i,.,.]"),
    _placed("i...", (2, 3, 4), "[i,...]"),
    _placed(".i.j.", (2, 3, 4), "[.,i,...,j,.]"),
    _placed("i.j.k.", (2, 3, 4)),
    _placed(".i.j.k", (2, 3, 4)),
    _placed("...ijk", (2, 3, 4), "[...,i,j,k]"),
    _placed("i", (), "[...,i]"),
    _placed("ij", (), "[i,...,j]"),
    _placed(".i", (4,), "[...,i]"),
]

PLACES = [
    Case("columns are put back", "{ [.,j] -> a[.,j] }", [(2, 3)], lambda a: a),
    Case("rows become columns", "{ [.,j] -> a[j] }", [(2, 3)], lambda a: a.T),
    Case("columns become rows", "{ [j] -> a[.,j] }", [(2, 3)], lambda a: a.T),
    Case("a function down every column", "{ [.,j] -> reverse(a[.,j]) }", [iota(3, 4)], lambda a: a[::-1]),
    Case("a function along every row", "{ [i,.] -> reverse(a[i,.]) }", [iota(3, 4)], lambda a: a[:, ::-1]),
    Case("a function on the middle axis", "{ [i,.,k] -> reverse(a[i,.,k]) }", [iota(2, 3, 4)], lambda a: a[:, ::-1]),
    Case(
        "a function that lengthens columns",
        "{ [.,j] -> [0] ++ a[.,j] }",
        [iota(2, 3) + 1],
        [[0, 0, 0], [1, 2, 3], [4, 5, 6]],
    ),
    Case("a function that shortens columns", "{ [.,j] -> take([1], a[.,j]) }", [iota(2, 3)], [[0, 1, 2]]),
    Case(
        "a function that raises the rank",
        "{ [.,j,.] -> [a[.,j], a[.,j]] }",
        [iota(2, 3)],
        lambda a: np.stack([a, a]).transpose(0, 2, 1),
    ),
    Case("last axis to the front", "{ [i] -> a[...,i] }", [iota(2, 3, 4)], lambda a: np.moveaxis(a, -1, 0)),
    Case("first axis to the back", "{ [...,i] -> a[i] }", [iota(2, 3, 4)], lambda a: np.moveaxis(a, 0, -1)),
    Case("first axis to the back, of a vector", "{ [...,i] -> a[i] }", [iota(3)], lambda a: a),
    Case("the two last axes exchanged", "{ [...,i,j] -> a[...,j,i] }", [iota(2, 3, 4)], lambda a: a.swapaxes(1, 2)),
    Case("the two last axes exchanged, of a matrix", "{ [...,i,j] -> a[...,j,i] }", [iota(2, 3)], lambda a: a.T),
    Case("first and last exchanged", "{ [i,...,j] -> a[j,...,i] }", [iota(2, 3, 4, 2)], lambda a: a.swapaxes(0, 3)),
    Case("first and last exchanged, of a matrix", "{ [i,...,j] -> a[j,...,i] }", [iota(2, 3)], lambda a: a.T),
    Case(
        "a sum over the last axis",
        "{ iv -> sum(a[iv]) | iv < drop([-1], shape(a)) }",
        [iota(2, 3, 4)],
        lambda a: a.sum(-1),
    ),
    Case("a sum over the first axis", "{ [j] -> sum(a[.,j]) }", [iota(2, 3)], lambda a: a.sum(0)),
    Case("a sum over all but the last axis", "{ [j] -> sum(a[...,j]) }", [iota(2, 3, 4)], lambda a: a.sum((0, 1))),
    Case("a dot with a written bound", "{ [.,j] -> a[.,j] | [j] < [2] }", [iota(2, 3)], lambda a: a[:, :2]),
    Case("a dot with a lower bound", "{ [.,j] -> a[.,j] | [1] <= [j] }", [iota(2, 3) + 1], [[0, 2, 3], [0, 5, 6]]),
    Case(
        "a hole in columns",
        "{ [.,j] -> a[.,j] | [1] <= [j] < [2]; [.,j] -> 0 * a[.,j] }",
        [iota(2, 3)],
        [[0, 1, 0], [0, 4, 0]],
    ),
    Case(
        "a partition of columns before one of rows",
        "{ [.,j] -> 0 * a[.,j] | [j] < [1]; [i,.] -> a[i] }",
        [iota(2, 3)],
        [[0, 1, 2], [0, 4, 5]],
    ),
    Case(
        "a partition of columns before a copy",
        "{ [.,j] -> a[.,0] | [1] <= [j] < [2]; iv -> a[iv] }",
        [iota(2, 3)],
        [[0, 0, 2], [3, 3, 5]],
    ),
    Case(
        "a partition of last columns before a copy",
        "{ [...,j] -> 0 * a[...,j] | [2] <= [j]; iv -> a[iv] }",
        [iota(2, 2, 3)],
        lambda a: a * [1, 1, 0],
    ),
    Case("dots alone are one instance", "{ [.,.] -> a }", [iota(2, 3)], lambda a: a),
    Case("fewer dots alone than axes", "{ [.] -> a }", [iota(2, 3)], lambda a: a),
    Case("three dots alone", "{ [...] -> a }", [iota(2, 3)], lambda a: a),
    Case("three dots alone with a scalar", "{ [...] -> 5 }", [], 5),
    Case("an empty pattern", "{ [] -> a }", [iota(2, 3)], lambda a: a),
    Case("an empty pattern with a scalar", "{ [] -> 5 }", [], 5),
    Case(
        "a nested pattern with dots",
        "{ [i,.] -> { [.,j] -> b[.,j] * a[i] }[0] }",
        [iota(2, 3), iota(3)],
        lambda b, a: a[:, None] * b[0],
    ),
    Case("the product by columns", "{ [.,j] -> { [i] -> sum(a[i] * b[.,j]) } }", [(2, 3), (3, 4)], np.matmul),
    Case("the outer product by dots", "{ [i,.] -> a[i] * b }", [(2,), (3,)], np.outer),
    Case("the outer product turned round", "{ [.,i] -> a[i] * b }", [(2,), (3,)], lambda a, b: np.outer(b, a)),
]

SELECTED = [
    Case("all columns", "a[.,.]", [iota(2, 3)], lambda a: a),
    Case("fewer dots than axes", "a[.]", [iota(2, 3)], lambda a: a),
    Case("three dots alone", "a[...]", [iota(2, 3)], lambda a: a),
    Case("three dots alone of a scalar", "a[...]", [np.int32(5)], 5),
    Case("a row", "a[1,.]", [iota(2, 3)], [3, 4, 5]),
    Case("a row by three dots", "a[1,...]", [iota(2, 3, 4)], lambda a: a[1]),
    Case("the last column", "a[...,2]", [iota(2, 3)], lambda a: a[:, 2]),
    Case("the last column of a cube", "a[...,2]", [iota(2, 3, 4)], lambda a: a[..., 2]),
    Case("an element of a vector behind three dots", "a[...,2]", [iota(3)], 2),
    Case("the middle axis", "a[.,1,.]", [iota(2, 3, 4)], lambda a: a[:, 1]),
    Case("the middle axis, the rest not mentioned", "a[.,1]", [iota(2, 3, 4)], lambda a: a[:, 1]),
    Case("the ends", "a[1,...,2]", [iota(2, 3, 4)], lambda a: a[1, :, 2]),
    Case("the ends of a matrix", "a[1,...,2]", [iota(2, 3)], 5),
    Case("the second and the last but one", "a[.,1,...,0,.]", [iota(2, 3, 4, 2, 3)], lambda a: a[:, 1, :, 0]),
    Case("a computed component", "a[., 1 + 1]", [iota(2, 3)], [2, 5]),
    Case("a component of data", "a[., n]", [iota(2, 3), np.int32(1)], [1, 4]),
    Case(
        "a component by another array",
        "{ [i] -> a[., p[i]] }",
        [iota(2, 3), np.array([2, 0], "int32")],
        [[2, 5], [0, 3]],
    ),
    Case("dots of an expression", "(a + 1)[., 0]", [iota(2, 3)], [1, 4]),
    Case("dots of a selection", "a[1][., 0]", [iota(2, 3, 4)], lambda a: a[1, :, 0]),
    Case("dots of an empty array", "a[., 1]", [iota(0, 3)], np.zeros(0, int)),
]
