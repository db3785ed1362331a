"""One text at every rank."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...program import real
from ..case import Case, iota

_SHAPES = [(), (4,), (3, 4), (2, 3, 4), (2, 3, 2, 2)]


def _each(
    name: str, text: str, wanted: Callable[..., Any], least: int = 0, count: int = 1, floats: bool = False
) -> list[Case]:
    """The text at every rank from `least` to 4, with `count` arguments of one shape."""
    make = real if floats else iota
    return [
        Case(f"{name}, rank {len(shape)}", text, [make(*shape) * (n + 1) for n in range(count)], wanted)
        for shape in _SHAPES[least:]
    ]


def _interior(a: np.ndarray) -> tuple[slice, ...]:
    return (slice(1, -1),) * a.ndim


def _bumped(a: np.ndarray) -> np.ndarray:
    a = a.copy()
    a[_interior(a)] += 100
    return a


RANKS = [
    *_each("every element", "{ iv -> a[iv] + 1 }", lambda a: a + 1),
    *_each("two arrays", "{ iv -> a[iv] - b[iv] }", lambda a, b: a - b, count=2),
    *_each("the interior", "{ iv -> a[iv] + 100 | 0 * shape(a) + 1 <= iv < shape(a) - 1; iv -> a[iv] }", _bumped),
    *_each("the interior by dots", "{ iv -> a[iv] + 100 | . < iv < .; iv -> a[iv] }", _bumped),
    *_each("the reversed index", "{ iv -> a[reverse(iv)] | iv < reverse(shape(a)) }", np.transpose),
    *_each("the index from behind", "{ iv -> a[shape(a) - 1 - iv] | iv < shape(a) }", np.flip),
    *_each(
        "every other element",
        "{ iv -> a[2 * iv] | iv < (shape(a) + 1) / 2 }",
        lambda a: a[(slice(None, None, 2),) * a.ndim],
    ),
    *_each(
        "shifted by one",
        "{ iv -> a[iv - 1] | 0 * shape(a) + 1 <= iv < shape(a) }",
        lambda a: np.pad(a, [(1, 0)] * a.ndim)[(slice(0, -1),) * a.ndim] if a.ndim else a,
    ),
    *_each(
        "rolled by one",
        "{ iv -> a[mod(iv - 1, shape(a))] | iv < shape(a) }",
        lambda a: np.roll(a, (1,) * a.ndim, tuple(range(a.ndim))) if a.ndim else a,
    ),
    *_each("the sum of everything", "sum({ iv -> a[iv] * a[iv] })", lambda a: (a * a).sum(), floats=True),
    *_each(
        "the sum of an index",
        "{ iv -> sum(iv) | iv < shape(a) }",
        lambda a: np.indices(a.shape).sum(0) if a.ndim else 0,
    ),
    *_each(
        "a doubled shape",
        "{ iv -> a[iv / 2] | iv < 2 * shape(a) }",
        lambda a: np.kron(a, np.ones((2,) * a.ndim, int)) if a.ndim else a,
    ),
    *_each("the size", "prod(shape(a))", np.size),
    *_each("the rank", "dim(a)", np.ndim),
    *_each("the shape", "shape(a)", lambda a: list(a.shape), least=1),
    *_each("the same again", "{ iv -> [a[iv], a[iv]] }", lambda a: np.stack([a, a], -1)),
    *_each("the same again, in front", "{ [.,...] -> [a, a] }", lambda a: np.stack([a, a])),
    *_each("rows", "{ [i] -> a[i] * 2 }", lambda a: a * 2, least=1),
    *_each(
        "rows backwards", "{ [i] -> a[shape(a)[0] - 1 - i] | [i] < take([1], shape(a)) }", lambda a: a[::-1], least=1
    ),
    *_each("the last axis first", "{ [i] -> a[...,i] }", lambda a: np.moveaxis(a, -1, 0), least=1),
    *_each("the first axis last", "{ [...,i] -> a[i] }", lambda a: np.moveaxis(a, 0, -1), least=1),
    *_each(
        "sums along the first axis",
        "{ jv -> sum({ [i] -> a[[i] ++ jv] | [i] < take([1], shape(a)) }) | jv < drop([1], shape(a)) }",
        lambda a: a.sum(0),
        least=1,
    ),
    *_each(
        "sums along the last axis", "{ iv -> sum(a[iv]) | iv < drop([-1], shape(a)) }", lambda a: a.sum(-1), least=1
    ),
    *_each("sums of rows", "{ [i] -> sum(a[i]) }", lambda a: a.reshape(len(a), -1).sum(1), least=1),
    *_each(
        "the last component to the front",
        "{ iv -> a[drop([1], iv) ++ take([1], iv)] | iv < take([-1], shape(a)) ++ drop([-1], shape(a)) }",
        lambda a: np.moveaxis(a, -1, 0),
        least=1,
    ),
    *_each("two axes exchanged", "{ [...,i,j] -> a[...,j,i] }", lambda a: a.swapaxes(-1, -2), least=2),
    *_each("columns reversed", "{ [.,j] -> reverse(a[.,j]) }", lambda a: a[::-1], least=2),
    *_each("the first column", "a[.,0]", lambda a: a[:, 0], least=2),
    *_each("the last element of every row", "a[...,1]", lambda a: a[..., 1], least=1),
    *_each("an outer product", "{ iv -> { jv -> a[iv] * a[jv] } }", lambda a: np.multiply.outer(a, a))[:3],
    *_each("an outer product by cells", "{ iv -> a[iv] * a }", lambda a: np.multiply.outer(a, a))[:3],
    *_each(
        "a table of index vectors", "{ iv -> iv | iv < shape(a) }", lambda a: np.moveaxis(np.indices(a.shape), 0, -1)
    )[1:4],
    *_each("a mask by the data", "{ iv -> a[iv] > 3 }", lambda a: a > 3),
    *_each("a choice by the data", "{ iv -> a[iv] > 3 ? a[iv] : 0 }", lambda a: np.where(a > 3, a, 0)),
    *_each("a choice by the rank", "dim(a) > 1 ? a[0] : a", lambda a: a[0] if a.ndim > 1 else a),
    *_each("a default written out", "{ iv -> a[iv] * 2 | iv < shape(a); iv -> 0 | iv < shape(a) }", lambda a: a * 2),
]
