"""Programs as LaTeX: like hand-written formulas, and accepted by other LaTeX readers."""

import re
import warnings

import numpy as np
import pytest
from hypothesis import given, reject
from latex2mathml.converter import convert

import tcjax
from tcjax import ir
from tcjax.diagnostics import CompileError
from tcjax.symbolic import Affine, IndexVar, Size
from tcjax.typesetting import Symbol, latex, typeset
from tcjax.typesetting.letters import index_symbol
from tests.golden.pages import pages
from tests.strategies.programs import Case, programs

# A statement, and the formula that a person would write for it.
FORMULAS = [
    ("C(m,n) +=! A(m,k) * B(k,n)", r"C_{m, n} = \sum_{k} A_{m, k} \, B_{k, n}"),
    ("m(i) max=! x(i,j)", r"m_{i} = \max_{j} x_{i, j}"),
    ("p(i) *=! x(i,j)", r"p_{i} = \prod_{j} x_{i, j}"),
    ("D(i,j) +=! (X(i,d) - Y(j,d)) * (X(i,d) - Y(j,d))", r"D_{i, j} = \sum_{d} (X_{i, d} - Y_{j, d})^{2}"),
    ("y(i) = x(i) / (x(i) + 1.0)", r"y_{i} = \frac{x_{i}}{x_{i} + 1}"),
    ("y(i) = (x(i) - 1.0) * x(i)", r"y_{i} = (x_{i} - 1) \, x_{i}"),
    ("y(i) = x(i) - (z(i) - 1.0)", r"y_{i} = x_{i} - (z_{i} - 1)"),
    ("y(i) = -x(i) * 2.0", r"y_{i} = (-x_{i}) \cdot 2"),
    ("y(i) = sqrt(x(i)) + fabs(x(i))", r"y_{i} = \sqrt{x_{i}} + \left\vert x_{i}\right\vert"),
    ("y(i) = exp(x(i)) * relu(x(i))", r"y_{i} = \exp(x_{i}) \, \operatorname{relu}(x_{i})"),
    ("y(i) = x(i) * 0.00001", r"y_{i} = x_{i} \cdot 10^{-5}"),
    ("y(i) +=! x(2*i + k) where k in 0:2", r"y_{i} = \sum_{0 \le k < 2} x_{2i + k}"),
    ("y(i) +=! A(i,k) where k <= i", r"y_{i} = \sum_{\substack{k \\ k \le i}} A_{i, k}"),
    ("y(i) = x(i) where 2 <= i, i < 5", None),
    (
        "y(i) = i < 3 ? x(i) : 0.0",
        r"y_{i} = \begin{cases} x_{i} & \text{if } i < 3 \\ 0 & \text{otherwise} \end{cases}",
    ),
    ("y(i) +=! A(i,j) * (j < i ? 1.0 : 0.0)", r"y_{i} = \sum_{j} A_{i, j} \, [j < i]"),
    ("y(i) +=! A(i,j) * float(j == i)", r"y_{i} = \sum_{j} A_{i, j} \, [j = i]"),
    ("y(i,j) = x(i/4, j%3) where i in 0:8, j in 0:3", None),
    ("y(i) = float(int8(I(i)))", None),
    ("y(i) = int(x(i)) + 1", r"y_{i} = \operatorname{trunc}(x_{i}) + 1"),
    ("H(I(i)) +=! 1.0", r"H_{I_{i}} \mathrel{+}= 1 \quad \text{for all} \, i"),
    ("y(i) = sum[k](A(i,k)) + sum[k](B(i,k))", r"y_{i} = \sum_{k} A_{i, k} + \sum_{k} B_{i, k}"),
    ("y(i) = sum[k](A(i,k)) * x(i)", r"y_{i} = (\sum_{k} A_{i, k}) \, x_{i}"),
    ("y(i) = x(i) * sum[k](A(i,k))", r"y_{i} = x_{i} \, \sum_{k} A_{i, k}"),
    ("p(i) argmax=! x(i,j)", r"p_{i} = \operatorname*{argmax}_{j} x_{i, j}"),
    ("y(i) logsumexp=! x(i,j)", r"y_{i} = \log \sum_{j} \exp(x_{i, j})"),
    ("y(i) any=! x(i,j) > 0.0", r"y_{i} = \bigvee_{j} (x_{i, j} > 0)"),
]


def formula(text: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tcjax.CompileWarning)
        return tcjax.kernel(text, dialect="tc").to("latex")


def brackets(text: str) -> str:
    """The braces of LaTeX, without escaped ones."""
    return "".join(re.findall(r"[{}]", re.sub(r"\\[{}]", "", text)))


@pytest.mark.parametrize(("text", "expected"), [pair for pair in FORMULAS if pair[1]], ids=lambda text: text)
def test_a_statement_is_the_formula_that_one_writes_by_hand(text: str, expected: str) -> None:
    assert formula(text).replace(r"\left(", "(").replace(r"\right)", ")") == expected


@pytest.mark.parametrize("text", [text for text, _ in FORMULAS])
def test_another_reader_of_latex_accepts_the_formula(text: str) -> None:
    assert convert(formula(text)).startswith("<math")


def test_a_guard_leaves_zeros_where_nothing_was_and_old_values_where_something_was() -> None:
    text = "def f(float(N) x) -> (y, z) { y(i) = x(i) where i <= 2  z(i) = x(i)  z(i) = 0.5 where i <= 2 }"

    first, second, third = formula(text).splitlines()[1:-1]

    assert first == r"y_{i} &= \begin{cases} x_{i} & \text{if } i \le 2 \\ 0 & \text{otherwise} \end{cases} \\"
    assert second == r"z_{i} &= x_{i} \\"
    assert r"z_{i} &\leftarrow" in third and r"z_{i} & \text{otherwise}" in third


def test_an_output_that_goes_on_from_a_caller_is_updated() -> None:
    assert formula("C(i) += A(i,k)") == r"C_{i} \leftarrow C_{i} + \sum_{k} A_{i, k}"
    minimum = r"C_{i} \leftarrow \min \left(C_{i}, \min_{k} A_{i, k}\right)"
    assert formula("C(i) min= A(i,k)") == minimum


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("A", "A"),
        ("alpha", r"\alpha"),
        ("Omega", r"\Omega"),
        ("d_A", r"\mathit{d\_A}"),
        ("x_1", r"\mathit{x\_1}"),
        ("photo", r"\mathit{photo}"),
    ],
)
def test_names_are_letters_greek_letters_or_words(name: str, written: str) -> None:
    assert (
        formula(f"def f(float(N) {name}) -> (out_) {{ out_(i) = {name}(i) }}")
        == rf"\mathit{{out\_}}_{{i}} = {written}_{{i}}"
    )


@pytest.mark.parametrize(
    ("scalar", "target", "shown"),
    [
        ("float", "double", "x_{i}"),
        ("double", "half", "x_{i}"),
        ("int8", "float", "x_{i}"),
        ("int32", "int8", r"\operatorname{int8}(x_{i})"),
        ("int32", "uint32", r"\operatorname{uint32}(x_{i})"),
        ("float", "int32", r"\operatorname{trunc}(x_{i})"),
        ("bool", "float", "[x_{i}]"),
        ("float", "bool", r"x_{i} \ne 0"),
    ],
)
@pytest.mark.filterwarnings("ignore::tcjax.CompileWarning")
def test_a_conversion_is_shown_where_it_changes_more_than_the_rounding(scalar: str, target: str, shown: str) -> None:
    assert formula(f"def f({scalar}(N) x) -> (y) {{ y(i) = {target}(x(i)) }}") == f"y_{{i}} = {shown}"


def test_what_means_something_in_latex_is_escaped() -> None:
    odd = ir.Tensor(r"a_b\c{d}%$#&^~", "float32", (Size.of(3),))
    i = Affine.of(IndexVar("i"))
    function = ir.Function("f", (odd,), (odd,), (ir.Define(odd, (i,), ir.Access(odd, (i,))),))

    text = latex(typeset(function))

    assert convert(text).startswith("<math")
    assert re.findall(r"(?<!\\)[%$#&]", text) == []
    assert brackets(text).count("{") == brackets(text).count("}")


def test_two_indices_of_one_name_differ_by_primes() -> None:
    k = IndexVar("k")

    assert index_symbol(k, {Symbol("k")}) == Symbol("k", 1)
    assert index_symbol(k, {Symbol("k"), Symbol("k", 1)}) == Symbol("k", 2)
    assert index_symbol(k, set()) == Symbol("k")


def test_several_statements_are_aligned_and_what_they_call_comes_first() -> None:
    text = """
    def twice(float(N) a) -> (b) { b(i) = a(i) + a(i) }
    def f(float(N) x) -> (y) { z = twice(x)  y(i) = z(i) }
    """

    lines = tcjax.load(text)["f"].to("latex").splitlines()

    assert lines[0] == r"\begin{aligned}" and lines[-1] == r"\end{aligned}"
    assert lines[1].startswith(r"\operatorname{twice}(a) &\mapsto b")
    assert lines[2] == r"b_{i} &= a_{i} + a_{i} \\"
    assert lines[3] == r"z &= \operatorname{twice}(x) \\"


def test_a_comprehension_of_sac_is_the_same_formula() -> None:
    sac = tcjax.kernel("{ [m,n] -> sum({ [k] -> A[m,k] * B[k,n] }) }")

    assert sac.to("latex") == r"\mathit{out}_{m, n} = \sum_{k} A_{m, k} \, B_{k, n}"


def test_where_only_arguments_tell_the_ranks_they_are_asked_for() -> None:
    kernel = tcjax.kernel("{ iv -> a[iv] + b[iv] }")

    with pytest.raises(CompileError) as raised:
        kernel.to("latex")

    assert raised.value.code == "TC0505"
    assert "_{" in kernel.to("latex", np.zeros((2, 3)), np.zeros((2, 3)))


def test_a_program_too_deep_for_the_stack_is_a_mistake_like_others() -> None:
    deep = "x(i)"
    for _ in range(2000):
        deep = f"{deep} + x(i)"

    try:
        assert tcjax.kernel(f"y(i) = {deep}").to("latex").count("+") == 2000
    except CompileError as error:
        assert error.code == "TC0103"


def test_a_notation_that_nobody_writes_is_refused_with_those_that_are_written() -> None:
    with pytest.raises(CompileError, match="'sac' or 'python' or 'latex'"):
        tcjax.kernel("y(i) = x(i)").to("html")


@pytest.mark.parametrize("path", [p for p in pages() if "```tc" in p.read_text()], ids=lambda path: path.stem)
def test_another_reader_accepts_every_golden_program(path) -> None:
    text = re.findall(r"```tc\n(.*?)```", path.read_text(), re.DOTALL)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tcjax.CompileWarning)
        library = tcjax.load(text)

    formulas = [library[name].to("latex") for name in library if library[name]._frontend.likely is not None]

    assert all(convert(formula).startswith("<math") for formula in formulas)


@given(programs())
def test_another_reader_accepts_random_programs(case: Case) -> None:
    try:
        text = case.kernel.to("latex")
    except CompileError:
        reject()

    assert brackets(text).count("{") == brackets(text).count("}")
    # This reader knows no cases between brackets; KaTeX and MathJax do.
    if r"\begin{cases}" not in text:
        assert convert(text).startswith("<math")
