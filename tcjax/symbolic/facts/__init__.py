"""The prover: what is known about names, and every question about expressions that this knowledge answers.

Who asks whom, from the outside in:

* `facts` has the door, `Prover`: it holds the facts as they were given, reads the texts of questions (`reader`,
  `expressions`, `printing`), and remembers answers. `tcjax.symbolic.Facts` is in front of it.
* Behind each question stands a room: `bounding`, `congruence` (modulus), `proving`, `solving`, `linearity`,
  `bijection` (with `iterating`), `hulls`, and `recomposing` (simplify) with `deciding` for conditions. Divisions are
  chosen by `emission`, which asks the prover.
* These rooms ask `knowledge`: facts in normal form, made by `learning`; intervals of it come from `spanning`.
* The normal form is data in `polynomials` over `atoms`; `normalizing` builds it under a `Knowledge`, with `quotients`,
  `extrema` and `formulas` for its parts, and `restoring` goes back to the names of the text.
* What neither terms nor intervals decide is looked for by `combining` (linear combinations of facts), `splitting`
  (cases), `points` (all points of small domains, by `coding`), `grids` (the same for texts) and `thresholds`.
* `composing` writes normal forms as the cheapest expressions (`rewriting`, `factoring`, `costs`).
* Every question has a budget of steps in its `ledger`; a question without steps left answers with what it has.
* `affines` turns subscripts, sizes and conditions of programs into expressions over names, and back.
"""

from .facts import Prover
from .trees import Expr, Var

__all__ = ["Expr", "Prover", "Var"]
