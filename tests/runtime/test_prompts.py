"""Where the Python notation finds its source without a file: at Python's prompt from 3.13 on, and in doctests."""

import doctest
import subprocess
import sys
from pathlib import Path

LINES = """\
import tcjax
@tcjax.kernel
def rows(A):
    B[i] += A[i, j]
    return B

print(rows)
"""
PROGRAM = "def rows(A) -> (B) {\n  B(i) +=! A(i, j)\n}\n"


def test_a_function_typed_at_the_prompt_is_read_or_the_error_says_what_to_do() -> None:
    root = Path(__file__).parents[2]
    typed = subprocess.run([sys.executable, "-i", "-q"], input=LINES, capture_output=True, text=True, cwd=root)

    if sys.version_info >= (3, 13):
        assert PROGRAM in typed.stdout, typed.stderr
    else:
        assert "the source of `rows` cannot be read  [TC0106: syntax]" in typed.stderr
        assert "or give the program as a text" in typed.stderr


def test_a_function_of_a_doctest_is_read() -> None:
    lines = [f"{'...' if line.startswith((' ', 'def')) else '>>>'} {line}" for line in LINES.splitlines() if line]
    parsed = doctest.DocTestParser().get_doctest("\n".join([*lines, PROGRAM]), {}, "document", None, 0)

    found = doctest.DocTestRunner(verbose=False).run(parsed)

    assert (found.failed, found.attempted) == (0, 3)
