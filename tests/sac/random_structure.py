"""Random calls of the functions that move elements: take, rotate, ++, transpose and their like."""

from math import prod

from tcjax.syntax.sac import tree

from .random_expressions import Expr, Shape, Writer, call, number, vector

FUNCTIONS = (
    *("reverse", "rotate", "shift", "transpose", "take", "drop", "tile", "take_apl", "drop_apl", "tile_apl"),
    *("++", "++^", "reshape", "genarray", "modarray", "rsum", "iota"),
)


class StructureWriter(Writer):
    """A writer of structural functions."""

    def structure(self, kind: str, shape: Shape, depth: int) -> Expr:
        """An array of that shape out of one of another."""
        name = self.pick(FUNCTIONS)
        axis = self.number(0, len(shape) - 1)
        below = depth - 1
        match name:
            case "reverse":
                if self.chance(50):
                    return call("reverse", self.expr(kind, shape, below))
                return call("reverse", number(axis), self.expr(kind, shape, below))
            case "rotate":
                if self.chance(50):
                    distances = vector([self.number(-3, 3) for _ in range(self.number(1, len(shape)))])
                    return call("rotate", distances, self.expr(kind, shape, below))
                return call("rotate", number(axis), self.distance(), self.expr(kind, shape, below))
            case "shift":
                return call("shift", number(axis), self.distance(), self.literal(kind), self.expr(kind, shape, below))
            case "transpose":
                return call("transpose", self.expr(kind, shape[::-1], below))
            case "take" | "drop" | "tile":
                return self.part(name, kind, shape, below)
            case "take_apl":
                count = self.number(1, len(shape))
                source = tuple(self.number(0, 3) for _ in range(count)) + shape[count:]
                taken = [extent * self.pick([1, -1]) for extent in shape[:count]]
                return call("take_apl", self.demanded(taken), self.expr(kind, source, below))
            case "drop_apl":
                return call("drop_apl", vector([1]), self.expr(kind, (shape[0] + 1, *shape[1:]), below))
            case "tile_apl":
                source = (self.number(0, 3), *shape[1:])
                return call("tile_apl", vector(shape[:1]), vector([self.number(-2, 3)]), self.expr(kind, source, below))
            case "++" | "++^":
                at = 0 if name == "++" else len(shape) - 1
                split = self.number(0, shape[at])
                parts = [(*shape[:at], extent, *shape[at + 1 :]) for extent in (split, shape[at] - split)]
                return tree.Binary(name, *(self.expr(kind, part, below) for part in parts))
            case "reshape":
                flat = self.pick([(prod(shape),), (1, *shape), shape[::-1]])
                return call("reshape", self.demanded(shape), self.expr(kind, flat, below))
            case "genarray":
                count = self.number(1, len(shape))
                return call("genarray", self.demanded(shape[:count]), self.expr(kind, shape[count:], below))
            case "modarray" if all(shape):
                count = self.number(1, len(shape))
                index = vector([self.number(0, extent - 1) for extent in shape[:count]])
                return call("modarray", self.expr(kind, shape, below), index, self.expr(kind, shape[count:], below))
            case "rsum" if kind != "bool" and len(shape) < 4:
                return call("rsum", number(1), self.expr(kind, (self.number(0, 3), *shape), below))
            case "iota" if kind == "int" and len(shape) == 1:
                return call("iota", number(shape[0]))
            case _:
                return self.expr(kind, shape, below)

    def distance(self) -> Expr:
        """How far to rotate: the shape does not hang on it, so an index or an argument may say it."""
        return self.leaf("int", ()) if self.chance(40) else number(self.number(-3, 3))

    def part(self, name: str, kind: str, shape: Shape, depth: int) -> Expr:
        """A part of a larger array."""
        count = self.number(1, len(shape))
        before = [self.number(0, 2) for _ in range(count)]
        if name == "tile":
            source = tuple(e + b + self.number(0, 1) for e, b in zip(shape, before, strict=False)) + shape[count:]
            return call("tile", self.demanded(shape[:count]), vector(before), self.expr(kind, source, depth))
        source = tuple(e + b for e, b in zip(shape, before, strict=False)) + shape[count:]
        if name == "take":
            counts = [e * self.pick([1, -1]) for e in shape[:count]]
        else:
            counts = [b * self.pick([1, -1]) for b in before]
        return call(name, self.demanded(counts), self.expr(kind, source, depth))
