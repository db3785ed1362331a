"""Nests over several devices, and exported for others."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.agreement.formulas import FORMULAS
from tests.agreement.nesting import nesting
from tests.effort import deep
from tests.sampling import Sample

ROOT = Path(__file__).parents[2]


def test_on_eight_devices(sample: Sample) -> None:
    command = [sys.executable, "-m", "tests.runtime.on_devices", "all" if sample.whole else str(sample.seed)]
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
    environment = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": flags,
        "JAX_DISABLE_MOST_OPTIMIZATIONS": str(not deep()),
    }
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    assert ran.returncode == 0, ran.stderr
    failed = json.loads(ran.stdout.splitlines()[-1])
    assert not failed, "\n\n".join(f"{name}\n{trace}" for name, trace in failed.items())


@pytest.mark.parametrize("name", ["a shortest path", "the nearest point's value", "a kernel sum", "three nearest"])
def test_an_exported_nest_and_its_gradient_are_called_again(name: str) -> None:
    formula = FORMULAS[name]
    given = tuple(map(jnp.asarray, formula.arrays()))

    with nesting(rows=3):
        exported = jax.export.export(jax.jit(formula.fresh()))(*given)
        again = jax.export.deserialize(exported.serialize(vjp_order=2))

    np.testing.assert_allclose(again.call(*given), formula.jnp(*given), rtol=1e-5)
    slope = jax.grad(lambda *a: jnp.sin(again.call(*a)).sum())(*given)
    expected = jax.grad(lambda *a: jnp.sin(formula.jnp(*a)).sum())(*given)
    np.testing.assert_allclose(slope, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", FORMULAS)
def test_a_nest_is_exported_for_a_gpu(name: str) -> None:
    formula = FORMULAS[name]
    given = tuple(map(jnp.asarray, formula.arrays()))

    with nesting(rows=3):
        exported = jax.export.export(jax.jit(formula.fresh()), platforms=("cpu", "cuda"))(*given)

    assert exported.platforms == ("cpu", "cuda")
    near = jax.export.deserialize(exported.serialize()).call(*given)
    np.testing.assert_allclose(near, formula.jnp(*given), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["a kernel sum", "a shortest path", "a logsumexp", "a product"])
def test_the_gradient_of_a_nest_is_exported_for_a_gpu(name: str) -> None:
    formula = FORMULAS[name]
    given = tuple(map(jnp.asarray, formula.arrays()))

    with nesting(rows=3):
        kernel = formula.fresh()
        slope = jax.jit(jax.grad(lambda *a: kernel(*a).sum()))
        exported = jax.export.export(slope, platforms=("cuda",))(*given)

    assert exported.platforms == ("cuda",) and exported.mlir_module_serialized
