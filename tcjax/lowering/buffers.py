"""The arrays that XLA will store for a traced function, predicted: what cannot be fused, for as long as it is used."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from operator import or_
from typing import Any, Final

from jax.extend import core

from ..planning.forms import Form
from ..planning.meter import nest_room, pass_bytes
from ..planning.nests import Nest
from .finite import live_sum_p
from .nests import nest_p
from .passes import pass_p
from .provisos import either_p

# Of these XLA makes no loop over elements: their results are stored, and so are their operands.
_PRODUCTS: Final = frozenset(["dot_general", "ragged_dot_general", "conv_general_dilated", live_sum_p.name])
_APART: Final = _PRODUCTS | {"sort", "while", "scan", "cond", either_p.name, "custom_call"}
# Loops that end in what they store; operands are fused into them.
_REDUCED: Final = frozenset(
    ["reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or", "reduce"]
)
_WINDOWED: Final = frozenset(["reduce_window", "reduce_window_sum", "reduce_window_max", "reduce_window_min"])
_SCANNED: Final = frozenset(["argmax", "argmin", "cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"])
_SCATTERED: Final = frozenset(["scatter", "scatter-add", "scatter-mul", "scatter-min", "scatter-max"])
# XLA:CPU does not compute zeros around an array as it reads them.
_PUT: Final = frozenset(["pad", "dynamic_update_slice", "select_and_scatter_add", "select_and_gather_add"])
_ENDS: Final = _REDUCED | _WINDOWED | _SCANNED | _SCATTERED | _PUT
# Other names for an array.
_ALIASES: Final = frozenset(["reshape", "squeeze", "expand_dims", "optimization_barrier", "copy", "copy_p"])
# What costs much is computed once, and stored where several loops use it.
_EXPONENTIAL: Final = frozenset(["exp", "exp2", "expm1", "log", "log1p", "tanh", "logistic", "sinh", "cosh", "pow"])
_CIRCULAR: Final = frozenset(["sin", "cos", "tan", "asin", "acos", "atan", "atan2"])
_SPECIAL: Final = frozenset(["erf", "erfc", "erf_inv", "lgamma", "digamma"])
_DEAR: Final = _EXPONENTIAL | _CIRCULAR | _SPECIAL | {"rsqrt", "sqrt", "cbrt", "integer_pow", "div", "gather"}


@dataclass(frozen=True, slots=True)
class Buffers:
    """Bytes beside arguments and results: the `peak` of the whole, and what each stage stores, by its name."""

    peak: int
    stages: Mapping[str, int]


def buffers(jaxpr: core.Jaxpr, names: Collection[str] = ()) -> Buffers:
    """What a traced function stores; `names` are the scopes of its stages, joined by "/" where one is in another."""
    flat = _Flat(names)
    outputs = flat.inline(jaxpr, [_Array(var.aval) for var in jaxpr.invars], "")
    flat.drop_unused(outputs)
    return flat.counted(outputs)


def nests_of(jaxpr: core.Jaxpr) -> dict[Nest, Form]:
    """The nests that a traced function computes, in order, and the forms that they run in."""
    found: dict[Nest, Form] = {}
    for equation in jaxpr.eqns:
        if equation.primitive is nest_p:
            found.setdefault(equation.params["nest"], equation.params["form"])
        for inner in functions_of(equation):
            found = {**nests_of(inner), **found}
    return found


def functions_of(equation: Any) -> list[core.Jaxpr]:
    """The traced functions that an operation has as parameters, whatever their names: JAX's releases rename them."""
    values = [
        v for value in equation.params.values() for v in (value if isinstance(value, (tuple, list)) else (value,))
    ]
    # A function with its constants holds one without; the latter may hold itself.
    return [inner for value in values if isinstance(inner := getattr(value, "jaxpr", value), core.Jaxpr)]


class _Array:
    """One array of the function; `root` is the array of which it is another name."""

    __slots__ = ("bytes", "root")

    def __init__(self, aval: Any, root: "_Array | None" = None) -> None:
        self.bytes = prod(aval.shape) * aval.dtype.itemsize if hasattr(aval, "shape") else 0
        self.root = self if root is None else root.root


@dataclass(slots=True)
class _Operation:
    name: str
    stage: str
    operands: list[_Array]
    results: list[_Array]
    # Bytes of its accumulators, which it has before it begins, and of what else it needs while it runs.
    own: int = 0
    passing: int = 0


class _Flat:
    """A function as a list of operations without calls."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = names
        self.operations: list[_Operation] = []

    def inline(self, jaxpr: core.Jaxpr, arguments: Sequence[_Array], stage: str) -> list[_Array]:
        """The arrays of the results."""
        known: dict[Any, _Array] = dict(zip(jaxpr.invars, arguments, strict=True))
        known |= {var: _Array(var.aval) for var in jaxpr.constvars}

        def read(atom: Any) -> _Array:
            return _Array(atom.aval) if isinstance(atom, core.Literal) else known[atom]

        for equation in jaxpr.eqns:
            here = self.stage_of(equation, stage)
            operands = [read(atom) for atom in equation.invars]
            inner = _called(equation)
            if inner is not None and len(inner.invars) == len(operands):
                results = self.inline(inner, operands, here)
            else:
                results = self.operation(equation, operands, here)
            known.update(zip(equation.outvars, results, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def stage_of(self, equation: Any, around: str) -> str:
        """The stage of an operation in one `around` it: derivatives keep the names of their operations."""
        path = [around] if around else []
        for word in re.findall(r"[^/()]+", str(equation.source_info.name_stack)):
            if "/".join([*path, word]) in self.names:
                path.append(word)
        return "/".join(path)

    def operation(self, equation: Any, operands: list[_Array], stage: str) -> list[_Array]:
        name = equation.primitive.name
        if name in _ALIASES and len(equation.outvars) <= len(operands):
            results = [_Array(v.aval, o) for v, o in zip(equation.outvars, operands, strict=False)]
        else:
            results = [_Array(var.aval) for var in equation.outvars]
        self.operations.append(_Operation(name, stage, operands, results, *_needed(equation)))
        return results

    def drop_unused(self, outputs: Sequence[_Array]) -> None:
        used, kept = set(map(id, outputs)), []
        for operation in reversed(self.operations):
            if any(id(result) in used for result in operation.results):
                used.update(map(id, operation.operands))
                kept.append(operation)
        self.operations = kept[::-1]

    def counted(self, outputs: Sequence[_Array]) -> Buffers:
        stored = self.stored() - {output.root for output in outputs}
        last: dict[_Array, int] = {}
        for number, operation in enumerate(self.operations):
            last |= dict.fromkeys((array.root for array in (*operation.operands, *operation.results)), number)
        # Fused operations read what is stored when their own reader runs.
        for operation in reversed(self.operations):
            ends = [last[r.root] for r in operation.results if r.root not in stored and r.root in last]
            for array in operation.operands:
                last[array.root] = max([last[array.root], *ends])
        held: dict[_Array, str] = {}
        peak, most = 0, dict.fromkeys([operation.stage for operation in self.operations], 0)
        loops = iter(_loops(self.operations))
        own = {stage: iter(_loops([o for o in self.operations if o.stage == stage])) for stage in most}
        for number, operation in enumerate(self.operations):
            held |= {r: operation.stage for r in operation.results if r.root is r and r in stored}
            peak = max(peak, sum(array.bytes for array in held) + next(loops))
            mine = sum(array.bytes for array, stage in held.items() if stage == operation.stage)
            most[operation.stage] = max(most[operation.stage], mine + next(own[operation.stage]))
            held = {array: stage for array, stage in held.items() if last[array] > number}
        return Buffers(peak, {stage: most[stage] for stage in most if stage})

    def stored(self) -> set[_Array]:
        """The arrays that no loop over elements computes on the way."""
        users: dict[_Array, int] = {}
        found: set[_Array] = set()
        dear: set[_Array] = set()
        made = {result.root for operation in self.operations for result in operation.results if result.root is result}
        for operation in self.operations:
            if operation.name in _ALIASES:
                continue
            for array in {operand.root for operand in operation.operands}:
                users[array] = users.get(array, 0) + 1
        for operation in self.operations:
            if operation.name in _ALIASES:
                continue
            if operation.name in (*_APART, nest_p.name, pass_p.name):
                found |= {array.root for array in (*operation.operands, *operation.results)}
            elif operation.name in _ENDS:
                found |= set(operation.results)
            elif operation.name in _DEAR:
                dear |= set(operation.results)
        found |= {array for array in dear if users.get(array, 0) > 1}
        return found & made


def _loops(operations: Sequence[_Operation]) -> list[int]:
    """For each operation, the bytes of the loops that may run beside it, its own among them.

    XLA begins loops as early as it can: the accumulators of later ones are there already. What a step needs, it gives
    back; but two loops may run side by side, if neither needs the other's result. A loop that has ended needs nothing.
    """
    after: dict[_Array, int] = {}
    before: list[int] = []
    for number, operation in enumerate(operations):
        before.append(reduce(or_, (after.get(array.root, 0) for array in operation.operands), 0))
        for array in operation.results:
            after[array.root] = after.get(array.root, 0) | before[number] | 1 << number
    passing = [number for number, operation in enumerate(operations) if operation.passing]
    found, own = [0] * len(operations), 0
    for number, operation in reversed(list(enumerate(operations))):
        own += operation.own
        later = (m for m in passing if m > number and not before[m] >> number & 1)
        found[number] = own + operation.passing + max((operations[m].passing for m in later), default=0)
    return found


def _called(equation: Any) -> core.Jaxpr | None:
    """The function that an operation only calls."""
    # Those of loops and reductions run many times.
    if equation.primitive.name in _APART | _ENDS:
        return None
    match functions_of(equation):
        case [called]:
            return called
        case _:
            return None


def _needed(equation: Any) -> tuple[int, int]:
    """The bytes of an operation's accumulators, and of what else it needs while it runs."""
    params = equation.params
    match equation.primitive.name:
        case nest_p.name:
            return nest_room(params["nest"], params["form"], params["backend"].memory)
        case pass_p.name:
            return 0, pass_bytes(params["group"], params["blocks"])
        case "scan":
            (step,) = functions_of(equation)
            return _bytes(_carried(equation, step)), buffers(step).peak
        case "while":
            return _bytes(equation.outvars), max(buffers(inside).peak for inside in functions_of(equation))
        case "cond" | either_p.name:
            return 0, max(buffers(branch).peak for branch in functions_of(equation))
        case "sort":
            return 0, 2 * _bytes(equation.invars)
        case _:
            return 0, 0


def _carried(scan: Any, step: Any) -> list[Any]:
    """The results that go from step to step: a step gives such a result whole, and one row of any other."""
    pairs = zip(scan.outvars, step.outvars, strict=True)
    return [result for result, part in pairs if result.aval.shape == part.aval.shape]


def _bytes(variables: Sequence[Any]) -> int:
    return sum(_Array(variable.aval).bytes for variable in variables)
