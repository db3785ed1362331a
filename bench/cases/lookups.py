"""Table look-ups: the sums of embedding rows that TC calls 1LUT and 2LUT."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import jax.numpy as jnp
import numpy as np
from jax import lax

from .case import Arrays, Case, Form, label

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
