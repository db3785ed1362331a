"""Bounds: inferred from selections, written, implied by dots, with steps."""

import numpy as np

from ...program import real
from ..case import Case, iota, vector

INFERRED = [
    Case("an index vector takes the whole shape", "{ iv -> a[iv] }", [(2, 3)], lambda a: a),
    Case("a scalar index takes the first extent", "{ [i] -> a[i] }", [(2, 3)], lambda a: a),
    Case("two scalar indices take two extents", "{ [i,j] -> a[i,j] }", [(2, 3, 4)], lambda a: a),
    Case("in another order", "{ [i,j] -> a[j,i] }", [(2, 3)], lambda a: a.T),
    Case("in another order, of a cube", "{ [i,j,k] -> a[k,i,j] }", [(2, 3, 4)], lambda a: a.transpose(1, 2, 0)),
    Case("by a literal inside", "{ [i,j] -> a[[j,i]] }", [(2, 3)], lambda a: a.T),
    Case("twice the same index", "{ [i] -> a[i,i] }", [(3, 5)], lambda a: a.diagonal()),
    Case("beside a number", "{ [i] -> a[1,i] }", [(2, 3)], lambda a: a[1]),
    Case("before a number", "{ [i] -> a[i,1] }", [(2, 3)], lambda a: a[:, 1]),
    Case("beside a dot", "{ [i] -> a[.,i] }", [(2, 3)], lambda a: a.T),
    Case("beside two dots", "{ [i] -> a[.,.,i] }", [(2, 3, 4)], lambda a: np.moveaxis(a, 2, 0)),
    Case("behind three dots", "{ [i] -> a[...,i] }", [(2, 3, 4)], lambda a: np.moveaxis(a, 2, 0)),
    Case("behind three dots that stand for none", "{ [i] -> a[...,i] }", [(4,)], lambda a: a),
    Case(
        "behind three dots, second from the end", "{ [i] -> a[...,i,.] }", [(2, 3, 4)], lambda a: np.moveaxis(a, 1, 0)
    ),
    Case("two behind three dots", "{ [i,j] -> a[...,j,i] }", [(2, 3, 4)], lambda a: a.transpose(2, 1, 0)),
    Case("before and behind three dots", "{ [i,j] -> a[j,...,i] }", [(2, 3, 4)], lambda a: a.transpose(2, 0, 1)),
    Case("the minimum of two vectors", "{ [i] -> a[i] + b[i] }", [iota(5), iota(3)], lambda a, b: a[:3] + b),
    Case(
        "the minimum of two, the other way round", "{ [i] -> a[i] + b[i] }", [iota(3), iota(5)], lambda a, b: a + b[:3]
    ),
    Case("the minimum of two shapes", "{ iv -> a[iv] * b[iv] }", [(4, 2), (3, 5)], lambda a, b: a[:3] * b[:, :2]),
    Case("the minimum of a diagonal", "{ [i] -> a[i,i] }", [(5, 2)], lambda a: a.diagonal()),
    Case(
        "an index vector of a matrix and a vector",
        "{ iv -> a[iv] + b[iv] }",
        [(3, 4), (3,)],
        lambda a, b: a + b[:, None],
    ),
    Case(
        "of a vector and a cube, the shorter",
        "{ iv -> b[iv] * a[iv] }",
        [(2,), (3, 4, 5)],
        lambda b, a: a[:2] * b[:, None, None],
    ),
    Case("of a matrix and a scalar", "{ iv -> a[iv] + s[iv] }", [(2, 3), ()], lambda a, s: a + s),
    Case("one selection is enough", "{ [i] -> a[i] + b[i + 1] }", [iota(3), iota(5)], lambda a, b: a + b[1:4]),
    Case(
        "a sum of indices says nothing",
        "{ [i,j] -> a[i] + b[j] + c[i + j] }",
        [(2,), (3,), (9,)],
        lambda a, b, c: a[:, None] + b + c[np.add.outer([0, 1], [0, 1, 2])],
    ),
    Case("through an array of indices", "{ [i] -> a[p[i]] }", [iota(5) * 10, vector(3, 1)], [30, 10]),
    Case("of an expression", "{ [i] -> (a + a)[i] }", [iota(3)], lambda a: 2 * a),
    Case("of a call", "{ [i] -> transpose(a)[i] }", [(2, 3)], lambda a: a.T),
    Case("of a shape", "{ [i] -> shape(a)[i] * 2 }", [(2, 3)], [4, 6]),
    Case("of a literal", "{ [i] -> [5, 6, 7][i] }", [], [5, 6, 7]),
    Case("of a comprehension", "{ [i] -> { [j] -> a[j] + 1 }[i] }", [iota(3)], lambda a: a + 1),
    Case("of a definition", "b = a ++ a; { [i] -> b[i] }", [iota(3)], lambda a: [*a, *a]),
    Case("of nothing but a function's argument", "{ [i] -> exp(a[i]) }", [(3,)], np.exp),
    Case("of a fold's argument", "{ [i] -> sum(a[i]) }", [(3, 4)], lambda a: a.sum(1)),
    Case("of a condition", "{ [i] -> p[i] ? 1 : 0 }", [np.array([True, False])], [1, 0]),
    Case("of an untaken branch", "{ [i] -> i < 9 ? 1 : a[i] }", [iota(3)], [1, 1, 1]),
    Case("out of an inner comprehension", "{ [i] -> { [j] -> a[i,j] } }", [(2, 3)], lambda a: a),
    Case("out of an inner comprehension, transposed", "{ [i] -> { [j] -> a[j,i] } }", [(2, 3)], lambda a: a.T),
    Case(
        "out of an inner vector", "{ [i] -> { jv -> a[i] + b[jv] } }", [(2,), (3, 2)], lambda a, b: a[:, None, None] + b
    ),
    Case(
        "out of an inner bound",
        "{ [i] -> sum({ [j] -> b[j] | [j] < [n[i]] }) }",
        [iota(5), vector(2, 0, 5)],
        [1, 0, 10],
    ),
    Case(
        "not out of an inner index of the same name",
        "{ [i] -> { [i] -> a[i] }[i] + b[i] }",
        [iota(5), iota(3)],
        lambda a, b: a[:3] + b,
    ),
    Case("of an outer index's row", "{ [i] -> { [j] -> a[i][j] } }", [(2, 3)], lambda a: a),
    Case("through an array that mentions the index", "{ [i,j] -> a[i][j] }", [(2, 3)], lambda a: a),
    Case(
        "matmul with unequal inner extents takes the smaller",
        "{ [i,j] -> sum({ [k] -> a[i,k] * b[k,j] }) }",
        [(2, 3), (4, 5)],
        lambda a, b: a @ b[:3],
    ),
    Case("only the last partition needs one", "{ [i] -> 7 | [i] < [1]; [i] -> a[i] }", [iota(3)], [7, 1, 2]),
    Case("of a non-last partition", "{ [i] -> a[i]; [i] -> b[i] }", [iota(2), iota(4) + 10], [0, 1, 12, 13]),
    Case("a non-last partition without one covers all", "{ [i] -> 7; [i] -> b[i] }", [iota(4)], [7, 7, 7, 7]),
    Case(
        "a non-last partition with half of one covers all",
        "{ [i,j] -> a[i] + j; [i,j] -> b[i,j] }",
        [iota(2), iota(2, 3)],
        [[0, 1, 2], [1, 2, 3]],
    ),
]

WRITTEN = [
    Case("an upper bound", "{ [i] -> i | [i] < [4] }", [], [0, 1, 2, 3]),
    Case("an upper bound that is reached", "{ [i] -> i | [i] <= [4] }", [], [0, 1, 2, 3, 4]),
    Case("a vector's upper bound that is reached", "{ iv -> iv[0] | iv <= [3] }", [], [0, 1, 2, 3]),
    Case("an upper bound decides, not the selection", "{ [i] -> a[i] | [i] < [2] }", [iota(5)], [0, 1]),
    Case("a lower bound leaves zeros", "{ [i] -> a[i] | [2] <= [i] }", [iota(4) + 5], [0, 0, 7, 8]),
    Case("a strict lower bound", "{ [i] -> a[i] | [1] < [i] }", [iota(4) + 5], [0, 0, 7, 8]),
    Case("both bounds", "{ [i] -> i | [1] <= [i] < [4] }", [], [0, 1, 2, 3]),
    Case("the shape is the upper bound, not the extent", "{ [i] -> 1 | [3] <= [i] < [5] }", [], [0, 0, 0, 1, 1]),
    Case("both bounds, both reached", "{ [i] -> 1 | [1] <= [i] <= [3] }", [], [0, 1, 1, 1]),
    Case("both bounds, both strict", "{ [i] -> 1 | [1] < [i] < [4] }", [], [0, 0, 1, 1]),
    Case("a strict lower bound below zero", "{ [i] -> 1 | [-1] < [i] < [2] }", [], [1, 1]),
    Case("bounds of two axes", "{ [i,j] -> 1 | [1,0] <= [i,j] < [3,2] }", [], [[0, 0], [1, 1], [1, 1]]),
    Case("bounds of a vector", "{ iv -> 1 | [1,0] <= iv < [3,2] }", [], [[0, 0], [1, 1], [1, 1]]),
    Case(
        "a vector's lower bound decides its length",
        "{ iv -> a[iv] | [1] <= iv }",
        [iota(3, 2)],
        [[0, 0], [2, 3], [4, 5]],
    ),
    Case("a vector's upper bound decides its length", "{ iv -> a[iv] | iv < [2] }", [iota(3, 2)], [[0, 1], [2, 3]]),
    Case("a pattern's lower bound", "{ [i,j] -> a[i,j] | [1,1] <= [i,j] }", [iota(2, 3)], [[0, 0, 0], [0, 4, 5]]),
    Case("bounds as definitions", "lo = [1]; hi = [3]; { [i] -> 5 | lo <= [i] < hi }", [], [0, 5, 5]),
    Case("bounds as sums", "{ iv -> a[iv] | [1] + 1 <= iv < shape(a) - 1 }", [iota(5)], [0, 0, 2, 3]),
    Case("bounds of computed elements", "{ [i] -> 1 | [i] < [sum(shape(a))] }", [(2, 3)], [1, 1, 1, 1, 1]),
    Case("bounds by concatenation", "{ iv -> 1 | iv < shape(a) ++ shape(b) }", [(2,), (3, 4)], np.ones((2, 3, 4), int)),
    Case("bounds by take", "{ [i] -> a[i] | [i] < take([1], shape(b)) }", [iota(5), (2, 9)], [0, 1]),
    Case("bounds that are arguments", "{ iv -> 1 | iv < shp }", [[2, 3]], np.ones((2, 3), int)),
    Case("a bound of an argument", "{ [i] -> i | [i] < [n] }", [4], [0, 1, 2, 3]),
    Case("two bounds of arguments", "{ [i] -> i | [lo] <= [i] < [hi] }", [1, 3], [0, 1, 2]),
    Case(
        "an inner bound sees the outer index", "{ [i] -> sum({ [j] -> 1 | [j] < [i] }) | [i] < [4] }", [], [0, 1, 2, 3]
    ),
    Case("an empty range is all zeros", "{ [i] -> i + 1 | [3] <= [i] < [3] }", [], [0, 0, 0]),
    Case("a range that ends before it begins is all zeros", "{ [i] -> i + 1 | [5] <= [i] < [3] }", [], [0, 0, 0]),
    Case("an empty index vector", "{ iv -> a[iv] + 1 | iv < [] }", [iota(3)], lambda a: a + 1),
    Case("a lower bound for an empty index vector", "{ iv -> 5 | [] <= iv < [] }", [], 5),
]

DOTS = [
    Case("less than a dot stops before the last", "{ [i] -> 9 | [i] < .; [i] -> a[i] }", [iota(4)], [9, 9, 9, 3]),
    Case("at most a dot reaches the last", "{ [i] -> 9 | [i] <= .; [i] -> a[i] }", [iota(4)], [9, 9, 9, 9]),
    Case("from a dot", "{ [i] -> 9 | . <= [i]; [i] -> a[i] }", [iota(4)], [9, 9, 9, 9]),
    Case("after a dot", "{ [i] -> 9 | . < [i]; [i] -> a[i] }", [iota(4)], [0, 9, 9, 9]),
    Case("between dots is the interior", "{ [i] -> 9 | . < [i] < .; [i] -> a[i] }", [iota(4)], [0, 9, 9, 3]),
    Case(
        "between dots is the interior of a matrix",
        "{ iv -> 0 | . < iv < .; iv -> a[iv] }",
        [iota(3, 4) + 1],
        lambda a: a - np.pad(a[1:-1, 1:-1], 1),
    ),
    Case("from dot to dot is all", "{ iv -> 9 | . <= iv <= .; iv -> a[iv] }", [iota(2, 3)], np.full((2, 3), 9)),
    Case("from a dot below a dot", "{ [i] -> 9 | . <= [i] < .; [i] -> a[i] }", [iota(4)], [9, 9, 9, 3]),
    Case("after a dot to a dot", "{ [i] -> 9 | . < [i] <= .; [i] -> a[i] }", [iota(4)], [0, 9, 9, 9]),
    Case("a dot above a number", "{ [i] -> 9 | [2] <= [i] < .; [i] -> a[i] }", [iota(5)], [0, 1, 9, 9, 4]),
    Case("a dot below a number", "{ [i] -> 9 | . < [i] < [3]; [i] -> a[i] }", [iota(5)], [0, 9, 9, 3, 4]),
    Case(
        "a dot adapts its length to the pattern",
        "{ [i,j] -> 9 | [1,1] <= [i,j] < .; [i,j] -> a[i,j] }",
        [iota(3, 3)],
        [[0, 1, 2], [3, 9, 5], [6, 7, 8]],
    ),
    Case(
        "a dot adapts its length to the other bound",
        "{ iv -> a[iv] * 0 | [1] <= iv < .; iv -> a[iv] }",
        [iota(4, 2)],
        lambda a: a * [[1], [0], [0], [1]],
    ),
    Case(
        "a dot for a pattern shorter than the result",
        "{ [i] -> a[i] * 0 | . < [i] < .; iv -> a[iv] }",
        [iota(4, 2)],
        lambda a: a * [[1], [0], [0], [1]],
    ),
    Case("a lower dot in the last partition", "{ [i] -> a[i] | . <= [i] }", [iota(3)], [0, 1, 2]),
    Case("after a lower dot in the last partition", "{ [i] -> a[i] + 5 | . < [i] }", [iota(3)], [0, 6, 7]),
    Case(
        "a lower dot and an upper bound in the last partition",
        "{ iv -> 1 | . < iv < [3,2] }",
        [],
        [[0, 0], [0, 1], [0, 1]],
    ),
    Case(
        "a dot of a pattern with a dot",
        "{ [.,j] -> a[.,j] * 0 | . < [j] < .; iv -> a[iv] }",
        [iota(2, 4)],
        lambda a: a * [1, 0, 0, 1],
    ),
    Case(
        "a dot of a pattern with three dots",
        "{ [...,j] -> a[...,j] * 0 | . < [j]; iv -> a[iv] }",
        [iota(2, 2, 3)],
        lambda a: a * [1, 0, 0],
    ),
    Case("an interior that is empty", "{ [i] -> 9 | . < [i] < .; [i] -> a[i] }", [iota(2)], [0, 1]),
    Case("an interior of nothing", "{ [i] -> 9 | . < [i] < .; [i] -> a[i] }", [iota(0)], np.zeros(0, int)),
]


def _stepped(n: int, lo: int, step: int, width: int) -> list[int]:
    return [int(x >= lo and (x - lo) % step < width) for x in range(n)]


STEPS = [
    Case("every other", "{ [i] -> 1 | [0] <= [i] < [7] step [2] }", [], _stepped(7, 0, 2, 1)),
    Case("every other from one", "{ [i] -> 1 | [1] <= [i] < [7] step [2] }", [], _stepped(7, 1, 2, 1)),
    Case("two of three", "{ [i] -> 1 | [0] <= [i] < [8] step [3] width [2] }", [], _stepped(8, 0, 3, 2)),
    Case("two of three from one", "{ [i] -> 1 | [1] <= [i] < [8] step [3] width [2] }", [], _stepped(8, 1, 3, 2)),
    Case("a width as wide as the step", "{ [i] -> 1 | [1] <= [i] < [6] step [2] width [2] }", [], _stepped(6, 1, 2, 2)),
    Case("a step of one", "{ [i] -> 1 | [1] <= [i] < [4] step [1] }", [], [0, 1, 1, 1]),
    Case("a step longer than the range", "{ [i] -> 1 | [1] <= [i] < [4] step [9] }", [], [0, 1, 0, 0]),
    Case("a step after a strict lower bound", "{ [i] -> 1 | [0] < [i] < [6] step [2] }", [], _stepped(6, 1, 2, 1)),
    Case("a step without a lower bound", "{ [i] -> 1 | [i] < [6] step [4] }", [], _stepped(6, 0, 4, 1)),
    Case("a step without an upper bound", "{ [i] -> a[i] | [1] <= [i] step [2] }", [iota(6)], [0, 1, 0, 3, 0, 5]),
    Case(
        "steps of two axes",
        "{ [i,j] -> 1 | [1,0] <= [i,j] < [4,5] step [2,3] }",
        [],
        np.outer(_stepped(4, 1, 2, 1), _stepped(5, 0, 3, 1)),
    ),
    Case(
        "steps of two axes with widths",
        "{ iv -> 1 | [0,1] <= iv < [5,7] step [2,3] width [1,2] }",
        [],
        np.outer(_stepped(5, 0, 2, 1), _stepped(7, 1, 3, 2)),
    ),
    Case(
        "a step of one axis of two",
        "{ [i,j] -> a[i,j] | [0,0] <= [i,j] < [4,3] step [2,1] }",
        [iota(4, 3)],
        lambda a: a * [[1], [0], [1], [0]],
    ),
    Case(
        "a step over a dot",
        "{ [i,.] -> a[i,.] | [0] <= [i] < [4] step [2] }",
        [iota(4, 3)],
        lambda a: a * [[1], [0], [1], [0]],
    ),
    Case(
        "a step before a copy", "{ [i] -> 0 | [0] <= [i] <= . step [2]; [i] -> a[i] }", [iota(5) + 1], [0, 2, 0, 4, 0]
    ),
    Case("a step up to a dot", "{ [i] -> 0 | . <= [i] < . step [2]; [i] -> a[i] }", [iota(5) + 1], [0, 2, 0, 4, 5]),
    Case(
        "two steps interleave",
        "{ [i] -> a[i / 2] | [0] <= [i] < [6] step [2]; [i] -> b[i / 2] | [1] <= [i] < [6] step [2] }",
        [iota(3), iota(3) + 10],
        [0, 10, 1, 11, 2, 12],
    ),
    Case("a step as an argument", "{ [i] -> 1 | [0] <= [i] < [7] step [s] }", [3], _stepped(7, 0, 3, 1)),
    Case(
        "red and black",
        "{ [i,j] -> 1 | [0,0] <= [i,j] < [4,4] step [2,2]; [i,j] -> 1 | [1,1] <= [i,j] < [4,4] step [2,2] }",
        [],
        np.kron(np.ones((2, 2), int), np.eye(2, dtype=int)),
    ),
    Case(
        "a prolongation",
        "{ [i,j] -> a[i / 2, j / 2] | [0,0] <= [i,j] < [4,6] step [2,2] }",
        [real(2, 3)],
        lambda a: np.kron(a, [[1, 0], [0, 0]]),
    ),
    Case(
        "a step hidden by an earlier partition",
        "{ [i] -> 7 | [2] <= [i] < [4]; [i] -> 1 | [0] <= [i] < [6] step [2] }",
        [],
        [1, 0, 7, 7, 1, 0],
    ),
]
