"""Detects a child forked from a process whose devices were in use: without XLA's threads it would hang."""

import os
import sys

# Whether this process is one. Calls test this directly, which costs nothing.
orphaned = False


def refuse() -> None:
    """Raises `RuntimeError` in such a child. Reading, planning, explaining and interpreting programs need no device."""
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
