"""Decoders with softmax, which store distributions."""

from ..claims.claim import Distributions
from ..claims.kind import Kind
from . import answer, differ, locate, prove, show, store, trace

KIND = Kind(Distributions, answer, prove, trace, locate, differ, store, show)
