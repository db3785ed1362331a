"""The worked examples of TC's inference, with numbers and with symbols."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import pytest

from tcjax import ir
from tcjax.ranges import bind, infer_ranges
from tcjax.symbolic import SizeVar

from .texts import function

Ranges = dict[str, tuple[int, int]]


@dataclass(frozen=True)
class Example:
    """A definition, and its ranges statement by statement as a function of its sizes, from TC's documentation."""

    name: str
    text: str
    ranges: Callable[..., list[Ranges]]
    samples: list[dict[str, int]]


def sizes(**choices: tuple[int, ...]) -> list[dict[str, int]]:
    return [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]


CONVOLUTION = sizes(N=(2,), C=(3,), M=(4,), H=(7, 8), W=(9, 12), KH=(1, 3), KW=(2, 5))

EXAMPLES = [
    Example(
        "1 matrix product",
        "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }",
        lambda M, K, N: [{"m": (0, M), "n": (0, N), "k": (0, K)}],
        sizes(M=(0, 1, 5), K=(0, 3), N=(1, 4)),
    ),
    Example(
        "2 convolution",
        "def f(float(N,C,H,W) I, float(M,C,KH,KW) W1) -> (O) { O(n,m,h,w) +=! I(n,c,h+kh,w+kw) * W1(m,c,kh,kw) }",
        lambda N, C, M, H, W, KH, KW: [
            {"n": (0, N), "m": (0, M), "c": (0, C), "kh": (0, KH), "kw": (0, KW)}
            | {"h": (0, H - KH + 1), "w": (0, W - KW + 1)}
        ],
        CONVOLUTION,
    ),
    Example(
        "3 strided convolution",
        "def f(float(N,C,H,W) I, float(M,C,KH,KW) W1) -> (O) { O(n,m,h,w) +=! I(n,c,2*h+kh,3*w+kw) * W1(m,c,kh,kw) }",
        lambda N, C, M, H, W, KH, KW: [
            {"n": (0, N), "m": (0, M), "c": (0, C), "kh": (0, KH), "kw": (0, KW)}
            | {"h": (0, (H - KH) // 2 + 1), "w": (0, (W - KW) // 3 + 1)}
        ],
        CONVOLUTION,
    ),
    Example(
        "4 dilated convolution",
        "def f(float(N) I, float(K) W1) -> (O) { O(x) +=! I(x+2*k) * W1(k) }",
        lambda N, K: [{"x": (0, N - 2 * K + 2), "k": (0, K)}],
        sizes(N=(10, 11), K=(1, 2, 5)),
    ),
    Example(
        "5 max pool",
        "def f(float(B,C,H,W) I) -> (O) { O(b,c,h,w) max=! I(b,c,2*h+kh,2*w+kw) where kh in 0:3, kw in 0:3 }",
        lambda B, C, H, W: [
            {"b": (0, B), "c": (0, C), "kh": (0, 3), "kw": (0, 3)}
            | {"h": (0, (H - 3) // 2 + 1), "w": (0, (W - 3) // 2 + 1)}
        ],
        sizes(B=(1,), C=(2,), H=(3, 4, 9), W=(5, 8)),
    ),
    Example(
        "6 average pool by a sum",
        "def f(float(N) A) -> (B) { B(i) = A(2*i) + A(2*i+1) }",
        lambda N: [{"i": (0, N // 2)}],
        sizes(N=(0, 1, 2, 7, 8)),
    ),
    Example(
        "6 average pool by a reduction",
        "def f(float(N) A) -> (B) { B(i) +=! A(2*i+k) where k in 0:2 }",
        lambda N: [{"i": (0, N // 2), "k": (0, 2)}],
        sizes(N=(0, 1, 2, 7, 8)),
    ),
    Example(
        "7 subsample by 2",
        "def f(float(N) A) -> (B) { B(i) = A(2*i) }",
        lambda N: [{"i": (0, (N + 1) // 2)}],
        sizes(N=(0, 1, 2, 7, 8)),
    ),
    Example(
        "7 subsample by 123",
        "def f(float(N) A) -> (B) { B(i) = A(123*i) }",
        lambda N: [{"i": (0, (N + 122) // 123)}],
        sizes(N=(0, 1, 123, 124, 1000)),
    ),
    Example(
        "8 flip",
        "def f(float(N) A) -> (B) { B(i) = A(N-1-i) }",
        lambda N: [{"i": (0, N)}],
        sizes(N=(0, 1, 6)),
    ),
    Example(
        "8 flip about 10",
        "def f(float(N) A) -> (B) { B(i) = A(10-i) }",
        lambda N: [{"i": (11 - N, 11)}],
        sizes(N=(0, 1, 6, 15)),
    ),
    Example(
        "8 flip about 0",
        "def f(float(N) A) -> (B) { B(i) = A(-i) }",
        lambda N: [{"i": (1 - N, 1)}],
        sizes(N=(0, 1, 6)),
    ),
    Example(
        "9 shift up",
        "def f(float(N) I) -> (O) { O(i) = I(i-1) }",
        lambda N: [{"i": (1, N + 1)}],
        sizes(N=(0, 4)),
    ),
    Example(
        "9 shift down",
        "def f(float(N) I) -> (O) { O(i) = I(i+5) }",
        lambda N: [{"i": (-5, N - 5)}],
        sizes(N=(0, 4)),
    ),
    Example(
        "10 stencil",
        "def f(float(N) A) -> (B) { B(i) = A(i-1) + A(i) + A(i+1) }",
        lambda N: [{"i": (1, N - 1)}],
        sizes(N=(2, 3, 10)),
    ),
    Example(
        "11 input gradient",
        "def f(float(N,M,OH,OW) d_O, float(M,C,KH,KW) W1) -> (d_I)"
        " { d_I(n,c,h,w) +=! d_O(n,m,h-kh,w-kw) * W1(m,c,kh,kw) }",
        lambda N, C, M, OH, OW, KH, KW: [
            {"n": (0, N), "m": (0, M), "c": (0, C), "kh": (0, KH), "kw": (0, KW)}
            | {"h": (KH - 1, OH), "w": (KW - 1, OW)}
        ],
        sizes(N=(2,), C=(3,), M=(4,), OH=(7, 8), OW=(9,), KH=(1, 3), KW=(2, 5)),
    ),
    Example(
        "12 weight gradient",
        "def f(float(N,M,OH,OW) d_O, float(N,C,H,W) I) -> (d_W) { d_W(m,c,kh,kw) +=! d_O(n,m,h-kh,w-kw) * I(n,c,h,w) }",
        lambda N, C, M, OH, OW, H, W: [
            {"n": (0, N), "m": (0, M), "c": (0, C), "h": (0, H), "w": (0, W)} | {"kh": (H - OH, 1), "kw": (W - OW, 1)}
        ],
        sizes(N=(2,), C=(3,), M=(4,), OH=(7, 8), OW=(9,), H=(5, 7), W=(9, 10)),
    ),
    Example(
        "13 pad by shift, then a strided convolution",
        """def f(float(N,C,H,W) I, float(M,C,KH,KW) W1) -> (pad, tmp) {
            pad(n,c,h,w) = I(n,c,h-5,w-7)
            tmp(n,m,h,w) +=! pad(n,c,2*h+kh,3*w+kw) * W1(m,c,kh,kw)
        }""",
        lambda N, C, M, H, W, KH, KW: [
            {"n": (0, N), "c": (0, C), "h": (5, H + 5), "w": (7, W + 7)},
            {"n": (0, N), "m": (0, M), "c": (0, C), "kh": (0, KH), "kw": (0, KW)}
            | {"h": (3, 3 + (H - KH + 1) // 2), "w": (3, 3 + (W - KW + 1) // 3)},
        ],
        CONVOLUTION,
    ),
    Example(
        "14 different sizes",
        "def f(float(N) A, float(M) B) -> (C) { C(i) = A(i) * B(i) }",
        lambda N, M: [{"i": (0, min(N, M))}],
        sizes(N=(0, 3, 5), M=(4, 5)),
    ),
    Example(
        "15 diagonal",
        "def f(float(N,M) A) -> (B) { B(i) = A(i,i) }",
        lambda N, M: [{"i": (0, min(N, M))}],
        sizes(N=(0, 3, 5), M=(4, 5)),
    ),
    Example(
        "15 trace",
        "def f(float(N,N) A) -> (B) { B +=! A(i,i) }",
        lambda N: [{"i": (0, N)}],
        sizes(N=(0, 3, 5)),
    ),
    Example(
        "16 chain",
        """def f(float(A0,A1,A2) A, float(B0,B1,B2) B, float(C0,C1,C2) C) -> (O2, O3) {
            O2(j,k,l) +=! B(j,k,l) + A(i,j,k)
            O3(k,l,m) +=! C(k,l,m) + O2(j,k,l)
        }""",
        lambda A0, A1, A2, B0, B1, B2, C0, C1, C2: [
            {"i": (0, A0), "j": (0, min(B0, A1)), "k": (0, min(B1, A2)), "l": (0, B2)},
            {"j": (0, min(B0, A1)), "k": (0, min(C0, min(B1, A2))), "l": (0, min(C1, B2)), "m": (0, C2)},
        ],
        sizes(A0=(2,), A1=(3, 5), A2=(4,), B0=(4,), B1=(3, 6), B2=(2, 7), C0=(2, 9), C1=(5,), C2=(3,)),
    ),
    Example(
        "17 concatenation along a new dimension",
        "def f(float(M,N) A, float(M,N) B) -> (O) { O(n,i,m) = i == 0 ? A(m,n) : B(m,n) where i in 0:2 }",
        lambda M, N: [{"n": (0, N), "i": (0, 2), "m": (0, M)}],
        sizes(M=(0, 3), N=(2,)),
    ),
    Example(
        "18 concatenation along a dimension",
        "def f(float(N) A, float(M) B) -> (O) { O(i) = i < N ? A(i) : B(i-N) where i in 0:N+M }",
        lambda N, M: [{"i": (0, N + M)}],
        sizes(N=(0, 3), M=(0, 4)),
    ),
    Example(
        "19 embedding",
        "def f(float(E,D) T, int32(B,L) I) -> (O) { O(b,d) +=! T(I(b,l),d) }",
        lambda E, D, B, L: [{"b": (0, B), "d": (0, D), "l": (0, L)}],
        sizes(E=(9,), D=(4,), B=(2,), L=(0, 3)),
    ),
    Example(
        "19 two embeddings",
        """def f(float(E1,D) T1, int32(B,L1) I1, float(E2,D) T2, int32(B,L2) I2) -> (O1, O2) {
            O1(b,d) +=! T1(I1(b,l),d)
            O2(b,d) +=! T2(I2(b,l),d)
        }""",
        lambda E1, E2, D, B, L1, L2: [
            {"b": (0, B), "d": (0, D), "l": (0, L1)},
            {"b": (0, B), "d": (0, D), "l": (0, L2)},
        ],
        sizes(E1=(9,), E2=(8,), D=(4,), B=(2,), L1=(3,), L2=(5,)),
    ),
    Example(
        "20 perforated convolution",
        "def f(float(N,C,H,W) input, float(M,C,KH,KW) weights, int32(N,L) index) -> (output)"
        " { output(n,m,l) +=! input(n,c,index(n,l)+kh,index(n,l)+kw) * weights(m,c,kh,kw) }",
        lambda N, C, M, H, W, KH, KW, L: [
            {"n": (0, N), "m": (0, M), "l": (0, L), "c": (0, C), "kh": (0, KH), "kw": (0, KW)}
        ],
        sizes(N=(2,), C=(3,), M=(4,), H=(7,), W=(9,), KH=(3,), KW=(2,), L=(5,)),
    ),
    Example(
        "21 Kronecker product in three steps",
        """def f(float(M,N0,N1,N2) X, float(D0,N0) W0, float(D1,N1) W1, float(D2,N2) W2) -> (Y, XW1, XW2) {
            XW2(m,n0,n1,d2) +=! X(m,n0,n1,n2) * W2(d2,n2)
            XW1(m,n0,d1,d2) +=! XW2(m,n0,n1,d2) * W1(d1,n1)
            Y(m,d0,d1,d2) +=! XW1(m,n0,d1,d2) * W0(d0,n0)
        }""",
        lambda M, N0, N1, N2, D0, D1, D2: [
            {"m": (0, M), "n0": (0, N0), "n1": (0, N1), "d2": (0, D2), "n2": (0, N2)},
            {"m": (0, M), "n0": (0, N0), "d1": (0, D1), "d2": (0, D2), "n1": (0, N1)},
            {"m": (0, M), "d0": (0, D0), "d1": (0, D1), "d2": (0, D2), "n0": (0, N0)},
        ],
        sizes(M=(2,), N0=(3,), N1=(4,), N2=(5,), D0=(6,), D1=(7,), D2=(8,)),
    ),
    Example(
        "22 diagonals",
        "def f(float(N,M) I) -> (O) { O(i,j) = I(10+i-j, i+j) where i in 0:10 }",
        lambda N, M: [
            {"i": (0, 10), "j": (20 - min(N, 20), 20 - min(N, 20) + min(M, 20) + min(N, 20) - 29)},
        ],
        sizes(N=(15, 20, 30), M=(15, 20, 30)),
    ),
    Example(
        "23 sum of a sliding slice",
        "def f(float(A0,A1,A2) I) -> (O) { O(i) +=! I(j, i+j, k) }",
        lambda A0, A1, A2: [{"j": (0, A0), "k": (0, A2), "i": (0, A1 - A0 + 1)}],
        sizes(A0=(1, 3), A1=(3, 8), A2=(2,)),
    ),
    Example(
        "24 weird convolution",
        "def f(float(B,IP,H,W) input, float(OP,IP,KH,KW) weights) -> (O)"
        " { O(b,op,h,w) +=! input(b,ip,2*h+3*w+kh,2*w+kw) * weights(op,ip,kh,kw) }",
        lambda B, IP, OP, H, W, KH, KW: [
            {"b": (0, B), "op": (0, OP), "ip": (0, IP), "kh": (0, KH), "kw": (0, KW)}
            | {"w": (0, (W - KW) // 2 + 1), "h": (0, (H - KH - 3 * ((W - KW) // 2)) // 2 + 1)}
        ],
        sizes(B=(1,), IP=(2,), OP=(3,), H=(20, 21), W=(6, 9), KH=(2, 3), KW=(1, 3)),
    ),
    Example(
        "25 exists",
        "def f(float(N) A) -> (B) { B(i) = 3.0 where exists A(i) }",
        lambda N: [{"i": (0, N)}],
        sizes(N=(0, 4)),
    ),
    Example(
        "25 given ranges up to a size",
        "def f(float(N) A) -> (B) { B(i,j) = 1.0 where i in 0:N, j in 0:N }",
        lambda N: [{"i": (0, N), "j": (0, N)}],
        sizes(N=(0, 4)),
    ),
    Example(
        "25 given ranges with an origin",
        "def f(float(N) A) -> (O) { O(i,j) = 3 where i in 4:8, j in 3:20 }",
        lambda N: [{"i": (4, 8), "j": (3, 20)}],
        sizes(N=(1,)),
    ),
    Example(
        "26 reversed kernel",
        "def f(float(X) A, float(Xp) K) -> (B) { B(x) +=! A(xp) * K(X-1+x-xp) where xp in 0:X }",
        lambda X, Xp: [{"xp": (0, X), "x": (0, Xp - X + 1)}],
        sizes(X=(1, 3), Xp=(3, 8)),
    ),
    Example(
        "27 reshape",
        "def f(float(NM) A) -> (B) { B(i,j) = A(i*4+j) where j in 0:4 }",
        lambda NM: [{"j": (0, 4), "i": (0, NM // 4)}],
        sizes(NM=(0, 3, 4, 7, 12)),
    ),
    Example(
        "27 repeat",
        "def f(float(N) A) -> (B) { B(i) = A(i/2) }",
        lambda N: [{"i": (0, 2 * N)}],
        sizes(N=(0, 1, 5)),
    ),
    Example(
        "28 let",
        "def f(float(N) A) -> (B) { B(i) = A(j) where j = i+3 }",
        lambda N: [{"i": (-3, N - 3)}],
        sizes(N=(0, 1, 5)),
    ),
    Example(
        "29 two origins",
        "def f(float(N) B) -> (A) { A(i,j) = B(i) + B(j+3) }",
        lambda N: [{"i": (0, N), "j": (-3, N - 3)}],
        sizes(N=(0, 1, 5)),
    ),
    Example(
        "30 remainder by a reduction index",
        "def f(float(N,C,H,W) I, float(O,KC,KH,KW) W1) -> (O1)"
        " { O1(n,o,h,w) +=! I(n, kc % c, h+kh, w+kw) * W1(o,kc,kh,kw) where c in 1:C }",
        lambda N, C, H, W, O, KC, KH, KW: [
            {"n": (0, N), "o": (0, O), "c": (1, C), "kc": (0, KC), "kh": (0, KH), "kw": (0, KW)}
            | {"h": (0, H - KH + 1), "w": (0, W - KW + 1)}
        ],
        sizes(N=(2,), C=(3,), H=(7,), W=(8,), O=(4,), KC=(6,), KH=(2,), KW=(3,)),
    ),
    Example(
        "31 partial copy",
        "def f(float(N,M) I) -> (O) { O(i,j) = I(i,j) where i in 3:N-1 }",
        lambda N, M: [{"i": (3, N - 1), "j": (0, M)}],
        sizes(N=(4, 9), M=(2,)),
    ),
    Example(
        "32 logical indices line up",
        """def f(float(N) A) -> (B, C) {
            B(i) = A(i-1)
            C(i) = B(i) + A(i)
        }""",
        lambda N: [{"i": (1, N + 1)}, {"i": (1, N)}],
        sizes(N=(1, 2, 7)),
    ),
]


def named(example: Example) -> str:
    return example.name


@pytest.mark.parametrize("example", EXAMPLES, ids=named)
def test_a_worked_example_has_its_ranges(example: Example) -> None:
    inferred = function(example.text)

    for sample in example.samples:
        bound = bind(inferred, shapes_of(inferred, sample))

        assert [{str(i): ends for i, ends in box.items()} for box in bound.boxes] == example.ranges(**sample), sample


@pytest.mark.parametrize("example", EXAMPLES, ids=named)
def test_a_worked_examples_formulas_give_its_ranges(example: Example) -> None:
    inferred = function(example.text)

    formulas = infer_ranges(inferred)

    for sample in example.samples:
        values = {SizeVar(name): value for name, value in sample.items()}
        evaluated = [
            {str(i): (r.lo.evaluate(values), r.hi.evaluate(values)) for i, r in each.intervals.items() if r is not None}
            for each in formulas.statements
        ]
        assert evaluated == example.ranges(**sample), sample


@pytest.mark.parametrize("example", EXAMPLES, ids=named)
def test_the_outputs_of_a_worked_example_start_where_its_ranges_start(example: Example) -> None:
    inferred = function(example.text)
    sample = example.samples[-1]
    expected = example.ranges(**sample)

    bound = bind(inferred, shapes_of(inferred, sample))

    for statement, ranges in zip(inferred.statements, expected, strict=True):
        assert isinstance(statement, ir.Define | ir.Accumulate)
        ends = [ranges[str(index)] for index in statement.indices]
        assert bound.origins[statement.target.name] == tuple(lo for lo, _ in ends)
        assert bound.shapes[statement.target.name] == tuple(hi - lo for lo, hi in ends)


def shapes_of(defined: ir.Function, sample: dict[str, int]) -> dict[str, tuple[int, ...]]:
    values = {SizeVar(name): value for name, value in sample.items()}
    return {p.name: tuple(size.evaluate(values) for size in p.shape) for p in defined.parameters}
