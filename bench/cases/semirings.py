"""Products of matrices in other algebras: tropical, L1 distances, counts, truth values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from .blocks import by_columns, by_rows, by_turns, in_blocks
from .case import Arrays, Case, Form, label, normals
from .gradients import gradient
from .pairwise import GROUP, SLACK

INF = float("inf")
MOST = int(np.iinfo(np.int32).max)


@dataclass(frozen=True, slots=True)
class Semiring:
    """``C(m,n) statement``: a product of matrices that combines two elements and reduces over k by other operators."""

    name: str
    statement: str
    combine: Callable[[Any, Any, Any], Any]  # NumPy or jax.numpy, and two elements.
    reduce: str  # The method of an array.
    merge: Form
    start: float
    make_arrays: Callable[..., Arrays] = normals
    dtype: str = "float"


def semirings() -> list[Semiring]:
    """Sums and minima of all kinds, and types that have no matrix product."""
    positive = "A(m,k) > B(k,n) ? A(m,k) - B(k,n) : 0.0"
    return [
        Semiring("min_plus", "min=! A(m,k) + B(k,n)", lambda xp, a, b: a + b, "min", _lesser, INF),
        Semiring("max_product", "max=! A(m,k) * B(k,n)", lambda xp, a, b: a * b, "max", _greater, -INF),
        Semiring("l1", "+=! fabs(A(m,k) - B(k,n))", lambda xp, a, b: abs(a - b), "sum", jnp.add, 0.0),
        Semiring("product", "*=! A(m,k) + B(k,n)", lambda xp, a, b: a + b, "prod", jnp.multiply, 1.0, _near_one),
        Semiring("positive", f"+=! {positive}", lambda xp, a, b: xp.where(a > b, a - b, 0), "sum", jnp.add, 0.0),
        Semiring(
            "min_plus_int", "min=! A(m,k) + B(k,n)", lambda xp, a, b: a + b, "min", _lesser, MOST, _integers, "int32"
        ),
        Semiring(
            "any_and", "any=! A(m,k) && B(k,n)", lambda xp, a, b: a & b, "any", jnp.logical_or, False, _bits, "bool"
        ),
    ]


def cases(m: int, n: int, k: int) -> Iterator[Case]:
    """The product of two matrices in each of them, with its gradient if the elements are floats."""
    for ring in semirings():
        case = product(ring, m, n, k)
        yield case
        if ring.dtype == "float":
            yield gradient(case, "map_rows", leave_out=("unrolled",))


def product(ring: Semiring, m: int, n: int, k: int) -> Case:
    """The product of two matrices in `ring`."""

    def k_last(a, b):
        return getattr(ring.combine(jnp, a[:, None, :], b.T[None, :, :]), ring.reduce)(2)

    def k_middle(a, b):
        return getattr(ring.combine(jnp, a[:, :, None], b[None, :, :]), ring.reduce)(1)

    def k_first(a, b):
        return getattr(ring.combine(jnp, a[:, :, None], b[:, None, :]), ring.reduce)(0)

    def rows(a, b):
        return getattr(ring.combine(np, a[:, :, None], b[None]), ring.reduce)(1)

    return Case(
        name=f"{ring.name}/{label(m, n, k)}",
        text=f"def {ring.name}({ring.dtype}(M,K) A, {ring.dtype}(K,N) B) -> (C) {{ C(m,n) {ring.statement} }}",
        make_arrays=lambda rng: ring.make_arrays(rng, (m, k), (k, n)),
        reference=in_blocks(rows, 0, rows=16),
        forms={
            "jnp": k_middle,
            "jnp_k_last": k_last,
            "map_rows": by_rows(k_middle, 0, rows=8),
            "scan_k": lambda a, b: by_columns(k_first, ring.merge, 0, 1, columns=8)(a.T, b),
            "unrolled": by_turns(lambda a, b: ring.combine(jnp, a, b), ring.merge, ring.start),
        },
        groups=(GROUP,),
        slack=SLACK,
    )


def _lesser(a, b):
    return jnp.where(b < a, b, a)  # Minimum also handles NaN, which costs twice as much.


def _greater(a, b):
    return jnp.where(b > a, b, a)


def _near_one(rng: np.random.Generator, *shapes: tuple[int, ...]) -> Arrays:
    """Arrays whose sums are near one, so that long products stay in range."""
    return tuple((0.5 + 0.02 * a).astype(np.float32) for a in normals(rng, *shapes))


def _integers(rng: np.random.Generator, *shapes: tuple[int, ...]) -> Arrays:
    return tuple(rng.integers(-(1 << 20), 1 << 20, shape, dtype=np.int32) for shape in shapes)


def _bits(rng: np.random.Generator, *shapes: tuple[int, ...]) -> Arrays:
    return tuple(rng.uniform(size=shape) < 0.05 for shape in shapes)
