"""User-defined reductions."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from . import types

Number = bool | int | float | complex


@dataclass(frozen=True, slots=True)
class Monoid:
    """``name[k](e)``: a state that starts as `identity` and is combined with `inject(e)` for each element.

    A state is a tuple of arrays, one per component; `combine` takes two states and returns one. `identity` is a tuple
    of numbers; `dtypes` are the types of the components where the user fixed them (None: the type of the reduction).
    The result is `finish(state)`, or the first component if `finish` is None. If `inject` is None, the element is the
    first component and the others come from the identity. With `scalar`, the functions take and return a bare
    component.
    """

    name: str
    combine: Callable[..., Any]
    identity: tuple[Number, ...]
    dtypes: tuple[str | None, ...]
    commutative: bool = True
    scalar: bool = True
    inject: Callable[..., Any] | None = None
    finish: Callable[..., Any] | None = None

    # The same questions as for a `Reducer`.
    operator: ClassVar[None] = None
    order: ClassVar[None] = None
    is_ranked: ClassVar[bool] = False
    is_extremum: ClassVar[bool] = False
    is_linear: ClassVar[bool] = False
    gives_position: ClassVar[bool] = False
    is_upper_bound: ClassVar[bool] = False
    is_rounded: ClassVar[bool] = True
    takes_complex: ClassVar[bool] = True
    distributes_over: ClassVar[None] = None

    @property
    def value(self) -> str:
        """The name in ``name[k](e)``, like the value of a `Reducer`."""
        return self.name

    @property
    def continues(self) -> bool:
        """Whether a result is a state: then a statement can continue from its target's value."""
        return self.scalar and self.finish is None

    @property
    def takes_bool(self) -> bool:
        """Whether an element is a bool, being the state itself."""
        return self.scalar and self.inject is None and self.components("float32") == ("bool",)

    def element(self, dtype: str) -> str:
        """The type an element is converted to: wide enough for the numbers of the identity."""
        for number, fixed in zip(self.identity, self.dtypes, strict=True):
            if fixed is not None or isinstance(number, bool):
                continue
            if isinstance(number, complex) and not types.is_complex(dtype):
                dtype = types.join(dtype, "complex64")
            elif isinstance(number, float) and not (types.is_float(dtype) or types.is_complex(dtype)):
                dtype = "float32"
            elif dtype == "bool":
                dtype = "int32"
        return dtype

    def components(self, running: str) -> tuple[str, ...]:
        """The types of the components if the reduction runs in the type `running`."""
        return tuple(
            fixed if fixed is not None else "bool" if isinstance(number, bool) else running
            for number, fixed in zip(self.identity, self.dtypes, strict=True)
        )

    def result(self, body: str, running: str) -> str:
        """The type of the result of a reduction of elements of type `body`."""
        first = self.components(running)[0]
        return body if first == running else first

    def component(self, number: int) -> "Monoid":
        """The monoid whose result is a component of the state."""
        name, n = f"{self.name}.{number}", number
        if self.scalar or n == 0:
            return replace(self, name=name, finish=None)
        return replace(
            self,
            name=name,
            combine=_Turned(self.combine, n),
            identity=(*self.identity[n:], *self.identity[:n]),
            dtypes=(*self.dtypes[n:], *self.dtypes[:n]),
            inject=_Injected(self.inject, self.identity, n),
            finish=None,
        )

    def empty(self, dtype: str) -> int:
        """A placeholder for the value over no points, which only the lowering knows."""
        return 0


@dataclass(frozen=True, slots=True)
class _Turned:
    """`combine` on states of which the component of this number comes first, and what was before it last."""

    combine: Callable[..., Any]
    number: int

    def __call__(self, a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
        last = len(a) - self.number
        found = tuple(self.combine((*a[last:], *a[:last]), (*b[last:], *b[:last])))
        return (*found[self.number :], *found[: self.number])


@dataclass(frozen=True, slots=True)
class _Injected:
    """The state of an element, in the order of such states."""

    inject: Callable[..., Any] | None
    identity: tuple[Number, ...]
    number: int

    def __call__(self, element: Any) -> tuple[Any, ...]:
        found = (element, *self.identity[1:]) if self.inject is None else tuple(self.inject(element))
        return (*found[self.number :], *found[: self.number])
