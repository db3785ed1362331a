"""Ranges, lets and what exists."""

import numpy as np

from ..program import Program

WHERE = [
    Program(
        "a range replaces what reads say",
        "def f(float(N) A) -> (B) { B(i) = A(i) where i in 1:3 }",
        [(5,)],
        lambda a: a[1:3],
        ranges=[{"i": (1, 3)}],
    ),
    Program(
        "exists narrows",
        "def f(float(N) A, float(M) C) -> (B) { B(i) = A(i) where exists C(i) }",
        [(5,), (3,)],
        lambda a, c: a[:3],
        ranges=[{"i": (0, 3)}],
    ),
    Program(
        "exists of a compound subscript",
        "def f(float(N) A, float(M) C) -> (B) { B(i) = A(i) where exists C(i+2) }",
        [(5,), (5,)],
        lambda a, c: a[:3],
    ),
    Program(
        "ranges, lets and exists in any order",
        "def f(float(N) A, float(M) C) -> (B) { B(i) +=! A(i+s*k) where exists C(i), s = 2, k in 0:2 }",
        [(6,), (3,)],
        lambda a, c: a[:3] + a[2:5],
    ),
    Program(
        "the last of two ranges counts",
        "def f(float(N) A) -> (B) { B(i) = A(i) where i in 0:2, i in 1:4 }",
        [(5,)],
        lambda a: a[1:4],
    ),
    Program(
        "a range of another index's range",
        "def f(float(N) A) -> (B) { B(i) +=! A(k) where i in 0:3, k in i:i+2 }",
        [(4,)],
        lambda a: a[:3] + a[1:4],
    ),
    Program(
        "ends with arithmetic on sizes",
        "def f(float(N,M) A) -> (B) { B(i) = A(i, 0) where i in (N-M)/2:N-1 }",
        [(6, 2)],
        lambda a: a[2:5, 0],
        ranges=[{"i": (2, 5)}],
    ),
    Program(
        "ends with minima and maxima of sizes",
        "def f(float(N) A, float(M) C) -> (B) { B(i) = A(i) + C(i) where i in max(N-M,0):min(N,M) }",
        [(5,), (3,)],
        lambda a, c: (a[:3] + c)[2:],
    ),
    Program(
        "a range given by a let",
        "def f(float(N) A) -> (B) { B(i) = A(i) where h = N / 2, i in h:N }",
        [(5,)],
        lambda a: a[2:],
    ),
    Program(
        "an empty range of a reduction",
        "def f(float(N) A) -> (B) { B(i) +=! A(i) * k where k in 3:3 }",
        [(4,)],
        lambda a: np.zeros(4),
    ),
    Program(
        "a reduction over a range that starts below zero",
        "def f(float(N) A) -> (B) { B(i) +=! A(i + k) where k in -1:2 }",
        [(5,)],
        lambda a: np.convolve(a, np.ones(3), "valid"),
        ranges=[{"i": (1, 4), "k": (-1, 2)}],
    ),
    Program(
        "a size by selection",
        "def f(float(N,M) A) -> (B) { B(i) +=! A(j, i) / A.0 where j in 0:A.0 }",
        [(4, 3)],
        lambda a: a.mean(0),
    ),
    Program(
        "a size of an earlier result",
        "def f(float(N) A) -> (B, C) { B(i) = A(2*i)  C(j) = B(j) * B.0 where j in 0:B.0-1 }",
        [(5,)],
        lambda a: (a[::2], 3 * a[::2][:2]),
    ),
]
