"""Stencils, most of them in time steps."""

import numpy as np

import tcjax
from tests.translated.case import Array, Case, Results, normal, number, uniform


def adi_reference(u: Array, T: int = 2) -> Array:
    N = len(u)
    v, p, q = np.zeros_like(u), np.zeros_like(u), np.zeros_like(u)
    mul1, mul2 = 2.0 * N * N / T, 1.0 * N * N / T
    a = c = -mul1 / 2.0
    b = 1.0 + mul1
    d = f = -mul2 / 2.0
    e = 1.0 + mul2
    for _ in range(T):
        v[0, 1 : N - 1] = 1.0
        p[1 : N - 1, 0] = 0.0
        q[1 : N - 1, 0] = v[0, 1 : N - 1]
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                p[i, j] = -c / (a * p[i, j - 1] + b)
                right = -d * u[j, i - 1] + (1.0 + 2.0 * d) * u[j, i] - f * u[j, i + 1]
                q[i, j] = (right - a * q[i, j - 1]) / (a * p[i, j - 1] + b)
            v[N - 1, i] = 1.0
            for j in range(N - 2, 0, -1):
                v[j, i] = p[i, j] * v[j + 1, i] + q[i, j]
        for i in range(1, N - 1):
            u[i, 0] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = u[i, 0]
            for j in range(1, N - 1):
                p[i, j] = -f / (d * p[i, j - 1] + e)
                right = -a * v[i - 1, j] + (1.0 + 2.0 * a) * v[i, j] - c * v[i + 1, j]
                q[i, j] = (right - d * q[i, j - 1]) / (d * p[i, j - 1] + e)
            u[i, N - 1] = 1.0
            for j in range(N - 2, 0, -1):
                u[i, j] = p[i, j] * u[i, j + 1] + q[i, j]
    return u


ADI = """
def adi(float(N,N) u) -> (w) {
    a() = -1.0 * N * N / T
    c() = a()
    b() = 1.0 - 2.0 * a()
    d() = -0.5 * N * N / T
    f() = d()
    e() = 1.0 - 2.0 * d()
    w(i,j) = u(i,j)
    for t in 0:T {
        v(0,i) = 1.0 where i in 1:N-1
        v(N-1,i) = 1.0 where i in 1:N-1
        p(i,0) = 0.0 where i in 1:N-1
        q(i,0) = v(0,i) where i in 1:N-1
        for j in 1:N-1 {
            p(i,j) = -c / (a * p(i,j-1) + b) where i in 1:N-1
            q(i,j) = (-d * w(j,i-1) + (1.0 + 2.0 * d) * w(j,i) - f * w(j,i+1) - a * q(i,j-1)) / (a * p(i,j-1) + b)
                     where i in 1:N-1
        }
        for j in N-2:0:-1 { v(j,i) = p(i,j) * v(j+1,i) + q(i,j) where i in 1:N-1 }
        w(i,0) = 1.0 where i in 1:N-1
        w(i,N-1) = 1.0 where i in 1:N-1
        q(i,0) = 1.0 where i in 1:N-1
        for j in 1:N-1 {
            p(i,j) = -f / (d * p(i,j-1) + e) where i in 1:N-1
            q(i,j) = (-a * v(i-1,j) + (1.0 + 2.0 * a) * v(i,j) - c * v(i+1,j) - d * q(i,j-1)) / (d * p(i,j-1) + e)
                     where i in 1:N-1
        }
        for j in N-2:0:-1 { w(i,j) = p(i,j) * w(i,j+1) + q(i,j) where i in 1:N-1 }
    }
}"""


def cavity_flow_reference(
    u: Array, v: Array, p: Array, dt: Array, dx: Array, dy: Array, rho: Array, nu: Array, steps: int = 3, nit: int = 4
) -> Results:
    b = np.zeros_like(u)
    for _ in range(steps):
        un, vn = u.copy(), v.copy()
        east, west, north, south, mid = (
            np.s_[1:-1, 2:],
            np.s_[1:-1, :-2],
            np.s_[2:, 1:-1],
            np.s_[:-2, 1:-1],
            np.s_[1:-1, 1:-1],
        )
        b[mid] = rho * (
            1 / dt * ((u[east] - u[west]) / (2 * dx) + (v[north] - v[south]) / (2 * dy))
            - ((u[east] - u[west]) / (2 * dx)) ** 2
            - 2 * ((u[north] - u[south]) / (2 * dy) * (v[east] - v[west]) / (2 * dx))
            - ((v[north] - v[south]) / (2 * dy)) ** 2
        )
        for _ in range(nit):
            pn = p.copy()
            p[mid] = ((pn[east] + pn[west]) * dy**2 + (pn[north] + pn[south]) * dx**2) / (2 * (dx**2 + dy**2)) - (
                dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[mid]
            )
            p[:, -1] = p[:, -2]
            p[0, :] = p[1, :]
            p[:, 0] = p[:, 1]
            p[-1, :] = 0
        for w, wn, gradient in ((u, un, (p[east] - p[west]) / (2 * dx)), (v, vn, (p[north] - p[south]) / (2 * dy))):
            w[mid] = (
                wn[mid]
                - un[mid] * dt / dx * (wn[mid] - wn[west])
                - vn[mid] * dt / dy * (wn[mid] - wn[south])
                - dt / rho * gradient
                + nu
                * (
                    dt / dx**2 * (wn[east] - 2 * wn[mid] + wn[west])
                    + dt / dy**2 * (wn[north] - 2 * wn[mid] + wn[south])
                )
            )
        u[0, :] = 0
        u[:, 0] = 0
        u[:, -1] = 0
        u[-1, :] = 1
        v[-1, :] = 0
        v[0, :] = 0
        v[:, 0] = 0
        v[:, -1] = 0
    return u, v, p


CAVITY_FLOW = """
def cavity_flow(float(Y,X) u0, float(Y,X) v0, float(Y,X) p0, float dt, float dx, float dy, float rho, float nu)
    -> (u, v, p) {
    s() = 2 * (pow(dx, 2) + pow(dy, 2))
    u(i,j) = u0(i,j)
    v(i,j) = v0(i,j)
    p(i,j) = p0(i,j)
    for n in 0:steps {
        un(i,j) = u(i,j)
        vn(i,j) = v(i,j)
        ux(i,j) = (un(i,j+1) - un(i,j-1)) / (2 * dx) where i in 1:Y-1
        uy(i,j) = (un(i+1,j) - un(i-1,j)) / (2 * dy) where j in 1:X-1
        vx(i,j) = (vn(i,j+1) - vn(i,j-1)) / (2 * dx) where i in 1:Y-1
        vy(i,j) = (vn(i+1,j) - vn(i-1,j)) / (2 * dy) where j in 1:X-1
        b(i,j) = rho * ((ux(i,j) + vy(i,j)) / dt - pow(ux(i,j), 2) - 2 * uy(i,j) * vx(i,j) - pow(vy(i,j), 2))
        for q in 0:nit {
            pn(i,j) = p(i,j)
            p(i,j) = ((pn(i,j+1) + pn(i,j-1)) * pow(dy, 2) + (pn(i+1,j) + pn(i-1,j)) * pow(dx, 2)) / s
                     - pow(dx, 2) * pow(dy, 2) / s * b(i,j)
            p(i,X-1) = p(i,X-2)
            p(0,j) = p(1,j)
            p(i,0) = p(i,1)
            p(Y-1,j) = 0.0
        }
        u(i,j) = un(i,j) - un(i,j) * dt / dx * (un(i,j) - un(i,j-1)) - vn(i,j) * dt / dy * (un(i,j) - un(i-1,j))
                 - dt / (2 * rho * dx) * (p(i,j+1) - p(i,j-1))
                 + nu * dt / pow(dx, 2) * (un(i,j+1) - 2 * un(i,j) + un(i,j-1))
                 + nu * dt / pow(dy, 2) * (un(i+1,j) - 2 * un(i,j) + un(i-1,j))
        v(i,j) = vn(i,j) - un(i,j) * dt / dx * (vn(i,j) - vn(i,j-1)) - vn(i,j) * dt / dy * (vn(i,j) - vn(i-1,j))
                 - dt / (2 * rho * dy) * (p(i+1,j) - p(i-1,j))
                 + nu * dt / pow(dx, 2) * (vn(i,j+1) - 2 * vn(i,j) + vn(i,j-1))
                 + nu * dt / pow(dy, 2) * (vn(i+1,j) - 2 * vn(i,j) + vn(i-1,j))
        u(0,j) = 0.0
        u(i,0) = 0.0
        u(i,X-1) = 0.0
        u(Y-1,j) = 1.0
        v(0,j) = 0.0
        v(Y-1,j) = 0.0
        v(i,0) = 0.0
        v(i,X-1) = 0.0
    }
}"""


def channel_flow_reference(
    u: Array,
    v: Array,
    p: Array,
    dt: Array,
    dx: Array,
    dy: Array,
    rho: Array,
    nu: Array,
    F: Array,
    steps: int = 2,
    nit: int = 3,
) -> Results:
    def at(x: Array, di: int, dj: int) -> Array:
        return np.roll(x, (-di, -dj), (0, 1))

    for _ in range(steps):
        un, vn = u.copy(), v.copy()
        ux, uy = (at(un, 0, 1) - at(un, 0, -1)) / (2 * dx), (at(un, 1, 0) - at(un, -1, 0)) / (2 * dy)
        vx, vy = (at(vn, 0, 1) - at(vn, 0, -1)) / (2 * dx), (at(vn, 1, 0) - at(vn, -1, 0)) / (2 * dy)
        b = rho * ((ux + vy) / dt - ux**2 - 2 * uy * vx - vy**2)
        b[0] = b[-1] = 0
        for _ in range(nit):
            pn = p.copy()
            p = ((at(pn, 0, 1) + at(pn, 0, -1)) * dy**2 + (at(pn, 1, 0) + at(pn, -1, 0)) * dx**2) / (
                2 * (dx**2 + dy**2)
            )
            p -= dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b
            p[-1], p[0] = p[-2], p[1]
        px, py = (at(p, 0, 1) - at(p, 0, -1)) / (2 * dx), (at(p, 1, 0) - at(p, -1, 0)) / (2 * dy)
        new = []
        for w, gradient, force in ((un, px, F * dt), (vn, py, 0)):
            smooth = (at(w, 0, 1) - 2 * w + at(w, 0, -1)) / dx**2 + (at(w, 1, 0) - 2 * w + at(w, -1, 0)) / dy**2
            carried = un * (w - at(w, 0, -1)) / dx + vn * (w - at(w, -1, 0)) / dy
            w = w + dt * (nu * smooth - carried - gradient / rho) + force
            w[0] = w[-1] = 0
            new.append(w)
        u, v = new
    return u, v, p


CHANNEL_FLOW = """
def channel_flow(float(Y,X) u0, float(Y,X) v0, float(Y,X) p0, float dt, float dx, float dy, float rho, float nu,
                 float F) -> (u, v, p) {
    s() = 2 * (pow(dx, 2) + pow(dy, 2))
    u(i,j) = u0(i,j)
    v(i,j) = v0(i,j)
    p(i,j) = p0(i,j)
    for n in 0:steps {
        un(i,j) = u(i,j)
        vn(i,j) = v(i,j)
        ux(i,j) = (un(i,wrap(j+1)) - un(i,wrap(j-1))) / (2 * dx) where i in 1:Y-1, j in 0:X
        uy(i,j) = (un(i+1,j) - un(i-1,j)) / (2 * dy)
        vx(i,j) = (vn(i,wrap(j+1)) - vn(i,wrap(j-1))) / (2 * dx) where i in 1:Y-1, j in 0:X
        vy(i,j) = (vn(i+1,j) - vn(i-1,j)) / (2 * dy)
        b(i,j) = rho * ((ux(i,j) + vy(i,j)) / dt - pow(ux(i,j), 2) - 2 * uy(i,j) * vx(i,j) - pow(vy(i,j), 2))
        for q in 0:nit {
            pn(i,j) = p(i,j)
            p(i,j) = ((pn(i,wrap(j+1)) + pn(i,wrap(j-1))) * pow(dy, 2) + (pn(i+1,j) + pn(i-1,j)) * pow(dx, 2)) / s
                     - pow(dx, 2) * pow(dy, 2) / s * b(i,j)
            p(Y-1,j) = p(Y-2,j)
            p(0,j) = p(1,j)
        }
        u(i,j) = un(i,j) - un(i,j) * dt / dx * (un(i,j) - un(i,wrap(j-1))) - vn(i,j) * dt / dy * (un(i,j) - un(i-1,j))
                 - dt / (2 * rho * dx) * (p(i,wrap(j+1)) - p(i,wrap(j-1)))
                 + nu * dt / pow(dx, 2) * (un(i,wrap(j+1)) - 2 * un(i,j) + un(i,wrap(j-1)))
                 + nu * dt / pow(dy, 2) * (un(i+1,j) - 2 * un(i,j) + un(i-1,j)) + F * dt
        v(i,j) = vn(i,j) - un(i,j) * dt / dx * (vn(i,j) - vn(i,wrap(j-1))) - vn(i,j) * dt / dy * (vn(i,j) - vn(i-1,j))
                 - dt / (2 * rho * dy) * (p(i+1,j) - p(i-1,j))
                 + nu * dt / pow(dx, 2) * (vn(i,wrap(j+1)) - 2 * vn(i,j) + vn(i,wrap(j-1)))
                 + nu * dt / pow(dy, 2) * (vn(i+1,j) - 2 * vn(i,j) + vn(i-1,j))
        u(0,j) = 0.0
        u(Y-1,j) = 0.0
        v(0,j) = 0.0
        v(Y-1,j) = 0.0
    }
}"""


def fdtd_2d_reference(ex: Array, ey: Array, hz: Array, fict: Array) -> Results:
    for t in range(len(fict)):
        ey[0, :] = fict[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz


FDTD_2D = """
def fdtd_2d(float(X,Y) ex, float(X,Y) ey, float(X,Y) hz, float(T) fict) -> (Ex, Ey, Hz) {
    Ex(i,j) = ex(i,j)
    Ey(i,j) = ey(i,j)
    Hz(i,j) = hz(i,j)
    for t in 0:T {
        Ey(0,j) = fict(t)
        Ey(i,j) += -0.5 * (Hz(i,j) - Hz(i-1,j))
        Ex(i,j) += -0.5 * (Hz(i,j) - Hz(i,j-1))
        Hz(i,j) += -0.7 * (Ex(i,j+1) - Ex(i,j) + Ey(i+1,j) - Ey(i,j))
    }
}"""


@tcjax.kernel
def fdtd_2d(ex: "float(X,Y)", ey: "float(X,Y)", hz: "float(X,Y)", fict: "float(T)"):
    Ex[i, j] = ex[i, j]
    Ey[i, j] = ey[i, j]
    Hz[i, j] = hz[i, j]
    for t in range(T):
        for j in range(Y):
            Ey[0, j] = fict[t]
        for i in range(1, X):
            for j in range(Y):
                Ey[i, j] = Ey[i, j] - 0.5 * (Hz[i, j] - Hz[i - 1, j])
        for i in range(X):
            for j in range(1, Y):
                Ex[i, j] = Ex[i, j] - 0.5 * (Hz[i, j] - Hz[i, j - 1])
        for i in range(X - 1):
            for j in range(Y - 1):
                Hz[i, j] = Hz[i, j] - 0.7 * (Ex[i, j + 1] - Ex[i, j] + Ey[i + 1, j] - Ey[i, j])
    return Ex, Ey, Hz


def hdiff_reference(field: Array, coeff: Array) -> Array:
    I, J = coeff.shape[0], coeff.shape[1]
    lap = 4 * field[1 : I + 3, 1 : J + 3] - (
        field[2 : I + 4, 1 : J + 3]
        + field[0 : I + 2, 1 : J + 3]
        + field[1 : I + 3, 2 : J + 4]
        + field[1 : I + 3, 0 : J + 2]
    )
    res = lap[1:, 1 : J + 1] - lap[:-1, 1 : J + 1]
    flx = np.where(res * (field[2 : I + 3, 2 : J + 2] - field[1 : I + 2, 2 : J + 2]) > 0, 0, res)
    res = lap[1 : I + 1, 1:] - lap[1 : I + 1, :-1]
    fly = np.where(res * (field[2 : I + 2, 2 : J + 3] - field[2 : I + 2, 1 : J + 2]) > 0, 0, res)
    return field[2 : I + 2, 2 : J + 2] - coeff * (flx[1:] - flx[:-1] + fly[:, 1:] - fly[:, :-1])


HDIFF = """
def hdiff(float(I4,J4,K) x, float(I,J,K) coeff) -> (out) {
    lap(i,j,k) = 4.0 * x(i,j,k) - (x(i+1,j,k) + x(i-1,j,k) + x(i,j+1,k) + x(i,j-1,k))
    rx(i,j,k) = lap(i+1,j,k) - lap(i,j,k)
    flx(i,j,k) = rx(i,j,k) * (x(i+1,j,k) - x(i,j,k)) > 0 ? 0.0 : rx(i,j,k)
    ry(i,j,k) = lap(i,j+1,k) - lap(i,j,k)
    fly(i,j,k) = ry(i,j,k) * (x(i,j+1,k) - x(i,j,k)) > 0 ? 0.0 : ry(i,j,k)
    out(i,j,k) = x(i+2,j+2,k) - coeff(i,j,k) * (flx(i+2,j+2,k) - flx(i+1,j+2,k) + fly(i+2,j+2,k) - fly(i+2,j+1,k))
}"""


def heat_3d_reference(A: Array, T: int = 2) -> Array:
    def step(u: Array) -> Array:
        new = u.copy()
        mid = u[1:-1, 1:-1, 1:-1]
        new[1:-1, 1:-1, 1:-1] = mid + 0.125 * (
            (u[2:, 1:-1, 1:-1] - 2 * mid + u[:-2, 1:-1, 1:-1])
            + (u[1:-1, 2:, 1:-1] - 2 * mid + u[1:-1, :-2, 1:-1])
            + (u[1:-1, 1:-1, 2:] - 2 * mid + u[1:-1, 1:-1, :-2])
        )
        return new

    for _ in range(2 * T):
        A = step(A)
    return A


HEAT_3D = """
def heat_3d(float(N,N,N) A0) -> (A) {
    A(i,j,k) = A0(i,j,k)
    B(i,j,k) = A0(i,j,k)
    for t in 0:T {
        B(i,j,k) = 0.125 * (A(i+1,j,k) - 2.0 * A(i,j,k) + A(i-1,j,k))
                 + 0.125 * (A(i,j+1,k) - 2.0 * A(i,j,k) + A(i,j-1,k))
                 + 0.125 * (A(i,j,k+1) - 2.0 * A(i,j,k) + A(i,j,k-1)) + A(i,j,k)
        A(i,j,k) = 0.125 * (B(i+1,j,k) - 2.0 * B(i,j,k) + B(i-1,j,k))
                 + 0.125 * (B(i,j+1,k) - 2.0 * B(i,j,k) + B(i,j-1,k))
                 + 0.125 * (B(i,j,k+1) - 2.0 * B(i,j,k) + B(i,j,k-1)) + B(i,j,k)
    }
}"""


def jacobi_1d_reference(A: Array, B: Array, T: int = 3) -> Results:
    for _ in range(T):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])
    return A, B


JACOBI_1D = """
def jacobi_1d(float(N) A, float(N) B) -> (A1, B1) {
    A1(i) = A(i)
    B1(i) = B(i)
    for t in 0:T {
        B1(i) = 0.33333 * (A1(i-1) + A1(i) + A1(i+1))
        A1(i) = 0.33333 * (B1(i-1) + B1(i) + B1(i+1))
    }
}"""

JACOBI_1D_IN_SPACE_AND_TIME = """
def jacobi_1d(float(N) A, float(N) B) -> (A1, B1) {
    u(0,i) = A(i)
    for t in 0:T {
        v(t,i) = i == 0 || i == N-1 ? B(i) : 0.33333 * (u(t,i-1) + u(t,i) + u(t,i+1)) where i in 0:N
        u(t+1,i) = i == 0 || i == N-1 ? A(i) : 0.33333 * (v(t,i-1) + v(t,i) + v(t,i+1)) where i in 0:N
    }
    A1(i) = u(T,i)
    B1(i) = v(T-1,i)
}"""


@tcjax.kernel(consts={"T": 3})
def jacobi_1d(A: "float(N)", B: "float(N)"):
    A1[i] = A[i]
    B1[i] = B[i]
    for _ in range(T):
        for i in range(1, N - 1):
            B1[i] = 0.33333 * (A1[i - 1] + A1[i] + A1[i + 1])
        for i in range(1, N - 1):
            A1[i] = 0.33333 * (B1[i - 1] + B1[i] + B1[i + 1])
    return A1, B1


def jacobi_2d_reference(A: Array, B: Array, T: int = 3) -> Results:
    for _ in range(T):
        for u, v in ((A, B), (B, A)):
            v[1:-1, 1:-1] = 0.2 * (u[1:-1, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] + u[2:, 1:-1] + u[:-2, 1:-1])
    return A, B


JACOBI_2D = """
def jacobi_2d(float(N,N) A, float(N,N) B) -> (A1, B1) {
    A1(i,j) = A(i,j)
    B1(i,j) = B(i,j)
    for t in 0:T {
        B1(i,j) = 0.2 * (A1(i,j) + A1(i,j-1) + A1(i,j+1) + A1(i+1,j) + A1(i-1,j))
        A1(i,j) = 0.2 * (B1(i,j) + B1(i,j-1) + B1(i,j+1) + B1(i+1,j) + B1(i-1,j))
    }
}"""


def seidel_2d_reference(A: Array, T: int = 2) -> Array:
    for _ in range(T):
        for i in range(1, len(A) - 1):
            for j in range(1, len(A) - 1):
                A[i, j] = A[i - 1 : i + 2, j - 1 : j + 2].sum() / 9.0
    return A


SEIDEL_2D = """
def seidel_2d(float(N,N) A) -> (B) {
    B(i,j) = A(i,j)
    for t in 0:T {
        C(i,j) = B(i,j)
        for i in 1:N-1 {
            for j in 1:N-1 {
                B(i,j) = (B(i-1,j-1) + B(i-1,j) + B(i-1,j+1) + B(i,j-1) + C(i,j) + C(i,j+1)
                          + C(i+1,j-1) + C(i+1,j) + C(i+1,j+1)) / 9.0
            }
        }
    }
}"""

# With a loop around all of them, steps start from what the previous iteration left.
SEIDEL_2D_IN_PLACE = """
def seidel_2d(float(N,N) A) -> (B) {
    B(i,j) = A(i,j)
    for t in 0:T {
        for i in 1:N-1 {
            for j in 1:N-1 { B(i,j) = sum[a in -1:2, b in -1:2](B(i+a, j+b)) / 9.0 }
        }
    }
}"""


def deriche_reference(img: Array, alpha: Array) -> Array:
    k = (1.0 - np.exp(-alpha)) ** 2 / (1.0 + alpha * np.exp(-alpha) - np.exp(2.0 * alpha))
    a1, a2 = k, k * np.exp(-alpha) * (alpha - 1.0)
    a3, a4 = k * np.exp(-alpha) * (alpha + 1.0), -k * np.exp(-2.0 * alpha)
    b1, b2 = 2.0 ** (-alpha), -np.exp(-2.0 * alpha)

    def along(x: Array) -> Array:
        y1, y2 = np.zeros_like(x), np.zeros_like(x)
        H = x.shape[1]
        for j in range(H):
            y1[:, j] = a1 * x[:, j]
            if j > 0:
                y1[:, j] += a2 * x[:, j - 1] + b1 * y1[:, j - 1]
            if j > 1:
                y1[:, j] += b2 * y1[:, j - 2]
        for j in range(H - 2, -1, -1):
            y2[:, j] = a3 * x[:, j + 1] + b1 * y2[:, j + 1]
            if j < H - 2:
                y2[:, j] += a4 * x[:, j + 2] + b2 * y2[:, j + 2]
        return y1 + y2

    return along(along(img).T).T


DERICHE = """
def deriche(float(W,H) img, float alpha) -> (out) {
    k() = pow(1.0 - exp(-alpha), 2) / (1.0 + alpha * exp(-alpha) - exp(2.0 * alpha))
    a2() = k * exp(-alpha) * (alpha - 1.0)
    a3() = k * exp(-alpha) * (alpha + 1.0)
    a4() = -k * exp(-2.0 * alpha)
    b1() = pow(2.0, -alpha)
    b2() = -exp(-2.0 * alpha)
    y1(i,0) = k * img(i,0)
    y1(i,1) = k * img(i,1) + a2 * img(i,0) + b1 * y1(i,0)
    for j in 2:H { y1(i,j) = k * img(i,j) + a2 * img(i,j-1) + b1 * y1(i,j-1) + b2 * y1(i,j-2) }
    y2(i,H-1) = 0.0 where i in 0:W
    y2(i,H-2) = a3 * img(i,H-1)
    for j in H-3:-1:-1 { y2(i,j) = a3 * img(i,j+1) + a4 * img(i,j+2) + b1 * y2(i,j+1) + b2 * y2(i,j+2) }
    mid(i,j) = y1(i,j) + y2(i,j)
    z1(0,j) = k * mid(0,j)
    z1(1,j) = k * mid(1,j) + a2 * mid(0,j) + b1 * z1(0,j)
    for i in 2:W { z1(i,j) = k * mid(i,j) + a2 * mid(i-1,j) + b1 * z1(i-1,j) + b2 * z1(i-2,j) }
    z2(W-1,j) = 0.0 where j in 0:H
    z2(W-2,j) = a3 * mid(W-1,j)
    for i in W-3:-1:-1 { z2(i,j) = a3 * mid(i+1,j) + a4 * mid(i+2,j) + b1 * z2(i+1,j) + b2 * z2(i+2,j) }
    out(i,j) = z1(i,j) + z2(i,j)
}"""

DERICHE_PADDED = """
def deriche(float(W,H) img, float alpha) -> (out) {
    k() = pow(1.0 - exp(-alpha), 2) / (1.0 + alpha * exp(-alpha) - exp(2.0 * alpha))
    a2() = k * exp(-alpha) * (alpha - 1.0)
    a3() = k * exp(-alpha) * (alpha + 1.0)
    a4() = -k * exp(-2.0 * alpha)
    b1() = pow(2.0, -alpha)
    b2() = -exp(-2.0 * alpha)
    for j in 0:H {
        y1(i,j) = k * img(i,j) + a2 * pad(img(i,j-1), 0)
                  + b1 * (j > 0 ? y1(i,j-1) : 0.0) + b2 * (j > 1 ? y1(i,j-2) : 0.0)
    }
    for j in H-1:-1:-1 {
        y2(i,j) = a3 * pad(img(i,j+1), 0) + a4 * pad(img(i,j+2), 0)
                  + b1 * (j < H-1 ? y2(i,j+1) : 0.0) + b2 * (j < H-2 ? y2(i,j+2) : 0.0) where i in 0:W
    }
    mid(i,j) = y1(i,j) + y2(i,j)
    for i in 0:W {
        z1(i,j) = k * mid(i,j) + a2 * pad(mid(i-1,j), 0)
                  + b1 * (i > 0 ? z1(i-1,j) : 0.0) + b2 * (i > 1 ? z1(i-2,j) : 0.0)
    }
    for i in W-1:-1:-1 {
        z2(i,j) = a3 * pad(mid(i+1,j), 0) + a4 * pad(mid(i+2,j), 0)
                  + b1 * (i < W-1 ? z2(i+1,j) : 0.0) + b2 * (i < W-2 ? z2(i+2,j) : 0.0) where j in 0:H
    }
    out(i,j) = z1(i,j) + z2(i,j)
}"""

FLOW = {"dt": number(0.01), "dx": number(0.25), "dy": number(0.2), "rho": number(1.0), "nu": number(0.1)}

CASES = (
    Case("adi", adi_reference, {"text": tcjax.kernel(ADI, consts={"T": 2})}, {"u": uniform(6, 6)}, ("u",)),
    Case(
        "cavity_flow",
        cavity_flow_reference,
        {"text": tcjax.kernel(CAVITY_FLOW, consts={"steps": 3, "nit": 4})},
        {"u": normal(6, 5), "v": normal(6, 5, seed=1), "p": normal(6, 5, seed=2)} | FLOW,
        ("u", "v", "p", "dt", "nu"),
    ),
    Case(
        "channel_flow",
        channel_flow_reference,
        {"text": tcjax.kernel(CHANNEL_FLOW, consts={"steps": 2, "nit": 3})},
        {"u": normal(6, 5), "v": normal(6, 5, seed=1), "p": normal(6, 5, seed=2)} | FLOW | {"F": number(1.0)},
        ("u", "v", "p", "dt", "nu"),
    ),
    Case(
        "fdtd_2d",
        fdtd_2d_reference,
        {"text": tcjax.kernel(FDTD_2D), "python": fdtd_2d},
        {"ex": normal(5, 6), "ey": normal(5, 6, seed=1), "hz": normal(5, 6, seed=2), "fict": normal(3)},
        ("ex", "ey", "hz", "fict"),
    ),
    Case(
        "hdiff",
        hdiff_reference,
        {"text": tcjax.kernel(HDIFF)},
        {"field": normal(8, 9, 3), "coeff": normal(4, 5, 3)},
        ("field", "coeff"),
    ),
    Case(
        "heat_3d", heat_3d_reference, {"text": tcjax.kernel(HEAT_3D, consts={"T": 2})}, {"A": normal(5, 5, 5)}, ("A",)
    ),
    Case(
        "jacobi_1d",
        jacobi_1d_reference,
        {
            "text": tcjax.kernel(JACOBI_1D, consts={"T": 3}),
            "space_time": tcjax.kernel(JACOBI_1D_IN_SPACE_AND_TIME, consts={"T": 3}),
            "python": jacobi_1d,
        },
        {"A": normal(8), "B": normal(8, seed=1)},
        ("A", "B"),
    ),
    Case(
        "jacobi_2d",
        jacobi_2d_reference,
        {"text": tcjax.kernel(JACOBI_2D, consts={"T": 3})},
        {"A": normal(6, 6), "B": normal(6, 6, seed=1)},
        ("A", "B"),
    ),
    Case(
        "seidel_2d",
        seidel_2d_reference,
        {
            "text": tcjax.kernel(SEIDEL_2D, consts={"T": 2}),
            "in_place": tcjax.kernel(SEIDEL_2D_IN_PLACE, consts={"T": 2}),
        },
        {"A": normal(6, 6)},
        ("A",),
    ),
    Case(
        "deriche",
        deriche_reference,
        {"text": tcjax.kernel(DERICHE), "padded": tcjax.kernel(DERICHE_PADDED)},
        {"img": normal(5, 6), "alpha": number(0.25)},
        ("img", "alpha"),
    ),
)
