"""`tcjax fmt` writes one form, keeps every comment, and is idempotent."""

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from tcjax.cli.failures import Failure
from tcjax.cli.formatting import formatted
from tcjax.cli.texts import Text
from tcjax.diagnostics import Source
from tcjax.syntax import ast, sac, tc
from tcjax.syntax.sac import tree
from tests.strategies import sac_trees, trees

from .commands import MM, Shell

MESSY = """\
# products
def mm(float(M,K) A, float(K,N) B) -> (C) { # head


    # before
    C(m,n) +=! (A(m,k))  # first
      *B(k,n);           # behind

    D(i) = 1 where i in 0..3


    # end
} # closed
def two(float(N) A) -> (B) { t(i) = A(i) B(i)=t(i) }
# last
"""

CLEAN = """\
# products
def mm(float(M,K) A, float(K,N) B) -> (C) {  # head
  # before
  # first
  C(m, n) +=! A(m, k) * B(k, n)  # behind

  D(i) = 1 where i in 0:3

  # end
}  # closed

def two(float(N) A) -> (B) {
  t(i) = A(i)
  B(i) = t(i)
}
# last
"""

MESSY_SAC = """\
/* relaxes
   once */
float[m,n] f(float[m,n] a) { b = a+1.0; // sum
  /* inner */ return { [i,j]->b[i,j] }; }
x = f(A); /* mid */ y = x*2.0;

y + (1.0) // result
"""

CLEAN_SAC = """\
/* relaxes
   once */
float[m, n] f(float[m, n] a) {
  b = a + 1.0;  // sum
  /* inner */
  return { [i, j] -> b[i, j] };
}

x = f(A);
/* mid */
y = x * 2.0;

y + 1.0  // result
"""


@pytest.mark.parametrize(("name", "messy", "clean"), [("a.tc", MESSY, CLEAN), ("a.sac", MESSY_SAC, CLEAN_SAC)])
def test_a_text_has_one_form(shell: Shell, name: str, messy: str, clean: str) -> None:
    shell.write(name, messy)
    shell.write(f"clean_{name}", clean)

    assert shell("fmt", name).stdout == clean
    assert shell("fmt", f"clean_{name}").stdout == clean


def test_check_and_diff_say_what_write_then_does(shell: Shell) -> None:
    path = shell.write("a.tc", MESSY)

    check, diff = shell("fmt", "a.tc", "--check"), shell("fmt", "a.tc", "--diff")
    assert path.read_text() == MESSY
    written = shell("fmt", "a.tc", "--write")

    assert (check.exit_code, check.stdout) == (1, "would format a.tc\n")
    assert diff.exit_code == 1 and "-    C(m,n) +=! (A(m,k))  # first" in diff.stdout.splitlines()
    assert written.exit_code == 0 and path.read_text() == CLEAN
    assert [shell("fmt", "a.tc", mode).exit_code for mode in ("--check", "--diff", "--write")] == [0, 0, 0]
    assert [file.name for file in shell.folder.iterdir()] == ["a.tc"]


def test_line_ends_of_windows_stay(shell: Shell) -> None:
    path = shell.write("a.tc", MESSY.replace("\n", "\r\n"))

    assert shell("fmt", "a.tc", "--write").exit_code == 0
    assert path.read_bytes() == CLEAN.replace("\n", "\r\n").encode()
    assert shell("fmt", "a.tc", "--check").exit_code == 0


def test_a_definition_that_is_given_twice_stays_twice(shell: Shell) -> None:
    shell.write("a.tc", MM + MM)

    assert shell("fmt", "a.tc").stdout.count("def mm") == 2


def test_a_text_with_a_mistake_is_left_alone(shell: Shell) -> None:
    path = shell.write("a.tc", "def f(float(N) A) -> (B) { B(i = A(i) } # mine\n")

    result = shell("fmt", "a.tc", "--write")

    assert result.exit_code == 2 and "TC0101" in result.stderr
    assert path.read_text().endswith("# mine\n")


PYTHON = '''import tcjax

x  =  1
rows = tcjax.kernel(
    """
    # The sums of rows.
    def rows(float(M,N) A) -> (B) {
        B(m)+=!A(m,n)   # over n
    }
    """
)
flat = tcjax.kernel("""def flat(float(N) A) -> (B) {
B(i)=A(i)
}""")
one, sac = tcjax.kernel("y(i)=x(i)"), tcjax.kernel('{ [i]->a[i] }')
short = tcjax.kernel("def short(float(N) A) -> (B) { B(i)=A(i) }")
escaped = tcjax.kernel("y(i)=x(i)\\n")


@tcjax.kernel
def own(a):
    b[i]  =  a[i]
    return b


@tcjax.kernel
def documented(A):
    """
    B(j)+=!A(i,j)  # down
    """
'''
PYTHON_FORMATTED = '''import tcjax

x  =  1
rows = tcjax.kernel(
    """
    # The sums of rows.
    def rows(float(M,N) A) -> (B) {
      B(m) +=! A(m, n)  # over n
    }
    """
)
flat = tcjax.kernel("""def flat(float(N) A) -> (B) {
  B(i) = A(i)
}""")
one, sac = tcjax.kernel("y(i) = x(i)"), tcjax.kernel('{ [i] -> a[i] }')
short = tcjax.kernel("def short(float(N) A) -> (B) { B(i)=A(i) }")
escaped = tcjax.kernel("y(i)=x(i)\\n")


@tcjax.kernel
def own(a):
    b[i]  =  a[i]
    return b


@tcjax.kernel
def documented(A):
    """
    B(j) +=! A(i, j)  # down
    """
'''


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_of_a_python_file_the_texts_of_kernels_are_formatted(shell: Shell, newline: str) -> None:
    path = shell.write("a.py", PYTHON.replace("\n", newline))

    assert shell("fmt", "a.py", "--write").exit_code == 0

    assert path.read_bytes().decode() == PYTHON_FORMATTED.replace("\n", newline)
    assert shell("fmt", "a.py", "--check").exit_code == 0


def test_a_python_file_that_is_wrong_stays(shell: Shell) -> None:
    path = shell.write("a.py", PYTHON.replace("B(i)=A(i)\n}", "B(i=A(i)\n}"))

    result = shell("fmt", "a.py", "--write")

    assert result.exit_code == 2 and "a.py:13:4" in result.stderr
    assert "B(m)+=!A(m,n)" in path.read_text()


def test_standard_input_goes_to_standard_output(shell: Shell) -> None:
    assert shell("fmt", "-", input="C(i)=A(i)*2").stdout == "C(i) = A(i) * 2\n"
    assert shell("fmt", "-", "--write", input="C(i)=A(i)").exit_code == 2


@st.composite
def scattered(draw: st.DrawFn, words: list[str], gaps: list[str]) -> tuple[str, list[str]]:
    """The words with a comment, an empty line or a blank between them, and the comments."""
    text = ""
    comments: list[str] = []
    for word in words:
        gap = draw(st.sampled_from(gaps))
        if "{}" in gap:
            gap = gap.format(f"c{len(comments)}")
            comments.append(f"c{len(comments)}")
        text += f"{word}{gap}"
    return text, comments


def words_of(tokens: list) -> list[str]:
    return [token.text for token in tokens if token.text]


@given(st.data(), trees.programs())
def test_comments_anywhere_in_tc_stay_in_order_of_their_statements(data: st.DataObject, program: ast.Program) -> None:
    words = words_of(tc.tokens_of(Source(tc.write(program))))
    # A `unique` clause must be on the line of this word: on the next one a statement begins.
    words = " ".join(words).replace(" unique ", " unique\0").split(" ")
    words = [word.replace("\0", " ") for word in words]
    text, comments = data.draw(scattered(words, [" ", " ", " ", "\n", "\n\n\n", " # {}\n", "\n# {}\n\n"]))

    result = formatted(Text("a.tc", text, "tc"))

    assert tc.read(result) == tc.read(text)
    assert sorted(line.partition("#")[2].strip() for line in result.splitlines() if "#" in line) == sorted(comments)
    assert formatted(Text("a.tc", result, "tc")) == result


@given(st.data(), sac_trees.programs())
def test_comments_anywhere_in_sac_stay(data: st.DataObject, program: tree.Program) -> None:
    words = words_of(sac.tokens_of(Source(sac.write(program))))
    gaps = [" ", " ", " ", "\n", "\n\n", " // {}\n", " /* {} */ ", "\n/* {}\n */\n"]
    text, comments = data.draw(scattered(words, gaps))
    try:
        before = sac.read(text)
    except ValueError:
        reject()

    result = formatted(Text("a.sac", text, "sac"))

    assert sac.read(result) == before
    assert all(result.count(f"{comment} ") + result.count(f"{comment}\n") == 1 for comment in comments)
    assert formatted(Text("a.sac", result, "sac")) == result


NUMERALS = st.one_of(
    st.from_regex(r"[0-9]{1,19}|[0-9]{1,25}\.[0-9]{0,25}|\.[0-9]{1,25}", fullmatch=True),
    st.from_regex(r"([0-9]{1,5}|[0-9]{1,5}\.[0-9]{0,5}|\.[0-9]{1,5})[eE][+-]?[0-9]{1,2}", fullmatch=True),
    st.from_regex(r"0[xX][0-9a-fA-F]{1,15}", fullmatch=True),
)


def spelt(numeral: str) -> str:
    """A numeral as `fmt` writes it: the same digits, a zero next to a bare point, lower-case letters."""
    if numeral[:2] in ("0x", "0X"):
        return f"0x{numeral[2:]}"
    digits, sign, power = numeral.lower().partition("e")
    digits = f"0{digits}" if digits.startswith(".") else f"{digits}0" if digits.endswith(".") else digits
    return f"{digits}{sign}{power}"


@given(st.lists(NUMERALS, min_size=1, max_size=4))
def test_numbers_stay_as_they_are_spelt(numerals: list[str]) -> None:
    body = " + ".join(numerals)
    for text, wanted, notation, read in (
        (f"C(i)=A(i)*({body})", "C(i) = A(i) * ({})", "tc", tc.read),
        (f"{{ [i]->A[i]*({body}) }}", "{{ [i] -> A[i] * ({}) }}", "sac", sac.read),
    ):
        shown = " + ".join(map(spelt, numerals))
        expected = (wanted.format(shown) if len(numerals) > 1 else wanted.replace("({})", "{}").format(shown)) + "\n"

        result = formatted(Text("a", text, notation))

        assert result == expected
        assert read(result) == read(text)
        assert formatted(Text("a", result, notation)) == result


def test_numbers_of_a_statement_with_other_numbers_are_canonical(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tcjax.syntax.tc.write", lambda tree: "C(i) = A(i) * 2.0 + 1000.0")

    # The writer would change the program, so that the numbers in its text would differ.
    with pytest.raises(Failure, match="would mean something else"):
        formatted(Text("a.tc", "C(i) = A(i) * 1e3", "tc"))


def test_a_comment_that_would_go_stops_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tcjax.cli.formatting._attach", lambda comments, units: [])

    with pytest.raises(Failure, match="a comment would be lost, so nothing was changed"):
        formatted(Text("a.tc", "C(i) = A(i) # mine\n", "tc"))
