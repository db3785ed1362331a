"""Describes how regions differ from those of the oracle."""

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

from .oracle import Expected

# Enough to see what is wrong.
_SHOWN = 3

LOOSE_OVERLAP = "LOOSE overlap"


def differences(regions: Mapping[str, Any], expected: Mapping[str, Expected]) -> list[str]:
    """Differences of `Schedule.infer_bounds`; empty if everything agrees.

    UNSOUND: a needed element is outside. LOOSE: more than needed. WRONG: anything else.
    """
    found = [f"WRONG stages {sorted(regions)}, not {sorted(expected)}"] if set(regions) != set(expected) else []
    for name, stage in expected.items():
        if name in regions:
            found += [f"{name}: {words}" for words in _of_stage(regions[name], stage)]
    return found


def _of_stage(region: Any, expected: Expected) -> Iterator[str]:
    names = [str(loop) for loop in region.prefix]
    bare = [loop for _, loop in expected.prefix]
    if len(names) != len(bare) or (len(set(bare)) == len(bare) and names != bare):
        yield f"WRONG prefix {names}, not {bare}"
        return
    if expected.scattered:
        if dict(region.loops) != dict(expected.loops):
            yield f"WRONG loops {dict(region.loops)}, not {dict(expected.loops)}"
        return
    extent = tuple(region.extent)
    if prod(expected.extent) or prod(extent):
        yield from _loose("extent", extent, expected.extent)
    if 0 not in expected.loops.values() and dict(region.loops) != dict(expected.loops):
        yield f"WRONG loops {dict(region.loops)}, not {dict(expected.loops)}"
    elif list(region.loops) != list(expected.loops):
        yield f"WRONG order of loops {list(region.loops)}, not {list(expected.loops)}"
    counts = ("instances", "total_box", "total_exact", "distinct")
    if not expected.total_box:
        # Whether an empty region is computed once or never does not matter.
        counts = counts[1:]
    said = {count: getattr(region, count) for count in counts}
    right = {count: getattr(expected, count) for count in counts}
    if said != right:
        yield f"WRONG counts {said}, not {right}"
    if expected.distinct and abs(region.recompute - expected.total_box / expected.distinct) > 1e-9:
        yield f"WRONG recompute {region.recompute}, not {expected.total_box / expected.distinct}"
    if expected.distinct and tuple(region.stride) != expected.stride:
        yield f"WRONG stride {tuple(region.stride)}, not {expected.stride}"
    if expected.total_box:
        yield from _flags(region, names, expected)
    yield from _boxes(region, names, expected)


def _flags(region: Any, names: list[str], expected: Expected) -> Iterator[str]:
    said = {
        "full_tile": tuple(region.full_tile),
        "in_bounds": tuple(map(tuple, region.in_bounds)),
        "box_is_exact": region.box_is_exact,
        "waste": round(region.waste, 9),
    }
    right = {
        "full_tile": expected.full_tile,
        "in_bounds": expected.in_bounds,
        "box_is_exact": expected.total_box == expected.total_exact,
        "waste": round(expected.total_box / expected.total_exact, 9),
    }
    for flag, value in right.items():
        if said[flag] != value:
            yield f"WRONG {flag} {said[flag]}, not {value}"
    for name, overlap in zip(names, expected.overlap, strict=True):
        if overlap is not None and tuple(region.overlap[name]) != overlap:
            more = all(a >= b for a, b in zip(region.overlap[name], overlap, strict=True))
            yield f"{LOOSE_OVERLAP if more else 'WRONG overlap'} along {name}: {region.overlap[name]}, not {overlap}"


def _boxes(region: Any, names: list[str], expected: Expected) -> Iterator[str]:
    wrong = []
    for point, (minima, extents) in expected.boxes.items():
        at = dict(zip(names, point, strict=True))
        lo = tuple(_value(expr, at) for expr in region.min)
        size = tuple(_value(expr, at) for expr in region.extent_expr)
        if (lo, size) != (minima, extents):
            wrong.append((at, lo, size, minima, extents))
    for at, lo, size, minima, extents in wrong[:_SHOWN]:
        ends = [a + e for a, e in zip(lo, size, strict=True)]
        covered = all(a <= b for a, b in zip(lo, minima, strict=True)) and all(
            a >= b + e for a, b, e in zip(ends, minima, extents, strict=True)
        )
        yield f"{'LOOSE' if covered else 'UNSOUND'} box {lo} + {size} at {at}, not {minima} + {extents}"
    if len(wrong) > _SHOWN:
        yield f"... at {len(wrong)} of {len(expected.boxes)} points"


def _loose(what: str, said: tuple[int, ...], right: tuple[int, ...]) -> Iterator[str]:
    if said != right:
        looser = len(said) == len(right) and all(a >= b for a, b in zip(said, right, strict=True))
        yield f"{'LOOSE' if looser else 'UNSOUND'} {what} {said}, not {right}"


def _value(expr: Any, at: Mapping[str, int]) -> int:
    return expr if isinstance(expr, int) else int(expr.evaluate(at))
