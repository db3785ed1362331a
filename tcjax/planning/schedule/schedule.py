"""`Schedule`: the loops of a kernel's statements, rearranged."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ... import ir, ranges
from ...diagnostics import Span
from ...keeping import cached_property
from . import legality, mistakes
from .commands import Command, ComputeAt, ComputeRoot, FuseLoops, Reorder, SplitLoop, carry_out
from .exact import infer_exactly
from .kernel_plan import KernelPlans, kernel_plans
from .pages import Regions
from .pictures import Picture, draw, loops
from .regions import Region, infer_regions
from .stages import Attach, Fuse, Split, Stages, stages_of

# Names that an expression of a region could not use.
_WORDS = frozenset(("and", "or", "not", "true", "false", "True", "False", "min", "max", "select", "tdiv", "tmod"))
_LARGEST = 2**31 - 1


@dataclass(frozen=True)
class Schedule:
    """How the loops of a kernel run, and where each stage is computed.

    A stage is a statement, named after the tensor that it writes (``C``, then ``C.1`` for the next statement on ``C``);
    its loops are named after the indices of the left side and of the reduction. Every method returns a new schedule,
    and raises `CompileError` of kind ``schedule`` for what is illegal. A schedule changes only the order of the
    computation. `Kernel.with_schedule` runs it.
    """

    name: str
    # None if only the arguments of a call determine it.
    function: ir.Function | None
    commands: tuple[Command, ...] = ()
    # Maps the arguments of a call to sizes; set by a kernel.
    bind: Callable[..., ranges.Bound] | None = field(default=None, repr=False, compare=False)

    # ------------------------------------------------------------ commands

    def split(
        self,
        stage: str,
        loop: str,
        factor: int | None = None,
        nparts: int | None = None,
        outer: str | None = None,
        inner: str | None = None,
    ) -> "Schedule":
        """Splits a loop in two: `factor` iterations inside, or `nparts` outside.

        They are named `outer` and `inner`, by default ``i_outer`` and ``i_inner``. Where the extent is not divisible,
        the surplus iterations are skipped.
        """
        place = self._stage("split", stage)
        loop = _name("split", "the loop", loop)
        if (factor is None) == (nparts is None):
            raise mistakes.one_of_both(place, self._span(place), loop, given=factor is not None)
        what, value = ("factor", factor) if nparts is None else ("nparts", nparts)
        if isinstance(value, bool) or not hasattr(type(value), "__index__"):
            raise mistakes.bad_factor(place, self._span(place), loop, what, value, f"{what}= an integer, 1 or more")
        number = value.__index__()  # type: ignore[union-attr]
        if not 1 <= number <= _LARGEST:
            wanted = f"{what}= an integer from 1 to {_LARGEST}"
            raise mistakes.bad_factor(place, self._span(place), loop, what, number, wanted)
        outer = _new_name("split", "outer", f"{loop}_outer" if outer is None else outer)
        inner = _new_name("split", "inner", f"{loop}_inner" if inner is None else inner)
        split = Split(loop, outer, inner, *((number, None) if what == "factor" else (None, number)))
        return self._after(SplitLoop(place, split))

    def fuse(self, stage: str, outer: str, inner: str, into: str | None = None) -> "Schedule":
        """Merges two loops, `inner` directly inside `outer`; the result is named `into`, by default ``i_j``."""
        place = self._stage("fuse", stage)
        outer, inner = _name("fuse", "the outer loop", outer), _name("fuse", "the inner loop", inner)
        fused = _new_name("fuse", "into", f"{outer}_{inner}" if into is None else into)
        return self._after(FuseLoops(place, Fuse(outer, inner, fused)))

    def reorder(self, stage: str, *loops: str) -> "Schedule":
        """Puts the named loops in this order, outermost first; the others stay where they are."""
        place = self._stage("reorder", stage)
        names = tuple(_name("reorder", "a loop", loop) for loop in loops)
        return self._after(Reorder(place, names))

    def tile(
        self, stage: str, x: str, y: str, fx: int, fy: int, names: tuple[str, str, str, str] | None = None
    ) -> "Schedule":
        """Splits both loops, by `fx` and `fy`, and puts the outer loops around the inner ones.

        `names` are the names of the four loops from the outermost: ``(xo, yo, xi, yi)``.
        """
        if names is None:
            x, y = _name("tile", "a loop", x), _name("tile", "a loop", y)
            names = (f"{x}_outer", f"{y}_outer", f"{x}_inner", f"{y}_inner")
        if not isinstance(names, (tuple, list)) or len(names) != 4:
            raise mistakes.wrong_argument("tile", "names", names, "four names: outer x, outer y, inner x, inner y")
        xo, yo, xi, yi = names
        split = self.split(stage, x, factor=fx, outer=xo, inner=xi).split(stage, y, factor=fy, outer=yo, inner=yi)
        return split.reorder(stage, xo, yo, xi, yi)

    def compute_at(self, stage: str, consumer: str, loop: str, relax: tuple[str, ...] = ()) -> "Schedule":
        """Computes `stage` inside `loop` of `consumer`, only the part that an iteration needs.

        Iterations of the loops `relax` around it share one copy. Every consumer of the stage must be inside the loop.
        This is checked when the schedule is used, because a later command may move a consumer there.
        """
        place = self._stage("compute_at", stage)
        around = self._stage("compute_at", consumer)
        loop = _name("compute_at", "the loop", loop)
        if isinstance(relax, str) or not isinstance(relax, (tuple, list)):
            raise mistakes.wrong_argument("compute_at", "relax", relax, 'a tuple of loops, relax=("t",)')
        relaxed = tuple(dict.fromkeys(_name("compute_at", "relax", name) for name in relax))
        return self._after(ComputeAt(place, Attach(around, loop, relaxed)))

    def compute_root(self, stage: str) -> "Schedule":
        """Computes `stage` whole, before its consumers."""
        return self._after(ComputeRoot(self._stage("compute_root", stage)))

    # ------------------------------------------------------------ what follows

    def infer_bounds(self, *args: Any, exact: bool = False, **kwargs: Any) -> Regions:
        """Which part of every stage is computed at a time, for arguments (arrays or `jax.ShapeDtypeStruct`s).

        Returns a dictionary with a `Region` for each stage, which a notebook shows as a table.

        The part of a stage that is needed is rounded up to the smallest box, and all points of the box count as reads
        of its producers. With `exact` only the needed points count (by islpy, ``pip install 'tcjax[exact]'``).
        """
        bound = self.bound(*args, **kwargs)
        return Regions(infer_exactly(self.on(bound.function).checked(), bound) if exact else self.regions(bound))

    def kernel_plan(self, *args: Any, **kwargs: Any) -> KernelPlans:
        """For each stage at the root, the kernel of everything inside it: its grid, blocks, scratch and masks."""
        bound = self.bound(*args, **kwargs)
        return KernelPlans(kernel_plans(self.on(bound.function).checked(), bound))

    def show(self, *args: Any, **kwargs: Any) -> Picture:
        """The loops and where each stage is computed, as text or drawn; with arguments, also what one tile needs."""
        if args or kwargs:
            bound = self.bound(*args, **kwargs)
            return draw(self.on(bound.function).checked(), bound)
        return Picture(str(self), ()) if self.function is None else loops(self.checked())

    def _repr_html_(self) -> str:
        return self.show()._repr_html_()

    # ------------------------------------------------------------ state

    @cached_property
    def stages(self) -> Stages:
        """The stages after all commands, by name and in order."""
        assert self.function is not None, "whoever asks has the function"
        stages: Stages = stages_of(self.function)
        for command in self.commands:
            stages = carry_out(command, stages, self.name)
        return stages

    def bound(self, *args: Any, **kwargs: Any) -> ranges.Bound:
        """The function with all sizes known, for arguments."""
        assert self.bind is not None, "a kernel gives the function that binds"
        return self.bind(*args, **kwargs)

    def on(self, function: ir.Function) -> "Schedule":
        """The same commands on another elaboration of the program."""
        if function is self.function:
            return self
        moved = replace(self, function=function)
        for command in self.commands:
            if command.stage not in stages_of(function):
                raise mistakes.unknown_stage(command.stage, stages_of(function), function.name, self.name)
        return moved

    def checked(self) -> Stages:
        """The stages; raises `CompileError` where a consumer is outside the loops of its producer."""
        stages = self.stages
        legality.check(stages)
        return stages

    def regions(self, bound: ranges.Bound) -> dict[str, Region]:
        """Which part of every stage is computed at a time."""
        return infer_regions(self.on(bound.function).checked(), bound)

    def _after(self, command: Command) -> "Schedule":
        schedule = replace(self, commands=(*self.commands, command))
        if self.function is not None:
            # Cached, so that a long schedule is not replayed for each of its commands.
            schedule.__dict__["stages"] = carry_out(command, self.stages, self.name)
        return schedule

    def _stage(self, method: str, name: str) -> str:
        name = _name(method, "a stage", name)
        if self.function is not None and name not in self.stages:
            raise mistakes.unknown_stage(name, self.stages, self.name)
        return name

    def _span(self, stage: str) -> Span | None:
        return None if self.function is None else self.stages[stage].statement.span

    def __str__(self) -> str:
        return "\n".join([f"schedule of {self.name}", *(f"  .{command}" for command in self.commands)])

    def __repr__(self) -> str:
        return f"<tcjax.Schedule of {self.name}: {len(self.commands)} commands>"


def _name(method: str, what: str, value: object) -> str:
    if not isinstance(value, str):
        raise mistakes.wrong_argument(method, what, value, "a name, as text")
    return str(value)


def _new_name(method: str, what: str, value: object) -> str:
    name = _name(method, what, value)
    # Names derived from those of reductions, ``k.1_outer``, are valid too.
    if not all(part.isidentifier() or part[:1].isdigit() for part in name.split(".")) or name in _WORDS:
        raise mistakes.wrong_argument(method, what, value, "a name like `io`")
    return name
