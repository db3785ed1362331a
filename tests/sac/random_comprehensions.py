"""Random comprehensions of a wanted shape: partitions, patterns with dots, bounds of every form, ragged folds."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

import numpy as np

from tcjax.syntax.sac import tree

from .random_expressions import Expr, Index, Shape, call, number, plus, vector
from .random_structure import StructureWriter


@dataclass(frozen=True)
class Form:
    """An index as it is written, and the axes of the result along which it runs."""

    index: tree.IndexVector | tree.IndexPattern
    frame: tuple[int, ...]

    @property
    def vector(self) -> bool:
        return isinstance(self.index, tree.IndexVector)


@dataclass(frozen=True)
class Region:
    """A generator as it is written, and the numbers that it means; `inferred` if the body must say the upper bound,
    `silent` if it must not."""

    generator: tree.Generator | None
    lower: tuple[int, ...]
    upper: tuple[int, ...]
    step: tuple[int, ...]
    width: tuple[int, ...]
    inferred: bool = False
    silent: bool = False

    def points(self) -> Iterable[tuple[int, ...]]:
        axes = zip(self.lower, self.upper, self.step, self.width, strict=True)
        return itertools.product(*([x for x in range(lo, hi) if (x - lo) % s < w] for lo, hi, s, w in axes))


class ComprehensionWriter(StructureWriter):
    """A writer of comprehensions."""

    def comprehension(self, kind: str, shape: Shape, depth: int) -> Expr:
        """A comprehension with that result: earlier partitions first, as their bodies run first."""
        last = self.form(len(shape))
        forms = [last if self.chance(70) else self.form(len(shape)) for _ in range(self.pick([0, 0, 0, 1, 1, 2]))]
        regions = [self.region(shape, form) for form in forms] + [self.last_region(shape, last)]
        covered = np.zeros(shape, bool)
        partitions = []
        for form, region in zip([*forms, last], regions, strict=True):
            fresh = []
            for point in region.points():
                key = self.key(form, point, len(shape))
                if not covered[key].all():
                    fresh.append(point)
            for point in fresh:
                covered[self.key(form, point, len(shape))] = True
            cell = tuple(extent for axis, extent in enumerate(shape) if axis not in form.frame)
            body = self.body(kind, cell, form, region, fresh, depth - 1)
            partitions.append(tree.Partition(form.index, body, region.generator))
        return tree.Comprehension(tuple(partitions))

    def key(self, form: Form, point: tuple[int, ...], rank: int) -> tuple[slice | int, ...]:
        key: list[slice | int] = [slice(None)] * rank
        for axis, x in zip(form.frame, point, strict=True):
            key[axis] = x
        return tuple(key)

    def form(self, rank: int) -> Form:
        """An index vector over leading axes, or a pattern over any."""
        if self.chance(40):
            length = rank if self.chance(70) else self.number(0, rank)
            return Form(tree.IndexVector(self.fresh("v")), tuple(range(length)))
        frame = tuple(axis for axis in range(rank) if self.chance(70))
        elements: list[str | tree.Dot] = [self.fresh("i") if axis in frame else tree.Dot() for axis in range(rank)]
        if self.chance(30):
            while elements and isinstance(elements[-1], tree.Dot):
                elements.pop()
        if self.chance(25):
            # One run of dots, perhaps of none, becomes `...`.
            at = self.number(0, len(elements))
            end = at
            while end < len(elements) and isinstance(elements[end], tree.Dot):
                end += 1
            if len(elements) == rank:
                elements[at:end] = [tree.Dot(many=True)]
        return Form(tree.IndexPattern(tuple(elements)), frame)

    # ------------------------------------------------------------ generators

    def last_region(self, shape: Shape, form: Form) -> Region:
        upper = tuple(shape[axis] for axis in form.frame)
        zero, one = (0,) * len(upper), (1,) * len(upper)
        if not form.vector and not upper:
            return Region(None, zero, upper, one, one)
        match self.number(0, 9):
            # A selection at a bare index vector makes it as long as the array's rank, so its cells must be scalars.
            case 0 | 1 | 2 | 3 if upper if not form.vector else len(upper) == len(shape):
                return Region(None, zero, upper, one, one, inferred=True)
            case 4:
                lower = tuple(self.number(0, extent) for extent in upper)
                return Region(self.generator(lower, upper), lower, upper, one, one)
            case 5 if upper:
                lower = tuple(self.number(0, min(extent, 1)) for extent in upper)
                step = tuple(self.number(1, 3) for _ in upper)
                width = tuple(self.number(1, s) for s in step) if self.chance(50) else one
                return Region(self.generator(lower, upper, step, width), lower, upper, step, width)
            case 6 if upper:
                lower = tuple(self.number(0, min(extent, 1)) for extent in upper)
                strict = self.chance(30)
                bound = tree.Bound(vector([lo - strict for lo in lower]), strict)
                return Region(tree.Generator(bound, None), lower, upper, one, one, inferred=True)
            case _:
                return Region(self.generator(None, upper), zero, upper, one, one)

    def region(self, shape: Shape, form: Form) -> Region:
        """A part of the result, or all of it."""
        extents = tuple(shape[axis] for axis in form.frame)
        zero, one = (0,) * len(extents), (1,) * len(extents)
        # What is not said about an index vector is said by the whole frame: only one over all axes is clear.
        leading = form.vector and len(extents) != len(shape)
        if not extents or leading or self.chance(55):
            lower = tuple(self.number(0, extent) for extent in extents)
            upper = tuple(self.number(lo if self.chance(80) else 0, e) for lo, e in zip(lower, extents, strict=True))
            if extents and self.chance(25):
                step = tuple(self.number(1, 3) for _ in extents)
                width = tuple(self.number(1, s) for s in step) if self.chance(50) else one
                return Region(self.generator(lower, upper, step, width), lower, upper, step, width)
            if self.chance(40):
                return Region(self.generator(None, upper), zero, upper, one, one)
            return Region(self.generator(lower, upper), lower, upper, one, one)
        match self.number(0, 3):
            case 0:
                # The body says how far: not further than the result.
                upper = tuple(self.number(min(1, e), e) for e in extents)
                return Region(None, zero, upper, one, one, inferred=True)
            case 1:
                return Region(None, zero, extents, one, one, silent=True)
            case 2:
                lower = tuple(self.number(0, extent) for extent in extents)
                bound = tree.Bound(vector(lower), strict=False)
                return Region(tree.Generator(bound, None), lower, extents, one, one, silent=True)
            case _:
                strict = self.chance(60), self.chance(60)
                generator = tree.Generator(tree.Bound(tree.Dot(), strict[0]), tree.Bound(tree.Dot(), strict[1]))
                upper = tuple(extent - strict[1] for extent in extents)
                # An index vector between dots is as long as the selections of its body say.
                return Region(generator, (int(strict[0]),) * len(extents), upper, one, one, silent=True)

    def generator(
        self, lower: Shape | None, upper: Shape, step: Shape | None = None, width: Shape | None = None
    ) -> tree.Generator:
        """``lower <= iv < upper``, each bound with either relation."""
        strict = self.chance(75)
        above = tree.Bound(self.demanded(upper) if strict else vector([u - 1 for u in upper]), strict)
        below = None
        if lower is not None:
            strict = self.chance(25)
            below = tree.Bound(vector([lo - strict for lo in lower]), strict)
        return tree.Generator(
            below,
            above,
            vector(step) if step else None,
            vector(width) if step and width and (self.chance(50) or any(w > 1 for w in width)) else None,
        )

    # ------------------------------------------------------------ bodies

    def body(
        self, kind: str, cell: Shape, form: Form, region: Region, fresh: list[tuple[int, ...]], depth: int
    ) -> Expr:
        """An expression for the points where this partition is the first."""
        dead = not fresh
        count = len(region.upper)
        seen = [sorted({point[k] for point in fresh}) or [0, -1] for k in range(count)]
        hull = tuple((values[0], values[-1] + 1) for values in seen)
        limits = None if region.silent else region.upper if region.inferred else (0,) * count
        indices = self.indices_of(form, hull, limits)
        with self.inside(indices, prod(hi - lo for lo, hi in hull), dead):
            if not region.inferred:
                return self.expr(kind, cell, depth)
            array = self.argument(kind, region.upper + cell)
            components = (tree.Name(indices[0].name),) if form.vector else tuple(tree.Name(i.name) for i in indices)
            main: Expr = tree.Select(array, components)
            if len(components) == 2 and self.chance(30):
                main = tree.Select(tree.Select(array, components[:1]), components[1:])
            if kind != "bool" and self.chance(60):
                return tree.Binary(self.pick("+-*"), main, self.expr(kind, cell if self.chance(50) else (), depth))
            return main

    def indices_of(
        self, form: Form, ranges: tuple[tuple[int, int], ...], limits: tuple[int, ...] | None
    ) -> list[Index]:
        match form.index:
            case tree.IndexVector(name):
                return [Index(name, True, ranges, limits)]
            case tree.IndexPattern(names=names):
                each = limits or (0,) * len(names)
                return [
                    Index(name, False, (pair,), None if limits is None else (limit,))
                    for name, pair, limit in zip(names, ranges, each, strict=True)
                ]

    # ------------------------------------------------------------ folds over boxes that hang on an index

    def ragged(self, kind: str, depth: int) -> Expr:
        """A comprehension for a fold, as long as an outer index or an argument says."""
        outer = [index for index in self.indices if not index.vector and index.ranges[0][0] >= 0]
        if not outer or self.dead or self.points > MOST_INSIDE:
            shape = (self.number(0, 3),)
            return self.comprehension(kind, shape, depth)
        index = self.pick(outer)
        lo, hi = index.ranges[0]
        name = tree.Name(index.name)
        below: tree.Bound | None = None
        by_data = False
        match self.number(0, 3):
            case 0:
                above, longest = tree.Bound(tree.Vector((name,)), strict=False), hi
            case 1:
                most = self.number(0, 4)
                above = tree.Bound(tree.Vector((call("min", number(most), plus(name, 1)),)), strict=True)
                longest = min(most, hi)
            case 2:
                most = self.number(0, 4)
                above = tree.Bound(
                    tree.Vector((call("max", number(0), tree.Binary("-", number(most), name)),)), strict=True
                )
                longest = max(0, most - lo)
            case _:
                lengths = np.array([self.number(0, 3) for _ in range(hi)])
                array = self.argument("int", (hi,), lengths, readable=False)
                above, longest = tree.Bound(tree.Vector((tree.Select(array, (name,)),)), strict=True), max(lengths)
                by_data = index.bare((hi,))
                if not by_data:
                    above = tree.Bound(tree.Vector((call("min", number(2), name),)), strict=True)
                    longest = max(min(2, hi - 1), 0)
        if self.chance(40):
            start = call("max", number(0), plus(name, -self.number(0, 2))) if self.chance(50) else number(1)
            below = tree.Bound(tree.Vector((start,)), strict=False)
        step = vector([2]) if self.chance(15) else None
        own = self.fresh("k")
        # Where an argument says how long, only an array that is read says how long at most: each read has to be inside
        # up to there. Lengths that nobody computes must not get shorter by what is read.
        most = int(longest) + (self.number(0, 1) if by_data else 0)
        inner = Index(own, False, ((0, most),), (most,))
        with self.inside([inner], int(longest), not longest):
            body = self.expr(kind, (), min(depth - 1, 1))
            if by_data or self.chance(20):
                extent = most if by_data else most + self.number(0, 1)
                whole = tree.Select(self.argument(kind, (extent,)), (tree.Name(own),))
                body = tree.Binary("&" if kind == "bool" else "+", whole, body)
        partition = tree.Partition(tree.IndexPattern((own,)), body, tree.Generator(below, above, step))
        return tree.Comprehension((partition,))


MOST_INSIDE = 100
