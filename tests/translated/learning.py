"""Layers and networks."""

import numpy as np

import tcjax
from tests.translated.case import Array, Case, normal


def convolved(x: Array, weights: Array) -> Array:
    K = weights.shape[0]
    H, W = x.shape[1] - K + 1, x.shape[2] - K + 1
    out = np.zeros((x.shape[0], H, W, weights.shape[3]))
    for i in range(H):
        for j in range(W):
            out[:, i, j, :] = np.einsum("nabc,abcd->nd", x[:, i : i + K, j : j + K, :], weights)
    return out


def conv2d_bias_reference(x: Array, weights: Array, bias: Array) -> Array:
    return convolved(x, weights) + bias


CONV2D_BIAS = """
def conv2d_bias(float(N,H,W,C) x, float(K,K,C,D) weights, float(D) bias) -> (y) {
    y(n,h,w,d) = sum[a, b, c](x(n,h+a,w+b,c) * weights(a,b,c,d)) + bias(d)
}"""


@tcjax.kernel
def conv2d_bias(x: "float(N,H,W,C)", weights: "float(K,K,C,D)", bias: "float(D)"):
    for a in range(K):
        for b in range(K):
            y[n, h, w, d] += x[n, h + a, w + b, c] * weights[a, b, c, d]
    y[n, h, w, d] = y[n, h, w, d] + bias[d]
    return y


def pooled(x: Array) -> Array:
    N, H, W, C = x.shape
    return x[:, : H // 2 * 2, : W // 2 * 2].reshape(N, H // 2, 2, W // 2, 2, C).max((2, 4))


def lenet_reference(
    x: Array, w1: Array, b1: Array, w2: Array, b2: Array, w3: Array, b3: Array, w4: Array, b4: Array
) -> Array:
    x = pooled(np.maximum(convolved(x, w1) + b1, 0))
    x = pooled(np.maximum(convolved(x, w2) + b2, 0))
    x = x.reshape(len(x), -1)
    return np.maximum(x @ w3 + b3, 0) @ w4 + b4


LENET = """
def convolution(float(N,H,W,C) x, float(K,K,C,D) w, float(D) b) -> (y) {
    z(n,i,j,d) +=! x(n,i+a,j+b_,c) * w(a,b_,c,d)
    y(n,i,j,d) = relu(z(n,i,j,d) + b(d))
}
def pool(float(N,H,W,C) x) -> (y) { y(n,i,j,c) max=! x(n,2*i+a,2*j+b,c) where a in 0:2, b in 0:2 }
def lenet(float(N,H,W,C) x, float(K,K,C,D) w1, float(D) b1, float(L,L,D,E) w2, float(E) b2,
          float(F,G) w3, float(G) b3, float(G,O) w4, float(O) b4) -> (y) {
    c1 = convolution(x, w1, b1)
    p1 = pool(c1)
    c2 = convolution(p1, w2, b2)
    p2 = pool(c2)
    flat(n, (i * p2.2 + j) * E + e) = p2(n,i,j,e)
    h(n,g) = relu(sum[f](flat(n,f) * w3(f,g)) + b3(g))
    y(n,o) = sum[g](h(n,g) * w4(g,o)) + b4(o)
}"""

LENET_READS_FLAT = """
def convolution(float(N,H,W,C) x, float(K,K,C,D) w, float(D) b) -> (y) {
    y(n,i,j,d) = relu(sum[a, e, c](x(n,i+a,j+e,c) * w(a,e,c,d)) + b(d))
}
def pool(float(N,H,W,C) x) -> (y) { y(n,i,j,c) = max[a in 0:2, b in 0:2](x(n,2*i+a,2*j+b,c)) }
def lenet(float(N,H,W,C) x, float(K,K,C,D) w1, float(D) b1, float(L,L,D,E) w2, float(E) b2,
          float(F,G) w3, float(G) b3, float(G,O) w4, float(O) b4) -> (y) {
    c1 = convolution(x, w1, b1)
    p1 = pool(c1)
    c2 = convolution(p1, w2, b2)
    p2 = pool(c2)
    h(n,g) = relu(sum[i, j, e](p2(n,i,j,e) * w3((i * p2.2 + j) * E + e, g)) + b3(g))
    y(n,o) = sum[g](h(n,g) * w4(g,o)) + b4(o)
}"""


def softmax_reference(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


SOFTMAX = """
def softmax(float(N,H,S,S) x) -> (y) {
    m(n,h,i) max=! x(n,h,i,j)
    e(n,h,i,j) = exp(x(n,h,i,j) - m(n,h,i))
    z(n,h,i) +=! e(n,h,i,j)
    y(n,h,i,j) = e(n,h,i,j) / z(n,h,i)
}"""

SOFTMAX_OF_A_BATCH = "y(...,j) = exp(x(...,j) - logsumexp[k](x(...,k)))"


@tcjax.kernel
def softmax(x: "float(N,H,S,S)"):
    tmp_max[n, h, i] = max[j](x[n, h, i, j])
    tmp_out[n, h, i, j] = exp(x[n, h, i, j] - tmp_max[n, h, i])
    tmp_sum[n, h, i] += tmp_out[n, h, i, j]
    y[n, h, i, j] = tmp_out[n, h, i, j] / tmp_sum[n, h, i]
    return y


def mlp_reference(x: Array, w1: Array, b1: Array, w2: Array, b2: Array, w3: Array, b3: Array) -> Array:
    x = np.maximum(x @ w1 + b1, 0)
    x = np.maximum(x @ w2 + b2, 0)
    return softmax_reference(x @ w3 + b3)


MLP = """
def layer(float(N,I) x, float(I,O) w, float(O) b) -> (y) { y(n,o) = sum[i](x(n,i) * w(i,o)) + b(o) }
def mlp(float(N,A) x, float(A,B) w1, float(B) b1, float(B,C) w2, float(C) b2, float(C,D) w3, float(D) b3) -> (y) {
    h1 = layer(x, w1, b1)
    r1(n,o) = relu(h1(n,o))
    h2 = layer(r1, w2, b2)
    r2(n,o) = relu(h2(n,o))
    h3 = layer(r2, w3, b3)
    y(n,o) = exp(h3(n,o) - max[p](h3(n,p))) / sum[q](exp(h3(n,q) - max[p](h3(n,p))))
}"""


def normalised(x: Array) -> Array:
    return (x - x.mean(0)) / np.sqrt(x.std(0) + 1e-5)


def resnet_reference(x: Array, w1: Array, w2: Array, w3: Array) -> Array:
    wide = np.pad(convolved(x, w1), ((0, 0), (1, 1), (1, 1), (0, 0)))
    y = np.maximum(normalised(wide), 0)
    y = np.maximum(normalised(convolved(y, w2)), 0)
    y = normalised(convolved(y, w3))
    return np.maximum(y + x, 0)


RESNET = """
def norm(float(N,H,W,C) x) -> (y) {
    m(h,w,c) = mean[n](x(n,h,w,c))
    s(h,w,c) = sqrt(mean[n](pow(x(n,h,w,c) - m(h,w,c), 2)))
    y(n,h,w,c) = (x(n,h,w,c) - m(h,w,c)) / sqrt(s(h,w,c) + 1e-5)
}
def resnet(float(N,H,W,C) x, float(1,1,C,D) w1, float(3,3,D,D) w2, float(1,1,D,C) w3) -> (y) {
    c1(n,h,w,d) +=! x(n,h,w,c) * w1(0,0,c,d)
    p1(n,h,w,d) = pad(c1(n,h-1,w-1,d), 0) where h in 0:H+2, w in 0:W+2
    n1 = norm(p1)
    r1(n,h,w,d) = relu(n1(n,h,w,d))
    c2(n,h,w,e) +=! r1(n,h+a,w+b,d) * w2(a,b,d,e)
    n2 = norm(c2)
    r2(n,h,w,d) = relu(n2(n,h,w,d))
    c3(n,h,w,c) +=! r2(n,h,w,d) * w3(0,0,d,c)
    n3 = norm(c3)
    y(n,h,w,c) = relu(n3(n,h,w,c) + x(n,h,w,c))
}"""

WEIGHTS = {
    "w1": normal(3, 3, 1, 2),
    "b1": normal(2),
    "w2": normal(2, 2, 2, 3),
    "b2": normal(3),
    "w3": normal(12, 5),
    "b3": normal(5),
    "w4": normal(5, 4),
    "b4": normal(4),
}
LAYERS = {"w1": normal(6, 5), "b1": normal(5), "w2": normal(5, 4), "b2": normal(4), "w3": normal(4, 3), "b3": normal(3)}

CASES = (
    Case(
        "conv2d_bias",
        conv2d_bias_reference,
        {"text": tcjax.kernel(CONV2D_BIAS), "python": conv2d_bias},
        {"x": normal(2, 6, 5, 3), "weights": normal(3, 3, 3, 4), "bias": normal(4)},
        ("x", "weights", "bias"),
    ),
    Case(
        "lenet",
        lenet_reference,
        {"text": tcjax.load(LENET).lenet, "flat_weights": tcjax.load(LENET_READS_FLAT).lenet},
        {"x": normal(2, 12, 12, 1)} | WEIGHTS,
        ("x", "w1", "b1", "w2", "w3", "w4"),
    ),
    Case(
        "softmax",
        softmax_reference,
        {"text": tcjax.kernel(SOFTMAX), "batch": tcjax.kernel(SOFTMAX_OF_A_BATCH), "python": softmax},
        {"x": normal(2, 3, 4, 4)},
        ("x",),
    ),
    Case("mlp", mlp_reference, {"text": tcjax.load(MLP).mlp}, {"x": normal(3, 6)} | LAYERS, ("x", "w1", "b2", "w3")),
    Case(
        "resnet",
        resnet_reference,
        {"text": tcjax.load(RESNET).resnet},
        {"x": normal(4, 4, 5, 3), "w1": normal(1, 1, 3, 2), "w2": normal(3, 3, 2, 2), "w3": normal(1, 1, 2, 3)},
        ("x", "w2", "w3"),
    ),
)
