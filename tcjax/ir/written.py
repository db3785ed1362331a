"""Statements in the writer's own names, for people: without those of tensors that passes made of the writer's."""

from dataclasses import replace
from typing import Final

from ..symbolic import Affine, IndexVar
from ..symbolic.affine import Atom
from .conditions import affine_of
from .expressions import Access, Binary, Data, Expr, Index, Range, Source, Tensor
from .integers import integer
from .printer import show_statement
from .statements import Accumulate, Define, Statement
from .traversal import rebuild, walk

# No writer's name contains it: it separates what a pass adds to a name.
MARK: Final = "~"


def show_written(statement: Statement) -> str:
    """The statement as text in the writer's names: ``u[t, i] = u[t - 1, i]`` for a step that gets one row of `u`."""
    copied = _copied(statement)
    if copied is not None:
        return f"{copied} = {copied} as it was before"
    return show_statement(as_written(statement))


def as_written(statement: Statement) -> Statement:
    """The statement in the writer's tensors and indices.

    A read of a part is one of the whole tensor, and data that holds the value of a loop's index is the index.
    """
    if not isinstance(statement, (Define, Accumulate)):
        return statement
    target, indices = _placed(statement.target, tuple(map(as_subscript, statement.indices)))
    domain = statement.domain
    given = tuple(
        Range(each.index, as_subscript(each.lo), as_subscript(each.hi), span=each.span) for each in domain.ranges
    )
    guard = None if domain.guard is None else written_expr(domain.guard)
    domain = replace(domain, ranges=given, guard=guard)
    return replace(statement, target=target, indices=indices, value=written_expr(statement.value), domain=domain)


def is_copy(statement: Statement) -> bool:
    """Whether a pass made the statement, to keep what a tensor has before."""
    return _copied(statement) is not None


def plain_name(name: str) -> str:
    """A name as people read it: ``ptr.rows`` for what a pass made of `ptr`."""
    return name.rstrip(MARK).replace(MARK, ".")


def index_name(index: IndexVar) -> str:
    """An index as people read it."""
    return plain_name(str(index))


def tensor_name(tensor: Tensor) -> str:
    """The writer's tensor that this one is, or is a part of; else a name that says what it was made of."""
    match tensor.source:
        case Source(source):
            return tensor_name(source)
        case IndexVar() as index:
            return index_name(index)
        case _:
            return plain_name(tensor.name)


def part_of(tensor: Tensor) -> tuple[str, tuple[Affine, ...], tuple[IndexVar, ...]]:
    """The writer's tensor, its subscripts, and the indices in them that run over the dimensions of this tensor."""
    # No program uses such names.
    own = tuple(IndexVar(f":{dimension}") for dimension in range(tensor.rank))
    whole, subscripts = _placed(tensor, tuple(map(Affine.of, own)))
    return tensor_name(whole), subscripts, own


def show_part(tensor: Tensor) -> str:
    """The writer's tensor, or the part of it that this one is: ``h[t - 1, :]``."""
    name, subscripts, own = part_of(tensor)
    if subscripts == tuple(map(Affine.of, own)):
        return name
    return f"{name}[{', '.join(':' if each.variables & set(own) else str(each) for each in subscripts)}]"


def _copied(statement: Statement) -> str | None:
    """The tensor, or its part, that a statement only keeps as it is; None if it does more."""
    match statement:
        case Define(target, indices, Access(tensor)) if target.source or tensor.source:
            written = as_written(statement)
            assert isinstance(written, Define) and isinstance(written.value, Access)
            if (written.target.name, written.indices) != (written.value.tensor.name, written.value.indices):
                return None
            own = {variable for index in map(as_subscript, indices) for variable in index.variables}
            kept = [":" if index.variables & own else str(index) for index in written.indices]
            return written.target.name if set(kept) <= {":"} else f"{written.target.name}[{', '.join(kept)}]"
        case _:
            return None


def counters(rank: int) -> tuple[IndexVar, ...]:
    """The indices of a statement that a pass made: one for each dimension."""
    return tuple(IndexVar(f"c{dimension}{MARK}") for dimension in range(rank))


def letters(rank: int) -> tuple[IndexVar, ...]:
    """As many indices, with names for people."""
    return tuple(IndexVar("ijklmnpqrs"[axis] if axis < 10 else f"i{axis}") for axis in range(rank))


def whole(tensor: Tensor) -> Source:
    """All of a tensor."""
    indices = counters(tensor.rank)
    return Source(tensor, indices, tuple(map(Affine.of, indices)))


def written_expr(expr: Expr) -> Expr:
    """The expression in the writer's tensors and indices."""
    match expr:
        case Index() if (meaning := _meaning(expr)) is not None:
            return integer(meaning)
        case Access(Tensor(source=IndexVar() as index)):
            return written_expr(Index(index, span=expr.span))
        case Access(tensor, indices):
            own, placed = _placed(tensor, tuple(map(as_subscript, indices)))
            return replace(expr, tensor=own, indices=placed)
        case Binary(dtype="int32") if any(map(_meaning, walk(expr))):
            return integer(affine_of(rebuild(expr, written_expr)))
        case _:
            return rebuild(expr, written_expr)


def _meaning(expr: Expr) -> Affine | None:
    """The formula that an index, or the value of a loop's index, stands for."""
    match expr:
        case Index(index) | Access(Tensor(source=IndexVar() as index)):
            return index.meaning
        case _:
            return None


def _placed(tensor: Tensor, indices: tuple[Affine, ...]) -> tuple[Tensor, tuple[Affine, ...]]:
    while isinstance(tensor.source, Source):
        indices = tuple(map(as_subscript, tensor.source.place(indices)))
        tensor = tensor.source.tensor
    return (replace(tensor, name=plain_name(tensor.name)) if MARK in tensor.name else tensor), indices


def as_subscript(affine: Affine) -> Affine:
    """A subscript in the writer's indices."""
    return affine.rewrite(_atom)


def _atom(atom: Atom) -> "Affine | Atom | Data":
    if isinstance(atom, IndexVar):
        return atom.meaning or IndexVar(plain_name(atom.name), atom.tag)
    if not isinstance(atom, Data):
        return atom
    match written_expr(atom.expr):
        case Index(index):
            return index.meaning or index
        case found:
            return Data(found)
