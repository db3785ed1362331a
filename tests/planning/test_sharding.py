"""Which part of each tensor a device holds, and what is combined: plans for meshes, without devices."""

from typing import Any

import jax
import pytest

import tcjax
from tcjax.ir import Reducer
from tcjax.planning import Compute
from tcjax.planning.sharding import Combine, Exchange, Part, Send, ShardedPlan, Start, Whole, messages, shard

MM = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"


def plan(text: str, axes: dict[str, tuple[str, ...]], *shapes: tuple[int, ...]) -> ShardedPlan:
    """The plan for axes x, of 4 devices, and y, of 2."""
    parameters = tcjax.kernel(text).ir().parameters
    arguments = [jax.ShapeDtypeStruct(shape, p.dtype) for p, shape in zip(parameters, shapes, strict=True)]
    bound = tcjax.kernel(text).schedule(*arguments).bound(*arguments)
    return shard(bound, axes, {"x": 4, "y": 2})


def of(sharded: ShardedPlan, *kinds: type) -> list[Any]:
    """The collectives of these kinds, in the order in which they run."""
    return [each for each in sharded.collectives.values() if isinstance(each, kinds)]


def test_a_device_holds_the_blocks_of_the_dimensions_that_its_indices_address() -> None:
    sharded = plan(MM, {"m": ("x",), "k": ("y",)}, (8, 6), (6, 3))

    assert sharded.layouts == {"A": (("x",), ("y",)), "B": (("y",), ()), "C": (("x",), ())}
    assert [stage.shape for stage in sharded.plan.stages if isinstance(stage, Compute)] == [(2, 3)]


def test_a_cut_reduction_is_combined_along_its_axes_and_another_is_not() -> None:
    (reduced,) = of(plan(MM, {"k": ("x", "y")}, (8, 16), (16, 3)), Combine)

    assert (reduced.reducer, reduced.axes) == (Reducer.SUM, ("x", "y"))
    assert not plan(MM, {"m": ("x",)}, (8, 16), (16, 3)).collectives


def test_a_tensor_that_two_indices_address_is_held_whole_and_cut_where_it_is_read() -> None:
    sharded = plan("def f(float(N,D) X) -> (O) { O(i) +=! X(i,d) * X(j,d) }", {"i": ("x",)}, (8, 3))

    assert sharded.layouts["X"] == ((), ())
    (part,) = of(sharded, Part)
    assert (part.tensor, part.dimension, part.axes, part.step, part.count) == ("X", 0, ("x",), 2, 2)


def test_the_value_of_an_index_begins_at_the_devices_block() -> None:
    sharded = plan("def f(float(N) X) -> (O) { O(i) = X(i) * i }", {"i": ("x",)}, (8,))

    (start,) = of(sharded, Start)
    assert (start.axes, start.extent) == (("x",), 2)


@pytest.mark.parametrize(
    ("subscript", "moves"),
    [
        ("wrap(i+1)", [((0, 0), 0, 4, 0), ((1, 0), 0, 1, 4)]),
        ("wrap(i-2)", [((0, 0), 0, 4, 2), ((3, 0), 2, 2, 0)]),
        ("clamp(i-1)", [((0, 0), 0, 4, 1), ((0, 0), 0, 1, 0), ((0, 1), 3, 1, 0)]),
        ("mirror(i-2)", [((0, 0), 0, 4, 2), ((0, 0), 1, 2, 0), ((0, 1), 2, 2, 0)]),
    ],
)
def test_neighbours_give_exactly_what_is_read_beyond_a_block(
    subscript: str, moves: list[tuple[tuple[int, int], int, int, int]]
) -> None:
    sharded = plan(f"def f(float(N) u) -> (v) {{ v(i) = u(i) + u({subscript}) }}", {"i": ("x",)}, (16,))

    (fetch,) = of(sharded, Exchange)
    assert fetch.count == max(place + count for _, _, count, place in moves)
    assert sorted((m.pairs[0], m.start, m.count, m.place) for m in fetch.moves) == sorted(moves)


def test_blocks_are_alike_along_an_index_so_that_only_neighbours_give() -> None:
    sharded = plan("def f(float(N) u) -> (v) { v(i) = u(i-1) + u(i) + u(i+1) }", {"i": ("x",)}, (17,))

    assert (sharded.padded["u"], sharded.padded["v"]) == ((20,), (20,))
    (fetch,) = of(sharded, Exchange)
    assert {taker - giver for move in fetch.moves for giver, taker in move.pairs} == {0, -1}


def test_nothing_moves_that_no_point_reads() -> None:
    # Blocks of 2, of which the first has 4 and 5 of device 2; 2 and 3 have the last element of device 4, once each.
    sharded = plan("v(i) = u(i) + u(clamp(i+4)) where i in 0:u.0", {"i": ("x", "y")}, (9,))

    pairs = {pair for move in of(sharded, Exchange)[0].moves if not move.is_local for pair in move.pairs}
    assert pairs == {(2, 0), (3, 1), (4, 2), (4, 3)}
    assert sorted(message.bytes for message in messages(sharded) if message.tensor == "u") == [4, 4, 8]


def test_corners_move_only_where_they_are_read() -> None:
    def halos(text: str) -> list[Exchange]:
        sharded = plan(text, {"i": ("x",), "j": ("y",)}, (16, 8))
        return of(sharded, Exchange)

    cross = halos("def f(float(N,M) u) -> (v) { v(i,j) = u(wrap(i-1),j) + u(i,wrap(j-1)) }")
    corner = halos("def f(float(N,M) u) -> (v) { v(i,j) = u(wrap(i-1),wrap(j-1)) + u(i,j) }")

    assert [fetch.inside for fetch in cross] == [(), ((0, 1, 5),)]
    assert [fetch.inside for fetch in corner] == [(), ((0, 0, 4),)]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("O(i) = u(i)  w(i) = u(wrap(i+1)) where i in 0:N", []),
        ("w(i) = u(wrap(i+1)) where i in 0:N  S() +=! w(i)  O(i) = u(i)", []),
        ("O(i) = u(wrap(i+1)) where i in 0:N  O(i) = u(wrap(i-2)) where i in 0:N", [8]),
        ("O(i) = u(wrap(i+1)) where i in 0:N  O(i) = u(wrap(i-2)) where i in 0:N, i > 3", [4, 8]),
        # The sum of each step is not a result, and neither is the loop.
        ("O(i) = u(i) for t in 0:5 { v(i) = O(i)  O(i) = v(wrap(i-1)) where i in 0:N  S(t) +=! O(i) }", [4, 8]),
        ("O(i) = u(i)  w(i) = u(i) for t in 0:5 { v(i) = w(i)  w(i) = v(wrap(i-1)) where i in 0:N }", []),
    ],
)
def test_devices_send_only_what_a_result_needs(body: str, told: list[int]) -> None:
    sharded = plan(f"def f(float(N) u) -> (O) {{ {body} }}", {"i": ("x",)}, (16,))

    assert sorted(message.bytes for message in messages(sharded)) == told


def test_devices_send_equal_elements_once() -> None:
    # The fifth device gets the last element from the sixth, for one point and for two.
    sharded = plan("O(i) = u(wrap(i+2)) + u(clamp(i+6)) where i in 0:u.0", {"i": ("x", "y")}, (11,))

    sent = [(send.move.pairs, send.move.start) for send in of(sharded, Send)]
    assert len(sent) == len({*sent}) and (((5, 4),), 0) in sent
    assert len([each for each in messages(sharded) if each.tensor == "u"]) == len(sent)
    assert sum(len(exchange.sends) for exchange in of(sharded, Exchange)) > len(sent)


def test_a_halo_moves_only_for_the_rows_that_read_beyond_it() -> None:
    # The rows that are reflected are read without a shift along j, others with one.
    text = "v(i,j) = u(reflect(i+1),j) + u(mirror(i-2),wrap(j-2))"
    sharded = plan(f"def f(float(N,M) u) -> (v) {{ {text} where i in 0:N, j in 0:M }}", {"j": ("y",)}, (6, 8))
    both = plan(f"def f(float(N,M) u) -> (v) {{ {text} where i in 0:N, j in 0:M }}", {"i": ("x",), "j": ("y",)}, (8, 8))

    assert [message.bytes for message in messages(sharded)] == [4 * 6 * 2]
    along = [message for message in messages(both) if message.axes == ("y",)]
    assert [message.bytes for message in along] == [4 * 2 * 2]


def test_what_no_neighbour_has_all_devices_get() -> None:
    text = "def f(int32(K) I, float(N) u) -> (w) { v(k) = 2 * u(k)  w(i) = v(I(i)) }"

    sharded = plan(text, {"i": ("x",), "k": ("x",)}, (16,), (8,))

    (whole,) = of(sharded, Whole)
    assert (whole.tensor, whole.dimension, whole.axes, whole.extent) == ("v", 0, ("x",), 8)


def test_an_index_that_does_not_divide_has_larger_blocks_and_a_guard() -> None:
    sharded = plan(MM, {"m": ("x",), "k": ("y",)}, (6, 3), (3, 5))

    assert (sharded.padded["A"], sharded.padded["B"], sharded.padded["C"]) == ((8, 4), (4, 5), (8, 5))
    assert {start.extent for start in of(sharded, Start)} == {2}
    assert {message.operation: message.bytes for message in messages(sharded)} == {
        "all-reduce": 4 * 2 * 5,
        "all-gather": 4 * 8 * 5,
    }


def test_what_several_statements_gather_is_told_once_and_what_changed_once_more() -> None:
    def told(text: str) -> list[tuple[str, int]]:
        sharded = plan(f"def f(float(N) u) -> (O, P) {{ v(i) = 2 * u(i)  {text} }}", {"i": ("x",)}, (16,))
        return [(message.operation, message.bytes) for message in messages(sharded)]

    # One of them is the same on every device, the other is not.
    once = told("O(i) +=! v(i) * v(j)  P(n) +=! v(n) * v(j)")
    changed = told("O(i) +=! v(i) * v(j)  v(i) = u(i)  P(n) +=! v(n) * v(j)")
    halos = told("O(i) = v(wrap(i-1)) + v(i)  P(i) = v(wrap(i-1)) - v(wrap(i+1)) + v(i)")

    assert once == [("all-gather", 64)]
    assert changed == [("all-gather", 64)] * 2
    assert halos == [("collective-permute", 4)] * 2


@pytest.mark.parametrize(
    ("text", "shapes", "told"),
    [
        ("O(i,j) = v(I(i),j)", ((8,), (96, 2)), {"all-gather": 4 * 8, "reduce-scatter": 4 * 2 * 2}),
        ("O(i,j) = v(I(i),j)", ((96,), (8, 2)), {"all-gather": 4 * 8 * 2}),
        ("O(i,j) +=! v(k,j) where I(i) == k", ((8,), (96, 2)), {"all-gather": 4 * 8, "reduce-scatter": 4 * 2 * 2}),
        ("O(i,j) +=! v(k,j) where I(i) == k", ((96,), (8, 2)), {"all-gather": 4 * 8 * 2}),
    ],
)
def test_what_is_looked_up_moves_or_its_table_whichever_is_less(
    text: str, shapes: tuple[tuple[int, ...], ...], told: dict[str, int]
) -> None:
    text = f"def f(int32(N) I, float(K,M) u) -> (O) {{ v(k,j) = 2 * u(k,j)  {text} }}"
    sharded = plan(text, {"i": ("x",), "k": ("x",)}, *shapes)

    assert {message.operation: message.bytes for message in messages(sharded)} == told


STEPS = """
def f(float(N,M) u0) -> (u) {
    u(i,j) = u0(i,j)
    for t in 0:COUNT {
        v(i,j) = u(i,j)
        u(i,j) = 0.5 * v(i,j) + 0.25 * (BOUNDARY(v(i-1,j)) + BOUNDARY(v(i+1,j))) where i in 0:N, j in 0:M
    }
}"""


def told(count: int, boundary: str, *shape: int) -> list[tuple[int, int]]:
    """The bytes and the number of exchanges, with steps sharded along `i` into 4 blocks."""
    text = STEPS.replace("COUNT", str(count))
    for shift in ("i-1", "i+1"):
        own = f"pad(v({shift},j), 0)" if boundary == "pad" else f"v({boundary}({shift}),j)"
        text = text.replace(f"BOUNDARY(v({shift},j))", own)
    return [(each.bytes, each.times) for each in messages(plan(text, {"i": ("x",)}, shape))]


@pytest.mark.parametrize("boundary", ["wrap", "clamp", "mirror", "reflect", "pad"])
def test_devices_exchange_what_several_steps_need_before_the_first(boundary: str) -> None:
    # 10 steps, each of which reads one row of 8 elements of 4 bytes on either side.
    assert told(20, boundary, 256, 8) == [(10 * 8 * 4, 2)] * 2


@pytest.mark.parametrize(
    "body",
    [
        "for t in 0:20 { v(i,j) = u(i,j)  u(i,j) = v(wrap(i-1),j) + v(clamp(i+1),j) }",
        "for t in 19:-1:-1 { v(i,j) = u(i,j)  u(i,j) = v(wrap(i-1),j) + v(wrap(i+1),j) }",
        "for s in 0:2 { for t in 0:10 { v(i,j) = u(i,j)  u(i,j) = v(wrap(i-1),j) + v(clamp(i+1),j) } }",
    ],
)
def test_a_loop_that_runs_down_or_inside_of_another_exchanges_as_rarely(body: str) -> None:
    text = f"def f(float(N,M) u0) -> (u) {{ u(i,j) = u0(i,j) {body} }}"

    found = [(each.bytes, each.times) for each in messages(plan(text, {"i": ("x",)}, (256, 8)))]

    assert found == [(10 * 8 * 4, 2)] * 2


def test_no_halo_is_wider_than_a_block_and_steps_that_are_left_exchange_each() -> None:
    assert told(7, "wrap", 12, 8) == [(3 * 8 * 4, 2)] * 2 + [(8 * 4, 1)] * 2


def test_rows_that_take_longer_to_compute_than_to_ask_for_are_exchanged_in_each_step() -> None:
    assert told(7, "wrap", 8, 4_000_000) == [(4_000_000 * 4, 7)] * 2


def test_the_spelling_of_a_state_does_not_decide_how_often_devices_exchange() -> None:
    text = """
    def f(float(N,M) u0) -> (v) {
        u(0,i,j) = u0(i,j)
        for t in 1:21 { u(t,i,j) = 0.5 * u(t-1,i,j) + 0.25 * (u(t-1,wrap(i-1),j) + u(t-1,wrap(i+1),j)) }
        v(i,j) = u(20,i,j)
    }"""

    found = [(each.bytes, each.times) for each in messages(plan(text, {"i": ("x",)}, (256, 8)))]

    assert found == told(20, "wrap", 256, 8)
