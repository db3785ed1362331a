"""Layers without a framework: recipes for programs with parameters, and the programs of the ready layers."""

from .initial import ByFans, Initializer
from .recipes import Program, Recipe, recipe
from .roles import Dimension, Role

__all__ = ["ByFans", "Dimension", "Initializer", "Program", "Recipe", "Role", "recipe"]
