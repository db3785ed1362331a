"""Texts of programs for any number of axes."""

from collections.abc import Iterable
from functools import lru_cache

from ...runtime.entry import kernel
from ...runtime.kernel import Kernel


def names(prefix: str, count: int) -> list[str]:
    """``a0, a1, ...``: index names for so many axes."""
    return [f"{prefix}{number}" for number in range(count)]


def at(tensor: str, *subscripts: str) -> str:
    """``x(a0, a1)``."""
    return f"{tensor}({', '.join(subscripts)})"


def where(clauses: Iterable[str]) -> str:
    """`` where a in 0:3, ...``, or nothing."""
    listed = ", ".join(clauses)
    return f" where {listed}" if listed else ""


@lru_cache(maxsize=4096)
def compiled(text: str) -> Kernel:
    """The kernel of a text; equal texts are one kernel, so that layers share what JAX has compiled."""
    return kernel(text)


def definition(name: str, parameters: Iterable[str], results: Iterable[str], statements: Iterable[str]) -> Kernel:
    """``def name(parameters) -> (results) { statements }`` as a kernel."""
    body = "".join(f"  {statement}\n" for statement in statements)
    return compiled(f"def {name}({', '.join(parameters)}) -> ({', '.join(results)}) {{\n{body}}}")
