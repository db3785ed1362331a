"""No operation that the planner proposes imports another one."""

import ast
from pathlib import Path

import pytest

from tcjax.planning import operations

FOLDER = Path(operations.__file__).parent
OPERATIONS = {path.stem for path in FOLDER.glob("*.py") if "def propose" in path.read_text(encoding="utf-8")}


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_an_operation_imports_no_other(name: str) -> None:
    tree = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    found = {
        part
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level > 0
        for part in [*(node.module or "").split("."), *(alias.name for alias in node.names)]
    }

    assert not found & (OPERATIONS - {name})


def test_every_operation_proposes() -> None:
    listed = {propose.__module__.rpartition(".")[2] for propose in (*operations.OPERATIONS, *operations.PLACEMENTS)}

    assert listed == OPERATIONS - {"loop"}
