"""What a process that tests start sets up as they do."""

import warnings


def warnings_are_errors() -> None:
    """As pyproject.toml says for the tests: what another process is writing to the cache is compiled here instead."""
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", "Error (reading|writing) persistent compilation cache entry")
