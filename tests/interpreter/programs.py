"""Programs in TC's notation through the interpreter."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tcjax import elaboration, ir, ranges
from tcjax.interpreter import interpret
from tcjax.ranges import Bound
from tcjax.syntax import tc


@dataclass(frozen=True)
class SameTypes:
    """A Python function whose result is like its first argument."""

    def scalar(self, dtypes: tuple[str, ...]) -> str:
        return dtypes[0]

    def whole(self, arguments: tuple[elaboration.Argument, ...]) -> tuple[elaboration.Argument, ...]:
        return arguments[:1]


def bind(
    text: str,
    arrays: tuple[np.ndarray, ...],
    *,
    initial: Mapping[str, np.ndarray] = {},
    fns: Mapping[str, Callable[..., Any]] = {},
    sizes: Mapping[str, int] = {},
) -> Bound:
    """The first definition of the text with the sizes of these arguments."""
    program = tc.read(text)
    definition = program.definitions[0]
    function = elaboration.elaborate(definition, program, {}, {name: SameTypes() for name in fns})
    names = [parameter.name for parameter in function.parameters]
    return ranges.bind(
        function,
        {name: array.shape for name, array in zip(names, arrays, strict=True)},
        sizes,
        {name: array.shape for name, array in initial.items()},
        _same_shape,
    )


def compute(
    text: str,
    *arrays: np.ndarray,
    initial: Mapping[str, np.ndarray] = {},
    fns: Mapping[str, Callable[..., Any]] = {},
    sizes: Mapping[str, int] = {},
) -> Any:
    """What the first definition of the text returns: one array, or a tuple."""
    bound = bind(text, arrays, initial=initial, fns=fns, sizes=sizes)
    names = [parameter.name for parameter in bound.function.parameters]
    results = interpret(bound, dict(zip(names, arrays, strict=True)), initial, fns)
    return results[0] if len(results) == 1 else results


def _same_shape(
    name: str, arguments: tuple[ir.Tensor, ...], shapes: tuple[tuple[int, ...], ...]
) -> tuple[tuple[int, ...], ...]:
    return shapes[:1]
