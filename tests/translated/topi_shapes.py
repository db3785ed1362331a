"""Operators of TVM's library that move elements: gathers, scatters, slices, padding, sorting, scans."""

import numpy as np

import tcjax
from tests.translated.case import Array, integers, normal, one, uniform


def dilated(x: Array) -> Array:
    out = np.full((2 * len(x) - 1, 3 * x.shape[1] - 2), 0.5)
    out[::2, ::3] = x
    return out


@tcjax.kernel
def dilate(x: "float(H,W)"):
    for i in range(2 * H - 1):
        for j in range(3 * W - 2):
            y[i, j] = x[i // 2, j // 3] if i % 2 == 0 and j % 3 == 0 else 0.5
    return y


def space_to_batch(x: Array) -> Array:
    n, H, W, C = x.shape
    return x.reshape(n, H // 2, 2, W // 3, 3, C).transpose(2, 4, 0, 1, 3, 5).reshape(6 * n, H // 2, W // 3, C)


def depth_to_space(x: Array) -> Array:
    n, C, H, W = x.shape
    return x.reshape(n, C // 4, 2, 2, H, W).transpose(0, 1, 4, 2, 5, 3).reshape(n, C // 4, 2 * H, 2 * W)


@tcjax.kernel
def pixel_shuffle(x: "float(N,C,H,W)"):
    for c in range(C // 4):
        for i in range(2 * H):
            for j in range(2 * W):
                y[n, c, i, j] = x[n, 4 * c + 2 * (i % 2) + j % 2, i // 2, j // 2]
    return y


def gather_nd(x: Array, at: Array) -> Array:
    return x[at[0], at[1]]


def scatter_nd(x: Array, at: Array, values: Array) -> Array:
    np.add.at(x, (at[0], at[1]), values)
    return x


SCATTER_ND = """
def scatter_nd(float(H,W) x, int32(2,N) at, float(N) values) -> (float(H,W) y) {
    y(i,j) = x(i,j)
    y(at(0,n), at(1,n)) += values(n)
}"""


@tcjax.kernel
def scattered(x: "float(H,W)", at: "int32(2,N)", values: "float(N)"):
    y[i, j] = x[i, j]
    for n in range(N):
        y[at[0, n], at[1, n]] += values[n]
    return y


def scatter_elements(x: Array, at: Array, values: Array) -> Array:
    for i in range(at.shape[0]):
        for j in range(at.shape[1]):
            x[at[i, j], j] = max(x[at[i, j], j], values[i, j])
    return x


def reverse_sequence(x: Array, lengths: Array) -> Array:
    for b, n in enumerate(lengths):
        x[:n, b] = x[:n, b][::-1]
    return x


@tcjax.kernel
def reversed_sequences(x: "float(T,B,D)", lengths: "int32(B)"):
    for t in range(T):
        y[t, b, d] = x[lengths[b] - 1 - t if t < lengths[b] else t, b, d]
    return y


def sequence_mask(x: Array, lengths: Array) -> Array:
    for b, n in enumerate(lengths):
        x[n:, b] = -1.0
    return x


def strided_slice(x: Array) -> Array:
    return x[5:1:-2, 1:7:3]


def mirrored(x: Array) -> Array:
    return np.pad(np.pad(x, [(2, 1), (0, 0)], mode="symmetric"), [(0, 0), (1, 3)], mode="reflect")


@tcjax.kernel
def mirror_pad(x: "float(H,W)"):
    for i in range(-2, H + 1):
        for j in range(-1, W + 3):
            y[i, j] = x[mirror(i), reflect(j)]
    return y


def concatenated(a: Array, b: Array, c: Array) -> Array:
    return np.concatenate([a, b, c], 1)


CONCATENATE = """
def concatenate(float(N,A) a, float(N,B) b, float(N,C) c) -> (y) {
    y(n,i) = i < A ? a(n,i) : (i < A + B ? b(n,i-A) : c(n,i-A-B)) where i in 0:A+B+C
}"""

CONCATENATE_BY_WRITES = """
def concatenate(float(N,A) a, float(N,B) b, float(N,C) c) -> (float(N,M) y) {
    y(n,i) = a(n,i) where i in 0:A
    y(n,A+i) = b(n,i)
    y(n,A+B+i) = c(n,i)
}"""


@tcjax.kernel
def stacked(a: "float(N)", b: "float(N)"):
    for s in range(2):
        y[i, s] = a[i] if s == 0 else b[i]
    return y


def unravelled(i: Array) -> Array:
    return np.stack(np.unravel_index(i, (3, 4, 5))).astype(np.int32)


UNRAVEL = """
def unravel(int32(N) i) -> (int32(3,N) at) {
    at(0,n) = i(n) / 20
    at(1,n) = i(n) / 5 % 4
    at(2,n) = i(n) % 5
}"""


def ranked(x: Array) -> Array:
    return np.argsort(x, 1, kind="stable").astype(np.int32)


RANKED = """
def argsort(float(N,D) x) -> (int32(N,D) at) {
    rank(n,i) = sum[j](int32(x(n,j) < x(n,i) || x(n,j) == x(n,i) && j < i))
    at(n,rank(n,i)) = int32(i) where unique rank(n,i)
}"""


def non_maximum(boxes: Array, scores: Array) -> Array:
    order = np.argsort(-scores)
    kept = np.ones(len(boxes), bool)
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    for p, i in enumerate(order):
        for j in order[p + 1 :]:
            if kept[i]:
                w = min(boxes[i, 2], boxes[j, 2]) - max(boxes[i, 0], boxes[j, 0])
                h = min(boxes[i, 3], boxes[j, 3]) - max(boxes[i, 1], boxes[j, 1])
                inter = max(w, 0) * max(h, 0)
                kept[j] &= inter / (area[i] + area[j] - inter) <= 0.3
    return kept


NON_MAXIMUM = """
def nms(float(N,4) boxes, float(N) scores) -> (out) {
    area(i) = (boxes(i,2) - boxes(i,0)) * (boxes(i,3) - boxes(i,1))
    w(i,j) = max(min(boxes(i,2), boxes(j,2)) - max(boxes(i,0), boxes(j,0)), 0)
    h(i,j) = max(min(boxes(i,3), boxes(j,3)) - max(boxes(i,1), boxes(j,1)), 0)
    iou(i,j) = w(i,j) * h(i,j) / (area(i) + area(j) - w(i,j) * h(i,j))
    order(r) = argmaxk[i](scores(i), r) where r in 0:N
    alive(i) = i >= 0 where i in 0:N
    for r in 0:N {
        p() = order(r)
        hit(j) = alive(p()) && iou(p(),j) > 0.3 && (scores(j) < scores(p()))
        alive(j) = alive(j) && !hit(j)
    }
    out(i) = alive(i)
}"""


def searched(edges: Array, x: Array) -> Array:
    return np.searchsorted(edges, x).astype(np.int32)


def sparse_to_dense(at: Array, values: Array) -> Array:
    out = np.full((4, 5), -1.0)
    out[at[:, 0], at[:, 1]] = values
    return out


SPARSE_TO_DENSE = """
def dense(int32(N,2) at, float(N) values) -> (float(4,5) y) {
    y(i,j) = -1.0
    y(at(n,0), at(n,1)) = values(n) where unique at(n,0), unique at(n,1)
}"""

GATHERS = (
    one(
        "topi_gather_nd",
        "y(n) = x(at(0,n), at(1,n))",
        gather_nd,
        {"x": normal(3, 4), "at": integers(2, 5, high=3)},
        "x",
    ),
    one(
        "topi_gather",
        "y(i,j) = x(i, at(i,j))",
        lambda x, at: np.take_along_axis(x, at, 1),
        {"x": normal(3, 5), "at": integers(3, 2, high=5)},
        "x",
    ),
    one(
        "topi_take_wrapped",
        "y(i,n,j) = x(i, wrap(at(n)), j)",
        lambda x, at: np.take(x, at, 1, mode="wrap"),
        {"x": normal(2, 4, 3), "at": integers(6, low=-5, high=9)},
        "x",
    ),
    one(
        "topi_scatter_nd",
        SCATTER_ND,
        scatter_nd,
        {"x": normal(3, 4), "at": integers(2, 7, high=3), "values": normal(7)},
        "x values",
        python=scattered,
    ),
    one(
        "topi_scatter_elements",
        "def scatter(float(H,W) x, int32(N,W) at, float(N,W) v) -> (y) { y(i,j) = x(i,j)  y(at(n,j),j) max= v(n,j) }",
        lambda x, at, v: scatter_elements(x, at, v),
        {"x": normal(3, 4), "at": integers(5, 4, high=3), "v": normal(5, 4)},
        "x v",
    ),
    one(
        "topi_one_hot",
        "y(n,k) = k == at(n) ? 2.0 : -1.0 where k in 0:5",
        lambda at: np.where(np.eye(5)[at] > 0, 2.0, -1.0),
        {"at": integers(6, high=5)},
    ),
    one(
        "topi_sparse_to_dense",
        SPARSE_TO_DENSE,
        sparse_to_dense,
        {"at": np.array([(0, 1), (3, 4), (2, 2)], np.int32), "values": normal(3)},
        "values",
    ),
    one(
        "topi_embedding_gradient",
        "def g(int32(N) at, float(N,D) dy) -> (float(V,D) dw) { dw(at(n),d) +=! dy(n,d) }",
        lambda at, dy: np.stack([dy[at == v].sum(0) for v in range(4)]),
        {"at": integers(6, high=4), "dy": normal(6, 3)},
        "dy",
        sizes={"V": 4},
    ),
)

SHAPES = (
    one(
        "topi_dilate",
        "def dilate(float(H,W) x) -> (y) { y(i,j) = 0.5 where i in 0:2*H-1, j in 0:3*W-2  y(2*i,3*j) = x(i,j) }",
        dilated,
        {"x": normal(3, 2)},
        "x",
        python=dilate,
    ),
    one(
        "topi_space_to_batch",
        "def f(float(N,H,W,C) x) -> (y) { y((a*3 + b)*N + n, i, j, c) = x(n, 2*i + a, 3*j + b, c)"
        " where a in 0:2, b in 0:3 }",
        space_to_batch,
        {"x": normal(2, 4, 6, 2)},
        "x",
    ),
    one(
        "topi_depth_to_space",
        "y(n,c,2*i+a,2*j+b) = x(n,4*c+2*a+b,i,j) where a in 0:2, b in 0:2",
        depth_to_space,
        {"x": normal(2, 8, 2, 3)},
        "x",
        python=pixel_shuffle,
    ),
    one(
        "topi_reverse_sequence",
        "y(t,b,d) = x(t < lengths(b) ? lengths(b) - 1 - t : t, b, d) where t in 0:x.0",
        lambda x, lengths: reverse_sequence(x, lengths),
        {"x": normal(5, 3, 2), "lengths": np.array([5, 2, 3], np.int32)},
        "x",
        python=reversed_sequences,
    ),
    one(
        "topi_sequence_mask",
        "def mask(x, int32(B) lengths) -> (y) { y(t,b) = t < lengths(b) ? x(t,b) : -1.0 }",
        lambda x, lengths: sequence_mask(x, lengths),
        {"x": normal(5, 3), "lengths": np.array([5, 2, 0], np.int32)},
        "x",
    ),
    one(
        "topi_strided_slice",
        "y(i,j) = x(5 - 2*i, 1 + 3*j) where i in 0:2, j in 0:2",
        strided_slice,
        {"x": normal(7, 8)},
        "x",
    ),
    one(
        "topi_mirror_pad",
        "def f(float(H,W) x) -> (y) { y(i,j) = x(mirror(i-2),reflect(j-1)) where i in 0:H+3, j in 0:W+4 }",
        mirrored,
        {"x": normal(3, 4)},
        "x",
        python=mirror_pad,
    ),
    one(
        "topi_tile",
        "def f(float(H,W) x) -> (y) { y(i,j) = x(i % H, j % W) where i in 0:2*H, j in 0:3*W }",
        lambda x: np.tile(x, (2, 3)),
        {"x": normal(2, 3)},
        "x",
    ),
    one("topi_repeat", "y(i,j) = x(i, j/3)", lambda x: x.repeat(3, 1), {"x": normal(2, 3)}, "x"),
    one(
        "topi_roll",
        "def f(float(H,W) x) -> (float(H,W) y) { y(wrap(i+2),wrap(j-1)) +=! x(i,j) where i in 0:H, j in 0:W }",
        lambda x: np.roll(x, (2, -1), (0, 1)),
        {"x": normal(4, 5)},
        "x",
    ),
    one("topi_trilu", "y(n,i,j) = j - i <= 1 ? x(n,i,j) : 0.0", lambda x: np.tril(x, 1), {"x": normal(2, 4, 5)}, "x"),
    one(
        "topi_concatenate",
        CONCATENATE,
        concatenated,
        {"a": normal(2, 3), "b": normal(2, 1), "c": normal(2, 4)},
        "a b c",
    ),
    one(
        "topi_concatenate_by_writes",
        CONCATENATE_BY_WRITES,
        concatenated,
        {"a": normal(2, 3), "b": normal(2, 1), "c": normal(2, 4)},
        "a b c",
        sizes={"M": 8},
    ),
    one("topi_stack", stacked, lambda a, b: np.stack([a, b], 1), {"a": normal(3), "b": normal(3, seed=1)}, "a b"),
    one(
        "topi_matrix_set_diag",
        "y(n,i,j) = j == i + 1 ? d(n,i) : x(n,i,j)",
        lambda d, x: np.where(np.eye(4, 5, 1) > 0, d[:, :, None], x),
        {"d": normal(2, 4), "x": normal(2, 4, 5)},
        "d x",
    ),
    one("topi_unravel_index", UNRAVEL, unravelled, {"i": integers(6, high=60)}),
    one(
        "topi_batch_to_space",
        "def f(float(B,H,W) x) -> (y) { y(n,i,j) = x((i+1)%2*(B/2) + n, (i+1)/2, j) where n in 0:B/2, i in 0:2*H-1 }",
        lambda x: x.reshape(2, 2, 3, 2).transpose(1, 2, 0, 3).reshape(2, 6, 2)[:, 1:],
        {"x": normal(4, 3, 2)},
        "x",
    ),
    one(
        "topi_layout_transform",
        "y(n,C,h,w,c) = x(n,4*C+c,h,w) where c in 0:4",
        lambda x: x.reshape(2, 2, 4, 3, 2).transpose(0, 1, 3, 4, 2),
        {"x": normal(2, 8, 3, 2)},
        "x",
    ),
    one(
        "topi_broadcast",
        "y(...,j) = a(...,j) * b(...,j) + c(j)",
        lambda a, b, c: a * b + c,
        {"a": normal(3, 1, 4), "b": normal(2, 4), "c": normal(4)},
        "a b c",
    ),
    one(
        "topi_meshgrid",
        "def f(a, b) -> (x, y) { x(i,j) = a(j) where i in 0:b.0  y(i,j) = b(i) where j in 0:a.0 }",
        lambda a, b: tuple(np.meshgrid(a, b)),
        {"a": normal(3), "b": normal(4)},
        "a b",
    ),
)

ORDER = (
    one(
        "topi_cumsum_exclusive",
        "y(n,i) = sum[j where j < i](x(n,j)) where i in 0:x.1",
        lambda x: np.cumsum(x, 1) - x,
        {"x": normal(2, 6)},
        "x",
    ),
    one(
        "topi_cumprod",
        "y(i) = prod[j where j <= i](x(j)) where i in 0:x.0",
        lambda x: np.cumprod(x),
        {"x": uniform(6, low=0.5, high=1.5)},
        "x",
    ),
    one(
        "topi_cummax_reversed",
        "y(i) = max[j where j >= i](x(j)) where i in 0:x.0",
        lambda x: np.maximum.accumulate(x[::-1])[::-1],
        {"x": normal(7)},
        "x",
    ),
    one(
        "topi_topk",
        "def topk(x) -> (v, at) { v(n,r) = maxk[i](x(n,i), r) where r in 0:3  at(n,r) = argmaxk[i](x(n,i), r)"
        " where r in 0:3 }",
        lambda x: (-np.sort(-x, 1)[:, :3], np.argsort(-x, 1)[:, :3]),
        {"x": normal(3, 7)},
        "",
    ),
    one("topi_sort", "y(n,r) = mink[i](x(n,i), r) where r in 0:x.1", lambda x: np.sort(x, 1), {"x": normal(2, 6)}, "x"),
    one("topi_argsort", RANKED, ranked, {"x": normal(2, 6)}),
    one(
        "topi_searchsorted",
        "y(n) = sum[k](int32(edges(k) < x(n)))",
        lambda edges, x: searched(edges, x),
        {"edges": np.array([-1.0, -0.5, 0.0, 1.5]), "x": normal(6)},
    ),
    one(
        "topi_nms",
        NON_MAXIMUM,
        lambda boxes, scores: non_maximum(boxes, scores),
        {"boxes": np.concatenate([uniform(8, 2), 1 + uniform(8, 2, seed=1)], 1), "scores": uniform(8)},
    ),
    one(
        "topi_argmin_of_all",
        "def f(float(H,W) x) -> (y) { y argmin=! x(i,j) }",
        lambda x: np.array(x.argmin(), np.int32),
        {"x": normal(3, 4)},
    ),
    one(
        "topi_any_all",
        "def f(x) -> (a, b) { a(i) any=! x(i,j) > 1.0  b(j) all=! x(i,j) < 1.0 }",
        lambda x: ((x > 1).any(1), (x < 1).all(0)),
        {"x": normal(4, 5)},
    ),
    one(
        "topi_where",
        "y(i,j) = c(i,j) > 0 ? a(i) : b(j)",
        lambda c, a, b: np.where(c > 0, a[:, None], b),
        {"c": integers(3, 4, high=2), "a": normal(3), "b": normal(4)},
        "a b",
    ),
    one(
        "topi_clip_sum",
        "s(i) = sum[j](min(max(x(i,j), -0.5), 0.5))",
        lambda x: np.clip(x, -0.5, 0.5).sum(1),
        {"x": normal(3, 4)},
        "x",
    ),
    one(
        "topi_standard_deviation",
        "s(i) = sqrt(sum[j](pow(x(i,j) - mean[k](x(i,k)), 2)) / (x.1 - 1))",
        lambda x: x.std(1, ddof=1),
        {"x": normal(3, 5)},
        "x",
    ),
    one(
        "topi_einsum_ellipsis",
        "y(...,i) +=! A(...,i,j) * x(...,j)",
        lambda A, x: (A @ x[..., None])[..., 0],
        {"A": normal(2, 3, 4), "x": normal(2, 4)},
        "A x",
    ),
    one(
        "topi_lstm",
        "def cell(float(B,D) x, float(B,H) h, float(B,H) c, float(4,H,D) W, float(4,H,H) U) -> (h1, c1) {"
        " g(b,k,n) = sum[d](W(k,n,d) * x(b,d)) + sum[m](U(k,n,m) * h(b,m))"
        " c1(b,n) = sigmoid(g(b,1,n)) * c(b,n) + sigmoid(g(b,0,n)) * tanh(g(b,2,n))"
        " h1(b,n) = sigmoid(g(b,3,n)) * tanh(c1(b,n)) }",
        lambda x, h, c, W, U: (
            lambda g, s: (lambda c1: (s(g[3]) * np.tanh(c1), c1))(s(g[1]) * c + s(g[0]) * np.tanh(g[2]))
        )(np.einsum("knd,bd->kbn", W, x) + np.einsum("knm,bm->kbn", U, h), lambda z: 1 / (1 + np.exp(-z))),
        {"x": normal(2, 3), "h": normal(2, 4), "c": normal(2, 4, seed=1), "W": normal(4, 4, 3), "U": normal(4, 4, 4)},
        "x h c W U",
    ),
)

CASES = (*GATHERS, *SHAPES, *ORDER)
