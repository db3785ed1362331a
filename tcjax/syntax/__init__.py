"""Notations: each a folder that reads to, and writes from, the one tree of `ast`."""
