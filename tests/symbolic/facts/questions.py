"""Random facts, expressions and conditions from a `random.Random`, which Hypothesis and the fuzzer share."""

from collections.abc import Iterator
from random import Random

from .cases import Case
from .enumeration import Domain, sample, variables

# A number, a name, or an operation and its operands.
Tree = int | str | tuple["str | Tree", ...]

NAMES = ("i", "j", "n", "x")
_CONSTANTS = (-7, -4, -3, -2, -1, 0, 1, 1, 2, 2, 3, 4, 4, 5, 6, 8, 8, 12, 16)
_DIVISORS = (2, 2, 3, 4, 4, 5, 6, 8, 12, -1, -2, -3, -4)
_OPERATIONS = ("+", "+", "+", "-", "-", "-", "scale", "scale", "*", "//", "//", "//", "%", "%", "%", "by", "by", "mod")
_RARE = ("tdiv", "tmod", "min", "min", "max", "max", "select")
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
# Points at which a random question is checked, fewer than for the tables.
POINTS = 1500


def show(tree: Tree) -> str:
    """A tree as text, with parentheses everywhere."""
    match tree:
        case int():
            return str(tree) if tree >= 0 else f"({tree})"
        case str():
            return tree
        case ("select", condition, then, otherwise):
            return f"select({show(condition)}, {show(then)}, {show(otherwise)})"
        case (("tdiv" | "tmod" | "min" | "max") as op, left, right):
            return f"{op}({show(left)}, {show(right)})"
        case ("not", operand):
            return f"(not {show(operand)})"
        case ("neg", operand):
            return f"(-{show(operand)})"
        case (op, left, right):
            return f"({show(left)} {op} {show(right)})"
    raise AssertionError(tree)


def expression(rng: Random, names: tuple[str, ...], depth: int) -> Tree:
    """An integer expression of at most `depth` operations on a path."""
    if depth == 0 or rng.randrange(8) == 0:
        return rng.choice(names) if rng.randrange(4) else rng.choice(_CONSTANTS)

    def operand() -> Tree:
        return expression(rng, names, depth - 1)

    op = rng.choice(_OPERATIONS) if rng.randrange(4) else rng.choice(_RARE)
    match op:
        case "scale":
            return "*", operand(), rng.choice(_CONSTANTS)
        case "//" | "%":
            return op, operand(), rng.choice(_DIVISORS)
        case "by" | "mod":
            name = rng.choice(names)
            quotient = "//" if op == "by" else "%", operand(), name
            if rng.randrange(4):
                return quotient
            # Guarded: if the name is zero, the quotient is not evaluated.
            return "select", (rng.choice((">", "!=")), name, 0), quotient, operand()
        case "tdiv" | "tmod":
            return op, operand(), rng.choice(_DIVISORS) if rng.randrange(4) else operand()
        case "select":
            return op, condition(rng, names, min(1, depth - 1)), operand(), operand()
        case "+" if rng.randrange(3) == 0:
            # Terms that cancel or recompose, such as x - x//c*c.
            part, divisor = operand(), rng.choice(_DIVISORS)
            return "-", part, ("*", ("//", part, divisor), divisor)
        case _:
            return op, operand(), operand()


def condition(rng: Random, names: tuple[str, ...], depth: int) -> Tree:
    """A comparison, or a connective of them."""
    if depth > 0 and rng.randrange(4) == 0:
        if rng.randrange(4) == 0:
            name = rng.choice(names)
            quotient = rng.choice(("//", "%")), expression(rng, names, depth - 1), name
            claim = rng.choice(_COMPARISONS), quotient, expression(rng, names, 1)
            return rng.choice((("and", ("!=", name, 0), claim), ("or", ("==", name, 0), claim)))
        op = rng.choice(("and", "or", "not"))
        if op == "not":
            return op, condition(rng, names, depth - 1)
        return op, condition(rng, names, depth - 1), condition(rng, names, depth - 1)
    left = expression(rng, names, depth)
    right = expression(rng, names, depth - 1) if depth and rng.randrange(2) else rng.choice(_CONSTANTS)
    return rng.choice(_COMPARISONS), left, right


def given(rng: Random, names: tuple[str, ...]) -> str:
    """Facts about the names: ranges, and up to three congruences, relations, equalities or clauses."""
    parts = []
    for name in names:
        lo = rng.choice((-9, -3, 0, 0, 0, 1, 1, 2, 5))
        match rng.randrange(6):
            case 0:
                parts.append(f"{name} in {lo}..")
            case 1:
                parts.append(f"{name} in ..{lo}")
            case 2:
                pass
            case 3 if parts:
                parts.append(f"{name} in 0..{rng.choice(names[: names.index(name)])} - 1")
            case 4:
                # Too wide to be visited point by point.
                parts.append(f"{name} in {lo}..{lo + rng.choice((30, 127, 128, 1023, 4095, 100_000))}")
            case _:
                parts.append(f"{name} in {lo}..{lo + rng.choice((0, 1, 3, 6, 7, 8, 11))}")
    for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
        parts.append(_relation(rng, names))
    return "; ".join(parts)


def _relation(rng: Random, names: tuple[str, ...]) -> str:
    a, b = rng.choice(names), rng.choice(names)
    match rng.randrange(9):
        case 8:
            return f"{a}*{b} {rng.choice(('==', '==', '<=', '!='))} {rng.choice((a, b, rng.choice(names), 0, 4, 12))}"
        case 0:
            divisor = rng.choice((2, 3, 4, 6, 8))
            return f"{a} % {divisor} == {rng.randrange(divisor)}"
        case 1:
            return f"{a} {rng.choice(_COMPARISONS)} {b} + {rng.choice(_CONSTANTS)}"
        case 2:
            return f"{rng.choice(_CONSTANTS)}*{a} + {rng.choice(_CONSTANTS)}*{b} <= {rng.choice(_CONSTANTS)}"
        case 3:
            return f"{a} < {b}*{rng.choice(names)}"
        case 4:
            return f"{a} == {rng.choice(_CONSTANTS)}*{b} + {rng.choice(_CONSTANTS)}"
        case 5:
            return (
                f"{a} == {rng.choice(_CONSTANTS)} or {a} == {rng.choice(_CONSTANTS)} or {b} > {rng.choice(_CONSTANTS)}"
            )
        case 6 if rng.randrange(3) == 0:
            return f"{b} == 0 or {a} {rng.choice(('//', '%'))} {b} == {rng.choice((0, 1, 2))}"
        case 6:
            return f"{a} // {rng.choice(_DIVISORS)} == {rng.choice((0, 1, 2))}"
        case _:
            return show(condition(rng, names, 2))


def questions(rng: Random, facts: str, names: tuple[str, ...]) -> Iterator[tuple[Case, Domain]]:
    """One question of each kind under the facts, with the points at which it is checked."""
    tree = expression(rng, names, rng.choice((1, 2, 3, 3, 4)))
    text = show(tree)
    yield from _asked(facts, "bounds", text)
    yield from _asked(facts, "modulus", text)
    yield from _asked(facts, "simplify", text)
    claim = show(condition(rng, names, rng.choice((1, 2, 3))))
    yield from _asked(facts, "simplify", claim)
    yield from _asked(facts, "prove", claim)
    yield from _asked(facts, "solve", claim, rng.choice(names))
    yield from _planted(rng, facts, text)
    chosen = tuple(name for name in names if rng.randrange(2)) or names[:1]
    yield from _asked(facts, "linear", text, *chosen)
    other = show(expression(rng, names, 2))
    area = sample(facts, text, other, limit=POINTS)
    yield Case("compare", 0, facts, (text, other), None), area
    yield Case("contradiction", 0, facts, (), None), sample(facts, limit=POINTS)


def _asked(facts: str, question: str, text: str, *names: str) -> Iterator[tuple[Case, Domain]]:
    yield Case(question, 0, facts, (text,), None, names), sample(facts, text, *names, limit=POINTS)


def _planted(rng: Random, facts: str, text: str) -> Iterator[tuple[Case, Domain]]:
    """Claims that are true within the window and just fail beyond, so that a proof is often near."""
    area = sample(facts, text, limit=POINTS)
    values = [int(value) for _, value in area.values(text)]
    if values:
        for claim in (f"{text} <= {max(values)}", f"{text} > {min(values)}", f"{text} != {rng.choice(values) + 1}"):
            yield from _asked(facts, "prove", claim)
        yield from _asked(facts, "solve", f"{text} <= {max(values)}", rng.choice(variables(text) or NAMES[:1]))


def maps(rng: Random) -> tuple[Case, Domain]:
    """Asks whether a map over a small box is bijective; often it is, because it is a radix or a split."""
    names = NAMES[: rng.choice((1, 2, 2, 3))]
    sizes = [rng.choice((1, 2, 3, 4, 6, 8)) for _ in names]
    facts = "; ".join(f"{name} in 0..{size - 1}" for name, size in zip(names, sizes, strict=True))
    order = list(range(len(names)))
    rng.shuffle(order)
    fused, stride = [], 1
    for index in order:
        fused.append(f"{names[index]}*{stride if rng.randrange(8) else stride + 1}")
        stride *= sizes[index]
    flat = f"({' + '.join(fused)})"
    splits = [factor for factor in (1, 2, 3, 4, 6, 8) if stride % factor == 0 or rng.randrange(9) == 0]
    factor, second = rng.choice(splits), rng.choice(splits)
    texts = rng.choice(
        (
            (flat,),
            (f"{flat} // {factor}", f"{flat} % {factor}"),
            (f"{flat} % {factor}", f"{flat} // {factor} // {second}", f"{flat} // {factor} % {second}"),
            (f"{flat} % {factor} * {max(1, stride // factor)} + {flat} // {factor}",),
            (f"{flat} // {factor}", f"{flat} % {second}"),
            tuple(show(expression(rng, names, 2)) for _ in range(rng.choice((1, 2)))),
        )
    )
    return Case("bijective", 0, facts, texts, None), sample(facts, *texts, limit=POINTS)
