"""Files of measurements round-trip, and tables and pictures show their contents."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest

from bench import plot, records, report, tables
from bench.harness import CaseResult, Measurement
from bench.overhead import Cost


def timed(name: str, seconds: float, megabytes: float = 0.0) -> Measurement:
    return Measurement(name, seconds, seconds, 7, 0.1, int(megabytes * 1e6), 0, 1e-7)


FAST = CaseResult(
    "rbf/8x8x3", (timed("jnp", 0.04, 64), timed("lanes", 0.012)), timed("tcjax", 0.01), (timed("keops", 0.25),)
)
SLOW = CaseResult("sum/128x9", (timed("sum", 0.001),), timed("tcjax", 0.0015, 2))
BROKEN = CaseResult("blur/4", (timed("slices", 0.001),), Measurement("tcjax", problem="ValueError: no"))
COST = Cost("one call", 1.5, 1.3, "x", "of a jitted function")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(report.as_json([FAST, SLOW, BROKEN], [COST], "small")))
    return path


def test_a_run_that_was_written_is_read_back(file: Path) -> None:
    record = records.read(file)

    assert record.results[:2] == (FAST, SLOW)
    assert math.isnan(record.results[2].tcjax.median)  # type: ignore[union-attr]
    assert record.costs == (COST,)
    assert record.machine.endswith("small sizes")


def test_cases_are_chosen_by_family_or_with_their_sizes_in_the_order_of_the_names(file: Path) -> None:
    record = records.read(file)

    assert [result.case for result in record.chosen(["sum/128x9", "rbf"])] == ["sum/128x9", "rbf/8x8x3"]
    with pytest.raises(LookupError, match="`rb`"):
        record.chosen(["rb"])


def test_a_table_has_a_row_for_each_case_and_whose_form_was_best(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tables.main([str(file), "rbf", "blur"]) == 0

    *_, rbf, blur = capsys.readouterr().out.splitlines()
    assert rbf == "| `rbf/8x8x3` | 10.0 | 12.0 (lanes) | 40.0 | 250 | 0 | 0 | 64 |"
    assert blur == "| `blur/4` | - | 1.00 (slices) | the same | - | - | 0 | 0 |"


def test_the_table_of_slow_cases_leaves_out_the_fast_ones(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tables.main([str(file), "--slower", "1.1"]) == 0

    rows = capsys.readouterr().out.splitlines()[2:]
    assert [row.split("`")[1] for row in rows] == ["blur/4", "sum/128x9"]


def test_the_table_of_costs_names_their_limits(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tables.main([str(file), "--costs"]) == 0

    assert capsys.readouterr().out.splitlines()[-1] == "| one call | 1.5 x | 1.3 x | of a jitted function |"


def test_a_case_or_file_that_is_not_there_is_one_line_of_error(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other.json").write_text('{"cases": 3}')

    assert tables.main([str(file), "nothing"]) == 2
    assert tables.main([str(tmp_path / "other.json"), "rbf"]) == 2
    assert plot.main([str(tmp_path / "none.json"), "rbf", "-o", str(tmp_path / "x.svg")]) == 2

    assert capsys.readouterr().err.splitlines() == [
        "bench.tables: no case is called `nothing`",
        f"bench.tables: {tmp_path / 'other.json'} was not written by `python -m bench.run --json`",
        f"bench.plot: {tmp_path / 'none.json'}: No such file or directory",
    ]


def test_a_picture_puts_what_is_slower_to_the_right_of_the_line(file: Path, tmp_path: Path) -> None:
    output = tmp_path / "times.svg"

    assert plot.main([str(file), "rbf", "sum", "-o", str(output)]) == 0

    drawn = xml.parse(output).getroot()
    space = "{http://www.w3.org/2000/svg}"
    (line,) = (float(each.get("x1", "")) for each in drawn.iter(f"{space}line") if each.get("class") == "tcjax")
    legend, rbf, total = (float(each.get("cx", "")) for each in drawn.iter(f"{space}circle"))
    assert legend < total < line < rbf  # Best by hand: slower than tcjax for rbf, faster for the sum.
