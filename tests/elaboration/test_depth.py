"""Deep and large expressions: elaborated, or refused with a message."""

import functools
import threading
from collections.abc import Callable
from typing import TypeVar

import pytest

from tcjax import ir
from tcjax.diagnostics import CompileError
from tcjax.elaboration import elaborate
from tcjax.syntax import ast, tc
from tests.elaboration.programs import PARAMETERS, elaborated, mistake_in
from tests.work import calls, with_at_most

T = TypeVar("T")


def below(frames: int, run: Callable[[], T]) -> T:
    """`run()`, with the given number of frames already on the stack."""
    return run() if frames == 0 else below(frames - 1, run)


def in_fresh_thread(run: Callable[[], None]) -> None:
    """`run()` with 200 frames below it, independent of the test runner's stack."""
    failures: list[BaseException] = []

    def target() -> None:
        try:
            below(200, run)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]


def nested(opening: str, closing: str, times: int, core: str) -> str:
    return opening * times + core + closing * times


DEEP = {
    "sums to the left": "A(i)" + " + 1.5" * 195,
    "sums to the right": nested("1.5 + (", ")", 195, "A(i)"),
    "signs": "-" * 195 + "A(i)",
    "negations": "!" * 195 + "b(i)",
    "calls": nested("exp(", ")", 195, "A(i)"),
    "conversions": nested("float(int32(", "))", 97, "A(i)"),
    "ternaries": nested("b(i) ? A(i) : (", ")", 195, "A(i)"),
    "conditions": nested("(", " ? b(i) : b(i))", 195, "b(i)"),
    "literal ternaries": nested("b(i) ? 1 : (", ")", 195, "2"),
    "reductions": nested("sum[k](", ")", 195, "A(i)"),
    "guarded reductions": nested("sum[k in 0:3 where k < 2](A(k) + ", ")", 95, "A(i)"),
    "gathers": nested("I(", ")", 195, "i"),
    "shifted gathers": nested("I(i + ", ")", 95, "i"),
    "products of gathers": nested("I(i * ", ")", 95, "i"),
    "clamped gathers": nested("I(min(i, ", "))", 95, "i"),
    "guarded gathers": nested("I(b(i) ? i : ", ")", 95, "i"),
    "floors": f"A({nested('((', ' + 1) / 2)', 95, 'i')})",
    "clamps": f"A({nested('min(i + 1, (', ') / 2)', 95, 'i')})",
    "remainders": f"A({nested('((', ' + i) % N)', 95, 'i')})",
    "sizes": f"A(i + {nested('((', ' + 1) / 2)', 95, 'N')})",
}


@pytest.mark.parametrize("expression", DEEP.values(), ids=DEEP.keys())
def test_an_expression_as_deep_as_a_reader_allows_elaborates_deep_in_the_callers_stack(expression: str) -> None:
    program = tc.read(f"def f({PARAMETERS}) -> (O) {{ O(i) = {expression} where i in 0:N }}")
    found: list[ir.Function] = []

    in_fresh_thread(lambda: found.append(elaborate(program.definitions[0], program, {}, {})))

    assert found[0].returns[0].name == "O"


def test_a_tree_that_is_deeper_still_is_refused() -> None:
    value = functools.reduce(lambda inner, _: ast.Unary("-", inner), range(5000), ast.Name("a"))
    definition = ast.Definition(
        "f", (ast.Parameter("a", ast.TensorType("float32", ())),), (), (ast.Assign("O", None, None, False, value),)
    )

    with pytest.raises(CompileError) as caught:
        elaborate(definition, ast.Program((definition,)), {}, {})

    assert caught.value.code == "TC0103" and caught.value.help


@pytest.mark.parametrize(
    "first, next",
    [
        ("A(i)", "{0} + {0}"),
        ("I(i)", "I({0} * {0})"),
        ("N + 1", "{0} * {0}"),
        ("A(i)", "{0} + 1"),
        ("i", "b({0}) ? {0} : {0}"),
    ],
)
def test_lets_that_explode_are_refused(first: str, next: str) -> None:
    lets = ", ".join(f"l{n + 1} = {next.format(f'l{n}')}" for n in range(400))

    error = with_at_most(5_000_000, lambda: mistake_in(f"O(i) = l400 where l0 = {first}, {lets}"))

    assert error.code == "TC0103"


def test_a_long_chain_of_lets_that_stays_small_is_accepted() -> None:
    lets = ", ".join(f"l{n} = A(i + {n})" for n in range(300))

    assert elaborated(f"def f(float(N) A) -> (O) {{ O(i) = l299 where {lets} }}").returns


def test_many_statements_take_work_in_proportion() -> None:
    def chain(length: int) -> int:
        statements = " ".join(f"T{n + 1}(i) = T{n}(i) + 1" for n in range(length))
        program = tc.read(f"def f(float(N) A) -> (T{length}) {{ T0(i) = A(i) {statements} }}")
        return calls(lambda: elaborate(program.definitions[0], program, {}, {}))

    chain(2)
    assert chain(1000) < 2.5 * chain(500)
