"""Loop nests as Pallas kernels in the Triton dialect."""

from .blocks import Blocks
from .emitter import TRITON, Emitter, emit, emit_group
from .refusals import Unsupported
from .statements import emit_kernel, fused_nest, nest_of

__all__ = ["TRITON", "Blocks", "Emitter", "Unsupported", "emit", "emit_group", "emit_kernel", "fused_nest", "nest_of"]
