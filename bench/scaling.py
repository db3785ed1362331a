"""``python -m bench.scaling results.json attention strong``: predicts what a program costs each of 1 to 4096 devices.

Nothing is compiled or measured: the numbers are the estimates of `Kernel.cost` for meshes of GPUs. ``--json FILE``
computes all tables and writes them, ``-o FILE`` draws the efficiencies of all of them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import log, prod
from pathlib import Path
from typing import Any, Final

import jax

import tcjax
from tcjax.diagnostics.phrases import bytes_text, count_text, time_text

from . import svg

DEVICES: Final = (1, 8, 64, 512, 4096)
DEVICE: Final = "gpu"
HEADER: Final = (
    *("devices", "mesh", "operations", "moved", "temporary", "from others"),
    *("computes", "collectives", "time", "efficiency", "with overlap"),
)
PANEL_WIDTH: Final = 150
PANEL_HEIGHT: Final = 74
MOST: Final = 1.25  # A block that fits in the cache is more efficient than the whole problem.
Mesh = Mapping[str, int]
Shapes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A kernel, the indices along the axes of a mesh, and the shapes of its arguments for each mesh.

    With `strong` scaling the problem size is fixed, with `weak` scaling the number of elements per device. The `work`
    of a problem is counted in multiplications or point updates. The `small` problem is for tests; of the `steps` of a
    loop XLA counts one.
    """

    text: str
    shard: Mapping[str, str]
    mesh: Callable[[int], Mesh]
    strong: Shapes
    weak: Callable[[Mesh], Shapes]
    work: Callable[[Shapes], int]
    small: Shapes
    steps: int = 1

    def kernel(self) -> tcjax.Kernel:
        return tcjax.kernel(self.text)

    def shapes(self, kind: str, mesh: Mesh) -> Shapes:
        return self.weak(mesh) if kind == "weak" else self.strong


def square(devices: int) -> Mesh:
    """Equally many devices along both axes, or twice as many along the first."""
    inner = 1 << (devices.bit_length() - 1) // 2
    return {"data": devices // inner, "model": inner}


def nodes(devices: int) -> Mesh:
    """Eight devices (a node) along the second axis, and nodes along the first."""
    inner = min(8, devices)
    return {"data": devices // inner, "model": inner}


def _attention(tokens: int, heads: int, head: int) -> Shapes:
    return ((tokens, heads * head), *[(heads, head, heads * head)] * 4)


def _convolution(images: int, channels: int, height: int, width: int) -> Shapes:
    return (images, channels, height, width), (channels, channels, 3, 3)


PROGRAMS: Final[Mapping[str, Program]] = {
    "attention": Program(
        """
def attention(float(T,E) X, float(H,D,E) WQ, float(H,D,E) WK, float(H,D,E) WV, float(H,D,E) WO) -> (Y) {
    Q(h,t,d) +=! X(t,e) * WQ(h,d,e)
    K(h,r,d) +=! X(r,e) * WK(h,d,e)
    V(h,r,d) +=! X(r,e) * WV(h,d,e)
    S(h,s,d) = K(h,s,d) / sqrt(D)
    L(h,t) = logsumexp[s](sum[c](Q(h,t,c) * S(h,s,c)))
    A(h,t,d) = sum[s](exp(sum[c](Q(h,t,c) * S(h,s,c)) - L(h,t)) * V(h,s,d))
    Y(t,e) +=! A(h,t,d) * WO(h,d,e)
}""",
        {"t": "data", "r": "data", "h": "model"},
        nodes,
        _attention(131072, 32, 64),
        lambda mesh: _attention(1024 * mesh["data"] * mesh["model"], 32, 64),
        lambda shapes: shapes[0][0] * shapes[0][1] * (4 * shapes[0][1] + 2 * shapes[0][0]),
        _attention(512, 8, 32),
    ),
    "convolution": Program(
        """
def convolution(float(N,C,H,W) I, float(F,C,3,3) G) -> (O) {
    O(n,f,h,w) +=! pad(I(n,c,h+a-1,w+b-1), 0) * G(f,c,a,b) where h in 0:H, w in 0:W
}""",
        {"h": "data", "w": "model"},
        square,
        _convolution(8, 64, 2048, 2048),
        lambda mesh: _convolution(8, 64, 256 * mesh["data"], 256 * mesh["model"]),
        lambda shapes: prod(shapes[0]) * shapes[1][0] * 9,
        _convolution(2, 32, 128, 128),
    ),
    "stencil": Program(
        """
def stencil(float(N,M) u0) -> (u) {
    u(i,j) = u0(i,j)
    for t in 0:100 {
        v(i,j) = u(i,j) + 0.1 * (u(wrap(i-1),j) + u(wrap(i+1),j) + u(i,wrap(j-1)) + u(i,wrap(j+1)) - 4*u(i,j))
        u(i,j) = v(i,j)
    }
}""",
        {"i": "data", "j": "model"},
        square,
        ((16384, 16384),),
        lambda mesh: ((4096 * mesh["data"], 4096 * mesh["model"]),),
        lambda shapes: 100 * prod(shapes[0]),
        ((512, 512),),
        steps=100,
    ),
    "all_pairs": Program(
        """
def all_pairs(float(N,D) X, float(M,D) Y) -> (O) {
    O(i) min=! sum[d]((X(i,d) - Y(j,d)) * (X(i,d) - Y(j,d)))
}""",
        {"i": "data", "j": "model"},
        square,
        ((1 << 20, 3), (1 << 20, 3)),
        lambda mesh: ((65536 * mesh["data"], 3), (65536 * mesh["model"], 3)),
        lambda shapes: shapes[0][0] * shapes[1][0] * shapes[0][1],
        ((1024, 3), (1024, 3)),
    ),
}


@dataclass(frozen=True, slots=True)
class Row:
    """The cost of a program on each device of a mesh; `work` is that of the whole problem."""

    program: str
    kind: str
    mesh: dict[str, int]
    work: int
    flops: int
    bytes: int
    temporary_bytes: int
    held_bytes: int
    collective_bytes: int
    compute_seconds: float
    collective_seconds: float
    collectives: list[list[Any]]

    @property
    def devices(self) -> int:
        return self.mesh["data"] * self.mesh["model"]

    def seconds(self, *, overlap: bool) -> float:
        both = self.compute_seconds, self.collective_seconds
        return max(both) if overlap else sum(both)


def specs(shapes: Shapes) -> tuple[jax.ShapeDtypeStruct, ...]:
    """Descriptions of arguments."""
    return tuple(jax.ShapeDtypeStruct(shape, "float32") for shape in shapes)


def projected(name: str, kind: str, devices: int) -> Row:
    """One row, computed."""
    program = PROGRAMS[name]
    mesh, kernel = program.mesh(devices), program.kernel()
    shapes = program.shapes(kind, mesh)
    cost = kernel.cost(*specs(shapes), mesh=mesh, shard=program.shard, device=DEVICE)
    told: list[list[Any]] = [[each.operation, each.bytes, each.times, each.link] for each in cost.collectives]
    return Row(
        program=name,
        kind=kind,
        mesh=dict(mesh),
        work=program.work(shapes),
        flops=cost.flops,
        bytes=cost.bytes,
        temporary_bytes=cost.temporary_bytes,
        held_bytes=cost.held_bytes,
        collective_bytes=cost.collective_bytes,
        compute_seconds=float(f"{cost.compute_seconds:.4g}"),
        collective_seconds=float(f"{cost.collective_seconds:.4g}"),
        collectives=told,
    )


def efficiency(row: Row, rows: Sequence[Row], *, overlap: bool) -> float:
    """The work rate of a device relative to that of a single device."""
    (alone,) = (each for each in rows if each.devices == 1)
    rate, best = (each.work / each.devices / each.seconds(overlap=overlap) for each in (row, alone))
    return rate / best


def table(rows: Sequence[Row]) -> str:
    """A row for each mesh, in Markdown."""
    lines = [HEADER]
    for row in rows:
        efficiencies = [f"{100 * efficiency(row, rows, overlap=overlap):.0f} %" for overlap in (False, True)]
        lines.append(
            (
                str(row.devices),
                " x ".join(map(str, row.mesh.values())),
                count_text(row.flops),
                bytes_text(row.bytes),
                bytes_text(row.temporary_bytes),
                bytes_text(row.collective_bytes),
                time_text(row.compute_seconds),
                time_text(row.collective_seconds) if row.collective_seconds else "-",
                time_text(row.seconds(overlap=False)),
                *efficiencies,
            )
        )
    shown = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([shown[0], f"|---:|---|{'---:|' * (len(HEADER) - 2)}", *shown[1:]])


def picture(rows: Sequence[Row]) -> str:
    """SVG: a row for each program, with panels for strong and weak scaling, from no overlap to full overlap."""
    gap, left, top = 34, 46, 70
    parts = [
        svg.text(12, 20, "predicted efficiency, from 1 to 4096 devices", "head"),
        svg.text(12, 42, "line: no overlap; shade: up to full overlap", "faint"),
    ]
    for across, (kind, said) in enumerate((("strong", "strong scaling"), ("weak", "weak scaling"))):
        for down, name in enumerate(PROGRAMS):
            x, y = left + across * (PANEL_WIDTH + gap), top + down * (PANEL_HEIGHT + 46) + 18
            inside = [row for row in rows if (row.program, row.kind) == (name, kind)]
            parts.append(svg.text(x, y - 8, f"{name.replace('_', ' ')}, {said if down == 0 else kind}"))
            parts += _panel(inside, x, y, labels=across == 0)
    bottom = top + len(PROGRAMS) * (PANEL_HEIGHT + 46)
    parts.append(svg.text(12, bottom + 4, "computed, not measured: GPUs at half of an A100's rates", "faint"))
    return svg.document("Efficiency from 1 to 4096 devices, computed", bottom + 16, parts)


def _panel(rows: Sequence[Row], x: float, y: float, *, labels: bool) -> list[str]:
    """The efficiencies of one program in a rectangle, with devices on a logarithmic axis."""

    def up(share: float) -> float:
        return y + PANEL_HEIGHT * (1 - share / MOST)

    def points(*, overlap: bool) -> list[tuple[float, float]]:
        places = [x + PANEL_WIDTH * log(row.devices) / log(DEVICES[-1]) for row in rows]
        return [
            (place, up(min(MOST, efficiency(row, rows, overlap=overlap))))
            for place, row in zip(places, rows, strict=True)
        ]

    parts = []
    for share in (0.0, 0.5, 1.0):
        parts.append(svg.line((x, up(share)), (x + PANEL_WIDTH, up(share)), "" if share else "axis"))
        if labels:
            parts.append(svg.text(x - 6, up(share) + 4, f"{100 * share:.0f} %", "faint", anchor="end"))
    for place, count in enumerate(DEVICES):
        at = x + PANEL_WIDTH * place / (len(DEVICES) - 1)
        parts.append(svg.text(at, y + PANEL_HEIGHT + 16, str(count), "faint", anchor="middle"))
    slow, fast = points(overlap=False), points(overlap=True)
    return [*parts, svg.area([*slow, *reversed(fast)], "between"), svg.curve(slow, "tcjax")]


def main(arguments: list[str] | None = None) -> int:
    """Prints a table, or computes all; 2 if the file has no such program."""
    parser = argparse.ArgumentParser(prog="python -m bench.scaling", description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", help="what `python -m bench.scaling --json FILE` wrote")
    parser.add_argument("program", nargs="?", choices=PROGRAMS)
    parser.add_argument("kind", nargs="?", choices=("strong", "weak"), default="strong")
    parser.add_argument("--json", type=Path, metavar="FILE", help="compute all tables and write them")
    parser.add_argument("-o", "--output", type=Path, metavar="SVG", help="draw all programs of the file")
    options = parser.parse_args(arguments)
    try:
        if options.json is not None:
            rows = [projected(name, kind, n) for name in PROGRAMS for kind in ("strong", "weak") for n in DEVICES]
            lines = ",\n".join(json.dumps(asdict(row)) for row in rows)
            options.json.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
        if options.file is not None and options.output is not None:
            options.output.write_text(picture(read(options.file)), encoding="utf-8")
        elif options.file is not None:
            found = [row for row in read(options.file) if (row.program, row.kind) == (options.program, options.kind)]
            if not found:
                print(f"bench.scaling: {options.file} has no program {options.program}", file=sys.stderr)
                return 2
            print(table(found))
    except OSError as problem:
        print(f"bench.scaling: {problem.filename}: {problem.strerror}", file=sys.stderr)
        return 2
    return 0


def read(file: Path) -> list[Row]:
    """The rows of a file."""
    return [Row(**row) for row in json.loads(file.read_text(encoding="utf-8"))]


if __name__ == "__main__":
    sys.exit(main())
