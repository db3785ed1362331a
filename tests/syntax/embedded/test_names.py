"""Names of the enclosing scope: constants, callables, indices, and what shadows them."""

import math
from fractions import Fraction
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax import CompileError
from tcjax.syntax import ast
from tcjax.syntax.embedded import Reading, read, read_text

RADIUS = 2
EPSILON = 1e-6


def doubled(x):
    return 2 * x


def reading(line: str, scope: dict[str, object], parameters: str = "A") -> Reading:
    return read_text(f"def f({parameters}):\n    {line}\n    return C\n", scope)


def value(line: str, scope: dict[str, object], parameters: str = "A") -> ast.Expr:
    definition = reading(line, scope, parameters).definition
    assert definition is not None
    statement = definition.body[-1]
    assert isinstance(statement, ast.Assign)
    return statement.value


def test_numbers_of_the_module_and_of_the_enclosing_function_are_constants() -> None:
    width = 5

    def f(A):
        C[i] = A[RADIUS * i + width] + EPSILON * math.pi
        return C

    found = read(f)

    assert found.constants == {"RADIUS": 2, "width": 5, "EPSILON": 1e-6, "math.pi": math.pi}
    expected = value("C[i] = A[2 * i + 5] + 1e-06 * 3.141592653589793", {})
    assert found.definition is not None
    (statement,) = found.definition.body
    assert isinstance(statement, ast.Assign)
    assert statement.value == expected


@pytest.mark.parametrize(
    ("number", "tree"),
    [
        (3, ast.Number(3)),
        (-3, ast.Unary("-", ast.Number(3))),
        (-0.0, ast.Unary("-", ast.Number(0.0))),
        (True, ast.Number(True)),
        (math.inf, ast.Number(math.inf)),
        (2j, ast.Number(2j)),
        (-2j, ast.Unary("-", ast.Number(2j))),
        (1 - 2j, ast.Binary("+", ast.Number(1.0), ast.Unary("-", ast.Number(2j)))),
        (np.float32(0.5), ast.Number(0.5)),
        (np.int64(7), ast.Number(7)),
        (Fraction(1, 4), ast.Number(0.25)),
    ],
)
def test_a_constant_is_what_a_writer_would_have_to_write(number: object, tree: ast.Expr) -> None:
    constant = value("C[i] = scale", {"scale": number})

    assert constant == tree
    if isinstance(constant, ast.Number):
        assert type(constant.value) in (int, float, complex, bool)


@pytest.mark.parametrize("bound", [None, "text", [1, 2], np.ones(3), jnp.float32(2.0), doubled, SimpleNamespace()])
def test_a_name_bound_to_no_number_stays_a_name(bound: object) -> None:
    assert value("C[i] = A[i + q]", {"q": bound}) == value("C[i] = A[i + q]", {})


def test_a_declared_index_stays_an_index() -> None:
    q, r = tcjax.indices("q r")

    found = reading("C[q] = A[q + r]", {"q": q, "r": r})

    assert found.constants == {}
    assert found.definition == reading("C[q] = A[q + r]", {}).definition


@pytest.mark.parametrize(
    ("lines", "parameters", "shadowed"),
    [
        ("C[q] = A[q] * n", 'A: "float(n)"', "n"),
        ("C[q] = A[q] * n", "A, n", "n"),
        ("n = A[0]; C[q] = A[q] * n", "A", "n"),
        ("C[q] = sum[n](A[n, q])", "A", "n"),
        ("C[q] = sum[n in range(0, 3)](A[n, q])", "A", "n"),
        ("C[n] = A[q]", "A, n", "n"),
    ],
)
def test_a_name_bound_in_the_function_shadows_the_enclosing_number(lines: str, parameters: str, shadowed: str) -> None:
    found = reading(lines, {shadowed: 64}, parameters)

    assert found.constants == {}
    assert found.definition == reading(lines, {}, parameters).definition


@pytest.mark.parametrize("bound", [5, True, 2.5, np.int64(3), doubled, jnp, np.ones(3), "text"])
@pytest.mark.parametrize(
    "lines",
    [
        "C[q] = A[q]",
        "C[q] += A[q, r] * q",
        "C[q + 1] = A[q]; C[q] = A[2 * q]",
        'C[q, 0]: "max=!" = A[q + r]',
        "for q in range(0, 3):\n        C[q] = A[q]",
        "if q < 3:\n        C[q] = A[q]\n    C[0] += q",
        "t[0] = A[q]; C[r, q] = A[q] * t[0]",
    ],
)
def test_a_name_that_stands_alone_on_a_left_side_is_an_index_in_the_whole_kernel(lines: str, bound: object) -> None:
    found = reading(lines, {"q": bound})

    assert (found.constants, found.callables) == ({}, {})
    assert found.definition == reading(lines, {}).definition


def test_an_index_that_a_cell_above_has_left_behind_runs_over_the_whole_array() -> None:
    x = np.arange(4, dtype=np.float32)
    n, k, stride = 5, 2, 2

    @tcjax.kernel
    def strided(x):
        y[n] = x[stride * n] + sum[k](x[k])
        return y

    assert k == 2
    for run in (strided, strided.interpret):
        np.testing.assert_array_equal(run(x), [6, 8])


def test_a_number_that_only_computed_subscripts_use_on_the_left_stays_a_constant() -> None:
    found = reading("C[2 * i + q] = A[i]", {"q": 1})

    assert found.constants == {"q": 1}


def test_an_index_of_a_loop_shadows_a_number_inside_the_loop_only() -> None:
    lines = "for k in range(0, k):\n        C[q] += A[q + k]\n    C[q] += k"

    found = reading(lines, {"k": 3}).definition

    assert found is not None
    loop, after = found.body
    assert isinstance(loop, ast.Assign) and isinstance(after, ast.Assign)
    assert loop.where == (ast.RangeClause("k", ast.Number(0), ast.Number(3)),)
    assert loop.value == ast.Apply("A", (ast.Binary("+", ast.Name("q"), ast.Name("k")),))
    assert after.value == ast.Number(3)


def test_an_index_that_a_loop_above_has_left_behind_is_warned_of() -> None:
    (warning,) = reading("C[i] = A[i, q]", {"q": 5}).warnings

    assert warning.message == "`q` is the number 5 of the enclosing scope here, not an index"
    assert warning.help == 'write `q = tcjax.indices("q")` above the function to make it one'


def test_a_constant_row_of_a_longer_name_is_not_warned_of() -> None:
    found = reading("C[i] = A[ROW, i] + A[q + 1, i]", {"ROW": 5, "q": 3})

    assert found.warnings == ()
    assert found.constants == {"ROW": 5, "q": 3}


def test_a_number_of_any_length_is_a_constant() -> None:
    assert value("C[i] = huge", {"huge": 10**5000}) == ast.Number(10**5000)


def test_a_variable_that_has_no_value_yet_is_an_index() -> None:
    def f(A):
        C[later] = A[later]
        return C

    found = read(f)
    later = 3

    assert found.constants == {}
    assert later == 3


def test_functions_and_kernels_of_the_scope_are_callables() -> None:
    kernel = tcjax.kernel("def mm(float(M,K) A) -> (C) { C(m) +=! A(m,k) }")

    def f(A):
        t[n] = doubled(A[n])
        C = kernel(t)
        D, E = kernel(A)  # noqa: RUF059
        return C

    found = read(f)

    assert found.callables == {"doubled": doubled, "kernel": kernel}
    assert found.definition is not None
    first, second, third = found.definition.body
    assert isinstance(first, ast.Assign) and isinstance(second, ast.Assign) and isinstance(third, ast.CallAssign)
    assert first.value == ast.Apply("doubled", (ast.Apply("A", (ast.Name("n"),)),))
    assert second.value == ast.Apply("kernel", (ast.Name("t"),))
    assert (third.targets, third.function) == (("D", "E"), "kernel")


def test_a_function_of_a_module_or_an_object_goes_by_its_last_name() -> None:
    library = SimpleNamespace(mm=doubled)

    found = reading("C[q] = lib.mm(A[q]) + jax.nn.relu(A[q]) + jnp.cumsum(A)", {"lib": library, "jax": jax, "jnp": jnp})

    assert found.callables == {"mm": doubled, "relu": jax.nn.relu, "cumsum": jnp.cumsum}
    assert found.definition == reading("C[q] = mm(A[q]) + relu(A[q]) + cumsum(A)", {}).definition


def test_two_functions_of_one_name_are_refused() -> None:
    scope: dict[str, object] = {"a": SimpleNamespace(f=doubled), "b": SimpleNamespace(f=abs)}

    with pytest.raises(CompileError, match="`f` already names another function") as caught:
        reading("C[q] = a.f(A[q]) + b.f(A[q])", scope)

    assert (caught.value.code, tuple(caught.value.span)) == ("TC0202", (2, 24, 33))


@pytest.mark.parametrize("owner", [SimpleNamespace(), 3])
def test_a_function_that_is_not_there_is_refused(owner: object) -> None:
    with pytest.raises(CompileError, match=r"`lib\.mm` is not a function") as caught:
        reading("C[q] = lib.mm(A[q])", {"lib": owner})

    assert caught.value.code == "TC0205"


def test_a_property_that_raises_is_an_unknown_function() -> None:
    class Broken:
        @property
        def f(self) -> object:
            raise RuntimeError

    with pytest.raises(CompileError, match=r"`broken\.f` is not a function"):
        reading("C[q] = broken.f(A[q])", {"broken": Broken()})


def test_imported_names_of_a_library_mean_what_they_mean_there() -> None:
    scope: dict[str, object] = {"where": jnp.where, "maximum": np.maximum, "float32": jnp.float32, "sqrt": math.sqrt}

    found = value("C[q] = where(A[q] > 0, maximum(A[q], 1.0), float32(q) + sqrt(A[q]))", scope)

    assert found == value("C[q] = max(A[q], 1.0) if A[q] > 0 else float32(q) + sqrt(A[q])", {})


def test_the_writers_own_function_keeps_a_librarys_name() -> None:
    def maximum(a, b):
        return a

    found = reading("C[q] = maximum(A[q], 1.0)", {"maximum": maximum})

    assert found.callables == {"maximum": maximum}
    assert found.definition == reading("C[q] = maximum(A[q], 1.0)", {}).definition


def test_a_call_of_itself_is_not_looked_up() -> None:
    found = reading("C = f(A)", {"f": doubled})

    assert found.callables == {}


def test_rounding_of_halves_to_even_is_refused() -> None:
    with pytest.raises(CompileError, match="rounds halves to even") as caught:
        reading("C[q] = jnp.round(A[q])", {"jnp": jnp})

    assert caught.value.help == "write `round(x)`, which rounds halves away from zero"
