"""`infer_bounds(exact=True)`: what a producer's producer needs, point by point."""

from random import Random

import jax
import numpy as np
import pytest

import tcjax

from .commands import schedule_of
from .kernels import specs
from .random_schedules import random_trial

pytest.importorskip("islpy")

DIAGONAL = """
def f(float(N,N) A) -> (D) {
    B(a,b) = A(a,b) * 3.0
    C(u,v) = B(u,v) + 1.0
    D(i) = C(i,i)
}"""


def test_only_needed_points_read() -> None:
    schedule = tcjax.kernel(DIAGONAL).schedule()
    square = jax.ShapeDtypeStruct((12, 12), np.float32)

    boxes, points = schedule.infer_bounds(square), schedule.infer_bounds(square, exact=True)

    assert (boxes["C"].total_box, boxes["C"].total_exact) == (144, 12)
    assert (points["C"].total_box, points["C"].total_exact) == (144, 12)
    assert boxes["B"].total_exact == 144
    assert points["B"].total_exact == 12


@pytest.mark.parametrize("seed", range(12))
def test_exact_sets_agree_with_boxes_that_are_exact_and_never_need_more(seed: int) -> None:
    trial = random_trial(Random(seed))
    kernel, arguments = tcjax.kernel(trial.text), specs(trial.arguments)
    schedule = schedule_of(kernel, trial.line)

    boxes, points = schedule.infer_bounds(*arguments), schedule.infer_bounds(*arguments, exact=True)

    for name, box in boxes.items():
        assert points[name].total_box <= box.total_box
        assert points[name].instances <= box.instances
    if all(box.box_is_exact for box in boxes.values()):
        assert {n: r.total_exact for n, r in points.items()} == {n: r.total_exact for n, r in boxes.items()}


def test_a_product_of_indices_is_refused() -> None:
    kernel = tcjax.kernel("def f(float(N,M) A) -> (D) { C(u,v) = A(u,v)  D(i,j) = C(i*j, j) where i in 0:3, j in 0:3 }")
    schedule = kernel.schedule()

    with pytest.raises(tcjax.CompileError, match="exact=True") as caught:
        schedule.infer_bounds(jax.ShapeDtypeStruct((5, 3), np.float32), exact=True)

    assert caught.value.kind == "schedule"
