"""Cells of different shapes, ranges outside the result, selections out of bounds, values that are known too late."""

import numpy as np

from ..case import iota, vector
from .refusal import Refusal

HOMOGENEITY = [
    # The shape of a cell needs the index.
    Refusal("take by an index", "{ [i] -> take([i], a) | [i] < [3] }", [iota(5)], "TC1002"),
    Refusal("drop by an index", "{ [i] -> drop([i], a) | [i] < [3] }", [iota(5)], "TC1002"),
    Refusal("take by an index where nothing runs", "{ [i] -> take([i], a) | [i] < [0] }", [iota(5)], "TC1002"),
    Refusal(
        "take by an index that is always the same", "{ [i] -> take([i], a) | [2] <= [i] < [3] }", [iota(5)], "TC1002"
    ),
    Refusal("take by a vector", "{ iv -> take(iv, a) | iv < [2] }", [iota(5)], "TC1002"),
    Refusal("take by a part of a vector", "{ iv -> take([iv[0]], a) | iv < [2,2] }", [iota(5)], "TC1002"),
    Refusal("take by what an index selects", "{ [i] -> take([n[i]], a) }", [vector(1, 2), iota(5)], "TC1002"),
    Refusal("reshape by an index", "{ [i] -> reshape([i, 2], a) | [i] < [3] }", [iota(4)], "TC1002"),
    Refusal("iota of an index", "{ [i] -> iota(i) | [i] < [3] }", [], "TC1002"),
    Refusal("iota of an index where nothing runs", "{ [i] -> iota(i) | [i] < [0] }", [], "TC1002"),
    Refusal("genarray by an index", "{ [i] -> genarray([i], 0) | [i] < [3] }", [], "TC1002"),
    Refusal("tile by an index", "{ [i] -> tile([i], [0], a) | [i] < [3] }", [iota(4)], "TC1002"),
    Refusal("rsum by an index", "{ [i] -> rsum(i, a) | [i] < [2] }", [iota(2, 2)], "TC1002"),
    Refusal("an inner bound by an outer index", "{ [i] -> { [j] -> 1 | [j] < [i] } | [i] < [3] }", []),
    Refusal(
        "an inner bound by an outer index, reached", "{ [i] -> { [j] -> a[j] | [j] <= [i] } | [i] < [3] }", [iota(3)]
    ),
    Refusal(
        "an inner bound by an outer index where nothing runs", "{ [i] -> { [j] -> 1 | [j] < [i] } | [i] < [0] }", []
    ),
    Refusal("an inner bound by an outer vector", "{ iv -> { jv -> 1 | jv < iv } | iv < [2,2] }", []),
    Refusal("an inner bound by data", "{ [i] -> { [j] -> 1 | [j] < [n[i]] } }", [vector(1, 2)]),
    Refusal("an inner bound, then a function", "{ [i] -> reverse({ [j] -> 1 | [j] < [i] }) | [i] < [3] }", []),
    Refusal("an inner bound, then a concatenation", "{ [i] -> [0] ++ { [j] -> 1 | [j] < [i] } | [i] < [3] }", []),
    Refusal(
        "through a function of the text",
        "int[.] g(int n) { return { [i] -> i | [i] < [n] }; } { [i] -> g(i) | [i] < [3] }",
        [],
    ),
    Refusal(
        "through a definition in a function",
        "int[.] g(int n) { m = n + 1; return iota(m); } { [i] -> g(i) | [i] < [3] }",
        [],
    ),
    Refusal(
        "in a partition that is not the last",
        "{ [i] -> take([i], a) | [i] < [1]; [i] -> a | [i] < [3] }",
        [iota(5)],
        "TC1002",
    ),
    # Partitions differ.
    Refusal("cells of two lengths", "{ [i] -> [1,2] | [i] < [1]; [i] -> [1,2,3] | [i] < [3] }", [], "TC1001"),
    Refusal("a scalar before rows", "{ [i] -> 0 | [i] < [1]; [i] -> a[i] }", [iota(3, 2)], "TC1001"),
    Refusal("rows before scalars", "{ [i] -> a[i] | [i] < [1]; [i] -> 0 | [i] < [3] }", [iota(3, 2)], "TC1001"),
    Refusal(
        "cells of two lengths in an empty partition",
        "{ [i] -> [1,2] | [i] < [0]; [i] -> [1,2,3] | [i] < [3] }",
        [],
        "TC1001",
    ),
    Refusal(
        "cells of two lengths in a hidden partition",
        "{ [i] -> 0 | [i] < [3]; [i] -> [1] | [i] < [1]; [i] -> 1 | [i] < [3] }",
        [],
        "TC1001",
    ),
    Refusal("layouts that differ", "{ [.,i] -> a | [i] < [1]; [i,.] -> a | [i] < [3] }", [iota(2)], "TC1001"),
    Refusal(
        "a row that is too long for its copy", "{ [i] -> b | [i] < [1]; iv -> a[iv] }", [iota(3), iota(3, 2)], "TC1001"
    ),
    Refusal("a wrong rank for its copy", "{ [i] -> b[i] | [i] < [1]; iv -> a[iv] }", [iota(3), iota(3, 2)], "TC1001"),
    # Literals and branches.
    Refusal("a number beside a vector", "[1, [2,3]]", [], "TC1001"),
    Refusal("vectors of two lengths", "[[1], [2,3]]", [], "TC1001"),
    Refusal("an empty vector beside a vector", "[[], [1]]", [], "TC1001"),
    Refusal("arguments of two shapes", "[a, b]", [iota(2), iota(3)], "TC1001"),
    Refusal("a literal in a body", "{ [i] -> [a[i], i] }", [iota(3, 2)], "TC1001"),
    Refusal("branches of two lengths", "{ [i] -> i == 0 ? [1] : [1,2] | [i] < [2] }", []),
    Refusal("a branch that is a scalar", "{ [i] -> i == 0 ? 0 : a[i] }", [iota(3, 2)]),
    Refusal("branches of two lengths where nothing runs", "{ [i] -> i == 0 ? [1] : [1,2] | [i] < [0] }", []),
]

GENERATORS = [
    Refusal("beyond the result", "{ [i] -> 1 | [2] <= [i] < [5]; [i] -> a[i] }", [iota(4)], "TC1101"),
    Refusal("beyond the result by an upper bound", "{ [i] -> 1 | [i] < [5]; [i] -> a[i] }", [iota(4)], "TC1101"),
    Refusal(
        "beyond the result by an upper bound that is reached",
        "{ [i] -> 1 | [i] <= [4]; [i] -> a[i] }",
        [iota(4)],
        "TC1101",
    ),
    Refusal(
        "beyond the result in the second axis", "{ iv -> 1 | [0,0] <= iv < [2,4]; iv -> a[iv] }", [iota(3, 3)], "TC1101"
    ),
    Refusal("below zero", "{ [i] -> 1 | [-1] <= [i] < [2]; [i] -> a[i] }", [iota(4)], "TC1101"),
    Refusal("below zero in the last partition", "{ [i] -> 1 | [-1] <= [i] < [2] }", [], "TC1101"),
    Refusal("below zero after a strict bound", "{ [i] -> 1 | [-2] < [i] < [2] }", [], "TC1101"),
    Refusal("beyond the result entirely", "{ [i] -> 1 | [7] <= [i] < [9]; [i] -> a[i] }", [iota(4)], "TC1101"),
    Refusal(
        "the largest bound is not the last",
        "{ [i] -> b[i - n] | [n] <= [i] < [o]; [i] -> a[i] | [i] < [n] }",
        [iota(3), 2, 5, iota(2)],
        "TC1101",
    ),
    Refusal("beyond the result by a selection", "{ [i] -> b[i]; [i] -> a[i] }", [iota(5), iota(3)], "TC1101"),
    Refusal(
        "beyond the result by a selection of a matrix",
        "{ iv -> b[iv]; iv -> a[iv] }",
        [iota(2, 5), iota(3, 3)],
        "TC1101",
    ),
    Refusal(
        "beyond the result, with a dot",
        "{ [.,j] -> a[.,j] | [j] < [4]; iv -> b[iv] }",
        [iota(2, 4), iota(2, 3)],
        "TC1101",
    ),
    Refusal(
        "beyond the result and hidden",
        "{ [i] -> 0 | [i] < [3]; [i] -> 1 | [1] <= [i] < [4]; [i] -> a[i] }",
        [iota(3)],
        "TC1101",
    ),
    Refusal("beyond an empty result", "{ [i] -> 1 | [i] < [1]; [i] -> a[i] }", [iota(0)], "TC1101"),
    Refusal("beyond the result by an argument", "{ [i] -> 1 | [i] < [n]; [i] -> a[i] }", [9, iota(3)], "TC1101"),
    Refusal("a step of zero", "{ [i] -> 1 | [0] <= [i] < [4] step [0] }", [], "TC1102"),
    Refusal("a negative step", "{ [i] -> 1 | [0] <= [i] < [4] step [-1] }", [], "TC1102"),
    Refusal("a width of zero", "{ [i] -> 1 | [0] <= [i] < [4] step [2] width [0] }", [], "TC1102"),
    Refusal("a negative width", "{ [i] -> 1 | [0] <= [i] < [4] step [2] width [-1] }", [], "TC1102"),
    Refusal("a width beyond the step", "{ [i] -> 1 | [0] <= [i] < [4] step [2] width [3] }", [], "TC1102"),
    Refusal("a step of zero in one axis", "{ iv -> 1 | [0,0] <= iv < [4,4] step [1,0] }", [], "TC1102"),
    Refusal(
        "a width beyond the step in one axis", "{ iv -> 1 | [0,0] <= iv < [4,4] step [2,2] width [2,3] }", [], "TC1102"
    ),
    Refusal(
        "a step of zero in an earlier partition",
        "{ [i] -> 1 | [0] <= [i] < [2] step [0]; [i] -> a[i] }",
        [iota(4)],
        "TC1102",
    ),
    Refusal("a step of zero by an argument", "{ [i] -> 1 | [0] <= [i] < [4] step [s] }", [0], "TC1102"),
]

INDICES = [
    Refusal("an element beyond the end", "a[4]", [iota(4)]),
    Refusal("an element before the start", "a[-1]", [iota(4)]),
    Refusal("an element of nothing", "a[0]", [iota(0)]),
    Refusal("a row beyond the end", "a[2]", [iota(2, 3)]),
    Refusal("a row of a matrix without rows", "a[0]", [iota(0, 3)]),
    Refusal("an element in a second axis", "a[0,3]", [iota(2, 3)]),
    Refusal("an element by a vector", "a[[1,5]]", [iota(2, 3)]),
    Refusal("a column beyond the end", "a[.,3]", [iota(2, 3)]),
    Refusal("a last element beyond the end", "a[...,3]", [iota(2, 3)]),
    Refusal("an element of a literal", "[1,2,3][3]", []),
    Refusal("an element of a shape", "shape(a)[2]", [iota(2, 3)]),
    Refusal("an element of a comprehension", "{ [i] -> a[i] }[7]", [iota(3)]),
    Refusal("one before the start", "{ [i] -> a[i - 1] | [i] < [4] }", [iota(4)]),
    Refusal("one beyond the end", "{ [i] -> a[i + 1] | [i] < [4] }", [iota(4)]),
    Refusal("a bound beyond the end", "{ [i] -> a[i] | [i] < [5] }", [iota(4)]),
    Refusal("a bound that reaches the extent", "{ [i] -> a[i] | [i] <= [4] }", [iota(4)]),
    Refusal("a vector's bound beyond the end", "{ iv -> a[iv] | iv < shape(a) + 1 }", [iota(4, 2)]),
    Refusal("a stencil at the start", "{ [i] -> a[i - 1] + a[i + 1] | [0] <= [i] < [3]; [i] -> a[i] }", [iota(4)]),
    Refusal("a stencil at the end", "{ [i] -> a[i - 1] + a[i + 1] | [1] <= [i] < [4]; [i] -> a[i] }", [iota(4)]),
    Refusal("a stencil of vectors", "{ iv -> a[iv + 1] | . <= iv <= .; iv -> a[iv] }", [iota(3, 3)]),
    Refusal("twice the index", "{ [i] -> a[2 * i] | [i] < [3] }", [iota(4)]),
    Refusal("the index from behind, one off", "{ [i] -> a[4 - i] | [i] < [4] }", [iota(4)]),
    Refusal("a window that is too long", "{ [i] -> sum({ [k] -> a[i + k] | [k] < [3] }) | [i] < [4] }", [iota(4)]),
    Refusal("a transposed bound", "{ iv -> a[iv] | iv < reverse(shape(a)) }", [iota(2, 3)]),
    Refusal("a reversed index without a reversed bound", "{ iv -> a[reverse(iv)] | iv < shape(a) }", [iota(2, 3)]),
    Refusal(
        "hidden elements only in part",
        "{ [i] -> 0 | [1] <= [i] < [2]; [i] -> a[i - 1] | [i] < [4] }",
        [iota(4)],
    ),
    Refusal("a branch that guards too little", "{ [i] -> i >= 0 ? a[i - 1] : 0 | [i] < [4] }", [iota(4)]),
    Refusal("a branch that is taken", "1 < 2 ? a[9] : 0", [iota(4)]),
    Refusal("a step that meets it", "{ [i] -> a[i - 2] | [0] <= [i] < [6] step [2] }", [iota(4)]),
    Refusal("a function's selection", "int f(int[n] a) { return a[n]; }", [iota(4)]),
    Refusal(
        "a function's selection with an index",
        "int g(int[n] x, int k) { return x[k + 1]; } { [i] -> g(a, i) | [i] < [4] }",
        [iota(4)],
    ),
    Refusal("in an inner comprehension", "{ [i] -> sum({ [j] -> a[i, j + 1] | [j] < [3] }) }", [iota(2, 3)]),
    Refusal("a modified element beyond the end", "modarray(a, [4], 9)", [iota(4)]),
    Refusal("take of too many", "take([5], a)", [iota(4)]),
    Refusal("take of too many from the end", "take([-5], a)", [iota(4)]),
    Refusal("take of too many in the second axis", "take([1,4], a)", [iota(2, 3)]),
    Refusal("take of some of nothing", "take([1], a)", [iota(0)]),
    Refusal("drop of too many", "drop([5], a)", [iota(4)]),
    Refusal("drop of too many from the end", "drop([-5], a)", [iota(4)]),
    Refusal("a tile beyond the end", "tile([3], [2], a)", [iota(4)]),
    Refusal("a tile before the start", "tile([2], [-1], a)", [iota(4)]),
    Refusal("take of too many by an argument", "take([n], a)", [7, iota(4)]),
    Refusal("take of too many in a body", "{ [i] -> take([4], a[i]) }", [iota(2, 3)]),
]

# Under jax.jit only: the arrays among the arguments are tracers.
STATIC = [
    Refusal("an upper bound", "{ [i] -> i | [i] < [n] }", [np.int32(3)]),
    Refusal("an upper bound that is an argument", "{ iv -> 1 | iv < shp }", [vector(2, 3)]),
    Refusal("a lower bound", "{ [i] -> a[i] | [n] <= [i] }", [iota(4), np.int32(1)]),
    Refusal("a bound of an earlier partition", "{ [i] -> 1 | [i] < [n]; [i] -> a[i] }", [np.int32(1), iota(4)]),
    Refusal("a bound that is computed", "{ [i] -> i | [i] < [sum(a)] }", [iota(4)]),
    Refusal("a bound that is selected", "{ [i] -> i | [i] < [n[1]] }", [vector(2, 3)]),
    Refusal("a step", "{ [i] -> i | [0] <= [i] < [4] step [s] }", [np.int32(2)]),
    Refusal("a width", "{ [i] -> i | [0] <= [i] < [4] step [2] width [w] }", [np.int32(1)]),
    Refusal("take", "take([n], a)", [np.int32(2), iota(4)]),
    Refusal("take by a vector", "take(v, a)", [vector(2, 1), iota(4, 4)]),
    Refusal("drop", "drop([n], a)", [np.int32(2), iota(4)]),
    Refusal("tile", "tile([n], [0], a)", [np.int32(2), iota(4)]),
    Refusal("reshape", "reshape(shp, a)", [vector(2, 2), iota(4)]),
    Refusal("genarray", "genarray(shp, 7)", [vector(2, 2)]),
    Refusal("iota", "iota(n)", [np.int32(4)]),
    Refusal("rsum", "rsum(n, a)", [np.int32(1), iota(2, 2)]),
    Refusal("a length of a cell", "{ [i] -> take([n], a[i]) }", [np.int32(1), iota(2, 3)]),
    Refusal("a bound through a definition", "m = n + 1; { [i] -> i | [i] < [m] }", [np.int32(3)]),
    Refusal("a bound through a function", "int[.] f(int n) { return { [i] -> i | [i] < [n] }; }", [np.int32(3)]),
    Refusal(
        "a bound through two functions",
        "int[.] g(int m) { return iota(m); } int[.] f(int n) { return g(n + 1); }",
        [np.int32(3)],
    ),
    Refusal("a choice between two shapes", "p ? a : b", [np.bool_(True), iota(2), iota(3)]),
    Refusal("a bound by a condition on data", "{ [i] -> i | [i] < [p ? 2 : 3] }", [np.bool_(True)]),
]
