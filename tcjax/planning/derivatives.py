"""The derivatives of a group of reductions: formulas that are planned like any other."""

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Final

from .. import ir
from ..diagnostics import Code, CompileError
from ..symbolic import Affine, Size
from ..transforms import derivatives
from .blocked.batching import anonymous
from .blocked.loop_schedules import are_costly, choose
from .blocked.softmax import statistic_of
from .data.derivatives import (
    RESULT,
    TANGENT,
    ByFormula,
    Cotangents,
    Receipt,
    Run,
    Shift,
    Tangent,
    Tangents,
    cotangent_name,
    tangent_name,
)
from .data.groups import Blocks, Extrema, Group, Softmax, statistic_name
from .data.nests import LoopSchedule, Nest, Operand
from .data.preferences import Backend, Preferences
from .data.stages import Compute
from .formulas import plan_formula
from .fusion.recomputed import stored_apart
from .fusion.sharing import share
from .fusion.ties import search_of, with_ties

# A lookup for each element of a result needs about this many times the result's memory, with its positions.
LOOKED_UP: Final = 12
Shapes = Mapping[str, tuple[int, ...]]
Origin = tuple[int | Affine, ...]


# ---------------------------------------------------------------- tangents


@functools.lru_cache(maxsize=1024)
def plan_tangents(
    group: Group, form: LoopSchedule | Blocks, moved: frozenset[int], backend: Backend
) -> Tangents | None:
    """The tangents of a group for its `moved` operands, by number; None if index notation cannot name a derivative."""
    # Derivatives add names.
    own = anonymous(group) if isinstance(group, Nest) else group
    moving = {o.name for number, o in enumerate(own.operands) if number in moved}
    try:
        run, known = _primal(group, own, form, frozenset(moving), backend)
        plain = _plain_tangents(own, frozenset(moving), backend)
        tangents = frozenset(map(tangent_name, moving))
        together = dict(zip(plain, _shared(list(plain.values()), backend, tangents) or (), strict=False))
        changes: list[Tangent | None] = []
        shifts: list[Shift | None] = []
        for number, nest in enumerate(own.results):
            found = None
            if number not in together and number in plain and number >= len(own.statistics):
                found = Tangent(_names(nest), (), plain[number])
            elif number not in together:
                found = _tangent(nest, _factors(nest, own, moving), known, backend)
            changes.append(found)
            if (found is not None or number in together) and number < len(own.statistics):
                moving.add(statistic_name(number))
            shifts.append(_shift(number, own, moving))
    except CompileError as error:
        if error.code != Code.NO_DERIVATIVE.value:
            raise
        return None
    return Tangents(_names(own), run, tuple(changes), tuple(together.items()), tuple(shifts))


def _factors(nest: Nest, group: Group, moving: Collection[str]) -> frozenset[str]:
    """The operands to differentiate: the change of a statistic is a factor of the whole sum, and needs no separate
    tangent.
    """
    found = _moving(nest, moving)
    if isinstance(group, Softmax):
        found -= {statistic_name(number) for number in range(len(group.statistics))}
    return found


def _shift(number: int, group: Group, moving: Collection[str]) -> Shift | None:
    if not isinstance(group, Softmax) or number < len(group.statistics):
        return None
    nest = group.results[number]
    statistic, _ = statistic_of(nest)
    if statistic_name(statistic) not in moving:
        return None
    return Shift(statistic, group.statistics[statistic].axes, nest.axes)


def _plain_tangents(group: Group, moving: frozenset[str], backend: Backend) -> dict[int, Compute]:
    """The tangents of results, by number, that need nothing computed before: one pass may compute several."""
    stages: dict[int, Compute] = {}
    for number, nest in enumerate(group.results):
        is_statistic = number < len(group.statistics)
        # A statistic is known by its name; readers of the result itself come after it.
        result = statistic_name(number) if is_statistic else RESULT
        own = _factors(nest, group, moving)
        derivative = _derivative(nest, own, result) if own else None
        if derivative is None or derivative.before or derivative.single is not None:
            continue
        assert derivative.value is not None
        if not is_statistic and any(access.tensor.name == RESULT for access in ir.accesses(derivative.value)):
            continue
        known = {o.name: o.shape for o in nest.operands} | {result: nest.shape}
        known |= {tangent_name(o.name): o.shape for o in nest.operands if o.name in own}
        stages[number] = _value(derivative, derivative.value, nest, known, backend, f"{TANGENT}{number or ''}")
    return stages


def _primal(
    group: Group, own: Group, form: LoopSchedule | Blocks, moving: frozenset[str], backend: Backend
) -> tuple[Run | ByFormula, Shapes]:
    """How the results are computed, and the shapes of the additional values that their tangents can read."""
    whole = Run(group, form, tuple(range(len(own.results))))
    match own, form:
        case Extrema(), _ if _derivative(own.value, moving) is not None:
            found = with_ties(own) or own
            return _search(found, whole.results)
        case Nest(), LoopSchedule() if (derivative := _derivative(own, moving)) is not None:
            changes = set(map(tangent_name, moving))
            # XLA would compute the values shared with the derivative once, and store them for every step.
            behind = form.whole and are_costly(derivative.exprs, apart=changes)
            search = None if derivative.single is None or form.whole else search_of(own, backend.memory)
            if search is not None:
                run, known = _search(search, (1,))
                return replace(run, behind=behind), known
            if derivative.primal is not None:
                # An order statistic and its derivative are at the same position: one search finds both.
                known = {o.name: o.shape for o in own.operands}
                before = _before(derivative, own, known, backend)
                known |= {stage.target: stage.shape for stage in before}
                return ByFormula(before, _value(derivative, derivative.primal, own, known, backend)), known
            return replace(whole, behind=behind), {}
        case _:
            return whole, {}


def _search(extrema: Extrema, results: tuple[int, ...]) -> tuple[Run, Shapes]:
    """A search and the values that the derivative of the extremum reads: its position, and the number of ties."""
    names = [("first", 0), ("chosen", 0), *([] if extrema.ties is None else [("ties", 2)])]
    beside = tuple((f"{RESULT}.{name}", number) for name, number in names)
    return Run(extrema, extrema.blocks, results, beside), {name: extrema.place.shape for name, _ in beside}


def _tangent(nest: Nest, moving: frozenset[str], beside: Shapes, backend: Backend) -> Tangent | None:
    derivative = _derivative(nest, moving)
    if derivative is None:
        return None
    assert derivative.value is not None
    known = {o.name: o.shape for o in nest.operands} | {RESULT: nest.shape}
    known |= {tangent_name(o.name): o.shape for o in nest.operands if o.name in moving} | dict(beside)
    before = _before(derivative, nest, known, backend)
    known |= {stage.target: stage.shape for stage in before}
    result = prod(nest.shape) * ir.types.width(nest.reduce.dtype)
    if derivative.single is None or (backend.memory is not None and backend.memory < LOOKED_UP * result):
        return Tangent(_names(nest), before, _value(derivative, derivative.value, nest, known, backend))
    alone, ties = derivative.single
    # Recomputed, the position of the only active point replaces that of all points.
    whole = _value(derivative, derivative.value, nest, known, replace(backend, rare=True))
    return Tangent(_names(nest), before, whole, ties, _value(derivative, alone, nest, known, backend))


@functools.lru_cache(maxsize=1024)
def _derivative(nest: Nest, moving: frozenset[str], result: str = RESULT) -> derivatives.Derivative | None:
    """The derivative of a nest's `result` with respect to the `moving` operands; None if it does not depend on them."""
    moving = _moving(nest, moving)
    active = {o.name: _tensor(tangent_name(o.name), o.dtype, o.shape) for o in nest.operands if o.name in moving}
    found = derivatives.tangent(nest.reduce, nest.axes, nest.ranges, _result(result, nest), active)
    return None if found.value is None else found


def _before(derivative: derivatives.Derivative, nest: Nest, known: Shapes, backend: Backend) -> tuple[Compute, ...]:
    """The values that a derivative needs besides those `known`; stored if XLA would recompute them wherever the tangent
    reads them.

    Each point of a window reads the position of its extremum: storing it is cheaper than finding it once per point.
    """
    shapes = dict(known)
    stages: list[Compute] = []
    for formula in derivative.before:
        if formula.statement.target.name not in known:
            stages.append(_stage(formula, nest, shapes, _lows(nest), defined=False, backend=backend))
            shapes[stages[-1].target] = nest.shape
    if not stages or derivative.value is None or derivative.single is not None:
        return tuple(stages)
    shapes |= {tangent_name(o.name): o.shape for o in nest.operands}
    tangent = _value(derivative, derivative.value, nest, shapes, backend)
    found = [stage for stage in stored_apart([*stages, tangent], (TANGENT,)) if isinstance(stage, Compute)][:-1]
    taken = sum(prod(stage.shape) * ir.types.width(stage.dtype) for stage in found if stage.apart)
    return tuple(found if backend.memory is None or taken <= backend.memory else stages)


def _value(
    derivative: derivatives.Derivative,
    value: ir.Expr,
    nest: Nest,
    known: Shapes,
    backend: Backend,
    name: str = TANGENT,
) -> Compute:
    """The statement that computes a nest's tangent, or the nest itself, by one of its formulas."""
    statement = ir.Define(_result(name, nest), tuple(map(Affine.of, nest.axes)), value)
    formula = derivatives.Formula(statement, derivative.box)
    return _stage(formula, nest, known, _lows(nest), defined=False, backend=backend)


# ---------------------------------------------------------------- cotangents


@functools.lru_cache(maxsize=1024)
def plan_cotangents(group: Group, linear: frozenset[int], given: tuple[bool, ...], backend: Backend) -> Cotangents:
    """The cotangents of the operands with the numbers `linear`, from the `given` cotangents of sums."""
    own = anonymous(group) if isinstance(group, Nest) else group
    names = {o.name for number, o in enumerate(own.operands) if number in linear}
    receipts: list[Receipt] = []
    for number, nest in enumerate(own.sums):
        operands = [o for o in nest.operands if o.name in names]
        if not given[number] or not operands:
            continue
        known = {o.name: o.shape for o in nest.operands if o.name not in names}
        known[cotangent_name(number)] = nest.shape
        for operand in operands:
            found = [(number, operand.name, stage) for stage in _received(nest, operand, number, known, backend)]
            receipts.append(Receipt((number,), _names(nest), tuple(found)))
    if len(receipts) > 1 and all(receipt.statements for receipt in receipts):
        statements = [statement for receipt in receipts for statement in receipt.statements]
        shared = _shared([stage for *_, stage in statements], backend)
        if shared is not None:
            sums = tuple(dict.fromkeys(number for number, *_ in statements))
            known = tuple(dict.fromkeys(name for receipt in receipts for name in receipt.operands))
            together = tuple((of, name, stage) for (of, name, _), stage in zip(statements, shared, strict=True))
            receipts = [Receipt(sums, known, together)]
    receipts = [receipt for receipt in receipts if receipt.statements]
    return Cotangents(_names(own), tuple(map(choose, own.statistics)), tuple(receipts))


def _received(nest: Nest, operand: Operand, sum: int, known: Shapes, backend: Backend) -> list[Compute]:
    """The statements for an operand's cotangent from the nest, which is linear in it; `sum` is the result's number."""
    target = _tensor(TANGENT, operand.dtype, operand.shape)
    origin = tuple(first for first in operand.origin if isinstance(first, int))
    assert len(origin) == len(operand.origin), "nests have no loops around them"
    origins = {operand.name: origin, TANGENT: origin}
    given, wrt = _result(cotangent_name(sum), nest), {operand.name: target}
    formulas = derivatives.adjoint(nest.reduce, nest.axes, nest.ranges, given, wrt, origins)
    formulas = [replace(formula, statement=_rounded_once(formula.statement)) for formula in formulas]
    return [
        _stage(formula, nest, known, operand.origin, defined=number > 0, backend=backend)
        for number, formula in enumerate(formulas)
    ]


def _rounded_once(statement: ir.Define | ir.Accumulate) -> ir.Define | ir.Accumulate:
    """A sum that is converted at its end rather than at each of its points."""
    match statement:
        case ir.Accumulate(reduction=(_, *_), value=ir.Cast(value), accumulate=wide) if value.dtype == wide:
            return replace(statement, value=value)
        case _:
            return statement


def _shared(
    stages: Sequence[Compute], backend: Backend, linear: frozenset[str] = frozenset()
) -> tuple[Compute, ...] | None:
    """The statements of a derivative, if one pass computes some of them; they are `linear` in some tensors."""
    shared = share(stages, (), Preferences(backend=backend), linear)
    if all(new is old for new, old in zip(shared, stages, strict=True)):
        return None
    return tuple(stage for stage in shared if isinstance(stage, Compute))


# ---------------------------------------------------------------- statements


def _stage(
    formula: derivatives.Formula, nest: Nest, known: Shapes, origin: Origin, *, defined: bool, backend: Backend
) -> Compute:
    """A planned formula of a nest's derivative; `origin` is the subscript of the first element of its target."""
    target = formula.statement.target
    origins: dict[str, Origin] = dict.fromkeys(known, _lows(nest))
    origins |= {name: o.origin for o in nest.operands for name in (o.name, tangent_name(o.name))}
    origins[target.name] = origin
    shapes = {**known, target.name: tuple(size.constant or 0 for size in target.shape)}
    # Ties are broken by name, so that plans are reproducible.
    box = dict(sorted(formula.box.items(), key=lambda pair: str(pair[0])))
    preferences = Preferences(backend=backend)
    return plan_formula(formula.statement, box, shapes, origins, defined=defined, preferences=preferences)


def _names(group: Group) -> tuple[str, ...]:
    return tuple(operand.name for operand in group.operands)


def _moving(nest: Nest, moving: Collection[str]) -> frozenset[str]:
    return frozenset(o.name for o in nest.operands if o.name in moving)


def _lows(nest: Nest) -> Origin:
    ranges = nest.ranges
    return tuple(ranges[axis][0] for axis in nest.axes)


def _result(name: str, nest: Nest) -> ir.Tensor:
    return _tensor(name, nest.reduce.dtype, nest.shape)


def _tensor(name: str, dtype: str, shape: tuple[int, ...]) -> ir.Tensor:
    return ir.Tensor(name, dtype, tuple(map(Size.of, shape)))
