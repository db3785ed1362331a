"""`make test` runs every case within fifteen commits, and a seed reproduces a run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import effort, sampling
from tests.sampling import COMMITS, MOST_PARTS, SAMPLED, Sample, choose

ROOT = Path(__file__).parents[2]
PYTHONS = (11, 12, 13)
SEEDS = st.integers(0, 10**6)
# Names that pytest could give to cases of every sampled file.
CASES = [f"{start.removesuffix('.py')}.py::test_a[{n}]" for start in SAMPLED for n in range(40)]


def taken(seed: int, python: int) -> set[str]:
    sample = Sample(seed, "a test", python)
    return {case for case in CASES if sample.takes(case)}


@settings(max_examples=5)
@given(SEEDS, st.sampled_from(PYTHONS))
def test_each_python_runs_every_case_within_fifteen_commits_but_for_the_longest_files(seed: int, python: int) -> None:
    ran = set().union(*(taken(seed + n, python) for n in range(COMMITS)))

    assert {case for case in CASES if sampling.parts_of(case) <= COMMITS} <= ran


@settings(max_examples=5)
@given(SEEDS, st.sampled_from(PYTHONS[1:]))
def test_every_case_runs_within_fifteen_commits_on_one_python_of_two(seed: int, later: int) -> None:
    assert set().union(*(taken(seed + n, python) for n in range(COMMITS) for python in (11, later))) == set(CASES)


@given(SEEDS, st.sampled_from(CASES), st.sampled_from(PYTHONS[1:]))
def test_no_case_runs_on_both_pythons_of_a_run(seed: int, case: str, later: int) -> None:
    assert sum(Sample(seed, "a test", python).takes(case) for python in (11, later)) <= 1


@given(SEEDS, st.sampled_from(PYTHONS))
def test_a_run_takes_about_the_share_of_each_file(seed: int, python: int) -> None:
    ran = taken(seed, python)

    expected = sum(40 / parts for parts in SAMPLED.values())
    assert 0.7 * expected < len(ran) < 1.3 * expected


def test_a_whole_sample_takes_everything_and_what_is_not_sampled_always_runs() -> None:
    assert all(Sample(0, "a test", 11, whole=True).takes(case) for case in CASES)
    assert Sample(0, "a test", 11).takes("tests/symbolic/test_size.py::test_a[1]")


@pytest.mark.parametrize("start", SAMPLED)
def test_what_is_sampled_is_there(start: str) -> None:
    assert (ROOT / start).exists()
    assert 2 <= SAMPLED[start] <= MOST_PARTS


def test_examples_differ_by_test_and_seed_and_python() -> None:
    seeds = [
        Sample(seed, "a test", python).examples_of(test) for seed in (1, 2) for python in (11, 12) for test in "ab"
    ]

    assert len(set(seeds)) == len(seeds)
    assert seeds[0] == Sample(1, "another", 11).examples_of("a")


@pytest.mark.parametrize("value", ["ALL", "x", "-1", "1.5", "³", " 3"])
def test_what_is_no_sample_is_a_usage_error(value: str) -> None:
    with pytest.raises(ValueError, match="write a seed, as TCJAX_SAMPLE=83, or TCJAX_SAMPLE=all"):
        choose({sampling.VARIABLE: value}, ROOT, 11)


@pytest.mark.parametrize("value", ["0", "-1", "many", "1e3"])
def test_what_is_no_number_of_examples_is_a_usage_error(value: str) -> None:
    with pytest.raises(ValueError, match="write how many examples each property tries"):
        effort.deep_examples({effort.EXAMPLES: value})


def git(directory: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(directory), *identity, *arguments], check=True, capture_output=True)


def test_the_seed_grows_by_one_with_each_commit_and_each_merge(tmp_path: Path) -> None:
    def seed() -> int:
        return choose({}, tmp_path, 11).seed

    git(tmp_path, "init", "-b", "main")
    git(tmp_path, "commit", "--allow-empty", "-m", "one")
    assert seed() == 1
    git(tmp_path, "commit", "--allow-empty", "-m", "two")
    assert seed() == 2
    git(tmp_path, "checkout", "-b", "branch")
    for message in ("three", "four", "five"):
        git(tmp_path, "commit", "--allow-empty", "-m", message)
    git(tmp_path, "checkout", "main")
    git(tmp_path, "merge", "--no-ff", "branch")
    assert seed() == 3


def test_without_a_whole_history_the_seed_grows_with_the_days(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Not inside a repository, wherever the tests' own directory is.
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setattr("time.time", lambda: 86_400.0 * 20_000)
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    origin.mkdir()
    git(origin, "init", "-b", "main")
    for message in ("one", "two"):
        git(origin, "commit", "--allow-empty", "-m", message)
    git(tmp_path, "clone", "--depth", "1", f"file://{origin}", str(clone))

    seeds = [choose({}, directory, 11).seed for directory in (tmp_path, clone)]
    monkeypatch.setattr("time.time", lambda: 86_400.0 * 20_001)
    seeds.append(choose({}, tmp_path, 11).seed)

    assert seeds == [20_000, 20_000, 20_001]


PROJECT = """\
import pytest
from hypothesis import given, strategies as st

@pytest.mark.parametrize("case", range(20))
@given(st.integers(0, 10**9))
def test_sampled(case, n):
    with open("ran", "a") as file:
        print(case, n, file=file)
    assert case != 7 or n < 10
"""


def run(place: Path, *arguments: str, **variables: str) -> tuple[str, list[str]]:
    """The output of pytest in a project with one sampled file, and the cases and examples that ran."""
    (place / "ran").unlink(missing_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    ran = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
    ran_file = place / "ran"
    return ran.stdout + ran.stderr, sorted(set(ran_file.read_text().splitlines())) if ran_file.exists() else []


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "conftest.py").write_text(
        "from tests.conftest import *\nfrom tests import sampling\nsampling.SAMPLED['test_sampled.py'] = 5\n"
    )
    (tmp_path / "test_sampled.py").write_text(PROJECT)
    return tmp_path


def test_a_run_prints_its_seed_and_who_repeats_it_sees_the_same_examples(project: Path) -> None:
    printed, first = run(project, "-n", "2", TCJAX_SAMPLE="1")
    _, again = run(project, "-n", "0", TCJAX_SAMPLE="1")
    failed, everything = run(project, "-n", "0", TCJAX_SAMPLE="all")

    assert "seed 1 " in printed and "TCJAX_SAMPLE=1 repeats it" in printed
    assert first == again and first
    assert len({line.split()[0] for line in first}) < 20
    assert {line.split()[0] for line in everything} == {str(n) for n in range(20)}
    assert "python -m pytest -n 0 '<test>'" in failed


def test_a_bad_seed_ends_the_run_with_one_line(project: Path) -> None:
    printed, ran = run(project, TCJAX_SAMPLE="many")

    assert printed.strip().startswith("ERROR: TCJAX_SAMPLE=many") and len(printed.strip().splitlines()) == 1
    assert not ran
