"""Runs the SaC reader on mutated and random texts: ``python -m tests.fuzz.fuzz_sac_text --seconds 30``."""

import sys

from tcjax.syntax import sac
from tests.syntax.sac.texts import TEXTS

from .fuzzing import Fuzzer

_PIECES = (
    *("(", ")", "[", "]", "{", "}", "->", "|", "<", "<=", ">", ">=", "=", "==", ";", ",", ":", "?", ".", "...", "+"),
    *("++", "++^", "-", "*", "/", "%", "!", "~", "&&", "||", "&", "^", "<<", ">>", "step", "width", "with", "int"),
    *("float[n]", "return", "true", "1", "2.5f", ".5", "3x", "0x1F", "99999999999999999999", "iv", "[i]", "[i,.]"),
    *("i", "a", "f(", "a[", "a[[", "{ iv -> ", "{ [i] -> ", "int f() {", "where", "if", "//", "/*", "*/", "#", "$"),
    *("é", "\n", "\x00", " ", "\u2028"),
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(Fuzzer(sac.read, sac.write, TEXTS, _PIECES, ("", "{ iv -> ", "x = ", "{ iv -> a | ")).main(__doc__))
