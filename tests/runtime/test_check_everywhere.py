"""`k.check()` on kernels of the benchmark, the examples and the documentation; a default run takes a few of them."""

import importlib.util
import re
import sys
from collections.abc import Iterator
from math import prod
from pathlib import Path

import numpy as np
import pytest

import tcjax
from bench.cases import Case, all_cases
from tcjax.testing import assert_matches
from tests.docs.markdown import ROOT, pages, run_page, runs
from tests.effort import deep

CASES = {case.name: case for case in all_cases("tiny")}
# Few grid sizes fit a V-cycle, where one grid is half the other, and each drawn size elaborates the whole recursion.
PAIRS = {"coarse": ((5,), (3,))}
# Modules that make kernels when imported; the kernels of layers are checked with the layers.
MAKES = re.compile(r"^\S.*\btcjax\.(kernel|load)\b", re.MULTILINE)
EXAMPLES = [file for file in sorted((ROOT / "examples").rglob("*.py")) if MAKES.search(file.read_text())]
EACH = 3 if deep() else 1


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_the_kernels_of_a_case_of_the_bench_pass(case: Case) -> None:
    library = tcjax.load(case.text)

    for name in library:
        if name in PAIRS:
            arrays = [np.linspace(0.0, 1.0, prod(shape), dtype=np.float32).reshape(shape) for shape in PAIRS[name]]
            assert_matches(library[name], library[name].interpret, *arrays)
            continue
        assert library[name].check(examples=EACH).compared["values"] > 0


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_the_kernels_of_an_example_pass(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = recorded(monkeypatch)
    spec = importlib.util.spec_from_file_location(f"example_{file.stem}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)

    assert made
    for kernel in distinct(made):
        assert kernel.check(examples=EACH).compared["values"] > 0


@pytest.mark.parametrize("page", [page for page in pages() if runs(page)], ids=lambda page: str(page.relative_to(ROOT)))
def test_the_kernels_of_a_page_pass(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = recorded(monkeypatch)
    run_page(page.read_text(), tmp_path / "example.py", {"__name__": "example", "np": np, "tcjax": tcjax})

    passed = 0
    for kernel in distinct(made):
        try:
            passed += kernel.check(examples=EACH).compared["values"]
        except tcjax.CheckError as error:
            # Pages that show kernels that refuse every call, and one that is wrong on purpose.
            assert str(error).startswith("found no arguments") or kernel.__name__ == "wrong"
    assert passed


def recorded(monkeypatch: pytest.MonkeyPatch) -> list[tcjax.Kernel]:
    """The kernels that are made or called from now on: kernels of layers may already exist."""
    made: list[tcjax.Kernel] = []
    begin, call = tcjax.Kernel.__init__, tcjax.Kernel.__call__

    def init(self: tcjax.Kernel, *args: object) -> None:
        begin(self, *args)  # type: ignore[arg-type]
        made.append(self)

    def called(self: tcjax.Kernel, *args: object, **named: object) -> object:
        made.append(self)
        return call(self, *args, **named)

    monkeypatch.setattr(tcjax.Kernel, "__init__", init)
    monkeypatch.setattr(tcjax.Kernel, "__call__", called)
    return made


def distinct(made: list[tcjax.Kernel]) -> Iterator[tcjax.Kernel]:
    """One kernel of each program and options."""
    return iter({(str(kernel), str(kernel._frontend.options)): kernel for kernel in made}.values())
