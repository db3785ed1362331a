"""Types of scalars: literals, casts, promotion."""

import numpy as np

from ...program import mask, real
from ..case import Case, iota, vector

LITERALS = [
    Case("an int literal is an int32", "3", [], 3, "int32"),
    Case("a float literal is a float32", "3.0", [], 3.0, "float32"),
    Case("a vector of ints", "[1, 2]", [], [1, 2], "int32"),
    Case("a vector of floats", "[1.0, 2.5]", [], [1.0, 2.5], "float32"),
    Case("a vector of bools", "[true, false]", [], [True, False], "bool"),
    Case("the empty vector is of ints", "[]", [], np.zeros(0, int), "int32"),
    Case("an int literal takes a float's type", "a + 1", [(3,)], lambda a: a + 1, "float32"),
    Case(
        "an int literal takes a half's type",
        "a + 1",
        [real(3).astype("float16")],
        lambda a: a + 1,
        "float16",
        tolerance=2e-3,
    ),
    Case(
        "a float literal takes a half's type",
        "a * 0.5",
        [real(3).astype("float16")],
        lambda a: a / 2,
        "float16",
        tolerance=2e-3,
    ),
    Case("an int literal takes a byte's type", "a + 1", [iota(3).astype("uint8")], lambda a: a + 1, "uint8"),
    Case("an int literal takes a short's type", "a * 2", [iota(3).astype("int16")], lambda a: a * 2, "int16"),
    Case(
        "a strong literal does not adapt",
        "a * 2f",
        [real(3).astype("float16")],
        lambda a: a * 2,
        "float32",
        tolerance=2e-3,
    ),
    Case("a strong int does not adapt", "a + 1i", [iota(3).astype("uint8")], lambda a: a + 1, "int32"),
    Case(
        "a weak partition adapts",
        "{ [i] -> 1.5 | [i] < [1]; [i] -> a[i] }",
        [real(3).astype("float16")],
        lambda a: np.where(np.arange(3) < 1, 1.5, a),
        "float16",
        tolerance=2e-3,
    ),
    Case("a weak element adapts", "[a, 1.5]", [np.float16(2)], [2, 1.5], "float16"),
    Case("an index is an int32", "{ [i] -> i | [i] < [3] }", [], [0, 1, 2], "int32"),
    Case("a shape is of int32", "shape(a)", [(2, 3)], [2, 3], "int32"),
    Case("a rank is an int32", "dim(a)", [(2, 3)], 2, "int32"),
    Case("zero of the type: float", "{ [i] -> a[i] | [1] <= [i] }", [(3,)], lambda a: a * [0, 1, 1], "float32"),
    Case("zero of the type: bool", "{ [i] -> a[i] | [1] <= [i] }", [np.ones(3, bool)], [False, True, True], "bool"),
    Case(
        "zero of the type: byte",
        "{ [i] -> a[i] | [1] <= [i] }",
        [iota(3).astype("uint8") + np.uint8(5)],
        [0, 6, 7],
        "uint8",
    ),
]

CASTS = [
    Case("toi truncates", "toi(a)", [vector(-1.7, -0.2, 0.9, 2.5)], [-1, 0, 0, 2]),
    Case("toi of a literal", "toi(2.7)", [], 2),
    Case("tof of ints", "tof(a)", [iota(3)], [0.0, 1.0, 2.0]),
    Case("tof of an index", "{ [i] -> tof(i) / 2.0 | [i] < [3] }", [], [0.0, 0.5, 1.0]),
    Case("tod is a float of 64 bits where JAX has them", "tod(a)", [iota(3)], [0.0, 1.0, 2.0]),
    Case("tob of ints", "tob(a)", [vector(0, 1, -2)], [False, True, True]),
    Case("toi of bools", "toi(p)", [mask(6)], lambda p: p.astype(int)),
    Case("tof of bools", "sum(tof(p))", [mask(6)], lambda p: float(p.sum())),
    Case("toi of a comparison", "sum(toi(a > 0.0))", [(9,)], lambda a: (a > 0).sum()),
    Case("a cast by the name of a type: int8", "int8(a)", [iota(3)], [0, 1, 2], "int8"),
    Case("a cast by the name of a type: float16", "float16(a)", [iota(3)], [0, 1, 2], "float16"),
    Case("a cast by the name of a type: uint8", "uint8(a)", [iota(3)], [0, 1, 2], "uint8"),
    Case("a cast by the name of a type: int16", "int16(a)", [vector(1.5, -2.5)], [1, -2], "int16"),
    Case("a cast by the name of a type: bfloat16", "bfloat16(a)", [iota(3)], [0, 1, 2], "bfloat16"),
    Case("a cast by the name of a type: float32", "float32(a)", [iota(3)], [0, 1, 2], "float32"),
    Case("a cast before a division", "tof(a) / tof(b)", [np.int32(1), np.int32(4)], 0.25),
    Case("a cast of a cell", "{ [i] -> tof(a[i]) }", [iota(2, 3)], lambda a: a * 1.0),
]

_PAIRS = [
    ("int32", "float32", "float32"),
    ("int32", "float16", "float16"),
    ("float16", "float32", "float32"),
    ("int8", "int32", "int32"),
    ("uint8", "int16", "int16"),
    ("uint8", "uint16", "uint16"),
]

PROMOTION = [
    Case(
        f"{left} and {right}",
        "{ [i] -> a[i] * b[i] }",
        [np.array([1, 0, 2], left), np.array([1, 3, 0], right)],
        [1, 0, 0],
        joined,
    )
    for left, right, joined in _PAIRS
] + [
    Case("the least of small ints stays small", "minval(a)", [np.array([3, -5, 7], "int8")], -5, "int8"),
    Case("a comparison is a bool", "{ [i] -> a[i] == i }", [iota(3)], [True, True, True], "bool"),
    Case("where promotes", "where(p, a, 1)", [mask(4), (4,)], lambda p, a: np.where(p, a, 1), "float32"),
]
