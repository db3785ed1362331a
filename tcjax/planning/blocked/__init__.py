"""Loops over blocks: which loop a reduction has, what one block computes, and how operands lie meanwhile."""
