"""Notebooks: ``%load_ext tcjax``, then cells of programs under ``%%tc``."""

from .magic import register

__all__ = ["register"]
