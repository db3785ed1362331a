"""What the derivative of an extremum needs besides its operands: its first position, and the number of ties."""

from dataclasses import replace
from typing import Final

from ... import ir
from ...symbolic import Affine, Size
from ...transforms import derivatives
from ..blocked.extrema import search
from ..data.groups import Extrema, statistic_name
from ..data.nests import Nest, Operand
from .members import nest_over

# While the loop runs, the number of a block and that of ties are packed into one 32-bit integer.
MOST_BLOCKS: Final = 1 << 14


def search_of(nest: Nest, memory: int | None) -> Extrema | None:
    """The search that gives the value of a nest and counts ties; None if the nest is not an extremum over one index."""
    reduce = nest.reduce
    if not isinstance(reduce.reducer, ir.Reducer) or not reduce.reducer.is_extremum or len(reduce.indices) != 1:
        return None
    place = replace(nest, reduce=replace(reduce, reducer=reduce.reducer.variant(gives_position=True), dtype="int32"))
    return with_ties(search(place, nest, memory))


def with_ties(extrema: Extrema) -> Extrema | None:
    """The search that also counts ties; None if a lane has too many blocks, or no derivative needs the ties."""
    reduce = extrema.value.reduce
    if not reduce.reducer.is_extremum or {reduce.dtype, reduce.accumulate} != {reduce.body.dtype}:
        # An order statistic is a single point; a result that is rounded at the end has other ties.
        return None
    form, ranges = extrema.form, extrema.ranges
    lo, hi = ranges[form.loop]
    if hi - lo > MOST_BLOCKS * form.rows:
        return None
    read = [_operand(number, nest) for number, nest in enumerate((extrema.place, extrema.value))]
    place, value = (_access(operand, extrema.place) for operand in read)
    count, box = derivatives.ties(reduce, extrema.place.axes, ranges, place, value)
    return replace(extrema, ties=nest_over(count, extrema.place.axes, box, (*extrema.operands, *read)))


def _operand(number: int, nest: Nest) -> Operand:
    """A result as an operand of others."""
    lows = tuple(nest.ranges[axis][0] for axis in nest.axes)
    return Operand(statistic_name(number), nest.reduce.dtype, nest.shape, lows)


def _access(operand: Operand, nest: Nest) -> ir.Access:
    tensor = ir.Tensor(operand.name, operand.dtype, tuple(map(Size.of, operand.shape)))
    return ir.Access(tensor, tuple(map(Affine.of, nest.axes)))
