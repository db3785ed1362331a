"""What is not Python travels with the package."""

import subprocess
import sys
import zipfile
from pathlib import Path

from tcjax.diagnostics import Code

ROOT = Path(__file__).parents[2]


def test_the_wheel_holds_the_grammar_the_explanations_and_the_marker_of_types(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]

    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)

    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"tcjax/py.typed", "tcjax/syntax/tc/grammar.lark"} <= names
    assert {f"tcjax/diagnostics/explanations/{code.value}.md" for code in Code} <= names
    assert not any(name.startswith(("tests/", "examples/", "bench/")) for name in names)
