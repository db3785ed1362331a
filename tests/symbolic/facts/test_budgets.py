"""Long and deep texts are answered or refused within a budget; a question that is too hard gets the plain answer."""

from collections.abc import Callable

import pytest

from tcjax.diagnostics import CompileError
from tcjax.symbolic.facts import Prover
from tests.work import with_at_most

# Function calls for one question, three times as many as the hardest of these needs. A runaway search never ends.
MOST = 6_000_000


def _nested(step: Callable[[str, int], str], depth: int, inner: str = "x") -> str:
    for level in range(depth):
        inner = step(inner, level)
    return inner


def _either(level: int) -> str:
    return "min" if level % 2 else "max"


EXPRESSIONS = {
    "a long sum": " + ".join(f"x{k}*{k % 7 + 1}" for k in range(200)),
    "a sum of least values": " + ".join(f"min(x{k}, y{k})" for k in range(25)),
    "a sum of choices": " + ".join(f"select(a{k} < b{k}, {k}, x)" for k in range(25)),
    "a sum of quotients": " + ".join(f"(x + {k}) // {k + 2}" for k in range(30)),
    "a sum of remainders": " + ".join(f"(x + {k}) % {k + 2}" for k in range(30)),
    "a product of sums": "*".join(f"(a{k} + b{k})" for k in range(14)),
    "a power of a sum": "*".join("(x + y + 1)" for _ in range(20)),
    "nested halves": _nested(lambda x, k: f"({x} + {k % 3}) // 2", 45),
    "nested remainders": _nested(lambda x, k: f"({x} + {k % 3}) % {50 - k}", 45),
    "nested least and greatest": _nested(lambda x, k: f"{_either(k)}({x}, y{k} + {k})", 45),
    "a flat least value": _nested(lambda x, k: f"min({x}, y{k})", 45),
    "nested choices": _nested(lambda x, k: f"select(a{k} < b{k}, {x}, {k})", 45),
    "nested quotients by names": _nested(lambda x, k: f"({x} + y) // n{k}", 25),
    "nested remainders by names": _nested(lambda x, k: f"({x}*n + y) % m{k % 3}", 10),
    "nested negations": _nested(lambda x, _: f"-({x})", 45),
    "a text that doubles": _nested(lambda x, _: f"min({x}, {x} + 1)", 10),
    "large numbers": f"x*{10**30 + 7} // {10**18 + 9} + x % {10**9 + 7}",
    "huge numbers": f"x % {10**300} + x // {10**299}",
}
CONDITIONS = {
    "many bounds": " and ".join(f"x < {k}" for k in range(40)),
    "many choices": " or ".join(f"x{k} < {k}" for k in range(40)),
    "nested negations": _nested(lambda x, _: f"not ({x})", 45, "x < 3"),
    "a conjunction of choices": " and ".join(f"(x{k} < {k} or y{k} > {k})" for k in range(20)),
    "a choice of conjunctions": " or ".join(f"(x{k} < {k} and y{k} > {k})" for k in range(20)),
    "a chain of equalities": " and ".join(f"x{k} == x{k + 1}" for k in range(30)),
    "nested exclusive ors": _nested(
        lambda x, k: f"(a{k} < b{k}) and not ({x}) or ({x}) and not (a{k} < b{k})", 6, "x < 3"
    ),
    "products that equal their factors": "x*y == y and x*x == 2*x and z*x == x",
}
FACTS = Prover().define("x", 0, 100).define("n", 1, None)


def _within_budget(ask: Callable[[], object]) -> None:
    try:
        with_at_most(MOST, ask)
    except CompileError as refused:
        assert refused.help


@pytest.mark.parametrize("name", EXPRESSIONS)
@pytest.mark.parametrize("question", ["bounds", "modulus", "simplify", "prove", "solve", "linear", "bijective"])
def test_an_expression_out_of_the_ordinary_is_answered_within_the_budget(name: str, question: str) -> None:
    text = EXPRESSIONS[name]
    facts = FACTS.without(())

    match question:
        case "prove":
            _within_budget(lambda: facts.prove(f"{text} >= 17"))
        case "solve":
            _within_budget(lambda: facts.solve(f"{text} <= 9", "x"))
        case "linear":
            _within_budget(lambda: facts.linear(text, ["x"]))
        case "bijective":
            _within_budget(lambda: facts.bijective([text]))
        case _:
            _within_budget(lambda: getattr(facts, question)(text))


@pytest.mark.parametrize("name", CONDITIONS)
@pytest.mark.parametrize("question", ["simplify", "prove", "solve", "assume"])
def test_a_condition_out_of_the_ordinary_is_answered_within_the_budget(name: str, question: str) -> None:
    text = CONDITIONS[name]
    facts = FACTS.without(())

    match question:
        case "solve":
            _within_budget(lambda: facts.solve(text, "x"))
        case "assume":
            _within_budget(lambda: [facts.assume(text).bounds("x"), facts.assume(text).contradiction])
        case _:
            _within_budget(lambda: getattr(facts, question)(text))
