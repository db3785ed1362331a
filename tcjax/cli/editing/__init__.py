"""What editors ask about a text while it is being written; `server` answers in the Language Server Protocol."""
