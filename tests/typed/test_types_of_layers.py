"""What type checkers see of the layers: as in `test_public_types`."""

# Of what JAX and Flax export, some is only partly typed.
# pyright: strict, reportUnnecessaryTypeIgnoreComment=true
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

from typing import Any, assert_type

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen, nnx

import tcjax
import tcjax.linen as tln
import tcjax.nn as tnn

ARRAY = np.ones((2, 3), np.float32)
IMAGE = jnp.ones((1, 4, 4, 2))
PROGRAM = "y(b,o) +=! x(b,i) * w(i,o)"


def test_a_parameter_of_a_layer_is_an_attribute_and_inputs_may_be_of_numpy() -> None:
    rngs = nnx.Rngs(0)
    layer = tnn.Comprehension(PROGRAM, params={"w": nnx.initializers.ones}, sizes={"i": 3, "o": 2}, rngs=rngs)
    of_kernel = tnn.Comprehension(
        tcjax.kernel(PROGRAM), params={"w": tnn.initializers.by_fans(nnx.initializers.ones)}, rngs=rngs
    )

    assert_type(layer.w, Any)
    assert_type(layer(ARRAY), Any)
    assert_type(of_kernel, tnn.Comprehension)
    assert_type(tnn.Linear(3, 4, rngs=rngs)(ARRAY), jax.Array)
    assert_type(tnn.LayerNorm(3, rngs=rngs)(ARRAY), jax.Array)
    assert layer.w.shape == (3, 2)


def test_layers_of_nnx_are_those_of_flax_and_give_arrays() -> None:
    rngs = nnx.Rngs(0)
    linear: nnx.Linear = tnn.Linear(3, 4, rngs=rngs)

    assert_type(tnn.Conv(2, 3, (3, 3), rngs=rngs)(IMAGE), jax.Array)
    assert_type(tnn.avg_pool(IMAGE, (2, 2), strides=(2, 2)), jax.Array)
    assert_type(tnn.Bilinear(3, 3, 2, rngs=rngs)(ARRAY, ARRAY), jax.Array)
    assert isinstance(linear, nnx.Linear)
    with pytest.raises(TypeError):
        tnn.Linear(3, rngs=rngs)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        tnn.Bilinear(3, 3, 2)  # type: ignore[call-arg]


def test_layers_of_linen_are_those_of_flax_and_give_arrays() -> None:
    dense = tln.Dense(4)
    layer = tln.Comprehension(PROGRAM, params={"w": linen.initializers.ones}, sizes={"o": 2})
    variables = layer.init(jax.random.key(0), ARRAY)

    assert_type(dense, tln.Dense)
    assert_type(tln.max_pool(IMAGE, (2, 2)), jax.Array)
    assert isinstance(dense, linen.Dense)
    result: Any = layer.apply(variables, ARRAY)
    assert result.shape == (2, 2)
