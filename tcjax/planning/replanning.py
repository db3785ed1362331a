"""How a group of reductions runs: all that is decided once the primitive is lowered, batched or differentiated."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..ir import Reducer
from ..symbolic import IndexVar
from .batching import anonymous as _anonymous
from .batching import batched
from .blocking import choose as choose_widths
from .bundle_blocks import BundlePlan, choose_blocks, plan_bundle
from .bundles import Bundle, batched_bundle
from .extrema import Extrema, batched_extrema
from .forms import choose, parts, within
from .layouts import Layout
from .nests import Form, Nest
from .nodes import Axes, Group, Node
from .onepass import OnePass, plan_pass
from .pallas_rule import prefers_pallas
from .preferences import Backend
from .sieves import Sieve, plan_sieve
from .softmax import Blocks, Softmax, batched_softmax
from .streams import Stream, plan_alone, plan_stream, turned
from .ties import search_of

Groups = Nest | Group


@dataclass(frozen=True, slots=True)
class Alone:
    """A nest as operations that XLA fuses, over operands that lie as `layouts` say (without: as they are)."""

    node: Node
    axes: Axes
    shape: tuple[int, ...]
    layouts: tuple[Layout, ...] = ()


@dataclass(frozen=True, slots=True)
class Nothing:
    """A loop without points: what each result is then."""

    values: tuple[bool | int | float, ...]


@dataclass(frozen=True, slots=True)
class Sieved:
    """A nest in the steps of `sieve`, and how each of its nests runs."""

    sieve: Sieve
    firsts: "Piece"
    blocks: "Piece"
    rest: "Piece"


@dataclass(frozen=True, slots=True)
class Piece:
    """One loop for a part of a nest: the `axes` and the `shape` of its results, their `dtypes`, and how it runs."""

    axes: Axes
    shape: tuple[int, ...]
    dtypes: tuple[str, ...]
    loop: Stream | Sieved | Nothing


@dataclass(frozen=True, slots=True)
class Pieces:
    """A nest in loops, of which each has a part of `axis` (None: there is one)."""

    axis: IndexVar | None
    pieces: tuple[Piece, ...]


anonymous = functools.lru_cache(maxsize=1024)(_anonymous)
search = functools.lru_cache(maxsize=1024)(search_of)


@functools.lru_cache(maxsize=1024)
def plan_plain(nest: Nest) -> Alone:
    """A nest as operations that XLA fuses where it can."""
    return Alone(plan_alone(nest.computed), nest.axes, nest.shape)


@functools.lru_cache(maxsize=1024)
def plan_cpu(group: Groups, form: Form | Blocks, memory: int | None) -> Alone | Pieces | OnePass | BundlePlan:
    """The loops of a group within `memory` bytes."""
    match group, form:
        case Nest(), Form(whole=True):
            found, layouts = turned(group, form)
            return Alone(plan_alone(found), group.axes, group.shape, layouts)
        case Nest(), Form():
            return _pieces(group, form, memory, 1)
        case Softmax(), Blocks():
            return plan_pass(group, form)
        case Bundle(), Blocks():
            return plan_bundle(group, form)
        case Extrema(), _:
            return _pieces(group.place, group.form, memory, len(group.results))
        case _:
            raise AssertionError((group, form))


def is_kernel(group: Groups, backend: Backend) -> bool:
    """Whether a group has a kernel of its own on a GPU: where that was asked for, or is expected to win."""
    return backend.name == "pallas" or (backend.name == "auto" and prefers_pallas(group)[0])


def batched_group(
    group: Groups, form: Form | Blocks, varying: Sequence[bool], size: int, memory: int | None
) -> tuple[Groups, Form | Blocks | None, tuple[bool, ...]]:
    """The group for every element of a new axis of extent `size`, which the operands that are `varying` have in front.

    And how its loops run within `memory` bytes (None: each reduction by itself), and which results have the axis in
    front.
    """
    match group, form:
        case Nest(), Form():
            wide = batched(group, varying, size)
            return wide, replace(within(choose(wide), wide, memory), whole=form.whole), (True,)
        case Softmax(), _:
            softmax, moved = batched_softmax(group, varying, size)
            return softmax, choose_widths(softmax, memory), moved
        case Bundle(), _:
            bundle, moved = batched_bundle(group, varying, size)
            return bundle, choose_blocks(bundle, memory), moved
        case Extrema(), _:
            extrema, moved = batched_extrema(group, varying, size, memory)
            return extrema, extrema.blocks, moved
        case _:
            raise AssertionError((group, form))


def _pieces(nest: Nest, form: Form, memory: int | None, results: int) -> Pieces:
    axis, found = parts(nest.computed, form, memory)
    return Pieces(axis, tuple([_piece(part, own, results) for part, own in found]))


def _piece(nest: Nest, form: Form, results: int = 1) -> Piece:
    """The loop of a nest; of a place up to three `results`: itself, the value, and how many points have it."""
    reduce = nest.reduce
    dtypes = (reduce.dtype, reduce.body.dtype, "int32")[:results]
    lo, hi = nest.ranges[form.loop]
    loop: Stream | Sieved | Nothing
    if lo == hi:
        reducers = [reduce.reducer]
        if results > 1:
            assert isinstance(reduce.reducer, Reducer)
            reducers += [reduce.reducer.variant(gives_position=False), Reducer.SUM]
        loop = Nothing(tuple([reducer.empty(dtype) for reducer, dtype in zip(reducers, dtypes, strict=False)]))
    elif form.sieve:
        sieve = plan_sieve(nest, form.sieve)
        blocks, rest = (_piece(own, replace(choose(own), sieve=0)) for own in (sieve.blocks, sieve.rest))
        loop = Sieved(sieve, _piece(sieve.firsts, sieve.form), blocks, rest)
    else:
        loop = plan_stream(nest, form)
    return Piece(nest.axes, nest.shape, dtypes, loop)
