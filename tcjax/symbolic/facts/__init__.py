"""What is known about names, and every question that knowledge answers."""

from .expressions import Expr, Var
from .facts import Prover

__all__ = ["Expr", "Prover", "Var"]
