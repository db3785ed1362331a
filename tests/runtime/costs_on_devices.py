"""``python -m tests.runtime.costs_on_devices 64 stencil``: what XLA compiles for 64 devices, as a line of JSON.

It must be a process of its own, to request devices before JAX starts. Nothing is run.
"""

import json
import os
import sys
from typing import Any

if __name__ == "__main__":
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={sys.argv[1]}"

import jax

from bench.scaling import PROGRAMS, specs, square
from tcjax.runtime.compiled import figures
from tests.processes import warnings_are_errors


def compiled(name: str, devices: int) -> dict[str, Any]:
    """XLA's figures of a program for one device of a mesh, and the collectives."""
    program = PROGRAMS[name]
    sizes = square(devices)
    auto = (jax.sharding.AxisType.Auto,) * len(sizes)
    mesh = jax.make_mesh(tuple(sizes.values()), tuple(sizes), axis_types=auto)
    kernel = program.kernel().sharded(mesh, program.shard)
    arguments = specs(program.small)
    call, _ = kernel._call(arguments, {})
    places = kernel._compiler.placed(call, [parameter.name for parameter in kernel.ir().parameters])
    given = [
        jax.ShapeDtypeStruct(one.shape, one.dtype, sharding=place) for one, place in zip(arguments, places, strict=True)
    ]
    return figures(kernel, given, len(given), "not asked for", on_mesh=True)


if __name__ == "__main__":
    warnings_are_errors()
    json.dump({name: compiled(name, int(sys.argv[1])) for name in sys.argv[2:]}, sys.stdout)
