"""Messages about wrong batches."""

from collections.abc import Collection

from ...diagnostics import Code, CompileError, Span, phrases
from ...syntax import ast
from ..spelling import counted, did_you_mean


def too_few(name: str, named: int, rank: int, span: Span) -> CompileError:
    return CompileError(
        Code.ARGUMENT_RANK,
        f"`{name}` has {counted(named, 'dimension')} behind its `...`, but here it has {counted(rank, 'dimension')}",
        span,
        help=f"pass an array of {counted(named, 'dimension')} or more",
    )


def batch_reduced(node: ast.Assign, read: ast.Apply) -> CompileError:
    left = phrases.element(node.target, ["...", *map(_shown, node.indices or ())], node.span)
    return CompileError(
        Code.MISSING_REDUCTION,
        f"`...` is on the right but not on the left: nothing reduces the batch of `{read.function}`",
        node.span.applied(node.target),
        help=f"write `{left}`, or name the dimensions that are reduced",
    )


def _shown(index: ast.Expr) -> str:
    return index.id if isinstance(index, ast.Name) else index.span.text.strip() or "..."


def no_tensor(name: str, tensors: Collection[str], span: Span) -> CompileError:
    return CompileError(
        Code.UNDEFINED_NAME,
        f"`{name}` is not a tensor known here, so its `...` has no meaning",
        span,
        help=did_you_mean(name, tensors, "subscripts belong to a parameter, or to what an earlier statement writes"),
    )
