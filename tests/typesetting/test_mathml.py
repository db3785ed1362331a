"""Programs as MathML: well-formed, of elements that browsers know, the same symbols as in LaTeX."""

import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given, reject

import tcjax
from tcjax import ir
from tcjax.diagnostics import CompileError
from tcjax.symbolic import Affine, IndexVar, Size
from tcjax.typesetting import mathml, typeset
from tests.strategies.programs import Case, programs
from tests.typesetting.test_latex import FORMULAS

# The elements of MathML Core that are used, with how many children each has (None: any number).
CORE = {
    **dict.fromkeys(("math", "mrow", "mtable", "mtr", "mtd", "msqrt"), None),
    **dict.fromkeys(("mi", "mn", "mo", "mtext", "mspace"), 0),
    **dict.fromkeys(("mfrac", "msub", "msup", "munder", "mroot"), 2),
    "msubsup": 3,
}


def parsed(function: ir.Function) -> ElementTree.Element:
    return ElementTree.fromstring(str(mathml(typeset(function))))


def assert_core(root: ElementTree.Element) -> None:
    for node in root.iter():
        assert node.tag in CORE, node.tag
        wanted = CORE[node.tag]
        assert wanted is None or len(node) == wanted, f"{node.tag} with {len(node)} children"


@pytest.mark.parametrize("text", [text for text, _ in FORMULAS])
def test_a_formula_uses_what_browsers_know(text: str) -> None:
    assert_core(parsed(tcjax.kernel(text, dialect="tc").ir()))


def test_the_text_of_a_formula_reads_in_its_order() -> None:
    root = parsed(tcjax.kernel("C(m,n) +=! A(m,k) * B(k,n)").ir())

    assert "".join(root.itertext()) == "Cm,n=∑kAm,kBk,n"


def test_names_cannot_become_elements() -> None:
    odd = ir.Tensor("<script>alert('x')</script>&", "float32", (Size.of(3),))
    i = Affine.of(IndexVar("i"))
    function = ir.Function("f", (odd,), (odd,), (ir.Define(odd, (i,), ir.Access(odd, (i,))),))

    root = parsed(function)

    assert_core(root)
    assert "<script>alert('x')</script>&" in "".join(root.itertext())


@given(programs())
def test_random_programs_use_what_browsers_know(case: Case) -> None:
    try:
        function = case.kernel.ir()
    except CompileError:
        reject()

    assert_core(parsed(function))
