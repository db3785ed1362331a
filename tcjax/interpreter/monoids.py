"""Registered reductions, element by element."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..diagnostics import Code, CompileError
from ..ir import Monoid
from .scalars import Value, dtype_of

State = tuple[Value, ...]


def fold_elements(monoid: Monoid, values: Sequence[Value], accumulate: str, start: Value | None = None) -> Value:
    """The reduction of the values in order; of no values, the result of the identity. `start` is a state to continue
    from.
    """
    dtypes = tuple(map(dtype_of, monoid.components(accumulate)))

    def converted(state: Sequence[Any]) -> State:
        return tuple(np.asarray(part).astype(dtype)[()] for part, dtype in zip(state, dtypes, strict=True))

    def applied(function: Callable[..., Any], *arguments: Any) -> State:
        try:
            found = function(*arguments)
            return converted((found,) if monoid.scalar else tuple(found))
        except CompileError:
            raise
        except Exception as error:
            raise CompileError(
                Code.BAD_MONOID,
                f"a function of the reduction `{monoid.name}` fails for numbers: {type(error).__name__}: {error}",
                help="make it accept numbers as well as arrays, element by element",
            ) from error

    blank = converted(monoid.identity)
    state = blank if start is None else converted((start,))
    for value in values:
        element = (value, *blank[1:]) if monoid.inject is None else None
        injected = converted(element) if element is not None else applied(monoid.inject, value)  # type: ignore[arg-type]
        pair = (state[0], injected[0]) if monoid.scalar else (state, injected)
        state = applied(monoid.combine, *pair)
    if monoid.finish is None:
        return state[0]
    finished = monoid.finish(state[0] if monoid.scalar else state)
    return np.asarray(finished).astype(dtypes[0])[()]
