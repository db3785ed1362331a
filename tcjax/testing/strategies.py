"""Hypothesis strategies: arguments that a kernel takes."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..diagnostics import Code, CompileError
from ..runtime import Kernel
from ..runtime.checking.drawing import Drawer
from ..runtime.checking.samples import Sample, admitted, divides_integers, subscripts

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Array = np.ndarray[Any, Any]

# Number of calls drawn at once to choose from, smallest first: hypothesis shrinks towards the first.
_FORMS: Final = 40
_MOST: Final = 10**9


def shapes(kernel: Kernel) -> "SearchStrategy[tuple[tuple[int, ...], ...]]":
    """Shapes of arguments in parameter order that the kernel takes, the smallest first."""
    return calls(kernel).map(lambda call: tuple(np.shape(array) for array in call[0]))


def arguments(kernel: Kernel) -> "SearchStrategy[tuple[Array, ...]]":
    """Tuples of arrays in parameter order: ``kernel(*arrays)`` is a valid call.

    Sizes are small and consistent, and include 0 and 1; integers used as subscripts are in bounds; floats are multiples
    of 1/4, whose sums and products are exact. Raises `CompileError` for a kernel with a size passed by keyword: use
    `calls`.
    """
    sizes = kernel._frontend.keywords[1]
    if sizes:
        raise CompileError(
            Code.WRONG_ARGUMENT_COUNT,
            f"`{kernel.__name__}` takes {', '.join(sizes)} by keyword, and a tuple of arrays has no place for it",
            help="use `tcjax.testing.calls(kernel)`, whose elements are pairs of a tuple and a dict of keywords",
        )
    return calls(kernel).map(lambda call: call[0])


def calls(kernel: Kernel) -> "SearchStrategy[tuple[tuple[Array, ...], dict[str, Any]]]":
    """Pairs ``(args, kwargs)`` with which the kernel can be called; see `arguments`.

    `kwargs` has sizes, and sometimes initial values of outputs.
    """
    st = _hypothesis()
    forms = _forms(kernel)
    return st.sampled_from(forms).flatmap(lambda form: form.strategy(st))


@dataclass(frozen=True, eq=False)
class _Form:
    """Everything in a call except its elements; `limits` of subscripts, and whether integers may be zero."""

    sample: Sample
    static: frozenset[str]
    limits: Mapping[str, int]
    nonzero: bool

    def strategy(self, st: Any) -> "SearchStrategy[tuple[tuple[Array, ...], dict[str, Any]]]":
        drawn = {name: self._array(st, name, array) for name, array in self.sample.everything.items()}

        def call(arrays: dict[str, Array]) -> tuple[tuple[Array, ...], dict[str, Any]]:
            initial = {name: arrays[name] for name in self.sample.initial}
            return tuple(arrays[name] for name in self.sample.arrays), {**initial, **self.sample.sizes}

        return st.fixed_dictionaries(drawn).map(call)

    def _array(self, st: Any, name: str, array: Array) -> "SearchStrategy[Array]":
        if name in self.static:
            return st.just(array)
        if array.dtype.kind == "b":
            elements = st.booleans()
        elif array.dtype.kind in "iu" and name in self.limits:
            elements = st.integers(0, max(0, self.limits[name] - 1))
        elif array.dtype.kind in "iu":
            low = 1 if self.nonzero else 0 if array.dtype.kind == "u" else -3
            elements = st.integers(low, 5)
        elif array.dtype.kind == "c":
            elements = st.builds(lambda a, b: complex(a, b) / 4, st.integers(-8, 8), st.integers(-8, 8))
        else:
            elements = st.integers(-8, 8).map(lambda quarters: quarters / 4)
        count = prod(array.shape)
        return st.lists(elements, min_size=count, max_size=count).map(
            lambda values: np.array(values).astype(array.dtype).reshape(array.shape)
        )


def _forms(kernel: Kernel) -> list[_Form]:
    drawer = Drawer(kernel)
    found: dict[object, _Form] = {}
    for number in range(_FORMS):
        # Half of the calls have sizes from 0 to 4.
        sample = drawer.draw(np.random.default_rng(number), number if number % 2 else 1)
        call, bound = admitted(kernel, sample, _MOST)
        static = frozenset(name for name, *_ in call.values)
        found[call] = _Form(sample, static, subscripts(bound), divides_integers(bound.function))
    return sorted(found.values(), key=lambda form: form.sample.elements)


def _hypothesis() -> Any:
    try:
        from hypothesis import strategies
    except ImportError as error:
        raise ImportError(
            "the strategies of tcjax.testing need hypothesis: pip install 'tcjax[testing]'. "
            "`kernel.check()` and the assertions work without it."
        ) from error
    return strategies
