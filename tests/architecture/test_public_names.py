"""Every public name has a docstring."""

import importlib
import inspect
import pkgutil
from types import ModuleType

import pytest

import tcjax

ROOMS = [
    importlib.import_module(f"tcjax.{found.name}") for found in pkgutil.iter_modules(tcjax.__path__) if found.ispkg
]
MODULES = [importlib.import_module(found.name) for found in pkgutil.walk_packages(tcjax.__path__, "tcjax.")]


def has_docstring(value: object) -> bool:
    """Whether it is hand-written: a dataclass without a docstring gets its signature as one."""
    doc = inspect.getdoc(value)
    return bool(doc) and not (inspect.isclass(value) and str(doc).startswith(f"{value.__name__}("))


@pytest.mark.parametrize("room", [tcjax, *ROOMS], ids=lambda room: room.__name__)
def test_every_class_and_function_a_room_exports_has_a_docstring(room: ModuleType) -> None:
    exported = {name: getattr(room, name) for name in getattr(room, "__all__", ())}

    silent = [
        name
        for name, value in exported.items()
        if (inspect.isclass(value) or inspect.isfunction(value) or inspect.ismodule(value)) and not has_docstring(value)
    ]

    assert silent == []


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_module_opens_with_a_line_that_says_its_job(module: ModuleType) -> None:
    assert (module.__doc__ or "").strip() != ""


def test_the_package_exports_what_it_lists() -> None:
    assert {"kernel", "load", "CompileError", "CompileWarning"} <= set(tcjax.__all__)
    assert all(hasattr(tcjax, name) for name in tcjax.__all__)
