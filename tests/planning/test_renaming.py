"""Names of indices: no reduction inside a nest binds an index that is already bound around it."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from tcjax import ir
from tcjax.lowering.primitive import tcjax_p
from tcjax.planning.data.nests import Nest, Operand
from tcjax.planning.fusion.renaming import Renaming
from tcjax.symbolic import Affine, IndexVar
from tests.agreement.formulas import FORMULAS, Formula
from tests.agreement.nesting import nesting


def nests_of(jaxpr: Any) -> Iterator[Nest]:
    for equation in jaxpr.eqns:
        if equation.primitive is tcjax_p:
            yield from equation.params["group"].results
        for value in equation.params.values():
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                yield from nests_of(inner)


def bound_twice(expr: ir.Expr, outer: frozenset[Any]) -> bool:
    if isinstance(expr, ir.Reduce):
        if outer & set(expr.indices):
            return True
        outer |= set(expr.indices)
    return any(bound_twice(child, outer) for child in ir.children(expr))


@pytest.mark.parametrize("formula", FORMULAS.values(), ids=FORMULAS)
def test_a_second_gradient_binds_no_index_twice(formula: Formula) -> None:
    arrays = [jnp.asarray(array) for array in formula.arrays()]
    floats = tuple(formula.floats)

    def squares(function: Any) -> Any:
        return lambda *a: sum(jnp.sum(jnp.asarray(r) ** 2) for r in jax.tree.leaves(function(*a)))

    with nesting(rows=3):
        kernel = formula.fresh()
        gradient = jax.grad(squares(kernel), argnums=floats)
        jaxpr = jax.make_jaxpr(jax.grad(squares(gradient), argnums=floats))(*arrays)

    nests = list(nests_of(jaxpr.jaxpr))
    assert nests
    for nest in nests:
        assert not bound_twice(nest.reduce, frozenset(nest.axes)), ir.show_expr(nest.reduce)


def test_what_is_fixed_stays_fixed() -> None:
    k = IndexVar("k")
    x = ir.Tensor("x", "float32", ())
    body = ir.Access(x, (Affine.of(k),))
    fixed = ir.Reduce(ir.Reducer.MAX, (k,), (), None, body, None, "float32", "float32", fixed=True)

    found = Renaming({}, {"x": Operand("y", "float32", (7,), (0,))}, {k: (0, 7)}).expr(fixed)

    assert isinstance(found, ir.Reduce)
    assert found.indices != fixed.indices
    assert found.fixed
