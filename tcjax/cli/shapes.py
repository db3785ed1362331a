"""``A=1024x512``: shapes, sizes and other settings on the command line."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import click

from ..ir import types
from ..syntax.lexing import short

_SETTING: Final = re.compile(r"[A-Za-z_]\w*=")
_LARGEST: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Shape:
    """Extents, and the element type if one was given."""

    extents: tuple[int, ...]
    dtype: str | None = None


def read_shapes(settings: Iterable[str]) -> dict[str, Shape]:
    """``A=4x3``, ``v=5``, ``alpha=()``, ``I=int32:4x3``. Raises `click.BadParameter` for anything else."""
    return {name: _shape(name, value) for name, value in read_settings(settings, "--shapes", "A=1024x512").items()}


def _shape(name: str, text: str) -> Shape:
    given, colon, extents = text.rpartition(":")
    dtype = types.SPELLINGS.get(given) if colon else None
    if colon and dtype is None:
        raise click.BadParameter(
            f"{short(given)!r} is not an element type; write one such as float32, {name}=float32:{extents}",
            param_hint="--shapes",
        )
    if extents in ("()", "scalar"):
        return Shape((), dtype)
    parts = extents.split("x")
    if not all(map(_is_extent, parts)):
        raise click.BadParameter(
            f"{short(text)!r} is not a shape; write extents with an x between, {name}=1024x512, "
            f"or {name}=() for a scalar",
            param_hint="--shapes",
        )
    return Shape(tuple(map(int, parts)), dtype)


def _is_extent(text: str) -> bool:
    # Python refuses to read thousands of digits.
    return text.isascii() and text.isdigit() and len(text) <= 20 and int(text) <= _LARGEST


def read_sizes(settings: Iterable[str]) -> dict[str, int]:
    """``B=6``. Raises `click.BadParameter` for anything else."""
    found: dict[str, int] = {}
    for name, value in read_settings(settings, "--size", "B=6").items():
        if not _is_extent(value):
            raise click.BadParameter(
                f"{short(value)!r} is not a size; write a whole number, {name}=6", param_hint="--size"
            )
        found[name] = int(value)
    return found


def read_constants(settings: Iterable[str]) -> dict[str, bool | int | float | complex]:
    """``stride=2``, ``eps=1e-5``, ``z=2i``, ``exact=true``. Raises `click.BadParameter` for anything else."""
    given = read_settings(settings, "--const", "stride=2")
    return {name: _constant(name, value) for name, value in given.items()}


def _constant(name: str, text: str) -> bool | int | float | complex:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    imaginary = re.sub(r"(?<=[0-9.])i$", "j", text)
    for kind in (int, float, complex):
        try:
            found = kind(imaginary)
        except ValueError:
            continue
        if not isinstance(found, int) or abs(found) < 2**64:
            return found
    raise click.BadParameter(
        f"{short(text)!r} is not a number; write one such as {name}=2, {name}=1e-5 or {name}=true", param_hint="--const"
    )


def read_mesh(settings: Iterable[str]) -> dict[str, int]:
    """``data=8``: devices by axis. Raises `click.BadParameter` for anything else."""
    found: dict[str, int] = {}
    for axis, size in read_settings(settings, "--mesh", "data=8").items():
        if not _is_extent(size):
            raise click.BadParameter(f"{short(size)!r} is not a number of devices; write {axis}=8", param_hint="--mesh")
        found[axis] = int(size)
    return found


def read_shard(settings: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """``i=data``, ``k=data,model``: axes of a mesh by index. Raises `click.BadParameter` for anything else."""
    given = read_settings(settings, "--shard", "i=data")
    return {index: tuple(axis.strip() for axis in axes.split(",")) for index, axes in given.items()}


def read_settings(settings: Iterable[str], option: str, example: str) -> dict[str, str]:
    """``name=value`` by name. Raises `click.BadParameter`."""
    found: dict[str, str] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not (equals and value and name.isidentifier()):
            raise click.BadParameter(
                f"{short(setting)!r} is not NAME=VALUE; write {option} {example}", param_hint=option
            )
        if name in found:
            raise click.BadParameter(f"`{name}` is given twice", param_hint=option)
        found[name] = value
    return found


class Several(click.Command):
    """A command whose ``NAME=VALUE`` options take several values: ``--shapes A=4x3 B=3x5``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        repeatable = {
            name
            for option in self.params
            if isinstance(option, click.Option) and option.multiple
            for name in option.opts
        }
        return super().parse_args(ctx, _repeated(args, repeatable))


def _repeated(args: Sequence[str], repeatable: set[str]) -> list[str]:
    """``--shapes A=4x3 B=3x5`` as ``--shapes A=4x3 --shapes B=3x5``, which is what click reads."""
    found: list[str] = []
    option: str | None = None
    for position, arg in enumerate(args):
        if arg == "--":
            return [*found, *args[position:]]
        if arg in repeatable:
            option = arg
        elif option is not None and _SETTING.match(arg):
            if found[-1] != option:
                found.append(option)
        elif not (option is not None and found[-1] == option):
            option = None
        found.append(arg)
    return found
