"""Hand-written gradients of the kernel table, where they beat JAX's derivative of the fastest forward form.

Each function takes the arrays of a case and a weight for each element of its results; it gives the results, and the
derivative of their weighted sum with respect to each float array.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax

from .blocks import lanes
from .case import Form
from .pairwise import nearest_by_lanes


def max_pool(k: int) -> dict[str, Form]:
    """For adjacent windows: each element is compared with the maximum of its window."""

    def compared(I, w):
        n, c, h, _ = I.shape
        blocks = I.reshape(n, c, h // k, k, h // k, k)
        O = blocks.max((3, 5))
        O = lax.optimization_barrier(O)
        there = blocks == O[:, :, :, None, :, None]
        return O, jnp.where(there, w[:, :, :, None, :, None], 0).reshape(I.shape)

    def repeated(I, w):
        O = _largest(I, k)
        wide_O, wide_w = (jnp.repeat(jnp.repeat(a, k, 2), k, 3) for a in (O, w))
        return O, jnp.where(wide_O == I, wide_w, 0)

    def interleaved(I, w):
        O = _largest(I, k)
        parts = [[jnp.where(I[:, :, i::k, j::k] == O, w, 0) for j in range(k)] for i in range(k)]
        rows = [jnp.stack(row, axis=-1).reshape(*w.shape[:3], -1) for row in parts]
        return O, jnp.stack(rows, axis=3).reshape(I.shape)

    return {"compared": compared, "repeated": repeated, "interleaved": interleaved}


def _largest(I, k: int):
    largest = I[:, :, ::k, ::k]
    for i in range(k):
        for j in range(k):
            other = I[:, :, i::k, j::k]
            largest = jnp.where(other > largest, other, largest)
    return largest


def max_pool_place(k: int) -> dict[str, Form]:
    """The same with the positions of the maxima, to which the weights go."""

    def selected(I):
        largest, place = I[:, :, ::k, ::k], jnp.zeros((), jnp.int32)
        for q in range(1, k * k):
            other = I[:, :, q // k :: k, q % k :: k]
            higher = other > largest
            largest, place = jnp.where(higher, other, largest), jnp.where(higher, q, place)
        return largest, place

    def by_place(I, w):
        n, c, h, _ = I.shape
        largest, place = selected(I)
        here = jnp.arange(k * k, dtype=jnp.int32).reshape(k, 1, k)
        there = place[:, :, :, None, :, None] == here
        return largest, place, jnp.where(there, w[:, :, :, None, :, None], 0).reshape(n, c, h, -1)

    def compared(I, w):
        largest, place = selected(I)
        blocks = I.reshape(*w.shape[:3], k, w.shape[3], k)
        there = blocks == largest[:, :, :, None, :, None]
        return largest, place, jnp.where(there, w[:, :, :, None, :, None], 0).reshape(I.shape)

    return {"by_place": by_place, "compared": compared}


def average_pool(h: int, k: int, s: int) -> dict[str, Form]:
    """Every element gets the weights of the windows that it is in, by the remainder of its position."""

    def forward(I):
        size = (h - k) // s + 1
        slices = [I[:, :, a : a + s * size : s, b : b + s * size : s] for a in range(k) for b in range(k)]
        return sum(part[:, :, :size, :size] for part in slices) / (k * k)

    def spread(w, axis: int):
        long = -(-h // s)
        parts = []
        for rest in range(s):
            shifts = range((k - 1 - rest) // s + 1)
            padding = [(0, 0, 0)] * w.ndim
            terms = []
            for t in shifts:
                padding[axis] = (t, long - w.shape[axis] - t, 0)
                terms.append(lax.pad(w, jnp.zeros((), w.dtype), padding))
            parts.append(sum(terms))
        shape = list(w.shape)
        shape[axis] = long * s
        return lax.slice_in_dim(jnp.stack(parts, axis + 1).reshape(shape), 0, h, axis=axis)

    def rows_and_columns(I, w):
        return forward(I), spread(spread(w / (k * k), 2), 3)

    def columns_and_rows(I, w):
        return forward(I), spread(spread(w / (k * k), 3), 2)

    def stored_rows(I, w):
        return forward(I), spread(lax.optimization_barrier(spread(w / (k * k), 3)), 2)

    def pad_columns(w):
        zero = jnp.zeros((), w.dtype)
        size = w.shape[3]
        wide = [lax.pad(w, zero, [(0, 0, 0)] * 3 + [(q, h - q - s * (size - 1) - 1, s - 1)]) for q in range(k)]
        return sum(wide)

    def padded_columns(I, w):
        return forward(I), spread(lax.optimization_barrier(pad_columns(w / (k * k))), 2)

    return {
        "rows_and_columns": rows_and_columns,
        "columns_and_rows": columns_and_rows,
        "stored_rows": stored_rows,
        "padded_columns": padded_columns,
    }


def jacobi() -> dict[str, Form]:
    """The stencil of the weights with zeros around them."""

    def stencil(A, w):
        n = A.shape[0]
        B = 0.2 * (A[1:-1, 1:-1] + A[:-2, 1:-1] + A[2:, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:])
        P = jnp.pad(w, 2)
        cross = ((1, 1), (0, 1), (2, 1), (1, 0), (1, 2))
        return B, 0.2 * sum(P[a : a + n, b : b + n] for a, b in cross)

    return {"stencil": stencil}


def blur(k: int) -> dict[str, Form]:
    """The blur of the weights by the flipped kernel, and a sum for each element of the kernel."""

    def forward(A, K):
        size = A.shape[0] - k + 1
        return sum(A[y : y + size, x : x + size] * K[y, x] for y in range(k) for x in range(k))

    def turned(A, K, w):
        n = A.shape[0]
        P = jnp.pad(w, k - 1)
        return sum(
            P[k - 1 - y : k - 1 - y + n, k - 1 - x : k - 1 - x + n] * K[y, x] for y in range(k) for x in range(k)
        )

    def sums(A, K, w):
        size = A.shape[0] - k + 1
        parts = [(A[y : y + size, x : x + size] * w).sum() for y in range(k) for x in range(k)]
        return forward(A, K), turned(A, K, w), jnp.stack(parts).reshape(k, k)

    def row_sums(A, K, w):
        """Products of the shifts of a row, summed over all rows by one product of matrices each."""
        size = A.shape[0] - k + 1
        rows = [[(A[y : y + size, x : x + size] * w).sum(0) for x in range(k)] for y in range(k)]
        return forward(A, K), turned(A, K, w), jnp.stack([jnp.stack(row) for row in rows]).sum(2)

    def column_products(A, K, w):
        """The diagonals of a matrix product for each vertical shift, some columns at a time."""
        size = A.shape[0] - k + 1
        width = 32 if size >= 32 else size
        count = -(-size // width)
        left = jnp.pad(w, [(0, 0), (0, count * width - size)]).reshape(size, count, width)
        wide = jnp.pad(A, [(0, 0), (0, count * width + k - 1 - A.shape[1])])
        right = jnp.stack([wide[:, b * width : b * width + width + k - 1] for b in range(count)], axis=1)
        found = []
        for y in range(k):
            product = jnp.einsum("rbi,rbj->ij", left, right[y : y + size])
            found.append(jnp.stack([jnp.diagonal(product, x).sum() for x in range(k)]))
        return forward(A, K), turned(A, K, w), jnp.stack(found)

    return {"sums": sums, "row_sums": row_sums, "column_products": column_products}


def grouped_convolution(c: int, f: int, k: int) -> dict[str, Form]:
    """Sums of shifts for the image, and a product for each tap of the kernel."""

    def taps(I):
        size = I.shape[3] - k + 1
        return [(y, x, I[..., y : y + size, x : x + size]) for y in range(k) for x in range(k)]

    def forward(I, W, B):
        total = B[None, :, :, None, None]
        for y, x, part in taps(I):
            for i in range(c):
                total = total + part[:, :, i, None] * W[None, :, :, i, y, x, None, None]
        return total

    def image(W, w):
        P = jnp.pad(w, [(0, 0)] * 3 + [(k - 1, k - 1)] * 2)
        size = P.shape[3] - k + 1
        total = 0.0
        for y in range(k):
            for x in range(k):
                part = P[..., k - 1 - y : k - 1 - y + size, k - 1 - x : k - 1 - x + size]
                for o in range(f):
                    total = total + part[:, :, o, None] * W[None, :, o, :, y, x, None, None]
        return total

    def with_kernel(kernel: Form) -> Form:
        return lambda I, W, B, w: (forward(I, W, B), image(W, w), kernel(I, w), w.sum((0, 3, 4)))

    def products(I, w):
        parts = [jnp.einsum("ngfhw,ngchw->gfc", w, part) for _, _, part in taps(I)]
        return jnp.stack(parts, axis=-1).reshape(*parts[0].shape, k, k)

    def one_product(I, w):
        rows = jnp.stack([part for _, _, part in taps(I)], axis=3)
        found = jnp.einsum("ngfhw,ngckhw->gfck", w, rows)
        return found.reshape(*found.shape[:3], k, k)

    def sums(I, w):
        parts = [(w[:, :, :, None] * part[:, :, None]).sum((0, 4, 5)) for _, _, part in taps(I)]
        return jnp.stack(parts, axis=-1).reshape(*parts[0].shape, k, k)

    def batched_products(I, w):
        """A product for each image and group, summed over the images."""
        flat = w.reshape(*w.shape[:3], -1)
        parts = [jnp.einsum("ngfp,ngcp->ngfc", flat, part.reshape(*part.shape[:3], -1)) for _, _, part in taps(I)]
        parts = [part.sum(0) for part in parts]
        return jnp.stack(parts, axis=-1).reshape(*parts[0].shape, k, k)

    kernels = {"products": products, "one_product": one_product, "sums": sums, "batched_products": batched_products}
    return {f"by_hand_{name}": with_kernel(kernel) for name, kernel in kernels.items()}


def bag() -> dict[str, Form]:
    """The weights added to rows of a table, one position of all bags at a time or all at once."""

    def forward(T, I):
        return sum(T.at[I[:, l]].get(mode="promise_in_bounds") for l in range(I.shape[1]))

    def in_turn(T, I, w):
        table = jnp.zeros_like(T)
        for l in range(I.shape[1]):
            table = table.at[I[:, l]].add(w, mode="promise_in_bounds")
        return forward(T, I), table

    def scanned(T, I, w):
        add = lambda table, places: (table.at[places].add(w, mode="promise_in_bounds"), None)  # noqa: E731
        return forward(T, I), lax.scan(add, jnp.zeros_like(T), I.T)[0]

    def at_once(T, I, w):
        rows = jnp.broadcast_to(w[:, None], (*I.shape, w.shape[1]))
        return forward(T, I), jnp.zeros_like(T).at[I].add(rows, mode="promise_in_bounds")

    return {"in_turn": in_turn, "scanned": scanned, "at_once": at_once}


def shifted_rows(n: int, j: int, k: int, rows: int) -> dict[str, Form]:
    """Every row gets the weights of the parts that it is in: slices of the weights with zeros around them."""

    def forward(X, shift):
        return jax.vmap(lambda s: lax.dynamic_slice(X, (s, 0), (n, k)), out_axes=1)(shift)

    def slices(X, shift, w):
        P = jnp.pad(w, [(rows - n, rows - n), (0, 0), (0, 0)])
        parts = [lax.dynamic_slice(P, (rows - n - shift[q], q, 0), (rows, 1, k))[:, 0] for q in range(j)]
        return forward(X, shift), sum(parts)

    def updates(X, shift, w):
        total = jnp.zeros((rows, k), w.dtype)
        for q in range(j):
            there = lax.dynamic_slice(total, (shift[q], 0), (n, k))
            total = lax.dynamic_update_slice(total, there + w[:, q], (shift[q], 0))
        return forward(X, shift), total

    def scanned(X, shift, w):
        def add(total, part):
            first, weight = part
            there = lax.dynamic_slice(total, (first, 0), (n, k))
            return lax.dynamic_update_slice(total, there + weight, (first, 0)), None

        return forward(X, shift), lax.scan(add, jnp.zeros((rows, k), w.dtype), (shift, w.transpose(1, 0, 2)))[0]

    def scattered(X, shift, w):
        places = jnp.arange(n)[:, None] + shift
        return forward(X, shift), jnp.zeros((rows, k), w.dtype).at[places].add(w, mode="promise_in_bounds")

    return {"slices": slices, "updates": updates, "scanned": scanned, "scattered": scattered}


def shifted_row_sum(n: int, j: int, k: int, rows: int) -> dict[str, Form]:
    """The same sum of shifts for the matrix, and a dot product for each shift."""

    def forward(X, shift, w):
        return sum(w[q] * lax.dynamic_slice(X, (shift[q], 0), (n, k)) for q in range(j))

    def matrix(shift, w, d):
        P = jnp.pad(d, [(rows - n, rows - n), (0, 0)])
        return sum(w[q] * lax.dynamic_slice(P, (rows - n - shift[q], 0), (rows, k)) for q in range(j))

    def dots(X, shift, w, d):
        parts = [(lax.dynamic_slice(X, (shift[q], 0), (n, k)) * d).sum() for q in range(j)]
        return forward(X, shift, w), matrix(shift, w, d), jnp.stack(parts)

    def scanned_dots(X, shift, w, d):
        parts = lax.map(lambda s: (lax.dynamic_slice(X, (s, 0), (n, k)) * d).sum(), shift)
        return forward(X, shift, w), matrix(shift, w, d), parts

    def row_dots(X, shift, w, d):
        """Sums over the rows first, which are vectors."""
        parts = [(lax.dynamic_slice(X, (shift[q], 0), (n, k)) * d).sum(0) for q in range(j)]
        return forward(X, shift, w), matrix(shift, w, d), jnp.stack(parts).sum(1)

    def vector_dots(X, shift, w, d):
        parts = [jnp.vdot(lax.dynamic_slice(X, (shift[q], 0), (n, k)), d) for q in range(j)]
        return forward(X, shift, w), matrix(shift, w, d), jnp.stack(parts)

    return {"dots": dots, "scanned_dots": scanned_dots, "row_dots": row_dots, "vector_dots": vector_dots}


def nearest() -> dict[str, Form]:
    """The derivative needs only the position of the nearest point."""

    def by_place(x, y, w):
        least, place = nearest_by_lanes(x, y)
        moved = 2 * w[:, None] * (x - y[place])
        return least, moved, jnp.zeros_like(y).at[place].add(-moved)

    def by_column(x, y, w):
        least, place = nearest_by_lanes(x, y)
        moved = [2 * w * (a - b[place]) for a, b in zip(x.T, y.T, strict=True)]
        back = [jnp.zeros(y.shape[0], y.dtype).at[place].add(-a) for a in moved]
        return least, jnp.stack(moved, axis=1), jnp.stack(back, axis=1)

    return {"by_place": by_place, "by_column": by_column}


def kernel_sum(d: int) -> dict[str, Form]:
    """One pass over the pairs for x, and one for y and b."""

    def step(accumulators, first, xs, ys):
        *ys, b = ys
        apart = [x - y for x, y in zip(xs, ys, strict=True)]
        value = jnp.exp(-sum(a * a for a in apart)) * b
        total, *moved = accumulators
        return (total + value, *(more + value * a for more, a in zip(moved, apart, strict=True)))

    def two_passes(shapes: Sequence[tuple[int, int]]) -> Form:
        sums = lanes(
            step,
            (0.0,) * (d + 1),
            lambda total, *moved: (total.sum(0), jnp.stack([more.sum(0) for more in moved], axis=1)),
            shapes=shapes,
        )

        def both(x, y, b, w):
            total, moved = sums(x, y, b)
            d_b, back = sums(y, x, w)
            return total, -2 * w[:, None] * moved, -2 * b[:, None] * back, d_b

        return both

    return {
        "two_passes": two_passes(((32, 8), (50, 4))),
        "two_passes_of_few_rows": two_passes(((16, 8), (10, 8))),
        "two_passes_of_eight": two_passes(((8, 16), (8, 10))),
    }


def min_plus() -> dict[str, Form]:
    """The position of each minimum, and the weights added there."""

    def by_place(a, b, w):
        (m, k), n = a.shape, b.shape[1]
        times = 16 if k % 16 == 0 else 1
        rows = a.T

        def trip(t, carry):
            least, place, seed = carry
            seed = seed @ seed  # As in `blocks.lanes`.
            base = (t + seed[0, 0].astype(jnp.int32)) * times
            parts = lax.optimization_barrier([lax.dynamic_slice_in_dim(whole, base, times) for whole in (rows, b)])
            for u in range(times):
                value = parts[0][u][:, None] + parts[1][u][None]
                less = value < least
                least, place = jnp.where(less, value, least), jnp.where(less, base + u, place)
            return least, place, seed

        start = jnp.full((m, n), jnp.inf, a.dtype), jnp.zeros((m, n), jnp.int32), jnp.zeros((16, 16), jnp.float32)
        least, place, _ = lax.fori_loop(0, k // times, trip, start)
        d_a = jnp.zeros_like(a).at[jnp.arange(m)[:, None], place].add(w, mode="promise_in_bounds")
        d_b = jnp.zeros_like(b).at[place, jnp.arange(n)].add(w, mode="promise_in_bounds")
        return least, d_a, d_b

    return {"by_place": by_place}


def log_sum_exp() -> dict[str, Form]:
    """The softmax times the weights."""

    def softmax(I, w):
        O = jax.nn.logsumexp(I, axis=1)
        return O, w[:, None] * jnp.exp(I - O[:, None])

    def kept(I, w):
        m = I.max(1, keepdims=True)
        e = jnp.exp(I - m)
        s = e.sum(1)
        return jnp.log(s) + m[:, 0], e * (w / s)[:, None]

    return {"softmax": softmax, "kept": kept}


def softmax() -> dict[str, Form]:
    """The weights minus their mean under the softmax, times the softmax."""

    def centred(I, w):
        O = jax.nn.softmax(I, axis=1)
        return O, O * (w - (w * O).sum(1, keepdims=True))

    return {"centred": centred}


def layer_norm(epsilon: float) -> dict[str, Form]:
    """Two means of each row, and two sums over all of them."""

    def textbook(one_pass: bool) -> Form:
        def both(I, g, b, w):
            mean = I.mean(1, keepdims=True)
            var = (I * I).mean(1, keepdims=True) - mean * mean if one_pass else I.var(1, keepdims=True)
            scale = lax.rsqrt(var + epsilon)
            normal = (I - mean) * scale
            d = w * g
            d_I = scale * (d - d.mean(1, keepdims=True) - normal * (d * normal).mean(1, keepdims=True))
            return normal * g + b, d_I, (w * normal).sum(0), w.sum(0)

        return both

    def products(I, g, b, w):
        """The sums over a row are products with a vector; nothing as large as the matrix is stored."""
        k = I.shape[1]
        mean = I.mean(1, keepdims=True)
        scale = lax.rsqrt((I * I).mean(1, keepdims=True) - mean * mean + epsilon)
        mean, scale = lax.optimization_barrier((mean, scale))
        normal = (I - mean) * scale
        means = (w @ g)[:, None] / k, ((w * normal) @ g)[:, None] / k
        first, second = lax.optimization_barrier(means)
        d_I = scale * (w * g - first - normal * second)
        return normal * g + b, d_I, (w * normal).sum(0), w.sum(0)

    return {"textbook": textbook(False), "textbook_mean_of_squares": textbook(True), "products": products}


def moments(axis: int) -> dict[str, Form]:
    """The derivative needs only the distance from the mean."""

    def centred(I, d_mean, d_var):
        k = I.shape[axis]
        mean, var = I.mean(axis), I.var(axis)
        mean_, d_mean, d_var = (jnp.expand_dims(a, axis) for a in (mean, d_mean, d_var))
        return mean, var, d_mean / k + d_var * (2 / k) * (I - mean_)

    return {"centred": centred}


def mttkrp() -> dict[str, Form]:
    """Matrix products with the rows of both factors, which are stored."""

    def products(T, B, C, w):
        i, j, k = T.shape
        rows = (B[:, None, :] * C[None]).reshape(j * k, -1)
        d_rows = (T.reshape(i, -1).T @ w).reshape(j, k, -1)
        d_B, d_C = (d_rows * C[None]).sum(1), (d_rows * B[:, None]).sum(0)
        return T.reshape(i, -1) @ rows, (w @ rows.T).reshape(T.shape), d_B, d_C

    return {"products": products}
