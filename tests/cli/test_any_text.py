"""For any file, `check` reports and `fmt` formats or refuses; nothing else escapes."""

from hypothesis import given
from hypothesis import strategies as st

from tcjax.cli.checking import Numbers, check_text
from tcjax.cli.failures import Failure
from tcjax.cli.formatting import formatted
from tcjax.cli.shapes import Shape
from tcjax.cli.texts import Notation, Text
from tcjax.diagnostics import CompileError
from tcjax.syntax import sac, tc

from .commands import MM, WRONG
from .test_check import PYTHON
from .test_fmt import MESSY, MESSY_SAC

SEEDS: list[tuple[Notation, str]] = [
    ("tc", MESSY + WRONG + MM),
    ("tc", "O(i) = A(i) * half(i) where i in 0:half.0, half = 3"),
    ("sac", MESSY_SAC),
    ("sac", "int f(int[.] a) { return a[0]; } { iv -> a[iv] | . < iv < . step [2]; iv -> f(a) }"),
    ("python", PYTHON),
]
PIECES = [
    "def",
    "def ",
    "(",
    ")",
    "{",
    "}",
    "\n",
    "#",
    "//",
    "/*",
    "*/",
    "=",
    ";",
    ",",
    "where",
    "return",
    '"""',
    "\\",
    "é",
]
NUMBERS = Numbers({"A": Shape((4, 3)), "a": Shape((3,)), "B": Shape((3, 5)), "x": Shape(())}, {"N": 3})


@st.composite
def texts(draw: st.DrawFn) -> Text:
    """A text in one of the notations with some characters dropped, doubled or replaced."""
    notation, content = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.integers(0, 12)))
        piece = draw(st.sampled_from(["", content[start:end] * 2, *PIECES]) | st.text(max_size=3))
        content = content[:start] + piece + content[end:]
    return Text("file", content, notation)


@given(texts(), st.sampled_from([Numbers(), NUMBERS]))
def test_every_text_is_checked(text: Text, numbers: Numbers) -> None:
    try:
        found = check_text(text, numbers)
    except Failure as failure:
        assert text.notation == "python" and "\n" not in failure.message
        return

    lines = text.content.splitlines() or [""]
    for finding in found:
        data = finding.to_dict("file")
        assert data["message"] and (data["help"] or not finding.is_error)
        assert data["line"] is None or 1 <= data["line"] <= len(lines)


@given(texts())
def test_what_is_readable_is_formatted_or_refused(text: Text) -> None:
    if text.notation == "python":
        return
    read = sac.read if text.notation == "sac" else tc.read
    try:
        before = read(text.content)
    except CompileError:
        before = None
    try:
        result = formatted(text)
    except (CompileError, Failure):
        assert before is None or text.notation == "tc"
        return

    assert read(result) == before
    assert formatted(Text("file", result, text.notation)) == result
