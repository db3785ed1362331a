"""Hand-written JAX for reductions over pairs in little memory: blocks of rows, of columns, or lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .case import Form

Merge = Callable[..., jax.Array]


def by_rows(form: Form, *split: int, rows: int = 64) -> Form:
    """`form` for `rows` rows at a time of the arrays at the positions `split`, recomputed for the gradient."""

    def mapped(*arrays):
        n = arrays[split[0]].shape[0]
        size = min(rows, n)
        blocks = [_blocks(jnp.asarray(arrays[position]), size) for position in split]

        @jax.checkpoint
        def block(parts):
            return form(*_replaced(arrays, split, parts))

        out = lax.map(block, tuple(blocks))
        return jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:])[:n], out)

    return mapped


def by_columns(form: Form, merge: Merge, *split: int, columns: int = 64) -> Form:
    """`form` for some columns at a time, the partial results merged as they come."""

    def scanned(*arrays):
        m = arrays[split[0]].shape[0]
        size = min(columns, m)
        whole = m // size * size
        blocks = [jnp.asarray(arrays[position])[:whole] for position in split]
        blocks = [a.reshape(-1, size, *a.shape[1:]) for a in blocks]

        @jax.checkpoint
        def partial(parts):
            return form(*_replaced(arrays, split, parts))

        first = partial(tuple(a[0] for a in blocks))
        out, _ = lax.scan(
            lambda total, parts: (merge(total, partial(parts)), None), first, tuple(a[1:] for a in blocks)
        )
        if whole < m:
            out = merge(out, partial(tuple(jnp.asarray(arrays[position])[whole:] for position in split)))
        return out

    return scanned


def lanes(
    step: Callable[..., tuple[jax.Array, ...]],
    start: Sequence[float],
    finish: Callable[..., jax.Array],
    *,
    shapes: Sequence[tuple[int, int]] = ((32, 8), (50, 4)),
) -> Form:
    """The fastest known loop on a CPU: several accumulators for each x, which are combined at the end.

    How many, and how often the loop's body is written out, is the first of `shapes` that divides the columns.

    ``step(accumulators, first, xs, ys)`` gets the columns of x as ``(1, N)``, those of y and of the arrays beside it as
    ``(rows, 1)``, and the number of the first of these rows; `start` has the first value of each accumulator.
    """

    def looped(x, *others):
        n, m = x.shape[0], others[0].shape[0]
        size, times = next(((rows, unroll) for rows, unroll in shapes if m % (rows * unroll) == 0), (1, 1))
        xs = [column[None, :] for column in x.T]
        columns = [column for a in others for column in (a.T if a.ndim == 2 else [a])]

        def trip(t, carry):
            accumulators, seed = carry
            # XLA:CPU runs a loop without a matrix product in its body on one core: this product is too small to cost
            # anything, and the position depends on it, so that it is not removed.
            seed = seed @ seed
            base = (t + seed[0, 0].astype(jnp.int32)) * (size * times)
            parts = [lax.dynamic_slice(column, (base,), (size * times,)) for column in columns]
            parts = lax.optimization_barrier(parts)  # Otherwise the slices are fused into unvectorised loops.
            for u in range(times):
                ys = [part[u * size : (u + 1) * size, None] for part in parts]
                accumulators = step(accumulators, base + u * size, xs, ys)
            return accumulators, seed

        begin = tuple(
            jnp.full((size, n), value, jnp.float32 if isinstance(value, float) else jnp.int32) for value in start
        )
        accumulators, _ = lax.fori_loop(0, m // (size * times), trip, (begin, jnp.zeros((16, 16), jnp.float32)))
        return finish(*accumulators)

    return looped


def by_turns(combine: Form, merge: Merge, start: float, *, unroll: int = 16) -> Form:
    """``merge_k combine(A[:, k], B[k, :])``, several `k` unrolled per iteration of a loop that runs on all cores."""

    def looped(a, b):
        k = a.shape[1]
        times = unroll if k % unroll == 0 else 1
        rows = a.T

        def trip(t, carry):
            total, seed = carry
            seed = seed @ seed  # As in `lanes`.
            base = (t + seed[0, 0].astype(jnp.int32)) * times
            parts = lax.optimization_barrier([lax.dynamic_slice_in_dim(whole, base, times) for whole in (rows, b)])
            for u in range(times):
                total = merge(total, combine(parts[0][u][:, None], parts[1][u][None]))
            return total, seed

        begin = jnp.full((a.shape[0], b.shape[1]), start, a.dtype), jnp.zeros((16, 16), jnp.float32)
        return lax.fori_loop(0, k // times, trip, begin)[0]

    return looped


def in_blocks(reference: Form, *split: int, rows: int = 256) -> Form:
    """A NumPy `reference` for some rows at a time."""

    def computed(*arrays):
        n = arrays[split[0]].shape[0]
        parts = []
        for first in range(0, n, rows):
            blocks = [arrays[position][first : first + rows] for position in split]
            parts.append(reference(*_replaced(arrays, split, blocks)))
        return np.concatenate(parts)

    return computed


def _blocks(array, size: int):
    """``(n, ...)`` as ``(blocks, size, ...)``; the last block is padded with its last row."""
    missing = -array.shape[0] % size
    return jnp.pad(array, [(0, missing), *[(0, 0)] * (array.ndim - 1)], mode="edge").reshape(-1, size, *array.shape[1:])


def _replaced(arrays, split: Sequence[int], parts) -> list:
    merged = list(arrays)
    for position, part in zip(split, parts, strict=True):
        merged[position] = part
    return merged
