"""The programs of the ready-made layers, one file for each family.

A function of an `Adapter` implements a layer for any framework, and leaves some cases to Flax.
"""
