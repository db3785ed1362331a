"""Physics, statistics, signals, sparse matrices and bits."""

import numpy as np

import tcjax
from tests.translated.case import Array, Case, Results, integers, normal, uniform


def arc_distance_reference(theta_1: Array, phi_1: Array, theta_2: Array, phi_2: Array) -> Array:
    temp = np.sin((theta_2 - theta_1) / 2) ** 2 + np.cos(theta_1) * np.cos(theta_2) * np.sin((phi_2 - phi_1) / 2) ** 2
    return 2 * np.arctan2(np.sqrt(temp), np.sqrt(1 - temp))


ARC_DISTANCE = """
def arc_distance(float(N) theta_1, float(N) phi_1, float(N) theta_2, float(N) phi_2) -> (distance) {
    temp(i) = pow(sin((theta_2(i) - theta_1(i)) / 2), 2)
              + cos(theta_1(i)) * cos(theta_2(i)) * pow(sin((phi_2(i) - phi_1(i)) / 2), 2)
    distance(i) = 2 * atan2(sqrt(temp(i)), sqrt(1 - temp(i)))
}"""


@tcjax.kernel
def arc_distance(theta_1, phi_1, theta_2, phi_2):
    temp[i] = (
        sin((theta_2[i] - theta_1[i]) / 2) ** 2
        + cos(theta_1[i]) * cos(theta_2[i]) * sin((phi_2[i] - phi_1[i]) / 2) ** 2
    )
    distance_matrix[i] = 2 * atan2(sqrt(temp[i]), sqrt(1 - temp[i]))
    return distance_matrix


def azimint_naive_reference(data: Array, radius: Array, npt: int = 4) -> Array:
    largest = radius.max()
    result = np.zeros(npt)
    for i in range(npt):
        inside = (largest * i / npt <= radius) & (radius < largest * (i + 1) / npt)
        result[i] = data[inside].mean()
    return result


AZIMINT_NAIVE = """
def azimint_naive(float(N) data, float(N) radius) -> (res) {
    rmax = max[n](radius(n))
    res(i) = mean[n where rmax() * i / npt <= radius(n), radius(n) < rmax() * (i + 1) / npt](data(n)) where i in 0:npt
}"""

AZIMINT_WITH_MASKS = """
def azimint_naive(float(N) data, float(N) radius) -> (float(npt) res) {
    rmax max=! radius(n)
    inside(i,n) = rmax() * i / npt <= radius(n) && radius(n) < rmax() * (i + 1) / npt where i in 0:npt
    on_values(i) +=! data(n) where inside(i,n)
    count(i) +=! int32(inside(i,n))
    res(i) = on_values(i) / count(i)
}"""

AZIMINT_BINNED = """
def azimint_naive(float(N) data, float(N) radius) -> (float(npt) res) {
    rmax max=! radius(n)
    bin(n) = int32(floor(radius(n) * npt / rmax()))
    total(b) = 0.0 where b in 0:npt
    total(bin(n)) += data(n) where radius(n) < rmax()
    count(b) = 0 where b in 0:npt
    count(bin(n)) += 1 where radius(n) < rmax()
    res(b) = total(b) / count(b)
}"""


def azimint_hist_reference(data: Array, radius: Array, npt: int = 4) -> Array:
    count = np.histogram(radius, npt)[0]
    return np.histogram(radius, npt, weights=data)[0] / count


AZIMINT_HIST = """
def azimint_hist(float(N) data, float(N) radius) -> (float(npt) res) {
    least min=! radius(n)
    largest max=! radius(n)
    bin(n) = min(int32((radius(n) - least) / (largest - least) * npt), npt - 1)
    float(npt) histw
    float(npt) histu
    histw(bin(n)) +=! data(n)
    histu(bin(n)) +=! 1.0
    res(b) = histw(b) / histu(b)
}"""


def compute_reference(array_1: Array, array_2: Array, a: Array, b: Array, c: Array) -> Array:
    return np.clip(array_1, 2, 10) * a + array_2 * b + c


COMPUTE = """
def compute(int32(M,N) array_1, int32(M,N) array_2, int32 a, int32 b, int32 c) -> (out) {
    out(i,j) = min(max(array_1(i,j), 2), 10) * a + array_2(i,j) * b + c
}"""


@tcjax.kernel
def compute(array_1, array_2, a, b, c):
    for i in range(array_1.shape[0]):
        for j in range(array_1.shape[1]):
            out[i, j] = min(max(array_1[i, j], 2), 10) * a + array_2[i, j] * b + c
    return out


def correlation_reference(data: Array) -> Array:
    stddev = data.std(0)
    stddev[stddev <= 0.1] = 1.0
    data = (data - data.mean(0)) / (np.sqrt(len(data)) * stddev)
    corr = np.eye(data.shape[1])
    for i in range(data.shape[1] - 1):
        corr[i, i + 1 :] = corr[i + 1 :, i] = data[:, i] @ data[:, i + 1 :]
    return corr


CORRELATION = """
def correlation(float(N,M) data) -> (corr) {
    mean_(j) = mean[i](data(i,j))
    std(j) = sqrt(mean[i](pow(data(i,j) - mean_(j), 2)))
    stddev(j) = std(j) <= 0.1 ? 1.0 : std(j)
    z(i,j) = (data(i,j) - mean_(j)) / (sqrt(float(N)) * stddev(j))
    corr(i,j) = i == j ? 1.0 : sum[n](z(n,i) * z(n,j))
}"""

CORRELATION_IN_PARTS = """
def correlation(float(N,M) data) -> (corr) {
    mean_(j) +=! data(i,j) / N
    stddev(j) +=! (data(i,j) - mean_(j)) * (data(i,j) - mean_(j)) / N
    stddev(j) = sqrt(stddev(j))
    stddev(j) = 1.0 where stddev(j) <= 0.1
    z(i,j) = (data(i,j) - mean_(j)) / (sqrt(N) * stddev(j))
    corr(i,j) +=! z(n,i) * z(n,j) where j > i
    corr(i,j) = corr(j,i) where j < i
    corr(i,i) = 1.0
}"""


@tcjax.kernel
def correlation(data: "float(N,M)"):
    mean_[j] += data[i, j] / N
    stddev[j] += (data[i, j] - mean_[j]) ** 2
    stddev[j] = sqrt(stddev[j] / N)
    if stddev[j] <= 0.1:
        stddev[j] = 1.0
    z[i, j] = (data[i, j] - mean_[j]) / (sqrt(N) * stddev[j])
    for i in range(M):
        corr[i, i] = 1.0
    for i in range(M - 1):
        for j in range(i + 1, M):
            corr[i, j] = sum[n](z[n, i] * z[n, j])
            corr[j, i] = corr[i, j]
    return corr


def covariance_reference(data: Array) -> Array:
    data = data - data.mean(0)
    return data.T @ data / (len(data) - 1)


COVARIANCE = """
def covariance(float(N,M) data) -> (cov) {
    mean_(j) = mean[n](data(n,j))
    d(n,j) = data(n,j) - mean_(j)
    cov(i,j) +=! d(n,i) * d(n,j) / (N - 1)
}"""

COVARIANCE_OF_A_TRIANGLE = """
def covariance(float(N,M) data) -> (cov) {
    d(n,j) = data(n,j) - mean[m](data(m,j))
    cov(i,j) = sum[n](d(n,i) * d(n,j)) / (N - 1) where i <= j
    cov(i,j) = cov(j,i) where i > j
}"""


def crc16_reference(data: Array, poly: int = 0x8408) -> Array:
    crc = 0xFFFF
    for byte in data:
        byte = int(byte)
        for _ in range(8):
            crc = (crc >> 1) ^ poly if (crc & 1) ^ (byte & 1) else crc >> 1
            byte >>= 1
    crc = ~crc & 0xFFFF
    return np.array((crc << 8 | crc >> 8 & 0xFF) & 0xFFFF, np.int32)


CRC16 = """
def crc16(uint8(N) data) -> (out) {
    crc() = 65535
    for n in 0:N {
        for b in 0:8 {
            crc() = ((crc() ^ (int32(data(n)) >> b)) & 1) == 1 ? (crc() >> 1) ^ poly : crc() >> 1
        }
    }
    inverted() = ~crc() & 65535
    out() = (inverted() << 8 | inverted() >> 8 & 255) & 65535
}"""


@tcjax.kernel(consts={"poly": 0x8408})
def crc16(data: "uint8(N)") -> "int32":
    crc[()] = 0xFFFF
    for n in range(N):
        cur_byte[()] = 0xFF & data[n]
        for _ in range(8):
            crc[()] = (crc[()] >> 1) ^ poly if (crc[()] & 1) ^ (cur_byte[()] & 1) != 0 else crc[()] >> 1
            cur_byte[()] = cur_byte[()] >> 1
    crc[()] = ~crc[()] & 0xFFFF
    crc[()] = (crc[()] << 8) | ((crc[()] >> 8) & 0xFF)
    out[()] = crc[()] & 0xFFFF
    return out


def go_fast_reference(a: Array) -> Array:
    return a + sum(np.tanh(a[i, i]) for i in range(len(a)))


GO_FAST = """
def go_fast(float(N,N) a) -> (out) {
    trace +=! tanh(a(i,i))
    out(i,j) = a(i,j) + trace
}"""


@tcjax.kernel
def go_fast(a):
    trace[()] = 0.0
    for i in range(a.shape[0]):
        trace[()] += tanh(a[i, i])
    out[i, j] = a[i, j] + trace[()]
    return out


def mandelbrot_reference(X: Array, Y: Array, maxiter: int = 12, horizon: float = 2.0) -> Results:
    C = X + 1j * Y[:, None]
    N, Z = np.zeros(C.shape, np.int32), np.zeros(C.shape, complex)
    for n in range(maxiter):
        inside = abs(Z) < horizon
        N[inside] = n
        Z[inside] = Z[inside] ** 2 + C[inside]
    N[maxiter - 1 == N] = 0
    return Z, N


MANDELBROT = """
def mandelbrot(float(W) X, float(H) Y) -> (Z, N) {
    C(y,x) = X(x) + 1i * Y(y)
    Z(y,x) = 0.0 * C(y,x)
    N(y,x) = 0 where y in 0:H, x in 0:W
    for n in 0:maxiter {
        inside(y,x) = abs(Z(y,x)) < 2.0
        N(y,x) = n where inside(y,x)
        Z(y,x) = Z(y,x) * Z(y,x) + C(y,x) where inside(y,x)
    }
    N(y,x) = 0 where N(y,x) == maxiter - 1
}"""


@tcjax.kernel(consts={"maxiter": 12})
def mandelbrot(X, Y):
    C[y, x] = X[x] + 1j * Y[y]
    for y in range(Y.shape[0]):
        for x in range(X.shape[0]):
            Z[y, x] = 0j
            N[y, x] = 0
    for n in range(maxiter):
        I[y, x] = abs(Z[y, x]) < 2.0
        if I[y, x]:
            N[y, x] = n
            Z[y, x] = Z[y, x] ** 2 + C[y, x]
    if N[y, x] == maxiter - 1:
        N[y, x] = 0
    return Z, N


def acceleration(pos: Array, mass: Array, G: float, softening: float) -> Array:
    apart = pos[None, :, :] - pos[:, None, :]
    inv_r3 = ((apart**2).sum(-1) + softening**2) ** -1.5
    return G * np.einsum("ijd,ij,j->id", apart, inv_r3, mass)


def nbody_reference(mass: Array, pos: Array, vel: Array, Nt: int = 3, dt: float = 0.01) -> Results:
    G, softening = 1.0, 0.1

    def energy() -> tuple[float, float]:
        kinetic = 0.5 * (mass * (vel**2).sum(-1)).sum()
        potential = 0.0
        for i in range(len(mass)):
            for j in range(i + 1, len(mass)):
                potential -= G * mass[i] * mass[j] / np.sqrt(((pos[i] - pos[j]) ** 2).sum())
        return kinetic, potential

    vel = vel - (mass[:, None] * vel).mean(0) / mass.mean()
    acc = acceleration(pos, mass, G, softening)
    energies = [energy()]
    for _ in range(Nt):
        vel = vel + acc * dt / 2
        pos = pos + vel * dt
        acc = acceleration(pos, mass, G, softening)
        vel = vel + acc * dt / 2
        energies.append(energy())
    return np.array([e[0] for e in energies]), np.array([e[1] for e in energies])


NBODY = """
def nbody(float(N) mass, float(N,D) pos, float(N,D) vel) -> (KE, PE) {
    x(i,d) = pos(i,d)
    v(i,d) = vel(i,d) - mean[j](mass(j) * vel(j,d)) / mean[j](mass(j))
    inv(i,j) = pow(sum[d]((x(j,d) - x(i,d)) * (x(j,d) - x(i,d))) + 0.01, -1.5)
    acc(i,d) +=! (x(j,d) - x(i,d)) * inv(i,j) * mass(j)
    KE(0) = 0.5 * sum[i, d](mass(i) * v(i,d) * v(i,d))
    PE(0) = -sum[i, j where j > i](mass(i) * mass(j) / sqrt(sum[d](pow(x(i,d) - x(j,d), 2))))
    for t in 0:Nt {
        v(i,d) = v(i,d) + acc(i,d) * dt / 2
        x(i,d) = x(i,d) + v(i,d) * dt
        r2(i,j) = sum[d]((x(j,d) - x(i,d)) * (x(j,d) - x(i,d))) + 0.01
        acc(i,d) +=! (x(j,d) - x(i,d)) * pow(r2(i,j), -1.5) * mass(j)
        v(i,d) = v(i,d) + acc(i,d) * dt / 2
        KE(t+1) = 0.5 * sum[i, d](mass(i) * v(i,d) * v(i,d))
        PE(t+1) = -sum[i, j where j > i](mass(i) * mass(j) / sqrt(sum[d](pow(x(i,d) - x(j,d), 2))))
    }
}"""


def scattering_self_energies_reference(neigh_idx: Array, dH: Array, G: Array, D: Array) -> Array:
    NA, NB, N3D = dH.shape[:3]
    Nkz, NE = G.shape[:2]
    Sigma = np.zeros_like(G)
    for k in range(Nkz):
        for E in range(NE):
            for q in range(D.shape[0]):
                for w in range(D.shape[1]):
                    for i in range(N3D):
                        for j in range(N3D):
                            for a in range(NA):
                                for b in range(NB):
                                    if E - w >= 0:
                                        dHG = G[k, E - w, neigh_idx[a, b]] @ dH[a, b, i]
                                        Sigma[k, E, a] += dHG @ (dH[a, b, j] * D[q, w, a, b, i, j])
    return Sigma


SCATTERING_SELF_ENERGIES = """
def scattering(int32(NA,NB) neigh_idx, complex64(NA,NB,N3D,M,M) dH, complex64(Nkz,NE,NA,M,M) G,
               complex64(Nqz,Nw,NA,NB,N3D,N3D) D) -> (Sigma) {
    Sigma(k,E,a,l,o) +=! G(k, E-w, neigh_idx(a,b), l, m) * dH(a,b,i,m,n) * dH(a,b,j,n,o) * D(q,w,a,b,i,j)
                         where E - w >= 0, E in 0:NE
}"""

SCATTERING_IN_TWO = """
def scattering(int32(NA,NB) neigh_idx, complex64(NA,NB,N3D,M,M) dH, complex64(Nkz,NE,NA,M,M) G,
               complex64(Nqz,Nw,NA,NB,N3D,N3D) D) -> (complex64(Nkz,NE,NA,M,M) Sigma) {
    dHD(w,a,b,i,n,o) +=! dH(a,b,j,n,o) * D(q,w,a,b,i,j)
    dHG(k,e,a,b,i,l,n) +=! G(k,e,neigh_idx(a,b),l,m) * dH(a,b,i,m,n)
    Sigma(k,e,a,l,o) +=! pad(dHG(k,e-w,a,b,i,l,n), 0) * dHD(w,a,b,i,n,o)
}"""


def spmv_reference(ptr: Array, col: Array, values: Array, x: Array) -> Array:
    y = np.zeros(len(ptr) - 1)
    for i in range(len(y)):
        y[i] = values[ptr[i] : ptr[i + 1]] @ x[col[ptr[i] : ptr[i + 1]]]
    return y


SPMV = """
def spmv(int32(R) ptr, int32(E) col, float(E) values, float(N) x) -> (y) {
    y(i) +=! values(p) * x(col(p)) where p in ptr(i):ptr(i+1)
}"""


@tcjax.kernel
def spmv(A_row: "int32(R)", A_col: "int32(E)", A_val: "float(E)", x: "float(N)"):
    for i in range(R - 1):
        for p in range(A_row[i], A_row[i + 1]):
            y[i] += A_val[p] * x[A_col[p]]
    return y


def stockham_fft_reference(x: Array) -> Array:
    N = len(x)
    return np.array([sum(x[n] * np.exp(-2j * np.pi * n * k / N) for n in range(N)) for k in range(N)])


STOCKHAM_FFT = """
def stockham_fft(complex64(N) x) -> (y) {
    y(n) = x(n)
    for s in 0:K {
        z(n) = y(n)
        y(n) = sum[q in 0:2](z(n / (2 << s) * (1 << s) + n % (1 << s) + q * (N / 2))
                             * exp(-2i * 3.141592653589793 * q * (n % (2 << s)) / (2 << s))) where n in 0:N
    }
}"""

STOCKHAM_FFT_OF_A_TABLE = """
def stockham_fft(complex64(N) x) -> (z) {
    y(0,n) = x(n)
    for s in 0:K {
        size() = int32(1) << s
        low(n) = n % (2 * size()) where n in 0:N
        first(n) = n / (2 * size()) * size() + n % size() where n in 0:N
        y(s+1,n) = y(s,first(n)) + exp(-3.141592653589793i * low(n) / size()) * y(s,first(n) + N / 2)
    }
    z(n) = y(K,n)
}"""

RADIUS = uniform(40)

CASES = (
    Case(
        "arc_distance",
        arc_distance_reference,
        {"text": tcjax.kernel(ARC_DISTANCE), "python": arc_distance},
        {
            name: uniform(7, low=0.1, high=1.0, seed=n)
            for n, name in enumerate(("theta_1", "phi_1", "theta_2", "phi_2"))
        },
        ("theta_1", "phi_1", "theta_2", "phi_2"),
    ),
    Case(
        "azimint_naive",
        azimint_naive_reference,
        {
            "text": tcjax.kernel(AZIMINT_NAIVE, consts={"npt": 4}),
            "masks": tcjax.kernel(AZIMINT_WITH_MASKS, consts={"npt": 4}),
            "bins": tcjax.kernel(AZIMINT_BINNED, consts={"npt": 4}),
        },
        {"data": normal(40), "radius": RADIUS},
        ("data",),
    ),
    Case(
        "azimint_hist",
        azimint_hist_reference,
        {
            "text": tcjax.kernel(AZIMINT_HIST, consts={"npt": 4}),
        },
        {"data": normal(40), "radius": RADIUS},
        ("data",),
    ),
    Case(
        "compute",
        compute_reference,
        {"text": tcjax.kernel(COMPUTE), "python": compute},
        {
            "array_1": integers(4, 5, high=100),
            "array_2": integers(4, 5, high=100, seed=1),
            "a": np.array(4, np.int32),
            "b": np.array(3, np.int32),
            "c": np.array(9, np.int32),
        },
    ),
    Case(
        "correlation",
        correlation_reference,
        {"text": tcjax.kernel(CORRELATION), "parts": tcjax.kernel(CORRELATION_IN_PARTS), "python": correlation},
        {"data": normal(7, 5)},
        ("data",),
    ),
    Case(
        "covariance",
        covariance_reference,
        {"text": tcjax.kernel(COVARIANCE), "triangle": tcjax.kernel(COVARIANCE_OF_A_TRIANGLE)},
        {"data": normal(7, 5)},
        ("data",),
    ),
    Case(
        "crc16",
        crc16_reference,
        {"text": tcjax.kernel(CRC16, consts={"poly": 0x8408}), "python": crc16},
        {"data": integers(20, high=256).astype(np.uint8)},
    ),
    Case("go_fast", go_fast_reference, {"text": tcjax.kernel(GO_FAST), "python": go_fast}, {"a": normal(5, 5)}, ("a",)),
    Case(
        "mandelbrot",
        mandelbrot_reference,
        {"text": tcjax.kernel(MANDELBROT, consts={"maxiter": 12}), "python": mandelbrot},
        {"X": np.linspace(-2.1, 0.6, 6), "Y": np.linspace(-1.2, 1.3, 5)},
    ),
    Case(
        "nbody",
        nbody_reference,
        {"text": tcjax.kernel(NBODY, consts={"Nt": 3, "dt": 0.01})},
        {"mass": uniform(5, low=1, high=2), "pos": normal(5, 3), "vel": normal(5, 3, seed=1)},
        ("mass", "pos", "vel"),
    ),
    Case(
        "scattering_self_energies",
        scattering_self_energies_reference,
        {"text": tcjax.kernel(SCATTERING_SELF_ENERGIES), "in_two": tcjax.kernel(SCATTERING_IN_TWO)},
        {
            "neigh_idx": integers(3, 2, high=3),
            "dH": normal(3, 2, 2, 2, 2) + 1j * normal(3, 2, 2, 2, 2, seed=1),
            "G": normal(2, 4, 3, 2, 2) + 1j * normal(2, 4, 3, 2, 2, seed=1),
            "D": normal(2, 2, 3, 2, 2, 2) + 1j * normal(2, 2, 3, 2, 2, 2, seed=1),
        },
    ),
    Case(
        "spmv",
        spmv_reference,
        {"text": tcjax.kernel(SPMV), "python": spmv},
        {"ptr": np.array([0, 2, 2, 5, 7], np.int32), "col": integers(7, high=5), "values": normal(7), "x": normal(5)},
        ("values", "x"),
    ),
    Case(
        "stockham_fft",
        stockham_fft_reference,
        {
            "text": tcjax.kernel(STOCKHAM_FFT, consts={"K": 4}),
            "table": tcjax.kernel(STOCKHAM_FFT_OF_A_TABLE, consts={"K": 4}),
        },
        {"x": normal(16) + 1j * normal(16, seed=1)},
    ),
)
