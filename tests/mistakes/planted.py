"""Mistakes that everyone makes, each beside the program that was meant and the part of it that mends it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Mistake:
    """`wrong` does not compile, or fails for `shapes`; `right` does not. `mends` is what the help has to mention.

    `shapes` are those of the arguments in order, an array where its values count; `named` are arguments by name.
    """

    kind: str
    wrong: str
    right: str
    mends: str
    shapes: Sequence[Any]
    named: Mapping[str, Any] = field(default_factory=dict)
    right_shapes: Sequence[Any] | None = None
    right_named: Mapping[str, Any] | None = None
    warns: bool = False

    def __str__(self) -> str:
        return self.kind


MM = "def mm(float(M,K) A, float(K,N) B) -> (C) {{ {} }}"
ROW = "def f(float(N) A) -> (B) {{ {} }}"
MATRIX = "def f(float(M,N) A) -> (B) {{ {} }}"

MISTAKES = [
    Mistake(
        "wrong rank",
        MATRIX.format("B(i) +=! A(i)"),
        MATRIX.format("B(i) +=! A(i,j)"),
        "A(i, j)",
        [(3, 4)],
    ),
    Mistake(
        "swapped indices",
        "def mm(float(M,K) A, float(K,N) B) -> (float(M,N) C) { C(n,m) +=! A(m,k) * B(k,n) }",
        "def mm(float(M,K) A, float(K,N) B) -> (float(M,N) C) { C(m,n) +=! A(m,k) * B(k,n) }",
        "did you mean `m` there?",
        [(3, 4), (4, 5)],
    ),
    Mistake(
        "missing !",
        ROW.format("B += A(i)"),
        ROW.format("B +=! A(i)"),
        "+=!",
        [(3,)],
        warns=True,
    ),
    Mistake(
        "unknown function",
        ROW.format("B(i) = sqr(A(i))"),
        ROW.format("B(i) = sqrt(A(i))"),
        "sqrt",
        [(3,)],
    ),
    Mistake(
        "size conflict",
        MM.format("C(m,n) +=! A(m,k) * B(k,n)"),
        MM.format("C(m,n) +=! A(m,k) * B(k,n)"),
        "agree on `K`",
        [(3, 4), (5, 4)],
        right_shapes=[(3, 4), (4, 5)],
    ),
    Mistake(
        "off-by-one read",
        ROW.format("B(i) = A(i+1) where i in 0:N"),
        ROW.format("B(i) = A(i+1) where i in 0:N-1"),
        "where i in 0:9",
        [(10,)],
    ),
    Mistake(
        "missing reduction",
        MATRIX.format("B(i) = A(i,j)"),
        MATRIX.format("B(i) +=! A(i,j)"),
        "B(i) +=!",
        [(3, 4)],
    ),
    Mistake(
        "undeclared tensor",
        ROW.format("B(i) = A(i) * W(i)"),
        "def f(float(N) A, float(N) W) -> (B) { B(i) = A(i) * W(i) }",
        "parameter",
        [(3,)],
        right_shapes=[(3,), (3,)],
    ),
    Mistake(
        "misspelt tensor",
        "def f(float(N) weight) -> (B) { B(i) = wieght(i) }",
        "def f(float(N) weight) -> (B) { B(i) = weight(i) }",
        "weight",
        [(3,)],
    ),
    Mistake(
        "missing return",
        "def f(float(N) A) -> (B, C) { B(i) = A(i) }",
        "def f(float(N) A) -> (B, C) { B(i) = A(i) C(i) = 2.0 * A(i) }",
        "writes `C`",
        [(3,)],
    ),
    Mistake(
        "no returns",
        "def f(float(N) A) { B(i) = A(i) }",
        ROW.format("B(i) = A(i)"),
        "->",
        [(3,)],
    ),
    Mistake(
        "float as subscript",
        "def f(float(N) A, float(K) I) -> (B) { B(k) = A(I(k)) }",
        "def f(float(N) A, int32(K) I) -> (B) { B(k) = A(I(k)) }",
        "int32",
        [(3,), (2,)],
        right_shapes=[(3,), np.zeros(2, np.int32)],
    ),
    Mistake(
        "integer argument for a float",
        ROW.format("B(i) = A(i)"),
        ROW.format("B(i) = A(i)"),
        "float32",
        [np.arange(3)],
        right_shapes=[(3,)],
    ),
    Mistake(
        "a float for an integer result",
        "def f(int32(N) A) -> (int32(N) B) { B(i) = A(i) * 0.5 }",
        "def f(int32(N) A) -> (int32(N) B) { B(i) = int32(A(i) * 0.5) }",
        "int32(",
        [np.arange(3, dtype=np.int32)],
    ),
    Mistake(
        "number as a condition",
        "def f(int32(N) A) -> (B) { B(i) = A(i) ? 1 : 0 }",
        "def f(int32(N) A) -> (B) { B(i) = A(i) != 0 ? 1 : 0 }",
        "!= 0",
        [np.arange(3, dtype=np.int32)],
    ),
    Mistake(
        "= inside of an expression",
        ROW.format("B(i) = A(i) = 0.0 ? 1.0 : 2.0"),
        ROW.format("B(i) = A(i) == 0.0 ? 1.0 : 2.0"),
        "==",
        [(3,)],
    ),
    Mistake(
        "square brackets",
        ROW.format("B[i] = A[i]"),
        ROW.format("B(i) = A(i)"),
        "B(i",
        [(3,)],
    ),
    Mistake(
        "square brackets on the right",
        ROW.format("B(i) = A[i]"),
        ROW.format("B(i) = A(i)"),
        "A(i)",
        [(3,)],
    ),
    Mistake(
        "missing comma",
        MATRIX.format("B(i j) = A(i,j)"),
        MATRIX.format("B(i,j) = A(i,j)"),
        "comma",
        [(3, 4)],
    ),
    Mistake(
        "missing comma between parameters",
        "def f(float(N) A float(N) W) -> (B) { B(i) = A(i) * W(i) }",
        "def f(float(N) A, float(N) W) -> (B) { B(i) = A(i) * W(i) }",
        "comma",
        [(3,), (3,)],
    ),
    Mistake(
        "** as a power",
        ROW.format("B(i) = A(i)**2"),
        ROW.format("B(i) = pow(A(i), 2)"),
        "pow(a, b)",
        [(3,)],
    ),
    Mistake(
        "^ as a power",
        ROW.format("B(i) = A(i)^2"),
        ROW.format("B(i) = pow(A(i), 2)"),
        "pow(a, b)",
        [(3,)],
    ),
    Mistake(
        "index used as a tensor",
        ROW.format("B(i) = A(i) + i(i)"),
        ROW.format("B(i) = A(i) + i"),
        "`i`",
        [(3,)],
    ),
    Mistake(
        "tensor used without subscripts",
        ROW.format("B(i) = A + 1.0"),
        ROW.format("B(i) = A(i) + 1.0"),
        "A(i)",
        [(3,)],
    ),
    Mistake(
        "output read before it is written",
        "def f(float(N) A) -> (B, C) { C(i) = B(i) B(i) = A(i) }",
        "def f(float(N) A) -> (B, C) { B(i) = A(i) C(i) = B(i) }",
        "up",
        [(3,)],
    ),
    Mistake(
        "wrong argument name",
        MM.format("C(m,n) +=! A(m,k) * B(k,n)"),
        MM.format("C(m,n) +=! A(m,k) * B(k,n)"),
        "mm(A, B)",
        [(3, 4)],
        named={"b": (4, 5)},
        right_shapes=[(3, 4)],
        right_named={"B": (4, 5)},
    ),
    Mistake(
        "wrong number of arguments",
        MM.format("C(m,n) +=! A(m,k) * B(k,n)"),
        MM.format("C(m,n) +=! A(m,k) * B(k,n)"),
        "mm(A, B)",
        [(3, 4)],
        right_shapes=[(3, 4), (4, 5)],
    ),
    Mistake(
        "wrong number of arguments of a builtin",
        ROW.format("B(i) = fmax(A(i))"),
        ROW.format("B(i) = fmax(A(i), 0.0)"),
        "fmax(a, b)",
        [(3,)],
    ),
    Mistake(
        "an input is assigned",
        ROW.format("A(i) = 2.0 * A(i)  B(i) = A(i)"),
        ROW.format("t(i) = 2.0 * A(i)  B(i) = t(i)"),
        "A_new",
        [(3,)],
    ),
    Mistake(
        "an index that nothing bounds",
        ROW.format("B(i,j) = A(i)"),
        ROW.format("B(i,j) = A(i) where j in 0:N"),
        "where j in 0:N",
        [(3,)],
    ),
    Mistake(
        "-=",
        ROW.format("B(i) -= A(i)"),
        ROW.format("B(i) = -A(i)"),
        "B(i) =",
        [(3,)],
    ),
    Mistake(
        "if instead of a choice",
        ROW.format("B(i) = A(i) if A(i) > 0.0 else 0.0"),
        ROW.format("B(i) = A(i) > 0.0 ? A(i) : 0.0"),
        "c ? a : b",
        [(3,)],
    ),
    Mistake(
        "a loop",
        ROW.format("for i in 0:N { B(i) = A(i) }"),
        ROW.format("B(i) = A(i) where i in 0:N"),
        "where i in 0:N",
        [(3,)],
    ),
    Mistake(
        "a bracket that is not closed",
        ROW.format("B(i) = exp(A(i)"),
        ROW.format("B(i) = exp(A(i))"),
        "close the `(`",
        [(3,)],
    ),
    Mistake(
        "a type behind the name",
        "def f(A float(N)) -> (B) { B(i) = A(i) }",
        ROW.format("B(i) = A(i)"),
        "float(M, K) A",
        [(3,)],
    ),
    Mistake(
        "arrow of another language",
        "def f(float(N) A) => (B) { B(i) = A(i) }",
        ROW.format("B(i) = A(i)"),
        "->",
        [(3,)],
    ),
    Mistake(
        "min without its second argument",
        MATRIX.format("B(i) = min(A(i,j))"),
        MATRIX.format("B(i) = min[j](A(i,j))"),
        "min[",
        [(3, 4)],
    ),
    Mistake(
        "sum without brackets",
        MATRIX.format("B(i) = sum(A(i,j))"),
        MATRIX.format("B(i) = sum[j](A(i,j))"),
        "sum[j](...)",
        [(3, 4)],
    ),
    Mistake(
        "a function of another library",
        ROW.format("B(i) = maximum(A(i), 0.0)"),
        ROW.format("B(i) = max(A(i), 0.0)"),
        "max",
        [(3,)],
    ),
    Mistake(
        "an index twice on the left",
        "def f(float(N) A, float(N) W) -> (B) { B(i,i) = A(i) * W(j) }",
        "def f(float(N) A, float(N) W) -> (B) { B(i,j) = A(i) * W(j) }",
        "j",
        [(3,), (3,)],
    ),
    Mistake(
        "misspelt size",
        ROW.format("B(i) = A(i) where i in 0:M"),
        ROW.format("B(i) = A(i) where i in 0:N"),
        "size of a parameter: `N`",
        [(3,)],
    ),
    Mistake(
        "misspelt return",
        "def f(float(N) A) -> (result) { reslt(i) = A(i) }",
        "def f(float(N) A) -> (result) { result(i) = A(i) }",
        "result",
        [(3,)],
    ),
    Mistake(
        "a negative subscript",
        ROW.format("B() = A(-1)"),
        ROW.format("B() = A(N-1)"),
        "count from the end",
        [(3,)],
    ),
    Mistake(
        "a space in an operator",
        MM.format("C(m,n) + =! A(m,k) * B(k,n)"),
        MM.format("C(m,n) +=! A(m,k) * B(k,n)"),
        "`+=!` as one word",
        [(3, 4), (4, 5)],
    ),
    Mistake(
        "a comparison between two ends",
        ROW.format("B(i) = 0.0 < A(i) < 3.0 ? A(i) : 0.0"),
        ROW.format("B(i) = 0.0 < A(i) && A(i) < 3.0 ? A(i) : 0.0"),
        "`0.0 < A(i) && A(i) < 3.0`",
        [(3,)],
        warns=True,
    ),
    Mistake(
        "arrays of other lengths",
        "C(m,n) +=! A(m,k) * B(k,n)",
        MM.format("C(m,n) +=! A(m,k) * B(k,n)"),
        "`float(M,K) A` and `float(K,N) B`",
        [(2, 3), (5, 4)],
        right_shapes=[(2, 3), (3, 4)],
        warns=True,
    ),
    Mistake(
        "a sum of conditions",
        ROW.format("B() +=! A(i) > 0.0"),
        ROW.format("B() +=! int32(A(i) > 0.0)"),
        "`int32(A(i) > 0.0)`",
        [(3,)],
        warns=True,
    ),
    Mistake(
        "a position without !",
        MATRIX.format("B(i) argmin= A(i,j)"),
        MATRIX.format("B(i) argmin=! A(i,j)"),
        "`argmin=!`",
        [(3, 4)],
        warns=True,
    ),
    Mistake(
        "matrix product by @",
        "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) = A(m,k) @ B(k,n) }",
        MM.format("C(m,n) = sum[k](A(m,k) * B(k,n))"),
        "sum[k](",
        [(3, 4), (4, 5)],
    ),
    Mistake(
        "a reduction without parentheses",
        MATRIX.format("B(i) = sum[j] A(i,j)"),
        MATRIX.format("B(i) = sum[j](A(i,j))"),
        "`sum[j](...)`",
        [(3, 4)],
    ),
    Mistake(
        "an axis",
        MATRIX.format("B(i) = max(A(i,j), axis=1)"),
        MATRIX.format("B(i) = max[k](A(i,k))"),
        "max[k](A(i, k))",
        [(3, 4)],
    ),
    Mistake(
        "a range of Python",
        ROW.format("B(i) = A(i) where i in range(3)"),
        ROW.format("B(i) = A(i) where i in 0:3"),
        "`i in 0:N`",
        [(3,)],
    ),
    Mistake(
        "a range with a step",
        ROW.format("B(i) = A(i) where i in 0:4:2"),
        ROW.format("B(k) = A(2*k) where k in 0:2"),
        "A(2*k)",
        [(4,)],
    ),
    Mistake(
        "and between clauses",
        ROW.format("B(i) = A(i) where A(i) > 0.0 and i in 0:3"),
        ROW.format("B(i) = A(i) where A(i) > 0.0, i in 0:3"),
        "comma",
        [(3,)],
    ),
    Mistake(
        "a clause without where",
        ROW.format("B(i) = A(i), i in 0:3"),
        ROW.format("B(i) = A(i) where i in 0:3"),
        "`where i in 0:N`",
        [(3,)],
    ),
    Mistake(
        "a type of Python",
        "def f(A: float(N)) -> (B) { B(i) = A(i) }",
        ROW.format("B(i) = A(i)"),
        "`float(N) A`",
        [(3,)],
    ),
    Mistake(
        "a type of Rust",
        "def f(f32(N) A) -> (B) { B(i) = A(i) }",
        "def f(float32(N) A) -> (B) { B(i) = A(i) }",
        "`float32(N) A`",
        [(3,)],
    ),
    Mistake(
        "an output with its sizes",
        "def f(float(N) A) -> B(N) { B(i) = A(i) }",
        "def f(float(N) A) -> (float(N) B) { B(i) = A(i) }",
        "`-> (float(N) B)`",
        [(3,)],
    ),
    Mistake(
        "a whole axis",
        MATRIX.format("B(i) = A(i,:)"),
        MATRIX.format("B(i,j) = A(i,j)"),
        "A(i, j)",
        [(3, 4)],
    ),
    Mistake(
        "a function with its module",
        ROW.format("B(i) = np.exp(A(i))"),
        ROW.format("B(i) = exp(A(i))"),
        "`exp(...)`",
        [(3,)],
    ),
    Mistake(
        "a number that is no parameter",
        ROW.format("B(i) = A(i) + sigma"),
        "def f(float(N) A, float sigma) -> (B) { B(i) = A(i) + sigma }",
        "`float sigma`",
        [(3,)],
        right_shapes=[(3,), ()],
    ),
    Mistake(
        "a mask as an index",
        "def f(float(N) A, bool(N) mask) -> (B) { B(i) = A(mask(i)) }",
        "def f(float(N) A, bool(N) mask) -> (B) { B(i) = A(i) where mask(i) }",
        "guard",
        [(3,), np.zeros(3, bool)],
    ),
]
