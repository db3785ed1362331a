"""Finds the edges of a photograph tile by tile: grey, blurred along rows, along columns, and its slope, in one pass.

Without tiles, every step writes a full picture that the next one reads. With tiles, a step computes what one tile of
the edges needs: the tile and a border around it, the halo. Saves the photograph with a tile and its halos, and the
edges, as ``out/blur.png``. The photograph is one of those in ``data/README.md``.
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import jax
import numpy as np
from PIL import Image, ImageDraw

import tcjax

HERE = Path(__file__).resolve().parent
OUT = HERE.parent / "out"

edges = tcjax.kernel("""
def edges(float(H,W,3) photo, float(3) luma, float(K) g, float(3) s, float(3) d) -> (edge) {
    gray(y,x)   +=! photo(y,x,c) * luma(c)
    rows(y,x)   +=! gray(y,x+j) * g(j)
    smooth(y,x) +=! rows(y+i,x) * g(i)
    edge(y,x)     = hypot(sum[i,j](smooth(y+i,x+j) * s(i) * d(j)), sum[i,j](smooth(y+i,x+j) * d(i) * s(j)))
}""")

TAPS = 21
LUMA = np.array([0.299, 0.587, 0.114], np.float32)
GAUSSIAN = np.exp(-(np.linspace(-2.5, 2.5, TAPS, dtype=np.float32) ** 2))
GAUSSIAN /= GAUSSIAN.sum()
SMOOTH = np.array([1, 2, 1], np.float32) / 4
SLOPE = np.array([-1, 0, 1], np.float32) / 2
WEIGHTS = (LUMA, GAUSSIAN, SMOOTH, SLOPE)

# Where the first element of a stage lies in the photograph: windows are named by their first element, not their middle.
MIDDLES = {
    "gray": (0, 0),
    "rows": (0, TAPS // 2),
    "smooth": (TAPS // 2, TAPS // 2),
    "edge": (TAPS // 2 + 1, TAPS // 2 + 1),
}
COLOURS = {"gray": "yellow", "rows": "deepskyblue", "smooth": "red", "edge": "white"}

# The edges of this photograph are 405 x 618; these tiles divide them.
TILE = (81, 103)
TILES = {"in tiles of 81 x 103": TILE, "in strips of 81 x 618": (81, 618)}


def tiled(height: int, width: int) -> tcjax.Schedule:
    """The edges in tiles, everything else where a tile is computed."""
    schedule = edges.schedule().tile("edge", "y", "x", height, width, names=("ty", "tx", "y_in", "x_in"))
    for stage in ("smooth", "rows", "gray"):
        schedule = schedule.compute_at(stage, "edge", "tx")
    return schedule


def boxes(regions: Mapping[str, tcjax.Region], tile: Mapping[str, int], size: tuple[int, int]) -> dict[str, list[int]]:
    """What is computed of each stage for one tile, as ``[top, left, height, width]`` in the photograph."""
    found = {}
    for name, region in regions.items():
        if region.prefix:
            first = [low.evaluate(tile) for low in region.min]
            extent = [length.evaluate(tile) for length in region.extent_expr]
        else:
            first = [tile["ty"] * size[0], tile["tx"] * size[1]]
            extent = [min(n, all_ - at) for n, all_, at in zip(size, region.extent, first, strict=True)]
        found[name] = [at + middle for at, middle in zip(first, MIDDLES[name], strict=True)] + extent
    return found


def milliseconds(kernel: Callable[..., jax.Array], *arrays: np.ndarray) -> float:
    """The shortest of ten calls."""
    times = []
    for _ in range(11):
        start = time.perf_counter()
        jax.block_until_ready(kernel(*arrays))
        times.append(time.perf_counter() - start)
    return 1e3 * min(times[1:])


def picture(photo: np.ndarray, found: np.ndarray, halos: Mapping[str, list[int]]) -> Image.Image:
    """The photograph with what a tile needs of each stage, and below it the edges with the tile."""
    height, width = photo.shape[:2]
    margin = 18
    sheet = Image.new("RGB", (width, 2 * height + margin), "white")
    sheet.paste(Image.fromarray(np.uint8(255 * photo)), (0, 0))
    bright = Image.fromarray(np.uint8(255 * np.clip(found / found.max(), 0, 1) ** 0.5)).convert("RGB")
    top, left = MIDDLES["edge"]
    sheet.paste(bright, (left, height + margin + top))
    pen = ImageDraw.Draw(sheet)
    place = 4
    for name, (y, x, tall, wide) in halos.items():
        pen.rectangle((x, y, x + wide - 1, y + tall - 1), outline=COLOURS[name], width=2)
        pen.rectangle((place, height + 4, place + 10, height + 14), fill=COLOURS[name], outline="black")
        pen.text((place + 15, height + 3), f"{name} {tall} x {wide}", fill="black")
        place += width // len(halos)
    y, x, tall, wide = halos["edge"]
    y += height + margin
    pen.rectangle((x, y, x + wide - 1, y + tall - 1), outline=COLOURS["edge"], width=2)
    return sheet


def main(out: Path = OUT) -> dict[str, int]:
    """Finds the edges whole and in tiles, prints what that takes, and returns the bytes of temporaries by title."""
    photo = (np.asarray(Image.open(HERE / "data" / "china.jpg")) / 255).astype(np.float32)
    schedule = tiled(*TILE)
    print(schedule)
    regions = schedule.infer_bounds(photo, *WEIGHTS)
    for name, region in regions.items():
        shape = " x ".join(map(str, region.extent))
        print(f"{name:6} {region.instances:2} boxes of {shape:9} elements, computed {region.recompute:.2f} times each")

    expected = np.asarray(edges(photo, *WEIGHTS))
    needed: dict[str, int] = {}
    for title, size in {"whole": None, **TILES}.items():
        kernel = edges.with_schedule(tiled(*size) if size else None)
        # Compiled explicitly: XLA then reports its temporary memory.
        compiled = jax.jit(kernel).lower(photo, *WEIGHTS).compile()
        memory = compiled.memory_analysis()
        assert memory is not None, "this backend does not tell"
        needed[title] = memory.temp_size_in_bytes
        difference = np.abs(np.asarray(compiled(photo, *WEIGHTS)) - expected).max()
        assert difference < 1e-6, f"{title} the numbers are others"
        print(f"{title:22} {needed[title]:8} bytes of temporaries, {milliseconds(compiled, photo, *WEIGHTS):4.1f} ms")

    out.mkdir(exist_ok=True)
    picture(photo, expected, boxes(regions, {"ty": 2, "tx": 1}, TILE)).save(out / "blur.png")
    print(f"a tile with what it needs, and the edges: {out.name}/blur.png")
    return needed


if __name__ == "__main__":
    main()
