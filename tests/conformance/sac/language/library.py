"""The predefined functions."""

import numpy as np

from ...program import mask
from ..case import Case, iota, vector

_LEAST, _GREATEST = -(2**31), 2**31 - 1

SHAPES = [
    Case("the shape of a matrix", "shape(a)", [(2, 3)], [2, 3]),
    Case("the shape of a scalar", "shape(a)", [()], np.zeros(0, int)),
    Case("the shape of an empty array", "shape(a)", [(0, 3)], [0, 3]),
    Case("the shape of a comprehension", "shape({ [i] -> a[i] })", [(4, 2)], [4, 2]),
    Case("the shape of a selection", "shape(a[0])", [(2, 3, 4)], [3, 4]),
    Case("the shape of a literal", "shape([[1,2,3],[4,5,6]])", [], [2, 3]),
    Case("the shape of the empty vector", "shape([])", [], [0]),
    Case("the shape of an index vector", "{ iv -> shape(iv)[0] | iv < [2, 2] }", [], [[2, 2], [2, 2]]),
    Case("the rank of a cube", "dim(a)", [(2, 3, 4)], 3),
    Case("the rank of a scalar", "dim(a)", [()], 0),
    Case("the rank of a shape", "dim(shape(a))", [(2, 3, 4)], 1),
    Case("arithmetic with shapes", "shape(a) / 2 + 1", [(4, 7)], [3, 4]),
    Case("the number of elements", "prod(shape(a))", [(2, 3, 4)], 24),
]

PARTS = [
    Case("take some", "take([2], a)", [iota(5)], [0, 1]),
    Case("take of two axes", "take([2,1], a)", [iota(3, 4)], lambda a: a[:2, :1]),
    Case("take of the leading axis", "take([2], a)", [iota(3, 4)], lambda a: a[:2]),
    Case("take from the end", "take([-2], a)", [iota(5)], [3, 4]),
    Case("take from both ends", "take([-1,2], a)", [iota(3, 4)], lambda a: a[-1:, :2]),
    Case("take all", "take(shape(a), a)", [iota(3, 4)], lambda a: a),
    Case("take none", "take([0], a)", [iota(3, 4)], lambda a: a[:0]),
    Case("take of no axis", "take([], a)", [iota(3, 4)], lambda a: a),
    Case("take of no axis of a scalar", "take([], a)", [np.int32(4)], 4),
    Case("take by a number", "take(2, a)", [iota(5)], [0, 1]),
    Case("drop some", "drop([2], a)", [iota(5)], [2, 3, 4]),
    Case("drop of two axes", "drop([2,1], a)", [iota(3, 4)], lambda a: a[2:, 1:]),
    Case("drop from the end", "drop([-2], a)", [iota(5)], [0, 1, 2]),
    Case("drop from both ends", "drop([-1,1], a)", [iota(3, 4)], lambda a: a[:-1, 1:]),
    Case("drop all", "drop(shape(a), a)", [iota(3, 4)], lambda a: a[3:, 4:]),
    Case("drop none", "drop([0,0], a)", [iota(3, 4)], lambda a: a),
    Case("drop of no axis", "drop([], a)", [iota(3, 4)], lambda a: a),
    Case("drop by a number", "drop(2, a)", [iota(5)], [2, 3, 4]),
    Case("drop of a shape", "drop([1], shape(a))", [(2, 3, 4)], [3, 4]),
    Case("take of a shape", "take([-1], shape(a))", [(2, 3, 4)], [4]),
    Case("take and drop make a middle", "take([2], drop([1], a))", [iota(5)], [1, 2]),
    Case("tile", "tile([2,2], [1,0], a)", [iota(3, 4)], lambda a: a[1:3, :2]),
    Case("tile of the leading axis", "tile([2], [1], a)", [iota(3, 4)], lambda a: a[1:3]),
    Case("tile of everything", "tile([3,4], [0,0], a)", [iota(3, 4)], lambda a: a),
    Case("tile of nothing", "tile([0], [3], a)", [iota(3, 4)], lambda a: a[3:]),
    Case("tile at an index", "{ [i] -> tile([2], [i], a) | [i] < [3] }", [iota(4)], [[0, 1], [1, 2], [2, 3]]),
    Case("take of more is filled", "take_apl([5], a)", [iota(3) + 1], [1, 2, 3, 0, 0]),
    Case("take of more from the end is filled", "take_apl([-5], a)", [iota(3) + 1], [0, 0, 1, 2, 3]),
    Case("take of less", "take_apl([2], a)", [iota(3) + 1], [1, 2]),
    Case("take of more and of less", "take_apl([3,2], a)", [iota(2, 3) + 1], [[1, 2], [4, 5], [0, 0]]),
    Case("drop of too many leaves none", "drop_apl([5], a)", [iota(3)], np.zeros(0, int)),
    Case("drop of a few", "drop_apl([1], a)", [iota(3)], [1, 2]),
    Case("a tile beyond the end is filled", "tile_apl([4], [1], a)", [iota(3) + 1], [2, 3, 0, 0]),
    Case(
        "a tile beyond both ends is filled",
        "tile_apl([3,3], [1,1], a)",
        [iota(2, 3) + 1],
        [[5, 6, 0], [0, 0, 0], [0, 0, 0]],
    ),
]

ORDER = [
    Case("reverse of a vector", "reverse(a)", [iota(4)], lambda a: a[::-1]),
    Case("reverse of the first axis", "reverse(a)", [iota(3, 4)], lambda a: a[::-1]),
    Case("reverse of another axis", "reverse(1, a)", [iota(3, 4)], lambda a: a[:, ::-1]),
    Case("reverse of axis zero", "reverse(0, a)", [iota(3, 4)], lambda a: a[::-1]),
    Case("reverse of an empty array", "reverse(a)", [iota(0, 4)], lambda a: a),
    Case("reverse in a body", "{ [i] -> reverse(a[i]) }", [iota(3, 4)], lambda a: a[:, ::-1]),
    Case(
        "reverse of an index vector",
        "{ iv -> a[reverse(iv)] | iv < reverse(shape(a)) }",
        [iota(2, 3, 4)],
        lambda a: a.T,
    ),
    Case("rotate towards higher indices", "rotate(0, 1, a)", [iota(4)], [3, 0, 1, 2]),
    Case("rotate towards lower indices", "rotate(0, -1, a)", [iota(4)], [1, 2, 3, 0]),
    Case("rotate by more than the extent", "rotate(0, 6, a)", [iota(4)], lambda a: np.roll(a, 6)),
    Case("rotate of another axis", "rotate(1, 2, a)", [iota(3, 5)], lambda a: np.roll(a, 2, 1)),
    Case("rotate of every axis", "rotate([1,-2], a)", [iota(3, 5)], lambda a: np.roll(a, (1, -2), (0, 1))),
    Case("rotate of the leading axis", "rotate([1], a)", [iota(3, 5)], lambda a: np.roll(a, 1, 0)),
    Case("rotate of no axis", "rotate([], a)", [iota(3)], lambda a: a),
    Case("rotate of an empty array", "rotate(0, 1, a)", [iota(0, 5)], lambda a: a),
    Case("shift towards higher indices", "shift(0, 1, 9, a)", [iota(4)], [9, 0, 1, 2]),
    Case("shift towards lower indices", "shift(0, -1, 9, a)", [iota(4)], [1, 2, 3, 9]),
    Case("shift by more than the extent", "shift(0, 7, 9, a)", [iota(4)], [9, 9, 9, 9]),
    Case("shift of another axis", "shift(1, 1, 0, a)", [iota(2, 3) + 1], [[0, 1, 2], [0, 4, 5]]),
    Case("shift by nothing", "shift(0, 0, 9, a)", [iota(4)], lambda a: a),
    Case("transpose of a matrix", "transpose(a)", [iota(2, 3)], lambda a: a.T),
    Case("transpose of a cube", "transpose(a)", [iota(2, 3, 4)], lambda a: a.T),
    Case("transpose of a vector", "transpose(a)", [iota(3)], lambda a: a),
    Case("transpose of a scalar", "transpose(a)", [np.int32(3)], 3),
    Case("transpose of an empty matrix", "transpose(a)", [iota(0, 3)], lambda a: a.T),
]

BUILDING = [
    Case("concatenation of vectors", "a ++ b", [iota(2), iota(3)], lambda a, b: np.concatenate([a, b])),
    Case("concatenation of matrices", "a ++ b", [iota(2, 3), iota(1, 3)], lambda a, b: np.concatenate([a, b])),
    Case("concatenation with nothing", "a ++ b", [iota(0, 3), iota(1, 3)], lambda a, b: b),
    Case("concatenation with the empty vector", "[] ++ a", [iota(3)], lambda a: a),
    Case(
        "concatenation of the last axes", "a ++^ b", [iota(2, 1), iota(2, 3)], lambda a, b: np.concatenate([a, b], -1)
    ),
    Case("concatenation of the last axes of cubes", "a ++^ a", [iota(2, 3, 2)], lambda a: np.concatenate([a, a], -1)),
    Case(
        "concatenation of vectors at the last axis", "a ++^ b", [iota(2), iota(3)], lambda a, b: np.concatenate([a, b])
    ),
    Case("reshape", "reshape([3,4], a)", [iota(12)], lambda a: a.reshape(3, 4)),
    Case("reshape to a vector", "reshape([12], a)", [iota(3, 4)], np.ravel),
    Case("reshape to a scalar", "reshape([], a)", [iota(1) + 5], 5),
    Case("reshape of a scalar", "reshape([1,1], a)", [np.int32(5)], [[5]]),
    Case("reshape of nothing", "reshape([0,5], a)", [iota(0)], np.zeros((0, 5), int)),
    Case("reshape by a computed shape", "reshape([prod(shape(a))], a)", [iota(2, 3)], np.ravel),
    Case("genarray of a scalar", "genarray([2,3], 7)", [], np.full((2, 3), 7)),
    Case("genarray of an array", "genarray([2], a)", [iota(3)], lambda a: [a, a]),
    Case("genarray of no axis", "genarray([], a)", [iota(3)], lambda a: a),
    Case("genarray of nothing", "genarray([0], a)", [iota(3)], np.zeros((0, 3), int)),
    Case("iota of a number", "iota(4)", [], [0, 1, 2, 3]),
    Case("iota of nothing", "iota(0)", [], np.zeros(0, int)),
    Case("iota of a shape", "iota([2,3])", [], lambda: np.stack(np.mgrid[:2, :3], -1)),
    Case("iota of an extent", "iota(shape(a)[0]) * a", [iota(4)], lambda a: a * a),
    Case("modarray of an element", "modarray(a, [1,2], 9)", [iota(2, 3)], [[0, 1, 2], [3, 4, 9]]),
    Case("modarray of a row", "modarray(a, [1], b)", [iota(2, 3), iota(3) + 7], [[0, 1, 2], [7, 8, 9]]),
    Case("modarray of everything", "modarray(a, [], b)", [iota(2), iota(2) + 7], [7, 8]),
    Case("modarray leaves its argument", "b = modarray(a, [0], 9); a + b", [iota(3)], [9, 2, 4]),
    Case("where of equal shapes", "where(p, a, b)", [mask(4), iota(4), iota(4) + 9], np.where),
    Case("a literal of vectors", "[[1,2],[3,4],[5,6]]", [], [[1, 2], [3, 4], [5, 6]]),
    Case("a literal of arguments", "[a, b, a]", [iota(2), iota(2) + 5], lambda a, b: [a, b, a]),
    Case("a literal of empty vectors", "[[], []]", [], np.zeros((2, 0), int)),
    Case("a literal of a literal", "[[[1]]]", [], [[[1]]]),
    Case("a literal of scalars and selections", "[a[0], 1, a[1]]", [iota(2) + 5], [5, 1, 6]),
]


def _fold(name: str, numpy: object) -> list[Case]:
    return [
        Case(f"{name} of a vector", f"{name}(a)", [(5,)], numpy),
        Case(f"{name} of a cube", f"{name}(a)", [(2, 3, 2)], numpy),
        Case(f"{name} of a scalar", f"{name}(a)", [()], numpy),
        Case(f"{name} of rows", f"{{ [i] -> {name}(a[i]) }}", [(3, 4)], lambda a: [numpy(row) for row in a]),  # type: ignore[operator]
    ]


FOLDS = [
    *_fold("sum", np.sum),
    *_fold("prod", np.prod),
    *_fold("minval", np.min),
    *_fold("maxval", np.max),
    Case("all of a mask", "all(p)", [mask(4)], np.all),
    Case("any of a mask", "any(p)", [mask(2, 3)], np.any),
    Case("any row", "{ [i] -> any(p[i]) }", [mask(4, 2)], lambda p: p.any(1)),
    Case("all of a comparison", "all(a >= 0)", [iota(4)], True),
    Case("sum of a number", "sum(5)", [], 5),
    Case("sum of an index vector", "{ iv -> sum(iv) | iv < [2, 3] }", [], [[0, 1, 2], [1, 2, 3]]),
    Case("sum of an index vector with strides", "{ iv -> sum(iv * [3, 1]) | iv < [2, 3] }", [], [[0, 1, 2], [3, 4, 5]]),
    Case("maxval of an index vector", "{ iv -> maxval(iv) | iv < [2, 3] }", [], [[0, 1, 2], [1, 1, 2]]),
    Case("sum of nothing", "sum(a)", [(0, 3)], 0.0),
    Case("prod of nothing", "prod(a)", [(0,)], 1.0),
    Case("minval of nothing, floats", "minval(a)", [(0,)], np.inf),
    Case("maxval of nothing, floats", "maxval(a)", [(0,)], -np.inf),
    Case("minval of nothing, ints", "minval(a)", [iota(0)], _GREATEST),
    Case("maxval of nothing, ints", "maxval(a)", [iota(2, 0)], _LEAST),
    Case("any of nothing", "any(a)", [np.zeros(0, bool)], False),
    Case("all of nothing", "all(a)", [np.zeros(0, bool)], True),
    Case("sum of no rows' elements", "{ [i] -> sum(a[i]) }", [(3, 0)], [0.0, 0.0, 0.0]),
    Case("a fixed column of no rows without columns", "{ [i, j] -> a[i, 0][j] }", [(0, 0, 2)], np.zeros((0, 2))),
    Case("maxval of no rows' elements", "{ [i] -> maxval(a[i]) }", [iota(2, 0)], [_LEAST, _LEAST]),
    Case("mean", "mean(a)", [(3, 4)], np.mean),
    Case("logsumexp", "logsumexp(a)", [(3, 4)], lambda a: np.log(np.exp(a).sum())),
    Case("argmax", "argmax(a)", [vector(3, 9, 2, 9)], 1),
    Case("argmin of a matrix counts row by row", "argmin(a)", [np.array([[3, 9], [1, 4]], "int32")], 2),
    Case("argmax of rows", "{ [i] -> argmax(a[i]) }", [(3, 4)], lambda a: a.argmax(1)),
    Case("rsum over one axis", "rsum(1, a)", [(2, 3, 4)], lambda a: a.sum(0)),
    Case("rsum over two axes", "rsum(2, a)", [(2, 3, 4)], lambda a: a.sum((0, 1))),
    Case("rsum over all axes", "rsum(3, a)", [(2, 3, 4)], np.sum),
    Case("rsum over no axis", "rsum(0, a)", [(2, 3)], lambda a: a),
    Case("rsum over an empty axis", "rsum(1, a)", [(0, 3)], [0.0, 0.0, 0.0]),
]
