"""What has to be refused, with which code, and which words of the message name the culprit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .program import Argument, below


@dataclass(frozen=True)
class Refusal:
    """`told` occurs in the message or in its help; the program is called where there are `arguments`."""

    name: str
    text: str
    code: str
    told: str
    arguments: Sequence[Argument] | None = None

    def __str__(self) -> str:
        return self.name


def body(name: str, statements: str, code: str, told: str) -> Refusal:
    """A refusal of statements over float(N) A, float(N,M) B, int32(N) I, float s, bool(N) p."""
    header = "def f(float(N) A, float(N,M) B, int32(N) I, float s, bool(N) p) -> (O)"
    return Refusal(name, f"{header} {{ {statements} }}", code, told)


SYNTAX = [
    Refusal("no parentheses", " def f{} {}", "TC0101", "{"),
    Refusal("nothing", "", "TC0104", ""),
    Refusal("a comment alone", "# def f(float(N) A) -> (B) { B(i) = A(i) }", "TC0104", ""),
    Refusal("an input without a name", "def f(float(N)) -> (B) { B = 1 }", "TC0101", ")"),
    Refusal(
        "documentation's gradient of a product",
        "def g(float(M,N) A, float(N,K), float(M,K) G) -> (a) { a(i,j) +=! G(i,k) * A(j,k) }",
        "TC0101",
        ",",
    ),
    Refusal("a definition that never ends", "def f(float(N) A) -> (B) { B(i) = A(i)", "TC0101", "end"),
    Refusal("text after a definition", "def f(float(N) A) -> (B) { B(i) = A(i) } }", "TC0101", "}"),
    Refusal("a name that starts with a digit", "def f(float(N) 1A) -> (B) { B = 1 }", "TC0101", "1"),
    Refusal("an expression as a size", "def f(float(N+1) A) -> (B) { B(i) = A(i) }", "TC0101", "+"),
    Refusal("a negative size", "def f(float(-1) A) -> (B) { B(i) = A(i) }", "TC0101", "-"),
    body("a suffix of a number", "O(i) = A(i) + 1.5f", "TC0107", "1.5f"),
    body("no value", "O(i) =", "TC0101", "}"),
    body("an empty clause", "O(i) = A(i) where", "TC0101", "}"),
    body("a comma at the end of the clauses", "O(i) = A(i) where i in 0:2,", "TC0101", "}"),
    body("a range without an end", "O(i) = A(i) where i in 0:", "TC0101", "}"),
    body("a range without a colon", "O(i) = A(i) where i in 3", "TC0101", ""),
    body("a subtraction as a reduction", "O(i) -= A(i)", "TC0101", "-"),
    body("a division as a reduction", "O(i) /= A(i)", "TC0101", "/"),
    body("a plus sign before a value", "O(i) = +A(i)", "TC0101", "+"),
    body("a reduction's name apart from its sign", "O min =! A(i)", "TC0101", ""),
    body("min of one", "O(i) = min(A(i))", "TC0503", "2 values"),
    body("max of three", "O(i) = max(A(i), s, 1.0)", "TC0503", "2 values"),
    body("min of none", "O(i) = min()", "TC0503", "2 values"),
    body("a keyword as an index", "O(in) = A(in)", "TC0101", "in"),
    body("a keyword as a value", "O(i) = A(i) + where", "TC0101", "where"),
    body("a type as a value", "O(i) = float + A(i)", "TC0101", "float"),
    body("brackets in a row", "O(i) = (A(i)", "TC0101", ""),
    body("too many brackets", "O(i) = A(i))", "TC0101", ")"),
    body("an unknown character", "O(i) = A(i) @ 2", "TC0102", "@"),
    body("a quotation mark", 'O(i) = "A"', "TC0102", '"'),
    body("a letter of another alphabet", "O(i) = A(і)", "TC0102", "і"),
    body("half a conditional", "O(i) = p(i) ? A(i)", "TC0101", ""),
    body("a comparison by one sign", "O(i) = p(i) && A(i) = 1", "TC0101", "="),
    body("a tensor between brackets", "O[i] = A(i)", "TC0101", "["),
    body("an assignment of a sum", "O(i) + 1 = A(i)", "TC0101", "+"),
]

NAMES = [
    Refusal("two inputs of one name", "def f(float A, float A) -> (B) { B = A }", "TC0202", "A"),
    Refusal("a tensor named like a size", "def f(float(N) A, float N) -> (B) { B = N }", "TC0202", "N"),
    Refusal("a size named like a tensor", "def f(float(N) A, float(A) C) -> (B) { B(i) = C(i) }", "TC0202", "A"),
    Refusal("an input changed", "def f(float(N) A) -> (B) { A(i) = A(i) + 42  B(k) +=! A(i) where k in 0:1 }", "TC0204", "A"),
    Refusal("a result that is never defined", "def f(float(N) A) -> (B, c) { B(i) = A(i) }", "TC0206", "c"),
    Refusal("documentation's result that nobody defines", "def f(float(N) A) -> (out) { B(i) = A(i) }", "TC0206", "out"),
    Refusal(
        "a definition that calls itself",
        "def f(float(N) A) -> (B) { B = f(A) }",
        "TC0207",
        "f",
    ),
    body("a tensor that is nowhere", "O(i) = A(i) + C(i)", "TC0201", "C"),
    body("a function that is nowhere", "O(i) = expo(A(i))", "TC0201", "exp"),
    body("a function as a tensor", "exp(i) = A(i)", "TC0203", "exp"),
    body("a function as an index", "O(y0) = A(y0)", "TC0203", "y0"),
    body("a function as a let", "O(i) = A(i) where sin = 3", "TC0203", "sin"),
    body("a read before the definition", "O(i) = C(i)  C(i) = A(i)", "TC0208", "C"),
    body("a recurrence", "O(i) = O(i-1) + A(i)", "TC0208", "O"),
    body("an index named like a size", "O(N) = A(N)", "TC0307", "N"),
    body("an index named like a tensor", "O(A) = A(A)", "TC0307", "A"),
    body("a range of a let", "O(i) = 2 * x where x = A(i), x in 1:2", "TC0307", "x"),
    body("a range of a size", "O(i) = A(i) where N in 1:2", "TC0307", "N"),
    body("a range of a tensor", "O(i) = A(i) where s in 1:2", "TC0307", "s"),
    body("two lets of one name", "O(i) = x where x = A(i), x = 2", "TC0202", "x"),
    body("a size as a tensor", "O(i) = N(i)", "TC0307", "N"),
    body("an index as a tensor", "O(i) = i(i)", "TC0307", "i"),
]

INDICES = [
    body("a sum without its operator", "O(i) = B(i,j)", "TC0703", "j"),
    body("a misspelt size", "O(i) = A(i) / NN", "TC0703", "N"),
    body("a range alone counts as no index", "O(i) +=! A(i) where k in 0:3", "TC0402", "k"),
    body("exists alone counts as no index", "O +=! 1.0 where exists A(i)", "TC0402", "i"),
    body("a let alone counts as no index", "O(i) = A(i) where x = A(k)", "TC0402", "k"),
    body("a range without a reduction", "O(i) = A(i) where k in 0:3", "TC0402", "k"),
    body("a scalar in a range", "O(i) += A(i+j) where j in 0:s, i in 0:10", "TC0405", "s"),
    body("a scalar read in a range", "O(i) = A(i) where i in 0:s()", "TC0405", "s"),
    body("a tensor in a range", "O(i,j) = 3 where i in 0:I(0), j in 0:I(1)", "TC0405", "I"),
    body("tensors in each other's ranges", "O(i,j) = 3 where i in 0:I(j), j in 0:I(i)", "TC0405", "I"),
    body("a float in a range", "O(i) = A(i) where i in 0:1.5", "TC0303", ""),
    body("ranges that wait for each other", "O(i,j) = B(i,j) where i in 0:j, j in 0:i", "TC0403", ""),
    body("a float subscript", "O(i) = A(i + .5)", "TC0303", "A"),
    body("a float tensor as a subscript", "O(i) = A(A(i))", "TC0303", "A"),
    body("a boolean subscript", "O(i) = A(p(i))", "TC0303", ""),
    body("too many subscripts", "O(i) = A(i,i)", "TC0501", "A"),
    body("too few subscripts", "O(i) = B(i)", "TC0501", "B"),
    body("a subscript of a scalar", "O(i) = s(i)", "TC0501", "s"),
    body("another rank on the left", "O(i) = A(i)  O(i,j) = B(i,j)", "TC0501", "O"),
    body("a tensor without subscripts", "O(i) = A", "TC0504", "A"),
    body("a tensor as an argument", "O(i) = exp(A)", "TC0504", "A"),
    body("a function of too few", "O(i) = pow(A(i))", "TC0503", "pow"),
    body("a function of too many", "O(i) = exp(A(i), 1)", "TC0503", "exp"),
    body("a function of none", "O(i) = exp()", "TC0503", "exp"),
    body("a dimension that is not there", "O(i) = A(i) * A.1", "TC0501", "A"),
    Refusal(
        "a rank unlike the annotation's",
        "def f(float(N) A) -> (float(N,N) B) { B(i) = A(i) }",
        "TC0501",
        "B",
    ),
]

TYPES = [
    body("a float as a condition", "O(i) = A(i) ? 1 : 0", "TC0302", "float32"),
    body("an integer as a condition", "O(i) = I(i) ? 1 : 0", "TC0302", "int32"),
    body("the negation of a float", "O(i) = !A(i) < .5 ? 1 : 0", "TC0302", "float32"),
    body("an integer and a boolean", "O(i) = I(i) && p(i)", "TC0302", "int32"),
    body("a number or a boolean", "O(i) = p(i) || 1", "TC0302", "int32"),
    body("bits of floats", "O(i) = A(i) & 1", "TC0301", "float32"),
    body("a shift by a float", "O(i) = I(i) << s", "TC0301", "float32"),
    body("any of numbers", "O any=! A(i)", "TC0302", "float32"),
    Refusal(
        "a double into a float",
        "def f(double(N) A) -> (float(N) B) { B(i) = A(i) }",
        "TC0304",
        "float64",
    ),
    Refusal("a float into an integer", "def f(float(N) A) -> (int32(N) B) { B(i) = A(i) }", "TC0304", "int32"),
    Refusal("a word into a byte", "def f(int32(N) A) -> (uint8(N) B) { B(i) = A(i) }", "TC0304", "uint8"),
    Refusal("an order of complex numbers", "def f(complex64(N) A) -> (B) { B(i) = A(i) > 0 ? 1 : 0 }", "TC0306", "complex"),
    Refusal("the greatest complex number", "def f(complex64(N) A) -> (B) { B max=! A(i) }", "TC0306", "complex"),
]

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
    Refusal("a range below zero", "def f(float(N) A) -> (B) { B(i) = A(i) where i in -1:2 }", "TC0701", "A[-1]", [(4,)]),
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
        "def f(float(M,N) A) -> (O) { O(n,0,m) = A(m,n)  O(n,1,m) = A(m,n) }",
        "TC0702",
        "return annotation",
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


def keywords(name: str, text: str, code: str, told: str, arguments: Sequence[Argument], **named: Any) -> tuple[Any, ...]:
    return Refusal(name, text, code, told, arguments), named


KEYWORDS = [
    keywords("an unknown name", PRODUCT, "TC0503", "`D`", [(2, 3), (3, 4)], D=1),
    keywords("a name twice", PRODUCT, "TC0503", "`A`", [(2, 3), (3, 4)], A=1),
    keywords("an initial value of another shape", PRODUCT, "TC0603", "`C`", [(2, 3), (3, 4)], C=np.zeros((2, 5), "f")),
    keywords("an initial value of another rank", PRODUCT, "TC0502", "`C`", [(2, 3), (3, 4)], C=np.zeros(2, "f")),
    keywords("an initial value of another type", PRODUCT, "TC0305", "`C`", [(2, 3), (3, 4)], C=np.zeros((2, 4), "int32")),
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
