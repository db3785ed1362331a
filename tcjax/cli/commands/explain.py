"""``tcjax explain``: ranges, the operation of every statement, and what it costs."""

from html import escape
from typing import Any

import click

from ...files import replacing
from ...markup import document
from .. import options
from ..failures import files, one_line


@click.command(cls=options.Several, short_help="Ranges, plan and cost for some shapes.")
@options.file
@options.notation
@options.definition
@options.shapes
@options.sizes
@options.constants
@options.backend
@options.memory_limit
@options.mesh
@options.shard
@options.device
@options.links
@click.option(
    "--compiled", is_flag=True, help="Also compile the kernel and its gradient, and report XLA's own figures."
)
@click.option("--html", "page", metavar="OUT", help="Write a self-contained page with pictures to OUT.")
def explain(
    file: str,
    notation: str | None,
    name: str | None,
    shapes: tuple[str, ...],
    sizes: tuple[str, ...],
    constants: tuple[str, ...],
    backend: str,
    memory_limit: str | None,
    mesh: tuple[str, ...],
    shard: tuple[str, ...],
    device: str,
    links: str | None,
    compiled: bool,
    page: str | None,
) -> None:
    """Says which range every index has and why, which operation computes each statement, and what it costs.

    With --mesh and --shard it says too what each device of that mesh computes, and gets from others.

    \b
    Example:
      tcjax explain mlp.tc --shapes x=128x784 W=256x784 bias=256
      tcjax explain mlp.tc --shapes x=128x784 W=256x784 bias=256 --compiled
      tcjax explain mlp.tc --shapes x=128x784 W=256x784 bias=256 --html mlp.html
      tcjax explain mlp.tc --shapes x=128x784 W=256x784 bias=256 --mesh data=8 --shard b=data
    """
    from ..kernels import chosen, kernels_of
    from ..shapes import read_constants, read_mesh, read_shapes, read_shard, read_sizes
    from ..specs import specs_of
    from ..texts import read_text

    given, numbers = read_shapes(shapes), read_sizes(sizes)
    text = read_text(file, notation)  # type: ignore[arg-type]
    own = {"consts": read_constants(constants), "backend": backend, "memory_limit": memory_limit}
    kernel = chosen(kernels_of(text, **own), name, text.name)
    specs = specs_of(kernel, given)
    positional = [specs.pop(parameter.name) for parameter in kernel._frontend.parameters]
    others: dict[str, Any] = {**specs, **numbers}
    explanation = kernel.explain(*positional, compiled=compiled, **others)
    paper: Any = {} if not (mesh or shard) else {"mesh": read_mesh(mesh) or None, "shard": read_shard(shard) or None}
    cost = kernel.cost(*positional, **paper, device=device, links=links, **others) if paper else None
    if page is None:
        click.echo(str(explanation))
        if cost is not None:
            click.echo(f"\n{cost}")
        return
    with files(page), replacing(page, follow=True) as written:
        body = explanation._repr_html_() + ("" if cost is None else f"<pre>{escape(str(cost))}</pre>")
        written.write(document(kernel.__name__, body).encode("utf-8"))
    click.echo(f"wrote {one_line(page)}")
