"""Answers questions about a kernel: values point by point, ranges, plans, reasons, its program in other notations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import jax
import jax.numpy as jnp
from jax.core import Tracer

from .. import ir, planning, ranges
from ..diagnostics import Code, CompileError, phrases
from ..ranges import Bound
from ..symbolic import IndexVar, Interval
from . import pipeline
from .arguments import Arguments
from .calls import Calls
from .explain import Explanation
from .frontends import Call
from .options import NOTATIONS, check_flag, schedule_or_mesh
from .pages import kernel_formula, kernel_page
from .values import numbers_of
from .writing import written

if TYPE_CHECKING:
    from ..display import Picture
    from ..planning.schedule import Schedule
    from .costs import DeviceCost, Links
    from .elements import Place

T = TypeVar("T")
Found = list[dict[str, Any]]


class Questions(Calls):
    """A program that answers questions."""

    def interpret(self, /, *args: Any, **kwargs: Any) -> Any:
        """The same call through the reference interpreter: plain loops, slow and obviously right.

        Returns NumPy arrays in the same structure.
        """
        # SciPy's special functions take longer to import than everything else, so they are imported only here.
        from .. import interpreter

        bound, arrays, initial = self._operands(args, kwargs)
        with self._frontend.within_depth():
            results = interpreter.interpret(bound, arrays, initial, self._frontend.options.fns)
        return results[0] if len(results) == 1 else results

    def _operands(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[Bound, dict[str, Any], dict[str, Any]]:
        """A call as the interpreter takes it: the bound function, the arrays, and the initial values."""
        call, arguments = self._call(args, kwargs)
        bound = self._compiler.bound(call)
        given = {**arguments.arrays, **arguments.initial}

        def typed(tensors: tuple[ir.Tensor, ...]) -> dict[str, Any]:
            known = [tensor for tensor in tensors if tensor.name in given]
            values = {each.name: numbers_of(each.name, given[each.name], self._frontend.span) for each in known}
            return {tensor.name: values[tensor.name].astype(jnp.dtype(tensor.dtype)) for tensor in known}

        return bound, typed(bound.function.parameters), typed(bound.function.initial)

    def at(self, /, *where: Any, **indices: int) -> "Place":
        """How one element of a result was computed: ``k.at(i=3, j=2)(A, B)``.

        Name the element by the indices of the left side, or by its position: ``k.at(3, 2)``. If there are several
        results, give the name of the result first: ``k.at("C", i=3, j=2)``. The returned function takes the kernel's
        arguments and gives an `Element`, which prints every read, every intermediate value, and where a NaN first
        appears. The interpreter computes it. Raises `CompileError` (TC0707) where there is no such element.
        """
        from .elements import place_of

        return place_of(self, where, indices)

    def ranges(self, /, *args: Any, **kwargs: Any) -> list[dict[str, Any]]:
        """For each statement, in order, the half-open range of each index.

        With arguments (arrays or `jax.ShapeDtypeStruct`): pairs of ints, ``{"i": (0, 8)}``; without: symbolic
        `Interval`s.
        """
        if not args and not kwargs and self._arity:
            return _intervals(pipeline.infer(self._frontend, self._likely()))
        return _boxes(self._bound(*args, **kwargs))

    def constraints(self) -> tuple[str, ...]:
        """Conditions on the sizes, as texts for ``jax.export.symbolic_shape(..., constraints=...)``.

        These are the assumptions of ``assume``, then what the program itself needs: no range ends before it begins, and
        reads and writes are in bounds, as far as sizes alone determine it. A dimension without a name, ``A.0``, is
        called ``A_0``. Conditions that JAX cannot express (``!=``, ``or``) are left out.
        """
        from .constraints import constraints_of

        return constraints_of(self._likely(), self._frontend)

    def _likely(self) -> ir.Function:
        function = self._frontend.likely
        if function is None:
            raise CompileError(
                Code.UNKNOWN_RANK,
                f"without arguments nothing says what the parameters of `{self._frontend.name}` are",
                self._frontend.span,
                help="pass arguments, or declare the parameters: `float(N) A` in index notation, `float[n] a` in SaC",
            )
        return function

    def ir(self, /, *args: Any, **kwargs: Any) -> ir.Function:
        """The typed program; without arguments, the types of undeclared parameters are guessed."""
        if not args and not kwargs and self._arity:
            return self._likely()
        return self._bound(*args, **kwargs).function

    def plan(self, /, *args: Any, **kwargs: Any) -> planning.Plan:
        """Which operation computes each statement for arguments (or `jax.ShapeDtypeStruct`s) of these shapes."""
        call, _ = self._call(args, kwargs)
        return self._compiler.plan(call)

    def explain(self, /, *args: Any, compiled: bool = False, **kwargs: Any) -> Explanation:
        """Ranges and what determined them, the operation chosen for each statement and why, and what it costs.

        Takes arrays or `jax.ShapeDtypeStruct`s. All costs are the planner's estimates. With `compiled` the kernel and
        its derivative are compiled for these shapes on this device, and XLA's own figures for both are added: temporary
        bytes, operations, bytes read and written. The derivative is reverse mode with respect to all float parameters,
        with given cotangents. Pass an argument called ``compiled`` by position.
        """
        check_flag("compiled", compiled)
        call, arguments = self._call(args, kwargs)
        explanation = Explanation.of(self._frontend.text(), self._compiler.plan(call), self._frontend.options.fns)
        explanation = replace(explanation, memory_limit=self._frontend.options.memory)
        if self._frontend.options.sharding is not None:
            from ..planning.sharding import messages

            explanation = replace(explanation, collectives=messages(self._compiler.sharded(call)))
        if not compiled:
            return explanation
        return replace(explanation, compiled=self._figures(call, arguments, explanation.no_gradient))

    def _figures(self, call: Call, arguments: Arguments, no_vjp: str) -> dict[str, Any]:
        """XLA's figures for a call (on a mesh, for one device), without the additions of ``checked`` and
        `memory_limit`.
        """
        from .compiled import figures

        names = *arguments.arrays, *arguments.initial
        given = (*arguments.arrays.values(), *arguments.initial.values())
        on_mesh = self._frontend.options.sharding is not None
        if on_mesh:
            places = self._compiler.placed(call, names)
            given = tuple(
                jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=place)
                for array, place in zip(given, places, strict=True)
            )
        run = self._results(tuple(arguments.initial), call.sizes, call.values)
        return figures(run, given, len(arguments.arrays), no_vjp, on_mesh=on_mesh)

    def cost(
        self,
        /,
        *args: Any,
        mesh: Any = None,
        shard: Mapping[str, str | tuple[str, ...]] | None = None,
        device: str = "cpu",
        links: "Links" = None,
        **kwargs: Any,
    ) -> "DeviceCost":
        """What a call costs each device of a mesh, on paper: ``k.cost(x, mesh={"data": 64}, shard={"i": "data"})``.

        Takes arrays or `jax.ShapeDtypeStruct`s. The `mesh` is one of JAX's, a `jax.sharding.AbstractMesh`, or sizes by
        axis: no device is needed. `shard` is what `sharded` takes. Of a sharded kernel both are known already, and each
        can be another one; without a mesh it is the cost on one device. `device` is a row of the table of machines,
        ``cpu`` or ``gpu``; `links` the interconnect, ``loopback``, ``ethernet``, ``nvlink``, ``pcie`` or
        ``infiniband``, or one for each axis by name. Without it, CPUs are machines on an ethernet, and GPUs eight by
        eight in nodes with NVLink, the last axis of the mesh counting neighbours, with InfiniBand between nodes. All
        figures are estimates. An argument called like an option goes by position. Raises `CompileError` for what is no
        mesh or no axis (TC0308), and for what devices cannot compute in parts (TC0811).
        """
        from . import costs

        paper = costs.paper_for(mesh, shard, self._frontend.options.sharding)
        machine = costs.machine_for(device)
        along = costs.links_for(links, {} if paper is None else paper.sizes)
        call, _ = self._call(args, kwargs)
        if paper is None:
            return costs.cost_alone(self._compiler.plan(call), machine)
        if self._frontend.options.schedule is not None:
            raise schedule_or_mesh()
        plan = self._compiler.cut(call, dict(paper.axes), paper.sizes)
        return costs.cost_on_mesh(plan, paper.sizes, machine, along)

    def picture(
        self,
        /,
        *args: Any,
        kind: str | None = None,
        mesh: Any = None,
        shard: Mapping[str, str | tuple[str, ...]] | None = None,
        **kwargs: Any,
    ) -> "Picture":
        """What runs when and where, which points take part, and what one element reads: text, SVG, HTML.

        Takes arrays or `jax.ShapeDtypeStruct`s. There is a picture of each `kind` that the program has: the ``domain``
        of a statement, as a triangle or a band, and its blocks; the ``ragged`` rows that data bounds, where their ends
        are arrays; the ``tiles`` of a schedule; the ``reads`` of one element; a ``scan`` in chunks or as a chain of
        steps; the ``wavefront`` of two nested loops; and the ``halo`` of each device of a mesh. With a `kind` it is
        that one alone. The mesh is that of a sharded kernel, or given by `mesh` and `shard` as for `cost`. An argument
        called like an option goes by position. Raises `CompileError` (TC0308) for a kind that the program does not
        have.
        """
        from . import costs
        from .pages import kernel_picture

        paper = costs.paper_for(mesh, shard, self._frontend.options.sharding)
        call, arguments = self._call(args, kwargs)
        drawn = None
        if paper is not None:
            from ..display import Mesh

            if self._frontend.options.schedule is not None:
                raise schedule_or_mesh()
            drawn = Mesh(self._compiler.cut(call, dict(paper.axes), paper.sizes), paper.sizes)
        values = {name: array for name, array in arguments.arrays.items() if _is_known(array)}
        initial = {name: array if _is_known(array) else None for name, array in arguments.initial.items()}
        return kernel_picture(self._frontend, self._compiler.plan(call), kind, values, initial, drawn)

    def schedule(self, /, *args: Any, **kwargs: Any) -> "Schedule":
        """A schedule without commands: every statement is computed whole, in the order of the program.

        The statements of a SaC program depend on the ranks of its arguments. These are the smallest that its selections
        allow, unless arguments (arrays or `jax.ShapeDtypeStruct`) are passed. Where they remain unknown, names of
        stages and loops are looked up when the schedule is used.
        """
        from ..planning.schedule import Schedule

        function = self.ir(*args, **kwargs) if args or kwargs or not self._arity else self._frontend.likely
        return Schedule(self._frontend.name, function, bind=self._bound)

    def _bound(self, /, *args: Any, **kwargs: Any) -> Bound:
        call, _ = self._call(args, kwargs)
        return self._compiler.bound(call)

    def to(self, dialect: str, /, *args: Any, **kwargs: Any) -> str:
        """The program in another notation: "tc", "sac", "python" or "latex".

        The index notation of a SaC program depends on the ranks of its arguments. These are the smallest that its
        selections allow, unless arguments (arrays or `jax.ShapeDtypeStruct`) are passed. An output that accumulates
        without ``!`` starts from the identity in SaC. Raises `CompileError` (TC0109) for what the other notation cannot
        express.
        """
        if dialect not in NOTATIONS:
            raise CompileError(
                Code.BAD_OPTION,
                f"this version of tcjax does not write {phrases.value(dialect)}",
                help=f"write to({' or '.join(repr(name) for name in NOTATIONS)})",
            )
        function = self.ir(*args, **kwargs) if args or kwargs else None
        return written(self._frontend, dialect, function)

    def __str__(self) -> str:
        return self._frontend.text()

    def _repr_html_(self) -> str:
        return kernel_page(self._frontend)

    def _repr_latex_(self) -> str | None:
        return kernel_formula(self._frontend)

    def __repr__(self) -> str:
        names = ", ".join(parameter.name for parameter in self._frontend.parameters)
        return f"<tcjax.Kernel {self._frontend.name}({names})>"


def _is_known(array: Any) -> bool:
    """Whether an argument is more than a shape."""
    return not isinstance(array, (jax.ShapeDtypeStruct, Tracer))


def _intervals(found: ranges.SymbolicRanges) -> list[dict[str, Interval | None]]:
    return _by_name([statement.intervals for statement in found.statements], found.calls, _intervals)


def _boxes(bound: Bound) -> list[dict[str, tuple[int, int]]]:
    return _by_name(bound.boxes, bound.calls, _boxes)


def _by_name(own: Sequence[Mapping[IndexVar, Any]], calls: Mapping[int, T], inside: Callable[[T], Found]) -> Found:
    """The ranges of the indices of every statement, with those of called definitions in place of their calls."""
    found = [inside(calls[n]) if n in calls else [{str(i): k for i, k in of.items()}] for n, of in enumerate(own)]
    return [of for part in found for of in part]
