"""Illegal schedules: each raises a `CompileError` of kind ``schedule`` that names the obstacle."""

from collections.abc import Callable
from typing import Any

import pytest

import tcjax

from .commands import schedule_of
from .kernels import arguments_of, kernel_of

# Kernel, schedule, and what the message must name.
ILLEGAL = (
    # A consumer outside of the loop.
    ("two_halos", "at C D u", "C D u L"),
    ("two_halos", "at C L l", "C L l D"),
    ("two_halos", "split D u 5 uo ui; at L D uo; at C D ui", "C D ui L"),
    ("two_outputs", "at C D u", "C D u E"),
    ("two_outputs", "at C E v", "C E v D"),
    ("diamond", "at C P a", "C P a Q"),
    ("diamond", "at C Q c; at P D u", "C Q c P"),
    ("diamond", "at P D u; at Q D v; at C Q c", "C Q c P"),
    ("chain", "at C E ei", "C E ei D"),
    ("chain", "at C E ej; at D E ei", "C E ej D"),
    ("softmax", "at m e c; at e y u", "e y u s"),
    ("softmax", "at e s p", "e s p y"),
    ("softmax", "at m y u", "m y u e"),
    ("moments", "at s y p", "s y p v"),
    ("moments", "at s v c", "s v c y"),
    ("mlp_bias", "at h y r", "h y r a"),
    ("same_names", "at C E i", "C E i D"),
    ("corners", "at T D x", "T D x E"),
    # A position that does not exist, or before what it needs.
    ("chain", "at D C i", "D C i E"),
    ("chain", "at D D di", "D di"),
    ("pointwise", "at D C i", "D C i"),
    ("pointwise", "at C D nowhere", "D nowhere"),
    ("pointwise", "at C D i", "D i"),
    ("pointwise", "at nothing D di", "nothing"),
    ("pointwise", "at C nothing di", "nothing"),
    ("pointwise", "at A D di", "A"),
    ("chain", "at D C i; at C D di", "D C i"),
    # An output, or a tensor written by several statements, stays at the root.
    ("two_outputs", "at D E v", "D E v"),
    ("sac_stencil", "at out out.1 j", "out out.1 j"),
    ("sac_stencil", "at out.1 out j", "out.1 out j"),
    # Loops that no longer exist, or do not exist yet.
    ("pointwise", "split D di 2 a b; split D di 2 c d", "D di a b"),
    ("pointwise", "split D di 2 a b; at C D di", "D di a b"),
    ("pointwise", "fuse D di dj f; at C D dj", "D dj f"),
    ("pointwise", "fuse D di dj f; order D di dj", "D di f"),
    ("pointwise", "split C di 2 a b", "C di"),
    ("pointwise", "split E di 2 a b", "E"),
    ("pointwise", "at C D di; split D di 2 a b", "C D di"),
    ("pointwise", "at C D dj; fuse D di dj f", "C D dj"),
    ("inline_sum", "split D k 2 a b", "D k"),
    # Loops that do not fit together, and names that are taken.
    ("broadcast", "fuse D di dk f", "D di dk"),
    ("pointwise", "fuse D dj di f", "D di dj"),
    ("pointwise", "fuse D di di f", "D di"),
    ("pointwise", "order D di di", "D di"),
    ("pointwise", "order D di nowhere", "D nowhere"),
    ("pointwise", "split D di 2 dj a", "D dj"),
    ("pointwise", "split D di 2 a a", "D a"),
    ("pointwise", "split D di 2 di a", "D di"),
    ("pointwise", "fuse D di dj di", "D di"),
    ("pointwise", "tile D di dj 2 2 a a b c", "D a"),
    ("pointwise", "tile D di di 2 2 a b c d", "D di"),
    # Factors.
    ("pointwise", "split D di 0 a b", "D di 0"),
    ("pointwise", "split D di -2 a b", "D di -2"),
    ("pointwise", "parts D di 0 a b", "D di 0"),
    ("pointwise", "tile D di dj 2 0 a b c d", "D dj 0"),
    # Loops that share a copy.
    ("pointwise", "at C D di relax dj", "C dj"),
    ("pointwise", "at C D dj relax nowhere", "C nowhere"),
    ("chain", "at D E ej relax ei; at C E ej", "C E ej D"),
    ("chain", "at D E ej relax ei; at C E ei", "C E ei D"),
    ("two_halos", "split D u 5 uo ui; at L D ui relax uo; at C D uo", "C D uo L"),
    ("diamond", "at P D v; at Q D v relax u; at C D v", "C D v Q"),
    # What a later command makes illegal.
    ("two_halos", "split D u 5 uo ui; at C D uo; at L D ui; order D ui uo", "C D uo L"),
    ("chain", "split E ej 4 eo ew; at D E ew; at C E eo; at D E ei", "C E eo D"),
)


@pytest.mark.parametrize(("kernel", "line", "words"), ILLEGAL)
def test_an_illegal_schedule_names_what_is_in_the_way(kernel: str, line: str, words: str) -> None:
    with pytest.raises(tcjax.CompileError) as caught:
        schedule_of(kernel_of(kernel), line).infer_bounds(*arguments_of(kernel))

    error = caught.value
    assert error.kind == "schedule"
    assert error.help
    unnamed = [word for word in words.split() if f"`{word}`" not in str(error) and f"={word}" not in str(error)]
    assert not unnamed, error


NO_SENSE: dict[str, Callable[[Any], Any]] = {
    "no factor": lambda s: s.split("D", "di", outer="a", inner="b"),
    "a factor and a number of parts": lambda s: s.split("D", "di", factor=2, nparts=2, outer="a", inner="b"),
    "a factor of 2.5": lambda s: s.split("D", "di", factor=2.5, outer="a", inner="b"),
    "True as a factor": lambda s: s.split("D", "di", factor=True, outer="a", inner="b"),
    "text as a factor": lambda s: s.split("D", "di", factor="2", outer="a", inner="b"),
    "a factor beyond every index": lambda s: s.split("D", "di", factor=2**70, outer="a", inner="b"),
    "a number as a stage": lambda s: s.split(3, "di", factor=2, outer="a", inner="b"),
    "None as a loop": lambda s: s.compute_at("C", "D", None),
    "a list as a loop": lambda s: s.reorder("D", ["dj", "di"]),
    "a name that is not a name": lambda s: s.split("D", "di", factor=2, outer="a b", inner="c"),
    "an operator as a name": lambda s: s.split("D", "di", factor=2, outer="and", inner="c"),
    "three names for four loops": lambda s: s.tile("D", "di", "dj", 2, 2, names=("a", "b", "c")),
    "one text for loops to relax": lambda s: s.compute_at("C", "D", "dj", relax="dj"),
}


@pytest.mark.parametrize("command", NO_SENSE.values(), ids=NO_SENSE)
def test_a_command_that_makes_no_sense_is_refused_at_once(command: Callable[[Any], Any]) -> None:
    schedule = kernel_of("pointwise").schedule()

    with pytest.raises(tcjax.CompileError) as caught:
        command(schedule)

    assert caught.value.kind == "schedule"
    assert caught.value.help


def test_a_schedule_is_never_changed() -> None:
    schedule = kernel_of("pointwise").schedule()

    schedule.split("D", "dj", factor=8, outer="djo", inner="dji")
    with pytest.raises(tcjax.CompileError):
        schedule.compute_at("C", "D", "dji")

    assert set(schedule.infer_bounds(*arguments_of("pointwise"))["D"].loops) == {"di", "dj"}


def test_a_producer_may_be_moved_before_its_other_consumer_is() -> None:
    schedule = schedule_of(kernel_of("two_halos"), "at C D u")

    schedule = schedule.compute_at("L", "D", "u")

    assert tuple(schedule.infer_bounds(*arguments_of("two_halos"))["C"].extent) == (4,)


def test_arguments_that_do_not_fit_the_kernel_are_the_callers_mistake() -> None:
    schedule = schedule_of(kernel_of("matmul_scaled"), "at S C i")

    with pytest.raises(tcjax.CompileError) as caught:
        schedule.infer_bounds(*arguments_of("mlp")[:1], *arguments_of("mlp")[2:])

    assert caught.value.kind in ("shape", "rank")
