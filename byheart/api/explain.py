"""explain: a network as its stages: what each does, and what it costs.

Every number is counted in the weights, so the stages add up to the network. What a stage does is
said by the construction that builds it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..claims.record import DataSizes
from ..claims.result import picked, plain
from ..claims.verification import PROVE_LIMIT, Verification
from ..constructions import METHODS, find
from ..constructions.base import Construction, Header
from ..data.load import name_of
from ..errors import ByheartError
from ..exact.stages import Stage
from ..machine.tables import Content, Tabular
from ..machine.watch import SILENT, Watch
from ..models.kinds import kind_of, made_by
from ..models.model import Model
from ..softmax.decoder import Shape
from .compile import compile
from .configure import check_prove_limit
from .reading import data_for_method, model_of

HEADER = "paper item summary statement assumptions guarantee departures"


class NetworkInput(NamedTuple):
    """What goes into a network."""

    tokens: str  # "string", "number" or "vector"
    dimension: int  # coordinates of a token
    positions: bool  # whether their order counts
    length: int
    columns: int  # of the longest sequence, with an extra token
    padding: list[float] | None  # the vector that fills up shorter sequences; None if nothing does
    extra: list[float] | None  # the vector of an extra token in front; None without one


class NetworkOutput(NamedTuple):
    """What comes out of a network: how many labels there are, and where they are read."""

    labels: int
    unknown: bool
    every: bool


class Totals(NamedTuple):
    """The cost of all stages together."""

    nonzero: int
    dense: int
    counted: int
    outside: int
    bits: int
    largest: int
    depth: int
    width: int


class DecoderSizes(NamedTuple):
    """The sizes of a decoder, how the paper counts its parameters, and eq. (3)."""

    shape: Shape
    formula: str
    ratio: float | None
    gap: float


@dataclass(frozen=True)
class ExplainedStage(Stage):
    """A stage with what it does."""

    does: str = ""
    share: float = 0.0  # of the parameters that are not 0
    read: int | None = None  # how many of its parameters one answer reads, if there is one
    # of the column that has that answer, as far as they are filled; exact networks alone
    lanes: tuple[int, ...] | None = None
    fired: int | None = None  # how many neurons that answer makes fire

    def json(self) -> dict:
        cost = "depth nonzero dense bits largest share connections"
        traced = picked(self, "read lanes fired")
        return {
            **picked(self, f"part stage=name kind does layers=runs {cost}"),
            **{name: value for name, value in traced.items() if value is not None},
        }


@dataclass(frozen=True, repr=False)
class Explanation(Tabular):
    """A network taken apart."""

    method: str
    form: str | None
    header: Header  # the theorem that it is built after
    name: str
    dataset: DataSizes
    input: NetworkInput
    output: NetworkOutput
    stages: tuple[ExplainedStage, ...]  # in the order in which they begin
    totals: Totals
    decoder: DecoderSizes | None  # sizes that only decoders have
    verified: Verification | None  # the evidence that the network keeps its claim
    picture: str | None = None
    asked: tuple | None = None  # the tokens of the question that the stages show, if they show one

    def json(self) -> dict:
        return {
            **picked(self, "method form"),
            **picked(self.header, HEADER),
            "dataset": {**self.dataset.counts(), "name": self.name},
            **picked(self, "input output stages totals"),
            **(plain(self.decoder) or {}),
            **picked(self, "verified picture"),
        }

    def table(self) -> Content:
        rows: list[tuple[object, ...]] = [
            (stage.name, stage.nonzero, stage.bits, stage.depth, stage.does)
            for stage in self.stages
        ]
        title = f"{self.method}: {self.header.summary}"
        return title, ("stage", "nonzero", "bits", "depth", ""), rows


def _check_explained(construction: Construction) -> None:
    """ByheartError if the networks of a method are not taken apart, before any data is read."""
    if construction.unexplained:
        raise ByheartError(construction.unexplained)


def explain(
    model: Model | str | Path,
    data: Any = None,
    form: str | None = None,
    *,
    loading: Mapping[str, Any] | None = None,
    watch: Watch = SILENT,
    **options: Any,
) -> Explanation:
    """The stages of a network, what each of them costs, and the theorem behind it.

    Args:
        model: A model that a construction built, or the path of its folder. With `data`, the name
            of a method, whose network for the data is compiled first.
        data: What `compile` takes.
        form: As in `compile`.
        loading: The options of `load` for a file.
        watch: Where progress is reported.
        **options: Further arguments of `compile`.

    Returns:
        The explanation; it prints as a table, and `.json()` is what `byheart explain --json` says.

    Example:
        >>> import byheart
        >>> data = byheart.Dataset.from_rows([(["a", "b"], "x"), (["b", "b"], "y")])
        >>> [stage.name for stage in byheart.explain(byheart.compile(data)).stages][0]
        'embed'
        >>> byheart.explain("one-layer", data).totals.depth
        1
    """
    if data is not None:
        if not isinstance(model, str):
            raise ByheartError("explain takes a method by its name and data, or a model alone.")
        _check_explained(find(model, form))
        check_prove_limit(options.get("prove_limit", PROVE_LIMIT))
        watch.stage("loading")
        dataset = data_for_method(data, model, loading)
        watch.stage("building", len(dataset))
        model = compile(dataset, model, form, watch=watch, **options)
    elif model in METHODS and not Path(str(model)).exists():
        _check_explained(find(str(model), form))
        raise ByheartError(f"explain takes a Model, or the method {model} with data.")
    elif form is not None or options or loading:
        given = next(iter({"form": form} if form else {**options, **(loading or {})}))
        raise ByheartError(f"`{given}` is for a method and its data; the model is built already.")
    model = model_of(model, "explain")
    construction = made_by(model)
    if construction is None:
        raise ByheartError("the model was not built by a construction that this version has.")
    kind = kind_of(model)
    reads, sizes = kind.show.explained(model)
    stages = kind.show.stages(model.network)
    nonzero = sum(stage.nonzero for stage in stages)
    explained = (
        ExplainedStage(
            **vars(stage),
            does=construction.stage_sentence(stage.kind, stage.name),
            share=stage.nonzero / nonzero if nonzero else 0.0,
        )
        for stage in stages
    )
    return Explanation(
        method=construction.name,
        form=model.record.form,
        header=construction.header,
        name=name_of(data),
        dataset=model.record.data,
        input=NetworkInput(model.kind, **reads),
        output=NetworkOutput(len(model.labels), model.claim.unknown is not None, model.every),
        stages=tuple(explained),
        totals=Totals(
            **model.network.counts()[0],
            bits=sum(stage.bits for stage in stages),
            largest=max(stage.largest for stage in stages),
            depth=sum(stage.depth for stage in stages),
            width=model.network.width,
        ),
        decoder=DecoderSizes(**sizes) if sizes else None,
        verified=model.verification,
    )
