"""The cost of operations on a kind of device: the single table behind all prices.

The CPU's row has the medians of eleven runs of ``python -m bench.calibrate`` on two cores of an AMD EPYC with JAX 0.12;
some were fitted to the times of whole plans (docs/benchmarks.md). Times are those of the whole device: work that XLA
distributes over cores is timed on all cores.
"""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

# Functions so cheap that XLA recomputes them wherever they are used.
CHEAP: Final = frozenset(["abs", "fabs", "sign", "relu", "floor", "ceil", "round", "trunc", "copysign"]) | frozenset(
    ["fmin", "fmax", "fdim", "fma", "isnan", "isinf", "isfinite", "real", "imag", "conj"]
)
# Powers up to this exponent are products.
MOST_PRODUCTS: Final = 8


@dataclass(frozen=True, slots=True)
class Machine:
    """One row: a kind of device as XLA uses it. Times are in seconds, memory in bytes, for 32-bit elements."""

    kind: str
    # Calls and kernels.
    launch: float  # of one call of a compiled function
    dispatch: float  # of one kernel in it
    fork: float  # extra, of a kernel that is split between cores
    divided: int  # elements from which XLA splits a kernel between cores
    # Memory.
    cache: int  # most bytes that a kernel moves within the cache; if more, all come from memory
    near: int  # most bytes of a table or a target that stays in one core's cache
    cached_byte: float  # of a byte read or written within the cache
    memory_byte: float  # of a byte of a kernel that exceeds it
    transposed: float  # of an element of a transposing copy, which changes the minor axis
    strided: float  # of an element that a fused loop reads along another axis than the minor one
    aligned: float  # factor if it strides by a multiple of `alignment` bytes: cache conflicts
    alignment: int
    # Element by element.
    element: float  # of an operation in a fused loop
    division: float  # of a division
    short: float  # of a value, and of each of its terms, in a loop too short to be vectorised
    call: float  # of exp, log, tanh and functions built from them
    slow_call: float  # of sin, pow and all other functions
    wide: float  # factor for 64 bits
    bytewise: float  # factor for bool and 8 bits: below 1
    half: float  # factor for 16 bits, which are computed in 32
    # Matrix products.
    multiply_add: float  # of one multiply-add in a large product
    small_product: float  # of one in a batch of small matrices
    thin: float  # of one if rows, columns or terms are fewer than `narrow`
    narrow: int
    vector: float  # of one in a batch of vectors times matrices, which XLA turns into a sum of products
    matrix: float  # of each matrix of a batch, whatever its size
    integer_product: float  # factor for integers
    half_product: float  # factor for 16-bit floats
    # Convolutions.
    convolve: float  # of one multiply-add with many channels and features
    channel: float  # of one with a single channel and feature; it is divided by their number
    # Reductions.
    fold_minor: float  # of a point, along the minor axis
    fold_major: float  # of a point, along another axis
    fold_row: float  # of a result of a reduction along the minor axis
    fold_slow: float  # of a point that XLA does not vectorise: extrema of integers, float16
    fold_columns: float  # of a point of a sum of products along an axis that is not minor, some of which are stored
    window: float  # of a point of a window of `reduce_window`
    running: float  # of a point of a scan, in a tree of blocks
    running_looped: float  # of a point of a scan, block after block
    running_trip: float  # of a block of it
    position: float  # of a point of argmin and argmax
    sort: float  # of a point per level of a sort
    # Places that data decides.
    gather: float  # of an element gathered from a table in the cache
    gather_far: float  # of an element of a larger one
    gather_row: float  # of a row of elements, in addition to their bytes
    scatter: float  # of an element scattered to a target in the cache
    scatter_far: float  # of an element of a larger one
    scatter_row: float  # of a row of elements
    scatter_byte: float  # of a byte of such a row
    # Loops at run time.
    trip: float  # of an iteration of a loop
    step: float  # of a step of a recurrence, in addition to its kernels
    small: int  # most bytes moved by a step for which XLA makes one kernel of all steps
    alone: float  # factor for a function call in such a step on fewer values than a vector or two
    accumulate: float  # of a point of such a loop, in addition to its operations
    branch: float  # of a conditional that data decides

    # Limits of unrolling in one loop.
    unrolled: int  # most terms of a window: with more, XLA compiles for seconds
    unrolled_lookups: int  # the same if data decides what they read
    wide_window: int  # width from which a window is reduced natively: narrower, slices have the faster derivative
    streams: int  # most terms at unrelated addresses: more arrays do not share the cache

    def traffic(self, count: int) -> float:
        """The seconds in which a kernel moves `count` bytes."""
        return count * (self.cached_byte if count <= self.cache else self.memory_byte)


CPU: Final = Machine(
    kind="cpu",
    launch=7.1e-06,
    dispatch=6.1e-07,
    fork=2e-06,
    divided=1 << 15,
    cache=16 << 20,
    near=1 << 20,
    cached_byte=2.7e-11,
    memory_byte=7.9e-11,
    transposed=1.8e-10,
    strided=1.1e-09,
    aligned=4.0,
    alignment=1 << 11,
    element=1.9e-11,
    division=1.3e-10,
    short=1.6e-10,
    call=4.4e-10,
    slow_call=7.3e-09,
    wide=1.8,
    bytewise=0.5,
    half=17.0,
    multiply_add=2.5e-11,
    small_product=6.5e-11,
    thin=8.4e-10,
    narrow=4,
    vector=9.3e-10,
    matrix=3.5e-08,
    integer_product=1.4,
    half_product=0.6,
    convolve=2.6e-11,
    channel=2.5e-09,
    fold_minor=1.1e-10,
    fold_major=1.1e-10,
    fold_row=3.8e-09,
    fold_slow=7.2e-10,
    fold_columns=1e-09,
    window=7.7e-11,
    running=1.3e-09,
    running_looped=5e-10,
    running_trip=1.5e-07,
    position=4.6e-09,
    sort=1.5e-08,
    gather=8e-10,
    gather_far=1.3e-08,
    gather_row=2.1e-09,
    scatter=1.1e-09,
    scatter_far=1.1e-08,
    scatter_row=1.4e-09,
    scatter_byte=3e-11,
    trip=7.3e-07,
    step=6e-09,
    small=1 << 12,
    alone=20.0,
    accumulate=1.5e-11,
    branch=3e-06,
    unrolled=144,
    unrolled_lookups=100,
    streams=16,
    wide_window=5,
)
# Not measured: from NVIDIA's data sheet of the A100 (19.5 TFLOP/s in float32, 1.6 TB/s, 40 MB of cache) and its usual
# kernel launch time, at half of these rates; other entries are guesses from the number of bytes moved.
GPU: Final = Machine(
    kind="gpu",
    launch=2e-05,
    dispatch=5e-06,
    fork=0.0,
    divided=1 << 15,
    cache=40 << 20,
    near=40 << 20,
    cached_byte=4e-13,
    memory_byte=1.2e-12,
    transposed=8e-12,
    strided=2e-11,
    aligned=1.0,
    alignment=1 << 11,
    element=2e-13,
    division=1e-12,
    short=2e-13,
    call=2e-12,
    slow_call=1e-11,
    wide=2.0,
    bytewise=1.0,
    half=1.0,
    multiply_add=2e-13,
    small_product=4e-13,
    thin=1e-12,
    narrow=16,
    vector=1e-12,
    matrix=1e-09,
    integer_product=4.0,
    half_product=0.25,
    convolve=2e-13,
    channel=1e-11,
    fold_minor=5e-13,
    fold_major=5e-13,
    fold_row=1e-11,
    fold_slow=1e-12,
    fold_columns=1e-12,
    window=1e-12,
    running=2e-11,
    running_looped=2e-11,
    running_trip=1e-05,
    position=2e-12,
    sort=2e-11,
    gather=1e-11,
    gather_far=2e-11,
    gather_row=1e-11,
    scatter=5e-11,
    scatter_far=1e-10,
    scatter_row=5e-11,
    scatter_byte=3e-12,
    trip=1e-05,
    step=1e-05,
    small=1,
    alone=1.0,
    accumulate=1e-12,
    branch=3e-05,
    unrolled=144,
    unrolled_lookups=100,
    streams=16,
    wide_window=5,
)
MACHINES: Final = MappingProxyType({machine.kind: machine for machine in (CPU, GPU)})


def machine_of(kind: str) -> Machine:
    """The row for a kind of device, as JAX names it; unknown kinds are priced as a CPU."""
    return MACHINES.get("gpu" if kind in ("cuda", "rocm") else kind, CPU)
