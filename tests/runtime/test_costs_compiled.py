"""The estimated costs of a mesh, compared with what XLA compiles for 8 and 64 simulated devices."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.scaling import PROGRAMS, specs, square

ROOT = Path(__file__).parents[2]
# The estimate counts functions such as exp as operations; XLA does not.
OPERATIONS = 1.5
# An estimate counts an array once; XLA counts what each of its kernels reads of it.
LEAST_BYTES, MOST_BYTES = 1 / 6, 1.5


@pytest.fixture(scope="module")
def compiled(request: pytest.FixtureRequest) -> dict[tuple[str, int], dict[str, Any]]:
    """XLA's figures for the requested programs, compiled in one process for each number of devices."""
    asked: dict[int, list[str]] = {}
    for item in request.session.items:
        if item.path == request.path and isinstance(item, pytest.Function) and "compiled" in item.fixturenames:
            params: dict[str, Any] = dict(item.callspec.params)
            asked.setdefault(params["devices"], []).append(params["name"])
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for devices, names in asked.items():
        command = [sys.executable, "-m", "tests.runtime.costs_on_devices", str(devices), *names]
        environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT)}
        ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=500)
        assert ran.returncode == 0, ran.stderr[-3000:]
        found |= {(name, devices): figures for name, figures in json.loads(ran.stdout).items()}
    return found


@pytest.mark.parametrize("devices", (8, 64))
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_mesh_on_paper_costs_what_xla_compiles_for_one(
    name: str, devices: int, compiled: dict[tuple[str, int], dict[str, Any]]
) -> None:
    program, figures = PROGRAMS[name], compiled[name, devices]

    cost = program.kernel().cost(*specs(program.small), mesh=square(devices), shard=program.shard)

    said = sorted((each.operation, each.bytes) for each in cost.collectives)
    assert said == sorted((each["operation"], each["bytes"]) for each in figures["collectives"])
    # XLA counts one iteration of a loop, which may be several steps.
    (trips,) = {each.times for each in cost.collectives}
    assert program.steps % trips == 0 and (trips < program.steps or program.steps == 1)
    operations = cost.flops / trips / figures["forward"]["operations"]
    moved = cost.bytes / trips / figures["forward"]["bytes"]
    assert 1 / OPERATIONS < operations < OPERATIONS
    assert LEAST_BYTES < moved < MOST_BYTES
