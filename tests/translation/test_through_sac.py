"""TC programs that are written as SaC and elaborated again are the same programs."""

import warnings

import numpy as np
import pytest

import tcjax
from tcjax.diagnostics import CompileWarning
from tcjax.interpreter.interpret import interpret
from tcjax.ranges import Bound, bind
from tcjax.syntax import sac
from tcjax.transforms.canonical import canonical
from tcjax.translation import to_sac, to_tc

from .programs import Called, elaborated
from .test_sac import SAID

# What changes form: SaC's lets are values, so a copy is substituted where it is read, and a partial update is a new
# array; a called definition is inlined; a diagonal is a conditional.
OTHERWISE = {
    "golden: call",
    "inference ambiguous: a size in a range does not spoil the next statement",
    "inference ambiguous: no elements",
    "inference several: a longer operand is cut to the tensor",
    "inference several: a repeated index on the left writes the diagonal",
    "inference several: a shifted result is read at its logical indices",
    "inference several: a shorter operand updates the part that it reaches",
    "inference several: a window over a shifted result",
    "inference several: an annotation that a range fills in part",
    "inference several: another name for the index",
    "inference several: concatenation by constant indices on the left",
    "inference several: the order of a tensor's indices is that of its dimensions",
    "inference where: a size of an earlier result",
    "inference where: an empty range of a reduction",
    "inference worked: 13 padding by a shift",
    "inference worked: 32 logical indices line up",
    "language division: a remainder of a negative float",
    "language division: a remainder of floats",
    "language spelling: a call of another definition",
    "language spelling: a temporary",
    "language spelling: two statements on a line",
    "language spelling: values of indices alone",
    "language statements: a guard on a triangle",
    "language statements: accumulating over a defined tensor",
    "language statements: an update after a read",
    "language statements: an update that reads what it does not write",
    "language statements: integers' identities",
    "language statements: keeping the greater",
    "language statements: starting again",
    "language statements: their identities",
    "language types: a later float makes the result float",
    "language types: a sum of bool",
    "language types: booleans add modulo two",
    "layers lookups: pairs within segments",
    "layers networks: a dilated layer over time",
    "layers networks: a gated dilated layer with skip connections",
    "layers networks: fully connected from the bias on",
    "layers networks: layers by calls",
    "layers norms: moments",
    "layers pointwise: a transposed copy of a result",
    "layers pointwise: copies of copies",
}
BOUND = [program for program in SAID if not program.has_initial]


def bound(program: Called) -> Bound:
    return bind(program.function, {name: array.shape for name, array in program.arrays.items()})


def through_sac(program: Called) -> Bound:
    """The program's translation, elaborated and bound for the same arguments."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompileWarning)
        function = tcjax.kernel(sac.write(to_sac(program.function))).ir(*program.arguments)
    return bind(function, {p.name: a.shape for p, a in zip(function.parameters, program.arguments, strict=True)})


def values(bound: Bound, program: Called) -> list[np.ndarray]:
    names = [parameter.name for parameter in bound.function.parameters]
    return list(map(np.asarray, interpret(bound, dict(zip(names, program.arguments, strict=True)))))


def agree(found: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    for result, value in zip(found, wanted, strict=True):
        assert result.shape == value.shape and result.dtype == value.dtype
        np.testing.assert_allclose(result, value, 1e-4, 1e-4)


@pytest.mark.parametrize("program", [p for p in BOUND if p.name not in OTHERWISE], ids=str)
def test_a_program_is_the_same_program_in_sac(program: Called) -> None:
    here, there = bound(program), through_sac(program)

    assert canonical(there.function, there) == canonical(here.function, here)


@pytest.mark.parametrize("program", [p for p in BOUND if p.is_small and p.name in OTHERWISE], ids=str)
def test_a_program_of_another_form_computes_the_same_in_sac(program: Called) -> None:
    agree(values(through_sac(program), program), values(bound(program), program))


@pytest.mark.parametrize("program", [p for p in BOUND if p.is_small], ids=str)
def test_what_sac_elaborates_to_can_be_written_as_tc(program: Called) -> None:
    there = through_sac(program)

    again = elaborated(to_tc(there.function), program.arguments)

    shapes = {p.name: a.shape for p, a in zip(again.parameters, program.arguments, strict=True)}
    agree(values(bind(again, shapes), program), values(there, program))
