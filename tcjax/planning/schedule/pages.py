"""The notebook display of regions: a table."""

from ...markup import Cell, block, element, table
from .regions import Region


class Regions(dict[str, Region]):
    """A `Region` for each stage; a notebook shows the table."""

    def _repr_html_(self) -> str:
        headings = ("stage", "box", "at each", "times", "points", "recompute", "waste", "overlap")
        return str(block(table(headings, [_region(name, region) for name, region in self.items()])))


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
