"""`tcjax.linen` against Flax's own layers: the same variables, outputs and gradients."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax.linen as ours
from tcjax import CompileError

pytestmark = pytest.mark.usefixtures("quickly_compiled")

Array = jax.Array
lecun = nn.initializers.lecun_normal()
DENSE = "y(b,o) +=! x(b,i) * w(i,o)"


def normal(*shape: int) -> Array:
    return jnp.asarray(np.random.default_rng(sum(shape)).normal(size=shape), jnp.float32)


@pytest.mark.parametrize(
    ("name", "arguments", "x"),
    [
        ("Dense", {"features": 8}, normal(3, 5)),
        ("DenseGeneral", {"features": (3, 8), "axis": (0, 2)}, normal(3, 5, 2)),
        ("Conv", {"features": 8, "kernel_size": (3,), "strides": 2}, normal(2, 7, 9)),
        ("Conv", {"features": 8, "kernel_size": (3, 3), "padding": "CIRCULAR"}, normal(5, 4, 9)),
        ("LayerNorm", {}, normal(3, 8)),
        ("RMSNorm", {"use_scale": False}, normal(3, 8)),
        ("Embed", {"num_embeddings": 5, "features": 8}, jnp.array([[1, 4], [0, -1]])),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_layer_begins_computes_and_differentiates_as_flax_does(name: str, arguments: dict, x: Array) -> None:
    own, flax = (getattr(room, name)(**arguments) for room in (ours, nn))
    variables = flax.init(jax.random.key(0), x)

    @jax.jit
    def run(variables: dict) -> tuple:
        slopes = [
            jax.value_and_grad(lambda v, layer=layer: jnp.sin(layer.apply(v, x)).sum())(variables)
            for layer in (own, flax)
        ]
        return tuple(slopes)

    jax.tree.map(np.testing.assert_array_equal, own.init(jax.random.key(0), x), variables)
    found, expected = run(variables)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), found, expected)


def test_attention_with_a_mask_and_a_cache() -> None:
    x, seen = normal(2, 3, 8), jnp.tril(jnp.ones((1, 1, 3, 3)))
    own, flax = (room.MultiHeadDotProductAttention(2) for room in (ours, nn))
    variables = flax.init(jax.random.key(0), x)

    np.testing.assert_allclose(own.apply(variables, x, mask=seen), flax.apply(variables, x, mask=seen), atol=1e-5)

    whole = own.apply(variables, x, mask=seen)
    decoder = ours.MultiHeadDotProductAttention(2, decode=True)
    cache = decoder.init(jax.random.key(0), x)["cache"]
    for step in range(3):
        now = x[:, step : step + 1]
        y, changed = decoder.apply({**variables, "cache": cache}, now, mutable=["cache"])
        cache = changed["cache"]
        np.testing.assert_allclose(y, whole[:, step : step + 1], atol=1e-5)


def test_a_comprehension_learns_its_parameters_shapes_from_the_input() -> None:
    layer = ours.Comprehension(DENSE, params={"w": lecun}, sizes={"o": 4})
    x = normal(3, 6)

    variables = layer.init(jax.random.key(0), x)

    assert jax.tree.map(jnp.shape, variables) == {"params": {"w": (6, 4)}}
    np.testing.assert_allclose(layer.apply(variables, x), x @ variables["params"]["w"], atol=1e-5)


def test_a_kept_output_changes_where_its_collection_is_mutable() -> None:
    program = "def f(float(B,C) x) -> (y, float(C) total) { total(c) += x(b,c)\n y(b,c) = x(b,c) * total(c) }"
    layer = ours.Comprehension(program, params={}, state={"total": nn.initializers.zeros}, collection="sums")
    x = normal(4, 3)
    variables = layer.init(jax.random.key(0), x)

    y, changed = layer.apply(variables, x, mutable=["sums"])
    again, changed = layer.apply(changed, x, mutable=["sums"])
    still = layer.apply(changed, x)

    np.testing.assert_array_equal(variables["sums"]["total"], np.zeros(3))
    np.testing.assert_allclose(y, x * x.sum(0), atol=1e-5)
    np.testing.assert_allclose(again, 2 * x * x.sum(0), atol=1e-5)
    np.testing.assert_allclose(still, 3 * x * x.sum(0), atol=1e-5)
    np.testing.assert_allclose(changed["sums"]["total"], 2 * x.sum(0), atol=1e-5)


def test_an_index_on_an_axis_of_the_mesh_is_in_the_partitioning() -> None:
    layer = ours.Comprehension(DENSE, params={"w": lecun}, sizes={"o": 4}, sharding={"o": "model"})

    variables = layer.init(jax.random.key(0), normal(3, 6))

    assert nn.get_partition_spec(variables)["params"]["w"] == jax.P(None, "model")


def test_layers_are_scanned_rematerialised_and_mapped() -> None:
    class Block(nn.Module):
        @nn.compact
        def __call__(self, x: Array, _: None) -> tuple[Array, None]:
            own = nn.remat(ours.Comprehension)(DENSE, params={"w": lecun}, sizes={"o": 6}, name="dense")
            return jnp.tanh(own(x)), None

    stack = nn.scan(Block, variable_axes={"params": 0}, split_rngs={"params": True}, length=3)()
    ensemble = nn.vmap(
        ours.Comprehension, in_axes=None, variable_axes={"params": 0}, split_rngs={"params": True}, axis_size=2
    )
    layer = ensemble(DENSE, params={"w": lecun}, sizes={"o": 4})
    x = normal(2, 6)
    variables = stack.init(jax.random.key(0), x, None)
    members = layer.init(jax.random.key(0), x)

    slope = jax.grad(lambda variables: stack.apply(variables, x, None)[0].sum())(variables)

    def plain(w: Array) -> Array:
        y = x
        for n in range(3):
            y = jnp.tanh(y @ w[n])
        return y.sum()

    w = variables["params"]["dense"]["w"]
    np.testing.assert_allclose(slope["params"]["dense"]["w"], jax.grad(plain)(w), atol=1e-5)
    np.testing.assert_allclose(layer.apply(members, x), x @ members["params"]["w"], atol=1e-5)


def test_the_type_of_the_computation_is_not_that_of_the_parameters() -> None:
    layer = ours.Comprehension(DENSE, params={"w": lecun}, sizes={"o": 4}, dtype=jnp.bfloat16)

    y, variables = layer.init_with_output(jax.random.key(0), normal(3, 6))

    assert (y.dtype, variables["params"]["w"].dtype) == (jnp.bfloat16, jnp.float32)


def test_a_size_that_nothing_tells_is_a_compile_error() -> None:
    with pytest.raises(CompileError) as caught:
        ours.Comprehension(DENSE, params={"w": lecun}).init(jax.random.key(0), normal(3, 6))

    assert caught.value.code == "TC0404"
    assert "sizes={'o': ...}" in caught.value.help
