"""`tcjax.nn.Comprehension`: shapes, initial values, kept outputs, types, sharding, and Flax's transformations."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
import pytest
from flax import nnx

import tcjax
from tcjax import CompileError
from tcjax.nn import Comprehension, initializers

pytestmark = pytest.mark.usefixtures("quickly_compiled")

lecun = nnx.initializers.lecun_normal()
DENSE = "def dense(float(B,I) x, float(I,O) w) -> (y) { y(b,o) +=! x(b,i) * w(i,o) }"
AVERAGE = """
def centred(float(B,C) x, float(C) scale) -> (y, float(C) average) {
    average(c) *= 0.75
    average(c) += 0.25 * mean[b](x(b,c))
    y(b,c) = (x(b,c) - average(c)) * scale(c)
}"""


def normal(*shape: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng(sum(shape)).normal(size=shape), jnp.float32)


def dense(**options: Any) -> Comprehension:
    return Comprehension(DENSE, params={"w": lecun}, sizes={"I": 6, "O": 4}, rngs=nnx.Rngs(0), **options)


def test_a_layer_with_given_sizes_begins_as_flax_begins_and_computes_the_same() -> None:
    flax = nnx.Linear(6, 4, use_bias=False, rngs=nnx.Rngs(0))

    layer = dense()

    np.testing.assert_array_equal(layer.w[...], flax.kernel[...])
    np.testing.assert_allclose(layer(normal(3, 6)), flax(normal(3, 6)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("program", "sizes", "shape"),
    [
        ("y(b,o) +=! x(b,i) * w(i,o)", {"o": 4}, (6, 4)),
        ("y(b,o) +=! x(b,i) * w(o,i)", {"o": 4}, (4, 6)),
        ("y(b,o) +=! x(b,o+k) * w(k)", {"k": 3}, (3,)),
        ("y(b,o) +=! x(b,2*o+k) * w(k) where k in 0:2", {}, (2,)),
        ("y(b) +=! x(b,i) * w(i) * w(i)", {}, (6,)),
        ("y(b,i) = x(b,i) + w()", {}, ()),
        ("y(b,i) = x(b,i) * w(i,0) + w(i,1)", {"w": (6, 2)}, (6, 2)),
        ("{ [b,o] -> sum({ [i] -> x[b,i] * w[i,o] | [i] < [6] }) | [b,o] < [3,4] }", {"w": (6, 4)}, (6, 4)),
    ],
)
def test_shapes_come_from_the_first_inputs_and_the_sizes_of_indices(program: str, sizes: Any, shape: Any) -> None:
    layer = Comprehension(program, params={"w": initializers.normal()}, sizes=sizes, rngs=nnx.Rngs(0))

    layer.init_shapes(jax.ShapeDtypeStruct((3, 6), jnp.float32))

    assert layer.w.shape == shape
    assert layer(normal(3, 6)).shape[0] == 3


def test_the_first_call_may_be_compiled() -> None:
    layer = Comprehension("y(b,o) +=! x(b,i) * w(i,o)", params={"w": lecun}, sizes={"o": 4}, rngs=nnx.Rngs(0))

    y = nnx.jit(lambda layer, x: layer(x))(layer, normal(3, 6))

    np.testing.assert_allclose(layer(normal(3, 6)), y, atol=1e-6)
    np.testing.assert_allclose(layer.w[...], dense().w[...], rtol=1e-6)


def test_a_python_function_and_a_kernel_are_programs_too() -> None:
    @tcjax.kernel
    def kernel(x: "float(B,I)", w: "float(I,O)"):
        y[b, o] += x[b, i] * w[i, o]
        return y

    layer = Comprehension(kernel, params={"w": lecun}, sizes={"I": 6, "O": 4}, rngs=nnx.Rngs(0))

    np.testing.assert_array_equal(layer(x=normal(3, 6)), dense()(normal(3, 6)))


@pytest.mark.parametrize(
    ("program", "fan_in", "fan_out"),
    [
        ("y(b,g,o) +=! x(b,g,i) * w(g,o,i)", 20, 30),
        ("y(b,h,o) +=! x(b,h+k,i) * w(o,i,k) where h in 0:5", 100, 150),
    ],
)
def test_initial_values_are_scaled_by_the_fans_of_the_program(program: str, fan_in: int, fan_out: int) -> None:
    sizes = {"g": 6, "i": 20, "o": 30, "k": 5}
    used = {name: size for name, size in sizes.items() if f"{name}" in program.split("w(")[1].split(")")[0]}

    def deviation(mode: str) -> float:
        init = nnx.initializers.variance_scaling(1.0, mode, "normal")
        layer = Comprehension(program, params={"w": init}, sizes=used, rngs=nnx.Rngs(0))
        return float(layer.w[...].std())

    assert deviation("fan_in") == pytest.approx(fan_in**-0.5, rel=0.1)
    assert deviation("fan_out") == pytest.approx(fan_out**-0.5, rel=0.1)


def test_axes_that_a_user_names_and_other_initialisers_see_the_parameter_as_it_is() -> None:
    seen = []

    def initial(key: Any, shape: Any, dtype: Any) -> jax.Array:
        seen.append(shape)
        return jnp.zeros(shape, dtype)

    transposed = "y(b,o) +=! x(b,i) * w(o,i)"
    sizes = {"i": 200, "o": 50}
    named = nnx.initializers.lecun_normal(in_axis=0, out_axis=1)
    Comprehension(transposed, params={"w": initial}, sizes=sizes, rngs=nnx.Rngs(0))
    Comprehension(transposed, params={"w": initializers.by_fans(initial)}, sizes=sizes, rngs=nnx.Rngs(0))
    layer = Comprehension(transposed, params={"w": named}, sizes=sizes, rngs=nnx.Rngs(0))

    assert seen == [(50, 200), (200, 50)]
    assert float(layer.w[...].std()) == pytest.approx(50**-0.5, rel=0.1)


def test_an_output_that_accumulates_is_kept_and_continued() -> None:
    x = normal(5, 3)
    layer = Comprehension(
        AVERAGE,
        params={"scale": nnx.initializers.ones},
        state={"average": nnx.initializers.zeros},
        sizes={"C": 3},
        rngs=nnx.Rngs(0),
    )

    @nnx.jit
    def step(layer: Comprehension, x: jax.Array) -> tuple[jax.Array, nnx.State]:
        return nnx.value_and_grad(lambda layer: layer(x).sum())(layer)

    y = layer(x)
    _, slope = step(layer, x)
    kept = np.asarray(layer.average[...])
    nnx.view(layer, update_state=False)(x)
    layer.update_state = False
    layer(x)

    mean = np.asarray(x).mean(0)
    np.testing.assert_allclose(y, x - 0.25 * mean, atol=1e-6)
    np.testing.assert_allclose(kept, (0.25 + 0.75 * 0.25) * mean, atol=1e-6)
    np.testing.assert_array_equal(layer.average[...], kept)
    np.testing.assert_allclose(slope["scale"][...], (x - kept).sum(0), atol=1e-5)
    assert isinstance(layer.average, nnx.BatchStat)


def test_several_outputs_are_a_tuple_in_the_order_of_the_program() -> None:
    layer = Comprehension(
        "def two(x, w) -> (y, z) { y(b,o) +=! x(b,i) * w(i,o)\n z(b) max=! y(b,o) }",
        params={"w": lecun},
        sizes={"o": 4},
        rngs=nnx.Rngs(0),
    )

    y, z = layer(normal(3, 6))

    np.testing.assert_allclose(z, y.max(1))


@pytest.mark.parametrize("program", [DENSE, "y(b,o) +=! x(b,i) * w(i,o)"])
def test_the_type_of_the_computation_is_not_that_of_the_parameters(program: str) -> None:
    layer = Comprehension(program, params={"w": lecun}, sizes={"o": 4}, dtype=jnp.bfloat16, rngs=nnx.Rngs(0))

    y = layer(normal(3, 6))

    assert y.dtype == jnp.bfloat16
    assert layer.w.dtype == jnp.float32
    np.testing.assert_allclose(y.astype(jnp.float32), normal(3, 6) @ layer.w[...], atol=0.05)


def test_the_precision_of_products_reaches_xla() -> None:
    highest = jax.lax.Precision.HIGHEST
    sizes = {"I": 64, "O": 64}
    layer = Comprehension(DENSE, params={"w": lecun}, sizes=sizes, precision=highest, rngs=nnx.Rngs(0))

    lowered = jax.jit(lambda x: layer(x)).lower(normal(64, 64)).as_text()

    assert "precision = [HIGHEST, HIGHEST]" in lowered


def test_an_index_on_an_axis_of_the_mesh_is_in_the_metadata_and_shards_where_there_is_a_mesh() -> None:
    mesh = jax.make_mesh((1,), ("model",), axis_types=(jax.sharding.AxisType.Auto,))

    described = dense(sharding={"o": "model"})
    with jax.set_mesh(mesh):
        sharded = dense(sharding={"o": "model"})

    assert described.w.get_metadata("out_sharding") == (None, "model")
    assert sharded.w[...].sharding.spec == jax.P(None, "model")


def test_metadata_of_an_initialiser_stays() -> None:
    init = nnx.with_metadata(lecun, purpose="weights")

    layer = Comprehension("y(b,o) +=! x(b,i) * w(o,i)", params={"w": init}, sizes={"i": 6, "o": 4}, rngs=nnx.Rngs(0))

    assert layer.w.get_metadata("purpose") == "weights"
    np.testing.assert_array_equal(layer.w[...], dense().w[...].T)


def test_an_ensemble_is_made_and_called_under_vmap() -> None:
    @nnx.split_rngs(splits=3)
    @nnx.vmap(in_axes=(0,), out_axes=0)
    def make(rngs: nnx.Rngs) -> Comprehension:
        return Comprehension(DENSE, params={"w": lecun}, sizes={"I": 6, "O": 4}, rngs=rngs)

    layers = make(nnx.Rngs(0))
    y = nnx.vmap(lambda layer, x: layer(x), in_axes=(0, None))(layers, normal(3, 6))

    np.testing.assert_allclose(y, jnp.einsum("bi,nio->nbo", normal(3, 6), layers.w[...]), atol=1e-5)


def test_layers_on_each_other_are_scanned_and_rematerialised() -> None:
    @nnx.split_rngs(splits=3)
    @nnx.vmap(in_axes=(0,), out_axes=0)
    def make(rngs: nnx.Rngs) -> Comprehension:
        return Comprehension(DENSE, params={"w": lecun}, sizes={"I": 6, "O": 6}, rngs=rngs)

    @nnx.scan(in_axes=(0, nnx.Carry), out_axes=nnx.Carry)
    @nnx.remat
    def apply(layer: Comprehension, x: jax.Array) -> jax.Array:
        return jnp.tanh(layer(x))

    layers, x = make(nnx.Rngs(0)), normal(2, 6)
    slope = nnx.grad(lambda layers: apply(layers, x).sum())(layers)

    def plain(w: jax.Array) -> jax.Array:
        y = x
        for n in range(3):
            y = jnp.tanh(y @ w[n])
        return y.sum()

    np.testing.assert_allclose(slope["w"][...], jax.grad(plain)(layers.w[...]), atol=1e-5)


def test_a_checkpoint_brings_back_the_parameters(tmp_path: Path) -> None:
    saved, fresh = dense(), Comprehension(DENSE, params={"w": lecun}, sizes={"I": 6, "O": 4}, rngs=nnx.Rngs(1))

    with ocp.StandardCheckpointer() as store:
        store.save(tmp_path / "layer", nnx.to_pure_dict(nnx.state(saved)))
        store.wait_until_finished()
        restored = store.restore(tmp_path / "layer", nnx.to_pure_dict(nnx.state(fresh)))
    nnx.update(fresh, restored)

    np.testing.assert_array_equal(fresh.w[...], saved.w[...])


def test_flax_einsum_takes_ours() -> None:
    def layer(**options: Any) -> nnx.Einsum:
        return nnx.Einsum("nta,hab->nthb", (5, 3, 2), (5, 2), rngs=nnx.Rngs(0), **options)

    ours = layer(einsum_op=tcjax.einsum)(normal(4, 2, 3))

    np.testing.assert_allclose(ours, layer()(normal(4, 2, 3)), atol=1e-6)


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ({"params": {"v": lecun}}, "TC0308", "no parameter `v`"),
        ({"params": {"w": 3}}, "TC0308", "no initialiser"),
        ({"params": {"w": lecun}, "state": {"y": lecun}}, "TC0308", "no kept output `y`"),
        ({"params": {"w": lecun}, "sizes": {"Q": 3}}, "TC0404", "neither a size nor an index called `Q`"),
        ({"params": {"w": lecun}, "sizes": {"O": -1}}, "TC0404", "neither a size nor the shape"),
        ({"params": {"w": lecun}, "precision": 3}, "TC0308", "precision=3"),
        ({"params": {"w": lecun}, "sizes": {"I": 6, "O": 4}, "sharding": {"q": "model"}}, "TC0308", "no index `q`"),
        ({"params": {"w": lecun}, "program": "y(b,o) +=! x(b,i) * w(i,o"}, "TC0101", ""),
        ({"params": {"train": lecun}, "program": "y(b,o) +=! x(b,i) * train(i,o)"}, "TC0308", "attribute `train`"),
    ],
)
def test_a_mistake_is_a_compile_error_that_says_which(options: dict[str, Any], code: str, words: str) -> None:
    with pytest.raises(CompileError) as caught:
        Comprehension(options.pop("program", DENSE), **options, rngs=nnx.Rngs(0))

    assert caught.value.code == code
    assert words in str(caught.value)


def test_inputs_that_leave_a_size_open_and_wrong_inputs_are_compile_errors() -> None:
    layer = Comprehension(DENSE, params={"w": lecun}, rngs=nnx.Rngs(0))

    with pytest.raises(CompileError, match="how long dimension 1 of `w` is") as left_open:
        layer(normal(3, 6))
    with pytest.raises(CompileError) as too_many:
        dense()(normal(3, 6), normal(3, 6))
    with pytest.raises(CompileError) as unequal:
        dense()(normal(3, 5))

    assert "sizes={'O': ...}" in left_open.value.help
    assert (left_open.value.code, too_many.value.code, unequal.value.code) == ("TC0404", "TC0503", "TC0601")
