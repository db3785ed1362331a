"""A child that was forked from a process whose devices were in use: XLA's threads are not there, and it would wait."""

import os
import sys

# Whether this is one. Calls look here themselves: that costs nothing.
orphaned = False


def refuse() -> None:
    """Raises `RuntimeError` in such a child. To read, plan, explain and interpret a program needs no device."""
    if orphaned:
        raise RuntimeError(
            "this process was forked from one in which JAX had started: nothing can be compiled or computed here, "
            "because XLA's threads stayed there, and a call would wait for ever.\n"
            'help: start processes with `multiprocessing.get_context("spawn")`, or fork before the first call of JAX'
        )


def _look() -> None:
    global orphaned
    bridge = sys.modules.get("jax._src.xla_bridge")
    orphaned = bool(getattr(bridge, "_backends", None))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_look)
