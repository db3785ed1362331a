"""Sizes as JAX's symbolic dimensions."""

import functools
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
from jax.core import max_dim, min_dim
from jax.errors import InconclusiveDimensionOperation

from ..symbolic import Size, SizeVar
from ..symbolic.size import Extremum, Floor, SizeAtom

# A number, or an expression of symbols, for which JAX has no public type.
Dim = Any


def evaluate(size: Size, values: Mapping[SizeVar, Dim]) -> Dim:
    """The value of a size. Raises `KeyError` for an unknown variable."""
    total: Dim = 0
    for monomial, weight in size.terms:
        product: Dim = weight
        for atom in monomial:
            product = product * _atom(atom, values)
        total = total + product
    return total


def _atom(atom: SizeAtom, values: Mapping[SizeVar, Dim]) -> Dim:
    match atom:
        case SizeVar():
            return values[atom]
        case Floor(numerator, divisor):
            by = evaluate(divisor, values)
            # As in NumPy: a quotient by zero is 0.
            return 0 if same(by, 0) else evaluate(numerator, values) // by
        case Extremum(kind, arguments):
            choose = min_dim if kind == "min" else max_dim
            return functools.reduce(choose, [evaluate(argument, values) for argument in arguments])


def same(a: Dim, b: Dim) -> bool:
    """Whether two sizes are equal for all values of the symbols."""
    try:
        return bool(a == b)
    except InconclusiveDimensionOperation:
        return False


def as_int32(size: Dim) -> Any:
    """The size as a value."""
    return jnp.asarray(size, "int32")


def positive(size: Dim) -> Dim:
    """The size itself if it is never 0, else the maximum of it and 1: JAX's loops test whether they run at all."""
    try:
        return size if size >= 1 else max_dim(size, 1)
    except InconclusiveDimensionOperation:
        return max_dim(size, 1)
