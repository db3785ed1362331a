"""Notations: each folder reads a text into a tree and writes it back."""
