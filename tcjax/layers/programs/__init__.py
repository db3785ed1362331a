"""The programs of the ready layers; each family of layers is a file.

A function of an `Adapter` is what a layer does in any framework, and says what it leaves to Flax.
"""
