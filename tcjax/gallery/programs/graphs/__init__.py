"""Graphs, sparse and irregular data."""
