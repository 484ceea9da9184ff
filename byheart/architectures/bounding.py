"""The facts of an architecture, and whether a dataset fits it."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..errors import ByheartError, OptionError, one_of
from ..machine.tables import plural
from ..theory import ArchitectureFacts, Bound, DataFacts
from ..theory.information import ALLENZHU_2024, bits_held, bits_needed, morris_2025
from ..theory.madden2024.capacity import lemma_1_parameters
from ..theory.question import ACTIVATIONS, ATTENTIONS
from . import ARCHITECTURES, PUBLIC
from . import architecture as described

BITS = 32
LARGEST = 10**60  # what is computed of sizes are floats, too
MAY_BE_ZERO = ("heads", "width")
CHOICES = {"attention": ATTENTIONS, "activation": ACTIVATIONS}
FITS = {
    "yes": "fits",
    "likely": "likely to fit",
    "between": "on the edge",
    "unlikely": "unlikely to fit",
    "not_guaranteed": "not guaranteed",
    "no": "does not fit",
}

PROVES = ("madden2024",)  # papers whose lower bounds hold for whichever contexts there are


@dataclass(frozen=True)
class Verdict:
    """Whether a dataset fits an architecture."""

    needed: float  # bits of the worst labelling of the contexts
    code: float  # bits of the labels that the data has, by their frequencies
    held: Mapping[str, float]  # bits of the parameters: by theorem, and by rules of thumb
    ratio: Mapping[str, float | None]  # needed over held; None where nothing is held
    # "yes" by a theorem, "no" by a proof about this very data; "not_guaranteed" if a theorem shows
    # that some other labels or distributions of these contexts do not fit; otherwise "likely",
    # "between" or "unlikely" by the rules of thumb
    fits: str
    reason: str  # why, in a sentence or two


def architecture_facts(
    name: str | None,
    sizes: Mapping[str, int | str],
    data: DataFacts | None = None,
    parameters: int | None = None,
    bits: int | None = None,
) -> ArchitectureFacts | None:
    """The facts of a preset or a decoder, by default with the data's vocabulary and length."""
    for size, value in {**sizes, "parameters": parameters, "bits": bits}.items():
        if size in CHOICES:
            one_of(CHOICES[size], **{size: value})
        elif value is not None:
            least = int(size not in MAY_BE_ZERO)
            if not isinstance(value, int) or value < least:
                raise OptionError(size, value, f"must be an integer of {least} or more")
            if value > LARGEST:
                raise ByheartError(f"`{size}` must be at most 10^60; no model is larger.")
    if name is None and parameters is not None:
        unknown = sizes.keys() - ArchitectureFacts.__dataclass_fields__.keys()
        if unknown:
            raise ByheartError(f"an architecture has no size {min(unknown)!r}.")
        known: Mapping[str, int | str] = sizes
    elif name is None and not sizes:
        return None
    else:
        kind = name or "decoder"
        lent: dict[str, int | str] = {}
        if data is not None and kind in ARCHITECTURES and (sizes or kind not in PUBLIC):
            pairs = {"vocabulary": data.union, "length": data.length}
            lent = {size: value for size, value in pairs.items() if value is not None}
        shape = described(kind, {**lent, **sizes})
        known, parameters = shape.sizes, shape.parameters if parameters is None else parameters
    return ArchitectureFacts(name=name, parameters=parameters, bits=bits or BITS, **known)  # type: ignore[arg-type]


def verdict(data: DataFacts, model: ArchitectureFacts, rows: Iterable[Bound]) -> Verdict:
    """Bits needed and held, their ratios, and whether the data fits.

    Of the theorems in `rows` only those of madden2024 hold as many contexts whichever they are.
    Others ask for more of the data than was counted: Theorem 1 of dana2024 is false where fewer
    than d last tokens differ (docs/errata.md) and needs features of full rank, mahdavi2024
    independent ones.

    Lemma 1 of madden2024 and the number of states limit what a model does for *all* labels or
    distributions. Of the data at hand, which may have a pattern, they prove nothing.
    """
    contexts, k = data.contexts or 1, model.parameters or 0
    needed = bits_needed(contexts, data.labels or 1)
    code = needed if data.code_length is None else data.code_length
    held: dict[str, float] = {"theorem": k * (model.bits or 0)}
    rates = {"allenzhu2024": ALLENZHU_2024, "morris2025": morris_2025(model.bits)}
    held |= {rule: bits_held(k, rate) for rule, rate in rates.items()}
    ratio = {name: needed / value if value else None for name, value in held.items()}

    def answer(fits: str, reason: str) -> Verdict:
        return Verdict(needed, code, held, ratio, fits, reason)

    if (proof := impossible(data, model)) is not None:
        return answer("no", proof)
    for row in rows:
        holds = (row.kind, row.quantity, row.direction) == ("theorem", "contexts", "at_least")
        if row.paper in PROVES and holds and row.value is not None:
            if row.value >= (data.ordered or data.contexts or 0):
                return answer("yes", f"by {row.paper}, {row.item}, some weights do it.")
    distributions = lemma_1_parameters(contexts, max(2, data.labels or 2))
    own = f"This data: {plural(math.ceil(code), 'bit')} by the frequencies of its labels, beside "
    own += f"{held['theorem']:,} that the model stores."
    if data.conflicts and distributions > k:
        most = plural(distributions, "parameter")
        lemma = f"by Lemma 1 all distributions of these contexts take {most}"
        return answer("not_guaranteed", f"some data of this shape does not fit; {lemma}. {own}")
    if needed > held["theorem"]:
        states = "the model has fewer states than these contexts have labellings"
        return answer("not_guaranteed", f"some data of this shape does not fit; {states}. {own}")
    undecided = "by rules of thumb for trained models; no theorem decides."
    for fits, rule in (("likely", "allenzhu2024"), ("between", "morris2025")):
        if code <= held[rule]:
            return answer(fits, undecided)
    return answer("unlikely", undecided)


def impossible(data: DataFacts, model: ArchitectureFacts) -> str | None:
    """Why no parameters of the model give this very data, as a sentence; None if nothing proves it.

    One dimension: the logits are a number times the column W_U, so that the largest one belongs to
    the largest or to the smallest entry. (A single output is a number that is rounded.) No
    positions: the output depends on the last token and on the multiset of all tokens.
    """
    for name in ("length", "vocabulary"):
        own, most = getattr(data, name), getattr(model, name)
        if own is not None and most is not None and own > most:
            return f"the {name} of the data is {own:,}, that of the model {most:,}."
    if data.conflicts == 0:  # one label per context
        labels = data.labels or 0
        if (model.dimension, model.biased) == (1, False) and model.outputs != 1 and labels > 2:
            return f"in one dimension at most two labels are ever the likeliest, not {labels:,}."
        if model.positions is False and data.mixed:
            return f"the model reads no positions, and multisets with two labels: {data.mixed:,}."
    return None
