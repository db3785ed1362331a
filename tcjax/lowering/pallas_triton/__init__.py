"""Loop nests as Pallas kernels in the Triton dialect."""

from .blocks import Blocks, blocks_of
from .emitter import TRITON, Emitter, emit, emit_group
from .refusals import Unsupported

__all__ = ["TRITON", "Blocks", "Emitter", "Unsupported", "blocks_of", "emit", "emit_group"]
