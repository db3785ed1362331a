"""Cells: their shapes are known without an instance; nested comprehensions, empty arrays, folds over ragged ranges."""

import numpy as np

from ...program import mask
from ..case import Case, iota, vector


def _empty(*shape: int) -> np.ndarray:
    return np.zeros(shape, int)


NESTED = [
    Case(
        "a comprehension for every index",
        "{ [i] -> { [j] -> 10 * i + j | [j] < [3] } | [i] < [2] }",
        [],
        [[0, 1, 2], [10, 11, 12]],
    ),
    Case("three levels", "{ [i] -> { [j] -> { [k] -> a[i,j,k] + 1 } } }", [iota(2, 3, 4)], lambda a: a + 1),
    Case(
        "levels in another order",
        "{ [k] -> { [i] -> { [j] -> a[i,j,k] } } }",
        [iota(2, 3, 4)],
        lambda a: a.transpose(2, 0, 1),
    ),
    Case("two vectors", "{ iv -> { jv -> a[iv] * b[jv] } }", [(2, 3), (4,)], lambda a, b: a[..., None] * b),
    Case(
        "two vectors of an element each",
        "{ iv -> { jv -> a[iv ++ jv] | jv < [3] } | iv < [2] }",
        [iota(2, 3)],
        lambda a: a,
    ),
    Case(
        "inner and outer exchanged",
        "{ iv -> { jv -> a[jv ++ iv] | jv < [2] } | iv < [3] }",
        [iota(2, 3)],
        lambda a: a.T,
    ),
    Case(
        "an inner comprehension is selected from",
        "{ [i] -> { [j] -> a[j] * b[i] }[i] + 0 * b[i] }",
        [iota(4), iota(3)],
        lambda a, b: a[:3] * b,
    ),
    Case(
        "an inner range of outer extents",
        "{ [i] -> { [j] -> a[i] | [j] < shape(a) } }",
        [iota(3)],
        lambda a: np.repeat(a[:, None], 3, 1),
    ),
    Case("a fold inside a fold", "sum({ [i] -> prod({ [j] -> a[i,j] }) })", [(2, 3)], lambda a: a.prod(1).sum()),
    Case(
        "a fold of a fold's difference",
        "{ [i] -> sum({ [j] -> a[i,j] - maxval(a[i]) }) }",
        [(2, 3)],
        lambda a: (a - a.max(1, keepdims=True)).sum(1),
    ),
    Case(
        "a cell that is a concatenation",
        "{ [i] -> a[i] ++ b }",
        [iota(2, 2), iota(1)],
        lambda a, b: np.concatenate([a, [b, b]], 1),
    ),
    Case("a cell that is a literal", "{ [i] -> [i, a[i], 2 * i] }", [iota(2) + 5], [[0, 5, 0], [1, 6, 2]]),
    Case(
        "a cell that is a literal of rows", "{ [i] -> [a[i], a[i]] }", [iota(2, 2)], lambda a: a[:, None].repeat(2, 1)
    ),
    Case("a cell that is an index vector", "{ iv -> iv | iv < [2,2] }", [], [[[0, 0], [0, 1]], [[1, 0], [1, 1]]]),
    Case("a cell that is computed from an index vector", "{ iv -> 2 * iv + 1 | iv < [1,2] }", [], [[[1, 1], [1, 3]]]),
    Case(
        "a cell that is a part of an index vector", "{ iv -> take([1], iv) | iv < [2,2] }", [], [[[0], [0]], [[1], [1]]]
    ),
    Case(
        "a cell that is a reshaped row", "{ [i] -> reshape([2,2], a[i]) }", [iota(3, 4)], lambda a: a.reshape(3, 2, 2)
    ),
    Case(
        "a cell that is a transposed matrix",
        "{ [i] -> transpose(a[i]) }",
        [iota(2, 3, 4)],
        lambda a: a.transpose(0, 2, 1),
    ),
    Case(
        "a cell that is a rotated row",
        "{ [i] -> rotate(0, i, a[i]) }",
        [iota(3, 4)],
        lambda a: [np.roll(row, i) for i, row in enumerate(a)],
    ),
    Case("a cell that is a shifted row", "{ [i] -> shift(0, i, 0, a[i]) }", [iota(2, 3) + 1], [[1, 2, 3], [0, 4, 5]]),
    Case(
        "a cell that is reversed on one side",
        "{ [i] -> i == 1 ? reverse(a[i]) : a[i] }",
        [iota(3, 3)],
        lambda a: [a[0], a[1, ::-1], a[2]],
    ),
    Case(
        "a cell that is modified",
        "{ [i] -> modarray(a[i], [i], 0) }",
        [iota(3, 3) + 1],
        lambda a: a - np.diag(a.diagonal()),
    ),
    Case("a cell whose length is an argument", "{ [i] -> take([n], a[i]) }", [2, iota(2, 3)], lambda n, a: a[:, :n]),
    Case(
        "a cell whose length is a number by itself", "{ [i] -> take(n, a[i]) }", [2, iota(2, 3)], lambda n, a: a[:, :n]
    ),
    Case(
        "a cell whose shape is an argument",
        "{ [i] -> genarray(shp, i) | [i] < [2] }",
        [[2, 1]],
        [[[0], [0]], [[1], [1]]],
    ),
    Case(
        "a cell as long as another array",
        "{ [i] -> take(shape(b), a[i]) }",
        [iota(2), iota(3, 4)],
        lambda b, a: a[:, :2],
    ),
    Case("a cell as long as the rank of an index", "{ iv -> iota(shape(iv)[0]) | iv < [1,2] }", [], [[[0, 1], [0, 1]]]),
    Case(
        "a cell for which an index is selected with",
        "{ [i] -> { [j] -> a[j] | [j] < [2] }[i] | [i] < [2] }",
        [iota(4)],
        [0, 1],
    ),
]

UNNEEDED_SHAPES = [
    Case("an element's rank needs no value", "{ [i] -> a[i] + a[0] }", [iota(2, 3)], lambda a: a + a[0]),
    Case(
        "branches agree, whatever the condition",
        "{ [i] -> i == 0 ? a : b | [i] < [2] }",
        [iota(2), iota(2) + 5],
        lambda a, b: [a, b],
    ),
    Case(
        "a static condition chooses between shapes",
        "{ [i] -> dim(a) == 2 ? a[i] : [1,2,3,4] }",
        [iota(2, 3)],
        lambda a: a,
    ),
    Case("a condition on an argument's extent", "shape(a)[0] > 2 ? take([2], a) : a", [iota(4)], [0, 1]),
]

EMPTY = [
    Case("no rows", "{ [i] -> a[i] }", [iota(0, 5)], _empty(0, 5)),
    Case("the paper's example: rows reversed, no rows", "{ [i] -> reverse(a[i]) }", [iota(0, 5)], _empty(0, 5)),
    Case("rows reversed, no columns", "{ [i] -> reverse(a[i]) }", [iota(5, 0)], _empty(5, 0)),
    Case("columns reversed, no rows", "{ [.,j] -> reverse(a[.,j]) }", [iota(0, 5)], _empty(0, 5)),
    Case("columns reversed, no columns", "{ [.,j] -> reverse(a[.,j]) }", [iota(5, 0)], _empty(5, 0)),
    Case("rows lengthened, no rows", "{ [i] -> a[i] ++ [1,2] }", [iota(0, 5)], _empty(0, 7)),
    Case("rows shortened, no rows", "{ [i] -> take([2], a[i]) }", [iota(0, 5)], _empty(0, 2)),
    Case("rows dropped, no rows", "{ [i] -> drop([2], a[i]) }", [iota(0, 5)], _empty(0, 3)),
    Case("rows summed, no rows", "{ [i] -> sum(a[i]) }", [iota(0, 5)], _empty(0)),
    Case("rows reshaped, no rows", "{ [i] -> reshape([2,2], a[i]) }", [iota(0, 4)], _empty(0, 2, 2)),
    Case("matrices transposed, no matrices", "{ [i] -> transpose(a[i]) }", [iota(0, 2, 3)], _empty(0, 3, 2)),
    Case("shape of a row that is not there", "{ [i] -> shape(a[i]) }", [iota(0, 5)], _empty(0, 1)),
    Case("every element, first extent empty", "{ iv -> a[iv] + 1 }", [iota(0, 3)], _empty(0, 3)),
    Case("every element, last extent empty", "{ iv -> a[iv] + 1 }", [iota(3, 0)], _empty(3, 0)),
    Case("every element, both extents empty", "{ [i,j] -> a[j,i] }", [iota(0, 0)], _empty(0, 0)),
    Case("every element of a cube, middle extent empty", "{ [i,j,k] -> a[k,j,i] }", [iota(2, 0, 3)], _empty(3, 0, 2)),
    Case("a product of matrices, no rows", "{ [i,j] -> sum({ [k] -> a[i,k] * b[k,j] }) }", [(0, 2), (2, 3)], np.matmul),
    Case(
        "a product of matrices, no columns", "{ [i,j] -> sum({ [k] -> a[i,k] * b[k,j] }) }", [(3, 2), (2, 0)], np.matmul
    ),
    Case(
        "a product of matrices, nothing to sum",
        "{ [i,j] -> sum({ [k] -> a[i,k] * b[k,j] }) }",
        [(3, 0), (0, 2)],
        np.matmul,
    ),
    Case("the empty minimum", "{ [i] -> a[i] + b[i] }", [iota(0), iota(3)], _empty(0)),
    Case("a frame that is empty, a cell that is not", "{ [i] -> [1,2,3] | [i] < [0] }", [], _empty(0, 3)),
    Case("a cell that is empty", "{ [i] -> [] | [i] < [3] }", [], _empty(3, 0)),
    Case("a cell that is empty, before the frame", "{ [.,i] -> [] | [i] < [3] }", [], _empty(0, 3)),
    Case("an empty frame behind a dot", "{ [.,i] -> [1,2] | [i] < [0] }", [], _empty(2, 0)),
    Case("an empty inner comprehension", "{ [i] -> { [j] -> i | [j] < [0] } | [i] < [2] }", [], _empty(2, 0)),
    Case("an empty outer comprehension", "{ [i] -> { [j] -> i | [j] < [2] } | [i] < [0] }", [], _empty(0, 2)),
    Case("index vectors of nothing", "{ iv -> iv | iv < [0,2] }", [], _empty(0, 2, 2)),
    Case("index vectors of rank zero", "{ iv -> iv | iv < [] }", [], _empty(0)),
    Case("a row that is not there, plus a number", "{ [i] -> a[[0]] + 1 | [i] < [0] }", [iota(0, 5)], _empty(0, 5)),
    Case(
        "an empty copy with a box before it",
        "{ iv -> 1 | [0,0] <= iv < [0,0]; iv -> a[iv] }",
        [iota(0, 4)],
        _empty(0, 4),
    ),
    Case(
        "an empty stencil",
        "{ iv -> a[iv - 1] + a[iv + 1] | 0 * shape(a) + 1 <= iv < shape(a) - 1; iv -> a[iv] }",
        [iota(0)],
        _empty(0),
    ),
    Case("an empty sum of two", "a + a", [iota(0, 2)], _empty(0, 2)),
    Case("floats of an empty frame", "{ [i] -> a[i] * 0.5 }", [(0, 3)], np.zeros((0, 3))),
    Case("bools of an empty frame", "{ [i] -> a[i] > 0.5 }", [(0,)], np.zeros(0, bool)),
    Case("a rotated empty matrix", "{ [i] -> rotate(0, 1, a[i]) }", [iota(3, 0)], _empty(3, 0)),
    Case("an empty table of an empty table", "{ [i,j] -> [a[i], b[j]] }", [iota(0), iota(3)], _empty(0, 3, 2)),
]

RAGGED = [
    Case("prefix sums", "{ [i] -> sum({ [j] -> a[j] | [j] <= [i] }) | [i] < shape(a) }", [(6,)], np.cumsum),
    Case(
        "prefix sums without the element itself",
        "{ [i] -> sum({ [j] -> a[j] | [j] < [i] }) | [i] < shape(a) }",
        [iota(5) + 1],
        [0, 1, 3, 6, 10],
    ),
    Case("prefix sums of nothing", "{ [i] -> sum({ [j] -> a[j] | [j] <= [i] }) | [i] < shape(a) }", [(0,)], np.cumsum),
    Case("prefix products", "{ [i] -> prod({ [j] -> a[j] | [j] <= [i] }) | [i] < shape(a) }", [(6,)], np.cumprod),
    Case(
        "prefix maxima",
        "{ [i] -> maxval({ [j] -> a[j] | [j] <= [i] }) | [i] < shape(a) }",
        [(6,)],
        np.maximum.accumulate,
    ),
    Case(
        "prefix minima",
        "{ [i] -> minval({ [j] -> a[j] | [j] <= [i] }) | [i] < shape(a) }",
        [(6,)],
        np.minimum.accumulate,
    ),
    Case(
        "prefix all",
        "{ [i] -> all({ [j] -> p[j] | [j] <= [i] }) | [i] < shape(p) }",
        [mask(6)],
        np.logical_and.accumulate,
    ),
    Case(
        "prefix any",
        "{ [i] -> any({ [j] -> p[j] | [j] <= [i] }) | [i] < shape(p) }",
        [mask(6)],
        np.logical_or.accumulate,
    ),
    Case(
        "a window that is cut at both ends",
        "n = shape(a)[0]; { [i] -> maxval({ [j] -> a[j] | [max(0, i - 2)] <= [j] < [min(n, i + 2)] }) | [i] < [n] }",
        [iota(5)],
        [1, 2, 3, 4, 4],
    ),
    Case(
        "a moving sum over what is there",
        "n = shape(a)[0]; { [i] -> sum({ [j] -> a[j + max(0, i - 3)] | [j] < [min(n, i + 1) - max(0, i - 3)] }) "
        "| [i] < [n] }",
        [iota(6)],
        [0, 1, 3, 6, 10, 14],
    ),
    Case(
        "a triangle of a matrix",
        "{ [i] -> sum({ [j] -> a[i,j] | [j] <= [i] }) | [i] < [4] }",
        [(4, 4)],
        lambda a: np.tril(a).sum(1),
    ),
    Case(
        "lengths from data",
        "{ [i] -> sum({ [j] -> a[i,j] | [j] < [n[i]] }) }",
        [iota(3, 4) + 1, vector(0, 4, 2)],
        [0, 26, 19],
    ),
    Case(
        "the greatest of lengths from data",
        "{ [i] -> maxval({ [j] -> a[i,j] | [j] < [n[i]] }) }",
        [iota(3, 4), vector(1, 4, 2)],
        [0, 7, 9],
    ),
    Case(
        "two indices, one ragged",
        "{ [i] -> sum({ [j,k] -> a[j,k] | [j,k] < [i, 2] }) | [i] < [4] }",
        [iota(3, 2)],
        [0, 1, 6, 15],
    ),
    Case(
        "a triangle in two indices",
        "{ [i] -> sum({ [j] -> sum({ [k] -> a[j,k] | [k] <= [j] }) | [j] <= [i] }) | [i] < [3] }",
        [(3, 3)],
        lambda a: np.tril(a).sum(1).cumsum(),
    ),
    Case(
        "below an outer sum",
        "{ [i,j] -> sum({ [k] -> 1 | [k] < [i + j] }) | [i,j] < [2,3] }",
        [],
        [[0, 1, 2], [1, 2, 3]],
    ),
    Case("twice the outer index", "{ [i] -> sum({ [j] -> j | [j] < [2 * i] }) | [i] < [3] }", [], [0, 1, 6]),
    Case(
        "a ragged count through a scalar function",
        "{ [i] -> sum({ [j] -> exp(a[j]) | [j] <= [i] }) | [i] < shape(a) }",
        [(4,)],
        lambda a: np.exp(a).cumsum(),
    ),
    Case(
        "a ragged sum under arithmetic",
        "{ [i] -> 1.0 + 2.0 * sum({ [j] -> a[j] | [j] <= [i] }) | [i] < shape(a) }",
        [(4,)],
        lambda a: 1 + 2 * a.cumsum(),
    ),
    Case(
        "a ragged mean",
        "{ [i] -> sum({ [j] -> a[j] | [j] <= [i] }) / tof(i + 1) | [i] < shape(a) }",
        [(5,)],
        lambda a: a.cumsum() / np.arange(1, 6),
    ),
    Case(
        "a ragged lower bound",
        "{ [i] -> sum({ [j] -> j >= i ? a[j] : 0 }) | [i] < shape(a) }",
        [iota(5)],
        [10, 10, 9, 7, 4],
    ),
    Case(
        "suffix sums",
        "n = shape(a)[0]; { [i] -> sum({ [j] -> a[j] | [i] <= [j] < [n] }) | [i] < [n] }",
        [iota(5)],
        [10, 10, 9, 7, 4],
    ),
]
