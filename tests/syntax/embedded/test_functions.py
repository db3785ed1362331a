"""Which functions can be read, where their source is found, and kernels in docstrings."""

import functools
import inspect
import linecache
from collections.abc import Callable

import jax
import pytest

import tcjax
from tcjax import CompileError
from tcjax.syntax import ast
from tcjax.syntax.embedded import read, read_text

PRODUCT = """
        C(m,n) +=! A(m,k) * B(k,n)
"""


def docstring(A, B):
    """
    C(m,n) +=! A(m,k) * B(k,n)
    """


def docstring_and_dots(A, B):
    """C(m,n) +=! A(m,k) * B(k,n)"""
    ...


def docstring_and_body(A):
    """Doubles."""
    B[i] = 2 * A[i]
    return B


def code(error: pytest.ExceptionInfo[CompileError]) -> str:
    return error.value.code


def test_a_body_of_only_a_docstring_is_a_text() -> None:
    reading = read(docstring)

    assert reading.definition is None
    # From 3.13 on Python dedents docstrings; the text keeps its columns.
    assert reading.text is not None and inspect.cleandoc(reading.text) == inspect.getdoc(docstring)
    assert reading.parameters == ("A", "B")
    assert (reading.constants, reading.callables) == ({}, {})


def test_a_text_knows_its_lines_of_the_file() -> None:
    source = read(docstring).source

    with open(__file__) as file:
        number = 1 + file.read().splitlines().index("    C(m,n) +=! A(m,k) * B(k,n)")
    assert (source.name, source.line(number)) == (__file__, "    C(m,n) +=! A(m,k) * B(k,n)")


def test_dots_and_pass_behind_a_docstring_are_nothing() -> None:
    assert read(docstring_and_dots).text == "C(m,n) +=! A(m,k) * B(k,n)"
    assert read_text('def f(A):\n    "C(i) = A(i)"\n    pass\n').text == "C(i) = A(i)"


def test_a_docstring_above_a_body_is_documentation() -> None:
    reading = read(docstring_and_body)

    assert reading.text is None
    assert reading.definition == read_text("def docstring_and_body(A):\n    B[i] = 2 * A[i]\n    return B\n").definition


@pytest.mark.parametrize("body", ["pass", "...", "..., "[:3]])
def test_an_empty_body_is_refused(body: str) -> None:
    with pytest.raises(CompileError, match="the body of `f` is empty") as caught:
        read_text(f"def f(A):\n    {body}\n")

    assert code(caught) == "TC0104"


def test_an_indented_function_is_read_where_it_stands() -> None:
    class Holder:
        def scaled(A):
            # A comment
            # that is indented less, and a text that is not indented at all:
            """
            Doubles.
            """
            B[i] = 2.0 * A[i]
            return B

    definition = read(Holder.scaled).definition

    assert definition == read_text("def scaled(A):\n    B[i] = 2.0 * A[i]\n    return B\n").definition


def test_tabs_and_continued_lines_are_read() -> None:
    text = "\tdef f(A):\n\t\tB[i] = 2.0 * \\\n  A[i]\n\t\treturn B\n"

    definition = read_text(text, first_line=10).definition

    assert definition is not None
    (statement,) = definition.body
    assert isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Binary)
    assert tuple(statement.span)[:2] == (11, 3)
    assert tuple(statement.value.right.span) == (12, 3, 7)


def test_line_breaks_of_any_system_count_the_same() -> None:
    for text in ("def f(A):\r\n    B[i] = A\r\n    return 1", "def f(A):\r    B[i] = A\r    return 1"):
        with pytest.raises(CompileError) as caught:
            read_text(text)

        assert tuple(caught.value.span) == (3, 12, 13)


def test_a_form_feed_is_no_line_break() -> None:
    with pytest.raises(CompileError) as caught:
        read_text("def f(A):\n    # a\x0cb\u2028c\n    return 1")

    assert "3 |     return 1" in str(caught.value)


# ---------------------------------------------------------------- decorators


def test_decorators_above_the_kernel_are_fine() -> None:
    text = "@jax.jit\n@tcjax.kernel(checked=True)\ndef f(A):\n    return A\n"

    assert read_text(text).definition == read_text("def f(A):\n    return A\n").definition


@pytest.mark.parametrize(
    ("kernel", "scope"),
    [
        ("tcjax.kernel", {}),
        ("tcjax.kernel", {"tcjax": tcjax}),
        ("tcjax.kernel(memory_limit='1MiB')", {"tcjax": tcjax}),
        ("kernel", {}),
        ("tensor_kernel", {"tensor_kernel": tcjax.kernel}),
        ("strict", {"strict": functools.partial(tcjax.kernel, strict=True)}),
    ],
)
def test_a_decorator_below_the_kernel_is_refused(kernel: str, scope: dict[str, object]) -> None:
    with pytest.raises(CompileError, match=r"a decorator below `@tcjax.kernel` would never run") as caught:
        read_text(f"@{kernel}\n@jax.jit\ndef f(A):\n    return A\n", scope)

    assert (code(caught), tuple(caught.value.span)) == ("TC0105", (2, 2, 9))


def test_another_librarys_kernel_is_an_ordinary_decorator() -> None:
    text = "@jax.kernel\n@tcjax.kernel\ndef f(A):\n    return A\n"

    assert read_text(text, {"jax": jax, "tcjax": tcjax}).definition is not None


@pytest.mark.parametrize("decorate", [jax.jit, functools.lru_cache, lambda f: functools.wraps(f)(lambda A: f(A))])
def test_a_function_that_was_wrapped_before_is_refused(decorate: Callable) -> None:
    with pytest.raises(CompileError, match="`docstring_and_body` was decorated before it was read") as caught:
        read(decorate(docstring_and_body))

    assert code(caught) == "TC0105"
    assert "above `@tcjax.kernel`" in caught.value.help


# ---------------------------------------------------------------- what is no function


class Callables:
    """Things that can be called."""

    def method(self, A):
        return A

    def __call__(self, A):
        return A


@pytest.mark.parametrize(
    ("value", "expected", "message"),
    [
        (lambda A: A, "TC0105", "a lambda cannot hold statements"),
        (Callables, "TC0105", "the class `Callables` is not a function"),
        (Callables().method, "TC0105", "the method `method` is not a function"),
        (Callables(), "TC0105", "an object of type `Callables` is not a function"),
        (functools.partial(docstring, 1), "TC0105", "an object of type `partial` is not a function"),
        (3, "TC0105", "an object of type `int` is not a function"),
        (None, "TC0105", "an object of type `NoneType` is not a function"),
        (len, "TC0106", "the source of `len` cannot be read"),
    ],
)
def test_what_is_no_function_is_refused(value: object, expected: str, message: str) -> None:
    with pytest.raises(CompileError, match=message) as caught:
        read(value)

    assert code(caught) == expected
    assert caught.value.help


def test_a_function_without_a_file_is_refused() -> None:
    scope: dict[str, Callable] = {}
    exec("def f(A):\n    return A\n", scope)

    with pytest.raises(CompileError, match="the source of `f` cannot be read") as caught:
        read(scope["f"])

    assert (code(caught), caught.value.kind) == ("TC0106", "syntax")


def test_a_function_of_a_notebook_cell_is_read() -> None:
    # As in IPython: the cell's text is in `linecache` under the name of a file that does not exist.
    text, name, scope = "def f(A):\n    B[i] = A[i]\n    return B\n", "<cell 7>", {}
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), scope)

    reading = read(scope["f"])

    assert reading.definition == read_text(text).definition
    assert reading.source.name == name


@pytest.mark.parametrize("changed", ["x = 1\n", "def g(A):\n    return A\n", "    return A\n", "'''\n", ""])
def test_a_file_that_has_changed_is_no_source(changed: str) -> None:
    text, name, scope = "def f(A):\n    return A\n", "<changed cell>", {}
    exec(compile(text, name, "exec"), scope)
    linecache.cache[name] = (len(changed), None, changed.splitlines(keepends=True), name)

    with pytest.raises(CompileError) as caught:
        read(scope["f"])

    assert caught.value.kind == "syntax"


def test_an_async_function_is_refused() -> None:
    async def f(A):
        return A

    for read_it in (lambda: read(f), lambda: read_text("async def f(A):\n    return A\n")):
        with pytest.raises(CompileError, match="an `async def` has no meaning") as caught:
            read_it()

        assert code(caught) == "TC0105"


# ---------------------------------------------------------------- texts


def test_a_text_may_import_and_explain_before_its_function() -> None:
    text = '"""Explains."""\nimport tcjax\nfrom tcjax import kernel\n\n@kernel\ndef f(A):\n    return A\n'

    assert read_text(text).definition == read_text("def f(A):\n    return A\n").definition


@pytest.mark.parametrize(
    ("text", "expected", "message"),
    [
        ("", "TC0104", "holds no function"),
        ("import tcjax\n", "TC0104", "holds no function"),
        ("def f(A):\n    return A\ndef g(A):\n    return A\n", "TC0104", "holds 2 functions"),
        ("x = 1\n", "TC0105", "no meaning"),
        ("def f(A:\n", "TC0101", "this is not Python"),
        ("def f(A):\nreturn A\n", "TC0101", "this is not Python"),
        ("C(m,n) +=! A(m,k) * B(k,n)", "TC0101", "this is not Python"),
    ],
)
def test_a_text_holds_one_function(text: str, expected: str, message: str) -> None:
    with pytest.raises(CompileError, match=message) as caught:
        read_text(text)

    assert code(caught) == expected
    assert caught.value.help


def test_what_python_cannot_parse_is_shown_where_python_stumbles() -> None:
    with pytest.raises(CompileError) as caught:
        read_text("    def f(A):\n        C[i] = = A[i]\n", name="cell", first_line=7)

    assert "--> cell:8:16" in str(caught.value)
    assert "8 |         C[i] = = A[i]" in str(caught.value)
