"""Every target of the Makefile uses variables and files that exist; nothing is run."""

import functools
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[0].split()


@functools.cache
def recipe(target: str) -> subprocess.CompletedProcess[str]:
    """What `make` would run for a target, and its warnings about variables."""
    make = shutil.which("make")
    if make is None:
        pytest.skip("needs make")
    # With a given version, make need not run an interpreter.
    command = [make, "--dry-run", "--warn-undefined-variables", target, "VERSION=3.11"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("target", TARGETS)
def test_the_recipe_of_a_target_names_nothing_that_is_not_defined(target: str) -> None:
    found = recipe(target)

    assert (found.returncode, found.stderr) == (0, "")
    for program in re.findall(r"bin/python ((?:examples|bench|tests)/\S+\.py)", found.stdout):
        assert (ROOT / program).is_file()
    for module in re.findall(r"-m ((?:bench|tests)\.[\w.]+)", found.stdout):
        assert list(ROOT.glob(f"{module.replace('.', '/')}*.py")) or (ROOT / module.replace(".", "/")).is_dir()


@pytest.mark.parametrize("target", TARGETS)
def test_what_runs_programs_of_an_environment_makes_it_first(target: str) -> None:
    found = recipe(target).stdout

    # An environment that is up to date needs no installation: the rule's dependencies are read instead.
    if "/bin/" in found and target != "clean":
        heads = re.findall(rf"^{target}:(?! export)([^#\n]*)", MAKEFILE, re.MULTILINE)
        assert any("$(FOR)" in head or re.search(r"\blint\b", head) for head in heads)


def test_the_help_lists_every_target() -> None:
    listed = re.findall(r"^([a-z]+):.*## ", MAKEFILE, re.MULTILINE)

    assert sorted(listed) == sorted(TARGETS)
