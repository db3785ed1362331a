"""Stencils, relaxations, pictures, automata."""

import numpy as np

from ...program import below, mask
from ..case import Case, iota


def _neighbours(a: np.ndarray) -> np.ndarray:
    """The sum of the four neighbours of every inner element."""
    return a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]


def _inside(a: np.ndarray, inner: np.ndarray) -> np.ndarray:
    result = np.array(a, float)
    result[(slice(1, -1),) * a.ndim] = inner
    return result


def _life(a: np.ndarray) -> np.ndarray:
    count = sum(np.roll(a, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - a
    return ((count == 3) | ((a == 1) & (count == 2))).astype(int)


def _convolved(a: np.ndarray, w: np.ndarray) -> np.ndarray:
    return sum(
        w[i, j] * a[i : i + a.shape[0] - w.shape[0] + 1, j : j + a.shape[1] - w.shape[1] + 1]
        for i, j in np.ndindex(*w.shape)
    )


STENCILS = [
    Case("differences", "{ [i] -> a[i + 1] - a[i] | [i] < shape(a) - 1 }", [(5,)], np.diff),
    Case("differences of rows", "{ [i] -> a[i + 1] - a[i] | [i] < [3] }", [(4, 2)], lambda a: np.diff(a, axis=0)),
    Case(
        "differences that wrap",
        "{ [i] -> a[mod(i + 1, n)] - a[i] | [i] < [n] }",
        [(5,), 5],
        lambda a, n: np.roll(a, -1) - a,
    ),
    Case(
        "a relaxation",
        "{ iv -> 0.25 * (a[iv + [1,0]] + a[iv - [1,0]] + a[iv + [0,1]] + a[iv - [0,1]]) | 0 * shape(a) + 1 <= iv "
        "< shape(a) - 1; iv -> a[iv] }",
        [(4, 5)],
        lambda a: _inside(a, _neighbours(a) / 4),
    ),
    Case(
        "a relaxation by dots",
        "{ iv -> 0.25 * (a[iv + [1,0]] + a[iv - [1,0]] + a[iv + [0,1]] + a[iv - [0,1]]) | . < iv < .; iv -> a[iv] }",
        [(4, 5)],
        lambda a: _inside(a, _neighbours(a) / 4),
    ),
    Case(
        "a relaxation by scalar indices",
        "{ [i,j] -> (a[i+1,j] + a[i-1,j] + a[i,j+1] + a[i,j-1]) / 4.0 | . < [i,j] < .; [i,j] -> a[i,j] }",
        [(4, 5)],
        lambda a: _inside(a, _neighbours(a) / 4),
    ),
    Case(
        "a relaxation of a vector",
        "{ [i] -> (a[i-1] + a[i+1]) / 2.0 | . < [i] < .; [i] -> a[i] }",
        [(6,)],
        lambda a: _inside(a, (a[:-2] + a[2:]) / 2),
    ),
    Case(
        "a relaxation with zeros around",
        "{ [i] -> a[i-1] + a[i+1] | [1] <= [i] < shape(a) - 1; [i] -> 0.0 | [i] < shape(a) }",
        [(6,)],
        lambda a: np.pad(a[:-2] + a[2:], 1),
    ),
    Case(
        "two relaxations",
        "float[n] relax(float[n] a) { return { [i] -> (a[i-1] + a[i+1]) / 2.0 | . < [i] < .; [i] -> a[i] }; "
        "} relax(relax(a))",
        [(6,)],
        lambda a: _inside(b := _inside(a, (a[:-2] + a[2:]) / 2), (b[:-2] + b[2:]) / 2),
    ),
    Case(
        "relaxations by recursion",
        "float[n] relax(int k, float[n] a) { return k == 0 ? a : relax(k - 1, { [i] -> (a[i-1] + a[i+1]) / 2.0 | "
        ". < [i] < .; [i] -> a[i] }); } relax(2, a)",
        [(6,)],
        lambda a: _inside(b := _inside(a, (a[:-2] + a[2:]) / 2), (b[:-2] + b[2:]) / 2),
    ),
    Case(
        "a relaxation by rotations",
        "(rotate(0, 1, a) + rotate(0, -1, a) + rotate(1, 1, a) + rotate(1, -1, a)) / 4.0",
        [(4, 5)],
        lambda a: (np.roll(a, 1, 0) + np.roll(a, -1, 0) + np.roll(a, 1, 1) + np.roll(a, -1, 1)) / 4,
    ),
    Case(
        "a relaxation that wraps",
        "{ iv -> (a[mod(iv + [1,0], shape(a))] + a[mod(iv - [1,0], shape(a))]) / 2.0 | iv < shape(a) }",
        [(4, 5)],
        lambda a: (np.roll(a, -1, 0) + np.roll(a, 1, 0)) / 2,
    ),
    Case(
        "a relaxation at the border by conditions",
        "n = shape(a)[0]; { [i] -> a[max(i - 1, 0)] + a[min(i + 1, n - 1)] | [i] < [n] }",
        [iota(5)],
        lambda a: np.pad(a, 1, "edge")[:-2] + np.pad(a, 1, "edge")[2:],
    ),
    Case(
        "a relaxation of red points",
        "{ [i] -> (a[i-1] + a[i+1]) / 2.0 | [1] <= [i] < [6] step [2]; [i] -> a[i] }",
        [(7,)],
        lambda a: np.where(np.arange(7) % 2 == 1, (np.roll(a, 1) + np.roll(a, -1)) / 2, a),
    ),
    Case(
        "a mean over windows",
        "{ [i] -> sum({ [k] -> a[i + k] | [k] < [3] }) / 3.0 | [i] < shape(a) - 2 }",
        [(7,)],
        lambda a: np.convolve(a, np.ones(3) / 3, "valid"),
    ),
    Case(
        "a greatest over windows",
        "{ [i] -> maxval({ [k] -> a[2 * i + k] | [k] < [2] }) | [i] < shape(a) / 2 }",
        [(7,)],
        lambda a: a[:6].reshape(3, 2).max(1),
    ),
    Case(
        "a pool of a picture",
        "{ iv -> maxval({ ov -> a[2 * iv + ov] | ov < [2,2] }) | iv < shape(a) / 2 }",
        [(4, 6)],
        lambda a: a.reshape(2, 2, 3, 2).max((1, 3)),
    ),
    Case(
        "a sum of a picture's tiles",
        "{ iv -> sum(tile([2,2], 2 * iv, a)) | iv < shape(a) / 2 }",
        [(4, 6)],
        lambda a: a.reshape(2, 2, 3, 2).sum((1, 3)),
    ),
    Case(
        "a convolution",
        "{ iv -> sum({ ov -> a[iv + ov] * w[ov] }) | iv < shape(a) - shape(w) + 1 }",
        [(5, 6), (2, 3)],
        _convolved,
    ),
    Case(
        "a convolution by scalar indices",
        "{ [i,j] -> sum({ [p,q] -> a[i + p, j + q] * w[p,q] }) | [i,j] < shape(a) - shape(w) + 1 }",
        [(5, 6), (2, 3)],
        _convolved,
    ),
    Case(
        "a convolution of a vector",
        "{ iv -> sum({ ov -> a[iv + ov] * w[ov] }) | iv < shape(a) - shape(w) + 1 }",
        [(7,), (3,)],
        lambda a, w: np.correlate(a, w, "valid"),
    ),
    Case(
        "a convolution with channels",
        "{ [o,i,j] -> sum({ [c,p,q] -> a[c, i + p, j + q] * w[o,c,p,q] }) + b[o] | [o,i,j] < [2,3,3] }",
        [(2, 4, 5), (2, 2, 2, 3), (2,)],
        lambda a, w, b: np.stack([sum(_convolved(a[c], w[o, c]) for c in range(2)) + b[o] for o in range(2)]),
    ),
    Case(
        "a convolution with zeros around",
        "n = shape(a)[0]; { [i] -> sum({ [k] -> i + k >= 1 && i + k < n + 1 ? a[i + k - 1] * w[k] : 0.0 }) | [i] "
        "< [n] }",
        [(5,), (3,)],
        lambda a, w: np.correlate(np.pad(a, 1), w, "valid"),
    ),
    Case(
        "a convolution of what is padded",
        "p = [0.0] ++ a ++ [0.0]; { [i] -> p[i] + p[i + 2] | [i] < shape(a) }",
        [(5,)],
        lambda a: np.pad(a, 1)[:-2] + np.pad(a, 1)[2:],
    ),
    Case(
        "a heat equation in three dimensions",
        "{ [i,j,k] -> a[i,j,k] + 0.1 * (a[i+1,j,k] + a[i-1,j,k] - 2.0 * a[i,j,k]) | . < [i,j,k] < .; "
        "[i,j,k] -> a[i,j,k] }",
        [(4, 3, 3)],
        lambda a: _inside(a, (a + 0.1 * (np.roll(a, 1, 0) + np.roll(a, -1, 0) - 2 * a))[1:-1, 1:-1, 1:-1]),
    ),
    Case(
        "life by rotations",
        "c = rotate([1,1], a) + rotate([1,0], a) + rotate([1,-1], a) + rotate([0,1], a) + rotate([0,-1], a) + "
        "rotate([-1,1], a) + rotate([-1,0], a) + rotate([-1,-1], a); "
        "{ iv -> c[iv] == 3 || a[iv] == 1 && c[iv] == 2 ? 1 : 0 }",
        [below(2, 6, 7)],
        _life,
    ),
    Case(
        "life by remainders",
        "c = { iv -> sum({ ov -> a[mod(iv + ov - 1, shape(a))] | ov < [3,3] }) - a[iv] }; "
        "where(c == 3, 1, where(c == 2, a, 0))",
        [below(2, 6, 7)],
        _life,
    ),
    Case(
        "a rule of an automaton",
        "{ [i] -> a[mod(i - 1, n)] != (a[i] || a[mod(i + 1, n)]) | [i] < [n] }",
        [mask(9), 9],
        lambda a, n: np.roll(a, 1) ^ (a | np.roll(a, -1)),
    ),
]

PICTURES = [
    Case(
        "half the size by means",
        "{ [i,j] -> (a[2*i,2*j] + a[2*i+1,2*j] + a[2*i,2*j+1] + a[2*i+1,2*j+1]) / 4.0 | [i,j] < shape(a) / 2 }",
        [(4, 6)],
        lambda a: a.reshape(2, 2, 3, 2).mean((1, 3)),
    ),
    Case(
        "twice the size",
        "{ [i,j] -> a[i / 2, j / 2] | [i,j] < 2 * shape(a) }",
        [iota(2, 3)],
        lambda a: np.kron(a, np.ones((2, 2), int)),
    ),
    Case(
        "a turn to the left",
        "n = shape(a)[1]; { [i,j] -> a[j, n - 1 - i] | [i,j] < reverse(shape(a)) }",
        [iota(2, 3)],
        np.rot90,
    ),
    Case("mirrored", "{ [i,.] -> reverse(a[i]) }", [iota(2, 3)], np.fliplr),
    Case("upside down", "{ [.,j] -> reverse(a[.,j]) }", [iota(2, 3)], np.flipud),
    Case(
        "a frame of zeros",
        "{ [i,j] -> a[i - 1, j - 1] | [1,1] <= [i,j] < shape(a) + 1; [i,j] -> 0 | [i,j] < shape(a) + 2 }",
        [iota(2, 3) + 1],
        lambda a: np.pad(a, 1),
    ),
    Case(
        "a frame of edges",
        "{ iv -> a[min(max(iv - 1, 0), shape(a) - 1)] | iv < shape(a) + 2 }",
        [iota(2, 3)],
        lambda a: np.pad(a, 1, "edge"),
    ),
    Case(
        "a frame that wraps",
        "{ iv -> a[mod(iv - 1, shape(a))] | iv < shape(a) + 2 }",
        [iota(2, 3)],
        lambda a: np.pad(a, 1, "wrap"),
    ),
    Case("a cut", "{ iv -> a[iv + [1,1]] | iv < [2,2] }", [iota(4, 4)], lambda a: a[1:3, 1:3]),
    Case("grey from colours", "{ [i,j] -> (a[i,j,0] + a[i,j,1] + a[i,j,2]) / 3.0 }", [(2, 3, 3)], lambda a: a.mean(-1)),
    Case(
        "grey from colours by cells",
        "{ iv -> mean(a[iv]) | iv < drop([-1], shape(a)) }",
        [(2, 3, 3)],
        lambda a: a.mean(-1),
    ),
    Case("channels first", "{ [c] -> a[.,.,c] }", [iota(2, 3, 3)], lambda a: a.transpose(2, 0, 1)),
    Case("channels last", "{ [.,.,c] -> a[c] }", [iota(3, 2, 2)], lambda a: a.transpose(1, 2, 0)),
    Case(
        "a colour that is replaced",
        "{ [i,j] -> all(a[i,j] == b) ? [0,0] : a[i,j] | [i,j] < [2,2] }",
        [np.array([[[1, 2], [3, 4]], [[3, 4], [5, 6]]], "int32"), np.array([3, 4], "int32")],
        lambda a, b: np.where((a == b).all(-1, keepdims=True), 0, a),
    ),
    Case("a threshold", "{ iv -> a[iv] > 0.5 ? 1.0 : 0.0 }", [(3, 4)], lambda a: (a > 0.5) * 1.0),
    Case("looked up colours", "{ iv -> palette[a[iv]] }", [iota(4, 2), below(4, 2, 3)], lambda palette, a: palette[a]),
]
