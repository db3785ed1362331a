"""How a subscript reads an array: views, slices, overlapping rows, or positions."""
