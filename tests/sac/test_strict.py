"""``strict=True``: what SaC itself refuses is refused, as the strict reference says it, and nothing else."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import tcjax
from tcjax.syntax import sac
from tests.agreement.comparing import agree
from tests.effort import examples, phases
from tests.sac.reference import SacError, evaluate
from tests.sac.strategies import Case, kind_of, names_in, need_not_read, programs

SOME = examples(30)


def grid(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int), dtype="int32").reshape(shape)


A, B, C = grid(2, 3), np.array([10, 20], "int32"), grid(2, 3, 4)
ARGUMENTS = {"a": A, "b": B, "c": C}

# Find-shapes through arrays that mention own variables (X1).
OWN = {
    "a selection of a selection": "{ [i,j] -> a[i][j] }",
    "a selection of a sum": "{ [i,j] -> (a[i] + a[0])[j] }",
    "a selection of a function of a selection": "{ [i,j] -> reverse(a[i])[j] }",
    "a selection of a text's function": "int[*] f(int[*] x) { return x + 1; } { [i,j] -> f(a[i])[j] }",
    "three selections": "{ [i,j,k] -> c[i][j][k] }",
    "a selection of two": "{ [i,j,k] -> c[i,j][k] }",
    "a vector of a vector": "{ [i,j] -> [a[i,0], i][j] }",
    "an own variable in the cell of a comprehension": "{ [i,j] -> { [k] -> a[i,k] }[j] }",
    "an own index vector": "{ iv -> a[iv] + (a[iv] + a)[iv] }",
}
# Mixed lengths of indices (X2).
MIXED = {
    "rows before elements": "{ [i] -> 0 * a[i] | [i] < [1]; [i,j] -> a[i,j] }",
    "elements before rows": "{ [i,j] -> 7 | [i,j] < [1,2]; [i] -> a[i] }",
    "a literal row before a copy": "{ [i] -> [7,8,9] | [1] <= [i] < [2]; iv -> a[iv] }",
    "columns before elements": "{ [.,j] -> [1,2] | [j] < [1]; [i,j] -> a[i,j] }",
    "everything before rows": "{ [] -> a + 1; [i] -> a[i] }",
    "two lengths before a third": "{ [i] -> a[i] | [i] < [1]; [i,j] -> 0 | [i,j] < [2,1]; iv -> a[iv] }",
    "a shorter index vector": "{ iv -> a[iv] + 1 | iv < [1]; iv -> a[iv] }",
}
# What both accept, near to the above.
BOTH = {
    "an outer index in the array": "{ [i] -> { [j] -> a[i][j] } }",
    "a bound beside it": "{ [i,j] -> a[i][j] | [i,j] < [2,3] }",
    "a bound by shape": "{ [i,j] -> a[i][j] | [i,j] < shape(a) }",
    "both ways to select": "{ [i,j] -> a[i][j] + a[i,j] }",
    "an array of no variable": "{ [i,j] -> (a + 1)[i,j] }",
    "equal lengths with dots": "{ [.,j] -> [1,2] | [j] < [1]; [.,j] -> a[.,j] }",
    "partitions of one length": "{ [i,j] -> 7 | [i,j] < [1,2]; iv -> a[iv] }",
    "partitions of one length, shorter than the rank": "{ [i] -> 0 * a[i] | [i] < [1]; [i] -> a[i] }",
    "a shadowed name": "{ [i] -> sum({ [i] -> b[i] }) + b[i] }",
    "a fold over the cells": "{ [i] -> sum(a[i]) }",
    "a trailing semicolon": "{ [i] -> b[i]; }",
    "a pattern of dots only": "{ [.,.] -> a }",
    "an int beside a float": "{ [i] -> b[i] * 1.5 }",
}
# Two mistakes: what is wrong in a body is told before the length of its index.
TWO = {
    "a mistyped body beside another length": "{ iv -> [1.5, iv[0]] | [0] <= iv < [2]; [] -> [1, 2] }",
    "uneven cells beside another length": (
        "{ iv -> { [j] -> 1 | [j] < [1]; [j] -> [1, 2] } | [0] <= iv < [2]; [] -> a }"
    ),
}
# Mistakes that are told wherever they are.
WRONG = {
    "an empty index of floats": "{ v -> b[0] | v < [] ; v -> 1[shape(1) - 1.5] | v < [] }",
    "steps of another length in bounds that move": "{ [i] -> sum({ [k] -> 1 | [k] < [i] step [] }) | [i] < [3] }",
    "widths of another length in bounds that move": (
        "{ [i] -> sum({ [k] -> 1 | [k] < [i] step [2] width [1,1] }) | [i] < [3] }"
    ),
    "a scalar step in bounds that move": "{ [i] -> sum({ [k] -> 1 | [k] < [i] step 2 }) | [i] < [3] }",
}
TEXTS = OWN | MIXED | BOTH | TWO | WRONG


def outcome(text: str, strict: bool) -> Any:
    """The values, or the kind of mistake."""
    try:
        used = names_in(sac.read(text))
        given = {name: array for name, array in ARGUMENTS.items() if name in used}
        return tcjax.kernel(text, dialect="sac", strict=strict)(**given)
    except tcjax.CompileError as error:
        return error.kind


def wanted(text: str, strict: bool) -> Any:
    try:
        return evaluate(sac.read(text), ARGUMENTS, strict=strict)
    except SacError as error:
        return error.kind


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", TEXTS)
def test_the_strict_notation_is_that_of_the_reference(name: str, strict: bool) -> None:
    expected = wanted(TEXTS[name], strict)

    found = outcome(TEXTS[name], strict)

    if isinstance(expected, str) or isinstance(found, str):
        assert isinstance(found, str) and found == expected, (found, expected)
    else:
        agree(found, expected)


@pytest.mark.parametrize("name", [name for name in OWN if "index vector" not in name and "of two" not in name])
def test_an_array_that_mentions_an_own_variable_shows_nothing_to_the_strict(name: str) -> None:
    assert outcome(OWN[name], strict=True) == "bound"
    assert not isinstance(outcome(OWN[name], strict=False), str)


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_has_a_kind(name: str) -> None:
    assert isinstance(wanted(WRONG[name], strict=True), str)


@pytest.mark.parametrize("name", MIXED)
def test_partitions_of_different_lengths_are_refused_by_the_strict(name: str) -> None:
    assert isinstance(outcome(MIXED[name], strict=True), str)
    assert not isinstance(outcome(MIXED[name], strict=False), str)


@pytest.mark.parametrize("name", BOTH)
def test_what_sac_accepts_has_the_same_values_with_strict(name: str) -> None:
    strict, lenient = (outcome(BOTH[name], strict) for strict in (True, False))

    assert not isinstance(strict, str)
    np.testing.assert_array_equal(strict, lenient)


@settings(max_examples=SOME, phases=phases())
@given(programs())
def test_a_random_program_means_with_strict_what_the_strict_reference_says(case: Case) -> None:
    check(case)


@settings(max_examples=SOME, phases=phases())
@given(programs(mistakes=True))
def test_a_random_mistake_has_with_strict_the_kind_of_the_strict_reference(case: Case) -> None:
    check(case)


def check(case: Case) -> None:
    try:
        expected = evaluate(case.program, case.arguments, strict=True)
    except SacError as error:
        expected = error.kind
    try:
        found = tcjax.kernel(case.text, dialect="sac", strict=True)(**case.arguments)
    except tcjax.CompileError as error:
        found = kind_of(error)

    is_empty = any(array.size == 0 for array in case.arguments.values())
    if isinstance(expected, str) and expected == "index" and need_not_read(case, found):
        return
    if found == "name" and is_empty:
        # The reference looks for a name when it computes an element.
        return
    if isinstance(expected, str) and not isinstance(found, str) and is_empty and "?" in case.text:
        # A reduction over nothing is known, and so may be a condition that it stands in: one branch is not looked at.
        return
    if isinstance(expected, str) or isinstance(found, str):
        # Of two mistakes, one of which strict ones alone see, either may be told.
        assert isinstance(found, str) and isinstance(expected, str) and found in (expected, case.kind), (
            found,
            expected,
        )
    else:
        agree(found, expected)
