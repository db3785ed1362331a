"""``%%tc`` in a shell of IPython: kernels appear by name, mistakes without frames."""

import re
from collections.abc import Iterator

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import tcjax
from tests.notebook.shells import fresh_shell

MM = "def mm(float(M,K) A, float(K,N) B) -> (C) {\n  C(m,n) +=! A(m,k) * B(k,n)\n}\n"
TWICE = "def twice(float(N) x) -> (y) { y(i) = x(i) + x(i) }\n"


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    with fresh_shell() as made:
        yield made


def test_each_definition_becomes_a_kernel_under_its_name(shell: InteractiveShell) -> None:
    with capture_output():
        done = shell.run_cell(f"%%tc\n{MM}{TWICE}")

    assert done.success
    np.testing.assert_array_equal(shell.user_ns["twice"](np.arange(3.0, dtype=np.float32)), [0, 2, 4])
    assert str(shell.user_ns["mm"]).startswith("def mm")


def test_the_formulas_are_shown_unless_the_cell_is_quiet(shell: InteractiveShell) -> None:
    with capture_output() as shown:
        shell.run_cell(f"%%tc\n{MM}{TWICE}")
    with capture_output() as quiet:
        shell.run_cell(f"%%tc --quiet\n{MM}")

    assert ["<math" in output.data["text/html"] for output in shown.outputs] == [True, True]
    assert quiet.outputs == []


def test_a_library_has_the_name_that_the_cell_gives_it(shell: InteractiveShell) -> None:
    with capture_output():
        shell.run_cell(f"%%tc --name lib\n{MM}{TWICE}")

    assert list(shell.user_ns["lib"]) == ["mm", "twice"]
    assert isinstance(shell.user_ns["lib"], tcjax.Library)


@pytest.mark.parametrize(("line", "text"), [("", "{ [i] -> a[i] + 1 }"), ("--dialect tc", "y(i) = a(i) + 1")])
def test_a_text_without_a_definition_is_called_kernel(shell: InteractiveShell, line: str, text: str) -> None:
    with capture_output():
        done = shell.run_cell(f"%%tc {line}\n{text}\n")

    assert done.success
    np.testing.assert_array_equal(shell.user_ns["kernel"](np.arange(3)), [1, 2, 3])


def test_a_mistake_is_shown_with_its_line_of_the_cell_and_without_frames(shell: InteractiveShell) -> None:
    with capture_output() as shown:
        done = shell.run_cell("%%tc\ndef f(float(M,N) A) -> (B) {\n  B(m) = A(m,n)\n}\n")

    said = shown.stdout + shown.stderr
    assert isinstance(done.error_in_exec, tcjax.CompileError)
    assert "--> cell:3:" in said and "^" in said and "help:" in said
    assert "Traceback" not in said and ".py" not in said


@pytest.mark.parametrize("what", ["mm.ir()", "mm.plan(np.ones((2, 3)), np.ones((3, 4)))"])
def test_a_plan_and_a_typed_program_are_shown_as_they_are_printed(shell: InteractiveShell, what: str) -> None:
    with capture_output():
        shell.run_cell(f"%%tc\n{MM}")
        shell.run_cell("import numpy as np")

    with capture_output() as shown:
        shell.run_cell(what)
    with capture_output() as printed:
        shell.run_cell(f"print({what})")

    assert shown.stdout.endswith(printed.stdout) and "mm(" in printed.stdout


@pytest.mark.parametrize(
    "cell",
    [
        "kernel = tcjax.kernel('y(i) = x(i,j)')",
        "mm(np.ones((2, 3)), np.ones((4, 5)))",
        "jax.jit(jax.grad(lambda A: mm(A, np.ones((4, 5))).sum()))(np.ones((2, 3)))",
        "tcjax.kernel('y(i) = x(I(i))', checked=True)(np.ones(3), np.array([7]))",
    ],
)
def test_a_mistake_in_python_is_shown_with_the_lines_of_its_callers_alone(shell: InteractiveShell, cell: str) -> None:
    with capture_output() as shown:
        shell.run_cell(f"%%tc\n{MM}")
        shell.run_cell(f"import jax, tcjax\nimport numpy as np\n{cell}\n")

    said = re.sub(r"\x1b\[[\d;]*m", "", shown.stdout + shown.stderr)
    assert f"3 {cell}" in said and "\n  |" in said
    assert ".py" not in said and "site-packages" not in said


def test_an_option_that_does_not_exist_is_refused_in_a_line(shell: InteractiveShell) -> None:
    with capture_output() as shown:
        done = shell.run_cell(f"%%tc --fast\n{MM}")

    assert not done.success
    assert (shown.stdout + shown.stderr).strip().splitlines()[-1] == "UsageError: unrecognized arguments: --fast"
