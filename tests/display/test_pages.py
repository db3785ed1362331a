"""Kernels, explanations and schedules as pages: complete, well-formed, escaped, and without external resources."""

import re
import xml.etree.ElementTree as ElementTree

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, reject, settings

import tcjax
from tcjax.diagnostics import CompileError
from tcjax.markup import document
from tests.effort import examples
from tests.strategies.programs import Case, programs

MM = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
MLP = """
def mlp(float(B,I) x, float(H,I) W, float(H) bias) -> (y) {
    h(b,n) +=! x(b,i) * W(n,i)
    y(b,n) = fmax(h(b,n) + bias(n), 0.0)
}"""


SVG = "{http://www.w3.org/2000/svg}"


def floats(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, np.float32)


def page_of(shown: object) -> ElementTree.Element:
    """The page, after checks that hold for all pages."""
    text = shown._repr_html_()  # type: ignore[attr-defined]
    assert not re.search(r"<script|javascript:|<link|<iframe|<img|url\(|@import", text)
    assert set(re.findall(r"https?://[^\"\s<]*", text)) <= {"http://www.w3.org/2000/svg"}
    return ElementTree.fromstring(text)


def texts(root: ElementTree.Element, tag: str) -> list[str]:
    return ["".join(node.itertext()) for node in root.iter(tag)]


def test_a_kernel_shows_its_formula_its_ranges_and_its_text() -> None:
    kernel = tcjax.kernel(MM)

    root = page_of(kernel)

    assert texts(root, "math")[0] == "Cm,n=∑kAm,kBk,n"
    assert [row for row in texts(root, "tr")][1:] == [
        "0≤m<MA(m,k) (dimension 0)",
        "0≤n<NB(k,n) (dimension 1)",
        "0≤k<KA(m,k) (dimension 1)",
    ]
    assert texts(root, "pre") == [str(kernel)]


def test_a_kernel_whose_ranks_a_call_decides_shows_its_text() -> None:
    root = page_of(tcjax.kernel("{ iv -> a[iv] + b[iv] }"))

    assert texts(root, "pre") == ["{ iv -> a[iv] + b[iv] }"]
    assert texts(root, "math") == []


def test_a_library_shows_all_its_kernels_and_a_document_their_formulas() -> None:
    library = tcjax.load(f"{MM} {MLP}")

    assert library._repr_html_() == library.mm._repr_html_() + library.mlp._repr_html_()
    assert library.mm._repr_latex_() == rf"$\displaystyle {library.mm.to('latex')}$"
    assert tcjax.kernel("{ iv -> a[iv] }")._repr_latex_() is None


def test_an_explanation_shows_for_each_statement_what_its_text_says() -> None:
    explanation = tcjax.kernel(MLP).explain(floats(128, 784), floats(256, 784), floats(256))

    root = page_of(explanation)

    page = " ".join("".join(root.itertext()).split())
    for statement in explanation.to_dict()["statements"]:
        assert statement["operation"] in page
        assert statement["reason"].replace("`", "") in page
    assert "51.4 M" in page and "1.27 MiB" in page
    assert len(texts(root, "math")) == 2
    assert [text.count("for ") for text in texts(root, "pre")[1:]] == [3, 2]


def test_the_loops_of_inline_reductions_are_not_those_of_the_statement() -> None:
    kernel = tcjax.kernel("y(i) = sum[j](A(i,j)) / sum[k](A(i,k))")

    root = page_of(kernel.explain(floats(4, 5)))

    assert texts(root, "pre")[-1].splitlines()[:2] == [
        "for i in 0:4",
        "  y[i] = (sum[j](A[i, j]) / sum[k](A[i, k]))",
    ]


def test_bars_compare_the_statements() -> None:
    root = page_of(tcjax.kernel(MLP).explain(floats(128, 784), floats(256, 784), floats(256)))

    widths = [div[0].get("style") for div in root.iter("div") if div.get("class") == "bar"]

    # 51.4 M and 0.36 M operations; 1.27 MiB and 257 KiB.
    assert widths == ["width: 100.0%", "width: 100.0%", "width: 0.7%", "width: 19.7%"]


def test_the_parts_of_a_price_are_its_seconds_and_bars_show_the_next_best_plan() -> None:
    text = "def g(float(M,K) W, float(K) b) -> (h) { h(m) = sum[k](W(m,k)*b(k)) + mean[k](W(m,k)) }"
    explanation = tcjax.kernel(text).explain(floats(512, 512), floats(512))

    [described] = explanation.to_dict()["statements"]

    for priced in (described, described["runner_up"]):
        assert sum(priced["spent"].values()) == pytest.approx(priced["seconds"])
        assert min(priced["spent"].values()) >= 0
    assert described["seconds"] < described["runner_up"]["seconds"]
    shown = texts(page_of(explanation), f"{SVG}text")
    assert f"next best: {described['runner_up']['operation']}" in shown
    assert [name for name in shown if name in ("compute", "memory", "overhead")] == ["compute", "memory", "overhead"]


def test_the_memory_of_each_step_is_that_of_what_waits_for_others() -> None:
    text = "def f(float(N) x) -> (y) { A(i,j) = sin(x(i)*x(j))  B(i,k) +=! A(i,j)*A(j,k)  y(i) +=! B(i,k)*B(k,i) }"

    explanation = tcjax.kernel(text, memory_limit="32MiB").explain(floats(256))

    data = explanation.to_dict()
    assert [step["target"] for step in data["memory"]] == ["A", "B", "y"]
    assert max(step["kept"] + step["own"] for step in data["memory"]) == data["temporary_bytes"]
    # `A` is there until `B` is computed, and `B` until `y` is.
    least = (4 << 16, 8 << 16, 4 << 16)
    assert all(step["kept"] >= size for step, size in zip(data["memory"], least, strict=True))
    assert data["memory_limit"] == 32 << 20
    assert "limit of a statement's temporaries: 32 MiB" in texts(page_of(explanation), f"{SVG}text")


def test_the_page_for_a_browser_is_a_document_with_the_title_escaped() -> None:
    explanation = tcjax.kernel(MLP).explain(floats(128, 784), floats(256, 784), floats(256))

    page = explanation.html

    assert page.startswith("<!doctype html>") and "<title>tcjax: mlp</title>" in page
    assert explanation._repr_html_() in page
    assert not re.search(r"<script|<link|src=|url\(", page)
    assert "<title>a&lt;b&gt;</title>" in document("a<b>", "")


def test_what_a_user_writes_cannot_become_a_part_of_the_page() -> None:
    def evil(x):
        return x

    text = "def f(float(N) A) -> (B) { B(i) = A(i) < 3.0 && A(i) > 1.0 ? g(A(i)) : 0.0 }"
    kernel = tcjax.kernel(text, fns={"g": evil}, assume=["N > 2", "N < 1000"])

    root = page_of(kernel.explain(floats(9)))

    assert "A(i) < 3.0 && A(i) > 1.0" in "".join(root.itertext())


def test_a_scheduled_kernel_shows_its_tiles() -> None:
    kernel = tcjax.kernel(MLP)
    schedule = kernel.schedule().split("y", "b", factor=32, outer="bo").compute_at("h", "y", "bo")
    arguments = floats(128, 784), floats(256, 784), floats(256)

    root = page_of(kernel.with_schedule(schedule).explain(*arguments))

    assert "In tiles of 32 x 256, one at a time, for bo in 0:4." in texts(root, "p")


def test_a_schedule_shows_its_regions_and_its_plan_as_tables() -> None:
    kernel = tcjax.kernel(MLP)
    schedule = kernel.schedule().split("y", "b", factor=32, outer="bo").compute_at("h", "y", "bo")
    arguments = floats(128, 784), floats(256, 784), floats(256)

    regions, plans = page_of(schedule.infer_bounds(*arguments)), page_of(schedule.kernel_plan(*arguments))

    assert texts(regions, "tr")[1].startswith("h[bo*32 : +32] x [0 : +256]bo4")
    assert "reads W" in texts(plans, "td") and "writes y" in texts(plans, "td")
    assert [title for title in texts(plans, "div") if title.startswith("kernel y grid bo in 0:4 (parallel)")]
    assert page_of(next(iter(schedule.kernel_plan(*arguments).values()))).get("class") == "tcjax"
    assert page_of(schedule).get("class") == "tcjax"


def test_regions_and_plans_are_dictionaries_as_before() -> None:
    schedule = tcjax.kernel(MM).schedule()

    assert isinstance(schedule.infer_bounds(floats(4, 3), floats(3, 5)), dict)
    assert list(schedule.kernel_plan(floats(4, 3), floats(3, 5))) == ["C"]


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("s() +=! A(i)", (floats(5),)),
        ("{ [i] -> a[i] + 1.0 | [1] <= [i] < [3]; [i] -> a[i] }", (floats(5),)),
        ("def f(float(N) A) -> (B) { B = g(A) }", (floats(5),)),
        ("def f(float(N) A) -> (B) { B(i) = A(i) }", (floats(0),)),
    ],
)
def test_any_kind_of_program_has_pages(text: str, arguments: tuple[object, ...]) -> None:
    kernel = tcjax.kernel(text, fns={"g": jnp.sort})

    for shown in (kernel, kernel.explain(*arguments), kernel.picture(*arguments)):
        assert page_of(shown).get("class") == "tcjax"


@settings(max_examples=examples(10))
@given(programs())
def test_random_programs_have_pages(case: Case) -> None:
    try:
        case.kernel.ranges(*case.arguments.values())
    except CompileError:
        reject()

    given = tuple(case.arguments.values())

    assert page_of(case.kernel).get("class") == "tcjax"
    for shown in (case.kernel.explain(*given), case.kernel.picture(*given)):
        assert page_of(shown).get("class") == "tcjax"
