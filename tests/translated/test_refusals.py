"""Kernels that the notation cannot express: the natural attempt is refused with a position and a help."""

import linecache

import numpy as np
import pytest

import tcjax
from tests.translated.case import normal

PYTHON = {
    # channel_flow iterates until the flow converges.
    "until it converges": (
        'def f(u: "float(N)"):\n    v[i] = u[i]\n    while v[0] > 0.001:\n        v[i] = v[i] / 2\n    return v',
        "TC0105",
        "`for t in range(1, T):`",
    ),
    # azimint_naive and mandelbrot2 select elements by a mask.
    "a mask that selects": (
        'def f(data: "float(N)", radius: "float(N)"):\n    out[()] = mean[n](data[radius[n] > 0.5])\n    return out',
        "TC0303",
        "guard with it",
    ),
    # Most kernels of the benchmark are written with slices.
    "slices": (
        'def f(A: "float(N,N)"):\n    for i in range(N):\n        B[i, :] = 2 * A[i, :]\n    return B',
        "TC0105",
        "name an index for every dimension",
    ),
    "a product of matrices": ('def f(A: "float(N,N)"):\n    B = A @ A\n    return B', "TC0105", "`sum[k]("),
    # trmm overwrites B from the top, and reads below what it has not yet overwritten.
    "in place, before it is overwritten": (
        'def f(A: "float(N,N)", B: "float(N,N)"):\n    C[i, j] = B[i, j]\n    for i in range(N):\n'
        "        C[i, j] += sum[k in range(i + 1, N)](A[k, i] * C[k, j])\n    return C",
        "TC0708",
        "`C_old[i, j] = C[i, j]`, and read `C_old[k, j]`",
    ),
    "several indices at once": (
        'def f(A: "float(N,N)"):\n    for i, j in ti.ndrange(N, N):\n        B[i, j] = A[i, j]\n    return B',
        "TC0105",
        "for k in range(lo, hi):",
    ),
    "a swap": (
        'def f(x: "float(N)", y: "float(N)"):\n    x[i], y[i] = y[i], x[i]\n    return x, y',
        "TC0105",
        "O1, O2",
    ),
    "a condition that changes": (
        'def f(x: "float(N)"):\n    m = x[0]\n    a = 0\n    for i in range(1, N):\n        if x[i] > m:\n'
        "            m = x[i]\n            a = i\n    return a",
        "TC0105",
        "`met[i] = x[i] > m`, then `if met[i]:`",
    ),
}

TEXT = {
    "a solver": ("def f(float(N,N) A, float(N) b) -> (x) { x = solve(A, b) }", "TC0201", 'fns={"solve": ...}'),
    "an array of bins": (
        "def f(float(N) x) -> (y) { h(int32(x(n))) +=! 1.0 y(b) = 2 * h(b) }",
        "TC0401",
        "`float(M) h`, in a statement before",
    ),
    "steps without a loop": ("def f(float(N) x) -> (y) { y(i) = x(i) y(i) = y(i-1) }", "TC0708", "for i in 1:"),
    "a name that einsum has": ("ij,jk->ik", "TC0101", "tcjax.einsum"),
    "a power that Tullio has": ("y(i) = x(i)^2", "TC0301", "pow(a, b)"),
    "brackets that Tullio has": ("C[i,k] := A[i,j] * B[j,k]", "TC0101", "`C(i, k) = ...`"),
    "a module that TVM has": ("B(i) = te.sum(A(i,k), axis=k)", "TC0102", "`sum(...)`"),
    "a function that NumPy has": ("def f(float(N) x) -> (y) { y(i) = clip(x(i), 0, 1) }", "TC0201", "min(max("),
}


def from_python(source: str) -> tcjax.Kernel:
    """The kernel of a function in the Python notation, which is read from its source."""
    source, file = f"@tcjax.kernel\n{source}\n", f"<translated {len(linecache.cache)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope: dict[str, tcjax.Kernel] = {}
    exec(compile(source, file, "exec"), {"tcjax": tcjax}, scope)
    return scope["f"]


def refused(make: object, text: str) -> tcjax.CompileError:
    square, row = normal(4, 4).astype(np.float32), normal(4).astype(np.float32)
    with pytest.raises(tcjax.CompileError) as caught:
        kernel = make(text)  # pyright: ignore
        parameters = str(kernel).partition("->")[0]
        kernel(*(square if "N,N" in each else row for each in parameters.split(", ")))
    return caught.value


@pytest.mark.parametrize("name", PYTHON)
def test_python_that_the_notation_does_not_say(name: str):
    text, code, remedy = PYTHON[name]

    error = refused(from_python, text)

    assert (error.code, remedy in error.help) == (code, True), error


@pytest.mark.parametrize("name", TEXT)
def test_text_that_the_notation_does_not_say(name: str):
    text, code, remedy = TEXT[name]

    error = refused(tcjax.kernel, text)

    assert (error.code, remedy in error.help) == (code, True), error
