"""Transformations of programs: ir in, ir out."""

from .beyond import beyond_others
from .bodies import with_bodies
from .calls import plain_calls
from .canonical import canonical
from .choices import with_own_indices
from .common import CommonForm, form_of, free_of, local_tensor, named_in_common, reads_beside, with_statement
from .conditions import plain_conditions, plain_guard
from .decisions import decide
from .definitions import as_accumulation, as_define, guarded, is_one_to_one
from .deviations import centres, with_centres
from .equations import solve
from .expanding import multiplied_out
from .extrema import plain_extrema
from .flattening import flattened
from .guards import guard_ranges
from .inlining import Named, Renaming, Shapes, Step, inlined, named, needs_before, reads
from .joining_steps import joining_steps
from .liveness import needed, needed_step
from .lows import without_lows
from .magnitudes import magnitude
from .means import as_quotients_of_sums, without_means
from .meeting import Meeting, meeting, received
from .narrowing import ends_of, narrowed
from .orders import Orders, in_order, reordered, reordered_bound
from .peaks import peak_of
from .pieces import in_pieces
from .places import placed
from .plain_indices import plain_indices
from .powers import without_powers
from .receiving import receive
from .recurrences import (
    OneStep,
    Row,
    Segment,
    Taken,
    as_program,
    copied,
    loop_segment,
    one_step,
    segments,
    with_rows,
    written_rows,
)
from .rests import Contents
from .row_tables import ByRows, Tables, by_rows, with_row_tables
from .shifts import fix_extrema
from .softmaxes import as_quotients, normalisers
from .specialize import specialize, specialize_expr
from .split import split_floors
from .splits import apart
from .subscripts import Known, curves
from .substitution import reading, substitute, substitute_affine, substitute_expr
from .terms import windowed
from .together import together
from .truths import Guarded, without_truths
from .turns import turn
from .wavefronts import Diagonals, Wavefront, Written, begun, wavefront

__all__ = [
    "ByRows",
    "CommonForm",
    "Contents",
    "Diagonals",
    "Guarded",
    "Known",
    "Meeting",
    "Named",
    "OneStep",
    "Orders",
    "Renaming",
    "Row",
    "Segment",
    "Shapes",
    "Step",
    "Tables",
    "Taken",
    "Wavefront",
    "Written",
    "apart",
    "as_accumulation",
    "as_define",
    "as_program",
    "as_quotients",
    "as_quotients_of_sums",
    "begun",
    "beyond_others",
    "by_rows",
    "canonical",
    "centres",
    "copied",
    "curves",
    "decide",
    "ends_of",
    "fix_extrema",
    "flattened",
    "form_of",
    "free_of",
    "guard_ranges",
    "guarded",
    "in_order",
    "in_pieces",
    "inlined",
    "is_one_to_one",
    "joining_steps",
    "local_tensor",
    "loop_segment",
    "magnitude",
    "meeting",
    "multiplied_out",
    "named",
    "named_in_common",
    "narrowed",
    "needed",
    "needed_step",
    "needs_before",
    "normalisers",
    "one_step",
    "peak_of",
    "placed",
    "plain_calls",
    "plain_conditions",
    "plain_extrema",
    "plain_guard",
    "plain_indices",
    "reading",
    "reads",
    "reads_beside",
    "receive",
    "received",
    "reordered",
    "reordered_bound",
    "segments",
    "solve",
    "specialize",
    "specialize_expr",
    "split_floors",
    "substitute",
    "substitute_affine",
    "substitute_expr",
    "together",
    "turn",
    "wavefront",
    "windowed",
    "with_bodies",
    "with_centres",
    "with_own_indices",
    "with_row_tables",
    "with_rows",
    "with_statement",
    "without_lows",
    "without_means",
    "without_powers",
    "without_truths",
    "written_rows",
]
