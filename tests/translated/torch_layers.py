"""Layers and losses of PyTorch, rearrangements of einops and einx, and examples of Dex."""

from itertools import pairwise

import numpy as np

import tcjax
from tests.translated.case import Array, integers, normal, one, uniform


def softmax(x: Array) -> Array:
    shares = np.exp(x - x.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)


def logistic(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


# ---------------------------------------------------------------- PyTorch


def attention(x: Array, Wq: Array, Wk: Array, Wv: Array, Wo: Array) -> Array:
    q, k, v = (np.einsum("td,hde->hte", x, W) for W in (Wq, Wk, Wv))
    scores = np.where(np.tri(len(x), dtype=bool), q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1]), -np.inf)
    return np.einsum("hte,hed->td", softmax(scores) @ v, Wo)


ATTENTION = """
def attention(float(T,D) x, float(H,D,E) Wq, float(H,D,E) Wk, float(H,D,E) Wv, float(H,E,D) Wo) -> (y) {
    q(h,t,e) +=! x(t,d) * Wq(h,d,e)
    k(h,t,e) +=! x(t,d) * Wk(h,d,e)
    v(h,t,e) +=! x(t,d) * Wv(h,d,e)
    s(h,t,u) = u <= t ? sum[e](q(h,t,e) * k(h,u,e)) / sqrt(float(E)) : -inf
    p(h,t,u) = exp(s(h,t,u) - max[w](s(h,t,w)))
    o(h,t,e) = sum[u](p(h,t,u) * v(h,u,e)) / sum[u](p(h,t,u))
    y(t,d) +=! o(h,t,e) * Wo(h,e,d)
}"""


@tcjax.kernel
def multi_head(x: "float(T,D)", Wq: "float(H,D,E)", Wk: "float(H,D,E)", Wv: "float(H,D,E)", Wo: "float(H,E,D)"):
    q[h, t, e] += x[t, d] * Wq[h, d, e] / sqrt(E)
    k[h, t, e] += x[t, d] * Wk[h, d, e]
    v[h, t, e] += x[t, d] * Wv[h, d, e]
    for t in range(T):
        for u in range(t + 1):
            z[h, t] += exp(sum[e](q[h, t, e] * k[h, u, e]))
            o[h, t, e] += exp(sum[f](q[h, t, f] * k[h, u, f])) * v[h, u, e]
    y[t, d] += o[h, t, e] / z[h, t] * Wo[h, e, d]
    return y


def gru(x: Array, h: Array, W: Array, U: Array, b: Array) -> Array:
    out = []
    for each in x:
        i, u = W @ each + b, U @ h
        r, z = logistic(i[0] + u[0]), logistic(i[1] + u[1])
        n = np.tanh(i[2] + r * u[2])
        h = (1 - z) * n + z * h
        out.append(h)
    return np.stack(out)


GRU = """
def gru(float(T,D) x, float(N) h0, float(3,N,D) W, float(3,N,N) U, float(3,N) b) -> (y) {
    h(0,n) = h0(n)
    i(t,g,n) = b(g,n) + sum[d](W(g,n,d) * x(t,d))
    for t in 0:T {
        u(g,n) +=! U(g,n,m) * h(t,m)
        r(n) = sigmoid(i(t,0,n) + u(0,n))
        z(n) = sigmoid(i(t,1,n) + u(1,n))
        h(t+1,n) = (1 - z(n)) * tanh(i(t,2,n) + r(n) * u(2,n)) + z(n) * h(t,n)
    }
    y(t,n) = h(t+1,n) where t in 0:T
}"""


@tcjax.kernel
def gru_steps(x: "float(T,D)", h0: "float(N)", W: "float(3,N,D)", U: "float(3,N,N)", b: "float(3,N)"):
    h[n] = h0[n]
    for t in range(T):
        r[n] = sigmoid(b[0, n] + sum[d](W[0, n, d] * x[t, d]) + sum[m](U[0, n, m] * h[m]))
        z[n] = sigmoid(b[1, n] + sum[d](W[1, n, d] * x[t, d]) + sum[m](U[1, n, m] * h[m]))
        c[n] = tanh(b[2, n] + sum[d](W[2, n, d] * x[t, d]) + r[n] * sum[m](U[2, n, m] * h[m]))
        h[n] = (1 - z[n]) * c[n] + z[n] * h[n]
        y[t, n] = h[n]
    return y


def grid_sampled(x: Array, grid: Array) -> Array:
    C, H, W = x.shape
    out = np.zeros((C, *grid.shape[:2]))
    for i in range(grid.shape[0]):
        for j in range(grid.shape[1]):
            u, v = ((grid[i, j, 1] + 1) * H - 1) / 2, ((grid[i, j, 0] + 1) * W - 1) / 2
            a, b = int(np.floor(u)), int(np.floor(v))
            for p, f in ((a, 1 - u + a), (a + 1, u - a)):
                for q, g in ((b, 1 - v + b), (b + 1, v - b)):
                    if 0 <= p < H and 0 <= q < W:
                        out[:, i, j] += f * g * x[:, p, q]
    return out


GRID_SAMPLE = """
def sample(float(C,H,W) x, float(P,Q,2) grid) -> (y) {
    u(i,j) = ((grid(i,j,1) + 1) * H - 1) / 2
    v(i,j) = ((grid(i,j,0) + 1) * W - 1) / 2
    a(i,j) = int32(floor(u(i,j)))
    b(i,j) = int32(floor(v(i,j)))
    y(c,i,j) = sum[p in 0:2, q in 0:2](pad(x(c,a(i,j)+p,b(i,j)+q), 0)
               * (1 - abs(u(i,j) - a(i,j) - p)) * (1 - abs(v(i,j) - b(i,j) - q)))
}"""


def folded(x: Array) -> Array:
    out = np.zeros((x.shape[0], 6, 5))
    for i in range(x.shape[3]):
        for j in range(x.shape[4]):
            out[:, 2 * i : 2 * i + 2, j : j + 3] += x[:, :, :, i, j]
    return out


def contrastive(a: Array, b: Array) -> Array:
    a, b = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (a, b))
    logits = a @ b.T / 0.5
    return np.array(-(np.log(softmax(logits)) + np.log(softmax(logits.T))).trace() / 2 / len(a))


CONTRASTIVE = """
def clip(float(N,D) a, float(N,D) b) -> (loss) {
    s(i,j) = sum[d](a(i,d) * b(j,d)) * rsqrt(sum[d](a(i,d)*a(i,d))) * rsqrt(sum[d](b(j,d)*b(j,d))) / 0.5
    loss = -mean[i](2 * s(i,i) - logsumexp[j](s(i,j)) - logsumexp[j](s(j,i))) / 2
}"""


def smooth_l1(x: Array, y: Array) -> Array:
    d = np.abs(x - y)
    return np.where(d < 0.5, d * d, d - 0.25).mean()[None][0]


def smoothed_entropy(x: Array, t: Array) -> Array:
    p = np.log(softmax(x))
    return np.array(-(0.9 * p[np.arange(len(t)), t] + 0.1 * p.mean(1)).mean())


def margins(x: Array, t: Array) -> Array:
    right = x[np.arange(len(t)), t]
    loss = np.maximum(0, 1 - right[:, None] + x)
    loss[np.arange(len(t)), t] = 0
    return np.array((loss.sum(1) / x.shape[1]).mean())


def ctc(logp: Array, labels: Array) -> Array:
    extended = np.zeros(2 * len(labels) + 1, int)
    extended[1::2] = labels
    S = len(extended)
    alpha = np.full(S, -np.inf)
    alpha[:2] = logp[0, extended[:2]]
    for row in logp[1:]:
        new = np.full(S, -np.inf)
        for s in range(S):
            terms = [alpha[s]]
            if s >= 1:
                terms.append(alpha[s - 1])
            if s >= 2 and extended[s] and extended[s] != extended[s - 2]:
                terms.append(alpha[s - 2])
            new[s] = np.logaddexp.reduce(terms) + row[extended[s]]
        alpha = new
    return np.array(-np.logaddexp(alpha[-1], alpha[-2]))


CTC = """
def ctc(float(T,C) logp, int32(L) labels) -> (loss) {
    ext(s) = s % 2 == 1 ? labels(s / 2) : 0 where s in 0:2*L+1
    alpha(0,s) = s < 2 ? logp(0,ext(s)) : -inf
    for t in 1:T {
        skip(s) = s >= 2 && ext(s) != 0 && ext(s) != pad(ext(s-2), 0) ? pad(alpha(t-1,s-2), -inf) : -inf
        alpha(t,s) = logaddexp(logaddexp(alpha(t-1,s), pad(alpha(t-1,s-1), -inf)), skip(s)) + logp(t,ext(s))
    }
    loss = -logaddexp(alpha(T-1,2*L), alpha(T-1,2*L-1))
}"""

TORCH = (
    one(
        "torch_attention",
        ATTENTION,
        attention,
        {
            "x": normal(4, 6),
            "Wq": normal(2, 6, 3),
            "Wk": normal(2, 6, 3, seed=1),
            "Wv": normal(2, 6, 3, seed=2),
            "Wo": normal(2, 3, 6),
        },
        "x Wq Wk Wv Wo",
        python=multi_head,
    ),
    one(
        "torch_gru",
        GRU,
        lambda x, h0, W, U, b: gru(x, h0, W, U, b),
        {"x": normal(4, 3), "h0": normal(2), "W": normal(3, 2, 3), "U": normal(3, 2, 2), "b": normal(3, 2)},
        "x h0 W U b",
        python=gru_steps,
    ),
    one(
        "torch_grid_sample",
        GRID_SAMPLE,
        grid_sampled,
        {"x": normal(2, 4, 5), "grid": uniform(3, 4, 2, low=-1.2, high=1.2)},
        "x grid",
    ),
    one(
        "torch_unfold",
        "y(c,a,b,i,j) = x(c, 2*i+a, j+b) where a in 0:2, b in 0:3",
        lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 3), (1, 2))[:, ::2].transpose(0, 3, 4, 1, 2),
        {"x": normal(2, 6, 5)},
        "x",
    ),
    one(
        "torch_fold",
        "def fold(float(C,2,3,I,J) x) -> (float(C,H,W) y) { y(c,2*i+a,j+b) +=! x(c,a,b,i,j) }",
        folded,
        {"x": normal(2, 2, 3, 3, 3)},
        "x",
        sizes={"H": 6, "W": 5},
    ),
    one(
        "torch_bilinear",
        "y(n,o) = sum[i,j](x(n,i) * A(o,i,j) * z(n,j)) + b(o)",
        lambda x, A, z, b: np.einsum("ni,oij,nj->no", x, A, z) + b,
        {"x": normal(2, 3), "A": normal(4, 3, 2), "z": normal(2, 2), "b": normal(4)},
        "x A z b",
    ),
    one(
        "torch_glu",
        "def glu(float(N,C) x) -> (y) { y(n,c) = x(n,c) * sigmoid(x(n,c+C/2)) }",
        lambda x: x[:, :3] * logistic(x[:, 3:]),
        {"x": normal(2, 6)},
        "x",
    ),
    one("torch_contrastive", CONTRASTIVE, contrastive, {"a": normal(4, 3), "b": normal(4, 3, seed=1)}, "a b"),
    one(
        "torch_smooth_l1",
        "l = mean[i,j](abs(x(i,j)-y(i,j)) < 0.5 ? (x(i,j)-y(i,j))*(x(i,j)-y(i,j)) : abs(x(i,j)-y(i,j)) - 0.25)",
        smooth_l1,
        {"x": normal(3, 4), "y": normal(3, 4, seed=1)},
        "x y",
    ),
    one(
        "torch_label_smoothing",
        "def loss(float(N,C) x, int32(N) t) -> (l) { p(n,c) = x(n,c) - logsumexp[k](x(n,k))"
        "  l = -mean[n](0.9 * p(n,t(n)) + 0.1 * mean[c](p(n,c))) }",
        smoothed_entropy,
        {"x": normal(4, 5), "t": integers(4, high=5)},
        "x",
    ),
    one(
        "torch_multi_margin",
        "def loss(float(N,C) x, int32(N) t) -> (l) { l = mean[n](sum[c"
        " where c != t(n)](max(0, 1 - x(n,t(n)) + x(n,c))) / C) }",
        margins,
        {"x": normal(4, 5), "t": integers(4, high=5)},
        "x",
    ),
    one(
        "torch_ctc", CTC, ctc, {"logp": np.log(softmax(normal(5, 4))), "labels": np.array([1, 2, 2], np.int32)}, "logp"
    ),
    one(
        "torch_cdist",
        "d(b,i,j) = sqrt(sum[k](pow(x(b,i,k) - y(b,j,k), 2)))",
        lambda x, y: np.sqrt(((x[:, :, None] - y[:, None]) ** 2).sum(-1)),
        {"x": normal(2, 3, 4), "y": normal(2, 2, 4)},
        "x y",
    ),
    one(
        "torch_embedding_bag",
        "def bag(float(V,D) w, int32(L) ids, int32(P) offsets, float(L) s) -> (y) { y(b,d) +=! s(l) * w(ids(l),d)"
        " where l in offsets(b):offsets(b+1) }",
        lambda w, ids, offsets, s: np.stack([(s[a:b, None] * w[ids[a:b]]).sum(0) for a, b in pairwise(offsets)]),
        {"w": normal(5, 3), "ids": integers(7, high=5), "offsets": np.array([0, 3, 3, 7], np.int32), "s": normal(7)},
        "w s",
    ),
)

# ---------------------------------------------------------------- einops and einx

EINOPS = (
    one(
        "einops_patches",
        "y(b, h*4 + w, (p*3 + q)*2 + c) = x(b, c, 2*h + p, 3*w + q) where p in 0:2, q in 0:3, c in 0:2, w in 0:4",
        lambda x: x.reshape(2, 2, 2, 2, 4, 3).transpose(0, 2, 4, 3, 5, 1).reshape(2, 8, 12),
        {"x": normal(2, 2, 4, 12)},
        "x",
    ),
    one(
        "einops_compose",
        "y(h, b*5 + w, c) = x(b, h, w, c) where w in 0:5",
        lambda x: x.transpose(1, 0, 2, 3).reshape(4, 10, 3),
        {"x": normal(2, 4, 5, 3)},
        "x",
    ),
    one(
        "einops_min_of_parts",
        "y(b,h,w) min=! x(b, 2*h + p, 2*w + q) where p in 0:2, q in 0:2",
        lambda x: x.reshape(2, 2, 2, 3, 2).min((2, 4)),
        {"x": normal(2, 4, 6)},
        "x",
    ),
    one(
        "einops_heads",
        "def heads(float(B,T,C) x) -> (q) { q(k,b,h,t,d) = x(b,t,(d*3 + k)*2 + h)"
        " where k in 0:3, h in 0:2, d in 0:C/6 }",
        lambda x: x.reshape(2, 3, 2, 3, 2).transpose(3, 0, 4, 1, 2),
        {"x": normal(2, 3, 12)},
        "x",
    ),
    one(
        "einops_shuffle_of_channels",
        "def shuffle(float(B,C,T) x) -> (y) { y(b,c*2+g,t) = x(b,g*(C/2)+c,t) where g in 0:2, c in 0:C/2 }",
        lambda x: x.reshape(2, 2, 3, 4).transpose(0, 2, 1, 3).reshape(2, 6, 4),
        {"x": normal(2, 6, 4)},
        "x",
    ),
    one(
        "einops_pack",
        "def pack(float(B,C) cls, float(B,T,C) x, float(B,C) last) -> (y) { y(b,0,c) = cls(b,c)"
        "  y(b,t+1,c) = x(b,t,c)  y(b,x.1+1,c) = last(b,c) }",
        lambda cls, x, last: np.concatenate([cls[:, None], x, last[:, None]], 1),
        {"cls": normal(2, 3), "x": normal(2, 4, 3), "last": normal(2, 3, seed=1)},
        "cls x last",
    ),
    one(
        "einx_logsumexp", "y(b,c) logsumexp=! x(b,s,c)", lambda x: np.log(np.exp(x).sum(1)), {"x": normal(2, 4, 3)}, "x"
    ),
    one(
        "einx_set_at",
        "def set_at(float(B,P,C) x, int32(B,N) at, float(B,N,C) v) -> (y) { y(b,p,c) = x(b,p,c)"
        "  y(b,at(b,n),c) = v(b,n,c) where unique at(b,n) }",
        lambda x, at, v: (np.put_along_axis(x, at[:, :, None], v, 1), x)[1],
        {"x": normal(2, 5, 3), "at": np.array([(0, 3), (4, 1)], np.int32), "v": normal(2, 2, 3)},
        "x v",
    ),
    one(
        "einx_norm_of_groups",
        "y(b,g*3+c) = x(b,g*3+c) / sqrt(sum[d in 0:3](pow(x(b,g*3+d), 2))) where c in 0:3",
        lambda x: (x.reshape(2, 2, 3) / np.linalg.norm(x.reshape(2, 2, 3), axis=2, keepdims=True)).reshape(2, 6),
        {"x": normal(2, 6)},
        "x",
    ),
)

# ---------------------------------------------------------------- Dex


def integrated(y0: Array) -> Array:
    """The Runge-Kutta method for the pendulum."""

    def slope(y: Array) -> Array:
        return np.array([y[1], -np.sin(y[0])])

    out = [y0]
    for _ in range(4):
        y = out[-1]
        a = slope(y)
        b = slope(y + 0.05 * a)
        c = slope(y + 0.05 * b)
        d = slope(y + 0.1 * c)
        out.append(y + 0.1 / 6 * (a + 2 * b + 2 * c + d))
    return np.stack(out)


RUNGE_KUTTA = """
def pendulum(float(2) y0) -> (y) {
    y(0,i) = y0(i)
    for t in 0:4 {
        a(0) = y(t,1)
        a(1) = -sin(y(t,0))
        b(0) = y(t,1) + 0.05 * a(1)
        b(1) = -sin(y(t,0) + 0.05 * a(0))
        c(0) = y(t,1) + 0.05 * b(1)
        c(1) = -sin(y(t,0) + 0.05 * b(0))
        d(0) = y(t,1) + 0.1 * c(1)
        d(1) = -sin(y(t,0) + 0.1 * c(0))
        y(t+1,i) = y(t,i) + 0.1 / 6 * (a(i) + 2 * b(i) + 2 * c(i) + d(i))
    }
}"""


@tcjax.kernel
def pendulum(y0: "float(2)"):
    y[0, i] = y0[i]
    for t in range(4):
        a[0] = y[t, 1]
        a[1] = -sin(y[t, 0])
        for k in range(2):
            b[k] = y[t, 1] + 0.05 * a[1] if k == 0 else -sin(y[t, 0] + 0.05 * a[0])
            c[k] = y[t, 1] + 0.05 * b[1] if k == 0 else -sin(y[t, 0] + 0.05 * b[0])
            d[k] = y[t, 1] + 0.1 * c[1] if k == 0 else -sin(y[t, 0] + 0.1 * c[0])
        y[t + 1, i] = y[t, i] + 0.1 / 6 * (a[i] + 2 * b[i] + 2 * c[i] + d[i])
    return y


def forward(start: Array, step: Array, seen: Array) -> Array:
    p = start * seen[0]
    for e in seen[1:]:
        p = (p @ step) * e
    return np.array(np.log(p.sum()))


FORWARD = """
def forward(float(S) start, float(S,S) step, float(T,S) seen) -> (l) {
    p(0,s) = start(s) * seen(0,s)
    for t in 1:T { p(t,s) = seen(t,s) * sum[r](p(t-1,r) * step(r,s)) }
    l = log(sum[s](p(T-1,s)))
}"""


@tcjax.kernel
def ray_sphere(origin: "float(R,3)", direction: "float(R,3)", centre: "float(S,3)", radius: "float(S)"):
    b[r, s] = sum[d](direction[r, d] * (origin[r, d] - centre[s, d]))
    c[r, s] = sum[d]((origin[r, d] - centre[s, d]) ** 2) - radius[s] ** 2
    if b[r, s] ** 2 - c[r, s] > 0:
        t[r]: "min=!" = -b[r, s] - sqrt(b[r, s] ** 2 - c[r, s])  # noqa: F722
    return t


def hit(origin: Array, direction: Array, centre: Array, radius: Array) -> Array:
    out = np.full(len(origin), np.inf)
    for r in range(len(origin)):
        for s in range(len(centre)):
            apart = origin[r] - centre[s]
            b, c = direction[r] @ apart, apart @ apart - radius[s] ** 2
            if b * b - c > 0:
                out[r] = min(out[r], -b - np.sqrt(b * b - c))
    return out


DEX = (
    one("dex_runge_kutta", RUNGE_KUTTA, lambda y0: integrated(y0), {"y0": normal(2)}, "y0", python=pendulum),
    one(
        "dex_forward_algorithm",
        FORWARD,
        forward,
        {"start": uniform(3), "step": uniform(3, 3), "seen": uniform(4, 3)},
        "start step seen",
    ),
    one(
        "dex_ray_sphere",
        ray_sphere,
        hit,
        {
            "origin": np.zeros((4, 3)),
            "direction": np.eye(4, 3) * 0.6 + 0.4,
            "centre": 3 * uniform(5, 3),
            "radius": uniform(5, low=1, high=2),
        },
    ),
    one(
        "dex_trapezoid",
        "def f(float(N) x, float(N) y) -> (s) { s = sum[i]((x(i+1) - x(i)) * (y(i) + y(i+1)) / 2) }",
        lambda x, y: np.array(((x[1:] - x[:-1]) * (y[1:] + y[:-1]) / 2).sum()),
        {"x": normal(6), "y": normal(6, seed=1)},
        "x y",
    ),
    one(
        "dex_polynomial",
        "def f(float(K) c, float(N) x) -> (y) { y(n) = sum[k](c(k) * pow(x(n), k)) }",
        lambda c, x: sum(c[k] * x**k for k in range(len(c))),
        {"c": normal(4), "x": normal(5)},
        "c x",
    ),
    one(
        "dex_vandermonde",
        "V(n,k) = pow(x(n), k) where k in 0:4",
        lambda x: np.vander(x, 4, increasing=True),
        {"x": normal(5)},
        "x",
    ),
    one(
        "dex_levenshtein",
        """
def levenshtein(int32(M) a, int32(N) b) -> (d) {
    d(0,j) = j where j in 0:N+1
    for i in 1:M+1 {
        d(i,0) = i
        for j in 1:N+1 { d(i,j) = min(min(d(i-1,j), d(i,j-1)) + 1, d(i-1,j-1) + int32(a(i-1) != b(j-1))) }
    }
}""",
        lambda a, b: levenshtein(a, b),
        {"a": integers(5, high=3), "b": integers(6, high=3)},
    ),
)


def levenshtein(a: Array, b: Array) -> Array:
    d = np.zeros((len(a) + 1, len(b) + 1), np.int32)
    d[0], d[:, 0] = np.arange(len(b) + 1), np.arange(len(a) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + (a[i - 1] != b[j - 1]))
    return d


CASES = (*TORCH, *EINOPS, *DEX)
