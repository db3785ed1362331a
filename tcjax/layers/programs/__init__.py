"""The programs of the ready layers, as functions of arrays; each family of layers is a file."""

from .attention import attention, dropout
from .dense import BILINEAR, bilinear, dense, dot_general
from .embedding import attended, embedded
from .experts import NETWORKS, experts
from .normalization import group_normalized, moments, normalized, running
from .notation import axes_of
from .windows import convolution, per_axis, pooling

__all__ = [
    "BILINEAR",
    "NETWORKS",
    "attended",
    "attention",
    "axes_of",
    "bilinear",
    "convolution",
    "dense",
    "dot_general",
    "dropout",
    "embedded",
    "experts",
    "group_normalized",
    "moments",
    "normalized",
    "per_axis",
    "pooling",
    "running",
]
