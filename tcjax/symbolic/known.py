"""What is known about index variables, sizes and names, and every question that it answers: the only entry point.

There are three engines. Interval arithmetic answers for boxes of numbers, the search in `domain` decides conditions on
such boxes, and the prover in `facts` does the rest. The prover is imported when a question first needs it.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, overload

from ..diagnostics import Code, CompileError
from . import audits, boxes, hull
from .affine import Affine, Box, IndexVar
from .audits import Given, Why
from .conditions import TRUE, AllOf, AnyOf, AtLeastZero, Condition, all_of, compare, negation, unconditional
from .domain import Search, find_point
from .hull import Range
from .interval import Interval
from .resolving import resolved
from .size import Size, SizeVar, maximum, minimum

if TYPE_CHECKING:
    from .facts.affines import Names
    from .facts.facts import Fact, Prover
    from .facts.trees import Expr

Subscript: TypeAlias = "Affine | IndexVar | Size | SizeVar"
Asked: TypeAlias = "Subscript | Condition | Expr | str | int"
Name: TypeAlias = str | IndexVar | SizeVar

# The number of parts of a box examined for an optional answer; error checks may take more.
_SMALL_SEARCH: Final = 200


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Facts:
    """An immutable set of facts: adding to it returns a new one, so a fact is in scope wherever that object is used.

    `ranges` are the half-open ranges of index variables, as far as guards narrow them, `given` the other conditions
    that hold, beside those that were `defined`. Sizes of tensors are never negative. Every method accepts text,
    expressions, subscripts, sizes and conditions.
    """

    ranges: Mapping[IndexVar, Range] = field(default_factory=dict)
    given: tuple[Given, ...] = ()
    defined: Mapping[IndexVar, Range] = field(default_factory=dict)
    # The facts before the last ones, and how to pass those to the prover.
    _before: "Facts | None" = None
    _tell: "Callable[[Facts, Prover], Prover] | None" = None
    _last: Given | None = None
    # Created on demand: the prover, the sizes it knows about, the names.
    _prover: "list[Prover]" = field(default_factory=list)
    _established: set[str] = field(default_factory=set)
    _shared: "list[Names]" = field(default_factory=list)

    # ---------------------------------------------------------------- what is known

    @staticmethod
    def over(ranges: Mapping[IndexVar, Range], *guards: Condition) -> "Facts":
        """Facts that each index is in its half-open range, and that the guards hold."""
        facts = Facts(ranges, defined=ranges)
        for guard in guards:
            facts = facts._given(guard, "guard")
        return facts

    def define(
        self, name: Name, lo: "Asked | None" = None, hi: "Asked | None" = None, *, equals: "Asked | None" = None
    ) -> "Facts":
        """Adds that a name is in ``[lo, hi]`` (None: unbounded), or equals an expression."""

        def tell(facts: Facts, prover: "Prover") -> "Prover":
            ends = {"lo": lo, "hi": hi, "equals": equals}
            return prover.define(
                facts._name(name), **{end: facts._expr(value) for end, value in ends.items() if value is not None}
            )

        return self._then(tell, eager=True)

    def with_ranges(self, ranges: Mapping[IndexVar, Range]) -> "Facts":
        """Adds half-open ranges of more indices."""

        def tell(facts: Facts, prover: "Prover") -> "Prover":
            for index, given in ranges.items():
                prover = facts._told_range(prover, index, given)
            return prover

        facts = self._then(tell)
        return replace(facts, ranges={**self.ranges, **ranges}, defined={**self.defined, **ranges})

    def assume(self, *conditions: "Condition | Expr | str", why: Why = "guard") -> "Facts":
        """Adds conditions, because of a definition, a guard, the user, or what makes a program legal.

        Comparisons of one index with numbers narrow its range; data-dependent conditions are ignored. Raises
        `CompileError` for a definition or an assumption of the user that contradicts the facts.
        """
        facts = self
        for condition in conditions:
            facts = facts._given(condition, why)
        return facts

    def without(self, dropped: "Collection[str] | Callable[[Any], bool]") -> "Facts":
        """The facts without those with these reasons, or those for which the function of `condition, why` is true."""
        from .facts.facts import listed

        reasons = frozenset[str]() if callable(dropped) else frozenset[str](listed(dropped))
        if self._is_in_words:
            return _in_words(self.prover.without(dropped), self._shared)
        links: list[Facts] = []
        link: Facts | None = self
        while link is not None:
            links.append(link)
            link = link._before
        facts = links.pop()
        for link in reversed(links):
            given = link._last
            if given is None:
                facts = facts._retold(link)
            elif not (dropped(given) if callable(dropped) else given.why in reasons):
                facts = facts._then(link._tell, given)
        return facts

    def replace(self, name: Name, value: Asked, **definitions: tuple[int | None, int | None]) -> "Facts":
        """The facts with a name replaced by an expression, after adding the bounds of that expression's names."""
        facts = self._then(lambda facts, prover: prover.replace(facts._name(name), facts._expr(value), **definitions))
        # The remaining facts are over names: only the prover handles them.
        return replace(facts, ranges={}, defined={}, given=())

    @property
    def box(self) -> Box | None:
        """The numeric ranges, as far as guards narrow them; None if one depends on sizes."""
        return boxes.box_of(self.ranges)

    @property
    def facts(self) -> "tuple[Fact, ...]":
        """Everything that is known, as conditions on names, and why."""
        return self.prover.facts

    @property
    def variables(self) -> frozenset[str]:
        """The names that some fact is about."""
        return self.prover.variables

    @property
    def contradiction(self) -> str | None:
        """The conflicting facts in words, if they exclude one another; else None."""
        return self.prover.contradiction

    # ---------------------------------------------------------------- questions about subscripts and sizes

    def values(self, subscript: Subscript, *, quickly: bool = False) -> tuple[int, int] | None:
        """The least and the greatest value (inclusive) if they are numbers; None if they depend on data or a size.

        Exact for linear expressions without guards; `quickly` accepts interval arithmetic for the others. With an empty
        range the second value may be the smaller one.
        """
        affine = Affine.of(subscript)
        found = hull.numbers(affine, self.ranges)
        if not quickly and found is not None and found[0] < found[1] and self._is_loose(affine):
            low, high = self._knowing(expr := self._expr(affine)).bounds(expr)
            found = found[0] if low is None else max(low, found[0]), found[1] if high is None else min(high, found[1])
        if found is not None:
            low, high = found
            audits.claimed(self, lambda: all_of((compare(">=", affine, low), compare("<=", affine, high))))
        return found

    def interval(self, subscript: Subscript) -> Interval | None:
        """The half-open hull of the values, as formulas in sizes; None if it depends on data or has no formula.

        For an empty range the ends follow the sign of the weight.
        """
        affine = Affine.of(subscript)
        found = self.values(affine)
        if found is not None:
            return Interval.of(found[0], found[1] + 1)
        known = {v: boxes.as_interval(self.ranges[v]) for v in affine.variables if v in self.ranges}
        formulas = hull.formulas(affine, known, self.at_least_zero)
        return None if formulas is None else self.shortened(formulas)

    def at_least_zero(self, size: Size) -> bool:
        """Whether the size is never negative."""
        if size.is_nonnegative:
            return True
        if size.constant is not None or not self._is_told:
            return False
        return self.prove(AtLeastZero(Affine.of(size)))

    def minimum(self, *sizes: Size) -> Size:
        """The smallest of the sizes, without those known not to be."""
        return minimum(*self._decisive(sizes, lambda size, other: size - other))

    def maximum(self, *sizes: Size) -> Size:
        """The largest of the sizes, without those known not to be."""
        return maximum(*self._decisive(sizes, lambda size, other: other - size))

    def intersection(self, one: Interval, other: Interval) -> Interval:
        """The intersection of two intervals."""
        return Interval(self.maximum(one.lo, other.lo), self.minimum(one.hi, other.hi))

    def shortened(self, interval: Interval) -> Interval:
        """The interval with shorter formulas for its ends, if assumptions allow it."""
        if not self._is_told or interval.is_constant:
            return interval
        return Interval(self._shorter(interval.lo), self._shorter(interval.hi))

    def find(self, condition: Condition = TRUE) -> Search:
        """A search for a point of the box where the condition and all facts hold.

        Every range and size must be a number. Data-dependent parts count as true.
        """
        box = boxes.box_of(self.defined)
        assert box is not None, "a search needs numbers"
        return find_point(box, all_of([*self._conditions(dropped=True), condition]))

    # ---------------------------------------------------------------- questions about all of them

    def prove(self, condition: "Condition | Expr | str") -> bool:
        """Whether the condition holds wherever the facts do; False means only that no proof was found."""
        if isinstance(condition, (AtLeastZero, AllOf, AnyOf)):
            verdict = self._decided(condition)
            if verdict is None:
                verdict = self._knowing(expr := self._expr(condition)).prove(expr)
            if verdict:
                audits.claimed(self, lambda: condition)
            return verdict
        return self._knowing(expr := self._expr(condition)).prove(expr)

    def bounds(self, value: Asked) -> tuple[int | None, int | None]:
        """The inclusive ends of the values, None for an end without a numeric bound."""
        if isinstance(value, (Affine, IndexVar)):
            found = self.values(value)
            if found is not None:
                return found
        return self._knowing(expr := self._expr(value)).bounds(expr)

    @overload
    def simplify(self, value: Affine) -> Affine: ...
    @overload
    def simplify(self, value: Size) -> Size: ...
    @overload
    def simplify(self, value: "Expr | Condition | str | int") -> "Expr": ...
    def simplify(self, value: Asked) -> "Affine | Size | Expr":
        """An equal expression that costs no more: of the same kind as the value; a condition becomes an expression."""
        if isinstance(value, Affine):
            return self._simplified(value)
        simple = self._knowing(expr := self._expr(value)).simplify(expr)
        if not isinstance(value, Size):
            return simple
        from .facts.affines import as_size

        return as_size(simple, self._names.behind) or value

    def _simplified(self, affine: Affine) -> Affine:
        found = resolved(affine, self.ranges)
        if not found.is_linear and self._is_loose(found):
            from .facts.affines import as_affine

            found = as_affine(self._knowing(expr := self._expr(found)).simplify(expr), self._names.behind) or found
        if found is not affine:
            audits.claimed(self, lambda: compare("==", affine, found))
        return found

    def modulus(self, value: Asked) -> tuple[int, int]:
        """``(coefficient, base)``: the value is `base` modulo `coefficient`; coefficient 0 for a constant."""
        return self._knowing(expr := self._expr(value)).modulus(expr)

    def solve(
        self, condition: "Condition | Expr | str", name: Name
    ) -> "tuple[int | Expr | None, int | Expr | None] | Literal['empty']":
        """The largest interval of a name on which the condition holds for every value of the others, or ``"empty"``."""
        return self._knowing(expr := self._expr(condition)).solve(expr, self._name(name))

    def linear(self, value: Asked, names: Iterable[Name]) -> "tuple[int | Expr, ...] | None":
        """The weights of these names, then the rest; None if the value is not linear in them."""
        return self._knowing(expr := self._expr(value)).linear(expr, self._names_of(names))

    def bijective(self, values: Iterable[Asked]) -> bool | None:
        """Whether the map from the names to these values is one to one and onto its bounding box; None if unknown."""
        from .facts.facts import listed

        exprs = [self._expr(value) for value in listed(values)]
        return self._knowing(*exprs).bijective(exprs)

    def compare(self, one: Asked, other: Asked) -> str | None:
        """The strongest of ``== < > <= >= !=`` that always holds between two values; None if there is none."""
        left, right = self._expr(one), self._expr(other)
        return self._knowing(left, right).compare(left, right)

    def hull(self, value: Asked, eliminate: Iterable[Name]) -> "tuple[Expr, Expr] | None":
        """The ends of a value over some names, as expressions over the others; None if no rule gives them."""
        return self._knowing(expr := self._expr(value)).hull(expr, self._names_of(eliminate))

    # ---------------------------------------------------------------- the prover

    @property
    def prover(self) -> "Prover":
        """The same facts, over names."""
        if not self._prover:
            links: list[Facts] = []
            link: Facts | None = self
            while link is not None and not link._prover:
                links.append(link)
                link = link._before
            for link in reversed(links):
                link._prover.append(link._told())
        return self._prover[0]

    def _told(self) -> "Prover":
        if self._before is not None and self._tell is not None:
            self._established.update(self._before._established)
            return self._tell(self, self._before.prover)
        from .facts.facts import Prover

        prover = Prover()
        for index, given in self.ranges.items():
            prover = self._told_range(prover, index, given)
        return prover

    def _told_range(self, prover: "Prover", index: IndexVar, given: Range) -> "Prover":
        # Not as a definition: an empty range is legal.
        interval, name = boxes.as_interval(given), Affine.of(index)
        expr = self._expr(all_of([AtLeastZero(name - interval.lo), AtLeastZero(Affine.of(interval.hi) - 1 - name)]))
        return self._establishing(prover, expr).assume(expr, why="guard")

    def _knowing(self, *exprs: "Expr") -> "Prover":
        """The prover, after adding that the sizes in these expressions are never negative."""
        self._prover[:] = [self._establishing(self.prover, *exprs)]
        return self._prover[0]

    def _establishing(self, prover: "Prover", *exprs: "Expr") -> "Prover":
        for name in sorted(frozenset[str]().union(*(expr.variables for expr in exprs)) - self._established):
            if self._names.is_size(name):
                prover = prover.define(name, 0, None)
            self._established.add(name)
        return prover

    @property
    def _names(self) -> "Names":
        if not self._shared:
            from .facts.affines import Names

            self._shared.append(Names(sorted(boxes.sizes_of(self.defined.values()), key=str)))
        return self._shared[0]

    def _name(self, name: Name) -> str:
        match name:
            case str():
                return name
            case IndexVar() | SizeVar():
                return self._names.of(name).name
            case _:
                raise CompileError(
                    Code.WRONG_TYPE, f"a {type(name).__name__} is not a name", help="write one, as in `n`"
                )

    def _names_of(self, names: Iterable[Name]) -> list[str]:
        from .facts.facts import listed

        return [self._name(name) for name in listed(names)]

    def _expr(self, value: Asked) -> "Expr":
        from .facts import affines
        from .facts.trees import Expr

        match value:
            case Affine() | IndexVar():
                return affines.affine_expression(Affine.of(value), self._names)
            case Size() | SizeVar():
                return affines.size_expression(Size.of(value), self._names)
            case AtLeastZero() | AllOf() | AnyOf():
                return affines.condition_expression(value, self._names)
            case _:
                return Expr.of(value)

    # ---------------------------------------------------------------- inside

    def __repr__(self) -> str:
        return f"Facts({', '.join(str(fact.condition) for fact in self.facts)})"

    def __reduce__(self) -> tuple[object, ...]:
        # The same questions are asked repeatedly.
        return (_in_words, (self.prover,)) if self._is_in_words else (_over, (self.defined, self.given))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Facts) and self._stated == other._stated

    def __hash__(self) -> int:
        return hash(self._stated)

    @property
    def _stated(self) -> "tuple[Fact, ...]":
        """The facts except that sizes are not negative, which is added when a question needs it."""
        return tuple(fact for fact in self.facts if not self._names.is_size(str(fact.condition).removesuffix(" >= 0")))

    def _then(
        self, tell: "Callable[[Facts, Prover], Prover] | None", given: Given | None = None, *, eager: bool = False
    ) -> "Facts":
        ranges, known = self.ranges, self.given
        if given is not None:
            known = (*known, given)
            if not given.dropped and isinstance(given.condition, (AtLeastZero, AllOf, AnyOf)):
                ranges = boxes.narrowed(ranges, given.condition)
        facts = Facts(ranges, known, self.defined, self, tell, given, _shared=self._shared)
        if eager:
            _ = facts.prover
        return facts

    def _retold(self, link: "Facts") -> "Facts":
        """These facts with the non-conditions of a link of another chain added."""
        assert link._before is not None
        added = {index: given for index, given in link.defined.items() if index not in link._before.defined}
        defined = {**self.defined, **added} if link.defined else {}
        ranges = {**self.ranges, **added} if link.defined else {}
        return replace(self._then(link._tell), ranges=ranges, defined=defined)

    def _given(self, condition: "Condition | Expr | str", why: Why) -> "Facts":
        given = audits.given(condition, why)
        if given.dropped:
            return self._then(lambda _, prover: prover, given)

        def tell(facts: Facts, prover: "Prover") -> "Prover":
            known = condition
            if isinstance(known, (AtLeastZero, AllOf, AnyOf)):
                known = unconditional(known)
            expr = facts._expr(known)
            return facts._establishing(prover, expr).assume(expr, why=why)

        return self._then(tell, given, eager=not isinstance(condition, (AtLeastZero, AllOf, AnyOf)))

    @property
    def _is_in_words(self) -> bool:
        """Whether the facts are about names only."""
        return not self.defined and all(map(_is_in_words, self.given))

    @property
    def _is_told(self) -> bool:
        """Whether anything is known besides ranges."""
        return any(not given.dropped for given in self.given)

    def _is_loose(self, affine: Affine) -> bool:
        """Whether interval arithmetic may miss what the prover sees: repeated or compared variables."""
        if affine.is_linear:
            shared = False
        else:
            seen = [atom.index_variables() for atom, _ in affine.terms]
            shared = sum(map(len, seen)) > len(affine.variables)
        return shared or any(not boxes.is_absorbed(condition) for condition in self._conditions())

    def _conditions(self, *, dropped: bool = False) -> Iterator[Condition]:
        """The conditions on indices, including dropped ones for error checks."""
        for given in self.given:
            if isinstance(given.condition, (AtLeastZero, AllOf, AnyOf)) and (dropped or not given.dropped):
                yield given.condition

    def _decided(self, condition: Condition) -> bool | None:
        """The answer of interval arithmetic and of a short search; None if neither has one."""
        guards = [guard for guard in self._conditions() if not boxes.is_absorbed(guard)]
        # Conditions over names are for the prover: a point that they exclude refutes nothing.
        in_words = any(map(_is_in_words, self.given))
        exactly = not guards and not in_words
        verdict = boxes.verdict(condition, self.ranges, exactly=exactly)
        if verdict is not None:
            return verdict
        wanted = frozenset[IndexVar]().union(*map(boxes.variables, (condition, *guards)))
        if not boxes.is_numeric(condition) or not all(index in self.ranges for index in wanted):
            return None
        box = boxes.box_of({index: self.ranges[index] for index in wanted})
        if box is None:
            return None
        condition = negation(unconditional(condition, outcome=False))
        found = find_point(box, all_of([*guards, condition]) if guards else condition, _SMALL_SEARCH)
        return True if found.empty else False if found.point is not None and not in_words else None

    def _decisive(self, sizes: Iterable[Size], excess: Callable[[Size, Size], Size]) -> list[Size]:
        kept: list[Size] = []
        for size in sizes:
            if self._is_told and any(self.at_least_zero(excess(size, other)) for other in kept):
                continue
            if self._is_told:
                kept = [other for other in kept if not self.at_least_zero(excess(other, size))]
            kept.append(size)
        return kept

    def _shorter(self, size: Size) -> Size:
        if all(isinstance(atom, SizeVar) for monomial, _ in size.terms for atom in monomial):
            return size
        simple = self.simplify(size)
        return simple if len(str(simple)) < len(str(size)) else size


def _in_words(prover: "Prover", shared: "list[Names] | None" = None) -> Facts:
    """The facts of a prover."""
    words = tuple(Given(fact.condition, fact.why) for fact in prover.facts)
    return Facts(given=words, _prover=[prover], _shared=[] if shared is None else shared)


def _over(ranges: Mapping[IndexVar, Range], given: Iterable[Given]) -> Facts:
    facts = Facts.over(ranges)
    for one in given:
        facts = facts._given(one.condition, one.why)
    return facts


def _is_in_words(given: Given) -> bool:
    """Whether only the prover knows a condition."""
    return not isinstance(given.condition, (AtLeastZero, AllOf, AnyOf))
