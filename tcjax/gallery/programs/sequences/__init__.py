"""Sequences and recurrences."""
