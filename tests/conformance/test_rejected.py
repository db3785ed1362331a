"""What is refused, and with which message."""

import warnings
from typing import Any

import pytest

import tcjax
from tcjax.diagnostics import CompileError, CompileWarning

from . import rejected
from .program import kernel, real
from .rejected import Refusal


def refused(refusal: Refusal, **named: Any) -> CompileError:
    with pytest.raises(CompileError) as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore", CompileWarning)
        compiled = kernel(refusal.text)
        if refusal.arguments is not None:
            compiled(
                *(real(*a, seed=n) if isinstance(a, tuple) else a for n, a in enumerate(refusal.arguments)), **named
            )
    return caught.value


def check(refusal: Refusal, **named: Any) -> None:
    error = refused(refusal, **named)

    assert error.code == refusal.code, str(error)
    assert refusal.told in f"{error.message} {error.help}"
    assert error.help


@pytest.mark.parametrize("refusal", rejected.SYNTAX, ids=str)
def test_a_text_that_is_no_program(refusal: Refusal) -> None:
    check(refusal)


@pytest.mark.parametrize("refusal", rejected.NAMES, ids=str)
def test_a_name_that_does_not_fit(refusal: Refusal) -> None:
    check(refusal)


@pytest.mark.parametrize("refusal", rejected.INDICES, ids=str)
def test_an_index_or_a_subscript_that_does_not_fit(refusal: Refusal) -> None:
    check(refusal)


@pytest.mark.parametrize("refusal", rejected.TYPES, ids=str)
def test_a_type_that_does_not_fit(refusal: Refusal) -> None:
    check(refusal)


@pytest.mark.parametrize("refusal", rejected.RANGES, ids=str)
def test_a_range_that_cannot_be(refusal: Refusal) -> None:
    check(refusal)


@pytest.mark.parametrize("refusal", rejected.CALLS, ids=str)
def test_an_argument_that_does_not_fit(refusal: Refusal) -> None:
    check(refusal)


@pytest.mark.parametrize(("refusal", "named"), rejected.KEYWORDS, ids=str)
def test_a_named_argument_that_does_not_fit(refusal: Refusal, named: dict[str, Any]) -> None:
    check(refusal, **named)


@pytest.mark.parametrize("refusal", rejected.SYNTAX, ids=str)
def test_loading_refuses_the_same_texts(refusal: Refusal) -> None:
    if refusal.text.strip():
        with pytest.raises(CompileError) as caught:
            tcjax.load(refusal.text)
        assert caught.value.code == refusal.code
