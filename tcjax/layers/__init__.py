"""Framework-independent layers: recipes for programs with parameters, and the programs of the ready-made layers."""

from .adapter import Adapter, Keep, Learned
from .initial import ByFans, Initializer
from .recipes import Program, Recipe, recipe
from .roles import Dimension, Role

__all__ = ["Adapter", "ByFans", "Dimension", "Initializer", "Keep", "Learned", "Program", "Recipe", "Role", "recipe"]
