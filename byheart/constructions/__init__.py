"""The constructions, one a theorem and form. A new one is one file and one line here.

Where a method has two forms, the first is what a user gets who names none.
"""

from .attention_only import AttentionOnly
from .attention_only_approximate import AttentionOnlyApproximate
from .attention_only_argmax import AttentionOnlyArgmax
from .base import Construction
from .bit_extraction import BitExtraction
from .deep_sets import FaithfulDeepSet, SmallDeepSet
from .embedding import FaithfulEmbedding, SmallEmbedding
from .float64 import Float64
from .hash_fold_retrieve import HashFoldRetrieve
from .limited_bits import FaithfulLimitedBits, SmallLimitedBits
from .one_layer import OneLayer
from .one_layer_literal import OneLayerLiteral
from .one_layer_narrow import OneLayerNarrow
from .one_layer_smooth import OneLayerSmooth
from .seq2seq import FaithfulSeq2Seq, SmallSeq2Seq
from .sparse_attention import SparseAttentionSmall
from .token_averaging import TokenAveraging

ALL: tuple[Construction, ...] = (
    HashFoldRetrieve(),
    BitExtraction(),
    SmallSeq2Seq(),
    FaithfulSeq2Seq(),
    SparseAttentionSmall(),
    SmallDeepSet(),
    FaithfulDeepSet(),
    SmallEmbedding(),
    FaithfulEmbedding(),
    SmallLimitedBits(),
    FaithfulLimitedBits(),
    Float64(),
    OneLayer(),
    TokenAveraging(),
    OneLayerSmooth(),
    OneLayerNarrow(),
    OneLayerLiteral(),
    AttentionOnly(),
    AttentionOnlyApproximate(),
    AttentionOnlyArgmax(),
)
