"""The arrays that XLA will store for a traced function, predicted: what cannot be fused, for as long as it is used."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final

from jax.extend import core

from ..planning.forms import Form
from ..planning.meter import nest_room, pass_bytes
from ..planning.nests import Nest
from .nests import nest_p
from .passes import pass_p

# Of these XLA makes no loop over elements: their results are stored, and so are their operands.
_APART: Final = frozenset(
    ["dot_general", "conv_general_dilated", "sort", "while", "scan", "cond", "custom_call", "ragged_dot_general"]
)
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
        for value in equation.params.values():
            for inner in value if isinstance(value, (tuple, list)) else (value,):
                inner = getattr(inner, "jaxpr", inner)
                if isinstance(inner, core.Jaxpr):
                    found = {**nests_of(inner), **found}
    return found


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
        own: dict[str, int] = {}
        most: dict[str, int] = {}
        peak = loops = 0
        passing: dict[str, list[int]] = {"": [0, 0]}
        for number, operation in enumerate(self.operations):
            held |= {r: operation.stage for r in operation.results if r.root is r and r in stored}
            # XLA begins loops as early as it can: their accumulators are there at the same time.
            loops += operation.own
            own[operation.stage] = own.get(operation.stage, 0) + operation.own
            # What a step needs, it gives back; but two loops may run side by side.
            for stage in {"", operation.stage}:
                passing[stage] = sorted([*passing.get(stage, [0, 0]), operation.passing])[1:]
            peak = max(peak, sum(array.bytes for array in held))
            mine = sum(array.bytes for array, stage in held.items() if stage == operation.stage)
            most[operation.stage] = max(most.get(operation.stage, 0), mine)
            held = {array: stage for array, stage in held.items() if last[array] > number}
        return Buffers(peak + loops + sum(passing[""]), {s: most[s] + own[s] + sum(passing[s]) for s in most if s})

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


def _called(equation: Any) -> core.Jaxpr | None:
    """The function that an operation only calls."""
    name = equation.primitive.name
    if name in _APART:
        return None
    names = ("jaxpr", "call_jaxpr", "fun_jaxpr")
    found = next((equation.params[key] for key in names if key in equation.params), None)
    return getattr(found, "jaxpr", found)


def _needed(equation: Any) -> tuple[int, int]:
    """The bytes of an operation's accumulators, and of what else it needs while it runs."""
    params = equation.params
    match equation.primitive.name:
        case nest_p.name:
            return nest_room(params["nest"], params["form"], params["backend"].memory)
        case pass_p.name:
            return 0, pass_bytes(params["group"], params["blocks"])
        case "scan":
            carried = slice(params["num_consts"], params["num_consts"] + params["num_carry"])
            return _bytes(equation.invars[carried]), buffers(params["jaxpr"].jaxpr).peak
        case "while":
            carried = slice(params["cond_nconsts"] + params["body_nconsts"], None)
            return _bytes(equation.invars[carried]), buffers(params["body_jaxpr"].jaxpr).peak
        case "cond":
            return 0, max(buffers(branch.jaxpr).peak for branch in params["branches"])
        case "sort":
            return 0, 2 * _bytes(equation.invars)
        case _:
            return 0, 0


def _bytes(variables: Sequence[Any]) -> int:
    return sum(_Array(variable.aval).bytes for variable in variables)
