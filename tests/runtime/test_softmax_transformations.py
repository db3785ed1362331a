"""Every transformation of JAX gives the same for a softmax in one pass as for the same formula in jnp."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import export

from tests.agreement.passing import passing
from tests.agreement.softmaxes import SOFTMAXES

from . import test_nest_transformations as nests
from .test_nest_transformations import along, near

pytestmark = pytest.mark.usefixtures("quickly_compiled")

PAIRS = [
    pytest.param(name, transformation, id=f"{transformation.__name__} of {name}")
    for name in SOFTMAXES
    for transformation in nests.TRANSFORMATIONS
]


@pytest.mark.parametrize(("name", "transformation"), PAIRS)
def test_a_transformation_of_a_softmax_is_that_of_jnp(name: str, transformation: Callable[..., Any]) -> None:
    formula = SOFTMAXES[name]
    arrays = formula.arrays()
    given = tuple(map(jnp.asarray, arrays))
    expected = jax.jit(lambda *a: transformation(along(last(formula.jnp), arrays, formula.floats), a))(*given)

    with passing():
        kernel = formula.fresh()
        found = jax.jit(lambda *a: transformation(along(last(kernel), arrays, formula.floats), a))(*given)

    near(found, expected)


def last(function: Callable[..., Any]) -> Callable[..., Any]:
    """The last result of a function."""

    def called(*arrays: Any) -> Any:
        results = function(*arrays)
        return results[-1] if isinstance(results, tuple) else results

    return called


@pytest.mark.parametrize("name", SOFTMAXES)
def test_every_spelling_gives_the_values_of_jnp(name: str) -> None:
    formula = SOFTMAXES[name]
    given = tuple(map(jnp.asarray, formula.arrays()))

    with passing(width=4, tile=3):
        found = jax.jit(formula.fresh())(*given)

    near(found, formula.jnp(*given), 2e-5)


def test_a_softmax_can_be_exported() -> None:
    formula = SOFTMAXES["a guard"]
    given = tuple(map(jnp.asarray, formula.arrays()))

    with passing():
        stored = export.export(jax.jit(formula.fresh()))(*given).serialize()

    near(export.deserialize(stored).call(*given), formula.jnp(*given), 2e-5)


def test_each_device_has_the_softmax_of_its_rows() -> None:
    formula = SOFTMAXES["the logarithm named"]
    given = tuple(map(jnp.asarray, formula.arrays()))
    mesh = jax.make_mesh((1,), ("rows",), axis_types=(jax.sharding.AxisType.Auto,))
    rows, all_of_it = jax.sharding.PartitionSpec("rows"), jax.sharding.PartitionSpec()

    with passing():
        kernel = formula.fresh()
        run = jax.shard_map(
            kernel,
            mesh=mesh,
            in_specs=(rows, all_of_it, all_of_it),
            out_specs=rows,
        )
        found = jax.jit(run)(*given)

    near(found, formula.jnp(*given), 2e-5)
