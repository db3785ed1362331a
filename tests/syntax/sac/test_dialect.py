"""A text is recognised as SaC or TC, whether or not it is valid."""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcjax.syntax import ast, sac, tc
from tcjax.syntax.sac import tree
from tests.strategies import sac_trees, trees
from tests.syntax.tc.programs import PROGRAMS

from .texts import TEXTS

TESTS = Path(__file__).parents[2]
ROOT = TESTS.parent


def texts(value: object) -> Iterator[str]:
    """The texts of cases in nested lists."""
    if isinstance(value, list | tuple):
        for part in value:
            yield from texts(part)
    elif isinstance(getattr(value, "text", None), str):
        yield value.text  # type: ignore[attr-defined]


def conformance(notation: str) -> list[str]:
    """The texts of the conformance suite in one notation; for TC also invalid ones, which must not be taken for SaC."""
    found: dict[str, None] = {}
    for path in sorted((TESTS / "conformance").rglob("*.py")):
        place = path.relative_to(TESTS)
        of_sac = "sac" in place.parts
        left_out = path.stem.startswith(("test_", "__")) or (of_sac and "rejected" in place.parts)
        if of_sac == (notation == "sac") and not left_out:
            module = importlib.import_module(".".join(("tests", *place.with_suffix("").parts)))
            for value in vars(module).values():
                found.update(dict.fromkeys(texts(value)))
    return list(found)


def test_the_texts_of_the_conformance_suites_are_told_apart() -> None:
    of_tc, of_sac = conformance("tc"), conformance("sac")

    assert len(of_tc) > 100 and len(of_sac) > 100
    assert [text for text in of_tc if sac.is_sac(text)] == []
    assert [text for text in of_sac if not sac.is_sac(text)] == []


def test_tc_on_any_page_is_tc() -> None:
    pages = [ROOT / "README.md", *(TESTS / "golden").glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    blocks = [block for page in pages for block in re.findall(r"```tc\n(.*?)```", page.read_text(), re.DOTALL)]

    assert len(blocks) > 10
    assert [block for block in blocks if sac.is_sac(block)] == []


@pytest.mark.parametrize("text", PROGRAMS)
def test_a_program_of_tc_is_tc(text: str) -> None:
    assert not sac.is_sac(text)


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_of_sac_is_sac(text: str) -> None:
    assert sac.is_sac(text)


def test_a_division_in_brackets_is_no_comment() -> None:
    assert not sac.is_sac("N(C.0 // A) = C()")
    assert sac.is_sac("sum(a) // f(x) = y")
    assert sac.is_sac("sum(a, // of (one\n b)")


@given(trees.programs())
def test_whatever_tc_says_is_tc(program: ast.Program) -> None:
    assert not sac.is_sac(tc.write(program))


@given(sac_trees.programs())
def test_whatever_sac_says_is_sac(program: tree.Program) -> None:
    assert sac.is_sac(sac.write(program))


@pytest.mark.parametrize(
    "text",
    [
        "a + b",
        "a(i)",
        "sum(a * b)",
        "take([2], a)",
        "5",
        "a",
        "-a",
        "a[1]",
        "float(a) + 1",
        "where(p, a, b)",
        "x = where(p, a, b); x",
        "x = a + b; x * 2",
        "x = a + b; x * 2;",
        "x = !b; x",
        "x =!b; x",
        "x = a == b; x",
        "x = y; z = x >= y; z",
        "a, b = f(x); a + b",
        "{ iv -> a[iv] }",
        "{ [i] -> a[i] == b[i] }",
        "{[i,j]->a[j,i]}",
        "x = { [i] -> a[i] }; x",
        "x = { [i] -> a[i] }",
        "float f(float x) { y = x; return y; }",
        "float[n] f(float[n] x) { y = x; return y; } y = f(a); y",
        "float, int f(float x) { return (x, 1); }",
        "int f() {",
        "x = [1, 2]",
        "x = f([1, 2])",
        "with { (. <= iv <= .) : a[iv]; } : genarray(shape(a), 0)",
        "x = with { } : genarray(shape(a), 0); x",
        "{ [i, 1] -> a[i] }",
        "{ a[i] | [i] < [3] }",
        "// def f(A) -> (B) { B(i) = A(i) }\n a",
        "/* C(i) = A(i)\n */ a",
        "a // = b",
        "a +",
        "a[1:3]",
        "a; b = 1;",
        "b[0] = 1; b",
        "// a comment",
        "/* a comment */",
    ],
)
def test_this_is_sac(text: str) -> None:
    assert sac.is_sac(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "# a comment",
        "y = a(i)",
        "y = a",
        "y = a;",
        "y = a; z = y",
        "O = A(i) where i in 0:N",
        "O(i) = A(i)",
        "O(i) = A(i);",
        "O() = 3",
        "O +=! A(i)",
        "O += A(i)",
        "O max=! A(i)",
        "O any= A(i)",
        "O any =! A(i)",
        "O -= A(i)",
        "O[i] = A[i]",
        "O(i) = sum[k](A(i, k))",
        "y(i) = exp(x(i)) / sum[j](exp(x(j)))",
        "O1, O2 = f(A, B)",
        "float(N) z",
        "float z z(i) = A(i)",
        "float(K) z; z(i) = A(i)",
        "def f(float(N) A) -> (B) { B(i) = A(i) }",
        "def f(float(N) A) -> (float(N) B) {",
        "def f(A) -> (B) { B(i) = [A(i)] }",
        "def f{} {}",
        "# { [i] -> a[i] }\ndef f(A) -> (B) { B(i) = A(i) }",
        "f(float(N) A) -> (B) { B(i) = A(i) }",
        "C(i) = A(i) return C",
        "A(i) where i in 0:3",
        "O(i) = a(i) // 2",
        "O = a // 2",
        "C(m, n) = A(m",
    ],
)
def test_this_is_tc(text: str) -> None:
    assert not sac.is_sac(text)


@given(st.text())
def test_no_text_is_neither(text: str) -> None:
    assert sac.is_sac(text) in (True, False)
