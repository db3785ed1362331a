"""A message names the fix: the help of every planted mistake mentions what the corrected program has."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import pytest

import tcjax
from tcjax.diagnostics import CompileError, CompileWarning

from .planted import MISTAKES, Mistake

ERRORS = [mistake for mistake in MISTAKES if not mistake.warns]
WARNINGS = [mistake for mistake in MISTAKES if mistake.warns]


def compiled(text: str, shapes: Sequence[Any], named: Mapping[str, Any]) -> None:
    """Types the program and checks every read for arguments of these shapes."""
    kernel = tcjax.kernel(text)
    kernel.ranges(*map(argument, shapes), **{name: argument(value) for name, value in named.items()})


def argument(value: Any) -> Any:
    return jax.ShapeDtypeStruct(value, "float32") if isinstance(value, tuple) else value


def test_there_are_more_than_twenty_kinds() -> None:
    assert len({mistake.kind for mistake in MISTAKES}) == len(MISTAKES) > 20


@pytest.mark.parametrize("mistake", ERRORS, ids=str)
def test_the_help_names_the_fix(mistake: Mistake) -> None:
    with pytest.raises(CompileError) as caught:
        compiled(mistake.wrong, mistake.shapes, mistake.named)

    assert mistake.mends in caught.value.help


@pytest.mark.parametrize("mistake", WARNINGS, ids=str)
def test_the_warning_names_the_fix(mistake: Mistake) -> None:
    with pytest.warns(CompileWarning) as caught:
        compiled(mistake.wrong, mistake.shapes, mistake.named)

    assert mistake.mends in str(caught[0].message).splitlines()[0]


@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
def test_the_program_that_was_meant_compiles(mistake: Mistake) -> None:
    shapes = mistake.shapes if mistake.right_shapes is None else mistake.right_shapes
    named = mistake.named if mistake.right_named is None else mistake.right_named

    with warnings.catch_warnings():
        warnings.simplefilter("error", CompileWarning)
        compiled(mistake.right, shapes, named)


@pytest.mark.parametrize(
    "text",
    [
        "def f(float(N) A) -> (B) { B(i) = A(i) > 0.0 and not (A(i) > 1.0) ? 1.0 : 0.0 }",
        "def f(float(N) A) -> B { B(i) = A(i); }",
        "def f(float(N) A) -> (B) { B(i) = A(i) where i in 0..N }",
        "def f(half(N) A) -> (B) { B(i) = A(i) }",
        "def f(float(N) A) -> (B) { B(i) = A(i) =< 1.0 ? 1.0 : 0.0 }",
    ],
)
def test_what_other_languages_write_is_understood_where_it_can_mean_one_thing(text: str) -> None:
    assert isinstance(tcjax.kernel(text), tcjax.Kernel)
