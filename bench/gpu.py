"""Kernels for GPUs against hand-written forms: jnp under XLA, and with ``--torch`` torch.compile.

``python -m bench.gpu`` on a machine with a GPU writes ``bench/results/<device>.json`` as it goes along. Anywhere else
``python -m bench.gpu --interpret --sizes tiny`` runs the same kernels interpreted: then results are meaningful, times
are not. All candidates use JAX's default precision of matrix products.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax import ir
from tcjax.lowering.pallas_triton import Blocks, emit
from tcjax.planning.blocked.gpu_kernels import prefers_pallas
from tcjax.planning.fused_statements import fused_nest, nest_of

Function = Callable[..., Any]
ROUNDS = 30
RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Case:
    """A program, its arguments by size, and hand-written forms in jnp or NumPy and in torch.

    The targets named in `inside` are computed in the tiles of the last statement.
    """

    name: str
    text: str
    shapes: Mapping[str, tuple[tuple[int, ...], ...]]
    by_hand: Function
    torch: str
    inside: tuple[str, ...] = ()
    tiles: Blocks = field(default_factory=Blocks)

    def arrays(self, size: str) -> tuple[np.ndarray, ...]:
        rng = np.random.default_rng(0)
        return tuple(rng.standard_normal(shape).astype("float32") for shape in self.shapes[size])


def _stencil(xp: Any, a: Any) -> Any:
    c = xp.tanh(a)
    rows, columns = a.shape
    return sum(c[i : rows - 2 + i, j : columns - 2 + j] for i in range(3) for j in range(3))


def _attention(xp: Any, q: Any, k: Any, v: Any) -> Any:
    scores = q @ k.T
    weights = xp.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


CASES = (
    Case(
        "min-plus",
        "def f(float(M,K) A, float(K,N) B) -> (C) { C(i,j) min=! A(i,k) + B(k,j) }",
        {"tiny": ((37, 41), (41, 70)), "full": ((2048, 2048), (2048, 2048))},
        lambda xp, a, b: xp.min(a[:, :, None] + b[None], axis=1),
        "lambda a, b: (a[:, :, None] + b[None]).amin(1)",
    ),
    Case(
        "kernel sum",
        """def f(float(N,D) x, float(M,D) y, float(M) b) -> (O) {
            O(i) +=! exp(-sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d)))) * b(j) }""",
        {"tiny": ((37, 3), (150, 3), (150,)), "full": ((32768, 3), (32768, 3), (32768,))},
        lambda xp, x, y, b: xp.exp(-xp.sum((x[:, None] - y[None]) ** 2, axis=-1)) @ b,
        "lambda x, y, b: torch.exp(-((x[:, None] - y[None]) ** 2).sum(-1)) @ b",
    ),
    Case(
        "attention",
        """def f(float(Q,D) q, float(K,D) k, float(K,E) v) -> (L, O) {
            L(i) = logsumexp[j](sum[d](q(i,d) * k(j,d)))
            O(i,e) +=! exp(sum[d](q(i,d) * k(j,d)) - L(i)) * v(j,e) }""",
        {"tiny": ((37, 24), (45, 24), (45, 20)), "full": ((8192, 64), (8192, 64), (8192, 64))},
        _attention,
        "lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], scale=1.0)[0]",
    ),
    Case(
        "perceptron",
        """def f(float(B,I) x, float(I,H) w, float(H,O) v) -> (y) {
            h(b,j) +=! x(b,i) * w(i,j)  r(b,j) = fmax(h(b,j), 0.0)  y(b,o) +=! r(b,j) * v(j,o) }""",
        {"tiny": ((37, 20), (20, 50), (50, 9)), "full": ((65536, 64), (64, 256), (256, 64))},
        lambda xp, x, w, v: xp.maximum(x @ w, 0) @ v,
        "lambda x, w, v: torch.relu(x @ w) @ v",
        inside=("h", "r"),
    ),
    Case(
        "stencil with a halo",
        """def f(float(H,W) A) -> (D) { C(h,w) = tanh(A(h,w))
            D(h,w) +=! C(h+i,w+j) where i in 0:3, j in 0:3 }""",
        {"tiny": ((20, 37),), "full": ((8192, 8192),)},
        _stencil,
        "lambda a: sum(torch.tanh(a)[i:a.shape[0] - 2 + i, j:a.shape[1] - 2 + j] for i in range(3) for j in range(3))",
        inside=("C",),
        tiles=Blocks(rows=16, columns=128),
    ),
    # Last: on an H200 its hand-written form was stopped before it finished (docs/gpu.md).
    Case(
        "pairwise distances",
        "def f(float(N,D) x, float(M,D) y) -> (O) { O(i,j) +=! fabs(x(i,d) - y(j,d)) }",
        {"tiny": ((37, 19), (70, 19)), "full": ((4096, 128), (4096, 128))},
        lambda xp, x, y: xp.sum(xp.abs(x[:, None] - y[None]), axis=-1),
        "lambda x, y: torch.cdist(x, y, p=1.0)",
    ),
)


@dataclass(frozen=True)
class Row:
    """Measurements of a case: seconds, the largest error relative to the largest value, what the rule says.

    The errors of tiny sizes are against float64 in NumPy, those of full ones against jnp.
    """

    case: str
    seconds: dict[str, float]
    errors: dict[str, float]
    rule: str


def kernels(case: Case, arrays: tuple[np.ndarray, ...], *, interpret: bool) -> Function:
    """The program with a kernel for every statement that is not computed inside another."""
    kernel = tcjax.kernel(case.text)
    bound = kernel.schedule().bind(*arrays)
    names = [parameter.name for parameter in bound.function.parameters]
    runs: dict[str, Callable[[Mapping[str, Any]], Any]] = {}
    for statement, box in zip(bound.function.statements, bound.boxes, strict=True):
        assert isinstance(statement, (ir.Define, ir.Accumulate))
        name = statement.target.name
        if name in case.inside:
            continue
        nest = fused_nest(name, case.inside, bound) if case.inside else nest_of(statement, box, bound)
        runs[name] = emit(nest, case.tiles, interpret)

    def run(*given: Any) -> Any:
        found = dict(zip(names, given, strict=True))
        for name, computed in runs.items():
            found[name] = computed(found)
        return found[list(runs)[-1]]

    return run


def rule_of(case: Case, arrays: tuple[np.ndarray, ...]) -> str:
    """Whether the planner would choose the kernels of a case by itself, and why."""
    bound = tcjax.kernel(case.text).schedule().bind(*arrays)
    statement, box = bound.function.statements[-1], bound.boxes[-1]
    assert isinstance(statement, (ir.Define, ir.Accumulate))
    target = statement.target.name
    nest = fused_nest(target, case.inside, bound) if case.inside else nest_of(statement, box, bound)
    chosen, why = prefers_pallas(nest)
    return f"{'a kernel' if chosen else 'XLA'}: {why}"


def torch_call(case: Case, arrays: tuple[np.ndarray, ...]) -> Callable[[], Any] | None:
    """The same through torch.compile, if torch and a device for it are available."""
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    function = torch.compile(eval(case.torch, {"torch": torch}))
    given = [torch.as_tensor(array, device="cuda") for array in arrays]

    def call() -> Any:
        result = function(*given)
        torch.cuda.synchronize()
        return result

    return call


def measure(case: Case, size: str, tiles: Sequence[Blocks] = (), *, interpret: bool, torch: bool = False) -> Row:
    """The case by hand and with kernels, and once more for each of the `tiles`."""
    arrays = case.arrays(size)
    device = [jnp.asarray(array) for array in arrays]
    functions = {"tcjax": kernels(case, arrays, interpret=interpret)}
    for each in tiles:
        functions[f"{each.rows}x{each.columns}"] = kernels(replace(case, tiles=each), arrays, interpret=interpret)
    functions["jnp"] = partial(case.by_hand, jnp)
    calls: dict[str, Callable[[], Any]] = {}
    results: dict[str, Any] = {}
    for name, function in functions.items():
        # XLA may take minutes for a form: show which one.
        print(f"{case.name}: {name}", file=sys.stderr, flush=True)
        run = jax.jit(function).lower(*device).compile()
        calls[name] = partial(_finished, run, device)
        results[name] = calls[name]()
    beside = torch_call(case, arrays) if torch else None
    if beside is not None:
        calls["torch.compile"], results["torch.compile"] = beside, beside()
    if size == "tiny":
        reference = case.by_hand(np, *(array.astype("float64") for array in arrays))
    else:
        reference = _array(results["jnp"])
    errors = {
        name: float(np.max(np.abs(_array(result) - reference)) / np.max(np.abs(reference)))
        for name, result in results.items()
    }
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(3 if interpret else ROUNDS):
        # Interleaved, so that a change of clock speed affects all of them.
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            samples[name].append(time.perf_counter() - start)
    seconds = {name: statistics.median(each) for name, each in samples.items()}
    return Row(case.name, seconds, errors, rule_of(case, arrays))


def _finished(run: Callable[..., Any], arrays: Sequence[Any]) -> Any:
    return jax.block_until_ready(run(*arrays))


def _array(result: Any) -> np.ndarray:
    return np.asarray(result.cpu() if hasattr(result, "cpu") else result, "float64")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.gpu", description=__doc__)
    parser.add_argument("--interpret", action="store_true", help="run the kernels without a GPU, slowly")
    parser.add_argument("--sizes", choices=("tiny", "full"), default="full")
    parser.add_argument("--cases", default="", help="names, separated by commas")
    parser.add_argument("--tiles", default="", metavar="ROWSxCOLUMNS", help="time these too, separated by commas")
    parser.add_argument("--torch", action="store_true", help="time torch.compile too, which compiles for minutes")
    options = parser.parse_args(arguments)
    device = jax.devices()[0]
    if device.platform != "gpu" and not options.interpret:
        print(f"{device.device_kind} is not a GPU: run with --interpret --sizes tiny", file=sys.stderr)
        return 2
    try:
        sides = [each.split("x") for each in options.tiles.split(",") if each]
        tiles = [Blocks(int(rows), int(columns)) for rows, columns in sides]
    except (ValueError, AssertionError) as problem:
        print(f"bench.gpu: --tiles: {problem}; write powers of two, such as 16x512,64x64", file=sys.stderr)
        return 2
    chosen = [name.strip() for name in options.cases.split(",") if name.strip()]
    print(f"{device.device_kind}, JAX {jax.__version__}{', interpreted' if options.interpret else ''}")
    rows: list[Row] = []
    for case in CASES:
        if chosen and case.name not in chosen:
            continue
        row = measure(case, options.sizes, tiles, interpret=options.interpret, torch=options.torch)
        rows.append(row)
        times = "  ".join(f"{name} {1e3 * seconds:9.3f} ms" for name, seconds in row.seconds.items())
        errors = "  ".join(f"{name} {error:.0e}" for name, error in row.errors.items())
        print(f"{row.case:20} {times}   errors: {errors}   chosen: {row.rule}", flush=True)
        if not options.interpret:
            _keep(device.device_kind, rows)
    return 0


def _keep(device: str, rows: Sequence[Row]) -> None:
    """Writes the measurements so far."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{device.replace(' ', '-').lower()}.json"
    kept = {"device": device, "jax": jax.__version__, "rows": [asdict(row) for row in rows]}
    path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
