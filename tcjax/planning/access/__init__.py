"""How a subscript reads an array: views, slices, overlaps, or positions."""
