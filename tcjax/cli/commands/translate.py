"""``tcjax translate``: the same program in another notation."""

import click

from .. import options


@click.command(cls=options.Several, short_help="The program in another notation.")
@options.file
@options.notation
@options.definition
@options.shapes
@options.constants
@click.option(
    "--to", "target", type=click.Choice(("tc", "sac", "python", "latex")), required=True, help="The notation to write."
)
def translate(
    file: str, notation: str | None, name: str | None, shapes: tuple[str, ...], constants: tuple[str, ...], target: str
) -> None:
    """Prints every definition, or the one that --def names, in another notation.

    The index notation of a SaC program depends on the ranks of its arguments, which --shapes gives. Comments are not
    translated.

    \b
    Example:
      tcjax translate mm.tc --to sac
      tcjax translate relax.sac --to tc --shapes a=8x8
    """
    from ..failures import Failure
    from ..kernels import chosen, kernels_of
    from ..shapes import read_constants, read_shapes
    from ..specs import specs_of
    from ..texts import read_text

    given = read_shapes(shapes)
    text = read_text(file, notation)  # type: ignore[arg-type]
    kernels = kernels_of(text, consts=read_constants(constants))
    if given and name is None:
        wanted = [chosen(kernels, None, text.name)]
    elif name is not None:
        wanted = [chosen(kernels, name, text.name)]
    else:
        wanted = list(kernels.values())
    definitions: dict[str, None] = {}
    for kernel in wanted:
        specs = specs_of(kernel, given) if given else {}
        # The text of a definition includes the definitions it calls, separated by empty lines; others may call them
        # too.
        definitions |= dict.fromkeys(kernel.to(target, **specs).rstrip("\n").split("\n\n"))
    if not definitions:
        raise Failure(f"{text.name}: no definition in this text")
    click.echo("\n\n".join(definitions))
