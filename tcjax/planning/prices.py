"""STUB"""
from dataclasses import dataclass
from .. import ir
from .cost import cost_of
from .meter import Meter
from .nodes import Contract, Convolve, operands, Node

@dataclass(frozen=True, slots=True)
class Price:
    seconds: float
    def __add__(self, other): return Price(self.seconds + other.seconds)

def _products(node: Node, meter) -> int:
    own = sum(_products(one, meter) for one in operands(node))
    if isinstance(node, (Contract, Convolve)):
        own += meter.flops(node) - sum(map(meter.flops, operands(node)))
    return own

def price(stage) -> Price:
    cost = cost_of(stage)
    extents = {index: max(0, hi - lo) for index, (lo, hi) in stage.box.items() if index not in stage.loops}
    fast = _products(stage.value, Meter(extents))
    return Price(fast * 1.2e-11 + (cost.flops - fast) * 1e-10 + (cost.bytes + 2 * cost.temporary) / 2e10)
