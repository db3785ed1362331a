"""Typed index notation: no ranges, no arrays."""

from . import builtins, types
from .conditions import affine_of, condition_of, conjunction, conjuncts
from .expressions import (
    JOINS,
    PLACES,
    RANKED,
    Access,
    Binary,
    Call,
    Cast,
    Const,
    Data,
    Expr,
    Extent,
    Foreign,
    Index,
    Range,
    Reduce,
    Reducer,
    Select,
    Tensor,
    Unary,
)
from .integers import integer
from .monoids import Monoid, Number
from .printer import show, show_expr
from .statements import Accumulate, ApplyForeign, Define, Domain, Function, Invoke, Statement, targets
from .traversal import accesses, children, data_atoms, free_indices, rebuild, walk
from .verifier import verify

__all__ = [
    "JOINS",
    "PLACES",
    "RANKED",
    "Access",
    "Accumulate",
    "ApplyForeign",
    "Binary",
    "Call",
    "Cast",
    "Const",
    "Data",
    "Define",
    "Domain",
    "Expr",
    "Extent",
    "Foreign",
    "Function",
    "Index",
    "Invoke",
    "Monoid",
    "Number",
    "Range",
    "Reduce",
    "Reducer",
    "Select",
    "Statement",
    "Tensor",
    "Unary",
    "accesses",
    "affine_of",
    "builtins",
    "children",
    "condition_of",
    "conjunction",
    "conjuncts",
    "data_atoms",
    "free_indices",
    "integer",
    "rebuild",
    "show",
    "show_expr",
    "targets",
    "types",
    "verify",
    "walk",
]
