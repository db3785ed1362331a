"""The ready layers against Flax's own: the same parameters, outputs, gradients and kept statistics."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import tcjax.nn as ours
from tcjax import CompileError

pytestmark = pytest.mark.usefixtures("quickly_compiled")

Array = jax.Array


def normal(*shape: int) -> Array:
    return jnp.asarray(np.random.default_rng(sum(shape)).normal(size=shape), jnp.float32)


def mask(*shape: int) -> Array:
    return jnp.asarray(np.random.default_rng(1).random(shape) > 0.3)


def outcome(layer: nnx.Module, inputs: tuple[Array, ...], options: dict[str, Any]) -> Any:
    """Outputs, gradients with respect to parameters and float inputs, and the layer's state after the call."""
    graph, params, others = nnx.split(layer, nnx.Param, ...)
    floats = [number for number, array in enumerate(inputs) if jnp.issubdtype(array.dtype, jnp.floating)]

    @jax.jit
    def run(params: Any, others: Any, *inputs: Array) -> Any:
        def loss(params: Any, *inputs: Array) -> Any:
            # New variables, so that they can be updated.
            called = nnx.merge(graph, params, jax.tree.map(lambda array: array, others))
            y = called(*inputs, **options)
            weights = jnp.arange(y.size, dtype=jnp.float32).reshape(y.shape) / y.size
            return (jnp.sin(y) * weights).sum(), (y, nnx.state(called, nnx.BatchStat))

        return jax.grad(loss, argnums=(0, *(n + 1 for n in floats)), has_aux=True)(params, *inputs)

    return run(params, others, *inputs)


def check(name: str, arguments: dict[str, Any], *inputs: Array, close: float = 2e-5, **options: Any) -> None:
    """Checks that our layer `name` initialises, computes, differentiates and updates state like Flax's."""
    own, flax = (getattr(room, name)(**arguments, rngs=nnx.Rngs(0)) for room in (ours, nnx))

    jax.tree.map(np.testing.assert_array_equal, nnx.state(own, nnx.Param), nnx.state(flax, nnx.Param))
    found, expected = (jax.tree.leaves(outcome(layer, inputs, options)) for layer in (own, flax))
    for mine, theirs in zip(found, expected, strict=True):
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
        scale = max(1.0, float(jnp.abs(theirs).max()))
        np.testing.assert_allclose(np.float32(mine), np.float32(theirs), rtol=close, atol=close * scale)


def test_linear() -> None:
    check("Linear", {"in_features": 8, "out_features": 4}, normal(3, 5, 8))
    check(
        "Linear", {"in_features": 8, "out_features": 4, "use_bias": False, "dtype": jnp.bfloat16}, normal(8), close=0.02
    )


def test_linear_over_any_axes() -> None:
    features = {"in_features": (3, 5), "out_features": (2, 4)}
    check("LinearGeneral", {**features, "axis": (1, -1)}, normal(7, 3, 2, 5))


def test_embed_counts_negative_ids_from_the_end() -> None:
    check("Embed", {"num_embeddings": 10, "features": 4}, jnp.array([[1, 2, -1], [9, -10, 3]]))


def test_ids_that_32_bits_do_not_hold_are_outside_of_the_table() -> None:
    ids = jnp.array([2**32 - 1, 2], jnp.uint32)

    found, expected = (room.Embed(5, 3, rngs=nnx.Rngs(0))(ids) for room in (ours, nnx))

    np.testing.assert_array_equal(found, expected)


def test_embed_outside_of_the_table_is_nan_and_attends() -> None:
    layer, flax = (room.Embed(5, 3, rngs=nnx.Rngs(0)) for room in (ours, nnx))

    np.testing.assert_array_equal(layer(jnp.array([4, 5, -6])), flax(jnp.array([4, 5, -6])))
    np.testing.assert_allclose(layer.attend(normal(2, 4, 3)), flax.attend(normal(2, 4, 3)), atol=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {"padding": "SAME", "strides": 2},
        {"padding": "VALID", "kernel_dilation": (1, 2)},
        {"padding": [(1, 2), (0, 3)], "kernel_dilation": 2},
        {"padding": "CIRCULAR", "use_bias": False},
        {"feature_group_count": 2, "strides": (2, 1)},
        {"padding": "REFLECT"},
    ],
    ids=str,
)
def test_convolutions_in_two_dimensions(options: dict[str, Any]) -> None:
    check(
        "Conv",
        {"in_features": 24, "out_features": 20, "kernel_size": (3, 2), **options},
        normal(2, 7, 6, 24),
        close=1e-4,
    )


def test_convolutions_with_other_leading_axes() -> None:
    causal = {"in_features": 10, "out_features": 8, "kernel_size": 3, "padding": "CAUSAL"}
    check("Conv", causal, normal(2, 2, 8, 10), close=1e-4)
    layer, flax = (room.Conv(**{**causal, "padding": 1}, rngs=nnx.Rngs(0)) for room in (ours, nnx))
    np.testing.assert_allclose(layer(normal(8, 10)), flax(normal(8, 10)), atol=1e-5)


@pytest.mark.parametrize(
    "options", [{}, {"use_fast_variance": False, "use_bias": False}, {"reduction_axes": (1, 2)}], ids=str
)
def test_layer_norm(options: dict[str, Any]) -> None:
    check("LayerNorm", {"num_features": 6, **options}, normal(3, 5, 6), mask=mask(3, 5, 6))


def test_layer_norm_in_sixteen_bits_computes_its_moments_in_32() -> None:
    check("LayerNorm", {"num_features": 6, "dtype": jnp.bfloat16}, 100 + normal(3, 6), close=0.02)


def test_rms_norm_and_group_norm() -> None:
    check("RMSNorm", {"num_features": 6}, normal(3, 5, 6))
    check("GroupNorm", {"num_features": 6, "num_groups": 3}, normal(3, 5, 4, 6))


@pytest.mark.parametrize("options", [{}, {"num_features": 20, "feature_axes": (1, -1), "use_bias": False}], ids=str)
def test_instance_norm(options: dict[str, Any]) -> None:
    check("InstanceNorm", {"num_features": 4, **options}, normal(3, 5, 6, 4))


def test_features_along_several_axes_have_one_axis_of_parameters() -> None:
    axes = {"num_features": 20, "feature_axes": (-1, 1), "reduction_axes": (1, 2)}
    check("LayerNorm", {**axes, "scale_init": nnx.initializers.normal(1.0)}, normal(3, 5, 4))


@pytest.mark.parametrize("name", ["LayerNorm", "RMSNorm", "GroupNorm", "InstanceNorm"])
def test_complex_numbers_are_normalised_by_their_absolute_values(name: str) -> None:
    x = normal(3, 2, 6) + 1j * normal(3, 2, 6)
    options = {"num_features": 6, **({"num_groups": 2} if name == "GroupNorm" else {})}

    found, expected = (getattr(room, name)(**options, rngs=nnx.Rngs(0))(x) for room in (ours, nnx))

    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("use_running_average", [False, True])
def test_batch_norm_and_its_running_averages(use_running_average: bool) -> None:
    check("BatchNorm", {"num_features": 6, "use_running_average": use_running_average}, normal(7, 5, 6))


HEADS = {"num_heads": 4, "in_features": 8, "qkv_features": 16, "decode": False}


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ({}, {}),
        ({"num_kv_heads": 2}, {"is_causal": True}),
        ({"num_kv_heads": 2}, {"mask": mask(2, 4, 5, 5)}),
        ({"normalize_qk": True}, {"mask": mask(2, 1, 1, 5).at[0].set(False)}),
    ],
)
def test_attention(arguments: dict[str, Any], options: dict[str, Any]) -> None:
    check("MultiHeadAttention", {**HEADS, **arguments}, normal(2, 5, 8), close=1e-4, **options)


def test_attention_in_sixteen_bits_adds_in_32() -> None:
    query, key, value = (normal(2, n, 4, 64).astype(jnp.bfloat16) for n in (5, 60, 60))

    found = ours.dot_product_attention(query, key, value)

    expected = nnx.dot_product_attention(*(array.astype(jnp.float32) for array in (query, key, value)))
    assert found.dtype == jnp.bfloat16
    np.testing.assert_allclose(found.astype(jnp.float32), expected, atol=0.02)


@pytest.mark.parametrize("broadcast", [True, False])
def test_attention_with_a_bias_and_dropout(broadcast: bool) -> None:
    query, key, value, bias = normal(2, 5, 4, 3), normal(2, 6, 4, 3), normal(2, 6, 4, 2), normal(4, 1, 6)
    options = {"dropout_rng": jax.random.key(3), "dropout_rate": 0.4, "broadcast_dropout": broadcast}

    found = ours.dot_product_attention(query, key, value, bias[None], **options)

    expected = nnx.dot_product_attention(query, key, value, bias[None], **options)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_attention_decodes_with_a_cache_as_flax_does() -> None:
    x = normal(2, 3, 8)
    layers = [room.MultiHeadAttention(**{**HEADS, "decode": True}, rngs=nnx.Rngs(0)) for room in (ours, nnx)]
    for layer in layers:
        layer.init_cache((2, 3, 8))

    for step in range(3):
        found, expected = (layer(x[:, step : step + 1]) for layer in layers)
        np.testing.assert_allclose(found, expected, atol=1e-5)

    np.testing.assert_allclose(layers[0].cached_key[...], layers[1].cached_key[...], atol=1e-6)


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.int32])
def test_means_of_windows_have_the_type_of_flax(dtype: Any, inside: bool) -> None:
    x = jnp.arange(24).reshape(2, 4, 3, 1).astype(dtype)

    found, expected = (room.avg_pool(x, (2, 2), count_include_pad=inside) for room in (ours, nnx))

    assert found.dtype == expected.dtype
    np.testing.assert_allclose(np.float32(found), np.float32(expected))


@pytest.mark.parametrize("padding", ["VALID", "SAME", ((1, 2), (0, 1))], ids=str)
def test_pooling(padding: Any) -> None:
    x = normal(2, 6, 7, 3)

    def slopes(room: Any) -> Any:
        def loss(x: Array) -> Array:
            options = {"window_shape": (2, 3), "strides": (1, 2), "padding": padding}
            inside = room.avg_pool(x, **options, count_include_pad=False)
            pooled = (room.max_pool(x, **options), room.min_pool(x, **options), room.avg_pool(x, **options), inside)
            return sum(jnp.sin(n * y).sum() for n, y in enumerate(pooled, start=1))

        return jax.jit(jax.value_and_grad(loss))(x)

    for found, expected in zip(slopes(ours), slopes(nnx), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"strides": (0, 1)}, "strides=(2, 2)"),
        ({"strides": (1,)}, "strides=(2, 2)"),
        ({"window_shape": (0, 2)}, "window_shape=(2, 2)"),
        ({"window_shape": (1, 2, 2, 2)}, "(batch.., spatial.., channels)"),
        ({"padding": "EVEN"}, "'SAME_LOWER'"),
        ({"padding": ((1, 1),)}, "padding=((before, after), ...)"),
    ],
    ids=str,
)
def test_a_mistake_in_a_window_is_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(CompileError) as raised:
        ours.max_pool(normal(4, 4, 3), **{"window_shape": (2, 2), **options})

    assert said in (raised.value.help or "")


def test_bilinear_is_the_product_of_three() -> None:
    layer = ours.Bilinear(3, 4, 5, bias_init=nnx.initializers.normal(1.0), rngs=nnx.Rngs(0))
    left, right = normal(2, 6, 3), normal(2, 6, 4)

    found = layer(left, right)

    expected = jnp.einsum("bti,ijo,btj->bto", left, layer.kernel[...], right) + layer.bias[...]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def mixture(layer: Any, x: Array) -> Array:
    """The weighted sum of the best experts, after computing all of them."""
    best, which = jax.lax.top_k(x @ layer.gate[...], layer.top_k)
    hidden = jnp.einsum("...d,edf->...ef", x, layer.up[...]) + layer.up_bias[...]
    outputs = jnp.einsum("...ef,efo->...eo", jax.nn.relu(hidden), layer.down[...]) + layer.down_bias[...]
    chosen = jnp.take_along_axis(outputs, which[..., None], axis=-2)
    return (jax.nn.softmax(best)[..., None] * chosen).sum(-2)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_mixture_of_experts_is_the_weighted_sum_of_the_best_ones(sparse: bool) -> None:
    options = {"top_k": 2, "bias_init": nnx.initializers.normal(0.3), "sparse": sparse}
    layer = ours.MixtureOfExperts(5, 4, 7, 3, **options, rngs=nnx.Rngs(0))
    x = normal(2, 6, 4)

    def slopes(call: Any) -> Any:
        return nnx.jit(nnx.value_and_grad(lambda layer, x: jnp.sin(call(layer, x)).sum(), argnums=(0, 1)))(layer, x)

    found, expected = slopes(lambda layer, x: layer(x)), slopes(mixture)

    for mine, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)
    assert (np.asarray(layer.shares(x)) > 0).sum(-1).tolist() == [[2] * 6] * 2


@pytest.mark.parametrize("chosen", [1, 3])
@pytest.mark.parametrize("gate", ["all to one", "ties", "random"])
def test_sparse_experts_take_every_input_however_the_choices_fall(gate: str, chosen: int) -> None:
    layer = ours.MixtureOfExperts(3, 2, 4, top_k=chosen, sparse=True, rngs=nnx.Rngs(0))
    preferred = {"all to one": jnp.array([[0.0, 9, 0]] * 2), "ties": jnp.zeros((2, 3)), "random": layer.gate[...]}
    layer.gate[...] = preferred[gate]
    x = jnp.abs(normal(40, 2))

    np.testing.assert_allclose(layer(x), mixture(layer, x), atol=1e-5)


def test_sparse_experts_multiply_less() -> None:
    x = jnp.zeros((512, 32))

    def flops(sparse: bool | None) -> float:
        layer = ours.MixtureOfExperts(16, 32, 64, top_k=2, sparse=sparse, rngs=nnx.Rngs(0))
        return nnx.jit(lambda layer, x: layer(x)).lower(layer, x).compile().cost_analysis()["flops"]

    assert flops(True) < 0.4 * flops(False)
    assert flops(None) == flops(True)


def test_a_precision_of_each_side_is_left_to_flax() -> None:
    sides = (jax.lax.Precision.HIGHEST, jax.lax.Precision.DEFAULT)

    layers = [room.Linear(6, 4, precision=sides, rngs=nnx.Rngs(0)) for room in (ours, nnx)]

    np.testing.assert_array_equal(*(layer(normal(3, 6)) for layer in layers))


MISFITS: dict[str, tuple[Any, str]] = {
    "linear": (lambda: ours.Linear(8, 4, rngs=nnx.Rngs(0))(normal(3, 7)), "TC0601"),
    "a number": (lambda: ours.Linear(8, 4, rngs=nnx.Rngs(0))(normal()), "TC0502"),
    "linear over other axes": (
        lambda: ours.LinearGeneral((3, 5), 4, axis=(1, 2), rngs=nnx.Rngs(0))(normal(2, 5, 3)),
        "TC0601",
    ),
    "an axis that is not there": (
        lambda: ours.LinearGeneral(3, 4, axis=2, rngs=nnx.Rngs(0))(normal(3, 3)),
        "TC0502",
    ),
    "bilinear": (lambda: ours.Bilinear(3, 4, 5, rngs=nnx.Rngs(0))(normal(2, 3), normal(3, 4)), "TC0601"),
    "conv": (lambda: ours.Conv(8, 4, 3, rngs=nnx.Rngs(0))(normal(2, 5, 7)), "TC0601"),
    "conv in groups": (
        lambda: ours.Conv(8, 4, 3, feature_group_count=2, rngs=nnx.Rngs(0))(normal(2, 5, 6)),
        "TC0601",
    ),
    "conv without an axis": (lambda: ours.Conv(8, 4, (3, 3), rngs=nnx.Rngs(0))(normal(5, 8)), "TC0502"),
    "layer norm": (lambda: ours.LayerNorm(8, rngs=nnx.Rngs(0))(normal(3, 7)), "TC0601"),
    "group norm": (lambda: ours.GroupNorm(8, 2, rngs=nnx.Rngs(0))(normal(3, 6)), "TC0601"),
    "batch norm": (lambda: ours.BatchNorm(8, rngs=nnx.Rngs(0))(normal(3, 7)), "TC0601"),
    "embed": (lambda: ours.Embed(8, 4, rngs=nnx.Rngs(0)).attend(normal(3, 5)), "TC0601"),
    "experts": (lambda: ours.MixtureOfExperts(3, 4, 5, rngs=nnx.Rngs(0))(normal(2, 3)), "TC0601"),
    "attention": (
        lambda: ours.dot_product_attention(normal(5, 4, 3), normal(6, 4, 3), normal(7, 4, 3)),
        "TC0601",
    ),
    "heads": (
        lambda: ours.dot_product_attention(normal(5, 4, 3), normal(6, 3, 3), normal(6, 3, 3)),
        "TC0601",
    ),
    "a mask": (
        lambda: ours.dot_product_attention(normal(5, 4, 3), *[normal(6, 4, 3)] * 2, mask=mask(5, 7)),
        "TC0601",
    ),
    "dropout": (
        lambda: ours.dot_product_attention(*[normal(5, 4, 3)] * 3, dropout_rate=1.5),
        "TC0308",
    ),
}


@pytest.mark.parametrize("name", MISFITS)
def test_an_input_that_does_not_fit_the_parameters_is_an_error(name: str) -> None:
    call, code = MISFITS[name]

    with pytest.raises(CompileError) as caught:
        call()

    assert caught.value.code == code
