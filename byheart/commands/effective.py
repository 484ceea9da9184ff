"""bounds --effective: how many parameters of a small decoder count."""

from typing import TYPE_CHECKING

from ..errors import AssumptionError, ByheartError

if TYPE_CHECKING:
    from ..softmax.decoder import Shape
    from ..theory import ArchitectureFacts

MODELS = {
    "madden2024": "madden2024, eq. (2), with learnt positions and no bias at the output",
    "dana2024": "dana2024, eq. (2)",
}


def effective(model: "ArchitectureFacts | None", seed: int = 0) -> dict:
    """The generic Jacobian rank of an architecture, observed, and the capacity that it allows."""
    from ..theory.effective import effective_rank

    if model is None:
        raise ByheartError("--effective is about an architecture; give --architecture or sizes.")
    found = effective_rank(decoder_shape(model), seed)
    return {"model": MODELS[str(model.family)], **found._asdict(), "evidence": "observed"}


def decoder_shape(model: "ArchitectureFacts") -> "Shape":
    """The sizes of a decoder of one layer; AssumptionError if the architecture is none."""
    from ..softmax.decoder import ACTIVATIONS, ATTENTION, Shape

    if model.family not in MODELS:
        raise AssumptionError(
            "--effective is for decoders of one layer: --architecture madden2024 or dana2024, or "
            "sizes with --layers 1 and --width 0."
        )
    fixed = (model.vocabulary, model.length, model.dimension)
    heads = (model.heads, model.head_dimension, model.head_dimension)
    if None in (*fixed, *heads):
        raise ByheartError("--effective needs the sizes of the architecture, not only their sum.")
    alone = model.family == "dana2024"
    activation = "none" if alone else str(model.activation)
    if activation not in ("none", *ACTIVATIONS):
        raise AssumptionError(f"A1 fails: the activation is {activation}, which is not analytic.")
    width = 0 if alone else model.width
    return Shape(*fixed, ATTENTION, *heads, alone, width, activation)  # type: ignore[arg-type]
