"""What every test shares: the device, hypothesis profiles, and `--update-golden`."""

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

# Before the first import of jax. A GPU run says JAX_PLATFORMS=cuda and -m gpu.
os.environ.setdefault("JAX_PLATFORMS", "cpu")

# What somebody tuned on this machine decides no test, and no test leaves anything behind.
os.environ["TCJAX_CACHE_DIR"] = ""

# Compiling dominates, so examples are few, and the same every time: a failure here is a failure everywhere.
settings.register_profile(
    "small",
    max_examples=10,
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

# JAX makes many objects and few cycles; looking for these in all that lives takes a twentieth of the time.
gc.set_threshold(50_000, 20, 20)


# Files with many cases that compile much or read long texts: one of so many runs every time, other ones with the next
# Python. `make deep` runs all.
SAMPLED = {
    "tests/agreement/test_dropped_facts.py": 3,
    "tests/agreement/test_nest_kinks.py": 4,
    "tests/agreement/test_nests.py": 2,
    "tests/bench/test_cases.py": 3,
    "tests/bench/test_memory.py": 3,
    "tests/conformance/sac/test_language.py": 3,
    "tests/conformance/sac/test_practice.py": 2,
    "tests/conformance/sac/test_semantics.py": 4,
    "tests/conformance/test_language.py": 2,
    "tests/conformance/test_layers.py": 2,
    "tests/conformance/test_robustness.py": 2,
    "tests/examples/test_kernel_methods.py": 3,
    "tests/linen/test_linen.py": 3,
    "tests/lowering/pallas": 3,
    "tests/lowering/test_bundles.py": 3,
    "tests/lowering/test_convolutions.py": 2,
    "tests/lowering/test_extrema.py": 3,
    "tests/lowering/test_memory_contract.py": 5,
    "tests/lowering/test_monoids.py": 5,
    "tests/lowering/test_rounds.py": 2,
    "tests/lowering/test_sieves.py": 2,
    "tests/lowering/test_softmax.py": 2,
    "tests/lowering/test_streams.py": 4,
    "tests/lowering/test_tiles.py": 3,
    "tests/lowering/test_unrolled_sums.py": 2,
    "tests/nn/test_layers.py": 3,
    "tests/planning/test_subscripts.py": 3,
    "tests/runtime/test_adjoint.py": 3,
    "tests/runtime/test_check.py": 3,
    "tests/runtime/test_check_everywhere.py": 30,
    "tests/runtime/test_checked.py": 3,
    "tests/runtime/test_einsum.py": 3,
    "tests/runtime/test_export.py": 3,
    "tests/runtime/test_memory_limit.py": 2,
    "tests/runtime/test_monoid.py": 5,
    "tests/runtime/test_nest_transformations.py": 4,
    "tests/runtime/test_softmax_transformations.py": 3,
    "tests/runtime/test_tuning.py": 2,
    "tests/runtime/test_tuning_store.py": 2,
    "tests/sac/test_cells.py": 2,
    "tests/sac/test_robustness.py": 2,
    "tests/sac/test_types.py": 4,
    "tests/syntax/sac/test_any_text.py": 2,
    "tests/syntax/tc/test_limits.py": 2,
    "tests/transforms/derivatives": 3,
    "tests/translation": 3,
}


def pytest_configure(config: pytest.Config) -> None:
    """What one test has compiled, the others read from a directory: this process, its workers, and what they start."""
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    directory = tempfile.mkdtemp(prefix="compiled-")
    config.add_cleanup(lambda: shutil.rmtree(directory, ignore_errors=True))
    os.environ["JAX_COMPILATION_CACHE_DIR"] = directory
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out most cases of `SAMPLED` files; which ones follows from their names. Cases that are named stay."""
    named = any("::" in argument for argument in config.args) or config.option.keyword
    if settings().max_examples > 100 or named or config.getoption("--update-golden"):
        return
    left = [item for item in items if not _runs(item)]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if _runs(item)]


def pytest_collection_finish() -> None:
    """What was imported and collected stays, so that no collection of garbage looks at it."""
    gc.freeze()


def _runs(item: pytest.Item) -> bool:
    path = item.path.relative_to(item.config.rootpath).as_posix()
    one_of = next((count for start, count in SAMPLED.items() if path.startswith(start)), 1)
    own = sys.version_info.minor % one_of
    return one_of == 1 or "[" not in item.name or crc32(item.nodeid.encode()) % one_of == own


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite the pages of tests/golden instead of comparing with them"
    )


@pytest.fixture(scope="module")
def quickly_compiled() -> Iterator[None]:
    """XLA leaves most optimisations out: for modules of tests of numbers that compile a lot."""
    from tests.agreement.compiling import quickly

    with quickly():
        yield


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether this run rewrites golden pages."""
    return bool(request.config.getoption("--update-golden"))
