"""``python -m tcjax.cli``: the command where its script is not on the path."""

from . import main

if __name__ == "__main__":
    main()
