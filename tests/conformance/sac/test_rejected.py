"""What is refused, and with which kind of error."""

import warnings
from collections.abc import Callable
from typing import Any

import jax
import pytest

import tcjax
from tcjax.diagnostics import CompileError, CompileWarning

from .case import arrays, jitted
from .rejected import KINDS, STATIC, Refusal

_TABLES = [(kind, refusal) for kind, table in KINDS.items() for refusal in table]
_CALLS = [(kind, refusal) for kind, refusal in _TABLES if refusal.arguments is not None]


def _name(value: object) -> str:
    return str(value)


def refused(refusal: Refusal, call: Callable[..., Any] | None = None) -> CompileError:
    """The error of the text, or of a call with the arguments."""
    with pytest.raises(CompileError) as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore", CompileWarning)
        kernel = tcjax.kernel(refusal.text, **({"fns": refusal.fns} if refusal.fns else {}))
        if refusal.arguments is not None and call is not None:
            call(kernel, arrays(refusal.arguments))
    return caught.value


def check(error: CompileError, kind: str, refusal: Refusal) -> None:
    assert error.kind == kind, str(error)
    assert not refusal.code or error.code == refusal.code, str(error)
    assert error.message and error.help


@pytest.mark.parametrize(("kind", "refusal"), _TABLES, ids=_name)
def test_a_mistake_has_its_kind(kind: str, refusal: Refusal) -> None:
    error = refused(refusal, lambda kernel, arguments: kernel(*arguments))

    check(error, kind, refusal)


@pytest.mark.parametrize(("kind", "refusal"), _CALLS, ids=_name)
def test_a_mistake_has_its_kind_under_jit(kind: str, refusal: Refusal) -> None:
    error = refused(refusal, jitted)

    check(error, kind, refusal)


@pytest.mark.parametrize("refusal", STATIC, ids=str)
def test_a_tracer_decides_no_shape(refusal: Refusal) -> None:
    error = refused(refusal, jitted)

    check(error, "static", refusal)


@pytest.mark.parametrize("refusal", STATIC, ids=str)
def test_a_value_that_jit_does_not_see_decides_a_shape(refusal: Refusal) -> None:
    values = arrays(refusal.arguments or ())
    kernel = tcjax.kernel(refusal.text)

    assert jax.jit(lambda: kernel(*values))().shape == kernel(*values).shape
