"""The constructions, one per theorem and form. A new one is one file and one line here.

A construction is imported when its options or its builder are asked for. Where a method has two
forms, the first is the default.
"""

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import ByheartError

if TYPE_CHECKING:
    from .base import Construction

REGISTRY: tuple[tuple[str, str | None, str], ...] = (  # method, form, file:class
    ("hash-fold-retrieve", None, "hash_fold_retrieve:HashFoldRetrieve"),
    ("bit-extraction", None, "bit_extraction:BitExtraction"),
    ("seq2seq", "small", "seq2seq:SmallSeq2Seq"),
    ("seq2seq", "faithful", "seq2seq:FaithfulSeq2Seq"),
    ("sparse-attention", None, "sparse_attention:SparseAttention"),
    ("deep-sets", "small", "deep_sets:SmallDeepSet"),
    ("deep-sets", "faithful", "deep_sets:FaithfulDeepSet"),
    ("embedding", "small", "embedding:SmallEmbedding"),
    ("embedding", "faithful", "embedding:FaithfulEmbedding"),
    ("limited-bits", "small", "limited_bits:SmallLimitedBits"),
    ("limited-bits", "faithful", "limited_bits:FaithfulLimitedBits"),
    ("float64", None, "float64:Float64"),
    ("attention-neurons", None, "attention_neurons:AttentionNeurons"),
    ("staircase", None, "staircase:Staircase"),
    ("three-layer", "small", "three_layer:SmallThreeLayer"),
    ("three-layer", "faithful", "three_layer:FaithfulThreeLayer"),
    ("park2021", None, "park2021:Park"),
    ("vardi2022", "small", "vardi2022:SmallVardi"),
    ("vardi2022", "faithful", "vardi2022:FaithfulVardi"),
    ("baum1988", None, "baum1988:Baum"),
    ("bubeck2020", None, "bubeck2020:Bubeck"),
    ("kim2023", "small", "kim2023:SmallKim"),
    ("kim2023", "faithful", "kim2023:FaithfulKim"),
    ("yun2020", None, "yun2020:Yun2020"),
    ("one-layer", None, "one_layer:OneLayer"),
    ("token-averaging", None, "token_averaging:TokenAveraging"),
    ("one-layer-smooth", None, "one_layer_smooth:OneLayerSmooth"),
    ("one-layer-narrow", None, "one_layer_narrow:OneLayerNarrow"),
    ("one-layer-literal", None, "one_layer_literal:OneLayerLiteral"),
    ("attention-only", None, "attention_only:AttentionOnly"),
    ("attention-only-approximate", None, "attention_only_approximate:AttentionOnlyApproximate"),
    ("attention-only-argmax", None, "attention_only_argmax:AttentionOnlyArgmax"),
    ("gpt2", None, "gpt2:StockGPT2"),
    ("llama", None, "llama:StockLlama"),
)
METHODS = tuple(dict.fromkeys(name for name, _, _ in REGISTRY))


class Constructions(Sequence["Construction"]):
    """All constructions, in the order of the registry; each is imported when it is reached."""

    def __len__(self) -> int:
        return len(REGISTRY)

    def __getitem__(self, index: Any) -> Any:
        return construct(REGISTRY[index])


@cache
def construct(row: tuple[str, str | None, str]) -> "Construction":
    file, _, name = row[2].partition(":")
    return getattr(import_module(f".{file}", __package__), name)()


ALL = Constructions()


def named(method: str) -> "list[Construction]":
    """The forms of a method, the default one first; none if there is no such method."""
    return [construct(row) for row in REGISTRY if row[0] == method]


def find(method: str, form: str | None = None) -> "Construction":
    """The construction of that name, in its small form if there are two and none is named."""
    forms = named(method)
    if not forms:
        raise ByheartError(f"there is no method {method!r}; there are {', '.join(METHODS)}.")
    for construction in forms:
        if form is None or construction.form == form:
            return construction
    names = [c.form for c in forms if c.form]
    has = f"the forms {' and '.join(names)}, not {form!r}" if names else "only one form"
    both = [method for method, other, _ in REGISTRY if other == form]
    others = f"; these have a {form} form: {', '.join(both)}" if both and not names else ""
    raise ByheartError(f"the method {method} has {has}{others}.")
