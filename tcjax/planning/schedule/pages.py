"""What notebooks show of regions and of plans for kernels: tables."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...markup import Cell, Element, block, element, table, title
from .regions import Region

if TYPE_CHECKING:
    from .kernel_plan import Block, KernelPlan


class Regions(dict[str, Region]):
    """A `Region` for each stage; a notebook shows the table."""

    def _repr_html_(self) -> str:
        headings = ("stage", "box", "at each", "times", "points", "recompute", "waste", "overlap")
        return str(block(table(headings, [_region(name, region) for name, region in self.items()])))


class KernelPlans(dict[str, "KernelPlan"]):
    """A `KernelPlan` for each stage at the root; a notebook shows their tables."""

    def _repr_html_(self) -> str:
        return kernel_plan_page(self.values())


def _region(name: str, region: Region) -> tuple[Cell, ...]:
    box = " x ".join(f"[{low} : +{extent}]" for low, extent in zip(region.min, region.extent_expr, strict=True))
    shared = [f"{loop}: {' x '.join(map(str, cells))}" for loop, cells in region.overlap.items() if any(cells)]
    return (
        element("b", name),
        element("code", box or "one value"),
        element("code", ", ".join(region.prefix) or "-"),
        region.instances,
        region.total_box,
        float(region.recompute),
        float(region.waste),
        ", ".join(shared) or "-",
    )


def kernel_plan_page(plans: "Iterable[KernelPlan]") -> str:
    """The grid, the operands and the stages of each kernel."""
    return str(block(*(part for plan in plans for part in _kernel(plan))))


def _kernel(plan: "KernelPlan") -> Iterable[Element]:
    grid = ", ".join(f"{loop} in 0:{extent} ({plan.axes[loop]})" for loop, extent in plan.grid)
    yield title(f"kernel {plan.name}", f"grid {grid or 'of one program'}; {plan.scratch_bytes} bytes of scratch")
    operands: list[tuple[Cell, ...]] = []
    for given in plan.inputs:
        operands.append((f"reads {given.tensor}", given.dtype, given.mode, *_block(given.block), given.bytes))
    for made in plan.outputs:
        mode = "programs apart" if made.disjoint else "programs meet"
        operands.append((f"writes {made.tensor}", made.dtype, mode, *_block(made.block), ""))
    yield table(("operand", "type", "mode", "block", "starts at", "mask", "bytes"), operands)
    stages: list[tuple[Cell, ...]] = []
    for stage in plan.stages:
        loops = ", ".join(f"{loop} in 0:{extent}" for loop, extent in stage.loops)
        guards = " and ".join(map(str, stage.guards))
        stages.append(
            (
                element("b", stage.name),
                stage.storage,
                " x ".join(map(str, stage.alloc_shape)),
                element("code", loops or "-"),
                element("code", guards or "-"),
                stage.flops,
                float(stage.recompute),
            )
        )
    yield table(("stage", "storage", "shape", "loops", "guards", "operations", "recompute"), stages)


def _block(given: "Block") -> tuple[Cell, Cell, Cell]:
    starts = ", ".join(map(str, given.start))
    mask = " and ".join(map(str, given.mask or ()))
    return " x ".join(map(str, given.shape)), element("code", starts), element("code", mask or "-")
