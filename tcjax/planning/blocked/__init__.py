"""Loops over blocks: the loop of a reduction, the computation of a block, and the layout of its operands."""
