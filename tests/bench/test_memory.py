"""The memory contract by XLA's count: the cases of the benchmark, forward and in both derivatives."""

from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

import tcjax
from bench import memory
from bench.allocations import DIRECTIONS, Allocation, allocated, named_bytes, specs, temporaries
from bench.cases import Case, all_cases
from bench.run import build

CASES = {case.name: case for case in memory.cases("full")}


def chosen() -> list[object]:
    """The cases in every direction; those that need more must be listed, with the reason."""
    found: list[object] = []
    for case in CASES.values():
        for direction in DIRECTIONS:
            reason = memory.KNOWN.get((case.name, direction))
            marks = () if reason is None else (pytest.mark.xfail(reason=reason, strict=True),)
            found.append(pytest.param(case, direction, id=f"{case.name}-{direction}", marks=marks))
    return found


@pytest.mark.parametrize(("case", "direction"), chosen())
def test_a_case_of_the_bench_keeps_the_contract(case: Case, direction: str) -> None:
    kernel = build(case, tcjax)
    assert callable(kernel), kernel

    found = allocated(case, kernel, direction)

    if found is None:
        pytest.skip("nothing to differentiate")
    assert found.holds, f"{found.temporary} bytes of temporaries, {found.limit} are allowed"


def test_what_is_known_to_need_more_is_a_case() -> None:
    assert {(name in CASES, direction in DIRECTIONS) for name, direction in memory.KNOWN} <= {(True, True)}


def test_shapes_are_those_of_the_arrays() -> None:
    for case in all_cases("tiny"):
        arrays = case.arrays()

        assert [(a.shape, a.dtype) for a in specs(case)] == [(a.shape, a.dtype) for a in arrays], case.name


def test_temporaries_are_what_xla_cannot_fuse() -> None:
    n = 1 << 10
    x = jax.ShapeDtypeStruct((n, n), jnp.float32)

    def twice(x: jax.Array) -> jax.Array:
        return (x @ x) @ x

    assert temporaries(lambda x: x + x, (x,), "forward") == (0, 2 * 4 * n * n)
    found = temporaries(twice, (x,), "forward")
    assert found is not None and 4 * n * n <= found[0] < 5 * n * n and found[1] == 2 * 4 * n * n
    assert temporaries(jnp.argmax, (x,), "reverse") is None
    ahead, reverse = (temporaries(jnp.sin, (x,), direction) for direction in ("ahead", "reverse"))
    assert ahead is not None and reverse is not None
    # A few bytes more are pointers to several results.
    assert all(0 <= moved - 4 * 4 * n * n < 64 for _, moved in (ahead, reverse))


def test_what_a_program_names_counts_with_its_arguments() -> None:
    named = CASES["attention/4096x4096x64"]
    scores, rows = 4 * 4096 * 4096, 4 * 4096

    assert named_bytes(named, "forward") == scores + rows
    assert named_bytes(named, "reverse") == 2 * (scores + rows)
    assert named_bytes(CASES["attention_gradient/4096x4096x64"], "reverse") == 4 * (scores + rows)
    assert named_bytes(CASES["rbf/8192x8192x3"], "forward") == 0
    assert named_bytes(CASES["kronecker/256x16x32x32x32"], "forward") == 0


def test_the_limit_is_four_times_what_is_moved_or_16_mib() -> None:
    assert Allocation("c", "forward", 16 << 20, 4 << 20).holds
    assert not Allocation("c", "forward", (16 << 20) + 1, 4 << 20).holds
    assert Allocation("c", "forward", 40 << 20, 4 << 20, named=6 << 20).holds


def test_a_run_prints_a_line_for_each_direction_and_keeps_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "memory.json"

    assert memory.main(["tmm", "--sizes", "tiny", "--json", str(file)]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines[2:]] == list(DIRECTIONS) and all(
        line.endswith("ok") for line in lines[2:]
    )
    assert [allocation.direction for allocation in memory.kept(file)] == list(DIRECTIONS)
    assert memory.main(["--table", str(file), "tmm"]) == 0
    assert capsys.readouterr().out.count("| `tmm/") == 1
    assert memory.main(["--table", str(file), "other"]) == 2
    assert "other" in capsys.readouterr().err
    (tmp_path / "text.json").write_text("[]")
    assert memory.main(["--table", str(tmp_path / "text.json"), "tmm"]) == 2

    monkeypatch.setattr("bench.allocations.TIMES", -1)
    monkeypatch.setattr("bench.allocations.SMALLEST_LIMIT", -1)
    assert memory.main(["tmm", "--sizes", "tiny"]) == 1
    assert "contract" in capsys.readouterr().out
