"""The statements of one device's program, emitted one by one."""

from collections.abc import Hashable
from dataclasses import dataclass, field, replace

from ... import ir
from ...symbolic import Box, Size
from .blocks import Collective, Exchange, Fetch, Send, Whole
from .local import Local


@dataclass
class Emitted:
    """Statements with their boxes, and the tensors in them; `collectives` are calls of Python functions."""

    collectives: dict[str, Collective]
    shapes: dict[str, tuple[int, ...]]
    origins: dict[str, tuple[int, ...]]
    statements: list[ir.Statement] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)
    dtypes: dict[str, str] = field(default_factory=dict)
    # The tensors that hold fetched elements, by fetch; and values worth computing once, with what they read.
    known: dict[Fetch | Send, str] = field(default_factory=dict)
    once: dict[Hashable, tuple[ir.Tensor, frozenset[str]]] = field(default_factory=dict)

    def sized(self, tensor: ir.Tensor) -> ir.Tensor:
        """The tensor with its extents on one device."""
        return replace(tensor, shape=tuple(map(Size.of, self.shapes[tensor.name])))

    def tensor(self, name: str, dtype: str, shape: tuple[int, ...], origin: tuple[int, ...]) -> ir.Tensor:
        """A new local tensor, whose name begins with the given one."""
        own = f"{name}{len(self.shapes)}"
        self.shapes[own], self.origins[own] = shape, origin
        return self.sized(ir.Tensor(own, dtype, ()))

    def state(self, statement: ir.Statement, box: Box) -> None:
        for target in ir.targets(statement):
            own = target.name
            self.known = {f: n for f, n in self.known.items() if not f"{f.tensor}.".startswith(f"{own}.")}
            self.once = {key: found for key, found in self.once.items() if own not in found[1]}
        self.statements.append(statement)
        self.boxes.append(box)

    def fetched(self, local: Local, statement: ir.Define | ir.Accumulate) -> None:
        """Emits what a statement fetches from other devices, and where its blocks begin."""
        self.shapes |= local.shapes
        self.origins |= local.origins
        for start in local.starts.values():
            if start.name not in self.dtypes:
                self.dtypes[start.name] = "int32"
                self.call(start, ir.Tensor(start.name, "int32", ()), ())
        self.dtypes |= {access.tensor.name: access.dtype for access in ir.accesses_of(statement)}
        for fetch in local.fetches.values():
            self.fetch(fetch, self.sized(ir.Tensor(fetch.tensor, self.dtypes[fetch.tensor], ())))

    def fetch(self, fetch: Fetch, given: ir.Tensor) -> ir.Tensor:
        """Emits one fetch from a tensor."""
        shape = list(self.shapes[given.name])
        shape[fetch.dimension] = fetch.count if not isinstance(fetch, Whole) else fetch.extent
        self.shapes[fetch.name] = tuple(shape)
        self.origins.setdefault(fetch.name, (0,) * len(shape))
        self.dtypes[fetch.name] = given.dtype
        found = self.sized(replace(given, name=fetch.name))
        sent = tuple(self._sent(send, given) for send in fetch.sends) if isinstance(fetch, Exchange) else ()
        self.call(fetch, found, (given, *sent))
        self.known[replace(fetch, name="")] = fetch.name
        return found

    def _sent(self, send: Send, given: ir.Tensor) -> ir.Tensor:
        """What devices send of a tensor; they send equal elements once."""
        shape = list(self.shapes[given.name])
        shape[send.dimension] = send.move.count
        for dimension, lo, hi in send.inside:
            shape[dimension] = hi - lo
        if send not in self.known:
            found = self.tensor(f"{given.name}.sent", given.dtype, tuple(shape), (0,) * len(shape))
            self.call(replace(send, name=found.name), found, (given,))
            self.known[send] = found.name
        return self.sized(replace(given, name=self.known[send]))

    def call(self, collective: Collective, target: ir.Tensor, arguments: tuple[ir.Tensor, ...]) -> None:
        self.shapes.setdefault(target.name, ())
        self.origins.setdefault(target.name, ())
        name = f"{target.name}({len(self.collectives)})"
        self.collectives[name] = collective
        self.state(ir.ApplyForeign((target,), name, arguments), {})
