"""Partitions: the first that covers an element defines it, the last decides the shape, what none covers is zero."""

import numpy as np

from ..case import Case, iota, vector

PRIORITY = [
    Case(
        "the first example: sums in a corner",
        "{ [i,j] -> i + j | [3,3] <= [i,j]; iv -> a[iv] }",
        [iota(5, 4)],
        lambda a: np.where(np.logical_and(*(np.indices((5, 4)) >= 3)), np.indices((5, 4)).sum(0), a),
    ),
    Case("the first of two wins", "{ [i] -> 1 | [i] < [3]; [i] -> 2 | [i] < [5] }", [], [1, 1, 1, 2, 2]),
    Case(
        "the first of two that overlap",
        "{ [i] -> 1 | [1] <= [i] < [3]; [i] -> 2 | [2] <= [i] < [5] }",
        [],
        [0, 1, 1, 2, 2],
    ),
    Case(
        "the first of three",
        "{ [i] -> 1 | [2] <= [i] < [3]; [i] -> 2 | [1] <= [i] < [4]; [i] -> 3 | [i] < [6] }",
        [],
        [3, 2, 1, 2, 3, 3],
    ),
    Case(
        "a partition that is hidden entirely",
        "{ [i] -> 1 | [i] < [3]; [i] -> 2 | [1] <= [i] < [3]; [i] -> 3 | [i] < [4] }",
        [],
        [1, 1, 1, 3],
    ),
    Case("the last partition is hidden entirely", "{ [i] -> 1 | [i] < [3]; [i] -> 2 | [i] < [3] }", [], [1, 1, 1]),
    Case(
        "boxes that cross",
        "{ [i,j] -> 1 | [1,0] <= [i,j] < [2,4]; [i,j] -> 2 | [0,1] <= [i,j] < [3,2]; [i,j] -> 3 | [i,j] < [3,4] }",
        [],
        [[3, 2, 3, 3], [1, 1, 1, 1], [3, 2, 3, 3]],
    ),
    Case("equal boxes", "{ iv -> 1 | [1] <= iv < [2]; iv -> 2 | [1] <= iv < [2]; iv -> 3 | iv < [3] }", [], [3, 1, 3]),
    Case(
        "the priority is per element",
        "{ [i] -> a[i] | [1] <= [i]; [i] -> b[i] }",
        [iota(4), iota(4) + 10],
        [10, 1, 2, 3],
    ),
    Case("the last decides the shape", "{ [i] -> 1 | [i] < [2]; [i] -> 2 | [i] < [4] }", [], [1, 1, 2, 2]),
    Case(
        "the last decides the shape, though it covers less",
        "{ [i] -> 1 | [i] < [2]; [i] -> 2 | [3] <= [i] < [4] }",
        [],
        [1, 1, 0, 2],
    ),
    Case(
        "three columns",
        "{ [i,j] -> 1 | [0,0] <= [i,j] < [2,1]; [i,j] -> 2 | [0,2] <= [i,j] < [2,3]; [i,j] -> 5 | [i,j] < [2,3] }",
        [],
        [[1, 5, 2], [1, 5, 2]],
    ),
    Case(
        "partitions of whole rows",
        "{ [i] -> b | [1] <= [i] < [2]; [i] -> a[i] }",
        [iota(3) + 9, iota(3, 3)],
        lambda b, a: [a[0], b, a[2]],
    ),
    Case(
        "indices are the places in the result",
        "{ [i] -> i | [2] <= [i] < [4]; [i] -> 10 * i | [i] < [5] }",
        [],
        [0, 10, 2, 3, 40],
    ),
    Case(
        "names differ between partitions",
        "{ [i,j] -> i | [i,j] < [1,2]; [x,y] -> y | [x,y] < [2,2] }",
        [],
        [[0, 0], [0, 1]],
    ),
    Case(
        "patterns and vectors mix",
        "{ [i,j] -> i + j | [1,1] <= [i,j]; iv -> a[iv] }",
        [iota(3, 3) * 10],
        [[0, 10, 20], [30, 2, 3], [60, 3, 4]],
    ),
    Case(
        "a vector before a pattern",
        "{ iv -> sum(iv) | [1,1] <= iv; [i,j] -> a[i,j] }",
        [iota(3, 3) * 10],
        [[0, 10, 20], [30, 2, 3], [60, 3, 4]],
    ),
]

HOLES = [
    Case("zero below a lower bound", "{ [i] -> 5 | [2] <= [i] < [4] }", [], [0, 0, 5, 5]),
    Case("zeros around a box", "{ [i,j] -> 5 | [1,1] <= [i,j] < [2,3] }", [], [[0, 0, 0], [0, 5, 5]]),
    Case("zero between two partitions", "{ [i] -> 1 | [i] < [1]; [i] -> 2 | [3] <= [i] < [4] }", [], [1, 0, 0, 2]),
    Case("zeros of floats", "{ [i] -> 1.5 | [1] <= [i] < [2] }", [], [0.0, 1.5]),
    Case("false where nothing applies", "{ [i] -> true | [1] <= [i] < [3] }", [], [False, True, True]),
    Case("zero rows", "{ [i] -> a | [1] <= [i] < [3] }", [iota(2) + 3], [[0, 0], [3, 4], [3, 4]]),
    Case("zero columns", "{ [.,i] -> a | [1] <= [i] < [3] }", [iota(2) + 3], [[0, 3, 3], [0, 4, 4]]),
    Case("holes of a step", "{ [i] -> a[i] | [0] <= [i] < [5] step [3] }", [iota(5) + 1], [1, 0, 0, 4, 0]),
    Case("an inner hole", "{ [i] -> { [j] -> 1 | [1] <= [j] < [3] } | [i] < [2] }", [], [[0, 1, 1], [0, 1, 1]]),
    Case(
        "an inner and an outer hole",
        "{ [i] -> { [j] -> 1 | [1] <= [j] < [3] } | [1] <= [i] < [2] }",
        [],
        [[0, 0, 0], [0, 1, 1]],
    ),
    Case("holes count in a sum", "sum({ [i] -> 1 | [2] <= [i] < [5] })", [], 3),
    Case("holes count in a product", "prod({ [i] -> 3 | [1] <= [i] < [3] })", [], 0),
    Case("holes count in the least", "minval({ [i] -> 3 | [1] <= [i] < [3] })", [], 0),
    Case("holes count in the greatest", "maxval({ [i] -> -3 | [1] <= [i] < [3] })", [], 0),
    Case("holes count in all", "all({ [i] -> true | [1] <= [i] < [3] })", [], False),
]

EMPTY_GENERATORS = [
    Case("outside the result", "{ [i] -> 9 | [7] <= [i] < [7]; [i] -> a[i] }", [iota(3)], [0, 1, 2]),
    Case("outside and turned round", "{ [i] -> 9 | [9] <= [i] < [5]; [i] -> a[i] }", [iota(3)], [0, 1, 2]),
    Case("below zero", "{ [i] -> 9 | [-3] <= [i] < [-3]; [i] -> a[i] }", [iota(3)], [0, 1, 2]),
    Case(
        "in one axis of two, outside in the other",
        "{ [i,j] -> 9 | [1,0] <= [i,j] < [1,99]; [i,j] -> a[i,j] }",
        [iota(2, 2)],
        lambda a: a,
    ),
    Case("by a zero bound", "{ [i] -> 9 | [i] < [0]; [i] -> a[i] }", [iota(3)], [0, 1, 2]),
    Case("by an argument", "{ [i] -> 9 | [i] < [n]; [i] -> a[i] }", [0, iota(3)], lambda n, a: a),
    Case(
        "its body may select what is not there",
        "{ [i] -> a[i + 5] | [2] <= [i] < [2]; [i] -> a[i] }",
        [iota(3)],
        [0, 1, 2],
    ),
    Case("the result is empty", "{ [i] -> 9 | [0] <= [i] < [0] ; [i] -> a[i] }", [iota(0)], np.zeros(0, int)),
]

EVALUATION = [
    Case(
        "hidden elements are not evaluated",
        "{ [i] -> 0 | [i] < [1]; [i] -> a[i - 1] | [i] < [4] }",
        [iota(3) + 1],
        [0, 1, 2, 3],
    ),
    Case(
        "hidden elements at both ends",
        "{ [i] -> a[i] | [i] < [1]; [i] -> a[i] | [n - 1] <= [i] < [n]; [i] -> a[i - 1] + a[i + 1] | [i] < [n] }",
        [iota(5), 5],
        [0, 2, 4, 6, 4],
    ),
    Case(
        "boundary rows first, then a general stencil",
        "{ [i,j] -> 0 | [i,j] < [1,3]; [i,j] -> a[i - 1, j] | [i,j] < [3,3] }",
        [iota(2, 3) + 1],
        [[0, 0, 0], [1, 2, 3], [4, 5, 6]],
    ),
    Case(
        "a frame of four boxes before a stencil",
        "n = 4; { [i,j] -> 0 | [i,j] < [1,n]; [i,j] -> 0 | [n-1,0] <= [i,j] < [n,n]; [i,j] -> 0 | [i,j] < [n,1]; "
        "[i,j] -> 0 | [0,n-1] <= [i,j] < [n,n]; [i,j] -> a[i-1,j-1] + a[i+1,j+1] | [i,j] < [n,n] }",
        [iota(4, 4)],
        lambda a: np.pad(a[:-2, :-2] + a[2:, 2:], 1),
    ),
    Case(
        "hidden by a step",
        "{ [i] -> 0 | [0] <= [i] < [4] step [2]; [i] -> a[i / 2] + a[i - 1] | [i] < [4] }",
        [iota(3) + 1],
        [0, 2, 0, 5],
    ),
    Case(
        "elements outside a box are not evaluated",
        "{ [i] -> a[i - 1] | [1] <= [i] < [4] }",
        [iota(3) + 1],
        [0, 1, 2, 3],
    ),
    Case(
        "an untaken branch is not evaluated",
        "{ [i] -> i == 0 ? 0 : a[i - 1] | [i] < [4] }",
        [iota(3) + 1],
        [0, 1, 2, 3],
    ),
    Case(
        "an untaken branch by two indices",
        "{ [i,j] -> i >= 1 && j < 2 ? a[i - 1, j] : 0 | [i,j] < [3,3] }",
        [iota(2, 2) + 1],
        [[0, 0, 0], [1, 2, 0], [3, 4, 0]],
    ),
    Case(
        "a division by zero that is hidden",
        "{ [i] -> 0.0 | [i] < [1]; [i] -> 1.0 / tof(i) | [i] < [3] }",
        [],
        [0.0, 1.0, 0.5],
    ),
    Case(
        "nothing is selected while shapes are computed",
        "shape({ [i] -> a[i + 100] | [i] < [2] })",
        [iota(3, 4)],
        [2, 4],
    ),
    Case(
        "nothing of an empty array is selected", "{ [i] -> a[i - 1] | [i] < [0] }", [iota(3, 4)], np.zeros((0, 4), int)
    ),
    Case("data outside is clamped", "{ [i] -> a[p[i]] }", [iota(3) * 10, vector(-4, 1, 7)], [0, 10, 20]),
    Case("data outside is clamped on each axis", "a[n, m]", [iota(2, 3), np.int32(5), np.int32(-1)], 3),
]

MIXED = [
    Case("a modified array", "{ [i] -> 9 | [1] <= [i] < [2]; iv -> a[iv] }", [iota(3)], [0, 9, 2]),
    Case(
        "a modified element of a matrix",
        "{ [i,j] -> 9 | [1,1] <= [i,j] < [2,2]; iv -> a[iv] }",
        [iota(2, 2)],
        [[0, 1], [2, 9]],
    ),
    Case(
        "modified rows, shorter indices",
        "{ [i] -> b | [1] <= [i] < [2]; iv -> a[iv] }",
        [iota(2) + 7, iota(3, 2)],
        [[0, 1], [7, 8], [4, 5]],
    ),
    Case("modified everything, no index", "{ [] -> b; iv -> a[iv] }", [iota(2, 2) + 7, iota(2, 2)], lambda b, a: b),
    Case(
        "longer indices before shorter ones",
        "{ [i,j] -> 9 | [0,1] <= [i,j] < [2,2]; [i] -> a[i] }",
        [iota(2, 3)],
        [[0, 9, 2], [3, 9, 5]],
    ),
    Case(
        "shorter indices before longer ones",
        "{ [i] -> b | [i] < [1]; [i,j] -> a[i,j] }",
        [iota(3) + 7, iota(2, 3)],
        [[7, 8, 9], [3, 4, 5]],
    ),
    Case("a default written out", "{ [i] -> a[i] | [i] < [3]; [i] -> 0 | [i] < [3] }", [iota(5) + 1], [1, 2, 3]),
    Case(
        "a default written out, of vectors",
        "shp = [2,2]; { iv -> a[iv] + 1 | iv < shp; iv -> 0 | iv < shp }",
        [iota(3, 3)],
        [[1, 2], [4, 5]],
    ),
    Case(
        "a default of a cell",
        "{ [i] -> a[i] | [i] < [n]; [i] -> genarray([2], 0) | [i] < [n] }",
        [iota(3, 2), 3],
        lambda a, n: a,
    ),
    Case(
        "a default with offsets",
        "{ [i] -> b[i - 2] | [2] <= [i] < [5]; [i] -> 0 | [i] < [5] }",
        [iota(3) + 1],
        [0, 0, 1, 2, 3],
    ),
    Case(
        "a default of an empty result",
        "{ [i] -> b[i - 1] | [i] < [0]; [i] -> 0 | [i] < [0] }",
        [iota(0)],
        np.zeros(0, int),
    ),
]
