"""Integer intervals with inclusive ends (None: unbounded), and their arithmetic."""

from collections.abc import Iterable

End = int | None
Span = tuple[End, End]

ALL: Span = (None, None)


def at(value: int) -> Span:
    """The interval of one value."""
    return (value, value)


def is_empty(span: Span) -> bool:
    """Whether no integer lies in `span`."""
    return span[0] is not None and span[1] is not None and span[0] > span[1]


def plus(a: Span, b: Span) -> Span:
    """Sums."""
    return (
        None if a[0] is None or b[0] is None else a[0] + b[0],
        None if a[1] is None or b[1] is None else a[1] + b[1],
    )


def shifted(span: Span, by: int) -> Span:
    """`span` moved by a number."""
    return (None if span[0] is None else span[0] + by, None if span[1] is None else span[1] + by)


def scaled(span: Span, weight: int) -> Span:
    """Products with a number."""
    lo = None if span[0] is None else span[0] * weight
    hi = None if span[1] is None else span[1] * weight
    return at(0) if not weight else (lo, hi) if weight > 0 else (hi, lo)


def meet(a: Span, b: Span) -> Span:
    """The intersection."""
    lo = b[0] if a[0] is None else a[0] if b[0] is None else max(a[0], b[0])
    hi = b[1] if a[1] is None else a[1] if b[1] is None else min(a[1], b[1])
    return (lo, hi)


def join(spans: Iterable[Span]) -> Span:
    """The smallest interval that contains all of them; there must be one."""
    spans = list(spans)
    lows, highs = [lo for lo, _ in spans if lo is not None], [hi for _, hi in spans if hi is not None]
    return (min(lows) if len(lows) == len(spans) else None, max(highs) if len(highs) == len(spans) else None)


def least(spans: Iterable[Span]) -> Span:
    """The minimum of one value from each."""
    spans = list(spans)
    lows, highs = [lo for lo, _ in spans if lo is not None], [hi for _, hi in spans if hi is not None]
    return (min(lows) if len(lows) == len(spans) else None, min(highs, default=None))


def _corner(a: End, a_sign: int, b: End, b_sign: int) -> tuple[End, int]:
    """The product of two ends, and the sign of its infinity if it is None."""
    if a == 0 or b == 0:
        return 0, 0
    if a is not None and b is not None:
        return a * b, 0
    sign_a = a_sign if a is None else (1 if a > 0 else -1)
    sign_b = b_sign if b is None else (1 if b > 0 else -1)
    return None, sign_a * sign_b


def times(a: Span, b: Span) -> Span:
    """Products."""
    corners = [_corner(x, i, y, j) for x, i in zip(a, (-1, 1), strict=True) for y, j in zip(b, (-1, 1), strict=True)]
    finite = [value for value, _ in corners if value is not None]
    lo = None if any(v is None and s < 0 for v, s in corners) else min(finite, default=None)
    hi = None if any(v is None and s > 0 for v, s in corners) else max(finite, default=None)
    return (lo, hi)


def power(span: Span, exponent: int) -> Span:
    """Powers of one value."""
    if exponent == 1:
        return span
    lo = None if span[0] is None else span[0] ** exponent
    hi = None if span[1] is None else span[1] ** exponent
    if exponent % 2:
        return (lo, hi)
    if span[0] is not None and span[0] >= 0:
        return (lo, hi)
    if span[1] is not None and span[1] <= 0:
        return (hi, lo)
    return (0, None if lo is None or hi is None else max(lo, hi))


def parabola(a: int, b: int, span: Span) -> Span:
    """Values of ``a*x*x + b*x`` over the integers of `span`."""
    if a < 0:
        lo, hi = parabola(-a, -b, span)
        return (None if hi is None else -hi, None if lo is None else -lo)
    lo, hi = span
    lowest = []
    for x in (-b // (2 * a), -b // (2 * a) + 1):
        x = x if lo is None else max(x, lo)
        x = x if hi is None else min(x, hi)
        lowest.append(a * x * x + b * x)
    highest = None if lo is None or hi is None else max(a * lo * lo + b * lo, a * hi * hi + b * hi)
    return (min(lowest), highest)


def pieces(denominator: Span) -> tuple[Span | None, Span | None]:
    """The positive part of a denominator, and the negated negative part, without zero."""
    lo, hi = denominator
    positive = meet(denominator, (1, None))
    negative = meet((None if hi is None else -hi, None if lo is None else -lo), (1, None))
    return (None if is_empty(positive) else positive, None if is_empty(negative) else negative)


def _quotient_low(lo: End, den: Span) -> End:
    small, large = den
    assert small is not None
    if lo is None:
        return None
    if lo >= 0:
        return 0 if large is None else lo // large
    return lo // small


def _quotient_high(hi: End, den: Span) -> End:
    small, large = den
    assert small is not None
    if hi is None:
        return None
    if hi >= 0:
        return hi // small
    return -1 if large is None else hi // large


def floor_quotients(numerator: Span, denominator: Span) -> Span:
    """Quotients rounded down, over the points where the denominator is not zero."""
    positive, negative = pieces(denominator)
    found = []
    if positive is not None:
        found.append((_quotient_low(numerator[0], positive), _quotient_high(numerator[1], positive)))
    if negative is not None:
        turned = scaled(numerator, -1)
        found.append((_quotient_low(turned[0], negative), _quotient_high(turned[1], negative)))
    return join(found) if found else at(0)


def _towards_zero(numerator: Span, den: Span) -> Span:
    lo, hi = numerator
    small, large = den
    assert small is not None

    def low(value: End) -> End:
        if value is None:
            return None
        if value >= 0:
            return 0 if large is None else value // large
        return -(-value // small)

    low_end = low(lo)
    mirrored = low(None if hi is None else -hi)
    return (low_end, None if mirrored is None else -mirrored)


def trunc_quotients(numerator: Span, denominator: Span) -> Span:
    """Quotients rounded towards zero, over the points where the denominator is not zero."""
    positive, negative = pieces(denominator)
    found = []
    if positive is not None:
        found.append(_towards_zero(numerator, positive))
    if negative is not None:
        found.append(_towards_zero(scaled(numerator, -1), negative))
    return join(found) if found else at(0)


def floor_remainders(numerator: Span, denominator: Span) -> Span:
    """Remainders of a quotient rounded down: they have the sign of the denominator."""
    positive, negative = pieces(denominator)
    found: list[Span] = []
    if positive is not None:
        found.append(_remainders_above(numerator, positive))
    if negative is not None:
        found.append(scaled(_remainders_above(scaled(numerator, -1), negative), -1))
    return join(found) if found else at(0)


def _remainders_above(numerator: Span, den: Span) -> Span:
    lo, hi = numerator
    highest = None if den[1] is None else den[1] - 1
    if lo is not None and lo >= 0:
        smallest = den[0]
        assert smallest is not None
        # Below the divisor nothing is subtracted.
        if hi is not None and hi < smallest:
            return numerator
        return (0, hi if highest is None else highest if hi is None else min(hi, highest))
    return (0, highest)


def trunc_remainders(numerator: Span, denominator: Span) -> Span:
    """Remainders of a quotient rounded towards zero: they have the sign of the numerator."""
    widest = join([p for p in pieces(denominator) if p is not None]) if any(pieces(denominator)) else (1, 1)
    lo, hi = numerator
    above = _remainders_above((0 if lo is None else max(lo, 0), hi), widest) if hi is None or hi >= 0 else None
    below = None
    if lo is None or lo < 0:
        turned = scaled(numerator, -1)
        below = scaled(_remainders_above((0 if turned[0] is None else max(turned[0], 0), turned[1]), widest), -1)
    found = [span for span in (above, below) if span is not None]
    return join(found) if found else at(0)


def rounded(span: Span, modulus: int, base: int) -> Span:
    """`span` with its ends moved inwards to values that are `base` modulo `modulus`."""
    if modulus <= 1:
        return span
    lo = None if span[0] is None else span[0] + (base - span[0]) % modulus
    hi = None if span[1] is None else span[1] - (span[1] - base) % modulus
    return (lo, hi)
