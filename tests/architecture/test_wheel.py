"""What is built holds all that runs: grammars, explanations and other files that are not Python, and the command."""

import os
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

import tcjax
from tcjax.diagnostics import Code

ROOT = Path(__file__).parents[2]

PROGRAM = """
import tcjax
print(tcjax.__file__)
print(tcjax.kernel("B(i) = 2 * A(i)")([1, 2]), tcjax.kernel("{ [i] -> 2 * A[i] }")([1, 2]))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sources as they are published."""
    folder = tmp_path_factory.mktemp("built")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> zipfile.ZipFile:
    """The wheel."""
    (path,) = built.glob("*.whl")
    return zipfile.ZipFile(path)


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    files = {str(p.relative_to(ROOT)) for p in (ROOT / "tcjax").rglob("*") if p.is_file() and p.suffix != ".pyc"}

    assert names == files
    assert {"tcjax/py.typed", "tcjax/syntax/tc/grammar.lark", "tcjax/syntax/sac/grammar.lark"} <= names
    assert {f"tcjax/diagnostics/explanations/{code.value}.md" for code in Code} <= names


def test_the_wheel_has_the_packages_version_and_its_command(wheel: zipfile.ZipFile) -> None:
    (metadata,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    (entries,) = (name for name in wheel.namelist() if name.endswith(".dist-info/entry_points.txt"))

    assert message_from_string(wheel.read(metadata).decode())["Version"] == tcjax.__version__
    assert "tcjax = tcjax.cli:main" in wheel.read(entries).decode().splitlines()


def test_the_published_sources_hold_what_a_checkout_needs(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert {"pyproject.toml", "README.md", "LICENSE", "Makefile", "CONTRIBUTING.md"} <= names
    assert {"tcjax/__init__.py", "tests/conftest.py", "docs/command.md", "examples/digits.py", "bench/run.py"} <= names


def test_the_wheel_works_from_another_folder(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path / "site")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "JAX_PLATFORMS": "cpu"}

    def ran(*args: str) -> str:
        result = subprocess.run(
            [sys.executable, *args], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        return result.stdout

    place, results = ran("-c", PROGRAM).splitlines()
    assert Path(place).is_relative_to(tmp_path) and results == "[2 4] [2 4]"
    assert ran("-m", "tcjax.cli", "errors", "TC0401").startswith("# TC0401: ")


def test_the_changelog_tells_of_this_version() -> None:
    headings = [line for line in (ROOT / "docs" / "changelog.md").read_text().splitlines() if line.startswith("## ")]

    assert headings[0] in ("## Unreleased", f"## {tcjax.__version__}")
    assert f"## {tcjax.__version__}" in headings
    assert len(headings) == len(set(headings))
