"""The language itself: spelling, precedence, types, casts, builtins, statements."""

import numpy as np
from scipy import special

from .program import Program, below, mask, real

SPELLING = [
    Program(
        "without any space",
        "def f(float(N,M)A)->(B){B(i)+=!A(i,j)}",
        [(3, 2)],
        lambda a: a.sum(1),
    ),
    Program(
        "comments between all tokens",
        "# head\ndef f( # one\n float(N) A # two, def -> {\n) -> # three\n (B) { # four\n"
        " B(i) # five\n = A(i) # six = 3\n + # seven\n 1 }\n# tail",
        [(3,)],
        lambda a: a + 1,
    ),
    Program(
        "a comment that ends in a backslash",
        "# a line \\\n# another \\\ndef f(float(N) A) -> (B) { B(i) = A(i) }",
        [(3,)],
        lambda a: a,
    ),
    Program(
        "two statements on a line",
        "def f(float(1) a) -> (b, c) { c(i) = a(i) b(i) = c(i) }",
        [(1,)],
        lambda a: (a, a),
    ),
    Program(
        "words of other languages are names",
        "def let(float(half) long, float(half) int) -> (byte) { byte(uint) = long(uint) - int(uint) }",
        [(3,), (3,)],
        lambda a, b: a - b,
    ),
    Program(
        "true and false are names",
        "def f(float(N) true, float(N) false) -> (B) { B(i) = true(i) / false(i) }",
        [np.array([1, 2, 3], "f"), np.array([2, 2, 4], "f")],
        lambda a, b: a / b,
    ),
    Program(
        "names that start like infinity and not-a-number",
        "def f(float(N) Info, float(N) nano, float(Infinite) inf0) -> (nan_) { nan_(i) = Info(i) + nano(i) + inf0(i) }",
        [(3,), (3,), (3,)],
        lambda a, b, c: a + b + c,
    ),
    Program(
        "names with underscores and digits",
        "def _f(float(_N0) _1) -> (_2_) { _2_(_i) = _1(_i) }",
        [(3,)],
        lambda a: a,
    ),
    Program(
        "a name that starts with a keyword",
        "def f(float(N) minimum, float(N) input) -> (define) { define(index) = minimum(index) + input(index) }",
        [(3,), (3,)],
        lambda a, b: a + b,
    ),
    Program(
        "numbers",
        "def f(float(N) A) -> (B) { B(i) = A(i) + 1.4 + .3 + 3 + 3. + 3e-3 + .5e-7 + 3E-5 + 1E3 + 0x1F }",
        [(3,)],
        lambda a: a + 1.4 + 0.3 + 6 + 3e-3 + 0.5e-7 + 3e-5 + 1e3 + 31,
    ),
    Program(
        "an operator against a name",
        "def f(float(N) x) -> (y) { y+=!x(i)}",
        [(3,)],
        lambda x: x.sum(),
    ),
    Program(
        "the first of two definitions of a name counts",
        "def f(float(N) A) -> (B) { B(i) = A(i) } def f(float(N) A) -> (B) { B(i) = 2 * A(i) }",
        [(3,)],
        lambda a: a,
    ),
    Program(
        "the equivalence is checked and ignored",
        "def f(float(X,Y) A, float(Y,Z) B) -> (O) { O(i,j) +=! A(i,k) * B(k,j) <=> matmul(A(i,k), B(k,j)) }",
        [(2, 3), (3, 2)],
        lambda a, b: a @ b,
    ),
    Program(
        "an equivalence before the clauses",
        "def f(float(N) A) -> (O) { O(i) = A(i) <=> copy(A(i)) where i in 0:2 }",
        [(3,)],
        lambda a: a[:2],
    ),
    Program("an empty list of sizes", "def f(float() a) -> (b) { b() = a() * 2 }", [3.0], lambda a: 2 * a),
    Program("scalars without parentheses", "def f(float a) -> (b) { b = a * 2 }", [3.0], lambda a: 2 * a),
    Program("a sum without parentheses", "def f(float(M) I) -> (O) { O +=! I(i) }", [(4,)], np.sum),
    Program("a sum with parentheses", "def f(float(M) I) -> (O) { O() +=! I(i) }", [(4,)], np.sum),
    Program("a constant", "def f(float(N) I) -> (a) { a = 0 }", [(3,)], lambda i: np.int32(0), "int32"),
    Program("no inputs", "def f() -> (b) { b(i) = 4 where i in 0:10 }", [], lambda: np.full(10, 4), "int32"),
    Program("no results", "def f(float(N) A) -> () { B(i) = A(i) }", [(3,)], lambda a: ()),
    Program("no statements", "def f(float(N) A) -> () { }", [(3,)], lambda a: ()),
    Program("a definition called main", "def main(float(1) a) -> (b) { b(i) = a(i) }", [(1,)], lambda a: a),
    Program("a definition called like a function", "def abs(float(N) A) -> (B) { B(i) = fabs(A(i)) }", [(3,)], np.abs),
    Program("a result twice", "def f(float(N) A) -> (B, B) { B(i) = A(i) }", [(3,)], lambda a: (a, a)),
    Program("an input as a result", "def f(float(N) A) -> (A, B) { B(i) = 2 * A(i) }", [(3,)], lambda a: (a, 2 * a)),
    Program("an unused input", "def f(float(N) A, float(K) u) -> (B) { B(i) = A(i) }", [(3,), (9,)], lambda a, u: a),
    Program("a temporary", "def f(float(1) a) -> (b) { c(i) = a(i) b(i) = c(i) }", [(1,)], lambda a: a),
    Program(
        "constant sizes",
        "def f(float(M,4) A, float(4) B) -> (C) { C(m) +=! A(m,k) * B(k) }",
        [(3, 4), (4,)],
        lambda a, b: a @ b,
    ),
    Program("results without parentheses", "def f(float(N) A) -> B { B(i) = A(i) }", [(3,)], lambda a: a),
    Program(
        "documentation's maxpool",
        "def f(float(B,C,H,W) x) -> (y) { y(b,c,i,j) max= x(b,c,2*i+k,2*j+l) where k in 0:2, l in 0..2 }",
        [(1, 2, 4, 4)],
        lambda x: x.reshape(1, 2, 2, 2, 2, 2).max((3, 5)),
    ),
    Program(
        "documentation's names of types",
        "def f(half(N) A, byte(N) B, int(1) S) -> (C) { C(i) = half(B(i)) + A(i) * S(0) }",
        [real(3).astype("float16"), below(9, 3, dtype="uint8"), np.array([2], "int32")],
        lambda a, b, s: b + 2 * a,
        "float16",
        tolerance=4e-3,
    ),
    Program(
        "words for operators, semicolons, floors",
        "def f(float(N) A, int32(N) I) -> (B) { B(i) = (A(i) > 0 and not (I(i) // 2 == 1) or I(i) == 4) ? 1 : 0; }",
        [(9,), below(5, 9)],
        lambda a, i: ((a > 0) & (i // 2 != 1)) | (i == 4),
        "int32",
    ),
    Program(
        "sizes as values",
        "def f(float(N,M) A) -> (B) { B(i) +=! A(i,j) / (N * M) }",
        [(2, 3)],
        lambda a: a.sum(1) / 6,
    ),
    Program(
        "indices and sizes as values",
        "def f(float(N,N) A) -> (O) { O(n0, n1) = A(n0, n1) + n0 + n1 + N }",
        [(3, 3)],
        lambda a: a + np.arange(3)[:, None] + np.arange(3) + 3,
    ),
    Program(
        "values of indices alone",
        "def f() -> (O) { O(i,j) = 10 * i + j where i in 2:4, j in -1:2 }",
        [],
        lambda: 10 * np.arange(2, 4)[:, None] + np.arange(-1, 2),
        "int32",
    ),
    Program(
        "a size select",
        "def f(float(N,M) T) -> (O) { O(i) = T.1 * 100 + T.0 + i where i in 0:T.0 }",
        [(2, 3)],
        lambda t: np.array([302, 303]),
        "int32",
    ),
    Program("a statement alone", "C(m,n) +=! A(m,k) * B(k,n)", [(2, 3), (3, 2)], lambda a, b: a @ b),
    Program(
        "parameters without types",
        "def mm(A, B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }",
        [(2, 3), (3, 2)],
        lambda a, b: a @ b,
    ),
    Program(
        "a call of another definition",
        "def g(float(N) A) -> (S, P) { S +=! A(i)  P *=! A(i) } def f(float(N) A) -> (Q) { s, p = g(A)  Q = s - p }",
        [(4,)],
        lambda a: a.sum() - a.prod(),
    ),
]


def value(name: str, expression: str, wanted: object, dtype: str = "int32") -> Program:
    """A program that computes one expression of the tensors a = 7, b = -3 (int32), x = 0.5, y = -1.5, p and q."""
    text = f"def f(int32 a, int32 b, float x, float y, bool p, bool q) -> (r) {{ r = {expression} }}"
    return Program(
        name,
        text,
        [np.int32(7), np.int32(-3), np.float32(0.5), np.float32(-1.5), np.bool_(True), np.bool_(False)],
        lambda *_: np.asarray(wanted),
        dtype,
    )


PRECEDENCE = [
    value("sums and products from the left", "-3%2+4*5+7-a", 21),
    value("minus binds tighter than the remainder", "-a%4", 1),
    value("differences from the left", "a-b-2", 8),
    value("quotients from the left", "100/a/2", 7),
    value("product and quotient from the left", "a/2*2", 6),
    value("quotient and remainder from the left", "a*a%10/2", 4),
    value("two minus signs", "--a", 7),
    value("two minus signs apart", "- -a", 7),
    value("minus of a difference", "-(a - b)", -10),
    value("minus after an operator", "a * -b", 21),
    value("two negations", "!!p", True, "bool"),
    value("negation before and", "!q && p", True, "bool"),
    value("and before or", "p || p && q", True, "bool"),
    value("or after and, the other way", "q && p || p", True, "bool"),
    value("comparison before and", "a > 3 && b < 0", True, "bool"),
    value("comparisons from the left", "a == 7 == p", True, "bool"),
    value("a comparison of comparisons", "a==1==(b==2)", True, "bool"),
    value("sum before comparison", "a + b < 5", True, "bool"),
    value("not equal", "a != 7 || x != 0.5", False, "bool"),
    value("at most and at least", "a <= 7 && b >= -3", True, "bool"),
    value("conditionals from the right", "q ? 1 : p ? 2 : 3", 2),
    value("a conditional in the middle", "p ? q ? 1 : 2 : 3", 2),
    value("a conditional after everything", "q || p ? 1 + 1 : 2 * 2", 2),
    value("a conditional in a sum needs brackets", "1 + (p ? 10 : 20)", 11),
    value("a conditional takes the whole sum", "p ? 10 : 20 + 1", 10),
    value("min and max of two", "min(a, b) * 10 + max(a, b)", -23),
    value("nested min and max", "min(a, max(b, 2))", 2),
    value("a call binds tightest", "-fabs(y)", -1.5, "float32"),
    value("bits after comparisons as in C", "a & 5 | 8 ^ 1", 13),
    value("shifts before comparisons", "1 << 2 + 1", 8),
    value("complement", "~a + 1", -7),
]

DIVISION = [
    value("a quotient of a negative number", "b / 2", -2),
    value("a quotient by a negative number", "a / b", -3),
    value("a remainder of a negative number", "b % 5", 2),
    value("a remainder by a negative number", "a % b", -2),
    value("a quotient of literals", "-7 / 2", -4),
    value("a remainder of literals", "-7 % 2", 1),
    value("a quotient with a float", "a / 2.0", 3.5, "float32"),
    value("a quotient of floats", "y / x", -3.0, "float32"),
    value("a remainder of floats", "y % x", 0.0, "float32"),
    value("a remainder of a negative float", "y % 1.0", 0.5, "float32"),
    value("an integer size's quotient as a factor", "x * (7 / 2)", 1.5, "float32"),
]

CASTS = [
    value("to an integer, towards zero", "int32(1.5 + 4)", 5),
    value("to an integer from below zero", "int32(y)", -1),
    value("to an integer from above", "int32(x + 1.4)", 1),
    value("to a float", "float(a) / 2", 3.5, "float32"),
    value("from a comparison", "float(a > b)", 1.0, "float32"),
    value("from a boolean", "int32(p) + int32(q)", 1),
    value("to a boolean", "bool(a) && !bool(a - 7)", True, "bool"),
    value("of a literal", "float(0)", 0.0, "float32"),
    value("to a byte and back", "int32(uint8(a))", 7),
    value("wraps", "uint8(a * 100)", 700 % 256, "uint8"),
    value("to a short", "int16(b)", -3, "int16"),
    value("of a condition", "float(!(x < .5) || y > .5)", 1.0, "float32"),
    value("of another condition", "float(!(x < .5) && y > .5)", 0.0, "float32"),
]

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
            f"a sum of {dtype}",
            f"def test_type({dtype}(N) A) -> (B) {{ B(k) +=! A(i) where k in 0:1 }}",
            [np.array([1, 0, 1, 1], dtype)],
            lambda a: np.array([1 if a.dtype == bool else 3]),
            {"float": "float32", "float64": "float32", "double": "float32", "int64": "int32", "uint64": "uint32"}.get(
                dtype, dtype
            ),
        )
        for dtype in (
            "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float32 float64 float double".split()
        )
        if dtype not in ("float", "double")
    ),
]

STATEMENTS = [
    Program(
        "sum, product, least and greatest",
        "def f(float(N,M) A) -> (s, p, l, g) { s(i) +=! A(i,j) p(i) *=! A(i,j) l(i) min=! A(i,j) g(i) max=! A(i,j) }",
        [(3, 4)],
        lambda a: (a.sum(1), a.prod(1), a.min(1), a.max(1)),
    ),
    Program(
        "their identities",
        "def f(float(N,M) A) -> (s, p, l, g) { s(i) +=! A(i,j) p(i) *=! A(i,j) l(i) min=! A(i,j) g(i) max=! A(i,j) }",
        [(2, 0)],
        lambda a: (np.zeros(2), np.ones(2), np.full(2, np.inf), np.full(2, -np.inf)),
    ),
    Program(
        "integers' identities",
        "def f(int32(N,M) A) -> (l, g) { l(i) min=! A(i,j) g(i) max=! A(i,j) }",
        [np.zeros((2, 0), "int32")],
        lambda a: (np.full(2, 2**31 - 1), np.full(2, -(2**31))),
        "int32",
    ),
    Program(
        "a reduction without a reduction index",
        "def f(float(N) A) -> (B) { B(i) +=! A(i) }",
        [(3,)],
        lambda a: a,
    ),
    Program(
        "accumulating over a defined tensor",
        "def f(float(N,K) I, float(N) B) -> (O) { O(n) = 0.0 where n in 0:N  O(n) += B(n)  O(n) += I(n, r)  O(n) = O(n) / (K) }",
        [(3, 4), (3,)],
        lambda i, b: (b + i.sum(1)) / 4,
    ),
    Program(
        "accumulating from the identity",
        "def f(float(N,M) A) -> (B) { B(i) += A(i,j) }",
        [(3, 4)],
        lambda a: a.sum(1),
    ),
    Program(
        "accumulating from a given value",
        "def f(float(M,N) A, float(N,K) B) -> (out) { out(m,k) += A(m,n) * B(n,k) }",
        [(2, 3), (3, 4)],
        lambda a, b, out: a @ b + out,
        initial={"out": real(2, 4, seed=7)},
    ),
    Program(
        "products from a given value",
        "def f(float(N,M) A) -> (p, g) { p(i) *= A(i,j)  g(i) max= A(i,j) }",
        [(2, 3)],
        lambda a, p, g: (p * a.prod(1), np.maximum(g, a.max(1))),
        initial={"p": real(2, seed=5), "g": np.array([9, -9], "f")},
    ),
    Program(
        "starting again",
        "def f(float(N,M) A) -> (B) { B(i) = A(i, 0)  B(i) +=! A(i,j) }",
        [(3, 4)],
        lambda a: a.sum(1),
    ),
    Program(
        "scaling by a product",
        "def f(float(N,M) A) -> (B) { B(i,j) = tanh(A(i,j))  B(i,j) *= 1 / (1 + exp(-A(i,j))) }",
        [(2, 3)],
        lambda a: np.tanh(a) / (1 + np.exp(-a)),
    ),
    Program(
        "keeping the greater",
        "def f(float(N) A, float(N) C) -> (B) { B(i) = A(i)  B(i) max= C(i) }",
        [(5,), (5,)],
        np.maximum,
    ),
    Program(
        "an update after a read",
        "def f(float(N) A) -> (B, C) { B(i) = A(i)  C(i) = 2 * B(i)  B(i) = B(i) + C(i) }",
        [(3,)],
        lambda a: (3 * a, 2 * a),
    ),
    Program(
        "a tensor used again",
        "def f(float(N,D) I) -> (O, t) { t(n) max=! I(n,d)  O(n,d) = exp(I(n,d) - t(n))  t(n) +=! O(n,d)"
        " O(n,d) = O(n,d) / t(n) }",
        [(3, 4)],
        lambda i: (special.softmax(i, 1), np.exp(i - i.max(1, keepdims=True)).sum(1)),
    ),
    Program(
        "the whole right side is reduced",
        "def f(float(N,M) A, float(N) x) -> (y) { y(i) +=! x(i) + A(i,j) }",
        [(2, 3), (2,)],
        lambda a, x: 3 * x + a.sum(1),
    ),
    Program(
        "an update that reads itself elsewhere reads the old values",
        "def f(float(N) A) -> (B) { B(i) = A(i)  B(i) = B(N-1-i) + A(i) }",
        [(4,)],
        lambda a: a[::-1] + a,
    ),
    Program(
        "three scalars in a row",
        "def f(float a, float b) -> (z) { x = a + b  y = x * a  z = y - x }",
        [2.0, 3.0],
        lambda a, b: (a + b) * a - (a + b),
    ),
    Program(
        "a scalar spread over a range",
        "def f(float a) -> (b) { b(i) = a where i in 0:10 }",
        [2.5],
        lambda a: np.full(10, a),
    ),
    Program(
        "an integer scalar spread over a range",
        "def f(int32 a) -> (b) { b(i) = a where i in 0:10 }",
        [np.int32(1)],
        lambda a: np.ones(10),
        "int32",
    ),
    Program("a let", "def f(float(1) a) -> (b) { b(i) = 2*foo where foo = a(i) }", [(1,)], lambda a: 2 * a),
    Program(
        "lets of lets",
        "def f(float(N) a) -> (b) { b(i) = u * v where w = 1, u = a(i), v = u + w }",
        [(3,)],
        lambda a: a * (a + 1),
    ),
    Program(
        "a let shadows a size",
        "def f(float(N) a) -> (b) { b(i) = a(i) * N where N = 5 }",
        [(3,)],
        lambda a: 5 * a,
    ),
    Program(
        "a chain of conditionals",
        "def f(float(N) A) -> (B) { B(i) = A(i) > 1 ? 1.0 : A(i) < -1 ? -1.0 : A(i) }",
        [(9,)],
        lambda a: np.clip(a, -1, 1),
    ),
    Program(
        "the least with a bound",
        "def f(float(N) A, float(N) B, float(N) C) -> (D) { D(i) = min(A(i), max(B(i), C(i))) }",
        [(5,), (5,), (5,)],
        lambda a, b, c: np.minimum(a, np.maximum(b, c)),
    ),
    Program(
        "nothing is read in a branch that is not taken",
        "def f(float(N) A) -> (B) { B(i) = i >= 2 ? A(i-2) : -1.0 where i in 0:N }",
        [(4,)],
        lambda a: np.concatenate([[-1, -1], a[:2]]),
    ),
    Program(
        "booleans as masks",
        "def f(bool(N) p, bool(N) q, float(N) A) -> (B) { B(i) = p(i) && !q(i) ? A(i) : 0 }",
        [mask(6), mask(6, seed=1), (6,)],
        lambda p, q, a: np.where(p & ~q, a, 0),
    ),
    Program(
        "not-a-number spreads through the greatest",
        "def f(float(N,M) A) -> (B) { B(i) max=! A(i,j) }",
        [np.array([[1, np.nan], [2, 3]], "f")],
        lambda a: np.array([np.nan, 3]),
    ),
    Program(
        "the position of the least by a conditional",
        "def f(float(N) S) -> (v, at) { v min=! S(i)  at min=! (S(i) == v) ? i : N }",
        [(6,)],
        lambda s: (s.min(), s.argmin()),
        "float32 int32",
    ),
    Program(
        "positions of the least and the greatest",
        "def f(float(N,M) A) -> (l, g) { l(i) argmin=! A(i,j)  g(i) argmax=! A(i,j) }",
        [(3, 5)],
        lambda a: (a.argmin(1), a.argmax(1)),
        "int32",
    ),
    Program(
        "any and all",
        "def f(float(N,M) A) -> (p, q) { p(i) any=! A(i,j) > 1  q(i) all=! A(i,j) > -2 }",
        [(4, 5)],
        lambda a: ((a > 1).any(1), (a > -2).all(1)),
        "bool",
    ),
    Program(
        "inline reductions",
        "def f(float(N) x) -> (y) { y(i) = exp(x(i)) / sum[j](exp(x(j))) }",
        [(5,)],
        special.softmax,
    ),
    Program(
        "inline mean and spread",
        "def f(float(N,K) x) -> (y) { y(i) = mean[k](x(i,k) * x(i,k)) - mean[k](x(i,k)) * mean[k](x(i,k)) }",
        [(3, 6)],
        lambda x: x.var(1),
        tolerance=1e-4,
    ),
    Program(
        "a guard on a triangle",
        "def f(float(N,N) A) -> (B) { B(q) +=! A(q,k) where k <= q }",
        [(4, 4)],
        lambda a: np.tril(a).sum(1),
    ),
]

# What each function of one number computes, where it is tested, and how.
_WHOLE = [-2.5, -1.5, -0.5, -0.2, 0.0, 0.3, 0.5, 1.5, 2.5, 3.7]
_INSIDE = [-0.9, -0.4, 0.0, 0.3, 0.8]
_POSITIVE = [0.1, 0.7, 1.0, 2.3, 6.5]


def _round(x: np.ndarray) -> np.ndarray:
    return np.sign(x) * np.floor(np.abs(x) + 0.5)


def functions(name: str, points: list[float], table: dict[str, object]) -> Program:
    """One program that returns each function of `points`."""
    body = " ".join(f"r_{each}(i) = {each}(x(i))" for each in table)
    results = ", ".join(f"r_{each}" for each in table)
    return Program(
        name,
        f"def f(float(N) x) -> ({results}) {{ {body} }}",
        [np.array(points, "f")],
        lambda x: tuple(formula(x) for formula in table.values()),  # type: ignore[operator]
        tolerance=2e-4,
    )


FUNCTIONS = [
    functions(
        "everywhere",
        _WHOLE,
        {
            "asinh": np.arcsinh,
            "atan": np.arctan,
            "cbrt": np.cbrt,
            "ceil": np.ceil,
            "cos": np.cos,
            "cosh": np.cosh,
            "cospi": lambda x: np.cos(np.pi * x),
            "cyl_bessel_i0": special.i0,
            "cyl_bessel_i1": special.i1,
            "erf": special.erf,
            "erfc": special.erfc,
            "erfcx": special.erfcx,
            "exp": np.exp,
            "exp10": lambda x: 10**x,
            "exp2": np.exp2,
            "expm1": np.expm1,
            "fabs": np.abs,
            "floor": np.floor,
            "j0": special.j0,
            "j1": special.j1,
            "normcdf": special.ndtr,
            "round": _round,
            "sin": np.sin,
            "sinh": np.sinh,
            "sinpi": lambda x: np.sin(np.pi * x),
            "tan": np.tan,
            "tanh": np.tanh,
            "trunc": np.trunc,
            "abs": np.abs,
            "sign": np.sign,
            "relu": lambda x: np.maximum(x, 0),
            "sigmoid": special.expit,
            "softplus": lambda x: np.log1p(np.exp(x)),
            "silu": lambda x: x * special.expit(x),
        },
    ),
    functions(
        "between minus one and one",
        _INSIDE,
        {
            "acos": np.arccos,
            "asin": np.arcsin,
            "atanh": np.arctanh,
            "erfinv": special.erfinv,
            "log1p": np.log1p,
        },
    ),
    functions(
        "for positive numbers",
        _POSITIVE,
        {
            "lgamma": special.gammaln,
            "log": np.log,
            "log10": np.log10,
            "log2": np.log2,
            "logb": lambda x: np.floor(np.log2(x)),
            "rcbrt": lambda x: 1 / np.cbrt(x),
            "rsqrt": lambda x: 1 / np.sqrt(x),
            "sqrt": np.sqrt,
            "tgamma": special.gamma,
            "y0": special.y0,
            "y1": special.y1,
        },
    ),
    functions("from one on", [1.0, 1.5, 4.0], {"acosh": np.arccosh, "lgamma": special.gammaln}),
    functions(
        "for probabilities",
        [0.05, 0.4, 0.5, 0.9],
        {"normcdfinv": special.ndtri, "erfcinv": special.erfcinv},
    ),
    Program(
        "of two numbers",
        "def f(float(N) x, float(N) y) -> (a, b, c, d, e, g, h, k, l, m) { a(i) = atan2(x(i), y(i))"
        " b(i) = copysign(x(i), y(i))  c(i) = fdim(x(i), y(i))  d(i) = fdivide(x(i), y(i))  e(i) = fmax(x(i), y(i))"
        " g(i) = fmin(x(i), y(i))  h(i) = fmod(x(i), y(i))  k(i) = hypot(x(i), y(i))  l(i) = remainder(x(i), y(i))"
        " m(i) = rhypot(x(i), y(i)) }",
        [np.array([2.5, -2.5, 7.0, -1.0, 0.5], "f"), np.array([1.0, 1.5, -2.0, -3.0, 4.0], "f")],
        lambda x, y: (
            np.arctan2(x, y),
            np.copysign(x, y),
            np.maximum(x - y, 0),
            x / y,
            np.maximum(x, y),
            np.minimum(x, y),
            np.fmod(x, y),
            np.hypot(x, y),
            x - y * np.round(x / y),
            1 / np.hypot(x, y),
        ),
    ),
    Program(
        "powers",
        "def f(float(N) x, float(N) y) -> (p, q) { p(i) = pow(fabs(x(i)), y(i))  q(i) = pow(x(i), 3) }",
        [(5,), (5,)],
        lambda x, y: (np.abs(x) ** y, x**3),
        tolerance=1e-4,
    ),
    Program(
        "of three and four numbers",
        "def f(float(N) x, float(N) y, float(N) z) -> (a, b, c, d, e) { a(i) = fma(x(i), y(i), z(i))"
        " b(i) = norm3d(x(i), y(i), z(i))  c(i) = rnorm3d(x(i), y(i), z(i))"
        " d(i) = norm4d(x(i), y(i), z(i), 1)  e(i) = rnorm4d(x(i), y(i), z(i), 2.0) }",
        [(4,), (4,), (4,)],
        lambda x, y, z: (
            x * y + z,
            np.sqrt(x * x + y * y + z * z),
            1 / np.sqrt(x * x + y * y + z * z),
            np.sqrt(x * x + y * y + z * z + 1),
            1 / np.sqrt(x * x + y * y + z * z + 4),
        ),
    ),
    Program(
        "the next number",
        "def f(float(N,N) A, float(N,N) B, float(N) C) -> (O) {"
        " O(i,j) = nextafter(C(i), exp(A(i,j))) + log(fabs(B(j,i))) }",
        [(3, 3), (3, 3), (3,)],
        lambda a, b, c: c[:, None] + np.log(np.abs(b.T)),
    ),
    Program(
        "inside one another",
        "def f(float(M) I) -> (O) { O +=! log(fabs(tanh(I(i)))) }",
        [(4,)],
        lambda i: np.log(np.abs(np.tanh(i))).sum(),
    ),
    Program(
        "tests of numbers",
        "def f(float(N) x) -> (a, b, c) { a(i) = isnan(x(i))  b(i) = isinf(x(i))  c(i) = isfinite(x(i)) }",
        [np.array([1, np.nan, np.inf, -np.inf], "f")],
        lambda x: (np.isnan(x), np.isinf(x), np.isfinite(x)),
        "bool",
    ),
    Program(
        "bits set",
        "def f(uint8(N) x, uint8(N) y) -> (a) { a +=! int32(popcount(x(i) ^ y(i))) }",
        [below(256, 9, dtype="uint8"), below(256, 9, dtype="uint8", seed=1)],
        lambda x, y: sum(bin(v).count("1") for v in (x ^ y)),
        "int32",
    ),
]
