"""SaC's array comprehensions: rank-generic definitions, and partitions that are assembled into one array."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from functools import partial, reduce
from itertools import product

import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.lib.stride_tricks import sliding_window_view

from .case import Arrays, Case, Form, label, normals

INNER_SIZES = {
    "tiny": [(7,), (4, 5), (4, 5, 3), (3, 4, 5, 3)],
    "small": [(1 << 20,), (1024, 1024), (96, 128, 96), (24, 40, 32, 40)],
    "full": [(1 << 24,), (4096, 4096), (256, 256, 256), (64, 64, 64, 64)],
}
MATMUL_SIZES = {"tiny": [(3, 4, 5)], "small": [(512, 512, 512)], "full": [(1024, 1024, 1024), (2048, 2048, 2048)]}
# Rows of the first, rows of the second, columns.
CONCATENATION_SIZES = {"tiny": [(3, 4, 2)], "small": [(600, 500, 1024)], "full": [(3000, 2000, 4096)]}
# A stencil whose border is unchanged.
RELAXATION_SIZES = {
    "tiny": [(6, 7), (4, 5, 6)],
    "small": [(1024, 1024), (96, 128, 96)],
    "full": [(4096, 4096), (256,) * 3],
}
# The shape, and how far each axis is rotated.
ROTATION_SIZES = {
    "tiny": [((5, 4), (2, 0)), ((5, 4), (2, 3))],
    "small": [((1024, 1024), (300, 0)), ((1024, 1024), (300, 200))],
    "full": [((4096, 4096), (1300, 0)), ((4096, 4096), (1300, 700))],
}
# (H, W, K)
SMOOTHING_SIZES = {"tiny": [(6, 7, 3)], "small": [(1024, 1024, 5)], "full": [(4096, 4096, 5)]}
# (C, F, H, K)
CONVOLUTION_SIZES = {"tiny": [(2, 3, 6, 3)], "small": [(32, 32, 56, 3)], "full": [(64, 64, 112, 3)]}
# Intervals along each of three axes.
VCYCLE_SIZES = {"tiny": [4], "small": [32], "full": [128]}


# The neighbours of a position along the axes from `axis` on, for any rank.
NEIGHBOURS = """
float neighbours(float[*] u, int[.] iv, int axis) {
    ahead = { [a] -> a == axis ? 1 : 0 | [a] < [dim(u)] };
    return axis == dim(u) ? 0.0 : u[iv - ahead] + u[iv + ahead] + neighbours(u, iv, axis + 1);
}
"""


def cases(size: str) -> Iterator[Case]:
    """The comprehensions at the sizes that `size` names."""
    yield from (inner_increment(shape) for shape in INNER_SIZES[size])
    yield from (relaxation(shape) for shape in RELAXATION_SIZES[size])
    yield from (matmul(*sizes) for sizes in MATMUL_SIZES[size])
    yield from (concatenation(*sizes) for sizes in CONCATENATION_SIZES[size])
    yield from (rotation(*sizes) for sizes in ROTATION_SIZES[size])
    yield from (turn(*sizes) for sizes in ROTATION_SIZES[size])
    yield from (smoothing(*sizes) for sizes in SMOOTHING_SIZES[size])
    yield from (convolution(*sizes) for sizes in CONVOLUTION_SIZES[size])
    yield from (vcycle(n) for n in VCYCLE_SIZES[size])


def inner_increment(shape: tuple[int, ...]) -> Case:
    inside = (slice(1, -1),) * len(shape)

    def reference(a):
        a = a.copy()
        a[inside] += 1
        return a

    def masked(a):
        return jnp.where(reduce(operator.and_, _inside(a.shape)), a + 1, a)

    def masked_sum(a):
        return a + reduce(operator.and_, _inside(a.shape)).astype(a.dtype)

    def concatenated(a):
        return _framed(a, a[inside] + 1)

    return Case(
        name=f"sac_inner/{label(*shape)}",
        text="{ iv -> a[iv] + 1 | 0 * shape(a) + 1 <= iv < shape(a) - 1; iv -> a[iv] }",
        make_arrays=lambda rng: normals(rng, shape),
        reference=reference,
        forms={
            "at_add": lambda a: a.at[inside].add(1.0),
            "at_set": lambda a: a.at[inside].set(a[inside] + 1),
            "masked": masked,
            "masked_sum": masked_sum,
            "padded_ones": lambda a: a + jnp.pad(jnp.ones([n - 2 for n in a.shape], a.dtype), 1),
            "concatenated": concatenated,
        },
    )


def relaxation(shape: tuple[int, ...]) -> Case:
    inside = (slice(1, -1),) * len(shape)
    share = 1 / (2 * len(shape))

    def at_set(xp, a):
        if xp is np:
            a = a.copy()
            a[inside] = share * _neighbours(a)
            return a
        return a.at[inside].set(share * _neighbours(a))

    def rolled(a):
        total = sum(jnp.roll(a, distance, axis) for axis in range(a.ndim) for distance in (1, -1))
        return jnp.where(reduce(operator.and_, _inside(a.shape)), share * total, a)

    return Case(
        name=f"sac_relaxation/{label(*shape)}",
        text=f"""{NEIGHBOURS}
        float[*] relaxed(float[d:shp] u) {{
            one = 0 * shp + 1;
            return {{ iv -> neighbours(u, iv, 0) / tof(2 * d) | one <= iv < shp - one; iv -> u[iv] }};
        }}""",
        make_arrays=lambda rng: normals(rng, shape),
        reference=partial(at_set, np),
        forms={
            "at_set": partial(at_set, jnp),
            "padded_select": lambda a: _overlaid(a, share * _neighbours(a)),
            "concatenated": lambda a: _framed(a, share * _neighbours(a)),
            "rolled": rolled,
        },
    )


def _overlaid(a, middle):
    """The interior of one array in the border of another, as one selection."""
    return jnp.where(reduce(operator.and_, _inside(a.shape)), jnp.pad(middle, 1), a)


def _inside(shape: tuple[int, ...]) -> list:
    """For each axis, where the position is neither the first nor the last."""
    masks = []
    for axis, extent in enumerate(shape):
        place = lax.broadcasted_iota(jnp.int32, shape, axis)
        masks.append((place > 0) & (place < extent - 1))
    return masks


def _framed(a, middle):
    """The interior of one array in the border of another, axis by axis from the last one."""
    for axis in reversed(range(a.ndim)):
        rim = [slice(1, -1)] * axis + [slice(None)] * (a.ndim - axis)
        first, last = list(rim), list(rim)
        first[axis], last[axis] = slice(0, 1), slice(-1, None)
        middle = jnp.concatenate([a[tuple(first)], middle, a[tuple(last)]], axis=axis)
    return middle


def matmul(m: int, n: int, k: int) -> Case:
    return Case(
        name=f"sac_matmul/{label(m, n, k)}",
        text="{ [i,j] -> sum({ [k] -> A[i,k] * B[k,j] }) }",
        make_arrays=lambda rng: normals(rng, (m, k), (k, n)),
        reference=lambda A, B: A @ B,
        forms={
            "matmul": lambda A, B: A @ B,
            "einsum": lambda A, B: jnp.einsum("ik,kj->ij", A, B),
            "einsum_swapped": lambda A, B: jnp.einsum("kj,ik->ji", B, A).T,
        },
        tolerance=1e-3,
    )


def concatenation(m: int, n: int, columns: int) -> Case:
    def updated(A, B):
        out = jnp.zeros((m + n, columns), A.dtype)
        return lax.dynamic_update_slice(lax.dynamic_update_slice(out, A, (0, 0)), B, (m, 0))

    def padded(A, B):
        zero = jnp.zeros((), A.dtype)
        low, high = lax.pad(A, zero, ((0, n, 0), (0, 0, 0))), lax.pad(B, zero, ((m, 0, 0), (0, 0, 0)))
        return jnp.where(lax.broadcasted_iota(jnp.int32, low.shape, 0) < m, low, high)

    return Case(
        name=f"sac_concatenation/{label(m, n, columns)}",
        # The library's `A ++ B`, spelt out.
        text="""
        float[*] joined(float[m, n:rest] A, float[k, n:rest] B) {
            return { [i] -> A[i] | [i] < [m]; [i] -> B[i - m] | [i] < [m + k] };
        }""",
        make_arrays=lambda rng: normals(rng, (m, columns), (n, columns)),
        reference=lambda A, B: np.concatenate([A, B]),
        forms={
            "concatenate": lambda A, B: jnp.concatenate([A, B]),
            "updated": updated,
            "padded": padded,
        },
    )


def rotation(shape: tuple[int, int], by: tuple[int, int]) -> Case:
    """The library's rotation: adjacent pieces."""
    return _rotation("sac_rotation", f"rotate([{by[0]}, {by[1]}], a)", shape, by)


def turn(shape: tuple[int, int], by: tuple[int, int]) -> Case:
    """A rotation that wraps every read around the end of its axis."""
    text = f"{{ iv -> a[mod(iv - [{by[0]}, {by[1]}], shape(a))] | iv < shape(a) }}"
    return _rotation("sac_turn", text, shape, by)


def _rotation(family: str, text: str, shape: tuple[int, int], by: tuple[int, int]) -> Case:
    axes = [axis for axis, distance in enumerate(by) if distance]

    def gathered(a):
        places = [(jnp.arange(extent) - distance) % extent for extent, distance in zip(shape, by, strict=True)]
        return a[places[0][:, None], places[1][None, :]]

    def sliced_twice(a):
        for axis in axes:
            twice = jnp.concatenate([a, a], axis)
            a = lax.slice_in_dim(twice, shape[axis] - by[axis], 2 * shape[axis] - by[axis], axis=axis)
        return a

    def blocks(a):
        rows = [a[shape[0] - by[0] :], a[: shape[0] - by[0]]] if by[0] else [a]
        cut = shape[1] - by[1]
        turned = [jnp.concatenate([part[:, cut:], part[:, :cut]], 1) if by[1] else part for part in rows]
        return jnp.concatenate(turned, 0) if by[0] else turned[0]

    return Case(
        name=f"{family}/{label(*shape)}by{label(*by)}",
        text=text,
        make_arrays=lambda rng: normals(rng, shape),
        reference=lambda a: np.roll(a, by, (0, 1)),
        forms={
            "roll": lambda a: jnp.roll(a, [by[axis] for axis in axes], axes),
            "blocks": blocks,
            "sliced_twice": sliced_twice,
            "gathered": gathered,
        },
    )


def smoothing(h: int, w: int, k: int) -> Case:
    size = (h - k + 1, w - k + 1)

    def shifted(a, weights):
        return sum(a[y : y + size[0], x : x + size[1]] * weights[y, x] for y, x in product(range(k), repeat=2))

    def lax_conv(a, weights):
        return lax.conv_general_dilated(a[None, None], weights[None, None], (1, 1), "VALID")[0, 0]

    return Case(
        name=f"sac_smoothing/{label(h, w)}k{k}",
        text="{ iv -> sum({ ov -> a[iv + ov] * w[ov] }) | iv < shape(a) - shape(w) + 1 }",
        make_arrays=lambda rng: normals(rng, (h, w), (k, k)),
        reference=lambda a, weights: np.asarray(shifted(a, weights)),
        forms={"shifted_unrolled": shifted, "lax_conv": lax_conv},
    )


def convolution(c: int, f: int, h: int, k: int) -> Case:
    size = h - k + 1

    def reference(a, weights):
        windows = sliding_window_view(a, (k, k), axis=(1, 2))
        return np.einsum("cyxij,fcij->fyx", windows, weights, optimize=True)

    def lax_conv(a, weights):
        return lax.conv_general_dilated(a[None], weights, (1, 1), "VALID")[0]

    def lax_conv_nhwc(a, weights):
        dims = ("NHWC", "HWIO", "NHWC")
        image, kernel = a.transpose(1, 2, 0)[None], weights.transpose(2, 3, 1, 0)
        out = lax.conv_general_dilated(image, kernel, (1, 1), "VALID", dimension_numbers=dims)
        return out[0].transpose(2, 0, 1)

    def shifted_einsum(a, weights):
        return sum(
            jnp.einsum("cyx,fc->fyx", a[:, i : i + size, j : j + size], weights[:, :, i, j])
            for i, j in product(range(k), repeat=2)
        )

    return Case(
        name=f"sac_convolution/{label(c, f, h, h)}k{k}",
        text="""
        float[.,.,.] convolution(float[c,h,w] a, float[f,c,p,q] weights) {
            return { [o,y,x] -> sum({ [n,i,j] -> a[n, y + i, x + j] * weights[o,n,i,j] })
                              | [o,y,x] < [f, h - p + 1, w - q + 1] };
        }""",
        make_arrays=lambda rng: normals(rng, (c, h, h), (f, c, k, k)),
        reference=reference,
        forms={"lax_conv": lax_conv, "lax_conv_nhwc": lax_conv_nhwc, "shifted_einsum": shifted_einsum},
        tolerance=1e-3,
    )


VCYCLE = (
    NEIGHBOURS
    + """
float[*] relaxed(float[d:shp] u, float[d:shp] f, int colour) {
    one = 0 * shp + 1;
    return { iv -> sum(iv) % 2 == colour ? (neighbours(u, iv, 0) + f[iv]) / tof(2 * d) : u[iv] | one <= iv < shp - one;
             iv -> u[iv] };
}
float[*] smoothed(float[*] u, float[*] f) { return relaxed(relaxed(u, f, 0), f, 1); }
float[*] residual(float[d:shp] u, float[d:shp] f) {
    one = 0 * shp + 1;
    return { iv -> f[iv] - tof(2 * d) * u[iv] + neighbours(u, iv, 0) | one <= iv < shp - one;
             iv -> 0.0 | iv < shp };
}
float nearness(int[.] ov) { return tof(prod(2 - abs(ov - 1))); }
float[*] restricted(float[d:shp] fine) {
    one = 0 * shp + 1;
    return { iv -> sum({ ov -> nearness(ov) * fine[2 * iv + ov - 1] | ov < 3 * one }) * 4.0 / tof(prod(4 * one))
                   | one <= iv < shp / 2;
             iv -> 0.0 | iv < shp / 2 + 1 };
}
float[*] spread(float[d:shp] coarse) {
    return { iv -> coarse[iv / 2] | 0 * shp <= iv < 2 * shp - 1 step 0 * shp + 2;
             iv -> 0.0            | iv < 2 * shp - 1 };
}
float[*] corrected(float[d:shp] u, float[d:shp] correction) {
    one = 0 * shp + 1;
    return { iv -> u[iv] + sum({ ov -> nearness(ov) * correction[iv + ov - 1] | ov < 3 * one }) / tof(prod(2 * one))
                   | one <= iv < shp - one;
             iv -> u[iv] };
}
float[*] coarse(float[*] u, float[*] f) {
    zero = genarray(shape(f), 0.0);
    return corrected(u, spread(vcycle(zero, f)));
}
float[*] vcycle(float[*] u, float[*] f) {
    v = smoothed(u, f);
    return shape(u)[0] == 3 ? v : smoothed(coarse(v, restricted(residual(v, f))), f);
}
"""
)


def vcycle(n: int) -> Case:
    """One V-cycle for Poisson's equation in three dimensions, with one sweep of two colours on each way (``h = 1``)."""

    def arrays(rng: np.random.Generator) -> Arrays:
        return tuple(np.pad(array, 1) for array in normals(rng, (n - 1,) * 3, (n - 1,) * 3))

    forms: dict[str, Form] = {
        "at_set": partial(_vcycle, jnp, lambda u, middle: u.at[INSIDE].set(middle), _stepped),
        "padded": partial(_vcycle, jnp, lambda u, middle: jnp.pad(middle, 1), _stepped),
        "padded_in_passes": partial(
            _vcycle, jnp, lambda u, middle: lax.optimization_barrier(jnp.pad(middle, 1)), _stepped
        ),
        "interleaved_in_passes": partial(
            _vcycle, jnp, lambda u, middle: lax.optimization_barrier(jnp.pad(middle, 1)), _interleaved
        ),
        "padded_interleaved": partial(_vcycle, jnp, lambda u, middle: jnp.pad(middle, 1), _interleaved),
    }
    return Case(
        name=f"sac_vcycle/{label(n, n, n)}",
        text=VCYCLE,
        compose=lambda library: library.vcycle,
        make_arrays=arrays,
        reference=partial(_vcycle, np, lambda u, middle: np.pad(middle, 1), _stepped),
        forms=forms,
        tolerance=1e-3,
    )


INSIDE = (slice(1, -1),) * 3


def _vcycle(xp, framed, interpolated, u, f):
    """By slices: `framed` puts an interior into the (zero) border of an array, `interpolated` doubles a grid."""
    places = sum(np.meshgrid(*(np.arange(1, extent - 1) for extent in u.shape), indexing="ij", sparse=True))

    def smoothed(u):
        for colour in (0, 1):
            u = framed(u, xp.where(places % 2 == colour, (_neighbours(u) + f[INSIDE]) / 6, u[INSIDE]))
        return u

    u = smoothed(u)
    if u.shape[0] == 3:
        return u
    residual = framed(xp.zeros_like(u), f[INSIDE] - 6 * u[INSIDE] + _neighbours(u))
    coarse = residual
    for axis in range(3):
        before, at, after = (_every_second(coarse, axis, start) for start in (1, 2, 3))
        coarse = (before + 2 * at + after) / 4
    coarse = xp.pad(4 * coarse, 1)
    correction = _vcycle(xp, framed, interpolated, xp.zeros_like(coarse), coarse)
    return smoothed(u + interpolated(xp, correction))


def _neighbours(u):
    """The sum of the two neighbours along each axis, where both exist."""
    total = 0
    for axis, extent in enumerate(u.shape):
        for start in (0, 2):
            place = [slice(1, -1)] * u.ndim
            place[axis] = slice(start, start + extent - 2)
            total = total + u[tuple(place)]
    return total


def _every_second(u, axis: int, start: int):
    return u[(slice(None),) * axis + (slice(start, u.shape[axis] - 3 + start, 2),)]


def _stepped(xp, coarse):
    """The grid of twice the density: the values at every second position, and their means between."""
    for axis in range(3):
        shape = list(coarse.shape)
        shape[axis] = 2 * shape[axis] - 1
        even, odd = ((slice(None),) * axis + (slice(start, None, 2),) for start in (0, 1))
        between = (_part(coarse, axis, slice(0, -1)) + _part(coarse, axis, slice(1, None))) / 2
        fine = xp.zeros(shape, coarse.dtype)
        if xp is np:
            fine[even], fine[odd] = coarse, between
        else:
            fine = fine.at[even].set(coarse).at[odd].set(between)
        coarse = fine
    return coarse


def _interleaved(xp, coarse):
    """The same by stacking values and the means after them."""
    for axis in range(3):
        following = xp.concatenate([_part(coarse, axis, slice(1, None)), _part(coarse, axis, slice(-1, None))], axis)
        pairs = xp.stack([coarse, (coarse + following) / 2], axis + 1)
        shape = list(coarse.shape)
        shape[axis] *= 2
        coarse = _part(pairs.reshape(shape), axis, slice(0, -1))
    return coarse


def _part(u, axis: int, piece: slice):
    return u[(slice(None),) * axis + (piece,)]
