"""The prover: what is known about names, and every question about expressions that this can answer.

The modules, from the outside in:

* `facts` has the entry point, `Prover`: it holds the facts as given, reads the texts of questions (`reader`,
  `expressions`, `printing`), and remembers answers. `tcjax.symbolic.Facts` wraps it.
* Each question has its module: `bounding`, `congruence` (modulus), `proving`, `solving`, `linearity`, `bijection` (with
  `iterating`), `hulls`, and `recomposing` (simplify) with `deciding` for conditions. Divisions are chosen by
  `emission`, which asks the prover.
* These modules query `knowledge`: facts in normal form, made by `learning`; its intervals come from `spanning`.
* The normal form is data in `polynomials` over `atoms`; `normalizing` builds it under a `Knowledge`, with `quotients`,
  `extrema` and `formulas` for its parts, and `restoring` goes back to the names of the text.
* If neither terms nor intervals decide, the prover tries `combining` (linear combinations of facts), `splitting`
  (cases), `points` (all points of small domains, by `coding`), `grids` (the same for texts) and `thresholds`.
* `composing` writes normal forms as the cheapest expressions (`rewriting`, `factoring`, `costs`).
* Every question has a budget of steps in its `ledger`; a question that runs out of steps answers with what it has
  found.
* `affines` turns subscripts, sizes and conditions of programs into expressions over names, and back.
"""

from .facts import Prover
from .trees import Expr, Var

__all__ = ["Expr", "Prover", "Var"]
