"""Range inference: the worked examples of TC"s documentation and tests, and what it calls ambiguous."""

from .ambiguous import AMBIGUOUS
from .clauses import WHERE
from .several import SEVERAL
from .worked import WORKED

__all__ = ["AMBIGUOUS", "SEVERAL", "WHERE", "WORKED"]
