"""The effects of statements, in sequence."""

import numpy as np
from scipy import special

from ..program import Program, mask, real

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
        "def f(float(N,K) I, float(N) B) -> (O) { O(n) = 0.0 where n in 0:N  O(n) += B(n)  O(n) += I(n, r)"
        " O(n) = O(n) / (K) }",
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
        "an update that reads what it does not write",
        "def f(float(N) A) -> (B) { B(i) = A(i)  B(i) = B(N-1-i) + A(i) where i in 0:N/2 }",
        [(4,)],
        lambda a: np.concatenate([a[:1:-1] + a[:2], a[2:]]),
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
