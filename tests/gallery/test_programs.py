"""Every program of the gallery agrees with its references, is short, and draws; in place, and as a copy."""

import subprocess
import sys
from pathlib import Path

import pytest

from tcjax import CompileError, gallery
from tcjax.gallery.checking import Memory, Report

NAMES = [each.name for each in gallery.entries()]

pytestmark = pytest.mark.usefixtures("quickly_compiled")


@pytest.mark.parametrize("name", NAMES)
def test_a_program_agrees_with_its_references_fits_and_draws(name: str, tmp_path: Path) -> None:
    program = gallery.load(name)

    report = program.check()

    assert report.holds, str(report)
    picture = tmp_path / "drawn.png"
    program.figure().savefig(picture)
    assert picture.stat().st_size > 2000


@pytest.mark.parametrize("name", NAMES)
def test_the_derivative_of_a_program_is_a_program(name: str) -> None:
    program = gallery.load(name)
    for kernel in program.formulas if program.gradient else ():
        wrt = [each.name for each in kernel.ir(*program.arrays()).parameters if each.dtype == "float32"]

        assert str(kernel.adjoint(wrt=tuple(wrt))).startswith("def ")


def test_each_program_has_a_name_of_its_own_a_title_and_a_page_of_text() -> None:
    assert len(set(NAMES)) == len(NAMES)
    for each in gallery.entries():
        assert each.title and not each.title.endswith(".") and len(each.text) > 80, each.name
        # One page, so that it can be read at a glance.
        assert len(each.source.splitlines()) <= 150, each.name


def test_a_copied_program_runs_by_itself(tmp_path: Path) -> None:
    copy = tmp_path / "attention.py"
    copy.write_text(gallery.entry("alibi").source)

    ran = subprocess.run(
        [sys.executable, str(copy), "--picture", "seen.png"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert ran.returncode == 0, ran.stderr
    assert "all is well" in ran.stdout and (tmp_path / "seen.png").exists()


def test_a_program_that_is_wrong_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    right = gallery.load("alibi")

    wrong = gallery.Program(
        **{
            **{name: getattr(right, name) for name in ("function", "data", "by_hand", "draw", "small", "full")},
            "reference": lambda *arrays: right.reference(*arrays) * 1.01,
            "gradient": (2,),
        }
    )
    with pytest.raises(SystemExit) as left:
        wrong.main([])

    assert left.value.code == 1
    assert "NOT AS IT SHOULD BE" in capsys.readouterr().out
    report = wrong.check()
    assert report.slope is not None and report.gradient is not None
    assert 5e-3 < report.value < 2e-2 and report.slope > 1e-3 and report.gradient < 1e-4


@pytest.mark.parametrize(
    ("value", "slope", "gradient", "taken", "holds"),
    [
        (1e-5, 1e-5, 1e-5, 100, True),
        (1e-5, None, None, 100, True),
        (2e-4, 1e-5, 1e-5, 100, False),
        (1e-5, 2e-3, 1e-5, 100, False),
        (1e-5, 1e-5, 2e-3, 100, False),
        (float("inf"), None, None, 100, False),
        (float("nan"), None, None, 100, False),
        (1e-5, None, None, 101, False),
    ],
)
def test_a_report_holds_where_all_of_it_does(
    value: float, slope: float | None, gradient: float | None, taken: int, holds: bool
) -> None:
    assert Report("", value, slope, gradient, (Memory(taken, 100),), 1e-4).holds == holds


def test_a_name_that_is_none_is_told_which_is_near() -> None:
    with pytest.raises(CompileError) as near:
        gallery.load("alibbi")
    with pytest.raises(CompileError) as far:
        gallery.entry("zzzz")

    assert near.value.code == far.value.code == "TC0308"
    assert near.value.help == "did you mean `alibi`?" and far.value.help == "`tcjax gallery` lists the programs"
