"""Steps from a sum to an equal sum with other atoms, which may be cheaper to write."""

from collections.abc import Iterator
from functools import reduce
from math import gcd
from typing import TYPE_CHECKING, Final

from .factoring import divide, without
from .polynomials import ONE, ZERO, Atom, Choice, Floor, Least, Monomial, Poly, Quotient, Sealed, Symbol, Trunc, express
from .trees import Binary, Compare, Const, Expr, Select

if TYPE_CHECKING:
    from .composing import Composer

# If there are more atoms, only the first are rewritten.
_ATOM_LIMIT: Final = 8


def steps(composer: "Composer", poly: Poly) -> Iterator[Poly]:
    """Sums equal to `poly`."""
    atoms = sorted(atom for atom in poly.atoms if isinstance(atom, Quotient | Least | Choice))
    for atom in atoms[:_ATOM_LIMIT]:
        factor, rest = split(poly, atom)
        if factor is None:
            if isinstance(atom, Least) and len(atom.args) == 2:
                yield _without_square(poly, atom)
            continue
        match atom:
            case Quotient():
                yield from _remainders(composer, atom, factor, rest)
                if isinstance(atom, Floor):
                    yield from _differences(composer, atom, factor, rest)
                    yield from _moved_in(composer, atom, factor, rest)
                    yield from _moved_out(composer, atom, factor, rest)
            case Least():
                yield from _extremes(composer, atom, factor, rest)
            case Choice():
                yield from _choices(composer, atom, factor, rest)


def split(poly: Poly, atom: Atom) -> tuple[Poly | None, Poly]:
    """``poly = factor * atom + rest``; no factor if `atom` occurs to a higher power."""
    factor: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for monomial, weight in poly.terms.items():
        count = monomial.count(atom)
        if count > 1:
            return None, poly
        if count:
            index = monomial.index(atom)
            factor[monomial[:index] + monomial[index + 1 :]] = weight
        else:
            rest[monomial] = weight
    return Poly(factor), Poly(rest)


# ---------------------------------------------------------------- quotients


def _remainders(composer: "Composer", atom: Quotient, factor: Poly, rest: Poly) -> Iterator[Poly]:
    """``rest - k*d*(n//d) = rest - k*n + k*(n % d)``, and the same quotient with both signs changed."""
    floor = isinstance(atom, Floor)
    if not floor and factor.value is not None and factor.value < 0 and atom.denominator.value is not None:
        # -tdiv(n, d) = tdiv(n, -d)
        mirrored = Binary("tdiv", composer.write(atom.numerator), Const(-atom.denominator.value))
        yield rest - factor * _written(mirrored)
    if not floor:
        yield from _trunc_of_remainder(composer, atom, factor, rest)
    for numerator, denominator in _numerators(composer, atom, rest):
        step = denominator.value
        for times in _multiples(factor, denominator):
            left = rest + (factor + times * denominator) * Poly.atom(atom) - times * numerator
            if not floor:
                shown = numerator if step is None else _scaled_down(numerator, step)
                yield left + times * _remainder(composer, "tmod", shown, denominator)
                continue
            if step is None:
                yield left + times * _remainder(composer, "%", numerator, denominator)
                continue
            residue = _residue(composer, numerator, step)
            if residue is not None:
                yield left + times * residue
                continue
            yield left + times * _remainder(composer, "%", _reduced(numerator, step), denominator)
            if any(weight < 0 for weight in times.terms.values()):
                # n % d = d - 1 - (-n - 1) % d
                mirrored = _remainder(composer, "%", _reduced(-numerator - 1, step), denominator)
                yield left + times * (step - 1) - times * mirrored


def _trunc_of_remainder(composer: "Composer", atom: Quotient, factor: Poly, rest: Poly) -> Iterator[Poly]:
    """``tdiv(tmod(r, D), d) = tdiv(r, d) - D/d * tdiv(r, D)`` where d divides D: r and its remainder have one sign."""
    step = atom.denominator.value
    for inner in sorted(atom_ for atom_ in atom.numerator.atoms if isinstance(atom_, Trunc)):
        weight, left = split(atom.numerator, inner)
        whole = -weight.value if weight is not None and weight.value is not None else 0
        if step is None or whole <= 0 or whole % step:
            continue
        nested = left.as_atom
        if isinstance(nested, Trunc) and nested.numerator == inner.numerator:
            same = nested.denominator * whole == inner.denominator
        else:
            same = left == inner.numerator and inner.denominator.value == whole
        if same and _native(left):
            quotient = composer.facts.normal(Binary("tdiv", express(left), Const(step)))
            yield rest + factor * (quotient - Poly.atom(inner, whole // step))


def _residue(composer: "Composer", poly: Poly, step: int) -> int | None:
    """``poly % step`` if it is the same for all values."""
    if not _native(poly):
        return None
    coefficient, base = composer.facts.modulus(express(poly))
    return base % step if coefficient % step == 0 else None


def _native(poly: Poly) -> bool:
    """Whether no atom of `poly` is already an expression."""
    return all(isinstance(atom, Symbol | Quotient | Least | Choice | Sealed) for atom in poly.deep_atoms(choices=True))


def _remainder(composer: "Composer", op: str, numerator: Poly, denominator: Poly) -> Poly:
    return _written(Binary(op, composer.write(numerator), composer.write(denominator)))


def _written(expr: Expr) -> Poly:
    from .composing import Written

    return Poly.atom(Written(expr))


def _numerators(composer: "Composer", atom: Quotient, rest: Poly) -> Iterator[tuple[Poly, Poly]]:
    """The ways to see `atom` as one quotient: itself, and around a quotient of the sum, ``(n//a + r) // (d/a)``."""
    yield atom.numerator, atom.denominator
    for inner in sorted(atom_ for atom_ in rest.atoms if type(atom_) is type(atom)):
        assert isinstance(inner, Quotient)
        outer = _exact(atom.denominator, inner.denominator)
        if outer is None or outer == ONE:
            continue
        difference = atom.numerator - inner.numerator
        if isinstance(inner, Trunc):
            if not difference:
                yield Poly.atom(inner), outer
            continue
        moved = _exact(difference, inner.denominator)
        if moved is not None and _positive(composer, outer):
            yield Poly.atom(inner) + moved, outer


def _exact(poly: Poly, divisor: Poly) -> Poly | None:
    """``poly / divisor`` where that is a polynomial."""
    if not poly:
        return ZERO
    value = divisor.value
    if value is not None:
        return poly.exactly(value) if poly.content % value == 0 else None
    quotient = divide(poly, divisor)
    return quotient if quotient and quotient * divisor == poly else None


def _positive(composer: "Composer", poly: Poly) -> bool:
    value = poly.value
    if value is not None or not _native(poly):
        return value is not None and value > 0
    return composer.facts.prove(Compare(">", express(poly), Const(0)))


def _multiples(factor: Poly, divisor: Poly) -> list[Poly]:
    """Polynomials k such that adding ``k*divisor`` to `factor` may simplify it."""
    value = divisor.value
    if value is not None:
        exact = {m: -(w // value) for m, w in factor.terms.items() if w % value == 0}
        near = {m: -(w // value) if 2 * (w % value) <= value else -(w // value) - 1 for m, w in factor.terms.items()}
        found = [Poly({m: w for m, w in candidate.items() if w}) for candidate in (exact, near)]
        return [k for k in dict.fromkeys(found) if k]
    quotient = divide(factor, divisor)
    return [-quotient] if quotient else []


def _scaled_down(numerator: Poly, divisor: int) -> Poly:
    """A numerator with the same sign and the same remainder: ``tmod(4*x, 3) = tmod(x, 3)``."""
    content = numerator.content
    return numerator.exactly(content) * (content % divisor) if content > 1 and content % divisor else numerator


def _reduced(numerator: Poly, divisor: int) -> Poly:
    """A numerator with the same remainder and small weights."""
    terms: dict[Monomial, int] = {}
    if divisor == 2:
        # x*x and x are both odd or both even.
        odd = [Poly({tuple(sorted(set(m))): 1}) for m, w in numerator.terms.items() if w % 2]
        numerator = sum(odd, start=ZERO)
    for monomial, weight in numerator.terms.items():
        small = weight % divisor
        if small > 1 and monomial and divisor - small < small:
            small -= divisor
        if small:
            terms[monomial] = small
    return Poly(terms)


def _differences(composer: "Composer", atom: Floor, factor: Poly, rest: Poly) -> Iterator[Poly]:
    """``a//d - b//d = (a - b + b % d) // d``."""
    for other in sorted(atom_ for atom_ in rest.atoms if isinstance(atom_, Floor)):
        weight, left = split(rest, other)
        if weight is None or weight != -factor or other.denominator != atom.denominator:
            continue
        whole = _remainder(composer, "%", other.numerator, other.denominator) + atom.numerator - other.numerator
        constant = _exact(Poly.of(left.constant), factor)
        moved = constant if constant is not None else ZERO
        yield left - factor * moved + factor * Poly.atom(Floor(whole + moved * atom.denominator, atom.denominator))


def _moved_in(composer: "Composer", atom: Floor, factor: Poly, rest: Poly) -> Iterator[Poly]:
    """``n//d + r = (n + r*d) // d`` for the constant and for terms that cancel."""
    sign = factor.value
    if sign not in (1, -1):
        return
    numerator, step = atom.numerator, atom.denominator
    terms = {m: w * sign for m, w in rest.terms.items()}
    candidates = [Poly({(): terms[()]})] if () in terms and numerator.constant else []
    cancelled = {
        m: w for m, w in terms.items() if m and any(big in numerator.terms for big in (step * Poly({m: w})).terms)
    }
    if cancelled:
        candidates.append(Poly(cancelled))
    for moved in candidates:
        yield rest - moved * sign + Poly.atom(Floor(numerator + moved * step, step)) * sign


def _moved_out(composer: "Composer", atom: Floor, factor: Poly, rest: Poly) -> Iterator[Poly]:
    """``(n + r*d) // d = n//d + r`` for large weights, and ``n // 2`` by the half on the other side."""
    step = atom.denominator.value
    if step is None:
        return
    numerator = atom.numerator
    if step == 2:
        # n//2 = n - (n + 1)//2
        yield rest + factor * (numerator - _quotient(composer, numerator + 1, step))
    # n//d = -((d - 1 - n) // d)
    mirrored = _quotient(composer, -numerator + (step - 1), step)
    if not mirrored.atoms.isdisjoint(rest.atoms):
        yield rest - factor * mirrored
    near = {m: w // step if 2 * (w % step) <= step else w // step + 1 for m, w in numerator.terms.items() if m}
    down = {m: w // step for m, w in numerator.terms.items() if m}
    for outside in dict.fromkeys(Poly({m: w for m, w in terms.items() if w}) for terms in (near, down)):
        if outside:
            yield rest + factor * (outside + _quotient(composer, numerator - outside * step, step))


def _quotient(composer: "Composer", numerator: Poly, step: int) -> Poly:
    """``numerator // step`` under the facts."""
    if not _native(numerator):
        return Poly.atom(Floor(numerator, Poly.of(step)))
    return composer.facts.normal(Binary("//", express(numerator), Const(step)))


# ---------------------------------------------------------------- least values and choices


def _extremes(composer: "Composer", atom: Least, factor: Poly, rest: Poly) -> Iterator[Poly]:
    """``-c*min(S) = c*max(-S)``, ``c*min(S) = min(c*S)`` and ``c*min(S) + c*r = c*min(S + r)``."""
    args = list(atom.args)
    if not any(weight > 0 for weight in factor.terms.values()):
        yield rest - factor * _extreme(composer, "max", [-arg for arg in args])
    yield from _product_of_extremes(args, factor, rest)
    weight = factor.value
    if weight is None:
        return
    if abs(weight) > 1:
        yield rest + _extreme(composer, "min" if weight > 0 else "max", [arg * weight for arg in args])
    content = reduce(gcd, (arg.content for arg in args), 0)
    if content > 1:
        inner = [arg.exactly(content) for arg in args]
        yield rest + _extreme(composer, "min", inner) * (weight * content)
        yield rest - _extreme(composer, "max", [-arg for arg in inner]) * (weight * content)
    for moved in _moves(args, Poly({m: w // weight for m, w in rest.terms.items() if w % weight == 0})):
        inside = [arg + moved for arg in args]
        left = rest - moved * weight
        yield left + _extreme(composer, "min", inside) * weight
        yield left - _extreme(composer, "max", [-arg for arg in inside]) * weight
        if abs(weight) > 1:
            yield left + _extreme(composer, "min" if weight > 0 else "max", [arg * weight for arg in inside])


def _without_square(poly: Poly, atom: Least) -> Poly:
    """``m*m = (a + b)*m - a*b`` for ``m = min(a, b)``, which is one of the two."""
    a, b = atom.args
    total = ZERO
    for monomial, weight in poly.terms.items():
        if monomial.count(atom) < 2:
            total += Poly({monomial: weight})
            continue
        others = without(without(monomial, atom), atom)
        total += Poly({others: weight}) * ((a + b) * Poly.atom(atom) - a * b)
    return total


def _moves(args: list[Poly], rest: Poly) -> list[Poly]:
    """The terms of `rest` that may move into the arguments, and those of the arguments that may move out."""
    moves = [rest, Poly({m: w for m, w in rest.terms.items() if m}), Poly.of(rest.constant)]
    for arg in args:
        # Terms that cancel in one argument.
        moves.append(Poly({m: w for m, w in rest.terms.items() if m in arg.terms and (arg.terms[m] < 0) != (w < 0)}))
    for shared in sorted({m for arg in args for m in arg.terms}):
        weights = [arg.terms.get(shared, 0) for arg in args]
        if all(weights):
            moves.extend(Poly({shared: -w}) for w in sorted(set(weights)))
    moves.extend(Poly.of(-constant) for constant in sorted({arg.constant for arg in args} - {0}))
    return [moved for moved in dict.fromkeys(moves) if moved]


def _product_of_extremes(args: list[Poly], factor: Poly, rest: Poly) -> Iterator[Poly]:
    """``min(a, b) * max(a, b) = a*b``."""
    opposite = Least([-arg for arg in args])
    weight, left = split(factor, opposite)
    if len(args) == 2 and weight:
        yield rest + left * Poly.atom(Least(args)) - weight * args[0] * args[1]


def _extreme(composer: "Composer", op: str, args: list[Poly]) -> Poly:
    return _written(composer.extreme(op, args))


def _choices(composer: "Composer", atom: Choice, factor: Poly, rest: Poly) -> Iterator[Poly]:
    """``f*select(c, a, b) + r = select(c, f*a + r, f*b + r)``, for all choices on the same condition at once."""
    shared = Poly({m: w for m, w in atom.then.terms.items() if atom.otherwise.terms.get(m) == w})
    if shared:
        smaller = Choice(atom.condition, atom.then - shared, atom.otherwise - shared)
        yield rest + factor * (shared + Poly.atom(smaller))
    then, otherwise = factor * atom.then + rest, factor * atom.otherwise + rest
    for other in sorted(atom_ for atom_ in rest.atoms if isinstance(atom_, Choice)):
        weight, _ = split(rest, other)
        if other.condition == atom.condition and weight is not None:
            then = then + weight * (other.then - Poly.atom(other))
            otherwise = otherwise + weight * (other.otherwise - Poly.atom(other))
    yield _written(Select(composer.condition(atom.condition), composer.write(then), composer.write(otherwise)))
