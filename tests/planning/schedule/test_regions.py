"""What a region guarantees besides its numbers."""

import dataclasses

import jax
import numpy as np
import pytest

import tcjax
from tcjax.symbolic.facts.trees import Expr

from .cases import SETS
from .commands import schedule_of
from .kernels import arguments_of, kernel_of

LINES = [(kernel, line) for kernels in SETS.values() for kernel, lines in kernels.items() for line in lines[-1:]]


@pytest.mark.parametrize(("kernel", "line"), LINES)
def test_expressions_are_over_the_prefix_and_read_back(kernel: str, line: str) -> None:
    arguments = arguments_of(kernel)
    shown = arguments if kernel in ("sac_columns", "sac_steps") else ()
    regions = schedule_of(kernel_of(kernel), line, *shown).infer_bounds(*arguments)

    for region in regions.values():
        for expr in (*region.min, *region.extent_expr):
            assert expr.variables <= set(region.prefix)
            again = Expr.of(str(expr))
            for value in (0, 1, 3):
                at = dict.fromkeys(region.prefix, value)
                assert again.evaluate(at) == expr.evaluate(at)


def test_regions_are_in_the_order_of_the_program() -> None:
    regions = kernel_of("softmax").schedule().infer_bounds(*arguments_of("softmax"))

    assert list(regions) == ["m", "e", "s", "y"]


def test_arrays_and_their_shapes_give_the_same_regions_in_order_or_by_name() -> None:
    schedule = schedule_of(kernel_of("broadcast"), "at C D dj")
    structs = arguments_of("broadcast")
    arrays = [np.zeros(struct.shape, struct.dtype) for struct in structs]

    regions = [
        schedule.infer_bounds(*structs),
        schedule.infer_bounds(*arrays),
        schedule.infer_bounds(*map(jax.numpy.asarray, arrays)),
        schedule.infer_bounds(B=arrays[1], A=arrays[0]),
    ]

    assert all(found == regions[0] for found in regions)


def test_one_schedule_serves_any_shapes() -> None:
    schedule = schedule_of(kernel_of("line"), "split D di 16 co ci; at C D co")

    extents = [schedule.infer_bounds(jax.ShapeDtypeStruct((n,), "float32"))["C"].extent for n in (20, 5, 16, 100)]

    assert extents == [(16,), (5,), (16,), (16,)]


def test_regions_and_schedules_cannot_be_changed() -> None:
    schedule = kernel_of("line").schedule()
    region = schedule.infer_bounds(*arguments_of("line"))["C"]

    with pytest.raises(dataclasses.FrozenInstanceError):
        region.extent = (3,)
    with pytest.raises(dataclasses.FrozenInstanceError):
        schedule.commands = ()


def test_equal_commands_make_equal_schedules() -> None:
    kernel = kernel_of("line")

    one, same, other = (schedule_of(kernel, f"split D di {factor} co ci; at C D co") for factor in (8, 8, 4))

    assert one == same and hash(one) == hash(same)
    assert one != other


def test_a_kernel_of_calls_has_stages_that_are_computed_whole() -> None:
    library = tcjax.load(
        """def layer(float(B,I) x, float(O,I) w) -> (y) { y(b,o) +=! x(b,i) * w(o,i) }
           def net(float(B,I) x, float(H,I) w1, float(O,H) w2) -> (y) {
             h = layer(x, w1)
             a(b,n) = fmax(h(b,n), 0.0)
             y = layer(a, w2)
           }"""
    )
    arguments = [jax.ShapeDtypeStruct(shape, "float32") for shape in ((4, 3), (5, 3), (6, 5))]

    regions = library.net.schedule().infer_bounds(*arguments)

    assert {name: tuple(region.extent) for name, region in regions.items()} == {"h": (4, 5), "a": (4, 5), "y": (4, 6)}
    with pytest.raises(tcjax.CompileError) as caught:
        library.net.schedule().compute_at("h", "a", "b").infer_bounds(*arguments)
    assert caught.value.kind == "schedule"
