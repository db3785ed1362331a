"""Sums, products and conjunctions are split only by `ir.operands`, so that all users agree."""

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "tcjax"
ROOMS = ("ir", "transforms", "planning", "lowering", "layers", "ranges")
OPERATORS = {"+", "-", "*", "/", "&&"}
PLACES = {
    "ir/operands.py:factors": "products",
    "ir/operands.py:_apart": "products that divide",
    "ir/operands.py:terms": "sums",
    "transforms/findings.py:_inside": "visits both sides of a conjunction, the second where the first holds",
}


def _names(pattern: ast.AST) -> set[str]:
    return {node.name for node in ast.walk(pattern) if isinstance(node, ast.MatchAs) and node.name}


def _is_chain(case: ast.match_case) -> bool:
    """Whether the case matches ``Binary("*", left, right)`` or similar."""
    pattern = case.pattern
    if not isinstance(pattern, ast.MatchClass) or not ast.unparse(pattern.cls).endswith("Binary"):
        return False
    first = ast.walk(pattern.patterns[0]) if pattern.patterns else ()
    return bool(OPERATORS & {node.value for node in first if isinstance(node, ast.Constant)})


def _collects(case: ast.match_case, function: str) -> bool:
    """Whether both operands go into one list: by recursion, or in a list of pending operands."""
    operands = _names(case.pattern)
    own = [
        node
        for node in ast.walk(ast.Module(case.body, []))
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == function
    ]
    called = [node for node in own if node.args and _loads(node.args[0]) & operands]
    for node in (node for statement in case.body for node in ast.walk(statement)):
        match node:
            case ast.List(elts) | ast.Tuple(elts) if (
                sum(isinstance(e, ast.Starred) and e.value in called for e in elts) > 1
            ):
                return True
            case ast.BinOp(left, ast.Add(), right) if left in called and right in called:
                return True
            case ast.AugAssign(op=ast.Add(), value=ast.List(elts)) if sum(bool(_loads(e) & operands) for e in elts) > 1:
                return True
            case _:
                continue
    return sum(isinstance(node, ast.YieldFrom) and node.value in called for s in case.body for node in ast.walk(s)) > 1


def _loads(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def decompositions(file: Path) -> Iterator[str]:
    """``file:function`` for each function that splits a sum, a product or a conjunction."""
    for function in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(function, ast.FunctionDef):
            cases = (node for node in ast.walk(function) if isinstance(node, ast.match_case))
            if any(_is_chain(case) and _collects(case, function.name) for case in cases):
                yield f"{file.relative_to(PACKAGE).as_posix()}:{function.name}"


def test_chains_are_taken_apart_in_one_place() -> None:
    files = [file for room in ROOMS for file in sorted((PACKAGE / room).rglob("*.py"))]

    found = [place for file in files for place in decompositions(file)]

    assert sorted(found) == sorted(PLACES)
