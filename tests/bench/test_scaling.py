"""The tables of scaling: one row recomputed, and the command's output."""

from pathlib import Path

import pytest

from bench import links, scaling

RESULTS = Path(__file__).parents[2] / "bench" / "results" / "scaling.json"


@pytest.mark.parametrize("name", ("stencil", "all_pairs"))
def test_a_row_of_the_file_is_what_the_kernel_says(name: str) -> None:
    (kept,) = (r for r in scaling.read(RESULTS) if (r.program, r.kind, r.devices) == (name, "strong", 64))

    found = scaling.projected(name, "strong", 64)

    assert (found.mesh, found.work, found.collectives) == (kept.mesh, kept.work, kept.collectives)
    # Plans may improve between two runs of the command.
    assert found.flops == pytest.approx(kept.flops, rel=0.5)
    assert found.compute_seconds == pytest.approx(kept.compute_seconds, rel=0.5)


def test_the_efficiency_is_that_of_useful_work(capsys: pytest.CaptureFixture[str]) -> None:
    assert scaling.main([str(RESULTS), "stencil", "weak"]) == 0

    header, _, alone, *others = capsys.readouterr().out.splitlines()
    assert header.startswith("| devices | mesh | operations |")
    assert alone.startswith("| 1 | 1 x 1 |") and alone.endswith("| 100 % | 100 % |")
    assert [line.split(" | ")[0] for line in others] == ["| 8", "| 64", "| 512", "| 4096"]


def test_a_file_that_is_not_there_is_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert scaling.main([str(tmp_path / "none.json"), "stencil"]) == 2
    assert scaling.main([str(RESULTS)]) == 2

    assert "No such file" in capsys.readouterr().err


def test_the_row_of_a_link_is_the_row() -> None:
    scope: dict[str, object] = {"Link": links.Link}

    exec(links.row(links.LOOPBACK).replace(": Final", ""), scope)

    assert scope["LOOPBACK"] == links.LOOPBACK
