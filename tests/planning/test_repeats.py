"""Repeated parts of a plan are printed once, with a name."""

import re
from collections import Counter

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given, reject, settings

import tcjax
from tcjax import planning
from tcjax.diagnostics import CompileError
from tcjax.planning.data.nodes import Node, operands
from tcjax.planning.printer import describe
from tests.effort import examples
from tests.strategies.programs import Case, programs

NAMED = re.compile(r"^( *)(%\d+) = (.*)$")
NAME = re.compile(r"^( *)(%\d+)$")


def floats(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def in_full(node: Node) -> list[str]:
    """The computation as a tree without names."""
    if not operands(node) and describe(node)[:4] not in ("read", "loop"):
        return [re.sub(" -> .*", "", describe(node))]
    own = f"{describe(node)} -> {node.dtype}[{', '.join(map(str, node.axes))}]"
    return [own, *(f"  {line}" for operand in operands(node) for line in in_full(operand))]


def expanded(lines: list[str]) -> list[str]:
    """The lines with each name replaced by its definition."""
    trees: dict[str, list[str]] = {}
    found: list[str] = []
    open_trees: list[tuple[int, str]] = []

    def add(line: str) -> None:
        depth = len(line) - len(line.lstrip())
        while open_trees and depth <= open_trees[-1][0]:
            open_trees.pop()
        found.append(line)
        for outer, name in open_trees:
            trees[name].append(line[outer:])

    for line in lines:
        repeated, named = NAME.match(line), NAMED.match(line)
        if repeated is not None:
            for inner in trees[repeated[2]]:
                add(repeated[1] + inner)
        elif named is not None:
            add(named[1] + named[3])
            trees[named[2]] = [named[3]]
            open_trees.append((len(named[1]), named[2]))
        else:
            add(line)
    return found


@settings(max_examples=examples(20))
@given(programs())
def test_the_names_stand_for_what_they_were_given_to(case: Case) -> None:
    try:
        plan = case.kernel.plan(**case.arguments, **case.initial)
    except CompileError:
        reject()
    stages = [stage for stage in plan.stages if isinstance(stage, planning.Compute)]

    text = "\n".join(expanded(str(plan).splitlines()))

    for stage in stages:
        alone = not isinstance(stage.value, planning.nodes.LoopNest) or stage.value.is_alone
        if alone and not isinstance(stage.value, planning.nodes.MonoidFold):
            assert "\n".join(f"    {line}" for line in in_full(stage.value)) in text


@pytest.mark.parametrize(
    ("text", "once"),
    [
        ("O(i) = exp(x(i) * y(i)) / (1 + exp(x(i) * y(i)))", "exp -> float32[i]"),
        ("O(i) = exp(x(i) * y(i))  P(i) = 1 - exp(x(i) * y(i))", "exp -> float32[i]"),
        ("O(i) = sum[j](exp(x(i) * y(j)))  P(i) = x(i) * sum[j](exp(x(i) * y(j)))", "reduce sum over j -> float32[i]"),
    ],
)
def test_a_computation_is_printed_once(text: str, once: str) -> None:
    plan = str(tcjax.kernel(text).plan(floats(8), floats(8)))

    assert plan.count(once) == 1
    assert f"%1 = {once}" in plan and len(re.findall(r"^ *%1$", plan, re.MULTILINE)) == 1


def test_a_loop_nest_that_two_statements_have_is_one() -> None:
    kernel = tcjax.kernel("O(i) = sum[j](min(x(i), y(j)) * y(j))  P(i) = x(i) * sum[j](min(x(i), y(j)) * y(j))")

    plan = str(kernel.plan(floats(4096), floats(4096)))

    assert plan.count("loop nest") == 1 and plan.count("read sum.a") == 2


def test_reads_and_numbers_are_their_own_names() -> None:
    plan = str(tcjax.kernel("O(i) = -x(i) + -x(i) * x(i)").plan(floats(8)))

    assert "%" not in plan


def test_what_lies_in_a_repeated_computation_alone_has_no_name() -> None:
    plan = str(tcjax.kernel("O(i) = sin(exp(x(i) + y(i))) * sin(exp(x(i) + y(i)))").plan(floats(8), floats(8)))

    assert Counter(re.findall(r"%\d+", plan)) == {"%1": 2}


@pytest.mark.filterwarnings("ignore::tcjax.CompileWarning")
def test_what_was_written_between_is_not_the_same() -> None:
    kernel = tcjax.kernel(
        "def f(float(N) x) -> (O, P, Q) { O(i) = x(i) P(i) = O(i) * x(i) + 1.0 O(i) += x(i) Q(i) = O(i) * x(i) + 1.0 }"
    )

    plan = str(kernel.plan(floats(8)))

    assert "%" not in plan and plan.count("+ -> float32[i]") == 2
