"""Parts of networks: layers, attention, recurrent cells, losses."""

import numpy as np
from scipy import special

from ..program import Program, below
from ..windows import relu


def lstm(
    x: np.ndarray, h: np.ndarray, c: np.ndarray, w: np.ndarray, u: np.ndarray, b: np.ndarray
) -> tuple[np.ndarray, ...]:
    gates = np.einsum("bi,gdi->gbd", x, w) + np.einsum("bj,gdj->gbd", h, u) + b[:, None]
    cell = special.expit(gates[1]) * c + special.expit(gates[0]) * np.tanh(gates[2])
    return special.expit(gates[3]) * np.tanh(cell), cell


def gru(x: np.ndarray, h: np.ndarray, w: np.ndarray, u: np.ndarray) -> np.ndarray:
    z, r = (special.expit(x @ w[g].T + h @ u[g].T) for g in (0, 1))
    return (1 - z) * np.tanh(x @ w[2].T + (r * h) @ u[2].T) + z * h


def wavenet(data: np.ndarray, weights: np.ndarray, bias: np.ndarray, dilation: np.ndarray) -> np.ndarray:
    delay = dilation.shape[0]
    late = np.pad(data, ((0, 0), (0, 0), (delay, 0)))[:, :, : data.shape[2]]
    return (
        bias[:, None]
        + np.einsum("brt,dr->bdt", data, weights[:, :, 1])
        + np.einsum("brt,dr->bdt", late, weights[:, :, 0])
    )


def wavenet_layer(
    data: np.ndarray,
    filters: np.ndarray,
    filter_bias: np.ndarray,
    gates: np.ndarray,
    gate_bias: np.ndarray,
    residual: np.ndarray,
    residual_bias: np.ndarray,
    skip: np.ndarray,
    skip_bias: np.ndarray,
    dilation: np.ndarray,
) -> tuple[np.ndarray, ...]:
    filtered = wavenet(data, filters, filter_bias, dilation)
    gated = wavenet(data, gates, gate_bias, dilation)
    inner = np.tanh(filtered) * special.expit(gated)
    outer = data + residual_bias[:, None] + np.einsum("bdt,rd->brt", inner, residual)
    return filtered, gated, inner, outer, np.einsum("bdt,sd->bst", inner, skip) + skip_bias[:, None]


def delayed(target: str, weights: str, bias: str) -> str:
    return (
        f" {target}(b,d,t) = {bias}(d) where b in 0:B, d in 0:DC, t in 0:T"
        f" {target}(b,d,t) += X(b,r,t) * {weights}(d,r,1)"
        f" + ((t - DF >= 0) ? X(b,r,t-DF) * {weights}(d,r,0) : float(0)) where t in 0:T"
    )


NETWORKS = [
    Program(
        "fully connected",
        "def fc(float(B,M) I, float(N,M) W1, float(N) B1) -> (O1) { O1(b,n) +=! I(b,m) * W1(n,m)"
        " O1(b,n) = O1(b,n) + B1(n) }",
        [(2, 3), (4, 3), (4,)],
        lambda i, w, b: i @ w.T + b,
    ),
    Program(
        "fully connected with relu",
        "def fc(float(B,M) I, float(N,M) W1, float(N) B1) -> (O1){ O1(b,n) +=! I(b,m) * W1(n,m)"
        " O1(b,n) = O1(b,n) + B1(n)  O1(b,n) = fmax(O1(b,n), 0) }",
        [(2, 3), (4, 3), (4,)],
        lambda i, w, b: relu(i @ w.T + b),
    ),
    Program(
        "fully connected from the bias on",
        "def fc(float(B,M) I, float(N,M) W1, float(N) B1) -> (O1) { O1(b,n) = B1(n) where b in 0:B"
        " O1(b,n) += I(b,m) * W1(n,m)  O1(b,n) = fmax(O1(b,n), 0) }",
        [(2, 3), (4, 3), (4,)],
        lambda i, w, b: relu(i @ w.T + b),
    ),
    Program(
        "three layers",
        "def mlp3(float(B,N) I, float(O,N) W2, float(O) B2, float(P,O) W3, float(P) B3, float(Q,P) W4, float(Q) B4)"
        " -> (O2, O3, O4) { O2(b,o) +=! I(b,n) * W2(o,n)  O2(b,o) = O2(b,o) + B2(o)  O2(b,o) = fmax(O2(b,o), 0)"
        " O3(b,p) +=! O2(b,o) * W3(p,o)  O3(b,p) = O3(b,p) + B3(p)  O3(b,p) = fmax(O3(b,p), 0)"
        " O4(b,q) +=! O3(b,p) * W4(q,p)  O4(b,q) = O4(b,q) + B4(q)  O4(b,q) = fmax(O4(b,q), 0) }",
        [(2, 3), (4, 3), (4,), (3, 4), (3,), (2, 3), (2,)],
        lambda i, w2, b2, w3, b3, w4, b4: (
            relu(i @ w2.T + b2),
            relu(relu(i @ w2.T + b2) @ w3.T + b3),
            relu(relu(relu(i @ w2.T + b2) @ w3.T + b3) @ w4.T + b4),
        ),
    ),
    Program(
        "layers by calls",
        "def layer(float(B,M) I, float(N,M) W, float(N) b) -> (O) { O(k,n) +=! I(k,m) * W(n,m)"
        " O(k,n) = fmax(O(k,n) + b(n), 0) }"
        " def net(float(B,M) I, float(N,M) W1, float(N) b1, float(K,N) W2, float(K) b2) -> (O) {"
        " h = layer(I, W1, b1)  O = layer(h, W2, b2) }",
        [(2, 3), (4, 3), (4,), (2, 4), (2,)],
        lambda i, v, b, w, c: relu(relu(i @ v.T + b) @ w.T + c),
    ),
    Program(
        "attention",
        "def att(float(T,D) Q, float(S,D) K, float(S,E) V) -> (O) { s(t,u) +=! Q(t,d) * K(u,d)"
        " s(t,u) = s(t,u) / sqrt(float(D))  m(t) max=! s(t,u)  p(t,u) = exp(s(t,u) - m(t))  z(t) +=! p(t,u)"
        " O(t,e) +=! p(t,u) * V(u,e) / z(t) }",
        [(3, 4), (5, 4), (5, 2)],
        lambda q, k, v: special.softmax(q @ k.T / 2, 1) @ v,
    ),
    Program(
        "attention to the past, of several heads",
        "def att(float(H,T,D) Q, float(H,T,D) K, float(H,T,E) V) -> (O) {"
        " s(h,t,u) = u <= t ? sum[d](Q(h,t,d) * K(h,u,d)) : -1e30 where t in 0:T, u in 0:T"
        " m(h,t) max=! s(h,t,u)"
        " O(h,t,e) = sum[u](exp(s(h,t,u) - m(h,t)) * V(h,u,e)) / sum[u](exp(s(h,t,u) - m(h,t))) }",
        [(2, 3, 4), (2, 3, 4), (2, 3, 2)],
        lambda q, k, v: special.softmax(np.where(np.tri(3) > 0, q @ k.transpose(0, 2, 1), -1e30), -1) @ v,
    ),
    Program(
        "a long short-term memory cell",
        "def lstm(float(B,I) x, float(B,D) h, float(B,D) c, float(4,D,I) W, float(4,D,D) U, float(4,D) b) -> (ho, co) {"
        " g(k,n,d) +=! x(n,i) * W(k,d,i)  g(k,n,d) += h(n,j) * U(k,d,j)  g(k,n,d) = g(k,n,d) + b(k,d)"
        " s(k,n,d) = k == 2 ? tanh(g(k,n,d)) : 1 / (1 + exp(-g(k,n,d)))"
        " co(n,d) = s(1,n,d) * c(n,d) + s(0,n,d) * s(2,n,d)  ho(n,d) = s(3,n,d) * tanh(co(n,d)) }",
        [(2, 3), (2, 4), (2, 4), (4, 4, 3), (4, 4, 4), (4, 4)],
        lstm,
    ),
    Program(
        "a gated recurrent cell",
        "def gru(float(B,I) x, float(B,D) h, float(3,D,I) W, float(3,D,D) U) -> (o) {"
        " z(n,d) = sigmoid(sum[i](x(n,i) * W(0,d,i)) + sum[j](h(n,j) * U(0,d,j)))"
        " r(n,d) = sigmoid(sum[i](x(n,i) * W(1,d,i)) + sum[j](h(n,j) * U(1,d,j)))"
        " c(n,d) = tanh(sum[i](x(n,i) * W(2,d,i)) + sum[j](r(n,j) * h(n,j) * U(2,d,j)))"
        " o(n,d) = (1 - z(n,d)) * c(n,d) + z(n,d) * h(n,d) }",
        [(2, 3), (2, 4), (3, 4, 3), (3, 4, 4)],
        gru,
    ),
    Program(
        "a dilated layer over time",
        f"def w(float(B,RC,T) X, float(DC,RC,2) W, float(DC) a, float(DF) Delay) -> (O) {{{delayed('O', 'W', 'a')} }}",
        [(1, 2, 7), (3, 2, 2), (3,), (2,)],
        wavenet,
    ),
    Program(
        "a gated dilated layer with skip connections",
        "def w(float(B,RC,T) X, float(DC,RC,2) FW, float(DC) FB, float(DC,RC,2) GW, float(DC) GB, float(RC,DC) RW,"
        " float(RC) RB, float(SC,DC) SW, float(SC) SB, float(DF) Dilation) -> (F, G, N, R, S) {"
        f"{delayed('F', 'FW', 'FB')}{delayed('G', 'GW', 'GB')}"
        " N(b,d,t) = tanh(F(b,d,t)) where t in 0:T  N(b,d,t) *= 1 / (1 + exp(-G(b,d,t))) where t in 0:T"
        " R(b,r,t) = X(b,r,t) + RB(r)  R(b,r,t) += N(b,d,t) * RW(r,d)"
        " S(b,s,t) +=! N(b,d,t) * SW(s,d) where t in 0:T  S(b,s,t) = S(b,s,t) + SB(s) where t in 0:T }",
        [(1, 2, 6), (3, 2, 2), (3,), (3, 2, 2), (3,), (2, 3), (2,), (4, 3), (4,), (2,)],
        wavenet_layer,
    ),
    Program(
        "squared loss",
        "def f(float(N,M) A, float(N,M) B) -> (l) { l +=! (A(i,j) - B(i,j)) * (A(i,j) - B(i,j)) / (N*M) }",
        [(3, 4), (3, 4)],
        lambda a, b: ((a - b) ** 2).mean(),
    ),
    Program(
        "cross entropy",
        "def f(float(N,C) x, int32(N) y) -> (l) { m(i) max=! x(i,c)  z(i) +=! exp(x(i,c) - m(i))"
        " l +=! (log(z(i)) + m(i) - x(i, y(i))) / N }",
        [(4, 3), below(3, 4)],
        lambda x, y: (special.logsumexp(x, 1) - x[np.arange(4), y]).mean(),
    ),
    Program(
        "hinge loss",
        "def f(float(N,C) x, int32(N) y) -> (l) { l(i) +=! c == y(i) ? 0.0 : fmax(0, 1 + x(i,c) - x(i, y(i))) }",
        [(4, 3), below(3, 4)],
        lambda x, y: relu(1 + x - x[np.arange(4), y][:, None]).sum(1) - 1,
    ),
    Program(
        "distances of all pairs",
        "def f(float(N,D) A, float(M,D) B) -> (d) { d(i,j) +=! (A(i,k) - B(j,k)) * (A(i,k) - B(j,k)) }",
        [(3, 2), (4, 2)],
        lambda a, b: ((a[:, None] - b) ** 2).sum(2),
    ),
    Program(
        "city blocks to the nearest",
        "def f(float(N,D) A, float(M,D) B) -> (n) { d(i,j) +=! fabs(A(i,k) - B(j,k))  n(i) min=! d(i,j) }",
        [(3, 2), (4, 2)],
        lambda a, b: np.abs(a[:, None] - b).sum(2).min(1),
    ),
]
