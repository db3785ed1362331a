"""The builtin reductions: one row each, with everything the other rooms ask about them."""

import math
from dataclasses import dataclass
from enum import Enum
from typing import Final

from . import types

# For the column `nothing`: the greatest and the least value of a type.
_GREATEST: Final = math.inf
_LEAST: Final = -math.inf


@dataclass(eq=False, repr=False, kw_only=True)
class Traits:
    """The columns.

    `nothing` is the value over no points, for numbers. If the reduction `continues`, this is the identity: then a
    result is a state, results of parts combine to that of the whole, and a statement continues from its target's value.
    `operator` combines two results if there is one; otherwise the builtin `joins` does. `distributes_over` is the
    operator that may be taken out of the reduction. `order` says which value a selecting reduction takes first,
    ``"min"`` or ``"max"``: it returns the value itself, the one at a rank (`is_ranked`), or its position
    (`gives_position`). `inject` is applied to each element before it is added. An `is_upper_bound` result is at least
    as large as any element. `states` are the numbers kept while points arrive.
    """

    nothing: float
    continues: bool = True
    operator: str | None = None
    joins: str | None = None
    distributes_over: str | None = None
    order: str | None = None
    is_ranked: bool = False
    gives_position: bool = False
    takes_bool: bool = False
    is_floating: bool = False
    is_upper_bound: bool = False
    inject: str | None = None
    finish: str | None = None
    states: int = 1


class Reducer(Traits, Enum):
    """How a reduction combines its points. The enum value is the name in ``name[k](e)``."""

    _value_: str

    SUM = "sum", Traits(nothing=0, operator="+", distributes_over="*")
    PRODUCT = "prod", Traits(nothing=1, operator="*")
    MIN = "min", Traits(nothing=_GREATEST, operator="min", distributes_over="+", order="min")
    MAX = "max", Traits(nothing=_LEAST, operator="max", distributes_over="+", order="max", is_upper_bound=True)
    ANY = "any", Traits(nothing=0, operator="||", takes_bool=True)
    ALL = "all", Traits(nothing=1, operator="&&", takes_bool=True)
    MEAN = "mean", Traits(nothing=math.nan, continues=False, distributes_over="*", is_floating=True, states=2)
    LOGSUMEXP = (
        "logsumexp",
        Traits(
            nothing=_LEAST,
            joins="logaddexp",
            distributes_over="+",
            is_floating=True,
            is_upper_bound=True,
            inject="exp",
            finish="log",
            states=2,
        ),
    )
    ARGMIN = "argmin", Traits(nothing=0, continues=False, order="min", gives_position=True, states=2)
    ARGMAX = "argmax", Traits(nothing=0, continues=False, order="max", gives_position=True, states=2)
    MINK = "mink", Traits(nothing=_GREATEST, continues=False, order="min", is_ranked=True)
    MAXK = "maxk", Traits(nothing=_LEAST, continues=False, order="max", is_ranked=True)
    ARGMINK = "argmink", Traits(nothing=0, continues=False, order="min", is_ranked=True, gives_position=True)
    ARGMAXK = "argmaxk", Traits(nothing=0, continues=False, order="max", is_ranked=True, gives_position=True)

    def __new__(cls, name: str, traits: Traits) -> "Reducer":
        """The member of this name."""
        self = object.__new__(cls)
        self._value_ = name
        return self

    def __init__(self, name: str, traits: Traits) -> None:
        super().__init__(**vars(traits))

    @property
    def is_extremum(self) -> bool:
        """Whether it is min or max."""
        return self.order is not None and not self.is_ranked and not self.gives_position

    @property
    def is_linear(self) -> bool:
        """Whether it is a multiple of the sum of the elements."""
        return self.distributes_over == "*"

    @property
    def commutative(self) -> bool:
        """Whether the order of the points does not matter."""
        return not self.gives_position

    @property
    def is_rounded(self) -> bool:
        """Whether combining rounds, so that the reduction runs in a wider type."""
        return self.order is None and not self.takes_bool

    @property
    def takes_complex(self) -> bool:
        """Whether elements need no order."""
        return self.is_rounded and not self.is_upper_bound

    def element(self, dtype: str) -> str:
        """The type an element is converted to: floating-point if the result always is."""
        is_open = self.is_floating and not (types.is_float(dtype) or types.is_complex(dtype))
        return "float32" if is_open else dtype

    def result(self, body: str, running: str) -> str:
        """The type of the result of a reduction of elements of type `body` that runs in the type `running`."""
        return "int32" if self.gives_position else body

    def empty(self, dtype: str) -> bool | int | float:
        """The value over no points, in a type."""
        if dtype == "bool" and not self.gives_position:
            return self.nothing > 0
        if math.isinf(self.nothing):
            return _greatest(dtype) if self.nothing > 0 else _least(dtype)
        return self.nothing if math.isnan(self.nothing) else int(self.nothing)

    def variant(
        self, *, order: str | None = None, is_ranked: bool | None = None, gives_position: bool | None = None
    ) -> "Reducer":
        """The reduction that takes the first value in another order, its position, or the one at a rank."""
        assert self.order is not None, self
        wanted = (
            self.order if order is None else order,
            self.is_ranked if is_ranked is None else is_ranked,
            self.gives_position if gives_position is None else gives_position,
        )
        return next(one for one in Reducer if (one.order, one.is_ranked, one.gives_position) == wanted)


BY_OPERATOR: Final = {reducer.operator: reducer for reducer in Reducer if reducer.operator is not None}


def _greatest(dtype: str) -> bool | int | float:
    """The identity of min."""
    if dtype == "bool":
        return True
    if dtype in types.UNSIGNED:
        return 2 ** types.BITS[dtype] - 1
    if dtype in types.SIGNED:
        return 2 ** (types.BITS[dtype] - 1) - 1
    return math.inf


def _least(dtype: str) -> bool | int | float:
    """The identity of max."""
    if dtype == "bool":
        return False
    if dtype in types.UNSIGNED:
        return 0
    if dtype in types.SIGNED:
        return -(2 ** (types.BITS[dtype] - 1))
    return -math.inf
