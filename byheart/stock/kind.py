"""Stock checkpoints, which recite texts."""

from ..claims.claim import Recites
from ..claims.kind import Kind
from . import answer, differ, locate, prove, show, store, trace

KIND = Kind(Recites, answer, prove, trace, locate, differ, store, show)
