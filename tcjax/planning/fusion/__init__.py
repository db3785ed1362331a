"""What several statements share: one loop for several reductions, temporaries that are not stored, parts of rows."""
