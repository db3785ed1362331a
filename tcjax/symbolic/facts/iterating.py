"""Index expressions as mixed-radix digits of loop indices: splits and fusions that visit every point of a box once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING

from .factoring import divide
from .polynomials import ONE, ZERO, All, Formula, Poly, Sign, Symbol, express
from .trees import Binary, Compare, Const, Expr, Var, spine

if TYPE_CHECKING:
    from .facts import Prover


@dataclass(frozen=True, slots=True)
class Digit:
    """``(source // lower) % extent`` of a `source` that counts from 0: an index, or digits fused into one number."""

    source: "str | tuple[Term, ...]"
    lower: Poly
    extent: Poly


@dataclass(frozen=True, slots=True)
class Term:
    """``scale * digit``."""

    digit: Digit
    scale: Poly


def tiles(facts: "Prover", exprs: Sequence[Expr], indices: Sequence[str], sizes: frozenset[str]) -> bool:
    """Whether `exprs` are known to be digits that cover every index exactly once, each expression with unit stride."""
    box = _box(facts, indices, sizes)
    if box is None:
        return False
    reader = _Reader(facts, box)
    digits: list[Digit] = []
    for expr in exprs:
        read = reader.read(expr)
        fused = None if read is None else reader.fuse([Term(t.digit, t.scale) for t in read[0]], signs=True)
        if fused is None:
            return False
        if fused.digit.extent != ONE:
            if fused.scale not in (ONE, -ONE):
                return False
            digits.append(fused.digit)
    return reader.cover(digits)


def bounds(facts: "Prover") -> list[Poly]:
    """The polynomials that the facts say are not negative."""
    return [poly for fact in facts.facts for poly in _signs(_plain(facts).formula(fact.condition))]


def _plain(facts: "Prover") -> "Prover":
    return type(facts)()


def _signs(formula: Formula) -> Iterator[Poly]:
    match formula:
        case Sign(">=", poly):
            yield poly
        case Sign("==", poly):
            yield poly
            yield -poly
        case All(parts):
            for part in parts:
                yield from _signs(part)
        case _:
            pass


def _box(facts: "Prover", indices: Sequence[str], sizes: frozenset[str]) -> dict[str, tuple[Poly, Poly]] | None:
    """The first value and the extent of each index, or None if the indices do not run over a box."""
    kept = _plain(facts)
    uppers: dict[str, list[Poly]] = {name: [] for name in indices}
    lowers: dict[str, list[Poly]] = {name: [] for name in indices}
    others: list[Expr] = []
    for fact in facts.facts:
        inside = fact.condition.variables & frozenset(indices)
        if not inside:
            kept = kept.assume(fact.condition)
            continue
        signs = list(_signs(_plain(facts).formula(fact.condition)))
        name = next(iter(inside))
        weights = [poly.terms.get((Symbol(name),), 0) for poly in signs]
        rests = [poly - Poly.atom(Symbol(name), weight) for poly, weight in zip(signs, weights, strict=True)]
        if (
            len(inside) > 1
            or not signs
            or any(abs(w) != 1 or name in r.names for w, r in zip(weights, rests, strict=True))
        ):
            others.append(fact.condition)
            continue
        kept = kept.assume(fact.condition)
        for weight, rest in zip(weights, rests, strict=True):
            (lowers if weight > 0 else uppers)[name].append(-rest if weight > 0 else rest)
    if kept.contradiction is not None or not all(kept.prove(condition) for condition in others):
        return None
    box: dict[str, tuple[Poly, Poly]] = {}
    for name in indices:
        low = _strongest(kept, lowers[name], 1)
        high = _strongest(kept, uppers[name], -1)
        if low is None or high is None:
            return None
        box[name] = low, facts.normal(express(high - low + 1))
    return box


def _strongest(facts: "Prover", ends: list[Poly], sign: int) -> Poly | None:
    """The greatest (`sign` 1) or least of `ends`, if one is known to be."""
    for end in ends:
        if all(_holds(facts, (end - other) * sign) for other in ends):
            return end
    return None


def _holds(facts: "Prover", poly: Poly) -> bool:
    """Whether `poly` is known not to be negative."""
    value = poly.value
    return value >= 0 if value is not None else facts.prove(Compare(">=", express(poly), Const(0)))


class _Reader:
    """Reads expressions over a box of indices as sums of scaled digits."""

    def __init__(self, facts: "Prover", box: dict[str, tuple[Poly, Poly]]) -> None:
        self.facts = facts
        self.box = box

    def read(self, expr: Expr) -> tuple[list[Term], Poly] | None:
        """The terms and the base of `expr`, or None."""
        match expr:
            case Const(value):
                return [], Poly.of(value)
            case Var(name) if name in self.box:
                low, extent = self.box[name]
                return ([Term(Digit(name, ONE, extent), ONE)] if extent != ONE else []), low
            case _ if self.box.keys().isdisjoint(expr.variables):
                return [], self.facts.normal(expr)
            case Binary("+" | "-"):
                first, rest = spine(expr)
                terms: list[Term] = []
                base = ZERO
                for op, part in [("+", first), *rest]:
                    read = self.read(part)
                    if read is None:
                        return None
                    sign = 1 if op == "+" else -1
                    terms += [Term(term.digit, term.scale * sign) for term in read[0]]
                    base += read[1] * sign
                return terms, base
            case Binary("*", left, right):
                for one, other in ((left, right), (right, left)):
                    if self.box.keys().isdisjoint(one.variables):
                        read, factor = self.read(other), self.facts.normal(one)
                        return (
                            None
                            if read is None
                            else ([Term(t.digit, t.scale * factor) for t in read[0]], read[1] * factor)
                        )
                return None
            case Binary("//" | "%" as op, left, right) if self.box.keys().isdisjoint(right.variables):
                read = self.read(left)
                return None if read is None else self._divided(op, read, self.facts.normal(right))
            case _:
                return None

    def _divided(self, op: str, read: tuple[list[Term], Poly], divisor: Poly) -> tuple[list[Term], Poly] | None:
        terms, base = read
        whole = self.quotient(base, divisor)
        fused = self.fuse(terms)
        # A negative divisor counts backwards.
        if fused is None or not _holds(self.facts, divisor):
            return None
        digit, scale = fused.digit, fused.scale
        if op == "%" and (whole is None or scale != ONE) and self._permutes(digit, scale, divisor):
            return [Term(Digit((Term(digit, ONE),), ONE, digit.extent), ONE)], ZERO
        if whole is None:
            return None
        rest = ZERO if op == "%" else whole
        if digit.extent == ONE:
            return [], rest
        exact = self.quotient(scale, divisor)
        if exact is not None:
            return ([] if op == "%" else [Term(digit, exact)]), rest
        step = self.quotient(divisor, scale)
        if step is None:
            return None
        if _holds(self.facts, step - digit.extent):
            return ([Term(digit, scale)] if op == "%" else []), rest
        left = self.quotient(digit.extent, step)
        if left is None:
            return None
        if op == "%":
            return [Term(Digit(digit.source, digit.lower, step), scale)], rest
        return [Term(Digit(digit.source, digit.lower * step, left), ONE)], rest

    def _permutes(self, digit: Digit, scale: Poly, divisor: Poly) -> bool:
        """Whether ``(scale*digit + base) % divisor`` takes every residue once, for any base: a digit of its own."""
        step, whole = scale.value, divisor.value
        coprime = scale in (ONE, -ONE) or (step is not None and whole is not None and gcd(step, whole) == 1)
        return coprime and self.same(digit.extent, divisor)

    def fuse(self, terms: list[Term], *, signs: bool = False) -> Term | None:
        """The terms as one digit, each continuing where the one before ends; with `signs`, also backwards."""
        if signs:
            terms = [Term(t.digit, -t.scale if all(w < 0 for w in t.scale.terms.values()) else t.scale) for t in terms]
        terms = [term for term in terms if term.digit.extent != ONE]
        if not terms:
            return Term(Digit((), ONE, ONE), ONE)
        for start in terms:
            chain, left = [start], [term for term in terms if term is not start]
            while left:
                expected = chain[-1].scale * chain[-1].digit.extent
                following = next((term for term in left if self.same(term.scale, expected)), None)
                if following is None:
                    break
                chain.append(following)
                left.remove(following)
            if not left:
                return self._merged(chain)
        return None

    def _merged(self, chain: list[Term]) -> Term:
        """The chain as one term, with consecutive pieces of one index joined."""
        scale = chain[0].scale
        joined = [chain[0]]
        for term in chain[1:]:
            last, digit = joined[-1].digit, term.digit
            if digit.source == last.source and self.same(digit.lower, last.lower * last.extent):
                joined[-1] = Term(
                    Digit(last.source, last.lower, self.clean(last.extent * digit.extent)), joined[-1].scale
                )
            else:
                joined.append(term)
        if len(joined) == 1:
            return joined[0]
        extent = ONE
        source: list[Term] = []
        for term in joined:
            source.append(Term(term.digit, extent))
            extent = self.clean(extent * term.digit.extent)
        return Term(Digit(tuple(source), ONE, extent), scale)

    def cover(self, digits: list[Digit]) -> bool:
        """Whether `digits` cover every index exactly once."""
        while True:
            sources: dict[str | tuple[Term, ...], list[Digit]] = {}
            for digit in digits:
                sources.setdefault(digit.source, []).append(digit)
            fused = next((source for source in sources if isinstance(source, tuple)), None)
            if fused is None:
                break
            extent = ONE
            for term in fused:
                extent = extent * term.digit.extent
            if not self._covered(sources[fused], extent):
                return False
            digits = [digit for digit in digits if digit.source != fused] + [term.digit for term in fused]
        return all(
            self._covered(sources.get(name, []), extent) for name, (_, extent) in self.box.items() if extent != ONE
        )

    def _covered(self, digits: list[Digit], extent: Poly) -> bool:
        lower, left = ONE, list(digits)
        while left:
            following = next((digit for digit in left if self.same(digit.lower, lower)), None)
            if following is None:
                return False
            left.remove(following)
            lower = self.clean(lower * following.extent)
        return self.same(lower, extent)

    def quotient(self, poly: Poly, divisor: Poly) -> Poly | None:
        """``poly / divisor`` if there is no remainder, else None."""
        if not poly:
            return ZERO
        value = divisor.value
        if value is not None:
            if value > 0 and poly.content % value == 0:
                return poly.exactly(value)
            coefficient, base = self.facts.modulus(express(poly)) if value > 0 else (1, 0)
            if value > 0 and coefficient % value == 0 and base % value == 0:
                return self.facts.normal(Binary("//", express(poly), Const(value)))
            return None
        exact = divide(poly, divisor)
        return exact if exact and self.same(exact * divisor, poly) else None

    def same(self, a: Poly, b: Poly) -> bool:
        """Whether the two are known to be equal."""
        difference = a - b
        return not difference or (
            difference.value is None and self.facts.prove(Compare("==", express(difference), Const(0)))
        )

    def clean(self, poly: Poly) -> Poly:
        """`poly` simplified under the facts."""
        return poly if poly.value is not None else self.facts.normal(express(poly))
