"""The user's assumptions about the sizes of one kernel, as facts and as constraints for JAX."""

from collections.abc import Sequence
from dataclasses import replace

from .. import ir, ranges
from ..diagnostics import Code, CompileError
from .frontends import Frontend


def checked_assumptions(frontend: Frontend) -> None:
    """Raises `CompileError` for an assumption about an unknown size, or one that is never satisfied."""
    assumptions = frontend.options.assume
    if not assumptions:
        return
    function = frontend.likely
    # If ranks are known only at a call, so are most names.
    ranges.assumed(assumptions if function is None else ranges.settled(assumptions, function))


def assumptions_of(frontend: Frontend, function: ir.Function) -> tuple[ranges.Assumption, ...]:
    """The assumptions over the sizes of the typed program."""
    return ranges.settled(frontend.options.assume, function) if frontend.options.assume else ()


def shared_out(fronts: Sequence[Frontend]) -> list[Frontend]:
    """The definitions of a text, each with the assumptions about its own sizes.

    Raises `CompileError` (TC0201) for an assumption that fits none of them.
    """
    if not fronts or not fronts[0].options.assume:
        return list(fronts)
    names = [None if frontend.likely is None else ranges.size_names(frontend.likely) for frontend in fronts]
    for assumption in fronts[0].options.assume:
        if not any(known is None or assumption.names <= known.keys() for known in names):
            known = {name for each in names if each is not None for name in each}
            missing = sorted(assumption.names - known)
            if missing:
                raise ranges.unknown_size(assumption, missing[0], sorted(known), "the text")
            raise CompileError(
                Code.UNDEFINED_NAME,
                f"no definition of the text has all sizes of `{assumption}`",
                assumption.place(min(assumption.names)),
                help="write an assumption about the sizes of one definition, or load the definitions one by one",
            )
    return [
        replace(
            frontend,
            options=replace(
                frontend.options,
                assume=tuple(a for a in frontend.options.assume if known is None or a.names <= known.keys()),
            ),
        )
        for frontend, known in zip(fronts, names, strict=True)
    ]
