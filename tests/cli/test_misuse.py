"""Any input gives an exit code, and never a traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .commands import MM, WRONG, Shell

ROOT = Path(__file__).parents[2]
NAMES = ["check", "run", "explain", "bench", "tune", "grad", "fmt", "translate", "errors", "completion"]


def in_a_process(*args: str, **options: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-W", "error", *args], capture_output=True, text=True, env=environment, check=False, **options
    )  # type: ignore[call-overload]


@pytest.mark.parametrize("name", NAMES)
def test_the_help_of_every_command_has_an_example(shell: Shell, name: str) -> None:
    result = shell(name, "--help")

    assert result.exit_code == 0
    assert "Example:" in result.stdout and f"tcjax {name}" in result.stdout


def test_the_help_names_every_command_and_the_version_is_the_packages(shell: Shell) -> None:
    import tcjax

    listed = shell("--help").stdout

    assert all(f"\n  {name} " in listed for name in NAMES)
    assert shell("--version").stdout == f"tcjax {tcjax.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["frobnicate"], "No such command 'frobnicate'"),
        (["run"], "Missing argument 'FILE'"),
        (["run", "mm.tc", "--frob"], "No such option"),
        (["run", "missing.tc"], "missing.tc: No such file or directory"),
        (["check", "."], ".: Is a directory"),
        (["run", "mm.tc", "--def", "m"], "mm.tc: no definition `m`; did you mean `mm`?"),
        (["run", "two.tc"], "two.tc has several definitions; choose one with --def: f, g"),
        (["run", "latin.tc"], "latin.tc: not UTF-8 text (byte 2)"),
        (["fmt", "latin.tc"], "latin.tc: not UTF-8 text (byte 2)"),
        (["run", "empty.py"], "empty.py: no function under @tcjax.kernel"),
        (["run", "calls.py"], "calls.py:8: `f` calls the Python function `own`"),
        (["run", "mm.tc", "--input", "A=[[1]]"], "mm.tc: no array for `B`; add --input B=..."),
        (["run", "mm.tc", "--input", "a=[[1]]"], "`mm` has no argument `a`"),
        (["run", "mm.tc", "--size", "B=x"], "'x' is not a size; write a whole number, B=6"),
        (["run", "mm.tc", "--memory-limit", "many"], "memory_limit='many' is not an option"),
        (["translate", "mm.tc"], "Missing option '--to'. Choose from: tc, sac, python, latex"),
        (["check", "mm.tc", "--shapes", "Q=2x3"], "--shapes: nothing is called `Q` in these files"),
        (["run", "mm.tc", "--input", "A=words.npy"], "words.npy: is not a NumPy file"),
        (["run", "mm.tc", "--input", "A=empty.csv"], "empty.csv: holds no numbers"),
        (["run", "mm.tc", "--input", "A=[[1]]", "B=[[1]]", "--out", "mm.tc"], "--out mm.tc: this is a file"),
        (["grad", "mm.tc", "--wrt", "Q"], "its float parameters are `A`, `B`"),
        (["explain", "a\0b"], "null"),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(shell: Shell, arguments: list[str], said: str) -> None:
    shell.write("mm.tc", MM)
    shell.write("two.tc", "def f(float(N) A) -> (B) { B(i) = A(i) }\ndef g(float(N) A) -> (B) { B(i) = A(i) }\n")
    shell.write("latin.tc", b"# \xe9\n")
    shell.write("empty.py", "x = 1\n")
    shell.write("words.npy", "words")
    shell.write("empty.csv", "\n")
    shell.write(
        "calls.py",
        "import tcjax\n\n\ndef own(x):\n    return x\n\n\n"
        "@tcjax.kernel\ndef f(A):\n    B[i] = own(A[i])\n    return B\n",
    )

    result = shell(*arguments)

    assert result.exit_code == 2
    assert said in result.stderr and result.stdout == ""
    assert len(result.stderr.splitlines()) == 1 or "help: " in result.stderr


def test_an_empty_file_is_a_mistake_with_a_code(shell: Shell) -> None:
    shell.write("empty.tc", "")

    assert "TC0104" in shell("run", "empty.tc").stderr
    assert shell("check", "empty.tc").exit_code == 1


def test_an_interruption_ends_with_130(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tcjax.cli.texts.read_text", interrupted)

    result = shell("check", "mm.tc")

    assert result.exit_code == 130 and result.stderr.strip() == "Error: interrupted"


def test_an_unexpected_failure_is_one_line_that_says_how_to_see_more(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ArithmeticError("one\ntwo")

    monkeypatch.setattr("tcjax.cli.texts.read_text", broken)

    result = shell("check", "mm.tc")

    assert result.exit_code == 70
    assert result.stderr == "Error: ArithmeticError: one (tcjax --traceback ... shows where)\n"


def test_colour_is_for_terminals_and_not_where_it_is_unwanted(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.write("rows.tc", WRONG)

    coloured = shell("check", "rows.tc", color=True)
    monkeypatch.setenv("NO_COLOR", "1")
    unwanted = shell("check", "rows.tc", color=True)
    plain = shell("check", "rows.tc")

    assert "\x1b[" in coloured.stdout
    assert "\x1b[" not in unwanted.stdout + plain.stdout


def test_python_m_tcjax_is_the_command_and_its_help_says_tcjax() -> None:
    ran = in_a_process("-m", "tcjax", "check")

    assert (ran.returncode, ran.stderr) == (2, "Error: Missing argument 'FILE...'. (tcjax check --help shows how)\n")


def test_closed_streams_are_no_traceback() -> None:
    command = f'"{sys.executable}" -m tcjax errors TC0401 >&-; "{sys.executable}" -m tcjax check - <&-'

    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=environment, check=False)

    assert (ran.returncode, ran.stderr) == (2, "Error: -: there is no standard input\n")


def test_help_and_check_do_not_wait_for_jax(shell: Shell) -> None:
    shell.write("rows.tc", WRONG)
    program = (
        "import sys\nfrom tcjax.cli import main\n"
        "try:\n    main()\nfinally:\n    print([name for name in ('jax', 'numpy') if name in sys.modules])"
    )

    helped = in_a_process("-c", program, "--help")
    checked = in_a_process("-c", program, "check", str(shell.folder / "rows.tc"))

    assert helped.stdout.splitlines()[-1] == "[]" and helped.returncode == 0
    assert "'jax'" not in checked.stdout.splitlines()[-1] and checked.returncode == 1


def test_importing_the_package_does_not_import_the_command() -> None:
    ran = in_a_process("-c", "import sys, tcjax; tcjax.kernel; print('click' in sys.modules)")

    assert ran.stdout == "False\n", ran.stderr


def test_a_reader_that_goes_away_ends_the_command_quietly() -> None:
    command = f'set -o pipefail; "{sys.executable}" -c "from tcjax.cli import main; main()" errors | true'

    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=environment, check=False)

    assert ran.stderr == "" and ran.returncode in (0, 1)


def test_an_interrupted_process_says_so_in_one_line(shell: Shell) -> None:
    shell.write("mm.tc", MM)
    # Like a terminal, while the command reads standard input.
    program = (
        "import os, signal, sys, threading\nfrom tcjax.cli import main\n"
        "threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT)).start()\nmain()"
    )

    with subprocess.Popen(
        [sys.executable, "-c", program, "check", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        said = process.stderr.read()
        assert (process.wait(), process.stdout.read(), said) == (130, b"", b"Error: interrupted\n")
