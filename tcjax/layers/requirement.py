"""Whether Flax is installed, and what to do if it is not."""

from importlib.util import find_spec


def require_flax(room: str) -> None:
    """Raises `ImportError` with a line of advice if Flax is not installed."""
    if find_spec("flax") is None:
        raise ImportError(f"{room} needs Flax, which is not installed: pip install 'tcjax[flax]'", name="flax")
