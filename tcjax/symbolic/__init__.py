"""Index variables, sizes and what is known about them, without tensors."""

from typing import TYPE_CHECKING

from .affine import (
    BOUNDARIES,
    Affine,
    AffineLike,
    Atom,
    Bounded,
    Box,
    Clamp,
    IndexVar,
    Opaque,
    Quotient,
    Remainder,
    clamp,
)
from .audits import Given, auditing, dropping
from .conditions import (
    FALSE,
    TRUE,
    AllOf,
    AnyOf,
    AtLeastZero,
    Condition,
    all_of,
    any_of,
    compare,
    negation,
    rewritten,
    unconditional,
    with_sizes,
)
from .domain import Search, find_point
from .interval import Interval
from .known import Facts
from .size import Extremum, Floor, Size, SizeLike, SizeVar, maximum, minimum

__all__ = [
    "BOUNDARIES",
    "FALSE",
    "TRUE",
    "Affine",
    "AffineLike",
    "AllOf",
    "AnyOf",
    "AtLeastZero",
    "Atom",
    "Bounded",
    "Box",
    "Clamp",
    "Condition",
    "Expr",
    "Extremum",
    "Facts",
    "Floor",
    "Given",
    "IndexVar",
    "Interval",
    "Opaque",
    "Quotient",
    "Remainder",
    "Search",
    "Size",
    "SizeLike",
    "SizeVar",
    "all_of",
    "any_of",
    "auditing",
    "clamp",
    "compare",
    "dropping",
    "find_point",
    "maximum",
    "minimum",
    "negation",
    "rewritten",
    "unconditional",
    "with_sizes",
]

if TYPE_CHECKING:
    from .facts.trees import Expr


def __getattr__(name: str) -> object:
    # The prover is imported with the first question that needs it, so that `import tcjax` stays light.
    if name == "Expr":
        from .facts.trees import Expr

        return Expr
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
