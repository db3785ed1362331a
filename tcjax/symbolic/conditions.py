"""Conditions on index variables: affine inequalities, all of them or any of them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from .affine import Affine, AffineLike
from .size import SizeLike, SizeVar


@dataclass(frozen=True, slots=True)
class AtLeastZero:
    """``affine >= 0``. If the expression depends on data, the condition may hold or not."""

    affine: Affine

    def __str__(self) -> str:
        return f"{self.affine} >= 0"


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every part holds; without parts: true."""

    parts: "tuple[Condition, ...]"

    def __str__(self) -> str:
        return " && ".join(f"({part})" for part in self.parts) or "true"


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Some part holds; without parts: false."""

    parts: "tuple[Condition, ...]"

    def __str__(self) -> str:
        return " || ".join(f"({part})" for part in self.parts) or "false"


Condition = AtLeastZero | AllOf | AnyOf

TRUE = AllOf(())
FALSE = AnyOf(())


def all_of(parts: Iterable[Condition]) -> Condition:
    """Every part, flat."""
    flat: list[Condition] = []
    for part in parts:
        if part == FALSE:
            return FALSE
        flat.extend(part.parts if isinstance(part, AllOf) else (part,))
    return flat[0] if len(flat) == 1 else AllOf(tuple(flat))


def any_of(parts: Iterable[Condition]) -> Condition:
    """Some part, flat."""
    flat: list[Condition] = []
    for part in parts:
        if part == TRUE:
            return TRUE
        flat.extend(part.parts if isinstance(part, AnyOf) else (part,))
    return flat[0] if len(flat) == 1 else AnyOf(tuple(flat))


def compare(operator: str, left: AffineLike, right: AffineLike) -> Condition:
    """``left operator right`` of integers, operator one of ``< <= > >= == !=``."""
    difference = Affine.of(left) - right
    match operator:
        case "<":
            return AtLeastZero(-difference - 1)
        case "<=":
            return AtLeastZero(-difference)
        case ">":
            return AtLeastZero(difference - 1)
        case ">=":
            return AtLeastZero(difference)
        case "==":
            return AllOf((AtLeastZero(difference), AtLeastZero(-difference)))
        case _:
            assert operator == "!=", operator
            return AnyOf((AtLeastZero(difference - 1), AtLeastZero(-difference - 1)))


def rewritten(condition: Condition, rewrite: Callable[[Affine], Affine]) -> Condition:
    """The condition with ``rewrite`` applied to each expression that it compares."""
    match condition:
        case AtLeastZero(affine):
            return AtLeastZero(rewrite(affine))
        case AllOf(parts):
            return AllOf(tuple(rewritten(part, rewrite) for part in parts))
        case AnyOf(parts):
            return AnyOf(tuple(rewritten(part, rewrite) for part in parts))


def with_sizes(condition: Condition, sizes: Mapping[SizeVar, SizeLike]) -> Condition:
    """The condition with size variables replaced."""
    return rewritten(condition, lambda affine: affine.substitute_sizes(sizes))


def negation(condition: Condition) -> Condition:
    """The negated condition; data-dependent parts may be false on both sides."""
    match condition:
        case AtLeastZero(affine):
            return AtLeastZero(-affine - 1)
        case AllOf(parts):
            return any_of(map(negation, parts))
        case AnyOf(parts):
            return all_of(map(negation, parts))


def unconditional(condition: Condition, *, outcome: bool = True) -> Condition:
    """The condition with `outcome` in place of data-dependent parts."""
    match condition:
        case AtLeastZero(affine):
            return (TRUE if outcome else FALSE) if affine.is_data else condition
        case AllOf(parts):
            return all_of(unconditional(part, outcome=outcome) for part in parts)
        case AnyOf(parts):
            return any_of(unconditional(part, outcome=outcome) for part in parts)
