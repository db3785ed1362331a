"""Programs with loops, as tables in `loops/*.txt` have them: read, run by Python, and made into kernels.

A program is::

    === name T=3
    x: N; A: N,M +; idx: E <4; ptr: 6 ptr E -> y, S(5,3)
    ~ x A
    both:
    for i in range(N): ...
    tc:
    y(i) = ...

After the name come constants, and `no adjoint` if `k.adjoint` refuses the program. The second line has the parameters,
with their extents and contents (`numbers`), and the results, with their extents if the program needs them. After ``~``
are the parameters in which the results are differentiable; all floats, if none is named. The sections are spellings:
`both` runs as Python and as a kernel in the Python notation, `ref` as Python alone, `py` and `tc` as kernels.
"""

import linecache
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tcjax
from tests.translated.case import Array

SIZES: Mapping[str, int] = {"N": 6, "M": 5, "T": 7, "K": 4, "D": 3, "E": 12, "R": 5, "L": 3}

# Python functions in place of builtins.
FUNCTIONS: Mapping[str, Any] = {
    **{name: getattr(np, name) for name in ("exp", "log", "sqrt", "tanh", "sin", "cos", "logaddexp", "inf")},
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "int32": int,
    "float64": float,
    "np": np,
}


@dataclass(frozen=True)
class Parameter:
    """A parameter of a program: `holds` describes its numbers."""

    name: str
    extents: tuple[str, ...]
    holds: tuple[str, ...]

    @property
    def type(self) -> str:
        """Its type in a kernel."""
        is_integer = bool(self.holds) and (self.holds[0][0] == "<" or self.holds[0] in ("perm", "ptr"))
        extents = f"({','.join(self.extents)})" if self.extents else ""
        return f"{'int32' if is_integer else 'float'}{extents}"


@dataclass(frozen=True)
class Program:
    """A program in several spellings."""

    name: str
    constants: Mapping[str, int]
    has_adjoint: bool
    parameters: tuple[Parameter, ...]
    results: Mapping[str, str]
    smooth: tuple[str, ...]
    sections: Mapping[str, str]

    @property
    def spellings(self) -> tuple[str, ...]:
        return tuple(name for name in self.sections if name != "ref")

    @property
    def sizes(self) -> dict[str, int]:
        return {**SIZES, **self.constants}

    def arguments(self) -> dict[str, Array]:
        """Arguments, different for each program, exact in float32."""
        rng = np.random.default_rng(sum(map(ord, self.name)))
        return {parameter.name: numbers(parameter, self.sizes, rng) for parameter in self.parameters}

    def kernel(self, spelling: str) -> tcjax.Kernel:
        """The kernel of a spelling."""
        body = self.sections[spelling]
        known = {p.name for p in self.parameters} | {*self.results}
        known |= {extent for parameter in self.parameters for extent in parameter.extents}
        words = {*re.findall(r"\w+", body + " ".join(self.results.values()))}
        constants = {name: value for name, value in self.sizes.items() if name in words - known}
        return (text_kernel if spelling.startswith("tc") else python_kernel)(self, body, constants)

    def expected(self, arguments: Mapping[str, Array], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
        """The results of running the program in Python; what it writes starts as zeros."""
        body = self.sections.get("ref") or self.sections["both"]
        scope: dict[str, Any] = {}
        for name, inside in re.findall(r"^\s*(\w+)\[(.*)\] [-+*/]?= ", body, flags=re.MULTILINE):
            outer = re.sub(r"\[[^][]*\]|\([^()]*\)", "", inside)
            scope[name] = np.zeros((16,) * (outer.count(",") + 1))
        scope |= {name: np.zeros(shape) for name, shape in shapes.items()}
        scope |= {name: np.array(value) for name, value in arguments.items()}
        scope = {**FUNCTIONS, **self.sizes, **scope}
        exec(body, scope)
        return {name: np.asarray(scope[name], np.float64) for name in shapes}


def numbers(parameter: Parameter, sizes: Mapping[str, int], rng: np.random.Generator) -> Array:
    """The contents of a parameter: normal numbers; between 0.5 and 1.5 (+); below a number (<4); pointers into some
    (ptr E); a permutation (perm); a diagonally dominant matrix (dom), or a positive definite one (spd)."""
    shape = tuple(int(extent) if extent.isdecimal() else sizes[extent] for extent in parameter.extents)
    match parameter.holds:
        case ("+",):
            found = rng.uniform(0.5, 1.5, shape)
        case ("ptr", most):
            last = int(most) if most.isdecimal() else sizes[most]
            inner = np.sort(rng.integers(0, last + 1, shape[0] - 2))
            return np.array([0, *inner, last], np.int32)
        case ("perm",):
            return rng.permutation(shape[0]).astype(np.int32)
        case ("dom",):
            found = rng.normal(size=shape) + 4 * np.eye(shape[0])
        case ("spd",):
            root = rng.normal(size=shape)
            found = root @ root.T + shape[0] * np.eye(shape[0])
        case (below,):
            return rng.integers(0, int(below[1:]), shape).astype(np.int32)
        case _:
            found = rng.normal(size=shape)
    return np.asarray(found, np.float32).astype(np.float64)


def text_kernel(program: Program, body: str, constants: Mapping[str, int]) -> tcjax.Kernel:
    listed = ", ".join(f"{p.type} {p.name}" for p in program.parameters)
    outputs = ", ".join(f"float({extents}) {name}" if extents else name for name, extents in program.results.items())
    return tcjax.kernel(f"def f({listed}) -> ({outputs}) {{\n{body}\n}}", consts=dict(constants))


def python_kernel(program: Program, body: str, constants: Mapping[str, int]) -> tcjax.Kernel:
    """The kernel with this body, whose source is a text here."""
    listed = ", ".join(f"{p.name}: '{p.type}'" for p in program.parameters)
    types = [f"float({extents})" for extents in program.results.values()]
    annotation = f" -> {tuple(types) if len(types) > 1 else types[0]!r}" if all(program.results.values()) else ""
    lines = [*body.split("\n"), f"return {', '.join(program.results)}"]
    head = [f"@tcjax.kernel(consts={dict(constants)})", f"def f({listed}){annotation}:"]
    source = "\n".join([*head, *(f"    {line}" for line in lines)]) + "\n"
    file = f"<loops {len(linecache.cache)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope: dict[str, Any] = {}
    exec(compile(source, file, "exec"), {"tcjax": tcjax}, scope)
    return scope["f"]


def read(path: Path) -> list[Program]:
    """The programs of a table."""
    return [_program(part.split("\n")) for part in re.split(r"^=== ", path.read_text(), flags=re.MULTILINE)[1:]]


def _program(lines: list[str]) -> Program:
    name, *words = lines[0].split()
    constants = {word.partition("=")[0]: int(word.partition("=")[2]) for word in words if "=" in word}
    given, _, results = lines[1].partition("->")
    parameters = []
    for part in given.split(";"):
        label, _, rest = part.partition(":")
        extents, *holds = rest.split()
        parameters.append(Parameter(label.strip(), () if extents == "()" else tuple(extents.split(",")), tuple(holds)))
    smooth: tuple[str, ...] = ()
    if lines[2].startswith("~"):
        floats = tuple(p.name for p in parameters if p.type.startswith("float"))
        smooth = tuple(lines[2][1:].split()) or floats
    sections: dict[str, list[str]] = {}
    current: Callable[[str], None] | None = None
    for line in lines[2:]:
        if re.fullmatch(r"(both|ref|py|tc)\d?:", line):
            current = sections.setdefault(line[:-1], []).append
        elif current is not None:
            current(line)
    bodies = {section: "\n".join(body).strip("\n") for section, body in sections.items()}
    outputs = {label: extents for label, extents in re.findall(r"(\w+)(?:\(([^)]*)\))?", results)}
    return Program(name, constants, "no" not in words, tuple(parameters), outputs, smooth, bodies)


PROGRAMS = [program for path in sorted(Path(__file__).with_name("loops").glob("*.txt")) for program in read(path)]
