"""Error messages about schedules."""

from collections.abc import Iterable
from difflib import get_close_matches

from ...diagnostics import Code, CompileError, Span, phrases
from .stages import Fuse, Relation, Split, Stage, Stages


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def wrong_argument(method: str, what: str, value: object, wanted: str) -> CompileError:
    return CompileError(
        Code.BAD_SCHEDULE, f"`{method}` was given {phrases.value(value)} as {what}", help=f"{what} is {wanted}"
    )


def unknown_stage(name: str, stages: Stages, kernel: str, origin: str | None = None) -> CompileError:
    """`origin` is the kernel that the schedule was made for."""
    close = get_close_matches(name, stages, 1)
    made = "" if origin in (None, kernel) else f": the schedule is one of `{origin}`"
    return CompileError(
        Code.UNKNOWN_STAGE,
        f"`{kernel}` has no stage `{name}`{made}",
        help=f"did you mean `{close[0]}`?" if close else f"the stages are {_listed(stages)}",
    )


def unknown_loop(stage: Stage, loop: str) -> CompileError:
    became = stage.replaced(loop)
    if became is not None:
        return CompileError(
            Code.UNKNOWN_LOOP,
            f"stage `{stage.name}` has no loop `{loop}` any more: it was {_what_became(became)}",
            stage.statement.span,
            help=f"the loops of `{stage.name}` are {_listed(stage.leaves)}",
        )
    if stage.is_call:
        help = f"`{stage.name}` is the result of a call, which is computed whole and has no loops"
    else:
        help = f"the loops of `{stage.name}` are {_listed(stage.leaves)}"
    return CompileError(
        Code.UNKNOWN_LOOP, f"stage `{stage.name}` has no loop `{loop}`", stage.statement.span, help=help
    )


def _what_became(relation: Relation) -> str:
    match relation:
        case Split(_, outer, inner):
            return f"split into `{outer}` and `{inner}`"
        case Fuse(outer, inner, fused):
            return f"fused into `{fused}` (of `{outer}` and `{inner}`)"


def name_taken(stage: Stage, loop: str) -> CompileError:
    return CompileError(
        Code.LOOP_NAME_TAKEN,
        f"stage `{stage.name}` has, or had, a loop `{loop}` already",
        stage.statement.span,
        help="give the new loops other names: `split(.., outer=, inner=)`, `fuse(.., into=)`, `tile(.., names=)`",
    )


def listed_twice(stage: Stage, method: str, loop: str) -> CompileError:
    return CompileError(
        Code.BAD_SCHEDULE,
        f"`{method}` of stage `{stage.name}` names the loop `{loop}` twice",
        stage.statement.span,
        help="name each loop once",
    )


def loop_in_use(stage: Stage, loop: str, user: Stage, change: str) -> CompileError:
    return CompileError(
        Code.LOOP_IN_USE,
        f"the loop `{loop}` of stage `{stage.name}` cannot be {change}: stage `{user.name}` is computed there",
        stage.statement.span,
        help=f"change `{loop}` first, then compute `{user.name}` at one of the new loops",
    )


def not_adjacent(stage: Stage, outer: str, inner: str) -> CompileError:
    order = list(stage.leaves)
    swapped = order.index(inner) + 1 == order.index(outer)
    return CompileError(
        Code.NOT_ADJACENT,
        f"the loop `{inner}` of stage `{stage.name}` is not directly inside `{outer}`",
        stage.statement.span,
        help=f'write fuse("{stage.name}", "{inner}", "{outer}"): the outer loop comes first'
        if swapped
        else f"the order is {_listed(order)}; use `reorder` first",
    )


def bad_factor(stage: str, span: Span | None, loop: str, what: str, value: object, wanted: str) -> CompileError:
    return CompileError(
        Code.BAD_FACTOR,
        f"the loop `{loop}` of stage `{stage}` cannot be split with {what}={phrases.value(value)}",
        span,
        help=f"write {wanted}",
    )


def one_of_both(stage: str, span: Span | None, loop: str, *, given: bool) -> CompileError:
    what = "`factor=` or `nparts=`, not both" if given else "`factor=` or `nparts=`"
    return CompileError(
        Code.BAD_FACTOR,
        f"to split the loop `{loop}` of stage `{stage}` takes {what}",
        span,
        help=f'write split("{stage}", "{loop}", factor=8): eight iterations inside; or nparts=8: eight outside',
    )


def not_movable(stage: Stage, consumer: str, loop: str, why: str) -> CompileError:
    return CompileError(
        Code.NOT_MOVABLE,
        f"stage `{stage.name}` cannot be computed at the loop `{loop}` of `{consumer}`: {why}",
        stage.statement.span,
        help=f"leave `{stage.name}` at the root",
    )


def consumer_outside(stage: Stage, consumer: Stage, loop: str, outside: Stage) -> CompileError:
    return CompileError(
        Code.CONSUMER_OUTSIDE,
        f"stage `{stage.name}` is computed at the loop `{loop}` of `{consumer.name}`, "
        f"but its consumer `{outside.name}` lies outside that loop",
        stage.statement.span,
        help=f"compute `{outside.name}` in the loop `{loop}` of `{consumer.name}` too, or `{stage.name}` at the root",
    )


def relaxed_outside(stage: Stage, loop: str, path: Iterable[str]) -> CompileError:
    return CompileError(
        Code.UNKNOWN_LOOP,
        f"stage `{stage.name}` relaxes the loop `{loop}`, which it is not inside",
        stage.statement.span,
        help=f"the loops around `{stage.name}` are {_listed(path)}",
    )
