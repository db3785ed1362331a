"""What an editor asks of a text while somebody writes it; `server` answers in the Language Server Protocol."""
