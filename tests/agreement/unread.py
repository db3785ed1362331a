"""Elements that no point reads contribute nothing: infinities and NaN there change no value and no derivative."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tcjax import interpreter
from tests.strategies.programs import Case

from .comparing import agree, loosest_of
from .compiling import quickly, whole

ODD = (np.inf, -np.inf, np.nan)


class Watched(np.ndarray):
    """An argument that marks the elements that are read; a copy of it does not."""

    seen: np.ndarray | None = None

    def __getitem__(self, place: Any) -> Any:
        if self.seen is not None:
            self.seen[place] = True
        return self.view(np.ndarray)[place]


@contextmanager
def _watching(seen: dict[str, np.ndarray]) -> Iterator[None]:
    """The interpreter marks in `seen` what it reads of the arguments of the outermost definition."""
    module = sys.modules[interpreter.interpret.__module__]
    given = module._argument

    def watched(tensor: Any, array: Any, bound: Any) -> Any:
        found = given(tensor, array, bound).view(Watched)
        # A called definition is passed what it reads.
        found.seen = (
            array.seen if isinstance(array, Watched) else seen.setdefault(tensor.name, np.zeros(found.shape, bool))
        )
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_argument", watched)
        yield


def poisoned(case: Case) -> dict[str, np.ndarray]:
    """The float arguments with unread elements, which are set to infinity or NaN."""
    seen: dict[str, np.ndarray] = {}
    with _watching(seen):
        case.kernel.interpret(*case.arguments.values(), **case.initial)
    rng = np.random.default_rng(len(case.text))
    found = {}
    for name, array in case.arguments.items():
        if array.dtype.kind not in "biu" and array.dtype.kind != "c" and not seen[name].all():
            # One kind of value, or all: an error with one may be hidden by another.
            kinds = ODD if rng.integers(2) else (ODD[rng.integers(3)],)
            found[name] = np.where(seen[name], array, rng.choice(np.array(kinds), array.shape).astype(array.dtype))
    return found


def values(case: Case) -> str | None:
    odd = poisoned(case)
    if not odd:
        return "all is read"
    arguments = {**case.arguments, **odd}
    expected = case.kernel.interpret(*case.arguments.values(), **case.initial)
    agree(case.kernel(*arguments.values(), **case.initial), expected, loosest=loosest_of(case))
    return None


def gradients(case: Case) -> str | None:
    """Forward and reverse derivatives are those of the case with finite unread elements."""
    odd = poisoned(case)
    if not odd:
        return "all is read"
    everything = {**case.arguments, **case.initial}
    moving = {name: array for name, array in everything.items() if array.dtype.kind not in "biuc"}

    def floats(moved: Mapping[str, Any]) -> tuple[Any, ...]:
        results = case.kernel(**{**everything, **moved})
        results = results if isinstance(results, tuple) else (results,)
        return tuple(r for r in results if jnp.issubdtype(r.dtype, jnp.floating))

    def derivatives(moved: Mapping[str, Any]) -> Any:
        results, back = jax.vjp(floats, moved)
        ways = {name: jnp.ones_like(array) for name, array in moved.items()}
        return jax.jvp(floats, (moved,), (ways,))[1], back(tuple(jnp.ones_like(r) for r in results))[0]

    with quickly():
        function = whole(derivatives, case.text)
        forward, reverse = function(moving)
        odd_forward, odd_reverse = function({**moving, **odd})
    for number, (found, expected) in enumerate(zip(odd_forward, forward, strict=True)):
        _close(found, expected, f"forward, result {number}")
    for name, expected in reverse.items():
        _close(odd_reverse[name], expected, f"by {name}")
    return None


def _close(found: Any, expected: Any, what: str) -> None:
    """Equal up to the order of a sum: with data that are not finite, sums are added term by term."""
    expected = np.asarray(expected, "float64")
    size = np.max(np.abs(expected), initial=1.0, where=np.isfinite(expected))
    np.testing.assert_allclose(np.asarray(found, "float64"), expected, rtol=1e-4, atol=1e-5 * size, err_msg=what)
