"""diff: what differs between two models of one shape, or between any two checkpoints."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..auditing.closed import is_taught
from ..claims.location import Difference, OtherAnswer
from ..claims.result import picked
from ..errors import ByheartError
from ..machine.watch import SILENT, Watch
from ..machine.words import brief
from ..models.kinds import difference, kind_of
from ..models.model import Model
from .reading import model_of, whole_data

if TYPE_CHECKING:
    from ..auditing.comparing import CheckpointDiff

BLOCK = 4096  # sequences asked at once


@dataclass(frozen=True)
class Diff(Difference):
    """A Difference of two models, each with its folder if it was read from one."""

    besides: tuple[str, ...] = ()  # what else differs, by name, of the networks, words and claims
    before: str | None = None
    after: str | None = None
    picture: str | None = None

    def json(self) -> dict:
        return super().json() | picked(self, "besides before after picture")


def diff(
    model: Model | str | Path,
    other: Model | str | Path,
    data: Any = None,
    *,
    watch: Watch = SILENT,
    **loading: Any,
) -> "Diff | CheckpointDiff":
    """The parameters and bits that differ between two models of one shape, or two checkpoints.

    Args:
        model: A model, or the path of its folder; or a Hugging Face folder.
        other: Another one, whose network has layers of the same kinds and sizes; or a Hugging Face
            folder of any shape, or that of a LoRA adapter for the first.
        data: Sequences to ask both: the answers that differ are listed; of checkpoints, what an
            audit reads, and also ranks and losses that differ.
        watch: Where progress is reported.
        **loading: How to read a file of data: the options of `load`.

    Returns:
        The parameters that differ, counted stage by stage with their bits, and the answers. Of
        checkpoints the tensors, each with the size and rank of its change.

    Example:
        >>> import byheart
        >>> rows = [(["a", "b"], "x"), (["b", "b"], "y"), (["b", "a"], "y")]
        >>> data = byheart.Dataset.from_rows(rows)
        >>> model = byheart.compile(data, editable=True)
        >>> changed = byheart.edit(model, data, change=[(["b", "a"], "x")])
        >>> [before for _, before, after in byheart.diff(model, changed.model, data).answers]
        ['y']
    """
    watch.stage("opening")
    if any(map(_foreign, (model, other))):
        return _checkpoints(model, other, data, loading, watch)
    before, after = (str(x) if isinstance(x, str | Path) else None for x in (model, other))
    one, two = model_of(model, "diff"), model_of(other, "diff")
    dataset = None
    if data is not None:
        watch.stage("loading")
        dataset = whole_data(one, data, loading)
    watch.stage("comparing")
    compared = difference(one, two)
    if compared is None:
        sizes = ((brief(x.record.method), x.network.depth, x.network.width) for x in (one, two))
        shapes = [f"{method}, depth {depth}, width {width}" for method, depth, width in sizes]
        raise ByheartError(
            f"the networks have different shapes ({' and '.join(shapes)}), so their "
            "parameters do not correspond; compare them with verify on one file of data."
        )
    first, second = stated(one), stated(two)
    besides = tuple(x for x in first | second if first.get(x) != second.get(x))
    found = Diff(compared.places, compared.stages, None, 0, besides, before, after)
    if dataset is None:
        return found
    answers = []
    for start in range(0, len(dataset), BLOCK):
        rows = [dataset.sequence(i) for i in range(start, min(start + BLOCK, len(dataset)))]
        both = zip(rows, one.answers(rows), two.answers(rows), strict=True)
        answers += [OtherAnswer(row, a.label, b.label) for row, a, b in both if a.label != b.label]
    return replace(found, answers=tuple(answers), asked=len(dataset))


def _foreign(model: Model | str | Path) -> bool:
    """Whether this is the folder of a checkpoint that byheart did not compile, or of an adapter."""
    if isinstance(model, Model) or not Path(model).is_dir():
        return False
    names = {path.name for path in Path(model).iterdir()}
    return bool(names & {"config.json", "adapter_config.json"}) and (
        "certificate.json" not in names or is_taught(model)
    )


def _checkpoints(
    model: Any, other: Any, data: Any, loading: dict[str, Any], watch: Watch
) -> "CheckpointDiff":
    """Of two Hugging Face folders; one that byheart compiled is one, too, if it is stock."""
    from ..auditing import checkpoint
    from ..auditing.adapters import refuse_bare
    from ..auditing.comparing import compared

    for one in (model, other):
        if isinstance(one, Model) or not checkpoint.readable(Path(one)):
            name = "the model" if isinstance(one, Model) else one
            raise ByheartError(
                f"{name} is a byheart model, and the other one is a checkpoint; compare two of a "
                "kind."
            )
    refuse_bare(Path(model), "diff BASE {adapter}")
    return compared(Path(model), Path(other), data, loading, watch)


def stated(model: Model) -> dict[str, Any]:
    """What a model is apart from its parameters, by the names that its files give it."""
    store = kind_of(model).store
    found = dict[str, Any](number=model.number, tokens=model.tokens, labels=model.claim.labels)
    for name, x in (store.describe(model) | store.certificate(model.claim)).items():
        inside = x.items() if isinstance(x, dict) else ()
        found |= {f"{name}.{key}": y for key, y in inside} or {name: x}
    return found
