"""The kernels of the paper that described Tensor Comprehensions, and of its examples; dense kernels of TACO."""

import numpy as np

import tcjax
from tests.translated.case import Array, Results, integers, normal, number, one


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


FC_RELU = """
def fcrelu(float(B,M) I, float(N,M) W, float(N) b) -> (O) {
    O(i,j)  = b(j) where i in 0:B
    O(i,j) += I(i,k) * W(j,k)
    O(i,j)  = fmax(O(i,j), 0)
}"""

CONV_STRIDED = """
def conv2d(float(N,C,H,W) I, float(F,C,KH,KW) W1) -> (O) {
    O(n,f,h,w) +=! I(n, c, sh*h + kh, sw*w + kw) * W1(f,c,kh,kw)
}"""

MAX_POOL = "O(n,c,h,w) max=! I(n, c, 2*h + kh, 2*w + kw) where kh in 0:3, kw in 0:3"

# Two tables of embeddings, then layers of perceptrons: the paper's production model.
TWO_TABLES = """
def _2LUT(float(E1,D) LUT1, int32(B,L1) I1, float(E2,D) LUT2, int32(B,L2) I2) -> (O1, O2) {
    O1(b,d) +=! LUT1(I1(b,l), d)
    O2(b,d) +=! LUT2(I2(b,l), d)
}"""

MLP3 = """
def layer(float(B,M) I, float(N,M) W, float(N) b) -> (O) {
    O(i,j) +=! I(i,k) * W(j,k)
    O(i,j)  = fmax(O(i,j) + b(j), 0)
}
def mlp3(float(B,M) I, float(O,N) W2, float(O) B2, float(P,O) W3, float(P) B3, float(Q,P) W4, float(Q) B4) -> (O4) {
    O2 = layer(I, W2, B2)
    O3 = layer(O2, W3, B3)
    O4 = layer(O3, W4, B4)
}"""

# A recurrent unit of Kronecker factors, in the order of least work.
KRU = """
def kru(float(D0,N0) W0, float(D1,N1) W1, float(D2,N2) W2, float(M,N0,N1,N2) X) -> (Y, XW2, XW1) {
    XW2(m,n0,n1,d2) +=! X(m,n0,n1,n2) * W2(d2,n2)
    XW1(m,n0,d1,d2) +=! XW2(m,n0,n1,d2) * W1(d1,n1)
    Y(m,d0,d1,d2)   +=! XW1(m,n0,d1,d2) * W0(d0,n0)
}"""


def kru(W0: Array, W1: Array, W2: Array, X: Array) -> Results:
    return (
        np.einsum("mabc,xa,yb,zc->mxyz", X, W0, W1, W2),
        np.einsum("mabc,zc->mabz", X, W2),
        np.einsum("mabc,yb,zc->mayz", X, W1, W2),
    )


GROUP_CONVOLUTION = """
def gconv(float(N,G,C,H,W) I, float(G,F,C,KH,KW) W1, float(G,F) B) -> (O) {
    O(n,g,f,h,w) +=! I(n,g,r,h+kh,w+kw) * W1(g,f,r,kh,kw)
    O(n,g,f,h,w)  = O(n,g,f,h,w) + B(g,f)
}"""


def group_convolution(I: Array, W1: Array, B: Array) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(I, W1.shape[-2:], (3, 4))
    return np.einsum("ngrhwab,gfrab->ngfhw", windows, W1) + B[:, :, None, None]


# A block of WaveNet: a dilated causal convolution with gates, residual and skip outputs.
WAVENET = """
def wavenet(float(B,R,T) Data, float(R,R,2) FilterW, float(R) FilterB, float(R,R,2) GateW, float(R) GateB,
            float(R,R) ResW, float(R) ResB, float(S,R) SkipW, float(S) SkipB) -> (Res, Skip, NonLin) {
    DataUnpad(b,r,t) = t < 2 ? 0.0 : Data(b,r,t-2) where t in 0:T
    Filter(b,r,t) = FilterB(r) where b in 0:B, t in 0:T
    Filter(b,r,t) += Data(b,q,t) * FilterW(r,q,1) + DataUnpad(b,q,t) * FilterW(r,q,0)
    Gate(b,r,t) = GateB(r) where b in 0:B, t in 0:T
    Gate(b,r,t) += Data(b,q,t) * GateW(r,q,1) + DataUnpad(b,q,t) * GateW(r,q,0)
    NonLin(b,r,t) = tanh(Filter(b,r,t)) * 1 / (1 + exp(0 - Gate(b,r,t)))
    Res(b,r,t) = Data(b,r,t) + ResB(r)
    Res(b,r,t) += NonLin(b,q,t) * ResW(r,q)
    Skip(b,s,t) +=! NonLin(b,r,t) * SkipW(s,r) where t in 1:T
    Skip(b,s,t) = Skip(b,s,t) + SkipB(s) where t in 1:T
}"""


def wavenet(
    Data: Array,
    FilterW: Array,
    FilterB: Array,
    GateW: Array,
    GateB: Array,
    ResW: Array,
    ResB: Array,
    SkipW: Array,
    SkipB: Array,
) -> Results:
    late = np.zeros_like(Data)
    late[:, :, 2:] = Data[:, :, :-2]

    def conv(W: Array, b: Array) -> Array:
        return np.einsum("bqt,rq->brt", Data, W[:, :, 1]) + np.einsum("bqt,rq->brt", late, W[:, :, 0]) + b[:, None]

    through = np.tanh(conv(FilterW, FilterB)) / (1 + np.exp(-conv(GateW, GateB)))
    res = Data + ResB[:, None] + np.einsum("bqt,rq->brt", through, ResW)
    return res, np.einsum("brt,sr->bst", through, SkipW)[:, :, 1:] + SkipB[:, None], through


@tcjax.kernel
def wavenet_block(
    Data: "float(B,R,T)",
    FilterW: "float(R,R,2)",
    FilterB: "float(R)",
    GateW: "float(R,R,2)",
    GateB: "float(R)",
    ResW: "float(R,R)",
    ResB: "float(R)",
    SkipW: "float(S,R)",
    SkipB: "float(S)",
):
    for t in range(T):
        for k in range(2):
            Filter[b, r, t] = FilterB[r] + sum[q, k](pad(Data[b, q, t - 2 + 2 * k], 0) * FilterW[r, q, k])
            Gate[b, r, t] = GateB[r] + sum[q, k](pad(Data[b, q, t - 2 + 2 * k], 0) * GateW[r, q, k])
    NonLin[b, r, t] = tanh(Filter[b, r, t]) * sigmoid(Gate[b, r, t])
    Res[b, r, t] = Data[b, r, t] + ResB[r] + sum[q](NonLin[b, q, t] * ResW[r, q])
    for t in range(1, T):
        Skip[b, s, t] = SkipB[s] + sum[r](NonLin[b, r, t] * SkipW[s, r])
    return Res, Skip, NonLin


MOMENTS = """
def moments(float(N,K) I) -> (mean_, var) {
    mean_(n) +=! I(n,r_k)
    mean_(n) = mean_(n) / K
    var(n) +=! I(n,r_k) * I(n,r_k)
    var(n) = var(n) / K - mean_(n) * mean_(n)
}"""

COSINES = """
def cosine_similarity(float(M,N) I1, float(M,N) I2) -> (O, sumI1, sumI2) {
    sumI1(m) +=! I1(m,n) * I1(m,n)
    sumI2(m) +=! I2(m,n) * I2(m,n)
    O(m) +=! (I1(m,n) * I2(m,n)) / (fmax(rsqrt(sumI1(m)) * sqrt(sumI2(m)), 0.001) * sumI1(m))
}"""


def cosines(I1: Array, I2: Array) -> Results:
    a, b = (I1**2).sum(1), (I2**2).sum(1)
    return (I1 * I2).sum(1) / np.sqrt(a * b), a, b


CONCATENATE = """
def concat(float(M,N) A, float(M,N) B) -> (O) {
    O(n,i,m) = i == 0 ? A(m,n) : B(m,n) where i in 0:2
}"""

TBMM = "Z(b,n,k) +=! X(b,n,m) * Y(b,k,m)"

# A convolution whose steps are extents of arrays.
STEPS_AS_SIZES = """
def conv(float(N,C,H,W) I, float(F,C,KH,KW) W1, int32(SH,SW) steps) -> (O) {
    O(n,f,h,w) +=! I(n,c,SH*h+kh,SW*w+kw) * W1(f,c,kh,kw)
}"""

PAPER = (
    one(
        "tc_mv",
        "def mv(float(M,K) A, float(K) x) -> (C) { C(i) +=! A(i,k) * x(k) }",
        lambda A, x: A @ x,
        {"A": normal(3, 4), "x": normal(4)},
        "A x",
    ),
    one(
        "tc_sgemm",
        "def sgemm(float a, float b, float(N,M) A, float(M,K) B, float(N,K) D) -> (C) { C(i,j) = b * D(i,j)"
        "  C(i,j) += a * A(i,k) * B(k,j) }",
        lambda a, b, A, B, D: a * A @ B + b * D,
        {"a": number(0.5), "b": number(2), "A": normal(2, 3), "B": normal(3, 4), "D": normal(2, 4)},
        "a b A B D",
    ),
    one(
        "tc_fcrelu",
        FC_RELU,
        lambda I, W, b: relu(I @ W.T + b),
        {"I": normal(3, 4), "W": normal(5, 4), "b": normal(5)},
        "I W b",
    ),
    one(
        "tc_conv2d",
        CONV_STRIDED,
        lambda I, W1: group_convolution(I[:, None], W1[None], np.zeros((1, 3)))[:, 0, :, ::2, ::3],
        {"I": normal(2, 2, 6, 8), "W1": normal(3, 2, 2, 3)},
        "I W1",
        consts={"sh": 2, "sw": 3},
    ),
    one(
        "tc_max_pool",
        MAX_POOL,
        lambda I: np.lib.stride_tricks.sliding_window_view(I, (3, 3), (2, 3))[:, :, ::2, ::2].max((4, 5)),
        {"I": normal(2, 2, 5, 7)},
        "I",
    ),
    one(
        "tc_two_tables",
        TWO_TABLES,
        lambda LUT1, I1, LUT2, I2: (LUT1[I1].sum(1), LUT2[I2].sum(1)),
        {"LUT1": normal(5, 3), "I1": integers(2, 4, high=5), "LUT2": normal(6, 3), "I2": integers(2, 3, high=6)},
        "LUT1 LUT2",
    ),
    one(
        "tc_mlp3",
        tcjax.load(MLP3).mlp3,
        lambda I, W2, B2, W3, B3, W4, B4: relu(relu(relu(I @ W2.T + B2) @ W3.T + B3) @ W4.T + B4),
        {
            "I": normal(3, 4),
            "W2": normal(5, 4),
            "B2": normal(5),
            "W3": normal(4, 5),
            "B3": normal(4),
            "W4": normal(2, 4),
            "B4": normal(2),
        },
        "I W2 B2 W3 B3 W4 B4",
    ),
    one(
        "tc_kru",
        KRU,
        kru,
        {"W0": normal(2, 3), "W1": normal(3, 2), "W2": normal(2, 2), "X": normal(3, 3, 2, 2)},
        "W0 W1 W2 X",
    ),
    one(
        "tc_gconv",
        GROUP_CONVOLUTION,
        group_convolution,
        {"I": normal(1, 2, 2, 4, 5), "W1": normal(2, 3, 2, 2, 3), "B": normal(2, 3)},
        "I W1 B",
    ),
    one(
        "tc_wavenet",
        WAVENET,
        wavenet,
        {
            "Data": normal(2, 3, 6),
            "FilterW": normal(3, 3, 2),
            "FilterB": normal(3),
            "GateW": normal(3, 3, 2, seed=1),
            "GateB": normal(3, seed=1),
            "ResW": normal(3, 3),
            "ResB": normal(3, seed=2),
            "SkipW": normal(4, 3),
            "SkipB": normal(4),
        },
        "Data FilterW GateB ResW SkipW SkipB",
        python=wavenet_block,
    ),
    one("tc_moments", MOMENTS, lambda I: (I.mean(1), I.var(1)), {"I": normal(3, 5)}, "I"),
    one("tc_cosine_similarity", COSINES, cosines, {"I1": normal(3, 4), "I2": normal(3, 4, seed=1)}, "I1 I2"),
    one(
        "tc_concat",
        CONCATENATE,
        lambda A, B: np.stack([A.T, B.T], 1),
        {"A": normal(2, 3), "B": normal(2, 3, seed=1)},
        "A B",
    ),
    one("tc_tbmm", TBMM, lambda X, Y: X @ Y.transpose(0, 2, 1), {"X": normal(2, 3, 4), "Y": normal(2, 5, 4)}, "X Y"),
    one(
        "tc_steps_as_sizes",
        STEPS_AS_SIZES,
        lambda I, W1, steps: group_convolution(I[:, None], W1[None], np.zeros((1, 2)))[:, 0, :, ::2, ::2],
        {"I": normal(1, 2, 5, 6), "W1": normal(2, 2, 2, 2), "steps": integers(2, 2, high=1)},
        "I W1",
    ),
    one(
        "tc_softmax",
        "def softmax(float(N,D) I) -> (O, maxVal, expDistance, expSum) { maxVal(n) max=! I(n,d)"
        "  expDistance(n,d) = exp(I(n,d) - maxVal(n))"
        " expSum(n) +=! expDistance(n,d)  O(n,d) = expDistance(n,d) / expSum(n) }",
        lambda I: (lambda m: (lambda e: (e / e.sum(1, keepdims=True), m[:, 0], e, e.sum(1)))(np.exp(I - m)))(
            I.max(1, keepdims=True)
        ),
        {"I": normal(3, 4)},
        "I",
    ),
    one(
        "tc_shift",
        "def shift(float(N,C,H,W) I, int32(C,2) to) -> (O) { O(n,c,h,w) = pad(I(n,c,h+to(c,0),w+to(c,1)), 0)"
        " where h in 0:H, w in 0:W }",
        lambda I, to: np.stack(
            [
                np.pad(I[:, c], [(0, 0), (1, 1), (1, 1)])[:, 1 + a : 1 + a + I.shape[2], 1 + b : 1 + b + I.shape[3]]
                for c, (a, b) in enumerate(to)
            ],
            1,
        ),
        {"I": normal(2, 3, 3, 4), "to": np.array([(0, 1), (-1, 0), (1, -1)], np.int32)},
        "I",
    ),
)

# ---------------------------------------------------------------- TACO


@tcjax.kernel
def mttkrp(B: "float(I,K,L)", C: "float(K,R)", D: "float(L,R)"):
    for i in range(I):
        for k in range(K):
            for l in range(L):
                for r in range(R):
                    A[i, r] += B[i, k, l] * C[k, r] * D[l, r]
    return A


@tcjax.kernel
def sampled_product(ptr: "int32(P)", col: "int32(E)", v: "float(E)", C: "float(I,K)", D: "float(K,J)"):
    for i in range(P - 1):
        for p in range(ptr[i], ptr[i + 1]):
            A[p] = v[p] * sum[k](C[i, k] * D[k, col[p]])
    return A


ROWS = np.array([0, 2, 2, 5, 7], np.int32)
COLUMNS = np.array([0, 3, 1, 2, 4, 0, 4], np.int32)
ROW_OF = np.repeat(np.arange(4), np.diff(ROWS))


def in_full(v: Array) -> Array:
    A = np.zeros((4, 5))
    A[ROW_OF, COLUMNS] = v
    return A


CSR = {"ptr": ROWS, "col": COLUMNS, "v": normal(7)}

TACO = (
    one(
        "taco_mttkrp",
        "A(i,r) +=! B(i,k,l) * C(k,r) * D(l,r)",
        lambda B, C, D: np.einsum("ikl,kr,lr->ir", B, C, D),
        {"B": normal(2, 3, 4), "C": normal(3, 2), "D": normal(4, 2)},
        "B C D",
        python=mttkrp,
    ),
    one("taco_ttv", "A(i,j) +=! B(i,j,k) * c(k)", lambda B, c: B @ c, {"B": normal(2, 3, 4), "c": normal(4)}, "B c"),
    one(
        "taco_ttm",
        "A(i,j,k) +=! B(i,j,l) * C(k,l)",
        lambda B, C: B @ C.T,
        {"B": normal(2, 3, 4), "C": normal(2, 4)},
        "B C",
    ),
    one(
        "taco_inner",
        "a = sum[i,j,k](B(i,j,k) * C(i,j,k))",
        lambda B, C: np.array((B * C).sum()),
        {"B": normal(2, 3, 4), "C": normal(2, 3, 4, seed=1)},
        "B C",
    ),
    one(
        "taco_residual",
        "y(i) = b(i) - sum[j](A(i,j) * x(j))",
        lambda b, A, x: b - A @ x,
        {"b": normal(3), "A": normal(3, 4), "x": normal(4)},
        "b A x",
    ),
    one(
        "taco_mattransmul",
        "def f(float alpha, float beta, A, x, z) -> (y) { y(i) = alpha * sum[j](A(j,i) * x(j)) + beta * z(i) }",
        lambda alpha, beta, A, x, z: alpha * A.T @ x + beta * z,
        {"alpha": number(2), "beta": number(-1), "A": normal(3, 4), "x": normal(3), "z": normal(4)},
        "alpha beta A x z",
    ),
    one(
        "taco_sddmm",
        "A(i,j) = B(i,j) * sum[k](C(i,k) * D(k,j))",
        lambda B, C, D: B * (C @ D),
        {"B": normal(3, 4), "C": normal(3, 2), "D": normal(2, 4)},
        "B C D",
    ),
    one(
        "taco_sddmm_of_places",
        sampled_product,
        lambda ptr, col, v, C, D: v * (C @ D)[ROW_OF, col],
        CSR | {"C": normal(4, 3), "D": normal(3, 5)},
        "v C D",
    ),
    one(
        "taco_spmm",
        "def spmm(int32(P) ptr, int32(E) col, float(E) v, float(N,D) X) -> (Y) { Y(i,d) +=! v(p) * X(col(p),d)"
        " where p in ptr(i):ptr(i+1) }",
        lambda ptr, col, v, X: in_full(v) @ X,
        CSR | {"X": normal(5, 2)},
        "v X",
    ),
    one(
        "taco_transposed_spmv",
        "def f(int32(P) ptr, int32(E) col, float(E) v, float(M) x) -> (float(N) y) { y(col(p)) +=! v(p) * x(i)"
        " where p in ptr(i):ptr(i+1) }",
        lambda ptr, col, v, x: in_full(v).T @ x,
        CSR | {"x": normal(4)},
        "v x",
        sizes={"N": 5},
    ),
    one(
        "taco_to_dense",
        "def f(int32(P) ptr, int32(E) col, float(E) v) -> (float(M,N) A) { A(i,col(p)) +=! v(p)"
        " where p in ptr(i):ptr(i+1) }",
        lambda ptr, col, v: in_full(v),
        CSR,
        "v",
        sizes={"M": 4, "N": 5},
    ),
    one(
        "taco_coo",
        "def f(int32(E) row, int32(E) col, float(E) v, float(N) x) -> (float(M) y) { y(row(e)) +=! v(e) * x(col(e)) }",
        lambda row, col, v, x: in_full(v) @ x,
        {"row": ROW_OF.astype(np.int32), "col": COLUMNS, "v": normal(7), "x": normal(5)},
        "v x",
        sizes={"M": 4},
    ),
    one(
        "taco_blocked",
        "def f(int32(P) ptr, int32(E) col, float(E,2,2) v, float(N,2) x) -> (y) {"
        " y(i,a) +=! v(p,a,b) * x(col(p),b) where p in ptr(i):ptr(i+1) }",
        lambda ptr, col, v, x: np.stack(
            [sum((v[p] @ x[col[p]] for p in range(ptr[i], ptr[i + 1])), np.zeros(2)) for i in range(4)]
        ),
        {"ptr": ROWS, "col": COLUMNS, "v": normal(7, 2, 2), "x": normal(5, 2)},
        "v x",
    ),
    one(
        "taco_ell",
        "y(i) = sum[s](v(i,s) * x(col(i,s)))",
        lambda v, x, col: (v * x[col]).sum(1),
        {"v": normal(4, 3), "x": normal(5), "col": integers(4, 3, high=5)},
        "v x",
    ),
    one(
        "taco_plus_of_three",
        "A(i,j) = B(i,j) + C(i,j) + D(j,i)",
        lambda B, C, D: B + C + D.T,
        {"B": normal(3, 4), "C": normal(3, 4, seed=1), "D": normal(4, 3)},
        "B C D",
    ),
    one(
        "taco_min_plus",
        "D(i,j) min=! A(i,k) + B(k,j)",
        lambda A, B: (A[:, :, None] + B).min(1),
        {"A": normal(3, 4), "B": normal(4, 2)},
        "A B",
    ),
    one(
        "taco_reachable",
        "def f(bool(N,N) A, bool(N) x) -> (y) { y(i) any=! A(i,j) && x(j) }",
        lambda A, x: A @ x,
        {"A": integers(4, 4, high=2).astype(bool), "x": integers(4, high=2).astype(bool)},
    ),
    one(
        "taco_triangles",
        "t = sum[i,j,k where i < j, j < k](A(i,j) * A(j,k) * A(i,k))",
        lambda A: np.array(np.trace(np.linalg.matrix_power(A, 3)) // 6),
        {"A": (lambda B: (np.triu(B, 1) + np.triu(B, 1).T).astype(np.int32))(integers(6, 6, high=2))},
    ),
)

CASES = (*PAPER, *TACO)
