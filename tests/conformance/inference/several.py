"""Several statements that write one tensor, and computed left sides."""

import numpy as np

from ..program import Program, below, mask

SEVERAL = [
    Program(
        "a shorter operand updates the part that it reaches",
        "def f(float(N) A, float(M) C) -> (B) { B(i) = A(i)  B(i) = B(i) + C(i) }",
        [(5,), (3,)],
        lambda a, c: a + np.pad(c, (0, 2)),
        ranges=[{"i": (0, 5)}, {"i": (0, 3)}],
    ),
    Program(
        "a longer operand is cut to the tensor",
        "def f(float(N) A, float(M) C) -> (B) { B(i) = A(i)  B(i) += C(i) }",
        [(3,), (5,)],
        lambda a, c: a + c[:3],
        ranges=[{"i": (0, 3)}, {"i": (0, 3)}],
    ),
    Program(
        "a given range updates a part",
        "def f(float(N) A) -> (B) { B(i) = A(i)  B(i) = 0.0 where i in 1:3 }",
        [(5,)],
        lambda a: np.where((np.arange(5) >= 1) & (np.arange(5) < 3), 0, a),
    ),
    Program(
        "reductions have their own ranges in each statement",
        "def f(float(N,K) A, float(N,L) C) -> (B) { B(i) +=! A(i,r)  B(i) += C(i,r) }",
        [(3, 2), (3, 5)],
        lambda a, c: a.sum(1) + c.sum(1),
        ranges=[{"i": (0, 3), "r": (0, 2)}, {"i": (0, 3), "r": (0, 5)}],
    ),
    Program(
        "another name for the index",
        "def f(float(N) A) -> (B) { B(i) = A(i)  B(j) = B(j) + 1 }",
        [(4,)],
        lambda a: a + 1,
    ),
    Program(
        "the order of a tensor's indices is that of its dimensions",
        "def f(float(N,M) A) -> (B) { B(i,j) = A(i,j)  B(j,i) = B(j,i) * 2 }",
        [(2, 3)],
        lambda a: 2 * a,
    ),
    Program(
        "a shifted result is read at its logical indices",
        "def f(float(N) A) -> (C) { B(i) = A(i+2)  C(i) = B(i) + A(i) where i in 0:3 }",
        [(5,)],
        lambda a: a[2:] + a[:3],
    ),
    Program(
        "a window over a shifted result",
        "def f(float(N) A) -> (C) { B(i) = A(i-3)  C(i) +=! B(i+k) where k in 0:2 }",
        [(5,)],
        lambda a: a[:-1] + a[1:],
        ranges=[{"i": (3, 8)}, {"i": (3, 7), "k": (0, 2)}],
    ),
    Program(
        "a size that only an annotation mentions is inferred",
        "def f(float(N) A) -> (float(M) B) { B(i) = A(2*i) }",
        [(5,)],
        lambda a: a[::2],
    ),
    Program(
        "a size that only an annotation mentions is given",
        "def f(int32(N) I) -> (float(M) H) { H(I(i)) +=! 1.0 }",
        [np.array([0, 2, 2, 1, 2], "int32")],
        lambda i, M: np.array([1.0, 1, 3, 0]),
        initial={"M": 4},
    ),
    Program(
        "an annotation that a range fills in part",
        "def f(float(N) A) -> (float(N) B) { B(i) = A(i) where i in 1:3 }",
        [(5,)],
        lambda a: np.where((np.arange(5) >= 1) & (np.arange(5) < 3), a, 0),
    ),
    Program(
        "concatenation by constant indices on the left",
        "def f(float(M,N) A, float(M,N) B) -> (float(N,2,M) O) { O(n,0,m) = A(m,n)  O(n,1,m) = B(m,n) }",
        [(2, 3), (2, 3)],
        lambda a, b: np.stack([a.T, b.T], 1),
    ),
    Program(
        "a shift on the left",
        "def f(int32(N) A, int32(N) B) -> (O) { O(i - 2) = A(i) + B(i) }",
        [below(9, 5), below(9, 5, seed=1)],
        lambda a, b: a + b,
        "int32",
    ),
    Program(
        "interleaving on the left",
        "def f(float(N,2) A) -> (O) { O(2*i + r) = A(i, r) }",
        [(3, 2)],
        lambda a: a.reshape(6),
    ),
    Program(
        "a histogram",
        "def f(int32(N) I) -> (int32(5) H) { H(I(i)) +=! 1 }",
        [below(5, 9)],
        lambda i: np.bincount(i, minlength=5),
        "int32",
    ),
    Program(
        "an embedding's gradient",
        "def f(float(B,D) g, int32(B,L) I, float(E,D) like) -> (float(E,D) d) { d(I(b,l), c) +=! g(b, c) }",
        [(3, 2), below(4, 3, 2), (4, 2)],
        lambda g, i, like: sum(np.eye(4)[i[:, l]].T @ g for l in range(2)),
    ),
    Program(
        "a repeated index on the left writes the diagonal",
        "def f(float(N) A) -> (D) { D(i,i) = A(i) }",
        [(3,)],
        np.diag,
    ),
    Program(
        "masks that depend on data",
        "def f(float(N) A, bool(N) on) -> (B) { B(i) = A(i) where on(i) }",
        [(5,), mask(5)],
        lambda a, on: np.where(on, a, 0),
    ),
]
