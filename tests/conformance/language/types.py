"""The types of values."""

import numpy as np

from ..program import Program, below

TYPES_JOINED = [
    # After section 1.4 of the language: the wider of two floats or unsigned integers, else the signed integer of
    # the most bits.
    ("uint8", "uint8", "uint8"),
    ("uint8", "uint16", "uint16"),
    ("uint8", "int32", "int32"),
    ("uint8", "int8", "int8"),
    ("uint16", "int8", "int16"),
    ("uint32", "int8", "int32"),
    ("uint32", "int32", "int32"),
    ("int8", "int16", "int16"),
    ("int16", "int32", "int32"),
    ("bool", "int8", "int8"),
    ("bool", "uint8", "uint8"),
    ("bool", "int32", "int32"),
    ("bool", "bool", "bool"),
    ("bool", "float32", "float32"),
    ("uint8", "float32", "float32"),
    ("int32", "float32", "float32"),
    ("int32", "float16", "float16"),
    ("float16", "float32", "float32"),
]

JOINED = [
    Program(
        f"{left} and {right}",
        f"def f({left}(N) A, {right}(N) B) -> (C) {{ C(i) = A(i) * B(i) }}",
        [np.array([1, 0, 1], left), np.array([1, 1, 0], right)],
        lambda a, b: np.array([1, 0, 0]),
        joined,
    )
    for left, right, joined in TYPES_JOINED
]

# The names of the types, and the types in which JAX computes them by default.
SCALARS = {
    name: name for name in ("bool", "uint8", "uint16", "uint32", "int8", "int16", "int32", "float16", "float32")
} | {
    "uint64": "uint32",
    "int64": "int32",
    "float64": "float32",
    "float": "float32",
    "double": "float32",
    "half": "float16",
    "byte": "uint8",
    "int": "int32",
}

TYPES = [
    Program(
        "a conditional's type joins its branches",
        "def f(float(N) A) -> (B) { B(i) = A(i) > 0 ? 0 : A(i) }",
        [(5,)],
        lambda a: np.minimum(a, 0),
    ),
    Program(
        "a conditional of an integer and a float",
        "def f(int32(N) A, float(N) B) -> (C) { C(i) = A(i) > 1 ? A(i) : B(i) }",
        [below(4, 6), (6,)],
        lambda a, b: np.where(a > 1, a, b),
    ),
    Program(
        "an integer with a float literal",
        "def f(int32(N) A) -> (B) { B(i) = A(i) * 2.5 }",
        [below(9, 3)],
        lambda a: a * 2.5,
    ),
    Program(
        "a byte with a literal that fits",
        "def f(uint8(N) A) -> (B) { B(i) = A(i) + 250 }",
        [np.array([1, 7], "uint8")],
        lambda a: np.array([251, 1]),
        "uint8",
    ),
    Program(
        "a byte with a literal that does not fit",
        "def f(uint8(N) A) -> (B) { B(i) = A(i) + 256 }",
        [np.array([1, 7], "uint8")],
        lambda a: np.array([257, 263]),
        "int32",
    ),
    Program(
        "a byte with a negative literal",
        "def f(uint8(N) A) -> (B) { B(i) = A(i) - 1 + -1 }",
        [np.array([1, 7], "uint8")],
        lambda a: np.array([-1, 5]),
        "int32",
    ),
    Program(
        "an index is an int32",
        "def f(uint8(N) A) -> (B) { B(i) = A(i) + i }",
        [np.array([1, 7], "uint8")],
        lambda a: np.array([1, 8]),
        "int32",
    ),
    Program(
        "bytes wrap in sums",
        "def f(uint8(N) A) -> (B) { B +=! A(i) }",
        [np.array([200, 100], "uint8")],
        lambda a: np.uint8(44),
        "uint8",
    ),
    Program(
        "booleans add modulo two",
        "def f(bool(N) A, bool(N) B) -> (C, D) { C(i) = A(i) + B(i)  D +=! A(i) }",
        [np.array([True, True, False, True]), np.array([True, False, False, True])],
        lambda a, b: (a ^ b, np.bool_(True)),
        "bool",
    ),
    Program(
        "an annotation is a cast",
        "def f(float(M,N) A) -> (double(M,N) B) { B(i,j) = A(i,j) }",
        [(2, 2)],
        lambda a: a,
    ),
    Program(
        "an annotated integer from bytes",
        "def f(uint8(N) A) -> (int32(N) B) { B(i) = A(i) }",
        [np.array([200, 100], "uint8")],
        lambda a: a,
        "int32",
    ),
    Program(
        "a cast and an annotation",
        "def cast(float(M,N) A, int32 four) -> (int32(M,N) out) { out(i,j) = int32(A(i,j) + four) }",
        [np.full((2, 4), 1.5, "f"), np.int32(4)],
        lambda a, four: np.full((2, 4), 5),
        "int32",
    ),
    Program(
        "a float subscript by a cast",
        "def f(float(M) A, float(N) B) -> (O) { O +=! A(int32(B(i))) }",
        [(4,), np.array([0.5, 3.9, 1.0], "f")],
        lambda a, b: a[[0, 3, 1]].sum(),
    ),
    Program(
        "a maximum of gathered values",
        "def f(float(M) A, float(N) B) -> (O) { O max=! A(int32(B(i))) }",
        [(4,), np.array([0.5, 3.9, 1.0], "f")],
        lambda a, b: a[[0, 3, 1]].max(),
    ),
    Program(
        "an integer argument of a function is a float",
        "def f(int32(N) A) -> (B) { B(i) = sqrt(A(i)) }",
        [np.array([4, 9], "int32")],
        np.sqrt,
    ),
    Program(
        "integers in fmax are floats",
        "def f(int32(N) A) -> (B) { B(i) = fmax(A(i), 1) }",
        [np.array([-4, 9], "int32")],
        lambda a: np.maximum(a, 1),
    ),
    Program(
        "integers in max stay integers",
        "def f(int32(N) A) -> (B) { B(i) = max(A(i), 1) }",
        [np.array([-4, 9], "int32")],
        lambda a: np.maximum(a, 1),
        "int32",
    ),
    Program(
        "a later float makes the result float",
        "def f(float(N) A) -> (B) { B(i) = 0 where i in 0:N  B(i) += A(i) }",
        [(3,)],
        lambda a: a,
    ),
    Program(
        "half sums in float",
        "def f(float16(N) A) -> (B) { B +=! A(i) }",
        [np.full(4096, 0.5, "float16")],
        lambda a: np.float64(2048.0),
        "float16",
    ),
    *(
        Program(
            f"a sum of {name}",
            f"def test_type({name}(N) A) -> (B) {{ B(k) +=! A(i) where k in 0:1 }}",
            [np.array([1, 0, 1, 1], dtype)],
            lambda a: np.array([1 if a.dtype == bool else 3]),
            dtype,
        )
        for name, dtype in SCALARS.items()
    ),
]
