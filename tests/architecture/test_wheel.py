"""The wheel contains everything needed: grammars, explanations and other files that are not Python, and the command."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from dataclasses import dataclass
from email import message_from_string
from pathlib import Path

import pytest

import tcjax
from tcjax.diagnostics import Code

ROOT = Path(__file__).parents[2]

# The modules of the wheel, except those with optional dependencies, and where they are imported from.
SURVEY = """
import importlib, importlib.metadata, importlib.resources, json, pkgutil
import tcjax
optional = ("tcjax.nn", "tcjax.linen", "tcjax.testing", "tcjax.notebook")
names = [m.name for m in pkgutil.walk_packages(tcjax.__path__, "tcjax.", onerror=lambda name: None)]
modules = [importlib.import_module(name) for name in names if not name.startswith(optional)]
lexers = importlib.metadata.distribution("tcjax").entry_points.select(group="pygments.lexers")
pages = importlib.resources.files("tcjax.diagnostics") / "explanations"
print(json.dumps({
    "package": tcjax.__file__,
    "modules": [m.__name__ for m in modules],
    "places": [m.__file__ for m in modules] + [tcjax.__file__],
    "codes": len([page for page in pages.iterdir() if page.name.endswith(".md")]),
    "marker": (importlib.resources.files("tcjax") / "py.typed").is_file(),
    "lexers": [entry.load().__name__ for entry in lexers],
    "tc": tcjax.kernel("B(i) = 2.0 * A(i)")([1.0, 2.0]).tolist(),
    "sac": tcjax.kernel("{ [i] -> 2.0 * A[i] }")([1.0, 2.0]).tolist(),
}))
"""


@dataclass(frozen=True)
class Installed:
    """A virtual environment with only the wheel; its dependencies come from this environment."""

    folder: Path

    def runs(self, command: str, *args: str) -> str:
        """The output of a command in the environment, with its folder as the working directory."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        result = subprocess.run(
            [self.folder / "bin" / command, *args],
            cwd=self.folder,
            env={**environment, "JAX_PLATFORMS": "cpu"},
            capture_output=True,
            text=True,
        )
        assert result.returncode == 0, result.stderr
        return result.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution and the wheel built from it, as for a package index."""
    folder = tmp_path_factory.mktemp("built")
    _build("sdist", ROOT, folder)
    (path,) = folder.glob("*.tar.gz")
    unpacked = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(path) as archive:
        archive.extractall(unpacked, filter="data")
    (sources,) = unpacked.iterdir()
    _build("wheel", sources, folder)
    return folder


def _build(target: str, sources: Path, folder: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=sources, check=True, capture_output=True)


@pytest.fixture(scope="module")
def wheel(built: Path) -> zipfile.ZipFile:
    """The wheel."""
    (path,) = built.glob("*.whl")
    return zipfile.ZipFile(path)


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """An environment with the wheel."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, symlinks=True)
    (path,) = built.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
    subprocess.run(
        [*pip, "install", "--no-deps", "--no-index", "--no-compile", str(path)], check=True, capture_output=True
    )
    (packages,) = folder.glob("lib/python*/site-packages")
    # A path, not a site directory, so that editable installations are not seen.
    (packages / "lent.pth").write_text("\n".join({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}))
    return Installed(folder)


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    files = {str(p.relative_to(ROOT)) for p in (ROOT / "tcjax").rglob("*") if p.is_file() and p.suffix != ".pyc"}

    assert names == files
    assert {"tcjax/py.typed", "tcjax/syntax/tc/grammar.lark", "tcjax/syntax/sac/grammar.lark"} <= names
    assert {"tcjax/syntax/tc/tables.json", "tcjax/syntax/sac/tables.json"} <= names
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


def test_everything_comes_from_an_installed_wheel(installed: Installed) -> None:
    found = json.loads(installed.runs("python", "-c", SURVEY))
    modules = set(found["modules"])

    assert Path(found["package"]).is_relative_to(installed.folder)
    assert [place for place in found["places"] if not Path(place).is_relative_to(installed.folder)] == []
    assert {f"tcjax.{room}" for room in ("cli.command", "lowering.lower", "highlighting.lexers")} <= modules
    assert len(modules) > 300
    assert found["codes"] == len(Code) and found["marker"]
    assert {"TensorComprehensionLexer", "SacLexer"} <= set(found["lexers"])
    assert found["tc"] == found["sac"] == [2.0, 4.0]


def test_the_first_example_of_the_readme_runs_in_an_empty_environment(installed: Installed) -> None:
    # The first block and the output below it, as a reader would copy them.
    shown = re.search(r"```python\n(.*?)```\n+```text\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert shown is not None
    (installed.folder / "first.py").write_text(shown[1])

    assert installed.runs("python", "first.py") == shown[2]


def test_the_installed_command_checks_and_runs_a_file_and_explains_a_mistake(installed: Installed) -> None:
    (installed.folder / "mm.tc").write_text("def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }")

    assert installed.runs("tcjax", "--version").split()[-1] == tcjax.__version__
    assert installed.runs("tcjax", "check", "mm.tc") == "1 file: 0 mistakes, 0 warnings\n"
    assert "[110.]]" in installed.runs("tcjax", "run", "mm.tc", "--input", "A=[[1,2],[3,4]]", "B=[[10],[20]]")
    assert installed.runs("tcjax", "errors", "TC0401").startswith("# TC0401: ")


def test_the_changelog_tells_of_this_version() -> None:
    headings = [line for line in (ROOT / "docs" / "changelog.md").read_text().splitlines() if line.startswith("## ")]

    assert headings[0] in ("## Unreleased", f"## {tcjax.__version__}")
    assert f"## {tcjax.__version__}" in headings
    assert len(headings) == len(set(headings))
