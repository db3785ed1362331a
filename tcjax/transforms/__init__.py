"""Programs to programs: ir in, ir out."""

from .canonical import canonical
from .decisions import decide
from .definitions import as_accumulation
from .equations import solve
from .flattening import flattened
from .guards import guard_ranges
from .inlining import Named, Shapes, Step, inlined, named, needs_before, reads
from .narrowing import Rest, Rests, ends_of, narrowed
from .powers import without_powers
from .shifts import fix_extrema
from .specialize import specialize, specialize_expr
from .split import split_floors
from .splits import apart
from .subscripts import Known, curves
from .substitution import substitute, substitute_affine, substitute_expr
from .truths import without_truths
from .turns import turn

__all__ = [
    "Known",
    "Named",
    "Rest",
    "Rests",
    "Shapes",
    "Step",
    "apart",
    "as_accumulation",
    "canonical",
    "curves",
    "decide",
    "ends_of",
    "fix_extrema",
    "flattened",
    "guard_ranges",
    "inlined",
    "named",
    "narrowed",
    "needs_before",
    "reads",
    "solve",
    "specialize",
    "specialize_expr",
    "split_floors",
    "substitute",
    "substitute_affine",
    "substitute_expr",
    "turn",
    "without_powers",
    "without_truths",
]
