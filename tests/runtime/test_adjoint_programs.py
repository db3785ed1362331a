"""Adjoints of random programs against JAX."""

import warnings
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given, settings

import tcjax
from tcjax import CompileError, ir
from tests.agreement.compiling import whole
from tests.effort import examples, phases
from tests.strategies.programs import Case, programs
from tests.strategies.random_expressions import Flavour

pytestmark = pytest.mark.usefixtures("quickly_compiled")


@settings(max_examples=examples(8), phases=phases())
@given(programs(Flavour()))
def test_the_adjoint_of_a_program_is_what_jax_says(case: Case) -> None:
    case = _without_ties(case)
    try:
        outputs = case.kernel(**case.arguments)
    except CompileError:
        assume(False)
        return
    results = outputs if isinstance(outputs, tuple) else (outputs,)
    function = case.kernel.ir(**case.arguments)
    smooth = [p.name for p in function.parameters if ir.types.is_float(p.dtype)]
    returned = dict(zip([tensor.name for tensor in function.returns], results, strict=True))
    floats = {name: result for name, result in returned.items() if jnp.issubdtype(result.dtype, jnp.floating)}
    is_complex = any(jnp.issubdtype(result.dtype, jnp.complexfloating) for result in results)
    assume(smooth and floats and not is_complex and all(bool(jnp.isfinite(r).all()) for r in floats.values()))
    rng = np.random.default_rng(0)
    cotangents = {name: jnp.asarray(rng.normal(size=r.shape), r.dtype) for name, r in floats.items()}

    def loss(moved: dict[str, jax.Array]) -> jax.Array:
        found = case.kernel(**{**case.arguments, **moved})
        every = dict(zip(returned, found if isinstance(found, tuple) else (found,), strict=True))
        return sum((jnp.sum((every[n] * d).astype("float32")) for n, d in cotangents.items()), jnp.zeros(()))

    expected = whole(jax.grad(loss), case.text)({name: jnp.asarray(case.arguments[name]) for name in smooth})
    assume(all(bool(jnp.isfinite(gradient).all()) for gradient in expected.values()))

    try:
        adjoint = case.kernel.adjoint(wrt=smooth)
    except CompileError as error:
        # There is no formula for continuing these from a tensor's value; JAX differentiates them anyway.
        assert "goes on by" in error.message, case.text
        return
    found = adjoint(**case.arguments, **{f"d_{name}": d for name, d in cotangents.items()})

    for name, ours in zip(smooth, found if isinstance(found, tuple) else (found,), strict=True):
        scale = max(1.0, float(jnp.abs(expected[name]).max(initial=0.0)))
        np.testing.assert_allclose(ours, expected[name], rtol=2e-3, atol=2e-3 * scale, err_msg=str(adjoint))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # What a program is warned about may also appear in its adjoint.
        warnings.filterwarnings("ignore", "(?s).*TC1209", tcjax.CompileWarning)
        assert tcjax.kernel(str(adjoint)).ir() == adjoint.ir()


def _without_ties(case: Case) -> Case:
    """The case with distinct floats: which of several equal extrema gets the derivative depends on the plan."""
    rng = np.random.default_rng(1)
    moved = {
        name: array + rng.uniform(-1e-2, 1e-2, array.shape).astype(array.dtype)
        for name, array in case.arguments.items()
        if np.issubdtype(array.dtype, np.floating)
    }
    return replace(case, arguments={**case.arguments, **moved})
