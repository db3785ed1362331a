"""Layers and algorithms as TC's users write them."""

import pytest

from . import layers
from .program import Program, check

pytestmark = pytest.mark.usefixtures("quickly_compiled")


@pytest.mark.parametrize("program", layers.PRODUCTS, ids=str)
def test_a_product_of_tensors(program: Program) -> None:
    check(program)


@pytest.mark.parametrize("program", layers.CONVOLUTIONS, ids=str)
def test_a_convolution(program: Program) -> None:
    check(program)


@pytest.mark.parametrize("program", layers.POOLS, ids=str)
def test_a_pool(program: Program) -> None:
    check(program)


@pytest.mark.parametrize("program", layers.NORMS, ids=str)
def test_a_normalisation(program: Program) -> None:
    check(program)


@pytest.mark.parametrize("program", layers.POINTWISE, ids=str)
def test_a_pointwise_layer(program: Program) -> None:
    check(program)


@pytest.mark.parametrize("program", layers.NETWORKS, ids=str)
def test_a_part_of_a_network(program: Program) -> None:
    check(program)


@pytest.mark.parametrize("program", layers.LOOKUPS, ids=str)
def test_a_lookup(program: Program) -> None:
    check(program)
