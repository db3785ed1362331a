"""The bandwidth and latency of interconnects, for costs on hypothetical meshes.

Rates are those of data sheets, in one direction: programs reach less, so the times are lower bounds. The row of the
loopback is measured by ``python -m bench.calibrate --links``.
"""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class Link:
    """One row: an interconnect as one device sees it. Times are in seconds."""

    kind: str
    byte: float  # per byte that a device sends; it receives at the same time
    message: float  # per message, however short


@dataclass(frozen=True, slots=True)
class Network:
    """How devices of a kind are connected by default: the number in a `node`, and links within and between nodes."""

    node: int
    inside: Link
    between: Link


# Medians of four runs of ``python -m bench.calibrate --links``: two processes with gloo on two cores, which were busy.
LOOPBACK: Final = Link("loopback", byte=7.3e-10, message=1.7e-04)
# 100 Gbit/s (IEEE 802.3ba). The software cost of a message is the same as for the loopback: TCP and gloo.
ETHERNET: Final = Link("ethernet", byte=1 / 12.5e9, message=1.7e-04)
# Latencies of NCCL's own model of trees of short messages: `hwLat` in NVIDIA/nccl, src/graph/tuning.cc, row LL.
# 12 links of 25 GB/s in each direction (NVIDIA A100 data sheet: 600 GB/s both directions together).
NVLINK: Final = Link("nvlink", byte=1 / 300e9, message=6e-07)
# PCI Express 4.0 with 16 lanes: 16 GT/s, of which 128 of 130 bits are data.
PCIE: Final = Link("pcie", byte=1 / 31.5e9, message=1e-06)
# HDR, 200 Gbit/s, a port for each device (NVIDIA DGX A100 data sheet: eight single-port ConnectX-6).
INFINIBAND: Final = Link("infiniband", byte=1 / 25e9, message=5e-06)

LINKS: Final = MappingProxyType({link.kind: link for link in (LOOPBACK, ETHERNET, NVLINK, PCIE, INFINIBAND)})
# A CPU of the table is a whole machine.
NETWORKS: Final = MappingProxyType(
    {"cpu": Network(1, LOOPBACK, ETHERNET), "gpu": Network(8, NVLINK, INFINIBAND)},
)
