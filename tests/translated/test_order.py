"""Loops in the Python notation mean what they mean in Python: each body is read as a kernel, and run on arrays."""

import linecache
import re

import numpy as np
import pytest

import tcjax

SIZES = {"N": 5, "M": 4, "T": 6}

# Every body gives its parameters with their sizes, its results, and its statements.
BODIES = """
# x: N -> y
for i in range(N):
    y[i] = x[i]
for i in range(1, N):
    y[i] = y[i] + y[i - 1]
    y[i] = y[i] * 0.5
# x: N -> s, y
s[()] = 0.0
for i in range(N):
    y[i] = s[()]
    s[()] += x[i]
# A: N,M -> s, y
for j in range(M):
    s[j] = 0.0
for i in range(N):
    for j in range(M):
        s[j] += A[i, j]
        y[i, j] = s[j]
# A: N,M -> s, y
for j in range(M):
    s[j] = 0.0
for i in range(N):
    for j in range(M):
        s[j] += A[i, j]
    for j in range(M):
        y[i, j] = s[j] * s[0]
# A: N,M -> s, y
s[()] = 0.0
for i in range(N):
    for j in range(M):
        s[()] += A[i, j]
        y[i, j] = s[()]
# A: N,M -> m, y
for i in range(N):
    m[i] = A[i, 0]
    for j in range(1, M):
        m[i] = max(m[i], A[i, j])
    for j in range(M):
        y[i, j] = A[i, j] - m[i]
# A: N,M -> y
for i in range(N):
    for j in range(M):
        y[i, j] = A[i, j]
        if i > 0:
            y[i, j] += y[i - 1, j]
        if j > 0:
            y[i, j] += y[i, j - 1]
        if i > 0 and j > 0:
            y[i, j] += -y[i - 1, j - 1]
# x: N -> y
for i in range(N):
    y[i] = x[i]
for t in range(3):
    for i in range(N):
        y[i] = y[i] * 0.5 + x[i]
# x: N -> y, z
for i in range(N):
    y[i] = x[i]
for t in range(3):
    for i in range(N):
        z[i] = y[i]
    for i in range(1, N - 1):
        y[i] = 0.25 * (z[i - 1] + 2 * z[i] + z[i + 1])
# x: N -> y
for i in range(N):
    y[i] = x[i]
for t in range(3):
    for i in range(1, N - 1):
        y[i] = 0.25 * (y[i - 1] + 2 * y[i] + y[i + 1])
# A: N,N -> L
for i in range(N):
    for j in range(N):
        L[i, j] = 0.1 * A[i, j]
for k in range(N):
    for i in range(k + 1, N):
        L[i, k] = L[i, k] / (1.0 + L[k, k])
        for j in range(k + 1, N):
            L[i, j] += -L[i, k] * L[k, j]
# A: N,N -> L
for i in range(N):
    for j in range(N):
        L[i, j] = 0.1 * A[i, j]
for k in range(N):
    for i in range(k + 1, N):
        for j in range(k + 1, N):
            L[i, j] += -L[i, k] * L[k, j] / (1.0 + L[k, k])
# x: N -> y
for i in range(N):
    y[i] = x[i]
for i in range(N):
    for j in range(N):
        if j < i:
            y[i] += 0.1 * y[j]
# x: N; A: N,N -> y
for i in range(N):
    y[i] = x[i]
for i in range(N):
    for j in range(i):
        y[i] += 0.1 * A[i, j] * y[j]
    y[i] = y[i] / 2
# x: N; A: N,N -> y
for i in range(N):
    y[i] = x[i]
for i in range(N - 1, -1, -1):
    for j in range(i + 1, N):
        y[i] += 0.1 * A[i, j] * y[j]
# x: N -> c, y
c[()] = 1.0
for i in range(N):
    c[()] *= x[i]
    y[i] = c[()]
# x: N -> c, y
c[()] = 1.0
for i in range(N):
    if x[i] > 0:
        c[()] += x[i]
    y[i] = c[()]
# x: N -> c, y
c[()] = 0.0
for i in range(N):
    c[()] = c[()] + 1.0
    y[i] = c[()] * x[i]
# x: N -> a, b, y
a[()] = 0.0
b[()] = 1.0
for i in range(N):
    y[i] = a[()] * x[i]
    t[()] = a[()] + b[()]
    a[()] = b[()]
    b[()] = t[()]
# A: N,N -> y
for i in range(N):
    for j in range(N):
        y[i, j] = A[i, j]
for i in range(N):
    for j in range(i):
        y[i, j] = y[j, i]
# A: N,N -> y
for i in range(N):
    for j in range(N):
        y[i, j] = A[i, j]
for i in range(N):
    for j in range(i):
        y[i, j] += y[j, i] * y[i, i]
# A: N,N -> h
for i in range(N):
    h[i] = 0.0
for i in range(N):
    for j in range(N):
        h[abs(i - j)] += A[i, j]
# x: N -> y
for i in range(N):
    y[i] = 0.0
for i in range(N - 1):
    y[i] += x[i]
    y[i + 1] += x[i] * 0.5
# x: N -> y
for i in range(N):
    y[i] = 0.0
for i in range(N - 1):
    y[i + 1] += y[i] + x[i]
# x: N -> y
y[0] = x[0]
for i in range(1, N):
    if x[i] > y[i - 1]:
        y[i] = x[i]
    else:
        y[i] = y[i - 1]
# x: N -> y
for i in range(N):
    y[i] = x[i]
    if y[i] < 0:
        y[i] = 0.0
    y[i] += 1.0
# A: N,M -> y
for i in range(N):
    y[i] = 0.0
    for k in range(M):
        y[i] += A[i, k]
    y[i] = y[i] / M
    for k in range(M):
        y[i] += (A[i, k] - y[i]) ** 2
# A: N,M -> v
for i in range(N):
    m[i] = 0.0
    for k in range(M):
        m[i] += A[i, k] / M
    v[i] = 0.0
    for k in range(M):
        v[i] += (A[i, k] - m[i]) ** 2
# A: N,M; x: M -> y
for i in range(N):
    acc[()] = 0.0
    for k in range(M):
        acc[()] += A[i, k] * x[k]
    y[i] = acc[()]
# A: N,M; x: M -> y
for i in range(N):
    acc[()] = 0.0
    for k in range(M):
        acc[()] = acc[()] + A[i, k] * x[k]
    y[i] = acc[()]
# A: N,M; x: M -> y
for i in range(N):
    acc[()] = x[0]
    for k in range(1, M):
        acc[()] = max(acc[()], A[i, k] * x[k])
    y[i] = acc[()]
# q: T -> y
y[0] = 1.0
y[1] = 1.0
for t in range(2, T):
    y[t] = y[t - 1] + y[t - 2]
# A: N,M; B: N,N -> C
for i in range(N):
    for j in range(M):
        C[i, j] = 0.0
for i in range(N):
    for k in range(N):
        for j in range(M):
            C[i, j] += B[i, k] * A[k, j]
# x: N -> p
p[0] = 1.0
for i in range(1, N):
    p[i] = 0.0
    for j in range(i):
        p[i] += p[j] * x[i - 1 - j]
# x: N -> p
p[0] = 1.0
for i in range(1, N):
    for j in range(i):
        p[i] += p[j] * p[i - 1 - j]
# x: N -> w
for c in range(8):
    w[c] = 0.0
w[0] = 1.0
for i in range(N):
    for c in range(7, 0, -1):
        w[c] += w[c - 1] * x[i]
# x: N -> w
for c in range(8):
    w[c] = 0.0
w[0] = 1.0
for i in range(N):
    for c in range(1, 8):
        w[c] += w[c - 1] * x[i]
# x: N -> y
for i in range(N):
    if x[i] > 1:
        y[i] = 1.0
    elif x[i] > 0:
        y[i] = x[i]
    else:
        y[i] = -x[i]
# x: N -> y, c
c[()] = 0.0
for i in range(N):
    if x[i] > 0:
        c[()] += 1.0
        y[i] = c[()]
    else:
        y[i] = -1.0
# x: N -> y
for i in range(N):
    y[i] = 0.0
for i in range(N):
    for j in range(N):
        if x[j] < x[i]:
            y[i] += 1.0
# A: N,M -> b
b[()] = 0.0
for i in range(N):
    for j in range(M):
        b[()] = max(b[()], A[i, j])
# A: N,M -> y
for i in range(N):
    lo[()] = A[i, 0]
    for j in range(M):
        if A[i, j] < lo[()]:
            lo[()] = A[i, j]
    y[i] = lo[()]
# A: N,M -> y
for i in range(N):
    for j in range(M):
        t1[()] = A[i, j] * 2
        t2[()] = t1[()] + 1
        y[i, j] = t1[()] * t2[()]
# A: N,M -> y
for j in range(M):
    y[0, j] = A[0, j]
for i in range(1, N):
    for j in range(M):
        y[i, j] = y[i - 1, j] * 0.5 + A[i, j]
    for j in range(1, M):
        y[i, j] += y[i, j - 1]
# x: N -> y
for i in range(N):
    y[i] = x[i]
for i in range(0, N - 1, 2):
    y[i + 1] = y[i] + y[i + 1]
# x: N -> y
for i in range(N):
    y[i] = 2 * x[N - 1 - i]
    if i % 2 == 0:
        y[i] = y[i] + 1
# A: N,M -> y, z
for j in range(M):
    z[j] = 0.0
for i in range(N):
    for j in range(M):
        y[i, j] = A[i, j] * A[i, j]
        z[j] += y[i, j]
# A: N,M -> y, z
for j in range(M):
    z[j] = 1.0
for i in range(N):
    for j in range(M):
        y[i, j] = A[i, j] / z[j]
        z[j] += y[i, j] ** 2
# x: N -> s
s[()] = 0.0
for i in range(N):
    for j in range(i + 1, N):
        d[()] = x[i] - x[j]
        s[()] += d[()] * d[()]
# x: N -> f
for i in range(N):
    f[i] = 0.0
for i in range(N):
    for j in range(i + 1, N):
        f[i] += (x[j] - x[i]) * x[j]
        f[j] += (x[i] - x[j]) * x[j]
# x: N -> f
for i in range(N):
    f[i] = 0.0
for i in range(N):
    for j in range(i + 1, N):
        d[()] = x[j] - x[i]
        f[i] += d[()]
        f[j] += -d[()]
# x: N -> u, v
for i in range(N):
    u[i] = x[i]
    v[i] = 0.0
for t in range(4):
    for i in range(1, N - 1):
        v[i] += 0.1 * (u[i - 1] - 2 * u[i] + u[i + 1])
    for i in range(N):
        u[i] += 0.1 * v[i]
# x: N -> u, v
for i in range(N):
    u[i] = x[i]
    v[i] = 0.0
for t in range(4):
    for i in range(1, N - 1):
        v[i] += 0.1 * (u[i - 1] - 2 * u[i] + u[i + 1])
        u[i] += 0.1 * v[i]
# q: T -> y
s[()] = 7
for t in range(T):
    s[()] = (s[()] * 5 + 3) % 16
    y[t] = s[()] / 16.0
# x: N -> y
for i in range(N):
    y[i] = x[i]
for k in range(1, 3):
    for i in range(N):
        z[i] = y[i]
    for i in range(k, N):
        y[i] = z[i] + z[i - k]
# q: N -> P
for i in range(N):
    P[i, 0] = 1.0
for i in range(1, N):
    for j in range(1, i + 1):
        P[i, j] = P[i - 1, j - 1] + P[i - 1, j]
# x: N -> y
a[()] = x[0]
for i in range(N):
    if x[i] > a[()]:
        a[()] = x[i]
    y[i] = a[()]
# x: N -> y
for i in range(N):
    if x[i] > 0:
        y[i] = x[i]
    if x[i] < 0.5:
        y[i] += 1.0
# x: N -> j, s
j[()] = -1
s[()] = 1.0
for i in range(N):
    if x[i] < 0:
        j[()] = i
for i in range(N):
    s[()] *= 0.5
# x: N; L: N,N -> y
for i in range(N):
    y[i] = x[i]
    for j in range(i):
        y[i] -= L[i, j] * y[j]
    y[i] /= 2.0 + L[i, i] ** 2
"""


def read() -> list[tuple[dict[str, list[str]], list[str], str]]:
    """Parameters with their sizes, results and statements of every body."""
    found = []
    for part in BODIES.strip().removeprefix("# ").split("\n# "):
        head, _, body = part.partition("\n")
        parameters, _, results = head.partition(" -> ")
        sizes = {name: given.split(",") for name, given in re.findall(r"(\w+): ([\w,]+)", parameters)}
        found.append((sizes, results.split(", "), body.strip()))
    return found


def run(body: str, arguments: dict[str, np.ndarray], results: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The results of running a body in Python; what it writes starts as zeros."""
    written = re.findall(r"(\w+)\[([^=\[\]]*)\] (?:[-+*]|//?)?= ", body)
    ranks = {name: 0 if inside == "()" else inside.count(",") + 1 for name, inside in written if "abs" not in inside}
    scope = {name: np.zeros((8,) * rank) for name, rank in ranks.items()}
    scope |= {name: np.zeros(np.shape(result)) for name, result in results.items()}
    exec(body, {"__builtins__": __builtins__, **SIZES, **scope, **arguments}, scope)
    return scope


def kernel_of(body: str, parameters: dict[str, list[str]], results: list[str]) -> tcjax.Kernel:
    """The kernel with this body, whose source is a text here."""
    declared = {size for sizes in parameters.values() for size in sizes}
    consts = {size: SIZES[size] for size in SIZES if size not in declared and re.search(rf"\b{size}\b", body)}
    listed = ", ".join(f"{name}: 'float({','.join(sizes)})'" for name, sizes in parameters.items())
    lines = [f"@tcjax.kernel(consts={consts})", f"def f({listed}):", *body.split("\n"), f"return {', '.join(results)}"]
    source = "\n".join([*lines[:2], *(f"    {line}" for line in lines[2:])]) + "\n"
    file = f"<order {len(linecache.cache)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope: dict[str, tcjax.Kernel] = {}
    exec(compile(source, file, "exec"), {"tcjax": tcjax}, scope)
    return scope["f"]


CASES = read()


@pytest.mark.parametrize("number", range(len(CASES)))
def test_a_kernel_is_what_python_makes_of_its_body(number: int):
    parameters, names, body = CASES[number]
    rng = np.random.default_rng(0)
    shapes = {name: [SIZES[size] for size in sizes] for name, sizes in parameters.items()}
    arguments = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}

    kernel = kernel_of(body, parameters, names)
    found, plain = kernel(*arguments.values()), kernel.interpret(*arguments.values())

    results = dict(zip(names, found if isinstance(found, tuple) else (found,), strict=True))
    wide = {name: array.astype(np.float64) for name, array in arguments.items()}
    wanted = run(body, wide, results)
    for name, interpreted in zip(names, plain if isinstance(plain, tuple) else (plain,), strict=True):
        np.testing.assert_allclose(results[name], wanted[name], rtol=1e-4, atol=1e-5, err_msg=str(kernel))
        np.testing.assert_allclose(interpreted, wanted[name], rtol=1e-4, atol=1e-5, err_msg=str(kernel))
