"""Floors, remainders, clamps and rotations of random indices: the compiled program is the interpreted one."""

from itertools import product
from math import prod

import jax
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import tcjax

# More elements of a read tensor, or points of a statement, than this make the interpreter slow.
MOST = 2000


@st.composite
def linear(draw: st.DrawFn, names: str) -> str:
    """A weighted sum of indices."""
    weights = st.sampled_from((1, 1, 1, 2, 3, 4, 6, -1, -2))
    terms = [f"{draw(weights)}*{draw(st.sampled_from(names))}" for _ in range(draw(st.sampled_from((1, 1, 2, 2, 3))))]
    return f"({' + '.join(terms)} + {draw(st.integers(-3, 5))})"


@st.composite
def curved(draw: st.DrawFn, names: str, depth: int) -> str:
    """Nested floors, remainders and clamps around sums of indices."""
    if depth == 0:
        return draw(linear(names))
    inner = draw(curved(names, depth - 1))
    match draw(st.sampled_from(("/", "/", "%", "%", "%", "min", "max", "extremum", "sum"))):
        case "/":
            return f"({inner} / {draw(st.sampled_from((2, 3, 4, 6, 12)))})"
        case "%":
            return f"({inner} % {draw(st.sampled_from((2, 3, 4, 5, 6, 7, 9, 12)))})"
        case "min":
            return f"min({inner}, {draw(st.integers(0, 9))})"
        case "max":
            return f"max({inner}, {draw(st.integers(-2, 4))})"
        case "extremum":
            return f"max({inner}, {draw(curved(names, depth - 1))})"
        case _:
            return f"({draw(st.sampled_from((2, 3, 4)))}*{inner} + {draw(curved(names, depth - 1))})"


@st.composite
def digits(draw: st.DrawFn, names: str, count: int) -> list[str]:
    """A number of digits of one sum, in any order."""
    whole, unit, found = draw(linear(names)), 1, []
    for _ in range(count - 1):
        base = draw(st.sampled_from((2, 3, 4)))
        found.append(f"({whole} / {unit} % {base})")
        unit *= base
    return draw(st.permutations([*found, f"({whole} / {unit})"]))


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, np.ndarray]:
    """A statement that reads one tensor, whose every element is inside, and the tensor."""
    names = draw(st.sampled_from(("i", "ij", "ij", "ijk")))
    starts, extents = st.sampled_from((0, 0, 0, 1, 2)), st.sampled_from((1, 2, 3, 4, 5, 6, 7, 8, 12))
    box = {name: (lo := draw(starts), lo + draw(extents)) for name in names}
    rank = draw(st.sampled_from((1, 1, 2, 2, 3)))
    if rank > 1 and draw(st.booleans()):
        subscripts = draw(digits(names, rank))
    else:
        subscripts = [draw(curved(names, draw(st.sampled_from((0, 1, 1, 2))))) for _ in range(rank)]
    shape = []
    for number, subscript in enumerate(subscripts):
        values = _values(subscript, box)
        if min(values) < 0:
            subscripts[number] = f"{subscript} + {-min(values)}"
        shape.append(max(values) - min(0, min(values)) + draw(st.sampled_from((1, 1, 1, 2, 4))))
    kept = names if draw(st.booleans()) else names[:-1]
    left = list(kept)
    if kept and draw(st.sampled_from((True, False, False))):
        name = draw(st.sampled_from(kept))
        extent = box[name][1] - box[name][0]
        sign = draw(st.sampled_from(("", "-")))
        left[kept.index(name)] = f"({sign}{name} + {draw(st.integers(-3, 9))}) % {extent}"
    value = f"A({', '.join(subscripts)})"
    if draw(st.sampled_from((True, False, False))):
        test = f"{draw(curved(names, 1))} {draw(st.sampled_from(('<', '>=', '==')))} {draw(st.integers(0, 6))}"
        value = f"({test} ? {value} : 7.0)"
    operator = "=" if kept == names else draw(st.sampled_from(("+=!", "max=!", "min=!")))
    clauses = [f"{name} in {lo}:{hi}" for name, (lo, hi) in box.items()]
    if draw(st.sampled_from((True, False, False))):
        clauses.append(f"{draw(curved(names, 1))} {draw(st.sampled_from(('<', '>=', '!=')))} {draw(st.integers(0, 6))}")
    target = f"O({', '.join(left)})" if left else "O"
    text = f"{target} {operator} {value} where {', '.join(clauses)}"
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    return text, rng.integers(-50, 50, size=shape if prod(shape) <= MOST else 1).astype("float32")


def _values(subscript: str, box: dict[str, tuple[int, int]]) -> list[int]:
    """The subscript at every point, computed by Python."""
    code = compile(subscript.replace("/", "//"), "subscript", "eval")
    points = product(*(range(lo, hi) for lo, hi in box.values()))
    return [eval(code, {"min": min, "max": max}, dict(zip(box, point, strict=True))) for point in points]


def _checked(text: str, A: np.ndarray) -> tcjax.Kernel | None:
    """The kernel, None if the language refuses it."""
    try:
        kernel = tcjax.kernel(text)
        kernel.ranges(A)
    except tcjax.CompileError:
        # A tensor that is too large was left out, or an index occurs only in its clause.
        return None
    return kernel


@given(programs())
def test_a_read_by_any_subscripts_is_the_interpreters(program: tuple[str, np.ndarray]) -> None:
    text, A = program
    kernel = _checked(text, A)
    if kernel is None:
        return

    result = kernel(A)

    np.testing.assert_array_equal(result, kernel.interpret(A))


@given(programs())
def test_its_derivative_along_a_line_is_the_difference(program: tuple[str, np.ndarray]) -> None:
    text, A = program
    kernel = _checked(text, A)
    if kernel is None or "max=!" in text or "min=!" in text:
        return
    way = np.random.default_rng(1).integers(-3, 4, size=A.shape).astype("float32")

    slope = jax.grad(lambda A: kernel(A).sum())(A)

    # A linear function of whole numbers changes by exactly its derivative.
    assert float((slope * way).sum()) == float(np.sum(kernel.interpret(A + way)) - np.sum(kernel.interpret(A)))


@st.composite
def stencils(draw: st.DrawFn) -> tuple[str, np.ndarray]:
    """A sum or product of several reads of one tensor, at positions around its ends, up to them, or inside."""
    shape = draw(st.lists(st.integers(1, 7), min_size=1, max_size=2))
    names = "ij"[: len(shape)]

    def subscript(name: str, extent: int) -> str:
        moved = f"{draw(st.sampled_from(('', '', '-')))}{name} + {draw(st.integers(-3, 3))}"
        match draw(st.sampled_from(("%", "%", "min", "min", "inside"))):
            case "%":
                return f"({moved}) % {extent}"
            case "min":
                return f"min(max({moved}, 0), {extent - 1})"
            case _:
                return name

    def read() -> str:
        return f"A({', '.join(subscript(name, extent) for name, extent in zip(names, shape, strict=True))})"

    value = read()
    for _ in range(draw(st.integers(1, 4))):
        value += f" {draw(st.sampled_from(('+', '+', '-', '*')))} {read()}"
    clauses = ", ".join(f"{name} in 0:{extent}" for name, extent in zip(names, shape, strict=True))
    elements = np.random.default_rng(draw(st.integers(0, 99))).integers(-3, 4, size=shape)
    return f"O({', '.join(names)}) = {value} where {clauses}", elements.astype("float32")


@given(stencils())
def test_stencils_are_the_interpreters(program: tuple[str, np.ndarray]) -> None:
    text, A = program
    kernel = tcjax.kernel(text)

    result = kernel(A)

    np.testing.assert_array_equal(result, kernel.interpret(A))
