"""``tcjax grad``: the derivative as a program."""

import click

from .. import options


@click.command(cls=options.Several, short_help="The derivative as a program.")
@options.file
@options.notation
@options.definition
@options.shapes
@options.constants
@click.option(
    "--wrt", metavar="A,B", help="Parameters to differentiate with respect to; by default, all float parameters."
)
@click.option("--to", "target", type=click.Choice(("tc", "sac", "python", "latex")), default="tc", show_default=True)
def grad(
    file: str,
    notation: str | None,
    name: str | None,
    shapes: tuple[str, ...],
    constants: tuple[str, ...],
    wrt: str | None,
    target: str,
) -> None:
    """Prints the adjoint: a program that takes the inputs and the cotangent d_C of every output C, and gives d_A.

    --shapes tells ranks and types where the program does not.

    \b
    Example:
      tcjax grad mm.tc --wrt A
    """
    from ..kernels import chosen, kernels_of
    from ..shapes import read_constants, read_shapes
    from ..specs import specs_of
    from ..texts import read_text

    given = read_shapes(shapes)
    text = read_text(file, notation)  # type: ignore[arg-type]
    kernel = chosen(kernels_of(text, consts=read_constants(constants)), name, text.name)
    names = None if wrt is None else tuple(part.strip() for part in wrt.split(",") if part.strip())
    specs = specs_of(kernel, given) if given else {}
    adjoint = kernel.adjoint(**specs, wrt=names)
    click.echo(str(adjoint) if target == "tc" else adjoint.to(target).rstrip("\n"))
