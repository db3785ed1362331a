"""Following the help for a Python function gives the intended program; and mistakes without a caret of their own."""

import importlib.util
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax

VECTOR = np.array([0.5, 1.0, 2.0, 4.0, 8.0], np.float32)
MATRIX = np.arange(1.0, 7.0, dtype=np.float32).reshape(2, 3)
POINTERS, COLUMNS, VALUES = np.array([0, 2, 3], np.int32), np.array([0, 1, 1], np.int32), np.ones(3, np.float32)


@dataclass(frozen=True)
class Body:
    """The body of a function that returns `B`: one statement under the `heads` of loops and conditions.

    The help's quoted code number `instead` replaces what the caret marks, with the brackets after it if it is a `call`;
    `under` are the heads of the intended statement.
    """

    parameters: str
    statement: str
    arguments: Sequence[Any]
    meant: Callable[..., Any]
    heads: Sequence[str] = ()
    instead: int | None = None
    call: bool = False
    under: Sequence[int] = ()

    def text(self) -> str:
        lines = ["import jax.numpy as jnp", "import numpy as np", "import tcjax", "", "@tcjax.kernel"]
        lines.append(f"def f({self.parameters}):")
        depth = 1
        for head in self.heads:
            lines.append("    " * depth + head)
            depth += 1
        return "\n".join([*lines, "    " * depth + self.statement, "    return B", ""])

    def followed(self, error: tcjax.CompileError) -> "Body":
        quoted = re.findall(r"`([^`]+)`", error.help)
        statement = self.statement
        if self.instead is not None:
            caret = error.span.text
            start = statement.index(caret)
            end = start + len(caret)
            if self.call:
                end = statement.index(")", start) + 1
            statement = statement[:start] + quoted[self.instead] + statement[end:]
        heads = [quoted[at] for at in self.under] if self.under else self.heads
        return Body(self.parameters, statement, self.arguments, self.meant, heads)


BODIES = {
    "one element": Body('A: "float(N)"', "B[i] = A[0]", [VECTOR], lambda A: np.full_like(A, A[0]), under=[0]),
    "softmax": Body(
        'A: "float(N)"',
        "B[i] = softmax(A[i])",
        [VECTOR],
        lambda A: np.exp(A) / np.exp(A).sum(),
        instead=0,
        call=True,
    ),
    "clamp": Body(
        'A: "float(N)"',
        "B[i] = clamp(A[i], 1.0, 3.0)",
        [VECTOR],
        lambda A: np.clip(A, 1.0, 3.0),
        instead=0,
        call=True,
    ),
    "a running sum": Body('A: "float(N)"', "B[t] = cumsum(A[t])", [VECTOR], np.cumsum, instead=0, call=True, under=[1]),
    "no subscripts": Body('A: "float(N)"', "B[n] = A * 2", [VECTOR], lambda A: A * 2, instead=0),
    "no condition": Body(
        'A: "float(N)"',
        "B[i] = 1.0 if A[i] - 1 else 0.0",
        [VECTOR],
        lambda A: np.where(A - 1 != 0, 1.0, 0.0),
        instead=0,
    ),
    "the bounds of the transpose": Body(
        'A: "float(M,N)"',
        "B[j, i] = A[i, j]",
        [MATRIX],
        np.transpose,
        ["for i in range(0, N):", "for j in range(0, M):"],
        under=[0, 1],
    ),
}


def loaded(text: str, path: Path) -> tcjax.Kernel:
    """The kernel `f` of a file with this text."""
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


@pytest.mark.parametrize("body", BODIES.values(), ids=list(BODIES))
def test_a_function_whose_writer_does_what_the_help_says_computes_what_was_meant(body: Body, tmp_path: Path) -> None:
    with pytest.raises(tcjax.CompileError) as caught:
        loaded(body.text(), tmp_path / "wrong.py").ranges(*body.arguments)

    followed = loaded(body.followed(caught.value).text(), tmp_path / "followed.py")

    np.testing.assert_allclose(followed.interpret(*body.arguments), body.meant(*body.arguments), rtol=1e-5)


@pytest.mark.parametrize("text", ["ij,jk->ik", "ij,kj->ki"])
def test_the_subscripts_of_an_einsum_are_sent_to_it_as_they_are(text: str) -> None:
    A, B = np.ones((2, 3), np.float32), np.full((3, 3), 2.0, np.float32)
    with pytest.raises(tcjax.CompileError) as caught:
        tcjax.kernel(text)
    call = re.findall(r"`([^`]+)`", caught.value.help)[0]

    found = eval(call, {"tcjax": tcjax, "A": A, "B": B})

    np.testing.assert_allclose(found, np.einsum(text, A, B))


def test_a_traced_size_is_told_how_it_becomes_static() -> None:
    kernel = tcjax.kernel("def h(int32(N) b) -> (float(B) H) { H(b(i)) +=! 1.0 }")
    bins = jnp.array([0, 2, 2], jnp.int32)

    def f(b: jax.Array, B: int) -> jax.Array:
        return kernel(b, B=B)

    with pytest.raises(tcjax.CompileError) as caught:
        jax.jit(f)(bins, 4)

    assert 'static_argnames="B"' in caught.value.help
    assert jax.jit(f, static_argnames="B")(bins, 4).tolist() == [1, 0, 2, 0]


def test_a_size_that_is_an_array_of_one_integer_is_that_integer() -> None:
    kernel = tcjax.kernel("def h(int32(N) b) -> (float(B) H) { H(b(i)) +=! 1.0 }")

    assert kernel(np.array([0, 2, 2], np.int32), B=jnp.int32(4)).tolist() == [1, 0, 2, 0]


def test_a_function_of_numpys_that_jax_cannot_trace_names_its_twin(tmp_path: Path) -> None:
    body = Body('A: "float(N)"', "B[i] = np.clip(A[i], 1.0, 3.0)", [VECTOR], lambda A: np.clip(A, 1.0, 3.0))

    for round_number in range(2):  # JAX crashed at the second function that has no weak references
        with pytest.raises(tcjax.CompileError, match=r"`jnp\.clip\(\.\.\.\)`"):
            loaded(body.text(), tmp_path / f"clip{round_number}.py").ranges(VECTOR)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("y0(i) = x(i)", lambda x: x),
        ("y(j0) = x(j0) + j0", lambda x: x + np.arange(x.size)),
        ("def f(float(j1) y1) -> (j0) { j0(i) = y1(i) * j1 }", lambda x: x * x.size),
        ("y(i) = t where y0 = x(i) * 2, t = y0 + 1", lambda x: 2 * x + 1),
        ("y1(i) = x(i)  y(i) = y1(i) + 1", lambda x: x + 1),
    ],
)
def test_names_of_coordinates_are_those_of_bessels_functions_only_where_the_program_has_none(
    text: str, meant: Callable[[np.ndarray], np.ndarray]
) -> None:
    np.testing.assert_allclose(tcjax.kernel(text).interpret(VECTOR), meant(VECTOR))


def test_bessels_functions_have_their_names() -> None:
    assert tcjax.kernel("y(i) = j0(x(i))").interpret(np.zeros(1, np.float32)).tolist() == [1.0]


@pytest.mark.parametrize(
    "text",
    [
        "y(i) = i * x(i)",
        "y() +=! j * A(i,j)",
        "y(i) = x(i) + k where k = 3.0",
        "y(i) = sum[k in 0:3](k * x(i))",
        "y(i) +=! k * x(i) where k in 0:3",
        "y(i) = x(i) > 0.0 ? inf : nan",
        "y(i) = alpha() * x(i)",
        "t() = 2.0  y(i) = t * x(i)",
        "y(i) = A(i, j) where j = 0",
    ],
)
def test_what_a_subscript_a_range_or_a_statement_explains_is_no_unknown_number(text: str) -> None:
    assert isinstance(tcjax.kernel(text), tcjax.Kernel)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("y(i) = a*x(i)", "a"),
        ("y(i) = x(i)/N", "N"),
        ("y(i) +=! exp(beta) * x(i)", "beta"),
        ("y(i) = x(i) where i < n", "n"),
        ("y(i) = x(i) > eps ? x(i) : 0.0", "eps"),
        ("y(i) = sum[k](A(i,k) * c)", "c"),
        ("t(i) = x(i)  y(i) = t(i) + s", "s"),
    ],
)
def test_a_name_that_nothing_explains_is_shown_where_it_stands(text: str, name: str) -> None:
    with pytest.raises(tcjax.CompileError) as caught:
        tcjax.kernel(text)

    assert (caught.value.code, caught.value.span.text) == ("TC0201", name)
    assert f"`{name}()`" in caught.value.help and f"float {name}" in caught.value.help


@pytest.mark.parametrize(
    ("text", "caret"),
    [
        ("def f(float(N) A) -> (exp) { exp(i) = A(i) }", "exp"),
        ("def f(float(N) A) -> (B) { A(i) = 2.0  B(i) = A(i) }", "A"),
        ("def f(float(N) A) -> (B) { B(i) = sqr(A(i)) }", "sqr"),
        ("def f(float(N) A) -> (B) { B(i) zzz= A(i) }", "zzz="),
        ("def f(float(N) A) -> (B) { B(i) = zzz[k](A(k)) }", "zzz"),
        ("def f(float(N) A) -> (B) { B(i,j) = A(i) }", "j"),
        ("def f(float(N) A) -> (B) { B(i) = A(i)  B(i,j) = A(i) where j in 0:3 }", "B(i,j)"),
        ("def f(float(N) A) -> (B) { B(i/2) = A(i) }", "B(i/2)"),
        ("def f(float(N) A) -> (float(3) B) { B(i) = A(i) }", "B(i)"),
        ("def f(float(N) A, int32(N) b) -> (B) { B(b(i)) +=! A(i) }", "B(b(i))"),
        ("def f(float(N) A) -> (B) { C, B = g(A) }", "g"),
        ("def f(float(N) A) -> (B) { float(N) A  B(i) = A(i) }", "A"),
        ("{ [i] -> sqr(a[i]) }", "sqr"),
    ],
)
def test_the_caret_is_under_what_is_meant_and_not_under_the_statement(text: str, caret: str) -> None:
    with pytest.raises(tcjax.CompileError) as caught:
        kernel = tcjax.kernel(text)
        kernel.ranges(*([VECTOR, np.zeros(5, np.int32)] if "int32" in text else [VECTOR]))

    assert caught.value.span.text == caret


def test_a_long_line_that_is_cut_shows_where() -> None:
    text = "y(i) = " + " + ".join(["x(i)"] * 30) + " + sqt(x(i)) + " + " + ".join(["x(i)"] * 30)
    with pytest.raises(tcjax.CompileError) as caught:
        tcjax.kernel(text)(VECTOR)

    shown, carets = str(caught.value).splitlines()[3:5]
    assert shown.startswith("1 | …") and shown.endswith("…") and len(shown) == len("1 | ") + 120
    assert shown[carets.index("^") : carets.rindex("^") + 1] == "sqt"
