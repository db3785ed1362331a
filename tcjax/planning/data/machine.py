"""The cost of operations on a kind of device: the single table behind all prices.

The row for the CPU has the medians of eleven runs of ``python -m bench.calibrate`` on two cores of an AMD EPYC with JAX
0.12; some were fitted to the times of whole plans (docs/benchmarks.md). Times are those of the whole device: work that
XLA distributes over cores is timed on all of them.
"""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

# Functions that XLA recomputes wherever they are used.
CHEAP: Final = frozenset(["abs", "fabs", "sign", "relu", "floor", "ceil", "round", "trunc", "copysign"]) | frozenset(
    ["fmin", "fmax", "fdim", "fma", "isnan", "isinf", "isfinite", "real", "imag", "conj"]
)
# Powers up to this one are products.
MOST_PRODUCTS: Final = 8


@dataclass(frozen=True, slots=True)
class Machine:
    """One row: a kind of device as XLA uses it. Times are in seconds, memory in bytes, for 32-bit elements."""

    kind: str
    # Calls and kernels.
    launch: float  # of one call of a compiled function
    dispatch: float  # of one kernel in it
    fork: float  # more, of a kernel that is divided between cores
    divided: int  # elements from which XLA divides a kernel
    # Memory.
    cache: int  # bytes that a kernel moves within the cache; of more, all come from memory
    near: int  # bytes of a table or a target that stays in the cache of one core
    cached_byte: float  # of a byte read or written within the cache
    memory_byte: float  # of a byte of a kernel that moves more
    transposed: float  # of an element of a copy that changes which axis is minor
    strided: float  # of an element that a fused loop reads across its minor axis
    aligned: (
        float  # how many times longer where it walks by a multiple of `alignment` bytes: the cache holds few of them
    )
    alignment: int
    # Element by element.
    element: float  # of an operation in a fused loop
    division: float  # of a division
    short: float  # of a value, and of each of its terms, in a loop over few values, which is not vectorised
    call: float  # of exp, log, tanh and what XLA makes of them
    slow_call: float  # of sin, pow and all other functions
    wide: float  # how many times longer 64 bits take
    bytewise: float  # how many times longer truth values and 8 bits take: less than once
    half: float  # how many times longer 16 bits take, which are computed in 32
    # Matrix products.
    multiply_add: float  # of one multiplication and addition in a large product
    small_product: float  # of one in a batch of small matrices
    thin: float  # of one where rows, columns or terms are fewer than `narrow`
    narrow: int
    vector: float  # of one in a batch of vectors times matrices, which XLA makes a sum of products
    matrix: float  # of each matrix of a batch, whatever its size
    integer_product: float  # how many times longer integers take
    half_product: float  # how many times longer 16-bit floats take
    # Convolutions.
    convolve: float  # of one multiplication and addition with many channels and features
    channel: float  # of one with a single channel and feature; more of them divide it
    # Reductions.
    fold_minor: float  # of a point, along the minor axis
    fold_major: float  # of a point, along another axis
    fold_row: float  # of a result of a reduction along the minor axis
    fold_slow: float  # of a point of what XLA does not vectorise: extrema of integers, halves
    fold_columns: float  # of a point of a sum of products for each value of the minor axis, some of which are stored
    window: float  # of a point of a window of `reduce_window`
    running: float  # of a point of a running sum, in a tree of blocks
    running_looped: float  # of one block after block
    running_trip: float  # of a block of these
    position: float  # of a point of argmin and argmax
    sort: float  # of a point and a level of a sort
    # Places that data decides.
    gather: float  # of an element of a table that stays in a cache
    gather_far: float  # of an element of a larger one
    gather_row: float  # of a row of elements, beside their bytes
    scatter: float  # of an element of a target that stays in a cache
    scatter_far: float  # of an element of a larger one
    scatter_row: float  # of a row of elements
    scatter_byte: float  # of a byte of such a row
    # Loops at run time.
    trip: float  # of a trip of a loop
    step: float  # of a step of a recurrence, beside its kernels
    small: int  # bytes that a step moves up to which XLA makes one kernel of all steps
    alone: float  # how many times longer a call takes in such a step for fewer values than a vector or two
    accumulate: float  # of a point of such a loop, beside its operations
    branch: float  # of a choice between two ways that data decide

    # What is written out in one loop.
    unrolled: int  # terms of a window, at most: of more XLA compiles for seconds
    unrolled_lookups: int  # of these, where data decides what they read
    wide_window: int  # a window so wide is reduced natively: of narrower ones slices have the faster derivative
    streams: int  # terms that lie anywhere, at most: more arrays than that do not share the cache

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
# time to start a kernel, at half of these rates; what no data sheet has is a guess by the number of bytes moved.
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
    """The row for a kind of device, named as by JAX; an unknown one is priced as a CPU."""
    return MACHINES.get("gpu" if kind in ("cuda", "rocm") else kind, CPU)
