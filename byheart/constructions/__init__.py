"""The constructions, one per theorem and form. A new one is one file and one line here.

Where a method has two forms, the first is the default.
"""

from ..errors import ByheartError
from .attention_neurons import AttentionNeurons
from .attention_only import AttentionOnly
from .attention_only_approximate import AttentionOnlyApproximate
from .attention_only_argmax import AttentionOnlyArgmax
from .base import Construction
from .baum1988 import Baum
from .bit_extraction import BitExtraction
from .bubeck2020 import Bubeck
from .deep_sets import FaithfulDeepSet, SmallDeepSet
from .embedding import FaithfulEmbedding, SmallEmbedding
from .float64 import Float64
from .gpt2 import StockGPT2
from .hash_fold_retrieve import HashFoldRetrieve
from .kim2023 import FaithfulKim, SmallKim
from .limited_bits import FaithfulLimitedBits, SmallLimitedBits
from .llama import StockLlama
from .one_layer import OneLayer
from .one_layer_literal import OneLayerLiteral
from .one_layer_narrow import OneLayerNarrow
from .one_layer_smooth import OneLayerSmooth
from .park2021 import Park
from .seq2seq import FaithfulSeq2Seq, SmallSeq2Seq
from .sparse_attention import SparseAttention
from .staircase import Staircase
from .three_layer import FourLayer, ThreeLayer
from .token_averaging import TokenAveraging
from .vardi2022 import FaithfulVardi, SmallVardi
from .yun2020 import Yun2020

ALL: tuple[Construction, ...] = (
    HashFoldRetrieve(),
    BitExtraction(),
    SmallSeq2Seq(),
    FaithfulSeq2Seq(),
    SparseAttention(),
    SmallDeepSet(),
    FaithfulDeepSet(),
    SmallEmbedding(),
    FaithfulEmbedding(),
    SmallLimitedBits(),
    FaithfulLimitedBits(),
    Float64(),
    AttentionNeurons(),
    Staircase(),
    FourLayer(),
    ThreeLayer(),
    Park(),
    SmallVardi(),
    FaithfulVardi(),
    Baum(),
    Bubeck(),
    SmallKim(),
    FaithfulKim(),
    Yun2020(),
    OneLayer(),
    TokenAveraging(),
    OneLayerSmooth(),
    OneLayerNarrow(),
    OneLayerLiteral(),
    AttentionOnly(),
    AttentionOnlyApproximate(),
    AttentionOnlyArgmax(),
    StockGPT2(),
    StockLlama(),
)


def find(method: str, form: str | None = None) -> Construction:
    """The construction of that name, in its small form if there are two and none is named."""
    named = [c for c in ALL if c.name == method]
    if not named:
        names = ", ".join(dict.fromkeys(c.name for c in ALL))
        raise ByheartError(f"there is no method {method!r}; there are {names}.")
    for construction in named:
        if form is None or construction.form == form:
            return construction
    forms = [c.form for c in named if c.form]
    has = f"the forms {' and '.join(forms)}, not {form!r}" if forms else "only one form"
    both = dict.fromkeys(c.name for c in ALL if c.form == form)
    others = f"; these have a {form} form: {', '.join(both)}" if both and not forms else ""
    raise ByheartError(f"the method {method} has {has}{others}.")
