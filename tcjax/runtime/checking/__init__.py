"""Compares a kernel with its interpreter on random arguments."""

from .check import check
from .report import Check, CheckError

__all__ = ["Check", "CheckError", "check"]
