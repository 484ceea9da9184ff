"""locate: which parameters hold an answer, and which answers read a parameter."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..auditing.closed import is_taught
from ..claims.answer import Question
from ..claims.location import Location, Place
from ..claims.result import Result, picked
from ..errors import ByheartError
from ..machine.watch import SILENT, Watch
from ..models.kinds import kind_of
from ..models.locating import reverse
from ..models.model import Model
from ..models.placing import placed
from ..models.questions import tokens_of
from .explain import Explanation, explain
from .reading import model_of, whole_data
from .taught import locate_taught


@dataclass(frozen=True)
class StageReads:
    """How many parameters of a stage an answer reads."""

    stage: str
    parameters: int
    read: int


@dataclass(frozen=True)
class Located:
    """Where the answer to one question is held, and how much of each stage it reads."""

    location: Location
    method: str | None
    stages: tuple[StageReads, ...]
    picture: str | None = None

    def json(self) -> dict:
        return {**self.location.json(), **picked(self, "method stages picture")}


@dataclass(frozen=True)
class Readers(Result):
    """The inputs, out of so many in the data, whose answers read one parameter."""

    parameter: Place
    items: tuple[list, ...]
    of: int


def locate(model: Model | str | Path, question: Question, *, watch: Watch = SILENT) -> Located:
    """The parameters that hold the answer to one question, and which would have to change.

    Args:
        model: A model, or the path of its folder.
        question: A list of tokens, or text.
        watch: Where progress is reported.

    Returns:
        The parameters, stage by stage; of a taught checkpoint, the neurons of a fact (a
        `TaughtLocated`). `.json()` is what `byheart locate --json` prints.

    Example:
        >>> import byheart
        >>> model = byheart.compile([("The capital of France is", "Paris")], editable=True)
        >>> byheart.locate(model, "The capital of France is").location.answer.label
        'Paris'
    """
    watch.stage("opening")
    if is_taught(model):
        return locate_taught(model, question)
    model = model_of(model, "locate")
    if not question:
        raise ByheartError("name the tokens of one question, such as: capital of france.")
    watch.stage("locating")
    location = model.locate(placed(model, tokens_of(model, question)).tokens)
    return Located(location, model.record.method, stage_reads(model, location.read))


def locate_readers(
    model: Model | str | Path,
    data: Any,
    parameter: Place | tuple[int, str, int, int],
    *,
    watch: Watch = SILENT,
    **loading: Any,
) -> Readers:
    """The inputs of the data whose answers read a parameter: (layer, tensor, row, column)."""
    watch.stage("opening")
    model, place = model_of(model, "locate"), Place(*parameter)
    dataset = whole_data(model, data, loading)
    watch.stage("locating", len(dataset))
    return Readers(place, tuple(reverse(model, dataset, place, watch.advance)), len(dataset))


def stage_reads(model: Model, places: Sequence[Place]) -> tuple[StageReads, ...]:
    """How many parameters of each stage are read."""
    result = []
    for stage in kind_of(model).show.stages(model.network):
        own = {i for first, last in stage.runs for i in range(first, last + 1)}
        read = sum(place.layer in own for place in places)
        result.append(StageReads(stage.name, stage.nonzero, read))
    return tuple(result)


def lit(model: Model, tokens: Sequence, read: Sequence[Place], name: str) -> Explanation:
    """The network as `explain` shows it, with what one answer reads and, if exact, its lanes."""
    whole = explain(model)
    stages = list(whole.stages)
    for i, own in enumerate(stage_reads(model, read)):
        stages[i] = replace(stages[i], read=own.read)
    followed = kind_of(model).trace.followed(model, tokens)
    if followed is not None:
        streams, fired, _ = followed
        for i, stage in enumerate(stages):
            layers = [x for first, last in stage.runs for x in range(first, last + 1)]
            filled = tuple(sorted(streams[layers[-1]]))
            stages[i] = replace(stage, lanes=filled, fired=sum(len(fired[x]) for x in layers))
    return replace(whole, name=name, asked=tuple(tokens), stages=tuple(stages))
