"""Rows that the data choose: the sums of embedding rows that TC calls 1LUT and 2LUT, and rows at a shift."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .case import Arrays, Case, Form, label, normals

# (B, D, L, E)
LOOKUP_SIZES = {
    "tiny": [(3, 4, 5, 7)],
    "small": [(128, 64, 50, 100_000)],
    "full": [(128, 64, 50, 100_000), (128, 64, 50, 1_000_000)],
}


def cases(size: str) -> Iterator[Case]:
    """The look-ups at the sizes that `size` names."""
    yield from (one_table(*sizes) for sizes in LOOKUP_SIZES[size])
    yield from (two_tables(*sizes) for sizes in LOOKUP_SIZES[size])


def one_table(b: int, d: int, length: int, e: int) -> Case:
    return Case(
        name=f"1lut/{label(b, d, length, e)}",
        text="def lut1(float(E,D) T, int32(B,L) I) -> (O) { O(b,d) +=! T(I(b,l),d) }",
        make_arrays=partial(_arrays, b, d, length, e, 1),
        reference=lambda T, I: T[I].sum(1),
        forms=_lookup_forms(),
    )


def two_tables(b: int, d: int, length: int, e: int) -> Case:
    def twice(form: Form) -> Form:
        return lambda T1, I1, T2, I2: (form(T1, I1), form(T2, I2))

    return Case(
        name=f"2lut/{label(b, d, length, e)}",
        text="""
        def lut2(float(E1,D) T1, int32(B,L1) I1, float(E2,D) T2, int32(B,L2) I2) -> (O1, O2) {
            O1(b,d) +=! T1(I1(b,l),d)
            O2(b,d) +=! T2(I2(b,l),d)
        }""",
        make_arrays=partial(_arrays, b, d, length, e, 2),
        reference=lambda T1, I1, T2, I2: (T1[I1].sum(1), T2[I2].sum(1)),
        forms={name: twice(form) for name, form in _lookup_forms().items()},
    )


def _arrays(b: int, d: int, length: int, e: int, tables: int, rng: np.random.Generator) -> Arrays:
    pairs = []
    for _ in range(tables):
        pairs.append(rng.standard_normal((e, d), dtype=np.float32))
        pairs.append(rng.integers(0, e, (b, length), dtype=np.int32))
    return tuple(pairs)


def _lookup_forms() -> dict[str, Form]:
    def unrolled(mode: str | None, T, I):
        return sum(T.at[I[:, l]].get(mode=mode) for l in range(I.shape[1]))

    def loop(T, I):
        start = jnp.zeros((I.shape[0], T.shape[1]), T.dtype)
        return lax.fori_loop(0, I.shape[1], lambda l, total: total + T.at[I[:, l]].get(mode="clip"), start)

    return {
        "index_sum": lambda T, I: T[I].sum(1),
        "take_clip_sum": lambda T, I: jnp.take(T, I, axis=0, mode="clip").sum(1),
        "take_transposed_sum": lambda T, I: T.at[I.T].get(mode="promise_in_bounds").sum(0),
        "unrolled_rows": partial(unrolled, None),
        "unrolled_rows_clip": partial(unrolled, "clip"),
        "unrolled_rows_in_bounds": partial(unrolled, "promise_in_bounds"),
        "fori_rows_clip": loop,
    }


def shifted_rows(n: int, j: int, k: int, rows: int) -> Case:
    """Rows of a matrix, beginning where each shift says."""

    def gathered(mode: str | None, X, shift):
        places = jnp.arange(n)[:, None] + shift
        return X.at[places].get(mode=mode)

    def sliced(X, shift):
        return jax.vmap(lambda s: lax.dynamic_slice(X, (s, 0), (n, k)), out_axes=1)(shift)

    def sliced_in_front(X, shift):
        return jax.vmap(lambda s: lax.dynamic_slice(X, (s, 0), (n, k)))(shift).transpose(1, 0, 2)

    def windows(X, shift):
        """One row of the result at a time: rows are contiguous within each."""
        return jax.vmap(lambda i: X.at[i + shift].get(mode="promise_in_bounds"))(jnp.arange(n))

    def stacked(X, shift):
        return jnp.stack([lax.dynamic_slice(X, (shift[q], 0), (n, k)) for q in range(j)], axis=1)

    return Case(
        name=f"shifted_rows/{label(n, j, k)}",
        text=f"def shifted_rows(float(R,K) X, int32(J) S) -> (O) {{ O(i,j,k) = X(i+S(j),k) where i in 0:{n} }}",
        make_arrays=partial(_shifts, n, j, k, rows),
        reference=lambda X, shift: X[np.arange(n)[:, None] + shift],
        forms={
            "indexed": partial(gathered, None),
            "in_bounds": partial(gathered, "promise_in_bounds"),
            "clipped": partial(gathered, "clip"),
            "sliced": sliced,
            "sliced_in_front": sliced_in_front,
            "windows": windows,
            "stacked_slices": stacked,
        },
    )


def shifted_row_sum(n: int, j: int, k: int, rows: int) -> Case:
    """The weighted sum of some parts of a matrix, each beginning where a shift says."""

    def gathered(X, shift, w):
        return jnp.einsum("ijk,j->ik", X.at[jnp.arange(n)[:, None] + shift].get(mode="clip"), w)

    def unrolled(X, shift, w):
        return sum(w[q] * lax.dynamic_slice(X, (shift[q], 0), (n, k)) for q in range(j))

    def scanned(X, shift, w):
        def step(total, places):
            first, weight = places
            return total + weight * lax.dynamic_slice(X, (first, 0), (n, k)), None

        return lax.scan(step, jnp.zeros((n, k), X.dtype), (shift, w))[0]

    def scanned_by_eight(X, shift, w):
        times = 8 if j % 8 == 0 else 1

        def step(total, places):
            first, weight = places
            return total + sum(weight[q] * lax.dynamic_slice(X, (first[q], 0), (n, k)) for q in range(times)), None

        return lax.scan(step, jnp.zeros((n, k), X.dtype), (shift.reshape(-1, times), w.reshape(-1, times)))[0]

    def banded(X, shift, w):
        """A product with the matrix that has the weights at the shifts: for few rows only, as it is mostly zeros."""
        places = jnp.arange(n)[:, None] + shift
        return jnp.zeros((n, rows), X.dtype).at[jnp.arange(n)[:, None], places].add(w) @ X

    forms: dict[str, Form] = {"banded": banded} if n * rows <= 1 << 20 else {}
    return Case(
        name=f"shifted_row_sum/{label(n, j, k)}",
        text=f"""
        def shifted_row_sum(float(R,K) X, int32(J) S, float(J) w) -> (O) {{
            O(i,k) +=! w(j) * X(i+S(j),k) where i in 0:{n}
        }}""",
        make_arrays=lambda rng: (*_shifts(n, j, k, rows, rng), *normals(rng, (j,))),
        reference=lambda X, shift, w: sum(w[q] * X[shift[q] : shift[q] + n] for q in range(j)),
        forms={
            "gathered": gathered,
            "unrolled_slices": unrolled,
            "scanned": scanned,
            "scanned_by_eight": scanned_by_eight,
            **forms,
        },
    )


def _shifts(n: int, j: int, k: int, rows: int, rng: np.random.Generator) -> Arrays:
    return *normals(rng, (rows, k)), rng.integers(0, rows - n + 1, (j,), dtype=np.int32)
