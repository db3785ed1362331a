"""``tcjax bench``: times a program and its gradient, and a hand-written version for comparison."""

import click

from .. import options


@click.command(cls=options.Several, short_help="Times of a program and its gradient.")
@options.file
@options.notation
@options.definition
@options.shapes
@options.sizes
@options.constants
@click.option(
    "--against", metavar="EXPRESSION", help="The same in Python, with jnp, jax, lax and the arguments' names."
)
@click.option("--seconds", type=click.FloatRange(0.01, 600), default=1.0, show_default=True, help="Per measurement.")
@click.option("--json", "as_json", is_flag=True, help="The table as data.")
@options.backend
@options.memory_limit
def bench(
    file: str,
    notation: str | None,
    name: str | None,
    shapes: tuple[str, ...],
    sizes: tuple[str, ...],
    constants: tuple[str, ...],
    against: str | None,
    seconds: float,
    as_json: bool,
    backend: str,
    memory_limit: str | None,
) -> None:
    """Times the compiled program and its gradient on random arrays: medians without compilation, temporary bytes.

    The gradient is that of the sum of all float results with respect to every float parameter. --against is run and
    timed in turn with the program, and the results are compared.

    \b
    Example:
      tcjax bench mm.tc --shapes A=512x512 B=512x512 --against "A @ B"
    """
    from ..kernels import chosen, kernels_of
    from ..measuring import measure, show
    from ..shapes import read_constants, read_shapes, read_sizes
    from ..specs import random_arrays, specs_of
    from ..texts import read_text

    given, numbers = read_shapes(shapes), read_sizes(sizes)
    text = read_text(file, notation)  # type: ignore[arg-type]
    own = {"consts": read_constants(constants), "backend": backend, "memory_limit": memory_limit}
    kernel = chosen(kernels_of(text, **own), name, text.name)
    arrays = random_arrays(specs_of(kernel, given))
    click.echo(show(measure(kernel, arrays, numbers, against, seconds), as_json))
