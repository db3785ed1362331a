"""The planner makes one object that runs all derivatives of a nest."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import tcjax
from tcjax.planning.data.derivatives import COTANGENT, RESULT, ByFormula, Run
from tcjax.planning.data.groups import Extrema
from tcjax.planning.data.nodes import LoopNest, Node, operands
from tcjax.planning.data.preferences import Backend
from tcjax.planning.replanning import plan_cotangents, plan_tangents

MIN_PLUS = "C(m,n) min=! A(m,k) + B(k,n)"


def nest_of(text: str, *given: tuple[int, ...]) -> LoopNest:
    plan = tcjax.kernel(text).plan(*(jax.ShapeDtypeStruct(shape, jnp.dtype("float32")) for shape in given))
    value: Any = plan.stages[-1]
    assert isinstance(value.value, LoopNest)
    return value.value


def nests(node: Node) -> Iterator[LoopNest]:
    if isinstance(node, LoopNest):
        yield node
    for operand in operands(node):
        yield from nests(operand)


def test_the_derivative_of_an_extremum_searches_once_and_looks_up_the_only_point() -> None:
    node = nest_of(MIN_PLUS, (512, 384), (384, 256))

    found = plan_tangents(node.nest, node.form, frozenset([0, 1]), Backend())

    assert found is not None and isinstance(found.run, Run) and isinstance(found.run.group, Extrema)
    assert found.run.results == (1,) and dict(found.run.beside)[f"{RESULT}.ties"] == 2
    (change,) = found.changes
    assert change is not None and change.alone is not None and change.single == f"{RESULT}.ties"
    assert {nest.whole.backend.rare for nest in nests(change.value.value)} == {True}
    assert not list(nests(change.alone.value))


def test_what_has_no_room_for_the_places_of_all_points_looks_nothing_up() -> None:
    node = nest_of(MIN_PLUS, (512, 384), (384, 256))

    found = plan_tangents(node.nest, node.form, frozenset([0]), Backend(memory=512 * 256 * 4))

    assert found is not None
    (change,) = found.changes
    assert change is not None and change.alone is None and not change.single


def test_what_does_not_move_has_no_tangent() -> None:
    node = nest_of(MIN_PLUS, (512, 384), (384, 256))

    found = plan_tangents(node.nest, node.form, frozenset(), Backend())

    assert found is not None and found.changes == (None,)
    assert isinstance(found.run, Run) and found.run.group is node.nest and found.run.form == node.form


def test_an_order_statistic_is_where_its_derivative_is() -> None:
    node = nest_of("O(i) = maxk[j](x(i) * y(j) - abs(x(i) - y(j)), 1)", (4096,), (4096,))

    found = plan_tangents(node.nest, node.form, frozenset([0]), Backend())

    assert found is not None and isinstance(found.run, ByFormula)


@pytest.mark.parametrize("linear", [(2,), ()])
def test_only_operands_in_which_a_sum_is_linear_receive(linear: tuple[int, ...]) -> None:
    node = nest_of("O(i) +=! exp(-abs(x(i) - y(j))) * b(j)", (4096,), (4096,), (4096,))
    names = [operand.name for operand in node.nest.operands]
    wanted = frozenset(names.index("xyb"[number]) for number in linear)

    found = plan_cotangents(node.nest, wanted, (True,), Backend())

    assert [name for receipt in found.receipts for _, name, _ in receipt.statements] == [
        found.operands[number] for number in sorted(wanted)
    ]
    assert all(COTANGENT in str(r.statements[0][2].statement) for r in found.receipts)
    assert plan_cotangents(node.nest, wanted, (False,), Backend()).receipts == ()
