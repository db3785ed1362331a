"""Random programs written in another notation and read again compute the same."""

import runpy
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import tcjax
from tcjax import CompileError, CompileWarning
from tests.agreement.comparing import agree
from tests.effort import examples, phases
from tests.sac import strategies as sac
from tests.strategies.nests import nests
from tests.strategies.programs import Case, programs

# Nothing is compiled; the default profile takes a second for each of them.
SOME = examples(20)
CHECKS = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)
random = settings(max_examples=SOME, phases=phases(), suppress_health_check=CHECKS)


def read(text: str, dialect: str, folder: Path) -> tcjax.Kernel:
    """The kernel of a text; of Python functions, the last one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompileWarning)
        if dialect != "python":
            return tcjax.kernel(text)
        file = folder / "program.py"
        file.write_text(f"import tcjax\n\n{text}")
        made = [value for value in runpy.run_path(str(file)).values() if isinstance(value, tcjax.Kernel)]
        return made[-1]


def check(write: Callable[[], str], dialect: str, folder: Path, call: Callable[[tcjax.Kernel], object]) -> None:
    """The translation computes the same as the kernel itself, by `call`; a refusal is not a failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            text = write()
        except CompileError as error:
            assert error.code in ("TC0109", "TC0203", "TC0402"), error
            return
        call(read(text, dialect, folder))


@pytest.mark.parametrize("dialect", ["tc", "python", "sac"])
def test_a_random_program_computes_the_same_in_another_notation(
    dialect: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("programs")

    @random
    @given(programs() | nests())
    def run(case: Case) -> None:
        # SaC has no initial values.
        assume(dialect != "sac" or not case.initial)
        expected = case.kernel.interpret(**case.arguments, **case.initial)

        def compare(kernel: tcjax.Kernel) -> None:
            agree(kernel.interpret(**case.arguments, **case.initial), expected, loosest="bfloat16")

        check(lambda: case.kernel.to(dialect), dialect, folder, compare)

    run()


@pytest.mark.parametrize("dialect", ["tc", "python"])
def test_a_random_sac_program_computes_the_same_in_index_notation(
    dialect: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("programs")

    @random
    @given(sac.programs())
    def run(case: sac.Case) -> None:
        assume(case.kind is None and not case.static and all(array.size for array in case.arguments.values()))
        written = tcjax.kernel(case.text, dialect="sac")

        def compare(kernel: tcjax.Kernel) -> None:
            agree(kernel.interpret(**case.arguments), case.expected)

        check(lambda: written.to(dialect, **case.arguments), dialect, folder, compare)

    run()


def test_a_difference_would_be_noticed(tmp_path: Path) -> None:
    A = np.array([1, 2], "float32")

    def compare(kernel: tcjax.Kernel) -> None:
        agree(kernel.interpret(A), A)

    check(lambda: "def f(float(N) A) -> (O) { O(i) = A(i) }", "tc", tmp_path, compare)
    with pytest.raises(AssertionError):
        check(lambda: "def f(float(N) A) -> (O) { O(i) = A(i) + 1 }", "tc", tmp_path, compare)
