"""``tcjax tune``: finds the fastest plan on this device and remembers it."""

import signal
import threading
from typing import Any

import click

from .. import options


@click.command(cls=options.Several, short_help="Search for the fastest plan on this device.")
@options.file
@options.notation
@options.definition
@options.shapes
@options.sizes
@options.constants
@click.option(
    "--seconds", type=click.FloatRange(0.1, 86400), default=30.0, show_default=True, help="About how long to search."
)
def tune(
    file: str,
    notation: str | None,
    name: str | None,
    shapes: tuple[str, ...],
    sizes: tuple[str, ...],
    constants: tuple[str, ...],
    seconds: float,
) -> None:
    """Measures alternative plans of a program's loops on random arrays, and remembers the fastest for all processes.

    Kernels of the same program use it from now on for these shapes. Ctrl-C ends the search and keeps the best so far.

    \b
    Example:
      tcjax tune distances.tc --shapes x=4096x16 y=4096x16 --seconds 60
    """
    from ..kernels import chosen, kernels_of
    from ..shapes import read_constants, read_shapes, read_sizes
    from ..specs import random_arrays, specs_of
    from ..texts import read_text

    given, numbers = read_shapes(shapes), read_sizes(sizes)
    text = read_text(file, notation)  # type: ignore[arg-type]
    kernel = chosen(kernels_of(text, consts=read_constants(constants)), name, text.name)
    arrays = random_arrays(specs_of(kernel, given))
    positional = [arrays.pop(parameter.name) for parameter in kernel._frontend.parameters]
    # On an interruption the search ends and keeps what it has found.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
    others: dict[str, Any] = {**arrays, **numbers}
    tuned = kernel.tune(*positional, seconds=seconds, progress=False, **others)
    click.echo(str(tuned.tuned))
