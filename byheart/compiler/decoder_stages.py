"""A decoder as its stages: what each does, what it costs, and what the theorem says of the sum.

The counterpart of explain.py for a Decoder. Every number is counted in the weights, so the stages
add up to the decoder; the number of parameters is the formula before eq. (3) of madden2024.
"""

from ..models.model import Model
from ..softmax.decoder import ATTENTION, Decoder, Shape, sizes
from .stage import AFTER, FIRST, LAST, MEETING, Sentence, Stage

TENSORS = {
    "embed": ("embedding.weight", "positions.weight"),
    "attend": tuple(f"attention.{name}.weight" for name in ("query", "key", "value", "out")),
    "sum": ("token_sum.weight",),
    "neurons": ("hidden.weight", "hidden.bias"),
    "output": ("output.weight",),
}
PARTS = {"embed": FIRST, "attend": MEETING, "sum": MEETING, "neurons": AFTER, "output": LAST}
KINDS = {"embed": "embedding", "attend": "softmax_attention", "sum": "sum", "output": "linear"}


def reads(model: Model) -> dict:
    shape = model.network.shape
    return {
        "tokens": model.kind,
        "dimension": shape.dimension,
        "positions": shape.mixing == ATTENTION,
        "length": shape.length,
        "columns": shape.length,
        "padding": None,
        "extra": None,
    }


def shape_facts(shape: Shape) -> dict:
    """The sizes, and the number of parameters as a formula."""
    return {
        "shape": shape._asdict(),
        "formula": shape.formula,
        "ratio": ratio(shape),
    }


def ratio(shape: Shape) -> float | None:
    """How many times more contexts the parameters might hold: eq. (3); None without neurons.

    At most parameters / (omega - 1) contexts (Lemma 1), at least m (Theorem 5).
    """
    if not shape.neurons:
        return None
    return shape.parameters / ((shape.vocabulary - 1) * shape.neurons)


def stages(decoder: Decoder, sentence: Sentence) -> list[Stage]:
    """Embed, attend or sum, neurons if there are any, output."""
    mixing = "attend" if decoder.shape.mixing == ATTENTION else "sum"
    names = ("embed", mixing, *(["neurons"] if decoder.shape.neurons else []), "output")
    return [_stage(decoder, place, name, sentence) for place, name in enumerate(names)]


def _stage(decoder: Decoder, place: int, name: str, sentence: Sentence) -> Stage:
    tensors = [decoder.tensors[key] for key in TENSORS[name] if key in decoder.tensors]
    found = [sizes(tensor.ravel()) for tensor in tensors]
    return Stage(
        PARTS[name],
        KINDS.get(name, decoder.shape.activation),
        name,
        sentence(KINDS.get(name, decoder.shape.activation), name),
        ((place, place),),
        int(PARTS[name] == MEETING),  # attention and neurons are one layer
        sum(size.nonzero for size in found),
        sum(tensor.size for tensor in tensors),
        sum(size.total for size in found),
        max(size.largest for size in found),
        None,
    )


def totals(network: Decoder) -> dict:
    parameters, bits = network.counts()
    return {
        **parameters,
        "bits": bits["total"],
        "largest": bits["largest"],
        "depth": network.depth,
        "width": network.width,
    }
