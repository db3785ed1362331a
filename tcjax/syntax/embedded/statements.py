"""The statements of a body, with the `for`, `if` and `with` around them as their clauses."""

import ast as python
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Number
from typing import Final

from ...diagnostics import CompileError
from .. import ast
from .annotations import read_annotation
from .python_expressions import BINARY, Expressions
from .recurrences import recurs
from .refusals import not_in_notation, refuse

# An annotation with one of TC's operators: ``C[i]: "max=!" = e``.
OPERATOR: Final = re.compile(r"\s*(\+|\*|[^\W\d]\w*)=(!?)\s*")

# Python's augmented assignments that reduce; `^=` is a sum of bools.
AUGMENTED: Final = {"+": "+", "*": "*", "|": "any", "&": "all", "^": "+"}


@dataclass(frozen=True, slots=True)
class Around:
    """The context of a statement: its clauses, outermost first, an equivalent, and the indices of each `for`."""

    clauses: tuple[ast.Clause, ...] = ()
    equivalent: ast.Equivalent | None = None
    loops: tuple[str, ...] = ()

    def add(self, *clauses: ast.Clause) -> "Around":
        return replace(self, clauses=self.clauses + clauses)


@dataclass(slots=True)
class Statements:
    """Reads a body in order and tracks what has been `written`: the first ``+=`` of a local starts it.

    Tensors in `defined` have a value before the body begins; `sizes` are those named in annotations.
    """

    defined: frozenset[str]
    sizes: frozenset[str]
    scope: Mapping[str, object]
    written: set[str] = field(default_factory=set)

    def block(self, body: Sequence[python.stmt], reader: Expressions, around: Around) -> list[ast.Statement]:
        """The statements of a block. Raises `CompileError` (TC0105) for constructs that the notation does not have."""
        statements: list[ast.Statement] = []
        for node in body:
            match node:
                case python.Pass():
                    continue
                case python.For():
                    statements += self._loop(node, reader, around)
                case python.If():
                    statements += self._choice(node, reader, around)
                case python.With():
                    statements += self._clauses(node, reader, around)
                case python.Return():
                    raise not_in_notation(
                        "`return` is not the last statement of the function",
                        node,
                        reader.script,
                        help="end the function with one `return C`, outside every `for`, `if` and `with`",
                    )
                case _:
                    statements.append(self._statement(node, reader, around))
        return statements

    # ------------------------------------------------------------ clauses

    def _loop(self, node: python.For, reader: Expressions, around: Around) -> list[ast.Statement]:
        if not isinstance(node.target, python.Name):
            raise not_in_notation(
                "a `for` names one index", node.target, reader.script, help="write `for k in range(lo, hi):`"
            )
        if node.orelse:
            raise not_in_notation(
                "a `for` has no `else`", node.orelse[0], reader.script, help="write the statement after the loop"
            )
        index = reader.name(node.target.id, node.target)
        (lo, hi), step = reader.stepped(node.iter)
        before = self.defined | self.written
        body = self.block(node.body, reader.within(index), replace(around, loops=(*around.loops, index)))
        loop = ast.For(index, lo, hi, tuple(body), step, span=reader.script.span(node))
        size = ast.stride(loop)
        # A let has no meaning in the ends of a loop around it.
        plain = not any(isinstance(clause, ast.LetClause) for clause in around.clauses)
        numbers = self.sizes.union(name for name, value in self.scope.items() if isinstance(value, Number))
        if (plain and recurs(loop, before, around.loops, numbers)) or (step is not None and size in (1, -1)):
            return [replace(loop, step=None) if size == 1 else loop]
        if step is not None:
            reader.interval(node.iter)
        # It only gives the range of the index.
        clause = ast.RangeClause(index, lo, hi, span=reader.script.span(node.target))
        return [_ranged(statement, clause, len(around.clauses)) for statement in body]

    def _choice(self, node: python.If, reader: Expressions, around: Around) -> list[ast.Statement]:
        condition = reader.read(node.test)
        holds = ast.GuardClause(condition, span=condition.span)
        fails = ast.GuardClause(ast.Unary("!", condition, span=condition.span), span=condition.span)
        then = self.block(node.body, reader, around.add(holds))
        statements = then + self.block(node.orelse, reader, around.add(fails))
        if changed := _changed(condition, statements):
            raise self._changing(node.test, condition, changed, reader)
        return statements

    def _changing(
        self, test: python.expr, condition: ast.Expr, changed: ast.Assign, reader: Expressions
    ) -> CompileError:
        """The error for an ``if`` whose condition changes inside: in Python the later statements would not see it."""
        known = self.defined | self.written | self.sizes
        names = (node.id for node in ast.walk(condition) if isinstance(node, ast.Name))
        indices = [name for name in names if name not in known and not isinstance(self.scope.get(name), Number)]
        name = "met"
        while name in known.union(indices):
            name += "_"
        kept = f"{name}[{', '.join(dict.fromkeys(indices)) or '()'}]"
        return not_in_notation(
            f"`{changed.target}` changes under this condition, which reads it: every statement has its own guard",
            test,
            reader.script,
            help=f"keep what it was before: `{kept} = {python.unparse(test)}`, then `if {kept}:`",
        )

    def _clauses(self, node: python.With, reader: Expressions, around: Around) -> list[ast.Statement]:
        for item in node.items:
            span = reader.script.span(item.context_expr)
            match item:
                case python.withitem(
                    context_expr=python.Call(func=python.Name(id="let"), args=[], keywords=[_, *_] as lets),
                    optional_vars=None,
                ):
                    for let in lets:
                        if let.arg is None:
                            raise refuse(node, reader.script)
                        around = around.add(
                            ast.LetClause(let.arg, reader.read(let.value), span=reader.script.span(let))
                        )
                        reader = reader.within(let.arg)
                case python.withitem(
                    context_expr=python.Call(func=python.Name(id="exists"), args=[_, *_] as values, keywords=[]),
                    optional_vars=None,
                ):
                    around = around.add(*(ast.ExistsClause(reader.read(value), span=span) for value in values))
                case python.withitem(
                    context_expr=python.Call(func=python.Name(id="unique"), args=[_, *_] as values, keywords=[]),
                    optional_vars=None,
                ):
                    around = around.add(*(ast.UniqueClause(reader.read(value), span=span) for value in values))
                case python.withitem(
                    context_expr=python.Call(
                        func=python.Name(id="equivalent"),
                        args=[python.Call(func=python.Name(id=function), args=arguments, keywords=[])],
                        keywords=[],
                    ),
                    optional_vars=None,
                ) if around.equivalent is None:
                    equivalent = ast.Equivalent(function, tuple(map(reader.read, arguments)), span=span)
                    around = replace(around, equivalent=equivalent)
                case _:
                    raise refuse(node, reader.script)
        return self.block(node.body, reader, around)

    # ------------------------------------------------------------ statements

    def _statement(self, node: python.stmt, reader: Expressions, around: Around) -> ast.Statement:
        match node:
            case python.Assign(targets=[python.Tuple(elts=targets)], value=value):
                return self._call(node, targets, value, reader, around)
            case python.Assign(targets=[target], value=value):
                return self._assign(node, target, None, False, value, reader, around)
            case python.Assign():
                raise not_in_notation(
                    "this gives one value to several tensors", node, reader.script, help="write one statement for each"
                )
            case python.AugAssign(target=target, op=operator, value=value):
                return self._augmented(node, target, operator, value, reader, around)
            case python.AnnAssign(target=target, annotation=annotation, value=None):
                return self._declare(node, target, annotation, reader, around)
            case python.AnnAssign(
                target=target, annotation=python.Constant(value=str() as text), value=python.expr() as value
            ) if operator := OPERATOR.fullmatch(text):
                return self._assign(node, target, operator[1], operator[2] == "!", value, reader, around)
            case python.AnnAssign():
                raise not_in_notation(
                    "the annotation of an assignment holds an operator",
                    node.annotation,
                    reader.script,
                    help='write `C[i]: "max=!" = e`, and a type in a separate statement: `C: "float(N)"`',
                )
            case _:
                raise refuse(node, reader.script)

    def _augmented(
        self,
        node: python.AugAssign,
        target: python.expr,
        operator: python.operator,
        value: python.expr,
        reader: Expressions,
        around: Around,
    ) -> ast.Assign:
        symbol = BINARY.get(type(operator), "@")
        name, _ = self._target(target, reader)
        if symbol == "@":
            instead = f"write `{python.unparse(target)} += A[i, k] * B[k, j]`"
            raise not_in_notation("`@=` is not a reduction", node, reader.script, help=instead)
        if symbol == "-":
            # Subtracted values are accumulated: `-=` reduces as `+=` does.
            symbol, value = "+", python.copy_location(python.UnaryOp(python.USub(), value), value)
        if symbol not in AUGMENTED:
            joined = python.copy_location(python.BinOp(target, operator, value), node)
            return self._assign(node, target, None, False, joined, reader, around)
        restart = name not in self.defined and name not in self.written
        assign = self._assign(node, target, AUGMENTED[symbol], restart, value, reader, around)
        if symbol != "^":
            return assign
        # A sum of bools is their exclusive or; the two negations exclude integers.
        span = assign.value.span
        return replace(assign, value=ast.Unary("!", ast.Unary("!", assign.value, span=span), span=span))

    def _assign(
        self,
        node: python.stmt,
        target: python.expr,
        reducer: str | None,
        restart: bool,
        value: python.expr,
        reader: Expressions,
        around: Around,
    ) -> ast.Assign:
        name, indices = self._target(target, reader)
        self.written.add(name)
        return ast.Assign(
            name,
            indices,
            reducer,
            restart,
            reader.read(value),
            around.equivalent,
            around.clauses,
            span=reader.script.span(node),
        )

    def _target(self, node: python.expr, reader: Expressions) -> tuple[str, tuple[ast.Expr, ...] | None]:
        match node:
            case python.Name(id=name):
                return reader.name(name, node), None
            case python.Subscript(value=python.Name(id=name), slice=slice):
                return reader.name(name, node), reader.subscripts(slice)
            case python.Subscript(value=python.Subscript(value=python.Name(id=name))):
                raise not_in_notation(
                    "a tensor has one pair of brackets", node, reader.script, help=f"write `{name}[i, j] = …`"
                )
            case _:
                raise not_in_notation(
                    "only a tensor can be assigned to", node, reader.script, help="write `C[i, j] = …` or `s = …`"
                )

    def _declare(
        self, node: python.stmt, target: python.expr, annotation: python.expr, reader: Expressions, around: Around
    ) -> ast.Declare:
        declared = read_annotation(annotation, reader.script, self.scope)
        if not isinstance(target, python.Name) or declared is None or around != Around():
            raise not_in_notation(
                "this declares nothing", node, reader.script, help='write `z: "float(K)"` outside every `for` and `if`'
            )
        return ast.Declare(reader.name(target.id, target), declared, span=reader.script.span(node))

    def _call(
        self, node: python.stmt, targets: list[python.expr], value: python.expr, reader: Expressions, around: Around
    ) -> ast.Statement:
        names = [target.id for target in targets if isinstance(target, python.Name)]
        if len(names) != len(targets) or not names or not isinstance(value, python.Call):
            instead = "write `O1, O2 = f(A, B)`"
            match value:
                case python.Attribute(python.Name(id=tensor), "shape"):
                    instead = f"write `{tensor}.shape[0]` where a size is needed, or name the sizes in the annotation"
                    if names and len(names) == len(targets):
                        instead += f' `{tensor}: "float({",".join(names)})"`'
            raise not_in_notation("several tensors come only from a call", node, reader.script, help=instead)
        if around != Around():
            raise not_in_notation(
                "a call with several results has no ranges and no guards",
                node,
                reader.script,
                help="write it outside every `for`, `if` and `with`",
            )
        for name, target in zip(names, targets, strict=True):
            self.written.add(reader.name(name, target))
        called, span = reader.read(value), reader.script.span(node)
        if not isinstance(called, ast.Apply):
            raise not_in_notation("this call has one result", value, reader.script, help="write `O = f(A, B)`")
        if len(names) == 1:
            return ast.Assign(names[0], None, None, False, called, span=span)
        return ast.CallAssign(tuple(names), called.function, called.arguments, span=span)


def _ranged(statement: ast.Statement, clause: ast.RangeClause, place: int) -> ast.Statement:
    """The statement, or those of a loop, with one more clause inserted at `place`."""
    match statement:
        case ast.Assign(where=where):
            return replace(statement, where=(*where[:place], clause, *where[place:]))
        case ast.For(body=body):
            return replace(statement, body=tuple(_ranged(inner, clause, place) for inner in body))
        case _:
            return statement


def _changed(condition: ast.Expr, statements: Sequence[ast.Statement]) -> ast.Assign | None:
    """The first statement that writes what the condition reads, if the condition is evaluated again after it."""
    leaves, runs = ast.flattened(tuple(statements))
    for number, leaf in enumerate(leaves):
        again = number < len(leaves) - 1 or any(run.first <= number < run.last for run in runs)
        if again and isinstance(leaf, ast.Assign) and any(map(partial(_meets, leaf), ast.walk(condition))):
            return leaf
    return None


def _meets(leaf: ast.Assign, node: ast.Expr) -> bool:
    """Whether a node reads what the statement writes: at a constant nonzero distance it reads another element."""
    if not isinstance(node, ast.Apply):
        return isinstance(node, ast.Name) and node.id == leaf.target
    pairs = zip(leaf.indices or (), node.arguments, strict=False)
    return node.function == leaf.target and not any(_distance(own, read) for own, read in pairs)


def _distance(own: ast.Expr, read: ast.Expr) -> int:
    """The distance of ``i - 2`` from ``i``; 0 if it is unknown."""
    match read:
        case ast.Binary("+" | "-" as sign, base, ast.Number(int() as number)) if base == own:
            return -number if sign == "-" else number
        case _:
            return 0
