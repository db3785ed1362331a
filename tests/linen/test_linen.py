"""`tcjax.linen` against Flax's own layers: the same variables, outputs and gradients."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import tcjax.linen as ours
import tcjax.nn
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
        ("GroupNorm", {"num_groups": 3}, normal(4, 5, 2, 6)),
        ("GroupNorm", {"num_groups": None, "group_size": 2, "use_bias": False}, normal(3, 6)),
        ("GroupNorm", {"num_groups": 2, "reduction_axes": (0, -1), "use_fast_variance": False}, normal(3, 5, 6)),
        ("InstanceNorm", {"feature_axes": (1, -1)}, normal(3, 4, 5, 2)),
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


@pytest.mark.parametrize(
    ("options", "x"),
    [
        ({"use_running_average": False}, normal(7, 5, 6)),
        ({"use_running_average": True, "momentum": 0.8}, normal(7, 6)),
        ({"use_running_average": False, "axis": 1, "use_scale": False}, normal(4, 3, 5)),
        ({"use_running_average": False, "dtype": jnp.bfloat16, "use_fast_variance": False}, normal(6, 4)),
    ],
    ids=str,
)
def test_batch_norm_keeps_and_uses_statistics_as_flax_does(options: dict, x: Array) -> None:
    own, flax = (room.BatchNorm(**options) for room in (ours, nn))
    variables = flax.init(jax.random.key(0), x)
    variables = {**variables, "batch_stats": jax.tree.map(lambda v: v + 0.25, variables["batch_stats"])}
    seen = jnp.asarray(np.random.default_rng(2).random(x.shape) > 0.2)

    @jax.jit
    def run(variables: dict, x: Array) -> list:
        def loss(params: dict, x: Array, layer: nn.Module) -> tuple:
            given = {**variables, "params": params}
            y, kept = layer.apply(given, x, mask=seen, mutable=["batch_stats"])
            # The statistics are in the loss, so that their gradients are compared too.
            return jnp.sin(y).sum() + sum(v.sum() for v in jax.tree.leaves(kept)), (y, kept)

        return [
            jax.value_and_grad(loss, argnums=(0, 1), has_aux=True)(variables["params"], x, layer)
            for layer in (own, flax)
        ]

    jax.tree.map(np.testing.assert_array_equal, own.init(jax.random.key(0), x), flax.init(jax.random.key(0), x))
    found, expected = run(variables, x)
    close = 2e-2 if "dtype" in options else 2e-5
    for mine, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_allclose(np.float32(mine), np.float32(theirs), rtol=close, atol=close)


@pytest.mark.parametrize("arguments", [{"num_groups": 4}, {"num_groups": 3, "group_size": 2}, {"num_groups": None}])
def test_groups_that_do_not_fit_are_the_error_of_flax(arguments: dict) -> None:
    with pytest.raises(ValueError, match=r"[Gg]roup"):
        ours.GroupNorm(**arguments).init(jax.random.key(0), normal(3, 6))


def test_bilinear_is_the_product_of_three() -> None:
    layer = ours.Bilinear(5, bias_init=nn.initializers.normal(1.0))
    left, right = normal(2, 6, 3), normal(2, 6, 4)
    variables = layer.init(jax.random.key(0), left, right)
    kernel, bias = (variables["params"][name] for name in ("kernel", "bias"))

    found = jax.value_and_grad(
        lambda kernel: jnp.sin(layer.apply({"params": {"kernel": kernel, "bias": bias}}, left, right)).sum()
    )(kernel)

    expected = jax.value_and_grad(
        lambda kernel: jnp.sin(jnp.einsum("bti,ijo,btj->bto", left, kernel, right) + bias).sum()
    )(kernel)
    assert jax.tree.map(jnp.shape, variables["params"]) == {"kernel": (3, 4, 5), "bias": (5,)}
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-4), found, expected)


def test_bilinear_begins_with_the_fan_in_of_both_sides() -> None:
    kernel = ours.Bilinear(50).init(jax.random.key(0), jnp.ones((1, 20)), jnp.ones((1, 30)))["params"]["kernel"]

    assert abs(float(kernel.std()) * (20 * 30) ** 0.5 - 1) < 0.05


def test_a_mixture_of_experts_is_that_of_nnx() -> None:
    own = ours.MixtureOfExperts(5, 7, 3, top_k=2, bias_init=nn.initializers.normal(0.3))
    theirs = tcjax.nn.MixtureOfExperts(5, 4, 7, 3, top_k=2, rngs=nnx.Rngs(0))
    x = normal(2, 6, 4)
    variables = own.init(jax.random.key(0), x)
    for name, value in variables["params"].items():
        assert getattr(theirs, name)[...].shape == value.shape
        getattr(theirs, name)[...] = value

    y, sown = own.apply(variables, x, mutable=["intermediates"])

    np.testing.assert_allclose(y, theirs(x), atol=1e-6)
    np.testing.assert_allclose(sown["intermediates"]["shares"][0], theirs.shares(x), atol=1e-6)
    assert (np.asarray(theirs.shares(x)) > 0).sum(-1).tolist() == [[2] * 6] * 2


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


@pytest.mark.parametrize(
    "options",
    [
        {"force_fp32_for_softmax": True, "dtype": jnp.bfloat16},
        {
            "qk_attn_weights_einsum_cls": lambda: lambda subscripts, *a: 3 * jnp.einsum(subscripts, *a),
            "attn_weights_value_einsum_cls": lambda: lambda subscripts, *a: 2 * jnp.einsum(subscripts, *a),
        },
        {"qkv_dot_general": lambda *given, **_: 2 * jax.lax.dot_general(*given[:3])},
    ],
    ids=lambda options: next(iter(options)),
)
def test_attention_does_not_pass_over_an_option(options: dict) -> None:
    x = normal(2, 3, 8)
    own, flax = (room.MultiHeadDotProductAttention(2, **options) for room in (ours, nn))
    variables = flax.init(jax.random.key(0), x)

    found, expected = own.apply(variables, x), flax.apply(variables, x)

    np.testing.assert_allclose(np.float32(found), np.float32(expected), atol=0.02 if "dtype" in options else 1e-5)


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
