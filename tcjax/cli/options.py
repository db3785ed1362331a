"""Options that several commands share."""

import click

from .shapes import Several

NOTATIONS = ("tc", "sac", "python")

file = click.argument("file", metavar="FILE", required=True)
files = click.argument("files", metavar="FILE...", nargs=-1, required=True)
notation = click.option(
    "--from", "notation", type=click.Choice(NOTATIONS), help="The notation of FILE, if its name does not say."
)
definition = click.option(
    "--def", "name", metavar="NAME", help="Which definition; by default, the one that no other calls."
)
shapes = click.option(
    "--shapes",
    multiple=True,
    metavar="A=4x3 ...",
    help="Shapes of parameters; A=int32:4x3 says the type too, and A=() is a scalar.",
)
sizes = click.option(
    "--size", "sizes", multiple=True, metavar="B=6 ...", help="Sizes that no parameter gives, by name."
)
constants = click.option(
    "--const", "constants", multiple=True, metavar="stride=2 ...", help="Values of the named constants in the program."
)
backend = click.option(
    "--backend",
    type=click.Choice(("auto", "xla", "pallas")),
    default="auto",
    show_default=True,
    help="The backend that computes loop nests.",
)
memory_limit = click.option("--memory-limit", metavar="256MiB", help="The most memory that temporaries may take.")
mesh = click.option(
    "--mesh", multiple=True, metavar="data=8 ...", help="Devices along each axis of a hypothetical mesh."
)
shard = click.option(
    "--shard", multiple=True, metavar="i=data ...", help="The axis of the mesh along which an index runs: k=data,model."
)
device = click.option(
    "--device", type=click.Choice(("cpu", "gpu")), default="cpu", show_default=True, help="The devices of the mesh."
)
links = click.option(
    "--links",
    type=click.Choice(("loopback", "ethernet", "nvlink", "pcie", "infiniband")),
    help="What connects them; by default Ethernet for CPUs, NVLink and InfiniBand for GPUs.",
)

__all__ = [
    "Several",
    "backend",
    "constants",
    "definition",
    "device",
    "file",
    "files",
    "links",
    "memory_limit",
    "mesh",
    "notation",
    "shapes",
    "shard",
    "sizes",
]
