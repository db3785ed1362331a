"""Golden pages: one program in every stage, as Markdown."""

import re
import warnings
from pathlib import Path
from unittest.mock import patch

import jax
import jax.numpy as jnp

import tcjax
from tcjax.lowering import apart
from tcjax.ranges import infer_ranges
from tcjax.syntax import sac, tc

HERE = Path(__file__).parent
_TEXT = re.compile(r"```(tc|sac)\n(.*?)```", re.DOTALL)
_ARGUMENTS = re.compile(r"^Arguments: (.*)$", re.MULTILINE)
_ARGUMENT = re.compile(r"`(\w+): (\w+)\[([\d, ]*)\]`")


def page_names() -> list[str]:
    """The pages of programs in TC, in this folder."""
    return sorted(path.stem for path in HERE.glob("*.md"))


def pages() -> list[Path]:
    """All pages, including those of other notations in subfolders; `schedules` has its own test."""
    return sorted(path for path in HERE.rglob("*.md") if path.parent.name != "schedules")


def render(page: str) -> str:
    """The updated page: its title, text and arguments are kept, every stage below them is recomputed."""
    title = page.splitlines()[0]
    found = _TEXT.search(page)
    listed = _ARGUMENTS.search(page)
    assert found and listed, "a page has a ```tc or ```sac block and a line `Arguments: ...`"
    notation, text, arguments = found.group(1), found.group(2), listed.group(1)
    specs = [
        jax.ShapeDtypeStruct(tuple(int(n) for n in shape.split(",") if n.strip()), jnp.dtype(dtype))
        for _, dtype, shape in _ARGUMENT.findall(arguments)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tcjax.CompileWarning)
        kernel = tcjax.kernel(text, dialect=notation)
    # Older versions of JAX keep results separate with another operation.
    with patch.object(apart, "BARRIERS_HOLD", True):
        jaxpr = jax.make_jaxpr(kernel)(*specs)
    stages = {
        "Written back": (sac.write(sac.read(text)) if notation == "sac" else tc.write(tc.read(text))).strip(),
        "Typed": str(kernel.ir(*specs)),
        "Ranges": "\n".join(_range_lines(kernel, specs)),
        "Plan": str(kernel.plan(*specs)),
        "JAX primitives": " ".join(_primitives(jaxpr.jaxpr)),
    }
    parts = [title, "", f"```{notation}\n{text}```", "", f"Arguments: {arguments}", ""]
    for name, body in stages.items():
        parts += [f"## {name}", "", "```text", body, "```", ""]
    return "\n".join(parts)


def _range_lines(kernel: tcjax.Kernel, specs: list[jax.ShapeDtypeStruct]) -> list[str]:
    lines = []
    for number, (general, here) in enumerate(zip(_symbolic(kernel, specs), kernel.ranges(*specs), strict=True)):
        for index, (lo, hi) in here.items():
            lines.append(f"{number}: {index} in {general[index]} = [{lo}, {hi})")
    return lines


def _symbolic(kernel: tcjax.Kernel, specs: list[jax.ShapeDtypeStruct]) -> list[dict[str, object]]:
    """The formulas of the ranges: for any call, or for this call's ranks if the program depends on them."""
    try:
        known = kernel.ranges()
        if [list(each) for each in known] == [list(each) for each in kernel.ranges(*specs)]:
            return known
    except tcjax.CompileError:
        pass
    statements = infer_ranges(kernel.ir(*specs)).statements
    return [{str(index): interval for index, interval in s.intervals.items()} for s in statements]


def _primitives(jaxpr: object) -> list[str]:
    """The primitives in order, with calls expanded in place; versions of JAX nest calls differently."""
    names: list[str] = []
    for equation in jaxpr.eqns:  # type: ignore[attr-defined]
        inner = [p for p in equation.params.values() if hasattr(p, "jaxpr") or hasattr(p, "eqns")]
        calls = equation.primitive.name in ("pjit", "jit", "closed_call", "custom_jvp_call")
        if inner and calls:
            for closed in inner:
                names += _primitives(getattr(closed, "jaxpr", closed))
        else:
            names.append(equation.primitive.name)
    return names
