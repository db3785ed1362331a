"""Texts mean the same as in Python, and print back."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcjax.diagnostics import CompileError
from tcjax.symbolic.facts import Expr

from . import questions
from .enumeration import compiled, domain, variables

_RANDOM = st.randoms(use_true_random=False)


@given(_RANDOM)
def test_an_expression_is_worth_what_python_computes(rng: Random) -> None:
    tree = (
        questions.expression(rng, questions.NAMES[:2], 4)
        if rng.randrange(2)
        else questions.condition(rng, ("i", "j"), 3)
    )
    text = questions.show(tree)
    names = variables(text)
    function = compiled(text, names)

    expr = Expr.of(text)

    assert expr.variables <= set(names)
    for point in domain("", text, *names, limit=200).points:
        assert expr.evaluate(dict(zip(names, point, strict=True))) == function(*point), point
    for _ in range(8):
        point = {name: rng.randrange(-9, 9) for name in names}
        try:
            value = function(*point.values())
        except ZeroDivisionError:
            with pytest.raises(ZeroDivisionError):
                expr.evaluate(point)
        else:
            assert expr.evaluate(point) == value


@given(_RANDOM)
def test_an_expression_prints_as_a_text_that_reads_back(rng: Random) -> None:
    tree = (
        questions.expression(rng, questions.NAMES, 4) if rng.randrange(2) else questions.condition(rng, ("i", "j"), 3)
    )

    expr = Expr.of(questions.show(tree))

    assert Expr.of(str(expr)) == expr
    assert hash(Expr.of(str(expr))) == hash(expr)


@given(_RANDOM)
def test_a_substitution_is_worth_what_the_substituted_text_is(rng: Random) -> None:
    outer = questions.show(questions.expression(rng, ("i", "j"), 3))
    inner = questions.show(questions.expression(rng, ("n",), 2))
    expr = Expr.of(outer).substitute({"i": Expr.of(inner)})

    for n in range(-6, 7):
        for j in (-3, 0, 4):
            try:
                i = int(compiled(inner, ("n",))(n))
                value = compiled(outer, ("i", "j"))(i, j)
            except ZeroDivisionError:
                continue
            assert expr.evaluate({"n": n, "j": j}) == value


@pytest.mark.parametrize("text", ["A.0 + k.1 % 4", "i' - i''", "0 <= i < n < 4", "not (i < 3 or j == 2) and true"])
def test_the_notation_has_dotted_and_primed_names_chains_and_connectives(text: str) -> None:
    names = variables(text)
    function = compiled(text, names)

    expr = Expr.of(text)

    assert expr.variables == set(names)
    for point in domain("", text, limit=500).points:
        assert expr.evaluate(dict(zip(names, point, strict=True))) == function(*point)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "i +",
        "i)",
        "(i",
        "i j",
        "i < ",
        "tdiv(i)",
        "select(i, 1)",
        "f(i)",
        "1.5",
        "i / 2",
        "i $ 2",
        "and",
        "i ** 2",
        "é(",
    ],
)
def test_a_text_that_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(CompileError) as refused:
        Expr.of(text)

    assert refused.value.help


@pytest.mark.parametrize(
    "text",
    ["(" * 3000 + "i" + ")" * 3000, "-" * 5000 + "i", "i" + " + 1" * 5000, "not " * 4000 + "i < 3", "min(i, " * 3000],
)
def test_a_deep_or_long_text_is_read_or_refused_and_never_overflows(text: str) -> None:
    try:
        expr = Expr.of(text)
    except CompileError:
        return
    assert expr.evaluate({"i": 3}) == 3 + text.count("+")
