"""Python expressions as the tree's: subscripts, reductions in brackets, builtins by name, constants of the scope."""

import ast as python
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Final

from ...diagnostics import Code, CompileError, CompileWarning, Span
from .. import ast
from . import libraries
from .names import Names
from .refusals import not_in_notation, refuse
from .script import Script
from .types import RESERVED, SCALARS, reserved

BINARY: Final[dict[type[python.operator], str]] = {
    python.Add: "+",
    python.Sub: "-",
    python.Mult: "*",
    python.Div: "truediv",
    python.FloorDiv: "//",
    python.Mod: "%",
    python.Pow: "**",
    python.LShift: "<<",
    python.RShift: ">>",
    python.BitAnd: "&",
    python.BitOr: "|",
    python.BitXor: "^",
}
_COMPARISONS: Final[dict[type[python.cmpop], str]] = {
    python.Lt: "<",
    python.LtE: "<=",
    python.Gt: ">",
    python.GtE: ">=",
    python.Eq: "==",
    python.NotEq: "!=",
}
_UNARY: Final[dict[type[python.unaryop], str]] = {python.USub: "-", python.Not: "!", python.Invert: "~"}

# Python functions that reduce: without brackets they would need axes.
REDUCERS: Final = frozenset({"sum", "any", "all", "prod", "mean", "logsumexp", "argmin", "argmax"})


@dataclass(frozen=True, slots=True)
class Expressions:
    """Reads the expressions of one script.

    `names` gives the meaning of names, `ranks` the rank of declared tensors, `tails` the dimensions after the ``...``
    of those that have one, and `renamed` the tree's names of tensors that the body names differently. `warnings`
    collects warnings.
    """

    script: Script
    names: Names
    ranks: Mapping[str, int] = field(default_factory=dict)
    tails: Mapping[str, tuple[str | int, ...]] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    warnings: list[CompileWarning] = field(default_factory=list)

    def within(self, *names: str) -> "Expressions":
        """The same, where `names` are bound too."""
        return replace(self, names=self.names.within(*names))

    def read(self, node: python.expr) -> ast.Expr:
        """The tree's expression. Raises `CompileError` (TC0105) for constructs that the notation does not have."""
        span = self.script.span(node)
        match node:
            case python.Constant(value=bool() | int() | float() | complex() as value):
                return ast.Number(value, span=span)
            case python.Name(id=name):
                value = self.names.number(name)
                return ast.Name(self.name(name, node), span=span) if value is None else ast.literal(value, span)
            case python.UnaryOp(op=python.UAdd(), operand=operand):
                return self.read(operand)
            case python.UnaryOp(op=operator, operand=operand):
                return ast.Unary(_UNARY[type(operator)], self.read(operand), span=span)
            case python.BinOp(left=left, op=operator, right=right):
                if type(operator) not in BINARY:
                    raise not_in_notation(
                        "`@` has no meaning in index notation",
                        node,
                        self.script,
                        help="name the index that is summed: `sum[k](A[m, k] * B[k, n])`",
                    )
                return ast.Binary(BINARY[type(operator)], self.read(left), self.read(right), span=span)
            case python.BoolOp(op=operator, values=values):
                return _chained("&&" if isinstance(operator, python.And) else "||", list(map(self.read, values)), span)
            case python.Compare():
                return self._comparison(node, span)
            case python.IfExp(test=test, body=body, orelse=orelse):
                return ast.Conditional(self.read(test), self.read(body), self.read(orelse), span=span)
            case python.Subscript():
                return self._subscript(node, span)
            case python.Call():
                return self._call(node, span)
            case python.Attribute():
                return self._attribute(node, span)
            case _:
                raise refuse(node, self.script)

    def name(self, name: str, node: python.expr | python.arg) -> str:
        """`name` as in the tree. Raises `CompileError` (TC0203) for a reserved word."""
        if name in RESERVED:
            raise reserved(name, self.script.span(node))
        return self.renamed.get(name, name)

    def subscripts(self, slice: python.expr) -> tuple[ast.Expr, ...]:
        """The contents of ``[`` and ``]``: one expression for every dimension."""
        parts = slice.elts if isinstance(slice, python.Tuple) else [slice]
        for part in parts:
            self._warn_of_leaked_index(part)
        match parts:
            case [python.Constant(value=value) as first, *rest] if value is ...:
                return ast.Batch(span=self.script.span(first)), *map(self.read, rest)
            case _:
                return tuple(map(self.read, parts))

    def _warn_of_leaked_index(self, node: python.expr) -> None:
        # A loop or an earlier notebook cell may leave a global `i` behind: `A[i]` would silently read one element.
        if isinstance(node, python.Name) and len(node.id) == 1 and node.id.islower():
            value = self.names.number(node.id)
            if value is not None:
                self.warnings.append(
                    CompileWarning(
                        Code.NUMBER_FROM_OUTSIDE,
                        f"`{node.id}` is the number {value} of the enclosing scope here, not an index",
                        self.script.span(node),
                        help=f'write `{node.id} = tcjax.indices("{node.id}")` above the function to make it one',
                    )
                )

    def _comparison(self, node: python.Compare, span: Span) -> ast.Expr:
        operands = list(map(self.read, [node.left, *node.comparators]))
        links: list[ast.Expr] = []
        for operator, left, right in zip(node.ops, operands, operands[1:], strict=False):
            if type(operator) not in _COMPARISONS:
                raise not_in_notation(
                    "`in` and `is` have no meaning in index notation",
                    node,
                    self.script,
                    help="write `lo <= k < hi`; `k in range(lo, hi)` belongs in the brackets of a reduction",
                )
            links.append(ast.Binary(_COMPARISONS[type(operator)], left, right, span=span))
        return _chained("&&", links, span)

    def _subscript(self, node: python.Subscript, span: Span) -> ast.Expr:
        match node.value:
            case python.Name(id=name):
                return ast.Apply(self.name(name, node.value), self.subscripts(node.slice), subscript=True, span=span)
            case python.Attribute(value=python.Name(id=name), attr="shape"):
                behind = self._tail(name, node.slice, span)
                return ast.SizeOf(name, self._dimension(name, node.slice), span=span) if behind is None else behind
            case python.Attribute(value=python.Name(id=name), attr="T"):
                raise not_in_notation(
                    "nothing is transposed in index notation",
                    node,
                    self.script,
                    help=f"change the order of the indices: `{name}[j, i]`",
                )
            case python.Subscript(slice=python.Slice() as slice):
                raise refuse(slice, self.script)
            case python.Subscript():
                raise not_in_notation(
                    "a tensor has one pair of brackets", node, self.script, help="write `A[i, j]` for `A[i][j]`"
                )
            case _:
                raise not_in_notation(
                    "only a tensor's name can be subscripted",
                    node,
                    self.script,
                    help="give the value a name of its own: `t[i] = …`, then `t[i]`",
                )

    def _dimension(self, tensor: str, node: python.expr) -> int:
        match self.read(node):
            case ast.Number(value=int() as dimension) if not isinstance(dimension, bool):
                return dimension
            case ast.Unary(operator="-", operand=ast.Number(value=int() as back)) if tensor in self.ranks:
                if 0 < back <= self.ranks[tensor]:
                    return self.ranks[tensor] - back
        raise not_in_notation(
            f"this is not the number of a dimension of `{tensor}`",
            node,
            self.script,
            help=f"count from the first dimension: `{tensor}.shape[0]`",
        )

    def _tail(self, tensor: str, node: python.expr, span: Span) -> ast.Expr | None:
        """The declared size of a dimension after ``...``, counted from the last one."""
        sizes = self.tails.get(tensor, ())
        match node:
            case python.UnaryOp(op=python.USub(), operand=python.Constant(value=int() as back)):
                if 0 < back <= len(sizes):
                    size = sizes[-back]
                    return ast.Number(size, span=span) if isinstance(size, int) else ast.Name(size, span=span)
        return None

    def _attribute(self, node: python.Attribute, span: Span) -> ast.Expr:
        path = _path(node)
        value = self.names.number(*path) if path else None
        if value is not None:
            return ast.literal(value, span)
        if node.attr == "shape":
            raise not_in_notation("a shape is not a number", node, self.script, help="write `A.shape[0]`")
        raise refuse(node, self.script)

    # ------------------------------------------------------------ calls

    def _call(self, node: python.Call, span: Span) -> ast.Expr:
        if isinstance(node.func, python.Subscript):
            return self._reduction(node, node.func, span)
        if node.keywords:
            raise not_in_notation(
                "a call in index notation has no keywords",
                node.keywords[0],
                self.script,
                help="wrap it in a function of its own, and call that: `f(x)`",
            )
        path = _path(node.func)
        if not path:
            method = node.func.attr if isinstance(node.func, python.Attribute) else ""
            reduced = f"reduce with `{method}[k](A[i, k])`"
            instead = reduced if method in REDUCERS else "give the function a name: `f(x)`"
            if isinstance(node.func, python.Attribute) and method == "astype":
                instead = f"convert by the name of the type: `float32({python.unparse(node.func.value)})`"
            raise not_in_notation("only a name can be called", node.func, self.script, help=instead)
        name = path[-1]
        if not path[1:] and name in self.names.bound:
            # Parentheses after a tensor are TC's subscripts.
            return ast.Apply(self.name(name, node.func), tuple(map(self.read, node.args)), span=span)
        if self.names.library(*path):
            return self._library_call(path, node, span)
        return self._foreign_call(path, node, span) if path[1:] else self._plain_call(name, node, span)

    def _plain_call(self, name: str, node: python.Call, span: Span) -> ast.Expr:
        match name, node.args:
            case "float", [python.Constant(value="inf" | "nan" as text)]:
                return ast.Number(float(text), span=span)
        # A user's function is among the callables from here on: one with a reserved name is rejected there.
        foreign = self.names.callee(name)
        if name in SCALARS:
            (operand,) = self._arguments(1, name, node)
            return ast.Cast(SCALARS[name], operand, span=span)
        reduction = None if foreign else _as_reduction(name, node.args)
        if name in ("min", "max") and reduction is None:
            return self._extremum(name, list(map(self.read, node.args)), node, span)
        if not foreign and name == "div":
            left, right = self._arguments(2, name, node)
            return ast.Binary("/", left, right, span=span)
        if reduction is not None:
            raise not_in_notation(
                f"`{name}` has to be told over which indices",
                node,
                self.script,
                help=f"name them in brackets: {reduction}",
            )
        match name, node.args:
            case "len", [python.Name(id=tensor)] if not foreign:
                raise not_in_notation(
                    "a tensor has a size for each dimension", node, self.script, help=f"write `{tensor}.shape[0]`"
                )
        return ast.Apply(self.name(name, node), tuple(map(self.read, node.args)), span=span)

    def _library_call(self, path: tuple[str, ...], node: python.Call, span: Span) -> ast.Expr:
        library, name = path[0], path[-1]
        # `math.remainder` is TC's; NumPy's uses a floored quotient.
        operator = "%" if name == "remainder" and library != "math" else libraries.OPERATORS.get(name)
        name = libraries.NAMES.get(name, name)
        if operator is not None:
            left, right = self._arguments(2, path[-1], node)
            return ast.Binary(operator, left, right, span=span)
        if name == "where":
            condition, then, otherwise = self._arguments(3, name, node)
            return ast.Conditional(condition, then, otherwise, span=span)
        if name in ("round", "around") and "lax" not in path:
            raise not_in_notation(
                f"`{'.'.join(path)}` rounds halves to even, which the notation has not",
                node,
                self.script,
                help="write `round(x)`, which rounds halves away from zero",
            )
        if name in libraries.SCALARS:
            (operand,) = self._arguments(1, name, node)
            return ast.Cast(libraries.SCALARS[name], operand, span=span)
        if name in ("min", "max"):
            # `jnp.max(A)` reduces, and its second argument is an axis.
            arguments = [] if name == path[-1] else list(map(self.read, node.args))
            return self._extremum(name, arguments, node, span)
        if name in libraries.ALLOCATING:
            raise not_in_notation(
                "nothing is allocated in index notation",
                node,
                self.script,
                help="leave this out: a statement makes its tensor, `B[i, j] = …`, and `+=` starts it from zero",
            )
        if name == path[-1]:
            return self._foreign_call(path, node, span)
        return ast.Apply(name, tuple(map(self.read, node.args)), span=span)

    def _foreign_call(self, path: tuple[str, ...], node: python.Call, span: Span) -> ast.Expr:
        if path[0] in self.names.bound:
            raise not_in_notation(
                f"a tensor has no `{path[-1]}`",
                node.func,
                self.script,
                help="write `sum[k](A[k])` to reduce, `float32(A[i])` to convert, or call a function: `exp(A[i])`",
            )
        if path[0] in self.names.scope and not self.names.callee(*path):
            dotted = ".".join(path)
            twice = self.names.knows(*path) and path[-1] in self.names.callables
            message = f"`{path[-1]}` already names another function" if twice else f"`{dotted}` is not a function"
            instead = f"give it a name of its own above the function: `f = {dotted}`, and call that"
            if not self.names.knows(*path):
                near = get_close_matches(path[-1], dir(self.names.scope[path[0]]), 1)
                instead = f"did you mean `{near[0]}`?" if near else f"call a function that `{path[0]}` has"
            code = Code.ALREADY_DEFINED if twice else Code.UNKNOWN_FUNCTION
            raise CompileError(code, message, span, help=instead)
        return ast.Apply(path[-1], tuple(map(self.read, node.args)), span=span)

    def _extremum(self, name: str, arguments: Sequence[ast.Expr], node: python.Call, span: Span) -> ast.Expr:
        if len(arguments) < 2:
            raise not_in_notation(
                f"`{name}` of one value has to be told over which indices",
                node,
                self.script,
                help=f"write `{name}[k](A[k])`, or `{name}(a, b)` of two values",
            )
        value = arguments[0]
        for argument in arguments[1:]:
            value = ast.Apply(name, (value, argument), span=span)
        return value

    def _arguments(self, count: int, name: str, node: python.Call) -> list[ast.Expr]:
        if len(node.args) != count:
            raise CompileError(
                Code.WRONG_ARGUMENT_COUNT,
                f"`{name}` takes {count} arguments and got {len(node.args)}",
                self.script.span(node),
                help=f"write `{name}({', '.join('abc'[:count])})`",
            )
        return list(map(self.read, node.args))

    # ------------------------------------------------------------ reductions

    def _reduction(self, node: python.Call, head: python.Subscript, span: Span) -> ast.Expr:
        if not isinstance(head.value, python.Name):
            raise not_in_notation("this is not a reduction", head, self.script, help="write `sum[k](A[k])`")
        if node.keywords:
            raise not_in_notation(
                "a reduction has no keywords", node.keywords[0], self.script, help="write `sum[k](A[k])`"
            )
        parts = head.slice.elts if isinstance(head.slice, python.Tuple) else [head.slice]
        inside = self.within(*filter(None, map(_bound_index, parts)))
        bounds = tuple(inside.bound(part) for part in parts if _bound_index(part))
        if not bounds or not node.args:
            missing = "value" if bounds else "index"
            match parts:
                case [python.Compare(left=python.Name(id=index), ops=[_]) as guard] if len(python.unparse(guard)) < 40:
                    example = f"`{head.value.id}[{index}, {python.unparse(guard)}](...)`"
                case _:
                    example = f"`{head.value.id}[k](A[k])`"
            raise not_in_notation(f"this reduction has no {missing}", node, self.script, help=f"write {example}")
        guards = tuple(inside.read(part) for part in parts if not _bound_index(part))
        return ast.Reduction(head.value.id, bounds, guards, tuple(map(inside.read, node.args)), span=span)

    def bound(self, node: python.expr) -> ast.Bound:
        """``k`` or ``k in range(lo, hi)`` in the brackets of a reduction."""
        span = self.script.span(node)
        match node:
            case python.Name(id=name):
                return ast.Bound(self.name(name, node), span=span)
            case python.Compare(left=python.Name(id=name), comparators=[interval]):
                return ast.Bound(self.name(name, node.left), *self.interval(interval), span=span)
            case _:
                raise refuse(node, self.script)

    def stepped(self, node: python.expr) -> tuple[tuple[ast.Expr, ast.Expr], ast.Expr | None]:
        """``range(hi)``, ``range(lo, hi)`` or ``range(lo, hi, step)`` as its bounds and its step."""
        match node:
            case python.Call(func=python.Name(id="range"), args=[lo, hi, step], keywords=[]):
                return (self.read(lo), self.read(hi)), self.read(step)
            case _:
                return self.interval(node), None

    def interval(self, node: python.expr) -> tuple[ast.Expr, ast.Expr]:
        """``range(hi)`` or ``range(lo, hi)`` as its two bounds."""
        match node:
            case python.Call(func=python.Name(id="range"), args=[hi], keywords=[]):
                return ast.Number(0, span=self.script.span(node)), self.read(hi)
            case python.Call(func=python.Name(id="range"), args=[lo, hi], keywords=[]):
                return self.read(lo), self.read(hi)
            case _:
                raise not_in_notation(
                    "an index runs over a range of integers, one by one",
                    node,
                    self.script,
                    help="write `range(lo, hi)`, and `A[2*k]` for a step of 2",
                )


def _chained(operator: str, operands: list[ast.Expr], span: Span) -> ast.Expr:
    value = operands[0]
    for operand in operands[1:]:
        value = ast.Binary(operator, value, operand, span=span)
    return value


def _path(node: python.expr) -> tuple[str, ...]:
    """``a.b.c`` as its names; empty for anything else."""
    names: list[str] = []
    while isinstance(node, python.Attribute):
        names.append(node.attr)
        node = node.value
    return (node.id, *reversed(names)) if isinstance(node, python.Name) else ()


def _bound_index(node: python.expr) -> str | None:
    """The index that a part of a reduction's brackets binds; None for a guard."""
    match node:
        case python.Name(id=name) | python.Compare(left=python.Name(id=name), ops=[python.In()]):
            return name
        case _:
            return None


def _as_reduction(name: str, arguments: Sequence[python.expr]) -> str | None:
    """What to write for a reduction without indices; None for other calls, as ``max(a, b)``.

    For ``sum(A[k] for k in range(3))`` it is ``sum[k in range(3)](A[k])``.
    """
    match arguments:
        case [python.GeneratorExp(value, loops) | python.ListComp(value, loops)] if name in {*REDUCERS, "min", "max"}:
            parts = [
                part
                for loop in loops
                for part in (
                    f"{python.unparse(loop.target)} in {python.unparse(loop.iter)}",
                    *map(python.unparse, loop.ifs),
                )
            ]
            clauses, term = ", ".join(parts), python.unparse(value)
            return f"`{name}[{clauses}]({term})`" if len(clauses + term) <= 90 else f"`{name}[k in range(3)](A[k])`"
        case _:
            return f"`{name}[k](A[k])`" if name in REDUCERS else None
