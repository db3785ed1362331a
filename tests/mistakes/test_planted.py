"""Messages name the fix: the help for every planted mistake mentions what the corrected program has."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
import pytest

import tcjax
from tcjax.diagnostics import CompileError, CompileWarning

from .following import follow
from .planted import MISTAKES, Mistake

ERRORS = [mistake for mistake in MISTAKES if not mistake.warns]
WARNINGS = [mistake for mistake in MISTAKES if mistake.warns]


def compiled(text: str, shapes: Sequence[Any], named: Mapping[str, Any]) -> None:
    """Types the program and checks every read for arguments of these shapes."""
    kernel = tcjax.kernel(text)
    kernel.ranges(*map(argument, shapes), **{name: argument(value) for name, value in named.items()})


def argument(value: Any) -> Any:
    return jax.ShapeDtypeStruct(value, "float32") if isinstance(value, tuple) else value


def refused(mistake: Mistake) -> CompileError:
    """The error, ignoring warnings."""
    with pytest.raises(CompileError) as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore", CompileWarning)
        compiled(mistake.wrong, mistake.shapes, mistake.named)
    return caught.value


def warned(mistake: Mistake) -> CompileWarning:
    """The first warning."""
    with pytest.warns(CompileWarning) as caught:
        compiled(mistake.wrong, mistake.shapes, mistake.named)
    found = caught[0].message
    assert isinstance(found, CompileWarning)
    return found


def test_there_are_more_than_twenty_kinds() -> None:
    assert len({mistake.kind for mistake in MISTAKES}) == len(MISTAKES) > 20


@pytest.mark.parametrize("mistake", ERRORS, ids=str)
def test_the_help_names_the_fix(mistake: Mistake) -> None:
    assert mistake.mends in refused(mistake).help


@pytest.mark.parametrize("mistake", WARNINGS, ids=str)
def test_the_warning_names_the_fix(mistake: Mistake) -> None:
    assert mistake.mends in warned(mistake).help


@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
def test_the_program_that_was_meant_compiles(mistake: Mistake) -> None:
    shapes = mistake.shapes if mistake.right_shapes is None else mistake.right_shapes
    named = mistake.named if mistake.right_named is None else mistake.right_named

    with warnings.catch_warnings():
        warnings.simplefilter("error", CompileWarning)
        compiled(mistake.right, shapes, named)


@pytest.mark.parametrize("mistake", [mistake for mistake in MISTAKES if mistake.follow], ids=str)
def test_who_writes_what_the_help_quotes_computes_what_was_meant(mistake: Mistake) -> None:
    assert mistake.follow is not None
    said = warned(mistake) if mistake.warns else refused(mistake)
    shapes = mistake.shapes if mistake.right_shapes is None else mistake.right_shapes
    generator = np.random.default_rng(0)
    arrays = [generator.uniform(0.1, 1.0, s).astype(np.float32) if isinstance(s, tuple) else s for s in shapes]

    followed = follow(mistake.wrong, said.help, said.span, mistake.follow)

    with warnings.catch_warnings():
        warnings.simplefilter("error", CompileWarning)
        found = tcjax.kernel(followed).interpret(*arrays)
    np.testing.assert_allclose(found, mistake.follow.meant(*arrays), rtol=1e-5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(float(N) A) -> (B) { B(i) = A(i) > 0.0 and not (A(i) > 1.0) ? 1.0 : 0.0 }", [0, 1, 0]),
        ("def f(float(N) A) -> B { B(i) = A(i); }", [-0.5, 1, 1.5]),
        ("def f(float(N) A) -> (B) { B(i) = A(i) where i in 0..N }", [-0.5, 1, 1.5]),
        ("def f(half(N) A) -> (B) { B(i) = A(i) }", [-0.5, 1, 1.5]),
        ("def f(float(N) A) -> (B) { B(i) = A(i) =< 1.0 ? 1.0 : 0.0 }", [1, 1, 0]),
    ],
)
def test_what_other_languages_write_is_understood_where_it_can_mean_one_thing(text: str, expected: list) -> None:
    given = np.array([-0.5, 1, 1.5], "float16" if "half" in text else "float32")

    assert tcjax.kernel(text).interpret(given).tolist() == expected
