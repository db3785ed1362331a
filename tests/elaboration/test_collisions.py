"""Any identifier may name anything: colliding names follow the scoping rules, or are refused."""

import linecache
from collections.abc import Callable, Mapping
from itertools import combinations, count
from typing import Any

import numpy as np
import pytest

import tcjax

TC = """
def {callee}(float({size}) q) -> (r) {{ r(c) = q(c) + 1.0 }}
def {definition}(float({size}) {parameter}) -> ({output}) {{
  {called} = {callee}({parameter})
  {temporary}({index}) = {parameter}({index}) * {called}({index})
  {output}({index}) = {temporary}({index}) + {let} + sum[{bracket}](fabs({parameter}({bracket}))) + {size}
    where {let} = {function}({parameter}({index}))
}}
"""
PYTHON = """
def {definition}({parameter}: "float({size})"):
    {temporary}[{index}] = {parameter}[{index}] * ({parameter}[{index}] + 1.0)
    {output}[{index}] = (
        {temporary}[{index}] + sum[{bracket}](fabs({parameter}[{bracket}])) + {function}({parameter}[{index}])
    )
    return {output}
"""
SAC = """
float[{size}] {callee}(float[{size}] q) {{ return {{ [c] -> q[c] + 1.0 | [c] < [{size}] }}; }}
float[{size}] {definition}(float[{size}] {parameter})
{{
  {called} = {callee}({parameter});
  {temporary} = {{ [{index}] -> {parameter}[{index}] * {called}[{index}] | [{index}] < [{size}] }};
  {let} = sum({{ {bracket} -> {parameter}[{bracket}] < 0.0 ? -{parameter}[{bracket}] : {parameter}[{bracket}] }});
  {output} = {{ [{index}] -> {temporary}[{index}] + {let} + {function}({parameter}[{index}]) }};
  return {output};
}}
"""
ROLES = {
    "callee": "helper",
    "definition": "entry",
    "size": "N",
    "parameter": "x",
    "output": "o",
    "called": "z",
    "temporary": "t",
    "index": "i",
    "let": "u",
    "bracket": "j",
    "function": "halved",
}
WORDS = (
    *[
        "sin",
        "exp",
        "min",
        "max",
        "fabs",
        "relu",
        "abs",
        "real",
        "y0",
        "y1",
        "j0",
        "j1",
        "pow",
        "popcount",
        "sum",
        "mean",
        "prod",
        "any",
        "all",
        "logsumexp",
        "argmin",
        "mink",
    ],
    *[
        "lambda",
        "def",
        "for",
        "if",
        "in",
        "is",
        "None",
        "True",
        "true",
        "where",
        "and",
        "or",
        "not",
        "return",
        "else",
        "class",
        "import",
        "range",
        "with",
        "yield",
        "match",
    ],
    *[
        "inf",
        "nan",
        "pi",
        "float",
        "int",
        "bool",
        "half",
        "uint8",
        "pad",
        "clamp",
        "wrap",
        "exists",
        "unique",
        "shape",
        "step",
        "take",
        "dim",
        "reverse",
        "iota",
        "_",
        "A",
        "N",
        "i",
    ],
)
FILES = count()


def halved(value: Any) -> Any:
    return value * np.float32(0.5)


def tc(names: Mapping[str, str]) -> tcjax.Kernel:
    return tcjax.load(TC.format(**names), fns={names["function"]: halved})[names["definition"]]


def python(names: Mapping[str, str]) -> tcjax.Kernel:
    text, file = PYTHON.format(**names), f"<names {next(FILES)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope: dict[str, Any] = {names["function"]: halved}
    exec(compile(text, file, "exec"), scope)
    return tcjax.kernel(scope[names["definition"]])


def sac(names: Mapping[str, str]) -> tcjax.Kernel:
    return tcjax.kernel(SAC.format(**names), dialect="sac", fns={names["function"]: halved})


NOTATIONS: dict[str, Callable[[Mapping[str, str]], tcjax.Kernel]] = {"tc": tc, "python": python, "sac": sac}
TEXTS = {"tc": TC, "python": PYTHON, "sac": SAC}
X = np.float32([1, -2, 3])
# Names with two meanings, where the result is not that of a renamed program.
CAPTURED = {
    # The first definition of a name wins.
    ("tc", "callee", "definition"): X + 1,
    # A let takes precedence over a size.
    ("tc", "size", "let"): X * (X + 1) + 0.5 * X + 6 + 0.5 * X,
    # Later definitions hide earlier ones.
    ("sac", "parameter", "called"): (X + 1) * (X + 1) + np.abs(X + 1).sum() + 0.5 * (X + 1),
    ("sac", "parameter", "temporary"): X * (X + 1) + np.abs(X * (X + 1)).sum() + 0.5 * X * (X + 1),
    ("sac", "index", "let"): X * (X + 1) + np.arange(3, dtype="float32") + 0.5 * X,
}
KINDS = {"name", "syntax", "type", "rank", "index", "shape", "bound"}


def outcome(notation: str, names: Mapping[str, str]) -> np.ndarray | str:
    """The values, or the kind of the refusal or warning."""
    try:
        return NOTATIONS[notation](names).interpret(X)
    except (tcjax.CompileError, tcjax.CompileWarning) as error:
        return error.kind
    except SyntaxError:
        # Python's own error, where the word is not a valid name.
        assert notation == "python"
        return "syntax"


def roles(notation: str) -> list[str]:
    return [role for role in ROLES if f"{{{role}}}" in TEXTS[notation]]


def plain(notation: str) -> np.ndarray:
    found = X * (X + 1) + np.abs(X).sum() + 0.5 * X
    return found + 3 if notation == "tc" else found


@pytest.mark.parametrize("notation", NOTATIONS)
def test_the_programs_compute_what_the_tables_say(notation: str) -> None:
    np.testing.assert_array_equal(outcome(notation, ROLES), plain(notation))


@pytest.mark.parametrize("notation", NOTATIONS)
@pytest.mark.parametrize("pair", list(combinations(ROLES, 2)), ids=" ".join)
def test_a_name_for_two_things_means_one_or_is_refused(notation: str, pair: tuple[str, str]) -> None:
    if not {*pair} <= {*roles(notation)}:
        pytest.skip("the notation has no such name")
    found = outcome(notation, {**ROLES, **dict.fromkeys(pair, "n")})

    if isinstance(found, str):
        assert found in KINDS
    else:
        np.testing.assert_array_equal(found, CAPTURED.get((notation, *pair), plain(notation)))


@pytest.mark.parametrize("notation", NOTATIONS)
@pytest.mark.parametrize("word", WORDS)
def test_a_word_of_the_language_names_anything_or_is_refused(notation: str, word: str) -> None:
    for role in roles(notation):
        if word in ROLES.values():
            continue
        found = outcome(notation, {**ROLES, role: word})

        if isinstance(found, str):
            assert found in KINDS, role
        else:
            np.testing.assert_array_equal(found, plain(notation), err_msg=role)


@pytest.mark.parametrize("dialect", ["tc", "sac", "python"])
@pytest.mark.parametrize("word", WORDS)
def test_what_a_name_cannot_be_in_another_notation_is_refused_there(dialect: str, word: str) -> None:
    for role in roles("tc"):
        if word in ROLES.values():
            continue
        try:
            kernel = tc({**ROLES, role: word})
        except tcjax.CompileError:
            continue

        try:
            assert kernel.to(dialect)
        except tcjax.CompileError as error:
            assert error.kind == "name", role


def test_a_temporary_may_have_the_name_of_its_definition() -> None:
    kernel = tcjax.kernel("def f() -> (g) { f(b) = 1.0 where b in 0:3  g(x) = f(x) }")

    assert kernel.interpret().tolist() == [1, 1, 1]
    assert str(kernel).startswith("def f() -> (g)")


def test_a_definition_with_the_name_of_an_added_builtin_can_be_called() -> None:
    text = "def relu(float(N) q) -> (r) { r(i) = q(i) + 1.0 } def f(float(N) x) -> (y) { y = relu(x) }"

    assert tcjax.load(text)["f"].interpret(X).tolist() == (X + 1).tolist()
    with pytest.raises(tcjax.CompileError, match="the definition of that name cannot be called"):
        tcjax.load(text.replace("relu", "sin"))


@pytest.mark.parametrize("notation", NOTATIONS)
@pytest.mark.parametrize("name", ["float", "int", "sin"])
def test_a_python_function_that_would_never_be_called_is_refused(name: str, notation: str) -> None:
    with pytest.raises(tcjax.CompileError, match="would never be called") as caught:
        NOTATIONS[notation]({**ROLES, "function": name}).interpret(X)

    assert caught.value.kind == "name"
