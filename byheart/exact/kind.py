"""Exact networks, which store labels."""

from ..claims.claim import Labels
from ..claims.kind import Kind
from . import answer, differ, locate, prove, show, store, trace

KIND = Kind(Labels, answer, prove, trace, locate, differ, store, show)
