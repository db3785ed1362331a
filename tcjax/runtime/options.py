"""The options of a kernel, checked once."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from .. import ir, planning
from ..diagnostics import Code, CompileError, phrases
from ..elaboration import RESERVED, Constant
from ..ranges import Assumption, read_assumption
from .sharding import Sharding, check_sharding

if TYPE_CHECKING:
    from ..planning.schedule import Schedule

BACKENDS = ("auto", "xla", "pallas")
DIALECTS = ("tc", "sac", "python")
# The notations of programs; LaTeX is output only.
NOTATIONS = (*DIALECTS, "latex")


@dataclass(frozen=True, slots=True, eq=False)
class Options:
    """The arguments of `tcjax.kernel` besides the program."""

    fns: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    consts: Mapping[str, Constant] = field(default_factory=dict)
    accumulate: str | None = None
    backend: str = "auto"
    strict: bool = False
    dialect: str | None = None
    schedule: "Schedule | None" = None
    assume: tuple[Assumption, ...] = ()
    memory: int | None = None
    sharding: Sharding | None = None
    checked: bool | str = False
    deterministic: bool = False

    @property
    def preferences(self) -> planning.Preferences:
        """The planner's options, before anything is known about a call."""
        return planning.Preferences(backend=planning.Backend(self.backend, self.memory))


class KernelOptions(TypedDict, total=False):
    """The keywords of `tcjax.kernel` and `tcjax.load`."""

    dialect: str | None
    fns: Mapping[str, Callable[..., Any]] | None
    consts: Mapping[str, Any] | None
    memory_limit: str | int | None
    schedule: "Schedule | None"
    accumulate: str | None
    backend: str
    assume: Sequence[str]
    checked: bool | str
    deterministic: bool
    sharding: Any
    strict: bool


def check_options(given: KernelOptions) -> Options:
    """The options of a kernel. Raises `CompileError` (TC0308) for unknown options and invalid values."""
    options: Mapping[str, Any] = given
    for name in options:
        if name not in KernelOptions.__annotations__:
            raise CompileError(
                Code.BAD_OPTION,
                f"there is no option `{name}`",
                help=f"the options are {', '.join(KernelOptions.__annotations__)}",
            )
    dialect, fns, accumulate = options.get("dialect"), options.get("fns"), options.get("accumulate")
    limit, backend, audit = options.get("memory_limit"), options.get("backend", "auto"), options.get("checked", False)
    if dialect is not None and dialect not in DIALECTS:
        raise _bad("dialect", dialect, f"one of {_listed(DIALECTS)}, or leave it out: the text shows its notation")
    if fns is not None and not (
        isinstance(fns, Mapping) and all(isinstance(k, str) and callable(f) for k, f in fns.items())
    ):
        raise _bad("fns", fns, 'a mapping of names to functions, such as fns={"gelu": jax.nn.gelu}')
    if accumulate is not None and ir.types.SPELLINGS.get(str(accumulate)) is None:
        raise _bad("accumulate", accumulate, 'a scalar type, such as accumulate="float32"')
    if backend not in BACKENDS:
        raise _bad("backend", backend, f"one of {_listed(BACKENDS)}")
    strict = check_flag("strict", options.get("strict", False))
    deterministic = check_flag("deterministic", options.get("deterministic", False))
    if not isinstance(audit, bool) and audit != "nan":
        raise _bad("checked", audit, 'True, False, or "nan", which looks for NaN in results too')
    checked = Options(
        dict(fns or {}),
        constants_of(options.get("consts")),
        None if accumulate is None else ir.types.SPELLINGS[str(accumulate)],
        str(backend),
        strict,
        dialect,
        assume=_assumptions(options.get("assume")),
        memory=None if limit is None else bytes_of(limit),
        checked=audit,
        deterministic=deterministic,
    )
    schedule, sharding = options.get("schedule"), options.get("sharding")
    if sharding is not None:
        if not isinstance(sharding, tuple) or len(sharding) != 2:
            raise _bad("sharding", sharding, 'a mesh and what runs along its axes, such as (mesh, {"m": "data"})')
        checked = shard_options(checked, *sharding)
    return checked if schedule is None else check_schedule(checked, schedule)


def check_flag(name: str, given: object) -> bool:
    """A keyword that is True or False. Raises `CompileError` (TC0308) for anything else."""
    if not isinstance(given, bool):
        raise _bad(name, given, "True or False")
    return given


_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
# The width of integers in texts.
_LARGEST = 2**64 - 1


def constants_of(given: object) -> dict[str, Constant]:
    """Numbers by name, as Python numbers. Raises `CompileError` (TC0308) for anything else."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise _bad("consts", given, 'a mapping of names to numbers, such as consts={"stride": 2, "eps": 1e-5}')
    found: dict[str, Constant] = {}
    for name, value in given.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise _bad("consts", {name: value}, "a mapping of names, each of letters, digits and underscores")
        if name in RESERVED or name in ir.types.SPELLINGS or name in ("inf", "nan", "min", "max"):
            raise _bad("consts", {name: value}, f"for names of the writer's own: `{name}` has a meaning already")
        found[name] = _number(name, value)
    return found


def _number(name: str, value: object) -> Constant:
    if isinstance(value, np.generic) and value.dtype.kind in "biufc":
        value = value.item()
    match value:
        case bool():
            return value
        case int() if abs(value) <= _LARGEST:
            return int(value)
        case float():
            return float(value)
        case complex():
            return complex(value)
        case _:
            wanted = "a mapping of names to numbers: int (of 64 bits), float, complex, bool, or a scalar of NumPy"
            raise _bad("consts", {name: value}, wanted)


_UNITS = {"": 1, "B": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "KB": 10**3, "MB": 10**6, "GB": 10**9}
_UNITS |= {"TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
# More than any machine has: larger limits are equivalent.
_MOST_BYTES = 2**62


def bytes_of(given: object) -> int:
    """A number of bytes, as a number or a text with a unit. Raises `CompileError` (TC0308) for anything else."""
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", given) if isinstance(given, str) else None
    if found is not None and found[2].upper() in _UNITS:
        return int(min(float(found[1]) * _UNITS[found[2].upper()], _MOST_BYTES))
    if isinstance(given, int) and not isinstance(given, bool) and given >= 0:
        return min(given, _MOST_BYTES)
    raise _bad("memory_limit", given, 'a number of bytes, or a text such as "256MiB"')


def _assumptions(given: object) -> tuple[Assumption, ...]:
    if given is None:
        return ()
    wanted = 'a list of texts about sizes, such as assume=["N % 8 == 0", "K <= N"]'
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise _bad("assume", given, wanted)
    texts = list(given)
    if not all(isinstance(text, str) for text in texts):
        raise _bad("assume", given, wanted)
    return tuple(map(read_assumption, texts))


def check_schedule(options: Options, schedule: object) -> Options:
    """The options with another schedule. Raises `CompileError` (TC0308) if it is not one."""
    # Imported only for schedules.
    from ..planning.schedule import Schedule

    if schedule is not None and not isinstance(schedule, Schedule):
        raise _bad("schedule", schedule, "what `k.schedule()` gives and its methods change, or None")
    return _compatible(replace(options, schedule=schedule))


def shard_options(options: Options, mesh: object, axes: object) -> Options:
    """The options for a mesh. Raises `CompileError` (TC0308) if it is not one, or for an unknown axis."""
    return _compatible(replace(options, sharding=check_sharding(mesh, axes)))


def _compatible(options: Options) -> Options:
    if options.schedule is not None and options.sharding is not None:
        raise schedule_or_mesh()
    return options


def schedule_or_mesh() -> CompileError:
    """TC0308: a kernel cannot have both a schedule and a mesh."""
    return CompileError(
        Code.BAD_OPTION,
        "a schedule cuts a statement into tiles, a mesh into other blocks: a kernel has one of both",
        help="leave the schedule out, or call the scheduled kernel inside of `jax.shard_map`",
    )


def _bad(name: str, value: object, wanted: str) -> CompileError:
    return CompileError(Code.BAD_OPTION, f"{name}={phrases.value(value)} is not an option", help=f"{name} is {wanted}")


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(repr(name) for name in names)
