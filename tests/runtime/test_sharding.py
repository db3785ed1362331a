"""`k.sharded`: the same numbers from many devices, and refusals that say why."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import tcjax
from tests.effort import deep
from tests.runtime.sharded_cases import CASES, MM

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def found(request: pytest.FixtureRequest) -> dict[str, dict[str, Any]]:
    """The requested cases on eight devices, in a process of its own: devices must be requested before JAX starts."""
    asked = [item for item in request.session.items if item.path == request.path and "found" in item.fixturenames]
    environment = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": str(ROOT),
        "JAX_DISABLE_MOST_OPTIMIZATIONS": str(not deep()),
    }
    names = [item.callspec.params["name"] for item in asked if isinstance(item, pytest.Function)]
    command = [sys.executable, "-m", "tests.runtime.sharded_cases", *names]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=500)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads(ran.stdout)


@pytest.mark.parametrize("name", CASES)
def test_eight_devices_compute_what_one_does(name: str, found: dict[str, dict[str, Any]]) -> None:
    """Results are sharded along the axes of their indices, and devices exchange exactly what `explain` says."""
    case, this = CASES[name], found[name]

    def trimmed(spec: list[Any]) -> list[Any]:
        return trimmed(spec[:-1]) if spec and spec[-1] is None else spec

    assert this["values"] < 1e-5
    assert this.get("gradients", 0) < 1e-5
    assert this.get("batches", 0) < 1e-5
    assert [trimmed(spec) for spec in this["specs"]] == case.specs
    if case.told is not None:
        said, compiled = this["told"]
        assert said == sorted(map(list, case.told))
        assert compiled == said


def mesh(*explicit: str) -> jax.sharding.Mesh:
    """A mesh of one device."""
    axes, kinds = ("data", "model"), jax.sharding.AxisType
    types = tuple(kinds.Explicit if axis in explicit else kinds.Auto for axis in axes)
    return jax.make_mesh((1, 1), axes, axis_types=types)


def refused(text: str, axes: dict[str, Any], *shapes: tuple[int, ...], **options: Any) -> tcjax.CompileError:
    kernel = tcjax.kernel(text, **options).sharded(mesh(), axes)
    with pytest.raises(tcjax.CompileError) as caught:
        kernel(*(np.ones(shape, "float32") for shape in shapes))
    return caught.value


@pytest.mark.parametrize(
    ("text", "axes", "shapes", "message"),
    [
        (MM.replace("OP", "+=!"), {"q": "data"}, ((4, 4), (4, 4)), "has no index `q` to shard"),
        (MM.replace("OP", "+=!"), {"m": "data", "n": "data"}, ((4, 4), (4, 4)), "both run along the mesh axis 'data'"),
        (
            "def f(float(T,N) A) -> (h) { h(0,i) = A(0,i) for t in 1:T { h(t,i) = h(t-1,i) + A(t,i) } }",
            {"t": "data"},
            ((4, 8),),
            "the steps of the loop over `t` need one another",
        ),
        ("def f(float(N) A) -> (B) { B(i,i) = A(i) }", {"i": "data"}, ((8,),), "more than one block"),
        # The last two elements are zero, which is not the largest of no values.
        (
            "def f(float(N) A) -> (float(N) B) { B(clamp(i-2)) max=! A(i) }",
            {"i": "data"},
            ((8,),),
            "leaves the block of `i`",
        ),
    ],
)
def test_what_devices_cannot_compute_in_parts_is_refused(
    text: str, axes: dict[str, Any], shapes: tuple[tuple[int, ...], ...], message: str
) -> None:
    error = refused(text, axes, *shapes)

    assert (error.code, error.kind) == ("TC0811", "schedule")
    assert message in error.message


def test_a_refused_reduction_says_which_index_to_leave_whole() -> None:
    text = "def f(int32(N) I, float(N,M) A) -> (int32(5,M) O) { O(I(i),j) argmin=! A(i,j) }"
    kernel = tcjax.kernel(text).sharded(mesh(), {"i": "data", "j": "model"})

    with pytest.raises(tcjax.CompileError) as caught:
        kernel(np.zeros(8, "int32"), np.ones((8, 4), "float32"))

    assert caught.value.code == "TC0811" and "which elements of `O` get positions" in caught.value.message
    assert "leave `i` out of `sharded(mesh, {...})`" in str(caught.value.help)


def test_devices_combine_in_order_only_where_the_first_index_is_cut() -> None:
    tcjax.monoid("later", lambda a, b: jax.numpy.where(b != 0, b, a), 0.0, commutative=False)
    text = "def f(float(N,M) A) -> (O) { O() later=! A(i,j) }"

    error = refused(text, {"j": "data"}, (3, 4))

    assert error.code == "TC0811" and "in the order of `i` first, and `j` is cut" in error.message
    kernel = tcjax.kernel(text).sharded(mesh(), {"i": "data"})
    assert kernel(np.array([[1, 2], [3, 0], [0, 0]], "float32")) == 3


@pytest.mark.parametrize(
    ("given", "axes", "message"),
    [
        (None, {"m": "data"}, "is not a mesh"),
        (mesh(), ["m"], "does not say"),
        (mesh(), {0: "data"}, "does not say"),
        (mesh(), {"m": "nowhere"}, "is not an axis"),
        (mesh(), {"m": None}, "is not an axis"),
        (mesh(), {"m": ("data", "data")}, "twice"),
        (mesh("model"), {"m": ("data", "model")}, "names only the first"),
    ],
)
def test_what_is_no_mesh_or_no_axis_is_refused_at_once(given: Any, axes: Any, message: str) -> None:
    with pytest.raises(tcjax.CompileError, match=message) as caught:
        tcjax.kernel(MM.replace("OP", "+=!")).sharded(given, axes)

    assert caught.value.code == "TC0308"


def test_the_option_says_the_same_as_the_method() -> None:
    kernel = tcjax.kernel(MM.replace("OP", "+=!"), sharding=(mesh(), {"m": "data"}))
    A = np.ones((4, 4), "float32")

    np.testing.assert_array_equal(kernel(A, A), A @ A)
    with pytest.raises(tcjax.CompileError, match="sharding="):
        tcjax.kernel(MM.replace("OP", "+=!"), sharding=mesh())


def test_a_kernel_has_a_schedule_or_a_mesh() -> None:
    kernel = tcjax.kernel(MM.replace("OP", "+=!"))

    with pytest.raises(tcjax.CompileError, match="one of both"):
        kernel.with_schedule(kernel.schedule()).sharded(mesh(), {"m": "data"})
    with pytest.raises(tcjax.CompileError, match="on the devices of a mesh"):
        kernel.sharded(mesh(), {"m": "data"}).tune(np.ones((4, 4), "float32"), np.ones((4, 4), "float32"))


def test_a_scheduled_kernel_runs_inside_of_a_shard_map_of_ones_own() -> None:
    kernel = tcjax.kernel("def f(float(N) A) -> (C) { B(i) = A(i) * 2  C(i) = B(i) + 1 }")
    schedule = kernel.schedule().split("C", "i", factor=4, outer="io", inner="ii").compute_at("B", "C", "io")
    A = np.arange(16, dtype="float32")

    rows = jax.sharding.PartitionSpec("data")
    result = jax.shard_map(kernel.with_schedule(schedule), mesh=mesh(), in_specs=rows, out_specs=rows)(A)

    np.testing.assert_array_equal(result, 2 * A + 1)


def test_transformations_go_through_a_sharded_kernel() -> None:
    plain = tcjax.kernel(MM.replace("OP", "max=!"))
    sharded = plain.sharded(mesh(), {"m": "data", "k": "model"})
    A, B = (np.random.default_rng(seed).normal(size=(4, 4)).astype("float32") for seed in (0, 1))

    def square(kernel: tcjax.Kernel) -> Any:
        return lambda a: (kernel(a, B) ** 2).sum()

    np.testing.assert_allclose(jax.vmap(sharded, (None, 1))(A, np.stack([B, B], 1)), [plain(A, B)] * 2, rtol=1e-6)
    np.testing.assert_allclose(jax.hessian(square(sharded))(A), jax.hessian(square(plain))(A), rtol=1e-5, atol=1e-6)
    for mine, other in zip(*(jax.jvp(square(k), (A,), (B,)) for k in (sharded, plain)), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-5)


@pytest.mark.parametrize(
    ("text", "arguments", "what", "index"),
    [
        ("v(i) = u(wrap(i-1)) + u(i)", [((8,), "data")], "`u` in dimension 0 along 'data'", '{"i": "data"}'),
        ("v(i) = u(i-1) + u(i+1)", [((8,), ("data", "model"))], "'data', 'model'", '{"i": ("data", "model")}'),
        (
            MM.replace("OP", "max=!"),
            [((8, 8), "data"), ((8, 4), "data")],
            "`A` in dimension 0 along 'data', `B` in dimension 0 along 'data'",
            '{"m": "data", "k": "data"}',
        ),
        # Both would cut the result along one axis.
        ("C(m,k) = A(m,k) + B(k)", [((8, 8), "data"), ((8,), "data")], "`B` in dimension 0", '{"m": "data"}'),
        (
            "def f(float(N,M) A, int32(K) I) -> (O) { O(k,j) = A(I(k),j) + I(k) }",
            [((8, 4), "data", "model"), ("int32", (8,), None)],
            "`A` in dimension 1 along 'model'",
            '{"j": "model"}',
        ),
        (
            "def f(float(T,N) x) -> (h) { h(0,j) = x(0,j) for t in 1:T { h(t,j) = 0.5*h(t-1,j) + x(t,j) } }",
            [((8, 4), "data")],
            "`x` in dimension 0 along 'data'",
            "gather an argument, `jax.reshard(x, jax.sharding.PartitionSpec())`",
        ),
    ],
)
def test_types_that_jax_cannot_propagate_give_an_error_that_names_the_indices(
    text: str, arguments: list[Any], what: str, index: str
) -> None:
    kind = jax.sharding.AxisType.Explicit
    mesh = jax.sharding.AbstractMesh((4, 2), ("data", "model"), axis_types=(kind, kind))

    def struct(*given: Any) -> jax.ShapeDtypeStruct:
        dtype, shape, *along = given if isinstance(given[0], str) else ("float32", *given)
        place = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*along))
        return jax.ShapeDtypeStruct(shape, dtype, sharding=place)

    kernel, arrays = tcjax.kernel(text), [struct(*each) for each in arguments]
    floats = tuple(number for number, array in enumerate(arrays) if array.dtype == "float32")
    total = jax.grad(lambda *given: kernel(*given).sum(), floats)
    for called in (kernel, total):
        with jax.sharding.use_abstract_mesh(mesh), pytest.raises(tcjax.CompileError) as caught:
            jax.eval_shape(called, *arrays)

        error = caught.value
        assert (error.code, error.kind) == ("TC0811", "schedule")
        assert what in error.message and index in str(error.help)
        assert error.span is not None and text[error.span.column - 1 :][:2] in ("v(", "C(", "O(", "h(")
