"""Unsupported Python is refused with a caret in the Python file, and with what to write instead."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tcjax import CompileError
from tcjax.syntax.embedded import read, read_text

LINES = Path(__file__).read_text().splitlines()


def loop_over_a_list(A):
    for x in [1, 2]:  # caret: [1, 2]
        C[i] = A[i] * x
    return C


def prints(A):
    C[i] = A[i]
    print(C)  # caret: print(C)
    return C


def comprehension(A):
    C[i] = sum(A[k] for k in range(3))  # caret: sum(A[k] for k in range(3))
    return C


def multiplies(A):
    C[i] @= A[i, k]  # caret: C[i] @= A[i, k]
    return C


def method(A):
    C[i] = A.sum()  # caret: A.sum
    return C


def over_two_lines(A):
    C[i] = (
        A[i] + A[i:2]  # caret: i:2
    )
    return C


@pytest.mark.parametrize(
    "function", [loop_over_a_list, prints, comprehension, multiplies, method, over_two_lines], ids=lambda f: f.__name__
)
def test_the_caret_is_in_this_file(function: Callable) -> None:
    first = function.__code__.co_firstlineno
    number = next(n for n, line in enumerate(LINES, start=1) if n >= first and "# caret: " in line)
    line, _, marked = LINES[number - 1].partition("  # caret: ")

    with pytest.raises(CompileError) as caught:
        read(function)

    start = line.index(marked) + 1
    assert tuple(caught.value.span) == (number, start, start + len(marked))
    assert f"--> {__file__}:{number}:{start}" in str(caught.value)
    assert f"{number} | {LINES[number - 1]}" in str(caught.value)
    assert caught.value.help


@pytest.mark.parametrize(
    ("lines", "message", "help"),
    [
        ("while A[0] > 0:\n        C[i] = A[i]", "a `while` loop", "`for t in range(1, T):`"),
        ("with open(A) as f:\n        C[i] = A[i]", "this `with`", "with let"),
        ("with let(t=1) as u:\n        C[i] = A[i]", "this `with`", "with let"),
        ("with let(**t):\n        C[i] = A[i]", "this `with`", "with let"),
        ("with exists():\n        C[i] = A[i]", "this `with`", "with exists"),
        ("with equivalent(f(A)), equivalent(g(A)):\n        C[i] = A[i]", "this `with`", "with let"),
        ("try:\n        C[i] = A[i]\n    finally:\n        pass", "a `try`", "check the arguments"),
        ("assert A", "an `assert`", "leave it out"),
        ("raise A", "a `raise`", "leave it out"),
        ("import numpy", "an import", "above the function"),
        ("from numpy import exp", "an import", "above the function"),
        ("global C", "a `global`", "leave it out"),
        ("del A", "a `del`", "leave it out"),
        ("def g(x): return x", "a function inside", "above the function"),
        ("async def g(x): return x", "a function inside", "above the function"),
        ("class C: pass", "a class", "above the function"),
        ("for k in range(3):\n        break", "a `break`", "if k <= q:"),
        ("for k in range(3):\n        continue", "a `continue`", "if k <= q:"),
        ("match A:\n        case 1: pass", "a `match`", "a if c else b"),
        ("C[i]", "an expression by itself", "B[i] = …"),
        ("'text'\n    C[i] = A[i]\n    'text'", "an expression by itself", "B[i] = …"),
        ("C[i] = lambda x: x", "a lambda", "above the function"),
        ("C[i] = [A[i]]", "a list", "A[i]"),
        ("C[i] = {1: 2}", "a dictionary", "A[i]"),
        ("C[i] = {1, 2}", "a set", "A[i]"),
        ("C[i] = [x for x in A]", "a comprehension", "by itself"),
        ("C[i] = sum(A[i+k] for k in range(3) if k <= i)", "which indices", "`sum[k in range(3), k <= i](A[i + k])`"),
        ("C[i] = max([A[k] for k in range(i + 1)])", "which indices", "`max[k in range(i + 1)](A[k])`"),
        ("C[i] = A[i] / len(A)", "a size for each dimension", "`A.shape[0]`"),
        ("N, M = A.shape", "only from a call", '`A: "float(N,M)"`'),
        ("C[i] = 1, 2", "a tuple", "one statement"),
        ("C[i] = f(*A)", "a starred expression", "write its parts out"),
        ("C[i] = A[*i]", "a starred expression", "write its parts out"),
        ("C[i] = f'{A}'", "a string", "numbers"),
        ("C[i] = 'A'", "this constant", "numbers"),
        ("C[i] = None", "this constant", "numbers"),
        ("C[i] = ...", "`...` has no meaning", "name an index"),
        ("C[i] = A[i, ...]", "`...` has no meaning", "it comes first"),
        ("C[i] = (t := A[i])", "a `:=`", "of its own"),
        ("C[i] = A[i, :]", "a slice", "name an index"),
        ("C[i] = A @ A", "`@` has no meaning", "sum[k](A[m, k] * B[k, n])"),
        ("C[i] = (yield A)", "a `yield`", "return C"),
        ("C[i] = i in A", "`in` and `is`", "lo <= k < hi"),
        ("C[i] = i is A", "`in` and `is`", "lo <= k < hi"),
        ("C[i] = A[i][j]", "one pair of brackets", "A[i, j]"),
        ("C[i] = f(A)[i]", "only a tensor's name", "a name of its own"),
        ("C[i] = A.T[i, j]", "nothing is transposed", "`A[j, i]`"),
        ("C[i] = A.T", "this attribute", "A.shape[1]"),
        ("C[i] = A.shape", "a shape is not a number", "A.shape[0]"),
        ("C[i] = A.shape[i]", "not the number of a dimension", "A.shape[0]"),
        ("C[i] = A.shape[-1]", "not the number of a dimension", "A.shape[0]"),
        ("C[i] = A.shape[True]", "not the number of a dimension", "A.shape[0]"),
        ("C[i] = f(A, axis=1)", "no keywords", "a function of its own"),
        ("C[i] = f(A)(i)", "only a name can be called", "f(x)"),
        ("C[i] = A.astype(float)", "a tensor has no `astype`", "float32(A[i])"),
        ("C[i] = sum(A)", "told over which indices", "sum[k](A[k])"),
        ("C[i] = any(A)", "told over which indices", "any[k](A[k])"),
        ("C[i] = max(A)", "told over which indices", "max[k](A[k])"),
        ("C[i] = jnp.max(A, 0)", "told over which indices", "max[k](A[k])"),
        ("C[i] = sum[i < 3](A[i])", "has no index", "sum[i, i < 3](...)"),
        ("C[i] = sum[k]()", "has no value", "sum[k](A[k])"),
        ("C[i] = sum[k](A[k], axis=1)", "no keywords", "sum[k](A[k])"),
        ("C[i] = A.sum[k](A[k])", "not a reduction", "sum[k](A[k])"),
        ("C[i] = sum[k in A](A[k])", "runs over a range", "range(lo, hi)"),
        ("C[i] = sum[k in range(0, 9, 2)](A[k])", "runs over a range", "A[2*k]"),
        ("C[i] = sum[k in range(3) in A](A[k])", "has no index", "sum[k](A[k])"),
        ("for k in A:\n        C[i] = A[i]", "runs over a range", "range(lo, hi)"),
        ("for k in range(0, 9, 2):\n        C[i] = A[i]", "runs over a range", "A[2*k]"),
        ("for i, j in range(3):\n        C[i] = A[i]", "a `for` names one index", "for k in range(lo, hi):"),
        ("for k in range(3):\n        C[k] = A[k]\n    else:\n        pass", "has no `else`", "after the loop"),
        ("C[i] @= A[i]", "`@=` is not a reduction", "`C[i] += A[i, k] * B[k, j]`"),
        (
            "C[i] = A[i]\n    if C[i] > 0:\n        C[i] = 0.0\n    else:\n        C[i] = 1.0",
            "`C` changes under this condition",
            "`met[i] = C[i] > 0`, then `if met[i]:`",
        ),
        (
            "s[()] = A[0]\n    if s > 0:\n        for t in range(3):\n            s[()] = s * s",
            "`s` changes under this condition",
            "`met[()] = s > 0`, then `if met[()]:`",
        ),
        ("C = D = A[i]", "several tensors", "one statement for each"),
        ("C, D = A[i]", "only from a call", "O1, O2 = f(A, B)"),
        ("C[i], D[i] = f(A)", "only from a call", "O1, O2 = f(A, B)"),
        ("C, *D = f(A)", "only from a call", "O1, O2 = f(A, B)"),
        ("C, D = float32(A)", "one result", "O = f(A, B)"),
        ("if A:\n        C, D = f(A)", "no ranges and no guards", "outside every"),
        ("[C, D] = f(A)", "only a tensor can be assigned to", "C[i, j] = …"),
        ("C.x = A[i]", "only a tensor can be assigned to", "C[i, j] = …"),
        ("C.x += A[i]", "only a tensor can be assigned to", "C[i, j] = …"),
        ("C: 'float(N)' = A[i]", "holds an operator", 'C[i]: "max=!" = e'),
        ("C[i]: 'float(N)'", "declares nothing", 'z: "float(K)"'),
        ("C: None", "declares nothing", 'z: "float(K)"'),
        ("if A:\n        C: 'float(N)'", "declares nothing", "outside every"),
        ("return A\n    C[i] = A[i]", "not the last statement", "one `return C`"),
        ("if A:\n        return A", "not the last statement", "one `return C`"),
    ],
)
def test_what_has_no_meaning_is_refused_and_the_help_says_what_has(lines: str, message: str, help: str) -> None:
    with pytest.raises(CompileError) as caught:
        read_text(f"def f(A):\n    {lines}\n    return C\n")

    assert (caught.value.code, caught.value.kind) == ("TC0105", "syntax")
    assert message in caught.value.message
    assert help in caught.value.help
    assert 2 <= caught.value.span.line <= 5


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("*A", "fixed list of arguments"),
        ("**A", "fixed list of arguments"),
        ("*, A", "fixed list of arguments"),
        ("A=1", "no default"),
    ],
)
def test_only_plain_parameters_are_accepted(signature: str, message: str) -> None:
    with pytest.raises(CompileError, match=message) as caught:
        read_text(f"def f({signature}):\n    return A\n")

    assert caught.value.code == "TC0105"
    assert caught.value.span.line == 1


@pytest.mark.parametrize(
    "text",
    [
        "def f(min):\n    C[i] = 1\n    return C",
        "def f(A):\n    where[i] = A[i]\n    return C",
        "def f(A):\n    C[exists] = A[i]\n    return C",
        "def f(A):\n    C[i] = A[float]\n    return C",
        "def f(A):\n    C[i] = int32[i]\n    return C",
        "def f(A):\n    C[i] = sum[max](A[i])\n    return C",
        "def f(A):\n    for min in range(3):\n        C[i] = A[i]\n    return C",
        "def f(A):\n    C[i] = A[i]\n    return where",
    ],
)
def test_words_of_the_notation_name_nothing(text: str) -> None:
    with pytest.raises(CompileError, match="cannot name anything") as caught:
        read_text(text)

    assert (caught.value.code, caught.value.kind) == ("TC0203", "name")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("float32(A, B)", "`float32` takes 1 arguments and got 2"),
        ("float32()", "`float32` takes 1 arguments and got 0"),
        ("div(A)", "`div` takes 2 arguments and got 1"),
        ("jnp.where(A)", "`where` takes 3 arguments and got 1"),
        ("jnp.mod(A)", "`mod` takes 2 arguments and got 1"),
    ],
)
def test_a_count_of_arguments_is_checked_where_the_reader_knows_it(call: str, message: str) -> None:
    with pytest.raises(CompileError, match=message) as caught:
        read_text(f"def f(A):\n    C[i] = {call}\n    return C\n")

    assert caught.value.code == "TC0503"


@pytest.mark.parametrize(
    ("ending", "message", "help"),
    [
        ("C[i] = A[i]", "`f` returns nothing", "end with `return C`"),
        ("D[i] = A[i]; C[i] = A[i]", "`f` returns nothing", "end with `return C, D`"),
        ("C[i] = A[i]; return", "`f` returns nothing", "end with `return C`"),
        ("return A[i]", "only tensors can be returned", "then `return out`"),
        ("return A, 1", "only tensors can be returned", "then `return out`"),
        ("return None", "only tensors can be returned", "then `return out`"),
    ],
)
def test_a_function_returns_tensors_by_name(ending: str, message: str, help: str) -> None:
    with pytest.raises(CompileError, match=message) as caught:
        read_text(f"def f(A):\n    {ending}\n")

    assert caught.value.code == "TC0105"
    assert help in caught.value.help


@pytest.mark.parametrize("seed", range(8))
def test_no_text_raises_anything_but_a_compile_error(seed: int) -> None:
    generator = random.Random(seed)
    tokens = (
        *("def", "f", "(", "A", ")", ":", "\n", "\t", "return", "C", "[", "i", "]", "=", "+=", "sum[k]", "A[i]", ","),
        *(
            "for",
            "in",
            "range",
            "if",
            "else",
            "with",
            "let",
            "1",
            "2.0",
            "'x'",
            '"',
            "*",
            "**",
            "-",
            "lambda",
            "@",
            "{",
        ),
        *("}", ".", "shape", "float32", "é", "\x00", "\ud800", "\x0c", "#", "\\", ":=", "await", "async", "None"),
        *("True", "jnp.exp", "max", "not", "<", "range(3)", "0x", "1j", "(yield)", "*A", "A.shape[0]"),
    )

    for _ in range(150):
        body = " ".join(generator.choices(tokens, k=generator.randrange(12)))
        text = generator.choice([f"def f(A):\n    {body}\n    return C\n", f"def f(A):\n    C[i] = {body}\n", body])
        try:
            found = read_text(text)
        except CompileError as error:
            assert str(error) and error.help
        else:
            assert found.source.text
