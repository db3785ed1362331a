"""`Schedule.kernel_plan`: the grid, blocks, scratch and proofs of the kernels that a schedule makes."""

from itertools import product

import jax
import numpy as np

import tcjax
from tcjax.planning.schedule import Block

MATMUL = "def f(float(M,K) A, float(K,N) B) -> (C) { C(i,j) +=! A(i,k) * B(k,j) }"
CONVOLUTIONS = """
def f(float(H,W) I, float(3,3) K, float(3,3) L) -> (O) {
    T(h,w) +=! I(h+r,w+s) * K(r,s)
    O(y,x) +=! T(y+p,x+q) * L(p,q)
}"""


def floats(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, np.float32)


def tiled_matmul() -> tcjax.Schedule:
    schedule = tcjax.kernel(MATMUL).schedule()
    schedule = schedule.split("C", "i", factor=32, outer="io", inner="ii")
    schedule = schedule.split("C", "j", factor=16, outer="jo", inner="ji")
    schedule = schedule.split("C", "k", factor=8, outer="ko", inner="ki")
    return schedule.reorder("C", "io", "jo", "ko", "ii", "ji", "ki")


def tiled_convolutions() -> tcjax.Schedule:
    schedule = tcjax.kernel(CONVOLUTIONS).schedule().tile("O", "y", "x", 4, 6, names=("yo", "xo", "yi", "xi"))
    return schedule.compute_at("T", "O", "xo")


def elements(block: Block, at: dict[str, int]) -> list[range]:
    """The indices that a program handles along each axis."""
    starts = [start.evaluate(at) for start in block.start]
    extents = [extent.evaluate(at) for extent in block.extent]
    return [range(start, start + extent) for start, extent in zip(starts, extents, strict=True)]


def test_loops_of_the_reduction_are_sequential_and_the_others_parallel() -> None:
    plan = tiled_matmul().kernel_plan(floats(100, 70), floats(70, 48))["C"]

    assert plan.grid == (("io", 4), ("jo", 3), ("ko", 9))
    assert dict(plan.axes) == {"io": "parallel", "jo": "parallel", "ko": "sequential"}
    (stage,) = plan.stages
    assert (stage.init, stage.finish) == ("sum", True)


def test_blocks_that_begin_at_multiples_have_an_index_map() -> None:
    plan = tiled_matmul().kernel_plan(floats(100, 70), floats(70, 48))["C"]
    a, b = plan.inputs

    assert (a.mode, a.block.shape, list(map(str, a.block.index_map or ()))) == ("blocked", (32, 8), ["io", "ko"])
    assert (b.mode, b.block.shape, list(map(str, b.block.index_map or ()))) == ("blocked", (8, 16), ["ko", "jo"])
    assert a.block.pad == ((0, 28), (0, 2))
    assert b.block.pad == ((0, 2), (0, 0))


def test_every_element_that_a_program_reads_is_in_its_block() -> None:
    plan = tiled_convolutions().kernel_plan(floats(19, 23), floats(3, 3), floats(3, 3))["O"]
    image = next(given for given in plan.inputs if given.tensor == "I")
    (output,) = plan.outputs

    assert image.mode == "element"
    for yo, xo in product(range(4), range(4)):
        at = {"yo": yo, "xo": xo}
        rows, columns = elements(output.block, at)
        assert [rows, columns] == [range(4 * yo, min(4 * yo + 4, 15)), range(6 * xo, min(6 * xo + 6, 19))]
        # Two convolutions of width 3 read four elements beyond.
        wide = [range(part.start, part.stop + 4) for part in (rows, columns)]
        assert elements(image.block, at) == wide


def test_scratch_is_what_a_tile_of_the_producer_needs() -> None:
    plan = tiled_convolutions().kernel_plan(floats(19, 23), floats(3, 3), floats(3, 3))["O"]
    inside, root = plan.stages

    assert (inside.name, inside.alloc_shape, inside.storage) == ("T", (6, 8), "value")
    assert (root.name, root.alloc_shape, root.storage) == ("O", (4, 6), "output")
    assert plan.scratch_bytes == 6 * 8 * 4
    # Rows are computed 6, 6, 6 and 5 at a time, columns 8, 8, 8 and 3.
    assert inside.recompute == (6 + 6 + 6 + 5) * (8 + 8 + 8 + 3) / (17 * 21)


def test_parallel_programs_that_write_one_element_are_not_disjoint() -> None:
    keys = jax.ShapeDtypeStruct((8,), np.int32)
    scattered = tcjax.kernel("def f(int32(N) K, float(N) A) -> (float(4) H) { H(K(i)) +=! A(i) }")

    apart = tiled_matmul().kernel_plan(floats(64, 64), floats(64, 64))["C"].outputs[0]
    together = scattered.schedule().split("H", "i", factor=4).kernel_plan(keys, floats(8))["H"].outputs[0]

    assert (apart.disjoint, apart.tail) == (True, "none")
    assert not together.disjoint
