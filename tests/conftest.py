"""What every test shares: the device, hypothesis profiles, and `--update-golden`."""

import os

import pytest
from hypothesis import HealthCheck, settings

# Before the first import of jax. A GPU run says JAX_PLATFORMS=cuda and -m gpu.
os.environ.setdefault("JAX_PLATFORMS", "cpu")

# What somebody tuned on this machine decides no test, and no test leaves anything behind.
os.environ["TCJAX_CACHE_DIR"] = ""

# Compiling dominates, so examples are few, and the same every time: a failure here is a failure everywhere.
settings.register_profile(
    "small",
    max_examples=25,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
# `make deep` and `make fuzz`: new examples every time, and the blob that reproduces a failure.
settings.register_profile(
    "deep",
    max_examples=2000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("small")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite the pages of tests/golden instead of comparing with them"
    )


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether this run rewrites golden pages."""
    return bool(request.config.getoption("--update-golden"))
