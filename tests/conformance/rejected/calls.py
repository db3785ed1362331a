"""Ranges and arguments that do not fit."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..program import Argument, below
from .refusal import Refusal

RANGES = [
    Refusal(
        "sums of indices alone",
        "def f(float(P,Q,R) A) -> (O) { O(i) +=! A(i+j, i+j, i+j) }",
        "TC0401",
        "`i`",
        [(3, 3, 3)],
    ),
    Refusal(
        "a rotation without a range",
        "def f(float(N,M) I) -> (O) { O(i,j) = I(10+i-j, i+j) }",
        "TC0401",
        "`i`",
        [(20, 20)],
    ),
    Refusal("nothing to read", "def f() -> (O) { O(i,j) = 3 }", "TC0401", "`i`", []),
    Refusal(
        "an index that nothing reads",
        "def f(float(P,Q,R,S,T) I) -> (O) { O(i,j,k,l,m) = I(j,i,k,i,l) }",
        "TC0401",
        "`m`",
        [(2, 2, 2, 2, 2)],
    ),
    Refusal(
        "a stride from data",
        "def f(float(N) B, int32(1) S) -> (A) { A(i) = B(S(0)*i) }",
        "TC0401",
        "`i`",
        [(4,), np.array([2], "int32")],
    ),
    Refusal("a square", "def f(float(N) A) -> (O) { O(i) = A(i*i) }", "TC0401", "`i`", [(4,)]),
    Refusal("a remainder alone", "def f(float(N) A) -> (O) { O(i) = A(i % 3) }", "TC0401", "`i`", [(4,)]),
    Refusal(
        "a compound subscript under a condition on its index",
        "def f(float(N) A) -> (O) { O(i) = i > 3 ? A(i-1) : 0.0 }",
        "TC0401",
        "`i`",
        [(9,)],
    ),
    Refusal(
        "a sum of subscripts that does not fit",
        "def f(float(N,K,M) I) -> (O) { O(i,j) = I(i, i+j, j) }",
        "TC0701",
        "at i = 9, j = 9 this reads I[9, 18, 9]",
        [(10, 18, 10)],
    ),
    Refusal(
        "a third tensor that is too short",
        "def f(float(N) B, float(K) C, float(M) D) -> (A) { A(i,j) = B(i) * C(i+j) * D(j) }",
        "TC0701",
        "at i = 2, j = 3 this reads C[5]",
        [(3,), (5,), (4,)],
    ),
    Refusal(
        "a range that is too wide",
        "def f(float(N) A) -> (B) { B(i) = A(i) where i in 0:N+5 }",
        "TC0701",
        "where i in 0:4",
        [(4,)],
    ),
    Refusal(
        "a range below zero", "def f(float(N) A) -> (B) { B(i) = A(i) where i in -1:2 }", "TC0701", "A[-1]", [(4,)]
    ),
    Refusal("a constant beyond the end", "def f(float(10) A) -> (B) { B = A(10) }", "TC0701", "A[10]", [(10,)]),
    Refusal("a constant of no elements", "def f(float(N) A) -> (B) { B = A(0) }", "TC0701", "A[0]", [(0,)]),
    Refusal(
        "a guard that is not enough",
        "def f(float(N) A) -> (B) { B(i) = i > 0 ? A(i-2) : 0.0 where i in 0:N }",
        "TC0701",
        "A[-1]",
        [(4,)],
    ),
    Refusal(
        "a guard that only the data decides",
        "def f(float(N) A, bool(N) on) -> (B) { B(i) = on(i) ? A(i+1) : 0.0 }",
        "TC0701",
        "A[4]",
        [(4,), np.ones(4, bool)],
    ),
    Refusal(
        "squares of sizes",
        "def f(float(N) b) -> (c) { c(i) += b(i + j) where j in 0:(N*N), i in 0:10 }",
        "TC0701",
        "b[",
        [(12,)],
    ),
    Refusal(
        "a range backwards",
        "def f() -> (O) { O(i,j) = 3 where i in 8:4, j in 3:20 }",
        "TC0602",
        "`i`",
        [],
    ),
    Refusal(
        "a kernel larger than the image",
        "def f(float(H) I, float(K) V) -> (O) { O(h) +=! I(h+k) * V(k) }",
        "TC0602",
        "`h`",
        [(2,), (5,)],
    ),
    Refusal(
        "a later range beyond the tensor",
        "def f(float(N) A) -> (B) { B(i) = 0.0 where i in 0:5  B(i) = A(i) where i in 0:9 }",
        "TC0702",
        "B",
        [(9,)],
    ),
    Refusal(
        "a constant index beyond the tensor",
        "def f(float(M,N) A) -> (O) { O(n,i,m) = A(m,n) where i in 0:1  O(n,1,m) = A(m,n) }",
        "TC0702",
        "declare `O` with larger extents",
        [(2, 3)],
    ),
    Refusal(
        "an annotation of another size",
        "def f(float(N) A) -> (float(N) B) { B(i) = A(2*i) }",
        "TC0603",
        "B",
        [(6,)],
    ),
    Refusal(
        "an update that reads what it writes",
        "def f(float(N) A) -> (B) { B(i) = A(i)  B(i) = B(N-1-i) + A(i) }",
        "TC0708",
        "B_old(N-1-i)",
        [(4,)],
    ),
    Refusal(
        "targets that data decides, assigned",
        "def f(int32(N) A, int32(M) B) -> (O) { O(A(i)) = B(i) }",
        "TC0704",
        "O",
        [below(3, 4), below(3, 4)],
    ),
    Refusal(
        "targets that data decides, without a size",
        "def f(int32(N) A) -> (O) { O(A(i)) +=! 1 }",
        "TC0401",
        "O",
        [below(3, 4)],
    ),
]

PRODUCT = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) += A(m,k) * B(k,n) }"

SCALAR = "def f(int32 a) -> (b) { b(i) = a where i in 0:10 }"

CALLS = [
    Refusal("too few inputs", PRODUCT, "TC0503", "`B`", [(2, 3)]),
    Refusal("too many inputs", PRODUCT, "TC0503", "2 inputs", [(2, 3), (3, 4), (2, 4)]),
    Refusal("no inputs", PRODUCT, "TC0503", "`A`", []),
    Refusal("a float for an integer", SCALAR, "TC0305", "`a`", [np.float32(3)]),
    Refusal("a Python float for an integer", SCALAR, "TC0305", "`a`", [3.5]),
    Refusal("an integer for a float", PRODUCT, "TC0305", "`A`", [below(3, 2, 3), (3, 4)]),
    Refusal("a matrix for a scalar", SCALAR, "TC0502", "`a`", [below(3, 1, 2)]),
    Refusal("a vector for a matrix", PRODUCT, "TC0502", "`B`", [(2, 3), (3,)]),
    Refusal("sizes that differ", PRODUCT, "TC0601", "`K`", [(2, 3), (4, 5)]),
    Refusal("another constant size", "def f(float(4) A) -> (B) { B(i) = A(i) }", "TC0601", "4", [(5,)]),
    Refusal("a text", PRODUCT, "TC0305", "`A`", ["matrix", (3, 4)]),  # type: ignore[list-item]
    Refusal("nothing at all", PRODUCT, "TC0305", "`B`", [(2, 3), None]),  # type: ignore[list-item]
    Refusal("objects", PRODUCT, "TC0305", "`A`", [np.array([[object()]]), (1, 4)]),
    Refusal("lists of different lengths", PRODUCT, "TC0305", "`A`", [[[1.0, 2.0], [3.0]], (2, 4)]),
    Refusal("dates", PRODUCT, "TC0305", "`A`", [np.zeros((2, 3), "M8[s]"), (3, 4)]),
]


def keywords(
    name: str, text: str, code: str, told: str, arguments: Sequence[Argument], **named: Any
) -> tuple[Any, ...]:
    return Refusal(name, text, code, told, arguments), named


KEYWORDS = [
    keywords("an unknown name", PRODUCT, "TC0503", "`D`", [(2, 3), (3, 4)], D=1),
    keywords("a name twice", PRODUCT, "TC0503", "`A`", [(2, 3), (3, 4)], A=1),
    keywords("an initial value of another shape", PRODUCT, "TC0603", "`C`", [(2, 3), (3, 4)], C=np.zeros((2, 5), "f")),
    keywords("an initial value of another rank", PRODUCT, "TC0502", "`C`", [(2, 3), (3, 4)], C=np.zeros(2, "f")),
    keywords(
        "an initial value of another type", PRODUCT, "TC0305", "`C`", [(2, 3), (3, 4)], C=np.zeros((2, 4), "int32")
    ),
    keywords("a text as an initial value", PRODUCT, "TC0305", "`C`", [(2, 3), (3, 4)], C="zeros"),
    keywords("a size that the inputs give", PRODUCT, "TC0503", "`M`", [(2, 3), (3, 4)], M=2),
    keywords(
        "a size that is not an integer",
        "def f(int32(N) I) -> (float(M) H) { H(I(i)) +=! 1.0 }",
        "TC0901",
        "`M`",
        [below(3, 4)],
        M=2.5,
    ),
    keywords(
        "a size below zero",
        "def f(int32(N) I) -> (float(M) H) { H(I(i)) +=! 1.0 }",
        "TC0901",
        "`M`",
        [below(3, 4)],
        M=-2,
    ),
]
