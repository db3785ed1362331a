"""Runs the TC reader on mutated programs and random texts: ``python -m tests.fuzz.fuzz_tc_text --seconds 30``."""

import sys

from tcjax.syntax import tc
from tests.syntax.tc.programs import PROGRAMS

from .fuzzing import Fuzzer

_PIECES = (
    *("(", ")", "[", "]", "{", "}", "->", "<=>", "=", "+=!", "*=", "min", "max=!", "any=!", "where", "in", "exists"),
    *(":", "..", ",", ";", "?", "def", "float", "half", "int", "and", "not", "x", "A(i)", "3", "2.5", "A.1", "+"),
    *("-", "*", "/", "//", "%", "!", "~", "&&", "|", "<", "==", "<<", "1.5f", ".", "#", "\n", "$", "é", "\x00", " "),
    *("\u2028", "2i"),
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(Fuzzer(tc.read, tc.write, PROGRAMS, _PIECES, ("", "O = ")).main(__doc__))
