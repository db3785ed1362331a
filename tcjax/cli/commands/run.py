"""``tcjax run``: runs a program on arrays from files."""

import time
from typing import Any

import click

from .. import options


@click.command(cls=options.Several, short_help="Run a program on arrays from files.")
@options.file
@options.notation
@options.definition
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="A=a.npy ...",
    help="An argument: a .npy, .npz (data.npz:key), .csv or .png file, a number, or a list such as [1,2,3].",
)
@options.sizes
@options.constants
@click.option("--out", metavar="DIR", help="Write the results into this directory instead of showing them.")
@click.option(
    "--format",
    "format",
    type=click.Choice(("npy", "npz", "csv", "png")),
    default="npy",
    show_default=True,
    help="The file format of the results.",
)
@click.option("--cast", is_flag=True, help="Convert arrays to the declared element types.")
@click.option("--x64", is_flag=True, help="Compute 64-bit types in 64 bits.")
@click.option("--check", "compare", is_flag=True, help="Compare with the interpreter; exit code 1 if they differ.")
@options.backend
@options.memory_limit
def run(
    file: str,
    notation: str | None,
    name: str | None,
    inputs: tuple[str, ...],
    sizes: tuple[str, ...],
    constants: tuple[str, ...],
    out: str | None,
    format: str,
    cast: bool,
    x64: bool,
    compare: bool,
    backend: str,
    memory_limit: str | None,
) -> None:
    """Runs a definition on arrays from files, and prints shapes, types and times.

    A picture is read as numbers from 0 to 1 where a float is declared, else as uint8. An output that accumulates
    without ! starts from the --input of its name.

    \b
    Example:
      tcjax run mm.tc --input A=a.npy B=b.npz:weights --out results
      tcjax run blur.tc --input photo=cat.png "g=[0.25,0.5,0.25]" --out results --format png
    """
    import jax
    import numpy as np

    from ..agreement import compared
    from ..arrays import fitted, make_directory, read_arrays, write_arrays
    from ..failures import Failure
    from ..kernels import chosen, kernels_of
    from ..measuring import seconds_text
    from ..shapes import read_constants, read_sizes
    from ..texts import read_text

    arrays, numbers = read_arrays(inputs), read_sizes(sizes)
    text = read_text(file, notation)  # type: ignore[arg-type]
    own = {"consts": read_constants(constants), "backend": backend, "memory_limit": memory_limit}
    with jax.enable_x64(x64 or bool(jax.config.read("jax_enable_x64"))):
        kernel = chosen(kernels_of(text, **own), name, text.name)
        declared: dict[str, str | None] = {p.name: p.declared for p in kernel._frontend.parameters}
        missing = [each for each in declared if each not in arrays]
        if missing and arrays.keys() <= declared.keys():
            listed = ", ".join(f"`{each}`" for each in missing)
            raise Failure(f"{text.name}: no array for {listed}; add --input {' '.join(f'{m}=...' for m in missing)}")
        given: dict[str, Any] = {**fitted(arrays, declared, cast), **numbers}
        if out is not None:
            make_directory(out)
        start = time.perf_counter()
        result = jax.block_until_ready(kernel(**given))
        first = time.perf_counter() - start
        again = min(_once(kernel, given) for _ in range(3))
        named = {
            each: np.asarray(value)
            for each, value in zip(
                _names(kernel, given), result if isinstance(result, tuple) else (result,), strict=True
            )
        }
        for each, value in named.items():
            click.echo(f"{each}  {value.dtype}{list(value.shape)}")
            if out is None:
                click.echo(np.array2string(value, threshold=100, precision=6))
        click.echo(f"compiled in {seconds_text(max(first - again, 0.0))}, ran in {seconds_text(again)}")
        if out is not None:
            for path in write_arrays(named, out, format):
                click.echo(f"wrote {path}")
        if compare:
            for line in compared(kernel, given, named):
                click.echo(line)


def _once(kernel: Any, given: dict[str, Any]) -> float:
    """Seconds taken by one call."""
    import jax

    start = time.perf_counter()
    jax.block_until_ready(kernel(**given))
    return time.perf_counter() - start


def _names(kernel: Any, given: dict[str, Any]) -> list[str]:
    """The names of the results, in order."""
    return [tensor.name for tensor in kernel.ir(**given).returns]
