"""The constructions, one a theorem. A new one is one file and one line here."""

from ..construction import Construction
from .hash_fold_retrieve import HashFoldRetrieve

ALL: tuple[Construction, ...] = (HashFoldRetrieve(),)
