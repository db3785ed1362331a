"""Measuring and printing the machine's constants, and comparing prices with times."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from pathlib import Path

import pytest

from bench import calibrate, prices
from bench.prices import Priced
from tcjax.planning.data.machine import CPU, Machine


def parsed(text: str) -> Machine:
    """The row written as Python source."""
    scope: dict[str, object] = {"Machine": Machine}
    exec(text.replace(": Final", ""), scope)
    found = scope["CPU"]
    assert isinstance(found, Machine)
    return found


def test_a_printed_row_is_the_row() -> None:
    assert parsed(calibrate.row(CPU)) == CPU


def test_every_constant_is_measured_or_a_size() -> None:
    measured = [probe.constant for probe in calibrate.PROBES]

    assert sorted([*measured, *calibrate.SIZES, "kind"]) == sorted(field.name for field in fields(Machine))


@pytest.mark.parametrize("constant", ("launch", "element", "gather", "scatter_row", "wide"))
def test_a_probe_measures_its_constant(constant: str) -> None:
    (probe,) = (probe for probe in calibrate.PROBES if probe.constant == constant)

    found = calibrate.calibrated(0.01, [probe])

    value = getattr(found, constant)
    assert math.isfinite(value) and value > 0
    assert replace(found, **{constant: getattr(CPU, constant)}) == CPU


def test_the_command_prints_a_row(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(calibrate, "PROBES", calibrate.PROBES[:2])

    assert calibrate.main(["--seconds", "0.01"]) == 0

    assert parsed(capsys.readouterr().out).cached_byte == CPU.cached_byte


def test_prices_are_compared_with_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "prices.json"

    assert prices.main(["matmul", "tmm", "--sizes", "tiny", "--seconds", "0.01", "--json", str(file)]) == 0
    first = capsys.readouterr().out
    assert prices.main(["tmm", "--sizes", "tiny", "--times", str(file)]) == 0

    assert "within 2x of the time" in first
    assert any("tmm/" in line for line in capsys.readouterr().out.splitlines())
    assert {one.problem for one in prices.read_times([file]).values()} == {""}


def test_the_order_of_spellings_that_differ_is_counted() -> None:
    found = [Priced("sum", "fast", 1.0, 1.0), Priced("sum", "slow", 3.0, 4.0), Priced("sum", "odd", 0.5, 8.0)]

    said = prices.summary(found)

    assert "2 of 3 prices within 2x" in said
    assert "price / time is 0.36" in said
    assert "1 of 3 pairs of spellings with different plans" in said
