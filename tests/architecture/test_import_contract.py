"""The layers in pyproject.toml hold, and importing the package stays light."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_every_room_imports_only_the_rooms_below_it() -> None:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]

    checked = subprocess.run([*command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)

    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_importing_the_package_loads_no_optional_dependency_and_warns_of_nothing() -> None:
    optional = ["flax", "optax", "sklearn", "PIL", "tqdm", "hypothesis", "pytest"]
    program = f"import sys, tcjax; print([name for name in {optional} if name in sys.modules])"

    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert (ran.stdout, ran.stderr) == ("[]\n", "")


@pytest.mark.parametrize(
    "room", ["diagnostics", "symbolic", "syntax", "ir", "ranges", "elaboration", "transforms", "planning"]
)
def test_no_source_before_lowering_names_jax(room: str) -> None:
    imports = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in (ROOT / "tcjax" / room).rglob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if line.lstrip().startswith(("import jax", "from jax"))
    ]

    assert imports == []
