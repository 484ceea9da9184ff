"""bounds: how small a model can be, how much it can hold, and whether a dataset fits."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..architectures import ARCHITECTURES
from ..architectures import architecture as described
from ..architectures.adapter import AdapterSize, adapter_size
from ..architectures.bounding import FITS, Verdict, architecture_facts, verdict
from ..claims.result import picked
from ..data.dataset import Dataset
from ..data.documents import Documents
from ..data.load import applicable, load, read
from ..errors import ByheartError
from ..machine.tables import Content, Tabular, plural
from ..machine.watch import SILENT, Watch
from ..models.model import Model
from ..theory import ArchitectureFacts, Bound, DataFacts, Question, answers
from ..theory.effective import MODELS, Rank, decoder_shape, effective_rank
from ..theory.facts import data_facts
from ..theory.item import SIGNS
from ..theory.madden2024.capacity import DEFINITION_1
from ..theory.papers import cited
from ..theory.table_1 import TABLES, FilledTable, fill
from .reading import reading_of
from .rows import Row, model_row, opened, own_row

MAX_SEQUENCES = 1_000_000  # of data whose own network is sized


@dataclass(frozen=True, repr=False)
class Bounds(Tabular):
    """The statements of the theorems about a dataset, an architecture, or both.

    dataset       its facts; None if there is no dataset
    architecture  its facts; None if there is no architecture
    rows          one per theorem, rate, rule of thumb and open problem
    verdict       whether the dataset fits; None unless both are given
    effective     the observed rank of the Jacobian; None unless it was asked for
    tables        Table 1 of kajitsuka2025 and of madden2024; empty unless they were asked for
    network       our own network for the dataset; None unless it was asked for
    models        the sizes of models that were verified on the dataset
    adapter       the size of a LoRA adapter; None unless it was asked for
    """

    dataset: DataFacts | None
    architecture: ArchitectureFacts | None
    rows: tuple[Bound, ...]
    verdict: Verdict | None = None
    effective: Rank | None = None
    tables: tuple[FilledTable, ...] = ()
    network: Row | None = None
    models: tuple[Row, ...] = ()
    picture: str | None = None
    adapter: AdapterSize | None = None

    @property
    def definitions(self) -> dict[str, str]:
        """Terms that the rows use."""
        return {"memory capacity": DEFINITION_1}

    @property
    def measured(self) -> str:
        """The model whose effective parameters are measured."""
        return MODELS[str(self.architecture and self.architecture.family)]

    def json(self) -> dict:
        names = "dataset architecture rows effective verdict definitions tables network models"
        answer = picked(self, f"{names} picture")
        if answer["effective"] is not None:
            model = {"model": self.measured}
            answer["effective"] = {**model, **answer["effective"], "evidence": "observed"}
        return answer if self.adapter is None else answer | picked(self, "adapter")

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
                bound = f"{SIGNS[row.direction]} {size}"
                source = cited(f"{row.paper}, {row.item}")
                rows.append((bound, row.quantity, source, cited(row.reason)))
        return title, ("bound", "quantity", "source", "remark"), rows


def bounds(
    data: Any = None,
    architecture: str | None = None,
    *,
    parameters: int | None = None,
    bits: int | None = None,
    lora: int | str | None = None,
    targets: Sequence[str] | str | None = None,
    facts: int | None = None,
    bits_per_fact: float | None = None,
    tables: bool = False,
    effective: bool = False,
    models: Mapping[str, Model] | Iterable[str | Path] = (),
    network: bool = False,
    positions: bool | None = None,
    loading: Mapping[str, Any] | None = None,
    watch: Watch = SILENT,
    **sizes: Any,
) -> Bounds:
    """Every theorem as a row: for a dataset, for an architecture, or for both with a verdict.

    Args:
        data: A dataset, documents, or whatever `load` reads: a path, a data frame, rows.
        architecture: The name of a preset: "gpt2", "madden2024", ... None with sizes means a
            decoder of these sizes.
        parameters: Parameters of the architecture, if they are counted already.
        bits: Bits per parameter [32].
        lora: The rank of a LoRA adapter for the architecture: its parameters, and what they hold.
        targets: The linear maps that it changes, as ["q_proj", "v_proj"]; by default all.
        facts: How many facts it is to hold, of `bits_per_fact` each.
        bits_per_fact: Bits of one of these.
        tables: Also fill in Table 1 of kajitsuka2025 and of madden2024.
        effective: Also measure how many parameters of a small decoder count.
        models: Folders of models, or models by name: what they take for this dataset.
        network: Also build or size our own network for the dataset, if that is small enough.
        positions: Whether order counts: contexts are counted as `compile` counts them.
        loading: How to read the file: the keyword arguments of `byheart.load`. Its length is
            the context length of an architecture without one, too.
        watch: Told about the stages of the work.
        **sizes: Sizes of the architecture: vocabulary, length, dimension, heads, head_dimension,
            layers, width, attention, activation. Vocabulary and length default to those of the
            data. Also the options of `load` but its length, one by one.

    Returns:
        The bounds: `rows`, `verdict`, and the facts that they were computed from.

    Example:
        >>> import byheart
        >>> data = byheart.from_rows([(["a", "b"], "x"), (["b", "a"], "y")])
        >>> byheart.bounds(data, "madden2024", width=2).verdict.fits
        'yes'
    """
    loading, sizes = reading_of(loading, sizes, aside=("length",))
    given = {name: size for name, size in sizes.items() if size is not None}
    if data is None and architecture is None and parameters is None and not given and not tables:
        raise ByheartError("give a dataset, an architecture or its sizes, or `tables=True`.")
    if lora is None and (targets or facts or bits_per_fact):
        raise ByheartError("`targets=...` and `facts=...` are of an adapter; give `lora=...`.")
    if lora is not None:
        if architecture is None or data is not None:
            raise ByheartError(
                "`lora=...` is about an architecture alone; give `architecture=...`, and the data "
                "as `facts=...` and `bits_per_fact=...`."
            )
        shape = described(architecture, given)
        size = adapter_size(shape, lora, targets, bits, facts, bits_per_fact)
        whole = architecture_facts(architecture, given, None, parameters, bits)
        return Bounds(None, whole, (), adapter=size)
    others = opened(models)
    if data is None and others:
        raise ByheartError("`models=...` needs a dataset: the models are verified on it.")
    options, length = dict(loading or {}), (loading or {}).get("length")
    sized = architecture in ARCHITECTURES or (architecture is None and (given or data is None))
    if length is not None and sized and "length" not in given:
        given["length"] = length
        if isinstance(data, str | Path) and "length" not in applicable(
            data, options, options.get("format")
        ):
            del options["length"]
    about, rows = None, []
    if data is not None:
        read_already = isinstance(data, Dataset | Documents)
        name = Path(data).name if isinstance(data, str | Path) else None
        watch.stage("loading")
        counted = data if read_already else read(data, **options)
        watch.stage("counting")
        about = data_facts(counted, name, positions)
        if others:
            watch.stage("verifying")
            dataset = data if read_already else load(data, **options)
            rows = [model_row(title, x, dataset, "refuse") for title, x in others.items()]
    model = architecture_facts(architecture, given, about, parameters, bits)
    question = Question(about, model, bits)
    theorems = tuple(answers(question))
    rank = None
    if effective:
        if model is None:
            raise ByheartError(
                "`effective=True` is about an architecture; give `architecture=...` or sizes."
            )
        watch.stage("measuring")
        rank = effective_rank(decoder_shape(model))
    own = None
    if network and about is not None and (about.sequences or 0) <= MAX_SEQUENCES:
        watch.stage("building")
        written_out = data if isinstance(data, Dataset) else load(data, **options)
        own = own_row(written_out, watch, positions)
    return Bounds(
        dataset=about,
        architecture=model,
        rows=theorems,
        verdict=None if about is None or model is None else verdict(about, model, theorems),
        effective=rank,
        tables=tuple(fill(x, question) for x in TABLES) if tables else (),
        network=own,
        models=tuple(rows),
    )
