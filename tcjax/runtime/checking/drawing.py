"""Random calls that a kernel accepts: sizes are drawn until range inference accepts them."""

import re
from collections.abc import Hashable, Iterator, Mapping
from math import prod
from time import process_time
from typing import TYPE_CHECKING, Final

import numpy as np

from ... import ir
from ...diagnostics import CompileError
from ...ranges import Bound
from ...symbolic import Size, SizeVar
from ...syntax.sac import tree
from ..definitions import Definition
from ..frontends import Call, Frontend, Parameter
from .report import NotFound
from .samples import Array, Sample, TooMuch, admitted, divides_integers, filled, subscripts

if TYPE_CHECKING:
    from ..questions import Questions

# Other types than the likely one for an undeclared parameter.
_OTHERS: Final = ("int32", "float16", "bfloat16", "complex64", "uint8")
_POOLS: Final = (
    (2, 3, 4, 5, 6, 7),
    (0, 1, 1, 2, 3, 4),
    (1, 2, 3, 5, 8, 9),
    (2, 3, 7, 9, 13, 16, 17),
)
# Attempts with one pool, with increasing sizes, with equal sizes.
_ATTEMPTS: Final = 40
_STEPS: Final = ((5, 3000), (10, 3000), (20, 10_000), (40, 30_000), (130, 100_000), (1030, 1_000_000))
_STYLES: Final = ("quarters", "generic", "quarters", "positive")
# Seconds for rejected calls, for all examples of a check together: a recursive program is slow to elaborate.
_PATIENCE: Final = 30.0


class Drawer:
    """Draws calls of one kernel."""

    def __init__(self, kernel: "Questions") -> None:
        self._kernel = kernel
        frontend = kernel._frontend
        self._parameters: tuple[Parameter, ...] = frontend.parameters
        likely = frontend.likely
        self._likely = {} if likely is None else {p.name: p for p in likely.parameters}
        self._patterns = _patterns(frontend)
        self._is_definition = isinstance(frontend, Definition)
        texts = " ".join(map(str, frontend.options.assume)) + " " + str(kernel)
        numbers = {int(text) for text in re.findall(r"(?<![\w.])\d{1,4}(?![\w.])", texts)}
        self._numbers = sorted({n * m for n in numbers for m in (1, 2, 3)} | {n + 1 for n in numbers})
        self._initial, self._sizes = frontend.keywords
        # Calls that were rejected, so that nothing is tried twice.
        self._refusals: dict[Hashable, Exception] = {}
        self._spent = 0.0

    def draw(self, rng: np.random.Generator, number: int) -> Sample:
        """The example with this number. Raises `NotFound` if no call that was tried is accepted."""
        refusal: Exception | None = None
        empty: Sample | None = None
        style = _STYLES[number % len(_STYLES)]
        tried = 0
        for plain, pool, most in self._pools(number):
            if tried and self._spent > _PATIENCE:
                break
            begin = process_time()
            tried += 1
            try:
                sample, elements = self._drawn(rng, pool, style, most, plain=plain)
            except (CompileError, TooMuch) as error:
                refusal = error
                self._spent += process_time() - begin
                continue
            if elements or 0 in pool:
                return sample
            empty = empty or sample
        if empty is not None:
            return empty
        said = str(refusal) if isinstance(refusal, CompileError) else "they are too large for the interpreter"
        attempts = "1 attempt" if tried == 1 else f"{tried} attempts"
        raise NotFound(
            f"found no arguments that `{self._kernel._frontend.name}` takes in {attempts}; "
            f"for arguments of your own: tcjax.testing.assert_matches(k, k.interpret, *arguments); "
            f"of the last ones that were tried:\n{said}"
        )

    def _pools(self, number: int) -> Iterator[tuple[bool, tuple[int, ...], int]]:
        """Whether to use the likely types, the sizes to choose from, and the number of points that may be computed."""
        for attempt in range(2 * _ATTEMPTS):
            yield attempt > _ATTEMPTS, _POOLS[number % len(_POOLS)], _STEPS[0][1]
        for end, most in _STEPS:
            fitting = tuple(n for n in self._numbers if n <= end)
            for _ in range(_ATTEMPTS):
                yield True, (*range(max(1, end // 4), end + 1), *fitting * 3), most
            for size in range(1, min(end, 12)):
                yield True, (size,), most

    def _drawn(
        self, rng: np.random.Generator, pool: tuple[int, ...], style: str, most: int, *, plain: bool
    ) -> tuple[Sample, int]:
        """A call, and the number of elements of its results."""
        dtypes = self._dtypes(rng, plain=plain)
        known: dict[SizeVar, int] = {}
        ranks: dict[str, int] = {}

        def size(variable: SizeVar) -> int:
            # Sizes that must be equal are found by reusing an earlier one.
            if variable not in known:
                earlier = list(known.values())
                again = earlier and rng.random() < (0.3 if self._is_definition else 0.5)
                known[variable] = int(rng.choice(earlier if again else pool))
            return known[variable]

        def extent(dimension: Size) -> int:
            for variable in sorted(dimension.variables(), key=str):
                size(variable)
            return max(0, dimension.evaluate(known))

        dimensions: dict[str, tuple[Size, ...]] = {}
        for parameter in self._parameters:
            dimensions[parameter.name] = self._dimensions(rng, parameter, ranks, dimensions)
        shapes = {name: tuple(map(extent, own)) for name, own in dimensions.items()}
        if sum(map(prod, shapes.values())) > 4 * most:
            raise TooMuch
        sizes = {name: size(SizeVar(name)) for name in self._sizes}
        limits: Mapping[str, int] = dict.fromkeys(shapes, 4)
        small = {name: filled(rng, s, dtypes[name], style, 4, nonzero=True) for name, s in shapes.items()}
        # Values may determine shapes, so they are drawn before anything is known about subscripts.
        arrays = {
            name: small[name]
            if ir.types.is_integral(dtypes[name])
            else filled(rng, s, dtypes[name], style, None, nonzero=False)
            for name, s in shapes.items()
        }
        call, bound = self._admitted_once(Sample(arrays, {}, sizes), most)
        limits = subscripts(bound)
        nonzero = divides_integers(bound.function)
        decided = {name for name, *_ in call.values}
        arrays = {
            name: arrays[name]
            if name in decided
            else filled(rng, s, dtypes[name], style, limits.get(name), nonzero=nonzero)
            for name, s in shapes.items()
        }
        initial = {
            tensor.name: filled(rng, bound.shapes[tensor.name], tensor.dtype, style, None, nonzero=nonzero)
            for tensor in bound.function.initial
            if tensor.name in self._initial and rng.random() < 0.5
        }
        sample = Sample(arrays, initial, sizes)
        _, bound = admitted(self._kernel, sample, most)
        return sample, sum(prod(bound.shapes[tensor.name]) for tensor in bound.function.returns)

    def _admitted_once(self, sample: Sample, most: int) -> tuple[Call, Bound]:
        """Like `admitted`, but remembers rejected calls."""
        key = (most, *sample.sizes.items(), *((a.shape, a.dtype, _deciding(a)) for a in sample.arrays.values()))
        if key in self._refusals:
            raise self._refusals[key]
        try:
            return admitted(self._kernel, sample, most)
        except (CompileError, TooMuch) as error:
            self._refusals[key] = error.with_traceback(None)
            raise

    def _dtypes(self, rng: np.random.Generator, *, plain: bool) -> dict[str, str]:
        """A type for each parameter: the declared one, else its likely one or, all together, another."""
        other = None if plain or rng.random() < 0.75 else str(rng.choice(_OTHERS))
        found: dict[str, str] = {}
        for parameter in self._parameters:
            likely = self._likely.get(parameter.name)
            usual = "float32" if likely is None else likely.dtype
            if likely is None and not self._is_definition and rng.random() < 0.2:
                usual = "int32"
            selects = ir.types.is_integral(usual)
            found[parameter.name] = parameter.declared or (usual if other is None or selects else other)
        return found

    def _dimensions(
        self,
        rng: np.random.Generator,
        parameter: Parameter,
        ranks: dict[str, int],
        earlier: Mapping[str, tuple[Size, ...]],
    ) -> tuple[Size, ...]:
        """A size for each dimension; if the rank is unknown, of a random rank, or as in an earlier parameter."""
        pattern = self._patterns.get(parameter.name)
        if pattern is not None:
            alike = [name for name in earlier if self._patterns.get(name) == pattern]
            if alike and any(isinstance(axis, tree.Axes) for axis in pattern) and rng.random() < 0.5:
                # Arrays of any rank usually need the same one: `float[*] u, float[*] f`.
                return earlier[alike[0]]
            return _of_pattern(rng, parameter.name, pattern, ranks)
        likely = self._likely.get(parameter.name)
        rank = int(rng.choice((0, 1, 1, 2, 2, 3))) if likely is None else likely.rank
        if likely is not None and not self._is_definition and rng.random() < 0.15:
            # A SaC program on numbers is also one on arrays.
            rank += 1
        own = () if likely is None else likely.shape
        return (*own, *(Size.of(SizeVar(f"{parameter.name}.{d}")) for d in range(len(own), rank)))


def _deciding(array: Array) -> bytes:
    """The contents of an array that may determine shapes."""
    return b"" if array.dtype.kind in "fcV" else array.tobytes()


def _patterns(frontend: Frontend) -> dict[str, tuple[tree.Axis | tree.Axes, ...]]:
    """The axes of the type patterns of a SaC program."""
    if isinstance(frontend, Definition):
        return {}
    return {p.name: p.type.axes for p in frontend.entry.parameters if not isinstance(p, str)}


def _of_pattern(
    rng: np.random.Generator, name: str, axes: tuple[tree.Axis | tree.Axes, ...], ranks: dict[str, int]
) -> tuple[Size, ...]:
    """A size for each axis; groups of axes with the same name have the same number of axes, given by `ranks`."""
    found: list[Size] = []
    for axis in axes:
        match axis:
            case tree.Axis(int() as extent):
                found.append(Size.of(extent))
            case tree.Axis(str() as extent):
                found.append(Size.of(SizeVar(extent)))
            case tree.Axis():
                found.append(Size.of(SizeVar(f"{name}.{len(found)}")))
            case tree.Axes(count, least, shape):
                key = count if isinstance(count, str) else shape or f"{name}.{len(found)}"
                count = count if isinstance(count, int) else ranks.setdefault(key, least + int(rng.integers(0, 3)))
                found += [Size.of(SizeVar(f"{shape or name}.{d}")) for d in range(count)]
    return tuple(found)
