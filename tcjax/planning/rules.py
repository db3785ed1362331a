"""How an expression becomes a computation: a rule for each kind, registered by the module that plans it.

Expressions contain reductions, and operations compute reductions of expressions: with a table of rules, neither module
imports the other.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from .. import ir
from .data.nodes import Node
from .scope import Scope

_Rule = TypeVar("_Rule", bound=Callable[[Any, Scope], Node])

_RULES: Final[dict[type, Callable[[Any, Scope], Node]]] = {}


def rule(*kinds: type) -> Callable[[_Rule], _Rule]:
    """A decorator: the function plans expressions of these kinds."""

    def add(function: _Rule) -> _Rule:
        _RULES.update(dict.fromkeys(kinds, function))
        return function

    return add


def plan_value(expr: ir.Expr, scope: Scope) -> Node:
    """The expression at every point of its free indices (unrolled ones excepted)."""
    return by_rule(expr, scope)


def by_rule(what: object, scope: Scope) -> Node:
    """The computation by the rule for its kind: for an expression, or the `Reduction` that operations see."""
    return _RULES[type(what)](what, scope)
