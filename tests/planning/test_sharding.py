"""Which part of each tensor a device holds, and what is combined: plans for meshes that no test needs to have."""

from typing import Any

import jax
import pytest

import tcjax
from tcjax.ir import Reducer
from tcjax.planning.sharding import Block, ShardedPlan, shard

MM = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"


def plan(text: str, axes: dict[str, tuple[str, ...]], *shapes: tuple[int, ...]) -> ShardedPlan:
    """The plan for axes x, of 4 devices, and y, of 2."""
    arguments = [jax.ShapeDtypeStruct(shape, "float32") for shape in shapes]
    bound = tcjax.kernel(text).schedule(*arguments).bound(*arguments)
    return shard(bound, axes, {"x": 4, "y": 2})


def test_a_device_holds_the_blocks_of_the_dimensions_that_its_indices_address() -> None:
    sharded = plan(MM, {"m": ("x",), "k": ("y",)}, (8, 6), (6, 3))

    assert sharded.layouts == {"A": (("x",), ("y",)), "B": (("y",), ()), "C": (("x",), ())}
    assert sharded.steps[0].compute.shape == (2, 3)


def test_a_cut_reduction_is_combined_along_its_axes_and_another_is_not() -> None:
    (reduced,) = plan(MM, {"k": ("x", "y")}, (8, 16), (16, 3)).steps
    (kept,) = plan(MM, {"m": ("x",)}, (8, 16), (16, 3)).steps

    assert (reduced.reducer, reduced.axes) == (Reducer.SUM, ("x", "y"))
    assert (kept.reducer, kept.axes) == (None, ())


def test_a_tensor_that_two_indices_address_is_held_whole_and_cut_where_it_is_read() -> None:
    sharded = plan("def f(float(N,D) X) -> (O) { O(i) +=! X(i,d) * X(j,d) }", {"i": ("x",)}, (8, 3))

    assert sharded.layouts["X"] == ((), ())
    assert sharded.steps[0].blocks == (Block("X.block", "X", (("x",), ())),)


def test_the_value_of_an_index_begins_at_the_devices_block() -> None:
    sharded = plan("def f(float(N) X) -> (O) { O(i) = X(i) * i }", {"i": ("x",)}, (8,))

    (start,) = sharded.steps[0].starts
    assert (start.axes, start.extent) == (("x",), 2)


@pytest.mark.parametrize(("axes", "parts"), [({"m": ("x",)}, 4), ({"k": ("y", "x")}, 8)])
def test_an_index_must_divide_into_equal_blocks(axes: Any, parts: int) -> None:
    with pytest.raises(tcjax.CompileError, match=f"into {parts} equal blocks") as caught:
        plan(MM, axes, (6, 12), (12, 3))

    assert caught.value.code == "TC0601"
