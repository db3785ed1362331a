"""`Prover`: what is known about names, and every question about expressions that this can answer."""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from ...diagnostics import Code, CompileError
from .knowledge import NOTHING, Knowledge
from .ledger import QUESTION, REWRITING
from .polynomials import Formula, Poly
from .trees import Compare, Const, Expr, ExprLike, Var, is_condition

T = TypeVar("T")
Why = Literal["defn", "guard", "user", "legality"]
End = int | Expr
_NO_ANSWER: Any = object()
_WHYS = ("defn", "guard", "user", "legality")


@dataclass(frozen=True, slots=True)
class Fact:
    """One condition that holds, and why: a definition, a guard around the place, the user's word, or legality."""

    condition: Expr
    why: Why


class Prover:
    """What holds at one place in a program. Immutable: `define` and `assume` return a new object, the narrower scope.

    A point where an evaluated part of an expression divides by zero is outside the domain of every question.
    """

    __slots__ = ("_knowledge", "_memo", "_parent", "_short", "facts")

    def __init__(self, facts: Iterable[Fact] = (), parent: "Prover | None" = None) -> None:
        self.facts: tuple[Fact, ...] = tuple(facts)
        self._parent = parent
        self._knowledge: Knowledge | None = None
        self._memo: dict[object, object] = {}
        self._short: dict[object, object] = {}

    def define(
        self, name: str, lo: ExprLike | None = None, hi: ExprLike | None = None, *, equals: ExprLike | None = None
    ) -> "Prover":
        """Adds that `name` runs over ``[lo, hi]`` (None is unbounded) or is `equals`.

        Numbers that contradict what is known raise `CompileError`; a range whose ends are expressions may be empty.
        """
        variable = Expr.of(name) if isinstance(name, str) else name
        if not isinstance(variable, Var):
            raise CompileError(Code.UNEXPECTED_TOKEN, f"`{name}` is not a name", help="define one name, as in `n`")
        ends = [(op, _number(end)) for op, end in ((">=", lo), ("<=", hi), ("==", equals)) if end is not None]
        facts = self._with([Compare(op, variable, end) for op, end in ends], "defn")
        return facts._checked() if all(isinstance(end, Const) for _, end in ends) else facts

    def assume(self, *conditions: ExprLike, why: Why = "guard") -> "Prover":
        """Adds `conditions`; a definition or an assumption that contradicts the facts raises `CompileError`."""
        if why not in _WHYS:
            raise CompileError(Code.BAD_OPTION, f"`{why}` is not a reason", help=f"write one of {', '.join(_WHYS)}")
        facts = self._with([_condition(condition) for condition in conditions], why)
        return facts._checked() if why in ("defn", "user") else facts

    def _with(self, conditions: Sequence[Expr], why: Why) -> "Prover":
        return Prover((*self.facts, *(Fact(condition, why) for condition in conditions)), self) if conditions else self

    def _checked(self) -> "Prover":
        """Returns itself; raises if the facts contradict one another and those they were added to did not."""
        if self.contradiction is not None and (self._parent is None or self._parent.contradiction is None):
            raise CompileError(Code.NEGATIVE_EXTENT, self.contradiction, help="drop or correct one of the two")
        return self

    def without(self, dropped: Collection[str] | Callable[[Fact], bool]) -> "Prover":
        """The facts without those of these reasons, or those for which the function is true."""
        if callable(dropped):
            return Prover(fact for fact in self.facts if not dropped(fact))
        reasons = frozenset(listed(dropped))
        return Prover(fact for fact in self.facts if fact.why not in reasons)

    def replace(self, name: str, expr: ExprLike, **definitions: tuple[ExprLike | None, ExprLike | None]) -> "Prover":
        """The facts with `name` replaced by `expr` throughout, after the bounds of the names that `expr` brings."""
        facts = Prover()
        for new, ends in definitions.items():
            if not isinstance(ends, tuple) or len(ends) != 2:
                raise CompileError(Code.WRONG_TYPE, f"`{ends}` is not a range of `{new}`", help="write `(lo, hi)`")
            facts = facts.define(new, *ends)
        old, value = _name(name), _number(expr)
        moved = [Fact(fact.condition.substitute({old: value}), fact.why) for fact in self.facts]
        return Prover((*facts.facts, *moved))

    @property
    def contradiction(self) -> str | None:
        """Facts that contradict one another, in words: no point satisfies them all. None if there are none."""
        return self._remember("contradiction", self._find_contradiction, None)

    def simplify(self, expr: ExprLike) -> Expr:
        """An equal expression, wherever `expr` is defined, that is no more expensive to compute."""
        from . import recomposing

        read = Expr.of(expr)
        return self._remember(("simplify", read), lambda: recomposing.simplify(self, read), read)

    def bounds(self, expr: ExprLike) -> tuple[int | None, int | None]:
        """The smallest and largest value of `expr`; None where it is unbounded or unknown."""
        from . import bounding

        read = _number(expr)
        return self._remember(("bounds", read), lambda: bounding.bounds(self.knowledge, read), (None, None))

    def modulus(self, expr: ExprLike) -> tuple[int, int]:
        """``(coefficient, base)``: every value is base modulo coefficient; coefficient 0 for a constant."""
        from . import congruence

        read = _number(expr)
        return self._remember(("modulus", read), lambda: congruence.modulus(self.knowledge, read), (1, 0))

    def prove(self, condition: ExprLike) -> bool:
        """True only if `condition` holds at every point of the domain."""
        from . import proving

        read = _condition(condition)
        return self._remember(("prove", read), lambda: proving.prove(self.knowledge, read), False)

    def compare(self, a: ExprLike, b: ExprLike) -> str | None:
        """The strongest of ``== < > <= >= !=`` that always holds between `a` and `b`, or None."""
        left, right = _number(a), _number(b)
        for op in ("==", "<", ">", "<=", ">=", "!="):
            if self.prove(Compare(op, left, right)):
                return op
        return None

    def solve(self, condition: ExprLike, name: str) -> "tuple[End | None, End | None] | Literal['empty']":
        """The largest interval of `name` on which `condition` holds for all values of the others, or ``"empty"``."""
        from . import solving

        read, variable = _condition(condition), _name(name)
        return self._remember(("solve", read, variable), lambda: solving.solve(self, read, variable), "empty")

    def linear(self, expr: ExprLike, names: Sequence[str]) -> "tuple[End, ...] | None":
        """The weights of `names` in `expr` and the rest, or None when it is not linear in them."""
        from . import linearity

        return linearity.linear(self, _number(expr), [_name(name) for name in listed(names)])

    def bijective(self, exprs: Sequence[ExprLike]) -> bool | None:
        """Whether the map from the names to `exprs` is injective and onto its bounding box; None if unknown."""
        from . import bijection

        return bijection.bijective(self, [_number(expr) for expr in listed(exprs)])

    def hull(self, expr: ExprLike, eliminate: Iterable[str]) -> tuple[Expr, Expr] | None:
        """Ends of `expr` over the names `eliminate`, as expressions over the other names, or None."""
        from . import hulls

        read, names = _number(expr), frozenset(map(_name, listed(eliminate)))
        return self._remember(("hull", read, names), lambda: hulls.hull(self, read, names), None)

    @property
    def knowledge(self) -> Knowledge:
        """The facts in normal form, for the modules of this package."""
        if self._knowledge is None:
            # Parents first, in a loop: facts may have been added one by one a thousand times.
            chain: list[Prover] = []
            facts: Prover | None = self
            while facts is not None and facts._knowledge is None:
                chain.append(facts)
                facts = facts._parent
            known, count = (NOTHING, 0) if facts is None else (facts._knowledge, len(facts.facts))
            for one in reversed(chain):
                assert known is not None
                try:
                    one._knowledge = known = known.assuming([fact.condition for fact in one.facts[count:]])
                except RecursionError:
                    raise too_deep() from None
                count = len(one.facts)
        assert self._knowledge is not None
        return self._knowledge

    def normal(self, expr: ExprLike) -> Poly:
        """The normal form of a number, over the names of the text."""
        return self.knowledge.shown(self.knowledge.normal(_number(expr)))

    def formula(self, condition: ExprLike) -> Formula:
        """The normal form of a condition."""
        return self.knowledge.shown_formula(self.knowledge.formula(_condition(condition)))

    @property
    def variables(self) -> frozenset[str]:
        """The names that some fact is about."""
        return frozenset().union(*(fact.condition.variables for fact in self.facts))

    def _find_contradiction(self) -> str | None:
        from . import proving

        if self._parent is not None and self._parent.contradiction is not None:
            return self._parent.contradiction
        if not proving.impossible(self.knowledge):
            return None
        # The first fact that the earlier ones exclude, then the single one that is enough for that.
        first = 0 if self._parent is None else len(self._parent.facts)
        end = bisect_left(
            range(len(self.facts)), True, first, len(self.facts) - 1, key=lambda at: _excluded(self.facts[: at + 1])
        )
        last = self.facts[end]
        if _excluded([last]):
            return f"`{last.condition}` never holds"
        for fact in self.facts[:end]:
            if _excluded([fact, last]):
                return f"`{last.condition}` contradicts `{fact.condition}`"
        others = ", ".join(f"`{fact.condition}`" for fact in self.facts[:end][-4:])
        return f"`{last.condition}` contradicts what is known: {others}"

    def _remember(self, key: object, compute: Callable[[], T], otherwise: T = _NO_ANSWER) -> T:
        """The answer to a question; if it overflows the stack, `otherwise`, the answer without any facts."""
        try:
            return self._memo[key]  # type: ignore[return-value]
        except KeyError:
            pass
        steps = REWRITING if isinstance(key, tuple) and key[0] in ("simplify", "solve") else QUESTION
        try:
            ledger = self.knowledge.ledger
            if key in self._short and not ledger.is_open:
                return self._short[key]  # type: ignore[return-value]
            with ledger.question(steps):
                result = compute()
                is_short, is_shared = ledger.is_spent, ledger.is_shared
        except RecursionError:
            if otherwise is _NO_ANSWER:
                raise
            return otherwise
        # An answer found with all steps spent is incomplete. An enclosing question may have had more or fewer steps
        # left, so such an answer is neither stored nor reused.
        if not is_short:
            self._memo[key] = result
        elif not is_shared:
            self._short[key] = result
        return result

    def __repr__(self) -> str:
        return f"Prover({', '.join(str(fact.condition) for fact in self.facts)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Prover) and self.facts == other.facts

    def __hash__(self) -> int:
        return hash(self.facts)

    def __reduce__(self) -> tuple[object, ...]:
        # Cached knowledge is found again.
        return Prover, (self.facts,)


def too_deep() -> CompileError:
    """The error of a question that exceeds the interpreter's stack."""
    return CompileError(
        Code.TOO_DEEP, "this expression nests too deeply", help="give a part of it a name with `define`"
    )


def listed(values: Any) -> list[Any]:
    """Several names or expressions as a list; a single one becomes a list of one."""
    if isinstance(values, str | Expr):
        return [values]
    if not isinstance(values, Iterable):
        raise CompileError(
            Code.WRONG_TYPE, f"a {type(values).__name__} is not a list", help="write a list, as in `['i', 'j']`"
        )
    return list(values)


def _excluded(facts: Iterable[Fact]) -> bool:
    """Whether no point satisfies these facts."""
    from . import proving

    return proving.impossible(NOTHING.assuming([fact.condition for fact in facts]))


def _condition(value: ExprLike) -> Expr:
    expr = Expr.of(value)
    if not is_condition(expr):
        raise CompileError(
            Code.NOT_BOOLEAN, f"`{expr}` is a number, not a condition", help=f"compare it, as in `{expr} != 0`"
        )
    return expr


def _name(value: "str | Var") -> str:
    if not isinstance(value, str | Var):
        raise CompileError(Code.WRONG_TYPE, f"a {type(value).__name__} is not a name", help="write one, as in `n`")
    return value if isinstance(value, str) else value.name


def _number(value: ExprLike) -> Expr:
    expr = Expr.of(value)
    if is_condition(expr):
        raise CompileError(
            Code.WRONG_TYPE, f"`{expr}` is a condition, not a number", help="write `select(condition, 1, 0)`"
        )
    return expr
