"""`monoid` registers a reduction after testing the laws."""

import keyword
from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from .. import ir
from ..diagnostics import Code, CompileError, phrases
from ..elaboration import reducers

_RESERVED: Final = frozenset(("def", "where", "in", "exists", "and", "or", "not", *ir.types.SPELLINGS))

# Elements that nearly every reduction accepts: some need values between 0 and 1, some do not take floats.
_SAMPLES: Final = {"float32": (0.5, 0.25, 0.75), "int32": (1, 2, 1), "bool": (True, False, True)}
_CLOSE: Final = 1e-3


def monoid(
    name: str,
    combine: Callable[..., Any],
    identity: Any,
    *,
    commutative: bool = True,
    inject: Callable[..., Any] | None = None,
    finish: Callable[..., Any] | None = None,
) -> None:
    """Registers the reduction `name`: ``O(i) name=! e``, ``O(i) name= e`` and ``name[k](e)`` in every program.

    `combine` takes the states of two parts, the earlier one first, and returns the state of both; `identity` is the
    state of an empty part. A state is a number, or a tuple of numbers if `identity` is a tuple; `combine` gets arrays
    of them (in the interpreter, single numbers) and must work element by element. It must be associative; with
    ``commutative=False`` the order of the index ranges is kept, row-major.

    `inject` turns an element into a state; by default the element is the state, or its first component, and the other
    components are those of the identity. `finish` turns the final state into the result; by default the result is its
    first component.

    Components have the type in which the reduction runs. A float in the identity turns integers into floats; a truth
    value makes its component a bool, and a NumPy number (``np.int32(0)``) fixes the type of its component.

    A name may be registered again: kernels made later use the new meaning. Raises `CompileError`: TC0203 for a name
    that is already taken by the language, TC0310 where the functions do not form a monoid.
    """
    _check_name(name)
    for what, function, needed in (("combine", combine, True), ("inject", inject, False), ("finish", finish, False)):
        if not (callable(function) or (function is None and not needed)):
            raise _wrong(name, f"`{what}` is a {type(function).__name__}, not a function", "pass a Python function")
    if not isinstance(commutative, bool):
        raise _wrong(name, f"commutative={phrases.value(commutative)} is not a bool", "write True or False")
    scalar = not isinstance(identity, (tuple, list))
    parts = [identity] if scalar else list(identity)
    if not parts:
        raise _wrong(name, "the identity is an empty tuple", "write a number for each component of the state")
    numbers = [_number(name, part) for part in parts]
    found = ir.Monoid(
        name,
        combine,
        tuple(number for number, _ in numbers),
        tuple(fixed for _, fixed in numbers),
        commutative,
        scalar,
        inject,
        finish,
    )
    _check_laws(found)
    reducers.register(found)


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name.isidentifier() or not name.isascii():
        raise CompileError(
            Code.BAD_MONOID,
            f"{phrases.value(name)} is not a name for a reduction",
            help="write a name of letters, digits and `_`: the reduction is called `name[k](e)` in programs",
        )
    builtin = name in ir.builtins.BUILTINS or reducers.is_builtin(name)
    if builtin or name in _RESERVED or keyword.iskeyword(name):
        kind = "a builtin" if builtin else "a word of the language"
        raise CompileError(
            Code.RESERVED_NAME,
            f"`{name}` is {kind} and cannot be a registered reduction",
            help=f"call it `{name}_`, or choose another name",
        )


def _number(name: str, part: Any) -> tuple[ir.Number, str | None]:
    """A component of the identity, and its type if that is fixed."""
    if isinstance(part, (bool, int, float, complex)):
        if isinstance(part, int) and not -(2**63) <= part < 2**64:
            raise _wrong(
                name, f"its identity has {phrases.value(part)}, which does not fit in 64 bits", "write a float"
            )
        return (part if type(part) in (bool, int, float, complex) else part.__class__.__mro__[-2](part)), None
    try:
        array = np.asarray(part)
    except Exception as error:
        raise _wrong(
            name, f"its identity has {phrases.value(part)}, whose value is not known", "write a number"
        ) from error
    dtype = str(array.dtype)
    if array.shape != () or dtype not in ir.types.SCALARS:
        raise _wrong(
            name,
            f"its identity has {phrases.value(part)}, which is not a number",
            "write a number, or a tuple of numbers",
        )
    return array.item(), None if dtype == "bool" else dtype


def _check_laws(monoid: ir.Monoid) -> None:
    """Raises TC0310 unless the functions form a monoid for some element type, judging by samples."""
    first: CompileError | None = None
    kinds = ("bool",) if monoid.takes_bool else tuple(dict.fromkeys(map(monoid.element, _SAMPLES)))
    for kind in kinds:
        try:
            _check_samples(monoid, kind)
        except CompileError as error:
            first = first or error
        else:
            return
    assert first is not None
    raise first


def _check_samples(monoid: ir.Monoid, kind: str) -> None:
    # The lowerings are imported only to register a reduction, so that `import tcjax` stays light.
    from ..lowering import registered

    samples = _SAMPLES.get(kind, _SAMPLES["float32"])

    def results() -> dict[str, jax.Array]:
        def both(a: registered.States, b: registered.States) -> registered.States:
            return registered.combine(monoid, a, b)

        # Two of each, to detect functions that reduce their arguments.
        x, y, z = (registered.inject(monoid, jnp.full((2, 3), sample, kind), kind) for sample in samples)
        nothing = registered.blank(monoid, (2, 3), kind)
        xy = both(x, y)
        states = {
            "x": x,
            "nothing, x": both(nothing, x),
            "x, nothing": both(x, nothing),
            "nothing, nothing, x": both(both(nothing, nothing), x),
            "x, y": xy,
            "nothing, (x, y)": both(nothing, xy),
            "(x, y), nothing": both(xy, nothing),
            "y, x": both(y, x),
            "(x, y), z": both(xy, z),
            "x, (y, z)": both(x, both(y, z)),
        }
        return {name: registered.finish(monoid, state) for name, state in states.items()}

    with jax.ensure_compile_time_eval():
        found = {name: np.asarray(array) for name, array in jax.jit(results)().items()}

    for law, one, other, help in _laws(monoid):
        if not _agree(found[one], found[other]):
            raise _wrong(monoid.name, f"{law}: {_shown(found[other])} instead of {_shown(found[one])}", help)


def _laws(monoid: ir.Monoid) -> list[tuple[str, str, str, str]]:
    identity = "combining with the identity changes a state"
    neutral = "let the identity be what `combine` leaves alone, on both sides, also when both are the identity"
    laws = [(identity, one, other, neutral) for one, other in (
        ("x", "nothing, x"),
        ("x", "x, nothing"),
        ("x", "nothing, nothing, x"),
        ("x, y", "nothing, (x, y)"),
        ("x, y", "(x, y), nothing"),
    )]  # fmt: skip
    laws.append(
        ("`combine` is not associative", "(x, y), z", "x, (y, z)", "it must not matter which parts are combined first")
    )
    if monoid.commutative:
        laws.append(("`combine` is not commutative", "x, y", "y, x", "write commutative=False: then the order is kept"))
    return laws


def _agree(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    """Whether two results are approximately equal; results that are not finite are not compared."""
    known = np.isfinite(one)
    return bool(np.allclose(one[known], other[known], rtol=_CLOSE, atol=_CLOSE))


def _shown(array: np.ndarray[Any, Any]) -> str:
    value = array.ravel()[0].item()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _wrong(name: str, message: str, help: str) -> CompileError:
    return CompileError(Code.BAD_MONOID, f"the reduction `{name}`: {message}", help=help)
