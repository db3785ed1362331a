"""Shared by all tests: the device, the sample of cases and examples, and `--update-golden`."""

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import hypothesis
import pytest
from hypothesis import HealthCheck, settings

from tests import effort, sampling

# Before the first import of jax. GPU tests run with JAX_PLATFORMS=cuda and -m gpu.
os.environ.setdefault("JAX_PLATFORMS", "cpu")

# Tuned choices on this machine must not affect tests, and tests must not leave any.
os.environ["TCJAX_CACHE_DIR"] = ""

# Compiling dominates, so examples are few; `Sample.examples_of` seeds them.
settings.register_profile(
    effort.SMALL,
    max_examples=effort.FEW,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(effort.SMALL)

# JAX makes many objects and few cycles; searching all live objects for cycles takes a twentieth of the time.
gc.set_threshold(50_000, 20, 20)


PYTHON = sys.version_info.minor
SAMPLE = pytest.StashKey[sampling.Sample]()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Chooses the sample, once for all workers, and registers the profile of `make deep` before hypothesis loads it."""
    try:
        examples = effort.deep_examples(os.environ)
        chosen = getattr(config, "workerinput", {}).get("sample")
        sample = sampling.Sample(**chosen) if chosen else sampling.choose(os.environ, config.rootpath, PYTHON)
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    # New examples every time, and the blob that reproduces a failure.
    settings.register_profile(
        effort.DEEP,
        max_examples=examples,
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    deep = config.getoption("--hypothesis-profile") == effort.DEEP
    config.stash[SAMPLE] = replace(sample, whole=True) if deep else sample
    _share_what_is_compiled(config)


def _share_what_is_compiled(config: pytest.Config) -> None:
    """Tests share compiled code through a directory: this process, its workers, and processes that they start."""
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    directory = tempfile.mkdtemp(prefix="compiled-")
    config.add_cleanup(lambda: shutil.rmtree(directory, ignore_errors=True))
    os.environ["JAX_COMPILATION_CACHE_DIR"] = directory
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """A worker of pytest-xdist takes the sample of the process that starts it."""
    node.workerinput["sample"] = asdict(node.config.stash[SAMPLE])


def pytest_report_header(config: pytest.Config) -> str:
    return f"{config.stash[SAMPLE]}; {_again(config)} repeats it, {sampling.VARIABLE}=all runs every case"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """How to reproduce failures: a new seed may find an old bug."""
    failures = [*terminalreporter.stats.get("failed", ()), *terminalreporter.stats.get("error", ())]
    if not failures or effort.deep():
        return
    terminalreporter.section("again")
    terminalreporter.line(f"{config.stash[SAMPLE]}. The same cases and examples, on Python 3.{PYTHON}:")
    terminalreporter.line(f"  {_again(config)} python -m pytest -n 0 '<test>'")


def _again(config: pytest.Config) -> str:
    return f"{sampling.VARIABLE}={config.stash[SAMPLE].seed}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the cases that are not in the sample. Cases that are named stay."""
    named = any("::" in argument for argument in config.args) or config.option.keyword
    if named or config.getoption("--update-golden"):
        return
    sample = config.stash[SAMPLE]
    kept = [item for item in items if sample.takes(item.nodeid)]
    config.hook.pytest_deselected(items=[item for item in items if not sample.takes(item.nodeid)])
    items[:] = kept


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """The examples of a property follow from the sample, except in `make deep`, which takes new ones every time."""
    test = getattr(item, "obj", None)
    if not effort.deep() and hypothesis.is_hypothesis_test(test):
        hypothesis.seed(item.config.stash[SAMPLE].examples_of(item.nodeid))(test)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Random programs read the common part of arrays of random shapes: ignore warnings about unread elements."""
    drawn = vars(getattr(item, "module", item)).values()
    if any(getattr(value, "__module__", None) == "tests.strategies.programs" for value in drawn):
        item.add_marker(pytest.mark.filterwarnings("ignore:.*TC1211:tcjax.CompileWarning"))


def pytest_collection_finish() -> None:
    """Imported and collected objects stay, so the garbage collector need not look at them."""
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite the pages of tests/golden instead of comparing with them"
    )


@pytest.fixture(scope="module")
def quickly_compiled() -> Iterator[None]:
    """XLA skips most optimisations: for test modules that check numbers and compile a lot."""
    from tests.agreement.compiling import quickly

    with quickly():
        yield


@pytest.fixture(scope="session")
def sample(request: pytest.FixtureRequest) -> sampling.Sample:
    """The sample of this run, for tests that choose among their own cases."""
    return request.config.stash[SAMPLE]


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether this run rewrites golden pages."""
    return bool(request.config.getoption("--update-golden"))
