"""Derivatives as programs: tangents and adjoints in index notation."""

from .links import derivative_name
from .programs import adjoint_program
from .statements import Derivative, Formula, adjoint, tangent, ties

__all__ = ["Derivative", "Formula", "adjoint", "adjoint_program", "derivative_name", "tangent", "ties"]
