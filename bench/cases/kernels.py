"""The kernel table: one size of each kernel that index notation meets, forward and with its gradient.

Matrix products and chains of them, convolutions, pools and stencils, look-ups and scatters, products in another
algebra, pairs of points, statistics of rows and columns, attention. At full size most take one to some tens of
milliseconds on two cores; two kernels are small on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from . import (
    contractions,
    convolutions,
    heads,
    kernel_gradients,
    layers,
    lookups,
    pairwise,
    scatters,
    semirings,
    statistics,
    windows,
)
from .case import Case, Form
from .gradients import gradient

GROUP = "kernels"


@dataclass(frozen=True, slots=True)
class Row:
    """A kernel at three sizes, and what its gradient needs.

    `oracle` is the form whose derivative in float64 is the reference (the first one), `leave_out` those without a
    derivative, or with one that takes seconds, `by_hand` gradients that JAX does not derive, `weights` the number of
    float results.
    """

    build: Callable[..., Case]
    tiny: tuple[Any, ...]
    small: tuple[Any, ...]
    full: tuple[Any, ...]
    oracle: str = ""
    leave_out: tuple[str, ...] = ()
    by_hand: Callable[..., Mapping[str, Form]] = field(default=lambda *sizes: {})
    weights: int = 1


def cases(size: str) -> Iterator[Case]:
    """The kernels at `size`, each with its gradient."""
    for row in ROWS:
        sizes: tuple[Any, ...] = getattr(row, size)
        case = row.build(*sizes)
        case = replace(case, groups=(*case.groups, GROUP))
        yield case
        oracle = row.oracle or next(iter(case.forms))
        by_hand = row.by_hand(*sizes)
        yield gradient(case, oracle, row.leave_out, by_hand=by_hand, weights=row.weights)


def _min_plus(m: int, n: int, k: int) -> Case:
    (ring,) = (ring for ring in semirings.semirings() if ring.name == "min_plus")
    return semirings.product(ring, m, n, k)


def _nearest(*sizes: int) -> Case:
    return next(pairwise.smallest(*sizes))


def _kernel_sum(*sizes: int) -> Case:
    return next(pairwise.kernel_sum(*sizes))


ROWS = (
    Row(contractions.mm, (3, 4, 5), (256, 256, 256), (1024, 1024, 1024)),
    Row(contractions.tmm, (3, 5, 4), (256, 256, 256), (1024, 1024, 1024)),
    Row(contractions.tbmm, (3, 4, 5, 2), (8, 128, 128, 128), (64, 128, 128, 128)),
    Row(contractions.matrix_chain, (3, 4, 5, 2), (128, 256, 128, 64), (512, 1024, 512, 256)),
    Row(contractions.matrix_chain, (2, 3, 4, 5), (48, 48, 48, 48), (96, 96, 96, 96)),
    Row(contractions.kronecker_product, (3, 2, (2, 3, 4)), (32, 16, (32, 32, 32)), (256, 16, (32, 32, 32))),
    Row(contractions.kronecker_sum, (3, 2, (2, 3, 4)), (4, 8, (16, 16, 16)), (8, 8, (16, 16, 16))),
    Row(convolutions.dense, (2, 3, 2, 5, 3), (2, 64, 64, 28, 3), (8, 64, 64, 56, 3)),
    Row(
        convolutions.grouped,
        (2, 3, 2, 2, 5, 3),
        (2, 32, 4, 4, 28, 3),
        (8, 32, 4, 4, 56, 3),
        oracle="shifted_einsum",
        leave_out=("lax_conv_nchw", "lax_conv_nhwc"),  # Their derivatives take nine seconds each.
        by_hand=lambda n, g, c, f, h, k: kernel_gradients.grouped_convolution(c, f, k),
    ),
    Row(
        windows.max_pool,
        (2, 3, 6, 2, 2),
        (2, 64, 56, 2, 2),
        (16, 64, 112, 2, 2),
        by_hand=lambda n, c, h, k, s: kernel_gradients.max_pool(k),
    ),
    Row(
        windows.average_pool,
        (2, 3, 8, 3, 2),
        (2, 64, 56, 3, 2),
        (16, 64, 112, 3, 2),
        by_hand=lambda n, c, h, k, s: kernel_gradients.average_pool(h, k, s),
    ),
    Row(
        lookups.one_table,
        (3, 4, 5, 7),
        (512, 64, 50, 10_000),
        (8192, 64, 50, 100_000),
        by_hand=lambda *sizes: kernel_gradients.bag(),
    ),
    Row(
        _min_plus,
        (4, 5, 6),
        (256, 256, 256),
        (512, 512, 512),
        oracle="map_rows",
        leave_out=("unrolled",),
        by_hand=lambda *sizes: kernel_gradients.min_plus(),
    ),
    Row(
        _nearest,
        (7, 9, 3),
        (2000, 2000, 4),
        (8000, 8000, 4),
        oracle="map_rows",
        leave_out=("lanes",),
        by_hand=lambda *sizes: kernel_gradients.nearest(),
    ),
    Row(
        _kernel_sum,
        (7, 9, 3),
        (2000, 2000, 3),
        (10_000, 10_000, 3),
        oracle="map_rows",
        leave_out=("lanes",),
        by_hand=lambda n, m, d: kernel_gradients.kernel_sum(d),
    ),
    Row(
        statistics.row_log_sum_exp,
        (3, 10),
        (512, 1024),
        (4096, 1024),
        by_hand=lambda *sizes: kernel_gradients.log_sum_exp(),
    ),
    Row(statistics.softmax, (3, 10), (512, 1024), (4096, 1024), by_hand=lambda *sizes: kernel_gradients.softmax()),
    Row(
        statistics.layer_norm,
        (3, 10),
        (512, 1024),
        (4096, 1024),
        by_hand=lambda *sizes: kernel_gradients.layer_norm(statistics.EPSILON),
    ),
    Row(windows.jacobi, (7,), (1024,), (4096,), by_hand=lambda n: kernel_gradients.jacobi()),
    Row(windows.blur, (7, 3), (1024, 5), (4096, 5), by_hand=lambda n, k: kernel_gradients.blur(k)),
    Row(
        contractions.mttkrp,
        (4, 3, 5, 2),
        (128, 128, 128, 32),
        (256, 256, 256, 32),
        by_hand=lambda *sizes: kernel_gradients.mttkrp(),
    ),
    Row(contractions.bilinear, (3, 4, 5, 2), (128, 64, 64, 64), (256, 128, 128, 128)),
    Row(layers.mlp, (3, 5, 4, 2), (64, 512, 512, 512), (256, 1024, 1024, 1024, 1024)),
    Row(layers.mlp, (2, 4, 3, 5), (16, 64, 32, 10), (32, 128, 64, 32, 10)),
    Row(scatters.row_scatter, (9, 3, 4), (32768, 32, 1024), (262_144, 32, 8192)),
    Row(scatters.histogram, (11, 4), (1 << 18, 256), (1 << 22, 256)),
    Row(heads.causal_heads, (2, 5, 3), (2, 256, 64), (2, 1024, 64)),
    Row(
        windows.max_pool_place,
        (2, 3, 6, 2),
        (2, 64, 56, 2),
        (16, 64, 112, 2),
        by_hand=lambda n, c, h, k: kernel_gradients.max_pool_place(k),
    ),
    Row(
        lookups.shifted_rows,
        (4, 3, 2, 7),
        (1024, 16, 64, 2048),
        (4096, 32, 64, 8192),
        by_hand=kernel_gradients.shifted_rows,
    ),
    Row(
        lookups.shifted_row_sum,
        (4, 3, 2, 7),
        (2048, 32, 64, 4096),
        (16384, 64, 64, 20480),
        by_hand=kernel_gradients.shifted_row_sum,
    ),
    Row(
        statistics.moments,
        (3, 10),
        (512, 1024),
        (4096, 1024),
        by_hand=lambda *sizes: kernel_gradients.moments(1),
        weights=2,
    ),
    Row(
        statistics.column_moments,
        (3, 10),
        (512, 1024),
        (4096, 1024),
        by_hand=lambda *sizes: kernel_gradients.moments(0),
        weights=2,
    ),
    Row(windows.correlation, (3, 7, 4), (32, 8192, 17), (64, 32768, 41), leave_out=("channel_by_channel",)),
)
