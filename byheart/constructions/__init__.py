"""The constructions, one a theorem and form. A new one is one file and one line here.

Where a method has two forms, the first is what a user gets who names none.
"""

from ..construction import Construction
from .deep_sets import SmallDeepSet
from .embedding import SmallEmbedding
from .hash_fold_retrieve import HashFoldRetrieve
from .seq2seq import SmallSeq2Seq
from .sparse_attention import SparseAttentionSmall

ALL: tuple[Construction, ...] = (
    HashFoldRetrieve(),
    SmallSeq2Seq(),
    SparseAttentionSmall(),
    SmallDeepSet(),
    SmallEmbedding(),
)
