"""bounds: how small a model can be, how much it can hold, and whether a dataset fits."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..data.dataset import Dataset
from ..data.documents import Documents
from ..data.load import read
from ..errors import ByheartError
from ..machine.tables import Content, Tabular, plural
from ..machine.watch import SILENT, Watch
from ..theory import ArchitectureFacts, Bound, DataFacts, Question, answers
from ..theory.effective import MODELS, Rank, decoder_shape, effective_rank
from ..theory.facts import data_facts
from ..theory.information import ALLENZHU_2024, MORRIS_2025, bits_held, bits_needed
from ..theory.item import SIGNS
from ..theory.madden2024.capacity import DEFINITION_1, lemma_1_parameters
from ..theory.papers import cited
from ..theory.question import ACTIVATIONS, ATTENTIONS
from ..theory.table_1 import TABLES, filled
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
    """Whether a dataset fits an architecture.

    needed  bits of the worst labelling of the contexts
    code    bits of the labels that the data has, by their frequencies
    held    bits that the parameters hold: by theorem, and by the rules of thumb
    ratio   needed over held; None where nothing is held
    fits    "yes" by a theorem, "no" by a proof about this very data; "not_guaranteed" if a theorem
            shows that some other labels or distributions of these contexts do not fit; otherwise
            "likely", "between" or "unlikely" by the rules of thumb
    reason  why, in a sentence or two
    """

    needed: float
    code: float
    held: Mapping[str, float]
    ratio: Mapping[str, float | None]
    fits: str
    reason: str


@dataclass(frozen=True, repr=False)
class Bounds(Tabular):
    """The statements of the theorems about a dataset, an architecture, or both.

    dataset       its facts; None if there is no dataset
    architecture  its facts; None if there is no architecture
    rows          one per theorem, rate, rule of thumb and open problem
    verdict       whether the dataset fits; None unless both are given
    effective     the observed rank of the Jacobian; None unless it was asked for
    tables        Table 1 of kajitsuka2025 and of madden2024; empty unless they were asked for
    """

    dataset: DataFacts | None
    architecture: ArchitectureFacts | None
    rows: tuple[Bound, ...]
    verdict: Verdict | None = None
    effective: Rank | None = None
    tables: tuple[dict, ...] = ()

    @property
    def definitions(self) -> dict[str, str]:
        """Terms that the rows use."""
        return {"memory capacity": DEFINITION_1}

    def json(self) -> dict:
        """The answer of `byheart bounds --json`."""
        rank, model = self.effective, self.architecture
        return {
            "dataset": None if self.dataset is None else self.dataset.json(),
            "architecture": None if model is None else model.json(),
            "rows": [row.json() for row in self.rows],
            "effective": None
            if rank is None or model is None
            else {"model": MODELS[str(model.family)], **rank._asdict(), "evidence": "observed"},
            "verdict": None if self.verdict is None else asdict(self.verdict),
            "definitions": self.definitions,
            "tables": list(self.tables),
        }

    def table(self) -> Content:
        subjects, data, model = [], self.dataset, self.architecture
        if data is not None:
            subjects.append(data.name or plural(data.contexts or 0, "context"))
        if model is not None:
            subjects.append(model.name or plural(model.parameters or 0, "parameter"))
        fits = "" if self.verdict is None else f" ({FITS[self.verdict.fits]})"
        title = f"Bounds for {' and '.join(subjects) or 'nothing in particular'}{fits}"
        rows: list[tuple[object, ...]] = []
        for row in self.rows:
            if row.value is not None:
                size = f"{row.value:,}" if isinstance(row.value, int) else f"{row.value:,.6g}"
                source = cited(f"{row.paper}, {row.item}")
                rows.append(
                    (f"{SIGNS[row.direction]} {size}", row.quantity, source, cited(row.reason))
                )
        return title, ("bound", "quantity", "source", "remark"), rows


def bounds(
    data: Any = None,
    architecture: str | None = None,
    *,
    parameters: int | None = None,
    bits: int | None = None,
    table: bool = False,
    effective: bool = False,
    loading: Mapping | None = None,
    watch: Watch = SILENT,
    **sizes: int | str | None,
) -> Bounds:
    """Every theorem as a row: for a dataset, for an architecture, or for both with a verdict.

    Args:
        data: A dataset, documents, or whatever `load` reads: a path, a data frame, rows.
        architecture: The name of a preset: "gpt2", "madden2024", ... None with sizes means a
            decoder of these sizes.
        parameters: Parameters of the architecture, if they are counted already.
        bits: Bits per parameter [32].
        table: Also fill in Table 1 of kajitsuka2025 and of madden2024.
        effective: Also measure how many parameters of a small decoder count.
        loading: How to read the file: the keyword arguments of `byheart.load`.
        watch: Told about the stages of the work.
        **sizes: Sizes of the architecture: vocabulary, length, dimension, heads, head_dimension,
            layers, width, attention, activation. Vocabulary and length default to those of the
            data.

    Returns:
        The bounds: `rows`, `verdict`, and the facts that they were computed from.

    Raises:
        ByheartError: If nothing is given, or a size does not exist.

    Example:
        >>> import byheart
        >>> data = byheart.from_rows([(["a", "b"], "x"), (["b", "a"], "y")])
        >>> byheart.bounds(data, "madden2024", width=2).verdict.fits
        'yes'
    """
    given = {name: size for name, size in sizes.items() if size is not None}
    if data is None and architecture is None and parameters is None and not given and not table:
        raise ByheartError("give a dataset, an architecture or its sizes, or table=True.")
    facts, name = None, None
    if data is not None and not isinstance(data, Dataset | Documents):
        watch.stage("loading")
        name = Path(data).name if isinstance(data, str | Path) else None
        data = read(data, **(loading or {}))
    if data is not None:
        watch.stage("counting")
        facts = data_facts(data, name)
    model = architecture_facts(architecture, given, facts, parameters, bits)
    question = Question(facts, model, bits)
    rows = tuple(answers(question))
    rank = None
    if effective:
        if model is None:
            raise ByheartError(
                "effective=True is about an architecture; give architecture=... or sizes."
            )
        watch.stage("measuring")
        rank = effective_rank(decoder_shape(model))
    return Bounds(
        dataset=facts,
        architecture=model,
        rows=rows,
        verdict=None if facts is None or model is None else verdict(facts, model, rows),
        effective=rank,
        tables=tuple(filled(x, question) for x in TABLES) if table else (),
    )


def architecture_facts(
    name: str | None,
    sizes: Mapping[str, int | str],
    data: DataFacts | None = None,
    parameters: int | None = None,
    bits: int | None = None,
) -> ArchitectureFacts | None:
    """The facts of a preset, or of a decoder of these sizes; None if nothing is known of one.

    Vocabulary and length of the data are those of a model for which they are not given.
    """
    for size, value in {**sizes, "parameters": parameters, "bits": bits}.items():
        least = int(size not in MAY_BE_ZERO)
        if size in CHOICES and value not in CHOICES[size]:
            choices = ", ".join(CHOICES[size])
            raise ByheartError(f"{size} must be one of {choices}, not {value!r}.")
        if size not in CHOICES and value is not None:
            if not isinstance(value, int) or value < least:
                raise ByheartError(f"{size} must be an integer of {least} or more, not {value!r}.")
            if value > LARGEST:
                raise ByheartError(f"{size} must be at most 10^60; no model is larger.")
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
        found = described(kind, {**lent, **sizes})
        known, parameters = found.sizes, found.parameters if parameters is None else parameters
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
    held |= {"allenzhu2024": bits_held(k, ALLENZHU_2024), "morris2025": bits_held(k, MORRIS_2025)}
    ratio = {name: needed / value if value else None for name, value in held.items()}

    def found(fits: str, reason: str) -> Verdict:
        return Verdict(needed, code, held, ratio, fits, reason)

    if (proof := impossible(data, model)) is not None:
        return found("no", proof)
    for row in rows:
        holds = (row.kind, row.quantity, row.direction) == ("theorem", "contexts", "at_least")
        if row.paper in PROVES and holds and row.value is not None:
            if row.value >= (data.contexts or 0):
                return found("yes", f"by {row.paper}, {row.item}, some weights do it.")
    distributions = lemma_1_parameters(contexts, max(2, data.labels or 2))
    own = f"This data: {plural(math.ceil(code), 'bit')} by the frequencies of its labels, beside "
    own += f"{held['theorem']:,} that the model stores."
    if data.conflicts and distributions > k:
        most = plural(distributions, "parameter")
        lemma = f"by Lemma 1 all distributions of these contexts take {most}"
        return found("not_guaranteed", f"some data of this shape does not fit; {lemma}. {own}")
    if needed > held["theorem"]:
        states = "the model has fewer states than these contexts have labellings"
        return found("not_guaranteed", f"some data of this shape does not fit; {states}. {own}")
    undecided = "by rules of thumb for trained models; no theorem decides."
    for fits, rule in (("likely", "allenzhu2024"), ("between", "morris2025")):
        if code <= held[rule]:
            return found(fits, undecided)
    return found("unlikely", undecided)


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
