"""Reductions over all pairs of points: kernel sums, distances to the nearest, and their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from scipy.special import logsumexp

from . import keops
from .blocks import by_columns, by_rows, in_blocks, lanes
from .case import Case, Form, label, normals
from .gradients import gradient

GROUP = "nests"
SLACK = 16 << 20  # Bytes of temporaries that each of these may use.
# (N, M, D)
PAIRWISE_SIZES = {"tiny": [(7, 9, 3)], "small": [(2048, 2048, 3)], "full": [(8192, 8192, 3)]}
FEATURE_SIZES = {"tiny": [(7, 9, 4)], "small": [(1024, 1024, 64)], "full": [(4096, 4096, 64)]}
# (N, w)
BAND_SIZES = {"tiny": [(11, 2)], "small": [(2048, 64)], "full": [(8192, 64)]}

POINTS = "float(N,D) x, float(M,D) y"
DISTANCE = "sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d)))"


def cases(size: str) -> Iterator[Case]:
    """The reductions over pairs at the sizes that `size` names, each with its gradient."""
    for sizes in PAIRWISE_SIZES[size]:
        yield from kernel_sum(*sizes)
        yield from log_sum(*sizes)
        yield from smallest(*sizes)
        yield place_of_smallest(*sizes)
        yield from five_smallest(*sizes)
        yield from chamfer(*sizes)
    for sizes in FEATURE_SIZES[size]:
        yield from five_smallest(*sizes)
    for sizes in BAND_SIZES[size]:
        yield from band(*sizes)


def pairwise(
    name: str,
    sizes: tuple[int, int, int],
    program: str,
    finish: Form,
    reference: Form,
    merge: Callable[..., jax.Array] | None,
    *,
    weighted: bool = False,
    lanes_form: Form | None = None,
    peers: Mapping[str, Any] | None = None,
) -> Case:
    """A case whose forms apply `finish` to all squared distances, or to blocks of rows or columns."""
    n, m, d = sizes
    shapes = [(n, d), (m, d), *([(m,)] if weighted else [])]

    def plain(x, y, *b):
        apart = x[:, None] - y[None]
        return finish((apart * apart).sum(-1), *b)

    def by_matmul(x, y, *b):
        squares = (x * x).sum(1)[:, None] + (y * y).sum(1)[None]
        return finish(squares - 2 * (x @ y.T), *b)

    def checked(x, y, *b):
        apart = x[:, None] - y[None]
        return reference((apart * apart).sum(-1), *b)

    columns = (1, 2) if weighted else (1,)
    forms: dict[str, Form] = {"jnp": plain, "jnp_matmul": by_matmul, "map_rows": by_rows(plain, 0)}
    if merge is not None:
        forms["scan_columns"] = by_columns(plain, merge, *columns)
    if lanes_form is not None:
        forms["lanes"] = lanes_form
    return Case(
        name=f"{name}/{label(*sizes)}",
        text=f"def {name}({POINTS}{', float(M) b' if weighted else ''}) -> (o) {{ {program} }}",
        make_arrays=lambda rng: normals(rng, *shapes),
        reference=in_blocks(checked, 0),
        forms=forms,
        peers=peers or {},
        groups=(GROUP,),
        slack=SLACK,
    )


def kernel_sum(*sizes: int) -> Iterator[Case]:
    """The Gaussian kernel matrix times a vector."""

    def step(accumulators, first, xs, ys):
        (total,), (*ys, b) = accumulators, ys
        return (total + jnp.exp(-_squared(xs, ys)) * b,)

    case = pairwise(
        "rbf",
        sizes,
        f"o(i) +=! exp(-{DISTANCE}) * b(j)",
        finish=lambda squared, b: jnp.exp(-squared) @ b,
        reference=lambda squared, b: np.exp(-squared) @ b,
        merge=jnp.add,
        weighted=True,
        lanes_form=lanes(step, (0.0,), lambda total: total.sum(0)),
        peers={"keops": keops.reduction(f"Exp(-{keops.DISTANCE}) * b", "Sum")},
    )
    yield case
    peers = {"keops": keops.gradient(f"Exp(-{keops.DISTANCE}) * b", "Sum")}
    yield gradient(case, "map_rows", leave_out=("lanes",), peers=peers)


def log_sum(*sizes: int) -> Iterator[Case]:
    def step(accumulators, first, xs, ys):
        largest, total = accumulators
        value = -_squared(xs, ys)
        higher = jnp.where(value > largest, value, largest)
        return higher, total * jnp.exp(largest - higher) + jnp.exp(value - higher)

    case = pairwise(
        "log_sum_exp",
        sizes,
        f"o(i) logsumexp=! -{DISTANCE}",
        finish=lambda squared: jax.nn.logsumexp(-squared, axis=1),
        reference=lambda squared: logsumexp(-squared, axis=1),
        merge=jnp.logaddexp,
        lanes_form=lanes(step, (-1e30, 0.0), lambda largest, total: jax.nn.logsumexp(largest, axis=0, b=total)),
        peers={"keops": keops.reduction(f"-{keops.DISTANCE}", "LogSumExp")},
    )
    yield case
    peers = {"keops": keops.gradient(f"-{keops.DISTANCE}", "LogSumExp")}
    yield gradient(case, "map_rows", leave_out=("lanes",), peers=peers)


def smallest(*sizes: int) -> Iterator[Case]:
    def step(accumulators, first, xs, ys):
        (least,), squared = accumulators, _squared(xs, ys)
        return (jnp.where(squared < least, squared, least),)

    case = pairwise(
        "nearest",
        sizes,
        f"o(i) min=! {DISTANCE}",
        finish=lambda squared: squared.min(1),
        reference=lambda squared: squared.min(1),
        merge=jnp.minimum,
        lanes_form=lanes(step, (float("inf"),), lambda least: least.min(0)),
        peers={"keops": keops.reduction(keops.DISTANCE, "Min")},
    )
    yield case
    yield gradient(case, "map_rows", leave_out=("lanes",), peers={"keops": keops.nearest_gradient(1)})


def nearest_by_lanes(x, y):
    """The squared distance of each point to the nearest one of the others, and which one that is."""

    def step(accumulators, first, xs, ys):
        (least, place), squared = accumulators, _squared(xs, ys)
        here = first + lax.broadcasted_iota(jnp.int32, squared.shape, 0)
        nearer = squared < least
        return jnp.where(nearer, squared, least), jnp.where(nearer, here, place)

    def first_of_smallest(least, place):
        smallest = least.min(0)
        return smallest, jnp.where(least == smallest, place, np.iinfo(np.int32).max).min(0)

    return lanes(step, (float("inf"), 0), first_of_smallest)(x, y)


def place_of_smallest(*sizes: int) -> Case:
    return pairwise(
        "nearest_place",
        sizes,
        f"o(i) argmin=! {DISTANCE}",
        finish=lambda squared: squared.argmin(1),
        reference=lambda squared: squared.argmin(1),
        merge=None,
        lanes_form=lambda x, y: nearest_by_lanes(x, y)[1],
        peers={"keops": keops.reduction(keops.DISTANCE, "ArgMin")},
    )


def five_smallest(*sizes: int) -> Iterator[Case]:
    """The squared distances to the five nearest points."""

    def top(squared):
        return -lax.top_k(-squared, 5)[0]

    case = pairwise(
        "five_nearest",
        sizes,
        f"o(i,r) = mink[j]({DISTANCE}, r) where r in 0:5",
        finish=top,
        reference=lambda squared: np.sort(np.partition(squared, 4, axis=1)[:, :5], axis=1),
        merge=lambda a, b: top(jnp.concatenate([a, b], axis=1)),
        peers={"keops": keops.nearest(5)} if sizes[2] < 16 else {},
    )
    if sizes[1] < 64:  # A block must have at least five columns.
        case = replace(case, forms={name: form for name, form in case.forms.items() if name != "scan_columns"})
    yield case
    yield gradient(case, "map_rows", peers={"keops": keops.nearest_gradient(5)} if sizes[2] < 16 else {})


def chamfer(n: int, m: int, d: int) -> Iterator[Case]:
    """The mean distance of each point to the other cloud, both ways."""

    def distances(x, y):
        apart = x[:, None] - y[None]
        return (apart * apart).sum(-1)

    def plain(x, y):
        squared = distances(x, y)
        return squared.min(1).mean() + squared.min(0).mean()

    def twice(nearest: Form) -> Form:
        return lambda x, y: nearest(x, y).mean() + nearest(y, x).mean()

    def rows(x, y):
        return distances(x, y).min(1)

    def nearest_by_matmul(x, y):
        return ((x * x).sum(1)[:, None] + (y * y).sum(1)[None] - 2 * (x @ y.T)).min(1)

    case = Case(
        name=f"chamfer/{label(n, m, d)}",
        text=f"""
        def chamfer({POINTS}) -> (o) {{
            o() = sum[i](min[j]({DISTANCE})) / N + sum[j](min[i]({DISTANCE})) / M
        }}""",
        make_arrays=lambda rng: normals(rng, (n, d), (m, d)),
        reference=twice(in_blocks(rows, 0)),
        forms={
            "jnp": plain,
            "jnp_matmul": twice(nearest_by_matmul),
            "map_rows": twice(by_rows(rows, 0)),
            "scan_columns": twice(by_columns(rows, jnp.minimum, 1)),
        },
        groups=(GROUP,),
        slack=SLACK,
    )
    yield case
    yield gradient(case, "map_rows")


def band(n: int, w: int) -> Iterator[Case]:
    """A kernel sum over near indices only: most pairs can be skipped."""

    def plain(xp, x, y):
        i, j = xp.arange(n)[:, None], xp.arange(n)[None]
        apart = x[:, None] - y[None]
        return xp.where(abs(i - j) <= w, xp.exp(-apart * apart), 0).sum(1)

    def shifted(x, y):
        padded = jnp.pad(y, w, constant_values=jnp.inf)
        return sum(jnp.exp(-((x - padded[k : k + n]) ** 2)) for k in range(2 * w + 1))

    def gathered(x, y):
        j = jnp.arange(n)[:, None] + jnp.arange(-w, w + 1)
        values = jnp.exp(-((x[:, None] - y[jnp.clip(j, 0, n - 1)]) ** 2))
        return jnp.where((j >= 0) & (j < n), values, 0).sum(1)

    def scanned(x, y):
        padded = jnp.pad(y, w)
        places = jnp.arange(n)

        @jax.checkpoint
        def one(k):
            value = jnp.exp(-((x - lax.dynamic_slice(padded, (k,), (n,))) ** 2))
            return jnp.where((places + k >= w) & (places + k < n + w), value, 0)

        return lax.scan(lambda total, k: (total + one(k), None), jnp.zeros_like(x), jnp.arange(2 * w + 1))[0]

    case = Case(
        name=f"band/{label(n, w)}",
        text=f"""
        def band(float(N) x, float(N) y) -> (o) {{
            o(i) +=! exp(-(x(i) - y(j)) * (x(i) - y(j))) where i - j <= {w}, j - i <= {w}
        }}""",
        make_arrays=lambda rng: normals(rng, (n,), (n,)),
        reference=lambda x, y: plain(np, x, y),
        forms={
            "jnp": lambda x, y: plain(jnp, x, y),
            "shifted": shifted,
            "gathered": gathered,
            "scanned": scanned,
        },
        groups=(GROUP,),
        slack=SLACK,
    )
    yield case
    yield gradient(case, "scanned", leave_out=("shifted",))


def _squared(xs, ys):
    return sum((x - y) ** 2 for x, y in zip(xs, ys, strict=True))
