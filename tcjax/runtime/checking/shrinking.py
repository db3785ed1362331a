"""The smallest case that still fails: smaller sizes first, then simpler elements."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from ...diagnostics import CompileError
from ...symbolic import Size, SizeVar
from .samples import Array, Sample, admitted, subscripts

if TYPE_CHECKING:
    from ..questions import Questions

# New sizes compile again, new elements do not.
_MOST_SIZES: Final = 80
_MOST_VALUES: Final = 300


def shrink(kernel: "Questions", sample: Sample, fails: Callable[[Sample], bool]) -> tuple[Sample, int]:
    """The smallest call found for which `fails` holds, and how many were tried."""
    tried = 0
    for candidates, most in ((_smaller, _MOST_SIZES), (_simpler, _MOST_VALUES)):
        left, moved = most, True
        while moved and left:
            moved = False
            for candidate in candidates(kernel, sample):
                if not left:
                    break
                left, tried = left - 1, tried + 1
                if fails(candidate):
                    sample, moved = candidate, True
                    break
    return sample, tried


def _smaller(kernel: "Questions", sample: Sample) -> Iterator[Sample]:
    """The call with one size smaller, or all sizes that are equal; without an initial value."""
    for name in sample.initial:
        yield Sample(sample.arrays, {n: a for n, a in sample.initial.items() if n != name}, sample.sizes)
    dimensions = _dimensions(kernel, sample)
    sizes = {v: array.shape[d] for v, ((array, d), *_) in _places(sample, dimensions).items()}
    sizes |= {SizeVar(name): value for name, value in sample.sizes.items()}
    groups = [[variable] for variable in sizes]
    groups += [[v for v in sizes if sizes[v] == value] for value in sorted(set(sizes.values()))]
    for group in groups:
        now = sizes[group[0]]
        for value in dict.fromkeys((0, 1, 2, now // 2, now - 1)):
            if 0 <= value < now:
                for last in (False, True):
                    wanted = {**sizes, **dict.fromkeys(group, value)}
                    candidate = _resized(kernel, sample, dimensions, wanted, last=last)
                    if candidate is not None:
                        yield candidate


def _dimensions(kernel: "Questions", sample: Sample) -> dict[str, tuple[Size, ...]]:
    """The size of each dimension, one of its own where the program does not name it."""
    likely = kernel._frontend.likely
    known = {} if likely is None else {p.name: p.shape for p in likely.parameters}
    return {
        name: known[name]
        if name in known and len(known[name]) == array.ndim
        else tuple(Size.of(SizeVar(f"{name}.{d}")) for d in range(array.ndim))
        for name, array in sample.arrays.items()
    }


def _places(sample: Sample, dimensions: dict[str, tuple[Size, ...]]) -> dict[SizeVar, list[tuple[Array, int]]]:
    places: dict[SizeVar, list[tuple[Array, int]]] = {}
    for name, sizes in dimensions.items():
        for d, size in enumerate(sizes):
            for variable in size.variables():
                if size == Size.of(variable):
                    places.setdefault(variable, []).append((sample.arrays[name], d))
    return places


def _resized(
    kernel: "Questions",
    sample: Sample,
    dimensions: dict[str, tuple[Size, ...]],
    sizes: dict[SizeVar, int],
    *,
    last: bool,
) -> Sample | None:
    """The first, or the last, elements of the arrays; None where the kernel refuses them."""

    def part(array: Array, extents: Sequence[int]) -> Array:
        ends = zip(extents, array.shape, strict=True)
        return array[tuple(slice(now - new, now) if last else slice(new) for new, now in ends)]

    arrays: dict[str, Array] = {}
    for name, array in sample.arrays.items():
        shape = [size.substitute(sizes).constant for size in dimensions[name]]
        extents = [now if new is None else min(now, max(0, new)) for new, now in zip(shape, array.shape, strict=True)]
        arrays[name] = part(array, extents)
    named = {name: sizes.get(SizeVar(name), value) for name, value in sample.sizes.items()}
    try:
        _, bound = admitted(kernel, Sample(arrays, {}, named), 10**9)
        inside = {name: np.minimum(arrays[name], max(0, limit - 1)) for name, limit in subscripts(bound).items()}
        arrays |= {name: array.astype(arrays[name].dtype) for name, array in inside.items()}
        initial = {name: part(array, bound.shapes[name]) for name, array in sample.initial.items()}
        smaller = Sample(arrays, initial, named)
        admitted(kernel, smaller, 10**9)
    except CompileError:
        return None
    return smaller


def _simpler(kernel: "Questions", sample: Sample) -> Iterator[Sample]:
    """The call with simpler elements: an array of zeros, of ones, of rounded numbers; one element after the other."""
    ones = {name: np.ones_like(array) for name, array in sample.everything.items() if array.dtype.kind in "fcV"}
    if any(_is_simpler(simple, sample.everything[name]) for name, simple in ones.items()):
        yield sample.having(ones)
    for name, array in sample.everything.items():
        for simple in (np.zeros_like(array), np.ones_like(array), _rounded(array)):
            if _is_simpler(simple, array):
                yield sample.having({name: simple})
    for name, array in sample.everything.items():
        if array.size <= 32:
            for place in np.ndindex(array.shape):
                for value in (0, 1, *([] if array.dtype.kind in "biu" else [_rounded(array)[place]])):
                    simple = array.copy()
                    simple[place] = value
                    if _is_simpler(simple, array):
                        yield sample.having({name: simple})


def _rounded(array: Array) -> Array:
    return (
        array
        if array.dtype.kind in "biu"
        else np.round(array.astype(complex if array.dtype.kind == "c" else float)).astype(array.dtype)
    )


def _is_simpler(new: Array, old: Array) -> bool:
    """Whether more elements are 0, or as many and more are 1, or as many and more are whole."""

    def measure(array: Array) -> tuple[int, int, int]:
        wide = array.astype(complex)
        return int((wide == 0).sum()), int((wide == 1).sum()), int((wide == np.round(wide)).sum())

    return measure(new) > measure(old)
