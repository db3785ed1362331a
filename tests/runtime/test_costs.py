"""`k.cost`: what each device of a mesh computes, moves, and receives from others; nothing is compiled."""

import json
from typing import Any

import jax
import numpy as np
import pytest

import tcjax
from bench.scaling import PROGRAMS, specs

MM = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
BLUR = "def blur(float(N) u) -> (v) { v(i) = u(wrap(i-1)) + u(i) + u(wrap(i+1)) }"


def floats(*shapes: tuple[int, ...]) -> tuple[jax.ShapeDtypeStruct, ...]:
    return specs(shapes)


def test_the_figures_of_a_product_are_those_of_its_blocks() -> None:
    cost = tcjax.kernel(MM).cost(*floats((8, 6), (6, 4)), mesh={"x": 4, "y": 2}, shard={"m": "x", "k": "y"})

    (sum_of_parts,) = cost.collectives
    assert (cost.devices, cost.flops) == (8, 2 * (8 // 4) * (6 // 2) * 4)
    assert cost.held_bytes == 4 * (2 * 3 + 3 * 4 + 2 * 4)
    # Both operands and the partial result are touched once, and the partial result and the sum by the collective.
    assert cost.bytes == cost.held_bytes + 2 * 4 * (2 * 4)
    assert (sum_of_parts.operation, sum_of_parts.axes, sum_of_parts.devices) == ("all-reduce", ("y",), 2)
    assert (sum_of_parts.bytes, sum_of_parts.times, cost.collective_bytes) == (32, 1, 32)


@pytest.mark.parametrize(
    ("text", "shapes", "shard", "sends"),
    [
        # Each of 64 devices sends nearly all of a sum of 4 MiB twice, in 2 * 6 rounds.
        (MM, ((1024, 64), (64, 1024)), {"k": "x"}, (12, 2 * (1 << 22) * 63 / 64)),
        # Two neighbours send an element each, in two collectives.
        (BLUR, ((1 << 20,),), {"i": "x"}, (2, 8)),
    ],
)
def test_collectives_take_rounds_of_messages_and_the_time_of_their_bytes(
    text: str, shapes: tuple[tuple[int, ...], ...], shard: dict[str, str], sends: tuple[int, float]
) -> None:
    messages, sent = sends

    cost = tcjax.kernel(text).cost(*floats(*shapes), mesh={"x": 64}, shard=shard, device="gpu", links="infiniband")

    # 5 us a message, 25 GB/s, and 5 us to start each.
    expected = messages * 5e-6 + sent / 25e9 + len(cost.collectives) * 5e-6
    assert cost.collective_seconds == pytest.approx(expected)
    assert cost.seconds == cost.compute_seconds + cost.collective_seconds
    assert cost.overlapped_seconds == max(cost.compute_seconds, cost.collective_seconds)


def test_neighbours_in_a_node_have_the_faster_link() -> None:
    kernel, arrays = tcjax.kernel(BLUR), floats((1 << 12,))

    def links(mesh: dict[str, int], axes: tuple[str, ...], device: str, links: Any = None) -> set[str]:
        cost = kernel.cost(*arrays, mesh=mesh, shard={"i": axes}, device=device, links=links)
        return {each.link for each in cost.collectives}

    assert links({"a": 8, "b": 8}, ("b",), "gpu") == {"nvlink"}
    assert links({"a": 8, "b": 8}, ("a",), "gpu") == {"infiniband"}
    assert links({"a": 8, "b": 8}, ("a", "b"), "gpu") == {"infiniband"}
    assert links({"a": 2, "b": 4}, ("a",), "gpu") == {"nvlink"}
    assert links({"a": 8}, ("a",), "cpu") == {"ethernet"}
    assert links({"a": 8, "b": 8}, ("a", "b"), "gpu", {"a": "pcie", "b": "nvlink"}) == {"pcie"}


def test_a_mesh_is_one_of_jax_or_its_sizes() -> None:
    kernel, arrays = tcjax.kernel(MM), floats((8, 6), (6, 4))
    abstract = jax.sharding.AbstractMesh((4,), ("x",))
    real = jax.make_mesh((1,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))

    by_sizes = kernel.cost(*arrays, mesh={"x": 4}, shard={"m": "x"})

    assert by_sizes == kernel.cost(*arrays, mesh=abstract, shard={"m": "x"})
    assert kernel.cost(*arrays, mesh=real, shard={"m": "x"}).devices == 1
    # A kernel on a mesh knows both, and can be asked about another mesh.
    sharded = kernel.sharded(real, {"m": "x"})
    assert sharded.cost(*arrays) == kernel.cost(*arrays, mesh=real, shard={"m": "x"})
    assert sharded.cost(*arrays, mesh={"x": 4}) == by_sizes
    assert sharded.cost(*arrays, mesh={"x": 4}, shard={"n": "x"}).held_bytes == 4 * (8 * 6 + 6 * 1 + 8 * 1)


def test_without_a_mesh_it_is_the_cost_of_the_plan() -> None:
    kernel, arrays = tcjax.kernel(MM), (np.ones((8, 6), "float32"), np.ones((6, 4), "float32"))

    cost, explained = kernel.cost(*arrays), kernel.explain(*arrays).to_dict()

    told = explained["flops"], explained["bytes"], explained["temporary_bytes"]
    assert (cost.flops, cost.bytes, cost.temporary_bytes) == told
    assert (cost.devices, cost.collectives, cost.seconds) == (1, (), cost.compute_seconds)


def test_devices_that_are_alone_along_an_axis_tell_each_other_nothing() -> None:
    cost = tcjax.kernel(MM).cost(*floats((8, 6), (6, 4)), mesh={"x": 4, "y": 1}, shard={"m": "x", "k": "y"})

    assert cost.collectives == ()
    assert "nothing from other devices" in str(cost)


def test_a_cost_prints_and_is_data() -> None:
    cost = tcjax.kernel(BLUR).cost(*floats((1 << 12,)), mesh={"x": 4}, shard={"i": "x"}, links="loopback")

    data = json.loads(json.dumps(cost.to_dict()))

    assert (data["mesh"], data["collectives"][0]["axes"]) == ({"x": 4}, ["x"])
    assert data["collective_seconds"] == cost.collective_seconds
    assert str(cost).startswith("4 devices (cpu), x=4; each has")
    assert "gets       4 B of u by collective-permute among 4 along 'x' (loopback): " in str(cost)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mesh": {"x": 4}}, "nothing says which index"),
        ({"shard": {"m": "x"}}, "nothing says on which mesh"),
        ({"mesh": 4, "shard": {"m": "x"}}, "4 is not a mesh"),
        ({"mesh": {4: "x"}, "shard": {"m": "x"}}, "is not a mesh"),
        ({"mesh": {}, "shard": {}}, "without axes"),
        ({"mesh": {"x": 0}, "shard": {"m": "x"}}, "0 devices along 'x'"),
        ({"mesh": {"x": 2.0}, "shard": {"m": "x"}}, "2.0 devices along 'x'"),
        ({"mesh": {"x": True}, "shard": {"m": "x"}}, "True devices along 'x'"),
        ({"mesh": {"x": 10**12}, "shard": {"m": "x"}}, "ask for 1048576 or fewer"),
        ({"mesh": {"x": 4}, "shard": {"m": "y"}}, "'y' is not an axis of the mesh"),
        ({"mesh": {"x": 4}, "shard": ["m"]}, "does not say"),
        ({"device": "tpu"}, "device='tpu' is not an option"),
        ({"device": None}, "device=None is not an option"),
        ({"mesh": {"x": 4}, "shard": {"m": "x"}, "links": "rope"}, "links='rope' is not an option"),
        ({"mesh": {"x": 4}, "shard": {"m": "x"}, "links": {"x": 3}}, "is not an option"),
        ({"mesh": {"x": 4}, "shard": {"m": "x"}, "links": {"y": "pcie"}}, "'y' is not an axis of the mesh"),
        ({"mesh": {"x": 4}, "shard": {"m": "x"}, "links": 3}, "links=3 is not an option"),
    ],
)
def test_what_is_no_mesh_no_axis_or_no_link_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(tcjax.CompileError) as caught:
        tcjax.kernel(MM).cost(*floats((8, 6), (6, 4)), **options)

    assert caught.value.code == "TC0308"
    assert message in str(caught.value) and caught.value.help


def test_what_devices_cannot_compute_in_parts_is_refused_on_paper_too() -> None:
    kernel, arrays = tcjax.kernel(MM), floats((8, 6), (6, 4))

    with pytest.raises(tcjax.CompileError, match="no index `q`") as caught:
        kernel.cost(*arrays, mesh={"x": 4}, shard={"q": "x"})
    assert caught.value.code == "TC0811"
    with pytest.raises(tcjax.CompileError, match="one of both"):
        kernel.with_schedule(kernel.schedule()).cost(*arrays, mesh={"x": 4}, shard={"m": "x"})
    tight, program = tcjax.kernel(PROGRAMS["convolution"].text, memory_limit=1), PROGRAMS["convolution"]
    with pytest.raises(tcjax.CompileError, match="memory_limit"):
        tight.cost(*specs(program.small), mesh={"x": 4}, shard={"h": "x"})
