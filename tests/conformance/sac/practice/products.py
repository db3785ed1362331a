"""Products, sums and tables of arrays as SaC's papers and samples write them."""

import numpy as np

from ...program import below, mask
from ..case import Case, iota

PRODUCTS = [
    Case("inner product", "sum({ [i] -> a[i] * b[i] })", [(5,), (5,)], np.dot),
    Case("inner product at any rank", "sum({ iv -> a[iv] * b[iv] })", [(3, 4), (3, 4)], lambda a, b: (a * b).sum()),
    Case("inner product of whole arrays", "sum(a * b)", [(3, 4), (3, 4)], lambda a, b: (a * b).sum()),
    Case("outer product", "{ [i,j] -> a[i] * b[j] }", [(2,), (3,)], np.outer),
    Case("outer product at any rank", "{ iv -> { jv -> a[iv] * b[jv] } }", [(2, 3), (3, 2)], np.multiply.outer),
    Case("outer sum of cells", "{ iv -> a[iv] + b }", [(2,), (3, 4)], np.add.outer),
    Case("matrix times matrix", "{ [i,j] -> sum({ [k] -> a[i,k] * b[k,j] }) }", [(2, 3), (3, 4)], np.matmul),
    Case("matrix times matrix, by rows and columns", "{ [i,j] -> sum(a[i] * b[.,j]) }", [(2, 3), (3, 4)], np.matmul),
    Case("matrix times matrix, by dots", "{ [i,j] -> sum(a[i,.] * b[.,j]) }", [(2, 3), (3, 4)], np.matmul),
    Case(
        "matrix times matrix of any rank",
        "{ iv -> { jv -> sum({ [k] -> a[iv ++ [k]] * b[[k] ++ jv] | [k] < take([-1], shape(a)) }) | jv < "
        "drop([1], shape(b)) } | iv < drop([-1], shape(a)) }",
        [(2, 3, 4), (4, 5)],
        lambda a, b: np.tensordot(a, b, 1),
    ),
    Case(
        "matrix times matrix of integers",
        "{ [i,j] -> sum({ [k] -> a[i,k] * b[k,j] }) }",
        [iota(2, 3), iota(3, 2)],
        np.matmul,
    ),
    Case(
        "matrix times matrix transposed",
        "{ [i,j] -> sum({ [k] -> a[i,k] * b[j,k] }) }",
        [(2, 3), (4, 3)],
        lambda a, b: a @ b.T,
    ),
    Case(
        "a square of a matrix, over its shape",
        "{ [i,j] -> sum({ [k] -> a[i,k] * a[k,j] }) | [i,j] < shape(a) }",
        [(3, 3)],
        lambda a: a @ a,
    ),
    Case("matrix times vector", "{ [i] -> sum({ [j] -> a[i,j] * x[j] }) }", [(2, 3), (3,)], np.matmul),
    Case("matrix times vector, by rows", "{ [i] -> sum(a[i] * x) }", [(2, 3), (3,)], np.matmul),
    Case("vector times matrix", "{ [j] -> sum({ [i] -> x[i] * a[i,j] }) }", [(2,), (2, 3)], np.matmul),
    Case("vector times matrix, by columns", "{ [j] -> sum(x * a[.,j]) }", [(2,), (2, 3)], np.matmul),
    Case(
        "three factors",
        "{ [i,j] -> sum({ [k] -> a[i,k] * d[k] * b[k,j] }) }",
        [(2, 3), (3,), (3, 4)],
        lambda a, d, b: (a * d) @ b,
    ),
    Case(
        "three factors over two indices",
        "{ [i] -> sum({ [j,k] -> a[i,j] * b[j,k] * c[k] }) }",
        [(2, 3), (3, 4), (4,)],
        lambda a, b, c: a @ b @ c,
    ),
    Case(
        "a product of two products",
        "t = { [i,j] -> sum({ [k] -> a[i,k] * b[k,j] }) }; { [i,j] -> sum({ [k] -> t[i,k] * c[k,j] }) }",
        [(2, 3), (3, 4), (4, 2)],
        lambda a, b, c: a @ b @ c,
    ),
    Case(
        "a batch of products", "{ [n,i,j] -> sum({ [k] -> a[n,i,k] * b[n,k,j] }) }", [(2, 3, 4), (2, 4, 2)], np.matmul
    ),
    Case(
        "a batch of products by cells",
        "{ [n] -> { [i,j] -> sum({ [k] -> a[n,i,k] * b[n,k,j] }) } }",
        [(2, 3, 4), (2, 4, 2)],
        np.matmul,
    ),
    Case(
        "a batch of any rank",
        "{ [...,i,j] -> { nv -> sum({ [k] -> a[nv ++ [i,k]] * b[nv ++ [k,j]] | [k] < take([-1], shape(a)) }) | "
        "nv < drop([-2], shape(a)) } | [i,j] < [shape(a)[dim(a) - 2], shape(b)[dim(b) - 1]] }",
        [(2, 3, 4), (2, 4, 5)],
        np.matmul,
    ),
    Case(
        "a product over bools",
        "{ [i,j] -> any({ [k] -> a[i,k] && b[k,j] }) }",
        [mask(3, 4), mask(4, 2, seed=1)],
        lambda a, b: (a[:, :, None] & b).any(1),
    ),
    Case(
        "a product over max and plus",
        "{ [i,j] -> maxval({ [k] -> a[i,k] + b[k,j] }) }",
        [(3, 4), (4, 2)],
        lambda a, b: (a[:, :, None] + b).max(1),
    ),
    Case(
        "shortest paths, one step",
        "{ [i,j] -> minval({ [k] -> d[i,k] + d[k,j] }) }",
        [below(9, 4, 4)],
        lambda d: (d[:, :, None] + d).min(1),
    ),
    Case("a trace", "sum({ [i] -> a[i,i] })", [(3, 3)], np.trace),
    Case("a norm", "sqrt(sum({ iv -> a[iv] * a[iv] }))", [(3, 4)], np.linalg.norm),
    Case(
        "distances",
        "{ [i,j] -> sqrt(sum({ [k] -> (x[i,k] - y[j,k]) * (x[i,k] - y[j,k]) })) }",
        [(3, 2), (4, 2)],
        lambda x, y: np.linalg.norm(x[:, None] - y, axis=-1),
    ),
    Case(
        "distances by rows",
        "{ [i,j] -> sum(abs(x[i] - y[j])) }",
        [(3, 2), (4, 2)],
        lambda x, y: np.abs(x[:, None] - y).sum(-1),
    ),
    Case(
        "a kronecker product",
        "{ iv -> a[iv / shape(b)] * b[iv % shape(b)] | iv < shape(a) * shape(b) }",
        [(2, 3), (2, 2)],
        np.kron,
    ),
    Case("a quadratic form", "sum({ [i,j] -> x[i] * a[i,j] * x[j] })", [(3,), (3, 3)], lambda x, a: x @ a @ x),
    Case(
        "a polynomial at points",
        "{ [i] -> sum({ [k] -> c[k] * pow(x[i], tof(k)) }) }",
        [(3,), np.array([0.5, 1.5], "float32")],
        lambda c, x: np.polyval(c[::-1], x),
    ),
    Case("the distance of equal vectors", "all({ [i] -> a[i] == a[i] })", [(4,)], True),
]

STATISTICS = [
    Case("the mean of columns", "{ [j] -> sum(a[.,j]) / tof(shape(a)[0]) }", [(4, 3)], lambda a: a.mean(0)),
    Case("rows minus their mean", "{ [i] -> a[i] - mean(a[i]) }", [(3, 4)], lambda a: a - a.mean(1, keepdims=True)),
    Case("columns minus their mean", "{ [.,j] -> a[.,j] - mean(a[.,j]) }", [(3, 4)], lambda a: a - a.mean(0)),
    Case(
        "the variance", "m = mean(a); sum({ iv -> (a[iv] - m) * (a[iv] - m) }) / tof(prod(shape(a)))", [(3, 4)], np.var
    ),
    Case(
        "softmax of rows",
        "{ [i] -> { [j] -> exp(a[i,j] - maxval(a[i])) } / sum(exp(a[i] - maxval(a[i]))) }",
        [(3, 4)],
        lambda a: np.exp(a) / np.exp(a).sum(1, keepdims=True),
    ),
    Case(
        "softmax by a function",
        "float[n] softmax(float[n] x) { e = exp(x - maxval(x)); return e / sum(e); } { [i] -> softmax(a[i]) }",
        [(3, 4)],
        lambda a: np.exp(a) / np.exp(a).sum(1, keepdims=True),
    ),
    Case(
        "softmax of columns",
        "float[n] softmax(float[n] x) { e = exp(x - maxval(x)); return e / sum(e); } { [.,j] -> softmax(a[.,j]) }",
        [(3, 4)],
        lambda a: np.exp(a) / np.exp(a).sum(0),
    ),
    Case("counts below a limit", "{ [i] -> sum({ [j] -> toi(a[j] < b[i]) }) }", [iota(5), iota(3) * 2], [0, 2, 4]),
    Case(
        "ranks of elements", "{ [i] -> sum({ [j] -> a[j] < a[i] ? 1 : 0 }) }", [(6,)], lambda a: a.argsort().argsort()
    ),
    Case(
        "a covariance",
        "n = shape(x)[0]; { [i,j] -> sum({ [k] -> x[k,i] * x[k,j] }) / tof(n) }",
        [(4, 3)],
        lambda x: x.T @ x / 4,
    ),
]

TABLES = [
    Case(
        "a multiplication table", "{ [i,j] -> (i + 1) * (j + 1) | [i,j] < [3,3] }", [], np.outer([1, 2, 3], [1, 2, 3])
    ),
    Case("an identity matrix", "{ [i,j] -> i == j ? 1.0 : 0.0 | [i,j] < [n,n] }", [3], np.eye(3)),
    Case(
        "a matrix of Toeplitz",
        "{ [i,j] -> a[i - j + 2] | [i,j] < [3,3] }",
        [iota(5)],
        lambda a: a[np.subtract.outer(range(3), range(3)) + 2],
    ),
    Case(
        "a matrix of Vandermonde",
        "{ [i,j] -> prod({ [k] -> x[i] | [k] < [j] }) | [i,j] < [3,4] }",
        [(3,)],
        lambda x: np.vander(x, 4, increasing=True),
    ),
    Case(
        "a matrix of Hilbert",
        "{ [i,j] -> 1.0 / tof(i + j + 1) | [i,j] < [3,3] }",
        [],
        1 / (np.indices((3, 3)).sum(0) + 1),
    ),
    Case("a triangle", "{ [i,j] -> j <= i ? a[i,j] : 0 }", [iota(3, 3)], np.tril),
    Case("a checkerboard", "{ iv -> sum(iv) % 2 == 0 | iv < [3,4] }", [], np.indices((3, 4)).sum(0) % 2 == 0),
    Case("a diagonal matrix", "{ [i,j] -> i == j ? a[i] : 0 | [i,j] < [3,3] }", [iota(3) + 1], np.diag),
    Case(
        "one-hot rows",
        "{ [i] -> { [j] -> toi(j == a[i]) | [j] < [4] } }",
        [np.array([2, 0, 3], "int32")],
        lambda a: np.eye(4, dtype=int)[a],
    ),
    Case(
        "a grid of coordinates",
        "{ [i,j] -> [tof(i) / 2.0, tof(j)] | [i,j] < [2,3] }",
        [],
        lambda: np.stack(np.mgrid[0:1:0.5, 0:3], -1),
    ),
    Case(
        "offsets of strides",
        "{ iv -> sum(iv * strides) | iv < [2,3,4] }",
        [np.array([12, 4, 1], "int32")],
        iota(2, 3, 4),
    ),
]
